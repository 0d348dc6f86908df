//! The shape of a series of counts: its autocorrelation, read as the PubCrawl paper reads it, its decomposition, and more.

use crate::data::Attribute;
use crate::data::Kind;
use crate::stl;
use crate::stl::dot;

/// Half hours of a day.
pub const DAY: usize = 48;
/// The longest lag that is looked at: two days.
pub const LAGS: usize = 2 * DAY;
/// A series of no more points than this has no shape: a rhythm shows by coming back.
pub const POINTS_MIN: usize = 2 * DAY + 1;

/// How the decomposition looks: as wide as the paper's six hours, the season over 13 days.
pub const STL: stl::Settings = stl::Settings {
    period: DAY,
    season_window: 13,
    trend_window: 13,
    low_window: DAY + 1,
};

/// Autocorrelation at the lags 1, 2, …: covariance over variance, both divided by the number of points.
///
/// A series that never changes has no correlation: zeros.
pub fn autocorrelation(series: &[f64], lags: usize) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
    let centred: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let variance = dot(&centred, &centred);
    let size = series
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    // What is left of a constant series are rounding errors.
    if variance <= 1e-20 * size * size * series.len() as f64 {
        return vec![0.0; lags];
    }
    let at = |lag: usize| match centred.get(lag..) {
        Some(later) => dot(&centred[..later.len()], later) / variance,
        None => 0.0,
    };
    (1..=lags).map(at).collect()
}

/// Standard error of each coefficient, if all before it are those of a moving average.
pub fn standard_errors(coefficients: &[f64], points: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let error = |coefficient: &f64| {
        let error = ((1.0 + 2.0 * sum) / points as f64).sqrt();
        sum += coefficient * coefficient;
        error
    };
    coefficients.iter().map(error).collect()
}

/// How fast the autocorrelation falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decay {
    /// It does not: noise.
    None,
    /// It drops at once and stays away.
    CutOff,
    /// Slowly and steadily: traffic that stays as it is for long.
    Linear,
    /// Anything else.
    Exponential,
}

/// How often the autocorrelation changes its sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signs {
    /// Never.
    None,
    /// Once.
    Single,
    /// Often and evenly.
    Oscillating,
    /// Unpredictably.
    Erratic,
}

/// What the paper calls low, average and high, in numbers. Shares are of the lags looked at.
///
/// Set by what the words mean on series whose class a person can see (the tests below), before any training.
mod limits {
    /// 'Low' drop from the first to the last lag: noise has nothing to lose.
    pub(super) const DROP_LOW: f64 = 0.25;
    /// 'Average' drop from the first to the middle lag: a straight line from 1 that meets zero at three quarters of the lags.
    pub(super) const DROP_AVERAGE: f64 = 0.65;
    /// 'Average' share of rising coefficients: around one half.
    pub(super) const TREND_EVEN: std::ops::RangeInclusive<f64> = 0.35..=0.65;
    /// 'High' number of trend runs: in noise, two of three points are turning points.
    pub(super) const TREND_RUNS_HIGH: f64 = 0.45;
    /// 'Low' number of trend runs: a few waves in two days.
    pub(super) const TREND_RUNS_LOW: f64 = 0.2;
    /// 'Low' share of coefficients near zero.
    pub(super) const NULL_LOW: f64 = 0.35;
    /// 'Above average' share of coefficients near zero.
    pub(super) const NULL_HIGH: f64 = 0.5;
    /// 'Low' length of the first significant run: three hours.
    pub(super) const SPIKE_SHORT: usize = 6;
    /// 'High' length of the longest insignificant run: half of the lags.
    pub(super) const SILENCE_LONG: f64 = 0.5;
    /// 'Low' first lag near zero: six hours.
    pub(super) const NULL_EARLY: usize = 12;
    /// 'Above average' number of sign runs.
    pub(super) const SIGN_RUNS_MANY: usize = 4;
    /// 'Below average' spread of the lengths of sign runs, relative to their mean.
    pub(super) const SIGN_SPREAD_LOW: f64 = 0.5;
    /// A local spike is at most this wide: four hours.
    pub(super) const LOCAL_SPIKE_WIDE: usize = 8;
    /// A spike is at half a day or a day when it covers a lag this near to it.
    pub(super) const DAILY_NEAR: usize = 2;
    /// Coefficients below this share of the largest are null (equation 8).
    pub(super) const NULL: f64 = 0.1;
}

/// The autocorrelation as a person would describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlation {
    /// At the lags 1, 2, …
    pub coefficients: Vec<f64>,
    /// Their standard errors.
    pub errors: Vec<f64>,
    /// How fast it falls.
    pub decay: Decay,
    /// How often it changes its sign.
    pub signs: Signs,
    /// Significant for a short stretch, beyond the first: first lag, and how many.
    pub spikes: Vec<(usize, usize)>,
    /// One of the spikes sits at half a day or a day.
    pub is_daily: bool,
}

impl Correlation {
    /// Looks at a series.
    pub fn of(series: &[f64]) -> Correlation {
        let lags = LAGS.min(series.len() / 2);
        let coefficients = autocorrelation(series, lags);
        let errors = standard_errors(&coefficients, series.len());
        let runs = Runs::of(&coefficients, &errors);
        let spikes = runs.local_spikes();
        let is_at = |lag: usize| {
            let near = |(start, length): &(usize, usize)| {
                (start.saturating_sub(limits::DAILY_NEAR)..start + length + limits::DAILY_NEAR)
                    .contains(&lag)
            };
            spikes.iter().any(near)
        };
        Correlation {
            decay: runs.decay(&coefficients),
            signs: runs.signs(),
            is_daily: is_at(DAY / 2) || is_at(DAY),
            spikes,
            coefficients,
            errors,
        }
    }

    /// The coefficient at a lag, 0 where there is none.
    pub fn at(&self, lag: usize) -> f64 {
        let coefficient = lag.checked_sub(1).and_then(|at| self.coefficients.get(at));
        coefficient.copied().unwrap_or(0.0)
    }
}

/// The four properties of each coefficient (equations 5 to 8).
struct Runs {
    trend: Vec<bool>,
    sign: Vec<bool>,
    spike: Vec<bool>,
    null: Vec<bool>,
}

impl Runs {
    fn of(coefficients: &[f64], errors: &[f64]) -> Runs {
        let most = coefficients
            .iter()
            .fold(0.0, |most: f64, value| most.max(value.abs()));
        let rises = coefficients
            .windows(2)
            .map(|pair| pair[1].abs() >= pair[0].abs());
        let spikes = coefficients.iter().zip(errors);
        Runs {
            trend: std::iter::once(true)
                .chain(rises)
                .take(coefficients.len())
                .collect(),
            sign: coefficients.iter().map(|value| *value >= 0.0).collect(),
            spike: spikes
                .map(|(value, error)| value.abs() >= 2.0 * error)
                .collect(),
            null: coefficients
                .iter()
                .map(|value| value.abs() <= limits::NULL * most)
                .collect(),
        }
    }

    /// Table 10: all rows of a class must hold.
    fn decay(&self, coefficients: &[f64]) -> Decay {
        let lags = coefficients.len();
        if lags < 2 {
            return Decay::None;
        }
        let share = |run: &[bool]| run.iter().filter(|value| **value).count() as f64 / lags as f64;
        let first = coefficients[0].abs();
        let to_last = first - coefficients[lags - 1].abs();
        let to_middle = first - coefficients[lags / 2].abs();
        let turns = runs(&self.trend).count() as f64 / lags as f64;
        let nulls = share(&self.null);
        if to_last <= limits::DROP_LOW
            && limits::TREND_EVEN.contains(&share(&self.trend))
            && turns >= limits::TREND_RUNS_HIGH
            && nulls <= limits::NULL_LOW
        {
            return Decay::None;
        }
        let first_spike = runs(&self.spike)
            .next()
            .filter(|run| run.value)
            .map_or(0, |run| run.length);
        let quiet = runs(&self.spike)
            .filter(|run| !run.value)
            .map(|run| run.length)
            .max()
            .unwrap_or(0);
        let first_null = self
            .null
            .iter()
            .position(|null| *null)
            .map_or(lags, |at| at + 1);
        if to_middle > limits::DROP_AVERAGE
            && first_spike <= limits::SPIKE_SHORT
            && quiet as f64 >= limits::SILENCE_LONG * lags as f64
            && nulls > limits::NULL_HIGH
            && first_null <= limits::NULL_EARLY
        {
            return Decay::CutOff;
        }
        if to_middle <= limits::DROP_AVERAGE
            && turns <= limits::TREND_RUNS_LOW
            && first_spike > limits::SPIKE_SHORT
            && nulls <= limits::NULL_LOW
        {
            return Decay::Linear;
        }
        Decay::Exponential
    }

    /// Table 11.
    fn signs(&self) -> Signs {
        let lengths: Vec<f64> = runs(&self.sign).map(|run| run.length as f64).collect();
        match lengths.len() {
            0 | 1 => return Signs::None,
            2 => return Signs::Single,
            _ => {}
        }
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let variance = lengths
            .iter()
            .map(|length| (length - mean).powi(2))
            .sum::<f64>()
            / lengths.len() as f64;
        let is_even = variance.sqrt() <= limits::SIGN_SPREAD_LOW * mean;
        match lengths.len() >= limits::SIGN_RUNS_MANY && is_even {
            true => Signs::Oscillating,
            false => Signs::Erratic,
        }
    }

    /// Table 12: short significant runs that start after the first lag.
    fn local_spikes(&self) -> Vec<(usize, usize)> {
        runs(&self.spike)
            .filter(|run| run.value && run.start > 0 && run.length <= limits::LOCAL_SPIKE_WIDE)
            .map(|run| (run.start + 1, run.length))
            .collect()
    }
}

/// Equal values in a row.
struct Run {
    start: usize,
    length: usize,
    value: bool,
}

fn runs(values: &[bool]) -> impl Iterator<Item = Run> + '_ {
    let mut start = 0;
    values.chunk_by(|a, b| a == b).map(move |chunk| {
        let run = Run {
            start,
            length: chunk.len(),
            value: chunk[0],
        };
        start += chunk.len();
        run
    })
}

/// How restless the trend is: variance of its steps over their mean size, of a series whose values add up to 1.
pub fn trend_dispersion(trend: &[f64]) -> f64 {
    let steps: Vec<f64> = trend.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let size = steps.iter().map(|step| step.abs()).sum::<f64>() / steps.len().max(1) as f64;
    ratio(variance(&steps), size)
}

/// Height of the season over that of the trend (equation 4).
pub fn season_to_trend(season: &[f64], trend: &[f64]) -> f64 {
    let most = season.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = season.iter().copied().fold(f64::INFINITY, f64::min);
    ratio(most - least, quantile(&mut trend.to_vec(), 0.95))
}

/// Index of dispersion: variance over mean. 1 for requests that know nothing of each other.
pub fn dispersion(counts: &[f64]) -> f64 {
    ratio(
        variance(counts),
        counts.iter().sum::<f64>() / counts.len().max(1) as f64,
    )
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / n
}

/// A quantile, between neighbours as R does it. The values change places; sorting them all would take four times as long.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let at = share * last as f64;
    let (_, below, above) = values.select_nth_unstable_by(at as usize, f64::total_cmp);
    let next = above.iter().copied().reduce(f64::min).unwrap_or(*below);
    *below + (next - *below) * at.fract()
}

/// A quotient that is never infinite or NaN: what is divided by nothing is nothing.
fn ratio(over: f64, under: f64) -> f64 {
    let quotient = over / under;
    match quotient.is_finite() && under > 0.0 {
        true => quotient.min(RATIO_MAX),
        false => 0.0,
    }
}

/// Ratios beyond this say the same.
const RATIO_MAX: f64 = 1e6;

mod shape;

mod crowd;

pub use crowd::could_be_crowd;
pub use shape::PAPER_ATTRIBUTES;
pub use shape::Scratch;
pub use shape::Shape;
pub use shape::attributes;
pub use shape::quietest_hours;
pub use shape::usual_scatter;
