//! A line as our own gate writes it, key by key in its order: the gate learns from every line that it has written, so that reading them is
//! part of what a request costs. Whatever is otherwise in any way is left to the general reader, which tells the same of the same line.

use super::super::fields;
use super::super::marks::Marks;
use super::super::time;
use super::PASS;
use super::TRAP;
use super::flat;
use super::walk::Value;
use crate::request::Client;
use crate::request::Field;
use crate::request::Header;
use crate::request::Headers;
use crate::request::Request;

/// Keys of header fields, in the order of [`Header::ALL`] and of the line.
const HEADERS: [&[u8]; Header::ALL.len()] = [
    b"fetch_site",
    b"fetch_mode",
    b"fetch_dest",
    b"ua",
    b"ua_mobile",
    b"ua_platform",
    b"language",
    b"order",
];
/// Keys that few lines have and that mean nothing here.
const OTHERS: [&[u8]; 11] = [
    b"handshake",
    b"would",
    b"entry",
    b"clearance",
    b"marker",
    b"parent",
    b"incident",
    b"group",
    b"cause",
    b"contradicts",
    b"cut",
];

/// Reads a line, and writes its header fields to a text; `None` where that is not for us to do.
pub(super) fn read<'a>(line: &'a [u8], headers: &mut Vec<u8>) -> Option<Request<'a>> {
    if !is_plain(line) {
        return None;
    }
    headers.clear();
    let mut rest = Rest::of(line);
    let mut request = Request::default();
    rest.expect(b"{\"time\":")?;
    time::epoch_number(rest.number()?).ok()?.fill(&mut request);
    rest.expect(b",\"source\":\"")?;
    request.client = Client::Written(fields::source(rest.text()?).ok()?);
    rest.expect(b",\"method\":\"")?;
    request.method = rest.text()?;
    rest.expect(b",\"host\":\"")?;
    request.host = fields::host(rest.text()?);
    rest.expect(b",\"target\":\"")?;
    request.target = rest.text()?;
    fields::check_request(&request).ok()?;
    rest.expect(b",\"status\":")?;
    request.status = fields::status_number(rest.number()? as u64).ok()?;
    rest.expect(b",\"bytes\":")?;
    request.bytes = fields::bytes_number(rest.number()? as u64).ok()?;
    rest.expect(b",\"referrer\":\"")?;
    request.referrer = Field::logged(rest.text()?);
    rest.expect(b",\"agent\":\"")?;
    request.agent = Field::logged(rest.text()?);
    if rest.expect(b",\"session\":\"").is_some() {
        request.session = Field::logged(rest.text()?);
    }
    rest.expect(b",\"duration\":")?;
    request.duration_us = fields::duration_number(rest.number()?, 1e6);
    rest.expect(b",\"decision\":\"")?;
    let decision = rest.text()?;
    request.is_trap = decision == TRAP;
    request.is_refused = decision != PASS && !request.is_trap;
    rest.expect(b",\"reason\":\"")?;
    rest.text()?;
    rest.extras(&mut request, headers)?;
    request.is_signed_in = matches!(request.user, Field::Value(_));
    Some(request)
}

/// True for ASCII without controls and escapes. Without a way out in the middle many bytes are looked at together.
fn is_plain(line: &[u8]) -> bool {
    let is_other = |byte: u8| !(b' '..=b'~').contains(&byte) | (byte == b'\\');
    !line
        .iter()
        .fold(false, |found, byte| found | is_other(*byte))
}

/// What is left of a line.
struct Rest<'a> {
    line: &'a [u8],
    at: usize,
    /// The line's quotes. A search for each would take longer than all the rest.
    quotes: Marks,
}

impl<'a> Rest<'a> {
    fn of(line: &'a [u8]) -> Rest<'a> {
        let mut quotes = Marks::default();
        quotes.seek(line, 0);
        Rest {
            line,
            at: 0,
            quotes,
        }
    }

    #[inline(always)]
    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.line[self.at..].starts_with(text).then_some(())?;
        self.at += text.len();
        Some(())
    }

    /// The text up to the next quote, and the quote.
    #[inline]
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.quotes.from(self.line, self.at)?;
        let text = &self.line[self.at..end];
        self.at = end + 1;
        Some(text)
    }

    fn number(&mut self) -> Option<f64> {
        let (number, rest) = flat::number(&self.line[self.at..])?;
        self.at = self.line.len() - rest.len();
        let Value::Number(number) = number else {
            return None;
        };
        Some(number)
    }

    /// What comes behind the reason, each key at most once, until the end of the line.
    fn extras(&mut self, request: &mut Request<'a>, headers: &mut Vec<u8>) -> Option<()> {
        let mut next = 0;
        while self.line[self.at..] != *b"}" {
            self.expect(b",\"")?;
            let key = self.text()?;
            self.expect(b":")?;
            let header = HEADERS[next..].iter().position(|header| *header == key);
            if let Some(skipped) = header {
                self.expect(b"\"")?;
                Headers::write(Header::ALL[next + skipped], self.text()?, headers);
                next += skipped + 1;
            } else if key == b"user" && request.user == Field::NotLogged {
                self.expect(b"\"")?;
                request.user = Field::logged(self.text()?);
            } else if OTHERS.contains(&key) {
                self.skip()?;
            } else {
                return None;
            }
        }
        Some(())
    }

    /// Goes behind a text, a number or `true`.
    fn skip(&mut self) -> Option<()> {
        match self.line.get(self.at)? {
            b'"' => {
                self.expect(b"\"")?;
                self.text().map(drop)
            }
            b't' => self.expect(b"true"),
            _ => self.number().map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::JsonFormat;
    use super::super::Scratch;
    use super::*;

    const LINE: &str = r#"{"time":1893456000.123,"source":"192.0.2.1","method":"GET","host":"www.example.org","target":"/a?b=c","status":200,"bytes":1024,"referrer":"https://www.example.org/","agent":"Mozilla/5.0","session":"0123456789abcdef","duration":0.001234,"decision":"pass","reason":"under_k1","would":"challenge","entry":7,"clearance":"0123456789abcdef","user":"0123456789abcdef","marker":"own","parent":"0123456789abcdef","incident":"ABC","group":"01234567","cause":"habit","contradicts":"order","cut":true,"fetch_site":"none","fetch_mode":"navigate","fetch_dest":"document","ua":"'A';v='1'","ua_mobile":"?0","ua_platform":"'Linux'","language":"en","order":"huael","handshake":"0123456789abcdef"}"#;

    /// What the general reader tells of a line.
    fn general(line: &[u8]) -> Result<String, String> {
        let mut format = JsonFormat::named("json_cattlegrid").unwrap();
        format.is_own = false;
        let mut scratch = Scratch::default();
        let read = format.read(line, &mut scratch);
        read.map(|request| format!("{request:?}"))
            .map_err(|skip| format!("{skip:?}"))
    }

    fn own(line: &[u8]) -> Option<String> {
        let mut headers = Vec::new();
        let mut request = read(line, &mut headers)?;
        request.headers = Headers::of(&headers);
        Some(format!("{request:?}"))
    }

    /// Members of a line, which may be left out, doubled or changed.
    fn members() -> Vec<&'static str> {
        let inner = &LINE[1..LINE.len() - 1];
        inner.split_inclusive(',').collect()
    }

    #[test]
    fn lines_of_the_gate_are_read_here() {
        let all: Vec<&str> = LINE.split(",\"").collect();
        let (always, seldom) = all.split_at(13);
        assert_eq!(own(LINE.as_bytes()), general(LINE.as_bytes()).ok());
        assert!(own(LINE.as_bytes()).is_some());
        for left_out in 0..seldom.len() {
            let kept = seldom.iter().enumerate();
            let kept = kept
                .filter(|(at, _)| *at != left_out)
                .map(|(_, text)| *text);
            let line: Vec<&str> = always.iter().copied().chain(kept).collect();
            let line = line.join(",\"");
            let line = format!("{}}}", line.trim_end_matches('}'));
            assert!(own(line.as_bytes()).is_some(), "{line}");
            assert_eq!(
                own(line.as_bytes()),
                general(line.as_bytes()).ok(),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_otherwise_is_left_to_the_general_reader() {
        for (from, to) in [
            ("\"method\":\"GET\"", "\"method\":\"G\\u0045T\""),
            ("Mozilla/5.0", "Mozilla/\u{e4}"),
            ("\"status\":200", "\"status\":99"),
            ("\"status\":200", "\"status\":\"200\""),
            ("192.0.2.1", ""),
            ("}", "} "),
            ("}", ",\"time\":1}"),
            ("}", ",\"user\":\"b\"}"),
            ("}", ",\"language\":\"de\"}"),
            ("}", ",\"other\":1}"),
            ("\"cut\":true", "\"cut\":trues"),
        ] {
            let line = LINE.replacen(from, to, 1);
            assert_ne!(line, LINE, "{from}");
            assert_eq!(own(line.as_bytes()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_here_the_general_reader_reads_alike(
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<prop::sample::Index>()), 0..4),
            cut in any::<prop::sample::Index>(),
            byte in prop::sample::select(&b"\"\\,:{}0.-e \x1f\x7f\xffa"[..]),
            flips in prop::bool::ANY,
        ) {
            let mut members = members();
            for (at, change, other) in changes {
                let (at, other) = (at.index(members.len()), other.index(members.len()));
                match change {
                    0 if members.len() > 1 => drop(members.remove(at)),
                    1 => members.insert(other, members[at]),
                    _ => members.swap(at, other),
                }
            }
            let mut line = format!("{{{}}}", members.concat().trim_end_matches(',')).into_bytes();
            if flips {
                let at = cut.index(line.len());
                line[at] = byte;
            }
            if let Some(read) = own(&line) {
                prop_assert_eq!(Ok(read), general(&line), "{}", String::from_utf8_lossy(&line));
            }
        }
    }
}
