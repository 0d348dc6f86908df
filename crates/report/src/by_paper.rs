//! Campaigns by the paper's Algorithm 1, beside ours: as text, JSON and on the page.

use std::fmt::Write as _;

use cattlegrid_core::Report;
use cattlegrid_core::report::PaperCampaign;
use cattlegrid_core::report::PaperCampaigns;
use cattlegrid_core::text::shorten;
use serde::Serialize;

use crate::html::escape;
use crate::json::rounded;
use crate::json::time;
use crate::text::TextOptions;
use crate::text::detail;
use crate::words::count;

/// Rows on the page.
const SHOWN: usize = 200;

/// What the list is, in a line.
fn head(found: &PaperCampaigns) -> String {
    let left_out = match found.left_out {
        0 => String::new(),
        sources => format!(", {} lighter ones left out", count(sources as u64)),
    };
    format!(
        "Algorithm 1, k = {:.2}, {} series compared{left_out}",
        found.k,
        count(found.compared as u64)
    )
}

fn sources(campaign: &PaperCampaign) -> String {
    let networks = match campaign.networks {
        0 | 1 => "one network".to_owned(),
        networks => format!("{} networks", count(networks as u64)),
    };
    let sources = count(campaign.members.len() as u64);
    format!("{sources} sources in {networks}")
}

/// Where they stand in our list.
fn ours(campaign: &PaperCampaign) -> String {
    match campaign.ours {
        None => "not among our campaigns".to_owned(),
        Some((number, members)) => {
            format!(
                "{} of them in our campaign {}",
                count(members as u64),
                number + 1
            )
        }
    }
}

/// The agent that most of them use.
fn agent(campaign: &PaperCampaign) -> &str {
    let first = campaign.agents.first();
    match first.map_or("", |(agent, _)| agent.as_str()) {
        "" => "(no agent)",
        agent => agent,
    }
}

pub(crate) fn text(report: &Report, options: &TextOptions, page: &mut String) -> std::fmt::Result {
    let Some(found) = &report.paper_campaigns else {
        return Ok(());
    };
    writeln!(
        page,
        "\nCampaigns by the paper's algorithm ({} of {}; {}; no evidence)",
        count(found.all.len().min(options.top) as u64),
        count(found.all.len() as u64),
        head(found)
    )?;
    for campaign in found.all.iter().take(options.top) {
        let line = format!(
            "  {:>10}  {}, {}",
            count(campaign.requests),
            sources(campaign),
            ours(campaign)
        );
        writeln!(page, "{}", shorten(&line, options.width))?;
        detail(page, options, &format!("as {}", agent(campaign)))?;
    }
    Ok(())
}

pub(crate) fn html(report: &Report, page: &mut String) -> std::fmt::Result {
    let Some(found) = &report.paper_campaigns else {
        return Ok(());
    };
    writeln!(
        page,
        "<h2 id=\"paper-campaigns\">Campaigns by the paper's algorithm</h2><p class=\"soft\">{}. It compares numbers of requests over time and nothing else, and is no evidence. The number of our campaign is its place in the list above.</p>",
        head(found)
    )?;
    for campaign in found.all.iter().take(SHOWN) {
        let names: Vec<String> = campaign
            .members
            .iter()
            .take(SHOWN)
            .map(|member| escape(member))
            .collect();
        let more = match campaign.members.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {} more", count(more as u64)),
        };
        writeln!(
            page,
            "<details><summary>{} requests, {}, {}: {}</summary><p class=\"path\">{}{more}</p></details>",
            count(campaign.requests),
            sources(campaign),
            ours(campaign),
            escape(agent(campaign)),
            names.join(", ")
        )?;
    }
    if found.all.len() > SHOWN {
        let more = count((found.all.len() - SHOWN) as u64);
        writeln!(
            page,
            "<p class=\"soft\">{more} more in the JSON report.</p>"
        )?;
    }
    Ok(())
}

#[derive(Serialize)]
pub(crate) struct PaperCampaignsJson<'a> {
    k: f64,
    compared: usize,
    left_out: usize,
    campaigns: Vec<PaperCampaignJson<'a>>,
}

#[derive(Serialize)]
struct PaperCampaignJson<'a> {
    start: String,
    end: String,
    host: Option<&'a str>,
    sources: &'a [String],
    subnets: usize,
    agents: Vec<PaperAgentJson<'a>>,
    requests: u64,
    campaign: Option<u32>,
    sources_in_campaign: usize,
}

#[derive(Serialize)]
struct PaperAgentJson<'a> {
    agent: &'a str,
    sources: u32,
}

impl<'a> PaperCampaignsJson<'a> {
    pub(crate) fn of(found: &'a PaperCampaigns) -> PaperCampaignsJson<'a> {
        PaperCampaignsJson {
            k: rounded(found.k),
            compared: found.compared,
            left_out: found.left_out,
            campaigns: found.all.iter().map(PaperCampaignJson::of).collect(),
        }
    }
}

impl<'a> PaperCampaignJson<'a> {
    fn of(campaign: &'a PaperCampaign) -> PaperCampaignJson<'a> {
        let agents = campaign.agents.iter();
        PaperCampaignJson {
            start: time(campaign.start),
            end: time(campaign.end),
            host: campaign.host.as_deref(),
            sources: &campaign.members,
            subnets: campaign.networks,
            agents: agents
                .map(|(agent, sources)| PaperAgentJson {
                    agent,
                    sources: *sources,
                })
                .collect(),
            requests: campaign.requests,
            campaign: campaign.ours.map(|(number, _)| number),
            sources_in_campaign: campaign.ours.map_or(0, |(_, sources)| sources),
        }
    }
}
