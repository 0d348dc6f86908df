//! The stories of campaigns: what was found, as the report tells it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::finish::Court;
use super::sample::Sample;
use crate::campaigns::ByPaper;
use crate::campaigns::Campaign;
use crate::campaigns::PaperCluster;
use crate::report::CampaignBefore;
use crate::report::CampaignReport;
use crate::report::GroupReport;
use crate::report::PaperCampaign;
use crate::report::PaperCampaigns;
use crate::request::Source;
use crate::table::Window;
use crate::text::printable;

/// Agents of a campaign that are listed.
const AGENTS_MAX: usize = 20;

impl Court<'_> {
    /// The stories of all campaigns.
    pub(super) fn describe_campaigns(&self, sample: &Sample) -> Vec<CampaignReport> {
        let all = &self.campaigns.all;
        let paths = sample.paths_of(all.len(), |source, time| {
            let (number, _) = self.clock.place(time);
            // Hosts are not told apart in the sample.
            let window = Window::new(number, 0);
            self.campaigns.number(source, window).map(|at| at as usize)
        });
        all.iter()
            .zip(paths)
            .map(|(campaign, paths)| CampaignReport {
                paths,
                before: self.before(campaign),
                ..self.describe_campaign(campaign)
            })
            .collect()
    }

    /// All groups that were judged together.
    pub(super) fn describe_groups(&self) -> Vec<GroupReport> {
        let groups = self.campaigns.groups.iter();
        groups
            .map(|group| {
                let (start, end) = self.clock.span(group.window);
                let of = self.campaigns.number(group.member, group.window);
                GroupReport {
                    how: group.how.name(),
                    shared: group.shared.clone(),
                    start,
                    end,
                    host: self.host(group.window),
                    sources: group.sources,
                    requests: u64::from(group.requests),
                    pages: u64::from(group.pages),
                    verdict: group.verdict.clone(),
                    campaign: of.filter(|_| group.is_campaign),
                }
            })
            .collect()
    }

    /// The campaigns of the paper's algorithm, beside ours.
    pub(super) fn describe_paper_campaigns(&self, found: ByPaper) -> PaperCampaigns {
        let all = found.all.iter();
        PaperCampaigns {
            k: found.k,
            compared: found.compared,
            left_out: found.left_out,
            all: all.map(|cluster| self.describe_cluster(cluster)).collect(),
        }
    }

    fn describe_cluster(&self, cluster: &PaperCluster) -> PaperCampaign {
        let (start, end) = self.clock.span(cluster.window);
        let mut ours: BTreeMap<u32, usize> = BTreeMap::new();
        let members = cluster.members.iter();
        for number in members.filter_map(|source| self.campaigns.number(*source, cluster.window)) {
            *ours.entry(number).or_default() += 1;
        }
        let agents = cluster.agents.iter().take(AGENTS_MAX);
        PaperCampaign {
            start,
            end,
            host: self.host(cluster.window),
            members: self.member_names(&cluster.members),
            networks: cluster.networks,
            agents: agents
                .map(|(agent, sources)| (self.agent_text(*agent), *sources))
                .collect(),
            requests: cluster.requests,
            ours: ours
                .into_iter()
                .max_by_key(|(number, sources)| (*sources, Reverse(*number))),
        }
    }

    /// Names of sources, in an order that tells nothing where they are pseudonyms.
    fn member_names(&self, members: &[Source]) -> Vec<String> {
        let mut names: Vec<String> = members.iter().map(|source| self.name(*source)).collect();
        if self.settings.pseudonyms.is_some() {
            names.sort_unstable();
        }
        names
    }

    fn agent_text(&self, agent: u32) -> String {
        self.agents.text(agent).map_or_else(String::new, printable)
    }

    fn describe_campaign(&self, campaign: &Campaign) -> CampaignReport {
        let (start, end) = self.clock.span(campaign.window);
        let (profile, verdict) = (&campaign.profile, &campaign.verdict);
        let all = self.campaigns.requests[&campaign.window].max(1);
        CampaignReport {
            how: campaign.how.name(),
            start,
            end,
            host: self.host(campaign.window),
            members: self.member_names(&campaign.members),
            networks: campaign.networks,
            systems: campaign.systems.clone(),
            agents: campaign
                .agents
                .iter()
                .take(AGENTS_MAX)
                .map(|(agent, sources)| (self.agent_text(*agent), *sources))
                .collect(),
            requests: u64::from(profile.requests),
            pages: u64::from(profile.pages),
            // An estimate where they are many.
            distinct_pages: profile.distinct_pages.count().min(u64::from(profile.pages)),
            bytes: profile.bytes,
            share: f64::from(profile.requests) / all as f64,
            first_seen: profile.first_seen,
            last_seen: profile.last_seen,
            kind: verdict.kind,
            confidence: verdict.confidence(),
            decibans: verdict.decibans,
            evidence: verdict.evidence.clone(),
            at_once: campaign.at_once,
            series: profile.bins.dense(self.clock.bins as usize),
            paths: Vec::new(),
            before: None,
        }
    }

    /// The campaign of the window before that has most members in common, or the same main agent where none has any.
    fn before(&self, campaign: &Campaign) -> Option<CampaignBefore> {
        let number = campaign.window.number().checked_sub(1)?;
        let window = Window::new(number, campaign.window.host());
        let all = self.campaigns.all.iter().enumerate();
        let earlier = all.filter(|(_, other)| other.window == window);
        let kept = |other: &Campaign| {
            let is_there = |source: &&Source| other.members.binary_search(source).is_ok();
            campaign.members.iter().filter(is_there).count()
        };
        let same_agent = |other: &Campaign| {
            let top = |campaign: &Campaign| campaign.agents.first().map(|(agent, _)| *agent);
            other.how == campaign.how && top(other).is_some() && top(other) == top(campaign)
        };
        earlier
            .map(|(number, other)| (kept(other), same_agent(other), number, other))
            .filter(|(kept, same_agent, _, _)| *kept > 0 || *same_agent)
            .max_by_key(|(kept, same_agent, number, _)| {
                (*kept, *same_agent, std::cmp::Reverse(*number))
            })
            .map(|(kept, _, number, other)| CampaignBefore {
                number,
                members: other.members.len(),
                kept,
                requests: u64::from(other.profile.requests),
            })
    }
}
