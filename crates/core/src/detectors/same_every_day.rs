//! The same numbers at the same times, day after day.
//!
//! # Why it matters
//! Somebody who comes every day comes a little earlier or later and reads more or less. A job that a clock starts sends the same requests
//! in the same half hours each night. (NRIC log study: regularity.) Two days of independent visitors at the same rates still differ by
//! chance; the detector asks how far below that the difference between days stays.
//!
//! # When it is wrong
//! A page that is left open during office hours and reloads itself keeps times and numbers, too: it shows pages, and weighs little then.
//! Where the whole shape can be judged (`traffic_shape`), that counts instead of this rule.

use std::ops::Range;

use cattlegrid_learn::series::DAY;

use super::Detector;
use super::Family;
use super::Spec;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<SameEveryDay>(
    "same_every_day",
    Family::Shape,
    None,
    include_str!("same_every_day.rs"),
);

settings! {
    SameEveryDay {
        /// Stay silent below this many days with requests.
        days_min: u32 = 3,
        /// Requests of two days in one half hour from which they are compared.
        requests_min: u32 = 10,
        /// Stay silent below this many comparisons.
        compared_min: u32 = 8,
        /// Standard deviations below chance from which the likeness of days points to a crawler.
        deviations_min: f64 = 4.0,
    }
}

/// What it is worth, and where pages are shown to somebody.
const WEIGHT: f64 = 8.0;
const WEIGHT_SHOWN: f64 = 2.0;

impl Detector for SameEveryDay {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        let days = profile.bins.busy_days();
        if days < self.days_min.max(2) {
            return Outcome::Abstain(Gap::TooFew {
                what: "days with requests",
                have: days,
                need: self.days_min,
            });
        }
        if profile.is_mixed() {
            return Outcome::Abstain(Gap::NotKnown(
                "people and robots share this source, and its days are neither's",
            ));
        }
        let half_hours = profile.bins.dense(context.site.half_hours());
        let likeness = self.compare(&half_hours, context.site.covered());
        if likeness.compared < self.compared_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "half hours that two days have in common",
                have: likeness.compared,
                need: self.compared_min,
            });
        }
        if likeness.deviations() < self.deviations_min {
            return Outcome::Clear(likeness.scatter());
        }
        let decibans = match profile.shows_pages() {
            true => WEIGHT_SHOWN,
            false => WEIGHT,
        };
        let why = format!(
            "it sends as many requests at the same times every day: on {days} days, its half hours differ by {:.2} of what chance would make ({} compared)",
            likeness.scatter(),
            likeness.compared
        );
        let values = [
            ("days", f64::from(days)),
            ("compared", f64::from(likeness.compared)),
            ("scatter", likeness.scatter()),
        ];
        Outcome::learned(decibans, why, &values)
    }
}

impl SameEveryDay {
    /// Compares each day that has requests with the one before it, as far as the log covers both.
    fn compare(&self, half_hours: &[u32], covered: Range<usize>) -> Likeness {
        let is_busy = |day: &usize| {
            let counts = half_hours.iter().skip(day * DAY).take(DAY);
            counts.copied().any(|count| count > 0)
        };
        let days: Vec<usize> = (0..half_hours.len().div_ceil(DAY))
            .filter(is_busy)
            .collect();
        let known = |at: usize| half_hours.get(at).filter(|_| covered.contains(&at));
        let mut likeness = Likeness::default();
        for pair in days.windows(2) {
            for at in 0..DAY {
                let both = known(pair[0] * DAY + at).zip(known(pair[1] * DAY + at));
                if let Some((one, other)) = both
                    && one.saturating_add(*other) >= self.requests_min.max(1)
                {
                    likeness.add(f64::from(*one), f64::from(*other));
                }
            }
        }
        likeness
    }
}

/// How much half hours differ from the same ones of another day.
#[derive(Debug, Default)]
struct Likeness {
    compared: u32,
    chi_square: f64,
}

impl Likeness {
    fn add(&mut self, one: f64, other: f64) {
        self.compared += 1;
        // Of requests that chance spreads over two days, this is 1 on average, whatever their number.
        self.chi_square += (one - other).powi(2) / (one + other);
    }

    /// The difference between days, against that of chance.
    fn scatter(&self) -> f64 {
        self.chi_square / f64::from(self.compared.max(1))
    }

    /// Standard deviations by which the difference lies below that of chance (Wilson and Hilferty's approximation).
    fn deviations(&self) -> f64 {
        let variance = 2.0 / (9.0 * f64::from(self.compared.max(1)));
        (1.0 - variance - self.scatter().cbrt()) / variance.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_not_likeness() {
        let rule = SameEveryDay::default();
        // Differences of one standard deviation: 100 and 86 requests in each half hour.
        let apart: Vec<u32> = (0..4 * DAY).map(|at| [100, 86][at / DAY % 2]).collect();
        let likeness = rule.compare(&apart, 0..4 * DAY);
        assert_eq!(likeness.compared, 3 * DAY as u32);
        assert!(likeness.deviations().abs() < 1.0, "{likeness:?}");
        // Two hours each night, five nights.
        let nightly = |at: usize| if (4..8).contains(&(at % DAY)) { 50 } else { 0 };
        let likeness = rule.compare(&(0..5 * DAY).map(nightly).collect::<Vec<u32>>(), 0..5 * DAY);
        assert_eq!(likeness.compared, 16);
        assert!(likeness.deviations() > 6.0, "{likeness:?}");
    }
}
