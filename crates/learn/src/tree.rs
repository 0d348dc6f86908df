//! One decision tree that a person can read: ID3 (Quinlan 1986) where the cuts are given, and binary cuts of numbers by the same gain of
//! information (as in C4.5) where they are learned.

use serde::Deserialize;
use serde::Serialize;

use crate::data::Classifier;
use crate::data::Dataset;
use crate::data::rounded;
use crate::folds::Shuffler;

/// Where values may be cut.
#[derive(Debug, Clone, Copy)]
pub enum Cuts<'a> {
    /// The first values, each at one place.
    Given(&'a [f64]),
    /// All values, wherever the examples speak for it.
    Learned,
    /// The first so many values, wherever the examples speak for it.
    LearnedOfFirst(usize),
    /// Of a few values drawn by this seed for each question, the best, and be it by chance: one tree of a forest.
    Drawn(u64),
}

/// How large a tree may grow.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Questions one after the other.
    pub depth: usize,
    /// Examples of a leaf at least.
    pub leaf: usize,
}

/// A tree that was learned. The first node is the root.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    nodes: Vec<Node>,
}

/// A question, or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    /// Which value is asked for, and up to where the first of the two nodes that follow is next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<(usize, f64, usize)>,
    /// Negative and positive examples that came here.
    counts: [u32; 2],
}

/// Where a walk through a tree ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// Negative and positive examples that came here.
    pub counts: [u32; 2],
    /// What was asked on the way, and the answers.
    pub path: Vec<Step>,
}

/// One question on the way, and its answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The place of the value.
    pub value: usize,
    /// The cut.
    pub cut: f64,
    /// Whether the value lies above it.
    pub is_above: bool,
}

/// Nodes of a tree in a file: more were not learned.
const NODES_MAX: usize = 4096;
/// A split must be so unlikely to be chance: the 0.999 quantile of chi squared with one degree of freedom.
const SIGNIFICANCE: f64 = 10.83;

/// Bits that a split must save: less is rounding.
const GAIN_MIN: f64 = 1e-9;

impl Tree {
    /// Learns from examples.
    pub fn learn(dataset: &Dataset, cuts: Cuts<'_>, size: Size) -> Tree {
        Tree::learn_from(dataset, (0..dataset.examples.len()).collect(), cuts, size)
    }

    /// Learns from the examples at these places, some of which may be named more than once.
    pub(crate) fn learn_from(
        dataset: &Dataset,
        mut places: Vec<usize>,
        cuts: Cuts<'_>,
        size: Size,
    ) -> Tree {
        let mut tree = Tree { nodes: Vec::new() };
        tree.nodes.push(node(dataset, &places));
        let learner = Learner {
            dataset,
            cuts,
            size,
        };
        learner.grow(&mut tree, 0, &mut places, 0);
        tree
    }

    /// Where these values lead to.
    pub fn leaf(&self, values: &[f64]) -> Leaf {
        let mut path = Vec::new();
        let mut at = 0;
        while let Some(Node {
            ask: Some((value, cut, next)),
            ..
        }) = self.nodes.get(at).copied()
        {
            let is_above = values.get(value).is_some_and(|known| *known > cut);
            path.push(Step {
                value,
                cut,
                is_above,
            });
            at = next + usize::from(is_above);
        }
        Leaf {
            counts: self.nodes.get(at).map_or([0; 2], |node| node.counts),
            path,
        }
    }

    fn counts(&self, values: &[f64]) -> [u32; 2] {
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            let Some((value, cut, next)) = node.ask else {
                return node.counts;
            };
            at = next + usize::from(values.get(value).is_some_and(|known| *known > cut));
        }
        [0; 2]
    }

    /// All leaves, in the order of the tree.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.walk(0, &mut Vec::new(), &mut leaves);
        leaves
    }

    fn walk(&self, at: usize, path: &mut Vec<Step>, leaves: &mut Vec<Leaf>) {
        let Some(node) = self.nodes.get(at) else {
            return;
        };
        let Some((value, cut, next)) = node.ask else {
            leaves.push(Leaf {
                counts: node.counts,
                path: path.clone(),
            });
            return;
        };
        for is_above in [false, true] {
            path.push(Step {
                value,
                cut,
                is_above,
            });
            self.walk(next + usize::from(is_above), path, leaves);
            path.pop();
        }
    }

    /// Whether this can have been learned from examples with so many values. A file may hold anything.
    pub fn check(&self, values: usize) -> Result<(), String> {
        if self.nodes.is_empty() || self.nodes.len() > NODES_MAX {
            return Err("a decision tree has no nodes, or too many".to_owned());
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let Some((value, cut, next)) = node.ask else {
                continue;
            };
            // Each question leads on, so that every walk ends.
            let is_forward = next > at && next + 1 < self.nodes.len();
            if value >= values || !cut.is_finite() || !is_forward {
                return Err("a decision tree leads nowhere".to_owned());
            }
        }
        Ok(())
    }
}

impl Leaf {
    /// Share of positive examples, drawn towards one half where there are few.
    pub fn probability(&self) -> f64 {
        probability(self.counts)
    }
}

impl Classifier for Tree {
    fn probability(&self, values: &[f64]) -> f64 {
        probability(self.counts(values))
    }
}

fn probability([negative, positive]: [u32; 2]) -> f64 {
    (f64::from(positive) + 1.0) / (f64::from(negative) + f64::from(positive) + 2.0)
}

struct Learner<'a> {
    dataset: &'a Dataset,
    cuts: Cuts<'a>,
    size: Size,
}

/// A question, and what it gains.
#[derive(Clone, Copy)]
struct Question {
    value: usize,
    cut: f64,
    gain: f64,
}

impl Learner<'_> {
    fn grow(&self, tree: &mut Tree, at: usize, places: &mut [usize], depth: usize) {
        if depth == self.size.depth {
            return;
        }
        let Some(question) = self.best(places) else {
            return;
        };
        let is_below = |place: &usize| self.value(*place, question.value) <= question.cut;
        places.sort_by_key(|place| !is_below(place));
        let middle = places.iter().filter(|place| is_below(place)).count();
        let (below, above) = places.split_at_mut(middle);
        let next = tree.nodes.len();
        tree.nodes[at].ask = Some((question.value, question.cut, next));
        tree.nodes.push(node(self.dataset, below));
        tree.nodes.push(node(self.dataset, above));
        self.grow(tree, next, below, depth + 1);
        self.grow(tree, next + 1, above, depth + 1);
    }

    fn value(&self, place: usize, value: usize) -> f64 {
        self.dataset.examples[place].values[value]
    }

    /// The question that tells most, if it tells more than chance would.
    fn best(&self, places: &[usize]) -> Option<Question> {
        let found = match self.cuts {
            Cuts::Given(cuts) => {
                let cuts = cuts.iter().enumerate();
                let ask = |(value, cut): (usize, &f64)| self.ask(places, value, *cut);
                cuts.filter_map(ask)
                    .max_by(|a, b| a.gain.total_cmp(&b.gain))
            }
            Cuts::Learned => self.best_cut(places, 0..self.dataset.attributes.len()),
            Cuts::LearnedOfFirst(many) => self.best_cut(places, 0..many),
            Cuts::Drawn(seed) => return self.best_cut(places, self.draw(places, seed).into_iter()),
        }?;
        // Twice the gain in nats, times the examples, is chi squared where there is nothing to gain.
        let chance = 2.0 * std::f64::consts::LN_2 * found.gain * places.len() as f64;
        (chance > SIGNIFICANCE).then_some(found)
    }

    fn ask(&self, places: &[usize], value: usize, cut: f64) -> Option<Question> {
        let mut sides = [[0_u32; 2]; 2];
        for place in places {
            let is_above = self.value(*place, value) > cut;
            let is_positive = self.dataset.examples[*place].is_positive;
            sides[usize::from(is_above)][usize::from(is_positive)] += 1;
        }
        let gain = self.gain(sides)?;
        Some(Question { value, cut, gain })
    }

    /// Some values, others at every node: the square root of their number (Breiman 2001).
    fn draw(&self, places: &[usize], seed: u64) -> Vec<usize> {
        let many = self.dataset.attributes.len();
        let mut values: Vec<usize> = (0..many).collect();
        let node = places.iter().fold(seed, |mixed, place| {
            mixed.rotate_left(5) ^ (*place as u64).wrapping_mul(0x9e37_79b9)
        });
        Shuffler::new(node).shuffle(&mut values);
        values.truncate(many.isqrt().max(1));
        values
    }

    fn best_cut(&self, places: &[usize], values: impl Iterator<Item = usize>) -> Option<Question> {
        let mut best: Option<Question> = None;
        for value in values {
            let mut sorted: Vec<(f64, bool)> = places
                .iter()
                .map(|place| {
                    let is_positive = self.dataset.examples[*place].is_positive;
                    (self.value(*place, value), is_positive)
                })
                .collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut sides = [[0_u32; 2]; 2];
            for (_, is_positive) in &sorted {
                sides[1][usize::from(*is_positive)] += 1;
            }
            for pair in sorted.windows(2) {
                let class = usize::from(pair[0].1);
                sides[0][class] += 1;
                sides[1][class] -= 1;
                let least = best.map_or(GAIN_MIN, |best| best.gain);
                let is_better = |gain: &f64| *gain > least;
                if pair[0].0 < pair[1].0
                    && let Some(gain) = self.gain(sides).filter(is_better)
                {
                    let cut = rounded(f64::midpoint(pair[0].0, pair[1].0));
                    // Rounding must not move it past an example.
                    let cut = if cut < pair[1].0 && cut >= pair[0].0 {
                        cut
                    } else {
                        pair[0].0
                    };
                    best = Some(Question { value, cut, gain });
                }
            }
        }
        best
    }

    /// Bits that a split saves for each example. `None` where a side is too small.
    fn gain(&self, sides: [[u32; 2]; 2]) -> Option<f64> {
        let sums = sides.map(|side| side[0] + side[1]);
        if sums.iter().any(|sum| (*sum as usize) < self.size.leaf) {
            return None;
        }
        let all = f64::from(sums[0] + sums[1]);
        let before = entropy([sides[0][0] + sides[1][0], sides[0][1] + sides[1][1]]);
        let after: f64 = sides
            .iter()
            .zip(sums)
            .map(|(side, sum)| f64::from(sum) / all * entropy(*side))
            .sum();
        Some(before - after)
    }
}

fn node(dataset: &Dataset, places: &[usize]) -> Node {
    let mut counts = [0; 2];
    for place in places {
        counts[usize::from(dataset.examples[*place].is_positive)] += 1;
    }
    Node { ask: None, counts }
}

/// Bits that tell the class of one of these.
fn entropy(counts: [u32; 2]) -> f64 {
    let all = f64::from(counts[0] + counts[1]);
    let bits = |count: u32| match count {
        0 => 0.0,
        _ => -(f64::from(count) / all) * (f64::from(count) / all).log2(),
    };
    bits(counts[0]) + bits(counts[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Attribute;
    use crate::data::Example;
    use crate::data::Kind;

    /// Positive where the first value is above 3 and the second at most 0.5; the third says nothing.
    fn dataset() -> Dataset {
        let attribute = |name: &str| Attribute {
            name: name.to_owned(),
            kind: Kind::Continuous,
        };
        let examples = (0..1000).map(|number| {
            let values = [number % 10, number / 10 % 10, number * 7 % 13].map(f64::from);
            let values = vec![values[0], values[1] / 10.0, values[2]];
            Example {
                is_positive: values[0] > 3.0 && values[1] <= 0.5,
                values,
                group: None,
            }
        });
        Dataset {
            attributes: ["a", "b", "c"].map(attribute).to_vec(),
            examples: examples.collect(),
        }
    }

    const SIZE: Size = Size { depth: 5, leaf: 5 };

    #[test]
    fn cuts_are_found_where_they_are() {
        let tree = Tree::learn(&dataset(), Cuts::Learned, SIZE);
        let leaf = tree.leaf(&[7.0, 0.2, 1.0]);
        assert_eq!(leaf.counts, [0, 360]);
        let cuts: Vec<(usize, f64)> = leaf
            .path
            .iter()
            .map(|step| (step.value, step.cut))
            .collect();
        assert_eq!(cuts, [(0, 3.5), (1, 0.55)]);
        assert_eq!(tree.leaves().len(), 3);
        assert!(tree.probability(&[7.0, 0.2, 1.0]) > 0.99);
        assert!(tree.probability(&[1.0, 0.2, 1.0]) < 0.01);
        assert_eq!(tree.check(3), Ok(()));
        assert!(tree.check(1).is_err());
    }

    #[test]
    fn given_cuts_are_kept() {
        let tree = Tree::learn(&dataset(), Cuts::Given(&[3.0, 0.3]), SIZE);
        let cuts = tree.leaves();
        let cuts = cuts.iter().flat_map(|leaf| &leaf.path).map(|step| step.cut);
        assert!(cuts.into_iter().all(|cut| cut == 3.0 || cut == 0.3));
        assert!(tree.probability(&[7.0, 0.2]) > 0.99);
        assert!(
            (tree.probability(&[7.0, 0.4]) - 0.5).abs() > 0.1,
            "a third of those above"
        );
    }

    #[test]
    fn chance_splits_nothing() {
        let mut dataset = dataset();
        for (number, example) in dataset.examples.iter_mut().enumerate() {
            example.is_positive = number * 7919 % 100 < 50;
        }
        let tree = Tree::learn(&dataset, Cuts::LearnedOfFirst(2), SIZE);
        assert!(tree.leaves().len() <= 2, "{:?}", tree.leaves());
    }

    #[test]
    fn files_that_lead_in_circles_are_refused() {
        let text =
            r#"{"nodes":[{"ask":[0,1.0,0],"counts":[1,1]},{"counts":[1,0]},{"counts":[0,1]}]}"#;
        let tree: Tree = serde_json::from_str(text).unwrap();
        assert!(tree.check(1).is_err());
        let text = text.replace("1.0,0]", "1.0,1]");
        let tree: Tree = serde_json::from_str(&text).unwrap();
        assert_eq!(tree.check(1), Ok(()));
        assert_eq!(tree.leaf(&[2.0]).counts, [0, 1]);
    }
}
