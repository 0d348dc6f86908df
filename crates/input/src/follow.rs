//! A log that is still written to: read to its end, and on as it grows, through every kind of rotation.
//!
//! A log is renamed away or copied and emptied while it is read, so what is read is not a name but a *generation*: the
//! lines from one beginning of the file to its end. Inodes are used again and copies have new ones, so a generation is
//! known by its first bytes: lines of a log begin with addresses and times. Whatever lies beside the log under a rotated
//! name is a generation that was read, the rest of one that was emptied too early, or one that came and went unseen.

mod generation;
mod sink;
mod tail;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use cattlegrid_core::format::Format;

use crate::Event;
use crate::Problem;
use crate::find::Input;
use crate::plan::Ending;
use crate::plan::Looking;
use crate::plan::Piece;
use crate::plan::Plan;
use crate::plan::Progress;
use crate::plan::Unread;
use crate::plan::look;
use sink::Gone;
use sink::Sink;
pub(crate) use tail::Tail;
pub(crate) use tail::is_rotated_name;

/// How often followed logs are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Plan {
    /// Reads everything, and then on what the logs gain, until `stop` is set or `give` says so.
    pub fn follow(
        self,
        mut room: impl FnMut() -> Vec<u8>,
        mut give: impl FnMut(Event) -> bool,
        looking: &Looking,
        stop: &AtomicBool,
    ) -> Vec<Problem> {
        let mut following = Following {
            tails: Vec::new(),
            waiting: self.waiting,
            refused: BTreeSet::new(),
            pieces: self.pieces.len() as u32,
            spare: None,
            room: &mut room,
            give: &mut give,
        };
        let mut problems = Vec::new();
        for (number, piece) in self.pieces.into_iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return problems;
            }
            let read = following.begin(piece, number as u32, &self.progress);
            match read {
                Ok(()) => {}
                Err(Ending::Damaged(problem)) => problems.push(problem),
                Err(Ending::Gone) => return problems,
            }
        }
        if !(following.give)(Event::CaughtUp) {
            return problems;
        }
        loop {
            // What was there when the end was asked for is still read.
            let is_last = stop.load(Ordering::Relaxed);
            if following.look(looking).is_err() || is_last {
                return problems;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// Logs that are followed.
struct Following<'a> {
    tails: Vec<(u32, Followed, Tail)>,
    waiting: Vec<(Input, Tail)>,
    /// Names of logs whose format could not be told yet, and that was said.
    refused: BTreeSet<String>,
    /// Numbers that were given to pieces.
    pieces: u32,
    spare: Option<Vec<u8>>,
    room: &'a mut dyn FnMut() -> Vec<u8>,
    give: &'a mut dyn FnMut(Event) -> bool,
}

/// Name and format of a followed log.
type Followed = (String, Arc<Format>);

impl Following<'_> {
    /// Reads a piece to its end, and keeps it if it may grow.
    fn begin(&mut self, mut piece: Piece, number: u32, progress: &Progress) -> Result<(), Ending> {
        let Some(tail) = piece.tail.take() else {
            let mut give = |block| (self.give)(Event::Block(block));
            return piece.read(number, progress, &mut self.room, &mut give);
        };
        self.tails.push((number, (piece.name, piece.format), tail));
        self.look_at(self.tails.len() - 1)
    }

    fn look(&mut self, looking: &Looking) -> Result<(), Ending> {
        let waiting = std::mem::take(&mut self.waiting);
        for (input, tail) in waiting {
            match look(&input, looking) {
                Ok(piece) => {
                    let found = Event::Found(piece.name.clone(), Arc::clone(&piece.format));
                    if !(self.give)(found) {
                        return Err(Ending::Gone);
                    }
                    self.tails
                        .push((self.pieces, (piece.name, piece.format), tail));
                    self.pieces += 1;
                }
                Err(unread) => {
                    if let Unread::Foreign(what) | Unread::Lost(what) = unread
                        && self.refused.insert(input.name())
                    {
                        let note = Event::Note(format!("{}: {what}", input.name()));
                        if !(self.give)(note) {
                            return Err(Ending::Gone);
                        }
                    }
                    self.waiting.push((input, tail));
                }
            }
        }
        (0..self.tails.len()).try_for_each(|at| self.look_at(at))
    }

    fn look_at(&mut self, at: usize) -> Result<(), Ending> {
        let (piece, (name, format), tail) = &mut self.tails[at];
        let mut sink = Sink {
            name,
            piece: *piece,
            format,
            room: self.room,
            give: self.give,
            spare: &mut self.spare,
        };
        tail.look(&mut sink).map_err(|Gone| Ending::Gone)
    }
}
