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
use super::kept::KeptRequests;
use super::lock;
use super::parse::ParseContext;
use super::parse::Parser;
use super::sample::Sample;
use super::views;
use super::views::View;
use super::views::Views;
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
use crate::settings::Keep;

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

    /// The hash of its user agent.
    pub(super) fn agent(&self) -> u32 {
        let agent = self.request.agent.value();
        agent.map_or(0, |agent| self.look.analysis.recorder.agent(agent))
    }

    /// True where somebody was sent a page to view.
    pub fn is_view(&self) -> bool {
        self.glance.is_shown && self.call.is_none()
    }
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
    /// What was kept, by thread.
    views: Vec<Views>,
    requests: Vec<KeptRequests>,
    keep: Keep,
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
        // What stands outside of time cannot be told from the rest.
        let keep = match left_out.is_empty() {
            true => self.keep,
            false => Keep::Nothing,
        };
        let (views, requests) = lock(&self.parsers)
            .iter_mut()
            .map(|parser| {
                (
                    std::mem::take(parser.views_mut()),
                    std::mem::take(parser.kept_mut()),
                )
            })
            .unzip();
        self.tables = Vec::new();
        self.pieces.clear();
        self.header = None;
        let look = SecondLook {
            analysis: self,
            judged,
            left_out,
            calls: calls.into_iter().zip(0..).collect(),
            views,
            requests,
            keep,
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
        self.read(blocks, Part::default, each, |part| part)
    }

    /// The same for results that do not depend on the order of requests: every thread goes on with one of the parts that there are.
    pub fn gather<Part: Default + Send>(
        &mut self,
        blocks: &[Block],
        parts: &mut Vec<Part>,
        each: impl Fn(&mut Part, &Seen<'_>) + Sync,
    ) {
        let free = Mutex::new(std::mem::take(parts));
        let begin = || lock(&free).pop().unwrap_or_default();
        self.read(blocks, begin, each, |part| lock(&free).push(part));
        parts.append(&mut lock(&free));
    }

    fn read<Part, Ended: Send>(
        &mut self,
        blocks: &[Block],
        begin: impl Fn() -> Part + Sync,
        each: impl Fn(&mut Part, &Seen<'_>) + Sync,
        end: impl Fn(Part) -> Ended + Sync,
    ) -> Vec<Ended> {
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
            keep: Keep::Nothing,
        };
        blocks
            .par_iter()
            .zip(&formats)
            .zip(&before)
            .map(|((block, format), before)| {
                let parser = lock(&analysis.parsers).pop();
                let mut parser = parser.unwrap_or_else(|| Parser::new(&analysis.settings));
                let mut part = begin();
                parser.look(
                    block.lines(),
                    format,
                    &context,
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

    /// Gives all page views to `each`, in any order, and forgets them. False where they were not kept: the settings did not ask for it
    /// ([`keep`](crate::Settings::keep)), there are too many, or some stand outside of time. Then they must be looked for.
    pub fn count_views(&mut self, mut each: impl FnMut(View)) -> bool {
        if !matches!(self.keep, Keep::Views(_)) {
            return false;
        }
        let views = std::mem::take(&mut self.views);
        let calls = self.calls.iter().map(|(path, number)| (&path[..], *number));
        let calls = views::by_hash(calls, &self.analysis.recorder);
        for views in views {
            views.take(&calls).for_each(&mut each);
        }
        true
    }

    /// All requests, as each thread has kept them. `None` where they were not kept, as with [`count_views`](SecondLook::count_views).
    pub fn take_requests(&mut self) -> Option<Vec<KeptRequests>> {
        let requests = std::mem::take(&mut self.requests);
        matches!(self.keep, Keep::Requests(_)).then_some(requests)
    }

    #[inline]
    fn call(&self, request: &Request<'_>, glance: Glance) -> Option<usize> {
        if self.calls.is_empty() || !glance.is_shown {
            return None;
        }
        self.calls.get(path_of(request.target)).copied()
    }

    /// True for a path that only scripts of pages request.
    pub(super) fn is_call(&self, path: &[u8]) -> bool {
        !self.calls.is_empty() && self.calls.contains_key(path)
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
    use hashbrown::HashSet;

    use super::*;
    use crate::Settings;
    use crate::analysis::PanelSums;
    use crate::pseudonyms::Pseudonyms;
    use crate::report::Panels;
    use crate::verdict::Class;

    /// Lines of every kind: pages of three addresses, their parts, errors, and what is no request; a script's requests, too.
    fn lines() -> Vec<String> {
        let kinds = [
            ("/", 200, "-"),
            ("/a.css", 200, "https://www.example.org/"),
            ("/a?b", 304, "https://www.example.org/"),
            ("/b.png", 304, "https://www.example.org/a?b"),
            ("/complete?q=x", 200, "https://www.example.org/a"),
            ("/gone", 404, "-"),
            ("/c", 200, "https://www.example.org/a"),
            ("/d", 200, "https://www.example.org/c"),
            ("/a", 200, "https://www.example.org/d"),
            ("/moved", 301, "-"),
        ];
        let line = |number: usize| {
            let (target, status, referrer) = kinds[number % kinds.len()];
            let source = match number / 10 % 9 {
                7 => "2001:db8::1".to_owned(),
                8 => "client-8.example.net".to_owned(),
                other => format!("192.0.2.{other}"),
            };
            let time = format!("{:02}:{:02}", number / 60, number % 60);
            match number {
                30 => "nonsense".to_owned(),
                _ => format!(
                    "{source} - - [31/Jan/2030:10:{time} +0000] \"GET {target} HTTP/1.1\" {status} 9 \"{referrer}\" \"M\""
                ),
            }
        };
        (0..3600).map(line).collect()
    }

    /// A log that was judged, and its blocks.
    fn judged(keep: Keep, lines: &[String]) -> (Report, SecondLook, Vec<Block>) {
        let settings = Settings {
            keep,
            ..Settings::default()
        };
        judged_by(settings, lines)
    }

    fn judged_by(settings: Settings, lines: &[String]) -> (Report, SecondLook, Vec<Block>) {
        let block = |lines: &[String]| {
            let text = lines.join("\n") + "\n";
            Block {
                piece: 0,
                starts_file: false,
                format: Arc::new(Format::parse("combined").unwrap()),
                length: text.len(),
                buffer: text.into_bytes(),
                long_lines: (0, Vec::new()),
            }
        };
        let blocks: Vec<Block> = lines.chunks(500).map(block).collect();
        let settings = Settings {
            second_look: true,
            ..settings
        };
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let mut analysis = Analysis::new(settings, knowledge).unwrap();
        blocks.chunks(2).for_each(|blocks| analysis.observe(blocks));
        let (report, look) = analysis.finish_for_look();
        (report, look, blocks)
    }

    /// Page views and calls, as they were kept and as a second look finds them.
    fn views(most: usize, lines: &[String]) -> (Option<Vec<Found>>, Vec<Found>) {
        let (_, mut look, blocks) = judged(Keep::Views(most), lines);
        let mut kept = Vec::new();
        let is_kept = look.count_views(|view| kept.push((view.source, view.time, view.call)));
        let found = look.look(&blocks, |part: &mut Vec<Found>, seen| {
            if seen.glance.is_shown {
                part.push((seen.glance.source, seen.request.time, seen.call));
            }
        });
        let mut found = found.concat();
        kept.sort_unstable();
        found.sort_unstable();
        (is_kept.then_some(kept), found)
    }

    type Found = (Source, u32, Option<usize>);

    #[test]
    fn views_are_kept_as_a_second_look_finds_them() {
        let (kept, found) = views(1 << 20, &lines());
        let calls = found.iter().filter(|(.., call)| call.is_some()).count();
        assert_eq!((found.len(), calls), (2159, 360));
        assert!(kept.unwrap() == found);
    }

    #[test]
    fn too_many_views_and_lines_outside_of_time_are_looked_for() {
        let (kept, found) = views(1 << 16, &lines());
        assert_eq!((kept.is_some(), found.len()), (false, 2159));
        let mut lines = lines();
        lines[1000] = lines[1000].replace("2030", "2001");
        let (kept, found) = views(1 << 20, &lines);
        assert_eq!((kept.is_some(), found.len()), (false, 2158));
    }
    /// Panels of a log, by requests that were kept if `most` bytes are enough, or else by reading it again, part after part.
    fn panels(most: usize, lines: &[String]) -> (bool, Panels) {
        let (report, mut look, blocks) = judged(Keep::Requests(most), lines);
        let plan = look.plan_panels(&report);
        let mut sums = PanelSums::default();
        let kept = look.take_requests();
        let is_kept = kept.is_some();
        match kept {
            Some(mut kept) => sums.count(&mut kept, &look, &plan),
            None => {
                let mut parts = Vec::new();
                for blocks in blocks.chunks(2) {
                    look.gather(blocks, &mut parts, KeptRequests::see);
                    sums.count(&mut parts, &look, &plan);
                }
            }
        }
        (is_kept, sums.finish(&plan))
    }

    #[test]
    fn sources_are_found_by_names_of_every_kind() {
        for pseudonyms in [None, Some(Pseudonyms::new(b"key".to_vec()))] {
            let settings = Settings {
                pseudonyms,
                ..Settings::default()
            };
            let (report, look, _) = judged_by(settings, &lines());
            let listed = report.sources.iter();
            let listed = listed.filter(|source| source.class != Class::User);
            let names: HashSet<&str, RandomState> =
                listed.map(|source| source.source.as_str()).collect();
            let named = look.named(names.clone());
            let found: HashSet<&str, RandomState> = named.values().map(String::as_str).collect();
            assert!(found == names && found.len() == 9, "{found:?} {names:?}");
            assert!(
                named
                    .iter()
                    .all(|(source, name)| look.name(*source) == *name)
            );
        }
    }

    #[test]
    fn panels_are_the_same_from_kept_requests_and_from_a_log_that_is_read_again() {
        let text = include_str!("../../../../examples/access.log");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        // More bytes than fit beside a request.
        let large = |line: &String| line.replacen(" 200 ", " 200 5000000", 1);
        lines = lines.iter().map(large).collect();
        let (is_kept, kept) = panels(1 << 24, &lines);
        let (is_kept_too, found) = panels(1 << 10, &lines);
        assert!(is_kept && !is_kept_too);
        let views: u64 = kept.people.days.values().map(|day| day.views).sum();
        let bytes: u64 = kept.people.days.values().map(|day| day.bytes).sum();
        assert!(
            views > 300 && bytes > views * 5_000_000_000,
            "{views} {bytes}"
        );
        assert!(!kept.sources.is_empty() && kept.people.pages.requests == views);
        assert_eq!(format!("{kept:?}"), format!("{found:?}"));
    }
}
