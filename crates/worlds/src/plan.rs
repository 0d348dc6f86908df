//! When an actor comes: expected requests of each half hour, and how the real ones scatter around them.

use crate::habit::Habit;
use crate::people::People;
use crate::random::Random;

/// Half hours of a day.
pub const DAY: usize = 48;

/// The span that is simulated.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Half hours.
    pub bins: usize,
    /// Weekday of the first day; 0 is Monday.
    pub weekday: usize,
}

impl Span {
    /// Weekday of a half hour, in a place so many half hours ahead of UTC.
    pub(crate) fn weekday(self, bin: usize, ahead: usize) -> usize {
        (self.weekday + (bin + ahead) / DAY) % 7
    }
}

/// How requests scatter around what is expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scatter {
    /// By a rate limit: hardly at all, by this share.
    Kept(f64),
    /// Each for itself.
    Alone,
    /// Visits of so many requests each, on average, that last so many half hours.
    Visits {
        /// Requests of a visit.
        size: f64,
        /// How long it lasts, in half hours.
        lasts: f64,
    },
}

/// Expected requests of each half hour, and how real ones scatter around them. Members of a campaign share the first.
#[derive(Debug, Clone)]
pub struct Plan {
    expected: Vec<f64>,
    scatter: Scatter,
}

impl Plan {
    /// The plan of people behind one address with so many requests on an average day.
    pub fn people(people: People, daily: f64, span: Span, random: &mut Random) -> Plan {
        let ahead = random.below(DAY as u64) as usize;
        let shift = 0.5 * random.normal();
        let busy_days: Vec<f64> = (0..span.bins / DAY + 2)
            .map(|_| (0.12 * random.normal()).exp())
            .collect();
        let (restless, keeps) = (random.between(0.08, 0.25), random.between(0.3, 0.8));
        let mut mood = 0.0;
        let mut expected: Vec<f64> = (0..span.bins)
            .map(|bin| {
                let hour = (((bin + ahead) % DAY) as f64 / 2.0 + shift).rem_euclid(24.0);
                mood = keeps * mood + restless * random.normal();
                people.presence(hour, span.weekday(bin, ahead))
                    * busy_days[(bin + ahead) / DAY]
                    * f64::exp(mood)
            })
            .collect();
        scale(&mut expected, daily);
        if random.chance(0.12) {
            outage(&mut expected, random);
        }
        let scatter = Scatter::Visits {
            size: random.between(3.0, 18.0),
            lasts: random.between(0.2, 0.9),
        };
        Plan { expected, scatter }
    }

    /// The plan of one person who is on the site for hours: no crowd that evens things out, and no timetable either.
    pub fn person(daily: f64, span: Span, random: &mut Random) -> Plan {
        let usual = random.between(7.0, 20.0);
        let mut expected = vec![0.0; span.bins];
        for day in 0..span.bins.div_ceil(DAY) {
            let is_weekend = (span.weekday + day) % 7 >= 5;
            if random.chance(if is_weekend { 0.5 } else { 0.15 }) {
                continue;
            }
            for _ in 0..1 + random.below(4) {
                let start = (usual + 3.0 * random.normal()).rem_euclid(24.0);
                let first = day * DAY + (2.0 * start) as usize;
                let length = 1 + random.exponential(4.0) as usize;
                for level in expected.iter_mut().skip(first).take(length) {
                    *level += (0.6 * random.normal()).exp();
                }
            }
        }
        scale(&mut expected, daily);
        let scatter = Scatter::Visits {
            size: random.between(8.0, 60.0),
            lasts: random.between(0.1, 0.6),
        };
        Plan { expected, scatter }
    }

    /// The plan of a crawler.
    pub fn crawler(habit: Habit, daily: f64, span: Span, random: &mut Random) -> Plan {
        let mut expected = habit.levels(span, random);
        scale(&mut expected, daily);
        if random.chance(0.06) {
            outage(&mut expected, random);
        }
        let scatter = match habit {
            Habit::Steady => Scatter::Kept(random.between(0.005, 0.08)),
            Habit::Feed | Habit::Mimic if random.chance(0.3) => Scatter::Visits {
                size: random.between(1.5, 4.0),
                lasts: 0.1,
            },
            Habit::Feed | Habit::Mimic => Scatter::Alone,
            _ if random.chance(0.35) => Scatter::Kept(random.between(0.02, 0.2)),
            _ if random.chance(0.3) => Scatter::Visits {
                size: random.between(2.0, 20.0),
                lasts: random.between(0.05, 0.6),
            },
            _ => Scatter::Alone,
        };
        Plan { expected, scatter }
    }

    /// A plan with such levels, to be scaled to so many requests on an average day.
    pub(crate) fn of(mut levels: Vec<f64>, daily: f64, scatter: Scatter) -> Plan {
        scale(&mut levels, daily);
        Plan {
            expected: levels,
            scatter,
        }
    }

    /// Leaves a share of what is expected in some half hours.
    pub(crate) fn dampen(&mut self, span: std::ops::Range<usize>, left: f64) {
        let inside = self.expected.iter_mut().skip(span.start).take(span.len());
        inside.for_each(|expected| *expected *= left);
    }

    /// The same schedule for another member, with a volume of its own.
    pub fn for_member(&self, share: f64) -> Plan {
        Plan {
            expected: self
                .expected
                .iter()
                .map(|expected| expected * share)
                .collect(),
            scatter: self.scatter,
        }
    }

    /// Adds requests of each half hour as they came.
    pub fn draw(&self, random: &mut Random, counts: &mut [u32]) {
        for (bin, expected) in self.expected.iter().enumerate() {
            match self.scatter {
                Scatter::Kept(share) => {
                    let kept = expected * (1.0 + share * random.normal());
                    // The part of a request that is left over comes or not.
                    counts[bin] += (kept.max(0.0) + random.unit()) as u32;
                }
                Scatter::Alone => counts[bin] += random.poisson(*expected),
                Scatter::Visits { size, lasts } => {
                    for _ in 0..random.poisson(expected / size) {
                        let requests = 1 + random.exponential(size - 1.0) as u32;
                        let (start, length) = (random.unit(), random.exponential(lasts));
                        for _ in 0..requests {
                            let at = bin + (start + length * random.unit()) as usize;
                            if let Some(count) = counts.get_mut(at) {
                                *count += 1;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Brings the mean day to a volume.
fn scale(expected: &mut [f64], daily: f64) {
    let sum: f64 = expected.iter().sum();
    let factor = daily * expected.len() as f64 / DAY as f64 / sum.max(1e-9);
    expected.iter_mut().for_each(|expected| *expected *= factor);
}

/// Some hours without a line.
fn outage(expected: &mut [f64], random: &mut Random) {
    let length = 2 + random.below(24) as usize;
    let start = random.below((expected.len().saturating_sub(length)) as u64) as usize;
    expected
        .iter_mut()
        .skip(start)
        .take(length)
        .for_each(|expected| *expected = 0.0);
}
