//! Examples by class, where to cut an attribute's values, and whether what is found can be chance.

use super::Test;

/// Examples by class.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) positives: usize,
    pub(super) negatives: usize,
}

impl Counts {
    pub(super) fn sum(self) -> usize {
        self.positives + self.negatives
    }

    pub(super) fn is_pure(self) -> bool {
        self.positives == 0 || self.negatives == 0
    }

    pub(super) fn add(&mut self, other: Counts) {
        self.positives += other.positives;
        self.negatives += other.negatives;
    }

    pub(super) fn without(self, other: Counts) -> Counts {
        Counts {
            positives: self.positives - other.positives,
            negatives: self.negatives - other.negatives,
        }
    }

    /// Bits needed to tell one example's class.
    pub(super) fn entropy(self) -> f64 {
        if self.is_pure() {
            return 0.0;
        }
        let sum = self.sum() as f64;
        let (positives, negatives) = (self.positives as f64 / sum, self.negatives as f64 / sum);
        -positives * positives.log2() - negatives * negatives.log2()
    }
}

/// Each value or any other, for those that occur.
pub(super) fn equalities(groups: &[(f64, Counts)], all: Counts) -> Vec<(Test, Counts)> {
    let places = || {
        groups
            .iter()
            .map(|(value, counts)| (*value as u32, *counts))
    };
    let equal = places().map(|(place, counts)| (Test::Is(place), counts));
    let others = places().map(|(place, counts)| (Test::IsNot(place), all.without(counts)));
    equal.chain(others).collect()
}

/// Up to and from each value at which the classes are best cut.
pub(super) fn bounds(groups: &[(f64, Counts)], all: Counts) -> Vec<(Test, Counts)> {
    // Of a single example Orange takes its value, of several with one value nothing.
    let cuts = if all.sum() == 1 {
        vec![0]
    } else {
        cuts(groups)
    };
    let mut found = Vec::with_capacity(2 * cuts.len());
    let mut below = Counts::default();
    let mut cuts = cuts.into_iter().peekable();
    for (place, (value, counts)) in groups.iter().enumerate() {
        if cuts.next_if_eq(&place).is_some() {
            let mut up_to = below;
            up_to.add(*counts);
            found.push((Test::AtMost(*value), up_to));
            found.push((Test::AtLeast(*value), all.without(below)));
        }
        below.add(*counts);
    }
    found
}

/// The places of the groups that begin a new interval: where the entropy falls by more than the description
/// of the cut costs (Fayyad and Irani 1993), and at least one.
fn cuts(groups: &[(f64, Counts)]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![(0, groups.len())];
    while let Some((start, end)) = open.pop() {
        let Some(cut) = best_cut(&groups[start..end]) else {
            continue;
        };
        let is_first = found.is_empty();
        if cut.is_worthwhile() {
            if !cut.left.is_pure() {
                open.push((start, start + cut.place));
            }
            if !cut.right.is_pure() {
                open.push((start + cut.place, end));
            }
        } else if !is_first {
            continue;
        }
        found.push(start + cut.place);
    }
    found.sort_unstable();
    found
}

struct Cut {
    place: usize,
    left: Counts,
    right: Counts,
    /// The entropy that is left.
    entropy: f64,
}

/// Where to cut so that the least entropy is left: the first of equals.
fn best_cut(groups: &[(f64, Counts)]) -> Option<Cut> {
    let mut all = Counts::default();
    groups.iter().for_each(|(_, counts)| all.add(*counts));
    let sum = all.sum() as f64;
    let mut left = Counts::default();
    let mut best: Option<Cut> = None;
    for (place, pair) in groups.windows(2).enumerate() {
        left.add(pair[0].1);
        let mut both = pair[0].1;
        both.add(pair[1].1);
        // The best cut never lies between two values of the same single class.
        if both.is_pure() && !all.is_pure() {
            continue;
        }
        let right = all.without(left);
        let part = |side: Counts| side.entropy() * side.sum() as f64 / sum;
        let entropy = part(left) + part(right);
        if best.as_ref().is_none_or(|best| entropy < best.entropy) {
            best = Some(Cut {
                place: place + 1,
                left,
                right,
                entropy,
            });
        }
    }
    best
}

impl Cut {
    /// Whether the entropy that the cut saves pays for its description.
    fn is_worthwhile(&self) -> bool {
        let classes = |counts: Counts| if counts.is_pure() { 1.0 } else { 2.0 };
        let mut all = self.left;
        all.add(self.right);
        let sum = all.sum() as f64;
        let gain = all.entropy() - self.entropy;
        let weighted = |counts: Counts| classes(counts) * counts.entropy();
        let saved = weighted(all) - weighted(self.left) - weighted(self.right);
        let delta = (3.0_f64.powf(classes(all)) - 2.0).log2() - saved;
        sum > 1.0 && gain > (sum - 1.0).log2() / sum + delta / sum
    }
}

/// Whether the classes differ from those of all examples by more than chance, by the likelihood ratio.
pub(super) fn is_significant(counts: Counts, all: Counts, alpha: f64) -> bool {
    if alpha >= 1.0 {
        return true;
    }
    // Orange's stand-in for none.
    let some = |count: usize| if count == 0 { 1e-5 } else { count as f64 };
    let observed = [some(counts.positives), some(counts.negatives)];
    let expected = [some(all.positives), some(all.negatives)];
    let scale = (observed[0] + observed[1]) / (expected[0] + expected[1]);
    let terms = observed.iter().zip(expected);
    let ratio: f64 = terms.map(|(o, e)| 2.0 * o * (o / (e * scale)).ln()).sum();
    ratio > 0.0 && complementary_error((ratio / 2.0).sqrt()) <= alpha
}

/// The share of a normal distribution beyond ±x·√2: how likely a chi-squared value with one degree of freedom
/// is above 2x².
fn complementary_error(x: f64) -> f64 {
    if x < 2.5 {
        // The series of the error function; its terms fall fast enough here.
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    // The continued fraction, from its far end.
    let tail = (1..60)
        .rev()
        .fold(x, |tail, n| x + f64::from(n) / 2.0 / tail);
    (-x * x).exp() / tail * std::f64::consts::FRAC_2_SQRT_PI / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complementary_error_is_that_of_r() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.4795001221869535),
            (1.0, 0.15729920705028513),
            (2.4, 0.000688513896573856),
            (2.6, 0.00023603441652934),
            (5.0, 1.537459794428035e-12),
        ] {
            let found = complementary_error(x);
            assert!((found / expected - 1.0_f64).abs() < 1e-9, "{x}: {found}");
        }
    }
}
