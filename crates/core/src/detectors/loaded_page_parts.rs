//! Pages are fetched with the style sheets, scripts and images that belong to them.
//!
//! # Why it matters
//! A browser that shows a page to a person loads its parts, and names the page with each of them. Most crawlers want the
//! text alone. This is the one sign that also speaks for people who read a single page.
//!
//! # When it is wrong
//! Crawlers that run a real browser load the parts too; nothing in the headers of one page tells them from a person. A
//! text browser, a cache in front of the site or assets on another host leave people without this sign, so its absence
//! is no evidence.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<LoadedPageParts>(
    "loaded_page_parts",
    Family::Headers,
    None,
    include_str!("loaded_page_parts.rs"),
);

settings! {
    LoadedPageParts {
        /// Parts that name their page from which it points to people...
        parts_min: u32 = 3,
        /// ...if there are this many for each page request.
        parts_per_page: f64 = 1.0,
    }
}

impl Detector for LoadedPageParts {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        let parts = profile.assets_of_pages;
        if profile.pages == 0 || profile.assets < self.parts_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "style sheets, scripts and images",
                have: profile.assets,
                need: self.parts_min,
            });
        }
        let share = f64::from(parts) / f64::from(profile.pages);
        if parts < self.parts_min || share < self.parts_per_page {
            return Outcome::Clear(share);
        }
        let why = format!(
            "it loads what its pages need, as a browser does: {parts} parts for {} page requests",
            profile.pages
        );
        Outcome::finding(
            Toward::User,
            why,
            &[
                ("parts_per_page", share),
                ("parts", f64::from(parts)),
                ("pages", f64::from(profile.pages)),
            ],
        )
    }
}
