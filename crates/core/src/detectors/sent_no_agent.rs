//! No user agent at all.
//!
//! # Why it matters
//! Every browser sends a user agent. A request without one comes from a program.
//!
//! # When it is wrong
//! A few tools for privacy remove the agent. Where a proxy before the site removes it for many, the rule is silent.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<SentNoAgent>(
    "sent_no_agent",
    Family::Headers,
    None,
    include_str!("sent_no_agent.rs"),
);

settings! {
    SentNoAgent {
        /// Share of its requests without an agent from which it points to a crawler.
        share_min: f64 = 0.9,
        /// Requests from which it is no accident.
        requests_many: u32 = 3,
        /// Share of the site's sources without an agent from which the rule is silent.
        site_max: f64 = 0.5,
    }
}

impl Detector for SentNoAgent {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.agents_logged == 0 {
            return Outcome::Abstain(Gap::NotLogged("the user agent is"));
        }
        let empty = profile.oddities().agents_empty;
        let share = f64::from(empty) / f64::from(profile.agents_logged);
        if share < self.share_min {
            return Outcome::Clear(share);
        }
        let customs = context.site.customs();
        if customs.agentless as f64 > self.site_max * customs.sources as f64 {
            return Outcome::Abstain(Gap::NoContrast(
                "many sources of this site send no agent: a proxy before the site may remove it",
            ));
        }
        let decibans = if empty >= self.requests_many {
            11.0
        } else {
            7.0
        };
        let why = match empty {
            1 => "its request names no user agent, as every browser does".to_owned(),
            _ => format!("its {empty} requests name no user agent, as every browser does"),
        };
        Outcome::learned(
            decibans,
            why,
            &[("share", share), ("empty", f64::from(empty))],
        )
    }
}
