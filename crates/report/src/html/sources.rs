//! The table of sources: rows that are there without a script, and the data from which the page's script makes the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::report::Band;
use cattlegrid_core::report::SourceReport;
use serde_json::json;

use super::escape;
use super::short;
use super::unwanted;
use crate::words::count;
use crate::words::minute;
use crate::words::size;
use crate::words::sure;
use crate::words::window_of_evidence;

/// Sources whose reasons are part of the page; the others have their strongest rule.
const REASONS_MAX: usize = 3000;
/// Sources in the table.
const SOURCES_MAX: usize = 150_000;
/// Sources in the table that is there without a script.
const PLAIN_ROWS: usize = 30;

pub(super) fn sources(report: &Report, page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "<h2 id=\"list\">Sources</h2><p class=\"soft\">All crawlers and programs, and everybody else from {} requests on. Open a row for its reasons.</p>\n\
         <div id=\"interactive\" hidden><div class=\"tools\" role=\"group\" aria-label=\"Show only\">",
        count(report.min_requests)
    )?;
    // What nobody asked for comes first, where there is any.
    let (unwanted, others): (Vec<&SourceReport>, Vec<&SourceReport>) = report
        .sources
        .iter()
        .partition(|source| unwanted::is_unwanted(source.class, source.kind));
    let mut buttons = vec![("unwanted", "unwanted"), ("all", "all")];
    if unwanted.is_empty() {
        buttons.remove(0);
    }
    for (at, (key, name)) in buttons.into_iter().enumerate() {
        writeln!(
            page,
            "<button type=\"button\" data-band=\"{key}\" aria-pressed=\"{}\">{name}</button>",
            at == 0
        )?;
    }
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
    for source in unwanted.into_iter().chain(others).take(PLAIN_ROWS) {
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

/// The table's data by column: a hundred thousand rows take five megabytes so, and three times as much by row.
pub(super) fn data(report: &Report) -> serde_json::Value {
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
        "bands": Band::ALL.map(|band| json!({
            "key": band.key(),
            "short": short(band),
            "unwanted": matches!(band, Band::Unauthorized | Band::Masquerading),
        })),
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
        "seen": with_reasons.iter().map(|source| format!("{} to {} UTC", minute(source.first_seen), minute(source.last_seen))).collect::<Vec<_>>(),
        "window": with_reasons.iter().map(window_of_evidence).collect::<Vec<_>>(),
        "many": with_reasons.iter().map(|source| source.agents).collect::<Vec<_>>(),
        "attack": with_reasons.iter().map(|source| unwanted::attack(&source.evidence)).collect::<Vec<_>>(),
        "got": with_reasons.iter().map(|source| got(report, source)).collect::<Vec<_>>(),
        "decibans": unwanted::DECIBANS,
    })
}

/// What a source asked for most and how it was answered, where every request was looked at again.
fn got(report: &Report, source: &SourceReport) -> Option<serde_json::Value> {
    let panel = report.panels.as_ref()?.sources.get(&source.source)?;
    let statuses = panel.statuses.iter();
    let pages = panel.pages.rows.iter();
    Some(json!({
        "statuses": statuses.map(|(status, requests)| format!("{status}: {}", count(*requests))).collect::<Vec<_>>().join(", "),
        "pages": pages.map(|row| (row.requests, row.text.as_str())).collect::<Vec<_>>(),
    }))
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
