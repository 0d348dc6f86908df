//! All values of a series that classifiers look at: the paper's eight, and more.

use super::Attribute;
use super::Correlation;
use super::DAY;
use super::Decay;
use super::Kind;
use super::POINTS_MIN;
use super::STL;
use super::Signs;
use super::dispersion;
use super::quantile;
use super::ratio;
use super::season_to_trend;
use super::trend_dispersion;
use crate::stl::Parts;
use crate::stl::Plan;
use crate::stl::Room;

/// The first attributes are those of the paper's Table 1.
pub const PAPER_ATTRIBUTES: usize = 8;

/// Values of one series, in the order of [`attributes`].
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The autocorrelation.
    pub correlation: Correlation,
    /// Season, trend and rest of the series, whose values add up to 1.
    pub parts: Parts,
    /// Variance over mean of the raw counts.
    pub dispersion: f64,
    /// What classifiers look at.
    pub values: Vec<f64>,
}

/// What classifiers look at.
pub fn attributes() -> Vec<Attribute> {
    let discrete =
        |names: &[&str]| Kind::Discrete(names.iter().map(|name| (*name).to_owned()).collect());
    let continuous = |name: &str| (name.to_owned(), Kind::Continuous);
    let all = [
        continuous("correlation at lag 1"),
        continuous("correlation at lag 2"),
        (
            "decay".to_owned(),
            discrete(&["none", "cut-off", "linear", "exponential"]),
        ),
        (
            "sign alternation".to_owned(),
            discrete(&["none", "single", "oscillating", "erratic"]),
        ),
        continuous("local spikes"),
        ("daily correlation".to_owned(), discrete(&["no", "yes"])),
        continuous("restlessness of the trend"),
        continuous("season over trend"),
        continuous("correlation after a day"),
        continuous("daily rhythm"),
        continuous("quietest hours"),
        continuous("noise"),
        continuous("steepest step"),
        continuous("between high and low"),
        continuous("empty half hours"),
    ];
    all.map(|(name, kind)| Attribute { name, kind }).into()
}

/// Plans and room for many series.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    plan: Option<Plan>,
    room: Room,
    sorted: Vec<f64>,
}

impl Shape {
    /// The shape of requests per half hour. A series of two days or less has none, and one without any request neither.
    pub fn of(counts: &[f64], scratch: &mut Scratch) -> Option<Shape> {
        let total: f64 = counts.iter().sum();
        if counts.len() < POINTS_MIN || total.is_nan() || total <= 0.0 || total.is_infinite() {
            return None;
        }
        if scratch
            .plan
            .as_ref()
            .is_none_or(|plan| plan.length() != counts.len())
        {
            scratch.plan = Plan::new(counts.len(), STL);
        }
        let series: Vec<f64> = counts.iter().map(|count| count / total).collect();
        let mut parts = Parts::default();
        let plan = scratch.plan.as_ref()?;
        plan.decompose(&series, &mut scratch.room, &mut parts);
        let correlation = Correlation::of(&series);
        let day = DayProfile::of(counts);
        scratch.sorted.clear();
        scratch.sorted.extend(counts);
        scratch.sorted.sort_unstable_by(f64::total_cmp);
        let values = vec![
            correlation.at(1),
            correlation.at(2),
            decay_place(correlation.decay),
            sign_place(correlation.signs),
            correlation.spikes.len() as f64,
            f64::from(u8::from(correlation.is_daily)),
            spread_out(trend_dispersion(&parts.trend)),
            season_to_trend(&parts.season, &parts.trend).min(10.0),
            correlation.at(DAY),
            day.rhythm(counts),
            day.quietest(),
            noise(counts),
            steepest(counts, &scratch.sorted),
            between(counts, &scratch.sorted),
            counts.iter().filter(|count| **count == 0.0).count() as f64 / counts.len() as f64,
        ];
        Some(Shape {
            dispersion: dispersion(counts),
            correlation,
            parts,
            values,
        })
    }
}

fn decay_place(decay: Decay) -> f64 {
    match decay {
        Decay::None => 0.0,
        Decay::CutOff => 1.0,
        Decay::Linear => 2.0,
        Decay::Exponential => 3.0,
    }
}

fn sign_place(signs: Signs) -> f64 {
    match signs {
        Signs::None => 0.0,
        Signs::Single => 1.0,
        Signs::Oscillating => 2.0,
        Signs::Erratic => 3.0,
    }
}

/// A value over many orders of magnitude as its logarithm.
fn spread_out(value: f64) -> f64 {
    value.max(1e-9).log10()
}

/// The mean day: requests of each half hour of the day, over all days.
struct DayProfile([f64; DAY]);

impl DayProfile {
    fn of(counts: &[f64]) -> DayProfile {
        let mut sums = [0.0; DAY];
        let mut days = [0.0_f64; DAY];
        for (at, count) in counts.iter().enumerate() {
            sums[at % DAY] += count;
            days[at % DAY] += 1.0;
        }
        for (sum, days) in sums.iter_mut().zip(days) {
            *sum /= days.max(1.0);
        }
        DayProfile(sums)
    }

    /// How much of all variance is one wave a day and one of half its length.
    fn rhythm(&self, counts: &[f64]) -> f64 {
        let mean = self.0.iter().sum::<f64>() / DAY as f64;
        let waves: f64 = [1.0, 2.0].map(|wave| self.power(wave, mean)).iter().sum();
        let all: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
        ratio(waves * counts.len() as f64, all).min(1.0)
    }

    /// Mean square of the wave that comes so many times a day.
    fn power(&self, wave: f64, mean: f64) -> f64 {
        let (mut cosine, mut sine) = (0.0, 0.0);
        for (at, count) in self.0.iter().enumerate() {
            let (s, c) = (wave * at as f64 * std::f64::consts::TAU / DAY as f64).sin_cos();
            cosine += (count - mean) * c;
            sine += (count - mean) * s;
        }
        2.0 * (cosine * cosine + sine * sine) / (DAY * DAY) as f64
    }

    /// The quietest six hours of the day against the mean: 1 for who never sleeps.
    fn quietest(&self) -> f64 {
        const SIX_HOURS: usize = DAY / 4;
        let sum = |start: usize| {
            (start..start + SIX_HOURS)
                .map(|at| self.0[at % DAY])
                .sum::<f64>()
        };
        let least = (0..DAY).map(sum).fold(f64::INFINITY, f64::min);
        let mean = self.0.iter().sum::<f64>() / 4.0;
        ratio(least, mean)
    }
}

/// How much neighbours differ, against requests that know nothing of each other: 0 (their logarithm) for those, below for what
/// keeps a rate, above for visits of many requests each.
fn noise(counts: &[f64]) -> f64 {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    // Second differences, so that a slope is no noise.
    let bend = |three: &[f64]| (three[0] - 2.0 * three[1] + three[2]).powi(2);
    let bends = counts.windows(3).map(bend).sum::<f64>() / (counts.len() - 2) as f64;
    ratio(bends, 6.0 * mean).max(1e-4).log10()
}

/// The steepest step between one and a half hours and the next, against the range of the series.
fn steepest(counts: &[f64], sorted: &[f64]) -> f64 {
    let range = quantile(sorted, 0.95) - quantile(sorted, 0.05);
    let step = |six: &[f64]| ((six[3] + six[4] + six[5]) - (six[0] + six[1] + six[2])).abs() / 3.0;
    let most = counts.windows(6).map(step).fold(0.0, f64::max);
    ratio(most, range).min(5.0)
}

/// Share of half hours between a quarter and three quarters of the range: people come and go gradually, switches do not.
fn between(counts: &[f64], sorted: &[f64]) -> f64 {
    let (low, high) = (quantile(sorted, 0.02), quantile(sorted, 0.95));
    let middle = low + 0.25 * (high - low)..low + 0.75 * (high - low);
    let inside = counts.iter().filter(|count| middle.contains(count)).count();
    inside as f64 / counts.len() as f64
}
