//! One threshold on one value: the one that tells two classes apart best.

/// On which side of the threshold the positive class lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Above it.
    Above,
    /// Below it.
    Below,
}

/// A threshold, and the mean of the shares of both classes that it recognises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// Halfway between two neighbouring values.
    pub at: f64,
    /// Balanced accuracy: 0.5 says nothing, 1 everything.
    pub accuracy: f64,
}

/// The threshold with the highest balanced accuracy, so that the larger class does not set it. Of equals, the one that calls the fewest
/// negatives positive. `None` where a class is missing.
pub fn best(values: impl Iterator<Item = (f64, bool)>, side: Side) -> Option<Threshold> {
    // Mirrored where the positives lie below: one case remains.
    let sign = match side {
        Side::Above => 1.0,
        Side::Below => -1.0,
    };
    let mut sorted: Vec<(f64, bool)> = values
        .map(|(value, is_positive)| (sign * value, is_positive))
        .filter(|(value, _)| value.is_finite())
        .collect();
    // The highest first: each step calls more of them positive.
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positives = sorted.iter().filter(|(_, positive)| *positive).count() as f64;
    let negatives = sorted.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let mut found = Threshold {
        at: sorted[0].0,
        accuracy: 0.5,
    };
    let (mut hits, mut wrong) = (0.0, 0.0);
    let groups: Vec<&[(f64, bool)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    for pair in groups.windows(2) {
        let here = pair[0].iter().filter(|(_, positive)| *positive).count();
        hits += here as f64;
        wrong += (pair[0].len() - here) as f64;
        let accuracy = (hits / positives + 1.0 - wrong / negatives) / 2.0;
        if accuracy > found.accuracy + 1e-12 {
            found = Threshold {
                at: (pair[0][0].0 + pair[1][0].0) / 2.0,
                accuracy,
            };
        }
    }
    found.at *= sign;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_lies_between_the_classes() {
        let values = [(0.1, false), (0.2, false), (0.6, true), (0.9, true)];
        let above = best(values.into_iter(), Side::Above).unwrap();
        assert_eq!((above.at, above.accuracy), (0.4, 1.0));
        let mirrored = values.map(|(value, positive)| (value, !positive));
        let below = best(mirrored.into_iter(), Side::Below).unwrap();
        assert_eq!((below.at, below.accuracy), (0.4, 1.0));
    }

    #[test]
    fn a_value_that_tells_nothing_accuses_nobody() {
        let same = [(0.5, false), (0.5, true)];
        let none = best(same.into_iter(), Side::Above).unwrap();
        assert_eq!((none.at, none.accuracy), (0.5, 0.5));
        assert_eq!(best([(1.0, true)].into_iter(), Side::Above), None);
    }
}
