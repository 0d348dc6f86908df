//! A good part of the whole site, each page about once.
//!
//! # Why it matters
//! Readers go where others go: to the front page, the news, what is linked and searched for; of a large site each sees a
//! little. A source that has fetched a third of all the different pages anybody fetched, popular or not, and hardly any of them twice,
//! is copying the site. (NRIC log study: indiscriminate download.)
//!
//! Where enough people came to show which pages are popular, the detector compares: as many requests that went where people go would
//! have reached fewer different pages.
//!
//! # When it is wrong
//! On a small site a reader does see everything, so it stays silent there. Many people behind one address see much of a site
//! together, but they share favourites: their pages repeat, as often as popularity predicts.

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

pub(super) const SPEC: Spec = Spec::of::<IndiscriminateDownload>(
    "indiscriminate_download",
    Family::Headers,
    None,
    include_str!("indiscriminate_download.rs"),
);

settings! {
    IndiscriminateDownload {
        /// Stay silent where all sources together fetched fewer different pages.
        site_pages_min: u64 = 200,
        /// Share of the site's pages from which it points to a crawler...
        coverage_from: f64 = 0.3,
        /// ...if each was fetched at most so often on average.
        repeats_max: f64 = 2.0,
        /// ...and, where people came, if it reached this many times the pages that as many requests of theirs would have.
        beyond_popularity: f64 = 1.4,
    }
}

impl Detector for IndiscriminateDownload {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let least = self.site_pages_min as f64 * self.coverage_from;
        if f64::from(profile.pages) < least {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.pages,
                need: least.ceil() as u32,
            });
        }
        let site_pages = context.site.distinct_pages();
        if site_pages < self.site_pages_min {
            return Outcome::Abstain(Gap::NoContrast("the site has few pages"));
        }
        let distinct = profile.distinct_pages.count();
        let coverage = distinct as f64 / site_pages as f64;
        let repeats = f64::from(profile.pages) / distinct.max(1) as f64;
        if coverage < self.coverage_from || repeats > self.repeats_max {
            return Outcome::Clear(coverage);
        }
        let expected = context.site.expected_pages(profile.pages);
        if expected.is_some_and(|pages| (distinct as f64) < self.beyond_popularity * pages) {
            return Outcome::Clear(coverage);
        }
        let why = format!(
            "it fetched {distinct} of the {site_pages} different pages that anybody fetched ({}), each {repeats:.1} times",
            percent(coverage)
        );
        let mut values = vec![("coverage", coverage), ("repeats", repeats)];
        values.extend(expected.map(|pages| ("expected_pages", pages)));
        Outcome::finding(Toward::Crawler, why, &values)
    }
}
