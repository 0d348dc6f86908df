//! Panels from a second look: each thread makes parts, which are added up. All of it is sums, so that their order does not matter.

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
use crate::request::SourceKind;
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
    days: Days,
    hours: [u64; 24],
    statuses: Statuses,
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
    recent: Recent,
}

/// Whose requests these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// People's.
    Person,
    /// Those of a source whose targets are counted.
    Heavy,
    /// Another's that was judged.
    Other,
    /// Nobody knows.
    Unknown,
}

/// Sources of the last requests: whoever loads a page asks for its parts next, and a search among all sources takes as long as reading a
/// line.
#[derive(Debug)]
struct Recent(Vec<(Source, Whose)>);

/// Sources that are remembered; a later one takes the place of an earlier one.
const RECENT: usize = 4096;

impl Default for Recent {
    fn default() -> Recent {
        let nobody = Source {
            kind: SourceKind::Token,
            value: 0,
        };
        Recent(vec![(nobody, Whose::Unknown); RECENT])
    }
}

impl Recent {
    #[inline]
    fn whose(&mut self, source: Source, find: impl FnOnce() -> Whose) -> Whose {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let place = source.value.wrapping_mul(SPREAD) >> (u64::BITS - RECENT.ilog2());
        let known = &mut self.0[place as usize];
        if known.0 != source {
            *known = (source, find());
        }
        known.1
    }
}

/// What people did on each day.
#[derive(Debug, Default)]
struct Days {
    days: Vec<OfDay>,
    /// The place of the day of the last request: the next is nearly always of the same.
    last: usize,
}

#[derive(Debug, Default)]
struct OfDay {
    number: u32,
    sums: PanelDay,
    visitors: HashSet<Source, RandomState>,
}

impl Days {
    fn of(&mut self, number: u32) -> &mut OfDay {
        let is_last = |day: &OfDay| day.number == number;
        if !self.days.get(self.last).is_some_and(is_last) {
            let place = self.days.iter().position(is_last);
            self.last = place.unwrap_or_else(|| {
                self.days.push(OfDay {
                    number,
                    ..OfDay::default()
                });
                self.days.len() - 1
            });
        }
        &mut self.days[self.last]
    }

    fn absorb(&mut self, other: &mut Days) {
        for other in other.days.drain(..) {
            let own = self.of(other.number);
            own.sums.views += other.sums.views;
            own.sums.requests += other.sums.requests;
            own.sums.bytes += other.sums.bytes;
            own.visitors.extend(other.visitors);
        }
    }

    fn finish(self) -> BTreeMap<u32, PanelDay> {
        let day = |day: OfDay| {
            let visitors = day.visitors.len() as u64;
            (
                day.number,
                PanelDay {
                    visitors,
                    ..day.sums
                },
            )
        };
        self.days.into_iter().map(day).collect()
    }
}

/// Requests by status; a list, since a site has few.
#[derive(Debug, Default)]
struct Statuses(Vec<(u16, u64)>);

impl Statuses {
    fn add(&mut self, status: u16, requests: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == status) {
            Some((_, sum)) => *sum += requests,
            None => self.0.push((status, requests)),
        }
    }

    fn absorb(&mut self, other: &mut Statuses) {
        other
            .0
            .drain(..)
            .for_each(|(status, requests)| self.add(status, requests));
    }

    fn finish(self) -> BTreeMap<u16, u64> {
        self.0.into_iter().collect()
    }
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
    statuses: Statuses,
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
        let find = || match seen.judged() {
            Some(judged) if judged.class == Class::User => Whose::Person,
            Some(_) if plan.heavy.contains_key(&seen.glance.source) => Whose::Heavy,
            Some(_) => Whose::Other,
            None => Whose::Unknown,
        };
        let whose = self.recent.whose(seen.glance.source, find);
        match whose {
            Whose::Person => return self.see_person(seen),
            Whose::Heavy | Whose::Other => {}
            Whose::Unknown => return,
        }
        let request = seen.request;
        if whose == Whose::Heavy {
            let source = self.sources.entry(seen.glance.source).or_default();
            source.statuses.add(request.status, 1);
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
        let day = self.days.of(request.time / DAY);
        day.sums.requests += 1;
        day.sums.bytes += request.bytes;
        if seen.is_view() {
            day.sums.views += 1;
            day.visitors.insert(seen.glance.source);
        }
        self.statuses.add(request.status, 1);
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

    /// Takes over what is in parts: all that were made since the last time, so that what is forgotten does not depend on threads.
    pub fn absorb(&mut self, parts: &mut [PanelPart]) {
        parts.iter_mut().for_each(|part| self.add(part));
        for tally in [
            &mut self.pages,
            &mut self.files,
            &mut self.not_found,
            &mut self.referrers,
            &mut self.own,
            &mut self.agents,
            &mut self.hosts,
        ] {
            tally.bound(tally::TEXTS_MAX);
        }
        for robot in self.robots.values_mut() {
            robot.pages.bound(tally::TEXTS_MAX);
        }
        for source in self.sources.values_mut() {
            source.pages.bound(SOURCE_TEXTS);
        }
    }

    fn add(&mut self, other: &mut PanelPart) {
        self.days.absorb(&mut other.days);
        for (own, other) in self.hours.iter_mut().zip(&mut other.hours) {
            *own += std::mem::take(other);
        }
        self.statuses.absorb(&mut other.statuses);
        // A log may have another agent in every line.
        other.known.clear();
        for (own, other) in [
            (&mut self.pages, &mut other.pages),
            (&mut self.files, &mut other.files),
            (&mut self.not_found, &mut other.not_found),
            (&mut self.referrers, &mut other.referrers),
            (&mut self.own, &mut other.own),
            (&mut self.agents, &mut other.agents),
            (&mut self.hosts, &mut other.hosts),
        ] {
            own.absorb(other);
            other.clear();
        }
        for (robot, other) in std::mem::take(&mut other.robots) {
            self.robots.entry(robot).or_default().absorb(other);
        }
        for (source, other) in &mut other.sources {
            let own = self.sources.entry(*source).or_default();
            own.statuses.absorb(&mut other.statuses);
            own.pages.absorb(&other.pages);
            other.pages.clear();
        }
    }

    /// The panels of the whole log.
    pub fn finish(self, plan: &PanelPlan) -> Panels {
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
            days: self.days.finish(),
            hours: self.hours,
            statuses: self.statuses.finish(),
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
        self.pages.absorb(&other.pages);
    }
}

impl SourcePart {
    fn finish(self) -> SourcePanel {
        SourcePanel {
            statuses: self.statuses.finish(),
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
        of_purpose.absorb(&part.pages);
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
