//! A replayed log as one page: the real-time paper's Figure 6, recall and precision by threshold, and what the gate would have done.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::rehearsal::CLASSES;
use cattlegrid_core::sessions::MINIMUMS;

use crate::chart::Line;
use crate::chart::chart;
use crate::html::STYLE;
use crate::html::escape;
use crate::replay::Counts;
use crate::replay::DERIVED;
use crate::replay::GROUP_COLUMNS;
use crate::replay::GROUPS;
use crate::replay::Group;
use crate::replay::PAPER;
use crate::replay::Replay;
use crate::replay::Truth;
use crate::replay::assumptions;
use crate::words::count;
use crate::words::share;
use crate::words::write_text_of;

/// The three metrics of Figure 6: name, color, place in [`PAPER`].
const METRICS: [(&str, &str, usize); 3] = [
    ("recall", "legitimate", 0),
    ("false positive", "masquerading", 1),
    ("precision", "people", 2),
];

/// Pages up to which leaks are drawn, at most.
const LEAKS: [u32; 12] = [0, 1, 2, 5, 10, 15, 20, 50, 100, 200, 500, 1000];

/// Writes the page.
pub fn write_replay_html(replay: &Replay, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| document(replay, page))
}

fn document(replay: &Replay, page: &mut String) -> std::fmt::Result {
    let containment = &replay.containment;
    let [people, robots, _] = &containment.groups;
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>A log, replayed</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>A log, replayed</h1><p class=\"soft\">{} requests, in the order of time; each decision rests on what came before it</p>\n\
         <p class=\"lead\">The gate would have challenged <strong>{} of {} people</strong> and contained <strong>{} of {} robots</strong>{}.</p></header>\n<main>",
        count(containment.requests),
        count(people.challenged),
        count(people.sources),
        count(robots.leaked.len() as u64),
        count(robots.sources),
        match robots.leaked.is_empty() {
            true => String::new(),
            false => format!(
                ", half of them after {} pages or fewer",
                robots.leaked_at(50)
            ),
        }
    )?;
    groups(replay, page)?;
    leaks(robots, page)?;
    table_1(replay, page)?;
    figure_6(&replay.table_1, page)?;
    curve(replay, page)?;
    kinds(replay, page)?;
    steadiness(replay, page)?;
    writeln!(
        page,
        "</main>\n<footer>Made by cattlegrid.</footer>\n</body>\n</html>"
    )
}

fn groups(replay: &Replay, page: &mut String) -> std::fmt::Result {
    let containment = &replay.containment;
    writeln!(
        page,
        "<h2>What the gate would have done</h2><p class=\"soft\">{}</p>",
        escape(&assumptions(containment))
    )?;
    let mut columns = vec![""];
    columns.extend(GROUP_COLUMNS);
    columns.extend(["after pages", "90 %"]);
    head(&columns, page)?;
    for (name, group) in GROUPS.iter().zip(&containment.groups) {
        let leaked = [50, 90].map(|share| count(u64::from(group.leaked_at(share))));
        row(name, &[&group.cells()[..], &leaked].concat(), page)?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// Robots by the pages that they got before they were contained.
fn leaks(robots: &Group, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>Pages that robots got before they were contained</h2><figure>"
    )?;
    let all = robots.sources.max(1) as f64;
    let share_up_to = |most: u32| {
        let many = robots.leaked.iter().filter(|leaked| **leaked <= most);
        many.count() as f64 / all
    };
    let points: Vec<f64> = LEAKS.iter().map(|most| share_up_to(*most)).collect();
    let names: Vec<String> = LEAKS.iter().map(|most| count(u64::from(*most))).collect();
    let line = Line {
        name: "robots contained after so many pages or fewer, of all robots",
        color: "masquerading",
        is_dashed: false,
        points,
    };
    chart("pages", 1.0, &names, &[line], page)?;
    writeln!(page, "</figure>")
}

fn table_1(replay: &Replay, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>Table I: sources by the minimum of page requests in the session; in brackets the paper's</h2>"
    )?;
    head(
        &[
            "minimum",
            "recall",
            "false positive",
            "precision",
            "F1",
            "robots called",
            "people accused",
            "pages leaked",
        ],
        page,
    )?;
    for ((minimum, counts), paper) in MINIMUMS.iter().zip(&replay.table_1).zip(PAPER) {
        let both =
            |ours: f64, paper: f64| format!("{ours:.3} <span class=\"soft\">({paper:.2})</span>");
        row(
            &minimum.to_string(),
            &[
                both(counts.recall(), paper[0]),
                both(counts.false_positive(), paper[1]),
                both(counts.precision(), paper[2]),
                both(counts.f1(), paper[3]),
                format!("{} of {}", counts.caught, counts.robots),
                format!("{} of {}", counts.accused, counts.people),
                format!("{:.1}", counts.leaked()),
            ],
            page,
        )?;
    }
    writeln!(
        page,
        "</tbody></table></div><p class=\"soft\">Classifier {}, threshold {}. The paper's false positives and precision do not add up to one; ours do. Sources that never had the minimum of page requests in one session count as not called.{}</p>",
        replay.judge,
        replay.threshold,
        match replay.truth {
            Truth::Known => String::new(),
            Truth::Derived => format!(" {}", escape(DERIVED)),
        }
    )
}

/// The paper's Figure 6: the three metrics of each experiment, the paper's beside ours.
fn figure_6(table: &[Counts], page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>Figure 6: the three metrics by the minimum of page requests; the paper's dashed</h2><figure>"
    )?;
    let ours = |at: usize, counts: &Counts| match at {
        0 => counts.recall(),
        1 => counts.false_positive(),
        _ => counts.precision(),
    };
    let mut lines = Vec::new();
    for (name, color, at) in METRICS {
        lines.push(Line {
            name,
            color,
            is_dashed: false,
            points: table.iter().map(|counts| ours(at, counts)).collect(),
        });
        lines.push(Line {
            name: "",
            color,
            is_dashed: true,
            points: PAPER.iter().map(|row| row[at]).collect(),
        });
    }
    let names: Vec<String> = MINIMUMS.iter().map(u16::to_string).collect();
    chart("minimum of page requests", 1.0, &names, &lines, page)?;
    writeln!(page, "</figure>")
}

fn curve(replay: &Replay, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>Recall and precision by threshold, at a minimum of {}</h2><figure>",
        MINIMUMS[0]
    )?;
    let points = |value: fn(&Counts) -> f64| -> Vec<f64> {
        let points = replay.curve.iter();
        points.map(|point| value(&point.counts)).collect()
    };
    let lines = [
        Line {
            name: "recall",
            color: "legitimate",
            is_dashed: false,
            points: points(Counts::recall),
        },
        Line {
            name: "precision",
            color: "people",
            is_dashed: false,
            points: points(Counts::precision),
        },
    ];
    let names: Vec<String> = replay
        .curve
        .iter()
        .map(|point| point.threshold.to_string())
        .collect();
    chart("threshold", 1.0, &names, &lines, page)?;
    writeln!(page, "</figure>")?;
    head(
        &[
            "threshold",
            "recall",
            "precision",
            "robots called",
            "people accused",
            "F1 at the fifth page",
        ],
        page,
    )?;
    for point in &replay.curve {
        row(
            &point.threshold.to_string(),
            &[
                format!("{:.3}", point.counts.recall()),
                format!("{:.3}", point.counts.precision()),
                count(u64::from(point.counts.caught)),
                count(u64::from(point.counts.accused)),
                format!("{:.3}", point.f1_at_once),
            ],
            page,
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

fn kinds(replay: &Replay, page: &mut String) -> std::fmt::Result {
    writeln!(page, "<h2>By kind of people and robots</h2>")?;
    head(
        &[
            "",
            "sources",
            "judged",
            "called robots",
            "challenged",
            "pages",
            "got",
        ],
        page,
    )?;
    for kind in &replay.kinds {
        let class = if kind.is_robot { "robot" } else { "person" };
        let name = format!("{class} {}", kind.name);
        row(
            &name,
            &[
                count(u64::from(kind.sources)),
                count(u64::from(kind.judged)),
                count(u64::from(kind.called)),
                count(u64::from(kind.challenged)),
                count(kind.pages),
                share(kind.passed, kind.pages),
            ],
            page,
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

fn steadiness(replay: &Replay, page: &mut String) -> std::fmt::Result {
    let steadiness = &replay.steadiness;
    writeln!(
        page,
        "<h2>How steady verdicts were</h2><p class=\"soft\">{} judgements. Sources by the changes of class on their worst day:</p>",
        count(steadiness.judgements)
    )?;
    head(&["", "none", "one", "two", "three or more"], page)?;
    row("all changes", &steadiness.worst_days.map(count), page)?;
    let idle = steadiness.worst_idle_days.map(count);
    row("without a new request", &idle, page)?;
    writeln!(
        page,
        "</tbody></table></div><p class=\"soft\">How often sources of the class at the left were in another one at the next judgement:</p>"
    )?;
    let mut columns = vec![""];
    columns.extend(CLASSES);
    head(&columns, page)?;
    for (class, turns) in CLASSES.iter().zip(&steadiness.turns) {
        row(class, &turns.map(count), page)?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// The head of a table whose columns but the first are numbers.
fn head(columns: &[&str], page: &mut String) -> std::fmt::Result {
    write!(page, "<div class=\"frame\"><table><thead><tr>")?;
    for (at, column) in columns.iter().enumerate() {
        let class = if at == 0 { "" } else { " class=\"n\"" };
        write!(page, "<th{class}>{column}</th>")?;
    }
    writeln!(page, "</tr></thead><tbody>")
}

fn row(name: &str, values: &[String], page: &mut String) -> std::fmt::Result {
    write!(page, "<tr><td>{}</td>", escape(name))?;
    for value in values {
        write!(page, "<td class=\"n\">{value}</td>")?;
    }
    writeln!(page, "</tr>")
}
