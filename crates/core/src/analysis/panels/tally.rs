//! How often texts came, in bounded memory.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::report::Row;
use crate::report::Top;
use crate::text::printable;

/// Texts of one tally: more than most sites have pages.
pub(super) const TEXTS_MAX: usize = 100_000;
/// Bytes of a text: what is longer is cut.
const TEXT_BYTES: usize = 300;

/// Counts of texts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: HashMap<Box<[u8]>, Count, RandomState>,
    requests: u64,
    missed: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    requests: u64,
    bytes: u64,
}

impl Tally {
    pub(super) fn add(&mut self, text: &[u8], bytes: u64) {
        let text = &text[..text.len().min(TEXT_BYTES)];
        self.requests += 1;
        // Known texts, most of them, are found without being copied.
        let count = match self.counts.get_mut(text) {
            Some(count) => count,
            None => self.counts.entry(text.into()).or_default(),
        };
        count.requests += 1;
        count.bytes += bytes;
    }

    /// Adds the counts of another; of more than `most` texts those that came least are forgotten.
    pub(super) fn absorb(&mut self, other: Tally, most: usize) {
        self.requests += other.requests;
        self.missed += other.missed;
        for (text, count) in other.counts {
            let own = self.counts.entry(text).or_default();
            own.requests += count.requests;
            own.bytes += count.bytes;
        }
        if self.counts.len() > 2 * most {
            self.forget(most);
        }
    }

    /// Keeps those that came most. All that came equally often stay or go together, so that the order of a table does not matter.
    fn forget(&mut self, most: usize) {
        let mut counts: Vec<u64> = self.counts.values().map(|count| count.requests).collect();
        let place = counts.len() - most;
        let (_, least, _) = counts.select_nth_unstable(place);
        let least = *least;
        self.counts.retain(|_, count| count.requests > least);
        self.missed += least;
    }

    /// How much too low a count may be.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }

    /// The texts that came most.
    pub(super) fn top(&self, rows: usize) -> Top {
        let mut all = self.all();
        all.truncate(rows);
        Top {
            rows: all,
            requests: self.requests,
            missed: self.missed,
        }
    }

    /// All texts, those that came most first.
    pub(super) fn all(&self) -> Vec<Row> {
        let mut rows: Vec<(&[u8], Count)> = self
            .counts
            .iter()
            .map(|(text, count)| (&**text, *count))
            .collect();
        rows.sort_unstable_by(|a, b| (b.1.requests, a.0).cmp(&(a.1.requests, b.0)));
        rows.into_iter()
            .map(|(text, count)| Row {
                text: printable(text),
                requests: count.requests,
                bytes: count.bytes,
            })
            .collect()
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
            all.absorb(part, 100);
            assert!(all.counts.len() <= 200);
        }
        let top = all.top(1);
        assert_eq!(top.rows[0].text, "/often");
        assert_eq!(top.rows[0].requests, 1000);
        assert_eq!(top.requests, 6000);
        assert!(top.missed > 0 && top.missed < 100, "{}", top.missed);
    }
}
