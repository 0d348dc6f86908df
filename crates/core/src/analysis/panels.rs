//! Panels from a second look: each block of lines makes a part, and parts are added up in the order of the log.

mod agents;
mod tally;

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::SecondLook;
use super::Seen;
use super::lock;
use crate::knowledge::Knowledge;
use crate::knowledge::Purpose;
use crate::profile::host_of;
use crate::profile::path_of;
use crate::report::AiRobot;
use crate::report::PanelDay;
use crate::report::Panels;
use crate::report::PeoplePanels;
use crate::report::Report;
use crate::report::RobotReport;
use crate::report::Row;
use crate::report::SourcePanel;
use crate::request::Source;
use crate::verdict::Class;
use tally::Tally;

/// Rows of a panel.
const ROWS: usize = 30;
/// Targets of one source.
const SOURCE_ROWS: usize = 10;
/// Texts that are counted for one source.
const SOURCE_TEXTS: usize = 256;
/// Sources whose targets are counted: the heaviest that are no people.
const SOURCES_MAX: usize = 1000;
const DAY: u32 = 86_400;
/// Agents whose robots are remembered.
const AGENTS_MAX: usize = 1 << 16;

/// Hosts of search engines: a label of the referrer's host, as all their countries have it.
const SEARCH_ENGINES: [&str; 14] = [
    "google",
    "bing",
    "duckduckgo",
    "yandex",
    "baidu",
    "yahoo",
    "ecosia",
    "qwant",
    "startpage",
    "seznam",
    "naver",
    "sogou",
    "brave",
    "kagi",
];
/// Hosts of assistants that answer with links.
const ASSISTANTS: [&str; 11] = [
    "chatgpt.com",
    "chat.openai.com",
    "perplexity.ai",
    "claude.ai",
    "gemini.google.com",
    "copilot.microsoft.com",
    "chat.deepseek.com",
    "chat.mistral.ai",
    "grok.com",
    "meta.ai",
    "you.com",
];

/// What the gathering looks for.
#[derive(Debug)]
pub struct PanelPlan {
    /// Names robots by their user agents.
    knowledge: Arc<Knowledge>,
    /// The robots of agents that blocks before have met: a search in the list takes microseconds.
    known: Mutex<HashMap<Box<[u8]>, Option<u16>, RandomState>>,
    /// Sources whose targets are counted, with their names.
    heavy: HashMap<Source, String, RandomState>,
}

/// The panels of some blocks.
#[derive(Debug, Default)]
pub struct PanelPart {
    days: BTreeMap<u32, PanelDay>,
    /// Sources of each day.
    visitors: BTreeMap<u32, HashSet<Source, RandomState>>,
    hours: [u64; 24],
    statuses: BTreeMap<u16, u64>,
    pages: Tally,
    files: Tally,
    not_found: Tally,
    referrers: Tally,
    /// Hosts that parts of pages name as the page: the site's own.
    own: Tally,
    agents: Tally,
    hosts: Tally,
    robots: BTreeMap<u16, RobotPart>,
    /// The robot of each agent of these blocks.
    known: HashMap<Box<[u8]>, Option<u16>, RandomState>,
    sources: HashMap<Source, SourcePart, RandomState>,
}

#[derive(Debug, Default)]
struct RobotPart {
    requests: u64,
    views: u64,
    bytes: u64,
    days: BTreeMap<u32, u64>,
    pages: Tally,
}

#[derive(Debug, Default)]
struct SourcePart {
    statuses: BTreeMap<u16, u64>,
    pages: Tally,
}

impl SecondLook {
    /// What to gather for the panels of a report.
    pub fn plan_panels(&self, report: &Report) -> PanelPlan {
        let listed: HashSet<&str> = report
            .sources
            .iter()
            .filter(|source| source.class != Class::User)
            .take(SOURCES_MAX)
            .map(|source| source.source.as_str())
            .collect();
        let heavy = self
            .judged()
            .iter()
            .filter(|(_, judged)| judged.class != Class::User)
            .map(|(source, _)| (source, self.name(source)))
            .filter(|(_, name)| listed.contains(name.as_str()))
            .collect();
        PanelPlan {
            knowledge: self.knowledge().clone(),
            known: Mutex::default(),
            heavy,
        }
    }
}

impl PanelPlan {
    /// The number of the language model's robot that the agent names.
    fn ai_robot(&self, agent: &[u8]) -> Option<u16> {
        if let Some(robot) = lock(&self.known).get(agent) {
            return *robot;
        }
        let robot = self.find_ai_robot(agent);
        let mut known = lock(&self.known);
        if known.len() < AGENTS_MAX {
            known.insert(agent.into(), robot);
        }
        robot
    }

    fn find_ai_robot(&self, agent: &[u8]) -> Option<u16> {
        let robots = &self.knowledge.robots;
        let number = robots.find(agent)?;
        robots
            .robot(number)
            .is_some_and(|robot| is_ai(robot.purpose))
            .then_some(number)
    }
}

fn is_ai(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::Ai | Purpose::AiTraining | Purpose::AiSearch | Purpose::UserTriggered
    )
}

impl PanelPart {
    /// Takes one request in.
    pub fn see(&mut self, seen: &Seen<'_>, plan: &PanelPlan) {
        match seen.judged() {
            Some(judged) if judged.class == Class::User => return self.see_person(seen),
            Some(_) => {}
            None => return,
        }
        let request = seen.request;
        if plan.heavy.contains_key(&seen.glance.source) {
            let source = self.sources.entry(seen.glance.source).or_default();
            *source.statuses.entry(request.status).or_default() += 1;
            source.pages.add(request.target, request.bytes);
        }
        let agent = request.agent.value().unwrap_or_default();
        let robot = match self.known.get(agent) {
            Some(robot) => *robot,
            None => *self
                .known
                .entry(agent.into())
                .or_insert_with(|| plan.ai_robot(agent)),
        };
        if let Some(robot) = robot {
            self.robots.entry(robot).or_default().see(seen);
        }
    }

    fn see_person(&mut self, seen: &Seen<'_>) {
        let request = seen.request;
        let day = self.days.entry(request.time / DAY).or_default();
        day.requests += 1;
        day.bytes += request.bytes;
        day.views += u64::from(seen.is_view());
        *self.statuses.entry(request.status).or_default() += 1;
        if let Some(host) = request.host.value() {
            self.hosts.add(host, request.bytes);
        }
        match request.status {
            _ if seen.is_view() => self.see_view(seen),
            404 => self.not_found.add(request.target, request.bytes),
            200..=299 | 304 if !seen.glance.is_page || seen.call.is_some() => self.see_file(seen),
            _ => {}
        }
    }

    fn see_view(&mut self, seen: &Seen<'_>) {
        let request = seen.request;
        let visitors = self.visitors.entry(request.time / DAY).or_default();
        visitors.insert(seen.glance.source);
        self.hours[(request.time % DAY / 3600) as usize] += 1;
        self.pages.add(path_of(request.target), request.bytes);
        self.agents
            .add(request.agent.value().unwrap_or_default(), 0);
        if let Some(referrer) = request.referrer.value() {
            self.referrers.add(host_of(referrer), 0);
        }
    }

    fn see_file(&mut self, seen: &Seen<'_>) {
        let request = seen.request;
        let path = path_of(request.target);
        self.files.add(path, request.bytes);
        // Another site may show this one's pictures, but hardly runs its scripts.
        if (path.ends_with(b".js") || path.ends_with(b".css"))
            && let Some(referrer) = request.referrer.value()
        {
            self.own.add(host_of(referrer), 0);
        }
    }

    /// Adds the part that follows.
    pub fn absorb(&mut self, other: PanelPart) {
        for (day, other) in other.days {
            let own = self.days.entry(day).or_default();
            own.views += other.views;
            own.requests += other.requests;
            own.bytes += other.bytes;
        }
        for (day, visitors) in other.visitors {
            self.visitors.entry(day).or_default().extend(visitors);
        }
        for (own, other) in self.hours.iter_mut().zip(other.hours) {
            *own += other;
        }
        add_statuses(&mut self.statuses, other.statuses);
        for (own, other) in [
            (&mut self.pages, other.pages),
            (&mut self.files, other.files),
            (&mut self.not_found, other.not_found),
            (&mut self.referrers, other.referrers),
            (&mut self.own, other.own),
            (&mut self.agents, other.agents),
            (&mut self.hosts, other.hosts),
        ] {
            own.absorb(&other, tally::TEXTS_MAX);
        }
        for (robot, other) in other.robots {
            self.robots.entry(robot).or_default().absorb(other);
        }
        for (source, other) in other.sources {
            let own = self.sources.entry(source).or_default();
            add_statuses(&mut own.statuses, other.statuses);
            own.pages.absorb(&other.pages, SOURCE_TEXTS);
        }
    }

    /// The panels of the whole log.
    pub fn finish(mut self, plan: &PanelPlan) -> Panels {
        for (day, visitors) in &self.visitors {
            self.days.entry(*day).or_default().visitors = visitors.len() as u64;
        }
        let mut panels = Panels {
            sources: self
                .sources
                .into_iter()
                .filter_map(|(source, part)| {
                    Some((plan.heavy.get(&source)?.clone(), part.finish()))
                })
                .collect(),
            ..Panels::default()
        };
        robots(self.robots, &plan.knowledge, &mut panels);
        let missed = [&self.referrers, &self.agents, &self.hosts];
        let missed = missed.into_iter().map(Tally::missed).max().unwrap_or(0);
        let own_hosts = own_hosts(&self.own);
        let hosts = self.hosts.top(ROWS).rows;
        let (agents, referrers) = (self.agents.all(), self.referrers.all());
        let known = Referrers::of(referrers, &own_hosts, &hosts);
        panels.sent_back = known.assistants;
        panels.people = PeoplePanels {
            days: self.days,
            hours: self.hours,
            statuses: self.statuses,
            pages: self.pages.top(ROWS),
            files: self.files.top(ROWS),
            not_found: self.not_found.top(ROWS),
            referrers: known.sites,
            searches: known.searches,
            browsers: grouped(&agents, agents::browser),
            systems: grouped(&agents, agents::system),
            hosts,
            own_hosts,
            missed,
        };
        panels
    }
}

impl RobotPart {
    fn see(&mut self, seen: &Seen<'_>) {
        let request = seen.request;
        self.requests += 1;
        self.bytes += request.bytes;
        *self.days.entry(request.time / DAY).or_default() += 1;
        if seen.glance.is_page {
            self.views += u64::from(seen.is_view());
            self.pages.add(path_of(request.target), request.bytes);
        }
    }

    fn absorb(&mut self, other: RobotPart) {
        self.requests += other.requests;
        self.views += other.views;
        self.bytes += other.bytes;
        for (day, requests) in other.days {
            *self.days.entry(day).or_default() += requests;
        }
        self.pages.absorb(&other.pages, tally::TEXTS_MAX);
    }
}

impl SourcePart {
    fn finish(self) -> SourcePanel {
        SourcePanel {
            statuses: self.statuses,
            pages: self.pages.top(SOURCE_ROWS),
        }
    }
}

/// Robots of language models, and what those with one purpose took together.
fn robots(parts: BTreeMap<u16, RobotPart>, knowledge: &Knowledge, panels: &mut Panels) {
    let mut pages: BTreeMap<&'static str, Tally> = BTreeMap::new();
    for (number, part) in parts {
        let Some(robot) = knowledge.robots.robot(number) else {
            continue;
        };
        let purpose = robot.purpose;
        let days = panels.ai_days.entry(purpose.name()).or_default();
        for (day, requests) in part.days {
            *days.entry(day).or_default() += requests;
        }
        let of_purpose = pages.entry(purpose.name()).or_default();
        of_purpose.absorb(&part.pages, tally::TEXTS_MAX);
        panels.ai.push(AiRobot {
            robot: RobotReport::of(robot, knowledge),
            requests: part.requests,
            pages: part.views,
            bytes: part.bytes,
        });
    }
    panels
        .ai
        .sort_by(|a, b| (b.requests, &a.robot.name).cmp(&(a.requests, &b.robot.name)));
    panels.ai_pages = pages
        .into_iter()
        .map(|(purpose, pages)| (purpose, pages.top(SOURCE_ROWS)))
        .collect();
}

/// Hosts that more than one in a hundred scripts and style sheets name as their page's.
fn own_hosts(named: &Tally) -> Vec<String> {
    let top = named.top(ROWS);
    let rows = top.rows.into_iter();
    rows.filter(|row| row.requests * 100 > top.requests)
        .map(|row| row.text)
        .collect()
}

/// Referring hosts by what they are.
struct Referrers {
    sites: Vec<Row>,
    searches: Vec<Row>,
    assistants: Vec<Row>,
}

impl Referrers {
    fn of(all: Vec<Row>, own_hosts: &[String], hosts: &[Row]) -> Referrers {
        let is_own = |name: &str| {
            own_hosts.iter().any(|own| own == name)
                || hosts
                    .iter()
                    .any(|host| host.text.eq_ignore_ascii_case(name))
        };
        let (mut sites, mut searches, mut assistants) = (Vec::new(), Vec::new(), Vec::new());
        for row in all {
            let name = row.text.strip_prefix("www.").unwrap_or(&row.text);
            let labels = || name.split('.');
            if is_own(&row.text) || name.is_empty() {
                continue;
            } else if ASSISTANTS.contains(&name) {
                assistants.push(row);
            } else if labels().any(|label| SEARCH_ENGINES.contains(&label)) {
                searches.push(row);
            } else {
                sites.push(row);
            }
        }
        let name = |host: &str| {
            let found = host.split('.').find(|label| SEARCH_ENGINES.contains(label));
            found.unwrap_or("").to_owned()
        };
        let searches = grouped(&searches, name);
        sites.truncate(ROWS);
        Referrers {
            sites,
            searches,
            assistants,
        }
    }
}

/// Rows put together under the name that each one's text has.
fn grouped<Name: Into<String>>(rows: &[Row], name: impl Fn(&str) -> Name) -> Vec<Row> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        *sums.entry(name(&row.text).into()).or_default() += row.requests;
    }
    let mut rows: Vec<Row> = sums
        .into_iter()
        .map(|(text, requests)| Row {
            text,
            requests,
            bytes: 0,
        })
        .collect();
    rows.sort_by(|a, b| (b.requests, &a.text).cmp(&(a.requests, &b.text)));
    rows.truncate(ROWS);
    rows
}

fn add_statuses(own: &mut BTreeMap<u16, u64>, other: BTreeMap<u16, u64>) {
    for (status, requests) in other {
        *own.entry(status).or_default() += requests;
    }
}
