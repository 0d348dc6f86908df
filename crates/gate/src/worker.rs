//! One thread that serves: what its connections share.

use std::sync::Arc;

use crate::gate::Gate;
use crate::log::Entry;
use crate::log::Lines;
use crate::upstream::Pool;

/// What the connections of one thread share.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) gate: Arc<Gate>,
    pub(crate) pool: Pool,
    pub(crate) lines: Lines,
}

impl Worker {
    /// Writes a request down.
    pub(crate) fn log(&self, entry: &Entry) {
        let took = entry.started.elapsed();
        self.gate.metrics.answered(entry.status, took.as_secs_f64());
        self.lines.add(entry, took, &self.gate.metrics);
    }
}

/// A request whose answer is on its way. It is written down when this is dropped, whatever has become of it.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) worker: Arc<Worker>,
    pub(crate) entry: Box<Entry>,
    /// The answer has been passed on to its end.
    pub(crate) is_whole: bool,
}

impl Drop for Logged {
    fn drop(&mut self) {
        self.entry.is_cut = !self.is_whole;
        self.worker.log(&self.entry);
    }
}
