//! Bounded totals of the whole log in one window: what a source is compared with.

use crate::profile::Profile;
use crate::profile::Record;

/// Cells that count referring hosts by hash.
const HOST_CELLS: usize = 1024;

/// Totals of one window. All of them are integers that add up in any order.
#[derive(Debug, Clone)]
pub struct Site {
    /// All requests.
    pub requests: u64,
    /// Page requests.
    pub pages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Time of the earliest request.
    pub first_seen: u32,
    /// Time of the latest request.
    pub last_seen: u32,
    /// Page requests with a session id.
    pub sessions: u64,
    /// Requests whose referrer was logged.
    pub referrers_logged: u64,
    /// Requests whose user agent was logged.
    pub agents_logged: u64,
    /// Requests whose session cookie was logged.
    pub sessions_logged: u64,
    /// Asset requests by their referrer's host: browsers name the page's own site there.
    asset_hosts: Option<Box<[u32; HOST_CELLS]>>,
    asset_referrers: u64,
    /// Sources with pages enough to have a habit, and the sum of their query shares in thousandths.
    habit_sources: u64,
    habit_queries: u64,
}

/// Pages from which a source's share of queries is a habit.
const HABIT_PAGES: u32 = 5;

impl Default for Site {
    fn default() -> Site {
        Site {
            requests: 0,
            pages: 0,
            bytes: 0,
            first_seen: u32::MAX,
            last_seen: 0,
            sessions: 0,
            referrers_logged: 0,
            agents_logged: 0,
            sessions_logged: 0,
            asset_hosts: None,
            asset_referrers: 0,
            habit_sources: 0,
            habit_queries: 0,
        }
    }
}

impl Site {
    /// Takes in one request.
    pub fn observe(&mut self, record: &Record) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(record.bytes());
        self.first_seen = self.first_seen.min(record.time);
        self.last_seen = self.last_seen.max(record.time);
        self.pages += u64::from(record.is_page());
        self.sessions += u64::from(record.has_session());
        let [referrer, agent, session] = record.logged();
        self.referrers_logged += u64::from(referrer);
        self.agents_logged += u64::from(agent);
        self.sessions_logged += u64::from(session);
        if let Some(host) = record.asset_referrer() {
            let cells = self
                .asset_hosts
                .get_or_insert_with(|| Box::new([0; HOST_CELLS]));
            cells[host as usize % HOST_CELLS] += 1;
            self.asset_referrers += 1;
        }
    }

    /// Takes in the habits of one source: each counts the same, so that one heavy crawler does not set the rule.
    pub fn observe_habits(&mut self, profile: &Profile) {
        if profile.pages >= HABIT_PAGES {
            self.habit_sources += 1;
            self.habit_queries += u64::from(profile.queries) * 1000 / u64::from(profile.pages);
        }
    }

    /// Adds another part of the same window.
    pub fn absorb(&mut self, other: &Site) {
        self.requests += other.requests;
        self.pages += other.pages;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        self.sessions += other.sessions;
        self.referrers_logged += other.referrers_logged;
        self.agents_logged += other.agents_logged;
        self.sessions_logged += other.sessions_logged;
        self.asset_referrers += other.asset_referrers;
        self.habit_sources += other.habit_sources;
        self.habit_queries += other.habit_queries;
        if let Some(theirs) = &other.asset_hosts {
            let mine = self
                .asset_hosts
                .get_or_insert_with(|| Box::new([0; HOST_CELLS]));
            mine.iter_mut()
                .zip(theirs.iter())
                .for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// Share of page requests with a query string, as the typical source has it.
    pub fn query_share(&self) -> Option<f64> {
        (self.habit_sources >= 20)
            .then(|| self.habit_queries as f64 / self.habit_sources as f64 / 1000.0)
    }

    /// True for a host that at least one in a hundred asset requests names as its page's.
    pub fn is_own_host(&self, host: u32) -> bool {
        self.asset_referrers >= 20
            && self.asset_hosts.as_ref().is_some_and(|cells| {
                u64::from(cells[host as usize % HOST_CELLS]) * 100 >= self.asset_referrers
            })
    }
}
