//! Response heads, and how the bodies behind them end. An ambiguous response is refused (RFC 9112, 6.3).

use std::mem::MaybeUninit;

use httparse::Header;

use crate::Framing;
use crate::chunks::Chunks;
use crate::framing::content_length;
use crate::headers::is_hop_by_hop;
use crate::headers::is_listed;
use crate::headers::lists_fields;
use crate::headers::spells;
use crate::tokens::has_element;

/// The most header fields of a response.
pub const HEADERS_MAX: usize = 128;
/// Room to read header fields into.
pub type Space<'a> = [MaybeUninit<Header<'a>>; HEADERS_MAX];

/// A response whose head was read.
#[derive(Debug)]
pub struct Response<'a> {
    /// 101, or 200 and above.
    pub status: u16,
    /// The reason phrase.
    pub reason: &'a str,
    headers: &'a [Header<'a>],
    /// What follows the head.
    pub body: Framing,
    /// The connection can be used for another request.
    pub keeps_alive: bool,
    /// What the response holds, by its Content-Type.
    pub kind: Kind,
    /// It has Cache-Control or Expires.
    pub says_caches: bool,
    /// It has a Date.
    pub has_date: bool,
    /// Its Connection field names other fields.
    lists: bool,
}

/// Why a response is invalid.
#[derive(Debug, Clone, Copy)]
pub struct Invalid(pub &'static str);

/// The response switches protocols, and no request asked for that.
pub const UNASKED_SWITCH: Invalid =
    Invalid("101 Switching Protocols to an upgrade that was not requested");

impl std::fmt::Display for Invalid {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.0)
    }
}

impl std::error::Error for Invalid {}

/// Reads the complete head of a response, to HEAD or to another method.
pub fn read<'a>(
    head: &'a [u8],
    is_head: bool,
    space: &'a mut Space<'a>,
) -> Result<Response<'a>, Invalid> {
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        head,
        space,
    );
    if !matches!(parsed, Ok(httparse::Status::Complete(_))) {
        return Err(Invalid("malformed response head"));
    }
    let (Some(status @ (101 | 200..)), Some(version)) = (response.code, response.version) else {
        return Err(Invalid("invalid status"));
    };
    let headers: &[Header<'a>] = response.headers;
    let mut seen = Seen::default();
    for header in headers {
        seen.header(header)?;
    }
    let is_bare = is_head || matches!(status, 101 | 204 | 304);
    let is_newest = version == 1;
    let body = seen.body(is_bare, is_newest)?;
    // Some sites send a body where none may be, and late: on a connection that is used again it would be read as the next response.
    let may_be_late = is_head || is_bare && seen.announces_body();
    Ok(Response {
        status,
        reason: response.reason.unwrap_or_default(),
        headers,
        keeps_alive: is_newest
            && !seen.is_closed
            && !may_be_late
            && !matches!(body, Framing::UntilClose),
        body,
        kind: seen.kind,
        says_caches: seen.says_caches,
        has_date: seen.has_date,
        lists: seen.lists,
    })
}

/// What the header fields say about the body, the connection and caches.
#[derive(Default)]
struct Seen {
    length: Option<u64>,
    is_chunked: bool,
    is_closed: bool,
    lists: bool,
    kind: Kind,
    says_caches: bool,
    has_date: bool,
}

impl Seen {
    fn header(&mut self, header: &Header<'_>) -> Result<(), Invalid> {
        let name = header.name.as_bytes();
        match name.len() {
            4 if spells(name, b"date") => self.has_date = true,
            7 if spells(name, b"expires") => self.says_caches = true,
            12 if spells(name, b"content-type") => {
                self.kind = self.kind.max(Kind::of(header.value));
            }
            13 if spells(name, b"cache-control") => self.says_caches = true,
            14 if spells(name, b"content-length") => {
                let length = content_length(header.value);
                if length.is_none() || self.length.is_some() {
                    return Err(Invalid("invalid or repeated Content-Length"));
                }
                self.length = length;
            }
            17 if spells(name, b"transfer-encoding") => {
                if self.is_chunked || !header.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Invalid("Transfer-Encoding other than chunked"));
                }
                self.is_chunked = true;
            }
            10 if spells(name, b"connection") => {
                self.is_closed |= has_element(header.value, b"close");
                self.lists |= lists_fields(header.value);
            }
            _ => {}
        }
        Ok(())
    }

    fn announces_body(&self) -> bool {
        self.is_chunked || self.length.is_some_and(|length| length > 0)
    }

    fn body(&self, is_bare: bool, is_newest: bool) -> Result<Framing, Invalid> {
        match (self.is_chunked, self.length) {
            (true, Some(_)) => Err(Invalid("Content-Length beside Transfer-Encoding")),
            (true, None) if !is_newest => Err(Invalid("Transfer-Encoding in HTTP/1.0")),
            _ if is_bare => Ok(Framing::Length(0)),
            (true, None) => Ok(Framing::Chunked(Chunks::of_site())),
            (false, Some(length)) => Ok(Framing::Length(length)),
            (false, None) => Ok(Framing::UntilClose),
        }
    }
}

/// What a response holds, by its Content-Type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Kind {
    /// It has no Content-Type.
    #[default]
    None,
    /// A part of pages: style sheet, script, font, image, sound or video.
    Part,
    /// Other text and files.
    Document,
    /// A page.
    Html,
}

impl Kind {
    fn of(content_type: &[u8]) -> Kind {
        let begins = |name: &&[u8]| {
            let start = content_type.get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        const HTML: [&[u8]; 2] = [b"text/html", b"application/xhtml+xml"];
        // Servers that do not know the type of a font or a video send application/octet-stream.
        const PARTS: [&[u8]; 14] = [
            b"text/css",
            b"text/javascript",
            b"text/vtt",
            b"application/javascript",
            b"application/x-javascript",
            b"application/wasm",
            b"application/font",
            b"application/x-font",
            b"application/vnd.ms-fontobject",
            b"application/octet-stream",
            b"font/",
            b"image/",
            b"audio/",
            b"video/",
        ];
        match content_type {
            _ if HTML.iter().any(begins) => Kind::Html,
            _ if PARTS.iter().any(begins) => Kind::Part,
            b"" => Kind::None,
            _ => Kind::Document,
        }
    }
}

impl<'a> Response<'a> {
    /// Every field, as it was sent.
    pub fn all(&self) -> &'a [Header<'a>] {
        self.headers
    }

    /// True for a switch to the websocket protocol and to no other.
    pub fn opens_websocket(&self) -> bool {
        let upgrades = self
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("upgrade"));
        let mut count = 0;
        let all = upgrades
            .map(|header| header.value.trim_ascii())
            .all(|value| {
                count += 1;
                value.eq_ignore_ascii_case(b"websocket")
            });
        self.status == 101 && all && count == 1
    }

    /// The fields that are for the client.
    pub fn headers(&self) -> impl Iterator<Item = &'a Header<'a>> {
        let (all, lists) = (self.headers, self.lists);
        // A client might wait for a body of that length.
        let has_no_length = matches!(self.status, 204 | 304);
        all.iter().filter(move |header| {
            let is_listed = || {
                let connection = all
                    .iter()
                    .filter(|header| header.name.eq_ignore_ascii_case("connection"));
                is_listed(
                    connection.map(|header| header.value),
                    header.name.as_bytes(),
                )
            };
            let is_dropped = is_hop_by_hop(header.name.as_bytes())
                || lists && is_listed()
                || has_no_length && header.name.eq_ignore_ascii_case("content-length");
            !is_dropped
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(head: &str, is_head: bool) -> Result<(String, bool), &'static str> {
        let head = format!("HTTP/1.1 {head}\r\n\r\n");
        let mut space = [MaybeUninit::uninit(); HEADERS_MAX];
        let reply = read(head.as_bytes(), is_head, &mut space).map_err(|fault| fault.0)?;
        let rest = match reply.body {
            Framing::Length(length) => format!("{length} bytes"),
            Framing::Chunked(_) => "chunks".to_owned(),
            Framing::UntilClose => "all".to_owned(),
        };
        Ok((rest, reply.keeps_alive))
    }

    #[test]
    fn how_a_response_ends() {
        let kept = |rest: &str| Ok((rest.to_owned(), true));
        let once = |rest: &str| Ok((rest.to_owned(), false));
        assert_eq!(
            rest("200 OK\r\nContent-Length: 12", false),
            kept("12 bytes")
        );
        assert_eq!(rest("200 OK\r\nContent-Length: 12", true), once("0 bytes"));
        assert_eq!(rest("304 -\r\nContent-Length: 12", false), once("0 bytes"));
        assert_eq!(rest("304 -", false), kept("0 bytes"));
        assert_eq!(rest("204 -", false), kept("0 bytes"));
        assert_eq!(
            rest("200 OK\r\nTransfer-Encoding: Chunked", false),
            kept("chunks")
        );
        assert_eq!(rest("200 OK", false), once("all"));
        let closed = "200 OK\r\nConnection: x, Close\r\nContent-Length: 1";
        assert_eq!(rest(closed, false), once("1 bytes"));
    }

    #[test]
    fn ambiguous_responses_are_invalid() {
        for head in [
            "200 OK\r\nContent-Length: 1\r\nContent-Length: 1",
            "200 OK\r\nContent-Length: 1, 1",
            "200 OK\r\nContent-Length: +1",
            "200 OK\r\nContent-Length: ",
            "200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
            "200 OK\r\nTransfer-Encoding: gzip, chunked",
            "200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "200 OK\r\nX : y",
            "099 OK",
            "103 Early Hints",
            "20 OK",
        ] {
            assert!(rest(head, false).is_err(), "{head:?}");
            // A response to HEAD is checked like one to GET.
            assert!(rest(head, true).is_err(), "{head:?}");
        }
    }

    #[test]
    fn fields_of_the_connection_are_dropped() {
        let head = b"HTTP/1.1 200 OK\r\nA: 1\r\nConnection: close, B\r\nb: 2\r\nKeep-Alive: 3\r\nC: 4\r\n\r\n";
        let mut space = [MaybeUninit::uninit(); HEADERS_MAX];
        let reply = read(head, false, &mut space).unwrap();
        let names: Vec<&str> = reply.headers().map(|header| header.name).collect();
        assert_eq!(names, ["A", "C"]);
    }
}
