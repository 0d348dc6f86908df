//! It follows links of the gate that nobody sees and that robots.txt forbids, from one page to the next.
//!
//! # Why it matters
//! The gate shows such links to clients that it contains, on its challenge and refusal pages (`[gate.traps]`, docs/traps.md). Browsers do
//! not display them, screen readers do not read them, and the first page behind one says what it is. A program that collects every link
//! walks on, page by page.
//!
//! # When it is wrong
//! A person who reads the source of a page may open one or two of these links; three different pages are needed. Each link is bound to the
//! client that it was shown to, so that nobody can lead others there. Behind a shared address one program is not everybody: the rule
//! speaks only where such requests are a good part of all. Only the gate's own log has them.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<FollowedTrap>(
    "followed_trap",
    Family::Headers,
    None,
    include_str!("followed_trap.rs"),
);

settings! {
    FollowedTrap {
        /// Share of its requests (parts of pages left aside) from which it points to a crawler.
        share_min: f64 = 0.1,
        /// Weight in decibans.
        weight: f64 = 14.0,
        /// Weight of eight different pages or more.
        weight_of_many: f64 = 18.0,
    }
}

/// Different pages that are many.
const MANY: u32 = 8;

impl Detector for FollowedTrap {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        let oddities = profile.oddities();
        let (traps, pages) = (oddities.traps, oddities.trap_pages());
        let others = profile.requests.saturating_sub(profile.assets).max(1);
        let share = f64::from(traps) / f64::from(others);
        // One browser is nobody else's.
        let share_min = match profile.agents.count() == 1 {
            true => self.share_min / 2.0,
            false => self.share_min,
        };
        if !oddities.has_followed_traps() || share < share_min {
            return Outcome::Clear(share);
        }
        Outcome::learned(
            match pages >= MANY {
                true => self.weight_of_many,
                false => self.weight,
            },
            format!(
                "{traps} of its {others} requests follow links of the gate that nobody sees, to {pages} or more different pages"
            ),
            &[("pages", f64::from(pages)), ("share", share)],
        )
    }
}
