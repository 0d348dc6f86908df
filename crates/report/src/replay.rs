//! A replayed log as text and JSON: the real-time paper's Table I, and what the gate would have done to people and robots.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::policy::Limits;
use cattlegrid_core::policy::Reason;
use cattlegrid_core::rehearsal::CLASSES;
use cattlegrid_core::rehearsal::Steadiness;
use cattlegrid_core::rehearsal::Treated;
use cattlegrid_core::rehearsal::Turn;
use cattlegrid_core::sessions::MINIMUMS;
use serde_json::Value;
use serde_json::json;

use crate::json::rounded;
use crate::words::count;
use crate::words::minute;
use crate::words::share;
use crate::words::write_text_of;

/// The paper's Table I: recall, wrongly accused of all accused, precision, F1.
pub(crate) const PAPER: [[f64; 4]; MINIMUMS.len()] = [
    [0.97, 0.12, 0.86, 0.91],
    [0.90, 0.07, 0.92, 0.91],
    [0.87, 0.04, 0.96, 0.912],
    [0.80, 0.036, 0.96, 0.87],
    [0.45, 0.00, 1.00, 0.62],
];

/// A replayed log.
#[derive(Debug)]
pub struct Replay {
    /// The classifier that was used.
    pub judge: &'static str,
    /// Probability from which on a session is called a robot's.
    pub threshold: f64,
    /// Seconds without a request that end a session.
    pub silence: u32,
    /// Where it is known from who is who.
    pub truth: Truth,
    /// By the minimum of page requests, in the order of [`MINIMUMS`].
    pub table_1: Vec<Counts>,
    /// By threshold, at the first minimum.
    pub curve: Vec<Point>,
    /// By kind of people and robots.
    pub kinds: Vec<Kind>,
    /// How well each value alone separates people from robots: the area under its curve, the best first.
    pub areas: Vec<(f64, &'static str)>,
    /// Sources that the text names at most: unsteady ones.
    pub named: usize,
    /// Errors, the surest first.
    pub hardest: Vec<String>,
    /// What the gate would have done.
    pub containment: Containment,
    /// How steady verdicts were.
    pub steadiness: Steadiness,
}

/// Where it is known from who is who.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// Labels, or a world that brings its own.
    Known,
    /// Names, addresses, and how pages are loaded, by an analysis of the same log.
    Derived,
}

/// Counts of one experiment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Robots.
    pub robots: u32,
    /// Robots that were called so.
    pub caught: u32,
    /// People.
    pub people: u32,
    /// People who were called robots.
    pub accused: u32,
    /// Pages that caught robots got before they were called so.
    pub leaked: u64,
}

impl Counts {
    /// Robots that were called so, of all robots.
    pub fn recall(&self) -> f64 {
        part(self.caught, self.robots)
    }

    /// Robots, of all that were called so.
    pub fn precision(&self) -> f64 {
        part(self.caught, self.caught + self.accused)
    }

    /// People, of all that were called robots.
    pub fn false_positive(&self) -> f64 {
        part(self.accused, self.caught + self.accused)
    }

    /// The harmonic mean of recall and precision.
    pub fn f1(&self) -> f64 {
        let (recall, precision) = (self.recall(), self.precision());
        match recall + precision > 0.0 {
            true => 2.0 * recall * precision / (recall + precision),
            false => 0.0,
        }
    }

    /// Pages of a robot until it was called one, on average.
    pub fn leaked(&self) -> f64 {
        self.leaked as f64 / f64::from(self.caught.max(1))
    }

    fn json(&self) -> Value {
        json!({
            "robots": self.robots,
            "called": self.caught,
            "people": self.people,
            "accused": self.accused,
            "recall": rounded(self.recall()),
            "precision": rounded(self.precision()),
        })
    }
}

fn part(part: u32, of: u32) -> f64 {
    f64::from(part) / f64::from(of.max(1))
}

/// One threshold.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// From which probability on a session is called a robot's.
    pub threshold: f64,
    /// With this threshold.
    pub counts: Counts,
    /// F1 at the very request that reaches the first minimum, of the sources that reach it.
    pub f1_at_once: f64,
}

/// One kind of people or robots.
#[derive(Debug, Clone, Default)]
pub struct Kind {
    /// What they are called.
    pub name: String,
    /// They are robots.
    pub is_robot: bool,
    /// Sources.
    pub sources: u32,
    /// Sources with the first minimum of page requests in one session.
    pub judged: u32,
    /// Sources that were called robots.
    pub called: u32,
    /// Sources that met a challenge.
    pub challenged: u32,
    /// Page requests.
    pub pages: u64,
    /// Pages that they got.
    pub passed: u64,
}

/// What the gate would have done.
#[derive(Debug)]
pub struct Containment {
    /// Its limits.
    pub limits: Limits,
    /// Who is taken to solve challenges.
    pub solvers: &'static str,
    /// Minutes of the log between two judgements.
    pub judge_minutes: u32,
    /// People, robots, and programs that fetch what somebody asked for.
    pub groups: [Group; GROUPS.len()],
    /// Page requests of sources of which nothing is known, and those that passed.
    pub unknown: (u64, u64),
    /// Requests in all.
    pub requests: u64,
    /// Sources that were forgotten because there was no room for their profiles.
    pub forgotten: u64,
    /// Requests that are much older than those before them: files overlap.
    pub late: u64,
}

/// Names of [`Containment::groups`].
pub const GROUPS: [&str; 3] = ["people", "robots", "automated"];

/// Columns of the groups, in the order of [`Group::cells`].
pub(crate) const GROUP_COLUMNS: [&str; 8] = [
    "sources",
    "challenged",
    "for their visit",
    "refused",
    "pages",
    "got",
    "solved",
    "contained",
];

/// What the gate would have done to one group.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Sources that asked for a page.
    pub sources: u64,
    /// Sources that met a challenge.
    pub challenged: u64,
    /// Sources that met their first because of their visit, before they passed a limit.
    pub suspected: u64,
    /// Sources that were refused.
    pub refused: u64,
    /// Page requests.
    pub pages: u64,
    /// Pages that they got.
    pub passed: u64,
    /// Challenges that they solved.
    pub solved: u64,
    /// Pages that each source got before the first that it did not get.
    pub leaked: Vec<u32>,
    /// Pages of the sources that got all of them.
    pub free: u64,
}

impl Group {
    /// Adds a visitor.
    pub fn add(&mut self, treated: &Treated) {
        if treated.pages == 0 {
            return;
        }
        self.sources += 1;
        self.challenged += u64::from(treated.challenged.is_some());
        self.suspected += u64::from(treated.challenged == Some(Reason::Suspicious));
        self.refused += u64::from(treated.is_refused);
        self.pages += u64::from(treated.pages);
        self.passed += u64::from(treated.passed);
        self.solved += u64::from(treated.solved);
        match treated.leaked {
            Some(leaked) => self.leaked.push(leaked),
            None => self.free += u64::from(treated.pages),
        }
    }

    /// Pages after which so many hundredths of the contained sources were contained, at most.
    pub fn leaked_at(&self, hundredths: usize) -> u32 {
        let mut leaked = self.leaked.clone();
        leaked.sort_unstable();
        let at = (leaked.len() * hundredths).div_ceil(100).saturating_sub(1);
        leaked.get(at).copied().unwrap_or(0)
    }

    /// Its numbers as people read them.
    pub(crate) fn cells(&self) -> [String; GROUP_COLUMNS.len()] {
        [
            count(self.sources),
            count(self.challenged),
            count(self.suspected),
            count(self.refused),
            count(self.pages),
            share(self.passed, self.pages),
            count(self.solved),
            count(self.leaked.len() as u64),
        ]
    }

    fn mean_leaked(&self) -> f64 {
        let sum: u64 = self.leaked.iter().map(|pages| u64::from(*pages)).sum();
        sum as f64 / self.leaked.len().max(1) as f64
    }

    fn json(&self) -> Value {
        json!({
            "sources": self.sources,
            "challenged": self.challenged,
            "suspected": self.suspected,
            "refused": self.refused,
            "pages": self.pages,
            "passed": self.passed,
            "solved": self.solved,
            "contained": self.leaked.len(),
            "leaked_median": self.leaked_at(50),
            "leaked_90": self.leaked_at(90),
            "leaked_mean": rounded(self.mean_leaked()),
            "free_pages": self.free,
        })
    }
}

/// Writes it for people.
pub fn write_replay(replay: &Replay, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| text(replay, page))
}

fn text(replay: &Replay, page: &mut String) -> std::fmt::Result {
    // First what the gate would have done: that is what an owner wants to know.
    containment(&replay.containment, page)?;
    table_1(replay, page)?;
    curve(replay, page)?;
    kinds(replay, page)?;
    separation(replay, page)?;
    for error in &replay.hardest {
        writeln!(page, "  {error}")?;
    }
    steadiness(&replay.steadiness, page)?;
    for (source, turns) in replay.steadiness.unsteady.iter().take(replay.named) {
        writeln!(page, "  {source}: {}", course(turns))?;
    }
    Ok(())
}

/// The classes that a source was in one after the other.
fn course(turns: &[Turn]) -> String {
    let turn = |turn: &Turn| {
        let class = CLASSES[usize::from(turn.class)];
        format!("{} {class}", minute(turn.time))
    };
    turns.iter().map(turn).collect::<Vec<_>>().join(", ")
}

/// Table I of the paper, with the counts under it.
fn table_1(replay: &Replay, page: &mut String) -> std::fmt::Result {
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
    for ((minimum, counts), paper) in MINIMUMS.iter().zip(&replay.table_1).zip(PAPER) {
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
    )?;
    if replay.truth == Truth::Derived {
        writeln!(page, "  {DERIVED}")?;
    }
    Ok(())
}

/// What derived labels are worth.
pub(crate) const DERIVED: &str = "Without --labels this is agreement, not accuracy: robots are sources known by name or address, people those that load pages with\n  their parts and follow links, by an analysis of the same log. Sources of fewer than five requests, and the rest, are left out.";

/// Recall and precision by threshold, for the first minimum.
fn curve(replay: &Replay, page: &mut String) -> std::fmt::Result {
    writeln!(page, "By threshold, at a minimum of {}", MINIMUMS[0])?;
    writeln!(
        page,
        "  {:>9}{:>9}{:>11}{:>16}{:>16}{:>26}",
        "threshold",
        "recall",
        "precision",
        "robots called",
        "people accused",
        "F1 at the fifth page"
    )?;
    for point in &replay.curve {
        writeln!(
            page,
            "  {:>9}{:>9.3}{:>11.3}{:>16}{:>16}{:>26.3}",
            point.threshold,
            point.counts.recall(),
            point.counts.precision(),
            point.counts.caught,
            point.counts.accused,
            point.f1_at_once
        )?;
    }
    Ok(())
}

fn kinds(replay: &Replay, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "By kind, at a minimum of {}; challenged by the gate",
        MINIMUMS[0]
    )?;
    writeln!(
        page,
        "  {:<8}{:<28}{:>9}{:>9}{:>9}{:>12}{:>11}{:>9}",
        "", "", "sources", "judged", "called", "challenged", "pages", "got"
    )?;
    for kind in &replay.kinds {
        let class = if kind.is_robot { "robot" } else { "person" };
        writeln!(
            page,
            "  {class:<8}{:<28}{:>9}{:>9}{:>9}{:>12}{:>11}{:>9}",
            kind.name,
            kind.sources,
            kind.judged,
            kind.called,
            kind.challenged,
            count(kind.pages),
            share(kind.passed, kind.pages)
        )?;
    }
    Ok(())
}

fn separation(replay: &Replay, page: &mut String) -> std::fmt::Result {
    let best = replay.areas.iter().take(3);
    let best: Vec<String> = best
        .map(|(area, name)| format!("{name} {area:.2}"))
        .collect();
    writeln!(
        page,
        "Single values that separate best at the minimum of {}, by the area under their curve: {}",
        MINIMUMS[0],
        best.join(", ")
    )
}

/// What is taken for granted, in words.
pub(crate) fn assumptions(containment: &Containment) -> String {
    let limits = &containment.limits;
    format!(
        "k1 = {}, k2 = {}, visits are suspicious from {}. Assumed: {}; everybody continues as in the log, regardless of the gate's response. Sources are judged every {} minutes of the log, and when one passes k2.",
        count(u64::from(limits.k1)),
        count(u64::from(limits.k2)),
        limits.suspect_from,
        containment.solvers,
        containment.judge_minutes
    )
}

fn containment(containment: &Containment, page: &mut String) -> std::fmt::Result {
    writeln!(page, "The gate: {}", assumptions(containment))?;
    group_line("", &GROUP_COLUMNS, "pages got before", page)?;
    for (name, group) in GROUPS.iter().zip(&containment.groups) {
        let leaked = match group.leaked.is_empty() {
            true => String::new(),
            false => format!(
                "{} (90 %: {})",
                count(u64::from(group.leaked_at(50))),
                count(u64::from(group.leaked_at(90)))
            ),
        };
        group_line(name, &group.cells(), &leaked, page)?;
    }
    let robots = &containment.groups[1];
    writeln!(
        page,
        "  Contained: sources that did not get all their pages; pages got before that: median (90th percentile). Robots got {:.1} pages each on average\n  before they were contained; {} robots were never contained, and got {} pages.",
        robots.mean_leaked(),
        count(robots.sources - robots.leaked.len() as u64),
        count(robots.free)
    )?;
    let (pages, passed) = containment.unknown;
    if pages > 0 {
        writeln!(
            page,
            "  Of {} page requests of unlabelled sources, {} passed.",
            count(pages),
            share(passed, pages)
        )?;
    }
    if containment.late > 0 {
        writeln!(
            page,
            "  {} requests are more than an hour older than requests before them: the files overlap in time. Merge them in order of time first.",
            count(containment.late)
        )?;
    }
    if containment.forgotten > 0 {
        writeln!(
            page,
            "  {} sources with few requests were forgotten (--profiles-max).",
            count(containment.forgotten)
        )?;
    }
    Ok(())
}

/// A row of the table of groups.
fn group_line(
    name: &str,
    cells: &[impl std::fmt::Display; GROUP_COLUMNS.len()],
    leaked: &str,
    page: &mut String,
) -> std::fmt::Result {
    const WIDTHS: [usize; GROUP_COLUMNS.len()] = [9, 12, 18, 9, 12, 9, 10, 11];
    write!(page, "  {name:<12}")?;
    for (cell, width) in cells.iter().zip(WIDTHS) {
        write!(page, "{cell:>width$}")?;
    }
    writeln!(page, "{leaked:>22}")
}

fn steadiness(steadiness: &Steadiness, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "Verdicts over {} judgements: sources by the changes of class on their worst day",
        count(steadiness.judgements)
    )?;
    let rows = [
        ("all changes", steadiness.worst_days),
        ("without a new request", steadiness.worst_idle_days),
    ];
    for (name, [none, one, two, more]) in rows.map(|(name, days)| (name, days.map(count))) {
        writeln!(
            page,
            "  {name:<22} none {none}, one {one}, two {two}, three or more {more}"
        )?;
    }
    write!(page, "  {:<20}", "changes, from and to")?;
    for class in CLASSES {
        write!(page, "{class:>11}")?;
    }
    writeln!(page)?;
    for (class, row) in CLASSES.iter().zip(&steadiness.turns) {
        write!(page, "  {class:<20}")?;
        for turns in row {
            write!(page, "{:>11}", count(*turns))?;
        }
        writeln!(page)?;
    }
    Ok(())
}

/// Writes it for programs (docs/schema/replay.json).
pub fn write_replay_json(replay: &Replay, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:#}", document(replay))
}

fn document(replay: &Replay) -> Value {
    let row = |(minimum, counts): (&u16, &Counts)| {
        let mut row = counts.json();
        row["minimum"] = json!(minimum);
        row["false_positive"] = json!(rounded(counts.false_positive()));
        row["f1"] = json!(rounded(counts.f1()));
        row["pages_leaked"] = json!(rounded(counts.leaked()));
        row
    };
    let point = |point: &Point| {
        let mut row = point.counts.json();
        row["threshold"] = json!(point.threshold);
        row["f1_at_once"] = json!(rounded(point.f1_at_once));
        row
    };
    let kind = |kind: &Kind| {
        json!({
            "robot": kind.is_robot, "kind": kind.name, "sources": kind.sources, "judged": kind.judged, "called": kind.called,
            "challenged": kind.challenged, "pages": kind.pages, "passed": kind.passed,
        })
    };
    let area = |(area, value): &(f64, &str)| json!({ "value": value, "area": rounded(*area) });
    json!({
        "schema": "cattlegrid/replay/1",
        "judge": replay.judge,
        "threshold": replay.threshold,
        "silence": replay.silence,
        "truth": match replay.truth {
            Truth::Known => "known",
            Truth::Derived => "derived",
        },
        "table_1": MINIMUMS.iter().zip(&replay.table_1).map(row).collect::<Vec<_>>(),
        "curve": replay.curve.iter().map(point).collect::<Vec<_>>(),
        "areas": replay.areas.iter().map(area).collect::<Vec<_>>(),
        "kinds": replay.kinds.iter().map(kind).collect::<Vec<_>>(),
        "gate": gate_json(&replay.containment),
        "steadiness": {
            "judgements": replay.steadiness.judgements,
            "worst_days": replay.steadiness.worst_days,
            "worst_idle_days": replay.steadiness.worst_idle_days,
            "classes": CLASSES,
            "turns": replay.steadiness.turns,
        },
    })
}

fn gate_json(containment: &Containment) -> Value {
    let groups = GROUPS.iter().zip(&containment.groups);
    let groups: serde_json::Map<String, Value> = groups
        .map(|(name, group)| ((*name).to_owned(), group.json()))
        .collect();
    json!({
        "k1": containment.limits.k1,
        "k2": containment.limits.k2,
        "suspect_from": containment.limits.suspect_from,
        "solvers": containment.solvers,
        "judge_minutes": containment.judge_minutes,
        "requests": containment.requests,
        "unknown_pages": containment.unknown.0,
        "unknown_passed": containment.unknown.1,
        "forgotten": containment.forgotten,
        "late": containment.late,
        "groups": groups,
    })
}
