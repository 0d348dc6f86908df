//! A browser that was out of date for years when it came, and loads nothing that belongs to its pages.
//!
//! # Why it matters
//! Browsers renew themselves. A program names the version that was new when somebody wrote it, and goes on with that for years.
//!
//! # When it is wrong
//! Old telephones and machines that nobody cares for have old browsers; but these show pages, and load what it takes. Such are left
//! alone, and what is left weighs too little to decide anything.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::knowledge::browser_released;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<OutdatedBrowser>(
    "outdated_browser",
    Family::Headers,
    None,
    include_str!("outdated_browser.rs"),
);

settings! {
    OutdatedBrowser {
        /// Stay silent below this many page requests.
        pages_min: u32 = 2,
        /// Years behind the newest browsers of other visitors from which one is out of date.
        years_min: f64 = 4.0,
    }
}

/// What it is worth.
const DECIBANS: f64 = 5.0;
const SECONDS_OF_YEAR: f64 = 31_556_952.0;

impl Detector for OutdatedBrowser {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.pages < self.pages_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.pages,
                need: self.pages_min,
            });
        }
        if !profile.loads_nothing() {
            return Outcome::Abstain(Gap::NotKnown("it loads what belongs to its pages"));
        }
        let Some(released) = context.top_agent(profile).and_then(browser_released) else {
            return Outcome::Abstain(Gap::NotKnown("when its browser came out is not known"));
        };
        let came = 1970.0 + f64::from(profile.last_seen) / SECONDS_OF_YEAR;
        let newest = context.agents.newest_browsers().unwrap_or(released);
        let years = came.min(newest) - released;
        if years < self.years_min {
            return Outcome::Clear(years);
        }
        Outcome::learned(
            DECIBANS,
            format!(
                "its browser was {years:.0} years older than those of others, and loaded nothing that belongs to its {} pages",
                profile.pages
            ),
            &[("years", years)],
        )
    }
}
