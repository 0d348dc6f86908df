//! Lines of a simulated world to blocks of a log: gigabytes that need no disk.

use std::io;
use std::io::Write;
use std::sync::Arc;

use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;

use crate::logs::ROUND;

/// Takes lines as they are written.
pub(crate) struct Feed<W: FnMut(Vec<Block>)> {
    format: Arc<Format>,
    /// Text that makes no block yet.
    text: Vec<u8>,
    blocks: Vec<Block>,
    is_first: bool,
    work: W,
}

/// Bytes of a block.
const BLOCK: usize = 1 << 20;

impl<W: FnMut(Vec<Block>)> Feed<W> {
    /// Gives blocks of lines in this format to `work`, some at a time.
    pub(crate) fn new(format: Format, work: W) -> Feed<W> {
        Feed {
            format: Arc::new(format),
            text: Vec::new(),
            blocks: Vec::new(),
            is_first: true,
            work,
        }
    }

    /// Gives what is left, and no blocks at the end.
    pub(crate) fn finish(mut self) {
        self.cut(self.text.len());
        (self.work)(self.blocks);
        (self.work)(Vec::new());
    }

    /// Makes a block of the first bytes.
    fn cut(&mut self, length: usize) {
        let rest = self.text.split_off(length);
        self.blocks.push(Block {
            piece: 0,
            starts_file: std::mem::take(&mut self.is_first),
            format: Arc::clone(&self.format),
            buffer: std::mem::replace(&mut self.text, rest),
            length,
            long_lines: (0, Vec::new()),
        });
    }
}

impl<W: FnMut(Vec<Block>)> Write for Feed<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(text);
        if self.text.len() >= BLOCK
            && let Some(end) = self.text.iter().rposition(|byte| *byte == b'\n')
        {
            self.cut(end + 1);
        }
        if self.blocks.len() >= ROUND {
            (self.work)(std::mem::take(&mut self.blocks));
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
