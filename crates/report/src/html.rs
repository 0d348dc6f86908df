//! The report as one page that needs nothing else: no network, no other file. Charts are drawn here; the page's script only sorts
//! and pages the table of sources.

mod ai;
mod people;
mod sources;
mod tables;
mod timeline;
pub(crate) mod unwanted;

use std::fmt::Write as _;
use std::io;
use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cattlegrid_core::Report;
use cattlegrid_core::report::Band;
use cattlegrid_core::verdict::Class;
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
use crate::words::write_text_of;

pub(crate) const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

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
    contents(report, page)?;
    writeln!(page, "<main>")?;
    cards(report, page)?;
    unwanted::html(report, page)?;
    timeline::chart(&report.timeline, page)?;
    people::html(report, page)?;
    ai::html(report, page)?;
    sources::sources(report, page)?;
    campaigns::html(report, page)?;
    by_paper::html(report, page)?;
    hidden::html(report, page)?;
    tables::purposes(report, page)?;
    manners::html(report, page)?;
    tables::hosts(report, page)?;
    tables::paths(report, page)?;
    tables::statuses(report, page)?;
    tables::not_judged(report, page)?;
    tables::lines(report, page)?;
    writeln!(
        page,
        "</main>\n<footer>Made by cattlegrid from access logs. Every verdict has its reasons; none is certain.</footer>"
    )?;
    writeln!(
        page,
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>",
        // A closing tag inside a text must not end the block.
        sources::data(report).to_string().replace('<', "\\u003c")
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

/// Links to the parts of the page.
fn contents(report: &Report, page: &mut String) -> std::fmt::Result {
    let panels = report.panels.as_deref();
    let has_people =
        panels.is_some_and(|panels| panels.people.days.values().any(|day| day.views > 0));
    let has_ai = panels.is_some_and(|panels| !panels.ai.is_empty() || !panels.sent_back.is_empty());
    let links = [
        ("unwanted", "unwanted", true),
        ("people", "people", has_people),
        ("ai", "language models", has_ai),
        ("list", "all sources", true),
    ];
    write!(page, "<nav aria-label=\"Parts of this page\">")?;
    for (id, name, _) in links.into_iter().filter(|(.., is_there)| *is_there) {
        write!(page, "<a href=\"#{id}\">{name}</a>")?;
    }
    writeln!(page, "</nav>")
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
