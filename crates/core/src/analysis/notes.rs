//! Which lines show no page, noted when a log is read for the first time: who counts page views need not read those lines again.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use super::Block;

/// One bit for each line of a block, set where the line is a request that shows no page.
#[derive(Debug, Default)]
pub(super) struct Pageless(Vec<u64>);

impl Pageless {
    /// Notes the line of this number; all others show a page, or are no requests.
    #[inline]
    pub(super) fn note(&mut self, line: u64) {
        let word = (line / u64::from(u64::BITS)) as usize;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (line % u64::from(u64::BITS));
    }

    #[inline]
    pub(super) fn has(&self, line: u64) -> bool {
        let word = self.0.get((line / u64::from(u64::BITS)) as usize);
        word.is_some_and(|word| word >> (line % u64::from(u64::BITS)) & 1 == 1)
    }
}

/// What was noted of all blocks, by piece and in their order.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<u32, VecDeque<(usize, Pageless)>>);

impl Notes {
    pub(super) fn add(&mut self, block: &Block, noted: Pageless) {
        let blocks = self.0.entry(block.piece).or_default();
        blocks.push_back((block.length, noted));
    }

    /// What was noted of the next block of a piece. Where it is not as long as it was, the log is cut into other blocks than before, and
    /// nothing is known of the rest of the piece.
    pub(super) fn next(&mut self, block: &Block) -> Option<Pageless> {
        let blocks = self.0.get_mut(&block.piece)?;
        let (length, noted) = blocks.pop_front()?;
        if length != block.length {
            blocks.clear();
            return None;
        }
        Some(noted)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::format::Format;

    fn block(piece: u32, length: usize) -> Block {
        Block {
            piece,
            starts_file: false,
            format: Arc::new(Format::parse("combined").unwrap()),
            buffer: vec![b'\n'; length],
            length,
            long_lines: (0, Vec::new()),
        }
    }

    #[test]
    fn lines_are_noted_one_by_one() {
        let mut noted = Pageless::default();
        for line in [1, 63, 64, 200] {
            noted.note(line);
        }
        let found: Vec<u64> = (0..500).filter(|line| noted.has(*line)).collect();
        assert_eq!(found, [1, 63, 64, 200]);
    }

    #[test]
    fn other_blocks_than_before_end_what_is_known_of_a_piece() {
        let mut notes = Notes::default();
        for (piece, length) in [(0, 10), (0, 20), (0, 30), (1, 40)] {
            notes.add(&block(piece, length), Pageless::default());
        }
        assert!(notes.next(&block(0, 10)).is_some());
        assert!(notes.next(&block(0, 21)).is_none());
        assert!(notes.next(&block(0, 30)).is_none());
        assert!(notes.next(&block(1, 40)).is_some());
        assert!(notes.next(&block(1, 40)).is_none());
    }
}
