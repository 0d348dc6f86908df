//! `replay`: an old log in the order of time, every session judged by what came before (the emulator of the real-time paper).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use cattlegrid_core::sessions::Emulator;
use cattlegrid_core::sessions::Fate;
use cattlegrid_core::sessions::MINIMUMS;
use cattlegrid_core::sessions::Sessions;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::model::SessionModel;
use rayon::prelude::*;

use crate::cli::Judge;
use crate::cli::ReplayArgs;
use crate::model;
use crate::session_examples::CAPACITY;
use crate::session_examples::Known;
use crate::session_examples::Labels;
use crate::session_examples::Set;
use crate::session_examples::sets;

/// The paper's Table I: recall, wrongly accused of all accused, precision, F1.
const PAPER: [[f64; 4]; MINIMUMS.len()] = [
    [0.97, 0.12, 0.86, 0.91],
    [0.90, 0.07, 0.92, 0.91],
    [0.87, 0.04, 0.96, 0.912],
    [0.80, 0.036, 0.96, 0.87],
    [0.45, 0.00, 1.00, 0.62],
];

/// One source after the replay.
struct Row {
    known: Known,
    fate: Fate,
}

pub(crate) fn run(arguments: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let model = model::load(arguments.log.model.as_deref())?;
    let judge = model::sessions(&model)?;
    let sets = sets(&arguments.log)?;
    let rows: anyhow::Result<Vec<Vec<Row>>> = sets
        .par_iter()
        .map(|set| replay(set, judge, arguments))
        .collect();
    let rows: Vec<Row> = rows?.into_iter().flatten().collect();
    let mut page = String::new();
    table_1(&rows, &mut page)?;
    kinds(&rows, &mut page)?;
    hardest(&rows, arguments.hardest, &mut page)?;
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn replay(set: &Set<'_>, model: &SessionModel, arguments: &ReplayArgs) -> anyhow::Result<Vec<Row>> {
    let judge = move |values: &[f64; cattlegrid_core::profile::VALUES]| match arguments.judge {
        Judge::Paper => model.paper.probability(values),
        Judge::Cuts => model.cuts.probability(values),
        Judge::Tree => model.all.probability(values),
        Judge::Best => model.best.probability(values),
    };
    let labels = arguments.labels.as_deref();
    let labels = labels.map_or(Labels::Worlds, Labels::File);
    let sessions = Sessions::new(CAPACITY, arguments.silence);
    let mut emulator = Emulator::new(sessions, judge, arguments.threshold);
    let truth = set
        .replay(labels, |record| emulator.observe(record))
        .with_context(|| set.name())?;
    let fates = emulator.finish();
    let row = |(source, known): (_, &Known)| {
        let fate = fates.get(source).copied();
        fate.map(|fate| Row {
            known: known.clone(),
            fate,
        })
    };
    let judged = truth.sources.iter().filter(|(_, known)| known.is_judged());
    Ok(judged.filter_map(row).collect())
}

/// Counts of one experiment.
#[derive(Default)]
struct Counts {
    robots: u32,
    caught: u32,
    people: u32,
    accused: u32,
    /// Pages that caught robots got before they were called so.
    leaked: u64,
}

impl Counts {
    fn of(rows: &[Row], at: usize) -> Counts {
        let mut counts = Counts::default();
        for Row { known, fate } in rows {
            let is_called = fate.called_at[at] > 0;
            if known.is_robot() {
                counts.robots += 1;
                counts.caught += u32::from(is_called);
                counts.leaked += u64::from(fate.called_at[at]);
            } else {
                counts.people += 1;
                counts.accused += u32::from(is_called);
            }
        }
        counts
    }
}

fn share(part: u32, of: u32) -> f64 {
    f64::from(part) / f64::from(of.max(1))
}

/// Table I of the paper, with the counts under it.
fn table_1(rows: &[Row], page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "Table I: sources by the minimum of page requests in the session; in brackets the paper's"
    )?;
    writeln!(
        page,
        "  {:>7}{:>15}{:>17}{:>15}{:>16}{:>22}{:>20}{:>14}",
        "minimum",
        "recall",
        "false positive",
        "precision",
        "F1",
        "robots called",
        "people accused",
        "pages leaked"
    )?;
    for (at, minimum) in MINIMUMS.iter().enumerate() {
        let counts = Counts::of(rows, at);
        let accused = counts.caught + counts.accused;
        let recall = share(counts.caught, counts.robots);
        let precision = share(counts.caught, accused);
        let f1 = match recall + precision > 0.0 {
            true => 2.0 * recall * precision / (recall + precision),
            false => 0.0,
        };
        let paper = PAPER[at];
        let both = |ours: f64, paper: f64| format!("{ours:.3} ({paper:.2})");
        writeln!(
            page,
            "  {minimum:>7}{:>15}{:>17}{:>15}{:>16}{:>22}{:>20}{:>14.1}",
            both(recall, paper[0]),
            both(share(counts.accused, accused), paper[1]),
            both(precision, paper[2]),
            both(f1, paper[3]),
            format!("{} of {}", counts.caught, counts.robots),
            format!("{} of {}", counts.accused, counts.people),
            counts.leaked as f64 / f64::from(counts.caught.max(1)),
        )?;
    }
    writeln!(
        page,
        "  Sources that never had the minimum of page requests in one session count as not called. The paper's false positives and\n  precision do not add up to one; ours do. Pages leaked: page requests of a robot until it was called one, on average."
    )
}

/// By kind of people and robots, for the first minimum.
fn kinds(rows: &[Row], page: &mut String) -> std::fmt::Result {
    let mut kinds: BTreeMap<(bool, &str), [u32; 3]> = BTreeMap::new();
    for Row { known, fate } in rows {
        let counts = kinds
            .entry((known.is_robot(), known.kind.as_str()))
            .or_default();
        counts[0] += 1;
        counts[1] += u32::from(fate.highest[0] > 0.0);
        counts[2] += u32::from(fate.called_at[0] > 0);
    }
    writeln!(page, "By kind, at a minimum of {}", MINIMUMS[0])?;
    writeln!(
        page,
        "  {:<8}{:<28}{:>9}{:>9}{:>9}",
        "", "", "sources", "judged", "called"
    )?;
    for ((is_robot, kind), [all, judged, called]) in kinds {
        let class = if is_robot { "robot" } else { "person" };
        writeln!(page, "  {class:<8}{kind:<28}{all:>9}{judged:>9}{called:>9}")?;
    }
    Ok(())
}

/// People who were called robots, and robots who never were, the surest errors first.
fn hardest(rows: &[Row], many: usize, page: &mut String) -> std::fmt::Result {
    let is_wrong = |row: &&Row| {
        row.fate.highest[0] > 0.0 && row.known.is_robot() != (row.fate.called_at[0] > 0)
    };
    let mut wrong: Vec<&Row> = rows.iter().filter(is_wrong).collect();
    let sureness = |row: &Row| (row.fate.highest[0] - 0.5).abs();
    wrong.sort_by(|a, b| sureness(b).total_cmp(&sureness(a)));
    for Row { known, fate } in wrong.into_iter().take(many) {
        writeln!(
            page,
            "  {} is {} ({}): {:.3} after {} pages",
            known.name, known.label, known.kind, fate.highest[0], fate.pages
        )?;
    }
    Ok(())
}
