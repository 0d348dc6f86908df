//! How often texts came, in bounded memory.
//!
//! Every thread makes tallies of its own, which are added up from time to time. Texts are told apart by keyed hashes of 64 bits, as in
//! profiles, and stand one behind the other in one buffer: a text that was seen before is not looked at again.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::report::Row;
use crate::report::Top;
use crate::text::printable;

/// Texts of one tally: more than most sites have pages.
pub(super) const TEXTS_MAX: usize = 100_000;
/// Bytes of a text: what is longer is cut.
const TEXT_BYTES: usize = 300;

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
    requests: u64,
    bytes: u64,
}

impl Count {
    fn text<'a>(&self, texts: &'a [u8]) -> &'a [u8] {
        &texts[self.start..][..usize::from(self.length)]
    }
}

impl Tally {
    pub(super) fn add(&mut self, text: &[u8], bytes: u64) {
        let text = &text[..text.len().min(TEXT_BYTES)];
        self.requests += 1;
        let count = self.count(HASHER.hash_one(text), text);
        count.requests += 1;
        count.bytes += bytes;
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
                requests: 0,
                bytes: 0,
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

    /// Counts nothing any more, and keeps its room.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
        self.texts.clear();
        (self.requests, self.missed) = (0, 0);
    }

    /// Of more than twice as many texts as `most`, those that came least are forgotten.
    pub(super) fn bound(&mut self, most: usize) {
        if self.counts.len() > 2 * most {
            self.forget(most);
        }
    }

    /// Takes over the counts above a number.
    fn take(&mut self, other: &Tally, least: u64) {
        for count in other.counts.iter().filter(|count| count.requests > least) {
            let own = self.count(count.hash, count.text(&other.texts));
            own.requests += count.requests;
            own.bytes += count.bytes;
        }
    }

    /// Keeps those that came most. All that came equally often stay or go together, so that their order does not matter.
    fn forget(&mut self, most: usize) {
        let mut counts: Vec<u64> = self.counts.iter().map(|count| count.requests).collect();
        let place = counts.len() - most;
        let (_, least, _) = counts.select_nth_unstable(place);
        let mut kept = Tally {
            requests: self.requests,
            missed: self.missed + *least,
            ..Tally::default()
        };
        kept.take(self, *least);
        *self = kept;
    }

    /// How much too low a count may be.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// The texts that came most.
    pub(super) fn top(&self, rows: usize) -> Top {
        let mut all = self.sorted();
        all.truncate(rows);
        Top {
            rows: self.rows(all),
            requests: self.requests,
            missed: self.missed,
        }
    }

    /// All texts, those that came most first.
    pub(super) fn all(&self) -> Vec<Row> {
        self.rows(self.sorted())
    }

    fn sorted(&self) -> Vec<Count> {
        let mut all: Vec<Count> = self.counts.iter().copied().collect();
        let text = |count: &Count| count.text(&self.texts);
        all.sort_unstable_by(|a, b| (b.requests, text(a)).cmp(&(a.requests, text(b))));
        all
    }

    fn rows(&self, counts: Vec<Count>) -> Vec<Row> {
        let row = |count: Count| Row {
            text: printable(count.text(&self.texts)),
            requests: count.requests,
            bytes: count.bytes,
        };
        counts.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_texts_stay_and_what_was_missed_is_told() {
        let mut all = Tally::default();
        for block in 0..100_u32 {
            let mut part = Tally::default();
            for number in 0..50_u32 {
                part.add(format!("/rare/{block}/{number}").as_bytes(), 1);
            }
            for _ in 0..10 {
                part.add(b"/often", 2);
            }
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
