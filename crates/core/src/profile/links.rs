//! Links between pages as hashes, and a sample of them: bounded, and the same in any order.

/// The hash of a link: the page with it, as a referrer tells that, and the page it leads to.
pub(super) fn link(from: u16, page: u32) -> u32 {
    let both = u64::from(from) << 32 | u64::from(page);
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// The `MOST` lowest hashes. Of two such samples, the hashes below the limits of both can be compared as if both were whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lowest<const MOST: usize> {
    sorted: Vec<u32>,
}

impl<const MOST: usize> Lowest<MOST> {
    /// Takes in a hash.
    #[inline]
    pub fn insert(&mut self, hash: u32) {
        if hash <= self.limit() {
            self.take(hash);
        }
    }

    fn take(&mut self, hash: u32) {
        if let Err(at) = self.sorted.binary_search(&hash) {
            self.sorted.truncate(MOST - 1);
            self.sorted.insert(at, hash);
        }
    }

    /// Takes in everything that another sample has.
    pub fn absorb(&mut self, other: &Self) {
        other.sorted.iter().for_each(|hash| self.insert(*hash));
    }

    /// Hashes above this are not in the sample, whether they were seen or not.
    pub fn limit(&self) -> u32 {
        match self.sorted.get(MOST - 1) {
            Some(highest) => *highest,
            None => u32::MAX,
        }
    }

    /// True for a hash in the sample.
    pub fn contains(&self, hash: u32) -> bool {
        self.sorted.binary_search(&hash).is_ok()
    }

    /// All hashes, the lowest first.
    pub fn hashes(&self) -> &[u32] {
        &self.sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_stay_in_any_order() {
        let hashes: Vec<u32> = (0..100).map(|page| link(7, page)).collect();
        let mut one = Lowest::<8>::default();
        hashes.iter().for_each(|hash| one.insert(*hash));
        let mut other = Lowest::<8>::default();
        hashes.iter().rev().for_each(|hash| other.insert(*hash));
        other.absorb(&one);
        assert_eq!(one, other);
        let mut sorted = hashes;
        sorted.sort_unstable();
        assert_eq!(one.hashes(), &sorted[..8]);
        assert_eq!(one.limit(), sorted[7]);
        assert!(one.contains(sorted[3]) && !one.contains(sorted[9]));
    }
}
