//! Its visits resemble those of robots.
//!
//! # Why it matters
//! A robot that drives a real browser sends all headers, loads all page parts and follows links. Within a visit it often still differs
//! from people: in the time between pages and how much it varies, in pages requested again, in what its cache requests, in how late page
//! parts are loaded. A model trained on visits of five pages or more (`cattlegrid train --sessions`) rates the latest three such visits of
//! a source. A visit consists of requests with one user agent and one session cookie, so people who share an address are not taken for
//! one fast visitor.
//!
//! # When it is wrong
//! Some people click through pages as evenly as a program. A single visit is therefore not enough for a verdict, the daily rhythm of a
//! crowd outweighs visits, and a source is never denied for its visits alone. The detector abstains where the log has hardly any
//! referrers. It does not detect robots that pause as people do.

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
        /// Mean decibans of two or three visits from which they count.
        decibans_min: f64 = 9.0,
        /// Mean decibans from which they weigh most. A single visit counts only from here on.
        decibans_max: f64 = 13.0,
        /// Weight of two or three visits at most, in decibans.
        weight_max: f64 = 12.0,
        /// Weight of a single visit: some people click through one as evenly as a program.
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
                "hardly any request names the page that led to it, which visits are judged by",
            ));
        }
        let judge = |visit: &Visit| decibans(model, &visit.session.values(&around));
        let mean = visits.iter().map(judge).sum::<f64>() / (visits.len() as f64 + SUPPOSED);
        // One visit of few pages is evidence only where it leaves no doubt: weak signs must not outweigh parts and links.
        let (least, most) = match visits.len() {
            1 => (self.decibans_max, self.single_max),
            _ => (self.decibans_min, self.weight_max),
        };
        if mean < least {
            return Outcome::Clear(mean);
        }
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
        1 => "its visit resembles a robot's".to_owned(),
        many => format!("its {many} latest visits resemble a robot's"),
    };
    let images = match named("image_share") {
        0.0 => "no images".to_owned(),
        share => format!("{} images", percent(share)),
    };
    format!(
        "{visits}; the latest: {} pages, one every {:.0} s (deviation {:.0} s), up to {:.0} in a minute, {} of its requests pages, {images}, {} of the pages requested again",
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
            text.starts_with("its 2 latest visits resemble a robot's; ")
                && text.ends_with("12 pages, one every 4 s (deviation 0 s), up to 14 in a minute, 96 % of its requests pages, no images, 0 % of the pages requested again"),
            "{text}"
        );
    }
}
