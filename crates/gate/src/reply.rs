//! The head of a site's answer, and how its body ends. Where that can be read in two ways there is no answer (RFC 9112, 6.3).

use std::mem::MaybeUninit;

use httparse::Header;

use crate::framing::is_hop_by_hop;
use crate::framing::listed;
use crate::head;
use crate::head::Chunks;
use crate::head::Piece;

/// Headers of one answer.
pub(crate) const HEADERS_MAX: usize = 128;
/// Room to read them into.
pub(crate) type Space<'a> = [MaybeUninit<Header<'a>>; HEADERS_MAX];

/// A head that was read.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    pub(crate) reason: &'a str,
    headers: &'a [Header<'a>],
    /// What follows.
    pub(crate) rest: Rest,
    /// The connection can be used again.
    pub(crate) is_kept: bool,
    /// What it holds.
    pub(crate) kind: Kind,
    /// The site itself says what caches may do with it.
    pub(crate) says_caches: bool,
    pub(crate) has_date: bool,
    /// The site names headers that end here.
    lists: bool,
}

/// What is still to come of a body.
#[derive(Debug, Clone)]
pub(crate) enum Rest {
    Bytes(u64),
    Chunks(Chunks),
    /// All until the site ends the connection.
    End,
}

impl Rest {
    /// Looks at bytes of a body; an error where they are none.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<Piece, Fault> {
        match self {
            Rest::Bytes(left) => {
                let length = (*left).min(bytes.len() as u64);
                *left -= length;
                Ok(Piece {
                    skipped: 0,
                    length: length as usize,
                    is_last: *left == 0,
                })
            }
            Rest::Chunks(chunks) => chunks.next(bytes).map_err(|_| Fault("no chunks")),
            Rest::End => Ok(Piece {
                skipped: 0,
                length: bytes.len(),
                is_last: false,
            }),
        }
    }

    /// True where nothing is to come.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Rest::Bytes(0))
    }
}

/// Why an answer is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault(pub(crate) &'static str);

/// An answer to another request than ours.
pub(crate) const UNASKED: Fault = Fault("it switches to what nobody asked for");

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.0)
    }
}

impl std::error::Error for Fault {}

/// Reads a whole head that answers a request, by HEAD or not.
pub(crate) fn read<'a>(
    head: &'a [u8],
    is_head: bool,
    space: &'a mut Space<'a>,
) -> Result<Reply<'a>, Fault> {
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        head,
        space,
    );
    if !matches!(parsed, Ok(httparse::Status::Complete(_))) {
        return Err(Fault("its head is none"));
    }
    let (Some(status @ (101 | 200..)), Some(version)) = (response.code, response.version) else {
        return Err(Fault("its status is none"));
    };
    let headers: &[Header<'a>] = response.headers;
    let mut seen = Seen::default();
    for header in headers {
        seen.header(header)?;
    }
    let is_bare = is_head || matches!(status, 101 | 204 | 304);
    let is_newest = version == 1;
    let rest = seen.rest(is_bare, is_newest)?;
    // Some sites send a body where there is none, and late: on a connection that is used again it would be the next visitor's answer.
    let may_be_late = is_head || is_bare && seen.announces_body();
    Ok(Reply {
        status,
        reason: response.reason.unwrap_or_default(),
        headers,
        is_kept: is_newest && !seen.is_closed && !may_be_late && !matches!(rest, Rest::End),
        rest,
        kind: seen.kind,
        says_caches: seen.says_caches,
        has_date: seen.has_date,
        lists: seen.lists,
    })
}

/// What headers say of the body, the connection and caches.
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
    fn header(&mut self, header: &Header<'_>) -> Result<(), Fault> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            4 if is("date") => self.has_date = true,
            7 if is("expires") => self.says_caches = true,
            12 if is("content-type") => self.kind = self.kind.max(Kind::of(header.value)),
            13 if is("cache-control") => self.says_caches = true,
            14 if is("content-length") => {
                let length = head::number(header.value);
                if length.is_none() || self.length.is_some() {
                    return Err(Fault("its length is none, or one of two"));
                }
                self.length = length;
            }
            17 if is("transfer-encoding") => {
                if self.is_chunked || !header.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Fault("its encoding is not known"));
                }
                self.is_chunked = true;
            }
            10 if is("connection") => {
                for name in header.value.split(|byte| *byte == b',') {
                    let name = name.trim_ascii();
                    let is_close = name.eq_ignore_ascii_case(b"close");
                    self.is_closed |= is_close;
                    self.lists |= !is_close && !name.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn announces_body(&self) -> bool {
        self.is_chunked || self.length.is_some_and(|length| length > 0)
    }

    fn rest(&self, is_bare: bool, is_newest: bool) -> Result<Rest, Fault> {
        match (self.is_chunked, self.length) {
            (true, Some(_)) => Err(Fault("it has a length beside an encoding")),
            (true, None) if !is_newest => Err(Fault("it has an encoding that HTTP/1.0 has not")),
            _ if is_bare => Ok(Rest::Bytes(0)),
            (true, None) => Ok(Rest::Chunks(Chunks::of_site())),
            (false, Some(length)) => Ok(Rest::Bytes(length)),
            (false, None) => Ok(Rest::End),
        }
    }
}

/// What an answer holds, by its content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Kind {
    /// The site does not say.
    #[default]
    None,
    /// What belongs to pages: style sheets, scripts, fonts, pictures, sound and film.
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
        // Servers that do not know a font or a film by its name send it as a stream of bytes.
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

impl<'a> Reply<'a> {
    /// Every header, as it was sent.
    pub(crate) fn all(&self) -> &'a [Header<'a>] {
        self.headers
    }

    /// True where it switches to websockets and to nothing else.
    pub(crate) fn opens_websocket(&self) -> bool {
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

    /// The headers that are for the client.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &'a Header<'a>> {
        let (all, lists) = (self.headers, self.lists);
        // A length where there can be no body is one that somebody might wait for.
        let has_no_length = matches!(self.status, 204 | 304);
        all.iter().filter(move |header| {
            let is_listed = || {
                let connection = all
                    .iter()
                    .filter(|header| header.name.eq_ignore_ascii_case("connection"));
                listed(
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
        let rest = match reply.rest {
            Rest::Bytes(length) => format!("{length} bytes"),
            Rest::Chunks(_) => "chunks".to_owned(),
            Rest::End => "all".to_owned(),
        };
        Ok((rest, reply.is_kept))
    }

    #[test]
    fn how_an_answer_ends() {
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
    fn answers_that_can_be_read_in_two_ways_are_none() {
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
            // What a HEAD is answered with says no more than what a GET is.
            assert!(rest(head, true).is_err(), "{head:?}");
        }
    }

    #[test]
    fn headers_of_the_connection_end_here() {
        let head = b"HTTP/1.1 200 OK\r\nA: 1\r\nConnection: close, B\r\nb: 2\r\nKeep-Alive: 3\r\nC: 4\r\n\r\n";
        let mut space = [MaybeUninit::uninit(); HEADERS_MAX];
        let reply = read(head, false, &mut space).unwrap();
        let names: Vec<&str> = reply.headers().map(|header| header.name).collect();
        assert_eq!(names, ["A", "C"]);
    }
}
