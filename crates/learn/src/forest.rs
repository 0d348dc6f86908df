//! Many decision trees, each of which learned from a part of the examples and asks for a few values at a time; the mean of their answers
//! counts (Breiman 2001). Few examples suffice, and no single value rules.

use serde::Deserialize;
use serde::Serialize;

use crate::data::Classifier;
use crate::data::Dataset;
use crate::folds::Shuffler;
use crate::tree::Cuts;
use crate::tree::Size;
use crate::tree::Tree;

/// How many trees, each of which size, from how many examples.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// Trees.
    pub trees: usize,
    /// The size of each.
    pub tree: Size,
    /// Examples that each learns from at most, as many of one class as of the other.
    pub examples: usize,
}

/// Trees whose answers are averaged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forest(Vec<Tree>);

/// Trees of a file: more were not learned.
const TREES_MAX: usize = 1000;

impl Forest {
    /// Learns from examples; the same seed gives the same forest.
    pub fn learn(dataset: &Dataset, growth: Growth, seed: u64) -> Forest {
        let classes = [false, true].map(|class| {
            let places = 0..dataset.examples.len();
            let of_class = places.filter(|at| dataset.examples[*at].is_positive == class);
            of_class.collect::<Vec<usize>>()
        });
        let tree = |number: usize| {
            let mut shuffler = Shuffler::new(seed.wrapping_add(number as u64 + 1));
            let mut places = Vec::new();
            for class in classes.iter().filter(|class| !class.is_empty()) {
                // Drawn with repetition, and as many of the rarer class as of the other.
                let more = classes.iter().map(Vec::len).max().unwrap_or(0);
                for _ in 0..more.min(growth.examples / 2) {
                    places.push(class[(shuffler.next() % class.len() as u64) as usize]);
                }
            }
            let cuts = Cuts::Drawn(shuffler.next());
            Tree::learn_from(dataset, places, cuts, growth.tree)
        };
        Forest((0..growth.trees).map(tree).collect())
    }

    /// Whether this can have been learned from examples with so many values. A file may hold anything.
    pub fn check(&self, values: usize) -> Result<(), String> {
        if self.0.is_empty() || self.0.len() > TREES_MAX {
            return Err("a forest has no trees, or too many".to_owned());
        }
        self.0.iter().try_for_each(|tree| tree.check(values))
    }
}

impl Classifier for Forest {
    fn probability(&self, values: &[f64]) -> f64 {
        let sum: f64 = self.0.iter().map(|tree| tree.probability(values)).sum();
        sum / self.0.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Attribute;
    use crate::data::Example;
    use crate::data::Kind;

    #[test]
    fn two_weak_values_make_a_strong_one_and_noise_does_not() {
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            kind: Kind::Continuous,
        };
        let mut random = Shuffler::new(7);
        let mut unit = || random.next() as f64 / u64::MAX as f64;
        let mut draw = |many: usize| -> Dataset {
            let examples = (0..many).map(|number| {
                let is_positive = number % 2 == 0;
                let shift = f64::from(u8::from(is_positive)) * 0.5;
                Example {
                    values: vec![unit() + shift, unit(), unit() + shift, unit()],
                    is_positive,
                    group: None,
                }
            });
            let attributes = ["a", "b", "c", "d"].map(attribute).to_vec();
            Dataset {
                examples: examples.collect(),
                attributes,
            }
        };
        let growth = Growth {
            trees: 100,
            tree: Size { depth: 8, leaf: 2 },
            examples: 1000,
        };
        let examples = draw(200);
        let forest = Forest::learn(&examples, growth, 1);
        assert_eq!(forest, Forest::learn(&examples, growth, 1));
        let test = draw(1000);
        let right = test
            .examples
            .iter()
            .filter(|example| (forest.probability(&example.values) > 0.5) == example.is_positive);
        // The best that can be is 0.875; one value alone gives 0.75.
        assert!(right.count() > 820);
        assert_eq!(forest.check(4), Ok(()));
        assert!(forest.check(3).is_err());
    }
}
