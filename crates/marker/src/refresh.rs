//! The address in a `Refresh` header field or a `<meta http-equiv=refresh>` (HTML Standard, "shared declarative refresh steps").

use std::ops::Range;

/// Where the address stands; `None` where there is none, which reloads the page itself.
pub(crate) fn address(text: &[u8]) -> Option<Range<usize>> {
    let mut at = skip(text, 0, is_space);
    let digits = skip(text, at, |byte| byte.is_ascii_digit());
    if digits == at && text.get(at) != Some(&b'.') {
        return None;
    }
    at = skip(text, digits, |byte| byte.is_ascii_digit() || byte == b'.');
    if !text
        .get(at)
        .is_some_and(|byte| matches!(byte, b';' | b',') || is_space(*byte))
    {
        return None;
    }
    at = skip(text, at, is_space);
    if matches!(text.get(at), Some(b';' | b',')) {
        at += 1;
    }
    at = skip(text, at, is_space);
    let start = match keyword(text, at) {
        Keyword::Absent => at,
        Keyword::Partial => return found(at..text.len()),
        Keyword::Until(start) => start,
    };
    match text.get(start) {
        Some(quote @ (b'"' | b'\'')) => {
            let rest = &text[start + 1..];
            let length = memchr::memchr(*quote, rest).unwrap_or(rest.len());
            found(start + 1..start + 1 + length)
        }
        _ => found(start..text.len()),
    }
}

fn found(range: Range<usize>) -> Option<Range<usize>> {
    Some(range).filter(|range| !range.is_empty())
}

/// What became of `url=`.
enum Keyword {
    Absent,
    /// It begins like it, and is part of the address.
    Partial,
    Until(usize),
}

fn keyword(text: &[u8], at: usize) -> Keyword {
    let is = |index: usize, letter: u8| {
        text.get(at + index)
            .is_some_and(|byte| byte.eq_ignore_ascii_case(&letter))
    };
    if !is(0, b'u') {
        return Keyword::Absent;
    }
    if !is(1, b'r') || !is(2, b'l') {
        return Keyword::Partial;
    }
    let equals = skip(text, at + 3, is_space);
    match text.get(equals) {
        Some(b'=') => Keyword::Until(skip(text, equals + 1, is_space)),
        _ => Keyword::Partial,
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

fn skip(text: &[u8], from: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let length = rest.iter().position(|byte| !is_skipped(*byte));
    from + length.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_as_the_standard_says() {
        for (text, expected) in [
            ("5; url=/x", Some("/x")),
            ("0;URL='/x' y", Some("/x")),
            ("0;url=\"/x", Some("/x")),
            (" 5.5 , url = /x ", Some("/x ")),
            ("5 /x", Some("/x")),
            ("5;/x", Some("/x")),
            (".5;urn", Some("urn")),
            ("5;url/x", Some("url/x")),
            ("5;'/x'", Some("/x")),
            ("5", None),
            ("5;", None),
            ("5; url=", None),
            ("x;url=/x", None),
            ("5x;url=/x", None),
            ("", None),
        ] {
            let range = address(text.as_bytes());
            assert_eq!(range.map(|range| &text[range]), expected, "{text}");
        }
    }
}
