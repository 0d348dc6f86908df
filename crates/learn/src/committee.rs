//! Three classifiers that vote, and what their votes together are worth.

use serde::Deserialize;
use serde::Serialize;

use crate::bayes::NaiveBayes;
use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::folds::balanced;
use crate::folds::parts;
use crate::rules::RuleList;
use crate::rules::RuleSettings;
use crate::svm::Svm;

/// Examples to learn from, half of each class: rules and support vectors grow slow with more, and no better.
pub const EXAMPLES_MAX: usize = 3000;
/// Parts of the examples on which the worth of votes is measured.
const PARTS: usize = 5;
/// Log-odds of one classifier beyond this say the same: none is that sure of itself.
const LOGIT_MAX: f64 = 5.0;
/// The most that votes can be worth, in decibans. A hundred to one is as far as a simulated world carries.
pub const DECIBANS_MAX: f64 = 20.0;

/// What each classifier says: how likely the example is positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Votes {
    /// Naive Bayes.
    pub bayes: f64,
    /// The rules.
    pub rules: f64,
    /// The support vector machine.
    pub svm: f64,
}

impl Votes {
    /// The three in order.
    pub fn all(self) -> [f64; 3] {
        [self.bayes, self.rules, self.svm]
    }

    /// Votes for positive, of three.
    pub fn count(self) -> usize {
        self.all().iter().filter(|vote| **vote > 0.5).count()
    }

    /// What most say.
    pub fn majority(self) -> bool {
        self.count() >= 2
    }

    /// Mean of the log-odds.
    fn score(self) -> f64 {
        let logit = |vote: f64| (vote / (1.0 - vote)).ln().clamp(-LOGIT_MAX, LOGIT_MAX);
        self.all().map(logit).iter().sum::<f64>() / 3.0
    }
}

/// Three classifiers that learned from the same examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committee {
    /// What they look at.
    pub attributes: Vec<Attribute>,
    bayes: NaiveBayes,
    rules: RuleList,
    svm: Svm,
    worth: Worth,
}

/// Log-odds of a score: as measured on examples that the classifiers had not learned from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Worth {
    offset: f64,
    slope: f64,
}

impl Committee {
    /// Learns from examples, as many of each class, so that no class is the likelier one beforehand.
    pub fn learn(dataset: &Dataset, seed: u64) -> Committee {
        let dataset = balanced(dataset, EXAMPLES_MAX, seed);
        let (settings, svm) = Svm::search(&dataset, PARTS, seed);
        let mut unseen = Vec::new();
        let part_of = parts(&dataset, PARTS, seed ^ 1);
        for part in 0..PARTS {
            let (known, held): (Vec<usize>, Vec<usize>) =
                (0..dataset.examples.len()).partition(|at| part_of[*at] != part);
            let known = dataset.choose(&known);
            let svm = Svm::learn(&known, &settings);
            let part = Committee::of(
                &known,
                svm,
                Worth {
                    offset: 0.0,
                    slope: 1.0,
                },
            );
            for example in held.iter().map(|at| &dataset.examples[*at]) {
                unseen.push((part.votes(&example.values).score(), example.is_positive));
            }
        }
        Committee::of(&dataset, svm, Worth::fit(&unseen))
    }

    fn of(dataset: &Dataset, svm: Svm, worth: Worth) -> Committee {
        Committee {
            attributes: dataset.attributes.clone(),
            bayes: NaiveBayes::learn(dataset),
            rules: RuleList::learn(dataset, &RuleSettings::default()),
            svm,
            worth,
        }
    }

    /// What each says of an example.
    pub fn votes(&self, values: &[f64]) -> Votes {
        Votes {
            bayes: self.bayes.probability(values),
            rules: self.rules.probability(values),
            svm: self.svm.probability(values),
        }
    }

    /// What the votes are worth: above 0 for positive, ten make it ten times likelier.
    pub fn decibans(&self, votes: Votes) -> f64 {
        let odds = self.worth.offset + self.worth.slope * votes.score();
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
        let Worth { offset, slope } = self.worth;
        match offset.abs() <= 100.0 && (0.0..=100.0).contains(&slope) {
            true => Ok(()),
            false => Err("the worth of votes is out of range".to_owned()),
        }
    }
}

impl Worth {
    /// Logistic regression of the class over the score, by Newton's method. Every class has half an example of its own in
    /// each direction, so that perfect separation does not run away.
    fn fit(scores: &[(f64, bool)]) -> Worth {
        let mut worth = Worth {
            offset: 0.0,
            slope: 1.0,
        };
        let firm = [(1.0, true), (1.0, false), (-1.0, true), (-1.0, false)]
            .map(|(score, class)| (score, class, 0.5));
        let all = || {
            scores
                .iter()
                .map(|(score, class)| (*score, *class, 1.0))
                .chain(firm)
        };
        for _ in 0..50 {
            let (mut gradient, mut curve) = ([0.0; 2], [0.0; 3]);
            for (score, is_positive, weight) in all() {
                let likely = 1.0 / (1.0 + (-(worth.offset + worth.slope * score)).exp());
                let missing = weight * (f64::from(u8::from(is_positive)) - likely);
                let bend = weight * likely * (1.0 - likely);
                gradient[0] += missing;
                gradient[1] += missing * score;
                curve[0] += bend;
                curve[1] += bend * score;
                curve[2] += bend * score * score;
            }
            let determinant = curve[0] * curve[2] - curve[1] * curve[1];
            if determinant <= 1e-12 {
                break;
            }
            worth.offset += (curve[2] * gradient[0] - curve[1] * gradient[1]) / determinant;
            worth.slope += (curve[0] * gradient[1] - curve[1] * gradient[0]) / determinant;
        }
        // Votes never count against what they say.
        Worth {
            offset: rounded(worth.offset.clamp(-100.0, 100.0)),
            slope: rounded(worth.slope.clamp(0.0, 100.0)),
        }
    }
}

/// Six digits are enough, and keep the file short.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
