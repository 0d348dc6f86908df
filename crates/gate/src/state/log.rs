//! The access log: one JSON line per request, which `analyze` reads back and the gate learns from.

use std::io::Write;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::SyncSender;
use std::sync::mpsc::TrySendError;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::paths::Link;
use cattlegrid_core::policy::Clearance;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Fleet;
use cattlegrid_core::policy::Reason;
use cattlegrid_core::policy::Seat;
use cattlegrid_core::profile::Content;
use cattlegrid_core::profile::Contradictions;
use cattlegrid_core::text::is_invisible;
use cattlegrid_http1::Method;
use prometheus_client::metrics::counter::Counter;

use crate::challenge::Page;
use crate::settings::trust::write_address;
use crate::state::incident::Incident;
use crate::state::metrics::Metrics;
use crate::state::sent;
use crate::state::sent::Sent;

/// Lines are handed over when so many bytes have gathered, or at the next tick.
const BLOCK_BYTES: usize = 64 * 1024;
/// Bytes of one value that are written: an agent of megabytes is still one line.
const VALUE_MAX: usize = 8 * 1024;

/// What one request was, for its line.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) time_ms: u64,
    pub(crate) started: Instant,
    pub(crate) client: Option<IpAddr>,
    pub(crate) method: Method,
    /// Not told, none sent, or its hash.
    pub(crate) session: Option<Option<u64>>,
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) outcome: Outcome,
    /// What the request counts as; it is not written.
    pub(crate) content: Content,
    pub(crate) would: Option<Decision>,
    pub(crate) entry: Option<u64>,
    pub(crate) clearance: Option<Clearance>,
    /// The signed-in person, by the pseudonym.
    pub(crate) user: Option<u64>,
    /// The marker of the link that a signed-in person followed.
    pub(crate) marker: Option<Marked>,
    /// The number on the page of a refusal.
    pub(crate) incident: Option<Incident>,
    /// Hash of the user agent; it is not written.
    pub(crate) agent: u32,
    /// How the client began its connection; 0 where that is not known.
    pub(crate) handshake: u64,
    /// Where its page is counted once it has been shown; it is not written.
    pub(crate) seat: Option<Seat>,
    /// The group over its limit that the client belongs to.
    pub(crate) fleet: Option<Fleet>,
    /// The robot that has proven to be its sender; it is not written.
    pub(crate) crawler: Option<u64>,
    /// A program has asked for the same before; it is not written.
    pub(crate) is_repeat: bool,
    /// Which header fields contradict the browser of a client that belongs to such a group.
    pub(crate) contradictions: Contradictions,
    /// The client has not got all of the answer.
    pub(crate) is_cut: bool,
}

impl Entry {
    /// The gate itself responds with this page.
    pub(crate) fn answered(&mut self, page: &Page) {
        self.status = page.status;
        self.bytes = page.body.len() as u64;
    }

    /// The link that a signed-in person followed.
    pub(crate) fn link(&self) -> Link {
        match self.marker {
            None => Link::Unmarked,
            Some(Marked::Own(parent)) => Link::Own(parent),
            Some(Marked::Other(_)) => Link::OtherUser,
            Some(Marked::Broken) => Link::Broken,
        }
    }
}

/// A marker in a request of a signed-in person. A page stands in it as a keyed hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// The link stood on this page, and was shown to the same person.
    Own(u64),
    /// It was shown to another person.
    Other(u64),
    /// It does not open.
    Broken,
}

impl Marked {
    /// The word in the log and in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Marked::Own(_) => "own",
            Marked::Other(_) => "other",
            Marked::Broken => "broken",
        }
    }
}

/// What the client itself said in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Texts<'a> {
    pub(crate) host: &'a str,
    pub(crate) target: &'a str,
    pub(crate) referrer: &'a [u8],
    pub(crate) agent: &'a [u8],
    pub(crate) sent: Sent<'a>,
}

/// The same, kept until its answer has ended.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Host and target.
    text: String,
    host: usize,
    /// Referrer, agent and other header fields.
    values: Vec<u8>,
    referrer: usize,
    agent: usize,
    sent: [Option<u8>; sent::FIELDS.len()],
    order: sent::Order,
}

impl Texts<'_> {
    /// A copy.
    pub(crate) fn keep(&self) -> Kept {
        let sent = || self.sent.values.iter().flatten();
        let length = sent().map(|value| value.len()).sum::<usize>();
        let mut values = Vec::with_capacity(self.referrer.len() + self.agent.len() + length);
        values.extend_from_slice(self.referrer);
        values.extend_from_slice(self.agent);
        sent().for_each(|value| values.extend_from_slice(value));
        Kept {
            text: [self.host, self.target].concat(),
            host: self.host.len(),
            values,
            referrer: self.referrer.len(),
            agent: self.agent.len(),
            sent: self.sent.lengths(),
            order: self.sent.order,
        }
    }
}

impl Kept {
    pub(crate) fn texts(&self) -> Texts<'_> {
        let (host, target) = self.text.split_at(self.host);
        let (referrer, rest) = self.values.split_at(self.referrer);
        let (agent, sent) = rest.split_at(self.agent);
        Texts {
            host,
            target,
            referrer,
            agent,
            sent: Sent::cut(sent, self.sent, self.order),
        }
    }
}

/// Who answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The gate: one of its own pages.
    Own,
    /// The gate: a page behind a trap that was shown to this client.
    Trap,
    /// The site, or the gate by this decision and for this reason.
    Decided(Decision, Reason),
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Outcome::Own => "own",
            Outcome::Trap => "trap",
            Outcome::Decided(decision, _) => decision.name(),
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Outcome::Own => "own",
            Outcome::Trap => "trap",
            Outcome::Decided(_, reason) => reason.name(),
        }
    }
}

/// Lines of one worker, on their way to the log.
#[derive(Debug)]
pub(crate) struct Lines {
    gathered: Mutex<Vec<u8>>,
    to_log: SyncSender<Vec<u8>>,
}

impl Lines {
    pub(crate) fn new(to_log: SyncSender<Vec<u8>>) -> Lines {
        Lines {
            gathered: Mutex::default(),
            to_log,
        }
    }

    /// Adds a line.
    pub(crate) fn add(&self, entry: &Entry, texts: &Texts<'_>, took: Duration, metrics: &Metrics) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        write(entry, texts, took, &mut gathered);
        if gathered.len() >= BLOCK_BYTES {
            // The next block will be as long: one that grows is copied again and again.
            let next = Vec::with_capacity(BLOCK_BYTES + VALUE_MAX);
            self.hand_over(std::mem::replace(&mut *gathered, next), metrics);
        }
    }

    /// Hands over what has gathered: the log is never much behind.
    pub(crate) fn tick(&self, metrics: &Metrics) {
        let gathered =
            std::mem::take(&mut *self.gathered.lock().unwrap_or_else(PoisonError::into_inner));
        if !gathered.is_empty() {
            self.hand_over(gathered, metrics);
        }
    }

    /// A request never waits for the disk.
    fn hand_over(&self, block: Vec<u8>, metrics: &Metrics) {
        hand_over(block, &self.to_log, &metrics.log_lines_lost);
    }
}

/// Hands a block to another thread without waiting for it: lines that find no room are lost, and counted.
pub(crate) fn hand_over(block: Vec<u8>, to: &SyncSender<Vec<u8>>, lost: &Counter) {
    if let Err(TrySendError::Full(block) | TrySendError::Disconnected(block)) = to.try_send(block) {
        lost.inc_by(lines(&block));
    }
}

/// The number of lines of a block.
pub(crate) fn lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}

/// A line. Every request pays for it: texts are put down as they are, and one look at the whole line tells whether one of them needed
/// escapes after all.
fn write(entry: &Entry, texts: &Texts<'_>, took: Duration, out: &mut Vec<u8>) {
    let start = out.len();
    let mut line = Line {
        out,
        quotes: 0,
        manner: Manner::AsItIs,
    };
    line.write(entry, texts, took);
    let ours = line.quotes;
    if special(&out[start..]) != ours {
        out.truncate(start);
        let mut line = Line {
            out,
            quotes: 0,
            manner: Manner::Escaped,
        };
        line.write(entry, texts, took);
    }
    out.extend_from_slice(b"\n");
}

/// The number of bytes that cannot stand in quotes as they are. The loop has no early exit and sums up in bytes, so that it is vectorised.
fn special(line: &[u8]) -> usize {
    // Bytes above 0x7f are negative: one comparison finds them and the control bytes.
    let is_special =
        |byte: u8| ((byte as i8) < b' ' as i8) | (byte == b'"') | (byte == b'\\') | (byte == 0x7f);
    let sum = |part: &[u8]| {
        let add = |sum: u8, byte: &u8| sum + u8::from(is_special(*byte));
        usize::from(part.iter().fold(0, add))
    };
    // Whole vectors, and no more than a byte can count.
    line.chunks(240).map(sum).sum()
}

/// How texts are written.
enum Manner {
    AsItIs,
    Escaped,
}

/// A line that is being written. Numbers and texts are put down without the machinery of `write!`.
struct Line<'o> {
    out: &'o mut Vec<u8>,
    /// The quotes around names and values.
    quotes: usize,
    manner: Manner,
}

impl Line<'_> {
    fn write(&mut self, entry: &Entry, texts: &Texts<'_>, took: Duration) {
        let mut digits = itoa::Buffer::new();
        self.raw(b"{\"time\":", 2);
        self.parts(entry.time_ms, 1000);
        self.raw(b",\"source\":\"", 3);
        match entry.client {
            Some(client) => write_address(client, self.out),
            None => self.raw(b"127.0.0.1", 0),
        }
        self.raw(b"\",\"method\":\"", 4);
        self.text(entry.method.as_str().as_bytes());
        self.raw(b"\",\"host\":\"", 4);
        self.text(texts.host.as_bytes());
        self.raw(b"\",\"target\":\"", 4);
        self.text(texts.target.as_bytes());
        self.raw(b"\",\"status\":", 3);
        self.raw(digits.format(entry.status).as_bytes(), 0);
        self.raw(b",\"bytes\":", 2);
        self.raw(digits.format(entry.bytes).as_bytes(), 0);
        self.value(",\"referrer\":\"", texts.referrer);
        self.value(",\"agent\":\"", texts.agent);
        match entry.session {
            None => {}
            Some(None) => self.value(",\"session\":\"", b""),
            Some(Some(hash)) => self.hexadecimal(",\"session\":\"", hash),
        }
        self.raw(b",\"duration\":", 2);
        let us = took.as_secs() * 1_000_000 + u64::from(took.subsec_micros());
        self.parts(us, 1_000_000);
        self.word(",\"decision\":\"", entry.outcome.name());
        self.word(",\"reason\":\"", entry.outcome.reason());
        self.extras(entry);
        self.headers(&texts.sent);
        if entry.handshake != 0 {
            self.hexadecimal(",\"handshake\":\"", entry.handshake);
        }
        self.raw(b"}", 0);
    }

    /// What few lines have.
    fn extras(&mut self, entry: &Entry) {
        if let Some(would) = entry.would {
            self.word(",\"would\":\"", would.name());
        }
        if let Some(number) = entry.entry {
            self.raw(b",\"entry\":", 2);
            self.raw(itoa::Buffer::new().format(number).as_bytes(), 0);
        }
        if let Some(clearance) = entry.clearance {
            self.hexadecimal(",\"clearance\":\"", clearance.id);
        }
        if let Some(user) = entry.user {
            self.hexadecimal(",\"user\":\"", user);
        }
        if let Some(marked) = entry.marker {
            self.word(",\"marker\":\"", marked.name());
            if let Marked::Own(parent) | Marked::Other(parent) = marked {
                self.hexadecimal(",\"parent\":\"", parent);
            }
        }
        if let Some(incident) = entry.incident {
            self.word(",\"incident\":\"", &incident.to_string());
        }
        if let Some(fleet) = entry.fleet {
            self.word(",\"group\":\"", &format!("{:08x}", fleet.number));
            self.word(",\"cause\":\"", fleet.cause.name());
            if !entry.contradictions.is_empty() {
                self.word(",\"contradicts\":\"", &entry.contradictions.words());
            }
        }
        if entry.is_cut {
            self.raw(b",\"cut\":true", 2);
        }
    }

    fn headers(&mut self, sent: &Sent<'_>) {
        for ((_, begin), value) in sent::FIELDS.iter().zip(sent.values) {
            let Some(value) = value else { continue };
            self.raw(begin.as_bytes(), 3);
            self.unquoted(value);
            self.raw(b"\"", 1);
        }
        if !sent.order.letters().is_empty() {
            self.value(",\"order\":\"", sent.order.letters());
        }
    }

    /// Text inside quotes that needs no escapes for its own. Lines without escapes are read back in a third of the time, and every browser
    /// writes quotes into header fields: they become single ones.
    fn unquoted(&mut self, value: &[u8]) {
        let plain = value.iter().map(|byte| match byte {
            b'"' => b'\'',
            b'\\' => b'/',
            byte => *byte,
        });
        match self.manner {
            Manner::AsItIs => self.out.extend(plain),
            Manner::Escaped => escape(&plain.collect::<Vec<u8>>(), self.out),
        }
    }

    /// Bytes of ours, with so many quotes.
    fn raw(&mut self, bytes: &[u8], quotes: usize) {
        self.out.extend_from_slice(bytes);
        self.quotes += quotes;
    }

    /// A number of parts of a whole, as a decimal fraction: 1500 of 1000 are 1.500.
    fn parts(&mut self, number: u64, whole: u64) {
        let mut digits = itoa::Buffer::new();
        self.raw(digits.format(number / whole).as_bytes(), 0);
        // The leading 1 holds the zeros behind the point.
        let at = self.out.len();
        self.raw(digits.format(number % whole + whole).as_bytes(), 0);
        self.out[at] = b'.';
    }

    /// One of a few words of ours, behind the beginning of its member.
    fn word(&mut self, begin: &str, word: &str) {
        self.raw(begin.as_bytes(), 3);
        self.raw(word.as_bytes(), 0);
        self.raw(b"\"", 1);
    }

    fn hexadecimal(&mut self, begin: &str, number: u64) {
        let digits: [u8; 16] =
            std::array::from_fn(|at| b"0123456789abcdef"[(number >> (60 - 4 * at) & 15) as usize]);
        self.raw(begin.as_bytes(), 3);
        self.raw(&digits, 0);
        self.raw(b"\"", 1);
    }

    fn value(&mut self, begin: &str, value: &[u8]) {
        self.raw(begin.as_bytes(), 3);
        self.text(value);
        self.raw(b"\"", 1);
    }

    /// Writes text inside quotes.
    fn text(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(VALUE_MAX)];
        match self.manner {
            Manner::AsItIs => self.raw(bytes, 0),
            Manner::Escaped => escape(bytes, self.out),
        }
    }
}

/// Text with escapes. Bytes that are no UTF-8 become the letters that Latin-1 has for them, so that each line is sound.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.utf8_chunks() {
        for char in part.valid().chars() {
            match char {
                '"' | '\\' => out.extend_from_slice(&[b'\\', char as u8]),
                // Also what ends a line for other programs, or turns the direction of text.
                _ if char.is_control() || is_invisible(char) => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
                _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        for byte in part.invalid() {
            let _ = write!(out, "\\u{byte:04x}");
        }
    }
}

#[cfg(test)]
mod tests {
    use cattlegrid_core::format::is_gates_line;
    use cattlegrid_core::policy::Cause;

    use super::*;

    fn entry() -> Entry {
        Entry {
            time_ms: 1_893_456_000_123,
            started: Instant::now(),
            client: None,
            method: Method::GET,
            session: Some(None),
            status: 200,
            bytes: 7,
            outcome: Outcome::Own,
            content: Content::Page,
            would: Some(Decision::Block),
            entry: Some(3),
            clearance: None,
            user: Some(5),
            marker: Some(Marked::Own(6)),
            incident: None,
            agent: 0,
            handshake: 9,
            seat: None,
            fleet: None,
            crawler: None,
            is_repeat: false,
            contradictions: Contradictions::NONE,
            is_cut: true,
        }
    }

    fn line(agent: &[u8], target: &str) -> Vec<u8> {
        let texts = Texts {
            host: "www.example.org",
            target,
            referrer: b"",
            agent,
            sent: Sent::default(),
        };
        let mut out = b"before\n".to_vec();
        write(&entry(), &texts, Duration::from_micros(1500), &mut out);
        out.split_off(b"before\n".len())
    }

    fn check(agent: &[u8], target: &str, expected: &str) {
        let line = line(agent, target);
        let text = line.strip_suffix(b"\n").expect("a whole line");
        assert!(!text.contains(&b'\n'));
        let read: serde_json::Value = serde_json::from_slice(text).expect("sound JSON");
        assert_eq!(read["agent"], expected);
        assert_eq!(read["target"], target);
        assert_eq!(read["duration"], 0.0015);
        assert_eq!(read["cut"], true);
        assert_eq!(read["marker"], "own");
        assert_eq!(read["parent"], "0000000000000006");
    }

    #[test]
    fn lines_are_read_back_the_short_way() {
        let sent = Sent {
            values: [Some(b"'x'"); sent::FIELDS.len()],
            ..Sent::default()
        };
        let texts = Texts {
            host: "www.example.org",
            target: "/",
            referrer: b"",
            agent: b"Mozilla/5.0",
            sent,
        };
        let fleet = Fleet {
            number: 7,
            cause: Cause::NoParts,
            pages: 1,
        };
        let entry = Entry {
            fleet: Some(fleet),
            ..entry()
        };
        let mut line = Vec::new();
        write(&entry, &texts, Duration::from_micros(1500), &mut line);
        let text = line.strip_suffix(b"\n").expect("a whole line");
        assert!(is_gates_line(text), "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn plain_lines_have_no_escapes_and_others_lose_nothing() {
        assert!(!line(b"Mozilla/5.0", "/a?b='c'").contains(&b'\\'));
        check(b"Mozilla/5.0", "/", "Mozilla/5.0");
        // As many quotes as a plain line has, but elsewhere.
        check(b"\"quoted\"", "/\\", "\"quoted\"");
        check(b"\r\n\x1b[31m\x7f", "/\u{202e}x", "\r\n\u{1b}[31m\u{7f}");
        check(
            "käse \u{1f9c0}".as_bytes(),
            "/käse\u{2028}",
            "käse \u{1f9c0}",
        );
        check(b"caf\xe9", "/", "café");
        check(&[b'"'; 300], "/", &"\"".repeat(300));
    }
}
