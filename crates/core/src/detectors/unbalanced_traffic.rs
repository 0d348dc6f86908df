//! Several user agents, one of which sends nearly everything.
//!
//! # Why it matters
//! Where several programs share an address, each has its part of the traffic. One that sends more than 99 of 100 requests
//! beside a few others is a machine among people. (PubCrawl, 3.1: H5.)
//!
//! # When it is wrong
//! A browser that updates itself changes its agent for a few requests. The detector abstains on a source with a single agent:
//! there is nothing to balance, which speaks neither for nor against it.

use super::Detector;
use super::Family;
use super::Spec;
use super::VoteSet;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Measure;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<UnbalancedTraffic>(
    "unbalanced_traffic",
    Family::Headers,
    Some(VoteSet::New),
    include_str!("unbalanced_traffic.rs"),
);

settings! {
    UnbalancedTraffic {
        /// Stay silent below this many requests: a share above 99 % needs more than a hundred.
        requests_min: u32 = 200,
        /// The top agent's share above which it points to a crawler.
        top_max: f64 = 0.99,
        /// The top agent's share up to which it points to people behind one address.
        people_to: f64 = 0.8,
        /// Requests that each agent must have on average for that: a program that changes its agent all the time is not many people.
        people_requests: u32 = 10,
    }
}

impl Detector for UnbalancedTraffic {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        if profile.agents_logged == 0 {
            return Outcome::Abstain(Gap::NotLogged("the user agent is"));
        }
        if profile.agents_logged < self.requests_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "requests",
                have: profile.agents_logged,
                need: self.requests_min,
            });
        }
        let agents = profile.agents.count();
        let share = f64::from(profile.agents.top_requests()) / f64::from(profile.agents_logged);
        if agents < 2 {
            return Outcome::Abstain(Gap::TooFew {
                what: "user agent",
                have: 1,
                need: 2,
            });
        }
        let values = [
            ("top_agent_share", share),
            ("agents", agents as f64),
            ("requests", f64::from(profile.agents_logged)),
        ];
        if share > self.top_max {
            let why = format!(
                "one of its {agents} user agents sent {:.1} % of {} requests",
                100.0 * share,
                profile.agents_logged
            );
            return Outcome::finding(Toward::Crawler, why, &values);
        }
        let rotates = (profile.agents_logged as usize) < agents * self.people_requests as usize;
        if share > self.people_to || rotates {
            return Outcome::Clear(share);
        }
        let why = format!(
            "its {agents} user agents share the traffic as people's do, the busiest has {}",
            percent(share)
        );
        Outcome::finding(Toward::User, why, &values)
    }

    fn measures(&self, profile: &Profile, _: &Context<'_>) -> Vec<Measure> {
        if profile.agents_logged < self.requests_min.max(1) || profile.agents.count() < 2 {
            return Vec::new();
        }
        let share = f64::from(profile.agents.top_requests()) / f64::from(profile.agents_logged);
        vec![Measure::above("top_max", share)]
    }
}
