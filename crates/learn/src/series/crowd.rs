//! The region of shapes that many people behind one address could have: where it begins and ends, in values a person can read.

use super::shape::place;

/// Below this, half hours are more regular than chance: people never are, and visits of several requests make it higher (a logarithm).
const NOISE_MIN: f64 = 0.0;
/// The daily wave of a crowd that never sleeps, as a share of the mean: shallow, but there.
const WAVE_MIN: f64 = 0.08;
/// A crowd comes and goes gradually: no step of an hour and a half takes more of the range.
const STEP_MAX: f64 = 0.55;
/// Its days are alike up to their volume: outages and rushes leave this much unexplained.
const UNEXPLAINED_MAX: f64 = 0.4;
const LIKENESS_MIN: f64 = 0.4;
/// Waves of less than six hours are the edges of timetables.
const EDGES_MAX: f64 = 0.25;
/// Somebody of a large crowd is always there.
const EMPTY_MAX: f64 = 0.05;

/// True where a large crowd could send this: smooth, scattered as by visits, with gradual rises, a daily wave, and days alike.
pub fn could_be_crowd(values: &[f64]) -> bool {
    let value = |name: &str| {
        let at = place(name).and_then(|at| values.get(at));
        at.copied().unwrap_or(f64::NAN)
    };
    value("typical noise") >= NOISE_MIN
        && value("height of the daily wave") >= WAVE_MIN
        && value("steepest step") <= STEP_MAX
        && value("not explained by hour and day") <= UNEXPLAINED_MAX
        && value("likeness of days") >= LIKENESS_MIN
        && value("edges of the day") <= EDGES_MAX
        && value("empty half hours") <= EMPTY_MAX
}
