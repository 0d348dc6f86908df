//! How evenly the pages of a visit follow each other, where the log has fractions of seconds.

use crate::request::Tick;

/// Times from page to page, each compared with the one before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Ticks from the page before the last one to that one; 0 where that is not known.
    gap: u16,
    /// Times that were compared.
    pub compared: u16,
    /// Of these, the ones equal to the time before.
    pub even: u16,
    tick: Tick,
}

/// Ticks from page to page that are compared: half a second at least. What follows faster was opened at once, by a browser or a program.
const GAP_MIN: u32 = Tick::PER_SECOND / 2;
/// Ticks by which equal times differ at most: each is measured to a tick.
const APART_MAX: u16 = 1;

impl Pace {
    /// True where the time of the last page is known to the tick.
    pub(super) fn has_tick(&self) -> bool {
        self.tick.is_known()
    }

    /// Ticks from the last page to a time this many seconds later, where both are known.
    pub(super) fn ticks(&self, seconds: u32, tick: Tick) -> Option<u32> {
        tick.since(self.tick, seconds)
    }

    /// Takes in a page that came this many seconds after the one before.
    pub(super) fn step(&mut self, seconds: u32, tick: Tick) {
        let gap = self.ticks(seconds, tick).filter(|gap| *gap >= GAP_MIN);
        let gap = gap.map_or(0, |gap| gap.min(u32::from(u16::MAX)) as u16);
        if gap != 0 && self.gap != 0 {
            self.compared = self.compared.saturating_add(1);
            let is_even = gap.abs_diff(self.gap) <= APART_MAX;
            self.even = self.even.saturating_add(u16::from(is_even));
        }
        (self.gap, self.tick) = (gap, tick);
    }

    /// Takes in a page whose time says nothing: the first, one opened beside another, or one requested before, as pages are that reload
    /// themselves or take turns on a screen.
    pub(super) fn skip(&mut self, tick: Tick) {
        (self.gap, self.tick) = (0, tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the gaps between pages amount to, in milliseconds.
    fn pace(gaps: &[u64]) -> (u16, u16) {
        let mut pace = Pace::default();
        let (mut now, mut last) = (123_u64, 0);
        pace.skip(Tick::of_nanoseconds(123_000_000));
        for gap in gaps {
            now += gap;
            let tick = Tick::of_nanoseconds((now % 1000 * 1_000_000) as u32);
            pace.step((now / 1000 - last) as u32, tick);
            last = now / 1000;
        }
        (pace.compared, pace.even)
    }

    #[test]
    fn a_program_that_sleeps() {
        assert_eq!(pace(&[2040, 2055, 2031, 2060, 2049, 2038]), (5, 5));
        assert_eq!(pace(&[60_010, 60_020, 60_015]), (2, 2));
    }

    #[test]
    fn people_and_what_says_nothing() {
        assert_eq!(pace(&[2040, 3310, 900, 14_000, 1500]), (4, 0));
        assert_eq!(pace(&[100, 90, 95, 100]), (0, 0), "opened at once");
        let mut unlogged = Pace::default();
        (0..9).for_each(|_| unlogged.step(2, Tick::default()));
        assert_eq!(unlogged.compared, 0);
    }
}
