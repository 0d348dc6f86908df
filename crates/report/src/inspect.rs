//! Everything about one source, strongest first, as text.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::evidence::Outcome;
use cattlegrid_core::report::Inspection;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::report::WindowInspection;
use cattlegrid_core::text::printable;
use cattlegrid_core::text::shorten;

use crate::words::count;
use crate::words::minute;
use crate::words::size;
use crate::words::sure;

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
        "{}: {}{kind}, {} % sure{}",
        source.source,
        source.class.name(),
        sure(source.confidence),
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
            .map_or("not known".to_owned(), |agent| shorten(agent, 160))
    )?;
    if source.mixed {
        writeln!(page, "  people and a robot share this source")?;
    }
    writeln!(
        page,
        "\nEvidence, strongest first (decibans: +10 makes a crawler ten times likelier, -10 a person)"
    )?;
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
    chart(window, page)
}

/// Requests per half hour, a row for two days.
fn chart(window: &WindowInspection, page: &mut String) -> std::fmt::Result {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
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
