//! A stream of bytes cut into blocks of whole lines.

use std::io;
use std::io::Read;

use crate::open::fill;

/// Size of a block, and so the most that is kept of a line without end.
pub const BLOCK_BYTES: usize = 1 << 20;

/// Bytes of a line without end that are kept as an example.
const EXAMPLE_BYTES: usize = 300;

/// Cuts a reader into blocks.
pub(crate) struct Blocks<R> {
    pub(crate) reader: R,
    /// The beginning of a line whose end is in the next block.
    carry: Vec<u8>,
    /// True inside a line that does not fit a block: the rest of it is passed over.
    inside_long_line: bool,
    /// True for a file that may still grow: its last line counts once it is complete.
    grows: bool,
    ended: bool,
}

/// Lines that did not fit a block: how many, and the beginning of the first.
pub(crate) type LongLines = (u64, Vec<u8>);

impl<R: Read> Blocks<R> {
    pub(crate) fn new(reader: R) -> Blocks<R> {
        Blocks {
            reader,
            carry: Vec::new(),
            inside_long_line: false,
            grows: false,
            ended: false,
        }
    }

    /// Blocks of a file that may still grow: after its end there may be more.
    pub(crate) fn growing(reader: R) -> Blocks<R> {
        Blocks {
            grows: true,
            ..Blocks::new(reader)
        }
    }

    /// No more will come: a line without a newline at the end counts now.
    pub(crate) fn close(&mut self) {
        self.grows = false;
    }

    /// Fills `buffer` with whole lines and says how many bytes they have. `None` at the end of the input. With an error
    /// come the lines before it.
    pub(crate) fn next(
        &mut self,
        buffer: &mut Vec<u8>,
    ) -> (Option<(usize, LongLines)>, Option<io::Error>) {
        buffer.resize(BLOCK_BYTES, 0);
        let mut long_lines = (0, Vec::new());
        while !self.ended {
            let carried = self.carry.len();
            buffer[..carried].copy_from_slice(&self.carry);
            self.carry.clear();
            let (read, error) = fill(&mut self.reader, &mut buffer[carried..]);
            let mut length = carried + read;
            let at_end = length < BLOCK_BYTES || error.is_some();
            self.ended = at_end && !self.grows;
            if self.inside_long_line {
                length = self.pass_over(&mut buffer[..length]);
            } else if length == BLOCK_BYTES && memchr::memchr(b'\n', buffer).is_none() {
                self.inside_long_line = true;
                long_lines.0 += 1;
                if long_lines.1.is_empty() {
                    long_lines.1.extend_from_slice(&buffer[..EXAMPLE_BYTES]);
                }
                length = 0;
            }
            if !self.ended {
                let whole = memchr::memrchr(b'\n', &buffer[..length]).map_or(0, |at| at + 1);
                self.carry.extend_from_slice(&buffer[whole..length]);
                length = whole;
            }
            if length > 0 || at_end {
                let is_any = length > 0 || long_lines.0 > 0;
                return (is_any.then_some((length, long_lines)), error);
            }
        }
        (None, None)
    }

    /// Passes over the rest of a line that did not fit a block. Says how many bytes behind it are now at the beginning.
    fn pass_over(&mut self, buffer: &mut [u8]) -> usize {
        let Some(newline) = memchr::memchr(b'\n', buffer) else {
            return 0;
        };
        self.inside_long_line = false;
        buffer.copy_within(newline + 1.., 0);
        buffer.len() - newline - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(input: &[u8]) -> (Vec<u8>, u64) {
        let mut blocks = Blocks::new(input);
        let (mut out, mut long) = (Vec::new(), 0);
        let mut buffer = Vec::new();
        while let (Some((length, long_lines)), _) = blocks.next(&mut buffer) {
            out.extend_from_slice(&buffer[..length]);
            long += long_lines.0;
        }
        (out, long)
    }

    #[test]
    fn nothing_is_lost_at_the_seams() {
        let mut input = Vec::new();
        for number in 0..200_000 {
            input.extend_from_slice(
                format!("line {number} {}\n", "x".repeat(number % 40)).as_bytes(),
            );
        }
        input.extend_from_slice(b"the last has no newline");
        assert_eq!(cut(&input), (input, 0));
        assert_eq!(cut(b""), (Vec::new(), 0));
        assert_eq!(cut(b"\n"), (b"\n".to_vec(), 0));
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        for length in [
            BLOCK_BYTES - 1,
            BLOCK_BYTES,
            BLOCK_BYTES + 1,
            3 * BLOCK_BYTES + 17,
        ] {
            let mut input = b"before\n".to_vec();
            input.extend(std::iter::repeat_n(b'a', length));
            input.extend_from_slice(b"\nafter\n");
            let (out, long) = cut(&input);
            let kept = out.len() == input.len();
            assert!(
                kept == (long == 0) && (kept || out == b"before\nafter\n"),
                "{length}: {} {long}",
                out.len()
            );
            assert_eq!(kept, length < BLOCK_BYTES, "{length}");
        }
    }
}
