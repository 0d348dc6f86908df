//! A second look at every request, once the verdicts are known: for what needs both, such as the pages that people asked for, their visits,
//! or a log without robots.
//!
//! The log is read again instead of being kept: a request with its line takes as much room as the log itself. Blocks are parsed in
//! parallel, and each gives a part of the result. Parts come back in the order of the blocks, so that the result does not depend on the
//! threads.

use std::sync::Arc;
use std::sync::Mutex;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use rayon::prelude::*;

use super::Analysis;
use super::Block;
use super::calls;
use super::calls::Named;
use super::lock;
use super::notes::Pageless;
use super::parse::ParseContext;
use super::parse::Parser;
use super::sample::Sample;
use crate::format::Format;
use crate::knowledge::Knowledge;
use crate::policy::Ruling;
use crate::profile::Glance;
use crate::profile::path_of;
use crate::report::Judged;
use crate::report::Judgements;
use crate::report::Report;
use crate::request::Request;
use crate::request::Source;

/// One request that counts, with what is known of its sender.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    look: &'a SecondLook,
    /// Its line as the log has it, with the newline.
    pub line: &'a [u8],
    /// What the line says.
    pub request: &'a Request<'a>,
    /// Who sent it, and whether it asks for a page or a part of one.
    pub glance: Glance,
    /// The number of its path among those that scripts of pages request, see [`SecondLook::calls`].
    pub call: Option<usize>,
}

impl<'a> Seen<'a> {
    /// What the source was found to be. Of a log with many sources, to find one takes as long as to read the line: only what needs it asks.
    pub fn judged(&self) -> Option<&'a Judged> {
        self.look.judged.get(self.glance.source)
    }

    /// True where somebody was sent a page to view.
    pub fn is_view(&self) -> bool {
        self.glance.is_shown && self.call.is_none()
    }
}

/// Which requests a second look is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// All that count.
    Requests,
    /// Those that were sent a page. A third of the lines of most logs show none, and are not read again.
    Pages,
}

/// Reads the blocks of a log again that an [`Analysis`] has judged.
#[derive(Debug)]
pub struct SecondLook {
    analysis: Analysis,
    judged: Judgements,
    /// Pieces and numbers of the lines that stand outside of time, sorted.
    left_out: Vec<(u32, u64)>,
    /// Paths that scripts of pages request, by number.
    calls: HashMap<Box<[u8]>, usize, RandomState>,
}

impl Analysis {
    /// Judges everything that was seen, and keeps what a second look needs. The settings must have asked for it
    /// ([`second_look`](crate::Settings::second_look)).
    pub fn finish_for_look(mut self) -> (Report, SecondLook) {
        self.close();
        let mut report = self.report();
        let mut judged = std::mem::take(&mut report.judged);
        judged.close();
        let calls = self.calls(report.all().pages);
        let mut left_out = self.stitcher.take_left_out();
        left_out.sort_unstable();
        self.tables = Vec::new();
        self.pieces.clear();
        self.header = None;
        let look = SecondLook {
            analysis: self,
            judged,
            left_out,
            calls: calls.into_iter().zip(0..).collect(),
        };
        (report, look)
    }

    /// The paths that scripts of pages request. Where hosts are judged apart, one path may be a page of one and a call of another: then
    /// nothing is taken for a call.
    fn calls(&self, pages: u64) -> Vec<Box<[u8]>> {
        if self.settings.reading.by_host {
            return Vec::new();
        }
        let (mut sample, mut named) = (Sample::default(), Named::default());
        for parser in lock(&self.parsers).iter() {
            sample.absorb(parser.sample());
            named.absorb(parser.named());
        }
        let asked = sample.asked();
        let sampled: u64 = asked.values().map(|path| path.requests).sum();
        let whole = match sample.is_whole() {
            true => 1.0,
            false => pages as f64 / sampled.max(1) as f64,
        };
        calls::find(&asked, whole, &named, &self.recorder)
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
        self.read(blocks, Wanted::Requests, Part::default, each, |part| part)
    }

    /// The same with all requests that are wanted, for results that do not depend on their order: every thread goes on with one of the
    /// parts that there are.
    pub fn gather<Part: Default + Send>(
        &mut self,
        blocks: &[Block],
        wanted: Wanted,
        parts: &mut Vec<Part>,
        each: impl Fn(&mut Part, &Seen<'_>) + Sync,
    ) {
        let free = Mutex::new(std::mem::take(parts));
        let begin = || lock(&free).pop().unwrap_or_default();
        let end = |part| lock(&free).push(part);
        self.read(blocks, wanted, begin, each, end);
        parts.append(&mut lock(&free));
    }

    fn read<Part, Ended: Send>(
        &mut self,
        blocks: &[Block],
        wanted: Wanted,
        begin: impl Fn() -> Part + Sync,
        each: impl Fn(&mut Part, &Seen<'_>) + Sync,
        end: impl Fn(Part) -> Ended + Sync,
    ) -> Vec<Ended> {
        let before = self.lines_before(blocks);
        let analysis = &mut self.analysis;
        let notes: Vec<Option<Pageless>> = match wanted {
            Wanted::Requests => blocks.iter().map(|_| None).collect(),
            Wanted::Pages => blocks
                .iter()
                .map(|block| analysis.notes.next(block))
                .collect(),
        };
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
            .zip(&notes)
            .map(|(((block, format), before), noted)| {
                let parser = lock(&analysis.parsers).pop();
                let mut parser = parser.unwrap_or_else(|| Parser::new(&analysis.settings));
                let mut part = begin();
                parser.look(
                    block.lines(),
                    format,
                    &context,
                    noted.as_ref(),
                    |number, line, request, glance| {
                        if self.is_left_out(block.piece, before + number) {
                            return;
                        }
                        let seen = Seen {
                            look: self,
                            line,
                            request,
                            glance,
                            call: self.call(request, glance),
                        };
                        each(&mut part, &seen);
                    },
                );
                lock(&analysis.parsers).push(parser);
                end(part)
            })
            .collect()
    }

    #[inline]
    fn call(&self, request: &Request<'_>, glance: Glance) -> Option<usize> {
        if self.calls.is_empty() || !glance.is_shown {
            return None;
        }
        self.calls.get(path_of(request.target)).copied()
    }

    /// Paths that look like pages in the log, and that only scripts of pages request: their numbers are their places.
    pub fn calls(&self) -> Vec<&[u8]> {
        let mut calls: Vec<&[u8]> = vec![&[]; self.calls.len()];
        for (path, number) in &self.calls {
            calls[*number] = path;
        }
        calls
    }

    /// What every source was found to be.
    pub fn judged(&self) -> &Judgements {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    /// A log of a server that tells its columns, in the middle others than at the beginning, with lines of every kind.
    fn lines() -> Vec<String> {
        let kinds = [
            ("/", 200),
            ("/a.css", 200),
            ("/a", 304),
            ("/b.png", 304),
            ("/gone", 404),
            ("/robots.txt", 200),
            ("/moved", 301),
        ];
        let mut lines = vec!["#Fields: date time c-ip cs-method cs-uri-stem sc-status".to_owned()];
        for number in 0..200_usize {
            let (target, status) = kinds[number * number % kinds.len()];
            let time = format!("2030-01-31 10:{:02}:{:02}", number / 60, number % 60);
            let source = format!("192.0.2.{}", number % 7);
            lines.push(match number {
                30 => "nonsense".to_owned(),
                31 => String::new(),
                100 => "#Fields: date time c-ip sc-status cs-method cs-uri-stem".to_owned(),
                0..100 => format!("{time} {source} GET {target} {status}"),
                _ => format!("{time} {source} {status} GET {target}"),
            });
        }
        lines
    }

    fn blocks(lines: &[String], at_once: usize) -> Vec<Block> {
        let block = |lines: &[String]| {
            let text = lines.join("\n") + "\n";
            Block {
                piece: 0,
                starts_file: false,
                format: Arc::new(Format::parse("w3c").unwrap()),
                length: text.len(),
                buffer: text.into_bytes(),
                long_lines: (0, Vec::new()),
            }
        };
        lines.chunks(at_once).map(block).collect()
    }

    /// Who viewed which page, by a second look that is for these requests, with blocks of so many lines.
    fn views(wanted: Wanted, at_once: usize) -> Vec<(Source, u32, Vec<u8>)> {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let settings = Settings {
            second_look: true,
            ..Settings::default()
        };
        let mut analysis = Analysis::new(settings, knowledge).unwrap();
        analysis.observe(&blocks(&lines(), 64));
        let (_, mut look) = analysis.finish_for_look();
        let mut parts: Vec<Vec<(Source, u32, Vec<u8>)>> = Vec::new();
        look.gather(
            &blocks(&lines(), at_once),
            wanted,
            &mut parts,
            |part, seen| {
                if seen.is_view() {
                    let target = seen.request.target.to_vec();
                    part.push((seen.glance.source, seen.request.time, target));
                }
            },
        );
        let mut views = parts.concat();
        views.sort_unstable();
        views
    }

    #[test]
    fn lines_that_show_no_page_are_left_out_and_nothing_else() {
        let all = views(Wanted::Requests, 64);
        assert!(all.len() > 50 && all.iter().all(|(.., target)| target != b"/a.css"));
        assert_eq!(views(Wanted::Pages, 64), all);
        // Cut into other blocks than the first time, every line is read.
        assert_eq!(views(Wanted::Pages, 37), all);
    }
}
