//! The short way for clean lines of the common and combined formats: no search where a fixed place will do.
//!
//! It reads only what it is sure of. Anything unusual is left to [`super::pattern`], which reads the same line the long
//! way; a property test holds the two against each other.

use super::fields;
use super::fields::Scratch;
use super::time::TimeStyle;
use crate::request::Field;
use crate::request::Request;

/// Which of the named formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clean {
    pub(super) has_host: bool,
    pub(super) has_agent: bool,
}

impl Clean {
    /// The request of a clean line; `None` says nothing about any other.
    pub(super) fn read<'a>(self, line: &'a [u8], scratch: &mut Scratch) -> Option<Request<'a>> {
        let mut request = Request::default();
        let mut rest = line;
        if self.has_host {
            let (host, after) = word(rest)?;
            (request.host, rest) = (fields::host(host), after);
        }
        let (source, after) = word(rest)?;
        request.source = fields::source(source).ok()?;
        rest = after.strip_prefix(b"- - [")?;
        request.user = Field::Empty;
        let (time, after) = rest.split_at_checked(26)?;
        request.time = TimeStyle::Clf.read(time, &mut scratch.dates).ok()?;
        let (line, after) = quoted(after.strip_prefix(b"] \"")?)?;
        split_request(line, &mut request)?;
        let (status, after) = after.strip_prefix(b" ")?.split_at_checked(3)?;
        request.status = fields::status(status).ok()?;
        let after = after.strip_prefix(b" ")?;
        if !self.has_agent {
            let end = after
                .iter()
                .position(|byte| *byte == b' ' || *byte == b'\t')
                .unwrap_or(after.len());
            request.bytes = fields::bytes(&after[..end]).ok()?;
            return Some(request);
        }
        let (bytes, after) = word(after)?;
        request.bytes = fields::bytes(bytes).ok()?;
        let (referrer, after) = quoted(after.strip_prefix(b"\"")?)?;
        request.referrer = Field::logged(referrer);
        let (agent, after) = quoted(after.strip_prefix(b" \"")?)?;
        request.agent = Field::logged(agent);
        matches!(after.first(), None | Some(b' ')).then_some(request)
    }
}

/// Up to the next blank, and what follows it. Words are short: a loop beats a search.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b' ')?;
    Some((&text[..end], &text[end + 1..]))
}

/// Up to a quote that no backslash stands before.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'"', text)?;
    let escaped = end > 0 && text[end - 1] == b'\\';
    (!escaped).then(|| (&text[..end], &text[end + 1..]))
}

/// `METHOD target HTTP/x.y` with one of the usual methods.
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
