//! Crawlers: rates, timetables, queues and quotas, and days copied from people with more or less care.

use super::log_between;
use super::people;
use super::people::Rhythm;
use super::wander;
use crate::plan::DAY;
use crate::plan::Plan;
use crate::plan::Scatter;
use crate::plan::Span;
use crate::random::Random;

/// The dominating trait of a crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    RateLimit,
    Even,
    Cron,
    Queue,
    Quota,
    Throttled,
    OffPeak,
    NightPause,
    WorkingDays,
    CopiedDay,
    Bursts,
    Restarts,
    Jobs,
    Drift,
    Levels,
    Clock,
}

impl Kind {
    pub(super) const ALL: [Kind; 16] = [
        Kind::RateLimit,
        Kind::Even,
        Kind::Cron,
        Kind::Queue,
        Kind::Quota,
        Kind::Throttled,
        Kind::OffPeak,
        Kind::NightPause,
        Kind::WorkingDays,
        Kind::CopiedDay,
        Kind::Bursts,
        Kind::Restarts,
        Kind::Jobs,
        Kind::Drift,
        Kind::Levels,
        Kind::Clock,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::RateLimit => "rate limit",
            Kind::Even => "even rate",
            Kind::Cron => "cron with jitter",
            Kind::Queue => "queue",
            Kind::Quota => "daily quota",
            Kind::Throttled => "adaptive throttle",
            Kind::OffPeak => "off-peak",
            Kind::NightPause => "night pause",
            Kind::WorkingDays => "weekend pause",
            Kind::CopiedDay => "copied day",
            Kind::Bursts => "bursts",
            Kind::Restarts => "restarts",
            Kind::Jobs => "several jobs",
            Kind::Drift => "drift",
            Kind::Levels => "levels",
            Kind::Clock => "work and rest by the clock",
        }
    }
}

/// The plans of a crawler: one for each of its jobs.
pub(super) fn plans(kind: Kind, span: Span, random: &mut Random) -> Vec<Plan> {
    let daily = match random.chance(0.3) {
        true => log_between(1200.0, 150_000.0, random),
        false => (1150.0 * random.exponential(0.8).exp()).min(80_000.0),
    };
    if kind != Kind::Jobs {
        return vec![job(kind, daily, span, random)];
    }
    let jobs = 2 + random.below(2) as usize;
    let shares: Vec<f64> = (0..jobs).map(|_| random.between(0.2, 1.0)).collect();
    let all: f64 = shares.iter().sum();
    let mut plans = Vec::new();
    for share in shares {
        let kind = *random.pick(&Kind::ALL);
        plans.push(job(kind, daily * share / all, span, random));
    }
    plans
}

fn job(kind: Kind, daily: f64, span: Span, random: &mut Random) -> Plan {
    let mut levels = levels(kind, span, random);
    // Answers take longer at some times: no rate is kept for days.
    let deviation = match random.chance(0.5) {
        true => 0.0,
        false => random.between(0.005, 0.15),
    };
    let mut speed = wander(deviation, log_between(2.0, 60.0, random), random);
    levels.iter_mut().for_each(|level| *level *= speed());
    if random.chance(0.08) {
        let start = random.below(span.bins as u64) as usize;
        let length = log_between(1.0, 24.0, random) as usize;
        let span = levels.iter_mut().skip(start).take(length);
        span.for_each(|level| *level = 0.0);
    }
    Plan::of(levels, daily, scatter(kind, random))
}

fn scatter(kind: Kind, random: &mut Random) -> Scatter {
    match (kind, random.unit()) {
        (Kind::RateLimit, _) => Scatter::Kept(log_between(0.002, 0.12, random)),
        (Kind::Even, _) => Scatter::Alone,
        // Who copies the day seldom copies the visits, too.
        (Kind::CopiedDay | Kind::OffPeak, part) if part < 0.85 => match random.chance(0.4) {
            true => Scatter::Kept(log_between(0.01, 0.2, random)),
            false => Scatter::Alone,
        },
        (Kind::CopiedDay | Kind::OffPeak, _) => Scatter::Visits {
            size: log_between(1.2, 4.0, random),
            lasts: random.between(0.02, 0.3),
        },
        (_, part) if part < 0.4 => Scatter::Kept(log_between(0.005, 0.25, random)),
        (_, part) if part < 0.75 => Scatter::Alone,
        _ => Scatter::Visits {
            size: log_between(1.5, 20.0, random),
            lasts: random.between(0.02, 0.6),
        },
    }
}

fn levels(kind: Kind, span: Span, random: &mut Random) -> Vec<f64> {
    match kind {
        Kind::RateLimit | Kind::Even | Kind::Jobs => vec![1.0; span.bins],
        Kind::Cron => cron(span, random),
        Kind::Queue => queue(span, random),
        Kind::Quota => quota(span, random),
        Kind::Throttled => throttled(span, random),
        Kind::OffPeak => off_peak(span, random),
        Kind::NightPause => night_pause(span, random),
        Kind::WorkingDays => working_days(span, random),
        Kind::CopiedDay => copied_day(span, random),
        Kind::Bursts => bursts(span, random),
        Kind::Restarts => restarts(span, random),
        Kind::Drift => drift(span, random),
        Kind::Levels => steps(span, random),
        Kind::Clock => clock(span, random),
    }
}

/// Nothing, or a little.
fn rest(random: &mut Random) -> f64 {
    match random.chance(0.55) {
        true => 0.0,
        false => log_between(0.01, 0.4, random),
    }
}

/// Runs that start about the same time each day and take about as long.
fn cron(span: Span, random: &mut Random) -> Vec<f64> {
    let mut levels = vec![rest(random); span.bins];
    let jitter = log_between(0.05, 4.0, random);
    for _ in 0..1 + random.below(4) {
        let (start, length) = (random.between(0.0, 48.0), log_between(1.0, 20.0, random));
        let height = random.between(0.5, 1.0);
        for day in 0..=span.bins / DAY {
            let first = (day * DAY) as f64 + start + jitter * random.normal();
            let length = length * (0.15 * random.normal()).exp();
            fill(&mut levels, first, first + length, height);
        }
    }
    levels
}

/// Adds a level between two times, with its part of the first and last half hour.
fn fill(levels: &mut [f64], from: f64, to: f64, height: f64) {
    for (bin, level) in levels.iter_mut().enumerate() {
        let inside = (to.min(bin as f64 + 1.0) - from.max(bin as f64)).clamp(0.0, 1.0);
        *level += height * inside;
    }
}

/// Filled now and then, at times or by chance, and worked off.
fn queue(span: Span, random: &mut Random) -> Vec<f64> {
    let every = log_between(8.0, 96.0, random);
    let falls = every / random.between(0.8, 6.0);
    let jitter = random.between(0.0, 0.6);
    let mut levels = vec![rest(random) / 4.0; span.bins];
    let mut at = -every * random.unit();
    while at < span.bins as f64 {
        let height = (0.4 * random.normal()).exp();
        for (bin, level) in levels.iter_mut().enumerate() {
            let since = bin as f64 - at;
            if since >= 0.0 {
                *level += height * (-since / falls).exp();
            }
        }
        at += every * (1.0 + jitter * random.normal()).max(0.2);
    }
    levels
}

/// Works at its rate from an hour on until the day's number is reached.
fn quota(span: Span, random: &mut Random) -> Vec<f64> {
    let start = random.between(0.0, 48.0);
    let length = random.between(6.0, 44.0);
    let mut levels = vec![rest(random) / 4.0; span.bins];
    let jitter = log_between(0.05, 2.0, random);
    for day in 0..=span.bins / DAY + 1 {
        let speed = (random.between(0.02, 0.25) * random.normal()).exp();
        let first = day as f64 * DAY as f64 - DAY as f64 + start + jitter * random.normal();
        fill(&mut levels, first, first + length / speed, speed);
    }
    levels
}

/// Slows down when the site is busy, and backs off after errors.
fn throttled(span: Span, random: &mut Random) -> Vec<f64> {
    let site = Rhythm::draw(people::Kind::Carrier, random);
    let yields = random.between(0.05, 0.5);
    let (fails, back) = (log_between(0.002, 0.06, random), random.between(1.05, 1.6));
    let mut speed: f64 = 1.0;
    let mut level = |bin: usize| {
        speed = match random.chance(fails) {
            true => speed / random.between(2.0, 10.0),
            false => (speed * back).min(1.0),
        };
        speed * (1.0 - yields * site.level(bin, span, |_| 1.0).min(1.2)).max(0.05)
    };
    (0..span.bins).map(&mut level).collect()
}

/// Works when the site's visitors sleep.
fn off_peak(span: Span, random: &mut Random) -> Vec<f64> {
    let (start, length) = (
        random.below(DAY as u64) as usize,
        6 + random.below(20) as usize,
    );
    let (low, ramp) = (rest(random), random.below(4) as f64 + 0.5);
    let level = |bin: usize| {
        let since = (bin + DAY - start) % DAY;
        if since >= length {
            return low;
        }
        let edge = (since as f64 + 0.5).min((length - since) as f64 - 0.5);
        low + (1.0 - low) * (edge / ramp).min(1.0)
    };
    (0..span.bins).map(level).collect()
}

/// Pauses at night so as not to stand out, at once or over an hour or two.
fn night_pause(span: Span, random: &mut Random) -> Vec<f64> {
    let pause = off_peak(span, random);
    let depth = random.between(0.5, 1.0);
    let most = pause.iter().copied().fold(0.0, f64::max);
    let level = |level: f64| 1.0 - depth * level / most;
    pause.into_iter().map(level).collect()
}

/// Rests on two days of the week, or on one.
fn working_days(span: Span, random: &mut Random) -> Vec<f64> {
    let ahead = random.below(DAY as u64) as usize;
    let first = if random.chance(0.7) {
        5
    } else {
        random.below(7) as usize
    };
    let low = rest(random);
    let hours = random.chance(0.4).then(|| off_peak(span, random));
    let level = |bin: usize| {
        let day = span.weekday(bin, ahead);
        let rests = day == first || day == (first + 1) % 7;
        let hour = hours.as_ref().map_or(1.0, |hours| hours[bin]);
        hour * if rests { low } else { 1.0 }
    };
    (0..span.bins).map(level).collect()
}

/// A day like people's, the same every day: with edges of hours, with weekends or not, over a level that it never leaves.
fn copied_day(span: Span, random: &mut Random) -> Vec<f64> {
    let models = [
        people::Kind::Working,
        people::Kind::Evenings,
        people::Kind::Campus,
        people::Kind::Carrier,
        people::Kind::OpeningHours,
    ];
    let rhythm = Rhythm::draw(*random.pick(&models), random);
    let hours = *random.pick(&[1, 1, 2, 4, 6]);
    let knows_weekends = random.chance(0.3);
    let always = Span { weekday: 0, ..span };
    let under = if random.chance(0.5) {
        random.between(0.0, 0.5)
    } else {
        0.0
    };
    let level = |bin: usize| {
        let bin = bin / hours * hours;
        let level = match knows_weekends {
            true => rhythm.level(bin, span, |_| 1.0),
            false => rhythm.level(bin % DAY + DAY, always, |_| 1.0),
        };
        under + level
    };
    (0..span.bins).map(level).collect()
}

fn bursts(span: Span, random: &mut Random) -> Vec<f64> {
    let mut levels = vec![rest(random) / 4.0; span.bins];
    for _ in 0..log_between(3.0, 80.0, random) as usize {
        let at = random.between(0.0, span.bins as f64);
        let length = log_between(0.3, 8.0, random);
        let height = random.exponential(1.0);
        fill(&mut levels, at, at + length, height);
    }
    levels
}

/// Runs until it fails, and is started again some time later.
fn restarts(span: Span, random: &mut Random) -> Vec<f64> {
    let (runs, waits) = (
        log_between(3.0, 80.0, random),
        log_between(1.0, 30.0, random),
    );
    let low = rest(random) / 4.0;
    let mut levels = vec![low; span.bins];
    let mut at = -random.exponential(runs);
    while at < span.bins as f64 {
        let length = random.exponential(runs);
        let height = (random.between(0.0, 0.4) * random.normal()).exp();
        fill(&mut levels, at, at + length, height);
        at += length + random.exponential(waits);
    }
    levels
}

fn drift(span: Span, random: &mut Random) -> Vec<f64> {
    let (deviation, memory) = (random.between(0.1, 0.8), log_between(6.0, 200.0, random));
    let mut level = wander(deviation, memory, random);
    (0..span.bins).map(|_| level()).collect()
}

fn steps(span: Span, random: &mut Random) -> Vec<f64> {
    let (change, size) = (log_between(0.008, 0.1, random), random.between(0.3, 1.2));
    let mut level = 1.0;
    let mut next = |_| {
        if random.chance(change) {
            level = (size * random.normal()).exp();
        }
        level
    };
    (0..span.bins).map(&mut next).collect()
}

/// Working and resting in turn, with a period of its own.
fn clock(span: Span, random: &mut Random) -> Vec<f64> {
    let period = log_between(3.0, 90.0, random);
    let (share, phase) = (random.between(0.2, 0.85), random.unit());
    let low = rest(random);
    let level = |bin: usize| match (bin as f64 / period + phase).fract() < share {
        true => 1.0,
        false => low,
    };
    (0..span.bins).map(level).collect()
}
