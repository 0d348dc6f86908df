//! One thread that serves: what its connections share.

use std::sync::Arc;
use std::time::Instant;

use crate::challenge::Page;
use crate::site::Pool;
use crate::state::Gate;
use crate::state::log::Entry;
use crate::state::log::Kept;
use crate::state::log::Lines;
use crate::state::log::Texts;

/// What the connections of one thread share.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) gate: Arc<Gate>,
    pub(crate) pool: Pool,
    pub(crate) lines: Lines,
}

impl Worker {
    /// Logs a request.
    pub(crate) fn log(&self, entry: &Entry, texts: &Texts<'_>, ended: Instant) {
        let took = ended.saturating_duration_since(entry.started);
        self.gate.metrics.answered(entry.status, took.as_secs_f64());
        self.lines.add(entry, texts, took, &self.gate.metrics);
    }
}

/// A request whose response is on its way. It is logged when this is dropped, however it ended.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) worker: Arc<Worker>,
    pub(crate) entry: Entry,
    pub(crate) texts: Kept,
    /// When the response ended, if that is known before this is dropped.
    pub(crate) ended: Option<Instant>,
    /// The response was passed on to its end.
    pub(crate) is_whole: bool,
}

/// The status of a request whose client closed the connection before the response, as nginx logs it.
const CLIENT_CLOSED: u16 = 499;

impl InFlight {
    /// A request that was decided and has no response yet.
    pub(crate) fn new(worker: &Arc<Worker>, mut entry: Entry, texts: &Texts<'_>) -> InFlight {
        entry.status = CLIENT_CLOSED;
        InFlight {
            worker: Arc::clone(worker),
            entry,
            texts: texts.keep(),
            ended: None,
            is_whole: false,
        }
    }

    /// The gate itself responds with this page.
    pub(crate) fn answered(&mut self, page: &Page) {
        self.entry.answered(page);
        self.is_whole = true;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.entry.is_cut = !self.is_whole;
        let ended = self.ended.unwrap_or_else(Instant::now);
        self.worker.log(&self.entry, &self.texts.texts(), ended);
    }
}
