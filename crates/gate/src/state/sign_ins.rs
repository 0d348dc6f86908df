//! What sites have said about session cookies, and which of them are being asked about.
//!
//! Cookies are known by a keyed hash, so that nothing here helps to take over a session. Those that the site knew and those that it did not
//! know have a table each: made-up cookies never push out good ones. Both tables and the requests under way are bounded.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;

use sha2::Digest;
use sha2::Sha256;
use tokio::sync::watch;

/// Cookies of a row, and rows of each table: 65,536 cookies that the site knew in 2.6 MiB, and 16,384 that it did not know.
const ROW: usize = 4;
const GOOD_ROWS: usize = 1 << 14;
const REFUSED_ROWS: usize = 1 << 12;
/// For so long somebody whom the site knew is asked about before strangers: a flood of made-up cookies does not sign people out.
const KNOWN_MS: u64 = 3_600_000;
/// Places of one person among requests that are held back, at least.
const OWN_MIN: usize = 4;

/// The keyed hash of a site and the session cookies for it.
pub(crate) type Session = [u8; 16];

/// What is known about a session without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Somebody is signed in.
    User(u64),
    /// Nobody is.
    Nobody,
    /// The site must be asked.
    Unknown(Acquaintance),
}

/// Whether the site has known a session before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquaintance {
    Known,
    Stranger,
}

/// What a site has answered: who is signed in, if anybody.
pub(crate) type Answer = Option<u64>;

/// How asking begins.
#[derive(Debug)]
pub(crate) enum Begun {
    /// The caller asks the site, and tells others.
    First(
        watch::Sender<Option<Answer>>,
        watch::Receiver<Option<Answer>>,
    ),
    /// Another request has asked already.
    Joined(watch::Receiver<Option<Answer>>),
    /// Too many are under way.
    Full,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    session: Session,
    user: u64,
    /// Milliseconds since the gate began.
    until_ms: u64,
}

#[derive(Debug)]
struct Table(Box<[Mutex<[Cell; ROW]>]>);

impl Table {
    fn new(rows: usize) -> Table {
        Table((0..rows).map(|_| Mutex::default()).collect())
    }

    fn row(&self, session: &Session) -> MutexGuard<'_, [Cell; ROW]> {
        let number = u64::from_le_bytes(*session.first_chunk().unwrap_or(&[0; 8]));
        let row = &self.0[number as usize % self.0.len()];
        row.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, session: &Session) -> Option<Cell> {
        let row = self.row(session);
        row.iter().find(|cell| cell.session == *session).copied()
    }

    /// Puts a cell in the place of an older one of the same session, else of the one that ends first.
    fn put(&self, new: Cell) {
        let mut row = self.row(&new.session);
        let of_same = |cell: &Cell| cell.session != new.session;
        if let Some(cell) = row
            .iter_mut()
            .min_by_key(|cell| (of_same(cell), cell.until_ms))
        {
            *cell = new;
        }
    }

    fn forget(&self, session: &Session) {
        let mut row = self.row(session);
        let same = row.iter_mut().filter(|cell| cell.session == *session);
        same.for_each(|cell| *cell = Cell::default());
    }
}

/// What is known about sessions. Threads share it.
#[derive(Debug)]
pub(crate) struct SignIns {
    key: [u8; 32],
    /// Made when the first answer comes: a gate that asks no site needs no room.
    good: OnceLock<Table>,
    refused: OnceLock<Table>,
    asking: Mutex<HashMap<Session, watch::Receiver<Option<Answer>>>>,
    slowed: Mutex<Slowed>,
}

/// Requests that are held back, all together and of each person.
#[derive(Debug, Default)]
struct Slowed {
    all: usize,
    by_user: HashMap<u64, usize>,
}

impl SignIns {
    /// Nothing is known yet. The key is drawn by chance.
    pub(crate) fn new() -> Result<SignIns, String> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| format!("no random numbers: {error}"))?;
        Ok(SignIns {
            key,
            good: OnceLock::new(),
            refused: OnceLock::new(),
            asking: Mutex::default(),
            slowed: Mutex::default(),
        })
    }

    /// The session that cookies stand for on a site.
    pub(crate) fn session(&self, site: &str, cookies: &[u8]) -> Session {
        let hash = Sha256::new()
            .chain_update(self.key)
            .chain_update((site.len() as u64).to_be_bytes())
            .chain_update(site)
            .chain_update(cookies)
            .finalize();
        *hash.first_chunk().unwrap_or(&[0; 16])
    }

    /// What is known about a session at a time.
    pub(crate) fn look(&self, session: &Session, now_ms: u64) -> Known {
        let good = self.good.get().and_then(|good| good.get(session));
        if let Some(cell) = good.filter(|cell| now_ms < cell.until_ms) {
            return Known::User(cell.user);
        }
        let refused = self.refused.get().and_then(|refused| refused.get(session));
        if refused.is_some_and(|cell| now_ms < cell.until_ms) {
            return Known::Nobody;
        }
        let is_known = good.is_some_and(|cell| now_ms < cell.until_ms.saturating_add(KNOWN_MS));
        Known::Unknown(match is_known {
            true => Acquaintance::Known,
            false => Acquaintance::Stranger,
        })
    }

    /// Notes what a site has said, and until when that is taken.
    pub(crate) fn note(&self, session: Session, answer: Answer, until_ms: u64) {
        let cell = |user| Cell {
            session,
            user,
            until_ms,
        };
        match answer {
            Some(user) => {
                let good = self.good.get_or_init(|| Table::new(GOOD_ROWS));
                good.put(cell(user));
            }
            None => {
                // Who has signed out is a stranger.
                if let Some(good) = self.good.get() {
                    good.forget(&session);
                }
                self.note_failure(session, until_ms);
            }
        }
    }

    /// Notes that a site did not answer: the session may be good, and is not asked about until then.
    pub(crate) fn note_failure(&self, session: Session, until_ms: u64) {
        let refused = self.refused.get_or_init(|| Table::new(REFUSED_ROWS));
        refused.put(Cell {
            session,
            user: 0,
            until_ms,
        });
    }

    /// Begins to ask about a session. Strangers have half of the places.
    pub(crate) fn begin(&self, session: Session, acquaintance: Acquaintance, most: usize) -> Begun {
        let mut asking = self.asking();
        if let Some(receiver) = asking.get(&session) {
            return Begun::Joined(receiver.clone());
        }
        let most = match acquaintance {
            Acquaintance::Known => most,
            Acquaintance::Stranger => most.div_ceil(2),
        };
        if asking.len() >= most {
            return Begun::Full;
        }
        let (sender, receiver) = watch::channel(None);
        asking.insert(session, receiver.clone());
        Begun::First(sender, receiver)
    }

    /// Asking about a session has ended, however it did.
    pub(crate) fn end(&self, session: &Session) {
        self.asking().remove(session);
    }

    fn asking(&self) -> MutexGuard<'_, HashMap<Session, watch::Receiver<Option<Answer>>>> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one of so many places for requests that are held back. One person can have a quarter of them, so that others wait as well.
    pub(crate) fn hold(&self, user: u64, most: usize) -> bool {
        let mut slowed = self.slowed();
        let own = slowed.by_user.get(&user).copied().unwrap_or(0);
        let has_room = slowed.all < most && own < (most / 4).max(OWN_MIN);
        if has_room {
            slowed.all += 1;
            slowed.by_user.insert(user, own + 1);
        }
        has_room
    }

    /// Gives the place back.
    pub(crate) fn release(&self, user: u64) {
        let mut slowed = self.slowed();
        slowed.all = slowed.all.saturating_sub(1);
        match slowed.by_user.get_mut(&user) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(slowed.by_user.remove(&user)),
        }
    }

    fn slowed(&self) -> MutexGuard<'_, Slowed> {
        self.slowed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_cookies_push_out_no_good_one() {
        let known = SignIns::new().unwrap();
        let alice = known.session("www.example.org", b"sid=alice");
        assert_ne!(alice, known.session("www.example.or", b"gsid=alice"));
        let stranger = Known::Unknown(Acquaintance::Stranger);
        assert_eq!(known.look(&alice, 0), stranger);
        known.note(alice, Some(7), 1000);
        for number in 0..200_000_u32 {
            let made_up = known.session("www.example.org", &number.to_le_bytes());
            known.note(made_up, None, 2000);
        }
        assert_eq!(known.look(&alice, 999), Known::User(7));
        assert_eq!(
            known.look(&alice, 1000),
            Known::Unknown(Acquaintance::Known)
        );
        assert_eq!(known.look(&alice, 1000 + KNOWN_MS), stranger);
        // Who signs out is signed out.
        known.note(alice, None, 2000);
        assert_eq!(known.look(&alice, 1000), Known::Nobody);
        assert_eq!(known.look(&alice, 2000), stranger);
    }

    #[test]
    fn strangers_leave_places_to_those_who_were_known() {
        let known = SignIns::new().unwrap();
        let session = |number: u8| known.session("", &[number]);
        let begin = |number, who| known.begin(session(number), who, 4);
        let _kept = (
            begin(1, Acquaintance::Stranger),
            begin(2, Acquaintance::Stranger),
        );
        assert!(matches!(begin(3, Acquaintance::Stranger), Begun::Full));
        assert!(matches!(begin(1, Acquaintance::Stranger), Begun::Joined(_)));
        assert!(matches!(begin(4, Acquaintance::Known), Begun::First(..)));
        assert!(matches!(begin(5, Acquaintance::Known), Begun::First(..)));
        assert!(matches!(begin(6, Acquaintance::Known), Begun::Full));
        known.end(&session(1));
        assert!(matches!(begin(6, Acquaintance::Known), Begun::First(..)));
    }

    #[test]
    fn so_many_requests_are_held_back() {
        let known = SignIns::new().unwrap();
        assert!(known.hold(7, 2) && known.hold(8, 2) && !known.hold(8, 2));
        known.release(7);
        assert!(known.hold(8, 2));
        // One person leaves places to others.
        let own = (0..100).take_while(|_| known.hold(9, 100)).count();
        assert_eq!((own, known.hold(10, 100)), (25, true));
    }
}
