//! Requests as steady as chance does not allow.
//!
//! # Why it matters
//! Where visitors come independently of each other, the number of requests in a half hour scatters: of a hundred, by ten. A program that
//! keeps a rate or a timetable scatters less. (NRIC log study: the same times, the same numbers.)
//!
//! # When it is wrong
//! A page left open that reloads itself by a timer keeps a rate too. Where the whole shape can be judged (`traffic_shape`), that counts
//! instead of this rule.

use cattlegrid_learn::series::usual_scatter;

use super::Detector;
use super::Family;
use super::Spec;

use super::series;
use super::settings;
use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::profile::Profile;

pub(super) const SPEC: Spec = Spec::of::<RegularCounts>(
    "regular_counts",
    Family::Shape,
    None,
    include_str!("regular_counts.rs"),
);

settings! {
    RegularCounts {
        /// Stay silent below this many requests in the busy half hours, on average.
        half_hour_min: f64 = 4.0,
        /// Stay silent below this many busy half hours.
        busy_min: u32 = 96,
        /// Scatter against that of independent requests, below which it points to a crawler.
        scatter_max: f64 = 0.3,
    }
}

impl Detector for RegularCounts {
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome {
        // Fewer requests cannot fill as many half hours.
        let busy = match profile.requests < self.busy_min {
            true => profile.requests,
            false => profile.bins.busy(),
        };
        if busy < self.busy_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "busy half hours",
                have: busy,
                need: self.busy_min,
            });
        }
        let mean = f64::from(profile.requests) / f64::from(busy);
        if mean < self.half_hour_min {
            return Outcome::Abstain(Gap::TooFew {
                what: "requests in a busy half hour",
                have: mean as u32,
                need: self.half_hour_min.ceil() as u32,
            });
        }
        let series = match series(profile, context) {
            Ok(series) => series,
            Err(gap) => return Outcome::Abstain(gap),
        };
        let scatter = usual_scatter(&series);
        if scatter >= self.scatter_max {
            return Outcome::Clear(scatter);
        }
        Outcome::finding(
            Toward::Crawler,
            format!(
                "it keeps a rate: about {mean:.0} requests in each busy half hour, {scatter:.2} of the scatter of chance"
            ),
            &[("scatter", scatter), ("half_hour", mean)],
        )
    }
}
