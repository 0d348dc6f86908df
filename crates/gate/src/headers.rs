//! The headers of a request: as the HTTP library holds them, or as they stand in a head that it has not seen; and how they are written.

use hyper::HeaderMap;
use hyper::header;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;

/// Headers that the gate itself looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Name {
    Accept,
    AcceptLanguage,
    Connection,
    ContentLength,
    Cookie,
    Expect,
    Forwarded,
    Host,
    HxRequest,
    Referer,
    SecFetchDest,
    SecWebsocketKey,
    UserAgent,
    /// What was decided before, by a server that now wants the page to show.
    XCattlegridShow,
    /// The header that proxies append the address of their client to.
    XForwardedFor,
    XForwardedHost,
    XForwardedMethod,
    /// The header in which they say whether it came by TLS.
    XForwardedProto,
    XForwardedUri,
    XOriginalHost,
    XOriginalMethod,
    XOriginalUri,
    XRealIp,
    XRequestedWith,
}

const NAMES: usize = 24;

/// Each name, and its header.
static HEADERS: [(Name, HeaderName); NAMES] = [
    (Name::Accept, header::ACCEPT),
    (Name::AcceptLanguage, header::ACCEPT_LANGUAGE),
    (Name::Connection, header::CONNECTION),
    (Name::ContentLength, header::CONTENT_LENGTH),
    (Name::Cookie, header::COOKIE),
    (Name::Expect, header::EXPECT),
    (Name::Forwarded, header::FORWARDED),
    (Name::Host, header::HOST),
    (Name::HxRequest, HeaderName::from_static("hx-request")),
    (Name::Referer, header::REFERER),
    (
        Name::SecFetchDest,
        HeaderName::from_static("sec-fetch-dest"),
    ),
    (Name::SecWebsocketKey, header::SEC_WEBSOCKET_KEY),
    (Name::UserAgent, header::USER_AGENT),
    (
        Name::XCattlegridShow,
        HeaderName::from_static("x-cattlegrid-show"),
    ),
    (
        Name::XForwardedFor,
        HeaderName::from_static("x-forwarded-for"),
    ),
    (
        Name::XForwardedHost,
        HeaderName::from_static("x-forwarded-host"),
    ),
    (
        Name::XForwardedMethod,
        HeaderName::from_static("x-forwarded-method"),
    ),
    (
        Name::XForwardedProto,
        HeaderName::from_static("x-forwarded-proto"),
    ),
    (
        Name::XForwardedUri,
        HeaderName::from_static("x-forwarded-uri"),
    ),
    (
        Name::XOriginalHost,
        HeaderName::from_static("x-original-host"),
    ),
    (
        Name::XOriginalMethod,
        HeaderName::from_static("x-original-method"),
    ),
    (
        Name::XOriginalUri,
        HeaderName::from_static("x-original-uri"),
    ),
    (Name::XRealIp, HeaderName::from_static("x-real-ip")),
    (
        Name::XRequestedWith,
        HeaderName::from_static("x-requested-with"),
    ),
];

impl Name {
    /// As the library knows it.
    pub(crate) fn header(self) -> &'static HeaderName {
        &HEADERS[self as usize].1
    }

    /// In small letters.
    pub(crate) fn as_str(self) -> &'static str {
        self.header().as_str()
    }

    /// The name that these letters spell, if it is one of these. Every header of every request is asked for.
    fn of(letters: &[u8]) -> Option<Name> {
        let first = letters.first()? | 0x20;
        // Whose length and first letter are the same.
        let alike: &[(&[u8], Name)] = match (letters.len(), first) {
            (4, b'h') => &[(b"host", Name::Host)],
            (6, b'a') => &[(b"accept", Name::Accept)],
            (6, b'c') => &[(b"cookie", Name::Cookie)],
            (6, b'e') => &[(b"expect", Name::Expect)],
            (7, b'r') => &[(b"referer", Name::Referer)],
            (9, b'f') => &[(b"forwarded", Name::Forwarded)],
            (9, b'x') => &[(b"x-real-ip", Name::XRealIp)],
            (10, b'c') => &[(b"connection", Name::Connection)],
            (10, b'h') => &[(b"hx-request", Name::HxRequest)],
            (10, b'u') => &[(b"user-agent", Name::UserAgent)],
            (14, b'c') => &[(b"content-length", Name::ContentLength)],
            (14, b's') => &[(b"sec-fetch-dest", Name::SecFetchDest)],
            (14, b'x') => &[(b"x-original-uri", Name::XOriginalUri)],
            (15, b'a') => &[(b"accept-language", Name::AcceptLanguage)],
            (15, b'x') => &[
                (b"x-forwarded-for", Name::XForwardedFor),
                (b"x-original-host", Name::XOriginalHost),
                (b"x-forwarded-uri", Name::XForwardedUri),
            ],
            (16, b'x') => &[
                (b"x-forwarded-host", Name::XForwardedHost),
                (b"x-requested-with", Name::XRequestedWith),
            ],
            (17, b's') => &[(b"sec-websocket-key", Name::SecWebsocketKey)],
            (17, b'x') => &[
                (b"x-forwarded-proto", Name::XForwardedProto),
                (b"x-original-method", Name::XOriginalMethod),
                (b"x-cattlegrid-show", Name::XCattlegridShow),
            ],
            (18, b'x') => &[(b"x-forwarded-method", Name::XForwardedMethod)],
            _ => return None,
        };
        let found = alike.iter().find(|(name, _)| spells(letters, name));
        found.map(|(_, name)| *name)
    }
}

/// True where letters of a token spell a name of as many small letters and hyphens. Of all bytes of tokens only a capital becomes a small
/// letter by this bit, and none becomes a hyphen: so eight are compared at a time.
fn spells(letters: &[u8], name: &[u8]) -> bool {
    const SMALL: u64 = 0x2020_2020_2020_2020;
    let (eights, rest) = letters.as_chunks::<8>();
    let (name_eights, name_rest) = name.as_chunks::<8>();
    let are_alike = |(eight, name): (&[u8; 8], &[u8; 8])| {
        u64::from_ne_bytes(*eight) | SMALL == u64::from_ne_bytes(*name)
    };
    eights.iter().zip(name_eights).all(are_alike)
        && rest
            .iter()
            .zip(name_rest)
            .all(|(letter, name)| letter | 0x20 == *name)
}

/// One header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// In the letters in which it was sent.
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
    /// Which of ours it is.
    pub(crate) known: Option<Name>,
}

impl<'a> Line<'a> {
    fn new(name: &'a [u8], value: &'a [u8]) -> Line<'a> {
        Line {
            name,
            value,
            known: Name::of(name),
        }
    }
}

/// The headers of one head, in their order.
#[derive(Debug, Default)]
pub struct Lines<'a> {
    lines: Vec<Line<'a>>,
    /// Behind how many lines the first of each name stands; 0 for none.
    first: [u8; NAMES],
    /// The names that were sent more than once.
    repeated: u32,
}

/// More headers than this has no plain request.
pub(crate) const LINES_MAX: usize = 64;

impl<'a> Lines<'a> {
    /// None yet, with room for as many as browsers send.
    pub(crate) fn new() -> Lines<'a> {
        Lines {
            lines: Vec::with_capacity(24),
            ..Lines::default()
        }
    }

    /// Adds a line; false where there are too many.
    pub(crate) fn add(&mut self, name: &'a [u8], value: &'a [u8]) -> bool {
        let line = Line::new(name, value);
        self.lines.push(line);
        if let Some(name) = line.known {
            let name = name as usize;
            match self.first[name] {
                0 => self.first[name] = self.lines.len() as u8,
                _ => self.repeated |= 1 << name,
            }
        }
        self.lines.len() <= LINES_MAX
    }

    /// The lines in which those of a name are.
    fn around(&self, name: Name) -> &[Line<'a>] {
        match self.first[name as usize] {
            0 => &[],
            at if self.repeated & 1 << name as usize == 0 => {
                std::slice::from_ref(&self.lines[usize::from(at) - 1])
            }
            at => &self.lines[usize::from(at) - 1..],
        }
    }
}

/// All headers of one request.
#[derive(Debug, Clone, Copy)]
pub enum Headers<'a> {
    /// In the library's table.
    Map(&'a HeaderMap),
    /// One by one, in their order.
    Raw(&'a Lines<'a>),
}

impl<'a> From<&'a HeaderMap> for Headers<'a> {
    fn from(map: &'a HeaderMap) -> Headers<'a> {
        Headers::Map(map)
    }
}

impl<'a> Headers<'a> {
    /// The values of all headers of a name.
    pub(crate) fn all(self, name: Name) -> impl Iterator<Item = &'a [u8]> {
        let (map, raw) = match self {
            Headers::Map(map) => (Some(map.get_all(name.header())), &[][..]),
            Headers::Raw(lines) => (None, lines.around(name)),
        };
        let of_raw = raw.iter().filter(move |line| line.known == Some(name));
        map.into_iter()
            .flat_map(|all| all.iter())
            .map(HeaderValue::as_bytes)
            .chain(of_raw.map(|line| line.value))
    }

    /// The same for any header.
    pub(crate) fn all_named<'n>(
        self,
        name: &'n HeaderName,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let letters = name.as_str().as_bytes();
        self.iter()
            .filter(move |line| line.name.eq_ignore_ascii_case(letters))
            .map(|line| line.value)
    }

    /// All of them.
    pub(crate) fn iter(self) -> impl Iterator<Item = Line<'a>> {
        let (map, raw) = match self {
            Headers::Map(map) => (Some(map), &[][..]),
            Headers::Raw(lines) => (None, &lines.lines[..]),
        };
        map.into_iter()
            .flat_map(HeaderMap::iter)
            .map(|(name, value)| Line::new(name.as_str().as_bytes(), value.as_bytes()))
            .chain(raw.iter().copied())
    }

    /// The value of the first header of a name.
    pub(crate) fn get(self, name: Name) -> Option<&'a [u8]> {
        match self {
            Headers::Map(map) => map.get(name.header()).map(HeaderValue::as_bytes),
            Headers::Raw(lines) => lines.around(name).first().map(|line| line.value),
        }
    }

    /// True where there is a header of a name.
    pub(crate) fn has(self, name: Name) -> bool {
        self.get(name).is_some()
    }
}

/// Writes the first line of an answer.
pub(crate) fn write_status(status: u16, reason: &str, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(digits.format(status).as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes a header.
pub(crate) fn write(name: impl AsRef<[u8]>, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_ref());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_letters() {
        for (at, (name, header)) in HEADERS.iter().enumerate() {
            assert_eq!(*name as usize, at);
            assert_eq!(Name::of(header.as_str().as_bytes()), Some(*name));
            let loud = header.as_str().to_ascii_uppercase();
            assert_eq!(Name::of(loud.as_bytes()), Some(*name));
        }
        assert_eq!(Name::of(b""), None);
        // Names that differ in one byte, whichever a token may have there.
        for (name, header) in &HEADERS {
            for at in 0..header.as_str().len() {
                for byte in b"!#$%&'*+-.^_`|~09azAZ" {
                    let mut letters = header.as_str().as_bytes().to_vec();
                    letters[at] = *byte;
                    let is_name = letters.eq_ignore_ascii_case(header.as_str().as_bytes());
                    assert_eq!(Name::of(&letters) == Some(*name), is_name, "{letters:?}");
                }
            }
        }
    }

    #[test]
    fn lines_are_found_as_the_library_finds_them() {
        let sent = [
            ("Cookie", "a"),
            ("X-A", "1"),
            ("COOKIE", "b"),
            ("Host", "x"),
            ("cookie", "c"),
        ];
        let (mut lines, mut map) = (Lines::default(), HeaderMap::new());
        for (name, value) in sent {
            assert!(lines.add(name.as_bytes(), value.as_bytes()));
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_static(value));
        }
        let (raw, map) = (Headers::Raw(&lines), Headers::Map(&map));
        for (name, header) in &HEADERS {
            let all = |headers: Headers<'_>| {
                let found = headers.all(*name).map(<[u8]>::to_vec);
                let named = headers.all_named(header).map(<[u8]>::to_vec);
                (found.collect::<Vec<_>>(), named.collect::<Vec<_>>())
            };
            assert_eq!(all(raw), all(map), "{name:?}");
            assert_eq!(raw.get(*name), map.get(*name));
        }
    }
}
