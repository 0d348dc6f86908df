//! What was learned of the paths of users: the rules of a paper, and a better one.
//!
//! The paper's rules look at the first values alone. One machine that knows only normal paths decides whether a path is normal; others
//! name the kind of an abnormal one. The better rule looks at all values and learns from both classes: the log-odds of a support
//! vector machine and of trees are added, because they err in different places.

use serde::Deserialize;
use serde::Serialize;

use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::Example;
use crate::data::Kind;
use crate::folds::balanced;
use crate::one_against_one::OneAgainstOne;
use crate::one_class::OneClass;
use crate::svm::Svm;
use crate::trees::Trees;

/// Kinds of abnormal paths.
pub const KINDS: usize = 3;

/// Values at most in a file.
const VALUES_MAX: usize = 200;
/// Examples for a machine at most, and how many times as many normal ones as others: the time grows with the square.
const EXAMPLES_MAX: usize = 8000;
const RATIO: usize = 3;
/// Examples for naming kinds at most: more make the file large, and name hardly better.
const KIND_EXAMPLES_MAX: usize = 900;
/// Examples that settings are tried on at most.
const SEARCH_MAX: usize = 1500;
/// Parts of the examples for that.
const FOLDS: usize = 5;
/// Probabilities are taken as no surer than this: neither judge overrules the other by a tiny chance.
const CHANCE_MIN: f64 = 1e-6;
/// The same examples give the same rules.
const SEED: u64 = 1;

/// One path with its truth.
#[derive(Debug, Clone, PartialEq)]
pub struct PathExample {
    /// The paper's values first.
    pub values: Vec<f64>,
    /// `None` if it is normal; else the kind, from 0.
    pub kind: Option<usize>,
    /// Whose path it is: paths of one group are not used to test each other.
    pub group: u32,
}

/// What was learned, with and without markers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathModel {
    /// What it was made from, in words.
    pub made_from: String,
    /// Abnormal and normal paths it learned from.
    pub examples: [u64; 2],
    /// Names of the values, in their order.
    pub values: Vec<String>,
    /// How many of them are the paper's: the first.
    pub paper_values: usize,
    /// Entries of a path.
    pub entries: usize,
    /// Seconds without an entry that end a short session.
    pub gap_seconds: u32,
    /// For paths whose parents come from markers.
    pub marked: PathRules,
    /// For paths whose parents come from referrers.
    pub referrers: PathRules,
}

impl PathModel {
    /// Whether this can be what was learned. A file may hold anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.values.len() > VALUES_MAX || self.paper_values > self.values.len() {
            return Err("a path has too many values".to_owned());
        }
        if !(2..=100_000).contains(&self.entries) || self.gap_seconds == 0 {
            return Err("the length of a path is out of range".to_owned());
        }
        self.marked.check(self)?;
        self.referrers.check(self)
    }
}

/// All rules for one kind of paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRules {
    /// The paper's: what is normal.
    pub normal: OneClass,
    /// The paper's: which kind an abnormal path is.
    pub paper_kinds: OneAgainstOne,
    /// All values: abnormal or normal.
    pub abnormal: Abnormal,
    /// All values: which kind an abnormal path is.
    pub kinds: OneAgainstOne,
}

impl PathRules {
    /// Learns all rules; the same examples give the same.
    pub fn learn(examples: &[PathExample], names: &[String], paper_values: usize) -> PathRules {
        let all = dataset(examples, names);
        let paper = all.first_attributes(paper_values);
        let few = balanced(&paper, 2 * SEARCH_MAX, 2, SEED);
        PathRules {
            normal: OneClass::search(&few, FOLDS, SEED).1,
            paper_kinds: learn_kinds(examples, &names[..paper_values]),
            abnormal: Abnormal::learn_from(&all),
            kinds: learn_kinds(examples, names),
        }
    }

    fn check(&self, model: &PathModel) -> Result<(), String> {
        let all = attributes(&model.values);
        let paper = &all[..model.paper_values];
        self.normal.check(paper.len())?;
        self.paper_kinds.check(KINDS, paper)?;
        self.abnormal.machine.check(&all)?;
        self.abnormal.trees.check(&all)?;
        self.kinds.check(KINDS, &all)
    }
}

/// A support vector machine and trees that tell abnormal paths from normal ones by all values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abnormal {
    machine: Svm,
    trees: Trees,
}

impl Abnormal {
    /// Learns from paths of both classes.
    pub fn learn(examples: &[PathExample], names: &[String]) -> Abnormal {
        Abnormal::learn_from(&dataset(examples, names))
    }

    /// The settings of the machine are chosen on a part of the examples.
    fn learn_from(all: &Dataset) -> Abnormal {
        let (settings, _) = Svm::search(&balanced(all, SEARCH_MAX, 2, SEED), FOLDS, SEED);
        Abnormal {
            machine: Svm::learn(&few(all), &settings),
            trees: Trees::learn(all),
        }
    }

    /// Log-odds that a path with these values is abnormal: the sum of those of the machine and of the trees.
    pub fn log_odds(&self, values: &[f64]) -> f64 {
        let odds = |probability: f64| {
            let sane = probability.clamp(CHANCE_MIN, 1.0 - CHANCE_MIN);
            (sane / (1.0 - sane)).ln()
        };
        odds(self.machine.probability(values)) + odds(self.trees.probability(values))
    }
}

/// As many normal examples to an abnormal one however many there are: else more examples would accuse more often.
fn few(all: &Dataset) -> Dataset {
    let abnormal_max = EXAMPLES_MAX / (1 + RATIO);
    let step = all.positives().div_ceil(abnormal_max).max(1);
    let mut abnormal = 0;
    let kept: Vec<usize> = (0..all.examples.len())
        .filter(|at| {
            let is_abnormal = all.examples[*at].is_positive;
            abnormal += usize::from(is_abnormal);
            !is_abnormal || abnormal % step == 0
        })
        .collect();
    balanced(&all.choose(&kept), EXAMPLES_MAX, RATIO, SEED)
}

fn learn_kinds(examples: &[PathExample], names: &[String]) -> OneAgainstOne {
    let is_abnormal = |example: &&PathExample| example.kind.is_some();
    let many = examples.iter().filter(is_abnormal).count();
    // Spread over all examples: those of one origin stand together.
    let step = many.div_ceil(KIND_EXAMPLES_MAX).max(1);
    let abnormal: Vec<&PathExample> = examples.iter().filter(is_abnormal).step_by(step).collect();
    let class_of: Vec<usize> = abnormal.iter().filter_map(|example| example.kind).collect();
    let dataset = dataset(abnormal, names).first_attributes(names.len());
    OneAgainstOne::search(&dataset, &class_of, KINDS, FOLDS, SEED)
}

fn attributes(names: &[String]) -> Vec<Attribute> {
    let attribute = |name: &String| Attribute {
        name: name.clone(),
        kind: Kind::Continuous,
    };
    names.iter().map(attribute).collect()
}

fn dataset<'a>(examples: impl IntoIterator<Item = &'a PathExample>, names: &[String]) -> Dataset {
    let example = |example: &PathExample| Example {
        values: example.values.clone(),
        is_positive: example.kind.is_some(),
        group: Some(example.group),
    };
    Dataset {
        attributes: attributes(names),
        examples: examples.into_iter().map(example).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal paths around 0; three kinds of others, each in another direction.
    fn examples() -> Vec<PathExample> {
        let place = |kind: Option<usize>| match kind {
            None => [0.0, 0.0, 0.0],
            Some(0) => [4.0, 0.0, 0.0],
            Some(1) => [0.0, 4.0, 0.0],
            Some(_) => [-4.0, -4.0, 4.0],
        };
        let example = |at: usize| {
            let kind = [None, None, None, Some(0), Some(1), Some(2)][at % 6];
            let shake = |step: usize| ((at * step) % 17) as f64 / 17.0;
            let [x, y, z] = place(kind);
            PathExample {
                values: vec![x + shake(5), y + shake(7), z + shake(11)],
                kind,
                group: at as u32,
            }
        };
        (0..240).map(example).collect()
    }

    #[test]
    fn both_rules_know_normal_paths_and_name_the_others() {
        let names: Vec<String> = ["x", "y", "z"].map(str::to_owned).to_vec();
        let rules = PathRules::learn(&examples(), &names, 2);
        assert!(rules.normal.decision(&[0.5, 0.5]) >= 0.0);
        assert!(rules.normal.decision(&[4.5, 0.5]) < 0.0);
        assert_eq!(rules.paper_kinds.class(&[0.5, 4.5]), 1);
        assert!(rules.abnormal.log_odds(&[0.5, 0.5, 0.5]) < 0.0);
        assert!(rules.abnormal.log_odds(&[-3.5, -3.5, 4.5]) > 0.0);
        assert_eq!(rules.kinds.class(&[-3.5, -3.5, 4.5]), 2);
        let model = PathModel {
            made_from: String::new(),
            examples: [120, 120],
            values: names,
            paper_values: 2,
            entries: 60,
            gap_seconds: 1800,
            marked: rules.clone(),
            referrers: rules,
        };
        assert_eq!(model.check(), Ok(()));
        let other = PathModel {
            paper_values: 3,
            ..model
        };
        assert!(other.check().is_err());
    }
}
