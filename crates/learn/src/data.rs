//! What classifiers learn from: examples with values, of one of two classes.

use serde::Deserialize;
use serde::Serialize;

/// One column of the examples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
}

/// What an attribute's values are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// Numbers.
    Continuous,
    /// One of these: a value is a place in the list.
    Discrete(Vec<String>),
}

/// One example.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// A finite value for each attribute; of a discrete one the place in its list.
    pub values: Vec<f64>,
    /// Which of the two classes.
    pub is_positive: bool,
    /// Examples of one group are near copies of each other: none is tested by what was learned from another.
    pub group: Option<u32>,
}

/// Examples with the meaning of their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dataset {
    /// The columns.
    pub attributes: Vec<Attribute>,
    /// The rows.
    pub examples: Vec<Example>,
}

impl Dataset {
    /// The examples at these places.
    pub fn choose(&self, places: &[usize]) -> Dataset {
        Dataset {
            attributes: self.attributes.clone(),
            examples: places
                .iter()
                .filter_map(|at| self.examples.get(*at))
                .cloned()
                .collect(),
        }
    }

    /// The first attributes alone.
    pub fn first_attributes(&self, many: usize) -> Dataset {
        let short = |example: &Example| Example {
            values: example.values.iter().take(many).copied().collect(),
            is_positive: example.is_positive,
            group: example.group,
        };
        Dataset {
            attributes: self.attributes.iter().take(many).cloned().collect(),
            examples: self.examples.iter().map(short).collect(),
        }
    }

    /// Without one attribute: what it is worth shows by its absence.
    pub fn without(&self, attribute: usize) -> Dataset {
        let mut less = self.clone();
        if attribute < less.attributes.len() {
            less.attributes.remove(attribute);
            for example in &mut less.examples {
                example.values.remove(attribute);
            }
        }
        less
    }

    /// Examples of the positive class.
    pub fn positives(&self) -> usize {
        self.examples
            .iter()
            .filter(|example| example.is_positive)
            .count()
    }
}

/// Six digits of a number that was learned are enough, and keep the file short.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// What was learned from examples.
pub trait Classifier {
    /// How likely an example with these values is positive, from 0 to 1. Never NaN, whatever the values.
    fn probability(&self, values: &[f64]) -> f64;
}
