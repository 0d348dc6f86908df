//! Crawlers that are more than one source, or less: campaigns, groups, and those hidden among the people of a source.

use std::sync::Arc;

use crate::knowledge::AutonomousSystem;
use crate::profile::BIN_SECONDS;
use crate::verdict::Evidence;
use crate::verdict::Kind;
use crate::verdict::Verdict;

/// Sources that crawl as one in one window.
#[derive(Debug, Clone)]
pub struct CampaignReport {
    /// How it was found: by times, agent, habit, session, cookie, network or system.
    pub how: &'static str,
    /// First second of the window.
    pub start: u32,
    /// First second after it.
    pub end: u32,
    /// The host, where each was judged for itself.
    pub host: Option<Arc<str>>,
    /// Names of its sources, sorted.
    pub members: Vec<String>,
    /// /24 or /48 networks they come from.
    pub networks: u64,
    /// Autonomous systems with the sources in each, where they are known.
    pub systems: Vec<(AutonomousSystem, u32)>,
    /// Agents, each with the sources that use it most.
    pub agents: Vec<(String, u32)>,
    /// All their requests.
    pub requests: u64,
    /// All their page requests.
    pub pages: u64,
    /// Different pages, an estimate where they are many.
    pub distinct_pages: u64,
    /// Bytes sent to them.
    pub bytes: u64,
    /// Their share of all requests in the window.
    pub share: f64,
    /// Their first request.
    pub first_seen: u32,
    /// Their last request.
    pub last_seen: u32,
    /// What kind of crawler they are.
    pub kind: Option<Kind>,
    /// How sure, from 0.5 to 1.
    pub confidence: f64,
    /// Sum of evidence in decibans.
    pub decibans: f64,
    /// What shows when they are judged together, strongest first.
    pub evidence: Vec<Evidence>,
    /// Sources that are busy at the same time, on average.
    pub at_once: f64,
    /// Their requests together in each half hour of the window.
    pub series: Vec<u32>,
    /// The pages they ask for most, where some are known.
    pub paths: Vec<(String, u64)>,
    /// The campaign of the window before that most of its sources belonged to, or that shares its agents.
    pub before: Option<CampaignBefore>,
}

/// Sources that share something in one window, judged as one, whatever came out.
#[derive(Debug, Clone)]
pub struct GroupReport {
    /// What kind of thing they share: a name of [`CampaignReport::how`].
    pub how: &'static str,
    /// What they share, in words.
    pub shared: String,
    /// First second of the window.
    pub start: u32,
    /// First second after it.
    pub end: u32,
    /// The host, where each was judged for itself.
    pub host: Option<Arc<str>>,
    /// How many sources.
    pub sources: u32,
    /// Their requests.
    pub requests: u64,
    /// Their page requests.
    pub pages: u64,
    /// What they are together.
    pub verdict: Verdict,
    /// The campaign they are or belong to, as a place in the list.
    pub campaign: Option<u32>,
}

/// Campaigns by Algorithm 1 of the PubCrawl paper, which compares series of requests alone.
#[derive(Debug, Clone)]
pub struct PaperCampaigns {
    /// How alike series must be.
    pub k: f64,
    /// Sources that were compared, each once in a window.
    pub compared: usize,
    /// Sources that were heavy enough and left out all the same, because there were too many.
    pub left_out: usize,
    /// Most requests first.
    pub all: Vec<PaperCampaign>,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct PaperCampaign {
    /// First second of the window.
    pub start: u32,
    /// First second after it.
    pub end: u32,
    /// The host, where each was judged for itself.
    pub host: Option<Arc<str>>,
    /// Names of its sources, sorted.
    pub members: Vec<String>,
    /// /24 or /48 networks they come from.
    pub networks: usize,
    /// Agents, each with the sources that use it most.
    pub agents: Vec<(String, u32)>,
    /// All their requests.
    pub requests: u64,
    /// The campaign in our list that most of them belong to, as a place in that list, and how many of them do.
    pub ours: Option<(u32, usize)>,
}

/// A crawler among the people of one source.
#[derive(Debug, Clone)]
pub struct HiddenCrawler {
    /// The source that it shares with people.
    pub source: String,
    /// What tells it from them.
    pub by: HiddenBy,
    /// Its user agent, where that is known.
    pub agent: Option<String>,
    /// Its requests.
    pub requests: u64,
    /// Its page requests.
    pub pages: u64,
    /// Its share of the source's requests.
    pub share: f64,
    /// Its first request.
    pub first_seen: u32,
    /// Its last request.
    pub last_seen: u32,
    /// What kind of crawler it is.
    pub kind: Option<Kind>,
    /// How sure, from 0.5 to 1.
    pub confidence: f64,
    /// Sum of evidence in decibans.
    pub decibans: f64,
    /// All findings about its requests alone, strongest first.
    pub evidence: Vec<Evidence>,
}

/// What tells a crawler from the people of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HiddenBy {
    /// Its user agent.
    Agent,
    /// Its session cookie.
    Session,
    /// Its user agent, and that it never sends the session cookie back.
    NoSession,
}

impl HiddenBy {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            HiddenBy::Agent => "agent",
            HiddenBy::Session => "session",
            HiddenBy::NoSession => "no_session",
        }
    }
}

/// A campaign in the window before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CampaignBefore {
    /// Its place in the list.
    pub number: usize,
    /// Its sources then.
    pub members: usize,
    /// Sources of both windows.
    pub kept: usize,
    /// Its requests then.
    pub requests: u64,
}

impl CampaignReport {
    /// True where hardly two of its sources are busy at the same time, though each is for hours.
    pub fn takes_turns(&self) -> bool {
        const BUSY_MIN: f64 = 6.0;
        let active = self.series.iter().filter(|count| **count > 0).count();
        let busy_each = self.at_once * active as f64 / self.members.len().max(1) as f64;
        self.at_once < 1.5 && busy_each >= BUSY_MIN
    }

    /// Requests a day, over the days from the first to the last.
    pub fn requests_per_day(&self) -> u64 {
        let seconds = u64::from(self.last_seen - self.first_seen).max(86_400);
        self.requests * 86_400 / seconds
    }

    /// Requests by hour of the day (UTC).
    pub fn hours(&self) -> [u64; 24] {
        let mut hours = [0; 24];
        for (bin, count) in (0_u32..).zip(&self.series) {
            let hour = (self.start + bin * BIN_SECONDS) / 3600 % 24;
            hours[hour as usize] += u64::from(*count);
        }
        hours
    }
}
