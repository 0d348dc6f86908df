//! Naive Bayes for two classes, with local regression for continuous attributes.
//!
//! The odds are those of the prior times, for each attribute, how much its value changes them:
//! P(c | v) ∝ P(c) · Π P(c | vᵢ) / P(c). Of a discrete value P(c | v) is the smoothed share of positives, as
//! Orange's `NaiveBayesLearner` has it; of a continuous one it is a local regression of the class, as in Orange 2.

use serde::Deserialize;
use serde::Serialize;

use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::Kind;
use crate::loess;

/// Orange 2 fits with half of the examples and at this many places; more follow noise.
const SPAN: f64 = 0.5;
const PLACES_MAX: usize = 50;
/// Lines, not means, because means are flattened at both ends of the range, where the classes differ most.
const DEGREE: usize = 1;
/// Attributes that a loaded classifier may have.
const ATTRIBUTES_MAX: usize = 1000;
/// Values that a discrete attribute may have.
const VALUES_MAX: usize = 10_000;

/// How likely examples are positive, learned for each attribute by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NaiveBayes {
    /// The share of positives, smoothed.
    prior: f64,
    /// In the order of the attributes.
    effects: Vec<Effect>,
}

/// How an attribute changes the odds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Effect {
    /// Not at all.
    Nothing,
    /// The share of positives among examples with each value.
    Shares(Vec<f64>),
    /// The share of positives at ascending places; between them it runs straight, outside it stays.
    Curve { places: Vec<f64>, shares: Vec<f64> },
}

impl NaiveBayes {
    /// Learns from examples. Examples of one class alone teach nothing but the prior.
    pub fn learn(dataset: &Dataset) -> NaiveBayes {
        let (positives, all) = (dataset.positives(), dataset.examples.len());
        let prior = laplace(positives, all);
        // Orange gives a class without examples probability 0: too sure for data that may only be small.
        let is_mixed = 0 < positives && positives < all;
        let effects = dataset.attributes.iter().enumerate();
        let effects = effects.map(|(place, attribute)| match &attribute.kind {
            _ if !is_mixed => Effect::Nothing,
            Kind::Discrete(values) => count(dataset, place, values.len()),
            Kind::Continuous => regress(dataset, place),
        });
        NaiveBayes {
            prior,
            effects: effects.collect(),
        }
    }

    /// Whether this can be what was learned from examples with these attributes. A file may hold anything.
    pub fn check(&self, attributes: &[Attribute]) -> Result<(), String> {
        if self.effects.len() != attributes.len() || attributes.len() > ATTRIBUTES_MAX {
            let (found, expected) = (self.effects.len(), attributes.len());
            return Err(format!("{found} attributes instead of {expected}"));
        }
        if !is_share(self.prior) {
            return Err(format!("the prior {} is not between 0 and 1", self.prior));
        }
        for (effect, attribute) in self.effects.iter().zip(attributes) {
            check_effect(effect, &attribute.kind)
                .map_err(|error| format!("attribute {:?}: {error}", attribute.name))?;
        }
        Ok(())
    }
}

impl Classifier for NaiveBayes {
    fn probability(&self, values: &[f64]) -> f64 {
        let prior = logit(self.prior);
        let effects = self.effects.iter().zip(values);
        let shares = effects.filter_map(|(effect, &value)| effect.share(value));
        let change: f64 = shares.map(|share| logit(share) - prior).sum();
        1.0 / (1.0 + (-prior - change).exp())
    }
}

impl Effect {
    /// The share of positives at a value; nothing when the value says nothing.
    fn share(&self, value: f64) -> Option<f64> {
        match self {
            Effect::Nothing => None,
            Effect::Shares(shares) => shares.get(place_of(value)?).copied(),
            Effect::Curve { places, shares } => interpolate(places, shares, value),
        }
    }
}

/// The place in an attribute's list that a value names.
fn place_of(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0).then_some(value as usize)
}

/// Shares of positives by value, each as if one more example of either class had been seen.
fn count(dataset: &Dataset, place: usize, values: usize) -> Effect {
    let mut counts = vec![(0, 0); values];
    for example in &dataset.examples {
        let value = example.values.get(place).copied().and_then(place_of);
        if let Some((positives, all)) = value.and_then(|value| counts.get_mut(value)) {
            *positives += usize::from(example.is_positive);
            *all += 1;
        }
    }
    if counts.iter().filter(|(_, all)| *all > 0).count() < 2 {
        return Effect::Nothing;
    }
    let shares = counts
        .iter()
        .map(|&(positives, all)| laplace(positives, all));
    Effect::Shares(shares.collect())
}

/// The share of positives as a curve over the attribute's range.
fn regress(dataset: &Dataset, place: usize) -> Effect {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for example in &dataset.examples {
        if let Some(value) = example.values.get(place).filter(|value| value.is_finite()) {
            x.push(*value);
            y.push(f64::from(u8::from(example.is_positive)));
        }
    }
    let places = quantiles(&x);
    if places.len() < 2 {
        return Effect::Nothing;
    }
    let mut shares = loess::smooth(&x, &y, &places, SPAN, DEGREE);
    let supports = loess::support(&x, &places, SPAN);
    for (share, support) in shares.iter_mut().zip(supports) {
        // A line may leave 0..1. However steep, it says no more than as many examples of one discrete value:
        // the window of a lone value among many equal ones holds nothing but itself.
        let least = 1.0 / (support + 2.0);
        *share = share.clamp(least, 1.0 - least);
    }
    Effect::Curve { places, shares }
}

/// At most `PLACES_MAX` different values, ascending, so that as many examples lie between any two of them.
fn quantiles(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let steps = last.clamp(1, PLACES_MAX - 1);
    let places = (0..=steps).filter_map(|step| sorted.get(step * last / steps));
    let mut places: Vec<f64> = places.copied().collect();
    places.dedup();
    places
}

/// The curve's height at a value.
fn interpolate(places: &[f64], shares: &[f64], value: f64) -> Option<f64> {
    if value.is_nan() {
        return None;
    }
    let above = places.partition_point(|place| *place <= value);
    let (Some(left), Some(right)) = (above.checked_sub(1), places.get(above)) else {
        return shares.get(above.saturating_sub(1)).copied();
    };
    let (place, from, to) = (*places.get(left)?, *shares.get(left)?, *shares.get(above)?);
    // Halves, because the difference of two finite numbers may not be finite.
    let way = (value / 2.0 - place / 2.0) / (right / 2.0 - place / 2.0);
    // Subnormal places may be equal when halved.
    Some(if way.is_finite() {
        from + (to - from) * way.clamp(0.0, 1.0)
    } else {
        from
    })
}

/// The share of positives as if one more example of either class had been seen.
fn laplace(positives: usize, all: usize) -> f64 {
    (positives as f64 + 1.0) / (all as f64 + 2.0)
}

fn logit(share: f64) -> f64 {
    (share / (1.0 - share)).ln()
}

/// Whether it is a probability that leaves both classes possible, so that its odds are finite.
fn is_share(share: f64) -> bool {
    0.0 < share && share < 1.0
}

fn check_effect(effect: &Effect, kind: &Kind) -> Result<(), String> {
    let shares = match (effect, kind) {
        (Effect::Nothing, _) => return Ok(()),
        (Effect::Shares(shares), Kind::Discrete(values)) => {
            if shares.len() != values.len() || shares.len() > VALUES_MAX {
                return Err(format!(
                    "{} values instead of {}",
                    shares.len(),
                    values.len()
                ));
            }
            shares
        }
        (Effect::Curve { places, shares }, Kind::Continuous) => {
            if places.len() != shares.len() || !(2..=PLACES_MAX).contains(&places.len()) {
                return Err(format!(
                    "{} places with {} shares",
                    places.len(),
                    shares.len()
                ));
            }
            if !places.iter().all(|place| place.is_finite()) || !places.is_sorted_by(|a, b| a < b) {
                return Err("the places do not ascend".to_owned());
            }
            shares
        }
        _ => return Err("discrete and continuous are confused".to_owned()),
    };
    match shares.iter().find(|share| !is_share(**share)) {
        Some(share) => Err(format!("the share {share} is not between 0 and 1")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Example;

    fn dataset(kind: Kind, rows: &[(f64, bool)]) -> Dataset {
        Dataset {
            attributes: vec![Attribute {
                name: "a".to_owned(),
                kind,
            }],
            examples: rows
                .iter()
                .map(|&(value, is_positive)| Example {
                    values: vec![value],
                    is_positive,
                    group: None,
                })
                .collect(),
        }
    }

    fn coin() -> Kind {
        Kind::Discrete(vec!["heads".to_owned(), "tails".to_owned()])
    }

    #[track_caller]
    fn check(dataset: &Dataset, value: f64, expected: f64) {
        let found = NaiveBayes::learn(dataset).probability(&[value]);
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn discrete_values_count_with_one_more_of_either_class() {
        let rows = [(0.0, true), (0.0, true), (0.0, false), (1.0, false)];
        check(&dataset(coin(), &rows), 0.0, 3.0 / 5.0);
        check(&dataset(coin(), &rows), 1.0, 1.0 / 3.0);
        // A value that is not in the list says nothing.
        for value in [2.0, 0.5, -1.0, f64::NAN, f64::INFINITY] {
            check(&dataset(coin(), &rows), value, 3.0 / 6.0);
        }
    }

    #[test]
    fn one_class_or_nothing_teaches_the_prior() {
        check(&dataset(coin(), &[]), 0.0, 0.5);
        check(&dataset(coin(), &[(0.0, true), (1.0, true)]), 0.0, 0.75);
        check(
            &dataset(Kind::Continuous, &[(0.0, false), (1.0, false)]),
            0.0,
            0.25,
        );
    }

    #[test]
    fn a_single_value_says_nothing() {
        let rows = [(7.0, true), (7.0, false), (7.0, false)];
        check(&dataset(Kind::Continuous, &rows), 7.0, 2.0 / 5.0);
        check(&dataset(Kind::Continuous, &rows), 9.0, 2.0 / 5.0);
    }

    #[test]
    fn a_continuous_attribute_follows_the_classes() {
        let rows: Vec<(f64, bool)> = (0..200).map(|i| (f64::from(i), i >= 100)).collect();
        let bayes = NaiveBayes::learn(&dataset(Kind::Continuous, &rows));
        assert!(bayes.probability(&[-1e9]) < 0.02);
        assert!((bayes.probability(&[99.5]) - 0.5).abs() < 0.02);
        assert!(bayes.probability(&[1e9]) > 0.98);
        let grown: Vec<f64> = (0..200)
            .map(|i| bayes.probability(&[f64::from(i)]))
            .collect();
        assert!(grown.is_sorted_by(|a, b| *a <= b + 0.02));
    }

    #[test]
    fn a_lone_value_says_little() {
        let mut rows: Vec<(f64, bool)> = (0..100).map(|i| (0.0, i % 2 == 0)).collect();
        rows.push((5.0, true));
        check(&dataset(Kind::Continuous, &rows), 5.0, 2.0 / 3.0);
    }

    #[test]
    fn a_hostile_file_is_refused() {
        let continuous = dataset(Kind::Continuous, &[]).attributes;
        let discrete = dataset(coin(), &[]).attributes;
        let curve = |places: &[f64], shares: &[f64]| NaiveBayes {
            prior: 0.5,
            effects: vec![Effect::Curve {
                places: places.to_vec(),
                shares: shares.to_vec(),
            }],
        };
        assert_eq!(curve(&[0.0, 1.0], &[0.2, 0.8]).check(&continuous), Ok(()));
        for (places, shares) in [
            (&[1.0, 0.0][..], &[0.2, 0.8][..]),
            (&[0.0, 0.0], &[0.2, 0.8]),
            (&[0.0, f64::INFINITY], &[0.2, 0.8]),
            (&[f64::NAN, 1.0], &[0.2, 0.8]),
            (&[0.0, 1.0], &[0.2, 1.8]),
            (&[0.0, 1.0], &[0.2, f64::NAN]),
            (&[0.0, 1.0], &[0.2]),
            (&[0.0], &[0.2]),
        ] {
            assert!(curve(places, shares).check(&continuous).is_err());
        }
        assert!(curve(&[0.0, 1.0], &[0.2, 0.8]).check(&discrete).is_err());
        assert!(curve(&[0.0, 1.0], &[0.2, 0.8]).check(&[]).is_err());
        let lopsided = NaiveBayes {
            prior: f64::NAN,
            effects: Vec::new(),
        };
        assert!(lopsided.check(&[]).is_err());
    }
}
