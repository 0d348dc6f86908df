//! Texts with numbers.

use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

/// One for all, so that they know each other's hashes.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The hash of a text.
#[inline]
pub(super) fn hash(text: &[u8]) -> u64 {
    HASHER.hash_one(text)
}

/// A hash of half the bits, as one of texts.
#[inline]
pub(super) fn spread(hash: u32) -> u64 {
    /// Slots have the upper bits.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    u64::from(hash).wrapping_mul(SPREAD)
}

/// Lower bits of a slot: the number. The others are the upper ones of the hash.
const NUMBER_BITS: u32 = 24;
const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;
/// Slots at first.
const SLOTS: usize = 1 << 10;

/// Each text once, one behind the other. Texts are told apart by keyed hashes, by 40 bits among those at nearly the same place: a text that
/// was seen before is not looked at again. Number 0 is the empty one.
#[derive(Debug)]
pub(in crate::analysis) struct Texts {
    /// Hashes with numbers, each at the place that its hash names or soon after it; 0 is free. Eight bytes for all that a search needs,
    /// where a table of hashes and numbers looks at 17 in two places of memory: such tables are larger than caches.
    slots: Vec<u64>,
    /// The hash of each.
    hashes: Vec<u64>,
    texts: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts {
            slots: Vec::new(),
            hashes: vec![0],
            texts: Vec::new(),
            ends: vec![0],
        }
    }
}

impl Texts {
    /// The number of a text.
    #[inline]
    pub(in crate::analysis) fn number(&mut self, text: &[u8]) -> u32 {
        self.number_by(hash(text), text)
    }

    /// The number of a text whose hash is known.
    #[inline]
    pub(in crate::analysis) fn number_by(&mut self, hash: u64, text: &[u8]) -> u32 {
        match text {
            [] => 0,
            _ => self.number_of(hash, text),
        }
    }

    /// Brings the places of hashes into the processor's caches: without decisions in between, it waits for memory once for many of them.
    pub(super) fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let Some(mask) = self.slots.len().checked_sub(1) else {
            return;
        };
        black_box(hashes.fold(0, |all, hash| all ^ self.slots[hash as usize & mask]));
    }

    #[inline]
    fn number_of(&mut self, hash: u64, text: &[u8]) -> u32 {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, 0);
        }
        let mut place = hash as usize;
        loop {
            place &= self.slots.len() - 1;
            match self.slots[place] {
                0 => return self.insert(place, hash, text),
                slot if (slot ^ hash) > NUMBER_MAX => place += 1,
                slot => return (slot & NUMBER_MAX) as u32,
            }
        }
    }

    /// Adds a text that is new. If there are too many for their numbers, it is taken for the empty one.
    fn insert(&mut self, place: usize, hash: u64, text: &[u8]) -> u32 {
        let number = self.len() as u64;
        if number > NUMBER_MAX {
            return 0;
        }
        self.slots[place] = hash & !NUMBER_MAX | number;
        self.hashes.push(hash);
        self.texts.extend_from_slice(text);
        self.ends.push(self.texts.len());
        if self.len() > self.slots.len() / 4 * 3 {
            self.grow();
        }
        number as u32
    }

    fn grow(&mut self) {
        let slots = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(slots, 0);
        for (number, hash) in (0..).zip(&self.hashes).skip(1) {
            let mut place = *hash as usize & (slots - 1);
            while self.slots[place] != 0 {
                place = (place + 1) & (slots - 1);
            }
            self.slots[place] = hash & !NUMBER_MAX | number;
        }
    }

    /// Takes over the texts of another, and gives the number that each of its numbers has here.
    pub(in crate::analysis) fn absorb(&mut self, other: Texts) -> Vec<u32> {
        if self.len() == 1 {
            *self = other;
            return (0..self.len() as u32).collect();
        }
        let mut numbers = vec![0; other.len()];
        for ((number, text), hash) in other.iter().zip(&other.hashes).skip(1) {
            numbers[number as usize] = self.number_of(*hash, text);
        }
        numbers
    }

    /// The text with a number.
    pub(in crate::analysis) fn text(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..self.ends[number]]
    }

    /// Numbers and texts.
    pub(in crate::analysis) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.len() as u32).map(|number| (number, self.text(number)))
    }

    /// How many there are.
    pub(in crate::analysis) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that it has room for.
    pub(in crate::analysis) fn room(&self) -> usize {
        self.texts.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + (self.slots.capacity() + self.hashes.capacity()) * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_a_number_of_its_own() {
        let text = |number: u32| format!("/page/{number}");
        let (mut one, mut two) = (Texts::default(), Texts::default());
        for number in 0..5000 {
            assert_eq!(one.number(text(number).as_bytes()), number + 1);
            two.number(text(number + 2500).as_bytes());
        }
        assert_eq!(one.number(b"/page/77"), 78);
        assert_eq!((one.number(b""), one.text(0)), (0, &b""[..]));
        let numbers = one.absorb(two);
        assert_eq!((one.len(), numbers.len()), (7501, 5001));
        for (before, number) in (0..).zip(numbers).skip(1) {
            assert_eq!(one.text(number), text(before + 2499).as_bytes());
        }
        let mut none = Texts::default();
        assert_eq!(none.absorb(Texts::default()), [0]);
        assert_eq!(none.number_by(spread(7), b"a"), 1);
        assert_eq!(none.number_by(spread(7), b"a"), 1);
    }
}
