//! How crawlers spread their work over time.

use crate::people::People;
use crate::plan::DAY;
use crate::plan::Span;
use crate::random::Random;

/// How a crawler spreads its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// The same number all the time, by a rate limit.
    Steady,
    /// The same rate all the time, each request for itself.
    Even,
    /// Working and resting in turn, by the clock.
    Square,
    /// A run at the same hours every day.
    Cron,
    /// A queue that is filled now and then and worked off.
    Queue,
    /// Working and resting for random spans.
    OnOff,
    /// A level that wanders.
    Drift,
    /// A level that changes at once, now and then.
    Levels,
    /// Fetches what people have asked for elsewhere.
    Feed,
    /// Works when the site's own visitors sleep.
    Nights,
    /// Pauses at night so as not to stand out.
    NightPause,
    /// Short bursts at random times.
    Bursts,
    /// Follows a person's day, with its own noise.
    Mimic,
}

impl Habit {
    /// The name in labels.
    pub fn name(self) -> &'static str {
        match self {
            Habit::Steady => "steady",
            Habit::Even => "even",
            Habit::Square => "square",
            Habit::Cron => "cron",
            Habit::Queue => "queue",
            Habit::OnOff => "on and off",
            Habit::Drift => "drift",
            Habit::Levels => "levels",
            Habit::Feed => "feed",
            Habit::Nights => "nights",
            Habit::NightPause => "night pause",
            Habit::Bursts => "bursts",
            Habit::Mimic => "mimic",
        }
    }
}

impl Habit {
    /// Levels of each half hour, to be scaled.
    pub(crate) fn levels(self, span: Span, random: &mut Random) -> Vec<f64> {
        match self {
            Habit::Steady | Habit::Even => vec![1.0; span.bins],
            Habit::Square => square(span, random),
            Habit::Cron => cron(span, random),
            Habit::Queue => queue(span, random),
            Habit::OnOff => on_off(span, random),
            Habit::Drift => drift(span, random),
            Habit::Levels => steps(span, random),
            Habit::Feed => feed(span, random),
            Habit::Nights => nights(span, random),
            Habit::NightPause => night_pause(span, random),
            Habit::Bursts => bursts(span, random),
            Habit::Mimic => mimic(span, random),
        }
    }
}

/// Nothing, or a little, so often.
fn rest(nothing: f64, most: f64, random: &mut Random) -> f64 {
    if random.chance(nothing) {
        0.0
    } else {
        random.between(0.02, most)
    }
}

fn square(span: Span, random: &mut Random) -> Vec<f64> {
    let period = random.between(5.0, 60.0);
    let (share, phase) = (random.between(0.25, 0.8), random.unit());
    let low = rest(0.6, 0.3, random);
    let is_on = |bin: usize| (bin as f64 / period + phase).fract() < share;
    let level = |bin: usize| if is_on(bin) { 1.0 } else { low };
    (0..span.bins).map(level).collect()
}

fn cron(span: Span, random: &mut Random) -> Vec<f64> {
    let runs: Vec<(f64, f64)> = (0..1 + random.below(3))
        .map(|_| (random.between(0.0, 48.0), random.between(1.0, 14.0)))
        .collect();
    let low = rest(0.5, 0.15, random);
    let since = |bin: usize, start: f64| ((bin % DAY) as f64 - start).rem_euclid(48.0);
    let is_on = |bin: usize| {
        runs.iter()
            .any(|(start, length)| since(bin, *start) < *length)
    };
    let level = |bin: usize| if is_on(bin) { 1.0 } else { low };
    (0..span.bins).map(level).collect()
}

fn queue(span: Span, random: &mut Random) -> Vec<f64> {
    let every = random.between(16.0, 72.0);
    let (phase, falls) = (random.unit(), random.between(0.8, 5.0));
    let level = |bin: usize| (-falls * (bin as f64 / every + phase).fract()).exp();
    (0..span.bins).map(level).collect()
}

fn steps(span: Span, random: &mut Random) -> Vec<f64> {
    let mut level = 1.0;
    let change = random.between(0.01, 0.06);
    let mut next = |_| {
        if random.chance(change) {
            level = f64::exp(random.normal());
        }
        level
    };
    (0..span.bins).map(&mut next).collect()
}

fn feed(span: Span, random: &mut Random) -> Vec<f64> {
    let mixed = [
        People::Gateway,
        People::Homes,
        People::University,
        People::Office,
    ];
    let weights = mixed.map(|_| random.unit());
    let ahead = random.below(DAY as u64) as usize;
    let level = |bin: usize| {
        let hour = ((bin + ahead) % DAY) as f64 / 2.0;
        let there = mixed
            .iter()
            .map(|people| people.presence(hour, span.weekday(bin, ahead)));
        0.15 + there
            .zip(&weights)
            .map(|(there, weight)| there * weight)
            .sum::<f64>()
    };
    (0..span.bins).map(level).collect()
}

fn nights(span: Span, random: &mut Random) -> Vec<f64> {
    let (ahead, depth) = (random.below(DAY as u64) as usize, random.between(0.6, 1.0));
    let there = |bin: usize| People::University.presence(((bin + ahead) % DAY) as f64 / 2.0, 0);
    let level = |bin: usize| 1.05 - depth * there(bin).min(1.0);
    (0..span.bins).map(level).collect()
}

fn night_pause(span: Span, random: &mut Random) -> Vec<f64> {
    let ahead = random.below(DAY as u64) as usize;
    let night = random.between(10.0, 22.0) as usize;
    let low = rest(0.5, 0.3, random);
    let level = |bin: usize| {
        if (bin + ahead) % DAY < night {
            low
        } else {
            1.0
        }
    };
    (0..span.bins).map(level).collect()
}

fn bursts(span: Span, random: &mut Random) -> Vec<f64> {
    let mut levels = vec![random.between(0.0, 0.05); span.bins];
    for _ in 0..2 + random.below(30) {
        let at = random.below(span.bins as u64) as usize;
        let (height, length) = (random.exponential(1.0), 1 + random.below(4) as usize);
        let burst = levels.iter_mut().skip(at).take(length);
        burst.for_each(|level| *level += height);
    }
    levels
}

fn mimic(span: Span, random: &mut Random) -> Vec<f64> {
    let models = [
        People::Office,
        People::Homes,
        People::University,
        People::Gateway,
    ];
    let people = *random.pick(&models);
    let ahead = random.below(DAY as u64) as usize;
    let knows_weekends = random.chance(0.25);
    let weekday = |bin: usize| {
        if knows_weekends {
            span.weekday(bin, ahead)
        } else {
            0
        }
    };
    let level = |bin: usize| people.presence(((bin + ahead) % DAY) as f64 / 2.0, weekday(bin));
    (0..span.bins).map(level).collect()
}

fn on_off(span: Span, random: &mut Random) -> Vec<f64> {
    let (on, off) = (random.between(2.0, 40.0), random.between(2.0, 30.0));
    let mut is_on = random.chance(0.5);
    let mut left = random.exponential(if is_on { on } else { off });
    (0..span.bins)
        .map(|_| {
            left -= 1.0;
            if left < 0.0 {
                is_on = !is_on;
                left = random.exponential(if is_on { on } else { off });
            }
            if is_on { 1.0 } else { 0.0 }
        })
        .collect()
}

fn drift(span: Span, random: &mut Random) -> Vec<f64> {
    let (keeps, size) = (random.between(0.9, 0.995), random.between(0.1, 0.6));
    let mut log = size * random.normal();
    (0..span.bins)
        .map(|_| {
            log = keeps * log + size * (1.0 - keeps * keeps).sqrt() * random.normal();
            log.exp()
        })
        .collect()
}
