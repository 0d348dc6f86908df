//! A Bayesian network of one class and what depends on it (Stassopoulou and Dikaiakos 2009): each value in ranges, which are cut by
//! entropy, and how often each class lies in each.

use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::Example;
use crate::tree::Cuts;
use crate::tree::Size;
use crate::tree::Tree;

/// What was learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Network(Vec<Table>);

/// One value: its ranges, and the share of each class in them.
#[derive(Debug, Clone, PartialEq)]
struct Table {
    value: usize,
    /// Between the ranges, ascending.
    cuts: Vec<f64>,
    /// Negative and positive examples in each range, as shares of their class.
    shares: Vec<[f64; 2]>,
}

/// At most four ranges for each value.
const RANGES: Size = Size { depth: 2, leaf: 20 };

impl Network {
    /// Learns from the values at these places. Both classes are equally likely beforehand.
    pub fn learn(dataset: &Dataset, values: &[usize]) -> Network {
        Network(values.iter().map(|value| table(dataset, *value)).collect())
    }

    /// How likely each class lies in each range, one line each, with these names of values.
    pub fn describe(&self, names: &[&str]) -> Vec<String> {
        let mut lines = Vec::new();
        for table in &self.0 {
            let name = names.get(table.value).unwrap_or(&"?");
            for (at, [negative, positive]) in table.shares.iter().enumerate() {
                let low = at.checked_sub(1).and_then(|at| table.cuts.get(at));
                let range = match (low, table.cuts.get(at)) {
                    (None, None) => "any".to_owned(),
                    (None, Some(high)) => format!("up to {high:.3}"),
                    (Some(low), None) => format!("above {low:.3}"),
                    (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
                };
                lines.push(format!(
                    "{name:<20} {range:<22} {negative:>6.3} {positive:>6.3}"
                ));
            }
        }
        lines
    }
}

impl Classifier for Network {
    fn probability(&self, values: &[f64]) -> f64 {
        let odds: f64 = self.0.iter().map(|table| table.log_odds(values)).sum();
        1.0 / (1.0 + (-odds).exp())
    }
}

impl Table {
    fn log_odds(&self, values: &[f64]) -> f64 {
        let value = values.get(self.value).copied().unwrap_or(0.0);
        let range = self.cuts.iter().take_while(|cut| value > **cut).count();
        let [negative, positive] = self.shares[range];
        (positive / negative).ln()
    }
}

fn table(dataset: &Dataset, value: usize) -> Table {
    let alone = |example: &Example| Example {
        values: vec![example.values[value]],
        is_positive: example.is_positive,
        group: None,
    };
    let alone = Dataset {
        attributes: vec![dataset.attributes[value].clone()],
        examples: dataset.examples.iter().map(alone).collect(),
    };
    let tree = Tree::learn(&alone, Cuts::Learned, RANGES);
    let leaves = tree.leaves();
    let steps = leaves.iter().flat_map(|leaf| &leaf.path);
    let mut cuts: Vec<f64> = steps.map(|step| step.cut).collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    // One example more in each range: what was not seen is not impossible.
    let mut counts = vec![[1.0; 2]; cuts.len() + 1];
    for example in &alone.examples {
        let range = cuts
            .iter()
            .take_while(|cut| example.values[0] > **cut)
            .count();
        counts[range][usize::from(example.is_positive)] += 1.0;
    }
    let sum = |class: usize| counts.iter().map(|count| count[class]).sum::<f64>();
    let sums = [sum(0), sum(1)];
    let share = |count: &[f64; 2]| [count[0] / sums[0], count[1] / sums[1]];
    Table {
        value,
        shares: counts.iter().map(share).collect(),
        cuts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Attribute;
    use crate::data::Kind;

    #[test]
    fn ranges_and_shares_are_those_of_the_examples() {
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            kind: Kind::Continuous,
        };
        // Four of five positives have a first value above 4, one of five negatives; the second says nothing.
        let example = |number: u32| {
            let is_positive = number.is_multiple_of(2);
            let is_typical = !(number / 2).is_multiple_of(5);
            Example {
                values: vec![
                    if is_positive == is_typical { 6.0 } else { 2.0 },
                    f64::from(number * 7 % 11),
                ],
                is_positive,
                group: None,
            }
        };
        let dataset = Dataset {
            attributes: ["a", "b"].map(attribute).to_vec(),
            examples: (0..1000).map(example).collect(),
        };
        let network = Network::learn(&dataset, &[0, 1]);
        assert!((network.probability(&[6.0, 3.0]) - 0.8).abs() < 0.01);
        assert!((network.probability(&[2.0, 3.0]) - 0.2).abs() < 0.01);
        let lines = network.describe(&["a", "b"]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines[1].contains("above 4.000") && lines[2].contains("any"),
            "{lines:?}"
        );
    }
}
