//! Panels from a second look at requests that were kept. All of it is sums, so that their order does not matter.

mod agents;
mod count;
mod tally;
mod visitors;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use super::SecondLook;
use super::lock;
use crate::knowledge::Knowledge;
use crate::knowledge::Purpose;
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
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::HashSet;
use tally::Sum;
use tally::Tally;
use visitors::Visitors;

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

/// What was counted so far.
#[derive(Debug, Default)]
pub struct PanelSums {
    /// Without visitors.
    days: BTreeMap<u32, PanelDay>,
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
    robots: BTreeMap<u16, RobotSums>,
    /// By the part of the judgements that sources are in.
    parts: Vec<OfPart>,
}

/// What is known of sources.
#[derive(Debug, Default)]
struct OfPart {
    visitors: Visitors,
    sources: HashMap<Source, SourceSums, RandomState>,
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

    fn absorb(&mut self, other: Statuses) {
        for (status, requests) in other.0 {
            self.add(status, requests);
        }
    }

    fn finish(self) -> BTreeMap<u16, u64> {
        self.0.into_iter().collect()
    }
}

#[derive(Debug, Default)]
struct RobotSums {
    sum: Sum,
    views: u64,
    days: BTreeMap<u32, u64>,
    pages: Tally,
}

#[derive(Debug, Default)]
struct SourceSums {
    statuses: Statuses,
    /// Requests by the numbers of their targets, until the texts are looked at.
    counted: HashMap<u32, Sum, RandomState>,
    pages: Tally,
}

impl SecondLook {
    /// What to gather for the panels of a report.
    pub fn plan_panels(&self, report: &Report) -> PanelPlan {
        let listed = report
            .sources
            .iter()
            .filter(|source| source.class != Class::User)
            .take(SOURCES_MAX);
        let listed = listed.map(|source| source.source.as_str()).collect();
        PanelPlan {
            knowledge: self.knowledge().clone(),
            known: Mutex::default(),
            heavy: self.named(listed),
        }
    }

    /// The sources with these names that are no people's.
    pub(super) fn named(
        &self,
        mut names: HashSet<&str, RandomState>,
    ) -> HashMap<Source, String, RandomState> {
        let mut named = HashMap::default();
        // Most names say which source they mean.
        names.retain(|name| {
            let source = self.source(name);
            let is_it = self.name(source) == *name;
            let judged = self.judged().get(source);
            if is_it && judged.is_some_and(|judged| judged.class != Class::User) {
                named.insert(source, (*name).to_owned());
            }
            !is_it
        });
        // Pseudonyms do not, and there may be millions of sources to be named.
        if !names.is_empty() {
            let all = self.judged().iter();
            let others = all.filter(|(_, judged)| judged.class != Class::User);
            let others = others.map(|(source, _)| (source, self.name(source)));
            named.extend(others.filter(|(_, name)| names.contains(name.as_str())));
        }
        named
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

impl PanelSums {
    /// Forgets what came least, where there is too much.
    fn bound(&mut self) {
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
        for part in &mut self.parts {
            for source in part.sources.values_mut() {
                source.pages.bound(SOURCE_TEXTS);
            }
        }
    }

    /// The panels of the whole log.
    pub fn finish(mut self, plan: &PanelPlan) -> Panels {
        let mut panels = Panels::default();
        for part in self.parts {
            for (day, _) in part.visitors {
                self.days.entry(day).or_default().visitors += 1;
            }
            for (source, sums) in part.sources {
                if let Some(name) = plan.heavy.get(&source) {
                    panels.sources.insert(name.clone(), sums.finish());
                }
            }
        }
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

impl SourceSums {
    fn finish(self) -> SourcePanel {
        SourcePanel {
            statuses: self.statuses.finish(),
            pages: self.pages.top(SOURCE_ROWS),
        }
    }
}

/// Robots of language models, and what those with one purpose took together.
fn robots(parts: BTreeMap<u16, RobotSums>, knowledge: &Knowledge, panels: &mut Panels) {
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
            requests: part.sum.requests,
            pages: part.views,
            bytes: part.sum.bytes,
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
