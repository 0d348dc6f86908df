//! Pages are fetched without the style sheets, scripts and images that others load with the same pages.
//!
//! # Why it matters
//! A browser loads a page's style sheets, scripts and images by itself. A client that fetches page after page and none of these is a
//! program that reads the text. The site's other visitors show how many of a folder's pages bring new parts, with warm caches
//! included.
//!
//! # When it is wrong
//! A person who blocks everything but text looks like a program, and so may a cache that many people share. Text browsers (Lynx, w3m)
//! are left out by their user agent, and sources of many browsers if half of these may have loaded a part. The detector abstains where few visitors load parts: they may be on another host.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;
use crate::site::Expected;

pub(super) const SPEC: Spec = Spec::of::<SkippedPageParts>(
    "skipped_page_parts",
    Family::Headers,
    None,
    include_str!("skipped_page_parts.rs"),
);

settings! {
    SkippedPageParts {
        /// Stay silent where fewer of its pages than this would have come with parts...
        expected_min: f64 = 2.0,
        /// ...unless it was sent this many pages, the same ones again and again among them...
        shown_min: u32 = 5,
        /// ...which weighs more if that went on for this many days.
        days_min: u32 = 3,
        /// Pages a day that nobody reads alone. Among several people somebody loads parts, whatever the others have in their caches.
        day_pages_max: u32 = 500,
        /// Share of parts for each page up to which it counts as loading none.
        parts_max: f64 = 0.02,
    }
}

/// Decibans for each page that should have come with parts. Were pages independent it would be more than four; but who has one
/// page's parts in the cache often has another's, and who blocks parts blocks all.
const DECIBANS_EACH: f64 = 2.0;
/// At most so much: somebody may block everything but the text...
const DECIBANS_MAX: f64 = 9.0;
/// ...and who goes from page to page by links has loaded them on an earlier visit.
const DECIBANS_READER: f64 = 5.0;
/// Hardly anybody blocks them for this many pages, so that they decide alone.
const EXPECTED_MANY: f64 = 15.0;
const DECIBANS_MANY: f64 = 12.0;
/// Nor does a cache explain it from more pages than one person reads, where parts came with so many views of others.
const VIEWS_MANY: f64 = 50.0;
/// With hundreds of such views no excuse is left: one person does not read so much, and of several somebody loads parts. Then what a
/// program copies for little, a rhythm and a referrer, must not make it undecided. It takes different pages: one that is left open and
/// loads itself again has its parts in the cache.
const VIEWS_HUNDREDS: f64 = 500.0;
const DISTINCT_HUNDREDS: u64 = 50;
const DECIBANS_HUNDREDS: f64 = 15.0;
/// What coming again for days is worth, by the pages that were sent: hardly a cache lasts that long. It takes this share of a folder's views with
/// parts, and all of it counts from the larger one: a verdict must not hang on a hundredth of what others happen to load.
const DECIBANS_DAYS: [(u32, f64); 3] = [(100, 11.0), (30, 9.0), (0, 6.0)];
/// What it is worth over this many days: no cache lasts that long.
const DAYS_MANY: u32 = 60;
const DECIBANS_MONTHS: f64 = 10.0;
const FIRST_SHARES: [f64; 2] = [0.3, 0.4];
/// What it is worth that none of several browsers loads a part: they do not all have everything in their caches.
const SEVERAL_AGENTS: [(usize, f64); 3] = [(3, 9.0), (4, 10.0), (5, 11.0)];
/// Pages from which that counts.
const SEVERAL_SHOWN: u32 = 3;
/// What several pages without a part are worth at once, where most views come with parts: a warm cache explains it, too.
const DECIBANS_SOME: f64 = 3.0;
const FIRST_USUAL: [f64; 2] = [0.5, 0.6];

impl Detector for SkippedPageParts {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let parts = f64::from(profile.assets) / f64::from(profile.shown.max(1));
        let Expected {
            parts: expected,
            first,
            views,
            ..
        } = context.site.expected_parts(profile);
        let bare = bare_agents(profile);
        let loads = profile.shown > 0 && parts > self.parts_max;
        if loads && bare < SEVERAL_AGENTS[0].0 {
            return Outcome::Clear(parts);
        }
        let expected = match loads {
            true => 0.0,
            false => expected.min(f64::from(profile.shown)),
        };
        // Who goes from page to page by links may have everything in the cache.
        let reads = profile.goes_by_links();
        let least = match reads {
            true => 0.0,
            false => self.least(profile, bare, first) * share_between(first, FIRST_SHARES),
        };
        let is_too_much = self.is_more_than_one_reads(profile, context) && !loads;
        let is_varied = profile.distinct_pages.count() >= DISTINCT_HUNDREDS;
        let least = match views {
            VIEWS_HUNDREDS.. if is_too_much && is_varied => DECIBANS_HUNDREDS,
            VIEWS_MANY.. if is_too_much => least.max(DECIBANS_MANY),
            _ => least,
        };
        if expected < self.expected_min && least == 0.0 {
            return Outcome::Abstain(Gap::NotKnown(
                "too few of its pages would have come with parts",
            ));
        }
        if !context.site.has_parts() {
            return Outcome::Abstain(Gap::NoContrast(
                "hardly anybody loads parts of this site's pages",
            ));
        }
        if context.has_text_browser(profile) {
            return Outcome::Abstain(Gap::NotKnown("its agent is that of a text browser"));
        }
        let loaded = match profile.assets {
            0 => "no".to_owned(),
            some => format!("only {some}"),
        };
        let (pages, with) = (
            profile.distinct_pages.count(),
            expected.max(first).max(views).ceil(),
        );
        let decibans = match expected >= EXPECTED_MANY {
            _ if reads => (DECIBANS_EACH * expected).min(DECIBANS_READER),
            true => DECIBANS_MANY,
            false => (DECIBANS_EACH * expected).min(DECIBANS_MAX),
        };
        Outcome::learned(
            decibans.max(least),
            format!(
                "it loaded {loaded} style sheet, script or image with its {pages} different pages; a browser would have with about {with} of them, as others did"
            ),
            &[
                ("expected", expected),
                ("parts", f64::from(profile.assets)),
                ("shown", f64::from(profile.shown)),
            ],
        )
    }
}

/// How far a value is from the first of two to the second: 0 up to the first, 1 from the second on.
fn share_between(value: f64, [none, all]: [f64; 2]) -> f64 {
    ((value - none) / (all - none)).clamp(0.0, 1.0)
}

/// Browsers that loaded nothing: each part was loaded by one of them. None where at least half may have loaded one.
fn bare_agents(profile: &Profile) -> usize {
    let (agents, parts) = (profile.agents.count(), profile.assets as usize);
    if parts * 2 <= agents {
        agents - parts
    } else {
        0
    }
}

impl SkippedPageParts {
    /// What it is worth at least for who goes to pages that usually come with parts, and follows no links.
    fn least(&self, profile: &Profile, bare: usize, first: f64) -> f64 {
        let days = (profile.last_seen - profile.first_seen) / 86_400;
        let is_several = bare >= SEVERAL_AGENTS[0].0;
        let needed = if is_several {
            SEVERAL_SHOWN
        } else {
            self.shown_min
        };
        match profile.shown >= needed {
            true if is_several => {
                let weighs = SEVERAL_AGENTS.iter().rfind(|(from, _)| bare >= *from);
                let months = if days >= DAYS_MANY {
                    DECIBANS_MONTHS
                } else {
                    0.0
                };
                weighs.map_or(0.0, |(_, decibans)| decibans.max(months))
            }
            true if days >= DAYS_MANY => DECIBANS_MONTHS,
            true if days >= self.days_min => {
                let weighs = DECIBANS_DAYS
                    .iter()
                    .find(|(from, _)| profile.shown >= *from);
                weighs.map_or(0.0, |(_, decibans)| *decibans)
            }
            true => DECIBANS_SOME * share_between(first, FIRST_USUAL),
            false => 0.0,
        }
    }

    fn is_more_than_one_reads(&self, profile: &Profile, context: &Context<'_>) -> bool {
        profile.shown / context.busy_days(profile) > self.day_pages_max
    }
}
