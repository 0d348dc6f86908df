//! Counts by a short hash: a list while few of them are in use, one for each hash beyond.
//!
//! A log of years has a site for every window in every table, and most of them see a handful of hosts and folders.

/// Counts up to which a list is searched: it fills a few lines of the processor's cache.
const FEW_MAX: usize = 24;

/// One count for each of `N` hashes.
#[derive(Debug, Clone)]
pub(super) enum Cells<T, const N: usize> {
    /// Those in use, with their hash.
    Few(Vec<(u16, T)>),
    /// All of them.
    All(Box<[T; N]>),
}

impl<T, const N: usize> Default for Cells<T, N> {
    fn default() -> Self {
        Cells::Few(Vec::new())
    }
}

impl<T: Copy + Default, const N: usize> Cells<T, N> {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Cells::Few(list) if list.is_empty())
    }

    /// The count of a hash.
    pub(super) fn get(&self, hash: usize) -> T {
        match self {
            Cells::Few(list) => find(list, hash).map_or_else(T::default, |at| list[at].1),
            Cells::All(counts) => counts[hash % N],
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, hash: usize) -> &mut T {
        if let Cells::Few(list) = self
            && list.len() >= FEW_MAX
            && find(list, hash).is_none()
        {
            self.widen();
        }
        match self {
            Cells::All(counts) => &mut counts[hash % N],
            Cells::Few(list) => {
                let at = find(list, hash).unwrap_or(list.len());
                if at == list.len() {
                    list.push((hash as u16, T::default()));
                }
                &mut list[at].1
            }
        }
    }

    #[cold]
    fn widen(&mut self) {
        let mut counts = Box::new([T::default(); N]);
        self.for_each(|hash, count| counts[hash] = *count);
        *self = Cells::All(counts);
    }

    /// Goes through the counts in use, in no order.
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize, &T)) {
        match self {
            Cells::Few(list) => list
                .iter()
                .for_each(|(hash, count)| visit(usize::from(*hash), count)),
            Cells::All(counts) => counts
                .iter()
                .enumerate()
                .for_each(|(hash, count)| visit(hash, count)),
        }
    }
}

fn find<T>(list: &[(u16, T)], hash: usize) -> Option<usize> {
    list.iter()
        .position(|(known, _)| usize::from(*known) == hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_count_alike() {
        let mut cells: Cells<u32, 256> = Cells::default();
        for number in 0..2000 {
            *cells.get_mut(number % 7) += 1;
        }
        assert!(matches!(cells, Cells::Few(_)));
        for number in 0..2000 {
            *cells.get_mut(number % 250) += 1;
        }
        assert!(matches!(cells, Cells::All(_)));
        assert_eq!(
            [cells.get(0), cells.get(249), cells.get(255)],
            [286 + 8, 8, 0]
        );
        let mut sum = 0;
        cells.for_each(|_, count| sum += count);
        assert_eq!(sum, 4000);
    }
}
