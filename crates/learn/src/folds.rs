//! Cutting examples into parts for learning and for testing, and counting what came out.

use std::collections::BTreeMap;

use crate::data::Dataset;
use crate::data::Example;

/// A row of numbers from a seed, by splitmix64 (Steele, Lea and Flood 2014): enough to shuffle with.
#[derive(Debug, Clone)]
pub(crate) struct Shuffler(u64);

impl Shuffler {
    pub(crate) fn new(seed: u64) -> Shuffler {
        Shuffler(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn shuffle(&mut self, values: &mut [usize]) {
        for at in (1..values.len()).rev() {
            let other = ((u128::from(self.next()) * (at as u128 + 1)) >> 64) as usize;
            values.swap(at, other);
        }
    }
}

/// What is dealt out: its class, and its group if it has one.
pub(crate) type Card = (bool, Option<u32>);

fn cards(dataset: &Dataset) -> Vec<Card> {
    let card = |example: &Example| (example.is_positive, example.group);
    dataset.examples.iter().map(card).collect()
}

/// Places of the positive and of the negative ones, each shuffled.
pub(crate) fn shuffled(cards: &[Card], seed: u64) -> [Vec<usize>; 2] {
    let mut shuffler = Shuffler::new(seed);
    [true, false].map(|class| {
        let of_class = (0..cards.len()).filter(|at| cards[*at].0 == class);
        let mut places: Vec<usize> = of_class.collect();
        shuffler.shuffle(&mut places);
        places
    })
}

/// For each example the number of its part; each part has its share of both classes, and groups stay together.
pub fn parts(dataset: &Dataset, parts: usize, seed: u64) -> Vec<usize> {
    deal(&cards(dataset), parts, seed)
}

/// As [`parts`].
pub(crate) fn deal(cards: &[Card], parts: usize, seed: u64) -> Vec<usize> {
    let mut of = vec![0; cards.len()];
    for places in shuffled(cards, seed) {
        let mut part_of_group = BTreeMap::new();
        let mut turns = (0..parts.max(1)).cycle();
        for place in places {
            let mut next = || turns.next().unwrap_or(0);
            of[place] = match cards[place].1 {
                Some(group) => *part_of_group.entry(group).or_insert_with(next),
                None => next(),
            };
        }
    }
    of
}

/// Of neither class more than `ratio` times as many as of the other, and at most `most` in all, drawn by the seed.
pub fn balanced(dataset: &Dataset, most: usize, ratio: usize, seed: u64) -> Dataset {
    let classes = shuffled(&cards(dataset), seed);
    let fewer = classes.iter().map(Vec::len).min().unwrap_or(0);
    let fewer = fewer.min(most / 2);
    let more = (fewer * ratio).min(most - fewer);
    let mut places: Vec<usize> = classes
        .iter()
        .flat_map(|places| &places[..places.len().min(more)])
        .copied()
        .collect();
    places.sort_unstable();
    dataset.choose(&places)
}

/// How often each class was recognised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Positives that were called so.
    pub true_positives: u64,
    /// Positives that were not.
    pub false_negatives: u64,
    /// Negatives that were called so.
    pub true_negatives: u64,
    /// Negatives that were not.
    pub false_positives: u64,
}

impl Confusion {
    /// Counts one answer.
    pub fn add(&mut self, is_positive: bool, called_positive: bool) {
        let count = match (is_positive, called_positive) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
            (false, true) => &mut self.false_positives,
        };
        *count += 1;
    }

    /// Share of the positives that were recognised.
    pub fn positives(&self) -> Option<f64> {
        share(self.true_positives, self.false_negatives)
    }

    /// Share of the negatives that were recognised.
    pub fn negatives(&self) -> Option<f64> {
        share(self.true_negatives, self.false_positives)
    }

    /// Share of all that were recognised.
    pub fn all(&self) -> Option<f64> {
        let right = self.true_positives + self.true_negatives;
        share(right, self.false_negatives + self.false_positives)
    }
}

fn share(right: u64, wrong: u64) -> Option<f64> {
    (right + wrong > 0).then(|| right as f64 / (right + wrong) as f64)
}

/// The mean of some figures, and half of its 95 % interval; no interval for a single one.
pub fn mean_and_interval(figures: &[f64]) -> (f64, Option<f64>) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n.max(1.0);
    let squares = figures.iter().map(|figure| (figure - mean).powi(2));
    let variance = squares.sum::<f64>() / (n - 1.0);
    let half = (figures.len() > 1).then(|| 1.96 * (variance / n).sqrt());
    (mean, half)
}

/// How well a value alone tells the classes apart: the chance that it is higher for a positive than for a negative example,
/// or lower, whichever is larger. 0.5 says nothing, 1 everything.
pub fn overlap(values: impl Iterator<Item = (f64, bool)>) -> f64 {
    let mut sorted: Vec<(f64, bool)> = values.collect();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut positives, mut before) = (0.0, 0.0, 0.0);
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        let here = equal.iter().filter(|(_, is_positive)| *is_positive).count() as f64;
        ranks += here * (before + (equal.len() as f64 + 1.0) / 2.0);
        positives += here;
        before += equal.len() as f64;
    }
    let pairs = positives * (before - positives);
    if pairs == 0.0 {
        return 0.5;
    }
    let area = (ranks - positives * (positives + 1.0) / 2.0) / pairs;
    area.max(1.0 - area)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(positives: usize, negatives: usize) -> Dataset {
        let example = |at: usize| Example {
            values: vec![at as f64],
            is_positive: at < positives,
            group: None,
        };
        Dataset {
            attributes: Vec::new(),
            examples: (0..positives + negatives).map(example).collect(),
        }
    }

    #[test]
    fn each_part_has_its_share_of_both_classes() {
        let dataset = dataset(70, 13);
        let parts = parts(&dataset, 5, 1);
        for part in 0..5 {
            let here: Vec<bool> = parts
                .iter()
                .zip(&dataset.examples)
                .filter(|(of, _)| **of == part)
                .map(|(_, example)| example.is_positive)
                .collect();
            let positives = here.iter().filter(|is_positive| **is_positive).count();
            assert_eq!(positives, 14);
            assert!((2..=3).contains(&(here.len() - positives)));
        }
    }

    #[test]
    fn groups_stay_together() {
        let mut dataset = dataset(60, 40);
        for (at, example) in dataset.examples.iter_mut().enumerate() {
            example.group = (at % 3 == 0).then_some(at as u32 / 12);
        }
        let parts = parts(&dataset, 5, 1);
        for (example, part) in dataset.examples.iter().zip(&parts) {
            let same = |other: &&Example| {
                other.group == example.group && other.is_positive == example.is_positive
            };
            let group = dataset.examples.iter().zip(&parts);
            let mut group = group.filter(|(other, _)| example.group.is_some() && same(other));
            assert!(group.all(|(_, other)| other == part));
        }
    }

    #[test]
    fn a_balanced_part_has_as_many_of_each() {
        let counts = |dataset: Dataset| (dataset.positives(), dataset.examples.len());
        assert_eq!(counts(balanced(&dataset(70, 13), 1000, 1, 1)), (13, 26));
        assert_eq!(counts(balanced(&dataset(70, 13), 1000, 3, 1)), (39, 52));
        assert_eq!(counts(balanced(&dataset(70, 0), 1000, 3, 1)), (0, 0));
        assert_eq!(counts(balanced(&dataset(70, 70), 10, 3, 1)), (5, 10));
    }

    #[test]
    fn overlap_of_values_that_tell_all_or_nothing() {
        let pairs = |values: &[(f64, bool)]| overlap(values.iter().copied());
        assert_eq!(pairs(&[(1.0, false), (2.0, true), (3.0, true)]), 1.0);
        assert_eq!(pairs(&[(3.0, false), (2.0, true), (1.0, true)]), 1.0);
        assert_eq!(pairs(&[(1.0, false), (1.0, true)]), 0.5);
        assert_eq!(pairs(&[]), 0.5);
    }
}
