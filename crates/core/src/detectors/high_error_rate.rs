//! Many page requests that end in an error (4xx). A refusal (401, 403, 407, 429) is none.
//!
//! # Why it matters
//! A crawler works through a list of addresses that it guessed, found in an old index or read from a list of known weak
//! spots; many of them do not exist. A person follows links that work. (PubCrawl, 3.1: H1.)
//!
//! # When it is wrong
//! A site that has just moved its pages answers everybody with errors.

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
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<HighErrorRate>(
    "high_error_rate",
    Family::Headers,
    Some(VoteSet::Former),
    include_str!("high_error_rate.rs"),
);

settings! {
    HighErrorRate {
        /// Stay silent below this many page requests.
        pages_min: u32 = 10,
        /// Share of errors above which it points to a crawler.
        errors_max: f64 = 0.3,
    }
}

impl Detector for HighErrorRate {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        if profile.pages < self.pages_min.max(1) {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.pages,
                need: self.pages_min,
            });
        }
        let answered = profile.answered_pages();
        if answered < self.pages_min.max(1) {
            return Outcome::Abstain(Gap::NotLogged("status"));
        }
        let share = share(profile);
        if share <= self.errors_max {
            return Outcome::Clear(share);
        }
        let why = format!(
            "{} of its {} page requests ended in an error",
            percent(share),
            answered
        );
        // A browser that follows a site's broken links has done nothing.
        let decibans = match profile.loads_whole_pages() {
            true => 3.0,
            // Nobody looks for ten pages in vain, with nothing to look at.
            false if profile.assets == 0 && share >= NEARLY_ALL => 11.0,
            false => 8.0,
        };
        Outcome::learned(
            decibans,
            why,
            &[("error_share", share), ("pages", f64::from(answered))],
        )
    }

    fn measures(&self, profile: &Profile, _: &Context<'_>) -> Vec<Measure> {
        if profile.answered_pages() < self.pages_min.max(1) {
            return Vec::new();
        }
        vec![Measure::above("errors_max", share(profile))]
    }
}

/// Share of errors that leaves hardly a page to read.
const NEARLY_ALL: f64 = 0.8;

fn share(profile: &Profile) -> f64 {
    f64::from(profile.page_errors) / f64::from(profile.answered_pages())
}
