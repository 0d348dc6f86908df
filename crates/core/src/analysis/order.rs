//! Lines that are not in the order of time: servers write a line when the answer is done, and services that collect logs mix those of many
//! servers. A page must come before its parts and the pages it led to, or people look as if they loaded nothing and followed no link.
//!
//! Records are put in order as far as they are in memory together, source by source. Order among sources does not matter.

use smallvec::SmallVec;

use super::TABLES;
use super::parse::Parsed;
use crate::profile::Record;

/// Puts the records of each source in order.
pub(super) fn put_in_order(parsed: &mut [Parsed]) {
    for run in parsed.chunk_by_mut(|one, next| one.stream == next.stream) {
        for table in 0..TABLES {
            match is_in_order(run, table) {
                true => run
                    .iter_mut()
                    .for_each(|parsed| arrange_reversed(&mut parsed.records[table])),
                false => gather(run, table),
            }
        }
    }
}

/// Puts the records of each stream together, in order, into the first block that it has.
pub(super) fn gather_all(parsed: &mut [Parsed]) {
    for run in parsed.chunk_by_mut(|one, next| one.stream == next.stream) {
        (0..TABLES).for_each(|table| gather(run, table));
    }
}

/// When a request came, to the tick.
fn moment(record: &Record) -> u64 {
    u64::from(record.time) << 4 | u64::from(record.tick().bits())
}

fn is_in_order(run: &[Parsed], table: usize) -> bool {
    let records = run.iter().flat_map(|parsed| &parsed.records[table]);
    let alive = records.filter(|record| !record.is_dead());
    alive.is_sorted_by_key(moment)
}

/// Moves the records of a table into the first of some blocks, and puts them in order.
fn gather(run: &mut [Parsed], table: usize) {
    let [first, others @ ..] = run else { return };
    let records: &mut Vec<Record> = &mut first.records[table];
    for other in others {
        records.append(&mut other.records[table]);
    }
    records.retain(|record| !record.is_dead());
    if records.is_sorted_by_key(moment) {
        arrange_reversed(records);
        return;
    }
    records.sort_by_key(|record| (moment(record), record.source()));
    let are_together =
        |one: &Record, next: &Record| moment(one) == moment(next) && one.source() == next.source();
    records.chunk_by_mut(are_together).for_each(arrange);
}

/// Arranges the requests of a source and a moment of which one stands before the page that it names: servers write a line when the
/// answer is done, so that in real logs two or three of a hundred do.
fn arrange_reversed(records: &mut [Record]) {
    if !has_reversed(records) {
        return;
    }
    for together in records.chunk_by_mut(|one, next| moment(one) == moment(next)) {
        if has_reversed(together) {
            together.sort_by_key(Record::source);
            let of_source = together.chunk_by_mut(|one, next| one.source() == next.source());
            of_source
                .filter(|records| has_reversed(records))
                .for_each(arrange);
        }
    }
}

/// True where a page stands shortly behind a request of the same moment that names it.
fn has_reversed(records: &[Record]) -> bool {
    let mut all = records.iter().enumerate();
    all.any(|(at, page)| {
        let before = records[..at].iter().rev().take(LOOK_BACK);
        let mut together = before.take_while(|record| moment(record) == moment(page));
        page.is_page() && together.any(|record| is_named(page, record))
    })
}

/// True for a page that a request of the same source names.
fn is_named(page: &Record, record: &Record) -> bool {
    page.page as u16 == record.from && page.is_page() && page.source() == record.source()
}

/// Requests of one source in one moment up to which they are put in order: no person sends more.
const TOGETHER_MAX: usize = 64;

/// Puts requests that a source sent in one moment into the order in which a browser sends them: a page, its parts, and the pages that
/// name it. Where lines are out of order, the order of lines of one moment means nothing.
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

/// Requests before a page, of whatever source, that are looked at: on a busy site more came in the same moment.
const LOOK_BACK: usize = 16;

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

    fn report(lines: &[String], in_a_block: usize) -> String {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let mut analysis = Analysis::new(Settings::default(), knowledge).unwrap();
        let block = |lines: &[String]| Block {
            piece: 0,
            starts_file: false,
            format: Arc::new(Format::parse("combined").unwrap()),
            buffer: lines.concat().into_bytes(),
            length: lines.concat().len(),
            long_lines: (0, Vec::new()),
        };
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
    }
}
