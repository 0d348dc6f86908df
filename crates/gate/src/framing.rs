//! Requests that can be read in two ways are refused, and headers that belong to one connection end there.

use hyper::HeaderMap;
use hyper::Method;
use hyper::Request;
use hyper::Version;
use hyper::header::CONNECTION;
use hyper::header::CONTENT_LENGTH;
use hyper::header::COOKIE;
use hyper::header::EXPECT;
use hyper::header::HOST;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;
use hyper::header::TE;
use hyper::header::TRAILER;
use hyper::header::TRANSFER_ENCODING;
use hyper::header::UPGRADE;
use smallvec::SmallVec;

use crate::defence::Defence;
use crate::defence::Defences;
use crate::host;

/// Why a request is refused before anything else is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Its body's length can be read in two ways, or in none.
    Length,
    /// It names no host, two, or one that is none.
    Host,
    /// Its target is none that a site has.
    Target,
    /// A method that a gate does not carry out.
    Method,
    /// It expects what nobody does.
    Expectation,
    /// Its head is too large.
    HeadSize,
}

impl Doubt {
    /// The name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Doubt::Length => "length",
            Doubt::Host => "host",
            Doubt::Target => "target",
            Doubt::Method => "method",
            Doubt::Expectation => "expectation",
            Doubt::HeadSize => "head_size",
        }
    }
}

/// Bytes of a head that are taken: headers, and the target alone.
const HEAD_MAX: usize = 64 * 1024;
pub(crate) const TARGET_MAX: usize = 16 * 1024;

/// Headers of one connection (RFC 9110, 7.6.1).
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authenticate"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Headers by which the site learns what the gate knows. What a client sends under these names is taken out.
const OURS: [&str; 14] = [
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "cf-connecting-ip",
    "fastly-client-ip",
    "true-client-ip",
    "forwarded",
    "x-original-uri",
    "x-original-url",
    "x-original-host",
    "x-original-forwarded-for",
    "x-original-method",
    "x-rewrite-url",
];

/// Refuses what can be read in two ways, and gives the canonical host.
pub(crate) fn check<B>(request: &Request<B>, defences: &Defences) -> Result<String, Doubt> {
    let headers = request.headers();
    if defences.has(Defence::Framing) {
        check_length(request)?;
    }
    if defences.has(Defence::HeadSize) {
        let size: usize = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        let target = request
            .uri()
            .path_and_query()
            .map_or(0, |target| target.as_str().len());
        if size > HEAD_MAX || target > TARGET_MAX {
            return Err(Doubt::HeadSize);
        }
    }
    if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
        return Err(Doubt::Method);
    }
    let expected = headers.get(EXPECT).map(HeaderValue::as_bytes);
    if expected.is_some_and(|expected| !expected.eq_ignore_ascii_case(b"100-continue")) {
        return Err(Doubt::Expectation);
    }
    let is_options = request.method() == Method::OPTIONS && request.uri().path() == "*";
    if !request.uri().path().starts_with('/') && !is_options {
        return Err(Doubt::Target);
    }
    check_host(request, defences)
}

fn check_length<B>(request: &Request<B>) -> Result<(), Doubt> {
    let headers = request.headers();
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let mut encodings = headers.get_all(TRANSFER_ENCODING).iter();
    let (length, encoding) = (lengths.next(), encodings.next());
    let is_doubled = lengths.next().is_some() || encodings.next().is_some();
    if is_doubled || (length.is_some() && encoding.is_some()) {
        return Err(Doubt::Length);
    }
    if length.is_some_and(|length| {
        length.is_empty() || !length.as_bytes().iter().all(u8::is_ascii_digit)
    }) {
        return Err(Doubt::Length);
    }
    let is_old = request.version() < Version::HTTP_11;
    if encoding
        .is_some_and(|encoding| is_old || !encoding.as_bytes().eq_ignore_ascii_case(b"chunked"))
    {
        return Err(Doubt::Length);
    }
    Ok(())
}

/// The host, canonical. An absolute target's authority goes before the header (RFC 9112, 3.2.2).
fn check_host<B>(request: &Request<B>, defences: &Defences) -> Result<String, Doubt> {
    let mut sent = request.headers().get_all(HOST).iter();
    let first = sent.next().map(HeaderValue::as_bytes);
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    if defences.has(Defence::Host) {
        let is_two = sent.next().is_some();
        // HTTP/2 may name the host twice, but not two hosts.
        let differs = request.version() == Version::HTTP_2
            && matches!((first, authority), (Some(first), Some(authority)) if !first.eq_ignore_ascii_case(authority));
        if is_two
            || differs
            || (first.is_none() && (authority.is_none() || request.version() == Version::HTTP_11))
        {
            return Err(Doubt::Host);
        }
        let is_looked_at_below = authority.is_none() && defences.has(Defence::HostSpelling);
        if !is_looked_at_below && first.is_some_and(|first| host::canonical(first).is_none()) {
            return Err(Doubt::Host);
        }
    }
    let named = authority.or(first).unwrap_or_default();
    match defences.has(Defence::HostSpelling) {
        true => host::canonical(named)
            .map(|host| host.into_owned())
            .ok_or(Doubt::Host),
        false => Ok(String::from_utf8_lossy(named).into_owned()),
    }
}

/// The upgrade that a request asks for, if it is one we pass on.
pub(crate) fn websocket<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    if !headers.contains_key(UPGRADE) {
        return false;
    }
    // What follows a head was found out by the guard before: a websocket has no body.
    let has_body = headers.contains_key(TRANSFER_ENCODING)
        || headers
            .get(CONTENT_LENGTH)
            .is_some_and(|length| length.as_bytes().iter().any(|digit| *digit != b'0'));
    request.version() == Version::HTTP_11
        && request.method() == Method::GET
        && !has_body
        && lists(request.headers(), &CONNECTION, b"upgrade")
        && lists(request.headers(), &UPGRADE, b"websocket")
}

/// True where a header lists a token.
pub(crate) fn lists(headers: &HeaderMap, name: &HeaderName, token: &[u8]) -> bool {
    headers
        .get_all(name)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .any(|value| value.trim_ascii().eq_ignore_ascii_case(token))
}

/// True for a header of one connection (RFC 9110, 7.6.1), in any letters.
pub(crate) fn is_hop_by_hop(name: &[u8]) -> bool {
    // Their lengths: most names have another.
    matches!(name.len(), 2 | 7 | 10 | 16..=18)
        && HOP_BY_HOP
            .iter()
            .any(|hop| hop.as_str().as_bytes().eq_ignore_ascii_case(name))
}

/// True where one of these `Connection` headers lists a name.
pub(crate) fn listed<'a>(connection: impl Iterator<Item = &'a [u8]>, name: &[u8]) -> bool {
    // The host and what the gate itself reads are no headers of a connection, whatever a client says.
    let is_always_kept = [HOST, COOKIE, CONTENT_LENGTH]
        .iter()
        .any(|kept| kept.as_str().as_bytes().eq_ignore_ascii_case(name));
    !is_always_kept
        && connection
            .flat_map(|value| value.split(|byte| *byte == b','))
            .any(|listed| listed.trim_ascii().eq_ignore_ascii_case(name))
}

/// True for a header that only the gate may set, in every spelling that a site may read as one: some take `_` for `-`, and some any
/// sign. A length in such a spelling is one that the gate has not read.
pub(crate) fn is_spoofed(name: &[u8], is_trusted: bool) -> bool {
    // Nearly all headers of a browser begin with none of these letters.
    let may_be = matches!(
        name.first(),
        Some(b'x' | b'c' | b't' | b'f' | b'X' | b'C' | b'T' | b'F')
    );
    if !may_be {
        return false;
    }
    let is_sign = |letter: &u8| !letter.is_ascii_alphanumeric() && *letter != b'-';
    let mut plain = SmallVec::<[u8; 64]>::from_slice(name);
    plain.make_ascii_lowercase();
    let has_sign = plain.iter().any(is_sign);
    for letter in plain.iter_mut().filter(|letter| is_sign(letter)) {
        *letter = b'-';
    }
    let is_ours = is_ours(&plain);
    match has_sign {
        true => {
            let is_framing = [CONTENT_LENGTH, TRANSFER_ENCODING]
                .iter()
                .any(|framing| framing.as_str().as_bytes() == &plain[..]);
            is_ours || is_framing
        }
        // A trusted proxy may say what it knows; the chain of addresses is extended later.
        false => is_ours && (!is_trusted || plain.starts_with(b"x-cattlegrid-")),
    }
}

fn is_ours(name: &[u8]) -> bool {
    name.starts_with(b"x-forwarded-")
        || name.starts_with(b"x-cattlegrid-")
        || OURS.iter().any(|ours| ours.as_bytes() == name)
}
