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
use serde_json::Value;
use serde_json::json;

use crate::cli::EvaluateArgs;
use crate::files::is_stdout;
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
    let (mut page, mut results) = (String::new(), Vec::new());
    for (parents, name) in BOTH {
        let sessions = collect(&arguments.log.logs, parents, &judge.cut())?;
        writeln!(page, "=== {name}")?;
        results.push(evaluate(&sessions, parents, &judge, arguments, &mut page)?);
        writeln!(page)?;
        if let (Parents::Markers, Some(path)) = (parents, &arguments.html) {
            let called = verdicts(&sessions, judge.rules(parents), Rule::Default);
            let points = points(&sessions, &called);
            let origin = arguments.log.logs.join(" ");
            write_whole(path, |file| write_figures(&points, &origin, file))?;
        }
    }
    if let Some(path) = &arguments.json {
        let schema = "cattlegrid/evaluate-paths/1";
        let document =
            json!({ "schema": schema, "worlds": arguments.log.logs, "results": results });
        if is_stdout(path) {
            writeln!(io::stdout().lock(), "{document}")?;
            return Ok(ExitCode::SUCCESS);
        }
        write_whole(path, |file| writeln!(file, "{document}"))?;
    }
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Sessions whose parents are known in one way, by all rules. Writes the text and gives the same as JSON.
fn evaluate(
    sessions: &[PathSession],
    parents: Parents,
    judge: &Judge,
    arguments: &EvaluateArgs,
    page: &mut String,
) -> anyhow::Result<Value> {
    let areas = say_features(sessions, page)?;
    let halves = Halves::of(sessions);
    let rules = learn(&halves.learned)?;
    let mut tables = Vec::new();
    for (rule, name) in RULES {
        writeln!(
            page,
            "\nTable I, learned from half of the accounts, tested on the other half: {name}"
        )?;
        let tally = Tally::of(&halves.tested, &verdicts(&halves.tested, &rules, rule));
        tally.write(page)?;
        tables.push(tally.json("half", word(rule)));
    }
    for (rule, name) in RULES {
        let called = verdicts(sessions, judge.rules(parents), rule);
        writeln!(page, "\nThe model in use on all accounts: {name}")?;
        let tally = Tally::of(sessions, &called);
        tally.write(page)?;
        tables.push(tally.json("model", word(rule)));
        if rule == Rule::Default {
            say_hardest(sessions, &called, arguments.hardest, page)?;
        }
    }
    let mut left_out = Vec::new();
    if arguments.leave_kinds_out {
        left_out = leave_kinds_out(&halves, &rules);
        writeln!(page, "\nLeaving one kind out, default rule:")?;
        left_out.iter().try_for_each(|kind| kind.write(page))?;
    }
    let parents = match parents {
        Parents::Markers => "markers",
        Parents::Referrers => "referrers",
    };
    let left_out: Vec<Value> = left_out.iter().map(LeftOut::json).collect();
    Ok(json!({ "parents": parents, "areas": areas, "tables": tables, "left_out": left_out }))
}

/// The name of a rule in JSON.
fn word(rule: Rule) -> &'static str {
    match rule {
        Rule::Paper => "paper",
        Rule::Default => "default",
    }
}

fn judge(arguments: &EvaluateArgs) -> anyhow::Result<Judge> {
    let model = model::load(arguments.log.model.as_deref())?;
    model::paths(&model)
}

fn verdicts(sessions: &[PathSession], rules: &PathRules, rule: Rule) -> Vec<Verdict> {
    let of = |session: &PathSession| Verdict::of(rules, rule, &session.measures);
    sessions.par_iter().map(of).collect()
}

/// How well each feature alone tells people from crawlers: a world where one does so measures nothing. Gives the same as JSON.
fn say_features(
    sessions: &[PathSession],
    page: &mut String,
) -> Result<Vec<Value>, std::fmt::Error> {
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
    let mut areas = Vec::new();
    for (at, name) in FEATURE_NAMES.into_iter().enumerate() {
        let values = sessions
            .iter()
            .map(|session| (session.measures.features.0[at], session.truth().is_some()));
        let area = overlap(values);
        writeln!(page, "  F{} {name:<26}{area:.3}", at + 1)?;
        areas.push(json!({ "feature": name, "area": area }));
    }
    Ok(areas)
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

/// Sessions of one kind, misjudged by what was learned from accounts of all kinds, and of all others.
struct LeftOut {
    kind: &'static str,
    is_crawler: bool,
    sessions: usize,
    wrong_learned: usize,
    wrong_not_learned: usize,
}

impl LeftOut {
    fn write(&self, page: &mut String) -> std::fmt::Result {
        let right = self.sessions - self.wrong_not_learned;
        let share = 100.0 * right as f64 / self.sessions as f64;
        let what = if self.is_crawler { "missed" } else { "accused" };
        writeln!(
            page,
            "  {:<26}{:>6} sessions, {what}: {:>3} learned, {:>3} not learned ({share:.1} % right)",
            self.kind, self.sessions, self.wrong_learned, self.wrong_not_learned
        )
    }

    fn json(&self) -> Value {
        json!({
            "kind": self.kind,
            "crawler": self.is_crawler,
            "sessions": self.sessions,
            "wrong_learned": self.wrong_learned,
            "wrong_not_learned": self.wrong_not_learned,
        })
    }
}

fn leave_kinds_out(halves: &Halves, rules: &PathRules) -> Vec<LeftOut> {
    let kinds: BTreeSet<(bool, &'static str)> = halves
        .tested
        .iter()
        .map(|session| (session.truth().is_some(), session.kind))
        .collect();
    let left_out = |(is_crawler, kind): (bool, &'static str)| {
        let others = halves.learned.iter().filter(|session| session.kind != kind);
        let others: Vec<PathExample> = others.map(PathSession::example).collect();
        let without = Abnormal::learn(&others, &value_names());
        let of_kind = halves.tested.iter().filter(|session| session.kind == kind);
        let of_kind: Vec<&PathSession> = of_kind.collect();
        let wrong = |by: &Abnormal| {
            let is_called =
                |session: &&&PathSession| by.log_odds(&session.measures.values) >= CALLED_FROM;
            let called = of_kind.iter().filter(is_called).count();
            if is_crawler {
                of_kind.len() - called
            } else {
                called
            }
        };
        LeftOut {
            kind,
            is_crawler,
            sessions: of_kind.len(),
            wrong_learned: wrong(&rules.abnormal),
            wrong_not_learned: wrong(&without),
        }
    };
    kinds.into_par_iter().map(left_out).collect()
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
