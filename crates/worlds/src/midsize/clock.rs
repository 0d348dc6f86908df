//! Days and hours: when people and programs of the mid-size world are awake, and dates for addresses of articles.

use crate::random::Random;

/// Milliseconds of a minute.
pub(super) const MINUTE: u64 = 60_000;
/// Milliseconds of an hour.
pub(super) const HOUR: u64 = 60 * MINUTE;
/// Milliseconds of a day.
pub(super) const DAY: u64 = 24 * HOUR;
/// Days of the world.
pub(super) const DAYS: u64 = 5;
/// The end of the world.
pub(super) const END: u64 = DAYS * DAY;

/// 2030-01-07 00:00 UTC, a Monday.
const MONDAY: u32 = 1_893_974_400;

/// How activity is spread over a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rhythm {
    /// Breakfast, lunch, and most of all the evening.
    Leisure,
    /// Office hours.
    Work,
}

impl Rhythm {
    fn weights(self) -> [f64; 24] {
        let tenths: [u8; 24] = match self {
            Rhythm::Leisure => [
                12, 6, 3, 2, 2, 5, 16, 34, 38, 32, 30, 32, 44, 40, 32, 30, 33, 42, 52, 66, 78, 72,
                48, 26,
            ],
            Rhythm::Work => [
                0, 0, 0, 0, 0, 1, 4, 20, 60, 72, 66, 60, 40, 52, 60, 58, 48, 26, 10, 4, 3, 2, 1, 0,
            ],
        };
        tenths.map(f64::from)
    }
}

/// The days of one world.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    /// The first second.
    pub(super) start: u32,
    /// 0 for Monday.
    first_weekday: u64,
}

impl Calendar {
    /// A week of the year, and a weekday to start with, of this seed's own.
    pub(super) fn new(random: &mut Random) -> Calendar {
        let offset = random.below(7 * 40);
        Calendar {
            start: MONDAY + offset as u32 * 86_400,
            first_weekday: offset % 7,
        }
    }

    /// Saturday or Sunday.
    pub(super) fn is_weekend(&self, day: u64) -> bool {
        (self.first_weekday + day) % 7 >= 5
    }

    /// A moment of this day. `zone` is how many hours the local clock is ahead of UTC.
    pub(super) fn on_day(&self, random: &mut Random, day: u64, rhythm: Rhythm, zone: i64) -> u64 {
        let weights = rhythm.weights();
        let mut left = random.unit() * weights.iter().sum::<f64>();
        let mut hour = 23;
        for (index, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                hour = index as i64;
                break;
            }
        }
        let hour = (hour - zone).rem_euclid(24) as u64;
        day * DAY + hour * HOUR + random.below(HOUR)
    }

    /// A moment of any day. Office hours are hardly kept at weekends.
    pub(super) fn moment(&self, random: &mut Random, rhythm: Rhythm, zone: i64) -> u64 {
        let mut day = random.below(DAYS);
        while rhythm == Rhythm::Work && self.is_weekend(day) && random.chance(0.85) {
            day = random.below(DAYS);
        }
        self.on_day(random, day, rhythm, zone)
    }

    /// `2030/01/07` of a moment, also before the start.
    pub(super) fn date_path(&self, at: i64) -> String {
        let (year, month, day) = civil(i64::from(self.start) / 86_400 + at.div_euclid(DAY as i64));
        format!("{year}/{month:02}/{day:02}")
    }
}

/// Where somebody lives, as hours ahead of UTC: a European site with readers abroad.
pub(super) fn zone(random: &mut Random) -> i64 {
    let share = random.unit();
    if share < 0.74 {
        1
    } else if share < 0.80 {
        2
    } else if share < 0.92 {
        -(5 + random.below(4) as i64)
    } else {
        3 + random.below(8) as i64
    }
}

/// Year, month and day of a day since 1970, by Hinnant's method.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 {
        month_index + 3
    } else {
        month_index - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(civil(i64::from(MONDAY) / 86_400), (2030, 1, 7));
        assert_eq!(civil(19_782), (2024, 2, 29));
    }

    #[test]
    fn worlds_start_at_midnight() {
        for seed in 0..20 {
            let calendar = Calendar::new(&mut Random::new(seed, 1));
            assert_eq!(calendar.start % 86_400, 0);
            // 1970-01-01 was a Thursday.
            assert_eq!(
                u64::from(calendar.start / 86_400 + 3) % 7,
                calendar.first_weekday
            );
        }
    }
}
