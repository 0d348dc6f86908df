//! Pages are fetched with the style sheets, scripts and images that belong to them.
//!
//! # Why it matters
//! A browser that shows a page to a person loads its parts, and names the page with each of them. Most crawlers want the
//! text alone. This is the one sign that also speaks for people who read a single page. Where others load pictures with the same
//! pages, a browser does so too: who takes style sheets and scripts and never a picture shows less of a person.
//!
//! # When it is wrong
//! Crawlers that run a real browser load the parts too; nothing in the headers of one page tells them from a person. Programs may
//! fetch a few style sheets to look like a browser, so that what this rule says is bounded (docs/why.md). A text browser, a cache
//! in front of the site or assets on another host leave people without this sign; `skipped_page_parts` says when its absence counts.
//! The detector abstains where a source has twice as many visits with parts and without a page as pages: some programs share the parts of one
//! page among many addresses.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<LoadedPageParts>(
    "loaded_page_parts",
    Family::Headers,
    None,
    include_str!("loaded_page_parts.rs"),
);

settings! {
    LoadedPageParts {
        /// Parts from which it points to people...
        parts_min: u32 = 3,
        /// ...if there are this many for each page that the site sent...
        parts_per_page: f64 = 1.0,
        /// ...or, of later pages whose common parts a browser has already, this many...
        cached_per_page: f64 = 0.2,
        /// ...with this many pictures among them.
        cached_images: u32 = 1,
        /// Pages that others would have loaded with pictures from which their absence counts.
        images_expected: f64 = 0.5,
    }
}

/// What all parts of a page are worth towards people, and parts without the pictures that others load with it.
const WITH_IMAGES: f64 = -7.0;
const WITHOUT_IMAGES: f64 = -2.0;

impl Detector for LoadedPageParts {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.pages == 0 || profile.assets == 0 {
            return Outcome::Abstain(Gap::TooFew {
                what: "style sheets, scripts and images",
                have: profile.assets,
                need: self.parts_min,
            });
        }
        // A browser that is set to send no referrer names no page with parts either. Where it does name pages, parts must, too, unless
        // there are all kinds of them: then some of many browsers send it.
        let is_silent = profile.assets_of_pages == 0 && profile.referrers_link == 0;
        let has_kinds = profile.images > 0
            && (profile.assets > profile.images || profile.images >= 2 * profile.pages);
        let parts = match is_silent && has_kinds || profile.loads_all_kinds_silently() {
            true => profile.assets,
            false => profile.assets_of_pages,
        };
        if comes_for_parts(profile) {
            return Outcome::Clear(0.0);
        }
        // A redirect or an error has no parts; a log that does not tell answers has only requests.
        let pages = if profile.shown > 0 {
            profile.shown
        } else {
            profile.pages
        };
        let share = f64::from(parts) / f64::from(pages);
        let is_full = parts >= self.parts_min && share >= self.parts_per_page;
        let shows = profile.images >= self.cached_images || profile.drawn > 0;
        let is_cached = share >= self.cached_per_page && shows;
        if parts == 0 || !(is_full || is_cached) {
            return Outcome::Clear(share);
        }
        let lacks_images = lacks_images(profile, context, self.images_expected);
        let why = match lacks_images {
            false => format!(
                "it loads what its pages need, as a browser does: {parts} parts for {pages} pages"
            ),
            true => format!(
                "it loads {parts} style sheets and scripts for {pages} pages, but none of the images that others load with them"
            ),
        };
        Outcome::learned(
            if lacks_images {
                WITHOUT_IMAGES
            } else {
                WITH_IMAGES
            },
            why,
            &[
                ("parts_per_page", share),
                ("parts", f64::from(parts)),
                ("images", f64::from(profile.images)),
                ("pages", f64::from(pages)),
            ],
        )
    }
}

/// True for who comes for parts without a page, again and again: a program that shares the parts of a page among its addresses, or people
/// behind a gateway of many addresses, of whose pages nothing is seen here.
fn comes_for_parts(profile: &Profile) -> bool {
    const VISITS_MIN: u32 = 2;
    let pageless = profile.visits().map_or(0, |visits| visits.pageless);
    u32::from(pageless) >= VISITS_MIN.max(profile.shown.saturating_mul(2))
}

/// True for who loads parts, but none of the pictures that others load with a good part of the same pages.
pub(super) fn lacks_images(profile: &Profile, context: &Context<'_>, expected_min: f64) -> bool {
    const PAGES_SHARE: f64 = 0.2;
    // Who asks for fonts or the icon, or has copies, has a browser that shows pages; its cache has the pictures.
    if profile.shows_pages() {
        return false;
    }
    let expected = context.site.expected_parts(profile).images;
    expected >= expected_min && expected >= PAGES_SHARE * profile.distinct_pages.count() as f64
}
