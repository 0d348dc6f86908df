//! Referrers name pages of this site that the source never fetched.
//!
//! # Why it matters
//! A browser sends as referrer the page on which a link was clicked, and it has fetched that page before. A program that forges
//! referrers names a listing or a parent page and does not spend a request on it.
//!
//! # When it is wrong
//! If a person changes networks during a visit, or the provider routes each request through another address, earlier pages appear
//! under the other address. Such visitors load images and the site's icon, and the detector ignores sources that do.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<BorrowedReferrer>(
    "borrowed_referrer",
    Family::Headers,
    None,
    include_str!("borrowed_referrer.rs"),
);

settings! {
    BorrowedReferrer {
        /// Stay silent below this many such referrers.
        borrowed_min: u32 = 2,
        /// Share of them among its page requests, the first left aside, from which it points to a crawler.
        share_min: f64 = 0.8,
    }
}

/// What borrowed referrers are worth, from so many on.
const DECIBANS: [(u32, f64); 3] = [(10, 12.0), (3, 9.0), (0, 6.0)];

impl Detector for BorrowedReferrer {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        if profile.referrers == 0 && profile.pages > 0 {
            return Outcome::Abstain(Gap::NotLogged("the referrer is"));
        }
        let borrowed = context.site.borrowed(profile);
        let later = profile.referrers.saturating_sub(1);
        let share = f64::from(borrowed) / f64::from(later.max(1));
        if borrowed < self.borrowed_min.max(1) || share < self.share_min {
            return Outcome::Clear(share);
        }
        if profile.shows_pages() {
            return Outcome::Clear(share);
        }
        let weighs = DECIBANS.iter().find(|(from, _)| borrowed >= *from);
        let decibans = weighs.map_or(0.0, |(_, decibans)| *decibans);
        Outcome::learned(
            decibans,
            format!(
                "{borrowed} of its {} page requests give as referrer a page of this site that it never fetched",
                profile.referrers
            ),
            &[("borrowed", f64::from(borrowed)), ("share", share)],
        )
    }
}
