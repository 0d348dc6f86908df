//! Several classes by support vector machines, one for each pair, as LIBSVM does it: each votes, and the class with most votes wins.

use serde::Deserialize;
use serde::Serialize;

use crate::data::Attribute;
use crate::data::Dataset;
use crate::data::Example;
use crate::svm::Svm;

/// Classes that a file may have.
const CLASSES_MAX: usize = 16;

/// Machines for all pairs of classes: 0 and 1, 0 and 2, …, 1 and 2, …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneAgainstOne {
    classes: usize,
    machines: Vec<Svm>,
}

impl OneAgainstOne {
    /// Learns from examples with the class of each; what is positive among them does not matter.
    pub fn search(
        dataset: &Dataset,
        class_of: &[usize],
        classes: usize,
        folds: usize,
        seed: u64,
    ) -> OneAgainstOne {
        let machine = |(one, other): (usize, usize)| {
            let examples = dataset.examples.iter().zip(class_of);
            let of_pair = examples.filter(|(_, class)| **class == one || **class == other);
            let example = |(example, class): (&Example, &usize)| Example {
                is_positive: *class == one,
                ..example.clone()
            };
            let pair = Dataset {
                attributes: dataset.attributes.clone(),
                examples: of_pair.map(example).collect(),
            };
            Svm::search(&pair, folds, seed).1
        };
        OneAgainstOne {
            classes,
            machines: pairs(classes).map(machine).collect(),
        }
    }

    /// The class with most votes; of equals the first.
    pub fn class(&self, values: &[f64]) -> usize {
        let mut votes = vec![0_u32; self.classes];
        for ((one, other), machine) in pairs(self.classes).zip(&self.machines) {
            let winner = if machine.decision(values) > 0.0 {
                one
            } else {
                other
            };
            votes[winner] += 1;
        }
        let most = votes.iter().max().copied().unwrap_or(0);
        votes.iter().position(|many| *many == most).unwrap_or(0)
    }

    /// Whether this can be what was learned from examples with these attributes. A file may hold anything.
    pub fn check(&self, classes: usize, attributes: &[Attribute]) -> Result<(), String> {
        if self.classes != classes || classes > CLASSES_MAX {
            return Err(format!("{} classes instead of {classes}", self.classes));
        }
        if self.machines.len() != pairs(classes).count() {
            return Err("there is not one machine for each pair of classes".to_owned());
        }
        self.machines
            .iter()
            .try_for_each(|machine| machine.check(attributes))
    }
}

fn pairs(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).flat_map(move |one| (one + 1..classes).map(move |other| (one, other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Kind;

    #[test]
    fn each_class_is_named() {
        let centre = [(0.0, 0.0), (5.0, 0.0), (0.0, 5.0)];
        let class_of: Vec<usize> = (0..60).map(|at| at % 3).collect();
        let example = |(at, class): (usize, &usize)| Example {
            values: vec![
                centre[*class].0 + (at % 7) as f64 / 10.0,
                centre[*class].1 + (at % 5) as f64 / 10.0,
            ],
            is_positive: false,
            group: None,
        };
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            kind: Kind::Continuous,
        };
        let dataset = Dataset {
            attributes: vec![attribute("x"), attribute("y")],
            examples: class_of.iter().enumerate().map(example).collect(),
        };
        let learned = OneAgainstOne::search(&dataset, &class_of, 3, 3, 1);
        for (class, (x, y)) in centre.into_iter().enumerate() {
            assert_eq!(learned.class(&[x + 0.2, y + 0.2]), class);
        }
        assert_eq!(learned.check(3, &dataset.attributes), Ok(()));
        assert!(learned.check(4, &dataset.attributes).is_err());
    }
}
