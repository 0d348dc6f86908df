//! Counts that outlive the program: who has asked for a thousand pages is not unknown again because it was restarted.
//!
//! The file has a mark, a version, the seed of the hashes, one entry for each tally, an entry that begins with 0, and the SHA-256 of all
//! that. It shows damage, not malice, and who knows the seed can choose sources that push others out: nobody but the owner may read
//! or write it. It is read as if an enemy had written it all the same.

use std::io;
use std::io::BufReader;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::sync::atomic::Ordering;

use sha2::Digest;
use sha2::Sha256;

use super::Cell;
use super::Counters;
use super::HASH_BITS;
use super::Key;
use super::ROW;
use super::Row;
use super::STEP;
use super::STEPS;

/// What such a file begins with.
const MARK: [u8; 8] = *b"CGCOUNT\n";
/// Changes with the layout of an entry, with its steps and with the hash.
const VERSION: u32 = 1;
/// Bytes of an entry: tag, check, step, pages of each step.
const ENTRY: usize = 4 + 2 + 4 + 2 * STEPS;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// More tallies than any table has: a file that does not end is refused there.
const ENTRIES_MAX: u64 = 1 << 28;

impl Counters {
    /// Writes all that counts now. A shard is copied behind its lock, in a millisecond with ten million sources, and written when it is
    /// free again: requests do not wait for the disk.
    pub fn save(&self, out: &mut impl Write, now: u32) -> io::Result<()> {
        let mut digest = Sha256::new();
        let mut bytes = Vec::new();
        bytes.extend(MARK);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.seed.to_le_bytes());
        let mut copy = vec![Row::default(); self.rows];
        for shard in &self.shards {
            copy.copy_from_slice(&shard.lock());
            let rows = copy.iter();
            rows.for_each(|row| row.write(now / STEP, &mut bytes));
            digest.update(&bytes);
            out.write_all(&bytes)?;
            bytes.clear();
        }
        bytes.extend(0_u32.to_le_bytes());
        digest.update(&bytes);
        bytes.extend(digest.finalize());
        out.write_all(&bytes)
    }

    /// Counters with what was saved, and how many tallies were taken. There may be room for more or fewer than when they were saved; where
    /// it is too little, those with the most pages stay. A file that is damaged or cut off is refused as a whole, in words.
    pub fn restore(
        tallies_max: usize,
        input: &mut impl Read,
        now: u32,
    ) -> Result<(Counters, u64), String> {
        let mut saved = Saved {
            input: BufReader::with_capacity(CHUNK, input),
            digest: Sha256::new(),
        };
        if saved.take::<8>()? != MARK {
            return Err("these are no saved counters".to_owned());
        }
        let version = u32::from_le_bytes(saved.take()?);
        if version != VERSION {
            return Err(format!(
                "the saved counters have the layout {version}, this program reads {VERSION}"
            ));
        }
        let counters = Counters::new(tallies_max, u64::from_le_bytes(saved.take()?));
        let mut taken = 0;
        for _ in 0..ENTRIES_MAX {
            let tag = u32::from_le_bytes(saved.take()?);
            if tag == 0 {
                saved.check_end()?;
                return Ok((counters, taken));
            }
            let cell = Cell::read(&saved.take()?);
            if cell.step > u32::MAX / STEP {
                return Err("the saved counters name a time that cannot be".to_owned());
            }
            taken += u64::from(counters.put(tag, cell.not_after(now / STEP), now / STEP));
        }
        Err("the saved counters do not end".to_owned())
    }

    /// Puts a cell in its place, unless its day has gone or those there are worth more.
    fn put(&self, tag: u32, cell: Cell, step: u32) -> bool {
        if cell.is_gone(step) {
            return false;
        }
        let hash = u64::from(cell.check) << 32 | u64::from(tag);
        let key = Key::of(hash << (64 - HASH_BITS), self.rows);
        let mut rows = self.shards[key.shard].lock();
        let row = &mut rows[key.row];
        let at = row.least(step);
        let is_full = row.tags[at] != 0;
        self.forgotten
            .fetch_add(u64::from(is_full), Ordering::Relaxed);
        if is_full && row.cells[at].worth(step) >= cell.worth(step) {
            return false;
        }
        (row.tags[at], row.cells[at]) = (tag, cell);
        !is_full
    }
}

impl Row {
    /// Writes the cells that still count.
    fn write(&self, step: u32, out: &mut Vec<u8>) {
        for at in (0..ROW).filter(|at| self.tags[*at] != 0) {
            let cell = &self.cells[at];
            if !cell.is_gone(step) {
                out.extend(self.tags[at].to_le_bytes());
                out.extend(cell.check.to_le_bytes());
                out.extend(cell.step.to_le_bytes());
                out.extend(cell.pages.iter().flat_map(|pages| pages.to_le_bytes()));
            }
        }
    }
}

impl Cell {
    /// An entry behind its tag.
    fn read(entry: &[u8; ENTRY - 4]) -> Cell {
        let two = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        Cell {
            check: two(0),
            step: u32::from(two(2)) | u32::from(two(4)) << 16,
            pages: std::array::from_fn(|step| two(6 + 2 * step)),
        }
    }

    /// A cell that was counted by a clock ahead of this one, as if it had been counted until now: it would not leave the day for as long
    /// as that clock was ahead.
    fn not_after(self, step: u32) -> Cell {
        if self.step <= step {
            return self;
        }
        let mut moved = Cell { step, ..self };
        for back in 0..STEPS {
            let place = |newest: u32| (newest as usize % STEPS + STEPS - back) % STEPS;
            moved.pages[place(step)] = self.pages[place(self.step)];
        }
        moved
    }
}

/// A file on its way in, with the sum of what was read.
struct Saved<R> {
    input: BufReader<R>,
    digest: Sha256,
}

impl<R: Read> Saved<R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.read()?;
        self.digest.update(bytes);
        Ok(bytes)
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err("the saved counters are cut off".to_owned())
            }
            Err(error) => Err(format!("the saved counters cannot be read: {error}")),
        }
    }

    /// What was read is what was written, and nothing follows.
    fn check_end(mut self) -> Result<(), String> {
        let written: [u8; 32] = self.read()?;
        let follows = self.read::<1>().is_ok();
        if follows || self.digest.finalize().as_slice() != written {
            return Err("the saved counters are damaged".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::DAY;
    use super::super::Tally;
    use super::*;

    const NOW: u32 = 1_900_000_000 / DAY * DAY + 5000;

    /// Tallies with one to a hundred pages, over a day.
    fn counted(tallies: u64, tallies_max: usize) -> Counters {
        let counters = Counters::new(tallies_max, 0x5eed);
        for number in 0..tallies {
            let (time, pages) = (NOW - number as u32 % DAY, 1 + number as u16 % 100);
            counters.count(Tally::user(number), time, pages);
        }
        counters
    }

    fn saved(counters: &Counters, now: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        counters.save(&mut bytes, now).unwrap();
        bytes
    }

    fn restored(bytes: &[u8], tallies_max: usize, now: u32) -> Result<(Counters, u64), String> {
        Counters::restore(tallies_max, &mut &*bytes, now)
    }

    /// The same bytes with a sum that fits them.
    fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
        let end = bytes.len().saturating_sub(32);
        bytes.truncate(end);
        let digest = Sha256::digest(&bytes);
        bytes.extend(digest);
        bytes
    }

    #[test]
    fn counts_survive_in_tables_of_any_size() {
        let counters = counted(5000, 10_000);
        let bytes = saved(&counters, NOW);
        assert_eq!(bytes.len(), 20 + 5000 * ENTRY + 4 + 32);
        for tallies_max in [10_000, 8000, 1_000_000] {
            let (again, taken) = restored(&bytes, tallies_max, NOW).unwrap();
            assert_eq!((taken, again.forgotten()), (5000, 0));
            for tally in (0..5000).map(Tally::user) {
                for time in [NOW, NOW + DAY / 2] {
                    assert_eq!(again.look(tally, time), counters.look(tally, time));
                }
            }
            assert_eq!(
                again.count(Tally::user(7), NOW, 1),
                counters.look(Tally::user(7), NOW) + 1
            );
        }
        // A budget stays what it is, too.
        counters.count(Tally::clearance(3), NOW - DAY, 40);
        let (again, _) = restored(&saved(&counters, NOW), 10_000, NOW).unwrap();
        assert_eq!(again.look(Tally::clearance(3), NOW), 40);
    }

    #[test]
    fn where_there_is_less_room_the_heaviest_stay() {
        let bytes = saved(&counted(50_000, 100_000), NOW);
        let (again, taken) = restored(&bytes, 3000, NOW).unwrap();
        assert_eq!(taken + again.forgotten(), 50_000);
        let pages = |number: u64| again.look(Tally::user(number), NOW);
        let kept = |heavy: bool| {
            (0..50_000)
                .filter(|number| (number % 100 >= 95) == heavy && pages(*number) > 0)
                .count()
        };
        assert!(
            kept(true) > 2000 && kept(false) < 2200,
            "{} {}",
            kept(true),
            kept(false)
        );
    }

    #[test]
    fn what_has_left_the_day_is_neither_saved_nor_taken() {
        let counters = counted(100, 1000);
        assert_eq!(saved(&counters, NOW + 2 * DAY).len(), 20 + 4 + 32);
        let bytes = saved(&counters, NOW);
        let (again, taken) = restored(&bytes, 1000, NOW + 2 * DAY).unwrap();
        assert_eq!((taken, again.forgotten()), (0, 0));
    }

    #[test]
    fn a_clock_that_was_ahead_does_not_keep_counts_for_longer_than_a_day() {
        let counters = counted(100, 1000);
        let before = NOW - 400 * DAY;
        let (again, taken) = restored(&saved(&counters, NOW), 1000, before).unwrap();
        assert_eq!(taken, 100);
        for tally in (0..100).map(Tally::user) {
            assert_eq!(again.look(tally, before), counters.look(tally, NOW));
            assert_eq!(again.look(tally, before + 2 * DAY), 0);
        }
    }

    #[test]
    fn a_file_that_is_damaged_or_cut_is_refused_as_a_whole() {
        let bytes = saved(&counted(20, 1000), NOW);
        for length in 0..bytes.len() {
            restored(&bytes[..length], 1000, NOW).unwrap_err();
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            restored(&damaged, 1000, NOW).unwrap_err();
        }
        restored(&[bytes.as_slice(), b"x"].concat(), 1000, NOW).unwrap_err();
        let message = |bytes: &[u8]| restored(bytes, 1000, NOW).unwrap_err();
        assert!(message(b"not ours at all").contains("no saved counters"));
        assert!(message(&bytes[..100]).contains("cut off"));
        let mut newer = bytes.clone();
        newer[8] = 2;
        assert!(message(&signed(newer)).contains("layout 2"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn nothing_that_is_signed_can_do_harm(
            entries in prop::collection::vec((any::<u32>(), any::<u16>(), 0..=u32::MAX / STEP + 1, any::<[u16; STEPS]>()), 0..200),
            time: u32,
            seed: u64,
        ) {
            let mut bytes = [MARK.as_slice(), &VERSION.to_le_bytes(), &seed.to_le_bytes()].concat();
            for (tag, check, step, pages) in entries {
                bytes.extend(tag.to_le_bytes());
                bytes.extend(check.to_le_bytes());
                bytes.extend(step.to_le_bytes());
                bytes.extend(pages.iter().flat_map(|pages| pages.to_le_bytes()));
            }
            bytes.extend([0; 36]);
            if let Ok((counters, _)) = restored(&signed(bytes), 100, time) {
                for number in 0..200 {
                    counters.count(Tally::user(number), time, u16::MAX);
                    counters.look(Tally::user(number), u32::MAX);
                    counters.look(Tally::clearance(number), 0);
                }
                saved(&counters, u32::MAX);
            }
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            restored(&bytes, 100, NOW).unwrap_err();
            restored(&[MARK.as_slice(), &VERSION.to_le_bytes(), &bytes].concat(), 100, NOW).unwrap_err();
        }
    }
}
