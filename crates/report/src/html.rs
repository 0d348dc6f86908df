//! The report as one page that needs nothing else: no network, no other file. Charts are drawn here; the page's script only sorts
//! and pages the table of sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cattlegrid_core::Report;
use cattlegrid_core::report::Band;
use cattlegrid_core::report::Timeline;
use cattlegrid_core::report::Totals;
use cattlegrid_core::text::printable;
use cattlegrid_core::verdict::Cause;
use cattlegrid_core::verdict::Class;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use crate::by_paper;
use crate::campaigns;
use crate::hidden;
use crate::manners;
use crate::words::count;
use crate::words::minute;
use crate::words::share;
use crate::words::size;
use crate::words::span;
use crate::words::sure;
use crate::words::write_text_of;

pub(crate) const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// Sources whose reasons are part of the page; the others have their strongest rule.
const REASONS_MAX: usize = 3000;
/// Sources in the table.
const SOURCES_MAX: usize = 150_000;
/// Sources in the table that is there without a script.
const PLAIN_ROWS: usize = 30;
/// Paths in the table.
const PATHS_SHOWN: usize = 25;
/// Hosts in the table.
const HOSTS_SHOWN: usize = 200;
/// Bars of the chart.
const BARS_MAX: usize = 240;
/// Size of the chart, and the room for numbers at its left and below.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 22.0;

/// Writes the page.
pub fn write_html(report: &Report, out: &mut impl Write) -> io::Result<()> {
    write_text_of(out, |page| document(report, page))
}

fn document(report: &Report, page: &mut String) -> std::fmt::Result {
    // Nothing but this very script may run, whatever a log line smuggles in.
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    writeln!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Who visits this site</title>\n<style>{STYLE}</style>\n</head>\n<body>"
    )?;
    header(report, page)?;
    writeln!(page, "<main>")?;
    cards(report, page)?;
    chart(&report.timeline, page)?;
    hosts(report, page)?;
    campaigns::html(report, page)?;
    by_paper::html(report, page)?;
    hidden::html(report, page)?;
    purposes(report, page)?;
    manners::html(report, page)?;
    sources(report, page)?;
    paths(report, page)?;
    statuses(report, page)?;
    not_judged(report, page)?;
    lines(report, page)?;
    writeln!(
        page,
        "</main>\n<footer>Made by cattlegrid from access logs. Every verdict has its reasons; none is certain. dB: ten decibans make a crawler ten times likelier, minus ten a person.</footer>"
    )?;
    writeln!(
        page,
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>",
        // A closing tag inside a text must not end the block.
        data(report).to_string().replace('<', "\\u003c")
    )
}

fn header(report: &Report, page: &mut String) -> std::fmt::Result {
    let all = report.all();
    let (people, crawlers) = (report.total(Class::User), report.total(Class::Crawler));
    let span = report.span.map_or_else(
        || "no requests".to_owned(),
        |(first, last)| format!("{} to {} UTC", minute(first), minute(last)),
    );
    writeln!(
        page,
        "<header><h1>Who visits this site</h1><p class=\"soft\">{span}, {} requests from {} sources</p>\n\
         <p class=\"lead\">Crawlers sent <strong>{}</strong> of all requests and took <strong>{}</strong> of the traffic. Of {} page requests, <strong>{}</strong> came from people, as far as the log can tell.</p></header>",
        count(all.requests),
        count(all.sources),
        share(crawlers.requests, all.requests),
        share(crawlers.bytes, all.bytes),
        count(all.pages),
        count(people.pages),
    )
}

fn cards(report: &Report, page: &mut String) -> std::fmt::Result {
    let all = report.all();
    writeln!(page, "<section class=\"cards\" aria-label=\"Totals\">")?;
    for (class, title, color) in [
        (Class::User, "People", "people"),
        (Class::Crawler, "Crawlers", "masquerading"),
        (Class::Automated, "Automated, no crawlers", "automated"),
        (Class::Undecided, "Undecided", "undecided"),
    ] {
        let totals = report.total(class);
        writeln!(
            page,
            "<div class=\"card\" style=\"--band:var(--{color})\">{title}<b>{}</b><span class=\"soft\">of requests</span><dl><dt>requests</dt><dd>{}</dd><dt>page requests</dt><dd>{}</dd><dt>sources</dt><dd>{}</dd><dt>traffic</dt><dd>{}</dd>{}</dl></div>",
            share(totals.requests, all.requests),
            count(totals.requests),
            count(totals.pages),
            count(totals.sources),
            size(totals.bytes),
            if report.is_timed {
                format!("<dt>server time</dt><dd>{}</dd>", span(totals.ms))
            } else {
                String::new()
            },
        )?;
    }
    writeln!(page, "</section>")
}

/// Steps put together so that no more than [`BARS_MAX`] are drawn.
fn bars(timeline: &Timeline) -> (u32, Vec<[u64; Band::ALL.len()]>) {
    let steps = timeline.bands[0].len();
    let together = steps.div_ceil(BARS_MAX).max(1);
    let bars = (0..steps.div_ceil(together))
        .map(|bar| {
            let range = bar * together..((bar + 1) * together).min(steps);
            std::array::from_fn(|band| timeline.bands[band][range.clone()].iter().sum())
        })
        .collect();
    (timeline.step * together as u32, bars)
}

fn chart(timeline: &Timeline, page: &mut String) -> std::fmt::Result {
    let (step, bars) = bars(timeline);
    let top = bars.iter().map(|bar| bar.iter().sum()).max().unwrap_or(0);
    if top == 0 {
        return Ok(());
    }
    let bar_width = (WIDTH - LEFT) / bars.len() as f64;
    writeln!(
        page,
        "<h2>Traffic over time</h2><figure><div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Requests over time, from people, automated programs and crawlers; the table below has the numbers\">",
        HEIGHT + BOTTOM
    )?;
    for part in [0.0, 0.5, 1.0] {
        let y = HEIGHT - part * (HEIGHT - 14.0);
        writeln!(
            page,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--line)\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            count((top as f64 * part) as u64)
        )?;
    }
    for (number, band) in Band::ALL.iter().enumerate() {
        let mut path = String::new();
        for (at, bar) in bars.iter().enumerate() {
            let scale = |requests: u64| requests as f64 / top as f64 * (HEIGHT - 14.0);
            let below = scale(bar[..number].iter().sum());
            let own = scale(bar[number]);
            if own > 0.0 {
                write!(
                    path,
                    "M{:.1} {:.1}h{:.1}v-{:.1}h-{:.1}z",
                    LEFT + at as f64 * bar_width,
                    HEIGHT - below,
                    bar_width,
                    own,
                    bar_width
                )?;
            }
        }
        if !path.is_empty() {
            writeln!(
                page,
                "<path fill=\"var(--{})\" d=\"{path}\"><title>{}</title></path>",
                band.key(),
                band.name()
            )?;
        }
    }
    time_axis(timeline.start, step * bars.len() as u32, page)?;
    writeln!(page, "</svg></div><ul class=\"legend\">")?;
    for band in Band::ALL {
        writeln!(
            page,
            "<li><i style=\"--band:var(--{})\"></i>{}</li>",
            band.key(),
            band.name()
        )?;
    }
    writeln!(page, "</ul>")?;
    chart_table(timeline, page)?;
    writeln!(page, "</figure>")
}

/// Four times under the chart.
fn time_axis(start: u32, seconds: u32, page: &mut String) -> std::fmt::Result {
    for (part, anchor) in (0_u32..).zip(["start", "middle", "middle", "end"]) {
        let x = LEFT + (WIDTH - LEFT) * f64::from(part) / 3.0;
        let time = start + (u64::from(seconds) * u64::from(part) / 3) as u32;
        writeln!(
            page,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            HEIGHT + 16.0,
            minute(time)
        )?;
    }
    Ok(())
}

/// The chart's numbers by day, for those who cannot see it.
fn chart_table(timeline: &Timeline, page: &mut String) -> std::fmt::Result {
    let mut days: BTreeMap<u32, [u64; Band::ALL.len()]> = BTreeMap::new();
    for (number, requests) in timeline.bands.iter().enumerate() {
        for (step, requests) in requests.iter().enumerate() {
            let day = (timeline.start + step as u32 * timeline.step) / 86_400;
            days.entry(day).or_default()[number] += requests;
        }
    }
    // Months of a long log, so that the table stays readable.
    if days.len() > 120 {
        return writeln!(
            page,
            "<p class=\"soft\">The numbers by time are in the JSON report.</p>"
        );
    }
    writeln!(
        page,
        "<details><summary>The same by day, as a table</summary><div class=\"frame\"><table><thead><tr><th>day (UTC)</th>"
    )?;
    for band in Band::ALL {
        writeln!(page, "<th class=\"n\">{}</th>", band.name())?;
    }
    writeln!(page, "</tr></thead><tbody>")?;
    for (day, requests) in days {
        let name = minute(day * 86_400);
        writeln!(
            page,
            "<tr><td>{}</td>",
            name.split(' ').next().unwrap_or_default()
        )?;
        for requests in requests {
            writeln!(page, "<td class=\"n\">{}</td>", count(requests))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table></div></details>")
}

fn purposes(report: &Report, page: &mut String) -> std::fmt::Result {
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
fn paths(report: &Report, page: &mut String) -> std::fmt::Result {
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
fn hosts(report: &Report, page: &mut String) -> std::fmt::Result {
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

fn statuses(report: &Report, page: &mut String) -> std::fmt::Result {
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
fn meaning(status: u16) -> &'static str {
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

fn sources(report: &Report, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2 id=\"list\">Sources</h2><p class=\"soft\">All crawlers and programs, and everybody else from {} requests on. Open a row for its reasons.</p>\n\
         <div id=\"interactive\" hidden><div class=\"tools\" role=\"group\" aria-label=\"Show only\"><button type=\"button\" data-band=\"-1\" aria-pressed=\"true\">all</button>",
        count(report.min_requests)
    )?;
    for (number, band) in Band::ALL.iter().enumerate() {
        if report
            .sources
            .iter()
            .any(|source| Band::of(source.class, source.kind) == *band)
        {
            writeln!(
                page,
                "<button type=\"button\" data-band=\"{number}\" aria-pressed=\"false\">{}</button>",
                short(*band)
            )?;
        }
    }
    writeln!(
        page,
        "</div><div class=\"tools\"><input id=\"search\" type=\"search\" placeholder=\"address, robot or user agent\" aria-label=\"Search by address, robot or user agent\">\
         <button type=\"button\" id=\"before\">previous</button><button type=\"button\" id=\"after\">next</button><span id=\"status\" role=\"status\" class=\"soft\"></span></div></div>\n\
         <div class=\"frame\"><table id=\"sources\"><thead><tr>"
    )?;
    for (key, name, number) in [
        ("source", "source", false),
        ("band", "what", false),
        ("requests", "requests", true),
        ("pages", "pages", true),
        ("bytes", "traffic", true),
        ("sure", "sure", true),
    ] {
        let class = if number { " class=\"n\"" } else { "" };
        writeln!(
            page,
            "<th scope=\"col\" data-key=\"{key}\"{class}><button type=\"button\">{name}</button></th>"
        )?;
    }
    writeln!(page, "<th scope=\"col\">over time</th></tr></thead><tbody>")?;
    for source in report.sources.iter().take(PLAIN_ROWS) {
        let why = source.evidence.first().map_or("", |item| item.why.as_str());
        writeln!(
            page,
            "<tr><td>{}<div class=\"agent\">{}</div></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{} %</td><td></td></tr>",
            escape(&source.source),
            escape(why),
            short(Band::of(source.class, source.kind)),
            count(source.requests),
            count(source.pages),
            size(source.bytes),
            sure(source.confidence)
        )?;
    }
    writeln!(page, "</tbody></table></div>")
}

fn not_judged(report: &Report, page: &mut String) -> std::fmt::Result {
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

fn lines(report: &Report, page: &mut String) -> std::fmt::Result {
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

/// The table's data by column: a hundred thousand rows take five megabytes so, and three times as much by row.
fn data(report: &Report) -> serde_json::Value {
    let sources = &report.sources[..report.sources.len().min(SOURCES_MAX)];
    let mut agents = Texts::default();
    let mut names = Texts::default();
    let mut rules = Texts::default();
    let agent: Vec<usize> = sources
        .iter()
        .map(|source| agents.number(source.agent.as_deref().unwrap_or_default()))
        .collect();
    let name: Vec<usize> = sources
        .iter()
        .map(|source| {
            names.number(
                &source
                    .robot
                    .as_ref()
                    .map_or_else(String::new, ToString::to_string),
            )
        })
        .collect();
    let rule: Vec<i64> = sources
        .iter()
        .map(|source| {
            let strongest = source.evidence.first();
            strongest.map_or(-1, |item| rules.number(item.detector) as i64)
        })
        .collect();
    let with_reasons = &sources[..sources.len().min(REASONS_MAX)];
    let why: Vec<Vec<(f64, &str)>> = with_reasons
        .iter()
        .map(|source| {
            let items = source.evidence.iter();
            items.map(|item| (item.weight, item.why.as_str())).collect()
        })
        .collect();
    let curves: Vec<String> = with_reasons
        .iter()
        .map(|source| curve(&source.curve))
        .collect();
    let names_of_sources: Vec<&str> = sources
        .iter()
        .map(|source| source.source.as_str())
        .collect();
    json!({
        "bands": Band::ALL.map(|band| json!({"key": band.key(), "short": short(band)})),
        "source": names_of_sources.join("\n"),
        "band": sources.iter().map(|source| Band::of(source.class, source.kind) as usize).collect::<Vec<_>>(),
        "requests": sources.iter().map(|source| source.requests).collect::<Vec<_>>(),
        "pages": sources.iter().map(|source| source.pages).collect::<Vec<_>>(),
        "bytes": sources.iter().map(|source| source.bytes).collect::<Vec<_>>(),
        "ms": if report.is_timed { sources.iter().map(|source| source.ms).collect::<Vec<_>>() } else { Vec::new() },
        "sure": sources.iter().map(|source| sure(source.confidence)).collect::<Vec<_>>(),
        "agents": agents.texts, "agent": agent,
        "names": names.texts, "name": name,
        "rules": rules.texts, "rule": rule,
        "why": why, "curve": curves,
    })
}

/// Each text once, by number.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Texts {
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len();
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// A curve as one letter a step, from 0 to z for the highest.
fn curve(steps: &[u32]) -> String {
    let top = steps.iter().copied().max().unwrap_or(0).max(1);
    steps
        .iter()
        .map(|step| {
            let height = (u64::from(*step) * 35).div_ceil(u64::from(top)) as u32;
            char::from_digit(height, 36).unwrap_or('0')
        })
        .collect()
}

fn short(band: Band) -> &'static str {
    match band {
        Band::Legitimate => "legitimate crawler",
        Band::Unproven => "search engine, unproven",
        Band::Unauthorized => "unauthorized crawler",
        Band::Masquerading => "masquerading crawler",
        _ => band.name(),
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
