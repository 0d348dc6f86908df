//! Requests for files and programs that attack tools look for on any site, or for links parsed wrongly.
//!
//! # Why it matters
//! No link leads to `/.env`, to another program's back door or to the log-in page of a system that the site does not run. Who asks for
//! them looks for a way in. Browsers do not request `/tel:` links or `/../` either; crude link parsers do. The list is `data/weak-spots.txt`.
//!
//! # When it is wrong
//! An owner who tests the own site looks the same. Behind a shared address one infected machine is not everybody: the rule speaks only
//! where such requests are a good part of all. A log-in page counts only where the site says that it has none.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<ProbedWeakSpots>(
    "probed_weak_spots",
    Family::Headers,
    None,
    include_str!("probed_weak_spots.rs"),
);

settings! {
    ProbedWeakSpots {
        /// Share of its requests (parts of pages left aside) from which it points to a crawler.
        share_min: f64 = 0.1,
    }
}

/// Decibans for so many requests or more: one may be a stale link, three are a tool.
const DECIBANS: [(u32, f64); 3] = [(3, 14.0), (2, 10.0), (1, 6.0)];

impl Detector for ProbedWeakSpots {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        let probes = profile.oddities().probes;
        let others = profile.requests.saturating_sub(profile.assets).max(1);
        let share = f64::from(probes) / f64::from(others);
        let decibans = DECIBANS.iter().find(|(from, _)| probes >= *from);
        // One browser is nobody else's.
        let share_min = match profile.agents.count() == 1 && probes > 1 {
            true => self.share_min / 2.0,
            false => self.share_min,
        };
        let Some((_, decibans)) = decibans.filter(|_| share >= share_min) else {
            return Outcome::Clear(share);
        };
        Outcome::learned(
            *decibans,
            format!(
                "{probes} of its {others} requests probe known weak spots or follow links parsed wrongly"
            ),
            &[("probes", f64::from(probes)), ("share", share)],
        )
    }
}
