//! HTTP/2 from those who mean harm, frame by frame: floods, heads that never end or grow when they are read, and
//! answers that nobody takes.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Victim;
use crate::harness::connect_from;
use crate::harness::each;
use crate::harness::naive;
use crate::harness::say;
use crate::harness::wait_for;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A length as HPACK writes it, in seven bits and more.
fn length(mut value: usize) -> Vec<u8> {
    if value < 127 {
        return vec![u8::try_from(value).unwrap()];
    }
    let mut bytes = vec![127];
    value -= 127;
    while value >= 128 {
        bytes.push(u8::try_from(value % 128).unwrap() | 128);
        value /= 128;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// A header with a name and a value as they are; kind 0 is not kept in the table, 0x40 is.
pub(crate) fn literal(kind: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(length(name.len()));
    bytes.extend(name);
    bytes.extend(length(value.len()));
    bytes.extend(value);
    bytes
}

pub(crate) type Fields<'a> = Vec<(&'a [u8], &'a [u8])>;

pub(crate) fn block(fields: &Fields<'_>) -> Vec<u8> {
    let literals = fields.iter().map(|(name, value)| literal(0, name, value));
    literals.collect::<Vec<_>>().concat()
}

pub(crate) fn asking<'a>(method: &'a str, path: &'a str) -> Fields<'a> {
    vec![
        (b":method", method.as_bytes()),
        (b":scheme", b"http"),
        (b":authority", b"www.example.org"),
        (b":path", path.as_bytes()),
        (b"user-agent", b"Mozilla/5.0"),
    ]
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// A connection on which any frames are sent.
pub(crate) struct Talk {
    pub(crate) stream: TcpStream,
    pub(crate) buffer: Vec<u8>,
}

impl Talk {
    pub(crate) fn open(address: SocketAddr, settings: &[u8]) -> Talk {
        let mut stream = connect_from("127.0.0.1", address).unwrap();
        stream.write_all(PREFACE).unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, settings)).unwrap();
        Talk {
            stream,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next frame; an error at the end of the connection, nothing where none has come in time. Pings are answered.
    pub(crate) fn next(&mut self, wait: Duration) -> io::Result<Option<Frame>> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(frame) = self.take() {
                if frame.kind == PING && frame.flags & 1 == 0 {
                    let answer = crate::http2::frame(PING, 1, 0, &frame.payload);
                    self.send(&answer)?;
                    continue;
                }
                return Ok(Some(frame));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.stream.set_read_timeout(Some(left))?;
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.buffer.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self) -> Option<Frame> {
        let head = self.buffer.get(..9)?;
        let size = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let payload = self.buffer.get(9..9 + size)?.to_vec();
        self.buffer.drain(..9 + size);
        Some(Frame {
            kind,
            flags,
            stream,
            payload,
        })
    }

    /// True once the other side has ended the connection, or said that it will.
    pub(crate) fn is_ended_within(&mut self, wait: Duration) -> bool {
        let deadline = Instant::now() + wait;
        loop {
            match self.next(deadline.saturating_duration_since(Instant::now())) {
                Ok(None) => return false,
                Ok(Some(frame)) if frame.kind == GOAWAY => return true,
                Ok(Some(_)) => {}
                Err(_) => return true,
            }
        }
    }

    /// The answer to a stream: true for 200, false for any other or a reset.
    pub(crate) fn is_answered(&mut self, stream: u32) -> bool {
        loop {
            match self.next(Duration::from_secs(5)) {
                // 0x88 is ":status: 200" in the table of RFC 7541.
                Ok(Some(frame)) if frame.kind == HEADERS && frame.stream == stream => {
                    return frame.payload.first() == Some(&0x88);
                }
                Ok(Some(frame)) if frame.kind == RST_STREAM && frame.stream == stream => {
                    return false;
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return false,
            }
        }
    }
}

#[test]
fn what_is_sound_passes() {
    let origin = Origin::start();
    let gate = Gate::open(&origin, "");
    let mut talk = Talk::open(gate.address, b"");
    let head = block(&asking("GET", "/sound"));
    talk.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head))
        .unwrap();
    assert!(talk.is_answered(1));
    let mut fields = asking("POST", "/body");
    fields.push((b"content-length", b"5"));
    let head = block(&fields);
    talk.send(&frame(HEADERS, END_HEADERS, 3, &head)).unwrap();
    talk.send(&frame(DATA, END_STREAM, 3, b"hello")).unwrap();
    assert!(talk.is_answered(3));
    let got = origin.got();
    assert_eq!(got[0].line(), "GET /sound HTTP/1.1");
    assert_eq!(got[0].values("host"), ["www.example.org"]);
    assert_eq!(got[1].body, b"hello");
}

/// How streams are asked for and reset: each at once, or when the site has been asked.
#[derive(Debug, Clone, Copy)]
enum Rhythm {
    AtOnce,
    Later,
}

/// Asks for streams and resets them, up to 10,000. True where the connection was ended within a second.
fn floods_with_resets(address: SocketAddr, rhythm: Rhythm) -> bool {
    let mut talk = Talk::open(address, b"");
    let head = block(&asking("GET", "/reset"));
    let began = Instant::now();
    talk.stream
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    for number in 0..10_000_u32 {
        let mut bytes = frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head);
        let reset = match rhythm {
            Rhythm::AtOnce => Some(number),
            Rhythm::Later => number.checked_sub(50),
        };
        if let Some(reset) = reset {
            bytes.extend(frame(RST_STREAM, 0, 2 * reset + 1, &8_u32.to_be_bytes()));
        }
        if talk.send(&bytes).is_err() {
            return began.elapsed() < Duration::from_secs(1);
        }
        if began.elapsed() >= Duration::from_secs(1) {
            break;
        }
    }
    talk.is_ended_within(Duration::from_secs(1).saturating_sub(began.elapsed()))
}

/// Twenty connections that flood. An error where one goes on, or the site had too much to do.
fn h025_is_withstood(gate: &Gate, origin: &Origin, rhythm: Rhythm) -> Result<(), String> {
    let address = gate.address;
    let before = gate.rss_kib();
    origin.forget();
    let floods: Vec<_> = (0..20)
        .map(|_| thread::spawn(move || floods_with_resets(address, rhythm)))
        .collect();
    let ended = floods.into_iter().map(|flood| flood.join().unwrap());
    let ended = ended.filter(|is_ended| *is_ended).count();
    let grown = gate.rss_kib().saturating_sub(before);
    let asked = origin
        .got()
        .iter()
        .filter(|got| got.target() == "/reset")
        .count();
    say(&format!(
        "{rhythm:?}: {ended} of 20 ended, {asked} requests at the site, {grown} KiB more"
    ));
    match (ended, asked <= 20 * 100, grown <= 16 * 1024) {
        (20, true, true) => Ok(()),
        _ => Err(format!("{ended} ended, {asked} asked, {grown} KiB")),
    }
}

#[test]
fn h025_streams_that_are_reset_at_once_end_the_connection() {
    let origin = Origin::start();
    let mut gate = Gate::open(&origin, "");
    let before = gate.before();
    let victim = Victim::start(gate.address);
    for rhythm in [Rhythm::AtOnce, Rhythm::Later] {
        assert_eq!(h025_is_withstood(&gate, &origin, rhythm), Ok(()));
    }
    victim.check();
    gate.check_after(&before);
    let open = Gate::open(&origin, "without = [\"resets\"]");
    assert!(h025_is_withstood(&open, &origin, Rhythm::Later).is_err());
    assert!(h025_is_withstood(&open, &origin, Rhythm::AtOnce).is_err());
}

/// Sends a head that never ends. True where the connection was ended soon.
fn h026_is_withstood(address: SocketAddr, piece: &[u8]) -> bool {
    let mut talk = Talk::open(address, b"");
    let head = block(&asking("GET", "/endless"));
    talk.send(&frame(HEADERS, END_STREAM, 1, &head)).unwrap();
    let began = Instant::now();
    for _ in 0..4096 {
        if talk.send(&frame(CONTINUATION, 0, 1, piece)).is_err() {
            return true;
        }
        if began.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    talk.is_ended_within(Duration::from_secs(2))
}

#[test]
fn h026_heads_that_never_end() {
    let origin = Origin::start();
    let mut gate = Gate::open(&origin, "");
    let before = gate.before();
    let victim = Victim::start(gate.address);
    let long = literal(0, b"x-filler", &[b'x'; 1000]);
    for piece in [&long[..], &[][..]] {
        assert!(h026_is_withstood(gate.address, piece));
    }
    victim.check();
    let used = gate.cpu();
    thread::sleep(Duration::from_secs(1));
    let used = gate.cpu() - used;
    assert!(used < Duration::from_millis(300), "still busy: {used:?}");
    assert!(!origin.has_seen("/endless"));
    gate.check_after(&before);
    assert!(!h026_is_withstood(naive(origin.address), &long));
}

/// A head that is short on the wire and long when it is read, in frames.
fn bomb(stream: u32, path: &str, first: &[u8], repeats: usize) -> Vec<u8> {
    let mut bytes = block(&asking("GET", path));
    bytes.extend(first);
    // The newest entry of the table.
    bytes.extend(vec![0xbe; repeats]);
    let mut pieces: Vec<&[u8]> = bytes.chunks(16 * 1024).collect();
    let last = pieces.pop().unwrap();
    let Some((head, middle)) = pieces.split_first() else {
        return frame(HEADERS, END_STREAM | END_HEADERS, stream, last);
    };
    let mut frames = frame(HEADERS, END_STREAM, stream, head);
    for piece in middle {
        frames.extend(frame(CONTINUATION, 0, stream, piece));
    }
    frames.extend(frame(CONTINUATION, END_HEADERS, stream, last));
    frames
}

/// Sends a head that grows. An error where the site was asked.
fn h027_is_refused(gate: &Gate, origin: &Origin, path: &str, frames: &[u8]) -> Result<(), String> {
    let mut talk = Talk::open(gate.address, b"");
    // It may be refused before all of it was sent.
    let _ = talk.send(frames);
    let is_answered = talk.is_answered(1);
    match is_answered || origin.has_seen(path) {
        true => Err(format!("{path} was passed on")),
        false => Ok(()),
    }
}

#[test]
fn h027_heads_that_grow_when_they_are_read() {
    let origin = Origin::start();
    let mut gate = Gate::open(&origin, "");
    let before = gate.before();
    let victim = Victim::start(gate.address);
    let long = bomb(1, "/bomb", &literal(0x40, b"x-bomb", &[b'x'; 3900]), 300);
    // 0x60 is "cookie" of the table, with a value that is kept.
    let crumbs = bomb(1, "/crumbs", b"\x60\x03a=b", 100_000);
    assert!(long.len() < 5000);
    assert_eq!(h027_is_refused(&gate, &origin, "/bomb", &long), Ok(()));
    assert_eq!(h027_is_refused(&gate, &origin, "/crumbs", &crumbs), Ok(()));
    victim.check();
    gate.check_after(&before);
    let open = Gate::open(&origin, "without = [\"head_size\"]");
    assert!(h027_is_refused(&open, &origin, "/bomb", &long).is_err());
}

/// Asks for a hundred pages and takes none, on four connections. True where all were ended, and the memory that a connection takes, in KiB.
fn stalled_streams_end(gate: &Gate) -> (bool, u64) {
    // SETTINGS_INITIAL_WINDOW_SIZE is 0.
    let mut talks: Vec<Talk> = (0..4)
        .map(|_| Talk::open(gate.address, &[0, 4, 0, 0, 0, 0]))
        .collect();
    let before = gate.rss_kib();
    let head = block(&asking("GET", "/large"));
    for talk in &mut talks {
        for number in 0..100 {
            let ask = frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head);
            talk.send(&ask).unwrap();
        }
    }
    for talk in &mut talks {
        assert!(talk.is_answered(199));
    }
    let grown = gate.rss_kib().saturating_sub(before) / 4;
    say(&format!(
        "100 streams that nobody takes: {grown} KiB for a connection"
    ));
    let is_ended = |mut talk: Talk| talk.is_ended_within(Duration::from_secs(6));
    (talks.into_iter().all(is_ended), grown)
}

#[test]
fn h027_streams_that_nobody_takes_end() {
    let large = vec![b'x'; 1024 * 1024];
    let origin = Origin::answering(Box::new(move |got| match got.target() {
        "/large" => Some(crate::harness::page(std::str::from_utf8(&large).unwrap())),
        target => Some(crate::harness::page(&format!("you asked for {target}"))),
    }));
    let waits =
        "timeouts = { header = 1.0, idle = 30.0, write = 1.5, body = 30.0, answer = 30.0 }\n";
    let mut gate = Gate::open(&origin, waits);
    let before = gate.before();
    let victim = Victim::start(gate.address);
    let (are_ended, grown) = stalled_streams_end(&gate);
    assert!(are_ended);
    // Each stream holds a connection to the site, with its buffers and the beginning of the answer: 40 KiB at most.
    assert!(grown <= 4 * 1024, "{grown} KiB");
    victim.check();
    gate.check_after(&before);
    let open = Gate::open(&origin, &format!("{waits}without = [\"header_time\"]"));
    assert!(!stalled_streams_end(&open).0);
}

#[test]
fn connections_of_http2_that_ask_nothing_end() {
    let origin = Origin::start();
    let gate = Gate::open(&origin, "timeouts = { header = 1.0, idle = 1.5 }\n");
    let mut silent = Talk::open(gate.address, b"");
    assert!(silent.is_ended_within(Duration::from_secs(5)));
    let mut half = connect_from("127.0.0.1", gate.address).unwrap();
    half.write_all(&PREFACE[..20]).unwrap();
    assert_eq!(half.read(&mut [0; 64]).unwrap_or(0), 0);
    let mut idle = Talk::open(gate.address, b"");
    let head = block(&asking("GET", "/once"));
    idle.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head))
        .unwrap();
    assert!(idle.is_answered(1));
    assert!(idle.is_ended_within(Duration::from_secs(6)));
    wait_for("no connection is left", || {
        gate.metric("cattlegrid_connections") == Some(0.0)
    });
}

/// Sends a frame again and again. True where the connection was ended within two seconds.
fn h028_is_withstood(address: SocketAddr, flood: &[u8]) -> bool {
    let mut talk = Talk::open(address, b"");
    let mut fields = asking("POST", "/flood");
    fields.push((b"content-type", b"text/plain"));
    let head = block(&fields);
    talk.send(&frame(HEADERS, END_HEADERS, 1, &head)).unwrap();
    let began = Instant::now();
    let many = flood.repeat(100);
    for _ in 0..1000 {
        if talk.send(&many).is_err() {
            return true;
        }
        let left = Duration::from_secs(2).saturating_sub(began.elapsed());
        if left.is_zero() {
            return false;
        }
        // What comes back is taken: otherwise the gate waits for that.
        if talk.is_ended_within(Duration::from_millis(1)) {
            return true;
        }
    }
    talk.is_ended_within(Duration::from_secs(2).saturating_sub(began.elapsed()))
}

/// Who ends a flood: the gate alone, the library as well, or the library as well where more than a hundred pieces wait to be read, which
/// depends on how busy the machine is. What the gate alone does about such pieces is tested in `door/frames.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndedBy {
    Gate,
    Library,
    LibraryIfTheyWait,
}

/// Frames that bring nothing, by kind.
fn floods() -> [(&'static str, Vec<u8>, EndedBy); 7] {
    let padded = [vec![255], vec![0; 255]].concat();
    let update = frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes());
    let priority = frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 9]);
    [
        ("ping", frame(PING, 0, 0, &[0; 8]), EndedBy::Gate),
        ("settings", frame(SETTINGS, 0, 0, &[]), EndedBy::Gate),
        ("empty data", frame(DATA, 0, 1, &[]), EndedBy::Library),
        (
            "one byte",
            frame(DATA, 0, 1, b"x"),
            EndedBy::LibraryIfTheyWait,
        ),
        ("padding", frame(DATA, 8, 1, &padded), EndedBy::Library),
        ("update", update, EndedBy::Gate),
        ("priority", priority, EndedBy::Gate),
    ]
}

#[test]
fn h028_floods_of_frames_that_bring_nothing() {
    let origin = Origin::start();
    let mut gate = Gate::open(&origin, "");
    let before = gate.before();
    let victim = Victim::start(gate.address);
    for (name, flood, _) in floods() {
        assert!(h028_is_withstood(gate.address, &flood), "{name}");
    }
    victim.check();
    gate.check_after(&before);
    let open = Gate::open(&origin, "without = [\"resets\"]");
    let ended = each(&floods(), |(name, flood, ended_by)| {
        (*name, h028_is_withstood(open.address, flood), *ended_by)
    });
    for (name, is_ended, ended_by) in ended {
        match ended_by {
            EndedBy::Gate => assert!(!is_ended, "{name}"),
            EndedBy::Library => assert!(is_ended, "{name}"),
            EndedBy::LibraryIfTheyWait => {}
        }
    }
    // A forwarder of bytes ends none of them.
    let bare = naive(origin.address);
    let withstood = each(&floods(), |(_, flood, _)| h028_is_withstood(bare, flood));
    assert_eq!(withstood, [false; 7]);
}
