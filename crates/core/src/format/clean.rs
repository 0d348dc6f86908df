//! The short way for clean lines of the common and combined formats: no search where a fixed place will do.
//!
//! It reads only what it is sure of. Anything unusual is left to [`super::pattern`], which reads the same line the long
//! way; a property test holds the two against each other.

use super::fields;
use super::fields::Scratch;
use super::marks::Marks;
use super::time::clf;
use crate::request::Client;
use crate::request::Field;
use crate::request::Protocol;
use crate::request::Request;
use crate::request::leading_ipv4;

/// Which of the named formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clean {
    pub(super) has_host: bool,
    pub(super) has_agent: bool,
}

impl Clean {
    /// Reads the line that begins at `start` into an empty request, if it is a clean one, and says where the next line begins.
    /// `None` says nothing about the line, and leaves half a request.
    ///
    /// The request is filled in place: handed back by value it was copied once more for each line, 76 instructions of 2,140.
    /// `marks` stand at the line's start. The line's end is not searched for: it is the mark after the last quote.
    #[inline(always)]
    pub(super) fn read<'a>(
        self,
        text: &'a [u8],
        start: usize,
        marks: &mut Marks,
        scratch: &mut Scratch,
        request: &mut Request<'a>,
    ) -> Option<usize> {
        let mut rest = &text[start..];
        if rest.starts_with(b"#") {
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
        request.time = clf(time, &mut scratch.dates).ok()?;
        let after = after.strip_prefix(b"] ")?;
        let (line, after) = quoted(text, text.len() - after.len(), marks)?;
        split_request(line, request)?;
        let (status, after) = after.strip_prefix(b" ")?.split_at_checked(3)?;
        request.status = fields::status(status).ok()?;
        let (bytes, mut after) = number(after.strip_prefix(b" ")?)?;
        request.bytes = bytes;
        if self.has_agent {
            let (referrer, agent);
            after = after.strip_prefix(b" ")?;
            (referrer, after) = quoted(text, text.len() - after.len(), marks)?;
            request.referrer = Field::logged(referrer);
            after = after.strip_prefix(b" ")?;
            (agent, after) = quoted(text, text.len() - after.len(), marks)?;
            request.agent = Field::logged(agent);
        }
        end_of_line(text, text.len() - after.len(), marks)
    }
}

/// Up to the next blank, and what follows it. Words are short: a loop beats a search.
#[inline(always)]
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte <= b' ')?;
    (text[end] == b' ').then(|| (&text[..end], &text[end + 1..]))
}

/// What stands between a quote at `open` and the next one that no backslash stands before, in the same line, and what
/// follows.
#[inline(always)]
fn quoted<'a>(text: &'a [u8], open: usize, marks: &mut Marks) -> Option<(&'a [u8], &'a [u8])> {
    if marks.next(text)? != open || text[open] != b'"' {
        return None;
    }
    let close = marks.next(text)?;
    let (inside, rest) = text.get(open + 1..)?.split_at_checked(close - open - 1)?;
    match rest {
        [b'"', after @ ..] if !inside.ends_with(b"\\") => Some((inside, after)),
        _ => None,
    }
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

/// Where the next line begins, when all fields end at `at`; fields that a server appends are passed over.
#[inline(always)]
fn end_of_line(text: &[u8], at: usize, marks: &mut Marks) -> Option<usize> {
    if !matches!(&text[at..], [] | [b'\n' | b' ', ..] | [b'\r', b'\n', ..]) {
        return None;
    }
    while let Some(mark) = marks.next(text) {
        if text[mark] == b'\n' {
            return Some(mark + 1);
        }
    }
    Some(text.len())
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
    request.protocol = Protocol::of(&protocol[1..]);
    Some(())
}
