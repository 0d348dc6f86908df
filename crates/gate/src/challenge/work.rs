//! The work itself: numbers from which a walk through a table ends at a number that begins with zeros.
//!
//! The table has 256 KiB and is made from the challenge's id. A walk reads one word after the other, each at the place that the last one
//! led to. What limits it is the time of these reads, which is the same for a script in a browser and for a native program: with the
//! widest instructions of a server's processor a native solver is about three times as fast as the script (`docs/why.md` has the
//! measurements). A table of this size fits the second cache of a telephone, and does not fit the memory that a graphics card has for each
//! group of threads.
//!
//! One challenge is sixteen small searches instead of one large one. The sum of sixteen varies by a quarter where a single
//! search varies by its whole length, so nobody waits long by bad luck, and the page can show honest progress.

/// Searches of one challenge.
pub(super) const PARTS: usize = 16;
/// Bits of a challenge's difficulty that the number of searches stands for.
const PARTS_BITS: u8 = PARTS.ilog2() as u8;
/// What a walk's end can show.
pub(super) const BITS_MAX: u8 = PARTS_BITS + 28;
/// Words of the table.
const WORDS: usize = 1 << 16;
/// Steps of a walk.
const STEPS: usize = 2048;
/// Odd numbers whose bits are spread evenly.
const SPREAD: [u32; 2] = [0x9e37_79b1, 0x85eb_ca77];

/// Whether every search found its number.
pub(super) fn is_done(id: u128, bits: u8, found: &[u32; PARTS]) -> bool {
    let maze = Maze::new(id);
    let keys = std::array::from_fn(|part| maze.key(part as u32));
    let ends = maze.walk(&keys, found);
    ends.iter().all(|end| end.leading_zeros() >= zeros(bits))
}

/// Zero bits that a walk must end at.
fn zeros(bits: u8) -> u32 {
    u32::from(bits.saturating_sub(PARTS_BITS))
}

/// The table of one challenge.
struct Maze {
    words: Box<[u32]>,
    /// The id in four words.
    seed: [u32; 4],
}

impl Maze {
    fn new(id: u128) -> Maze {
        let seed = [96, 64, 32, 0].map(|shift| (id >> shift) as u32);
        let mut word = seed[0] ^ seed[1];
        let words = (0..WORDS).map(|at| {
            let mixed = (word ^ word >> 15).wrapping_mul(SPREAD[0]);
            word = mixed.wrapping_add(seed[at % 4]);
            word
        });
        Maze {
            words: words.collect(),
            seed,
        }
    }

    /// What tells the walks of one search from those of another.
    fn key(&self, part: u32) -> u32 {
        self.seed[3].wrapping_add(part.wrapping_mul(SPREAD[1]))
    }

    /// Where walks end that begin at these keys and numbers. They are made side by side: while one waits for memory the others go on.
    fn walk<const N: usize>(&self, keys: &[u32; N], numbers: &[u32; N]) -> [u32; N] {
        let mut walks: [u32; N] = std::array::from_fn(|at| {
            let start = (numbers[at] ^ keys[at]).wrapping_mul(SPREAD[0]);
            let start = (start ^ start >> 15).wrapping_mul(SPREAD[1]);
            start ^ start >> 13
        });
        for _ in 0..STEPS {
            for (walk, number) in walks.iter_mut().zip(numbers) {
                let read = self.words[(*walk >> 16) as usize];
                let next = (*walk ^ read).wrapping_mul(SPREAD[0]);
                *walk = next.wrapping_add(*number).rotate_left(15);
            }
        }
        walks.map(|walk| {
            let end = (walk ^ walk >> 16).wrapping_mul(SPREAD[1]);
            end ^ end >> 15
        })
    }
}

/// Does the work, for tests and for a gate that a test keeps from judging answers cheaply.
#[cfg(any(test, debug_assertions))]
pub(super) fn solve(id: u128, bits: u8) -> [u32; PARTS] {
    const SIDE_BY_SIDE: u32 = 8;
    let maze = Maze::new(id);
    std::array::from_fn(|part| {
        let keys = [maze.key(part as u32); SIDE_BY_SIDE as usize];
        let mut first = 0_u32;
        loop {
            let numbers = std::array::from_fn(|at| first.wrapping_add(at as u32));
            let ends = maze.walk(&keys, &numbers);
            let mut tried = numbers.into_iter().zip(ends);
            if let Some((found, _)) = tried.find(|(_, end)| end.leading_zeros() >= zeros(bits)) {
                return found;
            }
            first = first.wrapping_add(SIDE_BY_SIDE);
        }
    })
}

/// Nanoseconds of a walk among many, the best of many: what a native solver needs.
#[cfg(test)]
pub(super) fn native_walk_ns() -> f64 {
    let maze = Maze::new(7);
    let rounds = (0..2000).map(|round| {
        let numbers = std::array::from_fn(|at| 16 * round + at as u32);
        let began = std::time::Instant::now();
        std::hint::black_box(maze.walk(&[3; 16], &numbers));
        began.elapsed().as_nanos() as f64 / 16.0
    });
    rounds.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h082_each_search_counts() {
        let found = solve(7, 12);
        assert!(is_done(7, 12, &found));
        assert!(!is_done(8, 12, &found));
        assert!(!is_done(7, 20, &found));
        for part in 0..PARTS {
            let mut short = found;
            short[part] = found[part].wrapping_sub(1);
            assert!(found[part] == 0 || !is_done(7, 12, &short), "part {part}");
        }
        assert!(!is_done(7, 12, &[0; PARTS]));
        assert!(
            !is_done(7, 12, &[found[0]; PARTS]),
            "one number does not do for all"
        );
    }

    /// As many walks end with zeros as should: no shorter way leads there.
    #[test]
    fn ends_are_spread_evenly() {
        let maze = Maze::new(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let mut ends = [0_u32; 16];
        let mut walks = 0;
        for first in (0..1 << 14).step_by(8) {
            let numbers: [u32; 8] = std::array::from_fn(|at| first + at as u32);
            for end in maze.walk(&[maze.key(3); 8], &numbers) {
                ends[(end >> 28) as usize] += 1;
                walks += 1;
            }
        }
        let expected = walks / 16;
        for count in ends {
            assert!(count.abs_diff(expected) < expected / 5, "{ends:?}");
        }
    }

    #[test]
    fn every_bit_of_the_id_changes_the_table_and_the_walks() {
        let id = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128;
        let end = |id: u128| Maze::new(id).walk(&[Maze::new(id).key(0)], &[5]);
        for bit in 0..128 {
            assert_ne!(end(id), end(id ^ 1 << bit), "bit {bit}");
        }
    }
}
