//! `evaluate`: a model on sources whose truth is known, as the tables of the PubCrawl paper.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use cattlegrid_core::verdict::Votes as HeaderVotes;
use cattlegrid_learn::committee::Committee;
use cattlegrid_learn::committee::Judgement;
use cattlegrid_learn::folds::Confusion;
use cattlegrid_learn::folds::mean_and_interval;
use cattlegrid_learn::folds::overlap;
use cattlegrid_learn::folds::parts;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::series::PAPER_ATTRIBUTES;
use cattlegrid_learn::series::attributes;
use rayon::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::cli::EvaluateArgs;
use crate::evaluate_calibration::Calibration;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::labelled::Examples;
use crate::labelled::Labelled;
use crate::labelled::collect;
use crate::model;

/// Ways to answer, in the order of the columns: each classifier, the majority of the paper's three, and all votes by
/// what they are worth.
const ANSWERS: [&str; 6] = ["Bayes", "rules", "vectors", "trees", "vote", "weighed"];

/// Decibans below which the detector says nothing, as it is shipped.
const DECIBANS_MIN: f64 = 3.0;

/// Rows of a table.
const CLASSES: [&str; 6] = [
    "all",
    "crawlers",
    "users",
    "legitimate",
    "unauthorized",
    "masquerading",
];

/// Rows of one of the paper's tables: its Bayes, rules, support vectors and vote.
type PaperRows = &'static [(&'static str, [f64; 4])];

/// Its Table 6: a model on the test set.
const TABLE_6: PaperRows = &[
    ("all", [93.05, 87.55, 94.36, 94.89]),
    ("crawlers", [93.66, 87.68, 97.79, 95.58]),
    ("users", [82.50, 85.00, 32.50, 82.50]),
    ("legitimate", [92.54, 87.10, 97.18, 93.95]),
    ("unauthorized", [88.89, 96.27, 100.00, 100.00]),
    ("masquerading", [98.27, 86.71, 98.84, 98.84]),
];
/// Its Table 3: five parts in turn, and two thirds to learn from.
const TABLE_3_PARTS: PaperRows = &[
    ("crawlers", [98.39, 96.36, 98.55, 98.99]),
    ("users", [79.09, 78.91, 81.91, 82.91]),
];
const TABLE_3_SPLIT: PaperRows = &[
    ("crawlers", [97.45, 96.19, 95.11, 96.90]),
    ("users", [78.84, 78.22, 80.44, 82.28]),
];

/// The name of the second way.
const SPLIT: &str = "two thirds";

fn paper_row(rows: PaperRows, class: &str) -> Option<[f64; 4]> {
    let row = rows.iter().find(|(name, _)| *name == class);
    row.map(|(_, figures)| *figures)
}

/// The paper's table for sources that were learned from in parts: two thirds and a third, or parts in turn.
fn table_3(parts: &str) -> PaperRows {
    match parts.contains(SPLIT) {
        true => TABLE_3_SPLIT,
        false => TABLE_3_PARTS,
    }
}

pub(crate) fn run(arguments: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let mut examples = collect(
        &arguments.log,
        arguments.truth.truth(),
        arguments.truth.day_requests,
    )?;
    // Programs that are neither people nor crawlers are no errors, whatever their shape.
    let automated = examples
        .rows
        .iter()
        .filter(|row| row.label == "automated")
        .count();
    examples.rows.retain(|row| row.label != "automated");
    if examples.rows.is_empty() {
        bail!(
            "no source with a label has a shape: it takes more than two days of log, and {} requests on the busiest day (--day-requests)",
            arguments.truth.day_requests
        );
    }
    let model = model::load(arguments.log.model.as_deref())?;
    let evaluation = Evaluation::of(&examples, &model, arguments);
    if let Some(path) = &arguments.calibration {
        let picture = evaluation.calibration.svg();
        write_whole(path, |file| file.write_all(picture.as_bytes()))?;
    }
    if let Some(path) = &arguments.json {
        let document = evaluation.json(&examples, &model, automated);
        if is_stdout(path) {
            writeln!(io::stdout().lock(), "{document}")?;
            return Ok(ExitCode::SUCCESS);
        }
        write_whole(path, |file| writeln!(file, "{document}"))?;
    }
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = evaluation.text(&examples, &model, automated, &mut page);
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Everything that was measured.
struct Evaluation<'a> {
    /// With all values, and with those of the paper.
    held_out: [Table; 2],
    /// Learned from these sources themselves: name, and both tables.
    parts: Vec<(String, [Table; 2])>,
    headers: Option<[Confusion; 3]>,
    habits: BTreeMap<(bool, &'a str), (u64, u64)>,
    /// Users and crawlers as `analyze` would answer: right, undecided, wrong.
    said: [[u64; 3]; 2],
    calibration: Calibration,
    hardest: Vec<(&'a Labelled, f64)>,
    overlaps: Vec<(String, f64)>,
    /// Without each value: how many crawlers and users are recognised.
    without: Vec<(String, Confusion)>,
}

/// Answers by class and set: right ones and all.
#[derive(Default)]
struct Table(BTreeMap<(&'static str, String), [(u64, u64); ANSWERS.len()]>);

impl Table {
    fn add(&mut self, row: &Labelled, answers: [bool; ANSWERS.len()]) {
        let crawlers = if row.is_crawler() {
            "crawlers"
        } else {
            "users"
        };
        let classes = CLASSES.iter().copied();
        for class in
            classes.filter(|class| *class == "all" || *class == crawlers || *class == row.label)
        {
            let counts = self.0.entry((class, row.set.clone())).or_default();
            for ((right, all), answer) in counts.iter_mut().zip(answers) {
                *right += u64::from(answer == row.is_crawler());
                *all += 1;
            }
        }
    }

    /// Share of right answers in percent, mean over the sets, with half of the 95 % interval where there are several.
    fn rate(&self, class: &str, answer: usize) -> Option<(f64, Option<f64>, u64)> {
        let sets = self.0.iter().filter(|((of, _), _)| *of == class);
        let counts: Vec<(u64, u64)> = sets.map(|(_, answers)| answers[answer]).collect();
        let sources = counts.iter().map(|(_, all)| all).sum();
        let rates: Vec<f64> = counts
            .iter()
            .map(|(right, all)| 100.0 * *right as f64 / *all as f64)
            .collect();
        let (mean, half) = mean_and_interval(&rates);
        (!rates.is_empty()).then_some((mean, half, sources))
    }

    fn text(&self, paper: PaperRows, page: &mut String) -> std::fmt::Result {
        write!(page, "  {:<14}{:>8}", "", "sources")?;
        for answer in ANSWERS {
            write!(page, "{answer:>15}")?;
        }
        writeln!(page, "   paper: Bayes, rules, vectors, vote")?;
        for class in CLASSES {
            let Some((_, _, sources)) = self.rate(class, 0) else {
                continue;
            };
            write!(page, "  {class:<14}{sources:>8}")?;
            for answer in 0..ANSWERS.len() {
                if let Some((mean, half, _)) = self.rate(class, answer) {
                    let half = half.map_or_else(String::new, |half| format!(" ±{half:.2}"));
                    write!(page, "{:>15}", format!("{mean:.2}{half}"))?;
                }
            }
            match paper_row(paper, class) {
                Some([bayes, rules, vectors, vote]) => {
                    writeln!(page, "   {bayes:.2}, {rules:.2}, {vectors:.2}, {vote:.2}")?;
                }
                None => writeln!(page)?,
            }
        }
        Ok(())
    }

    fn json(&self, paper: PaperRows) -> Value {
        let mut rows = Vec::new();
        for class in CLASSES {
            let known = paper_row(paper, class);
            for (answer, name) in ANSWERS.iter().enumerate() {
                // The paper has no trees, and weighs nothing.
                let figure = match *name {
                    "vote" => known.map(|figures| figures[3]),
                    "Bayes" | "rules" | "vectors" => known.map(|figures| figures[answer]),
                    _ => None,
                };
                if let Some((mean, half, sources)) = self.rate(class, answer) {
                    rows.push(json!({ "class": class, "answer": name, "sources": sources, "percent": mean, "half_interval": half, "paper": figure, "paper_vote": known.map(|figures| figures[3]) }));
                }
            }
        }
        Value::Array(rows)
    }
}

/// All answers about one source.
fn answers(committee: &Committee, values: &[f64]) -> ([bool; ANSWERS.len()], f64) {
    let Judgement {
        votes, decibans, ..
    } = committee.judge(values);
    let [bayes, rules, svm, trees] = votes.all().map(|vote| vote > 0.5);
    let together = [votes.majority(), decibans > 0.0];
    (
        [bayes, rules, svm, trees, together[0], together[1]],
        decibans,
    )
}

/// Where an answer is counted: right, undecided, wrong.
fn place(decibans: f64, is_right: bool) -> usize {
    match (decibans.abs() < DECIBANS_MIN, is_right) {
        (true, _) => 1,
        (false, true) => 0,
        (false, false) => 2,
    }
}

/// Both tables for rows that the committees have not learned from.
fn test(rows: &[&Labelled], all: &Committee, paper: &Committee) -> [Table; 2] {
    let mut tables = [Table::default(), Table::default()];
    for row in rows {
        tables[0].add(row, answers(all, &row.values).0);
        tables[1].add(row, answers(paper, &row.values[..PAPER_ATTRIBUTES]).0);
    }
    tables
}

impl<'a> Evaluation<'a> {
    fn of(examples: &'a Examples, model: &Model, arguments: &EvaluateArgs) -> Evaluation<'a> {
        let rows: Vec<&Labelled> = examples.rows.iter().collect();
        let mut habits: BTreeMap<(bool, &str), (u64, u64)> = BTreeMap::new();
        let mut wrong = Vec::new();
        let mut said = [[0; 3]; 2];
        for row in &examples.rows {
            let (_, decibans) = answers(&model.shape, &row.values);
            let is_right = (decibans > 0.0) == row.is_crawler();
            said[usize::from(row.is_crawler())][place(decibans, is_right)] += 1;
            let (right, all) = habits.entry((row.is_crawler(), &row.habit)).or_default();
            *right += u64::from(is_right);
            *all += 1;
            if !is_right {
                wrong.push((row, decibans));
            }
        }
        wrong.sort_by(|a, b| {
            b.1.abs()
                .total_cmp(&a.1.abs())
                .then_with(|| a.0.source.cmp(&b.0.source))
        });
        wrong.truncate(arguments.hardest);
        let names = attributes().into_iter().map(|attribute| attribute.name);
        let overlap_of = |at: usize| {
            overlap(
                examples
                    .rows
                    .iter()
                    .map(|row| (row.values[at], row.is_crawler())),
            )
        };
        Evaluation {
            held_out: test(&rows, &model.shape, &model.paper),
            parts: arguments
                .folds
                .map_or_else(Vec::new, |folds| in_parts(examples, folds)),
            headers: headers(examples),
            habits,
            said,
            calibration: Calibration::of(examples, model),
            hardest: wrong,
            overlaps: names
                .enumerate()
                .map(|(at, name)| (name, overlap_of(at)))
                .collect(),
            without: if arguments.leave_one_out {
                leave_one_out(examples)
            } else {
                Vec::new()
            },
        }
    }

    fn text(
        &self,
        examples: &Examples,
        model: &Model,
        automated: usize,
        page: &mut String,
    ) -> std::fmt::Result {
        writeln!(
            page,
            "Model made from {}; tested on {}",
            model.made_from,
            examples.origin.join("; ")
        )?;
        for (label, count) in &examples.without_shape {
            writeln!(
                page,
                "  not judged: {count} windows of label {label} (too few requests, or too short a log)"
            )?;
        }
        if automated > 0 {
            writeln!(
                page,
                "  left aside: {automated} windows of automated programs, which are neither people nor crawlers"
            )?;
        }
        if let Some(tables) = &self.headers {
            writeln!(
                page,
                "\nHeader heuristics, in percent (Tables 2 and 5)\n  {:<14}{:>10}{:>10}{:>10}",
                "", "former", "new", "combined"
            )?;
            let mut row = |name: &str, rate: fn(&Confusion) -> Option<f64>, paper: &str| {
                let rates = tables.each_ref().map(|table| {
                    rate(table)
                        .map_or_else(|| "-".to_owned(), |rate| format!("{:.2}", 100.0 * rate))
                });
                writeln!(
                    page,
                    "  {name:<14}{:>10}{:>10}{:>10}   paper: {paper}",
                    rates[0], rates[1], rates[2]
                )
            };
            row("crawlers", Confusion::positives, "31.19, 86.24, 71.60")?;
            row("users", Confusion::negatives, "100.00, 87.18, 94.87")?;
        }
        writeln!(
            page,
            "\nTraffic shape, right answers in percent (Table 6), all values"
        )?;
        self.held_out[0].text(TABLE_6, page)?;
        writeln!(
            page,
            "The same with the values of the paper's Table 1 alone"
        )?;
        self.held_out[1].text(TABLE_6, page)?;
        for (name, tables) in &self.parts {
            writeln!(
                page,
                "\nLearned from these sources, {name} (Table 3), all values"
            )?;
            tables[0].text(table_3(name), page)?;
            writeln!(
                page,
                "The same with the values of the paper's Table 1 alone"
            )?;
            tables[1].text(table_3(name), page)?;
        }
        self.details(page)
    }

    fn details(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\nAs 'analyze' answers, which says nothing below {DECIBANS_MIN} decibans (weighed votes, all values)\n  {:<14}{:>8}{:>11}{:>8}{:>20}",
            "", "right", "undecided", "wrong", "right of the decided"
        )?;
        for (who, [right, undecided, wrong]) in ["users", "crawlers"].iter().zip(self.said) {
            let share = 100.0 * right as f64 / (right + wrong).max(1) as f64;
            writeln!(
                page,
                "  {who:<14}{right:>8}{undecided:>11}{wrong:>8}{share:>20.2}"
            )?;
        }
        self.calibration.text(page)?;
        writeln!(
            page,
            "\nBy what decides when they come (weighed votes, all values)"
        )?;
        for ((is_crawler, habit), (right, all)) in &self.habits {
            let who = if *is_crawler { "crawler" } else { "people" };
            writeln!(
                page,
                "  {who:<8} {habit:<26} {right:>6} of {all:>6}   {:.2}",
                100.0 * *right as f64 / *all as f64
            )?;
        }
        writeln!(
            page,
            "\nHow well each value alone tells them apart (0.5 not at all, 1 entirely)"
        )?;
        for (name, overlap) in &self.overlaps {
            writeln!(page, "  {name:<28} {overlap:.3}")?;
        }
        if !self.without.is_empty() {
            writeln!(
                page,
                "\nLearned without one value, tested on a third: crawlers and users recognised by the vote"
            )?;
            for (name, confusion) in &self.without {
                let percent = |rate: Option<f64>| 100.0 * rate.unwrap_or(0.0);
                writeln!(
                    page,
                    "  {name:<28} {:>7.2} {:>7.2}",
                    percent(confusion.positives()),
                    percent(confusion.negatives())
                )?;
            }
        }
        writeln!(page, "\nHardest: misjudged with the most confidence")?;
        for (row, decibans) in &self.hardest {
            writeln!(
                page,
                "  {decibans:>+6.1} dB  {:<13} {:<20} {:<16} {}",
                row.label, row.habit, row.source, row.set
            )?;
        }
        Ok(())
    }

    fn json(&self, examples: &Examples, model: &Model, automated: usize) -> Value {
        let confusion = |confusion: &Confusion| json!({ "crawlers": confusion.positives(), "users": confusion.negatives() });
        let names = ["former", "new", "combined"];
        let answered = |[right, undecided, wrong]: [u64; 3]| json!({ "right": right, "undecided": undecided, "wrong": wrong });
        json!({
            "schema": "cattlegrid/evaluate/1",
            "model": model.made_from,
            "tested_on": examples.origin,
            "not_judged": examples.without_shape,
            "automated": automated,
            "headers": self.headers.map(|tables| names.into_iter().zip(tables.each_ref().map(confusion)).collect::<BTreeMap<_, _>>()),
            "shape": { "all_values": self.held_out[0].json(TABLE_6), "paper_values": self.held_out[1].json(TABLE_6) },
            "parts": self.parts.iter().map(|(name, tables)| json!({ "how": name, "all_values": tables[0].json(table_3(name)), "paper_values": tables[1].json(table_3(name)) })).collect::<Vec<_>>(),
            "as_analyze_answers": { "users": answered(self.said[0]), "crawlers": answered(self.said[1]) },
            "calibration": self.calibration.json(),
            "habits": self.habits.iter().map(|((is_crawler, habit), (right, all))| json!({ "crawler": is_crawler, "habit": habit, "right": right, "sources": all })).collect::<Vec<_>>(),
            "overlap": self.overlaps.iter().cloned().collect::<BTreeMap<_, _>>(),
            "without": self.without.iter().map(|(name, table)| (name, confusion(table))).collect::<BTreeMap<_, _>>(),
            "hardest": self.hardest.iter().map(|(row, decibans)| json!({ "source": row.source, "set": row.set, "label": row.label, "habit": row.habit, "decibans": decibans })).collect::<Vec<_>>(),
        })
    }
}

/// Tables 2 and 5: the header heuristics, where the log has headers. Sources about which all kept silent count as users.
fn headers(examples: &Examples) -> Option<[Confusion; 3]> {
    let mut tables = [Confusion::default(); 3];
    for row in &examples.rows {
        let HeaderVotes {
            former,
            new,
            combined,
        } = row.votes?;
        for (table, vote) in tables.iter_mut().zip([former, new, combined]) {
            table.add(row.is_crawler(), vote.unwrap_or(false));
        }
    }
    Some(tables)
}

/// Table 3: several parts that are tested in turn, and a third.
fn in_parts(examples: &Examples, folds: usize) -> Vec<(String, [Table; 2])> {
    let dataset = examples.everybody();
    let mut jobs: Vec<(String, Vec<usize>, Vec<usize>)> = Vec::new();
    for (folds, turns) in [(folds.max(2), folds.max(2)), (3, 1)] {
        let of = parts(&dataset, folds, 7);
        for turn in 0..turns {
            let (held, known) = (0..dataset.examples.len()).partition(|at| of[*at] == turn);
            let name = if turns > 1 {
                format!("{folds} parts in turn")
            } else {
                SPLIT.to_owned()
            };
            jobs.push((name, known, held));
        }
    }
    let tested: Vec<(String, [Table; 2])> = jobs
        .into_par_iter()
        .map(|(name, known, held)| {
            let known = dataset.choose(&known);
            let all = Committee::learn(&known, 1);
            let paper = Committee::learn(&known.first_attributes(PAPER_ATTRIBUTES), 1);
            // One set, so that a part is not taken for a world.
            let rows: Vec<Labelled> = held
                .iter()
                .map(|at| Labelled {
                    set: name.clone(),
                    ..examples.rows[*at].clone()
                })
                .collect();
            (name, test(&rows.iter().collect::<Vec<_>>(), &all, &paper))
        })
        .collect();
    let mut together: Vec<(String, [Table; 2])> = Vec::new();
    for (name, tables) in tested {
        match together.iter_mut().find(|(known, _)| *known == name) {
            None => together.push((name, tables)),
            Some((_, sum)) => sum
                .iter_mut()
                .zip(tables)
                .for_each(|(sum, table)| sum.absorb(table)),
        }
    }
    together
}

impl Table {
    fn absorb(&mut self, other: Table) {
        for (key, answers) in other.0 {
            let mine = self.0.entry(key).or_default();
            for (mine, theirs) in mine.iter_mut().zip(answers) {
                mine.0 += theirs.0;
                mine.1 += theirs.1;
            }
        }
    }
}

fn leave_one_out(examples: &Examples) -> Vec<(String, Confusion)> {
    let dataset = examples.everybody();
    let of = parts(&dataset, 3, 7);
    let (held, known): (Vec<usize>, Vec<usize>) =
        (0..dataset.examples.len()).partition(|at| of[*at] == 0);
    let names = attributes().into_iter().map(|attribute| attribute.name);
    let mut jobs: Vec<(String, Option<usize>)> = names
        .enumerate()
        .map(|(at, name)| (name, Some(at)))
        .collect();
    jobs.insert(0, ("(none left out)".to_owned(), None));
    jobs.into_par_iter()
        .map(|(name, at)| {
            let less = at.map_or_else(|| dataset.clone(), |at| dataset.without(at));
            let committee = Committee::learn(&less.choose(&known), 1);
            let mut confusion = Confusion::default();
            for example in held.iter().map(|at| &less.examples[*at]) {
                confusion.add(
                    example.is_positive,
                    committee.votes(&example.values).majority(),
                );
            }
            (name, confusion)
        })
        .collect()
}
