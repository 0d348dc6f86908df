//! `replay`: an old log in the order of time, every session judged by what came before (the emulator of the real-time paper).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::ensure;
use cattlegrid_core::profile::VALUE_NAMES;
use cattlegrid_core::profile::VALUES;
use cattlegrid_core::sessions::Emulator;
use cattlegrid_core::sessions::Fate;
use cattlegrid_core::sessions::MINIMUMS;
use cattlegrid_core::sessions::Sessions;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::model::SessionModel;
use rayon::prelude::*;
use serde_json::json;

use crate::cli::Judge;
use crate::cli::ReplayArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::labelled::Truth;
use crate::model;
use crate::session_examples::CAPACITY;
use crate::session_examples::Known;
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

/// Thresholds of the curve.
const THRESHOLDS: [f64; 8] = [0.3, 0.5, 0.7, 0.9, 0.95, 0.97, 0.98, 0.99];

/// One source after the replay.
struct Row {
    known: Known,
    fate: Fate,
}

pub(crate) fn run(arguments: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let model = model::load(arguments.log.model.as_deref())?;
    let judge = model::sessions(&model)?;
    ensure!(
        (0.0..=1.0).contains(&arguments.threshold),
        "--threshold {} is not a probability between 0 and 1",
        arguments.threshold
    );
    let sets = sets(&arguments.log)?;
    let rows: anyhow::Result<Vec<Vec<Row>>> = sets
        .par_iter()
        .map(|set| replay(set, judge, arguments))
        .collect();
    let rows: Vec<Row> = rows?.into_iter().flatten().collect();
    let document = || json(&rows, arguments);
    match &arguments.json {
        Some(path) if is_stdout(path) => {
            writeln!(io::stdout().lock(), "{:#}", document())?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(path) => write_whole(path, |file| writeln!(file, "{:#}", document()))?,
        None => {}
    }
    let mut page = String::new();
    table_1(&rows, &mut page)?;
    curve(&rows, &mut page)?;
    kinds(&rows, &mut page)?;
    separation(&rows, &mut page)?;
    hardest(&rows, arguments.hardest, &mut page)?;
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn replay(set: &Set<'_>, model: &SessionModel, arguments: &ReplayArgs) -> anyhow::Result<Vec<Row>> {
    let judge = move |values: &[f64; VALUES]| match arguments.judge {
        Judge::Paper => model.paper.probability(values),
        Judge::Cuts => model.cuts.probability(values),
        Judge::Tree => model.all.probability(values),
        Judge::Best => model.best.probability(values),
    };
    let labels = arguments.labels.as_deref();
    let labels = labels.map_or(Truth::Worlds, Truth::File);
    let sessions = Sessions::new(CAPACITY, arguments.silence);
    let mut emulator = Emulator::new(sessions, judge, arguments.threshold);
    let truth = set.replay(labels, |record| emulator.observe(record))?;
    let fates = emulator.finish();
    let row = |(source, known): (_, &Known)| {
        let fate = fates.get(source).cloned();
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
    /// Of those whom `called` gives the page of, or none.
    fn of<'a>(
        rows: impl IntoIterator<Item = &'a Row>,
        called: impl Fn(&Fate) -> Option<u32>,
    ) -> Counts {
        let mut counts = Counts::default();
        for Row { known, fate } in rows {
            let page = called(fate);
            if known.is_robot() {
                counts.robots += 1;
                counts.caught += u32::from(page.is_some());
                counts.leaked += u64::from(page.unwrap_or(0));
            } else {
                counts.people += 1;
                counts.accused += u32::from(page.is_some());
            }
        }
        counts
    }

    /// At one of the minimums.
    fn at(rows: &[Row], at: usize) -> Counts {
        Counts::of(rows, |fate| {
            Some(fate.called_at[at]).filter(|page| *page > 0)
        })
    }

    /// At the very page request that reaches the first minimum, of those who reach it.
    fn first(rows: &[Row], threshold: f64) -> Counts {
        let reached: Vec<&Row> = rows.iter().filter(|row| row.fate.first.is_some()).collect();
        let is_called = |fate: &Fate| {
            let stated = fate.first.as_ref().map(|first| first.1);
            stated.is_some_and(|stated| f64::from(stated) >= threshold)
        };
        Counts::of(reached, |fate| is_called(fate).then_some(fate.pages))
    }

    /// At the first minimum, with another threshold.
    fn from(rows: &[Row], threshold: f64) -> Counts {
        let is_called = |fate: &Fate| f64::from(fate.highest[0]) >= threshold;
        Counts::of(rows, |fate| is_called(fate).then_some(fate.pages))
    }

    fn recall(&self) -> f64 {
        share(self.caught, self.robots)
    }

    fn precision(&self) -> f64 {
        share(self.caught, self.caught + self.accused)
    }

    fn false_positive(&self) -> f64 {
        share(self.accused, self.caught + self.accused)
    }

    fn f1(&self) -> f64 {
        let (recall, precision) = (self.recall(), self.precision());
        match recall + precision > 0.0 {
            true => 2.0 * recall * precision / (recall + precision),
            false => 0.0,
        }
    }

    /// Pages of a robot until it was called one, on average.
    fn leaked(&self) -> f64 {
        self.leaked as f64 / f64::from(self.caught.max(1))
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "robots": self.robots,
            "called": self.caught,
            "people": self.people,
            "accused": self.accused,
            "recall": self.recall(),
            "precision": self.precision(),
        })
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
        let counts = Counts::at(rows, at);
        let paper = PAPER[at];
        let both = |ours: f64, paper: f64| format!("{ours:.3} ({paper:.2})");
        writeln!(
            page,
            "  {minimum:>7}{:>15}{:>17}{:>15}{:>16}{:>22}{:>20}{:>14.1}",
            both(counts.recall(), paper[0]),
            both(counts.false_positive(), paper[1]),
            both(counts.precision(), paper[2]),
            both(counts.f1(), paper[3]),
            format!("{} of {}", counts.caught, counts.robots),
            format!("{} of {}", counts.accused, counts.people),
            counts.leaked(),
        )?;
    }
    writeln!(
        page,
        "  Sources that never had the minimum of page requests in one session count as not called. The paper's false positives and\n  precision do not add up to one; ours do. Pages leaked: page requests of a robot until it was called one, on average."
    )
}

/// Recall and precision by threshold, for the first minimum.
fn curve(rows: &[Row], page: &mut String) -> std::fmt::Result {
    writeln!(page, "By threshold, at a minimum of {}", MINIMUMS[0])?;
    writeln!(
        page,
        "  {:>9}{:>9}{:>11}{:>16}{:>16}{:>26}",
        "threshold",
        "recall",
        "precision",
        "robots called",
        "people accused",
        "F1 at that very request"
    )?;
    for threshold in THRESHOLDS {
        let counts = Counts::from(rows, threshold);
        writeln!(
            page,
            "  {threshold:>9}{:>9.3}{:>11.3}{:>16}{:>16}{:>26.3}",
            counts.recall(),
            counts.precision(),
            counts.caught,
            counts.accused,
            Counts::first(rows, threshold).f1()
        )?;
    }
    Ok(())
}

/// Sources, judged and called, of each kind of people and robots, for the first minimum.
fn by_kind(rows: &[Row]) -> BTreeMap<(bool, &str), [u32; 3]> {
    let mut kinds: BTreeMap<(bool, &str), [u32; 3]> = BTreeMap::new();
    for Row { known, fate } in rows {
        let counts = kinds
            .entry((known.is_robot(), known.kind.as_str()))
            .or_default();
        counts[0] += 1;
        counts[1] += u32::from(fate.highest[0] > 0.0);
        counts[2] += u32::from(fate.called_at[0] > 0);
    }
    kinds
}

fn kinds(rows: &[Row], page: &mut String) -> std::fmt::Result {
    writeln!(page, "By kind, at a minimum of {}", MINIMUMS[0])?;
    writeln!(
        page,
        "  {:<8}{:<28}{:>9}{:>9}{:>9}",
        "", "", "sources", "judged", "called"
    )?;
    for ((is_robot, kind), [all, judged, called]) in by_kind(rows) {
        let class = if is_robot { "robot" } else { "person" };
        writeln!(page, "  {class:<8}{kind:<28}{all:>9}{judged:>9}{called:>9}")?;
    }
    Ok(())
}

/// How well each value alone separates robots from people at the first minimum, the best first: the area under its curve.
fn areas(rows: &[Row]) -> Vec<(f64, &'static str)> {
    let at = |place: usize| {
        let values = rows.iter().filter_map(|Row { known, fate }| {
            let (values, _) = fate.first.as_deref()?;
            Some((values[place], known.is_robot()))
        });
        area(values.collect())
    };
    let mut areas: Vec<(f64, &str)> = (0..VALUES)
        .map(|place| (at(place), VALUE_NAMES[place]))
        .collect();
    areas.sort_by(|a, b| b.0.total_cmp(&a.0));
    areas
}

/// The chance that a robot has the larger value than a person, or the smaller, whichever is more likely; of equals, half.
fn area(mut values: Vec<(f32, bool)>) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut people, mut won) = (0.0, 0.0);
    for equals in values.chunk_by(|a, b| a.0 == b.0) {
        let robots = equals.iter().filter(|(_, is_robot)| *is_robot).count() as f64;
        let others = equals.len() as f64 - robots;
        won += robots * (people + others / 2.0);
        people += others;
    }
    let pairs = people * (values.len() as f64 - people);
    let area = if pairs > 0.0 { won / pairs } else { 0.5 };
    area.max(1.0 - area)
}

fn separation(rows: &[Row], page: &mut String) -> std::fmt::Result {
    let best: Vec<String> = areas(rows)
        .iter()
        .take(3)
        .map(|(area, name)| format!("{name} {area:.2}"))
        .collect();
    writeln!(
        page,
        "Single values that separate best at the minimum of {}, by the area under their curve: {}",
        MINIMUMS[0],
        best.join(", ")
    )
}

/// The whole result as a document (docs/schema/replay.json).
fn json(rows: &[Row], arguments: &ReplayArgs) -> serde_json::Value {
    let row = |(at, minimum): (usize, &u16)| {
        let counts = Counts::at(rows, at);
        let mut row = counts.json();
        row["minimum"] = json!(minimum);
        row["false_positive"] = json!(counts.false_positive());
        row["f1"] = json!(counts.f1());
        row["pages_leaked"] = json!(counts.leaked());
        row
    };
    let point = |threshold: f64| {
        let mut point = Counts::from(rows, threshold).json();
        point["threshold"] = json!(threshold);
        point["f1_at_once"] = json!(Counts::first(rows, threshold).f1());
        point
    };
    let kind = |((is_robot, kind), [sources, judged, called]): ((bool, &str), [u32; 3])| json!({ "robot": is_robot, "kind": kind, "sources": sources, "judged": judged, "called": called });
    json!({
        "schema": "cattlegrid/replay/1",
        "judge": format!("{:?}", arguments.judge).to_lowercase(),
        "threshold": arguments.threshold,
        "silence": arguments.silence,
        "table_1": MINIMUMS.iter().enumerate().map(row).collect::<Vec<_>>(),
        "curve": THRESHOLDS.map(point),
        "areas": areas(rows).into_iter().map(|(area, value)| json!({ "value": value, "area": area })).collect::<Vec<_>>(),
        "kinds": by_kind(rows).into_iter().map(kind).collect::<Vec<_>>(),
    })
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
