//! Request heads, and how long the bodies behind them are.
//!
//! RFC 9112, 6.3 allows a Content-Length beside a Transfer-Encoding, and the same length twice. The sites behind us may read such a
//! request in another way, so it is refused.

use http::Method;
use http::Version;

use crate::Framing;
use crate::Headers;
use crate::Name;
use crate::chunks::Chunks;
use crate::framing::content_length;
use crate::target;
use crate::tokens::TOKENS;
use crate::tokens::has_element;

/// The largest message heads that are read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of all header lines.
    pub headers: usize,
    /// Bytes of the target.
    pub target: usize,
    /// Number of header lines.
    pub fields: usize,
}

impl Limits {
    /// As large as any honest request.
    pub const USUAL: Limits = Limits {
        headers: 64 * 1024,
        target: 16 * 1024,
        fields: 128,
    };
}

/// A request whose head was read, by this crate or from HTTP/2.
#[derive(Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: Method,
    /// Path and query as sent, without a fragment; `*` for a request about the server.
    pub target: &'a str,
    /// The authority of an absolute target, or of HTTP/2.
    pub authority: Option<&'a [u8]>,
    /// The version of HTTP.
    pub version: Version,
    /// All header fields, in their order.
    pub headers: Headers<'a>,
    /// What follows the head.
    pub body: Framing,
    /// The client wants to send more requests on this connection.
    pub keeps_alive: bool,
    /// It asks to become a websocket.
    pub is_websocket: bool,
}

/// Why a request head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// The request line is not one of HTTP/1.0 or HTTP/1.1.
    RequestLine,
    /// The target has no path, or holds an invalid byte.
    Target,
    /// A line has half a line end, or holds an invalid byte.
    Line,
    /// A field name is invalid, or does not stand at the beginning of its line.
    Name,
    /// An invalid Content-Length, or two.
    Length,
    /// A Transfer-Encoding other than `chunked` alone, or beside a Content-Length.
    Encoding,
    /// The head exceeds a limit.
    TooLarge,
}

/// The end of a head that begins here, behind its empty line; `None` while it is not complete.
pub fn end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(block) = bytes[from..].first_chunk()
        && !has_end(block)
    {
        from += BLOCK;
    }
    // Lenient readers end a head at bare line feeds, too. Such a head is found here and refused when it is read: if it were waited for,
    // the bytes behind it would be read as a part of it.
    memchr::memchr_iter(b'\n', &bytes[from..]).find_map(|at| match &bytes[from + at + 1..] {
        [b'\n', ..] => Some(from + at + 2),
        [b'\r', b'\n', ..] => Some(from + at + 3),
        _ => None,
    })
}

/// Bytes that are searched at once for the end of a head.
const BLOCK: usize = 64;

/// True where a head ends at one of the first bytes; the last two are those behind them. The loop has no early exit, so that it is
/// vectorised: most blocks hold no end.
fn has_end(block: &[u8; BLOCK + 2]) -> bool {
    let is_end = |at: usize| {
        let is = |at: usize, byte: u8| u8::from(block[at] == byte);
        is(at, b'\n') & (is(at + 1, b'\n') | is(at + 1, b'\r') & is(at + 2, b'\n'))
    };
    (0..BLOCK).fold(0, |ends, at| ends | is_end(at)) > 0
}

/// The number of line ends before a request: they mean nothing (RFC 9112, 2.2).
pub fn blank(bytes: &[u8]) -> usize {
    let is_line_end = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
    bytes.iter().take_while(is_line_end).count()
}

/// Reads a complete head.
pub fn read<'a>(head: &'a [u8], limits: &Limits) -> Result<Request<'a>, Invalid> {
    let line_end = memchr::memchr(b'\n', head).ok_or(Invalid::Line)?;
    let (line, rest) = head.split_at(line_end + 1);
    let line = line.strip_suffix(b"\r\n").ok_or(Invalid::Line)?;
    let (method, target, version) = request_line(line)?;
    let lines = rest.strip_suffix(b"\r\n").ok_or(Invalid::Line)?;
    if target.len() > limits.target || lines.len() > limits.headers {
        return Err(Invalid::TooLarge);
    }
    // The request line must hold no control byte either.
    if controls(line) > 0 {
        return Err(Invalid::Line);
    }
    let (mut seen, mut headers) = (Seen::default(), Headers::new());
    walk(lines, &mut seen, &mut headers)?;
    if headers.len() > limits.fields {
        return Err(Invalid::TooLarge);
    }
    let (authority, target) = target::read(target, &method).map_err(|_| Invalid::Target)?;
    let body = seen.body(version)?;
    let keeps_alive = match version {
        Version::HTTP_11 => !seen.says_close,
        _ => seen.says_keep_alive && !seen.says_close,
    };
    Ok(Request {
        is_websocket: method == Method::GET
            && version == Version::HTTP_11
            && body.is_empty()
            && seen.says_upgrade
            && seen.says_websocket,
        method,
        target,
        authority,
        version,
        headers,
        body,
        keeps_alive,
    })
}

/// Method, target and version.
fn request_line(line: &[u8]) -> Result<(Method, &[u8], Version), Invalid> {
    let (rest, version) = match line {
        [
            rest @ ..,
            b' ',
            b'H',
            b'T',
            b'T',
            b'P',
            b'/',
            b'1',
            b'.',
            b'1',
        ] => (rest, Version::HTTP_11),
        [
            rest @ ..,
            b' ',
            b'H',
            b'T',
            b'T',
            b'P',
            b'/',
            b'1',
            b'.',
            b'0',
        ] => (rest, Version::HTTP_10),
        _ => return Err(Invalid::RequestLine),
    };
    let (method, target) = match rest {
        [b'G', b'E', b'T', b' ', target @ ..] => (Method::GET, target),
        _ => {
            let blank = memchr::memchr(b' ', rest).ok_or(Invalid::RequestLine)?;
            let method = Method::from_bytes(&rest[..blank]).map_err(|_| Invalid::RequestLine)?;
            (method, &rest[blank + 1..])
        }
    };
    Ok((method, target, version))
}

/// Reads the header lines.
fn walk<'a>(lines: &'a [u8], seen: &mut Seen, headers: &mut Headers<'a>) -> Result<(), Invalid> {
    let mut from = 0;
    let mut feeds = 0;
    for feed in memchr::memchr_iter(b'\n', lines) {
        let line = lines[from..feed].strip_suffix(b"\r").ok_or(Invalid::Line)?;
        let (name, value) = line.split_at(colon(line).ok_or(Invalid::Name)?);
        let value = &value[1..];
        let known = headers.add(name, trimmed(value));
        // A blank before the colon or at the beginning of the line, an empty name: servers differ about each. The names that are known have
        // none, and if one of their hyphens is a return, it is found below.
        let is_in_name = |byte: &u8| TOKENS[usize::from(*byte)];
        if known.is_none() && (name.is_empty() || !name.iter().all(is_in_name)) {
            return Err(Invalid::Name);
        }
        seen.field(known, value)?;
        from = feed + 1;
        feeds += 1;
    }
    // Each line feed has a return before it: where there are no other control bytes, all lines are valid.
    match from < lines.len() || controls(lines) != 2 * feeds {
        true => Err(Invalid::Line),
        false => Ok(()),
    }
}

/// Where the first colon of a line is. Most stand among the first sixteen bytes: these are looked at eight at a time.
fn colon(line: &[u8]) -> Option<usize> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let (eights, rest) = line.as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate() {
        // The lowest high bit that is set is that of the first byte that is 0.
        let zeros = u64::from_le_bytes(*eight) ^ (EACH * u64::from(b':'));
        let found = zeros.wrapping_sub(EACH) & !zeros & EACH << 7;
        if found != 0 {
            return Some(8 * at + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|byte| *byte == b':');
    found.map(|at| 8 * eights.len() + at)
}

/// The number of control bytes. The loop has no early exit and sums up in bytes, so that it is vectorised.
fn controls(lines: &[u8]) -> usize {
    let is_control = |byte: u8| (byte < b' ' && byte != b'\t') || byte == 0x7f;
    let sum = |part: &[u8]| {
        let sum = part
            .iter()
            .fold(0_u8, |sum, byte| sum + u8::from(is_control(*byte)));
        usize::from(sum)
    };
    // Whole vectors, and no more than a byte can count.
    lines.chunks(240).map(sum).sum()
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

/// What the header fields say about the body and the connection.
#[derive(Default)]
struct Seen {
    length: Option<u64>,
    is_chunked: bool,
    says_close: bool,
    says_keep_alive: bool,
    says_upgrade: bool,
    says_websocket: bool,
}

impl Seen {
    fn field(&mut self, name: Option<Name>, value: &[u8]) -> Result<(), Invalid> {
        match name {
            Some(Name::ContentLength) => self.length(value)?,
            Some(Name::Connection) => {
                self.says_close |= has_element(value, b"close");
                self.says_keep_alive |= has_element(value, b"keep-alive");
                self.says_upgrade |= has_element(value, b"upgrade");
            }
            Some(Name::TransferEncoding) => self.encoding(value)?,
            Some(Name::Upgrade) => self.says_websocket |= has_element(value, b"websocket"),
            _ => {}
        }
        Ok(())
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Invalid> {
        let digits = value.strip_prefix(b" ").unwrap_or(value);
        let digits = digits.strip_suffix(b" ").unwrap_or(digits);
        if self.length.is_some() {
            return Err(Invalid::Length);
        }
        self.length = Some(content_length(digits).ok_or(Invalid::Length)?);
        Ok(())
    }

    fn encoding(&mut self, value: &[u8]) -> Result<(), Invalid> {
        let coding = value.strip_prefix(b" ").unwrap_or(value);
        if self.is_chunked || !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(Invalid::Encoding);
        }
        self.is_chunked = true;
        Ok(())
    }

    fn body(&self, version: Version) -> Result<Framing, Invalid> {
        match (self.is_chunked, self.length) {
            (true, None) if version == Version::HTTP_11 => Ok(Framing::Chunked(Chunks::default())),
            (true, _) => Err(Invalid::Encoding),
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }
}

/// Reads a head as a careless server does. Tests switch the checks off with it, to show that they would notice.
#[cfg(debug_assertions)]
pub fn read_carelessly<'a>(head: &'a [u8], limits: &Limits) -> Result<Request<'a>, Invalid> {
    let mut space = [httparse::EMPTY_HEADER; 128];
    let mut parsed = httparse::Request::new(&mut space);
    if parsed.parse(head) != Ok(httparse::Status::Complete(head.len())) {
        return read(head, limits);
    }
    let mut headers = Headers::new();
    let (mut length, mut is_chunked) = (0, false);
    for field in parsed.headers.iter() {
        let value = std::str::from_utf8(field.value).unwrap_or_default();
        match headers.add(field.name.as_bytes(), field.value) {
            Some(Name::ContentLength) => {
                let digits: String = value
                    .chars()
                    .filter(char::is_ascii_digit)
                    .take(18)
                    .collect();
                length = digits.parse().unwrap_or(0);
            }
            Some(Name::TransferEncoding) => is_chunked = true,
            _ => {}
        }
    }
    let method = parsed.method.unwrap_or_default().as_bytes();
    let method = Method::from_bytes(method).map_err(|_| Invalid::RequestLine)?;
    let (authority, target) = target::read(parsed.path.unwrap_or_default().as_bytes(), &method)
        .map_err(|_| Invalid::Target)?;
    Ok(Request {
        method,
        target,
        authority,
        version: Version::HTTP_11,
        headers,
        body: match is_chunked {
            true => Framing::Chunked(Chunks::of_site()),
            false => Framing::Length(length),
        },
        keeps_alive: true,
        is_websocket: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the body of a request ends.
    fn check(head: &[u8]) -> Result<String, Invalid> {
        let request = read(head, &Limits::USUAL)?;
        Ok(match request.body {
            _ if request.is_websocket => "websocket".to_owned(),
            Framing::Length(length) => format!("{length} bytes"),
            Framing::Chunked(_) => "chunks".to_owned(),
            Framing::UntilClose => "close".to_owned(),
        })
    }

    fn head(headers: &str) -> Result<String, Invalid> {
        check(format!("POST / HTTP/1.1\r\nHost: a.example\r\n{headers}\r\n").as_bytes())
    }

    #[test]
    fn valid_heads() {
        assert_eq!(head(""), Ok("0 bytes".to_owned()));
        assert_eq!(head("Content-Length: 12\r\n"), Ok("12 bytes".to_owned()));
        assert_eq!(
            head("content-length:12 \r\nX-Odd_name: \u{e9}\t!\r\n"),
            Ok("12 bytes".to_owned())
        );
        assert_eq!(
            head("Transfer-Encoding: Chunked\r\n"),
            Ok("chunks".to_owned())
        );
        let websocket =
            b"GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n";
        assert_eq!(check(websocket), Ok("websocket".to_owned()));
    }

    #[test]
    fn h002_lengths_that_are_ambiguous_are_refused() {
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
                Err(Invalid::Length),
                "{value:?}"
            );
        }
        assert_eq!(
            head("Content-Length: 5\r\nContent-Length: 5\r\n"),
            Err(Invalid::Length)
        );
        assert_eq!(
            head("Content-Length: 5\r\nContent-Length: 6\r\n"),
            Err(Invalid::Length)
        );
    }

    #[test]
    fn h001_h003_encodings_that_are_ambiguous_are_refused() {
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
                Err(Invalid::Encoding),
                "{value:?}"
            );
        }
        assert_eq!(
            head("Transfer-Encoding: \x0bchunked\r\n"),
            Err(Invalid::Encoding)
        );
        assert_eq!(
            head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            Err(Invalid::Encoding)
        );
        assert_eq!(
            head("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n"),
            Err(Invalid::Encoding)
        );
        assert_eq!(
            head("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"),
            Err(Invalid::Encoding)
        );
        assert_eq!(
            check(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Err(Invalid::Encoding)
        );
    }

    #[test]
    fn h008_header_lines_that_are_ambiguous_are_refused() {
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

    #[test]
    fn the_end_of_a_head_is_found_at_every_place() {
        for before in 0..3 * BLOCK {
            for (ending, length) in [("\n\n", 2), ("\n\r\n", 3), ("\r\n\r\n", 4)] {
                for behind in [0, 1, 2, 3, BLOCK, 2 * BLOCK] {
                    let line = "\r\nab".repeat(BLOCK)[..before].to_owned();
                    let line = line.trim_end_matches(['\r', '\n']);
                    let bytes = [line, ending, &"\n".repeat(behind)].concat();
                    let expected = Some(line.len() + length);
                    assert_eq!(end(bytes.as_bytes()), expected, "{bytes:?}");
                    assert_eq!(end(&bytes.as_bytes()[..line.len() + length - 1]), None);
                }
            }
        }
    }

    #[test]
    fn the_first_colon_is_found_at_every_place() {
        // Bytes that differ from a colon in one bit, or stand behind one.
        for byte in [b';', b'9', 0xba, b'2', b'z', 0, b':'] {
            for before in 0..40 {
                let line = [&vec![b'a'; before][..], b":", &[byte; 20]].concat();
                assert_eq!(colon(&line), Some(before));
            }
            let is_colon = byte == b':';
            assert_eq!(colon(&[byte; 20]), is_colon.then_some(0));
        }
        assert_eq!(colon(b""), None);
    }
}
