//! The usage of a site as one page: the two steps by month and day, and the heaviest sources of each month as in the study's Figure 1.

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use super::Period;
use super::Step;
use super::Usage;
use super::counter::Counter;
use super::counter::METRICS;
use super::heaviest::Heavy;
use super::text::CALLS_MAX;
use super::text::NO_ITEMS;
use super::text::left_out;
use super::text::state;
use crate::html::STYLE;
use crate::html::escape;
use crate::words::count;
use crate::words::minute;
use crate::words::write_text_of;

/// Size of a chart, the room at its left for numbers and below for places.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 40.0;

/// Writes the page.
pub fn write_usage_html(usage: &Usage, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| document(usage, page))
}

fn document(usage: &Usage, page: &mut String) -> std::fmt::Result {
    let (first, last) = usage.span.unwrap_or_default();
    let (views, visitors) = (usage.all.views, usage.all.visitors);
    let number = |value: f64| count(value.round() as u64);
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Usage by people</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>Usage by people</h1><p class=\"soft\">{} to {} UTC. {} minutes of silence end a visit.</p>\n\
         <p class=\"lead\">People viewed about <strong>{}</strong> pages ({} to {}); they were about <strong>{}</strong> visitors ({} to {}).</p>\n\
         <p class=\"soft\">Step one blacklists {} sources.</p></header>\n<main>",
        minute(first),
        minute(last),
        usage.silence / 60,
        number(views.value),
        number(views.low),
        number(views.high),
        number(visitors.value),
        number(visitors.low),
        number(visitors.high),
        count(usage.blacklisted)
    )?;
    table("By month", usage.months.iter().chain([&usage.all]), page)?;
    for (month, sources) in &usage.heaviest.months {
        writeln!(
            page,
            "<h2>The heaviest sources of {month} after step one (Figure 1)</h2>"
        )?;
        figure(month, sources, page)?;
        list(sources, page)?;
    }
    compared(usage, page)?;
    if let Some(counter) = &usage.counter {
        items(counter, page)?;
    }
    table("By day", usage.days.iter(), page)?;
    removed(usage, page)?;
    calls(usage, page)?;
    writeln!(
        page,
        "</main>\n<footer>Made by cattlegrid from access logs. A page view is a page that the site sent, a visitor is a source that viewed one. The estimate counts undecided sources with their probability to be people.</footer>\n</body>\n</html>"
    )
}

fn table<'a>(
    title: &str,
    periods: impl Iterator<Item = &'a Period>,
    page: &mut String,
) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>{title}</h2><div class=\"frame\"><table><thead><tr><th></th><th colspan=\"3\">all traffic</th><th colspan=\"3\">after step one</th><th colspan=\"3\">after step two</th><th colspan=\"2\">people, estimated</th></tr>\n\
         <tr><th></th>{0}{0}{0}<th class=\"n\">views</th><th class=\"n\">visitors</th></tr></thead><tbody>",
        "<th class=\"n\">views</th><th class=\"n\">visitors</th><th class=\"n\">visits</th>"
    )?;
    for period in periods {
        write!(page, "<tr><td class=\"date\">{}</td>", period.name)?;
        for step in period.steps {
            for number in [step.views, step.visitors, step.visits] {
                write!(page, "<td class=\"n\">{}</td>", count(number))?;
            }
        }
        for estimate in [period.views, period.visitors] {
            let value = count(estimate.value.round() as u64);
            write!(page, "<td class=\"n\">{value}</td>")?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table></div>")
}

/// Bars of page views, the heaviest first. Removed sources have the color of crawlers.
fn figure(month: &str, sources: &[Heavy], page: &mut String) -> std::fmt::Result {
    let most = sources.first().map_or(1, |heavy| heavy.views).max(1);
    let top = round_up(most);
    let y = |views: u64| (HEIGHT - BOTTOM) * (1.0 - views as f64 / top as f64);
    write!(
        page,
        "<figure><div class=\"wide\"><svg viewBox=\"0 -10 {WIDTH} {}\" role=\"img\" aria-label=\"page views of the heaviest sources of {month}\"><g class=\"axis\">",
        HEIGHT + 10.0
    )?;
    for quarter in 0..=4 {
        let at = y(top * quarter / 4);
        write!(
            page,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            count(top * quarter / 4)
        )?;
    }
    let step = (WIDTH - LEFT) / sources.len().max(1) as f64;
    for place in 0..sources.len() {
        write!(
            page,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            LEFT + step * (place as f64 + 0.5),
            HEIGHT - BOTTOM + 16.0,
            place + 1
        )?;
    }
    write!(
        page,
        "<text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">sources by page views</text></g>",
        HEIGHT - 6.0
    )?;
    for (place, heavy) in sources.iter().enumerate() {
        let color = match heavy.step {
            Step::Kept(_) => "people",
            Step::Rest if heavy.class == cattlegrid_core::verdict::Class::User => "people",
            Step::Rest => "undecided",
            Step::One(_) | Step::Two(_) => "masquerading",
        };
        write!(
            page,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" style=\"fill:var(--{color})\"><title>{}: {} page views, {}</title></rect>",
            LEFT + step * (place as f64 + 0.15),
            y(heavy.views),
            step * 0.7,
            HEIGHT - BOTTOM - y(heavy.views),
            escape(&heavy.source),
            count(heavy.views),
            escape(&state(heavy))
        )?;
    }
    let mut left = LEFT;
    for (name, color) in [
        ("people", "people"),
        ("undecided", "undecided"),
        ("removed", "masquerading"),
    ] {
        write!(
            page,
            "<text x=\"{left:.1}\" y=\"{:.1}\" style=\"fill:var(--{color});font-size:13px\">■ {name}</text>",
            HEIGHT - 6.0
        )?;
        left += 40.0 + 8.0 * name.len() as f64;
    }
    writeln!(page, "</svg></div></figure>")
}

/// The smallest round number that is not below another and can be cut in four.
fn round_up(most: u64) -> u64 {
    let mut unit = 4;
    loop {
        for factor in [1, 2, 5] {
            if unit * factor >= most {
                return unit * factor;
            }
        }
        unit *= 10;
    }
}

fn list(sources: &[Heavy], page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<details><summary>The {} sources</summary><div class=\"frame\"><table><thead><tr><th class=\"n\">place</th><th>source</th><th class=\"n\">page views</th><th>verdict</th><th>user agent</th><th>strongest evidence</th></tr></thead><tbody>",
        sources.len()
    )?;
    for (place, heavy) in sources.iter().enumerate() {
        writeln!(
            page,
            "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            place + 1,
            escape(&heavy.source),
            count(heavy.views),
            escape(&state(heavy)),
            escape(heavy.agent.as_deref().unwrap_or_default()),
            escape(heavy.why.as_deref().unwrap_or_default())
        )?;
    }
    writeln!(page, "</tbody></table></div></details>")
}

fn compared(usage: &Usage, page: &mut String) -> std::fmt::Result {
    let Some(comparison) = &usage.comparison else {
        return Ok(());
    };
    let whose = comparison.whose();
    for (step, title) in [
        (1, "after step one (Table 3)"),
        (2, "after step two (Table 4)"),
    ] {
        writeln!(
            page,
            "<h2>Compared with {whose}, {title}</h2><div class=\"frame\"><table><thead><tr><th></th><th class=\"n\">page views</th><th class=\"n\">visitors</th><th class=\"n\">tagged page views</th><th class=\"n\">tagged visitors</th><th class=\"n\">page views</th><th class=\"n\">visitors</th></tr></thead><tbody>"
        )?;
        for (period, cells) in comparison.cells(step) {
            write!(page, "<tr><td class=\"date\">{period}</td>")?;
            for cell in cells {
                write!(page, "<td class=\"n\">{cell}</td>")?;
            }
            writeln!(page, "</tr>")?;
        }
        writeln!(page, "</tbody></table></div>")?;
    }
    for note in comparison.notes() {
        writeln!(page, "<p>{note}</p>")?;
    }
    let negative = comparison.negative();
    if !negative.is_empty() {
        writeln!(
            page,
            "<p><strong>Warning:</strong> in {} less is left than was tagged. People were removed, or pages came from caches that the log does not see.</p>",
            negative.join(", ")
        )?;
    }
    Ok(())
}

/// The item metrics of COUNTER.
fn items(counter: &Counter, page: &mut String) -> std::fmt::Result {
    if counter.months.is_empty() {
        return writeln!(
            page,
            "<h2>COUNTER 5.1.1 item metrics</h2><p>{NO_ITEMS}</p><p>{}</p>",
            left_out(counter)
        );
    }
    write!(
        page,
        "<h2>COUNTER 5.1.1 item metrics</h2><div class=\"frame\"><table><thead><tr><th></th>"
    )?;
    for name in METRICS {
        write!(page, "<th class=\"n\">{name}</th>")?;
    }
    writeln!(page, "</tr></thead><tbody>")?;
    for month in &counter.months {
        write!(page, "<tr><td class=\"date\">{}</td>", month.month)?;
        for number in month.metrics() {
            write!(page, "<td class=\"n\">{}</td>", count(number))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table></div><p>{}</p>", left_out(counter))
}

fn removed(usage: &Usage, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2>What was removed, by the strongest finding</h2><div class=\"frame\"><table><thead><tr><th></th><th class=\"n\">step</th><th class=\"n\">sources</th><th class=\"n\">page views</th><th class=\"n\">visitors</th></tr></thead><tbody>"
    )?;
    for removed in &usage.removed {
        writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            removed.by,
            removed.step,
            count(removed.sources),
            count(removed.count.views),
            count(removed.count.visitors)
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

fn calls(usage: &Usage, page: &mut String) -> std::fmt::Result {
    if usage.calls.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<h2>Not counted as page views</h2><p>These paths never appear as a referrer. Pages and their scripts load them; nobody views them.</p><div class=\"frame\"><table><thead><tr><th>path</th><th class=\"n\">requests</th></tr></thead><tbody>"
    )?;
    for (path, requests) in usage.calls.iter().take(CALLS_MAX) {
        writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td></tr>",
            escape(path),
            count(*requests)
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let tops = [1, 5, 21, 39, 41, 900, 10_349].map(round_up);
        assert_eq!(tops, [4, 8, 40, 40, 80, 2000, 20_000]);
    }
}
