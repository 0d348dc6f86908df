//! The gate's time: the wall clock, but never a leap that may be a mistake.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;
use std::time::Instant;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use crate::settings::TestClock;

/// A step of the wall clock is taken over once it has lasted so many looks: a clock that jumps to and fro never moves the gate.
const LOOKS: u32 = 60;
/// Milliseconds that the two clocks may differ from look to look without being a step.
const DRIFT_MS: i64 = 2000;

/// Wall time that moves with the monotonic clock.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Milliseconds of the wall clock at `start`.
    offset_ms: AtomicI64,
    /// How fast time passes: 1, but in tests that live through a day in a minute.
    speed: u32,
    /// Looks that a step must last: `LOOKS`, but in tests that want to see the gate leap.
    looks: u32,
    /// In tests that set the time: the file that says it.
    file: Option<PathBuf>,
}

/// What was seen at the last looks.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    offset_ms: i64,
    looks: u32,
}

impl Clock {
    /// A clock that shows the wall's time now.
    pub(crate) fn start() -> Clock {
        Clock {
            start: Instant::now(),
            offset_ms: AtomicI64::new(wall_ms()),
            speed: 1,
            looks: LOOKS,
            file: None,
        }
    }

    /// A clock that follows every step of the wall's at once, for tests that want to see what comes of it.
    pub(crate) fn leaping() -> Clock {
        Clock {
            looks: 1,
            ..Clock::start()
        }
    }

    /// A clock that starts at a time and runs so many times too fast, or that a file sets.
    pub(crate) fn of_test(clock: &TestClock) -> Clock {
        Clock {
            start: Instant::now(),
            offset_ms: AtomicI64::new(i64::from(clock.start) * 1000),
            speed: clock.speed.max(1),
            looks: LOOKS,
            file: clock.file.clone(),
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> u64 {
        self.ms_at(Instant::now())
    }

    /// The same at a moment.
    pub(crate) fn ms_at(&self, moment: Instant) -> u64 {
        if cfg!(debug_assertions)
            && let Some(told) = self.told_ms()
        {
            return told;
        }
        let passed = i64::try_from(self.steady_ms_at(moment)).unwrap_or(i64::MAX);
        let now = self
            .offset_ms
            .load(Ordering::Relaxed)
            .saturating_add(passed);
        u64::try_from(now).unwrap_or(0)
    }

    /// What the file of a test says.
    fn told_ms(&self) -> Option<u64> {
        let text = fs::read_to_string(self.file.as_ref()?).ok()?;
        text.trim().parse().ok()
    }

    /// Milliseconds since the gate began, by a clock that nobody sets.
    pub(crate) fn steady_ms(&self) -> u64 {
        self.steady_ms_at(Instant::now())
    }

    fn steady_ms_at(&self, moment: Instant) -> u64 {
        let passed = moment.saturating_duration_since(self.start);
        let us = passed.as_secs() * 1_000_000 + u64::from(passed.subsec_micros());
        us.saturating_mul(u64::from(self.speed)) / 1000
    }

    /// Seconds since 1970, as policies count them.
    pub(crate) fn now(&self) -> u32 {
        self.at(Instant::now())
    }

    /// The same at a moment.
    pub(crate) fn at(&self, moment: Instant) -> u32 {
        u32::try_from(self.ms_at(moment) / 1000).unwrap_or(u32::MAX)
    }

    /// Looks at the wall clock, once a second. A small difference is taken over at once, a step once it has lasted a minute.
    pub(crate) fn look(&self, steps: &mut Steps) {
        // A clock that runs too fast on purpose has nothing to do with the wall's.
        if self.speed == 1 && self.file.is_none() {
            self.look_at(wall_ms(), self.steady_ms() as i64, steps);
        }
    }

    fn look_at(&self, wall_ms: i64, passed_ms: i64, steps: &mut Steps) {
        let offset_ms = wall_ms.saturating_sub(passed_ms);
        let known = self.offset_ms.load(Ordering::Relaxed);
        let is_same = |other: i64| offset_ms.abs_diff(other) < DRIFT_MS.unsigned_abs();
        steps.looks = match is_same(steps.offset_ms) {
            true => steps.looks.saturating_add(1),
            false => 1,
        };
        steps.offset_ms = offset_ms;
        if is_same(known) || steps.looks >= self.looks {
            self.offset_ms.store(offset_ms, Ordering::Relaxed);
        }
    }
}

fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_counts_once_it_has_lasted() {
        let clock = Clock {
            start: Instant::now(),
            offset_ms: AtomicI64::new(1_000_000_000),
            ..Clock::start()
        };
        let offset = || clock.offset_ms.load(Ordering::Relaxed);
        let mut steps = Steps::default();
        clock.look_at(1_000_001_500, 1000, &mut steps);
        assert_eq!(offset(), 1_000_000_500);
        // To and fro, every second.
        for second in 2..500 {
            let wall = if second % 2 == 0 {
                5
            } else {
                1_000_000_500 + second * 1000
            };
            clock.look_at(wall, second * 1000, &mut steps);
            assert_eq!(offset(), 1_000_000_500);
        }
        for second in 500..560 {
            clock.look_at(9_000_000_000 + second * 1000, second * 1000, &mut steps);
        }
        assert_eq!(offset(), 9_000_000_000);
    }
}
