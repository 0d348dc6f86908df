//! How long sessions were judged: the paper's Table I with counts and intervals, and what that means for each account.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use cattlegrid_core::paths::PathKind;
use cattlegrid_core::paths::Verdict;
use cattlegrid_worlds::forum::Role;
use serde_json::Value;
use serde_json::json;

use crate::evaluate_sessions::wilson;
use crate::path_examples::PathSession;

/// The paper's Table I in percent: rows are what a session is, columns what it was called.
const PAPER: [[f64; 4]; 4] = [
    [96.43, 0.0, 3.57, 0.0],
    [0.0, 100.0, 0.0, 0.0],
    [0.0, 6.25, 93.75, 0.0],
    [1.51, 1.77, 0.0, 96.72],
];
/// The paper's share of crawlers' sessions that were recognised as such.
const PAPER_CRAWLERS: f64 = 96.74;
const NAMES: [&str; 4] = [
    "0 person",
    "1 depth-first",
    "2 breadth-first",
    "3 random-like",
];

/// Sessions of one account or crawler.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    wrong: usize,
    all: usize,
}

/// What became of all sessions.
#[derive(Debug, Default)]
pub(super) struct Tally {
    table: [[usize; 4]; 4],
    /// Sessions of accounts that share links, by what they were called.
    shared: [usize; 4],
    /// Sessions of each crawling account.
    crawlers: BTreeMap<String, Count>,
    people: BTreeSet<String>,
    accused: BTreeSet<String>,
}

impl Tally {
    pub(super) fn of(sessions: &[PathSession], verdicts: &[Verdict]) -> Tally {
        let mut tally = Tally::default();
        for (session, verdict) in sessions.iter().zip(verdicts) {
            let called = verdict.kind.map_or(0, PathKind::number);
            match session.role {
                Role::Shared => tally.shared[called] += 1,
                _ => tally.table[session.truth().map_or(0, PathKind::number)][called] += 1,
            }
            let account = session.account.clone();
            if session.truth().is_some() {
                let count = tally.crawlers.entry(account).or_default();
                count.all += 1;
                count.wrong += usize::from(called == 0);
            } else {
                if called > 0 {
                    tally.accused.insert(account.clone());
                }
                tally.people.insert(account);
            }
        }
        tally
    }

    pub(super) fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "  {:<18}{:>8}{:>24}{:>24}{:>24}{:>24}",
            "", "sessions", "called 0", "1", "2", "3"
        )?;
        for (row, name) in NAMES.iter().enumerate() {
            let paper = PAPER[row].map(|share| format!(" (paper {share})"));
            line(name, self.table[row], &paper, page)?;
        }
        if self.shared.iter().sum::<usize>() > 0 {
            let none = [const { String::new() }; 4];
            line("shared links", self.shared, &none, page)?;
        }
        self.write_rates(page)?;
        self.write_accounts(page)
    }

    /// Sessions of people that were recognised, and all; then the same of crawlers.
    fn recognised(&self) -> [(usize, usize); 2] {
        let people: usize = self.table[0].iter().sum();
        let crawlers: usize = self.table[1..].iter().flatten().sum();
        let missed: usize = self.table[1..].iter().map(|row| row[0]).sum();
        [(self.table[0][0], people), (crawlers - missed, crawlers)]
    }

    /// The same as JSON: what it was learned from, and by which rule.
    pub(super) fn json(&self, learned: &str, rule: &str) -> Value {
        let [people, crawlers] = self.recognised();
        let share = |(right, all): (usize, usize)| {
            let (low, high) = wilson(right, all.max(1));
            json!({ "right": right, "sessions": all, "low": low, "high": high })
        };
        let counts = self.crawlers.values();
        let entirely = counts.clone().filter(|count| count.wrong == count.all);
        json!({
            "learned": learned,
            "rule": rule,
            "counts": self.table,
            "paper_percent": PAPER,
            "shared": self.shared,
            "people": share(people),
            "crawlers": share(crawlers),
            "accounts": {
                "people": self.people.len(),
                "accused": self.accused.len(),
                "crawling": self.crawlers.len(),
                "missed_entirely": entirely.count(),
                "missed_sessions_max": counts.map(|count| count.wrong).max().unwrap_or(0),
            },
        })
    }

    fn write_rates(&self, page: &mut String) -> std::fmt::Result {
        let [people, crawlers] = self.recognised();
        writeln!(
            page,
            "  people recognised    {} (paper {})\n  crawlers recognised  {} (paper {PAPER_CRAWLERS})",
            rate(people.0, people.1),
            PAPER[0][0],
            rate(crawlers.0, crawlers.1)
        )
    }

    fn write_accounts(&self, page: &mut String) -> std::fmt::Result {
        let counts = self.crawlers.values();
        let lost = counts.clone().filter(|count| count.wrong == count.all);
        let most = counts.clone().map(|count| count.wrong).max().unwrap_or(0);
        let mut by_wrong: BTreeMap<usize, usize> = BTreeMap::new();
        for count in counts.clone() {
            *by_wrong.entry(count.wrong).or_default() += 1;
        }
        let by_wrong: Vec<String> = by_wrong
            .iter()
            .map(|(wrong, many)| format!("{wrong} of {many}"))
            .collect();
        writeln!(
            page,
            "  sessions missed per crawling account: at most {most} (paper 2): {} accounts\n  \
             crawling accounts missed entirely: {} of {} (paper 0)\n  people accused at least once: {} of {}",
            by_wrong.join(", "),
            lost.count(),
            self.crawlers.len(),
            self.accused.len(),
            self.people.len()
        )
    }
}

fn line(
    name: &str,
    counts: [usize; 4],
    paper: &[String; 4],
    page: &mut String,
) -> std::fmt::Result {
    let all: usize = counts.iter().sum();
    write!(page, "  {name:<18}{all:>8}")?;
    for (count, paper) in counts.iter().zip(paper) {
        let share = 100.0 * *count as f64 / all.max(1) as f64;
        write!(page, "{:>24}", format!("{share:.2} %{paper}"))?;
    }
    writeln!(page)
}

/// A share with its counts and interval: `99.20 % (120 of 121, 95 % interval 95.46 to 99.86)`.
fn rate(right: usize, all: usize) -> String {
    if all == 0 {
        return "none".to_owned();
    }
    let (low, high) = wilson(right, all);
    format!(
        "{:.2} % ({right} of {all}, {} wrong, 95 % interval {:.2} to {:.2})",
        100.0 * right as f64 / all as f64,
        all - right,
        100.0 * low,
        100.0 * high
    )
}
