//! Reads what the scripts in `tests/reference` recorded.

use cattlegrid_learn::data::Attribute;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::data::Kind;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Examples as the scripts write them.
#[derive(Deserialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// For each attribute the number of its values, or 0 when it is continuous.
    pub(crate) kinds: Vec<usize>,
    pub(crate) rows: Vec<Vec<f64>>,
    pub(crate) classes: Vec<u8>,
}

/// A table to learn from, rows to classify, and how likely the other program has them positive.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) table: Table,
    pub(crate) asked: Vec<Vec<f64>>,
    pub(crate) expected: Vec<f64>,
}

impl Table {
    pub(crate) fn dataset(&self) -> Dataset {
        let attributes = self.kinds.iter().enumerate().map(|(place, &values)| {
            let names = (0..values).map(|value| format!("v{value}")).collect();
            Attribute {
                name: format!("a{place}"),
                kind: if values == 0 {
                    Kind::Continuous
                } else {
                    Kind::Discrete(names)
                },
            }
        });
        let examples = self.rows.iter().zip(&self.classes);
        Dataset {
            attributes: attributes.collect(),
            examples: examples
                .map(|(row, &class)| Example {
                    values: row.clone(),
                    is_positive: class == 1,
                    group: None,
                })
                .collect(),
        }
    }
}

pub(crate) fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("the recorded file is valid")
}
