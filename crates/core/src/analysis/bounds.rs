//! What an analysis keeps that never ends: everything that grows with what clients send has a bound.
//!
//! | what | bound |
//! |---|---|
//! | tables: sources, and totals of windows | [`Analysis::keep_heaviest`]; windows by [`Analysis::forget_old_windows`] |
//! | visits that go on | one for each source in the tables; page requests of long ones to 4,096 a table, where they are watched |
//! | names of sources that are no addresses | of those in the tables, and what came since the last call |
//! | texts of user agents | twice 65,536 for each thread; both calls forget those of nobody in the tables |
//! | hosts | 1,022, of all times |
//! | the sample of paths | twice 8,192 for each thread, of all times |
//! | statuses, reasons of skipped lines, example lines | by their nature |
//! | room of parsed blocks | blocks that were given at once, each with 1,024 records a table |
//! | pieces and streams | pieces that were given: not for a client to choose |
//! | what campaigns are found by | made for each report, one agent for each source in the tables |

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::Analysis;
use super::lock;
use crate::profile::AgentTexts;
use crate::table::Table;
use crate::table::Weight;

impl Analysis {
    /// Forgets all windows but the one of the latest request and the one before it.
    pub fn forget_old_windows(&mut self) {
        let (Some(clock), Some(last)) = (self.clock, self.last_time()) else {
            return;
        };
        let before = clock.place(last).0.saturating_sub(1);
        let tables = self.tables.par_iter_mut();
        let forgotten = tables.filter_map(|table| table.forget(before).then_some(()));
        if forgotten.count() > 0 {
            self.keep_agents();
        }
        self.keep_tokens();
    }

    /// Sources that are known.
    pub fn sources(&self) -> usize {
        let tables = self.tables.par_iter();
        tables.map(|table| table.weights().count()).sum()
    }

    /// Forgets sources where there are more than this many, and says how many. Those with the fewest requests go, of equals the ones
    /// seen longest ago, with all their windows.
    pub fn keep_heaviest(&mut self, sources_max: usize) -> u64 {
        if self.tables.iter().map(Table::len).sum::<usize>() <= sources_max {
            return 0;
        }
        let tables = self.tables.par_iter();
        let mut weights: Vec<Weight> = tables.flat_map_iter(Table::weights).collect();
        let forgotten = weights.len().saturating_sub(sources_max);
        if forgotten == 0 {
            return 0;
        }
        match sources_max.checked_sub(1) {
            Some(last) => {
                let (_, least, _) = weights.select_nth_unstable(last);
                let tables = self.tables.par_iter_mut();
                tables.for_each(|table| table.forget_lighter(least));
            }
            None => self.tables.par_iter_mut().for_each(Table::forget_all),
        }
        self.keep_agents();
        self.keep_tokens();
        forgotten as u64
    }

    /// Keeps the names of sources that are known.
    fn keep_tokens(&mut self) {
        if !self.tokens.is_empty() {
            let kept: BTreeSet<u64> = self.tables.iter().flat_map(Table::tokens).collect();
            self.tokens.retain(|value, _| kept.contains(value));
        }
    }

    /// Keeps the texts of agents that sources use. Without this, a book that was once filled with invented agents would take no new ones
    /// for ever.
    fn keep_agents(&mut self) {
        let mut kept: Vec<u32> = self
            .tables
            .par_iter()
            .flat_map_iter(Table::agents)
            .collect();
        kept.par_sort_unstable();
        kept.dedup();
        // One book is made of all before any is forgotten: what each thread had must not show.
        let mut whole = AgentTexts::default();
        let mut parsers = lock(&self.parsers);
        for parser in parsers.iter_mut() {
            whole.absorb(&std::mem::take(parser.agents_mut()));
        }
        whole.keep(&kept);
        if let Some(parser) = parsers.first_mut() {
            *parser.agents_mut() = whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Block;
    use super::*;
    use crate::Settings;
    use crate::format::Format;
    use crate::knowledge::Knowledge;

    fn analysis() -> Analysis {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let settings = Settings {
            min_requests: 0,
            ..Settings::default()
        };
        Analysis::new(settings, knowledge).unwrap()
    }

    fn line(source: &str, second: u32, agent: &str) -> String {
        let (hour, minute, second) = (second / 3600 % 24, second / 60 % 60, second % 60);
        format!(
            "{source} - - [01/Jan/2030:{hour:02}:{minute:02}:{second:02} +0000] \"GET /a HTTP/1.1\" 200 9 \"-\" \"{agent}\"\n"
        )
    }

    fn observe(analysis: &mut Analysis, text: String) {
        analysis.observe(&[Block {
            piece: 0,
            starts_file: false,
            format: Arc::new(Format::parse("combined").unwrap()),
            length: text.len(),
            buffer: text.into_bytes(),
            long_lines: (0, Vec::new()),
        }]);
    }

    fn listed(analysis: &Analysis) -> Vec<(String, u64)> {
        let sources = analysis.report().sources.into_iter();
        sources
            .map(|source| (source.source, source.requests))
            .collect()
    }

    #[test]
    fn a_million_sources_leave_the_heaviest() {
        const MAX: usize = 10_000;
        let mut analysis = analysis();
        let mut forgotten = 0;
        for part in 0..100_u32 {
            // Every source once, but for one that asks a hundred times in each part.
            let mut text: String = (0..10_000)
                .map(|number: u32| {
                    let value = part * 10_000 + number;
                    line(
                        &std::net::Ipv4Addr::from(0x0a00_0000 + value).to_string(),
                        part * 60,
                        "M",
                    )
                })
                .collect();
            text.extend((0..100).map(|_| line("203.0.113.7", part * 60, "Heavy/1.0")));
            observe(&mut analysis, text);
            if part % 10 == 9 {
                forgotten += analysis.keep_heaviest(MAX);
                assert_eq!(analysis.sources(), MAX);
            }
        }
        assert_eq!(forgotten, 1_000_001 - MAX as u64);
        let report = analysis.report();
        assert_eq!(report.sources[0].source, "203.0.113.7");
        assert_eq!(report.sources[0].requests, 10_000);
        assert_eq!(report.sources[0].agent.as_deref(), Some("Heavy/1.0"));
        // Of those with one request the latest are left.
        let first = 0x0a00_0000 + 99 * 10_000;
        let is_late = |name: &str| {
            let address: std::net::Ipv4Addr = name.parse().unwrap();
            u32::from(address) >= first
        };
        assert!(
            report.sources[1..]
                .iter()
                .all(|source| is_late(&source.source))
        );
    }

    #[test]
    fn the_lightest_go_with_all_their_windows_and_of_equals_the_oldest() {
        let mut analysis = analysis();
        let mut text = String::new();
        for (source, days) in [("192.0.2.1", 1..=31), ("192.0.2.2", 1..=20)] {
            for day in days {
                let day = format!("[{day:02}/Jan");
                text += &line(source, 0, "M").replace("[01/Jan", &day);
            }
        }
        for (second, source) in [(9, "192.0.2.3"), (7, "192.0.2.4"), (8, "192.0.2.5")] {
            text += &line(source, second, "M").repeat(25);
        }
        observe(&mut analysis, text);
        assert_eq!(analysis.sources(), 5);
        assert_eq!(analysis.keep_heaviest(5), 0);
        assert_eq!(analysis.keep_heaviest(3), 2);
        let expected = [("192.0.2.1", 31), ("192.0.2.3", 25), ("192.0.2.5", 25)];
        let expected: Vec<(String, u64)> = expected
            .map(|(source, requests)| (source.to_owned(), requests))
            .into();
        assert_eq!(listed(&analysis), expected);
        // Who comes back is counted anew.
        observe(&mut analysis, line("192.0.2.2", 9, "M"));
        assert_eq!(listed(&analysis).len(), 4);
        assert_eq!(analysis.keep_heaviest(0), 4);
        assert_eq!(analysis.sources(), 0);
    }

    #[test]
    fn names_and_agents_of_forgotten_sources_are_forgotten() {
        let mut analysis = analysis();
        for part in 0..10 {
            let text: String = (0..1000)
                .map(|number| {
                    let name = format!("host-{part}-{number}.example");
                    line(&name, part, &format!("Agent {part} {number}"))
                })
                .collect();
            observe(
                &mut analysis,
                text + &line("kept.example", 0, "Kept").repeat(9),
            );
            analysis.keep_heaviest(10);
        }
        assert_eq!(analysis.sources(), 10);
        assert_eq!(analysis.tokens.len(), 10);
        let agents = lock(&analysis.parsers)
            .iter()
            .map(|parser| parser.agents().len())
            .sum::<usize>();
        assert_eq!(agents, 10);
        let report = analysis.report();
        assert_eq!(report.sources[0].source, "kept.example");
        assert_eq!(report.sources[0].agent.as_deref(), Some("Kept"));
    }
}
