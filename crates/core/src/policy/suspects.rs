//! Clients in whose visits something is suspicious: they meet a challenge before the first limit. Nobody is denied for it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::request::Source;

/// Clients at most. Beyond, those whose visits end first are forgotten: the limits hold for them, too.
const CLIENTS_MAX: usize = 65_536;

/// A client in whose visit something is suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspect {
    /// Where it comes from.
    pub source: Source,
    /// Hash of its user agent.
    pub agent: u32,
    /// Seconds since 1970 until which the visit goes on, if nothing more comes.
    pub until: u32,
}

/// Clients by source and the hash of their user agent, with the second at which each is one no more.
#[derive(Debug, Clone, Default)]
pub struct Suspects(HashMap<(Source, u32), u32, RandomState>);

impl Suspects {
    /// True for a client that is one at this time.
    pub fn has(&self, source: Source, agent: u32, time: u32) -> bool {
        let until = self.0.get(&(source, agent));
        until.is_some_and(|until| time <= *until)
    }

    /// Adds some. Where there are too many, half of them are forgotten.
    pub fn add(&mut self, found: &[Suspect]) {
        let found = found.iter();
        self.0
            .extend(found.map(|found| ((found.source, found.agent), found.until)));
        if self.0.len() > CLIENTS_MAX {
            let mut ends: Vec<u32> = self.0.values().copied().collect();
            let (_, least, later) = ends.select_nth_unstable(self.0.len() - CLIENTS_MAX / 2);
            let (least, mut room) = (*least, CLIENTS_MAX / 2);
            room -= later.iter().filter(|until| **until > least).count();
            self.0.retain(|_, until| {
                let fits = *until == least && room > 0;
                room -= usize::from(fits);
                *until > least || fits
            });
        }
    }

    /// Removes those whose time is over.
    pub fn forget_ended(&mut self, now: u32) {
        self.0.retain(|_, until| *until >= now);
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
