//! What was found: campaigns, the groups that were judged, and whose members everybody is.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::pool::Sums;
use super::shared::Group;
use super::shared::Key;
use crate::evidence::Membership;
use crate::knowledge::AutonomousSystem;
use crate::profile::Profile;
use crate::request::Source;
use crate::table::Window;
use crate::verdict::Verdict;

/// How a campaign was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// Its sources come at the same times.
    Times,
    /// They send passwords to one log-in form, and do hardly anything else.
    Login,
    /// They send one form, and do hardly anything else.
    Form,
    /// They share a user agent.
    Agent,
    /// They share a user agent that people use, too, and neither follow links nor load what belongs to a page.
    Habit,
    /// They come once for a few pages, in a manner that no browser has: without parts and links, or with style sheets alone and referrers
    /// that are made up.
    Manner,
    /// They share session cookies, which a server gives to one visitor each.
    Session,
    /// They share a user agent, and begin a new session every few pages.
    Cookie,
    /// They share a network.
    Network,
    /// They share an autonomous system.
    System,
}

impl How {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            How::Times => "times",
            How::Login => "login",
            How::Form => "form",
            How::Agent => "agent",
            How::Habit => "habit",
            How::Manner => "manner",
            How::Session => "session",
            How::Cookie => "cookie",
            How::Network => "network",
            How::System => "system",
        }
    }
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
    /// Autonomous systems with the sources in each, most first, where they are known.
    pub systems: Vec<(AutonomousSystem, u32)>,
    /// What its members share, and what shows in all of them.
    pub(super) told: String,
    pub(super) membership: Membership,
    pub(super) sums: Sums,
}

impl Campaign {
    /// How many of another's members are also its own.
    pub(super) fn shared_members(&self, other: &Campaign) -> usize {
        let members = other.members.iter();
        members
            .filter(|member| self.members.binary_search(member).is_ok())
            .count()
    }

    /// Adds another campaign. One whose members are its own has nothing to add: nobody counts twice.
    pub(super) fn absorb(&mut self, other: Campaign, bins: usize) {
        if self.shared_members(&other) > 0 {
            return;
        }
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
        self.networks = self.sums.networks().min(self.members.len() as u64);
        self.at_once = at_once(&self.sums, &self.profile);
    }
}

/// Sources that are busy at the same time, on average.
fn at_once(sums: &Sums, profile: &Profile) -> f64 {
    sums.busy as f64 / f64::from(profile.bins.busy().max(1))
}

/// Sources that share something and were judged together, whatever came out.
#[derive(Debug)]
pub struct Judged {
    /// When.
    pub window: Window,
    /// What kind of thing they share.
    pub how: How,
    /// What they share, in words.
    pub shared: String,
    /// The first of its sources.
    pub member: Source,
    /// How many there are.
    pub sources: u32,
    /// Their requests.
    pub requests: u32,
    /// Their page requests.
    pub pages: u32,
    /// What they are together.
    pub verdict: Verdict,
    /// They crawl as one.
    pub is_campaign: bool,
}

/// Groups that are kept, whatever came out.
const GROUPS_MAX: usize = 1000;

/// All campaigns of an analysis.
#[derive(Debug, Default)]
pub struct Campaigns {
    /// Most requests first.
    pub all: Vec<Campaign>,
    /// What they were found by.
    pub keys: BTreeSet<Key>,
    /// Groups that were judged, most requests first.
    pub groups: Vec<Judged>,
    /// All requests of each window.
    pub requests: BTreeMap<Window, u64>,
    /// Only looked into: every source of the log is.
    pub(super) of: HashMap<(Source, Window), u32, RandomState>,
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

    pub(super) fn note(&mut self, judged: Judged) {
        self.groups.push(judged);
        if self.groups.len() >= 2 * GROUPS_MAX {
            settle_groups(&mut self.groups);
        }
    }

    pub(super) fn add(&mut self, key: Key, group: Group, verdict: Verdict, told: String) {
        let number = self.all.len() as u32;
        for member in &group.members {
            self.of.entry((*member, key.window)).or_insert(number);
        }
        let mut agents: Vec<(u32, u32)> = group.agents.into_iter().collect();
        agents.sort_unstable_by_key(|(agent, sources)| (std::cmp::Reverse(*sources), *agent));
        let (sums, profile) = (group.pool.sums, group.pool.profile);
        self.all.push(Campaign {
            window: key.window,
            how: key.how,
            networks: sums.networks().min(group.members.len() as u64),
            at_once: at_once(&sums, &profile),
            members: group.members,
            profile,
            verdict,
            agents,
            systems: Vec::new(),
            told,
            membership: Membership::default(),
            sums,
        });
    }
}

/// Keeps the groups with most requests.
fn settle_groups(groups: &mut Vec<Judged>) {
    groups.sort_by(|a, b| {
        let by_requests = b.requests.cmp(&a.requests);
        let key = |group: &Judged| (group.window, group.how, group.member);
        by_requests
            .then_with(|| key(a).cmp(&key(b)))
            .then_with(|| a.shared.cmp(&b.shared))
    });
    groups.truncate(GROUPS_MAX);
}

/// Sorts campaigns by volume, and notes whose members everybody is, and what that says of them.
pub(super) fn settle(found: &mut Campaigns) {
    settle_groups(&mut found.groups);
    found.all.sort_by(|a, b| {
        let by_requests = b.profile.requests.cmp(&a.profile.requests);
        let key = |campaign: &Campaign| (campaign.window, campaign.how, campaign.members[0]);
        by_requests.then_with(|| key(a).cmp(&key(b)))
    });
    found.of.clear();
    for (number, campaign) in (0..).zip(&mut found.all) {
        let sources = campaign.members.len();
        campaign.membership = Membership {
            why: format!("one of {sources} sources that {}", campaign.told),
            sources: sources as u32,
            decibans: campaign.verdict.decibans,
        };
        for member in &campaign.members {
            found.of.entry((*member, campaign.window)).or_insert(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::SourceKind;
    use crate::verdict::Class;

    fn sources(numbers: std::ops::Range<u64>) -> Vec<Source> {
        let source = |value| Source {
            kind: SourceKind::V4,
            value,
        };
        numbers.map(source).collect()
    }

    fn add(found: &mut Campaigns, how: How, members: Vec<Source>) {
        let window = Window::default();
        let group = Group {
            members,
            ..Group::default()
        };
        let verdict = Verdict::bare(Class::Crawler, 20.0);
        let key = Key {
            window,
            how,
            value: 1,
        };
        found.add(key, group, verdict, "share something".to_owned());
    }

    /// `social-test` 11 once listed 24 sources as 48: they were found by their agent and by their cookies, and joined.
    #[test]
    fn members_that_were_found_twice_count_once() {
        let mut found = Campaigns::default();
        add(&mut found, How::Agent, sources(0..24));
        add(&mut found, How::Cookie, sources(0..24));
        let again = found.all.remove(1);
        found.all[0].absorb(again, 240);
        assert_eq!(found.all[0].members, sources(0..24));

        // Others are added, in order.
        add(&mut found, How::Agent, sources(24..30));
        let others = found.all.remove(1);
        found.all[0].absorb(others, 240);
        settle(&mut found);
        assert_eq!(found.all[0].members, sources(0..30));
        let membership = found.membership(sources(3..4)[0], Window::default());
        assert!(membership.is_some_and(|of| of.sources == 30 && of.why.contains("30 sources")));
    }
}
