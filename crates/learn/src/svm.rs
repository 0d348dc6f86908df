//! A support vector machine (C-SVM) with the radial kernel exp(-γ‖u − v‖²).
//!
//! `libsvm-rs` trains it, with the decisions of LIBSVM; deciding takes the few lines here. Both classes weigh
//! alike, up to a limit. Training is a function of its input: nothing is drawn but from a given seed.

use libsvm_rs::KernelType;
use libsvm_rs::SvmNode;
use libsvm_rs::SvmParameter;
use libsvm_rs::SvmProblem;
use libsvm_rs::SvmType;
use libsvm_rs::probability::sigmoid_train;
use libsvm_rs::train::svm_train;
use serde::Deserialize;
use serde::Serialize;

use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::Kind;
use crate::folds::Card;
use crate::folds::deal;
use crate::folds::shuffled;

/// The rarer class weighs more, but not more than this: ten examples must not outweigh thousands.
const WEIGHT_MAX: f64 = 10.0;
/// When training may stop. LIBSVM's default of 0.001 leaves the third digit of a decision to the order of the
/// examples, and is hardly faster: 21 instead of 23 s for a search with 1,500 examples.
pub(crate) const TOLERANCE: f64 = 1e-5;
/// Kernel values to keep, in MB: all of those of 1,500 examples.
pub(crate) const CACHE_MB: f64 = 20.0;
/// The settings that `search` tries: powers of two, every other one. Finer grids find the same on noisy data.
const C_POWERS: [i32; 6] = [-1, 1, 3, 5, 7, 9];
const GAMMA_POWERS: [i32; 5] = [-7, -5, -3, -1, 1];
/// Examples that `search` tries settings on: the time grows with the square.
const SEARCH_MAX: usize = 1500;
/// Parts of the data for the sigmoid, as in LIBSVM, and how they are dealt.
const SIGMOID_FOLDS: usize = 5;
const SIGMOID_SEED: u64 = 1;
/// Deviations from the mean beyond which values count as equally far, so that their squares stay finite.
pub(crate) const FAR: f64 = 1000.0;
/// Spread below which a column is constant but for rounding, as a share of its largest value.
const SPREAD_MIN: f64 = 1e-12;
/// Limits for a loaded file.
const COLUMNS_MAX: usize = 10_000;
pub(crate) const VECTORS_MAX: usize = 100_000;
const COST_MAX: f64 = 1e6;
pub(crate) const GAMMA_MAX: f64 = 1e3;

/// What the training may vary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SvmSettings {
    /// What an error costs.
    pub c: f64,
    /// How near an example must be to matter.
    pub gamma: f64,
}

/// A trained machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Svm {
    /// In the order of the attributes.
    scales: Vec<Scale>,
    gamma: f64,
    rho: f64,
    /// How much each vector counts, towards positive when it is above 0.
    coefficients: Vec<f64>,
    /// The examples that matter, scaled.
    vectors: Vec<Vec<f64>>,
    /// The probability of a decision d is 1 / (1 + exp(slope · d + offset)).
    sigmoid_slope: f64,
    sigmoid_offset: f64,
}

/// How values of an attribute become coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Scale {
    /// One coordinate with mean 0 and deviation 1; always 0 when the deviation is 0.
    Standard { mean: f64, deviation: f64 },
    /// A coordinate for each of this many values, 1 for that value. Two values are then as far apart as two
    /// examples are on average in a standardised coordinate.
    OneHot(usize),
}

impl Svm {
    /// Trains with given settings. One class alone, or nothing, gives a machine that only knows its share.
    pub fn learn(dataset: &Dataset, settings: &SvmSettings) -> Svm {
        let scales = scales(dataset);
        let settings = sane(settings);
        let points = points(dataset, &scales);
        let decided = cross_decide(&points, &settings, SIGMOID_FOLDS, SIGMOID_SEED);
        let (sigmoid_slope, sigmoid_offset) = sigmoid(&points, &decided);
        let machine = train(&points, &settings);
        let round_all = |vector: &Vec<f64>| vector.iter().map(|value| round(*value)).collect();
        Svm {
            scales,
            gamma: settings.gamma,
            rho: round(machine.rho),
            coefficients: round_all(&machine.coefficients),
            vectors: machine.vectors.iter().map(round_all).collect(),
            sigmoid_slope: round(sigmoid_slope),
            sigmoid_offset: round(sigmoid_offset),
        }
    }

    /// Tries a grid of settings by cross-validation and trains with those that are right most often on average
    /// over both classes; among equals with the smoothest. The settings are tried on a sample when there are many
    /// examples; the machine is trained on all.
    pub fn search(dataset: &Dataset, folds: usize, seed: u64) -> (SvmSettings, Svm) {
        let scales = scales(dataset);
        let points = sample(points(dataset, &scales), SEARCH_MAX, seed);
        let mut best = SvmSettings {
            c: 1.0,
            gamma: 0.125,
        };
        let mut best_accuracy = f64::MIN;
        for gamma in GAMMA_POWERS {
            for c in C_POWERS {
                let (c, gamma) = (2.0_f64.powi(c), 2.0_f64.powi(gamma));
                let settings = SvmSettings { c, gamma };
                let decided = cross_decide(&points, &settings, folds, seed);
                let accuracy = balanced_accuracy(&points, &decided);
                if accuracy > best_accuracy {
                    (best, best_accuracy) = (settings, accuracy);
                }
            }
        }
        (best, Svm::learn(dataset, &best))
    }

    /// Above 0 when positive; 1 or more when beyond the margin.
    pub fn decision(&self, values: &[f64]) -> f64 {
        let point = encode(&self.scales, values);
        decide(
            &self.coefficients,
            &self.vectors,
            self.gamma,
            self.rho,
            &point,
        )
    }

    /// Whether this can be what was learned from examples with these attributes. A file may hold anything.
    pub fn check(&self, attributes: &[Attribute]) -> Result<(), String> {
        let fits = |(scale, attribute): (&Scale, &Attribute)| match (scale, &attribute.kind) {
            (Scale::Standard { mean, deviation }, Kind::Continuous) => {
                mean.is_finite() && deviation.is_finite() && *deviation >= 0.0
            }
            (Scale::OneHot(count), Kind::Discrete(values)) => *count == values.len(),
            _ => false,
        };
        if self.scales.len() != attributes.len() {
            let (found, expected) = (self.scales.len(), attributes.len());
            return Err(format!("{found} attributes instead of {expected}"));
        }
        if !self.scales.iter().zip(attributes).all(fits) {
            return Err("an attribute's scale does not fit it".to_owned());
        }
        let columns = width(&self.scales);
        if columns > COLUMNS_MAX || self.vectors.len() > VECTORS_MAX {
            return Err(format!(
                "{} vectors of {columns} values",
                self.vectors.len()
            ));
        }
        if self.coefficients.len() != self.vectors.len() {
            return Err(format!(
                "{} coefficients for {} vectors",
                self.coefficients.len(),
                self.vectors.len()
            ));
        }
        // Larger numbers than training makes could add up to infinity.
        let is_coordinate = |value: &f64| value.abs() <= FAR;
        let is_vector =
            |vector: &Vec<f64>| vector.len() == columns && vector.iter().all(is_coordinate);
        if !self.vectors.iter().all(is_vector) {
            return Err("a vector is not one of scaled values".to_owned());
        }
        let is_cost = |value: &f64| value.abs() <= 2.0 * COST_MAX * WEIGHT_MAX;
        if !self.coefficients.iter().all(is_cost) {
            return Err("a coefficient is out of range".to_owned());
        }
        let is_modest = |value: f64| value.abs() <= 1e15;
        let mut numbers = [self.rho, self.sigmoid_slope, self.sigmoid_offset].into_iter();
        if !(numbers.all(is_modest) && 0.0 < self.gamma && self.gamma <= GAMMA_MAX) {
            return Err("a number is out of range".to_owned());
        }
        Ok(())
    }
}

impl Classifier for Svm {
    fn probability(&self, values: &[f64]) -> f64 {
        1.0 / (1.0 + (self.sigmoid_slope * self.decision(values) + self.sigmoid_offset).exp())
    }
}

/// A scaled example.
#[derive(Debug, Clone)]
struct Point {
    vector: Vec<f64>,
    is_positive: bool,
    group: Option<u32>,
}

/// What training gives.
#[derive(Default)]
struct Machine {
    rho: f64,
    coefficients: Vec<f64>,
    vectors: Vec<Vec<f64>>,
}

/// Settings that the training can take.
fn sane(settings: &SvmSettings) -> SvmSettings {
    let within = |value: f64, max: f64| {
        if value.is_nan() {
            1.0
        } else {
            value.clamp(1e-9, max)
        }
    };
    SvmSettings {
        c: within(settings.c, COST_MAX),
        gamma: within(settings.gamma, GAMMA_MAX),
    }
}

pub(crate) fn scales(dataset: &Dataset) -> Vec<Scale> {
    let attributes = dataset.attributes.iter().enumerate();
    attributes
        .map(|(place, attribute)| match &attribute.kind {
            Kind::Continuous => standard(dataset, place),
            Kind::Discrete(values) => Scale::OneHot(values.len()),
        })
        .collect()
}

/// Mean and deviation of a column, taken as shares of its largest value, so that no sum overflows.
fn standard(dataset: &Dataset, place: usize) -> Scale {
    let column = dataset
        .examples
        .iter()
        .filter_map(|example| example.values.get(place));
    let column: Vec<f64> = column.copied().filter(|value| value.is_finite()).collect();
    let largest = column
        .iter()
        .fold(0.0_f64, |max, value| max.max(value.abs()));
    if largest == 0.0 {
        return Scale::Standard {
            mean: 0.0,
            deviation: 0.0,
        };
    }
    let count = column.len() as f64;
    let shares = || column.iter().map(|value| value / largest);
    let mean = shares().sum::<f64>() / count;
    let variance = shares().map(|share| (share - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    Scale::Standard {
        mean: mean * largest,
        deviation: if deviation < SPREAD_MIN {
            0.0
        } else {
            deviation * largest
        },
    }
}

fn width(scales: &[Scale]) -> usize {
    let widths = scales.iter().map(|scale| match scale {
        Scale::Standard { .. } => 1,
        Scale::OneHot(values) => *values,
    });
    widths.fold(0, usize::saturating_add)
}

/// Values as coordinates; those that say nothing are 0.
pub(crate) fn encode(scales: &[Scale], values: &[f64]) -> Vec<f64> {
    let mut point = Vec::with_capacity(scales.len());
    for (place, scale) in scales.iter().enumerate() {
        let value = values.get(place).copied().unwrap_or(f64::NAN);
        match scale {
            Scale::OneHot(count) => {
                point.extend((0..*count).map(|place| f64::from(u8::from(place as f64 == value))));
            }
            Scale::Standard { mean, deviation } => {
                let scaled = (value - mean) / deviation;
                let is_known = *deviation > 0.0 && !scaled.is_nan();
                point.push(if is_known {
                    scaled.clamp(-FAR, FAR)
                } else {
                    0.0
                });
            }
        }
    }
    point
}

fn points(dataset: &Dataset, scales: &[Scale]) -> Vec<Point> {
    let examples = dataset.examples.iter();
    examples
        .map(|example| Point {
            vector: encode(scales, &example.values),
            is_positive: example.is_positive,
            group: example.group,
        })
        .collect()
}

pub(crate) fn decide(
    coefficients: &[f64],
    vectors: &[Vec<f64>],
    gamma: f64,
    rho: f64,
    point: &[f64],
) -> f64 {
    let terms = coefficients
        .iter()
        .zip(vectors)
        .map(|(coefficient, vector)| {
            let differences = vector.iter().zip(point).map(|(a, b)| (a - b) * (a - b));
            coefficient * (-gamma * differences.sum::<f64>()).exp()
        });
    terms.sum::<f64>() - rho
}

/// Without both classes the machine decides for the one there is, or for none.
fn train(points: &[Point], settings: &SvmSettings) -> Machine {
    let positives = points.iter().filter(|point| point.is_positive).count();
    let negatives = points.len() - positives;
    if positives == 0 || negatives == 0 {
        let rho = f64::from(u8::from(negatives > 0)) - f64::from(u8::from(positives > 0));
        return Machine {
            rho,
            ..Machine::default()
        };
    }
    let weight = |mine: usize, other: usize| (other as f64 / mine as f64).clamp(1.0, WEIGHT_MAX);
    let parameter = SvmParameter {
        svm_type: SvmType::CSvc,
        kernel_type: KernelType::Rbf,
        gamma: settings.gamma,
        c: settings.c,
        cache_size: CACHE_MB,
        eps: TOLERANCE,
        weight: vec![
            (1, weight(positives, negatives)),
            (-1, weight(negatives, positives)),
        ],
        ..SvmParameter::default()
    };
    // Else it reports to stderr.
    libsvm_rs::set_quiet(true);
    let model = svm_train(&problem(points), &parameter);
    // Decisions are for the class that it names first.
    let sign = if model.label.first() == Some(&1) {
        1.0
    } else {
        -1.0
    };
    let coefficients = model.sv_coef.first().into_iter().flatten();
    let rows = model
        .sv_indices
        .iter()
        .filter_map(|row| points.get(row.checked_sub(1)?));
    Machine {
        rho: sign * model.rho.first().copied().unwrap_or(0.0),
        coefficients: coefficients.map(|coefficient| sign * coefficient).collect(),
        vectors: rows.map(|point| point.vector.clone()).collect(),
    }
}

fn problem(points: &[Point]) -> SvmProblem {
    let node = |(place, value): (usize, &f64)| SvmNode {
        index: i32::try_from(place + 1).unwrap_or(i32::MAX),
        value: *value,
    };
    let nodes = |point: &Point| {
        let places = point.vector.iter().enumerate();
        places
            .filter(|(_, value)| **value != 0.0)
            .map(node)
            .collect()
    };
    SvmProblem {
        labels: points
            .iter()
            .map(|point| if point.is_positive { 1.0 } else { -1.0 })
            .collect(),
        instances: points.iter().map(nodes).collect(),
    }
}

/// The decision about each point by a machine that was trained without its fold.
fn cross_decide(points: &[Point], settings: &SvmSettings, folds: usize, seed: u64) -> Vec<f64> {
    let folds = folds.clamp(2, points.len().max(2));
    let fold_of = deal(&cards(points), folds, seed);
    let mut decided = vec![0.0; points.len()];
    for fold in 0..folds {
        let is_in = |place: usize| fold_of[place] == fold;
        let others = points
            .iter()
            .enumerate()
            .filter(|(place, _)| !is_in(*place));
        let others: Vec<Point> = others.map(|(_, point)| point.clone()).collect();
        let Machine {
            rho,
            coefficients,
            vectors,
        } = train(&others, settings);
        for (place, point) in points.iter().enumerate().filter(|(place, _)| is_in(*place)) {
            decided[place] = decide(&coefficients, &vectors, settings.gamma, rho, &point.vector);
        }
    }
    decided
}

fn cards(points: &[Point]) -> Vec<Card> {
    let card = |point: &Point| (point.is_positive, point.group);
    points.iter().map(card).collect()
}

/// At most so many of the points, with as large a share of each class as before, in their order.
fn sample(points: Vec<Point>, max: usize, seed: u64) -> Vec<Point> {
    if points.len() <= max {
        return points;
    }
    let mut kept: Vec<usize> = Vec::with_capacity(max + 1);
    for class in shuffled(&cards(&points), seed) {
        let share = (class.len() * max).div_ceil(points.len());
        kept.extend(class.into_iter().take(share));
    }
    kept.sort_unstable();
    kept.into_iter()
        .map(|place| points[place].clone())
        .collect()
}

/// The share of right decisions, on average over the classes that occur.
fn balanced_accuracy(points: &[Point], decided: &[f64]) -> f64 {
    let mut right = [0.0; 2];
    let mut all = [0.0; 2];
    for (point, decision) in points.iter().zip(decided) {
        let class = usize::from(point.is_positive);
        all[class] += 1.0;
        right[class] += f64::from(u8::from((*decision > 0.0) == point.is_positive));
    }
    let shares = right.iter().zip(all).filter(|(_, all)| *all > 0.0);
    let (sum, classes) = shares.fold((0.0, 0.0), |(sum, classes), (right, all)| {
        (sum + right / all, classes + 1.0)
    });
    if classes > 0.0 { sum / classes } else { 0.0 }
}

/// Platt's sigmoid; without both classes the share of positives, as if one more of either had been seen.
fn sigmoid(points: &[Point], decided: &[f64]) -> (f64, f64) {
    let positives = points.iter().filter(|point| point.is_positive).count() as f64;
    let negatives = points.len() as f64 - positives;
    let flat = (0.0, ((negatives + 1.0) / (positives + 1.0)).ln());
    if positives == 0.0 || negatives == 0.0 {
        return flat;
    }
    let labels = points
        .iter()
        .map(|point| if point.is_positive { 1.0 } else { -1.0 });
    let labels: Vec<f64> = labels.collect();
    let (slope, offset) = sigmoid_train(decided, &labels);
    // A rising slope means that the decisions are no better than chance: a few examples can do that, and the
    // classifier must not say the contrary of its own decisions.
    if slope > 0.0 || !slope.is_finite() || !offset.is_finite() {
        return flat;
    }
    (slope, offset)
}

/// Nine digits are more than training determines, and keep the file small.
fn round(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Example;

    /// Positive inside a ring, which no line can tell.
    fn ring(count: u64) -> Dataset {
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            kind: Kind::Continuous,
        };
        let mut shuffler = crate::folds::Shuffler::new(7);
        let mut uniform = || (shuffler.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let examples = (0..count).map(|_| {
            let (x, y) = (uniform() * 4.0 - 2.0, uniform() * 4.0 - 2.0);
            Example {
                values: vec![x, 1e6 * y],
                is_positive: x * x + y * y < 1.0,
                group: None,
            }
        });
        Dataset {
            examples: examples.collect(),
            attributes: vec![attribute("x"), attribute("y")],
        }
    }

    #[test]
    fn learns_what_no_line_can_tell() {
        let dataset = ring(300);
        let svm = Svm::learn(
            &dataset,
            &SvmSettings {
                c: 32.0,
                gamma: 0.5,
            },
        );
        assert_eq!(svm.check(&dataset.attributes), Ok(()));
        let right = ring(900).examples.split_off(300);
        let right = right
            .iter()
            .filter(|e| (svm.decision(&e.values) > 0.0) == e.is_positive);
        assert!(right.count() > 570);
        assert!(svm.probability(&[0.0, 0.0]) > 0.95);
        assert!(svm.probability(&[2.0, 2e6]) < 0.05);
    }

    #[test]
    fn training_and_files_are_exact() {
        let dataset = ring(120);
        let (settings, svm) = Svm::search(&dataset, 3, 5);
        assert_eq!((settings, svm.clone()), Svm::search(&dataset, 3, 5));
        let text = serde_json::to_string(&svm).unwrap();
        assert_eq!(serde_json::from_str::<Svm>(&text).unwrap(), svm);
    }

    #[test]
    fn one_class_or_nothing_gives_its_share() {
        let settings = SvmSettings { c: 1.0, gamma: 1.0 };
        let mut dataset = ring(100);
        dataset.examples.retain(|example| !example.is_positive);
        let count = dataset.examples.len() as f64;
        let svm = Svm::learn(&dataset, &settings);
        assert!((svm.probability(&[0.0, 0.0]) - 1.0 / (count + 2.0)).abs() < 1e-6);
        assert!(svm.decision(&[0.0, 0.0]) < 0.0);
        assert_eq!(
            Svm::learn(&Dataset::default(), &settings).probability(&[]),
            0.5
        );
    }

    #[test]
    fn samples_and_folds_keep_the_shares() {
        let point = |place: usize| Point {
            vector: vec![place as f64],
            is_positive: place.is_multiple_of(10),
            group: None,
        };
        let points: Vec<Point> = (0..5000).map(point).collect();
        let kept = sample(points, 1500, 3);
        assert_eq!(kept.len(), 1500);
        assert_eq!(kept.iter().filter(|point| point.is_positive).count(), 150);
        let folds = deal(&cards(&kept), 5, 3);
        for fold in 0..5 {
            let mine = folds
                .iter()
                .zip(&kept)
                .filter(|(of, point)| **of == fold && point.is_positive);
            assert_eq!(mine.count(), 30);
        }
    }

    #[test]
    fn a_hostile_file_is_refused() {
        let dataset = ring(60);
        let good = Svm::learn(&dataset, &SvmSettings { c: 1.0, gamma: 1.0 });
        let refuse = |change: fn(&mut Svm)| {
            let mut svm = good.clone();
            change(&mut svm);
            assert!(svm.check(&dataset.attributes).is_err());
        };
        assert_eq!(good.check(&dataset.attributes), Ok(()));
        refuse(|svm| svm.gamma = f64::NAN);
        refuse(|svm| svm.gamma = -1.0);
        refuse(|svm| svm.rho = f64::INFINITY);
        refuse(|svm| svm.coefficients[0] = 1e300);
        refuse(|svm| svm.vectors[0][0] = f64::NAN);
        refuse(|svm| svm.vectors[0].clear());
        refuse(|svm| svm.vectors.clear());
        refuse(|svm| svm.scales.clear());
        refuse(|svm| svm.scales[0] = Scale::OneHot(1));
        refuse(|svm| {
            svm.scales[0] = Scale::Standard {
                mean: 0.0,
                deviation: -1.0,
            }
        });
    }
}
