//! Pages are fetched without the style sheets, scripts and images that others load with the same pages.
//!
//! # Why it matters
//! A browser loads what belongs to a page by itself. Who fetches page after page and never a part of one reads the text with a
//! program.
//!
//! # When it is wrong
//! A cache keeps parts from earlier visits, but not those of pages that were never seen before: it takes several different pages,
//! more of them weigh more. Browsers that show text alone (Lynx, w3m) name themselves and are left out. Somebody who blocks
//! everything but the text looks like a program here. The rule is silent where hardly anybody loads parts: they may lie on another host.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<SkippedPageParts>(
    "skipped_page_parts",
    Family::Headers,
    None,
    include_str!("skipped_page_parts.rs"),
);

settings! {
    SkippedPageParts {
        /// Stay silent below this many different pages that others load with parts...
        pages_min: u32 = 3,
        /// ...unless it came again for at least this many days without loading any part...
        days_min: u32 = 7,
        /// ...of at least this many pages in all.
        shown_min: u32 = 5,
        /// Share of parts for each page up to which it counts as loading none.
        parts_max: f64 = 0.02,
    }
}

/// Decibans from so many different pages on. A warm cache explains a few pages, and nothing explains twenty.
const DECIBANS: [(u64, f64); 4] = [(20, 12.0), (10, 10.0), (5, 8.0), (0, 5.0)];

/// Browsers that show text alone.
const TEXT_BROWSERS: [&[u8]; 6] = [b"Lynx/", b"w3m/", b"Links (", b"ELinks/", b"Dillo/", b"URL/Emacs"];

impl Detector for SkippedPageParts {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let parts = f64::from(profile.assets) / f64::from(profile.shown.max(1));
        if profile.shown > 0 && parts > self.parts_max {
            return Outcome::Clear(parts);
        }
        let (pages, _) = context.site.pages_with_parts(&profile.distinct_pages);
        let pages = pages.min(u64::from(profile.shown));
        let days = (profile.last_seen - profile.first_seen) / 86_400;
        let came_again = days >= self.days_min && profile.shown >= self.shown_min && pages > 0;
        if pages < u64::from(self.pages_min) && !came_again {
            return Outcome::Abstain(Gap::TooFew {
                what: "different pages that others load with parts",
                have: pages as u32,
                need: self.pages_min,
            });
        }
        if !context.site.has_parts() {
            return Outcome::Abstain(Gap::NoContrast(
                "hardly anybody loads parts of this site's pages",
            ));
        }
        if is_text_browser(profile, context) {
            return Outcome::Abstain(Gap::NotKnown("its agent is that of a text browser"));
        }
        let decibans = DECIBANS.iter().find(|(from, _)| pages >= *from);
        let loaded = match profile.assets {
            0 => "none".to_owned(),
            some => format!("only {some}"),
        };
        Outcome::learned(
            decibans.map_or(0.0, |(_, decibans)| *decibans),
            format!(
                "it loaded {loaded} of the style sheets, scripts and images that others load with the {pages} different pages it fetched"
            ),
            &[
                ("pages_with_parts", pages as f64),
                ("parts", f64::from(profile.assets)),
                ("shown", f64::from(profile.shown)),
            ],
        )
    }
}

fn is_text_browser(profile: &Profile, context: &Context<'_>) -> bool {
    let agent = profile.agents.top().and_then(|agent| context.agents.text(agent));
    agent.is_some_and(|agent| TEXT_BROWSERS.iter().any(|name| agent.starts_with(name)))
}
