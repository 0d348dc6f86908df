//! Tables of the page: what robots come for, pages, hosts, answers, and what was not judged or not read.

use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::report::Band;
use cattlegrid_core::report::Totals;
use cattlegrid_core::text::printable;
use cattlegrid_core::verdict::Cause;
use cattlegrid_core::verdict::Class;

use super::escape;
use crate::words::count;
use crate::words::share;
use crate::words::size;

/// Paths in the table.
const PATHS_SHOWN: usize = 25;
/// Hosts in the table.
const HOSTS_SHOWN: usize = 200;

pub(super) fn purposes(report: &Report, page: &mut String) -> std::fmt::Result {
    if report.purposes.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<(&str, Totals)> = report
        .purposes
        .iter()
        .map(|(purpose, totals)| (purpose.name(), *totals))
        .collect();
    rows.sort_by_key(|(_, totals)| std::cmp::Reverse(totals.requests));
    let top = rows[0].1.requests.max(1);
    writeln!(
        page,
        "<h2>What robots that name themselves come for</h2><div class=\"frame\"><table><thead><tr><th>purpose</th><th class=\"n\">sources</th><th class=\"n\">requests</th><th class=\"n\">traffic</th><th></th></tr></thead><tbody>"
    )?;
    for (name, totals) in rows {
        writeln!(
            page,
            "<tr><td>{name}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td style=\"width:40%\"><span class=\"bar\" style=\"width:{:.1}%\"></span></td></tr>",
            count(totals.sources),
            count(totals.requests),
            size(totals.bytes),
            totals.requests as f64 * 100.0 / top as f64
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// The pages asked for most, by what asked for them.
pub(super) fn paths(report: &Report, page: &mut String) -> std::fmt::Result {
    let paths = &report.paths;
    if paths.top.is_empty() {
        return Ok(());
    }
    let note = if paths.is_estimate {
        "Estimated from a sample of the page requests. "
    } else {
        ""
    };
    writeln!(
        page,
        "<h2>Pages asked for most</h2><p class=\"soft\">{note}Without what follows a question mark. The bar shows who asked: its colours are those of the chart.</p><div class=\"frame\"><table><thead><tr><th>path</th><th class=\"n\">requests</th><th class=\"n\">people</th><th class=\"n\">crawlers</th><th class=\"n\">errors</th><th></th></tr></thead><tbody>"
    )?;
    for path in paths.top.iter().take(PATHS_SHOWN) {
        writeln!(
            page,
            "<tr><td class=\"path\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
            escape(&path.path),
            count(path.requests),
            count(path.bands[Band::People as usize]),
            count(path.crawlers()),
            count(path.errors)
        )?;
        parts(path.bands, path.requests, page)?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// The last cell of a row: a bar in the colours of what asked.
fn parts(bands: [u64; Band::ALL.len()], requests: u64, page: &mut String) -> std::fmt::Result {
    write!(
        page,
        "<td style=\"width:24%\"><span class=\"parts\" aria-hidden=\"true\">"
    )?;
    for (band, part) in Band::ALL.into_iter().zip(bands) {
        if part > 0 {
            write!(
                page,
                "<i style=\"--band:var(--{});width:{:.1}%\"></i>",
                band.key(),
                part as f64 * 100.0 / requests.max(1) as f64
            )?;
        }
    }
    writeln!(page, "</span></td></tr>")
}

/// Who visits which host.
pub(super) fn hosts(report: &Report, page: &mut String) -> std::fmt::Result {
    if report.hosts.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<h2>Hosts</h2><p class=\"soft\">Each is judged for itself. The bar shows who asked: its colours are those of the chart.</p><div class=\"frame\"><table><thead><tr><th>host</th><th class=\"n\">requests</th><th class=\"n\">people</th><th class=\"n\">crawlers</th><th class=\"n\">traffic</th><th></th></tr></thead><tbody>"
    )?;
    for host in report.hosts.iter().take(HOSTS_SHOWN) {
        writeln!(
            page,
            "<tr><td class=\"path\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
            escape(&host.host),
            count(host.requests),
            count(host.bands[Band::People as usize]),
            count(host.crawlers()),
            size(host.bytes)
        )?;
        parts(host.bands, host.requests, page)?;
    }
    writeln!(page, "</tbody></table></div>")
}

pub(super) fn statuses(report: &Report, page: &mut String) -> std::fmt::Result {
    let all: u64 = report.statuses.values().sum();
    if all == 0 {
        return Ok(());
    }
    writeln!(
        page,
        "<h2>Answers</h2><div class=\"frame\"><table><thead><tr><th>status</th><th class=\"n\">requests</th><th class=\"n\">share</th><th></th></tr></thead><tbody>"
    )?;
    for (status, requests) in &report.statuses {
        writeln!(
            page,
            "<tr><td>{status} {}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td style=\"width:40%\"><span class=\"bar\" style=\"width:{:.1}%\"></span></td></tr>",
            meaning(*status),
            count(*requests),
            share(*requests, all),
            *requests as f64 * 100.0 / all as f64
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// What a status means, in a word or two.
pub(super) fn meaning(status: u16) -> &'static str {
    match status {
        200 => "sent",
        206 => "sent in part",
        301 | 308 => "moved",
        302 | 303 | 307 => "sent elsewhere",
        304 => "not changed",
        400 => "bad request",
        401 => "not signed in",
        403 => "forbidden",
        404 => "not found",
        405 => "not allowed",
        410 => "gone",
        429 => "too many requests",
        444 => "closed without an answer",
        499 => "visitor went away",
        500 => "server error",
        502 => "bad gateway",
        503 => "not available",
        504 => "gateway too slow",
        _ => "",
    }
}

pub(super) fn not_judged(report: &Report, page: &mut String) -> std::fmt::Result {
    writeln!(page, "<h2>What could not be judged</h2>")?;
    if report.total(Class::Undecided).sources == 0 {
        return writeln!(page, "<p>Every source could be judged.</p>");
    }
    writeln!(
        page,
        "<div class=\"frame\"><table><thead><tr><th>why</th><th class=\"n\">sources</th><th class=\"n\">requests</th></tr></thead><tbody>"
    )?;
    for (cause, totals) in Cause::ALL.into_iter().zip(&report.undecided) {
        if totals.sources > 0 {
            writeln!(
                page,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
                escape(cause.explain()),
                count(totals.sources),
                count(totals.requests)
            )?;
        }
    }
    writeln!(page, "</tbody></table></div>")?;
    if !report.not_logged.is_empty() {
        writeln!(
            page,
            "<p class=\"soft\">The log does not have: {}. Rules that need it kept silent.</p>",
            report.not_logged.join(", ")
        )?;
    }
    if report.mixed > 0 {
        writeln!(
            page,
            "<p class=\"soft\">At {} addresses people and a robot come from the same place.</p>",
            count(report.mixed)
        )?;
    }
    Ok(())
}

pub(super) fn lines(report: &Report, page: &mut String) -> std::fmt::Result {
    let lines = &report.lines;
    writeln!(
        page,
        "<h2>The log</h2><p>{} lines, {} of them requests.</p>",
        count(lines.read),
        count(lines.parsed)
    )?;
    if lines.skipped.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<div class=\"frame\"><table><thead><tr><th>left out because</th><th class=\"n\">lines</th><th>first example</th></tr></thead><tbody>"
    )?;
    for skipped in &lines.skipped {
        writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"agent\">{}</td></tr>",
            escape(skipped.reason.explain()),
            count(skipped.count),
            escape(&printable(&skipped.example))
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}
