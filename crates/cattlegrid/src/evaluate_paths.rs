//! `evaluate --paths`: Table I of the PathMarker paper, the model in use beside it, and kinds that were not learned.

mod tally;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use cattlegrid_core::paths::CALLED_FROM;
use cattlegrid_core::paths::FEATURE_NAMES;
use cattlegrid_core::paths::Judge;
use cattlegrid_core::paths::Parents;
use cattlegrid_core::paths::Rule;
use cattlegrid_core::paths::Verdict;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::folds::overlap;
use cattlegrid_learn::folds::parts;
use cattlegrid_learn::path_model::Abnormal;
use cattlegrid_learn::path_model::PathExample;
use cattlegrid_learn::path_model::PathRules;
use cattlegrid_report::paths::Point;
use cattlegrid_report::paths::write_figures;
use cattlegrid_worlds::forum::Role;
use rayon::prelude::*;

use crate::cli::EvaluateArgs;
use crate::files::write_whole;
use crate::model;
use crate::path_examples::PathSession;
use crate::path_examples::collect;
use crate::path_examples::value_names;
use crate::train_paths::learn;
use tally::Tally;

/// How accounts are dealt into halves.
const SEED: u64 = 1;

const BOTH: [(Parents, &str); 2] = [
    (Parents::Markers, "parents from markers"),
    (
        Parents::Referrers,
        "log only, parents from referrers (weaker)",
    ),
];
const RULES: [(Rule, &str); 2] = [
    (Rule::Paper, "the paper's rule (six features)"),
    (Rule::Default, "the default rule (all values)"),
];

pub(crate) fn run(arguments: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let judge = judge(arguments)?;
    let mut page = String::new();
    for (parents, name) in BOTH {
        let sessions = collect(&arguments.log.logs, parents, &judge.cut())?;
        writeln!(page, "=== {name}")?;
        say_features(&sessions, &mut page)?;
        let halves = Halves::of(&sessions);
        let rules = learn(&halves.learned)?;
        for (rule, name) in RULES {
            writeln!(
                page,
                "\nTable I, learned from half of the accounts, tested on the other half: {name}"
            )?;
            Tally::of(&halves.tested, &verdicts(&halves.tested, &rules, rule)).write(&mut page)?;
        }
        for (rule, name) in RULES {
            let called = verdicts(&sessions, judge.rules(parents), rule);
            writeln!(page, "\nThe model in use on all accounts: {name}")?;
            Tally::of(&sessions, &called).write(&mut page)?;
            if rule == Rule::Default {
                say_hardest(&sessions, &called, arguments.hardest, &mut page)?;
            }
        }
        if arguments.leave_kinds_out {
            leave_kinds_out(&halves, &rules, &mut page)?;
        }
        writeln!(page)?;
        if let (Parents::Markers, Some(path)) = (parents, &arguments.html) {
            let called = verdicts(&sessions, judge.rules(parents), Rule::Default);
            let points = points(&sessions, &called);
            let origin = arguments.log.logs.join(" ");
            write_whole(path, |file| write_figures(&points, &origin, file))?;
        }
    }
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn judge(arguments: &EvaluateArgs) -> anyhow::Result<Judge> {
    let model = model::load(arguments.log.model.as_deref())?;
    model::paths(&model)
}

fn verdicts(sessions: &[PathSession], rules: &PathRules, rule: Rule) -> Vec<Verdict> {
    let of = |session: &PathSession| Verdict::of(rules, rule, &session.measures);
    sessions.par_iter().map(of).collect()
}

/// How well each feature alone tells people from crawlers: a world where one does so measures nothing.
fn say_features(sessions: &[PathSession], page: &mut String) -> std::fmt::Result {
    let crawlers = sessions.iter().filter(|session| session.truth().is_some());
    let crawlers = crawlers.count();
    writeln!(
        page,
        "{} long sessions of people, {crawlers} of crawlers",
        sessions.len() - crawlers
    )?;
    writeln!(
        page,
        "Each feature alone, area under the curve (at most 0.9):"
    )?;
    for (at, name) in FEATURE_NAMES.into_iter().enumerate() {
        let values = sessions
            .iter()
            .map(|session| (session.measures.features.0[at], session.truth().is_some()));
        writeln!(page, "  F{} {name:<26}{:.3}", at + 1, overlap(values))?;
    }
    Ok(())
}

/// Sessions of half of the accounts, and of the others.
struct Halves {
    learned: Vec<PathSession>,
    tested: Vec<PathSession>,
}

impl Halves {
    fn of(sessions: &[PathSession]) -> Halves {
        let example = |session: &PathSession| Example {
            values: Vec::new(),
            is_positive: session.truth().is_some(),
            group: Some(session.group),
        };
        let dataset = Dataset {
            attributes: Vec::new(),
            examples: sessions.iter().map(example).collect(),
        };
        let part_of = parts(&dataset, 2, SEED);
        let half = |half: usize| {
            let all = sessions.iter().zip(&part_of);
            let here = all.filter(|(_, part)| **part == half);
            here.map(|(session, _)| session.clone()).collect()
        };
        Halves {
            learned: half(0),
            tested: half(1),
        }
    }
}

/// The sessions that the default rule misjudges most clearly, people first.
fn say_hardest(
    sessions: &[PathSession],
    verdicts: &[Verdict],
    many: usize,
    page: &mut String,
) -> std::fmt::Result {
    let all = sessions.iter().zip(verdicts);
    let mut wrong: Vec<(&PathSession, &Verdict)> = all
        .filter(|(session, verdict)| session.truth().is_some() != verdict.kind.is_some())
        .collect();
    wrong.sort_by(|a, b| {
        let key = |pair: &(&PathSession, &Verdict)| (pair.0.truth().is_some(), -pair.1.score.abs());
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    if many == 0 || wrong.is_empty() {
        return Ok(());
    }
    writeln!(page, "  Misjudged, with log-odds and F1 to F6:")?;
    for (session, verdict) in wrong.into_iter().take(many) {
        let features = session.measures.features.0;
        let features: Vec<String> = features.iter().map(|value| format!("{value:.2}")).collect();
        writeln!(
            page,
            "    {:<14} {:>2}. {:<26}{:>7.1}   {}",
            session.account,
            session.number,
            session.kind,
            verdict.score,
            features.join(" ")
        )?;
    }
    Ok(())
}

/// Sessions of each kind, judged by what was learned from accounts of all other kinds, beside those by what was learned from all.
fn leave_kinds_out(halves: &Halves, rules: &PathRules, page: &mut String) -> anyhow::Result<()> {
    let kinds: BTreeSet<(bool, &str)> = halves
        .tested
        .iter()
        .map(|session| (session.truth().is_some(), session.kind))
        .collect();
    let lines: Vec<String> = kinds
        .into_par_iter()
        .map(|(is_crawler, kind)| {
            let others = halves.learned.iter().filter(|session| session.kind != kind);
            let others: Vec<PathExample> = others.map(PathSession::example).collect();
            let without = Abnormal::learn(&others, &value_names());
            let of_kind = halves.tested.iter().filter(|session| session.kind == kind);
            let of_kind: Vec<&PathSession> = of_kind.collect();
            let called = |by: &Abnormal| {
                let odds = |session: &&&PathSession| by.log_odds(&session.measures.values);
                of_kind.iter().filter(|session| odds(session) >= CALLED_FROM).count()
            };
            let wrong = |called: usize| match is_crawler {
                true => of_kind.len() - called,
                false => called,
            };
            let (with, without) = (wrong(called(&rules.abnormal)), wrong(called(&without)));
            let many = of_kind.len();
            let share = 100.0 * (many - without) as f64 / many as f64;
            let what = if is_crawler { "missed" } else { "accused" };
            format!("  {kind:<26}{many:>6} sessions, {what}: {with:>3} learned, {without:>3} not learned ({share:.1} % right)\n")
        })
        .collect();
    writeln!(page, "\nLeaving one kind out, default rule:")?;
    page.push_str(&lines.concat());
    Ok(())
}

/// Accounts that share links are not in the paper's figures.
fn points(sessions: &[PathSession], verdicts: &[Verdict]) -> Vec<Point> {
    let all = sessions.iter().zip(verdicts);
    let alone = all.filter(|(session, _)| session.role != Role::Shared);
    alone
        .map(|(session, verdict)| Point {
            features: session.measures.features.0,
            truth: session.truth(),
            called: verdict.kind,
        })
        .collect()
}
