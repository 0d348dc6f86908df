//! When programs fetch: steady, in jobs, in bursts from a queue, throttled, or along a curve that copies people.

use super::calendar::{
    Calendar, Curve, DAY_MS, DAY_SLOTS, DAYS, MINUTE_MS, SLOT_MS, SPAN_MS, spread,
};
use crate::random::Random;

/// One fetch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beat {
    pub(super) at: u64,
    /// The site answers 429.
    pub(super) refused: bool,
    /// A new job, round or session begins.
    pub(super) first: bool,
}

/// When a program fetches.
#[derive(Debug, Clone)]
pub(super) enum Pace {
    /// All day, with a delay that varies so much; at 1 and above it is exponential.
    Steady { jitter: f64 },
    /// Along a curve in a zone. Without a weekend all days are alike.
    Curve {
        curve: Curve,
        zone: i32,
        jitter: f64,
    },
    /// Jobs at hours UTC, late by some minutes, run by workers.
    Jobs {
        hours: Vec<f64>,
        slip: f64,
        workers: u64,
        seconds: f64,
        fails: f64,
    },
    /// Bursts: minutes of work and minutes without.
    Queue { on: f64, off: f64 },
    /// Faster until refused, then half as fast.
    Throttle { growth: f64 },
    /// The same list again after so many minutes.
    Rounds { minutes: f64, seconds: f64 },
    /// Sessions that copy visits, with sleeps between bounds, along a curve.
    Sessions {
        curve: Curve,
        zone: i32,
        pages: (f64, f64),
        sleep: (f64, f64),
    },
}

impl Pace {
    /// How many fetches a round of a list has.
    pub(super) fn round(&self, volume: f64) -> Option<usize> {
        match self {
            Pace::Rounds { minutes, .. } => {
                Some((volume * minutes / 1_440.0).round().max(1.0) as usize)
            }
            _ => None,
        }
    }

    /// All fetches within a span of the world, so many on a busy day.
    pub(super) fn beats(
        &self,
        volume: f64,
        span: (u64, u64),
        calendar: &Calendar,
        random: &mut Random,
    ) -> Vec<Beat> {
        let mut beats = match self {
            Pace::Steady { jitter } => walk(volume, span, *jitter, random, |_| 1.0),
            Pace::Curve {
                curve,
                zone,
                jitter,
            } => walk(volume, span, *jitter, random, |at| {
                along(curve, *zone, at, calendar)
            }),
            Pace::Jobs {
                hours,
                slip,
                workers,
                seconds,
                fails,
            } => jobs(
                volume,
                span,
                (hours, *slip),
                (*workers, *seconds, *fails),
                random,
            ),
            Pace::Queue { on, off } => queue(volume, span, (*on, *off), random),
            Pace::Throttle { growth } => throttle(volume, span, *growth, random),
            Pace::Rounds { minutes, seconds } => {
                let list = self.round(volume).unwrap_or(1);
                rounds(list, span, (*minutes, *seconds), random)
            }
            Pace::Sessions {
                curve,
                zone,
                pages,
                sleep,
            } => {
                let mean = (pages.0 + pages.1) / 2.0;
                let starts = walk(volume / mean, span, 1.5, random, |at| {
                    along(curve, *zone, at, calendar)
                });
                sessions(&starts, *pages, *sleep, random)
            }
        };
        beats.retain(|beat| (span.0..span.1.min(SPAN_MS)).contains(&beat.at));
        beats.sort_by_key(|beat| beat.at);
        beats
    }
}

fn along(curve: &Curve, zone: i32, at: u64, calendar: &Calendar) -> f64 {
    let (day, hour) = calendar.local(at, zone);
    curve.at(hour) * curve.week[calendar.weekday(day)]
}

fn beat(at: u64) -> Beat {
    Beat {
        at,
        refused: false,
        first: false,
    }
}

/// Fetches one after the other at a rate that changes with time.
fn walk(
    volume: f64,
    span: (u64, u64),
    jitter: f64,
    random: &mut Random,
    rate: impl Fn(u64) -> f64,
) -> Vec<Beat> {
    let day = |day: usize| {
        (0..DAY_SLOTS)
            .map(|slot| rate((day * DAY_SLOTS + slot) as u64 * SLOT_MS))
            .sum::<f64>()
            / DAY_SLOTS as f64
    };
    let busiest = (0..DAYS).map(day).fold(1e-9, f64::max);
    let mut at = span.0 as f64 + random.unit() * 60_000.0;
    let mut beats = Vec::new();
    let slot = SLOT_MS as f64;
    while at < span.1 as f64 {
        let now = rate(at as u64) / busiest;
        let mean = DAY_MS as f64 / volume / now.max(1e-6);
        if mean > slot {
            // A rate this low is looked at again slot by slot, as it may rise.
            if random.chance(slot / mean) {
                beats.push(beat((at + random.unit() * slot) as u64));
            }
            at += slot;
            continue;
        }
        at += match jitter >= 1.0 {
            true => random.exponential(mean),
            false => mean * (1.0 + jitter * random.between(-1.0, 1.0)),
        };
        beats.push(beat(at as u64));
    }
    beats
}

fn jobs(
    volume: f64,
    span: (u64, u64),
    (hours, slip): (&[f64], f64),
    work: (u64, f64, f64),
    random: &mut Random,
) -> Vec<Beat> {
    let (workers, seconds, fails) = work;
    let mut beats = Vec::new();
    for day in span.0 / DAY_MS..span.1.div_ceil(DAY_MS) {
        for hour in hours {
            let mut size = spread(random, volume / hours.len() as f64, 0.06);
            let mut start = day as f64 * DAY_MS as f64
                + hour * 3_600_000.0
                + random.exponential(slip) * 60_000.0;
            // A job that broke is started again from the top.
            if random.chance(fails) {
                let done = size * random.between(0.2, 0.8);
                start = job(&mut beats, start, done, (workers, seconds), random)
                    + random.between(5.0, 90.0) * 60_000.0;
                size = size.max(2.0);
            }
            job(&mut beats, start, size, (workers, seconds), random);
        }
    }
    beats
}

fn job(
    beats: &mut Vec<Beat>,
    start: f64,
    size: f64,
    (workers, seconds): (u64, f64),
    random: &mut Random,
) -> f64 {
    let mut clocks = vec![start; workers as usize];
    for fetch in 0..size as usize {
        let worker = fetch % clocks.len();
        beats.push(Beat {
            at: clocks[worker] as u64,
            refused: false,
            first: fetch == 0,
        });
        clocks[worker] += (spread(random, seconds, 0.3) * 1_000.0).max(20.0);
    }
    clocks[0]
}

fn queue(volume: f64, span: (u64, u64), (on, off): (f64, f64), random: &mut Random) -> Vec<Beat> {
    let mean = DAY_MS as f64 / volume * on / (on + off);
    let mut at = span.0 as f64 + random.exponential(off) * MINUTE_MS as f64;
    let mut beats = Vec::new();
    while at < span.1 as f64 {
        let end = at + random.exponential(on) * MINUTE_MS as f64;
        let mut first = true;
        while at < end {
            beats.push(Beat {
                at: at as u64,
                refused: false,
                first,
            });
            first = false;
            at += mean * random.between(0.6, 1.4);
        }
        at = end + random.exponential(off) * MINUTE_MS as f64;
    }
    beats
}

fn throttle(volume: f64, span: (u64, u64), growth: f64, random: &mut Random) -> Vec<Beat> {
    let mean = DAY_MS as f64 / volume;
    let mut speed = 0.3;
    // The site's patience changes with its own load.
    let mut patience = random.between(1.3, 2.2);
    let mut at = span.0 as f64;
    let mut beats = Vec::new();
    while at < span.1 as f64 {
        let refused = speed > patience;
        beats.push(Beat {
            at: at as u64,
            refused,
            first: false,
        });
        at += mean / speed * random.between(0.85, 1.15);
        speed *= 1.0 + growth;
        if refused && random.chance(0.5) {
            speed *= 0.3;
            at += random.between(0.5, 12.0) * MINUTE_MS as f64;
            patience = (patience * (0.1 * random.normal()).exp()).clamp(0.9, 2.6);
        }
    }
    beats
}

fn rounds(
    list: usize,
    span: (u64, u64),
    (minutes, seconds): (f64, f64),
    random: &mut Random,
) -> Vec<Beat> {
    let mut beats = Vec::new();
    let mut start = span.0 as f64 + random.unit() * minutes * 60_000.0;
    while start < span.1 as f64 {
        // A long list takes no longer than most of the time until the next round.
        let seconds = seconds.min(minutes * 60.0 * 0.8 / list as f64);
        let mut at = start + random.exponential(900.0);
        for place in 0..list {
            beats.push(Beat {
                at: at as u64,
                refused: false,
                first: place == 0,
            });
            at += seconds * 1_000.0 * random.between(0.7, 1.3);
        }
        start += minutes * 60_000.0;
    }
    beats
}

fn sessions(
    starts: &[Beat],
    pages: (f64, f64),
    sleep: (f64, f64),
    random: &mut Random,
) -> Vec<Beat> {
    let mut beats = Vec::new();
    let mut free = 0;
    for start in starts {
        let mut at = start.at.max(free);
        for page in 0..random.between(pages.0, pages.1 + 1.0) as u64 {
            beats.push(Beat {
                at,
                refused: false,
                first: page == 0,
            });
            at += (random.between(sleep.0, sleep.1) * 1_000.0) as u64;
        }
        free = at;
    }
    beats
}
