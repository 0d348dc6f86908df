//! Signed-in people whose paths are followed: the way to their table, which a thread of its own keeps, and who of them is a suspect.
//!
//! Invariant: no request waits for the table. What finds no room on the way to it is lost, and counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::SyncSender;

use arc_swap::ArcSwap;
use cattlegrid_core::paths::UserRequest;
use cattlegrid_core::paths::UserStanding;

use crate::state::metrics::Metrics;

/// What waits at most on the way to the table: less than 2 MiB, and more than a site shows in a second.
const WAITING_MAX: usize = 1 << 14;

/// What the table is told.
#[derive(Debug)]
pub(crate) enum Told {
    /// A page request. Its day is not known yet.
    Request(UserRequest),
    /// The name of a user.
    Name(u64, Box<str>),
}

type Standings = HashMap<u64, UserStanding>;

/// What threads share about signed-in people.
#[derive(Debug)]
pub(crate) struct UserNotes {
    to_table: SyncSender<Told>,
    told: Mutex<Option<Receiver<Told>>>,
    /// Those who are not normal users.
    standings: ArcSwap<Standings>,
}

impl Default for UserNotes {
    fn default() -> UserNotes {
        let (to_table, told) = mpsc::sync_channel(WAITING_MAX);
        UserNotes {
            to_table,
            told: Mutex::new(Some(told)),
            standings: ArcSwap::default(),
        }
    }
}

impl UserNotes {
    /// Tells the table something.
    pub(crate) fn tell(&self, told: Told, metrics: &Metrics) {
        // Counted first: the table may take it in before this thread goes on.
        metrics.user_requests_waiting.inc();
        if self.to_table.try_send(told).is_err() {
            metrics.user_requests_waiting.dec();
            metrics.user_requests_lost.inc();
        }
    }

    /// What the table is told, for the one thread that keeps it.
    pub(crate) fn take(&self) -> Option<Receiver<Told>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.take()
    }

    /// How a user is treated.
    pub(crate) fn standing(&self, user: u64) -> UserStanding {
        let standings = self.standings.load();
        let known = standings.get(&user);
        known.copied().unwrap_or(UserStanding::Normal)
    }

    /// Publishes how a user is treated from now on.
    pub(crate) fn publish(&self, user: u64, standing: UserStanding) {
        self.standings.rcu(|known| {
            let mut standings = Standings::clone(known);
            match standing {
                UserStanding::Normal => standings.remove(&user),
                other => standings.insert(user, other),
            };
            Arc::new(standings)
        });
    }

    /// Publishes that those are normal users about whom this is true.
    pub(crate) fn free_if(&self, is_normal: impl Fn(u64) -> bool) {
        let standings = self.standings.load();
        let freed = standings.keys().filter(|user| is_normal(**user));
        let freed: Vec<u64> = freed.copied().collect();
        drop(standings);
        for user in freed {
            self.publish(user, UserStanding::Normal);
        }
    }

    /// A suspect has answered a question: a normal user with the next request. The table takes it from here.
    pub(crate) fn solved(&self, user: u64) {
        if let UserStanding::Suspect(_) = self.standing(user) {
            self.publish(user, UserStanding::Normal);
        }
    }

    /// Users who are suspects, and users who are throttled.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let standings = self.standings.load();
        let is_suspect = |standing: &&UserStanding| matches!(standing, UserStanding::Suspect(_));
        let suspects = standings.values().filter(is_suspect).count();
        (suspects, standings.len() - suspects)
    }
}
