//! How many clients wait for pages behind traps, and how many bytes these pages take.
//!
//! Each page that is waited for holds a slot. There are so many slots, and one source has a few of them: the table of sources is never
//! larger than that.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::request::Source;

use crate::settings::TrapSetup;

/// All slots.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    taken: usize,
    /// Slots of each source that has one.
    sources: HashMap<Source, usize>,
    /// When the bytes of all pages so far have been due, one after the other.
    due: Option<Instant>,
}

/// Why there is no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// All are taken.
    Slots,
    /// The source has enough of them.
    Source,
    /// Pages take too many bytes.
    Bytes,
}

impl Full {
    /// The name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Full::Slots => "slots",
            Full::Source => "source_slots",
            Full::Bytes => "bytes",
        }
    }
}

/// A slot, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    source: Source,
}

/// Bytes of so long a time may come at once.
const BURST: Duration = Duration::from_secs(1);

impl Slots {
    /// Takes a slot for a page of so many bytes.
    pub(crate) fn take(
        self: &Arc<Slots>,
        source: Source,
        bytes: usize,
        setup: &TrapSetup,
        now: Instant,
    ) -> Result<Slot, Full> {
        let mut inner = self.lock();
        let of_source = inner.sources.get(&source).copied().unwrap_or(0);
        if of_source >= setup.source_slots {
            return Err(Full::Source);
        }
        if inner.taken >= setup.slots {
            return Err(Full::Slots);
        }
        let time = Duration::from_secs_f64(bytes as f64 / setup.bytes_per_second as f64);
        let due = inner.due.map_or(now, |due| due.max(now)) + time;
        if due > now + BURST {
            return Err(Full::Bytes);
        }
        inner.due = Some(due);
        inner.taken += 1;
        inner.sources.insert(source, of_source + 1);
        Ok(Slot {
            slots: Arc::clone(self),
            source,
        })
    }

    /// Slots that are taken.
    pub(crate) fn taken(&self) -> usize {
        self.lock().taken
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut inner = self.slots.lock();
        inner.taken = inner.taken.saturating_sub(1);
        match inner.sources.get_mut(&self.source) {
            Some(slots) if *slots > 1 => *slots -= 1,
            _ => {
                inner.sources.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TrapLinks;

    fn source(number: u32) -> Source {
        let address = format!("198.51.{}.{}", number >> 8, number & 255);
        Source::from_address(address.as_bytes()).unwrap()
    }

    fn setup() -> TrapSetup {
        TrapSetup {
            links: TrapLinks::Always,
            delay: Duration::ZERO,
            slots: 10,
            source_slots: 4,
            bytes_per_second: 10_000,
        }
    }

    #[test]
    fn slots_are_bounded_in_all_and_by_source_and_come_back() {
        let (slots, setup, now) = (Arc::new(Slots::default()), setup(), Instant::now());
        let take = |number| slots.take(source(number), 1, &setup, now);
        let mut held: Vec<Slot> = (0..4).map(|_| take(1).unwrap()).collect();
        assert_eq!(take(1).unwrap_err(), Full::Source);
        held.extend((2..8).map(|number| take(number).unwrap()));
        assert_eq!(take(9).unwrap_err(), Full::Slots);
        assert_eq!(slots.taken(), 10);
        held.remove(0);
        drop(take(1).unwrap());
        held.clear();
        assert_eq!(slots.taken(), 0);
        assert!(slots.lock().sources.is_empty());
    }

    #[test]
    fn pages_take_so_many_bytes_a_second() {
        let (slots, setup, start) = (Arc::new(Slots::default()), setup(), Instant::now());
        let served = |at: u64| {
            let now = start + Duration::from_secs(at);
            let pages = (0..100).map(|_| slots.take(source(1), 2000, &setup, now));
            pages.take_while(Result::is_ok).count()
        };
        assert_eq!(served(0), 5);
        assert_eq!(served(1), 5);
        assert_eq!(served(100), 5, "and no more after a while");
    }
}
