//! Sources that crawl as one: found by their times, their agent or their network, added up, and judged together.
//!
//! Two walks over the tables: the first counts who shares what, and takes the fingerprints of heavier sources; the second adds up
//! those who share something. Nobody is called anything for what he shares: the sum is judged by the same rules as a source.

mod pool;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

use cattlegrid_learn::cluster;
use cattlegrid_learn::cluster::Fingerprint;
use cattlegrid_learn::cluster::MEMBERS_MIN;
use cattlegrid_learn::cluster::Rule;
use cattlegrid_learn::cluster::Signs;
use cattlegrid_learn::series::POINTS_MIN;
use cattlegrid_learn::series::Scratch;
use foldhash::fast::FixedState;
use rayon::prelude::*;

use crate::evidence::Context;
use crate::evidence::Membership;
use crate::knowledge::Knowledge;
use crate::profile::AgentIndex;
use crate::profile::Profile;
use crate::request::Source;
use crate::settings::CampaignSettings;
use crate::settings::Settings;
use crate::site::Site;
use crate::table::Clock;
use crate::table::Table;
use crate::table::Window;
use crate::text::printable;
use crate::verdict::Class;
use crate::verdict::Together;
use crate::verdict::Verdict;
use crate::verdict::judge_group;
use pool::Pool;
use pool::Sums;
use pool::loads_parts;

/// What shows only in many sources together.
const TOGETHER: [&str; 4] = [
    "alike_members",
    "divided_pages",
    "no_links",
    "no_page_parts",
];
/// What does not follow from habits of single sources.
const NOT_HABITS: [&str; 5] = [
    "alike_members",
    "divided_pages",
    "no_daily_rhythm",
    "regular_counts",
    "traffic_shape",
];

/// How a campaign was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// Its sources come at the same times.
    Times,
    /// They share a user agent.
    Agent,
    /// They share a user agent that people use, too, and neither follow links nor load what belongs to a page.
    Habit,
    /// They share a network.
    Network,
}

impl How {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            How::Times => "times",
            How::Agent => "agent",
            How::Habit => "habit",
            How::Network => "network",
        }
    }
}

/// What some sources of one window share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    window: Window,
    how: How,
    /// Hash of an agent, bits of a network, number of a cluster.
    value: u64,
}

/// Sources that crawl as one in one window.
#[derive(Debug)]
pub struct Campaign {
    /// When.
    pub window: Window,
    /// How it was found.
    pub how: How,
    /// All its sources, sorted.
    pub members: Vec<Source>,
    /// All their requests together.
    pub profile: Profile,
    /// What they are together, with all reasons.
    pub verdict: Verdict,
    /// Agents, with the sources that use each most.
    pub agents: Vec<(u32, u32)>,
    /// /24 or /48 networks, an estimate where they are many.
    pub networks: u64,
    /// Sources that are busy at the same time, on average: 1 where they take turns.
    pub at_once: f64,
    membership: Membership,
    sums: Sums,
}

impl Campaign {
    fn absorb(&mut self, other: Campaign, bins: usize) {
        self.members.extend(other.members);
        self.members.sort_unstable();
        self.profile.absorb(&other.profile, bins);
        self.sums.absorb(&other.sums);
        for (agent, sources) in other.agents {
            match self.agents.iter_mut().find(|(known, _)| *known == agent) {
                Some((_, known)) => *known += sources,
                None => self.agents.push((agent, sources)),
            }
        }
        self.membership.sources = self.members.len() as u32;
        self.networks = self.sums.networks().min(self.members.len() as u64);
        self.at_once = at_once(&self.sums, &self.profile);
    }
}

/// Sources that are busy at the same time, on average.
fn at_once(sums: &Sums, profile: &Profile) -> f64 {
    let mut active = 0_u64;
    profile.bins.for_each(|_, _| active += 1);
    sums.busy as f64 / active.max(1) as f64
}

/// All campaigns of an analysis.
#[derive(Debug, Default)]
pub struct Campaigns {
    /// Most requests first.
    pub all: Vec<Campaign>,
    /// All requests of each window.
    pub requests: BTreeMap<Window, u64>,
    of: BTreeMap<(Source, Window), u32>,
}

impl Campaigns {
    /// The campaign of a source in a window: its number.
    pub fn number(&self, source: Source, window: Window) -> Option<u32> {
        self.of.get(&(source, window)).copied()
    }

    /// What its campaign says of a source.
    pub fn membership(&self, source: Source, window: Window) -> Option<&Membership> {
        let number = self.number(source, window)?;
        self.all
            .get(number as usize)
            .map(|campaign| &campaign.membership)
    }
}

/// Everything that finding campaigns needs.
#[derive(Debug)]
pub struct Finder<'a> {
    /// All profiles.
    pub tables: &'a [Table],
    /// Where times fall.
    pub clock: &'a Clock,
    /// Totals by window.
    pub sites: &'a BTreeMap<Window, Site>,
    /// What is known beforehand.
    pub knowledge: &'a Knowledge,
    /// The texts of user agents.
    pub agents: &'a AgentIndex,
    /// Thresholds, rules, weights and the model.
    pub settings: &'a Settings,
}

/// What the first walk has seen.
#[derive(Default)]
struct Seen {
    /// Sources that use an agent, and how many of them behave like people.
    agents: BTreeMap<(Window, u32), Count>,
    prints: Vec<Print>,
    everybody: BTreeMap<Window, Sums>,
    requests: BTreeMap<Window, u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    sources: u32,
    people: u32,
}

/// A source that is heavy enough to have a fingerprint.
struct Print {
    window: Window,
    requests: u32,
    source: Source,
    agent: Option<u32>,
    print: Fingerprint,
}

impl Finder<'_> {
    /// Finds all campaigns.
    pub fn find(&self) -> Campaigns {
        let sizes = Sizes::default();
        let seen = self.first_walk(&sizes);
        let clusters = self.clusters(&seen);
        let groups = self.second_walk(&seen, &sizes, &clusters);
        let mut found = Campaigns {
            requests: seen.requests.clone(),
            ..Campaigns::default()
        };
        // In the order of keys: what is found by an agent explains what is found by a habit or a network.
        for (key, group) in groups {
            let nobody = Sums::default();
            let everybody = seen.everybody.get(&key.window).unwrap_or(&nobody);
            self.convict(key, group, everybody, &mut found);
        }
        self.join(&seen, &mut found);
        settle(&mut found);
        found
    }

    /// Joins fleets that were found by different agents and are one: they come at the same times, behave alike, and divide the pages
    /// between them.
    fn join(&self, seen: &Seen, found: &mut Campaigns) {
        const JOINED_MAX: usize = 200;
        let mut signs: BTreeMap<usize, Signs> = BTreeMap::new();
        let prints: Vec<Fingerprint> = found
            .all
            .iter()
            .take(JOINED_MAX)
            .map(|campaign| {
                let counts = self.counts(campaign.window, &campaign.profile);
                let signs = signs
                    .entry(counts.len())
                    .or_insert_with(|| Signs::new(counts.len()));
                Fingerprint::of(&counts, signs)
            })
            .collect();
        let mut into: Vec<usize> = (0..found.all.len()).collect();
        for later in 1..prints.len() {
            let is_one = |earlier: &usize| {
                let (a, b) = (&found.all[*earlier], &found.all[later]);
                let likeness = prints[*earlier].likeness(&prints[later]);
                let in_common = a.sums.pages_in_common(&b.sums, &seen.everybody[&a.window]);
                a.window == b.window
                    && a.how != How::Times
                    && b.how != How::Times
                    && likeness.chance >= Rule::default().chance_min_kin
                    && likeness.alike >= Rule::default().alike_min
                    && a.sums.is_like(&b.sums)
                    && in_common.is_none_or(|share| share < 0.1)
            };
            if let Some(earlier) = (0..later).find(|at| into[*at] == *at && is_one(at)) {
                into[later] = earlier;
            }
        }
        self.merge(&into, found);
    }

    /// Adds campaigns to those that they belong to.
    fn merge(&self, into: &[usize], found: &mut Campaigns) {
        let mut slots: Vec<Option<Campaign>> = std::mem::take(&mut found.all)
            .into_iter()
            .map(Some)
            .collect();
        for (at, target) in into.iter().enumerate().filter(|(at, target)| at != *target) {
            if let Some(other) = slots[at].take()
                && let Some(campaign) = &mut slots[*target]
            {
                campaign.absorb(other, self.clock.bins as usize);
            }
        }
        found.all = slots.into_iter().flatten().collect();
    }

    /// Requests of the half hours that the log covers.
    fn counts(&self, window: Window, profile: &Profile) -> Vec<f64> {
        let site = &self.sites[&window];
        let counts = profile.bins.dense(site.half_hours());
        let covered = counts.get(site.covered()).unwrap_or_default();
        covered.iter().map(|count| f64::from(*count)).collect()
    }

    fn options(&self) -> &CampaignSettings {
        &self.settings.campaigns
    }

    fn first_walk(&self, sizes: &Sizes) -> Seen {
        let signs: BTreeMap<Window, Signs> = self
            .sites
            .iter()
            .filter(|(_, site)| site.covered().len() >= POINTS_MIN)
            .map(|(window, site)| (*window, Signs::new(site.covered().len())))
            .collect();
        // What each table has is added at once and let go: there may be millions of agents.
        let whole = Mutex::new(Seen::default());
        self.tables.par_iter().for_each(|table| {
            let mut seen = Seen::default();
            table.for_each(self.clock, |source, window, profile| {
                let shared = keys(source, window, profile);
                shared.iter().flatten().for_each(|key| sizes.add(key));
                seen.count(source, window, profile);
                if let Some(print) = self.print(source, window, profile, &signs) {
                    seen.prints.push(print);
                }
            });
            lock(&whole).absorb(seen);
        });
        let mut whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Heaviest first, so that founders of clusters are the ones with least noise.
        whole.prints.sort_unstable_by(|a, b| {
            let by_requests = b.requests.cmp(&a.requests);
            (a.window.cmp(&b.window)).then(by_requests.then(a.source.cmp(&b.source)))
        });
        whole
    }

    fn print(
        &self,
        source: Source,
        window: Window,
        profile: &Profile,
        signs: &BTreeMap<Window, Signs>,
    ) -> Option<Print> {
        if profile.requests < self.options().series_requests_min || profile.is_mixed() {
            return None;
        }
        let mut busy = 0;
        profile.bins.for_each(|_, _| busy += 1);
        let signs = signs
            .get(&window)
            .filter(|_| busy >= self.options().half_hours_min)?;
        let counts = self.counts(window, profile);
        Some(Print {
            window,
            requests: profile.requests,
            source,
            agent: profile.agents.top(),
            print: Fingerprint::of(&counts, signs),
        })
    }

    /// Sources that come at the same times, with the number of their cluster.
    fn clusters(&self, seen: &Seen) -> BTreeMap<(Source, Window), u64> {
        let mut of = BTreeMap::new();
        for part in seen.prints.chunk_by(|a, b| a.window == b.window) {
            let kin: Vec<Option<u64>> = part
                .iter()
                .map(|print| {
                    let agent = print.agent?;
                    // An agent that people use says nothing about who belongs together.
                    let count = seen.agents.get(&(print.window, agent));
                    let is_odd = count.is_none_or(|count| count.people * 20 <= count.sources);
                    is_odd.then_some(u64::from(agent))
                })
                .collect();
            let prints: Vec<Fingerprint> = part.iter().map(|print| print.print.clone()).collect();
            let mut founders = cluster::cluster(&prints, &kin, Rule::default());
            if self.options().shifted_hours > 0 {
                let band = 2 * self.options().shifted_hours as usize;
                cluster::join_shifted(&prints, &mut founders, band, Rule::default());
            }
            let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
            for founder in &founders {
                *sizes.entry(*founder).or_default() += 1;
            }
            for (print, founder) in part.iter().zip(founders) {
                if sizes[&founder] >= MEMBERS_MIN {
                    of.insert((print.source, print.window), u64::from(founder));
                }
            }
        }
        of
    }

    /// Adds up all groups that are large enough.
    fn second_walk(
        &self,
        seen: &Seen,
        sizes: &Sizes,
        clusters: &BTreeMap<(Source, Window), u64>,
    ) -> BTreeMap<Key, Group> {
        let bins = self.clock.bins as usize;
        let sources_min = self.options().sources_min;
        let parts: Vec<BTreeMap<Key, Group>> = self
            .tables
            .par_iter()
            .map(|table| {
                let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
                table.for_each(self.clock, |source, window, profile| {
                    let cluster = clusters.get(&(source, window)).map(|value| Key {
                        window,
                        how: How::Times,
                        value: *value,
                    });
                    let shared = keys(source, window, profile);
                    let shared = shared.into_iter().flatten();
                    let shared = shared
                        .filter(|key| sizes.most(key) >= sources_min && !seen.is_of_people(key));
                    for key in cluster.into_iter().chain(shared) {
                        groups.entry(key).or_default().add(source, profile, bins);
                    }
                });
                groups
            })
            .collect();
        let mut whole: BTreeMap<Key, Group> = BTreeMap::new();
        for (key, group) in parts.into_iter().flatten() {
            whole.entry(key).or_default().absorb(group, bins);
        }
        whole
    }

    /// Judges a group as one, and keeps it if it crawls.
    fn convict(&self, key: Key, mut group: Group, everybody: &Sums, found: &mut Campaigns) {
        group.members.sort_unstable();
        // A cell may have been shared by several keys.
        let is_small = group.members.len() < self.options().sources_min as usize;
        if key.how != How::Times && is_small {
            return;
        }
        if self.is_explained(key, &group, found) {
            return;
        }
        let scratch = RefCell::new(Scratch::default());
        let context = Context {
            site: &self.sites[&key.window],
            knowledge: self.knowledge,
            agents: self.agents,
            source: group.members[0],
            model: self.settings.model.as_deref(),
            scratch: &scratch,
            campaign: None,
        };
        let profile = &group.pool.profile;
        let together = Together {
            evidence: match key.how {
                How::Times => Vec::new(),
                _ => group.pool.sums.evidence(everybody),
            },
            by_rhythm: key.how == How::Times,
        };
        let verdict = judge_group(
            profile,
            &context,
            &self.settings.detectors,
            &self.settings.weights,
            together,
        );
        if verdict.class != Class::Crawler || !self.is_enough(key.how, &verdict) {
            return;
        }
        let membership = Membership {
            why: self.tell(key, &group, &verdict),
            sources: group.members.len() as u32,
            decibans: verdict.decibans,
        };
        let number = found.all.len() as u32;
        for member in &group.members {
            found.of.entry((*member, key.window)).or_insert(number);
        }
        let mut agents: Vec<(u32, u32)> = group.agents.into_iter().collect();
        agents.sort_unstable_by_key(|(agent, sources)| (std::cmp::Reverse(*sources), *agent));
        found.all.push(Campaign {
            window: key.window,
            how: key.how,
            networks: group.pool.sums.networks().min(group.members.len() as u64),
            at_once: at_once(&group.pool.sums, profile),
            members: group.members,
            profile: group.pool.profile,
            verdict,
            agents,
            membership,
            sums: group.pool.sums,
        });
    }

    /// Whether what was found is more than what the group was chosen by.
    fn is_enough(&self, how: How, verdict: &Verdict) -> bool {
        let sum = |of: &dyn Fn(&str) -> bool| -> f64 {
            let evidence = verdict.evidence.iter();
            let counted = evidence.filter(|item| of(item.detector));
            counted.map(|item| item.weight).sum()
        };
        match how {
            // Times that others do not share are enough to look; the verdict says what they are.
            How::Times => true,
            How::Agent | How::Network => {
                verdict.decibans >= self.options().decibans_min
                    && sum(&|name| TOGETHER.contains(&name)) > 0.0
            }
            // Who was chosen for following no links cannot be found by that.
            How::Habit => sum(&|name| NOT_HABITS.contains(&name)) >= self.options().decibans_min,
        }
    }

    /// True for a group whose sources nearly all belong to one campaign already.
    fn is_explained(&self, key: Key, group: &Group, found: &Campaigns) -> bool {
        let mut known: BTreeMap<u32, usize> = BTreeMap::new();
        for member in &group.members {
            if let Some(number) = found.number(*member, key.window) {
                *known.entry(number).or_default() += 1;
            }
        }
        known
            .values()
            .any(|count| count * 10 >= group.members.len() * 8)
    }

    /// Why its members belong together, in a sentence.
    fn tell(&self, key: Key, group: &Group, verdict: &Verdict) -> String {
        let sources = group.members.len();
        let agent = |agent: u64| {
            let text = self.agents.text(agent as u32).map(printable);
            text.unwrap_or_else(|| "(unknown)".to_owned())
        };
        let shared = match key.how {
            How::Times => "come at the same times".to_owned(),
            How::Agent => format!("share the agent '{}'", agent(key.value)),
            How::Habit => format!(
                "use the agent '{}' without following links or loading what belongs to pages",
                agent(key.value)
            ),
            How::Network => format!(
                "share the network {}",
                group.members[0]
                    .network()
                    .map_or_else(String::new, |network| network.to_string())
            ),
        };
        let reason = verdict
            .evidence
            .iter()
            .find(|item| item.weight > 0.0)
            .map_or_else(String::new, |item| format!("; together: {}", item.why));
        format!("one of {sources} sources that {shared}{reason}")
    }
}

/// What a source can share with others, except its times.
fn keys(source: Source, window: Window, profile: &Profile) -> [Option<Key>; 3] {
    let key = |how: How, value: u64| Key { window, how, value };
    // Robots that name themselves are known without a campaign.
    if profile.declared > 0 || profile.pages == 0 {
        return [None; 3];
    }
    // To send no agent is nothing that is shared.
    let has_agent = profile.agents_empty * 2 < profile.agents_logged;
    let agent = profile.agents.top().filter(|_| has_agent).map(u64::from);
    let is_bare = profile.pages >= 3 && profile.referrers_link == 0 && !loads_parts(profile);
    [
        agent.map(|agent| key(How::Agent, agent)),
        agent
            .filter(|_| is_bare)
            .map(|agent| key(How::Habit, agent)),
        source
            .network()
            .map(|network| key(How::Network, network.value << 2 | network.kind as u64)),
    ]
}

impl Seen {
    /// True for an agent of which most sources behave like people: those who do not are looked at by their habits.
    fn is_of_people(&self, key: &Key) -> bool {
        key.how == How::Agent
            && self
                .agents
                .get(&(key.window, key.value as u32))
                .is_some_and(|count| count.people * 2 > count.sources)
    }

    fn count(&mut self, source: Source, window: Window, profile: &Profile) {
        *self.requests.entry(window).or_default() += u64::from(profile.requests);
        if profile.declared > 0 || profile.pages == 0 {
            return;
        }
        if let Some(agent) = profile.agents.top() {
            let is_person = loads_parts(profile) || profile.referrers_link > 0;
            let count = self.agents.entry((window, agent)).or_default();
            count.sources += 1;
            count.people += u32::from(is_person);
        }
        self.everybody
            .entry(window)
            .or_default()
            .add(source, profile);
    }

    fn absorb(&mut self, other: Seen) {
        for (key, count) in other.agents {
            let mine = self.agents.entry(key).or_default();
            mine.sources += count.sources;
            mine.people += count.people;
        }
        self.prints.extend(other.prints);
        for (window, requests) in other.requests {
            *self.requests.entry(window).or_default() += requests;
        }
        for (window, sums) in other.everybody {
            self.everybody.entry(window).or_default().absorb(&sums);
        }
    }
}

/// How many sources share a key, at most: keys that fall into one cell are counted together.
struct Sizes(Box<[AtomicU32]>);

/// Cells of [`Sizes`].
const CELLS: usize = 1 << 21;

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes((0..CELLS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Sizes {
    fn cell(&self, key: &Key) -> &AtomicU32 {
        let hash = FixedState::default().hash_one(key);
        &self.0[hash as usize % CELLS]
    }

    fn add(&self, key: &Key) {
        self.cell(key).fetch_add(1, Ordering::Relaxed);
    }

    fn most(&self, key: &Key) -> u32 {
        self.cell(key).load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sources that share something, added up.
#[derive(Debug, Default)]
struct Group {
    members: Vec<Source>,
    pool: Pool,
    agents: BTreeMap<u32, u32>,
}

impl Group {
    fn add(&mut self, source: Source, profile: &Profile, bins: usize) {
        self.members.push(source);
        self.pool.profile.absorb(profile, bins);
        self.pool.sums.add(source, profile);
        if let Some(agent) = profile.agents.top() {
            *self.agents.entry(agent).or_default() += 1;
        }
    }

    fn absorb(&mut self, other: Group, bins: usize) {
        self.members.extend(other.members);
        self.pool.profile.absorb(&other.pool.profile, bins);
        self.pool.sums.absorb(&other.pool.sums);
        for (agent, sources) in other.agents {
            *self.agents.entry(agent).or_default() += sources;
        }
    }
}

/// Sorts campaigns by volume, and notes whose members everybody is.
fn settle(found: &mut Campaigns) {
    found.all.sort_by(|a, b| {
        let by_requests = b.profile.requests.cmp(&a.profile.requests);
        let key = |campaign: &Campaign| (campaign.window, campaign.how, campaign.members[0]);
        by_requests.then_with(|| key(a).cmp(&key(b)))
    });
    found.of.clear();
    for (number, campaign) in (0..).zip(&found.all) {
        for member in &campaign.members {
            found.of.entry((*member, campaign.window)).or_insert(number);
        }
    }
}
