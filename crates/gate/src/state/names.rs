//! Which addresses have the names of which operators, as far as name servers have said. A request reads it and never waits: what is not
//! known is asked for in the background.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use cattlegrid_core::policy::Looked;
use tokio::sync::mpsc::Receiver;
use tokio::sync::mpsc::Sender;

/// Shards with a lock each, and what each holds at most: 65,536 addresses in all.
const SHARDS: usize = 16;
const SHARD_MAX: usize = 4096;
/// Lookups that wait.
const QUEUE: usize = 1024;
/// Lookups of one /24 or /48 network that wait or are under way: one network cannot use up the queue.
const OF_NETWORK: u16 = 8;
/// Seconds after which a lookup that nobody finished is asked for again. The last of a full queue waits 80: 1,024 lookups, 64 at once, five
/// seconds each while name servers are silent. Asked for sooner, it would stand in the queue twice.
const LOST: u32 = 90;
/// Seconds for which a confirmed name still counts while it is looked up again: a search engine must not be a stranger for that moment.
pub(crate) const STALE: u32 = 3600;

/// An address, and the domains in one of which its name must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    address: IpAddr,
    domains: u64,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    looked: Looked,
    /// Until then nobody is asked.
    until: u32,
    /// Until then it counts.
    ends: u32,
}

/// What is to be looked up.
#[derive(Debug)]
pub(crate) struct Lookup {
    key: Key,
    pub(crate) address: IpAddr,
    pub(crate) domains: Vec<String>,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Names {
    shards: [Mutex<HashMap<Key, Known>>; SHARDS],
    hasher: RandomState,
    waiting: Mutex<HashMap<u64, u16>>,
    queue: Sender<Lookup>,
    lookups: Mutex<Option<Receiver<Lookup>>>,
}

impl Default for Names {
    fn default() -> Names {
        let (queue, lookups) = tokio::sync::mpsc::channel(QUEUE);
        Names {
            shards: Default::default(),
            hasher: RandomState::new(),
            waiting: Mutex::default(),
            queue,
            lookups: Mutex::new(Some(lookups)),
        }
    }
}

impl Names {
    /// What is known about an address. What is not is looked up, if there is room for that.
    pub(crate) fn look(&self, address: IpAddr, domains: &[String], now: u32) -> Looked {
        let address = address.to_canonical();
        let key = Key {
            address,
            domains: self.hasher.hash_one(domains),
        };
        let mut shard = self.shard(&key);
        let before = shard.get(&key).filter(|known| now < known.ends).copied();
        let looked = before.map_or(Looked::Unknown, |known| known.looked);
        if before.is_some_and(|known| now < known.until) {
            return looked;
        }
        let lookup = Lookup {
            key,
            address,
            domains: domains.to_vec(),
        };
        if make_room(&mut shard, now) && self.enter(address) {
            match self.queue.try_send(lookup) {
                Ok(()) => {
                    let until = now.saturating_add(LOST);
                    let known = Known {
                        looked,
                        until,
                        ends: before.map_or(until, |known| known.ends),
                    };
                    shard.insert(key, known);
                }
                Err(_) => self.leave(address),
            }
        }
        looked
    }

    /// Notes what was found out, and until when nobody is to be asked again. Where nothing was, what was confirmed before still counts.
    pub(crate) fn settle(&self, lookup: &Lookup, looked: Looked, until: u32) {
        self.leave(lookup.address);
        let mut shard = self.shard(&lookup.key);
        let before = shard.get(&lookup.key).copied();
        let known = match (looked, before) {
            (Looked::Unknown, Some(before)) if before.looked == Looked::Confirmed => {
                Known { until, ..before }
            }
            (Looked::Confirmed, _) => Known {
                looked,
                until,
                ends: until.saturating_add(STALE),
            },
            _ => Known {
                looked,
                until,
                ends: until,
            },
        };
        if before.is_some() || make_room(&mut shard, 0) {
            shard.insert(lookup.key, known);
        }
    }

    /// The lookups to be done, for the one who does them.
    pub(crate) fn lookups(&self) -> Option<Receiver<Lookup>> {
        lock(&self.lookups).take()
    }

    fn shard(&self, key: &Key) -> MutexGuard<'_, HashMap<Key, Known>> {
        lock(&self.shards[self.hasher.hash_one(key) as usize % SHARDS])
    }

    /// Counts a lookup for the network around an address; false where there are enough.
    fn enter(&self, address: IpAddr) -> bool {
        let mut waiting = lock(&self.waiting);
        let of_network = waiting.entry(network(address)).or_default();
        let has_room = *of_network < OF_NETWORK;
        *of_network += u16::from(has_room);
        has_room
    }

    fn leave(&self, address: IpAddr) {
        let mut waiting = lock(&self.waiting);
        let network = network(address);
        match waiting.get_mut(&network) {
            Some(left @ 2..) => *left -= 1,
            _ => {
                waiting.remove(&network);
            }
        }
    }
}

/// Room for one more. Where a shard is full, all goes but what has been confirmed: it is worth most, and nobody can feign it.
fn make_room(shard: &mut HashMap<Key, Known>, now: u32) -> bool {
    if shard.len() >= SHARD_MAX {
        shard.retain(|_, known| now < known.ends && known.looked == Looked::Confirmed);
    }
    shard.len() < SHARD_MAX
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The /24 or /48 network around an address.
fn network(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u64::from(u32::from(address) >> 8),
        IpAddr::V6(address) => (u128::from(address) >> 80) as u64 | 1 << 63,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from(0xc000_0000 + number).into()
    }

    #[test]
    fn a_flood_of_addresses_finds_bounds_and_confirmed_ones_stay() {
        let names = Names::default();
        let mut lookups = names.lookups().unwrap();
        let domains = ["example.org".to_owned()];
        assert_eq!(names.look(address(1), &domains, 0), Looked::Unknown);
        let first = lookups.try_recv().unwrap();
        names.settle(&first, Looked::Confirmed, 10_000);
        assert_eq!(names.look(address(1), &domains, 1), Looked::Confirmed);
        assert_eq!(
            names.look(address(1), &["other".to_owned()], 1),
            Looked::Unknown
        );
        // One network takes eight places, however many of its addresses ask.
        for number in 0..256 {
            names.look(address(512 + number), &domains, 1);
        }
        assert_eq!(std::iter::from_fn(|| lookups.try_recv().ok()).count(), 9);
        let mut done = 0;
        for number in 0..200_000 {
            names.look(address(number * 256), &domains, 2);
            while let Ok(lookup) = lookups.try_recv() {
                names.settle(&lookup, Looked::Denied, 5_000);
                done += 1;
            }
        }
        assert!(done > 190_000, "{done}");
        let held: usize = names.shards.iter().map(|shard| lock(shard).len()).sum();
        assert!(held <= SHARDS * SHARD_MAX, "{held}");
        assert_eq!(names.look(address(1), &domains, 3), Looked::Confirmed);
        assert!(lock(&names.waiting).len() <= QUEUE + 2);
        // It is looked up again in time, counts meanwhile and while name servers fail, but not for ever.
        assert_eq!(names.look(address(1), &domains, 10_000), Looked::Confirmed);
        let again = lookups.try_recv().unwrap();
        assert_eq!(again.address, address(1));
        names.settle(&again, Looked::Unknown, 10_060);
        assert_eq!(names.look(address(1), &domains, 10_050), Looked::Confirmed);
        assert_eq!(
            names.look(address(1), &domains, 10_000 + STALE),
            Looked::Unknown
        );
    }

    #[test]
    fn who_waits_in_a_full_queue_is_not_queued_twice() {
        let names = Names::default();
        let mut lookups = names.lookups().unwrap();
        let domains = ["example.org".to_owned()];
        for now in [0, 40, 80] {
            assert_eq!(names.look(address(1), &domains, now), Looked::Unknown);
        }
        assert_eq!(std::iter::from_fn(|| lookups.try_recv().ok()).count(), 1);
    }

    #[test]
    fn a_full_queue_forgets_nothing_and_blocks_nobody() {
        let names = Names::default();
        let domains = ["example.org".to_owned()];
        for number in 0..5_000 {
            assert_eq!(
                names.look(address(number * 256), &domains, 0),
                Looked::Unknown
            );
        }
        assert_eq!(lock(&names.waiting).len(), QUEUE);
        let mut lookups = names.lookups().unwrap();
        let lookup = lookups.try_recv().unwrap();
        names.settle(&lookup, Looked::Denied, 100);
        names.look(address(4_000 * 256), &domains, 1);
        assert_eq!(lock(&names.waiting).len(), QUEUE);
    }
}
