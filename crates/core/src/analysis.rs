//! The loop: blocks of lines in, a [`Report`] out. Parsing and folding run in parallel; the result does not show it.

mod again;
mod bounds;
mod calls;
mod finish;
mod hidden;
mod inspection;
mod kept;
mod look;
mod order;
mod panels;
mod parse;
mod replay;
mod sample;
mod silence;
mod sites;
mod steps;
mod stitch;
mod stories;
mod suspects;
mod trials;
mod views;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::Settings;
use crate::format::Format;
use crate::hosts::Hosts;
use crate::knowledge::Knowledge;
use crate::policy::Standing;
use crate::profile::Recorder;
use crate::report::Lines;
use crate::report::Report;
use crate::request::Source;
use crate::settings::Keep;
use crate::table::Clock;
use crate::table::Table;
use again::Before;
pub use hidden::SecondReading;
pub use kept::KeptRequests;
pub use look::SecondLook;
pub use look::Seen;
use order::Queue;
use order::Run;
pub use panels::PanelPlan;
pub use panels::PanelSums;
use parse::ParseContext;
use parse::Parsed;
use parse::Parser;
use stitch::Stitcher;
pub use views::View;
use views::Views;

/// Tables that sources are spread over: many enough to keep threads busy, few enough to be filled in long runs.
const TABLES: usize = 64;

/// Whole lines of one piece of the log, in their order.
#[derive(Debug)]
pub struct Block {
    /// Number of the piece, in the order the pieces are given.
    pub piece: u32,
    /// True for the first lines of a file: line numbers begin anew.
    pub starts_file: bool,
    /// The piece's format.
    pub format: Arc<Format>,
    /// Room for the lines. It goes back to the reader, and is not cleared in between.
    pub buffer: Vec<u8>,
    /// Bytes of `buffer` that are lines, each ended by a newline.
    pub length: usize,
    /// Lines that were left out because they were too long, with the beginning of the first.
    pub long_lines: (u64, Vec<u8>),
}

impl Block {
    /// The lines.
    pub fn lines(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

/// An analysis under way.
#[derive(Debug)]
pub struct Analysis {
    settings: Settings,
    knowledge: Arc<Knowledge>,
    recorder: Recorder,
    hasher: RandomState,
    tables: Vec<Table>,
    parsers: Mutex<Vec<Parser>>,
    spare: Vec<Parsed>,
    stitcher: Stitcher,
    queue: Queue,
    clock: Option<Clock>,
    lines: Lines,
    /// Lines of each piece so far.
    pieces: BTreeMap<u32, u64>,
    /// The piece whose header has changed, and its format since.
    header: Option<(u32, Arc<Format>)>,
    tokens: BTreeMap<u64, Box<[u8]>>,
    hosts: Hosts,
    /// The source that is looked at closely, and its first lines.
    focus: Option<Source>,
    /// What a knowledge base says: requests that it refused are left out.
    standing: Option<Standing>,
    examples: Vec<Vec<u8>>,
    /// What the last judgement said, where the log is judged again and again.
    before: Before,
    /// What is kept for a second look: nothing once it has become too much.
    keep: Keep,
}

impl Analysis {
    /// An analysis that has seen nothing yet.
    pub fn new(settings: Settings, knowledge: Knowledge) -> Result<Analysis, String> {
        let hasher = RandomState::default();
        let recorder = Recorder::new(settings.hash_key, &settings.listings)?;
        let mut stitcher = Stitcher::new(settings.time_jump_seconds);
        if settings.second_look {
            stitcher.keep_left_out();
        }
        Ok(Analysis {
            standing: None,
            focus: settings.focus.as_deref().map(|name| recorder.source(name)),
            examples: Vec::new(),
            before: Before::default(),
            keep: settings.keep,
            recorder,
            tables: (0..TABLES).map(|_| Table::new(hasher.clone())).collect(),
            stitcher,
            queue: Queue::default(),
            parsers: Mutex::default(),
            spare: Vec::new(),
            clock: None,
            lines: Lines::default(),
            pieces: BTreeMap::new(),
            header: None,
            tokens: BTreeMap::new(),
            hosts: Hosts::default(),
            hasher,
            settings,
            knowledge: Arc::new(knowledge),
        })
    }

    /// Leaves out requests that a knowledge base has refused. Whoever is denied cannot load the parts of a page or follow a link: what he
    /// asks for meanwhile must not become the reason to deny him again.
    pub fn set_standing(&mut self, standing: Standing) {
        self.standing = Some(standing);
    }

    /// The hash by which requests know a user agent.
    pub fn agent(&self, text: &[u8]) -> u32 {
        self.recorder.agent(text)
    }

    /// The source that is looked at closely.
    pub fn focus(&self) -> Option<Source> {
        self.focus
    }

    /// Takes in blocks, in the order of the log. Where lines are out of order, those of the last two minutes are taken in with the next
    /// blocks, or at the end.
    pub fn observe(&mut self, blocks: &[Block]) {
        let runs = self.put_in_order(blocks);
        self.fold(&runs);
        self.queue.keep_room(runs);
    }

    /// Takes in everything that waits for the next blocks: in a log that is being written they may be long in coming.
    pub fn settle(&mut self) {
        self.observe(&[]);
    }

    /// The records of blocks in order, with those that waited for them. No blocks are the end of a log: then nothing waits any longer.
    fn put_in_order(&mut self, blocks: &[Block]) -> Vec<Run> {
        let parsed = self.parse(blocks);
        let runs = self.queue.put_in_order(&parsed);
        self.spare.extend(parsed.into_iter().map(Parsed::cleared));
        runs
    }

    /// Parses blocks, each in a thread, and joins them to what came before.
    fn parse(&mut self, blocks: &[Block]) -> Vec<Parsed> {
        let spare = Mutex::new(std::mem::take(&mut self.spare));
        let formats: Vec<Arc<Format>> = blocks.iter().map(|block| self.format(block)).collect();
        let context = ParseContext {
            recorder: &self.recorder,
            knowledge: &self.knowledge,
            hasher: &self.hasher,
            hosts: &self.hosts,
            settings: &self.settings,
            focus: self.focus,
            standing: self.standing.as_ref(),
            keep: self.keep,
        };
        let mut parsed: Vec<Parsed> = blocks
            .par_iter()
            .zip(&formats)
            .map(|(block, format)| {
                let room = lock(&spare).pop().unwrap_or_else(|| Parsed::new(TABLES));
                let mut parser = lock(&self.parsers)
                    .pop()
                    .unwrap_or_else(|| Parser::new(&self.settings));
                let parsed = parser.parse(block.lines(), format, &context, room);
                lock(&self.parsers).push(parser);
                parsed
            })
            .collect();
        for (block, parsed) in blocks.iter().zip(&mut parsed) {
            let before = self.pieces.entry(block.piece).or_default();
            if block.starts_file {
                *before = 0;
            }
            *before += parsed.count_lines(block, *before, &mut self.lines);
            self.tokens.extend(parsed.tokens.drain(..));
            self.examples.append(&mut parsed.examples);
            self.examples.truncate(parse::EXAMPLES_MAX);
            parsed.settle_hosts(&mut self.hosts);
            self.stitcher.stitch(block.piece, parsed, &mut self.lines);
        }
        self.spare = spare.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.bound_kept();
        parsed
    }

    /// Keeps nothing of a log that has too much.
    fn bound_kept(&mut self) {
        let mut parsers = lock(&self.parsers);
        let most = match self.keep {
            Keep::Nothing => return,
            Keep::Views(most) | Keep::Requests(most) => most,
        };
        let room = parsers
            .iter_mut()
            .map(|parser| parser.views_mut().room() + parser.kept_mut().room());
        let room: usize = room.sum();
        if room > most {
            self.keep = Keep::Nothing;
            for parser in parsers.iter_mut() {
                *parser.views_mut() = Views::default();
                *parser.kept_mut() = KeptRequests::default();
            }
        }
    }

    /// The format with which a block begins: a header in a block before it may have set another than the piece began with.
    fn format(&mut self, block: &Block) -> Arc<Format> {
        let format = match &self.header {
            Some((piece, format)) if *piece == block.piece => Arc::clone(format),
            _ => Arc::clone(&block.format),
        };
        if let Some(next) = format.after(block.lines()) {
            self.header = Some((block.piece, Arc::new(next)));
        }
        format
    }

    /// Windows are counted from the first request on.
    fn start_clock(&mut self) {
        if self.clock.is_none() {
            self.clock = self
                .stitcher
                .first_time()
                .map(|first| self.settings.clock(first));
        }
    }

    fn fold(&mut self, runs: &[Run]) {
        self.start_clock();
        let Some(clock) = self.clock else { return };
        self.tables
            .par_iter_mut()
            .enumerate()
            .for_each(|(number, table)| {
                for run in runs {
                    table.fold(&run.records[number], run.stream, &clock);
                }
            });
    }

    /// Time of the latest request.
    pub fn last_time(&self) -> Option<u32> {
        self.stitcher.last_time()
    }

    /// Judges what was seen so far. A line far off in time is left out until the next one tells whether it counts.
    pub fn report(&self) -> Report {
        finish::report(self).0
    }

    /// Judges everything that was seen, anew: what somebody was called on the way does not count.
    pub fn finish(mut self) -> Report {
        self.close();
        self.report()
    }

    /// Judges everything that was seen, and chooses the sources whose agents and sessions a second reading of the log tells apart;
    /// `None` where there was no request.
    pub fn finish_first_reading(mut self) -> (Report, Option<SecondReading>) {
        self.close();
        let report = self.report();
        let second = SecondReading::new(self, &report);
        (report, second)
    }

    fn close(&mut self) {
        self.before = Before::default();
        self.settle();
        let held = self.stitcher.release();
        self.fold(&held);
        self.tables.par_iter_mut().for_each(Table::seal);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
