//! Blocks in a row: which stream of time a piece belongs to, and which lines stand outside of time.
//!
//! Pieces of one log follow each other and are chained; files that overlap in time are streams of their own. A record
//! whose time leaps away and back again is left out: a clock that was wrong for a moment. A leap that stays is a gap.
//! Where the sources of a stream are addresses, a record of anything else is left out: the format changed, or a line is damaged.

use std::collections::BTreeMap;

use super::order::Run;
use super::parse::Parsed;
use super::parse::Token;
use super::parse::note;
use crate::format::Skip;
use crate::profile::Record;
use crate::report::Lines;

/// Lines are written when the answer is done, so neighbours may be this far out of order.
const OVERLAP_SECONDS: u32 = 60;

/// A stream whose first records, so many, all have an address has addresses. Logs with host names, where some clients have none, and
/// with pseudonyms show one among far fewer.
const SETTLED: u64 = 1000;
/// Of so many requests one may come from a client that the server calls by its host name: Apache looks it up for what a rule protects by
/// name.
const NAMES_AMONG: u64 = 100;

/// What is remembered from block to block.
#[derive(Debug)]
pub(super) struct Stitcher {
    jump_seconds: u32,
    streams: Vec<Stream>,
    /// Streams of the pieces.
    pieces: BTreeMap<u32, usize>,
    first_time: Option<u32>,
    /// Pieces and numbers of the lines that stand outside of time, where a second look needs them.
    left_out: Option<Vec<(u32, u64)>>,
}

/// A record that waits for the next one, with its table, piece and line.
#[derive(Debug)]
struct Held {
    table: u16,
    record: Record,
    line: (u32, u64),
}

/// One row of records in time.
#[derive(Debug, Default)]
struct Stream {
    last: Option<u32>,
    /// The last record of the last block, where it depends on the next one whether it counts.
    held: Option<Held>,
    sources: Sources,
}

/// What the sources of a stream are.
#[derive(Debug, Default)]
struct Sources {
    kind: Kind,
    /// Records so far, and host names among them.
    seen: u64,
    names: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Kind {
    /// Addresses in all records so far.
    #[default]
    Open,
    Addresses,
    /// Tokens since its beginning, perhaps among addresses.
    Any,
}

impl Sources {
    /// Looks at the next block. Gives what is to be left out of it.
    fn look(&mut self, parsed: &mut Parsed) -> Vec<Token> {
        let tokens = std::mem::take(&mut parsed.opaque);
        if self.kind == Kind::Open {
            self.kind = match tokens.first() {
                Some(first) if self.seen + first.before < SETTLED => Kind::Any,
                None if self.seen + parsed.len() < SETTLED => Kind::Open,
                _ => Kind::Addresses,
            };
        }
        let seen = self.seen;
        self.seen += parsed.len();
        if self.kind != Kind::Addresses {
            return Vec::new();
        }
        let mut is_out = |token: &Token| {
            let is_rare = (self.names + 1) * NAMES_AMONG <= seen + token.before;
            let stays = token.is_name && is_rare;
            self.names += u64::from(stays);
            !stays
        };
        tokens.into_iter().filter(|token| is_out(token)).collect()
    }
}

impl Stream {
    /// Time of its last record, whether that counts or is still held back.
    fn end(&self) -> Option<u32> {
        self.held
            .as_ref()
            .map(|held| held.record.time)
            .or(self.last)
    }
}

impl Stitcher {
    pub(super) fn new(jump_seconds: u32) -> Stitcher {
        Stitcher {
            jump_seconds,
            streams: Vec::new(),
            pieces: BTreeMap::new(),
            first_time: None,
            left_out: None,
        }
    }

    /// Notes from now on which lines are left out.
    pub(super) fn keep_left_out(&mut self) {
        self.left_out.get_or_insert_default();
    }

    /// Pieces and numbers of the lines that were left out.
    pub(super) fn take_left_out(&mut self) -> Vec<(u32, u64)> {
        self.left_out.take().unwrap_or_default()
    }

    /// Time of the first record that counts.
    pub(super) fn first_time(&self) -> Option<u32> {
        self.first_time
    }

    /// The latest time that counts, as far as is known.
    pub(super) fn last_time(&self) -> Option<u32> {
        self.streams.iter().filter_map(|stream| stream.last).max()
    }

    /// Puts a block behind the ones before it.
    pub(super) fn stitch(&mut self, piece: u32, parsed: &mut Parsed, lines: &mut Lines) {
        let Some(first) = parsed.edges.first().map(|edge| edge.time) else {
            return;
        };
        let number = match self.pieces.get(&piece) {
            Some(number) => *number,
            None => self.stream_for(first),
        };
        self.pieces.insert(piece, number);
        parsed.stream = u16::try_from(number).unwrap_or(u16::MAX);
        let tokens = self.streams[number].sources.look(parsed);
        for token in &tokens {
            remember(&mut self.left_out, (piece, token.line));
        }
        leave_out_tokens(tokens, piece, parsed, lines);
        self.settle(number, piece, first, parsed, lines);
        self.walk(number, piece, parsed, lines);
    }

    /// Decides about the record that was held at the end of the piece before, now that it is known what follows it.
    fn settle(
        &mut self,
        number: usize,
        piece: u32,
        first: u32,
        parsed: &mut Parsed,
        lines: &mut Lines,
    ) {
        let stream = &mut self.streams[number];
        let Some(Held {
            table,
            record,
            line,
        }) = stream.held.take()
        else {
            return;
        };
        if stream
            .last
            .is_some_and(|last| is_excursion(last, record.time, first, self.jump_seconds))
        {
            leave_out(&record, piece, lines);
            remember(&mut self.left_out, line);
            return;
        }
        stream.last = Some(record.time);
        self.first_time.get_or_insert(record.time);
        // In front of its table's records: it came before them.
        let records = &mut parsed.records[usize::from(table)];
        records.insert(0, record);
        parsed
            .edges
            .iter_mut()
            .filter(|edge| edge.table == table)
            .for_each(|edge| edge.at += 1);
    }

    /// Takes records out that leap away in time and back.
    fn walk(&mut self, number: usize, piece: u32, parsed: &mut Parsed, lines: &mut Lines) {
        let jump = self.jump_seconds;
        let stream = &mut self.streams[number];
        let third = parsed.edges.get(1).and_then(|second| second.next);
        for edge in &parsed.edges {
            // Between two edges time flows on without a jump: the nearest neighbour counts.
            let neighbour = edge
                .previous
                .filter(|previous| previous.abs_diff(edge.time) <= jump);
            let last = neighbour.or(stream.last);
            let far = last.is_none_or(|last| last.abs_diff(edge.time) > jump);
            let record = &mut parsed.records[usize::from(edge.table)][edge.at as usize];
            let line = (piece, parsed.lines_before + u64::from(edge.line));
            match edge.next {
                None if far => {
                    stream.held = Some(Held {
                        table: edge.table,
                        record: *record,
                        line,
                    });
                    record.kill();
                }
                Some(next)
                    if far
                        && last.map_or_else(
                            || starts_wrong(edge.time, next, third, jump),
                            |last| is_excursion(last, edge.time, next, jump),
                        ) =>
                {
                    leave_out(record, piece, lines);
                    remember(&mut self.left_out, line);
                    record.kill();
                }
                _ => {
                    stream.last = Some(edge.time);
                    self.first_time.get_or_insert(edge.time);
                }
            }
        }
    }

    /// The stream that ends nearest before this time, or a new one.
    fn stream_for(&mut self, first: u32) -> usize {
        let ends = self
            .streams
            .iter()
            .enumerate()
            .filter_map(|(number, stream)| Some((stream.end()?, number)));
        let chained = ends
            .filter(|(last, _)| *last <= first.saturating_add(OVERLAP_SECONDS))
            .max();
        chained.map_or_else(
            || {
                self.streams.push(Stream::default());
                self.streams.len() - 1
            },
            |(_, number)| number,
        )
    }

    /// What was held back to the end counts: nothing came that spoke against it.
    pub(super) fn release(&mut self) -> Vec<Run> {
        let mut released = Vec::new();
        for (number, stream) in self.streams.iter_mut().enumerate() {
            if let Some(Held { table, record, .. }) = stream.held.take() {
                self.first_time.get_or_insert(record.time);
                let stream = u16::try_from(number).unwrap_or(u16::MAX);
                released.push(Run::single(stream, table, record));
            }
        }
        released
    }
}

/// Remembers a line that is left out, where somebody asks for that.
fn remember(left_out: &mut Option<Vec<(u32, u64)>>, line: (u32, u64)) {
    if let Some(all) = left_out {
        all.push(line);
    }
}

/// Takes records of tokens out of a stream of addresses.
fn leave_out_tokens(tokens: Vec<Token>, piece: u32, parsed: &mut Parsed, lines: &mut Lines) {
    let Some(first) = tokens
        .iter()
        .find(|token| !token.example.is_empty())
        .or(tokens.first())
    else {
        return;
    };
    for token in &tokens {
        parsed.records[usize::from(token.table)][token.at as usize].kill();
    }
    let count = tokens.len() as u64;
    lines.parsed -= count;
    let place = (piece, first.line);
    note(lines, Skip::ChangedSource, count, &first.example, place);
}

/// Counts a record that had been counted as read. Its text is gone; its time says enough.
fn leave_out(record: &Record, piece: u32, lines: &mut Lines) {
    lines.parsed -= 1;
    let time = jiff::Timestamp::from_second(i64::from(record.time)).unwrap_or_default();
    note(
        lines,
        Skip::TimeJump,
        1,
        format!("(a line dated {time})").as_bytes(),
        (piece, 0),
    );
}

/// True where time leaps from `last` to `time` and `next` is back again.
fn is_excursion(last: u32, time: u32, next: u32, jump: u32) -> bool {
    let leaps_back = time > next.saturating_add(jump);
    let leaps_on = next > time.saturating_add(jump);
    (time > last.saturating_add(jump) && leaps_back)
        || (last > time.saturating_add(jump) && leaps_on)
}

/// True for a first record from the future: the two after it agree on an earlier time. (From the past it may be a gap.)
fn starts_wrong(time: u32, second: u32, third: Option<u32>, jump: u32) -> bool {
    time > second.saturating_add(jump) && third.is_some_and(|third| third.abs_diff(second) <= jump)
}
