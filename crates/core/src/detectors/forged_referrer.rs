//! Referrers as no browser writes them.
//!
//! # Why it matters
//! A browser's referrer has a path, at least the slash after the host. Programs that make up a referrer often send the bare host, or
//! the URL they request.
//!
//! # When it is wrong
//! A page that sends the visitor back to itself after a form names itself; that happens now and then, not for most pages. Some apps
//! write a bare host when they open a link: once, not again and again.

use super::Detector;
use super::Family;
use super::Spec;
use super::percent;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<ForgedReferrer>(
    "forged_referrer",
    Family::Headers,
    None,
    include_str!("forged_referrer.rs"),
);

settings! {
    ForgedReferrer {
        /// Stay silent below this many such referrers.
        odd_min: u32 = 3,
        /// Share of them among its page requests from which it points to a crawler.
        share_min: f64 = 0.5,
    }
}

/// Such referrers from which no page that leads to itself explains them, if they are most of all.
const ODD_MANY: u32 = 8;
const SHARE_MOST: f64 = 0.8;

impl Detector for ForgedReferrer {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        if profile.referrers == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the referrer is"));
        }
        let odd = profile.oddities().referrers_odd;
        let share = f64::from(odd) / f64::from(profile.referrers.max(1));
        if odd < self.odd_min || share < self.share_min {
            return Outcome::Clear(share);
        }
        // A browser that loads the parts of its pages may be shown a page that leads to itself.
        let decibans = match (profile.assets, profile.images) {
            (0, _) => 11.0,
            (_, 0) => 6.0,
            _ if odd >= ODD_MANY && share >= SHARE_MOST && !profile.loads_whole_pages() => 10.0,
            _ => 1.0,
        };
        Outcome::learned(
            decibans,
            format!(
                "{} of its {} page requests have a referrer that no browser writes: a host without a path, or the page itself",
                percent(share),
                profile.referrers
            ),
            &[("odd", f64::from(odd)), ("share", share)],
        )
    }
}
