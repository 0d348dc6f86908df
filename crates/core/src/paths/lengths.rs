//! How long users' short sessions are: what the length of a long session is chosen by.

use std::collections::BTreeMap;

use super::Cut;

/// Users that are followed at most; the entries of others are counted.
const USERS_MAX: usize = 1 << 20;

/// The longest short session of each user, from entries in order of time.
#[derive(Debug)]
pub struct Lengths {
    gap_ms: u64,
    users: BTreeMap<u64, User>,
    /// Entries of users beyond those that are followed.
    pub unfollowed: u64,
}

#[derive(Debug, Clone, Copy)]
struct User {
    last_ms: u64,
    now: u32,
    longest: u32,
    entries: u32,
}

impl Lengths {
    /// Nothing seen yet. Only the gap of the cut matters.
    pub fn new(cut: &Cut) -> Lengths {
        Lengths {
            gap_ms: cut.gap_ms,
            users: BTreeMap::new(),
            unfollowed: 0,
        }
    }

    /// One entry of a user.
    pub fn observe(&mut self, user: u64, at_ms: u64) {
        if self.users.len() >= USERS_MAX && !self.users.contains_key(&user) {
            self.unfollowed += 1;
            return;
        }
        let fresh = User {
            last_ms: at_ms,
            now: 0,
            longest: 0,
            entries: 0,
        };
        let user = self.users.entry(user).or_insert(fresh);
        if at_ms.saturating_sub(user.last_ms) >= self.gap_ms {
            user.now = 0;
        }
        user.last_ms = user.last_ms.max(at_ms);
        user.now += 1;
        user.entries += 1;
        user.longest = user.longest.max(user.now);
    }

    /// The longest short session of each user with so many entries at least, sorted.
    pub fn longest(&self, entries_min: u32) -> Vec<u32> {
        let active = self
            .users
            .values()
            .filter(|user| user.entries >= entries_min);
        let mut longest: Vec<u32> = active.map(|user| user.longest).collect();
        longest.sort_unstable();
        longest
    }

    /// Users that were followed.
    pub fn users(&self) -> usize {
        self.users.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_burst_of_each_user_counts() {
        let mut lengths = Lengths::new(&Cut::default());
        let minute = 60_000;
        for (user, at) in [(1, 0), (2, 0), (1, 10), (1, 39), (1, 69), (2, 90), (1, 70)] {
            lengths.observe(user, at * minute);
        }
        // User 1: three entries, then two after a gap of half an hour. User 2: one, then one.
        assert_eq!(lengths.longest(1), [1, 3]);
        assert_eq!(lengths.longest(3), [3]);
        assert_eq!(lengths.users(), 2);
    }
}
