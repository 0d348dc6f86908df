//! Counters on the disk: saved now and then and at the end; after a crash the access log tells what was counted since.

use std::fs::File;
use std::io;
use std::io::BufReader;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use cattlegrid_core::policy::Clearance;
use cattlegrid_core::policy::Counters;
use cattlegrid_core::policy::DAY;
use cattlegrid_core::policy::Place;
use cattlegrid_core::policy::Policy;
use cattlegrid_core::policy::Reason;
use cattlegrid_core::profile::Content;
use cattlegrid_core::request::Source;
use serde::Deserialize;

use super::private_file::replace;
use crate::state::Gate;
use crate::state::gate::content;

/// How often counters are saved.
const EVERY: Duration = Duration::from_secs(60);
/// A line is written when its answer has ended: so much earlier the request may have come.
const SLOWEST_MS: u64 = 120_000;

/// Counters as they were saved, and when: milliseconds since 1970.
pub(crate) fn restore(path: &Path, sources_max: usize, seed: u64, now: u32) -> (Counters, u64) {
    let restored = File::open(path)
        .map_err(|error| error.to_string())
        .and_then(|file| {
            let mut input = BufReader::new(file);
            let mut time = [0; 8];
            input
                .read_exact(&mut time)
                .map_err(|error| error.to_string())?;
            let (counters, taken) = Policy::restore(sources_max, &mut input, now)?;
            Ok((counters, taken, u64::from_le_bytes(time)))
        });
    match restored {
        Ok((counters, taken, time_ms)) => {
            tracing::info!(taken, "restored counters");
            (counters, time_ms)
        }
        Err(error) => {
            if path.exists() {
                tracing::warn!(error, path = %path.display(), "cannot read the saved counters: all sources start from zero");
            }
            // The last day may still be in the log.
            let day_ago = u64::from(now.saturating_sub(DAY)) * 1000;
            (Policy::room(sources_max, seed), day_ago)
        }
    }
}

/// Saves counters: the file is whole or the one before.
pub(crate) fn save(path: &Path, counters: &Counters, now_ms: u64) -> io::Result<()> {
    // It holds the key of the table's hash, by which addresses could be chosen that push others out: only its owner can read it.
    replace(path, |out| {
        out.write_all(&now_ms.to_le_bytes())?;
        counters.save(out, u32::try_from(now_ms / 1000).unwrap_or(u32::MAX))
    })
}

/// Saves counters every minute, until the channel is closed.
pub(crate) fn keep(path: &Path, gate: &Arc<Gate>, end: &Receiver<()>) {
    while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let saved = save(path, &gate.counters, gate.clock.now_ms());
        gate.metrics.snapshot_failed.set(i64::from(saved.is_err()));
        if let Err(error) = saved {
            tracing::error!(%error, path = %path.display(), "cannot save the counters");
        }
    }
}

/// What a line of the access log says about counting.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    time: f64,
    source: &'a str,
    method: &'a str,
    #[serde(borrow)]
    target: std::borrow::Cow<'a, str>,
    reason: &'a str,
    clearance: Option<&'a str>,
    user: Option<&'a str>,
}

/// Lines of the log are looked through from its end, in pieces of this size.
const PIECE: u64 = 1 << 20;
/// So much of it at most, a second's work.
const READ_MAX: u64 = 256 << 20;

/// Counts requests of the log that came after the counters were saved.
pub(crate) fn recount(log: &Path, gate: &Gate) {
    match recount_back(log, gate) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(%error, path = %log.display(), "cannot read the access log to restore what was counted since the counters were saved")
        }
    }
}

/// From the last line back: the gate listens only when this has ended, so no more is read than a start may take.
fn recount_back(log: &Path, gate: &Gate) -> io::Result<()> {
    let mut file = File::open(log)?;
    let mut end = file.metadata()?.len();
    let last = end.saturating_sub(READ_MAX);
    // The beginning of a line whose rest has been read.
    let mut rest: Vec<u8> = Vec::new();
    while end > last {
        let start = end.saturating_sub(PIECE);
        let mut piece = vec![0; usize::try_from(end - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece)?;
        piece.append(&mut rest);
        // A piece seldom begins with a whole line, but at the log's beginning.
        let first = match start {
            0 => 0,
            _ => memchr::memchr(b'\n', &piece).map_or(piece.len(), |at| at + 1),
        };
        let lines = piece[first..].rsplit(|byte| *byte == b'\n');
        for line in lines {
            if !recount_line(line, gate) {
                return Ok(());
            }
        }
        rest = piece[..first].to_vec();
        if rest.len() as u64 > PIECE {
            return Err(io::Error::other("a line of the access log has no end"));
        }
        end = start;
    }
    Ok(())
}

/// Counts a line; false where all before it were counted already.
fn recount_line(line: &[u8], gate: &Gate) -> bool {
    let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
        return true;
    };
    let time_ms = (line.time * 1000.0) as u64;
    // Lines stand nearly in the order of time: what ended late may have begun early.
    if time_ms.saturating_add(SLOWEST_MS) < gate.saved_ms {
        return false;
    }
    if time_ms >= gate.saved_ms && line.reason == Reason::SignedIn.name() {
        recount_user(&line, (time_ms / 1000) as u32, gate);
    }
    let mut reasons = Reason::ALL.iter();
    let is_counted = reasons.any(|reason| reason.name() == line.reason && reason.is_counted());
    let source = Source::from_address(line.source.as_bytes());
    if let Some(source) = source
        && time_ms >= gate.saved_ms
        && is_counted
    {
        let clearance = line.clearance;
        let clearance = clearance.and_then(|id| u64::from_str_radix(id, 16).ok());
        let clearance = clearance.map(|id| Clearance {
            id,
            pages: u32::MAX,
            place: Place::Home,
            lifts_denial: false,
        });
        let (live, time) = (gate.live.load(), (time_ms / 1000) as u32);
        let asked = match (content(line.method, &line.target), line.reason) {
            // Of programs nobody knows any more which of it were pages.
            (Content::Page, "tool") => Content::Document,
            (asked, _) => asked,
        };
        match asked {
            Content::Page => drop(live.policy.count_page(source, clearance.as_ref(), time)),
            Content::Document => drop(live.policy.count_document(source, clearance.as_ref(), time)),
            Content::Part => {}
        }
    }
    true
}

/// Counts a line of a signed-in person.
fn recount_user(line: &Line<'_>, time: u32, gate: &Gate) {
    let user = line.user.and_then(|id| u64::from_str_radix(id, 16).ok());
    let live = gate.live.load();
    match (user, content(line.method, &line.target)) {
        (Some(user), Content::Page) => live.policy.count_page_of_user(user, time),
        (Some(user), Content::Document) => live.policy.count_document_of_user(user, time),
        (_, Content::Part) | (None, _) => {}
    }
}
