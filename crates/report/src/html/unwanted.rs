//! Who costs most and was not asked for: campaigns and single sources in one list, each with its reasons and the command that blocks it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use cattlegrid_core::Report;
use cattlegrid_core::report::Band;
use cattlegrid_core::report::CampaignReport;
use cattlegrid_core::report::SourcePanel;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Evidence;
use cattlegrid_core::verdict::Kind;

use super::escape;
use super::short;
use crate::campaigns;
use crate::words::count;
use crate::words::minute;
use crate::words::share;
use crate::words::size;
use crate::words::span;
use crate::words::sure;
use crate::words::window_of_evidence;

/// Entries of the list.
const SHOWN: usize = 20;
/// Sources that one command names.
const COMMAND_MAX: usize = 200;
/// What decibans are, where they stand.
pub(crate) const DECIBANS: &str =
    "dB are decibans: 10 dB make a crawler ten times likelier, -10 dB a person.";

/// One entry of the list.
enum Who<'a> {
    Campaign(usize, &'a CampaignReport),
    /// Sources under one robot's name.
    Robot(String, Vec<&'a SourceReport>),
    Source(&'a SourceReport),
}

impl Who<'_> {
    fn requests(&self) -> u64 {
        match self {
            Who::Campaign(_, campaign) => campaign.requests,
            Who::Robot(_, sources) => sources.iter().map(|source| source.requests).sum(),
            Who::Source(source) => source.requests,
        }
    }
}

/// A crawler that was not asked for, or that hides.
pub(crate) fn is_unwanted(class: Class, kind: Option<Kind>) -> bool {
    matches!(
        Band::of(class, kind),
        Band::Unauthorized | Band::Masquerading
    )
}

pub(super) fn html(report: &Report, page: &mut String) -> std::fmt::Result {
    let bands = [Band::Unauthorized, Band::Masquerading];
    let requests: u64 = bands
        .iter()
        .flat_map(|band| &report.timeline.bands[*band as usize])
        .sum();
    let listed = list(report);
    writeln!(page, "<h2 id=\"unwanted\">Unwanted, heaviest first</h2>")?;
    if listed.is_empty() {
        return writeln!(
            page,
            "<p>No crawler was found that hides or that nobody asked for.</p>"
        );
    }
    writeln!(
        page,
        "<p class=\"soft\">Crawlers that hide or that nobody asked for sent {} requests, {} of all. Open one for its reasons and the command that blocks it. {DECIBANS}</p>",
        count(requests),
        share(requests, report.all().requests)
    )?;
    for who in listed.iter().take(SHOWN) {
        match who {
            Who::Campaign(number, campaign) => campaigns::story(*number, campaign, page)?,
            Who::Robot(name, sources) => robot(name, sources, page)?,
            Who::Source(source) => story(source, report, page)?,
        }
    }
    match listed.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(
            page,
            "<p class=\"soft\">{} more: see <a href=\"#campaigns\">campaigns</a> and <a href=\"#list\">sources</a>.</p>",
            count(more as u64)
        ),
    }
}

/// Places of the campaigns that the list names.
pub(crate) fn listed_campaigns(report: &Report) -> Vec<usize> {
    let listed = list(report).into_iter().take(SHOWN);
    listed
        .filter_map(|who| match who {
            Who::Campaign(number, _) => Some(number),
            Who::Robot(..) | Who::Source(_) => None,
        })
        .collect()
}

/// Unwanted campaigns, and unwanted sources that belong to none of these: those under one robot's name together. Most requests first.
fn list(report: &Report) -> Vec<Who<'_>> {
    let is_listed = |number: usize| {
        let campaign = report.campaigns.get(number);
        campaign.is_some_and(|campaign| is_unwanted(Class::Crawler, campaign.kind))
    };
    let campaigns = report.campaigns.iter().enumerate();
    let mut all: Vec<Who<'_>> = campaigns
        .filter(|(number, _)| is_listed(*number))
        .map(|(number, campaign)| Who::Campaign(number, campaign))
        .collect();
    let mut robots: BTreeMap<String, Vec<&SourceReport>> = BTreeMap::new();
    for source in &report.sources {
        if !is_unwanted(source.class, source.kind) || source.campaign.is_some_and(is_listed) {
            continue;
        }
        match &source.robot {
            Some(robot) => robots.entry(robot.to_string()).or_default().push(source),
            None => all.push(Who::Source(source)),
        }
    }
    all.extend(robots.into_iter().map(|(name, sources)| match sources[..] {
        [source] => Who::Source(source),
        _ => Who::Robot(name, sources),
    }));
    all.sort_by_key(|who| std::cmp::Reverse(who.requests()));
    all
}

fn robot(name: &str, sources: &[&SourceReport], page: &mut String) -> std::fmt::Result {
    let sum = |value: fn(&SourceReport) -> u64| sources.iter().map(|source| value(source)).sum();
    let kind = Band::of(sources[0].class, sources[0].kind);
    writeln!(
        page,
        "<details class=\"card who\" style=\"--band:var(--{})\"><summary><span><strong>{} requests</strong> of {} sources: {}</span><span class=\"soft\">it names itself: {}</span></summary>",
        kind.key(),
        count(sum(|source| source.requests)),
        count(sources.len() as u64),
        escape(name),
        escape(
            sources[0]
                .agent
                .as_deref()
                .unwrap_or("the text of its user agent was not kept")
        )
    )?;
    writeln!(
        page,
        "<p class=\"soft\">{}; {} page requests; {}</p>",
        short(kind),
        count(sum(|source| source.pages)),
        size(sum(|source| source.bytes))
    )?;
    let names: Vec<String> = sources.iter().map(|source| source.source.clone()).collect();
    campaigns::folded("source", names.iter().cloned(), names.len(), page)?;
    // Its name, where all its agents have it; else the addresses.
    let robot = sources[0]
        .robot
        .as_ref()
        .map_or("", |robot| robot.name.as_str());
    let has_name = |source: &&SourceReport| {
        let agent = source.agent.as_deref().unwrap_or_default();
        is_plain(robot) && agent.contains(robot)
    };
    let command = match sources.iter().all(has_name) {
        true => Some(format!("cattlegrid kb deny agent:{robot} --days 30")),
        false => deny_all(&names),
    };
    if let Some(command) = command {
        writeln!(page, "<pre>{}</pre>", escape(&command))?;
    }
    writeln!(page, "</details>")
}

/// A name that a shell leaves as it is.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// The command that blocks some sources; none where they are pseudonyms or tokens, or too many for a command.
pub(crate) fn deny_all(sources: &[String]) -> Option<String> {
    deny(sources.first()?)?;
    (sources.len() <= COMMAND_MAX).then(|| {
        format!(
            "cattlegrid kb import - --as deny --days 30 <<END\n{}\nEND",
            sources.join("\n")
        )
    })
}

fn story(source: &SourceReport, report: &Report, page: &mut String) -> std::fmt::Result {
    let band = Band::of(source.class, source.kind);
    let why = source.evidence.first().map_or("", |item| item.why.as_str());
    let cost = match report.is_timed {
        true => format!("{}, {} of server time", size(source.bytes), span(source.ms)),
        false => size(source.bytes),
    };
    writeln!(
        page,
        "<details class=\"card who\" style=\"--band:var(--{})\"><summary><span><strong>{} requests</strong> {}{}</span><span class=\"soft\">{}{}</span></summary>",
        band.key(),
        count(source.requests),
        escape(&source.source),
        source
            .robot
            .as_ref()
            .map_or_else(String::new, |robot| format!(
                ", {}",
                escape(&robot.to_string())
            )),
        attack(&source.evidence).map_or_else(String::new, |attack| format!("{attack}; ")),
        escape(why)
    )?;
    writeln!(
        page,
        "<p class=\"soft\">{}, {} % sure; {} page requests; {cost}; {} to {} UTC</p>",
        short(band),
        sure(source.confidence),
        count(source.pages),
        minute(source.first_seen),
        minute(source.last_seen)
    )?;
    if let Some(window) = window_of_evidence(source) {
        writeln!(page, "<p class=\"soft\">Reasons: {window}.</p>")?;
    }
    reasons(&source.evidence, page)?;
    if let Some(agent) = &source.agent {
        writeln!(page, "<p class=\"agent\">{}</p>", escape(agent))?;
    }
    let panels = report.panels.as_ref();
    if let Some(panel) = panels.and_then(|panels| panels.sources.get(&source.source)) {
        got(panel, page)?;
    }
    if let Some(command) = deny(&source.source) {
        writeln!(page, "<pre>{}</pre>", escape(&command))?;
    }
    writeln!(page, "</details>")
}

/// What a source asked for most, and how it was answered.
fn got(panel: &SourcePanel, page: &mut String) -> std::fmt::Result {
    let statuses = panel.statuses.iter();
    let statuses: Vec<String> = statuses
        .map(|(status, requests)| format!("{status}: {}", count(*requests)))
        .collect();
    writeln!(
        page,
        "<p class=\"soft\">Answers: {}. Asked for most:</p><ul class=\"why\">",
        statuses.join(", ")
    )?;
    for row in &panel.pages.rows {
        writeln!(
            page,
            "<li class=\"path\">{} × {}</li>",
            count(row.requests),
            escape(&row.text)
        )?;
    }
    writeln!(page, "</ul>")
}

/// Findings with their weights.
pub(crate) fn reasons(evidence: &[Evidence], page: &mut String) -> std::fmt::Result {
    writeln!(page, "<ul class=\"why\">")?;
    for item in evidence {
        writeln!(
            page,
            "<li>{} <span class=\"soft\">{:+.0} dB</span></li>",
            escape(&item.why),
            item.weight
        )?;
    }
    writeln!(page, "</ul>")
}

/// What a source attacks, where that shows.
pub(crate) fn attack(evidence: &[Evidence]) -> Option<&'static str> {
    let named = [
        ("hammered_login", "attack: guesses passwords"),
        ("probed_weak_spots", "attack: looks for weak spots"),
        ("posted_blindly", "attack: fills in forms"),
    ];
    let found = |detector: &str| {
        evidence
            .iter()
            .any(|item| item.detector == detector && item.weight > 0.0)
    };
    named
        .into_iter()
        .find(|(detector, _)| found(detector))
        .map(|(_, name)| name)
}

/// The command that blocks a source. A pseudonym or a token from the log cannot be blocked.
pub(crate) fn deny(source: &str) -> Option<String> {
    let address = source
        .split_once('/')
        .map_or(source, |(address, _)| address);
    address.parse::<IpAddr>().ok()?;
    Some(format!("cattlegrid kb deny {source} --days 30"))
}
