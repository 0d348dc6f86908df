//! The report as a page of text that is read in ten seconds.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use cattlegrid_core::Report;
use cattlegrid_core::report::Band;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::report::Totals;
use cattlegrid_core::text::printable;
use cattlegrid_core::text::shorten;
use cattlegrid_core::verdict::Cause;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Evidence;

use crate::by_paper;
use crate::campaigns;
use crate::hidden;
use crate::manners;
use crate::words::certainty;
use crate::words::count;
use crate::words::minute;
use crate::words::share;
use crate::words::size;
use crate::words::span;
use crate::words::window_of_evidence;

/// How much is shown.
#[derive(Debug, Clone)]
pub struct TextOptions {
    /// Sources in each list.
    pub top: usize,
    /// Columns of the screen.
    pub width: usize,
    /// Names of the pieces of the log, for the places of lines that were left out.
    pub pieces: Vec<String>,
}

/// Writes the summary.
pub fn write_text(report: &Report, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = summary(report, options, &mut page);
    out.write_all(page.as_bytes())
}

fn summary(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    let all = report.all();
    let Some((first, last)) = report.span else {
        writeln!(page, "No requests in {} lines.", count(report.lines.read))?;
        return left_out(report, options, page);
    };
    writeln!(
        page,
        "{} requests from {} sources, {} to {} UTC",
        count(all.requests),
        count(all.sources),
        minute(first),
        minute(last)
    )?;
    writeln!(page)?;
    totals(report, all, page)?;
    hosts(report, options, page)?;
    campaigns::text(report, options, page)?;
    by_paper::text(report, options, page)?;
    hidden::text(report, options, page)?;
    let crawlers = report
        .sources
        .iter()
        .filter(|source| source.class == Class::Crawler);
    list("Top crawlers", crawlers, options, page)?;
    let automated = report
        .sources
        .iter()
        .filter(|source| source.class == Class::Automated);
    list(
        "Top automated programs (monitors, previews, feed readers)",
        automated,
        &TextOptions {
            top: options.top.min(3),
            ..options.clone()
        },
        page,
    )?;
    manners::text(report, options, page)?;
    undecided(report, options, page)?;
    left_out(report, options, page)
}

fn totals(report: &Report, all: Totals, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "  {:<17} {:>11} {:>13} {:>8} {:>13} {:>8} {:>10}{}",
        "",
        "sources",
        "requests",
        "",
        "pages",
        "",
        "traffic",
        if report.is_timed { "  server time" } else { "" }
    )?;
    let mut row = |name: &str, totals: Totals| {
        writeln!(
            page,
            "  {:<17} {:>11} {:>13} {:>8} {:>13} {:>8} {:>10}{}",
            name,
            count(totals.sources),
            count(totals.requests),
            share(totals.requests, all.requests),
            count(totals.pages),
            share(totals.pages, all.pages),
            size(totals.bytes),
            if report.is_timed {
                format!("{:>13}", span(totals.ms))
            } else {
                String::new()
            }
        )
    };
    row("people", report.total(Class::User))?;
    row("crawlers", report.total(Class::Crawler))?;
    row("automated", report.total(Class::Automated))?;
    row("undecided", report.total(Class::Undecided))?;
    row("all", all)?;
    let mut without = report.total(Class::User);
    without.absorb(report.total(Class::Undecided));
    row("without crawlers*", without)?;
    writeln!(
        page,
        "  * and without automated programs: people, and what could not be judged"
    )
}

/// Who visits which host.
fn hosts(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    if report.hosts.is_empty() {
        return Ok(());
    }
    let shown = report.hosts.len().min(options.top) as u64;
    let title = format!(
        "Hosts ({} of {})",
        count(shown),
        count(report.hosts.len() as u64)
    );
    writeln!(
        page,
        "\n{title:<30} {:>11} {:>11} {:>11} {:>11}",
        "requests", "people", "crawlers", "undecided"
    )?;
    for host in report.hosts.iter().take(options.top) {
        writeln!(
            page,
            "  {:<28} {:>11} {:>11} {:>11} {:>11}",
            shorten(&host.host, 28),
            count(host.requests),
            share(host.bands[Band::People as usize], host.requests),
            share(host.crawlers(), host.requests),
            share(host.bands[Band::Undecided as usize], host.requests)
        )?;
    }
    Ok(())
}

fn list<'a>(
    title: &str,
    sources: impl Iterator<Item = &'a SourceReport> + Clone,
    options: &TextOptions,
    page: &mut String,
) -> std::fmt::Result {
    let number = sources.clone().count();
    if number == 0 {
        return Ok(());
    }
    writeln!(
        page,
        "\n{title} ({} of {})",
        count(number.min(options.top) as u64),
        count(number as u64)
    )?;
    for source in sources.take(options.top) {
        let kind = match (source.class, source.kind) {
            (_, Some(kind)) => format!("{}, ", kind.name()),
            (Class::Crawler, None) => "by its name alone, ".to_owned(),
            _ => String::new(),
        };
        let mixed = if source.mixed {
            ", mixed with people"
        } else {
            ""
        };
        let head = format!(
            "  {:>10}  {:<24} {kind}{}{mixed}",
            count(source.requests),
            shorten(&source.source, 40),
            certainty(source)
        );
        writeln!(page, "{}", shorten(&head, options.width))?;
        // A name that decides says it all; otherwise the strongest reasons do.
        let reasons = match source.decided_by {
            Some("claimed_operator" | "declared_robot") => 1,
            _ => 3,
        };
        for evidence in source.evidence.iter().take(reasons) {
            detail(page, options, &reason(evidence))?;
        }
        if reasons > 1
            && !source.evidence.is_empty()
            && let Some(window) = window_of_evidence(source)
        {
            detail(page, options, &window)?;
        }
        if let Some(agent) = &source.agent
            && source.decided_by != Some("declared_robot")
        {
            detail(page, options, &format!("as {agent}"))?;
        }
    }
    Ok(())
}

fn undecided(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    let total = report.total(Class::Undecided);
    if total.sources == 0 {
        return Ok(());
    }
    writeln!(
        page,
        "\nCould not be judged: {} sources with {} requests",
        count(total.sources),
        count(total.requests)
    )?;
    for (cause, totals) in Cause::ALL
        .into_iter()
        .zip(report.undecided)
        .filter(|(_, totals)| totals.sources > 0)
    {
        let line = format!(
            "  {:>10} sources {:>11} requests: {}",
            count(totals.sources),
            count(totals.requests),
            cause.explain()
        );
        writeln!(page, "{}", shorten(&line, options.width.max(120)))?;
    }
    if !report.not_logged.is_empty() {
        writeln!(
            page,
            "  The log has no {}: logging it would let more be judged.",
            report.not_logged.join(", no ")
        )?;
    }
    let heavy = report
        .sources
        .iter()
        .filter(|source| source.class == Class::Undecided && source.requests >= HEAVY);
    let few = TextOptions {
        top: options.top.min(5),
        ..options.clone()
    };
    list("Heaviest of these", heavy, &few, page)
}

/// Requests from which a source that could not be judged is worth a look.
const HEAVY: u64 = 100;

fn left_out(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    let lines = &report.lines;
    let skipped: u64 = lines.skipped.iter().map(|skipped| skipped.count).sum();
    if skipped == 0 {
        return Ok(());
    }
    writeln!(
        page,
        "\nLeft out: {} of {} lines",
        count(skipped),
        count(lines.read)
    )?;
    for skipped in &lines.skipped {
        writeln!(
            page,
            "  {:>10} {}: {}",
            count(skipped.count),
            skipped.reason.name(),
            skipped.reason.explain()
        )?;
        let line = format!(
            "first at {}: {}",
            skipped.place_in(&options.pieces),
            printable(&skipped.example)
        );
        detail(page, options, &line)?;
    }
    Ok(())
}

/// A line below the one it tells more about.
pub(crate) fn detail(page: &mut String, options: &TextOptions, text: &str) -> std::fmt::Result {
    let text = shorten(text, options.width.saturating_sub(14));
    writeln!(page, "{:14}{text}", "")
}

/// A finding in words.
pub(crate) fn reason(evidence: &Evidence) -> String {
    let but = if evidence.weight < 0.0 { "but " } else { "" };
    format!("{but}{}", evidence.why)
}
