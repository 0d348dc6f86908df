//! Where a body ends: one type for requests and responses.

use crate::chunks::Chunks;
use crate::chunks::Piece;

/// What is still to come of a body.
#[derive(Debug, Clone, Copy)]
pub enum Framing {
    /// A number of bytes.
    Length(u64),
    /// Chunks (RFC 9112, 7.1).
    Chunked(Chunks),
    /// Everything until the sender closes the connection: responses only.
    UntilClose,
}

/// Bytes that are not chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidChunks;

impl Framing {
    /// Looks at the next bytes of the body.
    #[inline]
    pub fn next(&mut self, bytes: &[u8]) -> Result<Piece, InvalidChunks> {
        match self {
            Framing::Length(left) => {
                let length = (*left).min(bytes.len() as u64);
                *left -= length;
                Ok(Piece {
                    skipped: 0,
                    length: length as usize,
                    is_last: *left == 0,
                })
            }
            Framing::Chunked(chunks) => chunks.next(bytes).map_err(|_| InvalidChunks),
            Framing::UntilClose => Ok(Piece {
                skipped: 0,
                length: bytes.len(),
                is_last: false,
            }),
        }
    }

    /// True where nothing is to come.
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self, Framing::Length(0))
    }

    /// The length of the body, where it was announced.
    #[inline]
    pub fn length(&self) -> Option<u64> {
        match self {
            Framing::Length(length) => Some(*length),
            Framing::Chunked(_) | Framing::UntilClose => None,
        }
    }
}

/// Digits of the largest length that is read.
const DIGITS_MAX: usize = 18;

/// The value of a Content-Length: digits and nothing else.
pub(crate) fn content_length(digits: &[u8]) -> Option<u64> {
    let is_number =
        (1..=DIGITS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let add = |sum, digit: &u8| sum * 10 + u64::from(digit - b'0');
    is_number.then(|| digits.iter().fold(0, add))
}

/// The end of a chunked body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Writes the line before the bytes of a chunk.
pub fn begin_chunk(length: usize, out: &mut Vec<u8>) {
    // Writing into memory cannot fail.
    let _ = std::io::Write::write_fmt(out, format_args!("{length:x}\r\n"));
}
