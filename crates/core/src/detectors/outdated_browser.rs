//! A browser version that is years out of date, from a source that loads no style sheet, script or image.
//!
//! # Why it matters
//! Browsers update themselves. A program keeps sending the version that was current when it was written.
//!
//! # When it is wrong
//! Old phones and neglected machines have old browsers, but they load the parts of the pages they show: sources that load any part
//! are ignored. The weight is too small to decide alone.

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
            return Outcome::Abstain(Gap::NotKnown("it loads parts of its pages"));
        }
        let Some(released) = context.top_agent(profile).and_then(browser_released) else {
            return Outcome::Abstain(Gap::NotKnown(
                "the release date of its browser is not known",
            ));
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
                "its browser is {years:.0} years older than the newest ones on this site, and it loaded no part of its {} pages",
                profile.pages
            ),
            &[("years", years)],
        )
    }
}
