//! Pages asked for without saying where the link was, or always from the site's own listings.
//!
//! # Why it matters
//! A browser names the page on which a link was clicked. Many crawlers leave the field empty; better ones fill in the
//! listing or search page from which they took all their addresses. (PubCrawl, 3.1: H3.)
//!
//! # When it is wrong
//! Some browsers and settings never send a referrer, and a site can ask for that itself; who loads pictures and names no page for
//! these either is left alone. A shop's customers reach most
//! products from listings, so only a share close to one counts. A crawler can forge the field.

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
use crate::profile::is_start;

pub(super) const SPEC: Spec = Spec::of::<SuspiciousReferrer>(
    "suspicious_referrer",
    Family::Headers,
    Some(VoteSet::Former),
    include_str!("suspicious_referrer.rs"),
);

settings! {
    SuspiciousReferrer {
        /// Stay silent below this many page requests.
        pages_min: u32 = 5,
        /// Share of empty referrers above which it points to a crawler.
        empty_max: f64 = 0.9,
        /// Style sheets, scripts and images for each page from which a source that names no page for any of them is taken for a
        /// browser that never sends a referrer.
        private_assets: f64 = 1.0,
        /// Referrers it takes to judge by listings.
        listings_min: u32 = 20,
        /// Share of listings among the referrers above which it points to a crawler.
        listings_max: f64 = 0.95,
    }
}

impl Detector for SuspiciousReferrer {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.referrers == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the referrer is"));
        }
        if profile.referrers < self.pages_min.max(1) {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests",
                have: profile.referrers,
                need: self.pages_min,
            });
        }
        let (empty, listing) = shares(profile);
        let filled = profile.referrers - profile.referrers_empty;
        let values = [
            ("empty_share", empty),
            ("listing_share", listing),
            ("pages", f64::from(profile.referrers)),
        ];
        if empty > self.empty_max && self.is_private(profile) {
            return Outcome::Abstain(Gap::NotKnown(
                "it does not say where its pictures belong either: a browser that is set to keep that to itself",
            ));
        }
        if empty > self.empty_max && !context.site.has_referrers() {
            return Outcome::Abstain(Gap::NoContrast(
                "hardly anybody sends a referrer to this site",
            ));
        }
        if empty > self.empty_max {
            let why = match profile.referrers_empty == profile.referrers {
                true => format!(
                    "none of its {} page requests sent a referrer",
                    profile.referrers
                ),
                false => format!(
                    "{} of its {} page requests sent no referrer",
                    percent(empty),
                    profile.referrers
                ),
            };
            return Outcome::learned(self.weight(profile, context), why, &values);
        }
        if listing > self.listings_max && self.knows_listings(profile, context) {
            let why = format!(
                "{} of its {filled} referrers are the site's own listings and search results",
                percent(listing)
            );
            return Outcome::finding(Toward::Crawler, why, &values);
        }
        Outcome::Clear(empty)
    }

    fn measures(&self, profile: &Profile, context: &Context<'_>) -> Vec<Measure> {
        if profile.referrers < self.pages_min.max(1) {
            return Vec::new();
        }
        let (empty, listing) = shares(profile);
        if empty > self.empty_max && self.is_private(profile) {
            return Vec::new();
        }
        let mut measures = vec![Measure::above("empty_max", empty)];
        if self.knows_listings(profile, context) {
            measures.push(Measure::above("listings_max", listing));
        }
        measures
    }
}

/// True for one page again and again, unless it is the start page: that is what programs look at that know nothing else of a site.
fn is_woken(profile: &Profile) -> bool {
    let pages = profile.distinct_pages.few();
    let is_one = pages.is_some_and(|pages| pages.len() == 1 && !is_start(pages[0]));
    is_one && profile.shown > 0
}

impl SuspiciousReferrer {
    /// What empty referrers are worth: little for who loads whole pages, pictures included, and most for who loads nothing else. Links
    /// in apps, in mail and among bookmarks come without a referrer.
    fn weight(&self, profile: &Profile, context: &Context<'_>) -> f64 {
        let chapters = profile.numbered_pairs;
        let shows = profile.drawn > 0
            || profile.images * 4 >= profile.pages
            || profile.assets * 2 >= profile.pages;
        // One chapter after the other may be read with nothing but text, and a phone that wakes up asks for the same page again.
        let is_explained = chapters.ascending * 2 >= profile.pages
            || is_woken(profile)
            || context.has_text_browser(profile);
        match profile.loads_whole_pages() && profile.assets_of_pages > 0 {
            true => 1.0,
            false if shows || is_explained => 8.0,
            false => 10.0,
        }
    }

    /// It loads pictures, and names no page for these either.
    fn is_private(&self, profile: &Profile) -> bool {
        let parts = f64::from(profile.assets) / f64::from(profile.pages.max(1));
        let is_silent = parts >= self.private_assets && profile.assets_of_pages == 0;
        is_silent || parts >= self.private_assets / 2.0 && profile.loads_all_kinds_silently()
    }

    /// Enough referrers, and the listings among them are the site's own.
    fn knows_listings(&self, profile: &Profile, context: &Context<'_>) -> bool {
        let listings = profile.listings();
        let own = listings.own > 0 || context.site.is_own_host(listings.host);
        profile.referrers - profile.referrers_empty >= self.listings_min && own
    }
}

/// Shares of empty referrers, and of listings among the others.
fn shares(profile: &Profile) -> (f64, f64) {
    let filled = profile.referrers - profile.referrers_empty;
    let empty = f64::from(profile.referrers_empty) / f64::from(profile.referrers);
    let listing = f64::from(profile.listings().all) / f64::from(filled.max(1));
    (empty, listing)
}
