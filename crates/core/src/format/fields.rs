//! Values of single fields: what text formats and JSON lines have in common.

use super::Skip;
use super::time::DateCache;
use crate::request::Field;
use crate::request::Protocol;
use crate::request::Request;

/// Cookies that carry a session in widespread software; the owner can name others.
pub const DEFAULT_SESSION_COOKIES: [&str; 14] = [
    "PHPSESSID",
    "JSESSIONID",
    "ASP.NET_SessionId",
    "sessionid",
    "session_id",
    "session",
    "sid",
    "connect.sid",
    "laravel_session",
    "_session_id",
    "CGISESSID",
    "ci_session",
    "SESS",
    "XSRF-TOKEN",
];

/// The longest client field: a host name has at most 255 bytes.
const SOURCE_MAX: usize = 255;

/// No answer is larger than a petabyte: a larger number is damage.
const BYTES_MAX: u64 = 1 << 50;

/// What one thread keeps between lines.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) dates: DateCache,
    /// Text put together from parts of the line: unescaped JSON, path plus query.
    pub(super) text: Vec<u8>,
    /// Header fields of the line, as [`Headers`](crate::request::Headers) reads them.
    pub(super) headers: Vec<u8>,
    pub(super) session_cookies: Vec<Vec<u8>>,
}

impl Scratch {
    pub(super) fn new(session_cookies: &[String]) -> Scratch {
        let session_cookies = session_cookies
            .iter()
            .map(|name| name.clone().into_bytes())
            .collect();
        Scratch {
            session_cookies,
            ..Scratch::default()
        }
    }
}

pub(super) fn source(text: &[u8]) -> Result<&[u8], Skip> {
    match text {
        b"" | b"-" => Err(Skip::NoSource),
        _ if text.len() > SOURCE_MAX => Err(Skip::LongSource),
        _ => Ok(text),
    }
}

pub(super) fn status(text: &[u8]) -> Result<u16, Skip> {
    match text {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            Ok(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
        }
        _ => Err(Skip::BadStatus),
    }
}

pub(super) fn status_number(number: u64) -> Result<u16, Skip> {
    u16::try_from(number)
        .ok()
        .filter(|status| (100..1000).contains(status))
        .ok_or(Skip::BadStatus)
}

pub(super) fn bytes(text: &[u8]) -> Result<u64, Skip> {
    if text == b"-" {
        return Ok(0);
    }
    if text.is_empty() || text.len() > 16 {
        return Err(Skip::BadBytes);
    }
    let mut number = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(Skip::BadBytes);
        }
        number = number * 10 + u64::from(digit);
    }
    bytes_number(number)
}

pub(super) fn bytes_number(number: u64) -> Result<u64, Skip> {
    if number > BYTES_MAX {
        Err(Skip::BadBytes)
    } else {
        Ok(number)
    }
}

/// A time taken, in the unit given as microseconds per one; `-` and nonsense are simply not known.
pub(super) fn duration_us(text: &[u8], unit_us: f64) -> Option<u64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    duration_number(number, unit_us)
}

pub(super) fn duration_number(number: f64, unit_us: f64) -> Option<u64> {
    let us = number * unit_us;
    (us.is_finite() && us >= 0.0).then_some(us.round() as u64)
}

/// Splits `GET /path HTTP/1.1` into the request's method and target.
pub(super) fn request_line<'a>(text: &'a [u8], request: &mut Request<'a>) -> Result<(), Skip> {
    // Load balancers write a dash for each of the three parts.
    if text.is_empty() || text == b"-" || text.starts_with(b"- ") {
        return Err(Skip::NoRequest);
    }
    let space = memchr::memchr(b' ', text).ok_or(Skip::NotHttp)?;
    let (method, rest) = (&text[..space], &text[space + 1..]);
    // HTTP/0.9 has no protocol; a target with raw spaces keeps them.
    let end = match rest.len().checked_sub(9) {
        Some(at) if rest[at] == b' ' && rest[at + 1..].starts_with(b"HTTP/") => at,
        _ => match memchr::memrchr(b' ', rest) {
            Some(at) if rest[at + 1..].starts_with(b"HTTP/") => at,
            _ => rest.len(),
        },
    };
    request.method = method;
    request.target = &rest[..end];
    request.protocol = Protocol::of(rest.get(end + 1..).unwrap_or_default());
    check_request(request)
}

/// A request is only counted when a server could have understood it.
pub(super) fn check_request(request: &Request<'_>) -> Result<(), Skip> {
    let method = request.method;
    let known = !method.is_empty()
        && method.len() <= 20
        && method
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || *byte == b'-' || *byte == b'_');
    if known && !request.target.is_empty() {
        Ok(())
    } else {
        Err(Skip::NotHttp)
    }
}

/// A target with scheme and host is taken apart: the path is the target, the host the host.
pub(super) fn split_host(request: &mut Request<'_>) {
    let target = request.target;
    let start = match target {
        [b'/', ..] | [b'*'] => return,
        _ if target.starts_with(b"http://") => 7,
        _ if target.starts_with(b"https://") => 8,
        _ => 0,
    };
    let rest = &target[start..];
    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    if !rest[..end].contains(&b'.') {
        return;
    }
    if request.host.value().is_none() {
        request.host = host(&rest[..end]);
    }
    request.target = if end < rest.len() { &rest[end..] } else { b"/" };
}

/// The host without its port.
pub(super) fn host(text: &[u8]) -> Field<'_> {
    let end = match memchr::memrchr(b':', text) {
        Some(at) if text[at + 1..].iter().all(u8::is_ascii_digit) => at,
        _ => text.len(),
    };
    Field::logged(&text[..end])
}

/// The session id inside a `Cookie` header, under one of these names.
///
/// A header with other cookies only says nothing about sessions: not logged.
pub fn session<'a>(header: &'a [u8], names: &[Vec<u8>]) -> Field<'a> {
    let Field::Value(header) = Field::logged(header) else {
        return Field::Empty;
    };
    for pair in header.split(|byte| *byte == b';') {
        // IIS writes blanks as +.
        let pair = pair.strip_prefix(b"+").unwrap_or(pair.trim_ascii_start());
        let Some(equals) = memchr::memchr(b'=', pair) else {
            continue;
        };
        if names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&pair[..equals]))
        {
            return Field::logged(&pair[equals + 1..]);
        }
    }
    Field::NotLogged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines() {
        let check = |text: &str, expected: Result<(&str, &str), Skip>| {
            let mut request = Request::default();
            let found = request_line(text.as_bytes(), &mut request)
                .map(|()| (request.method, request.target));
            assert_eq!(
                found,
                expected.map(|(method, target)| (method.as_bytes(), target.as_bytes())),
                "{text}"
            );
        };
        check("GET / HTTP/1.1", Ok(("GET", "/")));
        check("GET / HTTP/2", Ok(("GET", "/")));
        check("GET /old", Ok(("GET", "/old")));
        check("GET /a b c HTTP/1.0", Ok(("GET", "/a b c")));
        check("get / HTTP/1.1", Err(Skip::NotHttp));
        check("GET", Err(Skip::NotHttp));
        check("moteSubmit=Save", Err(Skip::NotHttp));
        check("", Err(Skip::NoRequest));
    }

    #[test]
    fn sessions() {
        let scratch = Scratch::new(&["sid".to_owned()]);
        assert_eq!(
            session(b"_ga=1; SID=abc; x=2", &scratch.session_cookies),
            Field::Value(b"abc")
        );
        assert_eq!(
            session(b"_ga=1", &scratch.session_cookies),
            Field::NotLogged
        );
        assert_eq!(session(b"-", &scratch.session_cookies), Field::Empty);
    }
}
