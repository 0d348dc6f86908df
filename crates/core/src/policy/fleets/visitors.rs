//! What each visitor did lately, in eight bytes: pages, how many of them brought page parts, and the groups that these are counted in.
//!
//! A place in the table belongs to the visitor who came last; who lost it begins anew. A part of a page that was noted before costs one
//! look at its place.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use super::groups::Seats;

/// Places: 2 MiB.
const PLACES_BITS: u32 = 18;
/// Seconds of an era: what is older than two of them is forgotten.
const ERA: u32 = 43_200;
/// Pages that are remembered of one visitor; beyond, older ones fade.
const PAGES_MAX: u64 = 31;

/// Bits of a place, lowest first: pages, those with parts, one for a page whose parts have not come yet, the era, the seats, the tag.
const DRESSED_AT: u32 = 5;
const PENDING: u64 = 1 << 10;
const ERA_AT: u32 = 11;
const SEATS_AT: u32 = 13;
const TAG_AT: u32 = SEATS_AT + Seats::BITS;

/// What a visitor did lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Visitor {
    pub(super) pages: u32,
    /// Pages of which it loaded parts.
    pub(super) dressed: u32,
}

impl Visitor {
    /// True where it loads parts of its pages less than half as often as this share of pages.
    pub(super) fn is_bare(self, share: f32) -> bool {
        self.pages > 0 && 2.0 * (self.dressed as f32) < share * self.pages as f32
    }

    /// True where it loads them more often.
    pub(super) fn is_dressed(self, share: f32) -> bool {
        self.pages > 0 && !self.is_bare(share)
    }
}

/// Visitors by a keyed hash of their source and agent. Threads share it.
#[derive(Debug)]
pub(super) struct Visitors(Box<[AtomicU64]>);

impl Visitors {
    pub(super) fn new() -> Visitors {
        Visitors((0..1 << PLACES_BITS).map(|_| AtomicU64::new(0)).collect())
    }

    fn place(&self, key: u64) -> (&AtomicU64, u64) {
        // The lower bits choose the place, the upper ones tell visitors apart. A tag of 0 is a free place.
        let place = &self.0[key as usize & ((1 << PLACES_BITS) - 1)];
        (place, (key >> TAG_AT).max(1) << TAG_AT)
    }

    /// What a visitor did lately.
    pub(super) fn look(&self, key: u64, time: u32) -> Visitor {
        let (place, tag) = self.place(key);
        let bits = place.load(Ordering::Relaxed);
        match is_same(bits, tag) && !is_old(bits, time) {
            true => visitor(bits),
            false => Visitor::default(),
        }
    }

    /// Notes a page that is counted in these groups.
    pub(super) fn note_page(&self, key: u64, seats: Seats, time: u32) {
        let (place, tag) = self.place(key);
        let bits = place.load(Ordering::Relaxed);
        let mut known = match is_same(bits, tag) && !is_old(bits, time) {
            true => visitor(bits),
            false => Visitor::default(),
        };
        if u64::from(known.pages) >= PAGES_MAX {
            known.pages /= 2;
            known.dressed /= 2;
        }
        let bits = u64::from(known.pages + 1)
            | u64::from(known.dressed) << DRESSED_AT
            | PENDING
            | u64::from(era(time)) << ERA_AT
            | seats.bits() << SEATS_AT
            | tag;
        place.store(bits, Ordering::Relaxed);
    }

    /// Notes a part of a page; gives the groups of its page where it is the first part.
    #[inline]
    pub(super) fn note_part(&self, key: u64) -> Option<Seats> {
        let (place, tag) = self.place(key);
        let bits = place.load(Ordering::Relaxed);
        if bits & PENDING == 0 || !is_same(bits, tag) {
            return None;
        }
        // Of two threads with the first part only one counts it.
        let noted = (bits & !PENDING) + (1 << DRESSED_AT);
        place
            .compare_exchange(bits, noted, Ordering::Relaxed, Ordering::Relaxed)
            .ok()?;
        Some(seats(bits))
    }

    /// The groups of a visitor's last page.
    pub(super) fn seats(&self, key: u64) -> Option<Seats> {
        let (place, tag) = self.place(key);
        let bits = place.load(Ordering::Relaxed);
        is_same(bits, tag).then(|| seats(bits))
    }
}

fn is_same(bits: u64, tag: u64) -> bool {
    bits >> TAG_AT << TAG_AT == tag
}

fn era(time: u32) -> u32 {
    time / ERA % 4
}

fn is_old(bits: u64, time: u32) -> bool {
    let since = (4 + era(time) - (bits >> ERA_AT & 3) as u32) % 4;
    since >= 2
}

fn visitor(bits: u64) -> Visitor {
    Visitor {
        pages: (bits & PAGES_MAX) as u32,
        dressed: (bits >> DRESSED_AT & PAGES_MAX) as u32,
    }
}

fn seats(bits: u64) -> Seats {
    Seats::from_bits(bits >> SEATS_AT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_900_000_000;
    const KEY: u64 = 0x1234_5678_9abc_def0;

    fn seats() -> Seats {
        Seats::from_bits(0x5a5_a5a5)
    }

    #[test]
    fn a_page_has_parts_or_not() {
        let visitors = Visitors::new();
        assert_eq!(visitors.note_part(KEY), None, "no page before");
        for page in 0..4 {
            visitors.note_page(KEY, seats(), NOW + page);
            if page % 2 == 0 {
                assert_eq!(visitors.note_part(KEY), Some(seats()));
                assert_eq!(visitors.note_part(KEY), None, "the first part alone");
            }
        }
        let known = visitors.look(KEY, NOW + 5);
        assert_eq!((known.pages, known.dressed), (4, 2));
        assert!(known.is_dressed(1.0) && !known.is_bare(1.0));
        assert_eq!(visitors.look(KEY ^ 1 << 60, NOW), Visitor::default());
        assert_eq!(visitors.look(KEY, NOW + 2 * ERA), Visitor::default());
    }

    #[test]
    fn what_is_long_ago_fades() {
        let visitors = Visitors::new();
        for page in 0..1000 {
            visitors.note_page(KEY, seats(), NOW);
            if page < 900 {
                visitors.note_part(KEY);
            }
        }
        assert!(visitors.look(KEY, NOW).is_bare(0.8));
        assert_eq!(visitors.seats(KEY), Some(seats()));
    }
}
