//! Within single visits it acts like the robots that the model was trained on.
//!
//! # Why it matters
//! A robot that drives a real browser sends every header, loads every part and follows links. What it does within a visit still gives it
//! away in many cases: how long it stays on pages and how much that varies, whether it returns to pages, what its cache asks for, how
//! late parts come. The model has learned from whole visits of five pages or more (`cattlegrid train --sessions`); the latest three of
//! them count. Requests of one user agent and one session cookie at a time make up a visit, so that people who share an address are not
//! taken for one fast visitor.
//!
//! # When it is wrong
//! Some people skim pages as evenly as a program. So this rule speaks only where the visits of a source leave little doubt, a single
//! visit accuses nobody, the daily rhythm of a crowd outweighs it, and it does not put a source on a deny list by itself. Where the log
//! has no referrers, too little is seen of visits, and the detector abstains. Robots that pause as people do escape it.

use cattlegrid_learn::model::SessionModel;

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;
use crate::profile::VALUE_NAMES;
use crate::profile::VALUES;
use crate::profile::VISIT_PAGES_MIN;
use crate::profile::Visit;

pub(super) const SPEC: Spec = Spec::of::<VisitManner>(
    "visit_manner",
    Family::Visits,
    None,
    include_str!("visit_manner.rs"),
);

settings! {
    VisitManner {
        /// Decibans of its visits on average from which they count; a single visit counts for less.
        decibans_min: f64 = 9.0,
        /// Decibans that weigh most.
        decibans_max: f64 = 13.0,
        /// What they weigh then.
        weight_max: f64 = 12.0,
        /// What a single visit weighs at most: some people click through one as evenly as a program.
        single_max: f64 = 9.0,
    }
}

/// Decibans of one visit at most: no visit outweighs two others.
const VISIT_MAX: f64 = 30.0;
/// Visits of no meaning that are supposed beside those that were seen: of few, each may be an exception.
const SUPPOSED: f64 = 0.3;

impl Detector for VisitManner {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let Some(model) = context.model.and_then(|model| model.sessions.as_ref()) else {
            return Outcome::Abstain(Gap::NotKnown("the model knows nothing of visits"));
        };
        let visits = profile.visits().map_or(&[][..], |visits| visits.long());
        let Some(latest) = visits.last() else {
            return Outcome::Abstain(Gap::TooFew {
                what: "pages of one visit",
                have: profile.pages.min(u32::from(VISIT_PAGES_MIN) - 1),
                need: u32::from(VISIT_PAGES_MIN),
            });
        };
        if 2 * profile.declared > profile.requests {
            return Outcome::Abstain(Gap::NotKnown("it names itself a robot"));
        }
        if context.has_text_browser(profile) {
            return Outcome::Abstain(Gap::NotKnown("its agent is that of a text browser"));
        }
        let around = context.site.around();
        if !around.has_referrers() {
            return Outcome::Abstain(Gap::NoContrast(
                "hardly anybody names the page that led to the next, so that little is seen of visits",
            ));
        }
        let judge = |visit: &Visit| decibans(model, &visit.session.values(&around));
        let mean = visits.iter().map(judge).sum::<f64>() / (visits.len() as f64 + SUPPOSED);
        if mean < self.decibans_min {
            return Outcome::Clear(mean);
        }
        let most = match visits.len() {
            1 => self.single_max,
            _ => self.weight_max,
        };
        let short = (self.decibans_max - mean).max(0.0);
        Outcome::learned(
            (most - short).max(0.0),
            why(visits.len(), &latest.session.values(&around)),
            &[("decibans", mean), ("visits", visits.len() as f64)],
        )
    }
}

/// How likely a visit with these values is a robot's; not exact where that is unlikely.
pub fn visit_probability(model: &SessionModel, values: &[f64]) -> f64 {
    model.best.probability_unless_small(values)
}

/// How much likelier a visit is a robot's.
fn decibans(model: &SessionModel, values: &[f64]) -> f64 {
    let probability = visit_probability(model, values).clamp(1e-6, 1.0 - 1e-6);
    let decibans = 10.0 * (probability / (1.0 - probability)).log10();
    decibans.clamp(-VISIT_MAX, VISIT_MAX)
}

/// What the latest visit was like.
fn why(visits: usize, values: &[f64; VALUES]) -> String {
    let named = |name: &str| {
        let place = VALUE_NAMES.iter().position(|known| *known == name);
        place.map_or(0.0, |place| values[place])
    };
    let visits = match visits {
        1 => "its visit is".to_owned(),
        many => format!("its {many} latest visits are"),
    };
    let images = match named("image_share") {
        0.0 => "no images".to_owned(),
        share => format!("{} images", percent(share)),
    };
    format!(
        "{visits} a robot's rather than a person's; the latest: {} pages, one every {:.0} s (deviation {:.0} s), up to {:.0} in a minute, {} of its requests pages, {images}, {} of the pages seen before",
        named("pages"),
        named("page_seconds"),
        named("page_seconds_deviation"),
        named("clicks_per_minute"),
        percent(named("page_share")),
        percent(named("pages_again_share")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_says_what_the_latest_visit_was_like() {
        let mut values = [0.0; VALUES];
        for (name, value) in [
            ("pages", 12.0),
            ("page_seconds", 4.2),
            ("clicks_per_minute", 14.0),
            ("page_share", 0.96),
        ] {
            let place = VALUE_NAMES.iter().position(|known| *known == name);
            values[place.unwrap()] = value;
        }
        let text = why(2, &values);
        assert!(
            text.starts_with("its 2 latest visits are a robot's")
                && text.ends_with("12 pages, one every 4 s (deviation 0 s), up to 14 in a minute, 96 % of its requests pages, no images, 0 % of the pages seen before"),
            "{text}"
        );
    }
}
