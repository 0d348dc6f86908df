//! A second look at every request, once the verdicts are known: for what needs both, such as the pages that people asked for, their visits,
//! or a log without robots.
//!
//! The log is read again instead of being kept: a request with its line takes as much room as the log itself. Blocks are parsed in
//! parallel, and each gives a part of the result. Parts come back in the order of the blocks, so that the result does not depend on the
//! threads.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use rayon::prelude::*;

use super::Analysis;
use super::Block;
use super::lock;
use super::parse::ParseContext;
use super::parse::Parser;
use crate::format::Format;
use crate::knowledge::Knowledge;
use crate::policy::Ruling;
use crate::profile::Glance;
use crate::report::Judged;
use crate::report::Report;
use crate::request::Request;
use crate::request::Source;

/// One request that counts, with what is known of its sender.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Its line as the log has it, with the newline.
    pub line: &'a [u8],
    /// What the line says.
    pub request: &'a Request<'a>,
    /// Who sent it, and whether it asks for a page or a part of one.
    pub glance: Glance,
    /// What the source was found to be.
    pub judged: &'a Judged,
}

/// Reads the blocks of a log again that an [`Analysis`] has judged.
#[derive(Debug)]
pub struct SecondLook {
    analysis: Analysis,
    judged: HashMap<Source, Judged, RandomState>,
    /// Pieces and numbers of the lines that stand outside of time, sorted.
    left_out: Vec<(u32, u64)>,
}

impl Analysis {
    /// Judges everything that was seen, and keeps what a second look needs. The settings must have asked for it
    /// ([`second_look`](crate::Settings::second_look)).
    pub fn finish_for_look(mut self) -> (Report, SecondLook) {
        self.close();
        let mut report = self.report();
        let judged = std::mem::take(&mut report.judged).into_iter().collect();
        let mut left_out = self.stitcher.take_left_out();
        left_out.sort_unstable();
        self.tables = Vec::new();
        self.pieces.clear();
        self.header = None;
        let look = SecondLook {
            analysis: self,
            judged,
            left_out,
        };
        (report, look)
    }
}

impl SecondLook {
    /// Gives every request of some blocks to `each`, with the part of the result that its block makes. Blocks must come as they did the
    /// first time; their parts come back in that order.
    pub fn look<Part: Default + Send>(
        &mut self,
        blocks: &[Block],
        each: impl Fn(&mut Part, &Seen<'_>) + Sync,
    ) -> Vec<Part> {
        let before = self.lines_before(blocks);
        let analysis = &mut self.analysis;
        let formats: Vec<Arc<Format>> = blocks.iter().map(|block| analysis.format(block)).collect();
        let analysis = &self.analysis;
        let context = ParseContext {
            recorder: &analysis.recorder,
            knowledge: &analysis.knowledge,
            hasher: &analysis.hasher,
            hosts: &analysis.hosts,
            settings: &analysis.settings,
            focus: None,
            standing: analysis.standing.as_ref(),
        };
        blocks
            .par_iter()
            .zip(&formats)
            .zip(&before)
            .map(|((block, format), before)| {
                let parser = lock(&analysis.parsers).pop();
                let mut parser = parser.unwrap_or_else(|| Parser::new(&analysis.settings));
                let mut part = Part::default();
                parser.look(
                    block.lines(),
                    format,
                    &context,
                    |number, line, request, glance| {
                        if self.is_left_out(block.piece, before + number) {
                            return;
                        }
                        if let Some(judged) = self.judged.get(&glance.source) {
                            let seen = Seen {
                                line,
                                request,
                                glance,
                                judged,
                            };
                            each(&mut part, &seen);
                        }
                    },
                );
                lock(&analysis.parsers).push(parser);
                part
            })
            .collect()
    }

    /// What every source was found to be.
    pub fn judged(&self) -> &HashMap<Source, Judged, RandomState> {
        &self.judged
    }

    /// The lists that requests were recorded with.
    pub(super) fn knowledge(&self) -> &Arc<Knowledge> {
        &self.analysis.knowledge
    }

    /// What the knowledge base says of a source, where one was given. Entries that had ended by `time` are left out.
    pub fn ruling(&self, source: Source, time: u32) -> Option<Ruling> {
        let standing = self.analysis.standing.as_ref()?;
        standing.ruling(source, 0, time)
    }

    /// The source of this name.
    pub fn source(&self, name: &str) -> Source {
        self.analysis.recorder.source(name)
    }

    /// A source as reports name it.
    pub fn name(&self, source: Source) -> String {
        super::finish::name(&self.analysis.settings, &self.analysis.tokens, source)
    }

    /// Lines of its file before each block. Few logs have lines that stand outside of time: in others nobody asks.
    fn lines_before(&mut self, blocks: &[Block]) -> Vec<u64> {
        if self.left_out.is_empty() {
            return vec![0; blocks.len()];
        }
        let counts = blocks.par_iter().map(|block| {
            let (lines, newlines) = (block.lines(), memchr::memchr_iter(b'\n', block.lines()));
            newlines.count() as u64 + u64::from(lines.last().is_some_and(|last| *last != b'\n'))
        });
        let counts: Vec<u64> = counts.collect();
        let mut before = Vec::with_capacity(blocks.len());
        for (block, count) in blocks.iter().zip(counts) {
            let seen = self.analysis.pieces.entry(block.piece).or_default();
            *seen += block.long_lines.0;
            before.push(*seen);
            *seen += count;
        }
        before
    }

    #[inline]
    fn is_left_out(&self, piece: u32, line: u64) -> bool {
        !self.left_out.is_empty() && self.left_out.binary_search(&(piece, line)).is_ok()
    }
}
