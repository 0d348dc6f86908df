//! `replay`: an old log in the order of time, every session judged by what came before it (the emulator of the real-time paper), and every
//! request decided about as the gate would have.

mod live;
mod send;

use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Instant;

use anyhow::ensure;
use cattlegrid_core::Report;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::profile::Record;
use cattlegrid_core::profile::VALUE_NAMES;
use cattlegrid_core::profile::VALUES;
use cattlegrid_core::rehearsal::Steadiness;
use cattlegrid_core::rehearsal::Treated;
use cattlegrid_core::sessions::Emulator;
use cattlegrid_core::sessions::Fate;
use cattlegrid_core::sessions::MINIMUMS;
use cattlegrid_core::sessions::Sessions;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::model::SessionModel;
use cattlegrid_report::replay;
use cattlegrid_report::replay::Containment;
use cattlegrid_report::replay::Counts;
use cattlegrid_report::replay::GROUPS;
use cattlegrid_report::replay::Group;
use cattlegrid_report::replay::Kind;
use cattlegrid_report::replay::Point;
use cattlegrid_report::replay::Replay;
use cattlegrid_report::write_json;
use cattlegrid_report::write_replay;
use cattlegrid_report::write_replay_html;
use cattlegrid_report::write_replay_json;
use rayon::prelude::*;

use crate::cli::Judge;
use crate::cli::ReplayArgs;
use crate::cli::Solvers;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::labelled::Truth;
use crate::model;
use crate::session_examples::CAPACITY;
use crate::session_examples::Known;
use crate::session_examples::Set;
use crate::session_examples::sets;
use live::Live;
use live::Told;

/// Thresholds of the curve.
const THRESHOLDS: [f64; 8] = [0.3, 0.5, 0.7, 0.9, 0.95, 0.97, 0.98, 0.99];

/// Rounds of requests that may wait for the emulation: some megabytes each.
const ROUNDS_WAITING: usize = 1;

/// One source after the replay.
struct Row {
    known: Known,
    fate: Fate,
    treated: Treated,
}

/// One log or world after the replay.
struct Replayed {
    rows: Vec<Row>,
    steadiness: Steadiness,
    told: Told,
    /// The report of the whole log, where somebody wants it.
    report: Option<Report>,
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
    let is_log = |set: &Set<'_>| matches!(set, Set::Log(_));
    let labels = match &arguments.labels {
        Some(path) => Truth::File(path),
        None if sets.iter().any(is_log) => Truth::Derived,
        None => Truth::Worlds,
    };
    ensure!(
        !matches!(labels, Truth::Derived) || !arguments.log.logs.iter().any(|log| log == "-"),
        "without --labels, replay reads the log twice: once to tell people from robots by name and by how they load pages. Give it files instead of standard input, or --labels FILE (columns source and label)"
    );
    if let Some(place) = &arguments.to {
        ensure!(
            sets.len() == 1,
            "--to sends one log or world, and there are {}",
            sets.len()
        );
        send::run(&sets[0], &sets[0].truth(labels)?, arguments, place)?;
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(
        arguments.report.is_none() || sets.len() == 1,
        "--report is about one log or world, and there are {}",
        sets.len()
    );
    let replayed: anyhow::Result<Vec<Replayed>> = sets
        .par_iter()
        .map(|set| replay_set(set, labels, judge, arguments))
        .collect();
    let replayed = replayed?;
    let is_alone = replayed.len() == 1;
    if let (Some(path), Some(report)) = (&arguments.report, &replayed[0].report) {
        write_whole(path, |file| write_json(report, file))?;
    }
    let limits = sets[0].settings()?.limits;
    let (result, told) = result(replayed, labels, limits, arguments);
    // Several worlds run at once, and share the cores.
    if is_alone && !arguments.log.quiet {
        say_speed(&result, &told);
    }
    write(&result, arguments)?;
    Ok(ExitCode::SUCCESS)
}

fn write(result: &Replay, arguments: &ReplayArgs) -> anyhow::Result<()> {
    if let Some(path) = &arguments.html {
        write_whole(path, |file| write_replay_html(result, file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => {
            write_replay_json(result, &mut io::stdout().lock())?;
            return Ok(());
        }
        Some(path) => write_whole(path, |file| write_replay_json(result, file))?,
        None => {}
    }
    if !arguments.log.quiet {
        write_replay(result, &mut io::stdout().lock())?;
    }
    Ok(())
}

/// How fast it was: with the logs' reading, without judgements.
fn say_speed(result: &Replay, told: &Told) {
    let judging = told.judging.as_secs_f64();
    let seconds = (told.took.as_secs_f64() - judging).max(0.001);
    let requests = result.containment.requests;
    let _ = writeln!(
        io::stderr(),
        "cattlegrid: {requests} requests in {seconds:.1} s ({:.2} million a second), and {judging:.1} s for {} judgements",
        requests as f64 / 1e6 / seconds,
        result.steadiness.judgements
    );
}

fn replay_set(
    set: &Set<'_>,
    labels: Truth<'_>,
    model: &SessionModel,
    arguments: &ReplayArgs,
) -> anyhow::Result<Replayed> {
    let judge = move |values: &[f64; VALUES]| match arguments.judge {
        Judge::Paper => model.paper.probability(values),
        Judge::Cuts => model.cuts.probability(values),
        Judge::Tree => model.all.probability(values),
        Judge::Best => model.best.probability(values),
    };
    let truth = set.truth(labels)?;
    let judged = || truth.sources.iter().filter(|(_, known)| known.is_judged());
    let sessions = Sessions::new(CAPACITY, arguments.silence);
    let sources = judged().map(|(source, _)| *source);
    let emulator = Emulator::new(sessions, judge, arguments.threshold, sources);
    let mut live = Live::new(set.settings()?.limits, &truth, arguments);
    let began = Instant::now();
    let (analysis, emulator) = beside(emulator, |emulation| {
        set.read(|analysis, blocks| {
            analysis.watch();
            // It takes as long as it is there: a panic there is told where it is joined.
            let _ = emulation.send(live.observe(analysis, blocks));
        })
    });
    let analysis = analysis?;
    live.told.took = began.elapsed();
    let (mut treated, steadiness, told) = live.finish();
    let mut fates = emulator.finish();
    let row = |(source, known): (_, &Known)| Row {
        known: known.clone(),
        fate: fates.remove(source).unwrap_or_default(),
        treated: treated.remove(source).unwrap_or_default(),
    };
    Ok(Replayed {
        rows: truth.sources.iter().map(row).collect(),
        steadiness,
        told,
        report: arguments.report.is_some().then(|| analysis.finish()),
    })
}

/// Emulates what `work` sends on another thread: it needs nothing of the gate's decisions, and judging sessions takes as long as they do.
fn beside<'a, T>(
    mut emulator: Emulator<'a>,
    work: impl FnOnce(SyncSender<Vec<Record>>) -> T,
) -> (T, Emulator<'a>) {
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel::<Vec<Record>>(ROUNDS_WAITING);
        let emulation = scope.spawn(move || {
            for round in receive {
                round.iter().for_each(|record| emulator.observe(record));
            }
            emulator
        });
        let done = work(send);
        let emulator = emulation.join();
        let emulator = emulator.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (done, emulator)
    })
}

/// All sets together.
fn result(
    replayed: Vec<Replayed>,
    labels: Truth<'_>,
    limits: Limits,
    arguments: &ReplayArgs,
) -> (Replay, Told) {
    let mut steadiness = Steadiness::default();
    let mut told = Told::default();
    let mut rows = Vec::new();
    for set in replayed {
        steadiness.add(&set.steadiness);
        told.add(&set.told);
        rows.extend(set.rows);
    }
    let mut groups: [Group; GROUPS.len()] = Default::default();
    for Row { known, treated, .. } in &rows {
        groups[known.role() as usize].add(treated);
    }
    // Who never asked for a page is none of the paper's.
    rows.retain(|row| row.known.is_judged() && row.fate.pages > 0);
    let replay = Replay {
        judge: arguments.judge.name(),
        threshold: arguments.threshold,
        silence: arguments.silence,
        truth: match labels {
            Truth::Derived => replay::Truth::Derived,
            Truth::File(_) | Truth::Worlds => replay::Truth::Known,
        },
        table_1: (0..MINIMUMS.len()).map(|at| counts_at(&rows, at)).collect(),
        curve: THRESHOLDS.map(|threshold| point(&rows, threshold)).into(),
        kinds: by_kind(&rows),
        areas: areas(&rows),
        named: arguments.hardest,
        hardest: hardest(&rows, arguments.hardest),
        containment: Containment {
            limits,
            solvers: match arguments.solvers {
                Solvers::People => "people solve every challenge, robots none",
                Solvers::Everyone => "people and robots solve every challenge",
                Solvers::Nobody => "nobody solves a challenge",
            },
            judge_minutes: arguments.judge_every,
            groups,
            unknown: told.unknown,
            requests: told.requests,
            forgotten: told.forgotten,
            late: told.late,
        },
        steadiness,
    };
    (replay, told)
}

/// Counts of those whom `called` gives the page of at which they were called robots, or none.
fn count<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    called: impl Fn(&Fate) -> Option<u32>,
) -> Counts {
    let mut counts = Counts::default();
    for Row { known, fate, .. } in rows {
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
fn counts_at(rows: &[Row], at: usize) -> Counts {
    count(rows, |fate| {
        Some(fate.called_at[at]).filter(|page| *page > 0)
    })
}

/// At the first minimum, with another threshold.
fn point(rows: &[Row], threshold: f64) -> Point {
    let called = |fate: &Fate, stated: f32| {
        let is_called = f64::from(stated) >= threshold;
        is_called.then_some(fate.pages)
    };
    // At the very page request that reaches the first minimum, of those who reach it.
    let reached = rows.iter().filter(|row| row.fate.first.is_some());
    let at_once = count(reached, |fate| {
        let (_, stated) = fate.first.as_deref()?;
        called(fate, *stated)
    });
    Point {
        threshold,
        counts: count(rows, |fate| called(fate, fate.highest[0])),
        f1_at_once: at_once.f1(),
    }
}

fn by_kind(rows: &[Row]) -> Vec<Kind> {
    let mut kinds: BTreeMap<(bool, &str), Kind> = BTreeMap::new();
    for Row {
        known,
        fate,
        treated,
    } in rows
    {
        let kind = kinds
            .entry((known.is_robot(), known.kind.as_str()))
            .or_insert_with(|| Kind {
                name: known.kind.clone(),
                is_robot: known.is_robot(),
                ..Kind::default()
            });
        kind.sources += 1;
        kind.judged += u32::from(fate.highest[0] > 0.0);
        kind.called += u32::from(fate.called_at[0] > 0);
        kind.challenged += u32::from(treated.challenged.is_some());
        kind.pages += u64::from(treated.pages);
        kind.passed += u64::from(treated.passed);
    }
    kinds.into_values().collect()
}

/// How well each value alone separates robots from people at the first minimum, the best first: the area under its curve.
fn areas(rows: &[Row]) -> Vec<(f64, &'static str)> {
    let at = |place: usize| {
        let values = rows.iter().filter_map(|Row { known, fate, .. }| {
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

/// People who were called robots, and robots who never were, the surest errors first.
fn hardest(rows: &[Row], many: usize) -> Vec<String> {
    let is_wrong = |row: &&Row| {
        row.fate.highest[0] > 0.0 && row.known.is_robot() != (row.fate.called_at[0] > 0)
    };
    let mut wrong: Vec<&Row> = rows.iter().filter(is_wrong).collect();
    let sureness = |row: &Row| (row.fate.highest[0] - 0.5).abs();
    wrong.sort_by(|a, b| sureness(b).total_cmp(&sureness(a)));
    let line = |row: &Row| {
        let Known { name, label, kind } = &row.known;
        let (highest, pages) = (row.fate.highest[0], row.fate.pages);
        format!("{name} is {label} ({kind}): {highest:.3} after {pages} pages")
    };
    wrong.into_iter().take(many).map(line).collect()
}
