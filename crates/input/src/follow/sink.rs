//! Where the lines of followed logs go.

use std::sync::Arc;
use std::time::Instant;

use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;

use super::generation::Body;
use super::generation::Generation;
use crate::Event;
use crate::blocks::LongLines;

/// Where the lines of a tail go.
pub(super) struct Sink<'a> {
    pub(super) name: &'a str,
    pub(super) piece: u32,
    pub(super) format: &'a Arc<Format>,
    pub(super) room: &'a mut dyn FnMut() -> Vec<u8>,
    pub(super) give: &'a mut dyn FnMut(Event) -> bool,
    /// Kept for the next lines where the last look brought none.
    pub(super) spare: &'a mut Option<Vec<u8>>,
}

/// The receiver has gone.
pub(super) struct Gone;

impl Sink<'_> {
    fn lines(
        &mut self,
        buffer: Vec<u8>,
        (length, long_lines): (usize, LongLines),
        starts_file: bool,
    ) -> Result<(), Gone> {
        let block = Block {
            piece: self.piece,
            starts_file,
            format: Arc::clone(self.format),
            buffer,
            length,
            long_lines,
        };
        self.event(Event::Block(block))
    }

    pub(super) fn note(&mut self, what: &str) -> Result<(), Gone> {
        self.event(Event::Note(format!("{} {what}", self.name)))
    }

    fn event(&mut self, event: Event) -> Result<(), Gone> {
        (self.give)(event).then_some(()).ok_or(Gone)
    }

    /// Hands over all whole lines that a generation has now.
    pub(super) fn drain(&mut self, generation: &mut Generation) -> Result<(), Gone> {
        // Looked at again before each block: a long file may be emptied while it is read.
        while !generation.is_cut && !generation.was_emptied() {
            let mut buffer = self.spare.take().unwrap_or_else(|| (self.room)());
            let before = generation.blocks.reader.position;
            let (lines, error) = generation.blocks.next(&mut buffer);
            if generation.blocks.reader.position > before {
                generation.last_growth = Instant::now();
            }
            let is_end = lines.is_none() || error.is_some();
            match lines {
                Some(lines) => {
                    let starts_file = !std::mem::replace(&mut generation.is_begun, true);
                    self.lines(buffer, lines, starts_file)?;
                }
                None => *self.spare = Some(buffer),
            }
            if let Some(error) = error
                && !std::mem::replace(&mut generation.is_damaged, true)
            {
                self.note(&format!("cannot be read further: {error}"))?;
            }
            if is_end {
                break;
            }
        }
        Ok(())
    }

    /// Hands over the last lines of a generation, even an unfinished one.
    pub(super) fn close(&mut self, mut generation: Generation) -> Result<(), Gone> {
        generation.blocks.close();
        if std::mem::replace(&mut generation.is_cut, false) {
            generation.blocks.reader.file = Body::Lost;
        }
        self.drain(&mut generation)
    }
}
