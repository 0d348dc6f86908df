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
    /// Examples of the positive class.
    pub fn positives(&self) -> usize {
        self.examples
            .iter()
            .filter(|example| example.is_positive)
            .count()
    }
}

/// What was learned from examples.
pub trait Classifier {
    /// How likely an example with these values is positive, from 0 to 1. Never NaN, whatever the values.
    fn probability(&self, values: &[f64]) -> f64;
}
