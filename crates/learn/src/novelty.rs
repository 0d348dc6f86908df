//! Whether an example lies where examples were learned from. A classifier answers about anything; far from its examples the answer means
//! nothing.
//!
//! Distance is that to the nearest of some examples, in coordinates whose middle half has length 1. What is far was measured on
//! examples that are not among them.

use serde::Deserialize;
use serde::Serialize;

use crate::data::Attribute;
use crate::data::Dataset;
use crate::data::Kind;
use crate::data::rounded;
use crate::folds::Shuffler;
use crate::series::quantile;

/// Examples to measure from: more see finer structure and make the file larger.
const REFERENCES: usize = 600;
/// Share of unseen examples of the same kind that are within reach.
const WITHIN: f64 = 0.995;
/// Coordinates beyond this are equally far.
const FAR: f64 = 20.0;
/// A file with a larger reach was not made by learning.
const REACH_MAX: f64 = 1000.0;

/// Where examples lie.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Novelty {
    /// Middle and spread of each attribute; a spread of 0 leaves it out.
    scales: Vec<(f64, f64)>,
    references: Vec<Vec<f64>>,
    /// The distance up to which an example is like those that were learned from.
    reach: f64,
}

impl Novelty {
    /// Learns where examples lie, from at most half of them; the others say how far is far.
    pub fn learn(dataset: &Dataset, seed: u64) -> Novelty {
        let scale = |(place, attribute): (usize, &Attribute)| match attribute.kind {
            Kind::Continuous => scale(dataset, place),
            Kind::Discrete(_) => (0.0, 0.0),
        };
        let scales: Vec<(f64, f64)> = dataset.attributes.iter().enumerate().map(scale).collect();
        let mut order: Vec<usize> = (0..dataset.examples.len()).collect();
        Shuffler::new(seed).shuffle(&mut order);
        let (known, held) = order.split_at(REFERENCES.min(order.len() / 2));
        let place = |at: &usize| encode(&scales, &dataset.examples[*at].values);
        let mut novelty = Novelty {
            references: known.iter().map(place).collect(),
            scales,
            reach: 1.0,
        };
        let distance = |at: &usize| novelty.distance(&dataset.examples[*at].values);
        let mut distances: Vec<f64> = held.iter().map(distance).collect();
        novelty.reach = rounded(quantile(&mut distances, WITHIN).clamp(0.01, REACH_MAX));
        novelty
    }

    fn distance(&self, values: &[f64]) -> f64 {
        let place = encode(&self.scales, values);
        let square = |reference: &Vec<f64>| {
            let differences = reference.iter().zip(&place).map(|(a, b)| (a - b) * (a - b));
            differences.sum::<f64>()
        };
        let nearest = self.references.iter().map(square).fold(f64::MAX, f64::min);
        nearest.sqrt()
    }

    /// True for an example farther away than those that were learned from are from each other.
    pub fn is_unlike(&self, values: &[f64]) -> bool {
        !self.references.is_empty() && self.distance(values) > self.reach
    }

    /// Whether this can have been learned. A file may hold anything.
    pub fn check(&self, attributes: &[Attribute]) -> Result<(), String> {
        let is_scale =
            |(middle, spread): &(f64, f64)| middle.is_finite() && (0.0..=1e9).contains(spread);
        if self.scales.len() != attributes.len() || !self.scales.iter().all(is_scale) {
            return Err("a scale is out of range".to_owned());
        }
        let is_place = |reference: &Vec<f64>| {
            reference.len() == attributes.len() && reference.iter().all(|value| value.abs() <= FAR)
        };
        if self.references.len() > REFERENCES || !self.references.iter().all(is_place) {
            return Err("a reference is not one of scaled values".to_owned());
        }
        match (0.01..=REACH_MAX).contains(&self.reach) {
            true => Ok(()),
            false => Err("the reach is out of range".to_owned()),
        }
    }
}

/// The middle of a column, and how far apart its quarters are.
fn scale(dataset: &Dataset, place: usize) -> (f64, f64) {
    let values = dataset
        .examples
        .iter()
        .filter_map(|one| one.values.get(place));
    let mut values: Vec<f64> = values.copied().filter(|value| value.is_finite()).collect();
    let [low, middle, high] = [0.1, 0.5, 0.9].map(|share| quantile(&mut values, share));
    (rounded(middle), rounded((high - low) / 2.0).min(1e9))
}

fn encode(scales: &[(f64, f64)], values: &[f64]) -> Vec<f64> {
    let place = |(at, (middle, spread)): (usize, &(f64, f64))| {
        let value = values.get(at).copied().unwrap_or(f64::NAN);
        let scaled = (value - middle) / spread;
        match *spread > 0.0 && !scaled.is_nan() {
            true => (scaled.clamp(-FAR, FAR) * 1e3).round() / 1e3,
            false => 0.0,
        }
    };
    scales.iter().enumerate().map(place).collect()
}
