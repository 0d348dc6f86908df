//! When one source viewed pages, in little room and regardless of the order of its requests: files of two hosts overlap in time.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use smallvec::SmallVec;

/// Views close to each other, on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) views: u32,
    /// Days since 1970.
    pub(crate) day: i32,
}

/// All bursts of a source, in the order of time. Most sources have one. Between two of one day there is more than the silence they are kept with.
#[derive(Debug, Default)]
pub(crate) struct Activity(SmallVec<[Burst; 1]>);

impl Activity {
    /// Adds a view.
    pub(crate) fn add(&mut self, time: u32, day: i32, silence: u32) {
        let bursts = &mut self.0;
        // The first that ends late enough to hold it; nearly always it is the last.
        let at = match bursts.last() {
            Some(last) if last.last.saturating_add(silence) < time => bursts.len(),
            _ => bursts.partition_point(|burst| burst.last.saturating_add(silence) < time),
        };
        let holds = |burst: &Burst| burst.day == day && burst.first <= time.saturating_add(silence);
        // The burst before midnight may reach as far, and is another day's.
        let found = (at..bursts.len().min(at + 2)).find(|at| holds(&bursts[*at]));
        let Some(found) = found else {
            let burst = Burst {
                first: time,
                last: time,
                views: 1,
                day,
            };
            let place = bursts.partition_point(|known| known.first < time);
            bursts.insert(place, burst);
            return;
        };
        let burst = &mut bursts[found];
        burst.first = burst.first.min(time);
        burst.last = burst.last.max(time);
        burst.views += 1;
        let burst = *burst;
        // A view may close the gap to the next burst.
        if let Some(next) = bursts.get(found + 1).copied()
            && next.day == day
            && next.first <= burst.last.saturating_add(silence)
        {
            bursts[found].last = next.last.max(burst.last);
            bursts[found].views += next.views;
            bursts.remove(found + 1);
        }
    }

    pub(crate) fn bursts(&self) -> &[Burst] {
        &self.0
    }

    pub(crate) fn views(&self) -> u64 {
        self.0.iter().map(|burst| u64::from(burst.views)).sum()
    }

    /// The days on which visits begin that so much silence ends.
    pub(crate) fn visits(&self, silence: u32) -> impl Iterator<Item = i32> + '_ {
        let mut end: Option<u32> = None;
        self.0.iter().filter_map(move |burst| {
            let goes_on = end.is_some_and(|end| burst.first <= end.saturating_add(silence));
            end = Some(end.map_or(burst.last, |end| end.max(burst.last)));
            (!goes_on).then_some(burst.day)
        })
    }
}

/// Days of a time zone. Times of a log are in order as a rule, so that the last day is remembered.
#[derive(Debug)]
pub(crate) struct Days {
    zone: TimeZone,
    range: Range<u32>,
    day: i32,
}

impl Days {
    pub(crate) fn new(zone: TimeZone) -> Days {
        Days {
            zone,
            range: 0..0,
            day: 0,
        }
    }

    /// The day of a time, counted from 1970.
    pub(crate) fn of(&mut self, time: u32) -> i32 {
        if !self.range.contains(&time) {
            let zoned = Timestamp::from_second(i64::from(time)).unwrap_or_default();
            let date = zoned.to_zoned(self.zone.clone()).date();
            let start = |date: Date| {
                let zoned = date.to_zoned(self.zone.clone());
                zoned.map_or(0, |zoned| zoned.timestamp().as_second())
            };
            let next = date.tomorrow().map_or(i64::from(u32::MAX), start);
            self.range = start(date).clamp(0, i64::from(u32::MAX)) as u32
                ..next.clamp(0, i64::from(u32::MAX)) as u32;
            self.day = day_number(date);
        }
        self.day
    }
}

fn day_number(date: Date) -> i32 {
    let since = date.since(Date::constant(1970, 1, 1));
    since.map_or(0, |span| span.get_days())
}

/// Months since the year 0, of a day.
pub(crate) fn month_number(day: i32) -> i32 {
    let date = Date::constant(1970, 1, 1).checked_add(jiff::Span::new().days(day));
    date.map_or(0, |date| {
        i32::from(date.year()) * 12 + i32::from(date.month())
    })
}

/// A day as it is written, `2030-01-31`.
pub(crate) fn day_name(day: i32) -> String {
    let span = jiff::Span::new().days(day);
    let date = Date::constant(1970, 1, 1).checked_add(span);
    date.map_or_else(|_| String::new(), |date| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_do_not_depend_on_the_order_of_requests() {
        let day = 86_400;
        let times = [
            0,
            100,
            800,
            2500,
            9000,
            day - 10,
            day + 10,
            day + 3000,
            5 * day,
            5 * day + 900,
        ];
        let of = |times: &[u32], silence: u32| {
            let mut activity = Activity::default();
            times
                .iter()
                .for_each(|time| activity.add(*time, (*time / day) as i32, 900));
            assert_eq!(activity.views(), times.len() as u64);
            let visits: Vec<i32> = activity.visits(silence).collect();
            (visits, activity.bursts().to_vec())
        };
        let (visits, bursts) = of(&times, 1800);
        assert_eq!(visits, [0, 0, 0, 1, 5]);
        assert_eq!(of(&times, 900).0, [0, 0, 0, 0, 1, 5]);
        let mut shuffled = times;
        for step in [3, 7] {
            for at in 0..times.len() {
                shuffled[at] = times[at * step % times.len()];
            }
            assert_eq!(of(&shuffled, 1800), (visits.clone(), bursts.clone()));
        }
    }

    #[test]
    fn a_day_is_the_time_zones() {
        let mut utc = Days::new(TimeZone::UTC);
        assert_eq!(
            [utc.of(0), utc.of(86_399), utc.of(86_400), utc.of(5)],
            [0, 0, 1, 0]
        );
        let mut later = Days::new(TimeZone::fixed(jiff::tz::offset(2)));
        assert_eq!([later.of(79_199), later.of(79_200)], [0, 1]);
        assert_eq!(day_name(14_669), "2010-03-01");
    }
}
