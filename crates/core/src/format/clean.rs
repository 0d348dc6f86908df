//! The short way for clean lines of the common and combined formats: no search where a fixed place will do.
//!
//! It reads only what it is sure of. Anything unusual is left to [`super::pattern`], which reads the same line the long
//! way; a property test holds the two against each other.

use super::fields;
use super::fields::Scratch;
use super::time::TimeStyle;
use crate::request::Client;
use crate::request::Field;
use crate::request::Request;
use crate::request::leading_ipv4;

/// Which of the named formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clean {
    pub(super) has_host: bool,
    pub(super) has_agent: bool,
}

impl Clean {
    /// The request of the first line, if that is a clean one, and the bytes after it. `None` says nothing about the line.
    ///
    /// The line's end is not searched for: every step stops at a newline, and the last one meets it.
    #[inline(always)]
    pub(super) fn read<'a>(
        self,
        text: &'a [u8],
        scratch: &mut Scratch,
    ) -> Option<(Request<'a>, &'a [u8])> {
        let mut request = Request::default();
        let mut rest = text;
        if text.starts_with(b"#") {
            return None;
        }
        if self.has_host {
            let (host, after) = word(rest)?;
            (request.host, rest) = (fields::host(host), after);
        }
        let after = match rest.first_chunk().and_then(leading_ipv4) {
            Some((address, length)) => {
                request.client = Client::V4(address);
                &rest[length + 1..]
            }
            None => {
                let (source, after) = word(rest)?;
                request.client = Client::Written(fields::source(source).ok()?);
                after
            }
        };
        let after = after.strip_prefix(b"- - [")?;
        request.user = Field::Empty;
        let (time, after) = after.split_at_checked(26)?;
        request.time = TimeStyle::Clf.read(time, &mut scratch.dates).ok()?;
        let (line, after) = quoted(after.strip_prefix(b"] \"")?)?;
        split_request(line, &mut request)?;
        let (status, after) = after.strip_prefix(b" ")?.split_at_checked(3)?;
        request.status = fields::status(status).ok()?;
        let (bytes, after) = number(after.strip_prefix(b" ")?)?;
        request.bytes = bytes;
        if !self.has_agent {
            return Some((request, end_of_line(after)?));
        }
        let (referrer, after) = quoted(after.strip_prefix(b" \"")?)?;
        request.referrer = Field::logged(referrer);
        let (agent, after) = quoted(after.strip_prefix(b" \"")?)?;
        request.agent = Field::logged(agent);
        Some((request, end_of_line(after)?))
    }
}

/// Up to the next blank, and what follows it. Words are short: a loop beats a search.
#[inline(always)]
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte <= b' ')?;
    (text[end] == b' ').then(|| (&text[..end], &text[end + 1..]))
}

/// Up to a quote that no backslash stands before, in the same line.
#[inline(always)]
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    // Half of all referrers are empty.
    if let [b'-', b'"', rest @ ..] = text {
        return Some((&text[..1], rest));
    }
    let end = memchr::memchr2(b'"', b'\n', text)?;
    let escaped = end > 0 && text[end - 1] == b'\\';
    (text[end] == b'"' && !escaped).then(|| (&text[..end], &text[end + 1..]))
}

/// A size of at most twelve digits.
#[inline(always)]
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    for (at, byte) in text.iter().enumerate().take(13) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (at > 0).then(|| (number, &text[at..]));
        }
        number = number * 10 + u64::from(digit);
    }
    None
}

/// What follows the line; fields that a server appends are passed over.
#[inline(always)]
fn end_of_line(text: &[u8]) -> Option<&[u8]> {
    match text {
        [] => Some(text),
        [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => Some(rest),
        [b' ', ..] => {
            Some(memchr::memchr(b'\n', text).map_or(&text[text.len()..], |at| &text[at + 1..]))
        }
        _ => None,
    }
}

/// `METHOD target HTTP/x.y` with one of the usual methods.
#[inline(always)]
fn split_request<'a>(line: &'a [u8], request: &mut Request<'a>) -> Option<()> {
    let method = match line {
        [b'G', b'E', b'T', b' ', ..] => 3,
        [b'P', b'O', b'S', b'T', b' ', ..] | [b'H', b'E', b'A', b'D', b' ', ..] => 4,
        _ => return None,
    };
    let (target, protocol) =
        line[method + 1..].split_at_checked(line.len().checked_sub(method + 10)?)?;
    if target.is_empty() || !protocol.starts_with(b" HTTP/") {
        return None;
    }
    (request.method, request.target) = (&line[..method], target);
    Some(())
}
