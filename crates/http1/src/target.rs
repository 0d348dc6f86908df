//! Targets of requests (RFC 9112, 3.2): a path with its query, an absolute address, or `*`.

use http::Method;

/// The target has no path, or holds an invalid byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTarget;

/// The authority of a target, where it has one, and its path with the query.
pub(crate) fn read<'a>(
    target: &'a [u8],
    method: &Method,
) -> Result<(Option<&'a [u8]>, &'a str), InvalidTarget> {
    match target {
        [b'/', ..] => Ok((None, path(target)?)),
        b"*" => Ok((None, "*")),
        // Whatever it names: the gate opens no tunnels to other servers.
        _ if *method == Method::CONNECT => Ok((None, "*")),
        _ => absolute(target),
    }
}

/// A path with its query, as a request line can hold it, without a fragment; `None` for anything else.
pub fn origin_form(target: &[u8]) -> Option<&str> {
    let target = Some(target).filter(|target| target.starts_with(b"/"))?;
    path(target).ok()
}

/// `http://authority/path?query`.
fn absolute(target: &[u8]) -> Result<(Option<&[u8]>, &str), InvalidTarget> {
    let colon = memchr::memchr(b':', target).ok_or(InvalidTarget)?;
    let (scheme, rest) = target.split_at(colon);
    let is_scheme = matches!(scheme.first(), Some(b'a'..=b'z' | b'A'..=b'Z'))
        && scheme
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let rest = rest.strip_prefix(b"://").ok_or(InvalidTarget)?;
    if !is_scheme {
        return Err(InvalidTarget);
    }
    let end = rest
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    let (authority, rest) = rest.split_at(end.unwrap_or(rest.len()));
    if !authority.iter().all(is_authority) {
        return Err(InvalidTarget);
    }
    match rest.first() {
        None => Ok((Some(authority), "/")),
        Some(b'#') => path(rest).map(|_| (Some(authority), "/")),
        Some(b'/') => Ok((Some(authority), path(rest)?)),
        // No site is told of a path that its client did not send.
        Some(_) => Err(InvalidTarget),
    }
}

/// True for a byte of an authority (RFC 3986, 3.2).
fn is_authority(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@[]%".contains(byte)
}

/// A path with its query. A fragment is never sent on.
fn path(target: &[u8]) -> Result<&str, InvalidTarget> {
    // Nearly every target has none but these bytes.
    if target.iter().all(|byte| BYTES[usize::from(*byte)] == USUAL) {
        return std::str::from_utf8(target).map_err(|_| InvalidTarget);
    }
    // Bytes above 0x7f are passed on where they are text.
    let text = std::str::from_utf8(target).map_err(|_| InvalidTarget)?;
    let fragment = memchr::memchr(b'#', target).unwrap_or(target.len());
    let query = memchr::memchr(b'?', &target[..fragment]).unwrap_or(fragment);
    let has = |bytes: &[u8], class: u8| {
        bytes
            .iter()
            .any(|byte| BYTES[usize::from(*byte)] & class != 0)
    };
    match has(&target[..query], NOT_IN_PATH) || has(&target[query..], NOT_IN_QUERY) {
        true => Err(InvalidTarget),
        false => Ok(&text[..fragment]),
    }
}

const USUAL: u8 = 0;
const NOT_IN_PATH: u8 = 1;
const NOT_IN_QUERY: u8 = 2;
/// Needs a second look, but may stand anywhere.
const UNUSUAL: u8 = 4;

/// The classes of all bytes. They are those of the `http` crate, which reads the targets of HTTP/2.
static BYTES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        classes[at] = match byte {
            0..=b' ' | b'<' | b'>' | 0x7f => NOT_IN_PATH | NOT_IN_QUERY,
            b'`' => NOT_IN_PATH,
            b'"' => NOT_IN_QUERY,
            b'#' | 0x80.. => UNUSUAL,
            _ => USUAL,
        };
        at += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Option<(Option<&str>, &str)> {
        let (authority, path) = read(text.as_bytes(), &Method::GET).ok()?;
        Some((
            authority.map(|name| std::str::from_utf8(name).unwrap()),
            path,
        ))
    }

    #[test]
    fn targets_of_all_forms() {
        for (text, expected) in [
            ("/", Some((None, "/"))),
            ("/a?b=/c#d", Some((None, "/a?b=/c"))),
            ("/\u{e4}", Some((None, "/\u{e4}"))),
            ("*", Some((None, "*"))),
            ("http://a.example/b?c", Some((Some("a.example"), "/b?c"))),
            ("https://a.example:80", Some((Some("a.example:80"), "/"))),
            ("http://a.example#b", Some((Some("a.example"), "/"))),
            ("http://a.example?b", None),
            ("http://a\u{e4}/", None),
            ("http://a#b<", None),
            ("/a#b c", None),
            ("http://a\"b/", None),
            ("http:/a", None),
            ("a.example:80", None),
            ("1http://a/", None),
            ("", None),
            ("a", None),
            ("**", None),
            ("/a b", None),
            ("/<", None),
            ("/`", None),
            ("/?`", Some((None, "/?`"))),
            ("/?\"", None),
        ] {
            assert_eq!(target(text), expected, "{text:?}");
        }
    }

    /// Every byte, in a path and in a query, is read as the library reads it that serves HTTP/2.
    #[test]
    fn bytes_are_those_of_the_http_crate() {
        for byte in 0..=0xff_u8 {
            for (before, after) in [(&b"/a"[..], &b"b"[..]), (b"/?a", b"b"), (b"/", b"")] {
                let text = [before, &[byte], after].concat();
                let theirs = http::uri::PathAndQuery::try_from(&text[..]);
                let ours = read(&text, &Method::GET);
                match (&ours, &theirs) {
                    (Ok((_, ours)), Ok(theirs)) => assert_eq!(*ours, theirs.as_str()),
                    (Err(_), Err(_)) => {}
                    _ => panic!("{text:?}: {ours:?} {theirs:?}"),
                }
            }
        }
    }
}
