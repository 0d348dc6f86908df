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
