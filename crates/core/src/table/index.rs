//! Where in a table the slot of a source and window is: an open-addressing index that can be read ahead of its use.

/// Slots by hash. Nothing is ever removed: a table that forgets sources is built anew.
///
/// `hashbrown` keeps control bytes apart from its entries, so that each look-up waits for two lines of memory, and its search
/// branches on both before the next one can begin. Here an entry is in the one place that its hash says, or right behind it:
/// [`Index::touch`] fetches that line for many records at once.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// A power of two of them, at most half of them in use.
    entries: Vec<Entry>,
    used: usize,
}

/// A slot and bits of its hash that tell nearly all others apart without a look at it. The lower ones are its place, so that
/// the index grows without hashing anything again.
#[derive(Debug, Clone, Copy)]
struct Entry {
    tag: u32,
    slot: u32,
}

/// No slot has this number.
const FREE: u32 = u32::MAX;

/// Entries of an index with anything in it.
const ENTRIES_MIN: usize = 16;

impl Index {
    /// Reads the place of a hash without using it, to bring it near.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u32 {
        let place = tag(hash) as usize & self.entries.len().wrapping_sub(1);
        self.entries.get(place).map_or(0, |entry| entry.tag)
    }

    /// The first slot with the tag of this hash that is the one looked for.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let mask = self.entries.len().wrapping_sub(1);
        let mut place = tag as usize & mask;
        loop {
            let entry = self.entries.get(place)?;
            if entry.slot == FREE {
                return None;
            }
            if entry.tag == tag && is_it(entry.slot) {
                return Some(entry.slot);
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds a slot that is not there yet.
    pub(super) fn insert(&mut self, hash: u64, slot: u32) {
        if self.used * 2 >= self.entries.len() {
            self.grow();
        }
        self.used += 1;
        self.put(Entry {
            tag: tag(hash),
            slot,
        });
    }

    fn put(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut place = entry.tag as usize & mask;
        while self.entries[place].slot != FREE {
            place = (place + 1) & mask;
        }
        self.entries[place] = entry;
    }

    #[cold]
    fn grow(&mut self) {
        let length = (self.entries.len() * 2).max(ENTRIES_MIN);
        let free = Entry { tag: 0, slot: FREE };
        let before = std::mem::replace(&mut self.entries, vec![free; length]);
        for entry in before.into_iter().filter(|entry| entry.slot != FREE) {
            self.put(entry);
        }
    }
}

/// Bits of the hash that an entry keeps.
fn tag(hash: u64) -> u32 {
    (hash >> 24) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_slot_is_found_and_no_other(hashes in prop::collection::vec(0_u64..64, 0..200), asked in 0_u64..80) {
            let hashes: Vec<u64> = hashes.iter().map(|hash| hash << 24).collect();
            let mut index = Index::default();
            for (slot, hash) in hashes.iter().enumerate() {
                index.touch(*hash);
                index.insert(*hash, slot as u32);
            }
            for (slot, hash) in hashes.iter().enumerate() {
                let slot = slot as u32;
                prop_assert_eq!(index.find(*hash, |at| at == slot), Some(slot));
            }
            let first = hashes.iter().position(|hash| *hash == asked << 24);
            let found = index.find(asked << 24, |_| true);
            prop_assert_eq!(found.is_some(), first.is_some());
        }
    }
}
