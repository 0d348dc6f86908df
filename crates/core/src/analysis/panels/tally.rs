//! How often texts came, in bounded memory.
//!
//! Every thread makes tallies of its own, which are added up from time to time. Texts are told apart by keyed hashes of 64 bits, as in
//! profiles, and stand one behind the other in one buffer: a text that was seen before is not looked at again.

use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::report::Row;
use crate::report::Top;
use crate::text::printable;

/// Texts of one tally: more than most sites have pages.
pub(super) const TEXTS_MAX: usize = 100_000;

/// One for all tallies, so that they know each other's hashes.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Counts of texts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: HashTable<Count>,
    /// All texts, one behind the other.
    texts: Vec<u8>,
    requests: u64,
    missed: u64,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    hash: u64,
    /// Where the text begins, and its length.
    start: usize,
    length: u16,
    sum: Sum,
}

/// Requests, and bytes of their answers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

impl Sum {
    /// Adds one request.
    #[inline]
    pub(super) fn see(&mut self, bytes: u64) {
        self.add(Sum { requests: 1, bytes });
    }

    pub(super) fn add(&mut self, other: Sum) {
        self.requests += other.requests;
        self.bytes += other.bytes;
    }
}

impl Count {
    fn text<'a>(&self, texts: &'a [u8]) -> &'a [u8] {
        &texts[self.start..][..usize::from(self.length)]
    }
}

impl Tally {
    /// Adds requests, unless there are none.
    pub(super) fn add(&mut self, text: &[u8], sum: Sum) {
        if sum.requests > 0 {
            self.requests += sum.requests;
            let count = self.count(HASHER.hash_one(text), text);
            count.sum.add(sum);
        }
    }

    /// Adds requests by the numbers of texts. Of more than twice as many as `most`, those that came least are forgotten before they are
    /// looked at.
    pub(super) fn add_numbered<'t>(
        &mut self,
        counted: impl Iterator<Item = (u32, Sum)>,
        text: impl Fn(u32) -> &'t [u8],
        most: usize,
    ) {
        let counted: Vec<(u32, Sum)> = counted.collect();
        let mut least = 0;
        if counted.len() > 2 * most {
            let counts = counted.iter().map(|(_, sum)| sum.requests).collect();
            least = bound_of(counts, most);
            self.missed += least;
        }
        for (number, sum) in counted {
            match sum.requests > least {
                true => self.add(text(number), sum),
                false => self.requests += sum.requests,
            }
        }
    }

    /// The count of a text, a new one if it was not seen before.
    fn count(&mut self, hash: u64, text: &[u8]) -> &mut Count {
        let is_same = |count: &Count| count.hash == hash;
        let entry = self.counts.entry(hash, is_same, |count| count.hash);
        let new = || {
            let start = self.texts.len();
            self.texts.extend_from_slice(text);
            Count {
                hash,
                start,
                length: text.len() as u16,
                sum: Sum::default(),
            }
        };
        entry.or_insert_with(new).into_mut()
    }

    /// Adds the counts of another.
    pub(super) fn absorb(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.missed += other.missed;
        self.take(other, 0);
    }

    /// Of more than twice as many texts as `most`, those that came least are forgotten.
    pub(super) fn bound(&mut self, most: usize) {
        if self.counts.len() > 2 * most {
            self.forget(most);
        }
    }

    /// Takes over the counts above a number.
    fn take(&mut self, other: &Tally, least: u64) {
        for count in other
            .counts
            .iter()
            .filter(|count| count.sum.requests > least)
        {
            let own = self.count(count.hash, count.text(&other.texts));
            own.sum.add(count.sum);
        }
    }

    /// Keeps those that came most. All that came equally often stay or go together, so that their order does not matter.
    fn forget(&mut self, most: usize) {
        let counts = self.counts.iter().map(|count| count.sum.requests);
        let least = bound_of(counts.collect(), most);
        let mut kept = Tally {
            requests: self.requests,
            missed: self.missed + least,
            ..Tally::default()
        };
        kept.take(self, least);
        *self = kept;
    }

    /// How much too low a count may be.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// The texts that came most.
    pub(super) fn top(&self, rows: usize) -> Top {
        let mut all: Vec<Count> = self.counts.iter().copied().collect();
        // The others are not put in order.
        if all.len() > rows {
            all.select_nth_unstable_by(rows, |a, b| self.order(a, b));
            all.truncate(rows);
        }
        Top {
            rows: self.sorted(all),
            requests: self.requests,
            missed: self.missed,
        }
    }

    /// All texts, those that came most first.
    pub(super) fn all(&self) -> Vec<Row> {
        self.sorted(self.counts.iter().copied().collect())
    }

    /// What came most is first.
    fn order(&self, a: &Count, b: &Count) -> Ordering {
        let requests = b.sum.requests.cmp(&a.sum.requests);
        requests.then_with(|| a.text(&self.texts).cmp(b.text(&self.texts)))
    }

    fn sorted(&self, mut counts: Vec<Count>) -> Vec<Row> {
        counts.sort_unstable_by(|a, b| self.order(a, b));
        let row = |count: Count| Row {
            text: printable(count.text(&self.texts)),
            requests: count.sum.requests,
            bytes: count.sum.bytes,
        };
        counts.into_iter().map(row).collect()
    }
}

/// The number that at most `most` of these are above.
fn bound_of(mut counts: Vec<u64>, most: usize) -> u64 {
    let place = counts.len() - most;
    let (_, least, _) = counts.select_nth_unstable(place);
    *least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_texts_stay_and_what_was_missed_is_told() {
        let mut all = Tally::default();
        for block in 0..100_u32 {
            let mut part = Tally::default();
            let mut see =
                |text: &str, requests| part.add(text.as_bytes(), Sum { requests, bytes: 1 });
            for number in 0..50_u32 {
                see(&format!("/rare/{block}/{number}"), 1);
            }
            see("/often", 10);
            see("/never", 0);
            all.absorb(&part);
            all.bound(100);
            assert!(all.counts.len() <= 200);
        }
        let top = all.top(1);
        assert_eq!(top.rows[0].text, "/often");
        assert_eq!(top.rows[0].requests, 1000);
        assert_eq!(top.requests, 6000);
        assert!(top.missed > 0 && top.missed < 100, "{}", top.missed);
    }
}
