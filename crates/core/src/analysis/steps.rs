//! A log as a gate sees it: what is decided about a request rests on what came before it.

use super::Analysis;
use super::Block;
use super::TABLES;
use super::order::Run;
use crate::profile::Record;

impl Analysis {
    /// Takes in blocks in steps of so many seconds of the log's time. The requests of each step go to `ask` before they are taken in, with
    /// the analysis of all that came before them.
    ///
    /// Each source's requests are taken in in the same order as by [`Analysis::observe`], and the result is the same. At the end of the log
    /// it is called without blocks: what has waited for more is asked about then.
    pub fn observe_in_steps(
        &mut self,
        blocks: &[Block],
        seconds: u32,
        mut ask: impl FnMut(&mut Analysis, &[Record]),
    ) {
        let runs = self.put_in_order(blocks);
        self.start_clock();
        let mut asked: Vec<Record> = Vec::new();
        for run in &runs {
            let mut begin = [0; TABLES];
            while let Some(first) = next_time(run, &begin) {
                let last = (first - first % seconds).saturating_add(seconds - 1);
                let end = ends(run, &begin, last);
                asked.clear();
                for (records, (begin, end)) in run.records.iter().zip(begin.iter().zip(&end)) {
                    asked.extend_from_slice(&records[*begin..*end]);
                }
                asked.sort_by_key(|record| (record.time, record.source()));
                ask(self, &asked);
                self.fold_step(run, &begin, &end);
                begin = end;
            }
        }
        self.queue.keep_room(runs);
    }

    fn fold_step(&mut self, run: &Run, begin: &[usize; TABLES], end: &[usize; TABLES]) {
        let Some(clock) = self.clock else { return };
        let tables = self.tables.iter_mut().zip(&run.records);
        for ((table, records), (begin, end)) in tables.zip(begin.iter().zip(end)) {
            if begin < end {
                table.fold(&records[*begin..*end], run.stream, &clock);
            }
        }
    }
}

/// When the next request comes; `None` where there is none.
fn next_time(run: &Run, begin: &[usize; TABLES]) -> Option<u32> {
    let next = |(records, begin): (&Vec<Record>, &usize)| Some(records.get(*begin)?.time);
    run.records.iter().zip(begin).filter_map(next).min()
}

/// Where the requests of each table end that come up to this second.
fn ends(run: &Run, begin: &[usize; TABLES], last: u32) -> [usize; TABLES] {
    std::array::from_fn(|number| {
        let rest = &run.records[number][begin[number]..];
        let is_in = |record: &&Record| record.time <= last;
        begin[number] + rest.iter().take_while(is_in).count()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Settings;
    use crate::format::Format;
    use crate::knowledge::Knowledge;

    fn block(lines: &str) -> Block {
        Block {
            piece: 0,
            starts_file: false,
            format: Arc::new(Format::parse("common").unwrap()),
            buffer: lines.as_bytes().to_vec(),
            length: lines.len(),
            long_lines: (0, Vec::new()),
        }
    }

    fn line(number: u32) -> String {
        // Some lines are late, and one is from another year.
        let second = match number {
            77 => return line_at(number, 2031, 1),
            _ if number.is_multiple_of(7) => number.saturating_sub(5),
            _ => number,
        };
        line_at(number, 2030, second)
    }

    fn line_at(number: u32, year: u32, second: u32) -> String {
        let (minute, second) = (second / 60, second % 60);
        format!(
            "198.51.100.{} - - [01/Apr/{year}:10:{minute:02}:{second:02} +0000] \"GET /p/{number} HTTP/1.1\" 200 99\n",
            number % 9
        )
    }

    fn analysis() -> Analysis {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        Analysis::new(Settings::default(), knowledge).unwrap()
    }

    #[test]
    fn steps_end_in_the_same_report_and_nobody_sees_ahead() {
        let lines: Vec<String> = (0..900).map(line).collect();
        let blocks: Vec<Block> = lines
            .chunks(250)
            .map(|part| block(&part.concat()))
            .collect();
        let mut whole = analysis();
        whole.observe(&blocks);
        let (mut asked, mut times) = (0, Vec::new());
        let mut stepwise = analysis();
        for blocks in [&blocks[..2], &blocks[2..], &[]] {
            stepwise.observe_in_steps(blocks, 10, |analysis, records| {
                let taken: u64 = analysis.report().all().requests;
                assert_eq!(
                    taken, asked,
                    "requests that were asked about are in, and no others"
                );
                asked += records.len() as u64;
                times.push(records[0].time / 10);
            });
        }
        assert_eq!(asked, 899, "one is left out");
        assert!(times.is_sorted(), "{times:?}");
        let (whole, stepwise) = (whole.finish(), stepwise.finish());
        assert_eq!(
            format!("{:?}", whole.sources),
            format!("{:?}", stepwise.sources)
        );
    }
}
