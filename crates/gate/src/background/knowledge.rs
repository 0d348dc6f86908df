//! The knowledge base as requests see it: read anew whenever its file has changed, by whomever.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use cattlegrid_core::policy::Standing;
use cattlegrid_store::Base;
use cattlegrid_store::Fault;

use crate::state::Gate;

/// How often the file is looked at: an owner's word counts within a second.
const LOOK: Duration = Duration::from_millis(300);
/// After this many looks at an unchanged log, the base is read again, which moves the log into it: each look reads the whole log.
const LEFT_LOOKS: u32 = 100;

/// When the file and its log were changed last, and which files they are.
#[derive(Debug, PartialEq, Eq)]
struct Stamp([Option<(i64, i64, u64, u64)>; 2]);

impl Stamp {
    fn of(path: &Path) -> Stamp {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        Stamp([path, Path::new(&log)].map(|path| {
            let found = fs::metadata(path).ok()?;
            Some((found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
        }))
    }

    /// True where changes stand in the log. They are written there before they hold, which a slow disk takes seconds for: then the files
    /// do not tell, and the base must be asked.
    fn has_log(&self) -> bool {
        self.0[1].is_some_and(|(.., size, _)| size > 0)
    }
}

/// Reads what is known. A base that is missing is an empty one only while nothing is known.
pub(crate) fn read(path: &Path, gate: &Gate) -> Result<Standing, Fault> {
    let live = gate.live.load();
    match Base::open(path) {
        Ok(base) => base.standing(gate.clock.now(), |text| live.recorder.agent(text)),
        Err(Fault::Missing(_)) if gate.standing.load().is_empty() => Ok(Standing::default()),
        Err(fault) => Err(fault),
    }
}

/// Publishes what the base says whenever it has changed.
pub(crate) fn watch(path: &Path, gate: &Gate) {
    let mut known: Option<(Stamp, Option<i64>)> = None;
    let mut unchanged = 0;
    let mut is_told = false;
    while !gate.is_ending.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        let is_failing = is_told || gate.is_unwritten.load(Ordering::Relaxed);
        gate.metrics.base_failed.set(i64::from(is_failing));
        let now = Stamp::of(path);
        let batch = match now.has_log() {
            true => Base::next_batch(path).ok(),
            false => None,
        };
        let now = (now, batch);
        let is_left = now.0.has_log() && unchanged >= LEFT_LOOKS;
        if known.as_ref() == Some(&now) && !is_left {
            unchanged += 1;
            continue;
        }
        unchanged = 0;
        match read(path, gate) {
            Ok(standing) => {
                gate.metrics
                    .entries
                    .set(i64::try_from(standing.len()).unwrap_or(i64::MAX));
                gate.standing.store(Arc::new(standing));
                if is_told {
                    tracing::info!("the knowledge base is readable again");
                }
                (known, is_told) = (Some(now), false);
            }
            Err(fault) => {
                // What was known stays in force: no failure empties a list.
                if !is_told {
                    tracing::error!(%fault, "cannot read the knowledge base; known entries stay in force");
                }
                (known, is_told) = (None, true);
            }
        }
    }
}
