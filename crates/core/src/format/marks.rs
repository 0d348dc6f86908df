//! A walk through a text from one quote or line end to the next.
//!
//! One look covers 64 bytes, and a line of a log has six quotes: a search for each would cost twice as much.

use wide::u8x16;

/// Bytes of one look.
const LOOK: usize = 64;

/// The quotes and line ends of a text from some place on.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Where the last look began.
    base: usize,
    /// The marks of that look that were not passed yet.
    bits: u64,
}

impl Marks {
    /// Goes on at `at`, wherever the walk was.
    pub(super) fn seek(&mut self, text: &[u8], at: usize) {
        self.base = at;
        self.bits = look(text, at);
    }

    /// The place of the next mark.
    #[inline(always)]
    pub(super) fn next(&mut self, text: &[u8]) -> Option<usize> {
        let at = self.first(text)?;
        self.bits &= self.bits - 1;
        Some(at)
    }

    /// The place of the first mark from `at` on, which stays to be passed. No place before `at` is asked for again.
    #[inline]
    pub(super) fn from(&mut self, text: &[u8], at: usize) -> Option<usize> {
        match at.wrapping_sub(self.base) {
            passed @ 0..LOOK => self.bits &= u64::MAX << passed,
            _ => self.seek(text, at),
        }
        self.first(text)
    }

    /// The place of the first mark that was not passed yet.
    #[inline(always)]
    fn first(&mut self, text: &[u8]) -> Option<usize> {
        while self.bits == 0 {
            self.base += LOOK;
            if self.base >= text.len() {
                return None;
            }
            self.bits = look(text, self.base);
        }
        Some(self.base + self.bits.trailing_zeros() as usize)
    }
}

/// The marks of the 64 bytes from `at` on, one bit each.
#[inline(always)]
fn look(text: &[u8], at: usize) -> u64 {
    match text.get(at..).and_then(|rest| rest.first_chunk::<LOOK>()) {
        Some(chunk) => look_at(chunk),
        None => look_at_end(text.get(at..).unwrap_or_default()),
    }
}

#[cold]
fn look_at_end(rest: &[u8]) -> u64 {
    let mut chunk = [0; LOOK];
    chunk[..rest.len()].copy_from_slice(rest);
    look_at(&chunk)
}

#[inline(always)]
fn look_at(chunk: &[u8; LOOK]) -> u64 {
    let (quote, newline) = (u8x16::splat(b'"'), u8x16::splat(b'\n'));
    let (sixteens, _) = chunk.as_chunks::<16>();
    sixteens.iter().rev().fold(0, |bits, bytes| {
        let bytes = u8x16::new(*bytes);
        let marks = bytes.simd_eq(quote) | bytes.simd_eq(newline);
        bits << 16 | u64::from(marks.to_bitmask())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_mark_is_met_once_from_anywhere(text in prop::collection::vec(prop::sample::select(b"\"\nab\xff\0".to_vec()), 0..300), from in 0_usize..300) {
            let mut marks = Marks::default();
            marks.seek(&text, from);
            let found: Vec<usize> = std::iter::from_fn(|| marks.next(&text)).collect();
            let expected: Vec<usize> = (from..text.len()).filter(|at| matches!(text[*at], b'"' | b'\n')).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn the_first_mark_from_a_place_on_is_found(text in prop::collection::vec(prop::sample::select(b"\"\nabcdef".to_vec()), 0..300), mut places in prop::collection::vec(0_usize..310, 0..20)) {
            places.sort_unstable();
            let mut marks = Marks::default();
            marks.seek(&text, 0);
            for at in places {
                let expected = (at..text.len()).find(|at| matches!(text[*at], b'"' | b'\n'));
                prop_assert_eq!(marks.from(&text, at), expected);
            }
        }
    }
}
