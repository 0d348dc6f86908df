//! Classifiers that vote: the paper's three, and trees beside them; and what their votes together are worth.

use serde::Deserialize;
use serde::Serialize;

use crate::bayes::NaiveBayes;
use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::rounded;
use crate::folds::balanced;
use crate::folds::parts;
use crate::novelty::Novelty;
use crate::rules::RuleList;
use crate::rules::RuleSettings;
use crate::svm::Svm;
use crate::trees::Trees;

/// Classifiers.
pub const MEMBERS: usize = 4;
/// An offset, and a value for each of them.
const VALUES: usize = 1 + MEMBERS;
/// What each is worth before anything is measured.
const EQUAL: f64 = 1.0 / MEMBERS as f64;
/// Examples to learn from.
pub const EXAMPLES_MAX: usize = 12_000;
/// Examples for support vectors and rules, which grow slow with more: their time grows with the square.
const SLOW_MAX: usize = 2500;
/// Examples of the larger class for each of the smaller: more show more ways to crawl, too many drown the people.
const RATIO_MAX: usize = 3;
/// Steps until the worth of votes is found, and how firmly it is held, in examples.
const NEWTON_STEPS: usize = 20;
const FIRMNESS: f64 = 2.0;
/// Parts of the examples on which the worth of votes is measured.
const PARTS: usize = 5;
/// Log-odds of one classifier beyond this say the same: none is that sure of itself.
const LOGIT_MAX: f64 = 5.0;
/// The most that votes can be worth, in decibans: twenty to one. Enough to decide alone, not enough to overrule strong evidence of
/// another kind: what was learned from simulated people has not met them all.
pub const DECIBANS_MAX: f64 = 13.0;
/// The most that votes can be worth about an example unlike any that was learned from: a hint, never a decision.
pub const UNLIKE_DECIBANS_MAX: f64 = 3.0;

/// What each classifier says: how likely the example is positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Votes {
    /// Naive Bayes.
    pub bayes: f64,
    /// The rules.
    pub rules: f64,
    /// The support vector machine.
    pub svm: f64,
    /// The trees, which the paper does not have.
    pub trees: f64,
}

impl Votes {
    /// All in order.
    pub fn all(self) -> [f64; MEMBERS] {
        [self.bayes, self.rules, self.svm, self.trees]
    }

    /// Votes for positive.
    pub fn count(self) -> usize {
        self.all().iter().filter(|vote| **vote > 0.5).count()
    }

    /// What most of the paper's three say.
    pub fn majority(self) -> bool {
        let three = [self.bayes, self.rules, self.svm];
        three.iter().filter(|vote| **vote > 0.5).count() >= 2
    }

    /// The log-odds of each.
    fn logits(self) -> [f64; MEMBERS] {
        let logit = |vote: f64| (vote / (1.0 - vote)).ln().clamp(-LOGIT_MAX, LOGIT_MAX);
        self.all().map(logit)
    }
}

/// Classifiers that learned from the same examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committee {
    /// What they look at.
    pub attributes: Vec<Attribute>,
    bayes: NaiveBayes,
    rules: RuleList,
    svm: Svm,
    trees: Trees,
    worth: Worth,
    novelty: Novelty,
}

/// What a committee says of an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// What each classifier says.
    pub votes: Votes,
    /// What that is worth: above 0 for positive, ten make it ten times likelier.
    pub decibans: f64,
    /// It is unlike anything that was learned from.
    pub is_unlike: bool,
}

/// Log-odds of the votes together: as measured on examples that the classifiers had not learned from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Worth {
    offset: f64,
    slopes: [f64; MEMBERS],
}

impl Committee {
    /// Learns from examples, of neither class many more than of the other.
    pub fn learn(dataset: &Dataset, seed: u64) -> Committee {
        let dataset = balanced(dataset, EXAMPLES_MAX, RATIO_MAX, seed);
        let slow = balanced(&dataset, SLOW_MAX, RATIO_MAX, seed);
        let (settings, svm) = Svm::search(&slow, PARTS, seed);
        let mut unseen = Vec::new();
        let part_of = parts(&dataset, PARTS, seed ^ 1);
        for part in 0..PARTS {
            let (known, held): (Vec<usize>, Vec<usize>) =
                (0..dataset.examples.len()).partition(|at| part_of[*at] != part);
            let known = dataset.choose(&known);
            let slow = balanced(&known, SLOW_MAX, RATIO_MAX, seed);
            let svm = Svm::learn(&slow, &settings);
            let part = Committee::of(&known, &slow, svm, Worth::default());
            for example in held.iter().map(|at| &dataset.examples[*at]) {
                unseen.push((part.votes(&example.values), example.is_positive));
            }
        }
        Committee {
            novelty: Novelty::learn(&dataset, seed),
            ..Committee::of(&dataset, &slow, svm, Worth::fit(&unseen))
        }
    }

    fn of(dataset: &Dataset, slow: &Dataset, svm: Svm, worth: Worth) -> Committee {
        Committee {
            attributes: dataset.attributes.clone(),
            bayes: NaiveBayes::learn(dataset),
            rules: RuleList::learn(slow, &RuleSettings::default()),
            svm,
            trees: Trees::learn(dataset),
            worth,
            novelty: Novelty::default(),
        }
    }

    /// What all together say of an example. Far from what was learned it is worth little.
    pub fn judge(&self, values: &[f64]) -> Judgement {
        let votes = self.votes(values);
        let is_unlike = self.novelty.is_unlike(values);
        let most = match is_unlike {
            true => UNLIKE_DECIBANS_MAX,
            false => DECIBANS_MAX,
        };
        Judgement {
            votes,
            decibans: self.decibans(votes).clamp(-most, most),
            is_unlike,
        }
    }

    /// What each says of an example.
    pub fn votes(&self, values: &[f64]) -> Votes {
        Votes {
            bayes: self.bayes.probability(values),
            rules: self.rules.probability(values),
            svm: self.svm.probability(values),
            trees: self.trees.probability(values),
        }
    }

    /// What the votes are worth: above 0 for positive, ten make it ten times likelier.
    pub fn decibans(&self, votes: Votes) -> f64 {
        let Worth { offset, slopes } = self.worth;
        let parts = slopes.iter().zip(votes.logits());
        let odds = offset + parts.map(|(slope, logit)| slope * logit).sum::<f64>();
        (odds * 10.0 / std::f64::consts::LN_10).clamp(-DECIBANS_MAX, DECIBANS_MAX)
    }

    /// The rules as text.
    pub fn describe_rules(&self) -> Vec<String> {
        self.rules.describe(&self.attributes)
    }

    /// Whether this can have been learned. A file may hold anything.
    pub fn check(&self, attributes: &[Attribute]) -> Result<(), String> {
        if self.attributes != attributes {
            return Err("it looks at other values than this program computes".to_owned());
        }
        let of = |part: &str, result: Result<(), String>| {
            result.map_err(|error| format!("{part}: {error}"))
        };
        of("naive Bayes", self.bayes.check(attributes))?;
        of("rules", self.rules.check(attributes))?;
        of("support vector machine", self.svm.check(attributes))?;
        of("trees", self.trees.check(attributes))?;
        of("novelty", self.novelty.check(attributes))?;
        let Worth { offset, slopes } = self.worth;
        let is_modest = |slope: &f64| (0.0..=10.0).contains(slope);
        match offset.abs() <= 10.0 && slopes.iter().all(is_modest) {
            true => Ok(()),
            false => Err("the worth of votes is out of range".to_owned()),
        }
    }
}

impl Worth {
    /// Logistic regression of the class over the log-odds of all, by Newton's method. Both classes weigh alike, so that what
    /// comes out is what the votes are worth, not how common a class was.
    fn fit(unseen: &[(Votes, bool)]) -> Worth {
        let positives = unseen.iter().filter(|(_, class)| *class).count() as f64;
        let negatives = unseen.len() as f64 - positives;
        let mut at = [EQUAL; VALUES];
        at[0] = 0.0;
        for _ in 0..NEWTON_STEPS {
            let mut gradient = [0.0; VALUES];
            let mut curve = [[0.0; VALUES]; VALUES];
            for (value, start) in at.into_iter().enumerate() {
                // Held to where it began by a few examples' worth, so that perfect separation does not run away.
                let begin = if value == 0 { 0.0 } else { EQUAL };
                gradient[value] -= FIRMNESS * (start - begin);
                curve[value][value] += FIRMNESS;
            }
            for (votes, class) in unseen {
                let weight = unseen.len() as f64 / 2.0 / if *class { positives } else { negatives };
                let mut values = [1.0; VALUES];
                values[1..].copy_from_slice(&votes.logits());
                let odds: f64 = at.iter().zip(values).map(|(at, value)| at * value).sum();
                let likely = 1.0 / (1.0 + (-odds).exp());
                let missing = weight * (f64::from(u8::from(*class)) - likely);
                let bend = weight * likely * (1.0 - likely);
                for row in 0..VALUES {
                    gradient[row] += missing * values[row];
                    for column in 0..VALUES {
                        curve[row][column] += bend * values[row] * values[column];
                    }
                }
            }
            let step = solve(curve, gradient);
            at.iter_mut().zip(step).for_each(|(at, step)| *at += step);
        }
        // A vote never counts against what it says.
        let slope = |at: f64| rounded(at.clamp(0.0, 10.0));
        Worth {
            offset: rounded(at[0].clamp(-10.0, 10.0)),
            slopes: std::array::from_fn(|member| slope(at[member + 1])),
        }
    }
}

/// Solves equations whose table is symmetric and positive, by elimination.
fn solve(mut table: [[f64; VALUES]; VALUES], mut right: [f64; VALUES]) -> [f64; VALUES] {
    for row in 0..VALUES {
        for below in row + 1..VALUES {
            let share = table[below][row] / table[row][row];
            let above = table[row];
            for (value, above) in table[below].iter_mut().zip(above) {
                *value -= share * above;
            }
            right[below] -= share * right[row];
        }
    }
    for row in (0..VALUES).rev() {
        let known: f64 = (row + 1..VALUES)
            .map(|column| table[row][column] * right[column])
            .sum();
        right[row] = (right[row] - known) / table[row][row];
    }
    right
}
