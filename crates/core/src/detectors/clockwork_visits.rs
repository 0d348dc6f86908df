//! Visits at equal distances, day and night.
//!
//! # Why it matters
//! A person may come every morning. A client that comes every three or six hours for days, at night too, runs on a timer.
//!
//! # When it is wrong
//! A page left open that loads itself anew every few hours. Monitors and feed readers keep time by design; those that name
//! themselves are known by their name.

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<ClockworkVisits>(
    "clockwork_visits",
    Family::Shape,
    None,
    include_str!("clockwork_visits.rs"),
);

settings! {
    ClockworkVisits {
        /// Stay silent below this many visits; a visit ends with an empty half hour.
        visits_min: u32 = 8,
        /// Half hours between visits from which one half hour more or less is still equal...
        apart_min: u32 = 5,
        /// ...up to which: what comes once a day may be a person's habit.
        apart_max: u32 = 40,
        /// Share of equal distances from which it points to a crawler.
        equal_min: f64 = 0.8,
    }
}

impl Detector for ClockworkVisits {
    fn evaluate(&self, profile: &Profile, _: &Context<'_>) -> Outcome {
        let starts = visits(profile);
        let visits = starts.len() as u32;
        if visits < self.visits_min.max(2) {
            return Outcome::Abstain(Gap::TooFew {
                what: "visits",
                have: visits,
                need: self.visits_min,
            });
        }
        let mut apart: Vec<u32> = starts.windows(2).map(|two| two[1] - two[0]).collect();
        apart.sort_unstable();
        let usual = apart[apart.len() / 2];
        let equal = apart.iter().filter(|gap| gap.abs_diff(usual) <= 1).count();
        let share = equal as f64 / apart.len() as f64;
        let is_far = (self.apart_min..=self.apart_max).contains(&usual);
        if !is_far || share < self.equal_min {
            return Outcome::Clear(share);
        }
        let why = format!(
            "it visits on a timer: {equal} of the {} intervals between its {visits} visits are {:.1} hours",
            apart.len(),
            f64::from(usual) / 2.0
        );
        Outcome::finding(
            Toward::Crawler,
            why,
            &[
                ("visits", f64::from(visits)),
                ("equal_share", share),
                ("hours", f64::from(usual) / 2.0),
            ],
        )
    }
}

/// The half hours in which visits begin.
fn visits(profile: &Profile) -> Vec<u32> {
    let mut busy: Vec<u32> = Vec::new();
    profile.bins.for_each(|bin, _| busy.push(u32::from(bin)));
    busy.sort_unstable();
    let mut starts: Vec<u32> = Vec::new();
    let mut last = None;
    for bin in busy {
        if last.is_none_or(|last| bin > last + 1) {
            starts.push(bin);
        }
        last = Some(bin);
    }
    starts
}
