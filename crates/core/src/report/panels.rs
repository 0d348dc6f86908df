//! What people asked for, what robots of language models took, and what crawlers that nobody asked for did: from a second look at every
//! request.

use std::collections::BTreeMap;

use super::RobotReport;

/// Everything the panels show.
#[derive(Debug, Clone, Default)]
pub struct Panels {
    /// Requests of people.
    pub people: PeoplePanels,
    /// Robots of language models, most requests first.
    pub ai: Vec<AiRobot>,
    /// The pages that robots with one purpose asked for most, by the purpose's name.
    pub ai_pages: BTreeMap<&'static str, Top>,
    /// Requests of robots with one purpose on each day, in days since 1970.
    pub ai_days: BTreeMap<&'static str, BTreeMap<u32, u64>>,
    /// Page views of people that assistants sent here, by the assistant's host.
    pub sent_back: Vec<Row>,
    /// What heavy sources that are no people asked for, by their name in the report.
    pub sources: BTreeMap<String, SourcePanel>,
}

/// Requests of people. A page view is a page that the site really sent: neither an error nor a redirect.
#[derive(Debug, Clone, Default)]
pub struct PeoplePanels {
    /// By day since 1970.
    pub days: BTreeMap<u32, PanelDay>,
    /// Page views by hour of the day, UTC.
    pub hours: [u64; 24],
    /// Requests by status of the answer.
    pub statuses: BTreeMap<u16, u64>,
    /// Page views by path, without what follows a question mark.
    pub pages: Top,
    /// Files and parts of pages that were sent, by path.
    pub files: Top,
    /// Targets that were not found (404).
    pub not_found: Top,
    /// Page views by the site that led there; neither the own site nor a search engine.
    pub referrers: Vec<Row>,
    /// Page views by the search engine that led there.
    pub searches: Vec<Row>,
    /// Page views by browser.
    pub browsers: Vec<Row>,
    /// Page views by operating system.
    pub systems: Vec<Row>,
    /// Requests by host, where the log names hosts.
    pub hosts: Vec<Row>,
    /// The site's own hosts, as far as referrers show them.
    pub own_hosts: Vec<String>,
    /// Referrers, agents and hosts that were left out because there were too many may have had so many views each.
    pub missed: u64,
}

/// One day of people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PanelDay {
    /// Sources of people that were there.
    pub visitors: u64,
    /// Page views.
    pub views: u64,
    /// All their requests.
    pub requests: u64,
    /// Bytes sent to them.
    pub bytes: u64,
}

/// A text with how often it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The text, ready to be shown.
    pub text: String,
    /// How often.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// The texts that came most often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Top {
    /// Most often first.
    pub rows: Vec<Row>,
    /// All requests, with those that are not in the rows.
    pub requests: u64,
    /// How much too low a count may be; 0 where all are exact.
    pub missed: u64,
}

/// A robot of a language model.
#[derive(Debug, Clone)]
pub struct AiRobot {
    /// Its name, what it comes for and who runs it.
    pub robot: RobotReport,
    /// Requests under its name.
    pub requests: u64,
    /// Page views among them.
    pub pages: u64,
    /// Bytes sent to it.
    pub bytes: u64,
}

/// What one source asked for and got.
#[derive(Debug, Clone, Default)]
pub struct SourcePanel {
    /// Requests by status of the answer.
    pub statuses: BTreeMap<u16, u64>,
    /// The targets it asked for most.
    pub pages: Top,
}
