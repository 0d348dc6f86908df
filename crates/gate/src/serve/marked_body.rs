//! The body of a page on its way through the rewriter that marks its links, unpacked where the site has packed it.
//!
//! Invariant: a step takes at most [`PART`] packed bytes, so that no packed page takes more memory than a plain one.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use cattlegrid_http1::response::Invalid;
use cattlegrid_marker::GaveUp;
use cattlegrid_marker::Links;
use cattlegrid_marker::Rewriter;
use cattlegrid_marker::rewrite::MEMORY_MAX;
use flate2::write::MultiGzDecoder;

use crate::settings::defence::Defence;
use crate::settings::defence::Defences;
use crate::state::Gate;

/// Packed bytes of one step: a byte becomes a thousand at most, and of these a page of links several thousand.
const PART: usize = 128;

const CORRUPT: Invalid = Invalid("invalid gzip");

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Plain,
    Gzip,
}

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// More is to come.
    Open,
    /// All has come.
    Closed,
    /// All has left.
    Ended,
}

/// A body that gets markers.
pub(crate) struct MarkedBody {
    rewriter: Rewriter,
    unpacker: Option<MultiGzDecoder<Vec<u8>>>,
    /// Packed bytes, and the number of them that were unpacked.
    packed: Vec<u8>,
    unpacked: usize,
    /// Packed bytes of one step.
    part: usize,
    stage: Stage,
    gate: Arc<Gate>,
}

impl fmt::Debug for MarkedBody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("MarkedBody")
    }
}

impl MarkedBody {
    pub(super) fn new(
        links: Links,
        coding: Coding,
        gate: &Arc<Gate>,
        defences: &Defences,
    ) -> MarkedBody {
        MarkedBody {
            rewriter: Rewriter::new(links, MEMORY_MAX),
            unpacker: (coding == Coding::Gzip).then(|| MultiGzDecoder::new(Vec::new())),
            packed: Vec::new(),
            unpacked: 0,
            part: match defences.has(Defence::MarkedBounded) {
                true => PART,
                false => usize::MAX,
            },
            stage: Stage::Open,
            gate: Arc::clone(gate),
        }
    }

    /// Takes bytes of the site. Those that are packed wait for [`MarkedBody::step`].
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match self.unpacker {
            None => self.rewriter.push(bytes, out),
            Some(_) => {
                self.packed.drain(..self.unpacked);
                self.unpacked = 0;
                self.packed.extend_from_slice(bytes);
            }
        }
    }

    /// Nothing more comes from the site.
    pub(super) fn close(&mut self) {
        if self.stage == Stage::Open {
            self.stage = Stage::Closed;
        }
    }

    /// True while bytes wait here, or the end does.
    pub(super) fn has_more(&self) -> bool {
        self.unpacked < self.packed.len() || self.stage == Stage::Closed
    }

    /// True where all has left.
    pub(super) fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Does a part of what there is to do.
    pub(super) fn step(&mut self, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let done = self.try_step(out);
        if done.is_err() {
            self.stage = Stage::Ended;
            self.gate.metrics.unmarked("corrupt");
        }
        done
    }

    fn try_step(&mut self, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let waiting = &self.packed[self.unpacked..];
        let part = &waiting[..waiting.len().min(self.part)];
        let is_end = part.is_empty() && self.stage == Stage::Closed;
        if let Some(unpacker) = &mut self.unpacker {
            let unpacked = match is_end {
                true => unpacker.try_finish(),
                false => unpacker.write_all(part).and_then(|()| unpacker.flush()),
            };
            unpacked.map_err(|_| CORRUPT)?;
            self.unpacked += part.len();
            self.rewriter.push(unpacker.get_ref(), out);
            unpacker.get_mut().clear();
        }
        if is_end {
            self.rewriter.finish(out);
            self.stage = Stage::Ended;
        }
        Ok(())
    }
}

/// However it ended, what became of the page is counted.
impl Drop for MarkedBody {
    fn drop(&mut self) {
        let (outcome, metrics) = (self.rewriter.outcome(), &self.gate.metrics);
        metrics.marked_pages.inc();
        metrics.marked_links.inc_by(outcome.marked);
        if outcome.too_long > 0 {
            metrics.unmarked("too_long");
        }
        if let Some(why) = outcome.gave_up {
            metrics.unmarked(name(why));
        }
    }
}

/// The name in metrics.
fn name(why: GaveUp) -> &'static str {
    match why {
        GaveUp::Plaintext => "plaintext",
        GaveUp::Frameset => "frameset",
        GaveUp::Select => "select",
        GaveUp::Foreign => "foreign",
        GaveUp::Template => "template",
        GaveUp::Encoding => "charset",
    }
}
