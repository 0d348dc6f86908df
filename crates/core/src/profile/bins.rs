//! Requests per half hour of one source in one window: a short list while few half hours are busy, then an array.

use smallvec::SmallVec;

/// Length of a bin.
pub const BIN_SECONDS: u32 = 1800;

/// A half-hour series of fixed length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bins {
    /// (bin, count) of the busy ones, in the order they were first seen.
    Sparse(SmallVec<[(u16, u16); 6]>),
    /// One byte a bin.
    Bytes(Box<[u8]>),
    /// Four bytes a bin.
    Words(Box<[u32]>),
}

/// Busy bins up to which the list is smaller than the array of bytes.
const SPARSE_MAX: usize = 48;

impl Default for Bins {
    fn default() -> Bins {
        Bins::Sparse(SmallVec::new())
    }
}

impl Bins {
    /// Counts one request in a bin of a window that has `length` bins.
    pub fn add(&mut self, bin: u16, length: usize) {
        let at = usize::from(bin);
        match self {
            Bins::Sparse(list) => match list.iter().rposition(|(known, _)| *known == bin) {
                Some(found) if list[found].1 < u16::MAX => list[found].1 += 1,
                None if list.len() < SPARSE_MAX => list.push((bin, 1)),
                _ => {
                    *self = self.widened(length);
                    self.add(bin, length);
                }
            },
            Bins::Bytes(counts) if counts[at] < u8::MAX => counts[at] += 1,
            Bins::Bytes(_) => {
                *self = Bins::Words(self.dense(length).into());
                self.add(bin, length);
            }
            Bins::Words(counts) => counts[at] = counts[at].saturating_add(1),
        }
    }

    /// Adds all requests of another series of the same length.
    pub fn absorb(&mut self, other: &Bins, length: usize) {
        if !matches!(self, Bins::Words(_)) {
            *self = Bins::Words(self.dense(length).into());
        }
        if let Bins::Words(counts) = self {
            other.for_each(|bin, count| {
                let mine = &mut counts[usize::from(bin)];
                *mine = mine.saturating_add(count);
            });
        }
    }

    /// The whole series.
    pub fn dense(&self, length: usize) -> Vec<u32> {
        match self {
            Bins::Sparse(list) => {
                let mut counts = vec![0; length];
                list.iter()
                    .for_each(|(bin, count)| counts[usize::from(*bin)] = u32::from(*count));
                counts
            }
            Bins::Bytes(counts) => counts.iter().map(|count| u32::from(*count)).collect(),
            Bins::Words(counts) => counts.to_vec(),
        }
    }

    /// How many bins are busy.
    pub fn busy(&self) -> u32 {
        let mut busy = 0;
        self.for_each(|_, _| busy += 1);
        busy
    }

    /// Goes through the busy bins.
    pub fn for_each(&self, mut visit: impl FnMut(u16, u32)) {
        match self {
            Bins::Sparse(list) => list
                .iter()
                .for_each(|(bin, count)| visit(*bin, u32::from(*count))),
            Bins::Bytes(counts) => (0..)
                .zip(counts.iter())
                .filter(|(_, count)| **count > 0)
                .for_each(|(bin, count)| visit(bin, u32::from(*count))),
            Bins::Words(counts) => (0..)
                .zip(counts.iter())
                .filter(|(_, count)| **count > 0)
                .for_each(|(bin, count)| visit(bin, *count)),
        }
    }

    /// How many days have at least a tenth of the requests of the busiest day.
    pub fn busy_days(&self) -> u32 {
        const DAY: usize = 86_400 / BIN_SECONDS as usize;
        // Most sources come in a single half hour, and every one is asked.
        if let Bins::Sparse(list) = self
            && list.len() <= 1
        {
            return list.len() as u32;
        }
        let mut days: SmallVec<[u32; 8]> = SmallVec::new();
        self.for_each(|bin, count| {
            let day = usize::from(bin) / DAY;
            days.resize(days.len().max(day + 1), 0);
            days[day] = days[day].saturating_add(count);
        });
        let busiest = days.iter().copied().max().unwrap_or(0);
        let is_busy = |count: &&u32| **count > 0 && **count >= busiest / 10;
        days.iter().filter(is_busy).count() as u32
    }

    fn widened(&self, length: usize) -> Bins {
        let counts = self.dense(length);
        match counts
            .iter()
            .map(|count| u8::try_from(*count))
            .collect::<Result<Box<[u8]>, _>>()
        {
            Ok(bytes) => Bins::Bytes(bytes),
            Err(_) => Bins::Words(counts.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_request_is_counted_in_its_bin(requests in prop::collection::vec(0_u16..240, 0..2000), heavy in 0_usize..70_000) {
            let mut bins = Bins::default();
            let mut expected = vec![0_u32; 240];
            for bin in requests.iter().copied().chain(std::iter::repeat_n(7, heavy)) {
                bins.add(bin, 240);
                expected[usize::from(bin)] += 1;
            }
            prop_assert_eq!(bins.dense(240), expected);
        }
    }
}
