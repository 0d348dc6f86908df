//! One block of lines to records, spread over the tables they belong to.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::Block;
use super::calls::Named;
use super::kept::KeptRequests;
use super::sample::Sample;
use super::views::Views;
use crate::Settings;
use crate::format::Cursor;
use crate::format::Format;
use crate::format::Reader;
use crate::format::Skip;
use crate::format::split_line;
use crate::hosts::Hosts;
use crate::hosts::NewHosts;
use crate::knowledge::Knowledge;
use crate::policy::Standing;
use crate::profile::AgentTexts;
use crate::profile::Gathered;
use crate::profile::Glance;
use crate::profile::Record;
use crate::profile::Recorder;
use crate::report::Lines;
use crate::report::SkippedLines;
use crate::request::Client;
use crate::request::Field;
use crate::request::Request;
use crate::request::Source;
use crate::request::SourceKind;
use crate::settings::Keep;

/// Bytes of an example line that are kept.
const EXAMPLE_BYTES: usize = 300;

/// Records for which a table's part of a block keeps room: ten times as many as it usually has.
const RECORDS_KEPT: usize = 1024;

/// A status has three digits.
const STATUS_FIRST: u16 = 100;
const STATUSES: usize = 900;

/// Lines that are kept of the source that is looked at closely.
pub(super) const EXAMPLES_MAX: usize = 20;

/// What one thread needs to parse, kept from block to block.
#[derive(Debug)]
pub(super) struct Parser {
    reader: Reader,
    gathered: Gathered,
    sample: Sample,
    named: Named,
    views: Views,
    kept: KeptRequests,
    /// Requests by status, from 100 on.
    statuses: Vec<u64>,
}

/// What all threads share.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParseContext<'a> {
    pub(super) recorder: &'a Recorder,
    pub(super) knowledge: &'a Knowledge,
    pub(super) hasher: &'a RandomState,
    pub(super) settings: &'a Settings,
    /// Hosts that blocks before have named.
    pub(super) hosts: &'a Hosts,
    /// The source that is looked at closely.
    pub(super) focus: Option<Source>,
    /// What a knowledge base says, where one was given.
    pub(super) standing: Option<&'a Standing>,
    /// What is kept for a second look.
    pub(super) keep: Keep,
}

impl ParseContext<'_> {
    /// Reads the line at which the cursor stands into an empty request, and moves the cursor behind it. Gives the reason where the line
    /// does not count, whoever sent it.
    #[inline(always)]
    fn read_next<'t>(
        &self,
        (text, format): (&'t [u8], &Format),
        cursor: &mut Cursor,
        reader: &'t mut Reader,
        request: &mut Request<'t>,
    ) -> Result<(), Skip> {
        format.read_next(text, cursor, reader, request)?;
        if request.forwarded != Field::NotLogged {
            request.client = self.settings.reading.proxies.client(request);
        }
        match self.leaves_out(request) {
            Some(skip) => Err(skip),
            None => Ok(()),
        }
    }

    /// Why a request is left out whoever sent it.
    #[inline]
    fn leaves_out(&self, request: &Request<'_>) -> Option<Skip> {
        if !self.settings.reading.span.contains(&request.time) {
            return Some(Skip::OutsideSpan);
        }
        match (request.is_refused, request.is_signed_in) {
            (true, _) => Some(Skip::Refused),
            (false, true) => Some(Skip::SignedIn),
            (false, false) => None,
        }
    }

    /// True for a request that the knowledge base has refused.
    #[inline]
    fn has_refused(&self, source: Source, request: &Request<'_>) -> bool {
        self.standing.is_some_and(|standing| {
            let agent = request.agent.value();
            let agent = agent.map_or(0, |agent| self.recorder.agent(agent));
            standing.has_refused(source, agent, request.time, request.status)
        })
    }
}

/// The records of one block.
#[derive(Debug)]
pub(super) struct Parsed {
    /// Records by table, in the order of their lines.
    pub(super) records: Vec<Vec<Record>>,
    /// First and last record, and both sides of every jump in time.
    pub(super) edges: Vec<Edge>,
    /// The stream the block belongs to.
    pub(super) stream: u16,
    /// The last edge is that of the last record: the next record's time is noted there.
    is_edge_last: bool,
    pub(super) tokens: Vec<(u64, Box<[u8]>)>,
    /// Records whose sources are no addresses.
    pub(super) opaque: Vec<Token>,
    new_hosts: NewHosts,
    /// Lines of the source that is looked at closely.
    pub(super) examples: Vec<Vec<u8>>,
    /// Lines of the file before this block's, once that is known.
    pub(super) lines_before: u64,
    lines: u64,
    blank: u64,
    skips: Skips,
}

/// A record whose source is a token and no address.
#[derive(Debug)]
pub(super) struct Token {
    /// Table and place there.
    pub(super) table: u16,
    pub(super) at: u32,
    /// How many records of the block come before it.
    pub(super) before: u64,
    /// Its number in the block, and later in the file.
    pub(super) line: u64,
    /// The host name of a client. Some servers look it up for a few requests only.
    pub(super) is_name: bool,
    /// The line itself, of the first of its kind.
    pub(super) example: Vec<u8>,
}

/// A record at which time may jump.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) time: u32,
    /// Time of the record before it, unless it is the block's first.
    pub(super) previous: Option<u32>,
    /// Time of the record after it, unless it is the block's last.
    pub(super) next: Option<u32>,
    pub(super) table: u16,
    pub(super) at: u32,
    /// Number of its line in the block.
    pub(super) line: u32,
}

/// Lines left out of one block: how many, and the first with its line number.
#[derive(Debug, Default)]
struct Skips([(u64, u64, Vec<u8>); Skip::ALL.len()]);

impl Skips {
    fn add(&mut self, skip: Skip, line_number: u64, line: &[u8]) {
        let (count, first, example) = &mut self.0[skip as usize];
        if *count == 0 {
            *first = line_number;
            *example = line[..line.len().min(EXAMPLE_BYTES)].to_vec();
        }
        *count += 1;
    }
}

impl Parser {
    pub(super) fn new(settings: &Settings) -> Parser {
        let mut reader = Reader::new(&settings.session_cookies);
        reader.set_zone(&settings.reading.zone);
        Parser {
            reader,
            gathered: Gathered::default(),
            sample: Sample::default(),
            named: Named::default(),
            views: Views::default(),
            kept: KeptRequests::default(),
            statuses: vec![0; STATUSES],
        }
    }

    /// The requests this thread has sampled.
    pub(super) fn sample(&self) -> &Sample {
        &self.sample
    }

    /// How often paths were named as referrers.
    pub(super) fn named(&self) -> &Named {
        &self.named
    }

    /// The page views this thread has kept.
    pub(super) fn views_mut(&mut self) -> &mut Views {
        &mut self.views
    }

    /// The requests this thread has kept.
    pub(super) fn kept_mut(&mut self) -> &mut KeptRequests {
        &mut self.kept
    }

    /// Requests by status, where there are any.
    pub(super) fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        let counted = (STATUS_FIRST..).zip(self.statuses.iter().copied());
        counted.filter(|(_, requests)| *requests > 0)
    }

    /// The agents this thread has seen.
    pub(super) fn agents(&self) -> &AgentTexts {
        &self.gathered.agents
    }

    /// The same, to be put together with those of other threads.
    pub(super) fn agents_mut(&mut self) -> &mut AgentTexts {
        &mut self.gathered.agents
    }

    pub(super) fn parse(
        &mut self,
        text: &[u8],
        format: &Format,
        context: &ParseContext<'_>,
        mut parsed: Parsed,
    ) -> Parsed {
        let settings = context.settings;
        let mut changed;
        let mut format = format;
        let mut last: Option<Edge> = None;
        let mut cursor = Cursor::new(text);
        while cursor.at() < text.len() {
            parsed.lines += 1;
            let start = cursor.at();
            let mut request = Request::default();
            let read =
                context.read_next((text, format), &mut cursor, &mut self.reader, &mut request);
            if let Err(skip) = read {
                let (line, _) = split_line(&text[start..]);
                if let Some(next) = format.with_header(line, &text[start..]) {
                    changed = next;
                    format = &changed;
                }
                parsed.leave_out(skip, line);
                continue;
            }
            let mut record =
                context
                    .recorder
                    .record(&request, context.knowledge, &mut self.gathered);
            if context.has_refused(record.source(), &request) {
                parsed.leave_out(Skip::Refused, split_line(&text[start..]).0);
                continue;
            }
            let host = request.host.value().filter(|_| settings.reading.by_host);
            if let Some(host) = host {
                record.host = context.hosts.number(host, &mut parsed.new_hosts);
                context.recorder.tell_hosts_apart(host, &mut record);
            }
            if context.focus == Some(record.source()) {
                parsed.keep_example(split_line(&text[start..]).0);
            }
            let table = table_of(record.source(), context.hasher, parsed.records.len());
            if record.source().kind == SourceKind::Token {
                parsed.note_token(table, split_line(&text[start..]).0, &request.client);
            }
            let records = &mut parsed.records[table];
            let edge = Edge {
                time: record.time,
                previous: last.map(|before| before.time),
                next: None,
                table: table as u16,
                at: records.len() as u32,
                line: parsed.lines as u32,
            };
            let host = host.unwrap_or_default();
            self.sample
                .offer(&record, host, request.target, request.status);
            if settings.second_look {
                self.named.note(&request, context.recorder);
            }
            match context.keep {
                Keep::Nothing => {}
                Keep::Views(_) if !record.shows_page() => {}
                Keep::Views(_) => self.views.keep(&record, &request, context.recorder),
                Keep::Requests(_) => self.kept.keep(&request, &record),
            }
            records.push(record);
            count_status(&mut self.statuses, request.status);
            last = Some(parsed.step(last, edge, settings.time_jump_seconds));
        }
        parsed.close(last);
        parsed.tokens.append(&mut self.gathered.tokens);
        parsed
    }

    /// Reads lines once more: gives each that counts to `each`, with its number in the block.
    pub(super) fn look(
        &mut self,
        text: &[u8],
        format: &Format,
        context: &ParseContext<'_>,
        mut each: impl FnMut(u64, &[u8], &Request<'_>, Glance),
    ) {
        let mut changed;
        let mut format = format;
        let mut cursor = Cursor::new(text);
        let mut number = 0;
        while cursor.at() < text.len() {
            number += 1;
            let start = cursor.at();
            let mut request = Request::default();
            let read =
                context.read_next((text, format), &mut cursor, &mut self.reader, &mut request);
            if read.is_err() {
                let (line, _) = split_line(&text[start..]);
                if let Some(next) = format.with_header(line, &text[start..]) {
                    changed = next;
                    format = &changed;
                }
                continue;
            }
            let glance = context.recorder.glance(&request);
            if !context.has_refused(glance.source, &request) {
                each(number, &text[start..cursor.at()], &request, glance);
            }
        }
    }
}

fn count_status(statuses: &mut [u64], status: u16) {
    let at = usize::from(status.wrapping_sub(STATUS_FIRST));
    if let Some(requests) = statuses.get_mut(at) {
        *requests += 1;
    }
}

/// The table a source belongs to: a power of two of them, by the upper bits of its hash.
pub(super) fn table_of(source: Source, hasher: &RandomState, tables: usize) -> usize {
    (hasher.hash_one(source.value) >> (64 - tables.trailing_zeros())) as usize
}

impl Parsed {
    pub(super) fn new(tables: usize) -> Parsed {
        Parsed {
            records: vec![Vec::new(); tables],
            edges: Vec::new(),
            stream: 0,
            is_edge_last: false,
            tokens: Vec::new(),
            opaque: Vec::new(),
            new_hosts: NewHosts::default(),
            examples: Vec::new(),
            lines_before: 0,
            lines: 0,
            blank: 0,
            skips: Skips::default(),
        }
    }

    #[cold]
    fn keep_example(&mut self, line: &[u8]) {
        if self.examples.len() < EXAMPLES_MAX {
            let kept = &line[..line.len().min(EXAMPLE_BYTES)];
            self.examples.push(kept.to_vec());
        }
    }

    /// Notes a record that is about to be put into a table.
    #[cold]
    fn note_token(&mut self, table: usize, line: &[u8], client: &Client<'_>) {
        let is_name = matches!(client, Client::Written(text) if is_host_name(text));
        let is_first = self.opaque.iter().all(|token| token.is_name != is_name);
        let shown = if is_first {
            line.len().min(EXAMPLE_BYTES)
        } else {
            0
        };
        self.opaque.push(Token {
            table: table as u16,
            at: self.records[table].len() as u32,
            before: self.len(),
            line: self.lines,
            is_name,
            example: line[..shown].to_vec(),
        });
    }

    #[cold]
    fn leave_out(&mut self, skip: Skip, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            self.blank += 1;
        } else {
            self.skips.add(skip, self.lines, line);
        }
    }

    /// Notes the first record, and both sides of a jump.
    #[inline]
    fn step(&mut self, before: Option<Edge>, edge: Edge, jump_seconds: u32) -> Edge {
        let is_near = |before: Edge| before.time.abs_diff(edge.time) <= jump_seconds;
        match before.is_some_and(is_near) {
            true if !self.is_edge_last => {}
            true => self.close_last(edge.time),
            false => self.jump(before, edge),
        }
        edge
    }

    #[cold]
    fn jump(&mut self, before: Option<Edge>, edge: Edge) {
        if let Some(before) = before {
            if !self.is_edge_last {
                self.edges.push(before);
            }
            self.close_last(edge.time);
        }
        self.edges.push(edge);
        self.is_edge_last = true;
    }

    #[cold]
    fn close_last(&mut self, next: u32) {
        self.is_edge_last = false;
        if let Some(last) = self.edges.last_mut() {
            last.next = Some(next);
        }
    }

    fn close(&mut self, last: Option<Edge>) {
        if let Some(edge) = last
            && self
                .edges
                .last()
                .is_some_and(|noted| (noted.table, noted.at) != (edge.table, edge.at))
        {
            self.edges.push(edge);
        }
    }

    /// Gives records of hosts that this block names first the numbers that stay.
    pub(super) fn settle_hosts(&mut self, hosts: &mut Hosts) {
        if self.new_hosts.is_empty() {
            return;
        }
        let settled = hosts.settle(&std::mem::take(&mut self.new_hosts));
        for record in self.records.iter_mut().flatten() {
            record.host = settled(record.host);
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.records
            .iter()
            .map(|records| records.len() as u64)
            .sum()
    }

    /// Adds this block's lines, which come after `before` others of the file, to the whole log's. Says how many they are.
    pub(super) fn count_lines(&mut self, block: &Block, before: u64, lines: &mut Lines) -> u64 {
        lines.read += self.lines + block.long_lines.0;
        lines.parsed += self.len();
        lines.blank += self.blank;
        self.lines_before = before + block.long_lines.0;
        for token in &mut self.opaque {
            token.line += self.lines_before;
        }
        if block.long_lines.0 > 0 {
            note(
                lines,
                Skip::LongLine,
                block.long_lines.0,
                &block.long_lines.1,
                (block.piece, before + 1),
            );
        }
        for (reason, (count, first, example)) in Skip::ALL.into_iter().zip(&self.skips.0) {
            if *count > 0 {
                note(
                    lines,
                    reason,
                    *count,
                    example,
                    (block.piece, before + block.long_lines.0 + first),
                );
            }
        }
        self.lines + block.long_lines.0
    }

    /// Empty again, with its memory.
    pub(super) fn cleared(mut self) -> Parsed {
        for records in &mut self.records {
            records.clear();
            // One heavy source fills one table's part of a block; over the weeks it would be each of them.
            records.shrink_to(RECORDS_KEPT);
        }
        self.edges.clear();
        Parsed {
            records: self.records,
            edges: self.edges,
            ..Parsed::new(0)
        }
    }
}

/// True for what a name server calls a client: `dial-7.example.net`, and not `0.123` or `www.example.com:80`.
fn is_host_name(text: &[u8]) -> bool {
    let mut labels = text.split(|byte| *byte == b'.');
    let last = labels.next_back().unwrap_or_default();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &[u8]| !label.is_empty() && label.iter().all(is_letter);
    let is_ending = last.len() >= 2 && last.iter().all(u8::is_ascii_alphabetic);
    is_ending && text.len() > last.len() && labels.all(is_label)
}

/// Counts lines left out, with the first example of each reason.
pub(super) fn note(lines: &mut Lines, reason: Skip, count: u64, example: &[u8], place: (u32, u64)) {
    match lines
        .skipped
        .iter_mut()
        .find(|skipped| skipped.reason == reason)
    {
        Some(skipped) => skipped.count += count,
        None => lines.skipped.push(SkippedLines {
            reason,
            count,
            example: example.to_vec(),
            place,
        }),
    }
}
