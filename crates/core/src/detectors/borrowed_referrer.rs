//! Page after page names another page of this site as the one that led there, which the source never fetched.
//!
//! # Why it matters
//! A browser names the page on which a link was clicked, and it has fetched that page before. A program that makes up referrers names
//! a listing or a page above the one it wants, and does not spend a request on it.
//!
//! # When it is wrong
//! A person who changes networks in the middle of a visit, or whose provider sends each request through another address, leaves the
//! pages before under the other address. Such people load pictures and the icon, and the rule is silent about them. A page from
//! a cache is rarely the one before every other page.

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
                "{borrowed} of its {} page requests name a page of this site that it never fetched as the one that led there",
                profile.referrers
            ),
            &[("borrowed", f64::from(borrowed)), ("share", share)],
        )
    }
}
