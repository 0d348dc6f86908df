//! What every test of the gate needs: the gate itself, an origin that records what reaches it, clients that send any bytes, a victim
//! that must not notice, and what must hold after every case.

mod clients;
mod dns;
mod gate;
mod origin;
mod victim;

pub(crate) use clients::Answer;
pub(crate) use clients::Client;
pub(crate) use clients::WAYS;
pub(crate) use clients::Way;
pub(crate) use clients::connect_from;
pub(crate) use clients::get;
pub(crate) use clients::get_from;
pub(crate) use clients::raw;
pub(crate) use clients::request;
pub(crate) use clients::try_get;
pub(crate) use clients::try_get_from;
pub(crate) use dns::Manner;
pub(crate) use dns::NameServer;
pub(crate) use dns::Record as NameRecord;
pub(crate) use gate::Gate;
pub(crate) use gate::Metrics;
pub(crate) use gate::VICTIM;
pub(crate) use gate::Wanted;
pub(crate) use gate::settings;
pub(crate) use origin::Got;
pub(crate) use origin::Origin;
pub(crate) use origin::naive;
pub(crate) use origin::page;
pub(crate) use victim::Victim;

use std::io;
use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// The longest wait for anything that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until something holds; fails the test where it does not in time.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Says a figure, also where the test passes.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A port that nothing listens on now. It is none of those that the system gives to connections, or one of them may have it before the
/// server that it is for; and another run of the tests begins elsewhere.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(97);
    let mut ports = (0..20_000).map(|_| {
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        12_000 + (number % 20_000) as u16
    });
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).unwrap()
}

fn values(head: &str, name: &str) -> Vec<String> {
    let lines = head.split("\r\n").skip(1);
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs
        .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A whole body in chunks, and how long it was.
fn unchunk(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = find(&bytes[at..], b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        at += line + 2;
        if size == 0 {
            let end = find(&bytes[at - 2..], b"\r\n\r\n")?;
            return Some((body, at - 2 + end + 4));
        }
        body.extend_from_slice(bytes.get(at..at + size)?);
        at += size + 2;
        if bytes.len() < at {
            return None;
        }
    }
}

/// Runs a case with a victim beside it, and looks at the gate before and after.
pub(crate) fn watched(gate: &mut Gate, case: impl FnOnce(&Gate)) {
    let before = gate.before();
    let victim = Victim::start(gate.address);
    case(gate);
    victim.check();
    gate.check_after(&before);
}

/// Limits that nobody reaches, for tests of everything but limits.
pub(crate) const NO_LIMITS: &str = "[policy]\nk1 = 1000000\nk2 = 1000000\nnetwork_pages = 1000000\ngroup_pages = 0\nsuspect_from = 1.0\n";

/// Does something with each of many, a few at a time, and gives what came of it in their order.
pub(crate) fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let part = all.len().div_ceil(8).max(1);
    thread::scope(|scope| {
        let threads: Vec<_> = all
            .chunks(part)
            .map(|part| scope.spawn(|| part.iter().map(&work).collect::<Vec<R>>()))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}
