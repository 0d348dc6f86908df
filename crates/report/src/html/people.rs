//! What people asked for, panel by panel: days, pages, files, what was not found, where they came from, with what, and when.

use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::report::PeoplePanels;
use cattlegrid_core::report::Row;
use cattlegrid_core::report::Top;

use super::escape;
use super::tables::meaning;
use crate::words::count;
use crate::words::day;
use crate::words::round_steps;
use crate::words::share;
use crate::words::size;

/// Rows that are there without opening a panel.
const SHOWN: usize = 10;
/// Days as rows; of a longer log the months.
const DAYS_MAX: usize = 92;
/// Size of a chart.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 20.0;

pub(super) fn html(report: &Report, page: &mut String) -> std::fmt::Result {
    let Some(panels) = &report.panels else {
        return Ok(());
    };
    let people = &panels.people;
    let views: u64 = people.days.values().map(|day| day.views).sum();
    if views == 0 {
        return Ok(());
    }
    writeln!(
        page,
        "<h2 id=\"people\">People</h2><p class=\"soft\">Only requests of sources that were found to be people: {} page views. A page view is a page that the site sent, \
         neither an error nor a redirect. A visitor is one address (IPv6: one /64 network) on one day. Days and hours are UTC. {}</p>",
        count(views),
        exactness(people)
    )?;
    days(people, page)?;
    writeln!(page, "<div class=\"panels\">")?;
    top("Pages", "page", "views", &people.pages, page)?;
    top(
        "Files and parts of pages",
        "file",
        "requests",
        &people.files,
        page,
    )?;
    top(
        "Not found (404)",
        "target",
        "requests",
        &people.not_found,
        page,
    )?;
    rows("Referring sites", "site", "views", &people.referrers, page)?;
    rows("Search engines", "engine", "views", &people.searches, page)?;
    rows("Browsers", "browser", "views", &people.browsers, page)?;
    rows(
        "Operating systems",
        "system",
        "views",
        &people.systems,
        page,
    )?;
    statuses(people, page)?;
    if people.hosts.len() > 1 {
        rows("Virtual hosts", "host", "requests", &people.hosts, page)?;
    }
    writeln!(page, "</div>")?;
    hours(people, page)
}

/// Whether the numbers are exact.
fn exactness(people: &PeoplePanels) -> String {
    let tops = [&people.pages, &people.files, &people.not_found];
    let missed = tops.iter().map(|top| top.missed).max().unwrap_or(0);
    match missed.max(people.missed) {
        0 => "All numbers are exact.".to_owned(),
        missed => format!(
            "Texts that came least were forgotten on the way, because there were too many: a count may be too low by up to {}.",
            count(missed)
        ),
    }
}

/// Visitors and views by day, as bars and as a table.
fn days(people: &PeoplePanels, page: &mut String) -> std::fmt::Result {
    let (Some(first), Some(last)) = (people.days.keys().next(), people.days.keys().last()) else {
        return Ok(());
    };
    let bars: Vec<u64> = (*first..=*last)
        .map(|day| people.days.get(&day).map_or(0, |day| day.views))
        .collect();
    let names: Vec<String> = (*first..=*last).map(day).collect();
    chart("page views per day", &bars, &names, "people", page)?;
    // A table of months is read more easily than one of a thousand days.
    let length = if people.days.len() > DAYS_MAX { 7 } else { 10 };
    writeln!(
        page,
        "<details><summary>The same as a table</summary><div class=\"frame\"><table><thead><tr><th>{}</th><th class=\"n\">visitors{}</th><th class=\"n\">page views</th><th class=\"n\">requests</th><th class=\"n\">traffic</th></tr></thead><tbody>",
        if length == 7 { "month" } else { "day" },
        if length == 7 { ", each once a day" } else { "" }
    )?;
    let mut sums = std::collections::BTreeMap::new();
    for (number, of_day) in &people.days {
        let sum: &mut [u64; 4] = sums
            .entry(day(*number)[..length].to_owned())
            .or_insert([0; 4]);
        for (sum, value) in
            sum.iter_mut()
                .zip([of_day.visitors, of_day.views, of_day.requests, of_day.bytes])
        {
            *sum += value;
        }
    }
    for (name, [visitors, views, requests, bytes]) in sums {
        writeln!(
            page,
            "<tr><td>{name}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            count(visitors),
            count(views),
            count(requests),
            size(bytes)
        )?;
    }
    writeln!(page, "</tbody></table></div></details>")
}

fn hours(people: &PeoplePanels, page: &mut String) -> std::fmt::Result {
    let names: Vec<String> = (0..24).map(|hour| format!("{hour} h")).collect();
    writeln!(page, "<h3>Hours of the day, UTC</h3>")?;
    chart(
        "page views per hour of the day",
        &people.hours,
        &names,
        "people",
        page,
    )
}

/// Bars with round numbers at the left and some of their names below.
pub(super) fn chart(
    what: &str,
    bars: &[u64],
    names: &[String],
    color: &str,
    page: &mut String,
) -> std::fmt::Result {
    let lines = round_steps(bars.iter().copied().max().unwrap_or(0), 4);
    let most = lines.last().copied().unwrap_or(0).max(1);
    let y = |value: u64| HEIGHT - value as f64 / most as f64 * (HEIGHT - TOP);
    let width = (WIDTH - LEFT) / bars.len().max(1) as f64;
    writeln!(
        page,
        "<figure><div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{what}\"><text x=\"0\" y=\"12\">{what}</text>",
        HEIGHT + BOTTOM
    )?;
    for line in lines {
        writeln!(
            page,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"var(--line)\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(line),
            LEFT - 6.0,
            y(line) + 4.0,
            count(line)
        )?;
    }
    let longest = names.iter().map(String::len).max().unwrap_or(0);
    let each = (9.0 * longest as f64 / width).ceil().max(1.0) as usize;
    for (at, (value, name)) in bars.iter().zip(names).enumerate() {
        let x = LEFT + at as f64 * width;
        writeln!(
            page,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"var(--{color})\"><title>{name}: {}</title></rect>",
            x + 0.1 * width,
            y(*value),
            0.8 * width,
            HEIGHT - y(*value),
            count(*value)
        )?;
        let middle = x + width / 2.0;
        if at.is_multiple_of(each) {
            writeln!(
                page,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
                HEIGHT + 15.0
            )?;
        }
    }
    writeln!(page, "</svg></div></figure>")
}

fn statuses(people: &PeoplePanels, page: &mut String) -> std::fmt::Result {
    let rows_of: Vec<Row> = people
        .statuses
        .iter()
        .map(|(status, requests)| Row {
            text: format!("{status} {}", meaning(*status)),
            requests: *requests,
            bytes: 0,
        })
        .collect();
    rows("Status codes", "status", "requests", &rows_of, page)
}

fn rows(title: &str, what: &str, unit: &str, rows: &[Row], page: &mut String) -> std::fmt::Result {
    let top = Top {
        rows: rows.to_vec(),
        requests: rows.iter().map(|row| row.requests).sum(),
        missed: 0,
    };
    self::top(title, what, unit, &top, page)
}

/// A panel: the first rows, and the others for whoever opens them.
pub(super) fn top(
    title: &str,
    what: &str,
    unit: &str,
    top: &Top,
    page: &mut String,
) -> std::fmt::Result {
    if top.rows.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<section class=\"panel\"><h3>{title}</h3><p class=\"soft\">{} {unit}</p>",
        count(top.requests)
    )?;
    let (shown, others) = top.rows.split_at(top.rows.len().min(SHOWN));
    table(what, unit, shown, top.requests, page)?;
    if !others.is_empty() {
        writeln!(
            page,
            "<details><summary>{} more</summary>",
            count(others.len() as u64)
        )?;
        table(what, unit, others, top.requests, page)?;
        writeln!(page, "</details>")?;
    }
    writeln!(page, "</section>")
}

fn table(what: &str, unit: &str, rows: &[Row], all: u64, page: &mut String) -> std::fmt::Result {
    let has_bytes = rows.iter().any(|row| row.bytes > 0);
    writeln!(
        page,
        "<div class=\"frame\"><table><thead><tr><th>{what}</th><th class=\"n\">{unit}</th><th class=\"n\">share</th>{}</tr></thead><tbody>",
        if has_bytes {
            "<th class=\"n\">traffic</th>"
        } else {
            ""
        }
    )?;
    for row in rows {
        writeln!(
            page,
            "<tr><td class=\"path\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>{}</tr>",
            escape(if row.text.is_empty() {
                "(none)"
            } else {
                &row.text
            }),
            count(row.requests),
            share(row.requests, all),
            match has_bytes {
                true => format!("<td class=\"n\">{}</td>", size(row.bytes)),
                false => String::new(),
            }
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}
