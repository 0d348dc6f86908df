//! `evaluate --sessions`: sessions of labelled sources, judged by what was learned from other sources of the same log.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use anyhow::ensure;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::folds::parts;
use cattlegrid_learn::model::Ensemble;
use rayon::prelude::*;

use crate::cli::EvaluateArgs;
use crate::session_examples::Moment;
use crate::session_examples::collect;
use crate::train_sessions::SILENCE;
use crate::train_sessions::dataset;

/// Times that the examples are cut into parts, each time otherwise: one cut of a small log proves little.
const REPETITIONS: u64 = 25;
/// From which probability on somebody is called a robot: two trees of three. To accuse a person is worse than to miss a robot.
const CALLED_FROM: f64 = 2.0 / 3.0;
/// Parts, unless told otherwise.
const PARTS: usize = 5;

/// What one repetition got right and wrong.
#[derive(Debug, Clone, Copy)]
struct Result {
    right: usize,
    accused: usize,
    missed: usize,
}

pub(crate) fn run(arguments: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let moments = collect(&arguments.log, arguments.truth.truth(), SILENCE)?;
    let is_known = |moment: &&Moment| moment.is_end && moment.is_robot.is_some();
    let whole: Vec<&Moment> = moments.iter().filter(is_known).collect();
    let robots = whole.iter().filter(|moment| moment.is_robot == Some(true));
    let kinds: BTreeSet<&str> = robots.map(|moment| moment.kind.as_str()).collect();
    let parts = arguments.folds.unwrap_or(PARTS);
    ensure!(
        parts >= 2,
        "--folds {parts}: it takes two parts, one to train on and one to test on"
    );
    let mut page = String::new();
    writeln!(
        page,
        "Whole sessions of five pages or more, learned from {} of {parts} parts and judged in the other, cut {REPETITIONS} times",
        parts - 1
    )?;
    writeln!(
        page,
        "  {:<24}{:>8}{:>8}{:>30}{:>22}{:>22}",
        "robots", "people", "robots", "accuracy: median (95 %)", "people accused", "robots missed"
    )?;
    evaluate("all", &whole, parts, &mut page)?;
    for kind in kinds.iter().filter(|_| kinds.len() > 1) {
        let is_of = |moment: &&&Moment| moment.is_robot == Some(false) || moment.kind == *kind;
        let of_kind: Vec<&Moment> = whole.iter().filter(is_of).copied().collect();
        evaluate(kind, &of_kind, parts, &mut page)?;
    }
    writeln!(
        page,
        "  Accused and missed: median of the cuts, fewest to most. The interval is Wilson's, of the median cut."
    )?;
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn evaluate(
    name: &str,
    moments: &[&Moment],
    parts: usize,
    page: &mut String,
) -> anyhow::Result<()> {
    let robots = moments
        .iter()
        .filter(|moment| moment.is_robot == Some(true))
        .count();
    let people = moments.len() - robots;
    if robots.min(people) < 2 * parts {
        bail!(
            "{robots} sessions of robots ({name}) and {people} of people have five pages or more: too few for {parts} parts"
        );
    }
    let mut results: Vec<Result> = (0..REPETITIONS)
        .into_par_iter()
        .map(|seed| cut(moments, parts, seed))
        .collect();
    results.sort_by_key(|result| result.right);
    let middle = results[results.len() / 2];
    let all = moments.len();
    let (low, high) = wilson(middle.right, all);
    let spread = |count: fn(&Result) -> usize| {
        let mut counts: Vec<usize> = results.iter().map(count).collect();
        counts.sort_unstable();
        let last = counts.len() - 1;
        format!("{} ({} to {})", counts[last / 2], counts[0], counts[last])
    };
    let share = middle.right as f64 / all as f64;
    writeln!(
        page,
        "  {name:<24}{people:>8}{robots:>8}{:>30}{:>22}{:>22}",
        format!("{share:.3} ({low:.3} to {high:.3})"),
        spread(|result| result.accused),
        spread(|result| result.missed),
    )?;
    Ok(())
}

/// Learns and judges once for each part.
fn cut(moments: &[&Moment], many: usize, seed: u64) -> Result {
    let dataset = dataset(moments.iter().copied());
    let part_of = parts(&dataset, many, seed);
    let mut result = Result {
        right: 0,
        accused: 0,
        missed: 0,
    };
    for part in 0..many {
        let places = |is_tested: bool| -> Vec<usize> {
            let all = 0..moments.len();
            all.filter(|at| (part_of[*at] == part) == is_tested)
                .collect()
        };
        let learned = Ensemble::learn(&dataset.choose(&places(false)), seed);
        for at in places(true) {
            let example = &dataset.examples[at];
            let is_called = learned.probability(&example.values) > CALLED_FROM;
            result.right += usize::from(is_called == example.is_positive);
            result.accused += usize::from(is_called && !example.is_positive);
            result.missed += usize::from(!is_called && example.is_positive);
        }
    }
    result
}

/// Where the true share lies in 19 of 20 cases (Wilson 1927).
pub(crate) fn wilson(right: usize, all: usize) -> (f64, f64) {
    const Z: f64 = 1.96;
    let (many, share) = (all as f64, right as f64 / all as f64);
    let centre = share + Z * Z / (2.0 * many);
    let half = Z * (share * (1.0 - share) / many + Z * Z / (4.0 * many * many)).sqrt();
    let scale = 1.0 + Z * Z / many;
    ((centre - half) / scale, (centre + half) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        let (low, high) = wilson(81, 88);
        assert!(
            (low - 0.845).abs() < 0.001 && (high - 0.961).abs() < 0.001,
            "{low} {high}"
        );
    }
}
