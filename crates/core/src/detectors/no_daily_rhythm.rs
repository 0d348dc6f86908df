//! As busy in its quietest hours as at any other time.
//!
//! # Why it matters
//! People sleep; even an office, a school or a whole town is quiet at some hours of the day. A program need not be. (NRIC log study.)
//!
//! # When it is wrong
//! A gateway of a mobile network, or a company with offices on several continents, is never quite asleep. Where the whole shape can be
//! judged (`traffic_shape`), that counts instead of this rule.

use cattlegrid_learn::series::quietest_hours;

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::series;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<NoDailyRhythm>(
    "no_daily_rhythm",
    Family::Shape,
    None,
    include_str!("no_daily_rhythm.rs"),
);

settings! {
    NoDailyRhythm {
        /// Stay silent below this many requests: few of them are quiet at some hours by chance.
        requests_min: u32 = 300,
        /// Requests in the quietest six hours of the mean day, against an average six hours, above which it points to a crawler.
        quiet_max: f64 = 0.65,
    }
}

impl Detector for NoDailyRhythm {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.requests < self.requests_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "requests",
                have: profile.requests,
                need: self.requests_min,
            });
        }
        let series = match series(profile, context) {
            Ok(series) => series,
            Err(gap) => return Outcome::Abstain(gap),
        };
        let quiet = quietest_hours(&series);
        if quiet <= self.quiet_max {
            return Outcome::Clear(quiet);
        }
        Outcome::finding(
            Toward::Crawler,
            format!(
                "it never sleeps: its quietest six hours of the day have {} of an average six hours",
                percent(quiet)
            ),
            &[("quietest_hours", quiet)],
        )
    }
}
