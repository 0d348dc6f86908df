//! Which user agents one source used, and how often: exact for a dozen, a linear sketch beyond.

use smallvec::SmallVec;

/// Up to here every agent has its own count.
const FEW_MAX: usize = 12;
/// Cells of the sketch. The fullest cell bounds the top agent's share from above, which is all that a source with more
/// than a dozen agents needs.
const CELLS: usize = 64;

/// Requests per user agent, by the agent's hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agents {
    /// (agent, requests)
    Few(SmallVec<[(u32, u32); 2]>),
    /// Requests by the agent's hash modulo the number of cells.
    Many(Box<[u32; CELLS]>),
}

impl Default for Agents {
    fn default() -> Agents {
        Agents::Few(SmallVec::new())
    }
}

impl Agents {
    /// Counts one request.
    pub fn add(&mut self, agent: u32) {
        self.add_many(agent, 1);
    }

    #[inline]
    fn add_many(&mut self, agent: u32, requests: u32) {
        match self {
            Agents::Few(list) => match list.iter().position(|(known, _)| *known == agent) {
                Some(at) => list[at].1 += requests,
                None if list.len() < FEW_MAX => list.push((agent, requests)),
                None => self.spread()[agent as usize % CELLS] += requests,
            },
            Agents::Many(cells) => cells[agent as usize % CELLS] += requests,
        }
    }

    /// Gives up the counts of single agents for cells.
    fn spread(&mut self) -> &mut [u32; CELLS] {
        if let Agents::Few(list) = self {
            let mut cells = Box::new([0; CELLS]);
            list.iter()
                .for_each(|(agent, count)| cells[*agent as usize % CELLS] += count);
            *self = Agents::Many(cells);
        }
        match self {
            Agents::Many(cells) => cells,
            Agents::Few(_) => unreachable!("it was just made many"),
        }
    }

    /// Adds all requests of another source.
    pub fn absorb(&mut self, other: &Agents) {
        match other {
            Agents::Few(list) => list
                .iter()
                .for_each(|(agent, count)| self.add_many(*agent, *count)),
            Agents::Many(cells) => {
                let mine = self.spread();
                for (mine, theirs) in mine.iter_mut().zip(cells.iter()) {
                    *mine += theirs;
                }
            }
        }
    }

    /// How many agents there were; from the thirteenth on a lower bound.
    pub fn count(&self) -> usize {
        match self {
            Agents::Few(list) => list.len(),
            Agents::Many(cells) => cells
                .iter()
                .filter(|count| **count > 0)
                .count()
                .max(FEW_MAX + 1),
        }
    }

    /// The agent with the most requests (of equals the smaller hash), where each has its own count.
    pub fn top(&self) -> Option<u32> {
        match self {
            Agents::Few(list) => list
                .iter()
                .max_by_key(|(agent, count)| (*count, std::cmp::Reverse(*agent)))
                .map(|(agent, _)| *agent),
            Agents::Many(_) => None,
        }
    }

    /// The agents that have a count of their own.
    pub fn known(&self) -> impl Iterator<Item = u32> {
        let list = match self {
            Agents::Few(list) => list.as_slice(),
            Agents::Many(_) => &[],
        };
        list.iter().map(|(agent, _)| *agent)
    }

    /// Requests of the most used agent; from the thirteenth agent on an upper bound.
    pub fn top_requests(&self) -> u32 {
        match self {
            Agents::Few(list) => list.iter().map(|(_, count)| *count).max().unwrap_or(0),
            Agents::Many(cells) => cells.iter().copied().max().unwrap_or(0),
        }
    }

    /// How many agents sent at least this many requests each; from the thirteenth agent on a lower bound.
    pub fn with_at_least(&self, requests: u32) -> usize {
        match self {
            Agents::Few(list) => list.iter().filter(|(_, count)| *count >= requests).count(),
            Agents::Many(cells) => cells.iter().filter(|count| **count >= requests).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn order_does_not_matter(mut agents in prop::collection::vec(0_u32..20, 1..200)) {
            let count = |agents: &[u32]| {
                let mut counted = Agents::default();
                agents.iter().for_each(|agent| counted.add(agent.wrapping_mul(0x9e37_79b9)));
                (counted.count(), counted.top(), counted.top_requests())
            };
            let forward = count(&agents);
            agents.sort_unstable();
            prop_assert_eq!(forward, count(&agents));
        }
    }
}
