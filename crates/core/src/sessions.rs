//! The sessions that go on now: one for each client, in bounded memory.
//!
//! A client is a source with a user agent, and with a session cookie where it has sent the same one before: many people behind one address
//! are many clients, and a program that takes a new cookie with every request is one.

mod emulator;

pub use emulator::Emulator;
pub use emulator::Fate;
pub use emulator::MINIMUMS;

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::profile::Around;
use crate::profile::Record;
use crate::profile::Session;
use crate::profile::VALUES;
use crate::request::Source;

/// Who a session belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client {
    /// Where it comes from.
    pub source: Source,
    /// Hash of its user agent.
    pub agent: u32,
    /// Hash of its session cookie; 0 for those without one, or with a new one each time.
    pub cookie: u32,
}

#[derive(Debug)]
struct Entry {
    client: Client,
    session: Session,
    /// The last cookies of clients without a session of their own yet.
    cookies: [u32; COOKIES],
}

/// Cookies that are remembered for each source and agent. People come one after the other: a cookie comes back within a few requests.
const COOKIES: usize = 4;
/// Sessions that are looked at for one to end when there is no room: the longest silent one of them.
const LOOKS: usize = 16;

/// Sessions by client.
#[derive(Debug)]
pub struct Sessions {
    index: HashTable<u32>,
    entries: Vec<Entry>,
    hasher: RandomState,
    capacity: usize,
    /// Seconds of silence that end a session.
    silence: u32,
    /// Where the search for sessions that have ended goes on.
    hand: usize,
    crowded: u64,
    around: Around,
    /// Sessions that have ended, with their values, where somebody wants them.
    ended: Option<Vec<Ended>>,
}

/// A session that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Whose it was.
    pub client: Client,
    /// The session.
    pub session: Session,
    /// What it measured, as the log was then.
    pub values: [f64; VALUES],
}

/// A session while it goes on, after a request.
#[derive(Debug, Clone, Copy)]
pub struct Ongoing<'a> {
    /// Whose it is.
    pub client: Client,
    /// The session.
    pub session: &'a Session,
    around: &'a Around,
}

impl Ongoing<'_> {
    /// What it measures.
    pub fn values(&self) -> [f64; VALUES] {
        self.session.values(self.around)
    }
}

impl Sessions {
    /// Room for so many sessions, of which memory is used as they come; each ends after so many seconds without a request.
    pub fn new(capacity: usize, silence: u32) -> Sessions {
        Sessions {
            index: HashTable::with_capacity(capacity.max(1)),
            entries: Vec::with_capacity(capacity.max(1)),
            hasher: RandomState::default(),
            capacity: capacity.max(1),
            silence,
            hand: 0,
            crowded: 0,
            around: Around::default(),
            ended: None,
        }
    }

    /// Keeps sessions that end, for [`Sessions::finish`].
    pub fn keep_ended(mut self) -> Sessions {
        self.ended = Some(Vec::new());
        self
    }

    /// Ends all sessions, at the end of a log, and gives those that have ended if they were kept.
    pub fn finish(mut self) -> Vec<Ended> {
        (0..self.entries.len()).for_each(|at| self.end(at));
        self.ended.unwrap_or_default()
    }

    /// Takes in a request, and gives the session it belongs to.
    pub fn observe(&mut self, record: &Record) -> Ongoing<'_> {
        self.around.observe(record);
        let mut client = Client {
            source: record.source(),
            agent: record.agent,
            cookie: 0,
        };
        if record.session != 0 {
            client.cookie = self.cookie(client, record);
        }
        let at = self.find_or_add(client, record.time);
        if self.is_over(at, record.time) {
            self.end(at);
        }
        let entry = &mut self.entries[at];
        entry.session.observe(record);
        Ongoing {
            client: entry.client,
            session: &entry.session,
            around: &self.around,
        }
    }

    /// The cookie that a request's session is known by: its own if it came before, else none.
    fn cookie(&mut self, client: Client, record: &Record) -> u32 {
        let cookie = record.session;
        let own = Client { cookie, ..client };
        if self.find(own).is_some() {
            return cookie;
        }
        let at = self.find_or_add(client, record.time);
        let cookies = &mut self.entries[at].cookies;
        if cookies.contains(&cookie) {
            return cookie;
        }
        cookies.rotate_right(1);
        cookies[0] = cookie;
        0
    }

    fn find(&self, client: Client) -> Option<usize> {
        let hash = self.hasher.hash_one(client);
        let is_it = |at: &u32| self.entries[*at as usize].client == client;
        self.index.find(hash, is_it).map(|at| *at as usize)
    }

    fn find_or_add(&mut self, client: Client, time: u32) -> usize {
        if let Some(at) = self.find(client) {
            return at;
        }
        let entry = Entry {
            client,
            session: Session::default(),
            cookies: [0; COOKIES],
        };
        let at = match self.room(time) {
            Some(at) => {
                self.end(at);
                self.forget(at);
                self.entries[at] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        let Sessions {
            index,
            entries,
            hasher,
            ..
        } = self;
        let rehash = |at: &u32| hasher.hash_one(entries[*at as usize].client);
        index.insert_unique(hasher.hash_one(client), at as u32, rehash);
        at
    }

    /// The place of a session that has ended, or of the one that has been silent for longest among some where no more fit. `None` for a new place.
    fn room(&mut self, time: u32) -> Option<usize> {
        let many = self.entries.len();
        if many == 0 {
            return None;
        }
        // Two looks for each new client find all that have ended before the table has doubled.
        let is_full = many >= self.capacity;
        let looks = if is_full { LOOKS } else { 2 };
        let mut oldest = (u32::MAX, 0);
        for _ in 0..looks.min(many) {
            self.hand = (self.hand + 1) % many;
            let last = self.entries[self.hand].session.last;
            if self.is_over(self.hand, time) {
                return Some(self.hand);
            }
            oldest = oldest.min((last, self.hand));
        }
        self.crowded += u64::from(is_full);
        is_full.then_some(oldest.1)
    }

    fn is_over(&self, at: usize, time: u32) -> bool {
        self.entries[at].session.is_over(time, self.silence)
    }

    fn end(&mut self, at: usize) {
        let Entry {
            client, session, ..
        } = &mut self.entries[at];
        let session = std::mem::take(session);
        if let Some(ended) = &mut self.ended
            && session.requests > 0
        {
            ended.push(Ended {
                client: *client,
                session,
                values: session.values(&self.around),
            });
        }
    }

    fn forget(&mut self, at: usize) {
        let hash = self.hasher.hash_one(self.entries[at].client);
        let is_it = |known: &u32| *known == at as u32;
        if let Ok(found) = self.index.find_entry(hash, is_it) {
            found.remove();
        }
    }

    /// Sessions that are kept, those among them that have ended and not been found yet included.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Sessions that went on and were forgotten because there was no room.
    pub fn crowded(&self) -> u64 {
        self.crowded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(sessions: &mut Sessions, source: u64, time: u32, cookie: u32) -> (Client, u16) {
        let mut record = Record::page_for_tests(source, time);
        record.session = cookie;
        let ongoing = sessions.observe(&record);
        (ongoing.client, ongoing.session.pages)
    }

    #[test]
    fn silence_ends_a_session() {
        let mut sessions = Sessions::new(10, 120);
        let pages = [0, 60, 180, 301, 302].map(|time| ask(&mut sessions, 1, time, 0).1);
        assert_eq!(pages, [1, 2, 3, 1, 2]);
    }

    #[test]
    fn cookies_that_come_back_are_clients_of_their_own() {
        let mut sessions = Sessions::new(100, 120);
        let mut last = Vec::new();
        for round in 0..10 {
            last = (1..4)
                .map(|person| ask(&mut sessions, 1, round, person).1)
                .collect();
        }
        assert_eq!(
            last,
            [9, 9, 9],
            "all but the first, which brought the cookie"
        );
        let mut pages = 0;
        for number in 0..10 {
            pages = ask(&mut sessions, 2, 10, 100 + number).1;
        }
        assert_eq!(pages, 10, "a new cookie each time is one client");
    }

    #[test]
    fn memory_is_bounded_and_those_who_went_away_make_room() {
        let mut sessions = Sessions::new(1000, 120);
        for source in 0..100_000 {
            ask(&mut sessions, source, source as u32, 0);
            assert_eq!(
                ask(&mut sessions, u64::MAX, source as u32, 0).1,
                (source + 1) as u16
            );
            if source > 60_000 {
                break;
            }
        }
        assert!(sessions.count() <= 300, "{}", sessions.count());
        assert_eq!(sessions.crowded(), 0);
        for source in 0..5000 {
            ask(&mut sessions, source, 200_000, 0);
        }
        assert!(sessions.count() <= 1000 && sessions.crowded() >= 4000);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_nobody_fast() {
        let mut sessions = Sessions::new(10, 1800);
        let times = (0..10).map(|number| 10_000 + 30 * number);
        let again = (0..10).map(|number| 9_000 + 30 * number);
        let mut seconds = Vec::new();
        for time in times.chain([9_260, 10_260]).chain(again) {
            let ongoing = sessions.observe(&Record::page_for_tests(1, time));
            seconds.push((ongoing.session.pages, ongoing.values()[3]));
        }
        assert_eq!(seconds[9], (10, 30.0));
        assert_eq!(seconds.last(), Some(&(10, 30.0)), "{seconds:?}");
    }

    #[test]
    fn clocks_that_jump_and_floods_of_clients_break_nothing() {
        let mut sessions = Sessions::new(1000, 1800);
        let mut random = 1_u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as u32
        };
        for number in 0..200_000_u32 {
            let time = match next() % 8 {
                0 => next().wrapping_mul(2),
                1 => 0,
                2 => u32::MAX,
                _ => number,
            };
            let mut record = Record::page_for_tests(u64::from(next() % 5000), time);
            record.agent = next() % 3;
            record.session = next() % 4;
            record.flags = next() & !3;
            let ongoing = sessions.observe(&record);
            assert!(ongoing.values().iter().all(|value| value.is_finite()));
        }
        assert!(sessions.count() <= 1000);
    }

    #[test]
    fn a_million_fit_a_quarter_of_a_gibibyte() {
        let index = 2 * (size_of::<u32>() + 1);
        assert!(
            (size_of::<Entry>() + index) << 20 <= 256 << 20,
            "{}",
            size_of::<Entry>()
        );
    }
}
