//! Log files as blocks of whole lines: found, opened, decompressed, put in order of time and cut.
//!
//! [`plan`] looks at the beginning of every input; [`Plan::read`] then reads them one after the other. What cannot be
//! read is a [`Problem`] that names the input and the reason, and never keeps the others from being read.

use std::sync::Arc;

mod again;
mod blocks;
mod find;
mod follow;
mod open;
mod plan;

pub use again::Again;
pub use blocks::BLOCK_BYTES;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
pub use plan::Looking;
pub use plan::Piece;
pub use plan::Plan;
pub use plan::Progress;
pub use plan::is_read;
pub use plan::plan;

/// What following a log brings.
#[derive(Debug)]
pub enum Event {
    /// More lines.
    Block(Block),
    /// A log that was empty has lines now: its name and format. It is the next piece.
    Found(String, Arc<Format>),
    /// All lines that were there have been handed over.
    CaughtUp,
    /// Something the owner should know.
    Note(String),
}

/// An input, or a part of one, that was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The input's name.
    pub name: String,
    /// What is wrong, and what to do.
    pub what: String,
    /// False where nothing is lost: an empty file holds no requests.
    pub is_loss: bool,
}

impl Problem {
    fn new(name: &str, what: impl Into<String>) -> Problem {
        Problem {
            name: name.to_owned(),
            what: what.into(),
            is_loss: true,
        }
    }
}
