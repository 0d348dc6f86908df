//! How long the body of an HTTP/1 request is, read from its raw head; refuses whatever two servers could read in two ways.
//!
//! The HTTP library takes a length beside an encoding and the same length twice, and hides from us that they were there (RFC 9112, 6.3
//! allows it). The sites behind us may read such a request otherwise, so the bytes are looked at before the library sees them.

/// What follows a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// So many bytes.
    Bytes(u64),
    /// Chunks.
    Chunks,
    /// No body; perhaps a websocket, if the site wants one.
    Websocket,
}

/// Why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclear {
    /// A line ends in half a line end, or holds a byte that no line may hold.
    Line,
    /// A header's name is none, or does not stand at the beginning of its line.
    Name,
    /// A length that is no number, or one of two.
    Length,
    /// An encoding other than `chunked` alone, or beside a length.
    Encoding,
}

/// Digits of the largest length that is taken.
const DIGITS_MAX: usize = 18;

/// A length: digits and nothing else.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    let is_number =
        (1..=DIGITS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let add = |sum, digit: &u8| sum * 10 + u64::from(digit - b'0');
    is_number.then(|| digits.iter().fold(0, add))
}

/// The end of a head that begins here, behind its empty line; `None` while it is not all there.
pub fn end(bytes: &[u8]) -> Option<usize> {
    // The library ends a head at bare line feeds, too. Such a head is refused by the check, and not waited for: what waits longest would
    // pass unchecked.
    memchr::memchr_iter(b'\n', bytes).find_map(|at| match &bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Checks a whole head.
pub fn check(head: &[u8]) -> Result<Follows, Unclear> {
    walk(head, |_, _| {})
}

/// Checks a whole head, and gives each header by name and value. Before it has said that the head is sound, they mean nothing.
pub fn walk<'a>(
    head: &'a [u8],
    mut each: impl FnMut(&'a [u8], &'a [u8]),
) -> Result<Follows, Unclear> {
    let lines = head.strip_suffix(b"\r\n").ok_or(Unclear::Line)?;
    let mut seen = Seen::default();
    let mut from = 0;
    let mut feeds = 0;
    for feed in memchr::memchr_iter(b'\n', lines) {
        let line = lines[from..feed].strip_suffix(b"\r").ok_or(Unclear::Line)?;
        match from {
            0 => seen.request_line(line),
            _ => {
                let (name, value) = seen.header(line)?;
                each(name, trimmed(value));
            }
        }
        from = feed + 1;
        feeds += 1;
    }
    // Each line feed has a return before it; where there are no more of these, and nothing else of their kind, all lines are sound.
    if from < lines.len() || controls(lines) != 2 * feeds {
        return Err(Unclear::Line);
    }
    seen.follows()
}

/// How many bytes are no text: line ends, and what no line may hold. The look has no way out in the middle and adds up in bytes: so it
/// takes many at a time.
fn controls(lines: &[u8]) -> usize {
    let is_control = |byte: u8| (byte < b' ' && byte != b'\t') || byte == 0x7f;
    let sum = |part: &[u8]| {
        let sum = part
            .iter()
            .fold(0_u8, |sum, byte| sum + u8::from(is_control(*byte)));
        usize::from(sum)
    };
    lines.chunks(255).map(sum).sum()
}

/// A value without the blanks around it.
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[derive(Default)]
struct Seen {
    is_get: bool,
    is_newest: bool,
    length: Option<u64>,
    is_chunked: bool,
    says_upgrade: bool,
    says_websocket: bool,
}

impl Seen {
    fn request_line(&mut self, line: &[u8]) {
        self.is_get = line.starts_with(b"GET ");
        self.is_newest = line.ends_with(b" HTTP/1.1");
    }

    /// A header's line: its name and its value.
    fn header<'a>(&mut self, line: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), Unclear> {
        let is_in_name = |byte: &u8| TOKENS[usize::from(*byte)];
        let length = line.iter().position(|byte| !is_in_name(byte));
        let (name, value) = line.split_at(length.ok_or(Unclear::Name)?);
        // A blank before the colon or at the line's beginning, an empty name: all are read differently by somebody.
        let value = value.strip_prefix(b":").ok_or(Unclear::Name)?;
        match name.len() {
            0 => return Err(Unclear::Name),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.encoding(value)?,
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.says_upgrade |= has_token(value, b"upgrade");
            }
            7 if name.eq_ignore_ascii_case(b"upgrade") => {
                self.says_websocket |= has_token(value, b"websocket");
            }
            _ => {}
        }
        Ok((name, value))
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Unclear> {
        let digits = value.strip_prefix(b" ").unwrap_or(value);
        let digits = digits.strip_suffix(b" ").unwrap_or(digits);
        if self.length.is_some() {
            return Err(Unclear::Length);
        }
        self.length = Some(number(digits).ok_or(Unclear::Length)?);
        Ok(())
    }

    fn encoding(&mut self, value: &[u8]) -> Result<(), Unclear> {
        let coding = value.strip_prefix(b" ").unwrap_or(value);
        if self.is_chunked || !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(Unclear::Encoding);
        }
        self.is_chunked = true;
        Ok(())
    }

    fn follows(&self) -> Result<Follows, Unclear> {
        if self.is_chunked {
            return match self.is_newest && self.length.is_none() {
                true => Ok(Follows::Chunks),
                false => Err(Unclear::Encoding),
            };
        }
        Ok(match self.length {
            None | Some(0)
                if self.is_get && self.is_newest && self.says_upgrade && self.says_websocket =>
            {
                Follows::Websocket
            }
            length => Follows::Bytes(length.unwrap_or(0)),
        })
    }
}

/// True for a byte of a header's name (RFC 9110, 5.6.2).
const fn is_token(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// The same for every byte: all bytes of all names are asked about.
static TOKENS: [bool; 256] = {
    let mut tokens = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        tokens[byte] = is_token(byte as u8);
        byte += 1;
    }
    tokens
};

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value
        .split(|byte| *byte == b',')
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// Where a body in chunks stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk {
    /// In the digits of a size: so many were read.
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
    /// In a trailer's line.
    TrailerLine,
    /// Before the line feed of a trailer's line.
    TrailerEnd,
    /// Before the very last line feed.
    LastFeed,
}

/// Walks through a body in chunks.
#[derive(Debug, Clone, Copy)]
pub struct Chunks {
    at: Chunk,
    left: u64,
    /// Bytes of extensions and trailers: nobody needs many.
    extra: u32,
    takes_blanks: bool,
}

/// Bytes of extensions and trailers in one body.
const EXTRA_MAX: u32 = 16 * 1024;
/// Digits of a chunk's size: more than any memory.
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

/// A look at the bytes of a body in some framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// So many bytes are the framing's.
    pub skipped: usize,
    /// So many behind them are the body's own.
    pub length: usize,
    /// Behind these the body has ended.
    pub is_last: bool,
}

impl Chunks {
    /// Chunks of a site: some write blanks behind a size. Nothing follows that anybody could take for another answer.
    pub(crate) fn of_site() -> Chunks {
        Chunks {
            takes_blanks: true,
            ..Chunks::default()
        }
    }

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

    /// The next bytes of the body's own, or all framing up to them. An error is the place of a byte that cannot stand there.
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

    /// Takes one byte outside of a chunk's own: true at the end of the body, `None` for a byte that cannot stand there.
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
                // Blanks behind every size are nobody's attack.
                if self.takes_blanks {
                    self.extra = 0;
                }
                Chunk::Bytes
            }
            (Chunk::SizeEnd, b'\n') => Chunk::Trailer,
            (Chunk::Return, b'\r') => Chunk::Feed,
            (Chunk::Feed, b'\n') => Chunk::Size(0),
            (Chunk::Trailer, b'\r') => Chunk::LastFeed,
            (Chunk::Trailer, byte) if is_token(byte) => self.extra(Chunk::TrailerLine)?,
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
    use proptest::prelude::*;

    use super::*;

    /// Lines that heads are put together from: sound ones, and those that are read differently by somebody.
    const LINES: [&str; 26] = [
        "Host: a.example\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 0\r\n",
        "content-length:7\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: 5\n",
        "Content-Length: 0x5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding:chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding:\tchunked\r\n",
        "X: a\r\n",
        "X: a\n",
        "X: a\r\n b\r\n",
        "X: \u{e9}\r\n",
        "X: \t a b \t \r\n",
        "X:\r\n",
        ": x\r\n",
        "X\r\n",
        "X: a\rTransfer-Encoding: chunked\r\n",
        "X: a\0\r\n",
        "Upgrade: websocket\r\n",
        "Connection: upgrade\r\n",
        "Connection: close\r\n",
        "\r\n",
    ];

    proptest! {
        /// What passes, the HTTP library reads to the same length: it cannot see a request where the guard sees a body.
        #[test]
        fn the_library_reads_what_passes_in_the_same_way(
            post in any::<bool>(),
            lines in proptest::collection::vec(proptest::sample::select(&LINES[..]), 0..6),
        ) {
            let method = if post { "POST" } else { "GET" };
            let text = format!("{method} / HTTP/1.1\r\n{}\r\n", lines.concat());
            let Some(end) = end(text.as_bytes()) else { return Ok(()) };
            let mut walked: Vec<(&[u8], &[u8])> = Vec::new();
            let Ok(follows) = walk(&text.as_bytes()[..end], |name, value| walked.push((name, value))) else { return Ok(()) };
            let mut headers = [httparse::EMPTY_HEADER; 32];
            let mut request = httparse::Request::new(&mut headers);
            let parsed = request.parse(text.as_bytes());
            prop_assert_eq!(parsed, Ok(httparse::Status::Complete(end)), "{:?}", text);
            let read: Vec<(&[u8], &[u8])> = request.headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect();
            prop_assert_eq!(walked, read, "{:?}", text);
            let values = |name: &str| -> Vec<&[u8]> {
                let named = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
                named.map(|header| header.value).collect()
            };
            let (lengths, encodings) = (values("content-length"), values("transfer-encoding"));
            match follows {
                Follows::Chunks => prop_assert!(lengths.is_empty() && encodings == [&b"chunked"[..]]),
                Follows::Bytes(0) | Follows::Websocket => prop_assert!(encodings.is_empty() && lengths.len() <= 1),
                Follows::Bytes(length) => {
                    prop_assert!(encodings.is_empty());
                    let expected = length.to_string();
                    prop_assert_eq!(lengths, [expected.as_bytes()]);
                }
            }
        }
    }

    fn head(headers: &str) -> Result<Follows, Unclear> {
        check(format!("POST / HTTP/1.1\r\nHost: a.example\r\n{headers}\r\n").as_bytes())
    }

    #[test]
    fn sound_heads() {
        assert_eq!(head(""), Ok(Follows::Bytes(0)));
        assert_eq!(head("Content-Length: 12\r\n"), Ok(Follows::Bytes(12)));
        assert_eq!(
            head("content-length:12 \r\nX-Odd_name: \u{e9}\t!\r\n"),
            Ok(Follows::Bytes(12))
        );
        assert_eq!(head("Transfer-Encoding: Chunked\r\n"), Ok(Follows::Chunks));
        let websocket =
            b"GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n";
        assert_eq!(check(websocket), Ok(Follows::Websocket));
    }

    #[test]
    fn h002_lengths_that_can_be_read_in_two_ways_are_unclear() {
        for value in [
            "5, 5",
            "",
            "+5",
            " 0x5",
            "5 5",
            "5,",
            "18446744073709551616",
            "-1",
            "5\t",
            "\t5",
            "5;",
        ] {
            assert_eq!(
                head(&format!("Content-Length: {value}\r\n")),
                Err(Unclear::Length),
                "{value:?}"
            );
        }
        assert_eq!(
            head("Content-Length: 5\r\nContent-Length: 5\r\n"),
            Err(Unclear::Length)
        );
        assert_eq!(
            head("Content-Length: 5\r\nContent-Length: 6\r\n"),
            Err(Unclear::Length)
        );
    }

    #[test]
    fn h001_h003_encodings_that_can_be_read_in_two_ways_are_unclear() {
        for value in [
            "chunked, chunked",
            "xchunked",
            "identity",
            "\tchunked",
            "chunked\t",
            "gzip, chunked",
            "chunked;a=b",
            "",
        ] {
            assert_eq!(
                head(&format!("Transfer-Encoding: {value}\r\n")),
                Err(Unclear::Encoding),
                "{value:?}"
            );
        }
        assert_eq!(
            head("Transfer-Encoding: \x0bchunked\r\n"),
            Err(Unclear::Encoding)
        );
        assert_eq!(
            head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            Err(Unclear::Encoding)
        );
        assert_eq!(
            head("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n"),
            Err(Unclear::Encoding)
        );
        assert_eq!(
            head("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"),
            Err(Unclear::Encoding)
        );
        assert_eq!(
            check(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Err(Unclear::Encoding)
        );
    }

    #[test]
    fn h008_header_lines_that_can_be_read_in_two_ways_are_unclear() {
        for lines in [
            ": x\r\n",
            "Name : v\r\n",
            "A: b\x00c\r\n",
            "A: b\rc\r\n",
            "A: b\nC: d\r\n",
            "A: b\r\n c\r\n",
            "A(: b\r\n",
            "A\r\n",
            "A: \x7f\r\n",
        ] {
            assert!(head(lines).is_err(), "{lines:?}");
        }
        assert!(check(b"GET / HTTP/1.1\nHost: a\n\n").is_err());
    }

    #[test]
    fn a_head_ends_wherever_a_lenient_reader_would_end_it() {
        for (bytes, length) in [
            ("GET / HTTP/1.1\r\nA: b\r\n\r\nGET", Some(24)),
            ("GET / HTTP/1.1\r\n\r\n", Some(18)),
            ("GET / HTTP/1.1\n\r\nx\r\n\r\n", Some(17)),
            ("GET / HTTP/1.1\r\n\nx\r\n\r\n", Some(17)),
            ("GET / HTTP/1.1\nA: b\n\n", Some(21)),
            ("GET / HTTP/1.1\r\nA: b\r\n", None),
            ("GET / HTTP/1.1\r\nA: b\r\n\r", None),
        ] {
            assert_eq!(end(bytes.as_bytes()), length, "{bytes:?}");
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
