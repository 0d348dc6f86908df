//! When crawlers send their requests: how long they wait between two, and when they rest.

use crate::random::Random;

/// How long a crawler waits before its next request, in seconds.
#[derive(Debug, Clone, Copy)]
enum Delay {
    /// As fast as the site responds: the median, and how far responses spread (of the logarithm).
    Response { median: f64, spread: f64 },
    /// Anything between two shares of a mean, as Scrapy does from half to one and a half.
    Uniform { mean: f64, low: f64, high: f64 },
    /// Exponential, as a Poisson process.
    Exponential { mean: f64 },
    /// As people's reading times are described in textbooks.
    LogNormal { median: f64, spread: f64 },
}

/// When a crawler rests.
#[derive(Debug, Clone, Copy)]
enum Rest {
    Never,
    /// After about so many requests for about so many seconds: batches, quotas, restarts.
    Batches {
        requests: f64,
        seconds: f64,
    },
    /// Works from one hour of the day to another.
    Hours {
        from: u64,
        to: u64,
    },
}

/// The pace of one crawler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    delay: Delay,
    rest: Rest,
    /// Requests that are sent at about the same time.
    workers: u64,
    /// Share of requests that wait for a timeout.
    stalls: f64,
    /// Requests until the next rest, and until the next wait.
    left: u64,
    at_once: u64,
}

/// Whether a crawler waits between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It does not.
    No,
    /// For a random time.
    Randomly,
}

const HOUR_MS: u64 = 3_600_000;

impl Pace {
    pub(super) fn draw(random: &mut Random, waits: Waits) -> Pace {
        let delay = match waits {
            Waits::No => Delay::Response {
                median: random.between(-1.6, 1.4).exp(),
                spread: random.between(0.1, 1.0),
            },
            Waits::Randomly => waiting(random),
        };
        let rest = match random.below(100) {
            0..42 => Rest::Never,
            42..82 => Rest::Batches {
                requests: random.between(1.8, 4.6).exp(),
                seconds: random.between(6.2, 11.0).exp(),
            },
            _ => {
                let from = random.below(20);
                Rest::Hours {
                    from,
                    to: from + 1 + random.below(4),
                }
            }
        };
        let workers = match (waits, random.chance(0.3)) {
            (Waits::No, true) => 2 + random.below(7),
            _ => 1,
        };
        Pace {
            delay,
            rest,
            workers,
            stalls: random.between(-0.02, 0.03).max(0.0),
            left: 0,
            at_once: 0,
        }
    }

    /// The time of the next request after one at this time.
    pub(super) fn next(&mut self, random: &mut Random, now_ms: u64) -> u64 {
        let mut seconds = self.delay.draw(random);
        if self.at_once > 0 {
            self.at_once -= 1;
            seconds *= 0.05;
        } else {
            self.at_once = self.workers - 1;
        }
        if random.chance(self.stalls) {
            seconds += random.between(10.0, 60.0);
        }
        let next = now_ms + (1000.0 * seconds.max(0.02)) as u64;
        self.rest(random, next)
    }

    fn rest(&mut self, random: &mut Random, at_ms: u64) -> u64 {
        match self.rest {
            Rest::Never => at_ms,
            Rest::Hours { from, to } => {
                let hour = at_ms / HOUR_MS % 24;
                if (from..to).contains(&hour) {
                    return at_ms;
                }
                let wait = (from + 24 - hour) % 24;
                (at_ms / HOUR_MS + wait.max(1)) * HOUR_MS + random.below(600_000)
            }
            Rest::Batches { requests, seconds } => {
                if self.left > 0 {
                    self.left -= 1;
                    return at_ms;
                }
                self.left = 3 + random.exponential(requests) as u64;
                at_ms + (1000.0 * seconds * random.between(0.3, 1.7)) as u64
            }
        }
    }
}

fn waiting(random: &mut Random) -> Delay {
    let typical = random.between(0.9, 4.3).exp();
    match random.below(4) {
        0 => Delay::Uniform {
            mean: typical,
            low: 0.5,
            high: 1.5,
        },
        1 => Delay::Uniform {
            mean: typical,
            low: 0.05,
            high: random.between(1.8, 4.0),
        },
        2 => Delay::Exponential { mean: typical },
        _ => Delay::LogNormal {
            median: typical,
            spread: random.between(0.5, 1.3),
        },
    }
}

impl Delay {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Delay::Response { median, spread } | Delay::LogNormal { median, spread } => {
                median * (spread * random.normal()).exp()
            }
            Delay::Uniform { mean, low, high } => mean * random.between(low, high),
            // The response takes its time even where the wait is 0.
            Delay::Exponential { mean } => 0.3 + random.exponential(mean),
        }
    }
}
