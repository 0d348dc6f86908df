//! What the knowledge base says, as one immutable value that every request can look into without waiting.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use ipnet::IpNet;
use prefix_trie::joint::JointPrefixMap;

use crate::networks::network_of;
use crate::request::Source;

/// What an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Let it pass.
    Allow,
    /// Refuse it.
    Deny,
    /// Count all it is about as if it were one source.
    Watch,
}

impl Action {
    /// The name in reports and in the base.
    pub fn name(self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::Deny => "deny",
            Action::Watch => "watch",
        }
    }

    /// The action with a name.
    pub fn parse(name: &str) -> Option<Action> {
        [Action::Allow, Action::Deny, Action::Watch]
            .into_iter()
            .find(|action| action.name() == name)
    }
}

/// What is known of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruling {
    /// What to do.
    pub action: Action,
    /// The owner said so.
    pub is_owners: bool,
    /// The program found it out: a person who is denied with others can lift it by a harder challenge.
    pub is_learned: bool,
    /// Pages in a day up to which an allowed source passes; 0 for no limit.
    pub cap: u32,
    /// When it was said.
    pub since: u32,
    /// First second at which it no longer holds; `u32::MAX` for never.
    pub until: u32,
    /// Number of the entry.
    pub entry: u64,
}

impl Ruling {
    fn holds(&self, time: u32) -> bool {
        time < self.until || self.until == u32::MAX
    }

    /// True for a denial that a harder challenge lifts.
    pub fn can_be_lifted(&self) -> bool {
        self.action == Action::Deny && self.is_learned && !self.is_owners
    }

    /// What counts more: what the owner allows or denies, what the owner has taken back, the rest.
    fn rank(&self) -> u8 {
        match (self.is_owners, self.action) {
            (true, Action::Allow | Action::Deny) => 2,
            (true, Action::Watch) => 1,
            (false, _) => 0,
        }
    }

    /// What counts more: the owner's word, then what is nearer to the source.
    fn is_over(&self, other: &Ruling) -> bool {
        self.is_owners >= other.is_owners
    }
}

/// All rulings.
#[derive(Debug, Default)]
pub struct Standing {
    sources: HashMap<Source, Ruling, RandomState>,
    networks: JointPrefixMap<IpNet, Ruling>,
    agents: BTreeMap<u32, Ruling>,
}

impl Standing {
    /// Adds what is known of a source. What the owner said stays.
    pub fn add_source(&mut self, source: Source, ruling: Ruling) {
        let known = self.sources.entry(source).or_insert(ruling);
        if ruling.is_over(known) {
            *known = ruling;
        }
    }

    /// Adds what is known of a network.
    pub fn add_network(&mut self, network: IpNet, ruling: Ruling) {
        let stays = self
            .networks
            .get(&network)
            .is_some_and(|known| !ruling.is_over(known));
        if !stays {
            self.networks.insert(network, ruling);
        }
    }

    /// Adds what is known of all who send a user agent, by its hash.
    pub fn add_agent(&mut self, agent: u32, ruling: Ruling) {
        let known = self.agents.entry(agent).or_insert(ruling);
        if ruling.is_over(known) {
            *known = ruling;
        }
    }

    /// True where a request was refused by what is known, or may have been: it was answered with a refusal while its source was denied.
    pub fn has_refused(&self, source: Source, agent: u32, time: u32, status: u16) -> bool {
        matches!(status, 403 | 429)
            && self
                .ruling(source, agent, time)
                .is_some_and(|ruling| ruling.action == Action::Deny && ruling.since <= time)
    }

    /// How many rulings there are.
    pub fn len(&self) -> usize {
        self.sources.len() + self.networks.len() + self.agents.len()
    }

    /// True where nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is known of a source at a time: the owner's word first, then what is said of the source itself, of the smallest network
    /// around it, of its agent.
    pub fn ruling(&self, source: Source, agent: u32, time: u32) -> Option<Ruling> {
        let of_source = self.sources.get(&source);
        let of_network = match self.networks.is_empty() {
            true => None,
            false => network_of(source).and_then(|network| self.of_network(&network, time)),
        };
        let of_agent = match agent {
            0 => None,
            agent => self.agents.get(&agent),
        };
        let found = [of_source, of_network, of_agent];
        let mut best: Option<&Ruling> = None;
        for ruling in found
            .into_iter()
            .flatten()
            .filter(|ruling| ruling.holds(time))
        {
            if best.is_none_or(|best| ruling.rank() > best.rank()) {
                best = Some(ruling);
            }
        }
        best.copied()
    }

    /// What is known of a network at a time: the owner's word first, then what is said of the smallest network around it.
    pub fn of_network(&self, network: &IpNet, time: u32) -> Option<&Ruling> {
        self.networks
            .cover_values(network)
            .filter(|ruling| ruling.holds(time))
            // They come from the largest to the smallest; of equals the last one is taken.
            .max_by_key(|ruling| ruling.rank())
    }
}
