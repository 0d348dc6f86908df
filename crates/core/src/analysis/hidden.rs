//! Crawlers hidden in sources that people share, such as the proxy of a university.
//!
//! A profile tells how many user agents a source has, not what each of them does. The log is therefore read a second time, for the
//! heaviest shared sources only: their requests are split by user agent, and by session cookie where it is logged, and each part is
//! judged by the same rules as a source. Memory is bounded: [`SOURCES_MAX`] sources, [`PARTS_MAX`] parts of each.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::sync::Arc;

use cattlegrid_learn::series::Scratch;
use rayon::prelude::*;

use super::Analysis;
use super::finish::gather;
use super::finish::name;
use super::sites::sites;
use crate::Settings;
use crate::evidence::Context;
use crate::knowledge::Knowledge;
use crate::profile::AgentIndex;
use crate::profile::Profile;
use crate::profile::Record;
use crate::profile::flag;
use crate::report::HiddenBy;
use crate::report::HiddenCrawler;
use crate::report::Report;
use crate::report::SourceReport;
use crate::request::Source;
use crate::site::Site;
use crate::table::Clock;
use crate::table::Table;
use crate::table::Window;
use crate::text::printable;
use crate::verdict::Class;
use crate::verdict::Verdict;
use crate::verdict::judge;

/// Sources that are split, the heaviest first.
const SOURCES_MAX: usize = 128;
/// Parts of one source; a part takes up to 2 KiB.
const PARTS_MAX: usize = 512;
/// Sessions of one source that have sent one request so far.
const SINGLES_MAX: usize = 1024;
/// Requests in a window from which a source is worth a second look.
const SOURCE_REQUESTS_MIN: u32 = 300;
/// Requests and pages in a window from which a part is judged.
const REQUESTS_MIN: u32 = 100;
const PAGES_MIN: u32 = 50;
/// Evidence that it takes, in decibans. A hundred agents are a hundred chances to be wrong, so it takes more than for a source.
const DECIBANS_MIN: f64 = 13.0;
/// Evidence that it takes without traffic shape: the people who share a browser within a gateway come in a shape of their own, which
/// no model has learned.
const BEHAVIOUR_MIN: f64 = 8.0;
/// Agents from which a source that is a crawler as a whole may still have people in it.
const CRAWLER_AGENTS_MIN: usize = 4;
/// Requests without a session, or with a session that never came again, for each session that did: people begin each visit with one.
const SINGLES_PER_SESSION: u32 = 4;

/// A part of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The requests under one user agent.
    Agent(u32),
    /// The requests of one session.
    Session(u32),
    /// The requests under one user agent whose session is empty or never comes again.
    Single(u32),
}

/// What is known of a part.
#[derive(Debug, Default)]
struct Slice {
    windows: Vec<(Window, Profile)>,
    requests: u32,
    last_seen: u32,
    /// Of an agent: its sessions that sent more than one request.
    sessions: u32,
}

impl Slice {
    fn observe(&mut self, record: &Record, clock: &Clock) {
        let (number, bin) = clock.place(record.time);
        let window = Window::new(number, record.host);
        if self.windows.last().is_none_or(|(last, _)| *last != window) {
            // Hosts take turns within one window of time.
            match self.windows.iter().position(|(known, _)| *known == window) {
                Some(at) => {
                    let last = self.windows.len() - 1;
                    self.windows.swap(at, last);
                }
                None => self.windows.push((window, Profile::default())),
            }
        }
        if let Some((_, profile)) = self.windows.last_mut() {
            profile.observe(record, 0, bin, clock.bins as usize);
        }
        self.requests = self.requests.saturating_add(1);
        self.last_seen = self.last_seen.max(record.time);
    }
}

/// One source, split.
#[derive(Debug, Default)]
struct Inside {
    /// The source as a whole is a crawler.
    is_crawler: bool,
    requests: u64,
    parts: BTreeMap<Part, Slice>,
    /// Sessions that sent more than one request.
    sessions: u64,
    /// The only request so far of each new session, and the order in which they came.
    singles: BTreeMap<u32, Record>,
    order: VecDeque<u32>,
}

impl Inside {
    fn observe(&mut self, record: &Record, clock: &Clock) {
        self.requests += 1;
        if record.has(flag::AGENT_LOGGED) {
            self.add(Part::Agent(record.agent), record, clock);
        }
        if record.has(flag::SESSION_EMPTY) {
            self.add(Part::Single(record.agent), record, clock);
        } else if record.has(flag::SESSION_LOGGED) {
            self.observe_session(record, clock);
        }
    }

    /// The second request of a session makes it a part. Until then it waits, for a while.
    fn observe_session(&mut self, record: &Record, clock: &Clock) {
        let part = Part::Session(record.session);
        if self.parts.contains_key(&part) {
            self.add(part, record, clock);
        } else if let Some(first) = self.singles.remove(&record.session) {
            self.add(part, &first, clock);
            self.add(part, record, clock);
            self.sessions += 1;
            if let Some(agent) = self.parts.get_mut(&Part::Agent(record.agent)) {
                agent.sessions += 1;
            }
        } else {
            self.singles.insert(record.session, *record);
            self.order.push_back(record.session);
            if self.order.len() > SINGLES_MAX {
                self.give_up_oldest(clock);
            }
        }
    }

    fn give_up_oldest(&mut self, clock: &Clock) {
        let oldest = self.order.pop_front();
        if let Some(single) = oldest.and_then(|session| self.singles.remove(&session)) {
            self.add(Part::Single(single.agent), &single, clock);
        }
    }

    fn add(&mut self, part: Part, record: &Record, clock: &Clock) {
        if self.parts.len() >= PARTS_MAX && !self.parts.contains_key(&part) {
            self.drop_half();
        }
        self.parts.entry(part).or_default().observe(record, clock);
    }

    /// Drops the parts that are idle longest; those with enough requests to be judged go last.
    fn drop_half(&mut self) {
        let rank = |slice: &Slice| (slice.requests >= REQUESTS_MIN, slice.last_seen);
        let mut ranked: Vec<_> = self.parts.iter().collect();
        ranked.sort_by_key(|(part, slice)| (rank(slice), **part));
        let dropped: Vec<Part> = ranked[..PARTS_MAX / 2]
            .iter()
            .map(|(part, _)| **part)
            .collect();
        for part in dropped {
            self.parts.remove(&part);
        }
    }

    /// Counts sessions of one request as what they are.
    fn close(&mut self, clock: &Clock) {
        while !self.order.is_empty() {
            self.give_up_oldest(clock);
        }
    }

    /// People who start a visit have no session yet; where such requests are not many more than visits, they are no part of their own.
    /// Neither are they on a site that gives no sessions to anybody.
    fn is_worth_judging(&self, part: Part, slice: &Slice) -> bool {
        let Part::Single(agent) = part else {
            return slice.requests >= REQUESTS_MIN;
        };
        let agent = self.parts.get(&Part::Agent(agent));
        let visits = agent.map_or(0, |agent| agent.sessions);
        let least = REQUESTS_MIN.max(SINGLES_PER_SESSION.saturating_mul(visits));
        self.sessions > 0 && slice.requests >= least
    }
}

/// The second reading of a log: shared sources, split by user agent and session.
#[derive(Debug)]
pub struct SecondReading {
    settings: Settings,
    knowledge: Arc<Knowledge>,
    agents: AgentIndex,
    sites: BTreeMap<Window, Site>,
    clock: Clock,
    names: BTreeMap<Source, String>,
    insides: BTreeMap<Source, Inside>,
}

/// A part that crawls.
struct Caught<'a> {
    part: Part,
    slice: &'a Slice,
    verdict: Verdict,
    /// The window in which it shows most.
    profile: &'a Profile,
}

impl SecondReading {
    /// Chooses the sources to split, once everything was read and judged.
    pub(super) fn new(analysis: Analysis, report: &Report) -> Option<SecondReading> {
        let clock = analysis.clock?;
        let by_name: BTreeMap<&str, &SourceReport> = report
            .sources
            .iter()
            .map(|source| (source.source.as_str(), source))
            .collect();
        let mut candidates = candidates(&analysis, &clock);
        candidates
            .sort_unstable_by_key(|(requests, source)| (std::cmp::Reverse(*requests), *source));
        let (mut names, mut insides) = (BTreeMap::new(), BTreeMap::new());
        for (_, source) in candidates {
            let name = name(&analysis.settings, &analysis.tokens, source);
            let listed = by_name.get(name.as_str());
            if let Some(listed) = listed.filter(|listed| may_be_shared(listed)) {
                let inside = Inside {
                    is_crawler: listed.class == Class::Crawler,
                    ..Inside::default()
                };
                insides.insert(source, inside);
                names.insert(source, name);
            }
            if names.len() == SOURCES_MAX {
                break;
            }
        }
        let (agents, _) = gather(&analysis, &mut BTreeMap::new());
        Some(SecondReading {
            agents: agents.into_index(),
            sites: sites(&analysis.tables, clock.bins as usize),
            clock,
            insides,
            names,
            settings: analysis.settings,
            knowledge: analysis.knowledge,
        })
    }

    /// Takes in one request, in the order of time.
    pub fn observe(&mut self, record: &Record) {
        if let Some(inside) = self.insides.get_mut(&record.source()) {
            inside.observe(record, &self.clock);
        }
    }

    /// Judges all parts, and adds those that crawl to the report.
    pub fn finish(mut self, report: &mut Report) {
        let clock = self.clock;
        self.insides
            .par_iter_mut()
            .for_each(|(_, inside)| inside.close(&clock));
        let mut found: Vec<HiddenCrawler> = self
            .insides
            .par_iter()
            .flat_map_iter(|(source, inside)| self.look_into(*source, inside))
            .collect();
        found.sort_by(|a, b| {
            let by_requests = b.requests.cmp(&a.requests);
            by_requests.then_with(|| (&a.source, a.by, &a.agent).cmp(&(&b.source, b.by, &b.agent)))
        });
        let with: BTreeSet<&str> = found
            .iter()
            .map(|crawler| crawler.source.as_str())
            .collect();
        for source in &mut report.sources {
            if with.contains(source.source.as_str()) && !source.mixed {
                source.mixed = true;
                report.mixed += 1;
            }
        }
        report.hidden = Some(found);
    }

    /// The parts of a source that crawl, if others in it do not.
    fn look_into(&self, source: Source, inside: &Inside) -> Vec<HiddenCrawler> {
        let scratch = RefCell::new(Scratch::default());
        let mut caught: Vec<Caught<'_>> = Vec::new();
        // Agents that were judged, and those that do not crawl. In a crawler they must be people's: it may have agents of its own that
        // are merely undecided.
        let (mut agents, mut others) = (0, 0);
        for (part, slice) in &inside.parts {
            if !inside.is_worth_judging(*part, slice) {
                continue;
            }
            let verdicts = slice
                .windows
                .iter()
                .map(|(window, profile)| (self.judge(source, *window, profile, &scratch), profile));
            let Some((verdict, profile)) =
                verdicts.max_by(|(a, _), (b, _)| a.decibans.total_cmp(&b.decibans))
            else {
                continue;
            };
            let crawls = is_crawler(&verdict, profile);
            if matches!(part, Part::Agent(_)) {
                agents += 1;
                others += usize::from(match inside.is_crawler {
                    true => verdict.class == Class::User,
                    false => verdict.class != Class::Crawler,
                });
            }
            if crawls {
                caught.push(Caught {
                    part: *part,
                    slice,
                    verdict,
                    profile,
                });
            }
        }
        self.keep_finest(&mut caught);
        let requests: u64 = caught
            .iter()
            .map(|part| u64::from(part.slice.requests))
            .sum();
        // What most of a source's agents do has another cause, such as a proxy that strips header fields; and where everything crawls, nothing
        // is hidden.
        if agents > 0 && others * 2 < agents || requests * 10 > inside.requests * 9 {
            return Vec::new();
        }
        caught
            .iter()
            .map(|part| self.describe(source, part, inside))
            .collect()
    }

    fn judge(
        &self,
        source: Source,
        window: Window,
        profile: &Profile,
        scratch: &RefCell<Scratch>,
    ) -> Verdict {
        let context = Context {
            site: &self.sites[&window],
            knowledge: &self.knowledge,
            agents: &self.agents,
            source,
            sources: 1,
            days: None,
            model: self.settings.model.as_deref(),
            scratch,
            campaign: None,
            was_crawler: false,
        };
        let (detectors, weights) = (&self.settings.detectors, &self.settings.weights);
        judge(profile, &context, detectors, weights)
    }

    /// An agent is not accused for what one of its sessions did.
    fn keep_finest(&self, caught: &mut Vec<Caught<'_>>) {
        let finer: BTreeSet<u32> = caught
            .iter()
            .filter_map(|part| match part.part {
                Part::Agent(_) => None,
                Part::Session(_) => part.profile.agents.top(),
                Part::Single(agent) => Some(agent),
            })
            .collect();
        caught.retain(|part| match part.part {
            Part::Agent(agent) => !finer.contains(&agent),
            Part::Session(_) | Part::Single(_) => true,
        });
    }

    fn describe(&self, source: Source, caught: &Caught<'_>, inside: &Inside) -> HiddenCrawler {
        let Caught {
            part,
            slice,
            verdict,
            profile,
        } = caught;
        let agent = match part {
            Part::Agent(agent) | Part::Single(agent) => Some(*agent),
            Part::Session(_) => profile.agents.top(),
        };
        let windows = || slice.windows.iter().map(|(_, profile)| profile);
        HiddenCrawler {
            source: self.names[&source].clone(),
            by: match part {
                Part::Agent(_) => HiddenBy::Agent,
                Part::Session(_) => HiddenBy::Session,
                Part::Single(_) => HiddenBy::NoSession,
            },
            agent: agent
                .and_then(|agent| self.agents.text(agent))
                .map(printable),
            requests: u64::from(slice.requests),
            pages: windows().map(|profile| u64::from(profile.pages)).sum(),
            share: f64::from(slice.requests) / inside.requests.max(1) as f64,
            first_seen: windows()
                .map(|profile| profile.first_seen)
                .min()
                .unwrap_or_default(),
            last_seen: slice.last_seen,
            kind: verdict.kind,
            confidence: verdict.confidence(),
            decibans: verdict.decibans,
            evidence: verdict.evidence.clone(),
        }
    }
}

/// Sources with requests of several agents or sessions, browsers' among them.
fn candidates(analysis: &Analysis, clock: &Clock) -> Vec<(u32, Source)> {
    let of_table = |table: &Table| {
        let mut found: BTreeMap<Source, u32> = BTreeMap::new();
        table.for_each(clock, |source, _, profile| {
            if is_candidate(profile) {
                *found.entry(source).or_default() += profile.requests;
            }
        });
        found
            .into_iter()
            .map(|(source, requests)| (requests, source))
            .collect::<Vec<_>>()
    };
    analysis.tables.par_iter().flat_map_iter(of_table).collect()
}

fn is_candidate(profile: &Profile) -> bool {
    let has_sessions = profile
        .sessions()
        .is_some_and(|sessions| sessions.distinct.count() > 1);
    let has_people = profile.agents_logged == 0 || profile.browsers * 5 >= profile.agents_logged;
    profile.requests >= SOURCE_REQUESTS_MIN
        && has_people
        && (profile.agents.count() > 1 || has_sessions)
}

/// True for who may be people as a whole, and for crawlers whose many agents may be people's.
fn may_be_shared(source: &SourceReport) -> bool {
    let by_name = ["declared_robot", "claimed_operator"];
    let is_named = source
        .decided_by
        .is_some_and(|rule| by_name.contains(&rule));
    match source.class {
        Class::User | Class::Undecided => true,
        _ if source.mixed => true,
        Class::Crawler => !is_named && source.agents >= CRAWLER_AGENTS_MIN,
        Class::Automated => false,
    }
}

fn is_crawler(verdict: &Verdict, profile: &Profile) -> bool {
    let by_times = [
        "clockwork_visits",
        "no_daily_rhythm",
        "regular_counts",
        "same_every_day",
        "traffic_shape",
    ];
    let behaviour: f64 = verdict
        .evidence
        .iter()
        .filter(|item| !by_times.contains(&item.detector))
        .map(|item| item.weight)
        .sum();
    verdict.class == Class::Crawler
        && verdict.decibans >= DECIBANS_MIN
        && behaviour >= BEHAVIOUR_MIN
        && profile.pages >= PAGES_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock {
        origin: 0,
        bins: 240,
        silence: 1800,
    };

    fn record(time: u32, agent: u32, session: u32) -> Record {
        let mut record = Record::page_for_tests(1, time);
        record.flags |= flag::AGENT_LOGGED | flag::SESSION_LOGGED;
        Record {
            agent,
            session,
            ..record
        }
    }

    #[test]
    fn a_flood_of_agents_and_sessions_takes_no_more_room_and_hides_no_heavy_part() {
        let mut inside = Inside::default();
        for time in 0..200_000 {
            let record = match time % 100 {
                0 => record(time, 7, 7),
                _ => record(time, 1000 + time, 1000 + time / 3),
            };
            inside.observe(&record, &CLOCK);
            assert!(inside.parts.len() <= PARTS_MAX && inside.order.len() <= SINGLES_MAX);
            assert!(inside.singles.len() <= SINGLES_MAX);
        }
        inside.close(&CLOCK);
        assert_eq!(inside.requests, 200_000);
        for part in [Part::Agent(7), Part::Session(7)] {
            assert_eq!(inside.parts[&part].requests, 2000);
        }
    }

    #[test]
    fn the_first_requests_of_visits_are_no_crawler_and_sessions_that_never_return_may_be() {
        let mut inside = Inside::default();
        // Two hundred visits of ten requests under agent 1, the first of each without a session; three hundred sessions of one request
        // under agent 2.
        for visit in 0..200 {
            let mut first = record(100 * visit, 1, 0);
            first.flags |= flag::SESSION_EMPTY;
            inside.observe(&first, &CLOCK);
            for step in 1..10 {
                inside.observe(&record(100 * visit + step, 1, 500 + visit), &CLOCK);
            }
        }
        for single in 0..300 {
            inside.observe(&record(30_000 + single, 2, 9000 + single), &CLOCK);
        }
        inside.close(&CLOCK);
        let is_judged = |part: Part| inside.is_worth_judging(part, &inside.parts[&part]);
        assert!(!is_judged(Part::Single(1)) && is_judged(Part::Single(2)));
        assert_eq!(inside.parts[&Part::Single(2)].requests, 300);
    }
}
