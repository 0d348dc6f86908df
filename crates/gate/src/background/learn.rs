//! Learning while running: the lines of the access log go to the disk and into the same analysis that reads old logs; every half hour, and
//! when a source crosses the second limit, all sources are judged, off the path of requests, and new verdicts go into the knowledge base.

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::Analysis;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use cattlegrid_core::paths::Judge;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::policy::Suspects;
use cattlegrid_store::Base;
use cattlegrid_store::Fault;
use cattlegrid_store::Updater;
use ipnet::IpNet;
use rustix::time::ClockId;
use rustix::time::clock_gettime;

use crate::state::Gate;
use crate::state::log::hand_over;
use crate::state::log::lines;

/// Lines are learned from in blocks of about this size.
const GATHERED_BYTES: usize = 1 << 20;
/// How long the threads wait for lines before they look at the time.
const TICK: Duration = Duration::from_millis(200);
/// How long a source that has crossed the second limit waits to be judged: by then its lines have come.
const CROSSED: Duration = Duration::from_millis(400);
/// Between two judgements out of turn lies so many times the work of one: on a large site they must not take a core.
const PAUSES: u32 = 20;

/// Writes blocks of lines to the access log, and hands them on to be learned from.
pub(crate) fn write_log(
    path: &Path,
    blocks: &Receiver<Vec<u8>>,
    learn: &SyncSender<Vec<u8>>,
    gate: &Gate,
    reopen: &AtomicBool,
) {
    let mut file = open(path);
    loop {
        match blocks.recv_timeout(TICK) {
            Ok(block) => {
                file = append(file, path, &block, gate);
                // The log never waits for the learner.
                hand_over(block, learn, &gate.metrics.learned_lines_lost);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if reopen.swap(false, Ordering::Relaxed) {
            file = open(path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// Appends a block. A log that cannot be written is opened anew with the next block; what was in this one is lost, and counted.
fn append(file: io::Result<File>, path: &Path, block: &[u8], gate: &Gate) -> io::Result<File> {
    let written = file
        .or_else(|_| open(path))
        .and_then(|mut file| file.write_all(block).map(|()| file));
    gate.metrics.log_failed.set(i64::from(written.is_err()));
    if let Err(error) = &written {
        gate.metrics.log_lines_lost.inc_by(lines(block));
        tracing::error!(%error, path = %path.display(), "cannot write the access log");
    }
    written
}

/// Old lines of the access log, block by block: what was learned before a restart.
pub type History = Box<dyn FnOnce(&mut dyn FnMut(Block)) + Send>;

/// What learns.
pub struct Learner {
    /// The analysis, which has seen nothing yet.
    pub analysis: Analysis,
    /// Networks that are never denied by themselves, with what they are.
    pub protected: Vec<(IpNet, String)>,
    /// What was logged before.
    pub history: History,
    /// Judges the paths of signed-in people.
    pub paths: Judge,
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Learner")
    }
}

/// Learns from blocks of lines until there are no more; judges when it is time to.
///
/// One thread is enough: the analysis would take all cores, and workers need them.
pub(crate) fn learn(learner: Learner, blocks: Receiver<Vec<u8>>, gate: &Arc<Gate>, base: &Path) {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(|| learn_alone(learner, blocks, gate, base)),
        Err(error) => tracing::error!(%error, "learning is off: cannot start its thread"),
    }
}

fn learn_alone(learner: Learner, blocks: Receiver<Vec<u8>>, gate: &Arc<Gate>, base: &Path) {
    let Learner {
        analysis,
        protected,
        history,
        ..
    } = learner;
    let mut learning = Learning {
        analysis,
        protected,
        gate: Arc::clone(gate),
        base: base.to_owned(),
        piece: 0,
        seen: 0,
        crossed: None,
        judged: Instant::now(),
        took: Duration::ZERO,
    };
    learning.analysis.watch();
    history(&mut |block| learning.observe(block));
    // What was learned before belongs to a piece of its own.
    learning.piece = u32::MAX;
    let Ok(format) = Format::parse("json_cattlegrid") else {
        tracing::error!("the gate cannot read its own log");
        return;
    };
    let format = Arc::new(format);
    // With room for another block: one that grows is copied again and again.
    let room = || Vec::with_capacity(GATHERED_BYTES + GATHERED_BYTES / 8);
    let mut gathered: Vec<u8> = room();
    loop {
        let received = blocks.recv_timeout(TICK);
        let is_time = learning.is_time();
        let is_ripe = received.is_err() || is_time;
        if let Ok(block) = &received {
            gathered.extend_from_slice(block);
        }
        // Large blocks cost less each.
        if gathered.len() >= GATHERED_BYTES || (is_ripe && !gathered.is_empty()) {
            let buffer = std::mem::replace(&mut gathered, room());
            let piece = learning.piece;
            learning.observe(Block {
                piece,
                starts_file: false,
                format: Arc::clone(&format),
                length: buffer.len(),
                buffer,
                long_lines: (0, Vec::new()),
            });
        }
        if received == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        if is_time {
            learning.judge();
        }
    }
}

struct Learning {
    analysis: Analysis,
    protected: Vec<(IpNet, String)>,
    gate: Arc<Gate>,
    base: PathBuf,
    piece: u32,
    /// Blocks since sources were last counted.
    seen: u64,
    /// Since when a source waits to be judged that has crossed the second limit.
    crossed: Option<Instant>,
    /// When sources were last judged.
    judged: Instant,
    /// How long the thread worked for that. It does not work while it waits for the disk.
    took: Duration,
}

impl Learning {
    fn observe(&mut self, block: Block) {
        self.analysis.observe(&[block]);
        // Whoever keeps one answer waiting must not put off what his other requests say.
        self.analysis.settle();
        self.suspect();
        self.seen += 1;
        if self.seen.is_multiple_of(64) {
            self.keep_bounds();
        }
    }

    /// Publishes the clients in whose visits something is suspicious.
    fn suspect(&mut self) {
        let now = self.gate.clock.now();
        let from = self.gate.live.load().policy.limits.suspect_from;
        let found = self.analysis.suspects(from);
        let known = self.gate.suspects.load();
        if found.is_empty() && known.count() == 0 {
            return;
        }
        let mut suspects = Suspects::clone(&known);
        suspects.add(&found);
        suspects.forget_ended(now);
        let count = i64::try_from(suspects.count()).unwrap_or(i64::MAX);
        self.gate.metrics.suspects.set(count);
        self.gate.suspects.store(Arc::new(suspects));
    }

    /// The gate runs for months: it keeps the heaviest sources, and the windows that still matter.
    fn keep_bounds(&mut self) {
        let max = self.gate.live.load().setup.profiles_max;
        let forgotten = self.analysis.keep_heaviest(max);
        self.gate.metrics.sources_forgotten.inc_by(forgotten);
        self.gate
            .metrics
            .sources
            .set(i64::try_from(self.analysis.sources()).unwrap_or(i64::MAX));
    }

    /// True where sources are to be judged now.
    fn is_time(&mut self) -> bool {
        if self.gate.has_crossed.swap(false, Ordering::Relaxed) {
            self.crossed.get_or_insert_with(Instant::now);
        }
        let since = self.judged.elapsed();
        let every = self.gate.live.load().setup.judge_every;
        let is_crossed = |crossed: Instant| crossed.elapsed() >= CROSSED;
        since >= every || self.crossed.is_some_and(is_crossed) && since >= self.took * PAUSES
    }

    fn judge(&mut self) {
        let began = worked();
        self.crossed = None;
        self.judge_all();
        self.judged = Instant::now();
        self.took = worked().saturating_sub(began);
    }

    fn judge_all(&mut self) {
        self.keep_bounds();
        self.analysis.forget_old_windows();
        let report = self.analysis.judge();
        let limits = self.gate.live.load().policy.limits.clone();
        let outcome = self.update(&report, &limits);
        self.gate
            .is_unwritten
            .store(outcome.is_err(), Ordering::Relaxed);
        if let Err(fault) = outcome {
            // Another program writes for a moment: the source that has crossed the second limit is judged again soon.
            if matches!(fault, Fault::Busy(_)) {
                self.crossed = Some(Instant::now());
            }
            // What is known stays in force; the next judgement tries again.
            tracing::error!(%fault, path = %self.base.display(), "cannot write the knowledge base");
        }
        self.gate.metrics.judged.inc();
        self.gate
            .metrics
            .judged_at
            .set(i64::from(self.gate.clock.now()));
    }

    fn update(&self, report: &cattlegrid_core::Report, limits: &Limits) -> Result<(), Fault> {
        let now = self.gate.clock.now();
        // A base that vanished while its entries are in force is not begun anew: that would lift every ban.
        let mut base = match self.gate.standing.load().is_empty() {
            true => Base::open_or_create(&self.base)?,
            false => Base::open(&self.base)?,
        };
        let updater = Updater {
            limits,
            now,
            protected: &self.protected,
        };
        let outcome = updater.update(report, &base.entries()?);
        let applied = base.apply(&outcome.changes, "gate", now)?;
        let needs_copy = applied.batch > 0 || self.gate.is_unwritten.load(Ordering::Relaxed);
        if needs_copy && let Some(aside) = base.keep_copy()? {
            tracing::warn!(path = %aside.display(), "the backup belongs to another knowledge base; renamed it");
        }
        if applied.batch > 0 {
            tracing::info!(
                denied = outcome.denied,
                allowed = outcome.allowed,
                campaigns = outcome.campaigns,
                undo = applied.batch,
                "new verdicts in the knowledge base"
            );
        }
        Ok(())
    }
}

/// How long this thread has worked.
fn worked() -> Duration {
    let worked = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(worked).unwrap_or_default()
}
