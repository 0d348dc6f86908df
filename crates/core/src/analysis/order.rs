//! Lines that are not in the order of time: servers write a line when the answer is done, and services that collect logs mix those of many
//! servers. A page must come before its parts and the pages it led to, or people look as if they loaded nothing and followed no link.
//!
//! Records are put in order as far as they are in memory together, source by source: which sources share a table is another matter in each
//! run and must not show. Where some are out of order, those of the last minutes wait for the next blocks, in which others may come that
//! belong before them. Order among sources does not matter.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::TABLES;
use super::parse::Parsed;
use crate::profile::Record;

/// How late a line may come for its record to be put in its place across the edge between two rounds of blocks.
const WAIT_SECONDS: u32 = 120;
/// Records that may wait, which take eight megabytes.
const WAITING_MAX: usize = 1 << 17;
/// Records of a table for which room is kept. One heavy source fills one table; over the weeks it would be each of them.
const ROOM_KEPT: usize = 1 << 14;

/// Records of one stream by table, each source's in order.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) stream: u16,
    pub(super) records: Vec<Vec<Record>>,
}

impl Run {
    fn new(stream: u16) -> Run {
        Run {
            stream,
            records: vec![Vec::new(); TABLES],
        }
    }

    /// A run with a single record, to hand in one that was held back.
    pub(super) fn single(stream: u16, table: u16, record: Record) -> Run {
        let mut run = Run::new(stream);
        run.records[usize::from(table)].push(record);
        run
    }

    fn count_since(&self, time: u32) -> usize {
        let tables = self.records.iter();
        tables
            .map(|records| records.len() - first_since(records, time))
            .sum()
    }

    /// Takes records off its end, as many as are to wait.
    fn hold_back(&mut self) -> Option<Run> {
        let last = self.records.iter().filter_map(|records| records.last());
        let last = last.map(|record| record.time).max()?;
        let mut waits = (0..)
            .map(|halved| WAIT_SECONDS >> halved)
            .take_while(|wait| *wait > 0)
            .map(|wait| last.saturating_sub(wait));
        // In a flood a shorter wait has to do.
        let since = waits.find(|since| self.count_since(*since) <= WAITING_MAX)?;
        let tables = self.records.iter_mut();
        Some(Run {
            stream: self.stream,
            records: tables
                .map(|records| records.split_off(first_since(records, since)))
                .collect(),
        })
    }
}

/// Where the records begin that came at this time or later.
fn first_since(records: &[Record], time: u32) -> usize {
    records.partition_point(|record| record.time < time)
}

/// Puts blocks in order, and keeps what waits from one round of them to the next.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Option<Run>,
    /// Room for the next records.
    spare: Vec<Run>,
}

impl Queue {
    /// The records of some blocks and those that have waited for them, in order. Where there are no blocks, nothing waits any longer.
    pub(super) fn put_in_order(&mut self, parsed: &[Parsed]) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut has_late = false;
        runs.extend(self.waiting.take());
        for blocks in parsed.chunk_by(|one, next| one.stream == next.stream) {
            let stream = blocks[0].stream;
            if runs.last().is_none_or(|run: &Run| run.stream != stream) {
                let room = self.spare.pop();
                runs.push(room.map_or_else(|| Run::new(stream), |run| Run { stream, ..run }));
            }
            if let Some(run) = runs.last_mut() {
                has_late = gather(run, blocks);
            }
        }
        if has_late {
            self.waiting = runs.last_mut().and_then(Run::hold_back);
        }
        runs
    }

    /// Keeps the room of runs for the next ones.
    pub(super) fn keep_room(&mut self, runs: Vec<Run>) {
        self.spare.extend(runs);
        // Rounds of blocks with more than one stream are few.
        self.spare.truncate(1);
        for records in self.spare.iter_mut().flat_map(|run| &mut run.records) {
            records.clear();
            records.shrink_to(ROOM_KEPT);
        }
    }
}

/// Puts the records of blocks into a run, in order. True where a source's came out of order.
fn gather(run: &mut Run, blocks: &[Parsed]) -> bool {
    let tables = run.records.par_iter_mut().enumerate();
    let ordered = tables.map(|(table, records)| {
        for parsed in blocks {
            records.extend_from_slice(&parsed.records[table]);
        }
        if records.iter().any(Record::is_dead) {
            records.retain(|record| !record.is_dead());
        }
        order(records)
    });
    ordered.reduce(|| false, |one, other| one | other)
}

/// Puts the records of each source in order. True where they were not.
fn order(records: &mut [Record]) -> bool {
    if records.is_sorted_by_key(moment) {
        records
            .chunk_by_mut(are_together)
            .for_each(arrange_reversed);
        return false;
    }
    let mut has_late = false;
    records.sort_by_key(Record::source);
    for of_source in records.chunk_by_mut(are_of_one_source) {
        let is_late = !of_source.is_sorted_by_key(moment);
        of_source.sort_by_key(moment);
        for together in of_source.chunk_by_mut(are_together) {
            // Where lines are out of order, the order of lines of one moment means nothing.
            if is_late || has_reversed(together) {
                arrange(together);
            }
        }
        has_late |= is_late;
    }
    records.sort_by_key(moment);
    has_late
}

/// When a request came, to the tick.
fn moment(record: &Record) -> u64 {
    u64::from(record.time) << 4 | u64::from(record.tick().bits())
}

fn are_together(one: &Record, next: &Record) -> bool {
    moment(one) == moment(next)
}

fn are_of_one_source(one: &Record, next: &Record) -> bool {
    one.source() == next.source()
}

/// Arranges the requests of those sources, in one moment, of which one stands before the page that it names: servers write a line when the
/// answer is done, so that in real logs two or three of a hundred do.
fn arrange_reversed(together: &mut [Record]) {
    if together.len() <= TOGETHER_MAX && !has_reversed(together) {
        return;
    }
    together.sort_by_key(Record::source);
    let sources = together.chunk_by_mut(are_of_one_source);
    sources
        .filter(|records| has_reversed(records))
        .for_each(arrange);
}

/// True where a page stands behind a request that names it, among few.
fn has_reversed(together: &[Record]) -> bool {
    let stands_behind = |(at, page): (usize, &Record)| {
        let mut before = together[..at].iter();
        page.is_page() && before.any(|record| is_named(page, record))
    };
    let mut all = together.iter().enumerate();
    together.len() <= TOGETHER_MAX && all.any(stands_behind)
}

/// True for a page that a request of the same source names.
fn is_named(page: &Record, record: &Record) -> bool {
    page.page as u16 == record.from && page.is_page() && page.source() == record.source()
}

/// Requests of one source in one moment up to which they are put in order: no person sends more.
const TOGETHER_MAX: usize = 64;

/// Puts requests that a source sent in one moment into the order in which a browser sends them: a page, its parts, and the pages that
/// name it.
fn arrange(together: &mut [Record]) {
    if !(2..=TOGETHER_MAX).contains(&together.len()) {
        return;
    }
    let parents: Together<Option<usize>> = together
        .iter()
        .map(|record| parent(record, together))
        .collect();
    let mut roots: Together<usize> = (0..together.len()).collect();
    // Whoever is named, and names nothing here, comes first; two pages that name each other come in the order of their lines.
    roots.sort_by_key(|at| (parents[*at].is_some(), place(&together[*at])));
    let mut order = Together::new();
    for root in roots {
        put(root, &parents, together, &mut order);
    }
    let arranged: Together<Record> = order.iter().map(|at| together[*at]).collect();
    together.copy_from_slice(&arranged);
}

type Together<T> = SmallVec<[T; 16]>;

/// The page among these that a request names.
fn parent(record: &Record, together: &[Record]) -> Option<usize> {
    let at = together.iter().position(|page| is_named(page, record))?;
    (record.from != 0 && !std::ptr::eq(record, &together[at])).then_some(at)
}

/// Where a request stands that names none of the others: parts of an earlier page come before the next page, those that name no page
/// behind it.
fn place(record: &Record) -> u8 {
    match (record.is_page(), record.from) {
        (false, 1..) => 0,
        (true, _) => 1,
        (false, 0) => 2,
    }
}

/// Puts a request next, then what names it: parts first.
fn put(at: usize, parents: &[Option<usize>], together: &[Record], order: &mut Together<usize>) {
    if order.contains(&at) {
        return;
    }
    order.push(at);
    for is_page in [false, true] {
        let named = (0..together.len()).filter(|other| parents[*other] == Some(at));
        named
            .filter(|other| together[*other].is_page() == is_page)
            .for_each(|other| put(other, parents, together, order));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Analysis;
    use crate::Settings;
    use crate::analysis::Block;
    use crate::format::Format;
    use crate::knowledge::Knowledge;

    /// A visitor's pages, each with its style sheet a second later.
    fn lines() -> Vec<String> {
        let line = |second: u32, target: String| {
            let (minute, second) = (second / 60, second % 60);
            format!(
                "198.51.100.7 - - [01/Apr/2030:10:{minute:02}:{second:02} +0000] \"GET {target} HTTP/1.1\" 200 99 \"-\" \"Mozilla/5.0\"\n"
            )
        };
        let visit = |number: u32| {
            let page = line(20 * number, format!("/page-{number}.html"));
            [page, line(20 * number + 1, format!("/s{number}.css"))]
        };
        (0..100).flat_map(visit).collect()
    }

    fn block(lines: &[String]) -> Block {
        Block {
            piece: 0,
            starts_file: false,
            format: Arc::new(Format::parse("combined").unwrap()),
            buffer: lines.concat().into_bytes(),
            length: lines.concat().len(),
            long_lines: (0, Vec::new()),
        }
    }

    fn analysis() -> Analysis {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        Analysis::new(Settings::default(), knowledge).unwrap()
    }

    fn report(lines: &[String], in_a_block: usize) -> String {
        let mut analysis = analysis();
        let blocks: Vec<Block> = lines.chunks(in_a_block).map(block).collect();
        analysis.observe(&blocks);
        format!("{:?}", analysis.finish().sources)
    }

    /// A topic of a forum from a search: pictures that look like pages, its script, and a page that it led to.
    fn topic() -> [String; 5] {
        let line = |second: u32, target: &str, referrer: &str| {
            format!(
                "198.51.100.7 - - [01/Apr/2030:10:00:{second:02} +0000] \"GET {target} HTTP/1.1\" 200 99 \"{referrer}\" \"Mozilla/5.0\"\n"
            )
        };
        let topic = "https://www.example.org/topic.php?t=7";
        [
            line(7, "/topic.php?t=7", "https://search.example.net/"),
            line(7, "/core.js", topic),
            line(7, "/file.php?avatar=1.png", topic),
            line(7, "/file.php?avatar=2.png", topic),
            line(9, "/topic.php?t=9", topic),
        ]
    }

    #[test]
    fn lines_of_one_second_say_the_same_in_any_order() {
        let in_order = topic();
        let expected = report(&in_order, 1000);
        let [page, script, one, two, next] = &in_order;
        // Pages before what they led to, and the same before them.
        for lines in [
            [one, two, page, script, next],
            [script, one, two, page, next],
            [one, page, script, two, next],
            [next, one, two, page, script],
        ] {
            let lines = lines.map(Clone::clone);
            assert_eq!(report(&lines, 1000), expected, "{lines:?}");
        }
    }

    #[test]
    fn pages_that_name_each_other_and_floods_are_left_alone() {
        let record = |page: u32, from: u16| Record {
            page,
            from,
            ..Record::page_for_tests(1, 7)
        };
        let pages =
            |records: &[Record]| -> Vec<u32> { records.iter().map(|record| record.page).collect() };
        let mut circle = [record(11, 12), record(12, 11), record(13, 13)];
        arrange_reversed(&mut circle);
        assert_eq!(pages(&circle), [13, 11, 12]);
        let mut flood: Vec<Record> = (0..1000).map(|page| record(page, 999)).collect();
        arrange_reversed(&mut flood);
        assert!(pages(&flood).is_sorted());
    }

    #[test]
    fn lines_out_of_order_say_the_same() {
        let lines = lines();
        let expected = report(&lines, 1000);
        let mut late = lines.clone();
        for pair in late.chunks_mut(2) {
            pair.swap(0, 1);
        }
        assert_eq!(report(&late, 1000), expected, "in one block");
        assert_eq!(report(&late, 7), expected, "from block to block");
        let mut rounds = analysis();
        for lines in late.chunks(7) {
            rounds.observe(&[block(lines)]);
        }
        let found = format!("{:?}", rounds.finish().sources);
        assert_eq!(found, expected, "from round to round");
    }

    #[test]
    fn what_waits_is_taken_in_by_the_next_blocks_or_when_nothing_may_wait() {
        let lines = lines();
        let mut late = lines[..60].to_vec();
        late.swap(58, 59);
        let requests = |analysis: &Analysis| analysis.report().all().requests;
        let mut analysis = analysis();
        analysis.observe(&[block(&late)]);
        assert!(
            (40..60).contains(&requests(&analysis)),
            "the last minutes wait"
        );
        analysis.settle();
        assert_eq!(requests(&analysis), 60);
        analysis.observe(&[block(&lines[60..80])]);
        assert_eq!(requests(&analysis), 80, "in order nothing waits");
    }

    #[test]
    fn who_shares_a_table_does_not_show() {
        let page = |number: u32, from: u16, second: u32| Record {
            page: number,
            from,
            ..Record::page_for_tests(7, second)
        };
        let part = |number: u32, from: u16, second: u32| Record {
            flags: 0,
            ..page(number, from, second)
        };
        // The first two stand as a browser may send them, of the next two one stands before the page that it names.
        let own = [
            part(11, 0, 1),
            page(12, 0, 1),
            part(13, 14, 2),
            page(14, 0, 2),
        ];
        let own_pages = |others: Vec<Record>| -> Vec<u32> {
            let mut records = [others, own.to_vec()].concat();
            order(&mut records);
            let own = records.iter().filter(|record| record.source == 7);
            own.map(|record| record.page).collect()
        };
        let of_others =
            |second: u32| (100..200).map(move |source| Record::page_for_tests(source, second));
        let expected = [11, 12, 14, 13];
        assert_eq!(own_pages(Vec::new()), expected);
        assert_eq!(own_pages(of_others(1).collect()), expected, "a crowd");
        let late = of_others(9).chain(of_others(1)).collect();
        assert_eq!(own_pages(late), expected, "others come late");
    }
}
