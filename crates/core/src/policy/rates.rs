//! How fast clearances are used and questions are answered: a bucket each, in a table of fixed size.
//!
//! A bucket is one number, the time at which it will be full again (the generic cell rate algorithm). One that is full says nothing and
//! gives its place to another.

use std::sync::Mutex;
use std::sync::PoisonError;

/// Rows of the table, a lock each. With [`ROW`] buckets each there is room for 65,536 clients that are not at rest at the same moment, in 1.2 MiB.
const ROWS: usize = 1 << 14;
const ROW: usize = 4;

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    key: u64,
    /// Milliseconds since 1970 at which it is full again.
    full_ms: u64,
}

/// What a bucket holds: one unit comes back in `each_ms`, and there is room for as much as comes back in `room_ms`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) each_ms: u64,
    pub(super) room_ms: u64,
}

/// Buckets by a key that is a hash or was drawn by chance. Threads share it.
#[derive(Debug)]
pub(super) struct Rates {
    rows: Box<[Mutex<[Bucket; ROW]>]>,
}

/// Whether one is taken out of a bucket or would only be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Draw {
    Take,
    Look,
}

impl Rates {
    pub(super) fn new() -> Rates {
        Rates {
            rows: (0..ROWS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Draws one from the bucket of a key; where it is empty, gives the seconds until there is one again.
    pub(super) fn draw(&self, key: u64, time: u32, pace: Pace, draw: Draw) -> Result<(), u32> {
        let now_ms = u64::from(time) * 1000;
        let row = &self.rows[key as usize % ROWS];
        let mut row = row.lock().unwrap_or_else(PoisonError::into_inner);
        let known = row.iter().position(|bucket| bucket.key == key);
        let at = known.unwrap_or_else(|| {
            let buckets = row.iter().enumerate();
            let rested = buckets.min_by_key(|(_, bucket)| bucket.full_ms);
            rested.map_or(0, |(at, _)| at)
        });
        if known.is_some() {
            // A bucket that is empty is full again after `room_ms`. One that seems to need longer comes from before the clock was set back.
            row[at].full_ms = row[at].full_ms.min(now_ms.saturating_add(pace.room_ms));
        }
        let full_ms = match known {
            Some(at) => row[at].full_ms.max(now_ms),
            None => now_ms,
        };
        let next_ms = full_ms.saturating_add(pace.each_ms);
        let late_ms = next_ms.saturating_sub(now_ms).saturating_sub(pace.room_ms);
        if late_ms > 0 {
            return Err(u32::try_from(late_ms.div_ceil(1000)).unwrap_or(u32::MAX));
        }
        if draw == Draw::Take {
            row[at] = Bucket {
                key,
                full_ms: next_ms,
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_900_000_000;
    const PACE: Pace = Pace {
        each_ms: 500,
        room_ms: 20_000,
    };

    #[test]
    fn a_burst_then_two_pages_a_second() {
        let rates = Rates::new();
        let taken = |key: u64, time: u32| {
            let draws = (0..1000).map(|_| rates.draw(key, time, PACE, Draw::Take));
            draws.take_while(Result::is_ok).count()
        };
        assert_eq!(taken(7, NOW), 40);
        assert_eq!(taken(8, NOW), 40, "each for itself");
        assert_eq!(rates.draw(7, NOW, PACE, Draw::Look), Err(1));
        assert_eq!(taken(7, NOW + 1), 2);
        assert_eq!(taken(7, NOW + 11), 20);
        assert_eq!(taken(7, NOW + 3600), 40, "and no more after an hour");
        assert_eq!(taken(7, NOW), 0, "a clock that is set back gives nothing");
        assert_eq!(taken(7, NOW + 1), 2, "and takes nothing");
        assert_eq!(taken(7, NOW + 20), 38);
    }

    #[test]
    fn a_thousand_pages_a_day_leave_room_for_everybody() {
        let rates = Rates::new();
        // Four that share a row keep their places while they are in use; a fifth takes that of the one nearest to its rest.
        let ids: Vec<u64> = (0..5).map(|number| 3 + number * ROWS as u64).collect();
        for id in &ids[..4] {
            for _ in 0..10 + id / ROWS as u64 {
                rates.draw(*id, NOW, PACE, Draw::Take).unwrap();
            }
        }
        rates.draw(ids[4], NOW, PACE, Draw::Take).unwrap();
        for id in &ids[1..4] {
            let left = (0..100).take_while(|_| rates.draw(*id, NOW, PACE, Draw::Take).is_ok());
            assert_eq!(left.count() as u64, 30 - id / ROWS as u64);
        }
    }
}
