//! Pages of the last day, for millions of sources in fixed memory.
//!
//! The table has its full size from the start and never grows, so that no request ever waits for it to be copied. It is divided into
//! rows; a source stands in one row, and where a row is full the one that says least is forgotten, which is counted. Rows are spread
//! over shards with a lock each, so that threads that serve requests hardly ever meet.

mod saved;

use std::hash::BuildHasher;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use foldhash::fast::FixedState;

use super::fleets::Fleets;
use super::rates::Rates;
use crate::request::Network;
use crate::request::Source;

/// Seconds of a day.
pub const DAY: u32 = 86_400;
/// A day is counted in steps of three hours; of the oldest, the part that is still within the day.
const STEP: u32 = 3 * 3600;
/// Steps of a day, and one that ends within it.
const STEPS: usize = (DAY / STEP) as usize + 1;
/// Cells of a row: a few lines of the processor's cache.
const ROW: usize = 16;
/// Shards of the table: two of a dozen threads meet at one in a few hundred requests, and each is copied in a millisecond.
const SHARDS: usize = 256;
/// Bits of a hash that are used. All of them stand in a cell, so that it can be put into a table of another size; of ten million
/// tallies none or one is taken for another.
const HASH_BITS: u32 = 48;

/// Whose pages are counted: a source, a network, a person, all that one entry of the knowledge base is about, or a clearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tally {
    what: u8,
    value: u64,
}

impl Tally {
    /// A source.
    pub fn source(source: Source) -> Tally {
        Tally {
            what: source.kind as u8,
            value: source.value,
        }
    }

    /// The unknown sources of a network.
    pub fn network(network: Network) -> Tally {
        // Lengths of prefixes lie between 24 and 56.
        Tally {
            what: 64 + network.length,
            value: network.first.value,
        }
    }

    /// Documents of a source.
    pub fn documents(source: Source) -> Tally {
        Tally {
            what: 24 + source.kind as u8,
            value: source.value,
        }
    }

    /// Parts of pages of a source that were answered with an error page.
    pub fn broken_parts(source: Source) -> Tally {
        Tally {
            what: 16 + source.kind as u8,
            value: source.value,
        }
    }

    /// Challenges that a source has solved.
    pub fn solutions(source: Source) -> Tally {
        Tally {
            what: 20 + source.kind as u8,
            value: source.value,
        }
    }

    /// Challenges that were solved in a network.
    pub fn network_solutions(network: Network) -> Tally {
        Tally {
            what: 128 + network.length,
            value: network.first.value,
        }
    }

    /// A robot that has proven who it is, from wherever it comes.
    pub fn crawler(crawler: u64) -> Tally {
        Tally {
            what: Tally::CRAWLER,
            value: crawler,
        }
    }

    /// A target that a source has asked for, by a keyed hash of both.
    pub fn target(hash: u64) -> Tally {
        Tally {
            what: Tally::TARGET,
            value: hash,
        }
    }

    /// Questions that a source has answered instead of solving a challenge.
    pub fn questions(source: Source) -> Tally {
        Tally {
            what: 36 + source.kind as u8,
            value: source.value,
        }
    }

    /// Targets of a source that are remembered.
    pub fn targets(source: Source) -> Tally {
        Tally {
            what: 32 + source.kind as u8,
            value: source.value,
        }
    }

    /// Questions that were answered in a network.
    pub fn network_questions(network: Network) -> Tally {
        Tally {
            what: 192 + network.length,
            value: network.first.value,
        }
    }

    /// Clients of a network whose header fields contradict their browser, by a keyed hash of the network.
    pub fn group_in_network(hash: u64) -> Tally {
        Tally {
            what: 48,
            value: hash,
        }
    }

    /// A signed-in person.
    pub fn user(user: u64) -> Tally {
        Tally {
            what: 8,
            value: user,
        }
    }

    /// Documents of a signed-in person.
    pub fn user_documents(user: u64) -> Tally {
        Tally {
            what: Tally::USER_DOCUMENTS,
            value: user,
        }
    }

    /// Parts of pages of a signed-in person that were answered with an error page.
    pub fn user_broken_parts(user: u64) -> Tally {
        Tally {
            what: Tally::USER_BROKEN_PARTS,
            value: user,
        }
    }

    /// All that an entry of the knowledge base is about.
    pub fn entry(entry: u64) -> Tally {
        Tally {
            what: 9,
            value: entry,
        }
    }

    /// A clearance, by the number of its token. Its pages are what is used of its budget: none of them leaves the count as the day goes
    /// on, as long as it is used every day.
    pub fn clearance(id: u64) -> Tally {
        Tally {
            what: Tally::CLEARANCE,
            value: id,
        }
    }

    /// Answers of a source to challenges that no honest browser gives.
    pub fn failures(source: Source) -> Tally {
        Tally {
            what: 12 + source.kind as u8,
            value: source.value,
        }
    }

    /// A clearance away from the networks where it was earned or confirmed, since it was last confirmed.
    pub fn away(id: u64, moves: u8) -> Tally {
        // Numbers of clearances are drawn by chance: no two of them meet in this way.
        Tally {
            what: Tally::AWAY,
            value: id.wrapping_add(u64::from(moves)),
        }
    }

    const CLEARANCE: u8 = 10;
    const AWAY: u8 = 11;
    const CRAWLER: u8 = 28;
    const TARGET: u8 = 29;
    const USER_DOCUMENTS: u8 = 30;
    const USER_BROKEN_PARTS: u8 = 31;

    fn is_budget(self) -> bool {
        matches!(self.what, Tally::CLEARANCE | Tally::AWAY)
    }
}

/// Pages of one tally, 24 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Number of the newest step.
    step: u32,
    /// Pages of each step, by its number modulo [`STEPS`]. They stop at the largest number that fits.
    pages: [u16; STEPS],
    /// More of the hash, so that two tallies are hardly ever taken for one.
    check: u16,
}

/// Cells that share a place: what tells whose they are fills one line of the cache, and is looked through at once.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Row {
    /// Parts of the keyed hashes; 0 for a free cell.
    tags: [u32; ROW],
    cells: [Cell; ROW],
}

impl Cell {
    /// Moves on to the step of a time.
    fn move_to(&mut self, time: u32, tally: Tally) {
        match tally.is_budget() {
            true => self.step = self.step.max(time / STEP),
            false => self.advance(time / STEP),
        }
    }

    /// Pages that count at a time it has moved to.
    fn counted(&self, time: u32, tally: Tally) -> u32 {
        match tally.is_budget() {
            true => self.pages(),
            false => self.sum(time),
        }
    }

    /// Moves on to a step; the ones that have left the day are forgotten.
    fn advance(&mut self, step: u32) {
        let passed = step.saturating_sub(self.step);
        if passed as usize >= STEPS {
            self.pages = [0; STEPS];
        } else {
            for gone in 1..=passed {
                self.pages[(self.step + gone) as usize % STEPS] = 0;
            }
        }
        // A clock that runs back counts into the newest step; one that was wrong by more than a day has counted nothing.
        if self.step > step + STEPS as u32 {
            (self.step, self.pages) = (step, [0; STEPS]);
        }
        self.step = self.step.max(step);
    }

    /// True where all its pages have left the day.
    fn is_gone(&self, step: u32) -> bool {
        self.step + STEPS as u32 <= step
    }

    /// What is lost with it: fewest pages first, of equals the oldest.
    fn worth(&self, step: u32) -> (u32, u32) {
        match self.is_gone(step) {
            true => (0, 0),
            false => (1 + self.pages(), self.step),
        }
    }

    fn pages(&self) -> u32 {
        self.pages.iter().copied().map(u32::from).sum()
    }

    /// Pages of the last day.
    fn sum(&self, time: u32) -> u32 {
        let all = self.pages();
        let oldest = u32::from(self.pages[(self.step as usize + 1) % STEPS]);
        // Of the oldest step only the part that lies within the last day counts.
        let left = STEP - time % STEP;
        all - oldest + (u64::from(oldest) * u64::from(left) / u64::from(STEP)) as u32
    }
}

/// Pages of the last day. Threads share it.
#[derive(Debug)]
pub struct Counters {
    shards: Box<[Shard]>,
    /// Rows of each shard.
    rows: usize,
    /// Where the hashes begin. It goes into the file with the counts: by another they would mean nothing.
    seed: u64,
    hasher: FixedState,
    forgotten: AtomicU64,
    /// How fast clearances are used. Not saved: a burst is all that a restart gives.
    pub(super) rates: Rates,
    /// When sources and networks may answer a question again. Not saved either: the number of their answers is.
    pub(super) turns: Rates,
    /// Groups of clients with one fingerprint. Not saved: a restart gives each the pages up to its limit once more.
    pub(super) fleets: Fleets,
}

/// Rows behind one lock. The lock fills a line of the cache, so that threads in two shards do not take it from each other.
#[derive(Debug)]
#[repr(align(64))]
struct Shard(Mutex<Box<[Row]>>);

impl Shard {
    fn lock(&self) -> MutexGuard<'_, Box<[Row]>> {
        // Whatever a thread was doing when it died, a row has no state that would be wrong for others.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a tally stands, and what tells it from the others there.
#[derive(Debug, Clone, Copy)]
struct Key {
    shard: usize,
    row: usize,
    tag: u32,
    check: u16,
}

impl Key {
    /// The upper bits choose shard and row, the lower ones tell cells apart.
    fn of(hash: u64, rows: usize) -> Key {
        let hash = hash >> (64 - HASH_BITS);
        // A tag of 0 is a free cell.
        let hash = hash | u64::from(hash as u32 == 0);
        let below_shard = hash << (64 - HASH_BITS + SHARDS.trailing_zeros());
        Key {
            shard: (hash >> (HASH_BITS - SHARDS.trailing_zeros())) as usize,
            row: ((u128::from(below_shard) * rows as u128) >> 64) as usize,
            tag: hash as u32,
            check: (hash >> 32) as u16,
        }
    }
}

impl Counters {
    /// Room for so many tallies. The hash is keyed: nobody can choose addresses that push each other out.
    pub fn new(tallies_max: usize, seed: u64) -> Counters {
        // A row overflows long before the table is full: a quarter more than asked for.
        let rows = (tallies_max + tallies_max / 4)
            .div_ceil(ROW * SHARDS)
            .max(1);
        let shard = |_| Shard(Mutex::new(vec![Row::default(); rows].into()));
        Counters {
            shards: (0..SHARDS).map(shard).collect(),
            rows,
            seed,
            hasher: FixedState::with_seed(seed),
            forgotten: AtomicU64::new(0),
            rates: Rates::new(),
            turns: Rates::new(),
            fleets: Fleets::new(),
        }
    }

    /// Adds pages at a time, and gives all of the last day.
    pub fn count(&self, tally: Tally, time: u32, pages: u16) -> u32 {
        let key = self.key(tally);
        let mut rows = self.shards[key.shard].lock();
        let row = &mut rows[key.row];
        let found = row.find(key.tag, key.check);
        self.add(row, found, &key, tally, time, pages)
    }

    /// Adds pages to the cell that was found in a row, or to one that is made for them.
    #[inline]
    fn add(
        &self,
        row: &mut Row,
        found: Option<usize>,
        key: &Key,
        tally: Tally,
        time: u32,
        pages: u16,
    ) -> u32 {
        let cell = match found {
            Some(at) => &mut row.cells[at],
            None if pages == 0 => return 0,
            None => self.make(row, key, time / STEP),
        };
        cell.move_to(time, tally);
        let now = &mut cell.pages[cell.step as usize % STEPS];
        *now = now.saturating_add(pages);
        cell.counted(time, tally)
    }

    /// A new cell in the place of the one that says least.
    fn make<'r>(&self, row: &'r mut Row, key: &Key, step: u32) -> &'r mut Cell {
        let at = row.least(step);
        let is_lost = row.tags[at] != 0 && !row.cells[at].is_gone(step);
        self.forgotten
            .fetch_add(u64::from(is_lost), Ordering::Relaxed);
        row.tags[at] = key.tag;
        row.cells[at] = Cell {
            step,
            check: key.check,
            pages: [0; STEPS],
        };
        &mut row.cells[at]
    }

    /// Pages of the last day, without adding any.
    pub fn look(&self, tally: Tally, time: u32) -> u32 {
        let key = self.key(tally);
        let rows = self.shards[key.shard].lock();
        let row = &rows[key.row];
        let found = row.find(key.tag, key.check).map(|at| row.cells[at]);
        found.map_or(0, |mut cell| {
            cell.move_to(time, tally);
            cell.counted(time, tally)
        })
    }

    /// A hash that nobody outside can foresee, and that a restart keeps.
    pub fn hash(&self, value: impl std::hash::Hash) -> u64 {
        self.hasher.hash_one(value)
    }

    fn key(&self, tally: Tally) -> Key {
        Key::of(self.hash(tally), self.rows)
    }

    /// Tallies that were forgotten within their day because there was no room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }

    /// Bytes of the whole table.
    pub fn bytes(&self) -> usize {
        self.shards.len() * (size_of::<Shard>() + self.rows * size_of::<Row>())
    }
}

impl Row {
    fn find(&self, tag: u32, check: u16) -> Option<usize> {
        let mut same = 0_u32;
        for (at, known) in self.tags.iter().enumerate() {
            same |= u32::from(*known == tag) << at;
        }
        while same != 0 {
            let at = same.trailing_zeros() as usize;
            if self.cells[at].check == check {
                return Some(at);
            }
            same &= same - 1;
        }
        None
    }

    /// The cell that says least: a free one, else one of an earlier day, else the one with fewest pages, of these the oldest.
    fn least(&self, step: u32) -> usize {
        if let Some(free) = self.tags.iter().position(|tag| *tag == 0) {
            return free;
        }
        let cells = self.cells.iter().enumerate();
        cells
            .min_by_key(|(_, cell)| cell.worth(step))
            .map_or(0, |(at, _)| at)
    }
}
