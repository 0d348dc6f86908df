//! The paths that one request target may mean: servers disagree on what they decode, and a rule must hold for each way to read it.

use std::borrow::Cow;

use smallvec::SmallVec;
use smallvec::smallvec;

/// Nearly all paths have one reading.
pub(crate) type Readings<'a> = SmallVec<[Cow<'a, str>; 1]>;

/// Every way in which a site may read a path. The first is the one most servers take.
///
/// A plain path has one reading. Others get more: as nginx reads it (everything decoded, slashes joined, dots followed), as servers of
/// Java programs and Windows do (parameters of segments dropped, backslashes are slashes, what ends a path when it is plain ends it when
/// it was encoded), and both once more for servers that decode twice. A path with `%u002e` is also read as IIS reads it.
pub(crate) fn readings(path: &str) -> Readings<'_> {
    if is_plain(path) {
        return smallvec![Cow::Borrowed(path)];
    }
    let standard = follow_dots(&decode(path, is_unreserved), Slashes::Keep);
    let decoded = decode(path, |_| true);
    let twice = decode(&decoded, |_| true);
    let follow = |path: &str| follow_dots(path, Slashes::Join);
    let of_iis = decode_units(path)
        .or_else(|| decode_units(&decoded))
        .map(|path| {
            let once = decode(&path, |_| true);
            let twice = decode(&once, |_| true);
            [&path, &once, &twice].map(|path| follow(&loosened(path)))
        });
    let mut readings = Readings::new();
    for reading in [
        standard,
        follow(&decoded),
        follow(&loosened(&decoded)),
        follow(&twice),
        follow(&loosened(&twice)),
    ]
    .into_iter()
    .chain(of_iis.into_iter().flatten())
    {
        if !readings.contains(&Cow::Borrowed(reading.as_str())) {
            readings.push(Cow::Owned(reading));
        }
    }
    readings
}

/// A decoded path as the least careful servers read it.
fn loosened(path: &str) -> String {
    let path = path.split(['?', '#', '\0']).next().unwrap_or("");
    path.replace('\\', "/")
        .split('/')
        .map(|segment| segment.split(';').next().unwrap_or(""))
        .collect::<Vec<&str>>()
        .join("/")
}

/// A path with its slashes joined.
pub(crate) fn joined(path: &str) -> Cow<'_, str> {
    match has_pair(path, |second| second == b'/') {
        true => Cow::Owned(follow_dots(path, Slashes::Join)),
        false => Cow::Borrowed(path),
    }
}

/// True where all servers read the same.
fn is_plain(path: &str) -> bool {
    let is_special = |byte: &u8| matches!(byte, b'%' | b'\\' | b';');
    !path.as_bytes().iter().any(is_special)
        && !has_pair(path, |second| matches!(second, b'/' | b'.'))
}

/// True where a slash is followed by one of these. Every request is asked, and a search for a text would have to be prepared each time.
fn has_pair(path: &str, is_second: impl Fn(u8) -> bool) -> bool {
    let is_pair = |two: &[u8]| two[0] == b'/' && is_second(two[1]);
    path.as_bytes().windows(2).any(is_pair)
}

/// Unreserved characters are the same with and without percent signs (RFC 3986, 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Decodes percent signs of chosen bytes.
fn decode(path: &str, chosen: impl Fn(u8) -> bool) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let value = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match value {
            Some(value) if chosen(value) => {
                out.push(value);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Decodes `%uXXXX`, which is in no standard and which IIS reads as a UTF-16 unit; full-width forms become the ASCII letters that Windows
/// takes them for. None where there is nothing of it.
fn decode_units(path: &str) -> Option<String> {
    let mut units = Vec::new();
    let mut has_any = false;
    let mut rest = path;
    while let Some(char) = rest.chars().next() {
        let digits = rest.strip_prefix("%u").or_else(|| rest.strip_prefix("%U"));
        let digits = digits
            .and_then(|rest| rest.get(..4))
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                has_any = true;
                units.push(match unit {
                    0xff01..=0xff5e => unit - 0xfee0,
                    unit => unit,
                });
                rest = &rest[6..];
            }
            None => {
                units.extend(char.encode_utf16(&mut [0; 2]).iter());
                rest = &rest[char.len_utf8()..];
            }
        }
    }
    has_any.then(|| String::from_utf16_lossy(&units))
}

#[derive(Clone, Copy, PartialEq)]
enum Slashes {
    Keep,
    Join,
}

/// Follows `.` and `..`, and joins slashes where asked to.
fn follow_dots(path: &str, slashes: Slashes) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "" if slashes == Slashes::Join && !is_last => {}
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_path_has_it_among_its_readings() {
        for path in [
            "/admin",
            "//admin",
            "/./admin",
            "/x/../admin",
            "/%61dmin",
            "/x/..;/admin",
            "/..%2fadmin",
            "/public/..%2fadmin",
            "/\\admin",
            "/%2561dmin",
            "/x/%2e%2e/admin",
            "/;/admin",
            "/admin;x=1",
            "/admin%00.css",
            "/admin%3fx",
            "/admin%23x",
            "/x/..%5cadmin",
            "/x%252f..%253b%252fadmin",
            "/x/%u002e%u002e/admin",
            "/x/%U002E%u002e%u002fadmin",
            "/%u0061dmin",
            "/x/%uff0e%uff0e%uff0fadmin",
            "/x%u005c..%u005cadmin",
            "/%25u0061dmin",
        ] {
            assert!(
                readings(path).iter().any(|reading| reading == "/admin"),
                "{path}: {:?}",
                readings(path)
            );
        }
        for path in ["/admin/.", "/admin/", "/admin%2f"] {
            assert!(
                readings(path).iter().any(|reading| reading == "/admin/"),
                "{path}: {:?}",
                readings(path)
            );
        }
    }

    #[test]
    fn a_plain_path_is_read_in_one_way() {
        assert_eq!(readings("/a/b.html").as_slice(), ["/a/b.html"]);
        assert_eq!(readings("/").as_slice(), ["/"]);
        assert_eq!(readings("/a%20b").as_slice(), ["/a%20b", "/a b"]);
        // What only looks like it is left alone.
        assert_eq!(readings("/%u00g0/%u1").as_slice(), ["/%u00g0/%u1"]);
    }
}
