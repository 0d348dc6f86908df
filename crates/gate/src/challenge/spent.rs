//! Which challenges were answered already.
//!
//! Invariant: no challenge is accepted twice, whatever the clock does and however many are answered. An entry leaves only
//! by raising the floor, and what expires at or below the floor is refused for good.

use std::collections::BTreeSet;

use super::answer::Refusal;

/// Answered challenges that have not expired, at most so many.
#[derive(Debug)]
pub(super) struct Spent {
    entries: BTreeSet<(u64, u128)>,
    entries_max: usize,
    floor_ms: u64,
}

impl Spent {
    pub(super) fn new(entries_max: usize) -> Spent {
        Spent {
            entries: BTreeSet::new(),
            entries_max: entries_max.max(1),
            floor_ms: 0,
        }
    }

    /// Takes note of an answer, unless it was given before or may have been.
    pub(super) fn spend(&mut self, id: u128, expires_ms: u64, now_ms: u64) -> Result<(), Refusal> {
        while let Some(&(first_ms, _)) = self.entries.first()
            && (first_ms <= now_ms || self.entries.len() >= self.entries_max)
        {
            self.entries.pop_first();
            self.floor_ms = self.floor_ms.max(first_ms);
        }
        if expires_ms <= self.floor_ms {
            return Err(Refusal::Expired);
        }
        match self.entries.insert((expires_ms, id)) {
            true => Ok(()),
            false => Err(Refusal::Spent),
        }
    }

    /// True where an answer was given before. Cheaper to ask than to check its work again.
    pub(super) fn has(&self, id: u128, expires_ms: u64) -> bool {
        self.entries.contains(&(expires_ms, id))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_full_set_shortens_the_window_instead_of_forgetting() {
        let mut spent = Spent::new(3);
        for id in 0..4 {
            spent.spend(id, 100 + id as u64, 0).unwrap();
        }
        assert_eq!(spent.len(), 3);
        assert_eq!(spent.spend(3, 103, 0), Err(Refusal::Spent));
        // It left the set, and its window with it.
        assert_eq!(spent.spend(0, 100, 0), Err(Refusal::Expired));
        // Another one of the same age may have been spent.
        assert_eq!(spent.spend(9, 100, 0), Err(Refusal::Expired));
        spent.spend(10, 200, 0).unwrap();
    }

    proptest! {
        #[test]
        fn h084_nothing_is_spent_twice_by_any_clock(
            max in 1_usize..6,
            steps in prop::collection::vec((0_u128..12, 0_u64..40), 1..80),
        ) {
            let (mut spent, mut accepted) = (Spent::new(max), HashSet::new());
            for (id, now_ms) in steps {
                // A challenge has one expiry, so it is part of its number here.
                if spent.spend(id, 5 + 3 * id as u64, now_ms).is_ok() {
                    prop_assert!(accepted.insert(id));
                }
                prop_assert!(spent.len() <= max);
            }
        }
    }
}
