//! The usage of a site as text.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::text::printable;
use cattlegrid_core::verdict::Class;

use super::Period;
use super::Step;
use super::Usage;
use super::baseline::Comparison;
use super::baseline::difference;
use super::counter::Counter;
use super::counter::METRICS;
use super::heaviest::Heaviest;
use super::heaviest::Heavy;
use crate::words::count;
use crate::words::minute;
use crate::words::share;
use crate::words::write_text_of;

/// Days that are listed in the text; all are in the JSON and on the page.
const DAYS_MAX: usize = 40;
/// Rows of the thresholds that move something.
const THRESHOLDS_MAX: usize = 24;

/// Writes everything.
pub fn write_usage(usage: &Usage, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |text| document(usage, text))
}

fn document(usage: &Usage, text: &mut String) -> std::fmt::Result {
    let Some((first, last)) = usage.span else {
        return match usage.lines {
            (0, _) => writeln!(text, "The log has no requests."),
            (lines, _) => writeln!(
                text,
                "The log has no requests between --since and --until (of {} lines).",
                count(lines)
            ),
        };
    };
    writeln!(
        text,
        "Usage from {} to {} UTC. A page view is a page that the site sent, a visitor is a source that viewed one, and {} minutes of silence end a visit.\n",
        minute(first),
        minute(last),
        usage.silence / 60
    )?;
    if let (lines, unreadable @ 1..) = usage.lines {
        writeln!(
            text,
            "{} of {} lines could not be read and are not counted: numbers of their days are too low.\n",
            count(unreadable),
            count(lines)
        )?;
    }
    steps(usage, text)?;
    calls(usage, text)?;
    periods("By month", &usage.months, text)?;
    if usage.days.len() <= DAYS_MAX {
        periods("By day", &usage.days, text)?;
    }
    estimate(&usage.all, text)?;
    removed(usage, text)?;
    thresholds(usage, text)?;
    heaviest(&usage.heaviest, text)?;
    if let Some(comparison) = &usage.comparison {
        compared(comparison, usage, text)?;
    }
    if usage.all.truth.is_some() {
        truth(usage, text)?;
    }
    if let Some(counter) = &usage.counter {
        items(counter, text)?;
    }
    Ok(())
}

/// The item metrics of COUNTER.
fn items(counter: &Counter, text: &mut String) -> std::fmt::Result {
    if counter.months.is_empty() {
        writeln!(text, "\nCOUNTER 5.1.1 item metrics\n{NO_ITEMS}")?;
        return writeln!(text, "{}", left_out(counter));
    }
    write!(text, "\nCOUNTER 5.1.1 item metrics\n{:<9}", "")?;
    for name in METRICS {
        write!(text, " {name:>27}")?;
    }
    for month in &counter.months {
        write!(text, "\n{:<9}", month.month)?;
        for number in month.metrics() {
            write!(text, " {:>27}", count(number))?;
        }
    }
    writeln!(text, "\n{}", left_out(counter))
}

/// What stands in the place of an empty table.
pub(super) const NO_ITEMS: &str =
    "No request by people matches a pattern in [counter] of the settings file.";

/// What COUNTER's list left out, in a sentence.
pub(super) fn left_out(counter: &Counter) -> String {
    if counter.without_agent > 0 {
        return format!(
            "The log has no user agent for {} uses of items. COUNTER's list of robots cannot be applied to them, so the numbers do not conform to the Code.",
            count(counter.without_agent)
        );
    }
    format!(
        "Uses of items that only COUNTER's list of robots left out, because both steps kept the source: {}.",
        count(counter.by_robots)
    )
}

const STEPS: [&str; 3] = ["all traffic", "after step one", "after step two"];

fn steps(usage: &Usage, text: &mut String) -> std::fmt::Result {
    writeln!(
        text,
        "{:<16} {:>14} {:>12} {:>12}",
        "", "page views", "visitors", "visits"
    )?;
    for (name, step) in STEPS.iter().zip(usage.all.steps) {
        writeln!(
            text,
            "{name:<16} {:>14} {:>12} {:>12}",
            count(step.views),
            count(step.visitors),
            count(step.visits)
        )?;
    }
    writeln!(
        text,
        "\nStep one blacklists {} sources: known, or robots by their own word. Step two removes by what sources did.",
        count(usage.blacklisted)
    )
}

/// Paths of calls that are listed.
pub(super) const CALLS_MAX: usize = 10;

/// What looks like a page in the log, and is not counted as one.
fn calls(usage: &Usage, text: &mut String) -> std::fmt::Result {
    if usage.calls.is_empty() {
        return Ok(());
    }
    let all: u64 = usage.calls.iter().map(|(_, requests)| requests).sum();
    writeln!(
        text,
        "\nNot counted as page views: {} requests for {} path{} as a referrer. Pages and their scripts load them; nobody views them.",
        count(all),
        count(usage.calls.len() as u64),
        match usage.calls.len() {
            1 => " that never appears",
            _ => "s that never appear",
        }
    )?;
    for (path, requests) in usage.calls.iter().take(CALLS_MAX) {
        writeln!(text, "{:>12}  {path}", count(*requests))?;
    }
    Ok(())
}

fn periods(title: &str, periods: &[Period], text: &mut String) -> std::fmt::Result {
    writeln!(
        text,
        "\n{title:<10} {:>36} {:>32} {:>32}\n{:<10} {:>14} {:>10} {:>10} {:>12} {:>9} {:>9} {:>12} {:>9} {:>9}",
        STEPS[0],
        STEPS[1],
        STEPS[2],
        "",
        "page views",
        "visitors",
        "visits",
        "page views",
        "visitors",
        "visits",
        "page views",
        "visitors",
        "visits"
    )?;
    for period in periods {
        let [all, one, two] = period.steps;
        writeln!(
            text,
            "{:<10} {:>14} {:>10} {:>10} {:>12} {:>9} {:>9} {:>12} {:>9} {:>9}",
            period.name,
            count(all.views),
            count(all.visitors),
            count(all.visits),
            count(one.views),
            count(one.visitors),
            count(one.visits),
            count(two.views),
            count(two.visitors),
            count(two.visits)
        )?;
    }
    Ok(())
}

fn estimate(all: &Period, text: &mut String) -> std::fmt::Result {
    let (views, visitors) = (all.views, all.visitors);
    writeln!(
        text,
        "\nPeople, estimated: {} page views ({} to {}), {} visitors ({} to {}).\n\
         Undecided sources count with their probability to be people; the range has all of them as robots, or as people, and the others\n\
         wrong as often as their evidence says (docs/report.md).",
        count(views.value.round() as u64),
        count(views.low.round() as u64),
        count(views.high.round() as u64),
        count(visitors.value.round() as u64),
        count(visitors.low.round() as u64),
        count(visitors.high.round() as u64)
    )
}

fn removed(usage: &Usage, text: &mut String) -> std::fmt::Result {
    writeln!(
        text,
        "\nWhat was removed, by the strongest finding\n{:<28} {:>5} {:>10} {:>12} {:>10}",
        "", "step", "sources", "page views", "visitors"
    )?;
    for removed in &usage.removed {
        writeln!(
            text,
            "{:<28} {:>5} {:>10} {:>12} {:>10}",
            removed.by,
            removed.step,
            count(removed.sources),
            count(removed.count.views),
            count(removed.count.visitors)
        )?;
    }
    Ok(())
}

fn thresholds(usage: &Usage, text: &mut String) -> std::fmt::Result {
    let now = usage.all.steps[2];
    let moving = usage.thresholds.iter().filter(|moved| moved.count != now);
    writeln!(
        text,
        "\nWhat would be left at other thresholds\nThe current threshold is {:.0} decibans (each 10 decibans of evidence multiply the odds of a crawler by ten), and a visit ends after\n\
         {} minutes of silence. Thresholds that change nothing are not listed.\n{:<48} {:>12} {:>9} {:>9}",
        usage.crawler_from,
        usage.silence / 60,
        "",
        "page views",
        "visitors",
        "visits"
    )?;
    for moved in moving.take(THRESHOLDS_MAX) {
        writeln!(
            text,
            "{:<48} {:>12} {:>9} {:>9}",
            moved.what,
            count(moved.count.views),
            count(moved.count.visitors),
            count(moved.count.visits)
        )?;
    }
    Ok(())
}

fn heaviest(heaviest: &Heaviest, text: &mut String) -> std::fmt::Result {
    for (month, sources) in &heaviest.months {
        writeln!(text, "\nThe heaviest sources of {month} after step one")?;
        for (place, heavy) in sources.iter().enumerate() {
            let agent = heavy.agent.as_deref().unwrap_or("several agents, or none");
            let why = heavy.why.as_deref().map(|why| format!(": {why}"));
            writeln!(
                text,
                "{:>4} {:<40} {:>10}  {:<34} {}{}",
                place + 1,
                printable(heavy.source.as_bytes()),
                count(heavy.views),
                state(heavy),
                printable(agent.as_bytes()),
                why.unwrap_or_default()
            )?;
        }
    }
    writeln!(
        text,
        "\nReasons refer to the window in which they were found, page views to the whole month.\n\
         Of {} different sources in these lists, {} ({}) are crawlers: {} of the {} visitors after step one. Crawlers in the lists of several months: {}.",
        count(heaviest.sources),
        count(heaviest.crawlers),
        share(heaviest.crawlers, heaviest.sources),
        match heaviest.visitors {
            0 => "none".to_owned(),
            all => format!("{:.2} %", 100.0 * heaviest.crawlers as f64 / all as f64),
        },
        count(heaviest.visitors),
        count(heaviest.repeated)
    )?;
    let open = heaviest.open();
    if !open.is_empty() {
        writeln!(
            text,
            "\nNot decided among them. Judge each by its requests ('cattlegrid inspect SOURCE LOG'), and enter the judgement:"
        )?;
        for heavy in open {
            writeln!(
                text,
                "  cattlegrid kb deny {0} --reason 'crawler'    or    cattlegrid kb allow {0} --reason 'people'",
                quoted(&heavy.source)
            )?;
        }
        writeln!(
            text,
            "Then run the report again with --kb FILE ('kb allow' and 'kb deny' print its name); or write lines like SOURCE,crawler and SOURCE,person into a file, and give it with --judged FILE."
        )?;
    }
    Ok(())
}

/// A source as a shell takes it: what a log calls a client may be anything.
pub(super) fn quoted(source: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./:-_".contains(c);
    match source.chars().all(is_plain) && !source.starts_with('-') {
        true => source.to_owned(),
        false => format!("'{}'", source.replace('\'', "'\\''")),
    }
}

pub(super) fn state(heavy: &Heavy) -> String {
    let percent = (100.0 * heavy.person).round();
    match heavy.step {
        Step::One(by) => format!("known: {by}"),
        Step::Two(by) => format!("removed: {by}"),
        Step::Kept(by) => format!("kept: {by}"),
        // Decided sources count fully; only the range of the estimate uses their probability.
        Step::Rest if heavy.class == Class::User => heavy.class.name().to_owned(),
        Step::Rest => format!("{}, {percent} % a person", heavy.class.name()),
    }
}

fn compared(comparison: &Comparison, usage: &Usage, text: &mut String) -> std::fmt::Result {
    let whose = comparison.whose();
    for (step, table) in [(1, "Table 3"), (2, "Table 4")] {
        writeln!(
            text,
            "\nCompared with {whose}, {} ({table} of the study)\n{:<10} {:>12} {:>9} {:>12} {:>9} {:>12} {:>10}",
            STEPS[step],
            "",
            "page views",
            "visitors",
            "tagged views",
            "visitors",
            "page views",
            "visitors"
        )?;
        for (period, cells) in comparison.cells(step) {
            let [
                views,
                visitors,
                tagged_views,
                tagged_visitors,
                more_views,
                more_visitors,
            ] = cells;
            writeln!(
                text,
                "{period:<10} {views:>12} {visitors:>9} {tagged_views:>12} {tagged_visitors:>9} {more_views:>12} {more_visitors:>10}"
            )?;
        }
    }
    for note in comparison.notes() {
        writeln!(text, "{note}")?;
    }
    let negative = comparison.negative();
    if !negative.is_empty() {
        writeln!(
            text,
            "\nWarning: in {} less is left than was tagged. People were removed, or pages came from caches that the log does not see.",
            negative.join(", ")
        )?;
        doubtful(usage, text)?;
    }
    Ok(())
}

fn doubtful(usage: &Usage, text: &mut String) -> std::fmt::Result {
    if usage.doubtful.is_empty() {
        return writeln!(text, "No removed source is like people.");
    }
    writeln!(text, "Removed sources that are most like people:")?;
    for source in &usage.doubtful {
        writeln!(
            text,
            "  {:<40} {:>9} page views, {:>3.0} % a person, removed by {}",
            printable(source.source.as_bytes()),
            count(source.views),
            100.0 * source.person,
            source.by
        )?;
    }
    Ok(())
}

fn truth(usage: &Usage, text: &mut String) -> std::fmt::Result {
    writeln!(
        text,
        "\nThe truth beside it\n{:<10} {:>12} {:>9} {:>16} {:>9} {:>14} {:>9}",
        "", "page views", "visitors", "after step two", "visitors", "estimated", "visitors"
    )?;
    for period in usage.months.iter().chain([&usage.all]) {
        let truth = period.truth.unwrap_or_default();
        let (people, left) = (truth.people, truth.left);
        writeln!(
            text,
            "{:<10} {:>12} {:>9} {:>16} {:>9} {:>14} {:>9}",
            period.name,
            count(people.views),
            count(people.visitors),
            difference(left.views as f64, people.views),
            difference(left.visitors as f64, people.visitors),
            difference(truth.views, people.views),
            difference(truth.visitors, people.visitors)
        )?;
    }
    match usage.unlabelled {
        0 => Ok(()),
        some => writeln!(
            text,
            "{} of {} visitors have no label and are not in this table.",
            count(some),
            count(usage.all.steps[0].visitors)
        ),
    }
}
