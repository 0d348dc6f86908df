//! Chunked bodies (RFC 9112, 7.1), walked through byte by byte where they are framing.

use crate::tokens::is_token;

/// A look at the bytes of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The number of bytes that belong to the framing.
    pub skipped: usize,
    /// The number of bytes behind them that belong to the body.
    pub length: usize,
    /// The body ends behind these bytes.
    pub is_last: bool,
}

/// Where the walk through a chunked body stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    /// In the digits of a size, with the number of digits read.
    Size(u8),
    /// Behind the size, before the line's end.
    Extension,
    /// Before the line feed of a size.
    SizeEnd,
    /// In the bytes of a chunk.
    Bytes,
    /// Before the line end of a chunk.
    Return,
    /// In it.
    Feed,
    /// At the beginning of a trailer's line, or the last line's.
    Trailer,
    /// In the name of a trailer.
    TrailerName,
    /// In the value of a trailer.
    TrailerLine,
    /// Before the line feed of a trailer's line.
    TrailerEnd,
    /// Before the very last line feed.
    LastFeed,
}

/// A walk through a chunked body.
#[derive(Debug, Clone, Copy)]
pub struct Chunks {
    at: Chunk,
    left: u64,
    /// Bytes of extensions and trailers so far.
    extra: u32,
    takes_blanks: bool,
}

/// Bytes of extensions and trailers in one body.
const EXTRA_MAX: u32 = 16 * 1024;
/// Digits of a chunk size: no memory holds a larger chunk.
const SIZE_DIGITS_MAX: u8 = 15;

impl Default for Chunks {
    fn default() -> Chunks {
        Chunks {
            at: Chunk::Size(0),
            left: 0,
            extra: 0,
            takes_blanks: false,
        }
    }
}

impl Chunks {
    /// Chunks of a response: some servers write blanks behind a size. No other message follows that a blank could hide.
    pub fn of_site() -> Chunks {
        Chunks {
            takes_blanks: true,
            ..Chunks::default()
        }
    }

    /// The next bytes of the body, or all framing before them. An error gives the position of the first invalid byte.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Piece, usize> {
        for at in 0..bytes.len() {
            if self.at == Chunk::Bytes {
                let length = self.left.min((bytes.len() - at) as u64);
                self.left -= length;
                if self.left == 0 {
                    self.at = Chunk::Return;
                }
                return Ok(Piece {
                    skipped: at,
                    length: length as usize,
                    is_last: false,
                });
            }
            if self.step(bytes[at]).ok_or(at)? {
                return Ok(Piece {
                    skipped: at + 1,
                    length: 0,
                    is_last: true,
                });
            }
        }
        Ok(Piece {
            skipped: bytes.len(),
            length: 0,
            is_last: false,
        })
    }

    /// Takes one byte of framing: true at the end of the body, `None` for an invalid byte.
    fn step(&mut self, byte: u8) -> Option<bool> {
        self.at = match (self.at, byte) {
            (Chunk::Size(digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
                if digits < SIZE_DIGITS_MAX =>
            {
                let value = (byte as char).to_digit(16)?;
                self.left = self.left << 4 | u64::from(value);
                Chunk::Size(digits + 1)
            }
            (Chunk::Size(1..), b'\r') | (Chunk::Extension, b'\r') => Chunk::SizeEnd,
            (Chunk::Size(1..), b';') => self.extra(Chunk::Extension)?,
            (Chunk::Size(1..), b' ' | b'\t') if self.takes_blanks => {
                self.extra(Chunk::Extension)?
            }
            (Chunk::Extension, b' '..=b'~' | b'\t' | 0x80..) => self.extra(Chunk::Extension)?,
            (Chunk::SizeEnd, b'\n') if self.left > 0 => {
                // A response may have a blank behind every size.
                if self.takes_blanks {
                    self.extra = 0;
                }
                Chunk::Bytes
            }
            (Chunk::SizeEnd, b'\n') => Chunk::Trailer,
            (Chunk::Return, b'\r') => Chunk::Feed,
            (Chunk::Feed, b'\n') => Chunk::Size(0),
            (Chunk::Trailer, b'\r') => Chunk::LastFeed,
            (Chunk::Trailer | Chunk::TrailerName, byte) if is_token(byte) => {
                self.extra(Chunk::TrailerName)?
            }
            (Chunk::TrailerName, b':') => self.extra(Chunk::TrailerLine)?,
            (Chunk::TrailerName, b' ' | b'\t') if self.takes_blanks => {
                self.extra(Chunk::TrailerName)?
            }
            (Chunk::TrailerLine, b'\r') => Chunk::TrailerEnd,
            (Chunk::TrailerLine, b' '..=b'~' | b'\t' | 0x80..) => self.extra(Chunk::TrailerLine)?,
            (Chunk::TrailerEnd, b'\n') => Chunk::Trailer,
            (Chunk::LastFeed, b'\n') => return Some(true),
            _ => return None,
        };
        Some(false)
    }

    fn extra(&mut self, next: Chunk) -> Option<Chunk> {
        self.extra += 1;
        (self.extra <= EXTRA_MAX).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a walk ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Walked {
        /// All bytes belong to the body, and it goes on.
        On,
        /// The body ends behind so many bytes.
        End(usize),
        /// At this byte it is no body in chunks any more.
        Unclear(usize),
    }

    impl Chunks {
        /// Walks on.
        pub fn walk(&mut self, bytes: &[u8]) -> Walked {
            let mut at = 0;
            while at < bytes.len() {
                match self.next(&bytes[at..]) {
                    Err(length) => return Walked::Unclear(at + length),
                    Ok(piece) => {
                        at += piece.skipped + piece.length;
                        if piece.is_last {
                            return Walked::End(at);
                        }
                    }
                }
            }
            Walked::On
        }
    }

    fn chunks(body: &[u8]) -> Walked {
        let whole = Chunks::default().walk(body);
        // However the bytes are cut, the walk ends alike.
        let mut bit = Chunks::default();
        for (at, byte) in body.iter().enumerate() {
            match bit.walk(&[*byte]) {
                Walked::On => assert!(at + 1 < body.len() || whole == Walked::On),
                Walked::End(_) => return (whole == Walked::End(at + 1)).then_some(whole).unwrap(),
                Walked::Unclear(_) => {
                    return (whole == Walked::Unclear(at)).then_some(whole).unwrap();
                }
            }
        }
        whole
    }

    #[test]
    fn h004_chunks() {
        assert_eq!(chunks(b"3\r\nabc\r\n0\r\n\r\nGET"), Walked::End(13));
        assert_eq!(
            chunks(b"3;a=b\r\nabc\r\n00\r\nX: y\r\n\r\n"),
            Walked::End(24)
        );
        assert_eq!(chunks(b"3\r\nab"), Walked::On);
        for body in [
            "FFFFFFFFFFFFFFFFF\r\n",
            "\r\n",
            "-1\r\n",
            "3\nabc\n",
            "3\r\nabcd\r\n",
            "3\r\nabc0\r\n\r\n",
            "g\r\n",
            " 3\r\n",
            "3 \r\n",
            "0\r\n\n",
            "0\r\nX: y\n\r\n",
            "0\r\nX : y\r\n\r\n",
            "0\r\nX\r\n\r\n",
            "0x3\r\n",
        ] {
            assert!(
                matches!(chunks(body.as_bytes()), Walked::Unclear(_)),
                "{body:?}"
            );
        }
        let long = format!("1;{}\r\n", "a".repeat(1 << 20));
        assert!(matches!(
            Chunks::default().walk(long.as_bytes()),
            Walked::Unclear(_)
        ));
        let many = "1;\r\na\r\n".repeat(100_000);
        assert!(matches!(
            Chunks::default().walk(many.as_bytes()),
            Walked::Unclear(_)
        ));
    }
}
