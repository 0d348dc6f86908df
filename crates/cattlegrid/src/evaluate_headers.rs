//! `evaluate --headers`: the header heuristics on sources whose truth is known, as Tables 2 and 5 of the PubCrawl paper.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use cattlegrid_core::verdict::Class;
use cattlegrid_learn::folds::mean_and_interval;
use serde_json::Value;
use serde_json::json;

use crate::cli::EvaluateArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::lessons::HEURISTICS;
use crate::lessons::Judged;
use crate::lessons::collect;

/// Ways to answer: each heuristic alone, the three majorities, then what they are worth together with the shape of traffic.
const ANSWERS: [&str; 14] = [
    "H1", "H2", "H3", "H4", "H5", "H6", "H7", "former", "new", "combined", "shape", "either",
    "both", "verdict",
];
/// Answers of the first table; the second has the others, after 'combined'.
const HEADER_ANSWERS: usize = 10;
const COMBINED: usize = 9;

/// What the paper's majorities reached: crawlers, then users; former, new and combined.
type PaperTable = (&'static str, [[f64; 3]; 2]);

const TABLE_2: PaperTable = (
    "Table 2, training",
    [[41.32, 82.31, 75.54], [100.0, 84.0, 96.0]],
);
const TABLE_5: PaperTable = (
    "Table 5, testing",
    [[31.19, 86.24, 71.60], [100.0, 87.18, 94.87]],
);

pub(crate) fn run(arguments: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let lessons = collect(
        &arguments.log,
        arguments.truth.truth(),
        arguments.truth.day_requests,
    )?;
    let mut kinds: BTreeMap<&str, Table> = BTreeMap::new();
    for row in &lessons.rows {
        let kind = row.set.split(' ').next().unwrap_or_default();
        kinds.entry(kind).or_default().add(row);
    }
    if let Some(path) = &arguments.json {
        let tables: BTreeMap<_, _> = kinds
            .iter()
            .map(|(kind, table)| (kind, table.json()))
            .collect();
        let document = json!({ "schema": "cattlegrid/evaluate-headers/1", "tested_on": lessons.origin, "tables": tables });
        if is_stdout(path) {
            writeln!(io::stdout().lock(), "{document}")?;
            return Ok(ExitCode::SUCCESS);
        }
        write_whole(path, |file| writeln!(file, "{document}"))?;
    }
    let mut page = format!(
        "Header heuristics, right answers in percent: crawlers that were recognised, users that were not accused. H1 errors, H2 revisits, \n\
         H3 referrer, H4 cookies, H5 agents, H6 parameters, H7 sequence; former H1-H4, new H5-H7. Abstaining accuses nobody.\n\
         Tested on {}\n",
        lessons.origin.join("; ")
    );
    for (kind, table) in &kinds {
        let paper = if *kind == "social" { TABLE_2 } else { TABLE_5 };
        // Writing to a String cannot fail.
        let _ = table.text(kind, paper, &mut page);
    }
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Rows of a table that are always there, before the evasions.
const CLASSES: [&str; 5] = [
    "crawlers",
    "users",
    "legitimate",
    "unauthorized",
    "masquerading",
];

/// Right answers and all, by class and set; and how many abstained.
#[derive(Default)]
struct Table {
    right: BTreeMap<(String, String), [(u64, u64); ANSWERS.len()]>,
    silent: [[u64; HEURISTICS.len()]; 2],
    sources: [u64; 2],
}

impl Table {
    fn add(&mut self, row: &Judged) {
        let is_crawler = row.is_crawler();
        let answers = answers(row);
        let mut classes = vec![if is_crawler { "crawlers" } else { "users" }.to_owned()];
        if row.truth.label != "user" && row.truth.label != "crawler" {
            classes.push(row.truth.label.clone());
        }
        if !row.truth.evasion.is_empty() {
            classes.push(format!("evasion {}", row.truth.evasion));
        }
        for class in classes {
            let counts = self.right.entry((class, row.set.clone())).or_default();
            for ((right, all), answer) in counts.iter_mut().zip(answers) {
                *right += u64::from(answer == is_crawler);
                *all += 1;
            }
        }
        self.sources[usize::from(is_crawler)] += 1;
        for (silent, name) in self.silent[usize::from(is_crawler)]
            .iter_mut()
            .zip(HEURISTICS)
        {
            *silent += u64::from(row.is_triggered(name).is_none());
        }
    }

    /// Mean over the sets in percent, half of its 95 % interval where there are several, and how many sources.
    fn rate(&self, class: &str, answer: usize) -> Option<(f64, Option<f64>, u64)> {
        let sets = self.right.iter().filter(|((of, _), _)| of == class);
        let counts: Vec<(u64, u64)> = sets.map(|(_, answers)| answers[answer]).collect();
        let rates: Vec<f64> = counts
            .iter()
            .map(|(right, all)| 100.0 * *right as f64 / *all as f64)
            .collect();
        let (mean, half) = mean_and_interval(&rates);
        let sources = counts.iter().map(|(_, all)| all).sum();
        (!rates.is_empty()).then_some((mean, half, sources))
    }

    fn classes(&self) -> Vec<String> {
        let mut classes = CLASSES.map(str::to_owned).to_vec();
        let others = self.right.keys().map(|(class, _)| class.clone());
        let mut evasions: Vec<String> = others
            .filter(|class| !CLASSES.contains(&class.as_str()))
            .collect();
        evasions.dedup();
        classes.append(&mut evasions);
        classes
    }

    fn text(&self, kind: &str, paper: PaperTable, page: &mut String) -> std::fmt::Result {
        writeln!(page, "\n{kind}")?;
        self.rows(0..HEADER_ANSWERS, page)?;
        for (who, [former, new, combined]) in CLASSES.iter().zip(paper.1) {
            let place = format!("paper, {}: {who}", paper.0);
            writeln!(page, "  {place:<92}{former:>9.2}{new:>9.2}{combined:>9.2}")?;
        }
        for (who, at) in [("crawlers", 1), ("users", 0)] {
            write!(page, "  {who:<14}{:>8}", "abstain")?;
            for silent in self.silent[at] {
                let share = 100.0 * silent as f64 / self.sources[at].max(1) as f64;
                write!(page, "{share:>10.1}")?;
            }
            writeln!(page)?;
        }
        writeln!(
            page,
            "\n{kind}, heuristics and traffic shape: either accuses, both do, and the verdict of 'analyze' (undecided accuses nobody; the paper \
             saw no gain in combining)"
        )?;
        self.rows(COMBINED..ANSWERS.len(), page)
    }

    fn rows(&self, shown: std::ops::Range<usize>, page: &mut String) -> std::fmt::Result {
        write!(page, "  {:<14}{:>8}", "", "sources")?;
        for answer in &ANSWERS[shown.clone()] {
            write!(page, "{answer:>10}")?;
        }
        writeln!(page)?;
        for class in self.classes() {
            let Some((_, half, sources)) = self.rate(&class, COMBINED) else {
                continue;
            };
            write!(page, "  {class:<14}{sources:>8}")?;
            for answer in shown.clone() {
                let mean = self.rate(&class, answer).map_or(0.0, |(mean, _, _)| mean);
                write!(page, "{mean:>10.2}")?;
            }
            match half {
                Some(half) => writeln!(page, "  combined ±{half:.2}")?,
                None => writeln!(page)?,
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let mut rows = Vec::new();
        for class in self.classes() {
            for (at, answer) in ANSWERS.iter().enumerate() {
                if let Some((mean, half, sources)) = self.rate(&class, at) {
                    rows.push(json!({ "class": class, "answer": answer, "sources": sources, "percent": mean, "half_interval": half }));
                }
            }
        }
        Value::Array(rows)
    }
}

/// All answers about one source. Who abstains accuses nobody.
fn answers(row: &Judged) -> [bool; ANSWERS.len()] {
    let mut answers = [false; ANSWERS.len()];
    for (answer, name) in answers.iter_mut().zip(HEURISTICS) {
        *answer = row.is_triggered(name).unwrap_or(false);
    }
    let accuses = |vote: Option<bool>| vote.unwrap_or(false);
    let (headers, shape) = (accuses(row.votes.combined), accuses(row.shape));
    answers[HEURISTICS.len()..].copy_from_slice(&[
        accuses(row.votes.former),
        accuses(row.votes.new),
        headers,
        shape,
        headers || shape,
        headers && shape,
        matches!(row.class, Class::Crawler | Class::Automated),
    ]);
    answers
}
