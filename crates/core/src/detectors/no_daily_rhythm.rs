//! As busy in its quietest hours as at any other time.
//!
//! # Why it matters
//! People sleep; even an office, a school or a whole town is quiet at some hours of the day. A program need not be. (NRIC log study.)
//! It weighs most for a single user agent with more pages a day than one person reads, at a rate that hardly changes.
//!
//! # When it is wrong
//! A gateway of a mobile network, or a company with offices on several continents, is never quite asleep; nor is an exit of an
//! anonymity network, whose users all send the same user agent. Beside signs of people, the rate is not enough for a verdict. Where the
//! whole shape can be judged (`traffic_shape`), that counts instead of this rule.

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
        /// The same from which hardly any crowd is so even...
        even_min: f64 = 0.9,
        /// ...which counts for one user agent with more pages a day than this.
        day_pages_max: u32 = 500,
        /// ...and at least this many different ones in all: a page that is left open loads itself again, by night as by day.
        distinct_min: u16 = 50,
    }
}

/// Gateways of phones are as busy by night as by day...
const DECIBANS: f64 = 4.0;
/// ...but have many browsers. Of the people of fifteen simulated sites two sources came above 0.9, both with ten user agents, and all
/// above 0.8 had at least three.
const DECIBANS_EVEN: f64 = 10.0;

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
        Outcome::learned(
            if quiet >= self.even_min && self.is_busy_browser(profile, context) {
                DECIBANS_EVEN
            } else {
                DECIBANS
            },
            format!(
                "it never sleeps: its quietest six hours of the day have {} of an average six hours",
                percent(quiet)
            ),
            &[("quietest_hours", quiet)],
        )
    }
}

impl NoDailyRhythm {
    /// True for one user agent with more pages a day than one person reads, if they are not the same few.
    fn is_busy_browser(&self, profile: &Profile, context: &Context<'_>) -> bool {
        let a_day = profile.pages / context.busy_days(profile);
        context.sources == 1
            && profile.agents.count() == 1
            && a_day > self.day_pages_max
            && profile.distinct_pages.count() >= u64::from(self.distinct_min)
    }
}
