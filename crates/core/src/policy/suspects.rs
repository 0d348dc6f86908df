//! Clients in whose visits something is suspicious, or that have followed traps: they meet a challenge before the first limit. Nobody is
//! denied for it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::request::Source;

/// Clients at most. Beyond, those whose visits end first are forgotten: the limits hold for them, too.
const CLIENTS_MAX: usize = 65_536;

/// What is suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Its visit looks like a robot's.
    Visit,
    /// It has followed traps.
    Trap,
}

/// A client in whose visit something is suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspect {
    /// Where it comes from.
    pub source: Source,
    /// Hash of its user agent.
    pub agent: u32,
    /// Seconds since 1970 until which it is one, if nothing more comes.
    pub until: u32,
    /// What is suspicious.
    pub sign: Sign,
}

/// Until when a client is one, by sign.
#[derive(Debug, Clone, Copy, Default)]
struct Ends([u32; 2]);

impl Ends {
    fn last(self) -> u32 {
        self.0[0].max(self.0[1])
    }
}

/// Clients by source and the hash of their user agent, with the second at which each is one no more.
#[derive(Debug, Clone, Default)]
pub struct Suspects(HashMap<(Source, u32), Ends, RandomState>);

impl Suspects {
    /// True for a client that is one at this time.
    pub fn has(&self, source: Source, agent: u32, time: u32) -> bool {
        let ends = self.0.get(&(source, agent));
        ends.is_some_and(|ends| time <= ends.last())
    }

    /// True for a client that has followed traps.
    pub fn has_trapped(&self, source: Source, agent: u32, time: u32) -> bool {
        let ends = self.0.get(&(source, agent));
        ends.is_some_and(|ends| time <= ends.0[Sign::Trap as usize])
    }

    /// Adds some. Where there are too many, half of them are forgotten.
    pub fn add(&mut self, found: &[Suspect]) {
        for found in found {
            let ends = self.0.entry((found.source, found.agent)).or_default();
            ends.0[found.sign as usize] = found.until;
        }
        if self.0.len() > CLIENTS_MAX {
            let mut ends: Vec<u32> = self.0.values().map(|ends| ends.last()).collect();
            let (_, least, later) = ends.select_nth_unstable(self.0.len() - CLIENTS_MAX / 2);
            let (least, mut room) = (*least, CLIENTS_MAX / 2);
            room -= later.iter().filter(|until| **until > least).count();
            self.0.retain(|_, ends| {
                let fits = ends.last() == least && room > 0;
                room -= usize::from(fits);
                ends.last() > least || fits
            });
        }
    }

    /// Removes those whose time is over.
    pub fn forget_ended(&mut self, now: u32) {
        self.0.retain(|_, ends| ends.last() >= now);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect(number: u32, until: u32) -> Suspect {
        let address = format!("198.18.{}.{}", number >> 8 & 255, number & 255);
        Suspect {
            source: Source::from_address(address.as_bytes()).unwrap(),
            agent: number >> 16,
            until,
            sign: Sign::Visit,
        }
    }

    #[test]
    fn suspicion_ends_and_is_the_clients_own() {
        let one = suspect(1, 100);
        let mut suspects = Suspects::default();
        suspects.add(&[one]);
        assert!(suspects.has(one.source, one.agent, 100));
        assert!(!suspects.has(one.source, one.agent, 101));
        assert!(!suspects.has(one.source, one.agent + 1, 60));
        suspects.forget_ended(100);
        assert_eq!(suspects.count(), 1);
        suspects.forget_ended(101);
        assert_eq!(suspects.count(), 0);
    }

    #[test]
    fn a_trap_is_remembered_beside_a_visit() {
        let visit = suspect(1, 100);
        let trap = Suspect {
            until: 5000,
            sign: Sign::Trap,
            ..visit
        };
        let mut suspects = Suspects::default();
        suspects.add(&[trap, visit]);
        suspects.forget_ended(200);
        assert!(suspects.has(visit.source, visit.agent, 5000));
        assert!(suspects.has_trapped(visit.source, visit.agent, 5000));
        assert!(!suspects.has_trapped(visit.source, visit.agent + 1, 50));
        suspects.add(&[visit]);
        assert!(!suspects.has(visit.source, visit.agent, 5001));
    }

    #[test]
    fn a_flood_of_them_is_bounded() {
        let many: Vec<Suspect> = (0..100_000).map(|number| suspect(number, number)).collect();
        let mut suspects = Suspects::default();
        suspects.add(&many);
        assert!(suspects.count() <= CLIENTS_MAX);
        let last = many.last().unwrap();
        assert!(suspects.has(last.source, last.agent, 0));
        let at_once: Vec<Suspect> = (0..100_000).map(|number| suspect(number, 7)).collect();
        let mut suspects = Suspects::default();
        suspects.add(&at_once);
        assert_eq!(suspects.count(), CLIENTS_MAX / 2, "all of one second");
    }
}
