//! The stories of campaigns: who crawls together, how much, when, what, and why we think so.

use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::knowledge::AutonomousSystem;
use cattlegrid_core::report::CampaignReport;
use cattlegrid_core::report::GroupReport;
use cattlegrid_core::text::shorten;
use serde::Serialize;

use crate::html::escape;
use crate::html::unwanted;
use crate::html::unwanted::DECIBANS;
use crate::json::EvidenceJson;
use crate::json::rounded;
use crate::json::time;
use crate::text::TextOptions;
use crate::text::detail;
use crate::text::reason;
use crate::words::count;
use crate::words::minute;
use crate::words::size;
use crate::words::sure;

/// Campaigns on the page.
const SHOWN: usize = 50;
/// Sources of one that the page names.
const MEMBERS_SHOWN: usize = 200;
/// Size of the picture of the shared series.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 60.0;

/// How many sources, where from, and what they share.
fn head(campaign: &CampaignReport) -> String {
    let networks = match campaign.networks {
        0 | 1 => "one network".to_owned(),
        networks => format!("{} networks", count(networks)),
    };
    let shared = match (campaign.how, campaign.agents.len()) {
        ("times", _) => "come at the same times",
        ("agent", 0 | 1) => "share a user agent",
        ("agent", _) => "share some user agents",
        ("habit", _) => "share a user agent, follow no links and load no parts of pages",
        ("manner", _) => "visit once for a few pages in a way no browser does",
        ("session", _) => "send the same session cookie",
        ("cookie", _) => "share a user agent and drop their session cookies",
        ("system", _) => "share an autonomous system",
        ("login", _) => "send passwords to one log-in form",
        ("form", _) => "send one form and ask for hardly anything else",
        _ => "share a network",
    };
    let turns = if campaign.takes_turns() {
        ", and take turns"
    } else {
        ""
    };
    format!(
        "{} sources in {networks} that {shared}{turns}",
        count(campaign.members.len() as u64)
    )
}

/// How much they took, and when.
fn volume(campaign: &CampaignReport) -> String {
    let pages = match campaign.distinct_pages {
        1 => "page",
        _ => "distinct pages",
    };
    format!(
        "{} requests, {:.1} % of the site's; {} of them for {} {pages}; {}; {} to {} UTC, {}",
        count(campaign.requests),
        100.0 * campaign.share,
        count(campaign.pages),
        count(campaign.distinct_pages),
        size(campaign.bytes),
        minute(campaign.first_seen),
        minute(campaign.last_seen),
        hours(campaign)
    )
}

/// The hours in which half of the requests come.
fn hours(campaign: &CampaignReport) -> String {
    let hours = campaign.hours();
    let all: u64 = hours.iter().sum();
    let sum =
        |first: usize, many: usize| (first..first + many).map(|at| hours[at % 24]).sum::<u64>();
    // The shortest stretch, and of equals the earliest.
    for many in 1..=24 {
        if let Some(first) = (0..24).find(|first| sum(*first, many) * 2 >= all) {
            return match many {
                11..=24 => "by day and by night".to_owned(),
                _ => format!("half of them from {first} to {} h", (first + many) % 24),
            };
        }
    }
    String::new()
}

/// What has changed since the window before.
fn change(campaign: &CampaignReport) -> Option<String> {
    let before = campaign.before?;
    let change = 100.0 * (campaign.requests as f64 / before.requests.max(1) as f64 - 1.0);
    Some(format!(
        "in the window before: {} sources, {} of them still there; requests {change:+.0} %",
        count(before.members as u64),
        count(before.kept as u64)
    ))
}

/// The providers that most of its sources come from, where that is known.
fn systems(campaign: &CampaignReport) -> Option<String> {
    let name = |(system, sources): &(AutonomousSystem, u32)| {
        format!(
            "{} (AS{}, {} sources)",
            system.name,
            system.number,
            count(u64::from(*sources))
        )
    };
    let shown: Vec<String> = campaign.systems.iter().take(3).map(name).collect();
    let more = match campaign.systems.len() {
        0 => return None,
        1..=3 => String::new(),
        systems => format!(" and {} others", count(systems as u64 - 3)),
    };
    Some(format!("from {}{more}", shown.join(", ")))
}

fn kind(campaign: &CampaignReport) -> &'static str {
    campaign
        .kind
        .map_or("by its name alone", |kind| kind.name())
}

pub(crate) fn text(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    let all = &report.campaigns;
    if all.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\nCampaigns: sources that crawl as one ({} of {})",
        count(all.len().min(options.top) as u64),
        count(all.len() as u64)
    )?;
    for campaign in all.iter().take(options.top) {
        let head = format!(
            "  {:>10}  {}: {}, {} % sure",
            count(campaign.requests),
            head(campaign),
            kind(campaign),
            sure(campaign.confidence)
        );
        writeln!(page, "{}", shorten(&head, options.width))?;
        let mut line = |text: &str| detail(page, options, text);
        line(&volume(campaign))?;
        for evidence in campaign.evidence.iter().take(3) {
            line(&reason(evidence))?;
        }
        if let Some((agent, sources)) = campaign.agents.first() {
            let others = match campaign.agents.len() {
                1 => String::new(),
                agents => format!(
                    " ({} of them; {} other agents)",
                    count(u64::from(*sources)),
                    agents - 1
                ),
            };
            let agent = if agent.is_empty() {
                "(no agent)"
            } else {
                agent
            };
            line(&format!("as {agent}{others}"))?;
        }
        if let Some(systems) = systems(campaign) {
            line(&systems)?;
        }
        if let Some(change) = change(campaign) {
            line(&change)?;
        }
    }
    Ok(())
}

pub(crate) fn html(report: &Report, page: &mut String) -> std::fmt::Result {
    // Those that cost most stand at the top of the page.
    let listed = unwanted::listed_campaigns(report);
    let others: Vec<(usize, &CampaignReport)> = report
        .campaigns
        .iter()
        .enumerate()
        .filter(|(number, _)| !listed.contains(number))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let title = match listed.is_empty() {
        true => "Campaigns",
        false => "Other campaigns",
    };
    writeln!(
        page,
        "<h2 id=\"campaigns\">{title}</h2><p class=\"soft\">Sources that crawl as one: each alone may send too little to be judged. The picture shows the requests of all of them together. {DECIBANS}</p>"
    )?;
    for (number, campaign) in others.iter().take(SHOWN) {
        story(*number, campaign, page)?;
    }
    match others.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(
            page,
            "<p class=\"soft\">{} more in the JSON report.</p>",
            count(more as u64)
        ),
    }
}

/// One campaign, folded: what it is in a line, and its story for whoever opens it.
pub(crate) fn story(
    number: usize,
    campaign: &CampaignReport,
    page: &mut String,
) -> std::fmt::Result {
    let why = campaign.evidence.first();
    writeln!(
        page,
        "<details class=\"card who\" style=\"--band:var(--{})\"><summary><span><strong>{} requests</strong> of {}{}</span><span class=\"soft\">{}{}</span></summary>",
        campaign.kind.map_or("unproven", |kind| kind.name()),
        count(campaign.requests),
        head(campaign),
        campaign
            .host
            .as_ref()
            .map_or_else(String::new, |host| format!(", on {}", escape(host))),
        attack(campaign).map_or_else(String::new, |attack| format!("{attack}; ")),
        why.map_or_else(String::new, |item| escape(&item.why))
    )?;
    picture(campaign, page)?;
    writeln!(
        page,
        "<p class=\"soft\">{}, {} % sure; {}</p>",
        kind(campaign),
        sure(campaign.confidence),
        volume(campaign)
    )?;
    unwanted::reasons(&campaign.evidence, page)?;
    for note in [systems(campaign), change(campaign)].into_iter().flatten() {
        writeln!(page, "<p>{}</p>", escape(&note))?;
    }
    folded(
        "agent",
        campaign
            .agents
            .iter()
            .map(|(agent, sources)| format!("{} ({})", agent, count(u64::from(*sources)))),
        campaign.agents.len(),
        page,
    )?;
    folded(
        "page",
        campaign.paths.iter().map(|(path, _)| path.clone()),
        campaign.paths.len(),
        page,
    )?;
    folded(
        "source",
        campaign.members.iter().cloned(),
        campaign.members.len(),
        page,
    )?;
    if let Some(command) = deny(number, &campaign.members) {
        writeln!(page, "<pre>{}</pre>", escape(&command))?;
    }
    writeln!(page, "</details>")
}

/// What it attacks, where that shows.
fn attack(campaign: &CampaignReport) -> Option<&'static str> {
    match campaign.how {
        "login" => Some("attack: guesses passwords"),
        "form" => Some("attack: fills in forms"),
        _ => unwanted::attack(&campaign.evidence),
    }
}

/// The command that blocks all its sources: with their addresses, or with those of the JSON report where they are many.
fn deny(number: usize, members: &[String]) -> Option<String> {
    // Pseudonyms and tokens cannot be blocked.
    unwanted::deny(members.first()?)?;
    unwanted::deny_all(members).or_else(|| {
        Some(format!(
            "jq -r '.campaigns[{number}].sources[]' report.json | cattlegrid kb import - --as deny --days 30"
        ))
    })
}

/// A list that opens when asked for.
pub(crate) fn folded(
    what: &str,
    items: impl Iterator<Item = String>,
    many: usize,
    page: &mut String,
) -> std::fmt::Result {
    if many == 0 {
        return Ok(());
    }
    let shown: Vec<String> = items
        .take(MEMBERS_SHOWN)
        .map(|item| escape(&item))
        .collect();
    let more = many.saturating_sub(MEMBERS_SHOWN);
    let rest = if more > 0 {
        format!(" and {} more", count(more as u64))
    } else {
        String::new()
    };
    writeln!(
        page,
        "<details><summary>{} {what}{}</summary><p class=\"path\">{}{rest}</p></details>",
        count(many as u64),
        if many == 1 { "" } else { "s" },
        shown.join(", ")
    )
}

/// Requests of all sources together in each half hour.
fn picture(campaign: &CampaignReport, page: &mut String) -> std::fmt::Result {
    let most = campaign.series.iter().copied().max().unwrap_or(0).max(1);
    let step = WIDTH / campaign.series.len().max(1) as f64;
    write!(
        page,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"100%\" height=\"{HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"requests of all its sources in each half hour, at most {most}\"><polyline fill=\"none\" stroke=\"var(--band)\" stroke-width=\"1\" vector-effect=\"non-scaling-stroke\" points=\""
    )?;
    for (at, requests) in campaign.series.iter().enumerate() {
        write!(
            page,
            "{:.1},{:.1} ",
            at as f64 * step,
            HEIGHT - 1.0 - f64::from(*requests) / f64::from(most) * (HEIGHT - 2.0)
        )?;
    }
    writeln!(page, "\"/></svg>")
}

#[derive(Serialize)]
pub(crate) struct CampaignJson<'a> {
    id: usize,
    how: &'static str,
    start: String,
    end: String,
    host: Option<&'a str>,
    kind: Option<&'static str>,
    confidence: f64,
    decibans: f64,
    sources: &'a [String],
    subnets: u64,
    systems: Vec<SystemJson<'a>>,
    agents: Vec<AgentJson<'a>>,
    requests: u64,
    requests_per_day: u64,
    pages: u64,
    distinct_pages: u64,
    bytes: u64,
    share: f64,
    first_seen: String,
    last_seen: String,
    busy_at_once: f64,
    takes_turns: bool,
    hours: [u64; 24],
    series: &'a [u32],
    paths: Vec<&'a str>,
    evidence: Vec<EvidenceJson<'a>>,
    before: Option<BeforeJson>,
}

#[derive(Serialize)]
struct SystemJson<'a> {
    number: u32,
    name: &'a str,
    sources: u32,
}

#[derive(Serialize)]
struct AgentJson<'a> {
    agent: &'a str,
    sources: u32,
}

#[derive(Serialize)]
pub(crate) struct GroupJson<'a> {
    how: &'static str,
    shared: &'a str,
    start: String,
    end: String,
    host: Option<&'a str>,
    sources: u32,
    requests: u64,
    pages: u64,
    class: &'static str,
    kind: Option<&'static str>,
    confidence: f64,
    decibans: f64,
    evidence: Vec<EvidenceJson<'a>>,
    campaign: Option<u32>,
}

impl<'a> GroupJson<'a> {
    pub(crate) fn of(group: &'a GroupReport) -> GroupJson<'a> {
        let verdict = &group.verdict;
        GroupJson {
            how: group.how,
            shared: &group.shared,
            start: time(group.start),
            end: time(group.end),
            host: group.host.as_deref(),
            sources: group.sources,
            requests: group.requests,
            pages: group.pages,
            class: verdict.class.name(),
            kind: verdict.kind.map(|kind| kind.name()),
            confidence: rounded(verdict.confidence()),
            decibans: rounded(verdict.decibans),
            evidence: verdict.evidence.iter().map(EvidenceJson::of).collect(),
            campaign: group.campaign,
        }
    }
}

#[derive(Serialize)]
struct BeforeJson {
    campaign: usize,
    sources: usize,
    kept: usize,
    requests: u64,
}

impl<'a> CampaignJson<'a> {
    pub(crate) fn of((id, campaign): (usize, &'a CampaignReport)) -> CampaignJson<'a> {
        CampaignJson {
            id,
            how: campaign.how,
            start: time(campaign.start),
            end: time(campaign.end),
            host: campaign.host.as_deref(),
            kind: campaign.kind.map(|kind| kind.name()),
            confidence: rounded(campaign.confidence),
            decibans: rounded(campaign.decibans),
            sources: &campaign.members,
            subnets: campaign.networks,
            systems: campaign
                .systems
                .iter()
                .map(|(system, sources)| SystemJson {
                    number: system.number,
                    name: &system.name,
                    sources: *sources,
                })
                .collect(),
            agents: campaign
                .agents
                .iter()
                .map(|(agent, sources)| AgentJson {
                    agent,
                    sources: *sources,
                })
                .collect(),
            requests: campaign.requests,
            requests_per_day: campaign.requests_per_day(),
            pages: campaign.pages,
            distinct_pages: campaign.distinct_pages,
            bytes: campaign.bytes,
            share: rounded(campaign.share),
            first_seen: time(campaign.first_seen),
            last_seen: time(campaign.last_seen),
            busy_at_once: rounded(campaign.at_once),
            takes_turns: campaign.takes_turns(),
            hours: campaign.hours(),
            series: &campaign.series,
            paths: campaign
                .paths
                .iter()
                .map(|(path, _)| path.as_str())
                .collect(),
            evidence: campaign.evidence.iter().map(EvidenceJson::of).collect(),
            before: campaign.before.map(|before| BeforeJson {
                campaign: before.number,
                sources: before.members,
                kept: before.kept,
                requests: before.requests,
            }),
        }
    }
}
