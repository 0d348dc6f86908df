//! Hardly any page is fetched twice.
//!
//! # Why it matters
//! A crawler ticks pages off a list. People come back: to the front page, to a listing, to the page they liked.
//! (PubCrawl, 3.1: H2.)
//!
//! # When it is wrong
//! A reader of a large archive may never see a page twice. A crawler that refreshes its copy revisits everything.
//! Beyond 96 different pages the count is an estimate with an error of about 3 %.

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

pub(super) const SPEC: Spec = Spec::of::<LowPageRevisit>(
    "low_page_revisit",
    Family::Headers,
    Some(VoteSet::Former),
    include_str!("low_page_revisit.rs"),
);

settings! {
    LowPageRevisit {
        /// Stay silent below this many page requests.
        pages_min: u32 = 20,
        /// Share of revisits below which it points to a crawler.
        revisits_min: f64 = 0.1,
        /// Share of revisits from which it points to people...
        people_from: f64 = 0.3,
        /// ...up to this share: who asks for one page again and again is no reader.
        people_to: f64 = 0.9,
    }
}

impl Detector for LowPageRevisit {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        if profile.pages < self.pages_min.max(1) {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.pages,
                need: self.pages_min,
            });
        }
        let distinct = profile.distinct_pages.count();
        let share = share(profile);
        let values = [
            ("revisit_share", share),
            ("distinct_pages", distinct as f64),
            ("pages", f64::from(profile.pages)),
        ];
        if share < self.revisits_min {
            let why = format!(
                "it went back to a page in only {} of {} page requests",
                percent(share),
                profile.pages
            );
            return Outcome::finding(Toward::Crawler, why, &values);
        }
        if share < self.people_from || self.people_to < share {
            return Outcome::Clear(share);
        }
        let why = format!(
            "it went back to pages as people do, in {} of {} page requests",
            percent(share),
            profile.pages
        );
        Outcome::finding(Toward::User, why, &values)
    }

    fn measures(&self, profile: &Profile, _: &Context<'_>) -> Vec<Measure> {
        if profile.pages < self.pages_min.max(1) {
            return Vec::new();
        }
        vec![Measure::below("revisits_min", share(profile))]
    }
}

fn share(profile: &Profile) -> f64 {
    (1.0 - profile.distinct_pages.count() as f64 / f64::from(profile.pages)).max(0.0)
}
