//! Lines that are not in the order of time: servers write a line when the answer is done, and services that collect logs mix those of many
//! servers. A page must come before its parts and the pages it led to, or people look as if they loaded nothing and followed no link.
//!
//! Records are put in order as far as they are in memory together, source by source. Order among sources does not matter.

use super::TABLES;
use super::parse::Parsed;
use crate::profile::Record;

/// Puts the records of each source in order.
pub(super) fn put_in_order(parsed: &mut [Parsed]) {
    for run in parsed.chunk_by_mut(|one, next| one.stream == next.stream) {
        for table in 0..TABLES {
            if !is_in_order(run, table) {
                gather(run, table);
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

/// Moves the records of a table into the first of some blocks, those of one time in the order of their lines.
fn gather(run: &mut [Parsed], table: usize) {
    let [first, others @ ..] = run else { return };
    let records: &mut Vec<Record> = &mut first.records[table];
    for other in others {
        records.append(&mut other.records[table]);
    }
    records.retain(|record| !record.is_dead());
    records.sort_by_key(moment);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
