//! Requests that the owner's robots.txt forbids, by a source it speaks to.
//!
//! # Why it matters
//! robots.txt is how an owner asks robots to keep away. A robot that names itself and fetches what its group forbids, or a
//! source that fetched robots.txt and then took what it forbids, has read the request and ignored it. Nobody else does either: people do not
//! read robots.txt, and it does not speak to them.
//!
//! # When it is wrong
//! Give the file as it was when the log was written (`--robots FILE`): a rule that is newer than the request was never broken. Robots
//! may go by a copy that is a day old.

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<IgnoredRobotsTxt>(
    "ignored_robots_txt",
    Family::Headers,
    None,
    include_str!("ignored_robots_txt.rs"),
);

settings! {
    IgnoredRobotsTxt {
        /// Forbidden requests up to which it may be an old copy of the file, or chance.
        forbidden_max: u32 = 2,
    }
}

impl Detector for IgnoredRobotsTxt {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if context.knowledge.rules.is_none() {
            return Outcome::Abstain(Gap::NotKnown("no robots.txt was given"));
        }
        let is_crawler = profile.declared > profile.oddities().declared_automated;
        if !is_crawler && profile.robots == 0 {
            return Outcome::Abstain(Gap::NotKnown("robots.txt does not speak to it"));
        }
        let share = f64::from(profile.oddities().forbidden) / f64::from(profile.requests.max(1));
        if profile.oddities().forbidden <= self.forbidden_max {
            return Outcome::Clear(share);
        }
        let why = format!(
            "robots.txt forbids {} of its {} requests",
            percent(share),
            profile.requests
        );
        Outcome::finding(
            Toward::Crawler,
            why,
            &[
                ("forbidden", f64::from(profile.oddities().forbidden)),
                ("forbidden_share", share),
            ],
        )
    }
}
