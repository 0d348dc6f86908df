//! A one-class support vector machine (Schölkopf 2001) with the radial kernel: learns what is normal, and calls the rest abnormal.
//!
//! It learns from negative examples alone. Positive ones, where there are any, only help to choose its settings.

use libsvm_rs::KernelType;
use libsvm_rs::SvmNode;
use libsvm_rs::SvmParameter;
use libsvm_rs::SvmProblem;
use libsvm_rs::SvmType;
use libsvm_rs::train::svm_train;
use serde::Deserialize;
use serde::Serialize;

use crate::data::Dataset;
use crate::data::rounded;
use crate::folds::parts;
use crate::svm::CACHE_MB;
use crate::svm::FAR;
use crate::svm::GAMMA_MAX;
use crate::svm::Scale;
use crate::svm::TOLERANCE;
use crate::svm::VECTORS_MAX;
use crate::svm::decide;
use crate::svm::encode;
use crate::svm::scales;

/// The settings that `search` tries: the share of normal examples left outside, and powers of two.
const NUS: [f64; 6] = [0.005, 0.01, 0.02, 0.035, 0.05, 0.1];
const GAMMA_POWERS: [i32; 6] = [-6, -4, -3, -2, -1, 1];

/// What the training may vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneClassSettings {
    /// The share of the examples that may lie outside, from above 0 to 1.
    pub nu: f64,
    /// How near an example must be to matter.
    pub gamma: f64,
}

/// A trained machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneClass {
    scales: Vec<Scale>,
    gamma: f64,
    rho: f64,
    coefficients: Vec<f64>,
    vectors: Vec<Vec<f64>>,
}

impl OneClass {
    /// Learns from the negative examples with given settings.
    pub fn learn(dataset: &Dataset, settings: OneClassSettings) -> OneClass {
        let normal = negatives(dataset);
        let scales = scales(&normal);
        let points: Vec<Vec<f64>> = normal
            .examples
            .iter()
            .map(|example| encode(&scales, &example.values))
            .collect();
        let parameter = SvmParameter {
            svm_type: SvmType::OneClass,
            kernel_type: KernelType::Rbf,
            gamma: settings.gamma,
            nu: settings.nu,
            cache_size: CACHE_MB,
            eps: TOLERANCE,
            ..SvmParameter::default()
        };
        if points.is_empty() {
            return OneClass {
                scales,
                gamma: settings.gamma,
                rho: 0.0,
                coefficients: Vec::new(),
                vectors: Vec::new(),
            };
        }
        // Else it reports to stderr.
        libsvm_rs::set_quiet(true);
        let model = svm_train(&problem(&points), &parameter);
        let round_all = |vector: &Vec<f64>| vector.iter().map(|value| rounded(*value)).collect();
        let coefficients = model.sv_coef.first().into_iter().flatten();
        let rows = model.sv_indices.iter();
        let rows = rows.filter_map(|row| points.get(row.checked_sub(1)?));
        OneClass {
            gamma: settings.gamma,
            rho: rounded(model.rho.first().copied().unwrap_or(0.0)),
            coefficients: coefficients.map(|value| rounded(*value)).collect(),
            vectors: rows.map(round_all).collect(),
            scales,
        }
    }

    /// Tries a grid of settings by cross-validation and learns with those that are right most often on average over both classes: on
    /// negatives of the fold that was left out, and on all positives.
    pub fn search(dataset: &Dataset, folds: usize, seed: u64) -> (OneClassSettings, OneClass) {
        let part_of = parts(dataset, folds.max(2), seed);
        let mut best = OneClassSettings {
            nu: 0.05,
            gamma: 0.125,
        };
        let mut best_accuracy = f64::MIN;
        for gamma in GAMMA_POWERS {
            for nu in NUS {
                let settings = OneClassSettings {
                    nu,
                    gamma: 2.0_f64.powi(gamma),
                };
                let accuracy = cross_validate(dataset, settings, &part_of, folds.max(2));
                if accuracy > best_accuracy + 1e-9 {
                    (best, best_accuracy) = (settings, accuracy);
                }
            }
        }
        (best, OneClass::learn(dataset, best))
    }

    /// 0 or more when normal.
    pub fn decision(&self, values: &[f64]) -> f64 {
        let point = encode(&self.scales, values);
        let (coefficients, vectors) = (&self.coefficients, &self.vectors);
        decide(coefficients, vectors, self.gamma, self.rho, &point)
    }

    /// Whether this can be what was learned from examples with so many continuous values. A file may hold anything.
    pub fn check(&self, values: usize) -> Result<(), String> {
        let is_scale = |scale: &Scale| match scale {
            Scale::Standard { mean, deviation } => {
                mean.is_finite() && deviation.is_finite() && *deviation >= 0.0
            }
            Scale::OneHot(_) => false,
        };
        if self.scales.len() != values || !self.scales.iter().all(is_scale) {
            return Err("the scales do not fit the values".to_owned());
        }
        let is_vector = |vector: &Vec<f64>| {
            vector.len() == values && vector.iter().all(|value| value.abs() <= FAR)
        };
        if self.vectors.len() > VECTORS_MAX || !self.vectors.iter().all(is_vector) {
            return Err("a vector is not one of scaled values".to_owned());
        }
        let is_number = |value: &f64| value.abs() <= 1e9;
        let is_sound = self.coefficients.len() == self.vectors.len()
            && self.coefficients.iter().all(is_number)
            && is_number(&self.rho)
            && 0.0 < self.gamma
            && self.gamma <= GAMMA_MAX;
        match is_sound {
            true => Ok(()),
            false => Err("a number is out of range".to_owned()),
        }
    }
}

fn negatives(dataset: &Dataset) -> Dataset {
    let examples = dataset.examples.iter();
    Dataset {
        attributes: dataset.attributes.clone(),
        examples: examples
            .filter(|example| !example.is_positive)
            .cloned()
            .collect(),
    }
}

/// The mean of the shares of both classes that are recognised.
fn cross_validate(
    dataset: &Dataset,
    settings: OneClassSettings,
    part_of: &[usize],
    folds: usize,
) -> f64 {
    let mut right = [0.0; 2];
    let mut all = [0.0; 2];
    for fold in 0..folds {
        let others: Vec<usize> = (0..part_of.len())
            .filter(|at| part_of[*at] != fold)
            .collect();
        let machine = OneClass::learn(&dataset.choose(&others), settings);
        let tested = dataset.examples.iter().zip(part_of);
        for (example, _) in tested.filter(|(_, part)| **part == fold) {
            let class = usize::from(example.is_positive);
            let is_called = machine.decision(&example.values) < 0.0;
            all[class] += 1.0;
            right[class] += f64::from(u8::from(is_called == example.is_positive));
        }
    }
    let share = |class: usize| right[class] / f64::max(all[class], 1.0);
    f64::midpoint(share(0), share(1))
}

fn problem(points: &[Vec<f64>]) -> SvmProblem {
    let node = |(place, value): (usize, &f64)| SvmNode {
        index: i32::try_from(place + 1).unwrap_or(i32::MAX),
        value: *value,
    };
    let nodes = |point: &Vec<f64>| point.iter().enumerate().map(node).collect();
    SvmProblem {
        labels: vec![1.0; points.len()],
        instances: points.iter().map(nodes).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Attribute;
    use crate::data::Example;
    use crate::data::Kind;

    /// Normal examples on a grid around 0, abnormal ones far away.
    fn dataset() -> Dataset {
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            kind: Kind::Continuous,
        };
        let example = |x: f64, y: f64, is_positive: bool| Example {
            values: vec![x, y],
            is_positive,
            group: None,
        };
        let grid = (0..100).map(|at| {
            let (x, y) = (f64::from(at % 10), f64::from(at / 10));
            example(x / 10.0, y / 10.0, false)
        });
        let far = (0..20).map(|at| example(5.0 + f64::from(at), -4.0, true));
        Dataset {
            attributes: vec![attribute("x"), attribute("y")],
            examples: grid.chain(far).collect(),
        }
    }

    #[test]
    fn what_lies_far_from_normal_is_abnormal() {
        let (settings, machine) = OneClass::search(&dataset(), 5, 1);
        assert!(machine.decision(&[0.45, 0.45]) > 0.0, "{settings:?}");
        assert!(machine.decision(&[7.0, -4.0]) < 0.0);
        assert!(machine.decision(&[f64::NAN, f64::INFINITY]).is_finite());
        assert_eq!(machine.check(2), Ok(()));
        assert!(machine.check(3).is_err());
    }

    #[test]
    fn about_nu_of_the_examples_lie_outside() {
        let settings = OneClassSettings {
            nu: 0.1,
            gamma: 0.5,
        };
        let dataset = dataset();
        let machine = OneClass::learn(&dataset, settings);
        let normal = dataset
            .examples
            .iter()
            .filter(|example| !example.is_positive);
        let outside = normal.filter(|example| machine.decision(&example.values) < 0.0);
        let outside = outside.count();
        assert!((3..=14).contains(&outside), "{outside}");
    }

    #[test]
    fn nothing_to_learn_from_is_no_error() {
        let settings = OneClassSettings {
            nu: 0.1,
            gamma: 0.5,
        };
        let machine = OneClass::learn(&Dataset::default(), settings);
        assert_eq!(machine.decision(&[]), 0.0);
    }
}
