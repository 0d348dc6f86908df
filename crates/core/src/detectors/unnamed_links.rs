//! Pages that a link leads to from the page before, without saying so.
//!
//! # Why it matters
//! A browser that follows a link names the page with the link. A crawler that takes the links out of a page and requests them itself
//! often sends no referrer: its next page is one that others reach from the page it just fetched, and it does not say from where.
//! (NRIC log study: no referrer although linked.) Which links the site has is learned from visitors who load its pages whole, in a sample
//! of bounded size.
//!
//! # When it is wrong
//! A browser may be set to send no referrer, and a bookmark leads to pages that are linked, too. Such a browser loads pictures, and the
//! detector ignores sources that do. Where `suspicious_referrer` speaks, it has seen the same, and this adds nothing.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<UnnamedLinks>(
    "unnamed_links",
    Family::Headers,
    None,
    include_str!("unnamed_links.rs"),
);

settings! {
    UnnamedLinks {
        /// Stay silent below this many steps from page to page, without a referrer, that can be looked up in the sample of links.
        steps_min: u32 = 3,
        /// Share of them that are links of the site from which it points to a crawler...
        linked_min: f64 = 0.5,
        /// ...if at least this share of its page requests has no referrer.
        empty_min: f64 = 0.5,
    }
}

/// What it is worth to who loads nothing else, and to who loads style sheets.
const BARE: f64 = 6.0;
const STYLED: f64 = 3.0;

impl Detector for UnnamedLinks {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.referrers == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the referrer is"));
        }
        if !context.site.has_referrers() {
            return Outcome::Abstain(Gap::NoContrast(
                "hardly anybody sends a referrer to this site",
            ));
        }
        let steps = context.site.look_up_links(profile);
        if steps.all < self.steps_min.max(1) {
            return Outcome::Abstain(Gap::TooFew {
                what: "steps without a referrer that the sample of the site's links covers",
                have: steps.all,
                need: self.steps_min,
            });
        }
        let share = f64::from(steps.linked) / f64::from(steps.all);
        let empty = f64::from(profile.referrers_empty) / f64::from(profile.referrers);
        if share < self.linked_min || empty < self.empty_min || profile.shows_pages() {
            return Outcome::Clear(share);
        }
        let decibans = match profile.loads_nothing() {
            true => BARE,
            false => STYLED,
        };
        let why = format!(
            "{} of {} pages that it requested without a referrer are linked from the page it requested before",
            steps.linked, steps.all
        );
        let values = [
            ("steps", f64::from(steps.all)),
            ("linked_share", share),
            ("empty_share", empty),
        ];
        Outcome::learned(decibans, why, &values)
    }
}
