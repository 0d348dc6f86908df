//! Counters on the disk: saved now and then and at the end; after a crash the access log tells what was counted since.

use std::fs;
use std::fs::File;
use std::io;
use std::io::BufReader;
use std::io::BufWriter;
use std::io::Read;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use cattlegrid_core::analysis::Block;
use cattlegrid_core::policy::Asked;
use cattlegrid_core::policy::Counters;
use cattlegrid_core::policy::Policy;
use cattlegrid_core::policy::Reason;
use cattlegrid_core::profile::is_page;
use cattlegrid_core::request::Source;
use serde::Deserialize;

use crate::gate::Gate;

/// How often counters are saved.
const EVERY: Duration = Duration::from_secs(60);

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
            tracing::info!(taken, "counters of before");
            (counters, time_ms)
        }
        Err(error) => {
            if path.exists() {
                tracing::warn!(error, path = %path.display(), "saved counters cannot be used: all sources start from nothing");
            }
            (Policy::room(sources_max, seed), 0)
        }
    }
}

/// Saves counters: the file is whole or the one before.
pub(crate) fn save(path: &Path, counters: &Counters, now_ms: u64) -> io::Result<()> {
    let new = path.with_extension("new");
    // It holds the key of the table's hash, by which addresses could be chosen that push others out.
    let file = fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    out.write_all(&now_ms.to_le_bytes())?;
    counters.save(&mut out, u32::try_from(now_ms / 1000).unwrap_or(u32::MAX))?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Saves counters every minute, until the channel is closed.
pub(crate) fn keep(path: &Path, gate: &Arc<Gate>, end: &Receiver<()>) {
    while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let saved = save(path, &gate.counters, gate.clock.now_ms());
        gate.metrics.snapshot_failed.set(i64::from(saved.is_err()));
        if let Err(error) = saved {
            tracing::error!(%error, path = %path.display(), "counters cannot be saved");
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
}

/// Counts requests of the log that came after the counters were saved.
pub(crate) fn recount(block: &Block, since_ms: u64, gate: &Gate) {
    let live = gate.live.load();
    let standing = gate.standing.load();
    for line in block.lines().split(|byte| *byte == b'\n').rev() {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
            continue;
        };
        // Lines stand nearly in the order of time: what ended late may have begun early.
        let time_ms = (line.time * 1000.0) as u64;
        if time_ms.saturating_add(120_000) < since_ms {
            return;
        }
        let is_counted = Reason::ALL
            .iter()
            .any(|reason| reason.name() == line.reason && reason.is_counted());
        let Some(source) = Source::from_address(line.source.as_bytes()) else {
            continue;
        };
        if time_ms < since_ms
            || !is_counted
            || !is_page(line.method.as_bytes(), line.target.as_bytes())
        {
            continue;
        }
        let clearance = line
            .clearance
            .and_then(|id| u64::from_str_radix(id, 16).ok());
        let asked = Asked {
            clearance,
            ..Asked::page(source, (time_ms / 1000) as u32)
        };
        live.policy.decide(&asked, &standing);
    }
}
