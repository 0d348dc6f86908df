//! Crawlers hidden among the people of one source: as text, JSON and on the page.

use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::report::HiddenBy;
use cattlegrid_core::report::HiddenCrawler;
use cattlegrid_core::text::shorten;
use serde::Serialize;

use crate::html::escape;
use crate::json::EvidenceJson;
use crate::json::rounded;
use crate::json::time;
use crate::text::TextOptions;
use crate::text::detail;
use crate::text::reason;
use crate::words::count;
use crate::words::sure;

/// Rows on the page.
const SHOWN: usize = 200;

/// What tells it from the people there.
fn told_by(crawler: &HiddenCrawler) -> &'static str {
    match crawler.by {
        HiddenBy::Agent => "told by its user agent",
        HiddenBy::Session => "told by its session cookie",
        HiddenBy::NoSession => "told by its missing session cookie",
    }
}

fn head(crawler: &HiddenCrawler) -> String {
    format!(
        "{}, {:.1} % of the requests of {}: {}, {} % sure",
        told_by(crawler),
        100.0 * crawler.share,
        crawler.source,
        crawler.kind.map_or("crawler", |kind| kind.name()),
        sure(crawler.confidence)
    )
}

fn agent(crawler: &HiddenCrawler) -> &str {
    match crawler.agent.as_deref() {
        None | Some("") => "(no agent)",
        Some(agent) => agent,
    }
}

pub(crate) fn text(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    let Some(found) = &report.hidden else {
        return Ok(());
    };
    writeln!(
        page,
        "\nCrawlers hidden in sources that people share ({} of {})",
        count(found.len().min(options.top) as u64),
        count(found.len() as u64)
    )?;
    for crawler in found.iter().take(options.top) {
        let line = format!("  {:>10}  {}", count(crawler.requests), head(crawler));
        writeln!(page, "{}", shorten(&line, options.width))?;
        let mut line = |text: &str| detail(page, options, text);
        for evidence in crawler.evidence.iter().take(3) {
            line(&reason(evidence))?;
        }
        line(&format!("as {}", agent(crawler)))?;
    }
    Ok(())
}

pub(crate) fn html(report: &Report, page: &mut String) -> std::fmt::Result {
    let Some(found) = &report.hidden else {
        return Ok(());
    };
    writeln!(
        page,
        "<h2 id=\"hidden\">Crawlers hidden in sources that people share</h2><p class=\"soft\">Blocking such a source blocks its people, too.</p>"
    )?;
    for crawler in found.iter().take(SHOWN) {
        writeln!(
            page,
            "<details><summary>{} requests {}</summary><p class=\"path\">{}</p><ul>",
            count(crawler.requests),
            escape(&head(crawler)),
            escape(agent(crawler))
        )?;
        for evidence in &crawler.evidence {
            writeln!(
                page,
                "<li>{} <span class=\"soft\">{:+.0} dB</span></li>",
                escape(&evidence.why),
                evidence.weight
            )?;
        }
        writeln!(page, "</ul></details>")?;
    }
    match found.len() {
        0 => writeln!(page, "<p class=\"soft\">None was found.</p>"),
        many if many > SHOWN => {
            let more = count((many - SHOWN) as u64);
            writeln!(
                page,
                "<p class=\"soft\">{more} more in the JSON report.</p>"
            )
        }
        _ => Ok(()),
    }
}

#[derive(Serialize)]
pub(crate) struct HiddenJson<'a> {
    source: &'a str,
    by: &'static str,
    agent: Option<&'a str>,
    requests: u64,
    pages: u64,
    share: f64,
    first_seen: String,
    last_seen: String,
    kind: Option<&'static str>,
    confidence: f64,
    decibans: f64,
    evidence: Vec<EvidenceJson<'a>>,
}

impl<'a> HiddenJson<'a> {
    pub(crate) fn of(crawler: &'a HiddenCrawler) -> HiddenJson<'a> {
        HiddenJson {
            source: &crawler.source,
            by: crawler.by.name(),
            agent: crawler.agent.as_deref(),
            requests: crawler.requests,
            pages: crawler.pages,
            share: rounded(crawler.share),
            first_seen: time(crawler.first_seen),
            last_seen: time(crawler.last_seen),
            kind: crawler.kind.map(|kind| kind.name()),
            confidence: rounded(crawler.confidence),
            decibans: rounded(crawler.decibans),
            evidence: crawler.evidence.iter().map(EvidenceJson::of).collect(),
        }
    }
}
