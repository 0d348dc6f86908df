//! Clients in whose visits something is suspicious: they meet a challenge before the first limit. Nobody is denied for it.

use std::collections::HashMap;

use cattlegrid_core::analysis::Suspect;
use cattlegrid_core::request::Source;

/// Clients at most. Beyond, those whose visits end first are forgotten: the limits hold for them, too.
const CLIENTS_MAX: usize = 65_536;

/// Clients by source and the hash of their user agent, with the second at which each is one no more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Suspects(HashMap<(Source, u32), u32>);

impl Suspects {
    /// True for a client that is one at this time.
    pub(crate) fn has(&self, source: Source, agent: u32, time: u32) -> bool {
        let until = self.0.get(&(source, agent));
        until.is_some_and(|until| time <= *until)
    }

    /// The same with others, and without those whose time is over.
    pub(crate) fn with(&self, found: &[Suspect], now: u32) -> Suspects {
        let mut clients = self.0.clone();
        let found = found.iter();
        clients.extend(found.map(|found| ((found.source, found.agent), found.until)));
        clients.retain(|_, until| *until >= now);
        if clients.len() > CLIENTS_MAX {
            let mut ends: Vec<u32> = clients.values().copied().collect();
            let (_, least, _) = ends.select_nth_unstable(clients.len() - CLIENTS_MAX);
            let least = *least;
            clients.retain(|_, until| *until > least);
        }
        Suspects(clients)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
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
        let suspects = Suspects::default().with(&[one], 50);
        assert!(suspects.has(one.source, one.agent, 100));
        assert!(!suspects.has(one.source, one.agent, 101));
        assert!(!suspects.has(one.source, one.agent + 1, 60));
        assert_eq!(suspects.with(&[], 101).count(), 0);
    }

    #[test]
    fn a_flood_of_them_is_bounded() {
        let many: Vec<Suspect> = (0..100_000).map(|number| suspect(number, number)).collect();
        let suspects = Suspects::default().with(&many, 0);
        assert!(suspects.count() <= CLIENTS_MAX && suspects.count() > CLIENTS_MAX - 2);
        let last = many.last().unwrap();
        assert!(suspects.has(last.source, last.agent, 0));
    }
}
