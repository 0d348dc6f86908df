//! Who shares what with whom: what the two walks over the tables keep.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

use cattlegrid_learn::cluster::Fingerprint;
use foldhash::fast::FixedState;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::How;
use super::pool::PAGES_MIN;
use super::pool::Pool;
use super::pool::Sums;
use super::pool::loads_parts;
use crate::knowledge::AutonomousSystems;
use crate::profile::Profile;
use crate::request::Source;
use crate::table::Window;

/// What some sources of one window share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub(super) window: Window,
    pub(super) how: How,
    /// Hash of an agent or a session, bits of a network, number of a cluster or an autonomous system.
    pub(super) value: u64,
}

impl Key {
    /// An agent whose sources begin a new session about every so many pages.
    fn cookie(window: Window, agent: u64, pages: u32) -> Key {
        Key {
            window,
            how: How::Cookie,
            value: agent << 8 | u64::from(pages.max(1).ilog2()),
        }
    }

    /// The agent that is shared, where one is.
    pub(super) fn agent(&self) -> Option<u32> {
        match self.how {
            How::Agent | How::Habit => Some(self.value as u32),
            How::Cookie => Some((self.value >> 8) as u32),
            How::Times
            | How::Login
            | How::Form
            | How::Manner
            | How::Session
            | How::Network
            | How::System => None,
        }
    }

    /// The fewest pages of a session, where that is shared.
    pub(super) fn pages_of_session(&self) -> u32 {
        1 << (self.value & 0x1f)
    }
}

/// What the first walk has seen.
#[derive(Default)]
pub(super) struct Seen {
    /// Sources that use an agent, and how many of them behave like people. A source counts for the one it uses most: there are never
    /// more than sources in the tables.
    pub(super) agents: HashMap<(Window, u32), Count, RandomState>,
    pub(super) prints: Vec<Print>,
    pub(super) everybody: BTreeMap<Window, Sums>,
    pub(super) requests: BTreeMap<Window, u64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) sources: u32,
    pub(super) people: u32,
}

/// A source that is heavy enough to have a fingerprint.
pub(super) struct Print {
    pub(super) window: Window,
    pub(super) requests: u32,
    pub(super) source: Source,
    pub(super) agent: Option<u32>,
    pub(super) print: Fingerprint,
}

/// True for who asks for pages and names itself no robot: those that do are known without a campaign.
fn is_nameless_reader(profile: &Profile) -> bool {
    profile.declared == 0 && profile.pages > 0
}

/// True where a source tells something about a group that it is in: of a network, most sources may have come for one page from a search
/// engine, and nothing shows in those.
pub(super) fn tells(key: &Key, profile: &Profile) -> bool {
    !matches!(key.how, How::Network | How::System) || profile.pages >= PAGES_MIN
}

/// What one source shares with others: seldom more than this.
pub(super) type Keys = SmallVec<[Key; 4]>;

/// Sessions of a source up to which each may be one that others use, too.
const SESSIONS_MAX: usize = 4;
/// Pages from which a source's way with cookies shows.
const COOKIE_PAGES_MIN: u32 = 3;

/// What a source can share with others, except its times.
pub(super) fn keys(
    source: Source,
    window: Window,
    profile: &Profile,
    systems: Option<&AutonomousSystems>,
) -> Keys {
    let key = |how: How, value: u64| Key { window, how, value };
    if !is_nameless_reader(profile) {
        return attack(window, profile).into_iter().collect();
    }
    // To send no agent is nothing that is shared.
    let has_agent = profile.oddities().agents_empty * 2 < profile.agents_logged;
    let agent = profile.agents.top().filter(|_| has_agent).map(u64::from);
    let is_bare = profile.pages >= 3 && profile.referrers_link == 0 && !loads_parts(profile);
    let network = source.network();
    let system = systems.and_then(|systems| systems.number(source));
    let shared = [
        agent.map(|agent| key(How::Agent, agent)),
        agent
            .filter(|_| is_bare)
            .map(|agent| key(How::Habit, agent)),
        manner(profile).map(|manner| key(How::Manner, manner as u64)),
        network.map(|network| key(How::Network, network.value << 2 | network.kind as u64)),
        system.map(|system| key(How::System, u64::from(system))),
    ];
    let mut keys: Keys = shared.into_iter().flatten().collect();
    keys.extend(cookie_keys(window, agent, profile));
    keys.extend(attack(window, profile));
    keys
}

/// How a source comes that takes a few pages and is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// It never goes from one page to the next and loads nothing that belongs to a page.
    Bare = 1,
    /// It loads style sheets and scripts with its pages, but nothing that shows, and its referrers are made up.
    Styled = 2,
}

/// Pages of a source that takes a few and is gone.
const VISIT_PAGES: std::ops::RangeInclusive<u32> = 2..=12;
/// Pages that somebody may open from mail or bookmarks with everything else in the cache.
const BARE_PAGES: u32 = 2;
/// Half hours that one visit touches.
const VISIT_HALF_HOURS: u32 = 4;

/// The manner of a source that came once, for pages that the site has, and sent nothing.
fn manner(profile: &Profile) -> Option<Manner> {
    let odd = profile.oddities();
    let is_visit = VISIT_PAGES.contains(&profile.pages)
        && profile.bins.busy() <= VISIT_HALF_HOURS
        && profile.shown == profile.pages
        && profile.referrers == profile.pages;
    if !is_visit
        || profile.shows_pages()
        || odd.posts > 0
        || odd.old_protocol > 0
        || profile.robots > 0
    {
        return None;
    }
    let borrowed: u32 = odd.borrowed.into_iter().map(u32::from).sum();
    match profile.assets {
        0 => (profile.pages > BARE_PAGES && profile.chain == 0).then_some(Manner::Bare),
        _ => (borrowed > 0).then_some(Manner::Styled),
    }
}

/// Passwords of a source from which it may guess them, together with others.
const LOGINS_MIN: u32 = 3;
/// Different pages up to which a source has come for the form alone.
const FORM_PAGES_MAX: u64 = 1;

/// The form that a source came for, and for nothing else: it loads no part of a page and hardly asks for another.
fn attack(window: Window, profile: &Profile) -> Option<Key> {
    let odd = profile.oddities();
    let came_for = |posts: u32| {
        profile.declared == 0
            && profile.assets == 0
            && profile.distinct_pages.count() <= FORM_PAGES_MAX
            && posts * 3 >= profile.requests
    };
    let (how, form) = match odd.logins >= LOGINS_MIN {
        true if came_for(odd.logins) => (How::Login, odd.login),
        false if odd.posts > odd.logins && came_for(odd.posts) => (How::Form, odd.form),
        _ => return None,
    };
    Some(Key {
        window,
        how,
        value: u64::from(form),
    })
}

/// What a source shares by its session cookies: the very sessions, or how soon it drops them.
fn cookie_keys(
    window: Window,
    agent: Option<u64>,
    profile: &Profile,
) -> impl Iterator<Item = Key> + '_ {
    let sessions = profile.sessions().filter(|sessions| sessions.logged > 0);
    let few = sessions.and_then(|sessions| sessions.distinct.few());
    let shared = few.filter(|few| few.len() <= SESSIONS_MAX);
    let shared = shared.unwrap_or_default().iter().map(move |session| Key {
        window,
        how: How::Session,
        value: u64::from(*session),
    });
    let pattern = sessions.zip(agent).and_then(|(sessions, agent)| {
        let distinct = sessions.distinct.count() as u32;
        // Who never drops a cookie, or has none yet, does as people do.
        let drops = sessions.logged >= COOKIE_PAGES_MIN && distinct > 1;
        drops.then(|| Key::cookie(window, agent, sessions.logged / distinct))
    });
    shared.chain(pattern)
}

impl Seen {
    /// True for an agent of which most sources behave like people: those who do not are looked at by their habits.
    pub(super) fn is_of_people(&self, key: &Key) -> bool {
        key.how == How::Agent
            && self
                .agents
                .get(&(key.window, key.value as u32))
                .is_some_and(|count| count.people * 2 > count.sources)
    }

    pub(super) fn count(&mut self, source: Source, window: Window, profile: &Profile) {
        *self.requests.entry(window).or_default() += u64::from(profile.requests);
        if !is_nameless_reader(profile) {
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

    pub(super) fn absorb(&mut self, other: Seen) {
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
pub(super) struct Sizes(Box<[AtomicU32]>);

/// Cells of [`Sizes`].
const CELLS: usize = 1 << 22;
/// Groups that are added up: where visitors have something of their own by the million, only the largest groups are.
const GROUPS_MAX: usize = 50_000;

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes((0..CELLS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Sizes {
    fn cell(key: &Key) -> usize {
        FixedState::default().hash_one(key) as usize % CELLS
    }

    pub(super) fn add(&self, key: &Key) {
        self.0[Sizes::cell(key)].fetch_add(1, Ordering::Relaxed);
    }

    /// The cells of groups that are large enough, and few enough to be added up.
    pub(super) fn large(&self, sources_min: u32) -> Large {
        let mut least = sources_min.max(1);
        let mut cells: Vec<(usize, u32)> = self
            .0
            .iter()
            .map(|cell| cell.load(Ordering::Relaxed))
            .enumerate()
            .filter(|(_, size)| *size >= least)
            .collect();
        while cells.len() > GROUPS_MAX {
            least = least.saturating_mul(2);
            cells.retain(|(_, size)| *size >= least);
        }
        let mut bits = vec![0; CELLS / 64];
        for (at, _) in cells {
            bits[at / 64] |= 1 << (at % 64);
        }
        Large(bits)
    }
}

/// Cells of large groups, one bit each: small enough to stay in the processor's cache while all sources are asked for.
pub(super) struct Large(Vec<u64>);

impl Large {
    pub(super) fn contains(&self, key: &Key) -> bool {
        let at = Sizes::cell(key);
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
}

/// Sources that share something, added up.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) members: Vec<Source>,
    pub(super) pool: Pool,
    pub(super) agents: BTreeMap<u32, u32>,
}

impl Group {
    pub(super) fn add(&mut self, source: Source, profile: &Profile, bins: usize) {
        self.members.push(source);
        self.pool.profile.absorb(profile, bins);
        self.pool.sums.add(source, profile);
        if let Some(agent) = profile.agents.top() {
            *self.agents.entry(agent).or_default() += 1;
        }
    }

    pub(super) fn absorb(&mut self, other: Group, bins: usize) {
        self.members.extend(other.members);
        self.pool.profile.absorb(&other.pool.profile, bins);
        self.pool.sums.absorb(&other.pool.sums);
        for (agent, sources) in other.agents {
            *self.agents.entry(agent).or_default() += sources;
        }
    }
}
