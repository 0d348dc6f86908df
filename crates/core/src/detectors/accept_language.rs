//! A browser without `Accept-Language`, or one whose language changes from page to page.
//!
//! # Why it matters
//! Every browser sends the languages that its owner prefers with every page request. Many programs send none under a browser's name,
//! and some draw the field anew for each request from a list, so that it differs between a page and the next one that is reached from it
//! by a link.
//!
//! # When it is wrong
//! Extensions and proxies for privacy may remove the field or change it; a person may change a setting once. People who share an address
//! and a user agent have different languages: only links are compared, from the last page of the source to the next one, which the same
//! browser followed unless two people are on the same page at once, so that most links must differ. It is too weak for a verdict.

use super::Detector;
use super::Family;
use super::Spec;
use super::missing_field;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<AcceptLanguage>(
    "accept_language",
    Family::Headers,
    None,
    include_str!("accept_language.rs"),
);

settings! {
    AcceptLanguage {
        /// Stay silent below this many page requests without the field.
        requests_min: u32 = 4,
        /// Share of its page requests without the field from which it points to a crawler.
        missing_min: f64 = 0.9,
        /// Share of the site's browsers that must send the field for its absence to count.
        site_min: f64 = 0.5,
        /// Links with another language than the page before from which they count.
        changes_min: u32 = 5,
        /// Share of followed links with another language from which it points to a crawler.
        changes_share: f64 = 0.5,
        /// User agents of a source up to which languages are compared: more are more people.
        agents_max: u32 = 2,
    }
}

/// What a language that changes from page to page is worth: 5 to 1.
const CHANGES: f64 = 7.0;

impl Detector for AcceptLanguage {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let logged = profile.signs().filter(|signs| signs.languages > 0);
        let Some(signs) = logged else {
            return Outcome::Abstain(Gap::NotKnown(
                "no page request of a known browser with logged Accept-Language",
            ));
        };
        let changed = signs.languages_changed;
        let followed = changed + signs.languages_kept;
        let share = f64::from(changed) / f64::from(followed.max(1));
        // People behind one address come to the same page one after the other.
        let is_one = profile.agents.count() <= self.agents_max as usize;
        if is_one && changed >= self.changes_min && share >= self.changes_share {
            let why = format!(
                "{changed} of {followed} links that it followed came with another language than the page before"
            );
            return Outcome::learned(CHANGES, why, &[("changed", share)]);
        }
        if signs.languages < self.requests_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "page requests of a known browser",
                have: signs.languages,
                need: self.requests_min,
            });
        }
        let share = f64::from(signs.languages_missing) / f64::from(signs.languages);
        if share < self.missing_min {
            return Outcome::Clear(share);
        }
        let sent = context.site.customs().headers.languages.share();
        if sent.is_none_or(|sent| sent < self.site_min) {
            return Outcome::Abstain(Gap::NoContrast(
                "too few sources send Accept-Language here: a proxy may remove it",
            ));
        }
        let why = format!(
            "{} of its {} page requests lack Accept-Language, which browsers always send",
            percent(share),
            signs.languages
        );
        Outcome::learned(missing_field(profile), why, &[("missing", share)])
    }
}
