//! The texts of user agents, which records know by a hash only.

use std::sync::Arc;
use std::sync::OnceLock;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::flag;
use crate::knowledge::Browser;
use crate::knowledge::Knowledge;
use crate::knowledge::browser_released;

/// Agent texts by hash, bounded: of too many the ones with the smallest hashes are kept, whatever the order they came in.
#[derive(Debug)]
pub struct AgentTexts {
    table: HashTable<AgentNote>,
    /// Hashes above this are not kept any more.
    limit: u64,
}

#[derive(Debug, Clone)]
struct AgentNote {
    hash: u64,
    known: KnownAgent,
    /// Shared with the books it is copied to.
    text: Arc<[u8]>,
}

/// What an agent's text says, found out once.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownAgent {
    /// One more than the number of the robot it names itself as.
    pub(super) robot: u16,
    /// Bits of a record: whether it is a browser's kind of agent, and whether it names a program that somebody asked to come.
    pub(super) flags: u32,
    /// The browser it claims to be.
    pub(super) browser: Browser,
}

impl KnownAgent {
    fn find(agent: &[u8], knowledge: &Knowledge) -> KnownAgent {
        let number = knowledge.robots.find(agent);
        let robot = number.and_then(|number| knowledge.robots.robot(number));
        let mut flags = 0;
        if agent.starts_with(b"Mozilla/") || agent.starts_with(b"Opera/") {
            flags |= flag::BROWSER;
        }
        if robot.is_some_and(|robot| robot.purpose.is_automated()) {
            flags |= flag::AUTOMATED;
        }
        KnownAgent {
            robot: number.map_or(0, |number| number + 1),
            flags,
            browser: Browser::of(agent),
        }
    }
}

/// Agents that are kept with their text.
const AGENTS_MAX: usize = 1 << 16;
/// Bytes of an agent's text that are kept.
const AGENT_BYTES_MAX: usize = 512;

impl Default for AgentTexts {
    fn default() -> AgentTexts {
        AgentTexts {
            table: HashTable::new(),
            limit: u64::MAX,
        }
    }
}

impl AgentTexts {
    /// What an agent's text says, remembered by hash.
    pub(super) fn known(&mut self, hash: u64, agent: &[u8], knowledge: &Knowledge) -> KnownAgent {
        if hash > self.limit {
            return KnownAgent::find(agent, knowledge);
        }
        match self
            .table
            .entry(hash, |note| note.hash == hash, |note| note.hash)
        {
            Entry::Occupied(note) => note.get().known,
            Entry::Vacant(place) => {
                let known = KnownAgent::find(agent, knowledge);
                place.insert(AgentNote {
                    hash,
                    known,
                    text: agent[..agent.len().min(AGENT_BYTES_MAX)].into(),
                });
                if self.table.len() >= 2 * AGENTS_MAX {
                    self.shrink();
                }
                known
            }
        }
    }

    fn shrink(&mut self) {
        if self.table.len() <= AGENTS_MAX {
            return;
        }
        let mut hashes: Vec<u64> = self.table.iter().map(|note| note.hash).collect();
        let (_, largest, _) = hashes.select_nth_unstable(AGENTS_MAX - 1);
        self.limit = *largest;
        self.table.retain(|note| note.hash <= self.limit);
    }

    /// How many agents it holds.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True where it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the other's notes.
    pub fn absorb(&mut self, other: &AgentTexts) {
        self.limit = self.limit.min(other.limit);
        for note in &other.table {
            if let Entry::Vacant(place) = self.table.entry(
                note.hash,
                |known| known.hash == note.hash,
                |known| known.hash,
            ) {
                place.insert(note.clone());
            }
        }
        self.table.retain(|note| note.hash <= self.limit);
        self.shrink();
    }

    /// Forgets the agents that are not among these, sorted as records know them; there is room for new ones then, whatever their hashes.
    pub fn keep(&mut self, agents: &[u32]) {
        self.table
            .retain(|note| agents.binary_search(&(note.hash as u32)).is_ok());
        self.limit = u64::MAX;
    }

    /// The text and robot number of an agent in a record, through an index sorted by the record's shorter hash.
    pub fn into_index(self) -> AgentIndex {
        let mut notes: Vec<AgentNote> = self.table.into_iter().collect();
        notes.sort_unstable_by_key(|note| (note.hash as u32, note.hash));
        AgentIndex {
            notes,
            newest: OnceLock::new(),
        }
    }
}

/// The finished texts, for look-up.
#[derive(Debug)]
pub struct AgentIndex {
    notes: Vec<AgentNote>,
    newest: OnceLock<Option<f64>>,
}

impl AgentIndex {
    /// An agent's text, if it was kept.
    pub fn text(&self, agent: u32) -> Option<&[u8]> {
        self.note(agent).map(|note| &*note.text)
    }

    /// The year in which the newest browsers came out that visitors have: a twentieth of all agents is newer, some of which are made up.
    /// What is new when a log was written shows in the log.
    pub fn newest_browsers(&self) -> Option<f64> {
        *self.newest.get_or_init(|| {
            let texts = self.notes.iter().filter(|note| note.known.robot == 0);
            let mut years: Vec<f64> = texts
                .filter_map(|note| browser_released(&note.text))
                .collect();
            years.sort_unstable_by(f64::total_cmp);
            years.get(years.len() * 19 / 20).copied()
        })
    }

    /// The number of the robot the agent names itself as.
    pub fn robot(&self, agent: u32) -> Option<u16> {
        self.note(agent)?.known.robot.checked_sub(1)
    }

    fn note(&self, agent: u32) -> Option<&AgentNote> {
        let at = self
            .notes
            .partition_point(|note| (note.hash as u32) < agent);
        self.notes.get(at).filter(|note| note.hash as u32 == agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_agents_are_kept_in_any_order() {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let agents: Vec<u64> = (0..3 * AGENTS_MAX as u64)
            .map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let fill = |agents: &mut dyn Iterator<Item = &u64>| {
            let mut texts = AgentTexts::default();
            agents.for_each(|hash| {
                texts.known(*hash, &hash.to_le_bytes(), &knowledge);
            });
            texts
        };
        let mut whole = fill(&mut agents.iter());
        whole.absorb(&AgentTexts::default());
        let mut halves = fill(&mut agents.iter().rev().step_by(2));
        halves.absorb(&fill(&mut agents.iter().rev().skip(1).step_by(2)));
        let texts = |agents: AgentTexts| {
            agents
                .into_index()
                .notes
                .into_iter()
                .map(|note| note.hash)
                .collect::<Vec<_>>()
        };
        let (whole, halves) = (texts(whole), texts(halves));
        assert_eq!(whole.len(), AGENTS_MAX);
        assert_eq!(whole, halves);
    }

    #[test]
    fn a_full_book_takes_new_agents_when_old_ones_are_forgotten() {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let mut agents = AgentTexts::default();
        for number in 0..3 * AGENTS_MAX as u64 {
            let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            agents.known(hash, b"an invented agent", &knowledge);
        }
        agents.known(u64::MAX, b"new", &knowledge);
        agents.known(7, b"known", &knowledge);
        agents.keep(&[7]);
        assert_eq!(agents.table.len(), 1);
        agents.known(u64::MAX, b"new", &knowledge);
        let index = agents.into_index();
        assert_eq!(index.text(7), Some(b"known".as_slice()));
        assert_eq!(index.text(u32::MAX), Some(b"new".as_slice()));
    }
}
