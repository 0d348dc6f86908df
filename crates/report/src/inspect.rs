//! Everything about one source, strongest first, as text.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::evidence::Outcome;
use cattlegrid_core::report::Inspection;
use cattlegrid_core::report::Moment;
use cattlegrid_core::report::ShapeInspection;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::report::WindowInspection;
use cattlegrid_core::text::printable;
use cattlegrid_core::text::shorten;
use cattlegrid_core::verdict::Class;

use crate::words::certainty;
use crate::words::count;
use crate::words::minute;
use crate::words::size;
use crate::words::sure;
use crate::words::window_of_evidence;

/// Half hours in a row of the chart: two days.
const CHART_COLUMNS: usize = 96;

/// Writes the page.
pub fn write_inspection(inspection: &Inspection, out: &mut impl Write) -> io::Result<()> {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = text(inspection, &mut page);
    out.write_all(page.as_bytes())
}

fn text(inspection: &Inspection, page: &mut String) -> std::fmt::Result {
    verdict(&inspection.source, page)?;
    course(&inspection.course, page)?;
    for window in &inspection.windows {
        writeln!(page)?;
        self::window(window, inspection.windows.len() > 1, page)?;
    }
    writeln!(page, "\nFirst lines")?;
    for line in &inspection.lines {
        writeln!(page, "  {}", shorten(&printable(line), 200))?;
    }
    Ok(())
}

fn verdict(source: &SourceReport, page: &mut String) -> std::fmt::Result {
    let kind = source
        .kind
        .map_or_else(String::new, |kind| format!(", {}", kind.name()));
    writeln!(
        page,
        "{}: {}{kind}, {}{}",
        source.source,
        source.class.name(),
        certainty(source),
        source
            .decided_by
            .map_or_else(String::new, |rule| format!(", decided by {rule}"))
    )?;
    if let Some(cause) = source.cause {
        writeln!(page, "  undecided: {}", cause.explain())?;
    }
    if let Some(robot) = &source.robot {
        writeln!(page, "  names itself {robot}")?;
    }
    writeln!(
        page,
        "  {} requests ({} for pages), {}, {} to {} UTC",
        count(source.requests),
        count(source.pages),
        size(source.bytes),
        minute(source.first_seen),
        minute(source.last_seen)
    )?;
    writeln!(
        page,
        "  {} user agents; most used: {}",
        source.agents,
        source
            .agent
            .as_deref()
            .map_or("its text was not kept".to_owned(), |agent| shorten(
                agent, 160
            ))
    )?;
    if source.mixed {
        writeln!(page, "  people and a robot share this source")?;
    }
    if source.by_visits {
        writeln!(
            page,
            "  not a crawler without the evidence of its visits: the gate challenges it, and it is never denied for this alone"
        )?;
    }
    writeln!(
        page,
        "\nEvidence, strongest first (decibans: +10 makes a crawler ten times likelier, -10 a person)"
    )?;
    if let Some(window) = window_of_evidence(source) {
        writeln!(page, "  {window}")?;
    }
    for item in &source.evidence {
        writeln!(
            page,
            "  {:+6.1}  {:<20} {}",
            item.weight, item.detector, item.why
        )?;
    }
    if source.evidence.is_empty() {
        writeln!(page, "  none")?;
    }
    Ok(())
}

/// How the verdict came about. A single moment is the verdict itself.
fn course(course: &[Moment], page: &mut String) -> std::fmt::Result {
    if course.len() < 2 {
        return Ok(());
    }
    writeln!(page, "\nVerdict after the first requests")?;
    for moment in course {
        let sure = match (moment.class, moment.decided_by) {
            (Class::Undecided, _) => String::new(),
            (_, None) => format!("{} % sure", sure(moment.confidence)),
            (_, Some(rule)) => format!("{} % sure, by {rule}", sure(moment.confidence)),
        };
        let line = format!(
            "  {:>9} requests, {} UTC  {:<10} {sure}",
            count(moment.requests),
            minute(moment.time),
            moment.class.name(),
        );
        writeln!(page, "{}", line.trim_end())?;
    }
    Ok(())
}

fn window(window: &WindowInspection, several: bool, page: &mut String) -> std::fmt::Result {
    if several {
        let host = window.host.as_deref();
        let of_host = host.map_or_else(String::new, |host| format!(" of {host}"));
        writeln!(page, "Window from {} UTC{of_host}", minute(window.start))?;
    }
    writeln!(page, "Rules that found nothing, or kept silent")?;
    for (name, outcome) in &window.outcomes {
        match outcome {
            Outcome::Abstain(gap) => writeln!(page, "  {name:<20} silent: {gap}")?,
            Outcome::Clear(measured) => {
                writeln!(
                    page,
                    "  {name:<20} nothing remarkable (measured {measured:.3})"
                )?;
            }
            Outcome::Finding(_) => {}
        }
    }
    writeln!(page, "Counted")?;
    for (name, number) in &window.numbers {
        writeln!(page, "  {:>12}  {name}", count(*number))?;
    }
    chart(window, page)?;
    match &window.shape {
        Some(shape) => self::shape(shape, page),
        None => Ok(()),
    }
}

/// Autocorrelation and decomposition, each as lines of blocks, and the values made of them.
fn shape(shape: &ShapeInspection, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "Autocorrelation, lags of 1 to {} half hours (a day is 48): above zero, below, and * where it is beyond twice its error",
        shape.coefficients.len()
    )?;
    let part = |sign: f64| -> Vec<f64> {
        shape
            .coefficients
            .iter()
            .map(|value| (sign * value).max(0.0))
            .collect()
    };
    writeln!(page, "  + |{}|", blocks(&part(1.0), 0.0, 1.0))?;
    writeln!(page, "  - |{}|", blocks(&part(-1.0), 0.0, 1.0))?;
    let pairs = shape.coefficients.iter().zip(&shape.errors);
    let marks: String = pairs
        .map(|(value, error)| if value.abs() >= 2.0 * error { '*' } else { ' ' })
        .collect();
    writeln!(page, "    |{marks}|")?;
    writeln!(
        page,
        "Decomposition of {} half hours from {} UTC, in requests",
        shape.counts.len(),
        minute(shape.start)
    )?;
    for (name, values) in [
        ("requests", &shape.counts),
        ("trend", &shape.trend),
        ("season", &shape.season),
        ("rest", &shape.rest),
    ] {
        let narrow = narrowed(values, CHART_COLUMNS);
        let low = narrow.iter().copied().fold(f64::INFINITY, f64::min);
        let high = narrow.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        writeln!(
            page,
            "  {name:<9}|{}| {low:.0} to {high:.0}",
            blocks(&narrow, low, high)
        )?;
    }
    if let Some([bayes, rules, svm, trees]) = shape.votes {
        writeln!(
            page,
            "How likely a crawler is by its shape: naive Bayes {bayes:.2}, rules {rules:.2}, support vectors {svm:.2}, trees {trees:.2}"
        )?;
    }
    writeln!(
        page,
        "Values of the shape (dispersion of the counts {:.2})",
        shape.dispersion
    )?;
    for (name, value) in &shape.values {
        writeln!(page, "  {value:>12}  {name}")?;
    }
    Ok(())
}

/// One block for each value, from low to high.
fn blocks(values: &[f64], low: f64, high: f64) -> String {
    let height = |value: &f64| ((value - low) / (high - low) * 8.0).ceil().clamp(0.0, 8.0);
    // Nothing to show of a value that never changes.
    let block = |value: &f64| {
        BLOCKS[if high > low {
            height(value) as usize
        } else {
            0
        }]
    };
    values.iter().map(block).collect()
}

/// Means of neighbours, so that no more than `columns` are left.
pub(crate) fn narrowed(values: &[f64], columns: usize) -> Vec<f64> {
    let count = values.len().min(columns);
    let place = |column: usize| column * values.len() / count;
    let mean = |column: usize| {
        let part = &values[place(column)..place(column + 1)];
        part.iter().sum::<f64>() / part.len() as f64
    };
    (0..count).map(mean).collect()
}

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Requests per half hour, a row for two days.
fn chart(window: &WindowInspection, page: &mut String) -> std::fmt::Result {
    let top = window.series.iter().copied().max().unwrap_or(0);
    if top == 0 {
        return Ok(());
    }
    writeln!(
        page,
        "Requests per half hour (highest {}), UTC, two days a row",
        count(u64::from(top))
    )?;
    for (row, part) in window.series.chunks(CHART_COLUMNS).enumerate() {
        if part.iter().all(|requests| *requests == 0) {
            continue;
        }
        let line: String = part
            .iter()
            .map(|requests| BLOCKS[(u64::from(*requests) * 8).div_ceil(u64::from(top)) as usize])
            .collect();
        let start = window.start + (row * CHART_COLUMNS) as u32 * 1800;
        writeln!(page, "  {} |{line}|", &minute(start)[..10])?;
    }
    Ok(())
}
