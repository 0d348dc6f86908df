//! Small decision trees, each of which mends what those before it got wrong: gradient boosting (Friedman 2001) with logistic loss,
//! leaves set by Newton's step as in XGBoost (Chen and Guestrin 2016).
//!
//! The paper does not have them. They see what the other three do not: two values that mean something only together.

use serde::Deserialize;
use serde::Serialize;

use crate::data::Attribute;
use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::rounded;

/// How many trees, and how many questions each asks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Trees at most: more learn the noise.
    pub trees: usize,
    /// Questions one after the other.
    pub depth: usize,
}

/// Three values together, for worlds in which each trait has a range: noise means something only beside depth and volume.
const SIZE: Size = Size {
    trees: 300,
    depth: 3,
};
/// Trees after which their sum is looked at.
const LOOK: usize = 100;
/// Log-odds from which it is small: one to two and a half.
const ODDS_SMALL: f64 = -1.0;
/// How much of a step each tree takes.
const RATE: f64 = 0.1;
/// Firmness of a leaf, in units of its examples' curvature: few examples move it little.
const FIRMNESS: f64 = 1.0;
/// Examples of a leaf at least.
const LEAF_MIN: usize = 20;
/// A file with larger steps was not made by learning.
const STEP_MAX: f64 = 100.0;

/// Trees whose answers add up to log-odds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Tree>", into = "Vec<Tree>")]
pub struct Trees {
    trees: Vec<Tree>,
    /// The same as they are walked through, where all of them have the usual depth.
    flat: Vec<Flat>,
}

impl From<Vec<Tree>> for Trees {
    fn from(trees: Vec<Tree>) -> Trees {
        let flat: Option<Vec<Flat>> = trees.iter().map(Flat::of).collect();
        Trees {
            flat: flat.unwrap_or_default(),
            trees,
        }
    }
}

impl From<Trees> for Vec<Tree> {
    fn from(trees: Trees) -> Vec<Tree> {
        trees.trees
    }
}

/// A tree of three questions one after the other, without anything that has to be followed or checked on the way: every judgement walks
/// through hundreds of them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Flat {
    attributes: [u16; 7],
    cuts: [f64; 7],
    steps: [f64; 8],
}

/// Values that a flat tree can ask for: a power of two, so that a place needs no check.
const FLAT_VALUES: usize = 64;

impl Flat {
    fn of(tree: &Tree) -> Option<Flat> {
        let splits: &[Option<Split>; 7] = tree.splits.as_slice().try_into().ok()?;
        let attribute = |split: &Option<Split>| split.map_or(0, |split| split.0);
        if splits.iter().any(|split| attribute(split) >= FLAT_VALUES) {
            return None;
        }
        Some(Flat {
            attributes: splits.each_ref().map(|split| attribute(split) as u16),
            // Where there is no question, all go to the left.
            cuts: splits.map(|split| split.map_or(f64::INFINITY, |split| split.1)),
            steps: tree.steps.as_slice().try_into().ok()?,
        })
    }

    fn step(&self, values: &[f64; FLAT_VALUES]) -> f64 {
        let mut at = 0;
        for _ in 0..3 {
            let value = values[usize::from(self.attributes[at]) % FLAT_VALUES];
            at = 2 * at + 1 + usize::from(value > self.cuts[at]);
        }
        self.steps[at - self.cuts.len()]
    }
}

/// Questions, one after the other, and answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    /// The first question, then the two that may follow it, and so on; none where there was nothing to gain.
    splits: Vec<Option<Split>>,
    steps: Vec<f64>,
}

/// An attribute, and the value up to which examples go to the left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Split(usize, f64);

impl Split {
    /// 0 for at most, 1 for above.
    fn side(self, values: &[f64]) -> usize {
        let value = values.get(self.0).copied().unwrap_or(0.0);
        usize::from(value > self.1)
    }
}

impl Tree {
    fn step(&self, values: &[f64]) -> f64 {
        let mut at = 0;
        while let Some(split) = self.splits.get(at) {
            at = 2 * at + 1 + split.map_or(0, |split| split.side(values));
        }
        let answer = at - self.splits.len();
        self.steps.get(answer).copied().unwrap_or(0.0)
    }
}

impl Classifier for Trees {
    fn probability(&self, values: &[f64]) -> f64 {
        self.walk(values, f64::NEG_INFINITY)
    }
}

impl Trees {
    /// The probability, or a small one where the first trees leave no doubt that it is small: the others only mend what these say.
    pub fn probability_unless_small(&self, values: &[f64]) -> f64 {
        self.walk(values, ODDS_SMALL)
    }

    /// Adds up the answers until their sum, looked at now and then, is below this one.
    fn walk(&self, values: &[f64], enough: f64) -> f64 {
        if self.flat.is_empty() || values.len() > FLAT_VALUES {
            return logistic(self.trees.iter().map(|tree| tree.step(values)).sum());
        }
        let mut padded = [0.0; FLAT_VALUES];
        padded[..values.len()].copy_from_slice(values);
        let mut odds = 0.0;
        for trees in self.flat.chunks(LOOK) {
            odds += trees.iter().map(|tree| tree.step(&padded)).sum::<f64>();
            if odds < enough {
                break;
            }
        }
        logistic(odds)
    }

    /// Learns from examples; both classes weigh alike.
    pub fn learn(dataset: &Dataset) -> Trees {
        Trees::grow(dataset, SIZE)
    }

    /// Learns trees of another size.
    pub fn grow(dataset: &Dataset, size: Size) -> Trees {
        let mut learner = Learner::new(dataset);
        let mut trees = Vec::new();
        while trees.len() < size.trees
            && let Some(tree) = learner.next(size.depth)
        {
            learner.walk(&tree);
            trees.push(tree);
        }
        Trees::from(trees)
    }

    /// Whether this can have been learned. A file may hold anything.
    pub fn check(&self, attributes: &[Attribute]) -> Result<(), String> {
        if self.trees.len() > SIZE.trees {
            return Err(format!("there are more than {}", SIZE.trees));
        }
        for tree in &self.trees {
            let answers = tree.steps.len();
            let is_whole = answers.is_power_of_two() && answers <= 1 << SIZE.depth;
            if !is_whole || tree.splits.len() + 1 != answers {
                return Err("a tree has too few or too many questions".to_owned());
            }
            for Split(attribute, cut) in tree.splits.iter().flatten() {
                if *attribute >= attributes.len() || !cut.is_finite() {
                    return Err("a cut is out of range".to_owned());
                }
            }
            let is_modest = |step: &f64| step.abs() <= STEP_MAX;
            if !tree.steps.iter().all(is_modest) {
                return Err("a step is out of range".to_owned());
            }
        }
        Ok(())
    }
}

fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

/// Slope and curvature of the loss over some examples, and how many they are.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    slope: f64,
    curve: f64,
    many: usize,
}

impl Sum {
    fn plus(self, other: Sum) -> Sum {
        Sum {
            slope: self.slope + other.slope,
            curve: self.curve + other.curve,
            many: self.many + other.many,
        }
    }

    fn minus(self, other: Sum) -> Sum {
        Sum {
            slope: self.slope - other.slope,
            curve: self.curve - other.curve,
            many: self.many - other.many,
        }
    }

    /// How much less the loss is after the best step.
    fn gain(self) -> f64 {
        self.slope * self.slope / (self.curve + FIRMNESS)
    }

    /// The step to take.
    fn step(self) -> f64 {
        rounded(-RATE * self.slope / (self.curve + FIRMNESS))
    }
}

/// Where learning stands.
struct Learner<'a> {
    dataset: &'a Dataset,
    /// Places of the examples, sorted by each attribute.
    orders: Vec<Vec<usize>>,
    /// Weight of a negative and of a positive example.
    weights: [f64; 2],
    /// Log-odds of each example so far.
    odds: Vec<f64>,
}

/// The best cut of some examples, and what is gained by it.
#[derive(Clone, Copy)]
struct Best {
    gain: f64,
    split: Split,
    left: Sum,
}

impl<'a> Learner<'a> {
    fn new(dataset: &'a Dataset) -> Learner<'a> {
        let all = dataset.examples.len();
        let positives = dataset.positives();
        let weight = |many: usize| all as f64 / 2.0 / many.max(1) as f64;
        let order = |attribute: usize| {
            let mut order: Vec<usize> = (0..all).collect();
            let value = |at: usize| dataset.examples[at].values[attribute];
            order.sort_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
            order
        };
        Learner {
            dataset,
            orders: (0..dataset.attributes.len()).map(order).collect(),
            weights: [weight(all - positives), weight(positives)],
            odds: vec![0.0; all],
        }
    }

    /// Slope and curvature at each example.
    fn slopes(&self) -> Vec<Sum> {
        let sum = |(example, odds): (&crate::data::Example, &f64)| {
            let weight = self.weights[usize::from(example.is_positive)];
            let likely = logistic(*odds);
            Sum {
                slope: weight * (likely - f64::from(u8::from(example.is_positive))),
                curve: weight * likely * (1.0 - likely),
                many: 1,
            }
        };
        let examples = self.dataset.examples.iter();
        examples.zip(&self.odds).map(sum).collect()
    }

    /// The tree that mends most.
    fn next(&self, depth: usize) -> Option<Tree> {
        let slopes = self.slopes();
        let mut sides = vec![0; slopes.len()];
        let mut wholes = vec![total(&slopes)];
        let mut splits: Vec<Option<Split>> = Vec::new();
        for _ in 0..depth {
            let best = self.cut(&slopes, &sides, &wholes);
            if splits.is_empty() {
                best[0]?;
            }
            for (side, example) in sides.iter_mut().zip(&self.dataset.examples) {
                let below = best[*side].map_or(0, |best| best.split.side(&example.values));
                *side = 2 * *side + below;
            }
            let halves = |(best, whole): (&Option<Best>, &Sum)| match best {
                Some(best) => [best.left, whole.minus(best.left)],
                None => [*whole; 2],
            };
            wholes = best.iter().zip(&wholes).flat_map(halves).collect();
            splits.extend(best.iter().map(|best| best.map(|best| best.split)));
        }
        Some(Tree {
            splits,
            steps: wholes.into_iter().map(Sum::step).collect(),
        })
    }

    /// The best cut of the examples of each side.
    fn cut(&self, slopes: &[Sum], sides: &[usize], wholes: &[Sum]) -> Vec<Option<Best>> {
        let mut best: Vec<Option<Best>> = vec![None; wholes.len()];
        for (attribute, order) in self.orders.iter().enumerate() {
            let mut lefts = vec![Sum::default(); wholes.len()];
            let mut lasts: Vec<Option<f64>> = vec![None; wholes.len()];
            for at in order {
                let side = sides[*at];
                let (left, whole) = (&mut lefts[side], wholes[side]);
                let value = self.dataset.examples[*at].values[attribute];
                let last = lasts[side].replace(value);
                if let Some(last) = last.filter(|last| *last < value) {
                    let right = whole.minus(*left);
                    let gain = left.gain() + right.gain() - whole.gain();
                    if left.many.min(right.many) >= LEAF_MIN
                        && gain > best[side].map_or(0.0, |best| best.gain)
                    {
                        let split = Split(attribute, cut_between(last, value));
                        best[side] = Some(Best {
                            gain,
                            split,
                            left: *left,
                        });
                    }
                }
                *left = left.plus(slopes[*at]);
            }
        }
        best
    }

    fn walk(&mut self, tree: &Tree) {
        for (odds, example) in self.odds.iter_mut().zip(&self.dataset.examples) {
            *odds += tree.step(&example.values);
        }
    }
}

fn total(slopes: &[Sum]) -> Sum {
    slopes.iter().fold(Sum::default(), |sum, at| sum.plus(*at))
}

/// Halfway between two values, in few digits where they leave room for it.
fn cut_between(low: f64, high: f64) -> f64 {
    let middle = low + (high - low) / 2.0;
    let short = rounded(middle);
    if low <= short && short < high {
        short
    } else if low <= middle && middle < high {
        middle
    } else {
        low
    }
}
