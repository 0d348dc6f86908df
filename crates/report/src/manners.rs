//! Robots and robots.txt: who asked for it, how often, and who took what it forbids.

use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::report::Manners;
use cattlegrid_core::report::MannersReport;
use cattlegrid_core::text::shorten;

use crate::html::escape;
use crate::text::TextOptions;
use crate::words::count;
use crate::words::share;
use crate::words::span;

/// Rows of the page's table.
const ROWS_MAX: usize = 50;

/// The table of the text report, where a robots.txt was given.
pub(crate) fn text(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    if !report.has_robots_txt || report.manners.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\nRobots and robots.txt ({} of {})",
        report.manners.len().min(options.top),
        report.manners.len()
    )?;
    writeln!(
        page,
        "  {:<26} {:<9} {:>10} {:>8} {:<16} {:>10}",
        "robot", "name", "requests", "fetched", "first", "forbidden"
    )?;
    for row in report.manners.iter().take(options.top) {
        let manners = &row.manners;
        let line = format!(
            "  {:<26} {:<9} {:>10} {:>8} {:<16} {:>10} {:>7}",
            shorten(&row.robot.name, 26),
            row.name.name(),
            count(manners.totals.requests),
            count(manners.fetched),
            first(manners),
            count(manners.forbidden),
            share(manners.forbidden, manners.totals.requests)
        );
        writeln!(page, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The table of the page.
pub(crate) fn html(report: &Report, page: &mut String) -> std::fmt::Result {
    if report.manners.is_empty() {
        return Ok(());
    }
    let note = match report.has_robots_txt {
        true => {
            "Forbidden requests are those that robots.txt, as given by --robots, asks this robot not to send."
        }
        false => "Give the site's robots.txt with --robots to see which requests it forbids.",
    };
    writeln!(
        page,
        "<h2>Robots and robots.txt</h2><p class=\"soft\">Robots share robots.txt among their addresses, so all sources under one name count together. \
         A borrowed name is disproved by the address and says nothing about the robot's operator. {note}</p>\
         <div class=\"frame\"><table><thead><tr><th>robot</th><th>name</th><th class=\"n\">sources</th><th class=\"n\">requests</th>\
         <th class=\"n\">fetched robots.txt</th><th>first fetched</th><th class=\"n\">forbidden requests</th></tr></thead><tbody>"
    )?;
    for row in report.manners.iter().take(ROWS_MAX) {
        html_row(row, report.has_robots_txt, page)?;
    }
    writeln!(page, "</tbody></table></div>")?;
    match report.manners.len().saturating_sub(ROWS_MAX) {
        0 => Ok(()),
        more => writeln!(
            page,
            "<p class=\"soft\">{} more robots are in the JSON report.</p>",
            count(more as u64)
        ),
    }
}

fn html_row(row: &MannersReport, has_robots_txt: bool, page: &mut String) -> std::fmt::Result {
    let manners = &row.manners;
    let forbidden = match has_robots_txt {
        true => count(manners.forbidden),
        false => "not known".to_owned(),
    };
    writeln!(
        page,
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{forbidden}</td></tr>",
        escape(&row.robot.to_string()),
        row.name.name(),
        count(manners.totals.sources),
        count(manners.totals.requests),
        count(manners.fetched),
        first(manners),
    )
}

/// When the first request for robots.txt came.
fn first(manners: &Manners) -> String {
    match manners.asked_after() {
        None => "never".to_owned(),
        Some(0) => "first of all".to_owned(),
        Some(seconds) => format!("after {}", span(u64::from(seconds) * 1000)),
    }
}
