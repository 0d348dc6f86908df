//! The access log: one JSON line per request, which `analyze` reads back and the gate learns from.

use std::io::Write;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::policy::Clearance;
use cattlegrid_core::policy::Decision;
use cattlegrid_core::policy::Fleet;
use cattlegrid_core::policy::Reason;
use cattlegrid_core::policy::Seat;
use cattlegrid_core::profile::Content;
use cattlegrid_core::profile::Contradictions;
use cattlegrid_core::text::is_invisible;
use cattlegrid_http1::Method;

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

    /// A request never waits for the disk: lines that find no room are lost, and counted.
    fn hand_over(&self, block: Vec<u8>, metrics: &Metrics) {
        let lines = memchr::memchr_iter(b'\n', &block).count() as u64;
        if self.to_log.try_send(block).is_err() {
            metrics.log_lines_lost.inc_by(lines);
        }
    }
}

/// A line. Every request pays for it: numbers and plain text are put down without the machinery of `write!`.
fn write(entry: &Entry, texts: &Texts<'_>, took: Duration, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(b"{\"time\":");
    parts(entry.time_ms, 1000, out);
    out.extend_from_slice(b",\"source\":\"");
    match entry.client {
        Some(client) => write_address(client, out),
        None => out.extend_from_slice(b"127.0.0.1"),
    }
    out.extend_from_slice(b"\",\"method\":\"");
    text(entry.method.as_str().as_bytes(), out);
    out.extend_from_slice(b"\",\"host\":\"");
    text(texts.host.as_bytes(), out);
    out.extend_from_slice(b"\",\"target\":\"");
    text(texts.target.as_bytes(), out);
    out.extend_from_slice(b"\",\"status\":");
    out.extend_from_slice(digits.format(entry.status).as_bytes());
    out.extend_from_slice(b",\"bytes\":");
    out.extend_from_slice(digits.format(entry.bytes).as_bytes());
    value("referrer", texts.referrer, out);
    value("agent", texts.agent, out);
    match entry.session {
        None => {}
        Some(None) => out.extend_from_slice(b",\"session\":\"\""),
        Some(Some(hash)) => hexadecimal("session", hash, out),
    }
    out.extend_from_slice(b",\"duration\":");
    let us = took.as_secs() * 1_000_000 + u64::from(took.subsec_micros());
    parts(us, 1_000_000, out);
    word("decision", entry.outcome.name(), out);
    word("reason", entry.outcome.reason(), out);
    if let Some(would) = entry.would {
        word("would", would.name(), out);
    }
    if let Some(number) = entry.entry {
        out.extend_from_slice(b",\"entry\":");
        out.extend_from_slice(digits.format(number).as_bytes());
    }
    if let Some(clearance) = entry.clearance {
        hexadecimal("clearance", clearance.id, out);
    }
    if let Some(user) = entry.user {
        hexadecimal("user", user, out);
    }
    if let Some(incident) = entry.incident {
        word("incident", &incident.to_string(), out);
    }
    if let Some(fleet) = entry.fleet {
        word("group", &format!("{:08x}", fleet.number), out);
        word("cause", fleet.cause.name(), out);
        if !entry.contradictions.is_empty() {
            word("contradicts", &entry.contradictions.words(), out);
        }
    }
    if entry.is_cut {
        out.extend_from_slice(b",\"cut\":true");
    }
    headers(&texts.sent, out);
    if entry.handshake != 0 {
        hexadecimal("handshake", entry.handshake, out);
    }
    out.extend_from_slice(b"}\n");
}

/// Header fields of a page request. Lines without escapes are read back in a third of the time, and every browser writes quotes here:
/// they become single ones.
fn headers(sent: &Sent<'_>, out: &mut Vec<u8>) {
    for ((_, key), value) in sent::FIELDS.iter().zip(sent.values) {
        let Some(value) = value else { continue };
        let mut plain = [0; sent::VALUE_MAX];
        for (to, byte) in plain.iter_mut().zip(value) {
            *to = match byte {
                b'"' => b'\'',
                b'\\' => b'/',
                byte => *byte,
            };
        }
        self::value(key, &plain[..value.len().min(sent::VALUE_MAX)], out);
    }
    if !sent.order.letters().is_empty() {
        value("order", sent.order.letters(), out);
    }
}

/// A number of parts of a whole, as a decimal fraction: 1500 of 1000 are 1.500.
fn parts(number: u64, whole: u64, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(number / whole).as_bytes());
    // The leading 1 holds the zeros behind the point.
    let at = out.len();
    out.extend_from_slice(digits.format(number % whole + whole).as_bytes());
    out[at] = b'.';
}

/// The beginning of a text behind another value.
fn name(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":\"");
}

/// One of a few words of ours.
fn word(name: &str, word: &str, out: &mut Vec<u8>) {
    self::name(name, out);
    out.extend_from_slice(word.as_bytes());
    out.push(b'"');
}

fn hexadecimal(name: &str, number: u64, out: &mut Vec<u8>) {
    let digits: [u8; 16] = std::array::from_fn(|at| match (number >> (60 - 4 * at) & 15) as u8 {
        digit @ 0..10 => b'0' + digit,
        digit => b'a' + digit - 10,
    });
    self::name(name, out);
    out.extend_from_slice(&digits);
    out.push(b'"');
}

fn value(name: &str, value: &[u8], out: &mut Vec<u8>) {
    self::name(name, out);
    text(value, out);
    out.push(b'"');
}

/// Writes text inside quotes. Bytes that are no UTF-8 become the letters that Latin-1 has for them, so that each line is sound.
fn text(bytes: &[u8], out: &mut Vec<u8>) {
    let bytes = &bytes[..bytes.len().min(VALUE_MAX)];
    // Nearly all text is plain. One look without a way out in the middle takes many bytes at a time.
    let is_plain = |byte: &u8| matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
    if bytes.iter().fold(true, |all, byte| all & is_plain(byte)) {
        out.extend_from_slice(bytes);
        return;
    }
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
