//! Time of the world: days of the week, zones, curves over the day, and events that move many people at once.

use crate::random::Random;

/// Milliseconds of a minute.
pub(super) const MINUTE_MS: u64 = 60_000;
/// Milliseconds of a day.
pub(super) const DAY_MS: u64 = 1_440 * MINUTE_MS;
/// Days of the world.
pub(super) const DAYS: usize = 5;
/// Milliseconds of the world.
pub(super) const SPAN_MS: u64 = DAYS as u64 * DAY_MS;
/// Milliseconds of a slot, the grain of curves.
pub(super) const SLOT_MS: u64 = 5 * MINUTE_MS;
/// Slots of the world.
pub(super) const SLOTS: usize = (SPAN_MS / SLOT_MS) as usize;
/// Slots of a day.
pub(super) const DAY_SLOTS: usize = SLOTS / DAYS;

/// What everybody's days have in common.
#[derive(Debug)]
pub(super) struct Calendar {
    /// Weekday of the first day; Monday is 0.
    pub(super) first_weekday: usize,
    /// The zone in which most people live, minutes east of UTC.
    pub(super) home: i32,
    /// A holiday at home: day of the world.
    pub(super) holiday: Option<usize>,
    /// Days of the world on which the market is on television at 20:15.
    television: Vec<usize>,
}

impl Calendar {
    /// Draws the events.
    pub(super) fn new(first_weekday: usize, random: &mut Random) -> Calendar {
        let home = *random.pick(&[0, 60, 60, 120, 330, -300, -360, 540]);
        let television = (0..1 + random.below(2))
            .map(|_| random.below(DAYS as u64) as usize)
            .collect();
        let workdays = (0..DAYS)
            .filter(|day| (first_weekday + day) % 7 < 5)
            .count();
        let day = 1 + random.below(3) as usize;
        // A holiday in the middle of the week, if offices keep three days without it.
        let fits = (1..=3).contains(&((first_weekday + day) % 7)) && workdays > 3;
        let holiday = (random.chance(0.8) && fits).then_some(day);
        Calendar {
            first_weekday,
            home,
            holiday,
            television,
        }
    }

    /// Day of the world (it may lie outside) and hour, in a zone.
    pub(super) fn local(&self, at: u64, zone: i32) -> (i64, f64) {
        let minutes = at as f64 / MINUTE_MS as f64 + f64::from(zone);
        let day = (minutes / 1_440.0).floor();
        (day as i64, (minutes - day * 1_440.0) / 60.0)
    }

    /// Weekday of a day of the world.
    pub(super) fn weekday(&self, day: i64) -> usize {
        (self.first_weekday as i64 + day).rem_euclid(7) as usize
    }

    /// True on the holiday, for those who have it.
    pub(super) fn is_holiday(&self, day: i64, zone: i32) -> bool {
        (zone - self.home).abs() <= 60 && self.holiday.is_some_and(|holiday| holiday as i64 == day)
    }

    /// How much of the show is felt: a steep rise at 20:15 and a tail.
    pub(super) fn show(&self, at: u64, zone: i32) -> f64 {
        let (day, hour) = self.local(at, zone);
        let since = (hour - 20.25) * 60.0;
        let on_air = (zone - self.home).abs() <= 60
            && self.television.iter().any(|&show| show as i64 == day);
        if on_air && since >= 0.0 {
            (-since / 14.0).exp()
        } else {
            0.0
        }
    }
}

/// A curve over the day with a weight for each weekday.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Hour, width in hours, height.
    pub(super) bumps: Vec<(f64, f64, f64)>,
    pub(super) floor: f64,
    /// Monday first.
    pub(super) week: [f64; 7],
    /// Hours in which the doors are open, if there are doors.
    pub(super) open: Option<(f64, f64)>,
}

impl Curve {
    /// Weight at an hour of the day, without the weekday.
    pub(super) fn at(&self, hour: f64) -> f64 {
        // Doors may close after midnight.
        let inside = |(from, to): (f64, f64)| {
            (from..to).contains(&hour) || (from..to).contains(&(hour + 24.0))
        };
        if !self.open.is_none_or(inside) {
            return 0.0;
        }
        let bump = |&(centre, width, height): &(f64, f64, f64)| {
            let away = (hour - centre + 36.0).rem_euclid(24.0) - 12.0;
            height * (-0.5 * (away / width).powi(2)).exp()
        };
        self.floor + self.bumps.iter().map(bump).sum::<f64>()
    }

    /// The same curve as another house would have it: hours, widths and heights moved a little.
    pub(super) fn moved(mut self, random: &mut Random, hours: f64) -> Curve {
        let shift = random.normal() * hours;
        for (centre, width, height) in &mut self.bumps {
            *centre += shift + random.normal() * hours * 0.4;
            *width *= (0.2 * random.normal()).exp();
            *height *= (0.25 * random.normal()).exp();
        }
        self.floor *= (0.4 * random.normal()).exp();
        for day in &mut self.week {
            *day *= (0.12 * random.normal()).exp();
        }
        self
    }
}

/// A number of at least `low`, with a long tail up to `cap`.
pub(super) fn pareto(random: &mut Random, low: f64, alpha: f64, cap: f64) -> f64 {
    (low * (1.0 - random.unit()).powf(-1.0 / alpha)).min(cap)
}

/// A number with this median.
pub(super) fn spread(random: &mut Random, median: f64, sigma: f64) -> f64 {
    median * (sigma * random.normal()).exp()
}

/// The place of a weight drawn from running sums.
pub(super) fn draw(sums: &[f64], random: &mut Random) -> usize {
    let end = sums.last().copied().unwrap_or_default();
    let place = random.unit() * end;
    sums.partition_point(|&sum| sum <= place)
        .min(sums.len().saturating_sub(1))
}

/// Running sums of weights.
pub(super) fn sums(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let add = |sum: &mut f64, weight: f64| {
        *sum += weight;
        Some(*sum)
    };
    weights.scan(0.0, add).collect()
}
