//! `evaluate --leave-kinds-out`: how people and crawlers of a kind are judged by who has never met that kind.
//!
//! Bounded by what is learned, not by what is tested: the trees alone, which weigh most in the committee, from at most
//! [`EXAMPLES_MAX`] examples. A whole committee for each of thirty kinds would take an hour.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use cattlegrid_core::verdict::Weights;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::folds::balanced;
use cattlegrid_learn::novelty::Novelty;
use cattlegrid_learn::series::could_be_crowd;
use cattlegrid_learn::trees::Trees;
use rayon::prelude::*;
use serde_json::json;

use crate::cli::EvaluateArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::labelled::Examples;
use crate::labelled::Labelled;
use crate::labelled::collect;

/// Examples to learn from for each kind that is left out.
const EXAMPLES_MAX: usize = 4000;
const SEED: u64 = 1;
/// As the detector caps what a crowd could send, and what is unlike anything learned.
const CROWD_MAX: f64 = 6.0;
const UNLIKE_MAX: f64 = 3.0;

/// Right, undecided, wrong.
type Counts = [u64; 3];

/// A kind: whether it crawls, and its name.
type Kind<'a> = (bool, &'a str);

pub(crate) fn run(arguments: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let mut examples = collect(
        &arguments.log,
        arguments.truth.truth(),
        arguments.truth.day_requests,
    )?;
    examples
        .rows
        .retain(|row| row.label != "automated" && !row.habit.is_empty());
    anyhow::ensure!(
        !examples.rows.is_empty(),
        "no source has a kind: give worlds, or labels with the column 'habit'"
    );
    let rows = tested(&examples);
    if let Some(path) = &arguments.json {
        let document = document(&examples, &rows);
        if is_stdout(path) {
            writeln!(io::stdout().lock(), "{document}")?;
            return Ok(ExitCode::SUCCESS);
        }
        write_whole(path, |file| writeln!(file, "{document}"))?;
    }
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = text(&examples, &rows, &mut page);
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Each kind, the worst first.
fn tested(examples: &Examples) -> Vec<(Kind<'_>, Counts)> {
    let mut kinds: BTreeMap<Kind<'_>, Vec<&Labelled>> = BTreeMap::new();
    for row in &examples.rows {
        let kind = (row.is_crawler(), row.habit.as_str());
        kinds.entry(kind).or_default().push(row);
    }
    // Rows and examples stand in the same order.
    let everybody = examples.everybody();
    let mut rows: Vec<(Kind<'_>, Counts)> = kinds
        .into_par_iter()
        .map(|(kind, held)| {
            let others = (0..examples.rows.len()).filter(|at| {
                let row = &examples.rows[*at];
                (row.is_crawler(), row.habit.as_str()) != kind
            });
            let others = everybody.choose(&others.collect::<Vec<_>>());
            (kind, test(&others, &held))
        })
        .collect();
    let share = |[right, undecided, wrong]: Counts| {
        wrong as f64 / (right + undecided + wrong).max(1) as f64
    };
    rows.sort_by(|a, b| share(b.1).total_cmp(&share(a.1)).then(a.0.cmp(&b.0)));
    rows
}

fn test(others: &Dataset, held: &[&Labelled]) -> Counts {
    let known = balanced(others, EXAMPLES_MAX, 1, SEED);
    let (trees, novelty) = (Trees::learn(&known), Novelty::learn(&known, SEED));
    let limits = Weights::default();
    let mut counts = Counts::default();
    for row in held {
        let likely = trees.probability(&row.values).clamp(1e-9, 1.0 - 1e-9);
        let mut decibans = 10.0 * (likely / (1.0 - likely)).log10();
        if could_be_crowd(&row.values) {
            decibans = decibans.min(CROWD_MAX);
        }
        if novelty.is_unlike(&row.values) {
            decibans = decibans.clamp(-UNLIKE_MAX, UNLIKE_MAX);
        }
        counts[place(decibans, row.is_crawler(), &limits)] += 1;
    }
    counts
}

/// Where a verdict by shape alone is counted: right, undecided, wrong.
pub(crate) fn place(decibans: f64, is_crawler: bool, limits: &Weights) -> usize {
    let accused = decibans >= limits.crawler_from;
    match accused || decibans <= limits.user_to {
        false => 1,
        true if accused == is_crawler => 0,
        true => 2,
    }
}

fn text(examples: &Examples, rows: &[(Kind<'_>, Counts)], page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "Each kind judged by trees that learned from {} without it ({EXAMPLES_MAX} examples at most, both classes alike)\n  {:<8} {:<28}{:>8}{:>8}{:>11}{:>8}{:>10}",
        examples.origin.join("; "),
        "",
        "kind",
        "sources",
        "right",
        "undecided",
        "wrong",
        "wrong %"
    )?;
    let mut sums = [Counts::default(); 2];
    for ((is_crawler, habit), counts) in rows {
        line(who(*is_crawler), habit, *counts, page)?;
        let sum = &mut sums[usize::from(*is_crawler)];
        sum.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    line("people", "all", sums[0], page)?;
    line("crawler", "all", sums[1], page)
}

fn line(who: &str, habit: &str, counts: Counts, page: &mut String) -> std::fmt::Result {
    let [right, undecided, wrong] = counts;
    let sources = right + undecided + wrong;
    writeln!(
        page,
        "  {who:<8} {habit:<28}{sources:>8}{right:>8}{undecided:>11}{wrong:>8}{:>10.2}",
        100.0 * wrong as f64 / sources.max(1) as f64
    )
}

fn who(is_crawler: bool) -> &'static str {
    if is_crawler { "crawler" } else { "people" }
}

fn document(examples: &Examples, rows: &[(Kind<'_>, Counts)]) -> serde_json::Value {
    let kinds = rows.iter().map(|((is_crawler, habit), [right, undecided, wrong])| {
        json!({ "crawler": is_crawler, "kind": habit, "sources": right + undecided + wrong, "right": right, "undecided": undecided, "wrong": wrong })
    });
    json!({
        "schema": "cattlegrid/evaluate-kinds/1",
        "worlds": examples.origin,
        "examples_max": EXAMPLES_MAX,
        "kinds": kinds.collect::<Vec<_>>(),
    })
}
