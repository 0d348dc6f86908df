//! Some kinds of page parts are never loaded: images, style sheets and scripts, or fonts and the site's icon.
//!
//! # Why it matters
//! To render a page, a browser loads style sheets, scripts, images, the fonts that style sheets name, and the site's icon. A program
//! that imitates a browser fetches the URLs it finds in the HTML, often of one or two kinds. The weight depends on this site's other
//! visitors: the more of them load a kind, the more its absence counts.
//!
//! # When it is wrong
//! Some people block images or fonts, and caches keep files that never change. A few missing parts weigh little, hundreds weigh much.
//! The detector abstains where other visitors do not load the kind either.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;
use crate::site::Habit;

pub(super) const SPEC: Spec = Spec::of::<PartialPages>(
    "partial_pages",
    Family::Headers,
    None,
    include_str!("partial_pages.rs"),
);

settings! {
    PartialPages {
        /// Stay silent below this many parts of the kinds that it loads.
        parts_min: u32 = 10,
        /// Share of the site's other visitors that must load fonts or the icon for their absence to count.
        fonts_min: f64 = 0.6,
        /// The same for style sheets and scripts beside pictures. Where caches keep them, many load pictures alone.
        styles_min: f64 = 0.95,
    }
}

/// What a kind that never comes is worth at most, by the parts of other kinds that came. Some people block pictures or fonts; few do so
/// for hundreds of pages.
const DECIBANS: [(f64, f64); 4] = [(500.0, 14.0), (200.0, 10.0), (50.0, 7.0), (10.0, 4.0)];
/// The same for what caches keep for long: style sheets, fonts and the icon.
const DECIBANS_KEPT: [(f64, f64); 3] = [(500.0, 14.0), (200.0, 10.0), (100.0, 4.0)];

/// A kind of parts that a source never loads.
struct Missing {
    loaded: u32,
    loaded_name: &'static str,
    missing_name: &'static str,
    /// Of the visitors who load the one kind, how many load the other.
    habit: f64,
    /// Parts of the missing kind that others would have loaded.
    expected: f64,
    decibans: &'static [(f64, f64)],
}

impl Detector for PartialPages {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let styles = profile.styles();
        if styles.max(profile.images) < self.parts_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "style sheets, scripts or images",
                have: styles.max(profile.images),
                need: self.parts_min,
            });
        }
        if context.has_text_browser(profile) {
            return Outcome::Abstain(Gap::NotKnown("its agent is that of a text browser"));
        }
        let missing = [
            self.without_images(profile, context),
            self.without_styles(profile, context),
            self.without_fonts(profile, context),
        ];
        let weighed = missing
            .into_iter()
            .flatten()
            .map(|missing| (missing.decibans(), missing));
        let strongest = weighed.max_by(|one, other| one.0.total_cmp(&other.0));
        match strongest {
            Some((decibans, missing)) if decibans > 0.0 => missing.tell(decibans),
            _ => Outcome::Clear(0.0),
        }
    }
}

impl PartialPages {
    fn without_images(&self, profile: &Profile, context: &Context<'_>) -> Option<Missing> {
        let expected = context.site.expected_parts(profile).images;
        (profile.images == 0).then_some(Missing {
            loaded: profile.styles(),
            loaded_name: "style sheets and scripts",
            missing_name: "an image",
            habit: 1.0,
            expected,
            decibans: &DECIBANS,
        })
    }

    fn without_styles(&self, profile: &Profile, context: &Context<'_>) -> Option<Missing> {
        let is_bare = profile.styles() == 0 && profile.drawn == 0;
        let habit = habit(context.site.customs().styled, self.styles_min)?;
        is_bare.then_some(Missing {
            loaded: profile.images,
            loaded_name: "images",
            missing_name: "a style sheet or script",
            habit,
            expected: f64::from(profile.images),
            decibans: &DECIBANS_KEPT,
        })
    }

    fn without_fonts(&self, profile: &Profile, context: &Context<'_>) -> Option<Missing> {
        let habit = habit(context.site.customs().drawn, self.fonts_min)?;
        (profile.drawn == 0).then_some(Missing {
            loaded: profile.styles(),
            loaded_name: "style sheets and scripts",
            missing_name: "a font or the site's icon",
            habit,
            expected: f64::from(profile.styles()),
            decibans: &DECIBANS_KEPT,
        })
    }
}

/// The share of visitors with a habit, where enough of them have it.
fn habit(habit: Habit, least: f64) -> Option<f64> {
    habit.share().filter(|share| *share >= least)
}

impl Missing {
    /// How much likelier a source with this gap is a program: the rarer the gap is among visitors, the more.
    fn decibans(&self) -> f64 {
        let most = self
            .decibans
            .iter()
            .find(|(from, _)| self.expected >= *from);
        let most = most.map_or(0.0, |(_, decibans)| *decibans);
        let rare = -10.0 * (1.0 - self.habit).max(1e-3).log10();
        most.min(rare)
    }

    fn tell(&self, decibans: f64) -> Outcome {
        Outcome::learned(
            decibans,
            format!(
                "it loaded {} {} but never {}, which other visitors load with these pages",
                self.loaded, self.loaded_name, self.missing_name
            ),
            &[
                ("habit", self.habit),
                ("loaded", f64::from(self.loaded)),
                ("expected", self.expected),
            ],
        )
    }
}
