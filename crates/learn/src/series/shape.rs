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

/// Names of the values.
const NAMES: [&str; 25] = [
    "correlation at lag 1",
    "correlation at lag 2",
    "decay",
    "sign alternation",
    "local spikes",
    "daily correlation",
    "restlessness of the trend",
    "season over trend",
    "correlation after a day",
    "daily rhythm",
    "quietest hours",
    "noise",
    "steepest step",
    "between high and low",
    "empty half hours",
    "typical noise",
    "restlessness while busy",
    "likeness of days",
    "difference of days",
    "edges of the day",
    "rising against falling",
    "height of the daily wave",
    "relative noise",
    "scatter around the mean day",
    "not explained by hour and day",
];

/// What classifiers look at.
pub fn attributes() -> Vec<Attribute> {
    let kind = |name: &str| match name {
        "decay" => discrete(&["none", "cut-off", "linear", "exponential"]),
        "sign alternation" => discrete(&["none", "single", "oscillating", "erratic"]),
        "daily correlation" => discrete(&["no", "yes"]),
        _ => Kind::Continuous,
    };
    let attribute = |name: &&str| Attribute {
        name: (*name).to_owned(),
        kind: kind(name),
    };
    NAMES.iter().map(attribute).collect()
}

fn discrete(names: &[&str]) -> Kind {
    Kind::Discrete(names.iter().map(|name| (*name).to_owned()).collect())
}

/// Plans and room for many series.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    plan: Option<Plan>,
    room: Room,
    unsorted: Vec<f64>,
    waves: Waves,
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
        scratch.unsorted.clear();
        scratch.unsorted.extend(counts);
        let [lowest, low, high] =
            [0.02, 0.05, 0.95].map(|share| quantile(&mut scratch.unsorted, share));
        let waves = scratch.waves.powers(&day);
        let smooth = smoothed(counts);
        let typical = typical_noise(counts);
        let around = day.around(counts, &smooth, typical);
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
            day.rhythm(counts, waves),
            day.quietest(),
            noise(counts),
            steepest(counts, high - low),
            between(counts, lowest, high),
            counts.iter().filter(|count| **count == 0.0).count() as f64 / counts.len() as f64,
            typical.max(1e-4).log10(),
            busy_spread(&smooth, typical),
            likeness_of_days(&smooth),
            difference_of_days(counts),
            day.edges(waves),
            rising(&smooth),
            ratio((2.0 * waves[0]).sqrt(), day.mean()),
            spread_out(ratio(typical, day.mean()).sqrt()),
            spread_out(around.scatter),
            around.unexplained,
        ];
        Some(Shape {
            dispersion: dispersion(counts),
            correlation,
            parts,
            values,
        })
    }
}

impl Shape {
    /// All values by name, classes as words.
    pub fn describe(&self) -> Vec<(String, String)> {
        let show = |(attribute, value): (Attribute, &f64)| {
            let text = match &attribute.kind {
                Kind::Continuous => format!("{value:.3}"),
                Kind::Discrete(names) => names.get(*value as usize).cloned().unwrap_or_default(),
            };
            (attribute.name, text)
        };
        attributes()
            .into_iter()
            .zip(&self.values)
            .map(show)
            .collect()
    }

    /// A value by its attribute's name; 0 for a name there is not.
    pub fn value(&self, name: &str) -> f64 {
        place(name)
            .and_then(|at| self.values.get(at))
            .copied()
            .unwrap_or(0.0)
    }
}

/// Where a value stands.
pub(super) fn place(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
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

    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / DAY as f64
    }

    /// How much of all variance is one wave a day and one of half its length.
    fn rhythm(&self, counts: &[f64], waves: [f64; WAVES]) -> f64 {
        let mean = self.mean();
        let all: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
        ratio((waves[0] + waves[1]) * counts.len() as f64, all).min(1.0)
    }

    /// How much of the mean day's waves are short ones, of less than six hours: clocks have edges, people come and go.
    fn edges(&self, waves: [f64; WAVES]) -> f64 {
        let mean = self.mean();
        let squares = self.0.iter().map(|count| (count - mean).powi(2));
        let all = squares.sum::<f64>() / DAY as f64;
        ratio((all - waves.iter().sum::<f64>()).max(0.0), all)
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

/// How a series lies around its mean day, where each day has a volume of its own.
struct Around {
    /// Typical squared distance in units of chance: 1 for requests that know nothing of each other and keep to the hours exactly. People
    /// are never the same from day to day; a timetable is.
    scatter: f64,
    /// Share of the slow variation that hour and day do not explain: 0 for a rhythm, 1 for a level that wanders.
    unexplained: f64,
}

impl DayProfile {
    fn around(&self, counts: &[f64], smooth: &[f64], typical: f64) -> Around {
        let mut fitted = Vec::with_capacity(counts.len());
        for day in counts.chunks(DAY) {
            let usual: f64 = self.0.iter().take(day.len()).sum();
            let volume = ratio(day.iter().sum(), usual);
            fitted.extend(self.0.iter().take(day.len()).map(|mean| volume * mean));
        }
        let (points, days) = (
            counts.len() as f64,
            (counts.len() as f64 / DAY as f64).max(1.0),
        );
        // The mean day was taken from the same counts: of two days it lies halfway between them.
        let freedom = 1.0 / (1.0 - 1.0 / days).max(0.3);
        let mut squares: Vec<f64> = counts
            .iter()
            .zip(&fitted)
            .filter(|(_, fitted)| **fitted >= 2.0)
            .map(|(count, fitted)| freedom * (count - fitted).powi(2) / fitted)
            .collect();
        let noise = typical * self.mean() * points / 3.0;
        let (mut left, mut explained) = (-noise / freedom, -noise / days);
        for (level, three) in smooth.iter().zip(fitted.windows(3)) {
            let fitted = three.iter().sum::<f64>() / 3.0;
            left += (level - fitted).powi(2);
            explained += (fitted - self.mean()).powi(2);
        }
        let left = left.max(0.0);
        Around {
            scatter: ratio(quantile(&mut squares, 0.5), 0.455),
            unexplained: ratio(left, left + explained.max(0.0)),
        }
    }
}

/// Waves that come once to four times a day.
const WAVES: usize = 4;

/// Cosine and sine of each wave at each half hour.
#[derive(Debug, Clone)]
struct Waves([[(f64, f64); DAY]; WAVES]);

impl Default for Waves {
    fn default() -> Waves {
        let angle = |wave: usize, at: usize| {
            (wave + 1) as f64 * at as f64 * std::f64::consts::TAU / DAY as f64
        };
        let at = |wave: usize, at: usize| (angle(wave, at).cos(), angle(wave, at).sin());
        Waves(std::array::from_fn(|wave| {
            std::array::from_fn(|bin| at(wave, bin))
        }))
    }
}

impl Waves {
    /// Mean square of each wave in a day.
    fn powers(&self, day: &DayProfile) -> [f64; WAVES] {
        let mean = day.mean();
        self.0.each_ref().map(|wave| {
            let (mut cosine, mut sine) = (0.0, 0.0);
            for ((c, s), count) in wave.iter().zip(day.0) {
                cosine += (count - mean) * c;
                sine += (count - mean) * s;
            }
            2.0 * (cosine * cosine + sine * sine) / (DAY * DAY) as f64
        })
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
fn steepest(counts: &[f64], range: f64) -> f64 {
    let step = |six: &[f64]| ((six[3] + six[4] + six[5]) - (six[0] + six[1] + six[2])).abs() / 3.0;
    let most = counts.windows(6).map(step).fold(0.0, f64::max);
    ratio(most, range).min(5.0)
}

/// Share of half hours between a quarter and three quarters of the range: people come and go gradually, switches do not.
fn between(counts: &[f64], low: f64, high: f64) -> f64 {
    let middle = low + 0.25 * (high - low)..low + 0.75 * (high - low);
    let inside = counts.iter().filter(|count| middle.contains(count)).count();
    inside as f64 / counts.len() as f64
}

/// ParseContext of three neighbours: an hour and a half.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    counts
        .windows(3)
        .map(|three| three.iter().sum::<f64>() / 3.0)
        .collect()
}

/// The quietest six hours of the mean day against the mean: 1 for who never sleeps, 0 for who comes at some hours only.
pub fn quietest_hours(counts: &[f64]) -> f64 {
    DayProfile::of(counts).quietest()
}

/// As [`noise`], in the middle of all half hours: bursts and edges, which are few, do not count.
fn typical_noise(counts: &[f64]) -> f64 {
    // The median of a squared normal deviate is 0.455.
    scatter(counts, 0.5, 0.455)
}

/// As [`noise`], in four of five half hours: below 1 nearly everything keeps to a rate.
pub fn usual_scatter(counts: &[f64]) -> f64 {
    scatter(counts, 0.8, 1.642)
}

/// A quantile of how much half hours differ from their neighbours, against that quantile of a squared normal deviate.
fn scatter(counts: &[f64], share: f64, normal: f64) -> f64 {
    // Below two requests in a half hour there is only all or nothing.
    let spread = |three: &[f64]| {
        let size = three[0] + 4.0 * three[1] + three[2];
        (size >= 12.0).then(|| (three[0] - 2.0 * three[1] + three[2]).powi(2) / size)
    };
    let mut spreads: Vec<f64> = counts.windows(3).filter_map(spread).collect();
    ratio(quantile(&mut spreads, share), normal)
}

/// How much the level varies while it is high, beyond its noise, against its mean: what is merely switched on stays where it is.
fn busy_spread(smooth: &[f64], noise: f64) -> f64 {
    let mut busy = smooth.to_vec();
    let busy_from = quantile(&mut busy, 0.9) / 2.0;
    busy.retain(|level| *level >= busy_from);
    let mean = busy.iter().sum::<f64>() / busy.len().max(1) as f64;
    let beyond_noise = (super::variance(&busy) - noise * mean / 3.0).max(0.0);
    ratio(beyond_noise.sqrt(), mean)
}

/// Correlation between days, in the middle of all pairs of them: a weekend among them does not matter.
fn likeness_of_days(smooth: &[f64]) -> f64 {
    let days: Vec<Vec<f64>> = smooth.chunks_exact(DAY).map(centred).collect();
    let mut pairs = Vec::new();
    for (at, day) in days.iter().enumerate() {
        for other in &days[..at] {
            let product: f64 = day.iter().zip(other).map(|(a, b)| a * b).sum();
            pairs.push(product);
        }
    }
    quantile(&mut pairs, 0.5)
}

/// Around its mean, with length 1; nothing where it never changes.
fn centred(day: &[f64]) -> Vec<f64> {
    let mean = day.iter().sum::<f64>() / day.len() as f64;
    let length = day
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        .sqrt();
    day.iter()
        .map(|value| {
            if length > 0.0 {
                ratio_of(value - mean, length)
            } else {
                0.0
            }
        })
        .collect()
}

/// A quotient of either sign that is never infinite or NaN.
fn ratio_of(over: f64, under: f64) -> f64 {
    ratio(over.abs(), under).copysign(over)
}

/// How much the volume of days differs, against their mean.
fn difference_of_days(counts: &[f64]) -> f64 {
    let days: Vec<f64> = counts
        .chunks_exact(DAY)
        .map(|day| day.iter().sum())
        .collect();
    let mean = days.iter().sum::<f64>() / days.len().max(1) as f64;
    ratio(super::variance(&days).sqrt(), mean)
}

/// Whether it rises faster than it falls, or slower: a queue is filled at once and worked off.
fn rising(smooth: &[f64]) -> f64 {
    let steps = || smooth.windows(4).map(|four| four[3] - four[0]);
    let most = steps().map(f64::abs).fold(0.0, f64::max);
    // Shares of the largest step, so that no power overflows.
    let moment = |power: i32| {
        steps()
            .map(|step| ratio_of(step, most).powi(power))
            .sum::<f64>()
            / smooth.len() as f64
    };
    ratio_of(moment(3), moment(2).powf(1.5)).clamp(-10.0, 10.0)
}
