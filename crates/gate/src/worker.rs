//! One thread that serves: what its connections share.

use std::sync::Arc;
use std::time::Instant;

use hyper::Response;

use crate::body::Body;
use crate::gate::Gate;
use crate::log::Entry;
use crate::log::Kept;
use crate::log::Lines;
use crate::log::Texts;
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
    pub(crate) fn log(&self, entry: &Entry, texts: &Texts<'_>, ended: Instant) {
        let took = ended.saturating_duration_since(entry.started);
        self.gate.metrics.answered(entry.status, took.as_secs_f64());
        self.lines.add(entry, texts, took, &self.gate.metrics);
    }
}

/// A request whose answer is on its way. It is written down when this is dropped, whatever has become of it.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) worker: Arc<Worker>,
    pub(crate) entry: Entry,
    pub(crate) texts: Kept,
    /// When it was, if that is known before this is dropped.
    pub(crate) ended: Option<Instant>,
    /// The answer has been passed on to its end.
    pub(crate) is_whole: bool,
}

/// The status of a request whose client did not wait for the answer, as other servers write it down.
const NOBODY_WAITED: u16 = 499;

impl Logged {
    /// A request that is on its way to its site.
    pub(crate) fn new(worker: &Arc<Worker>, mut entry: Entry, texts: &Texts<'_>) -> Logged {
        entry.status = NOBODY_WAITED;
        Logged {
            worker: Arc::clone(worker),
            entry,
            texts: texts.keep(),
            ended: None,
            is_whole: false,
        }
    }

    /// The gate answers it, with all that it says.
    pub(crate) fn answered(&mut self, response: Response<Body>) -> Response<Body> {
        self.entry.answered(&response);
        self.is_whole = true;
        response
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        self.entry.is_cut = !self.is_whole;
        let ended = self.ended.unwrap_or_else(Instant::now);
        self.worker.log(&self.entry, &self.texts.texts(), ended);
    }
}
