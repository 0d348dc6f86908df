//! People behind one address, from one person to a carrier's gateway: when they come, and in visits of what size.

use super::log_between;
use super::wander;
use crate::plan::DAY;
use crate::plan::Plan;
use crate::plan::Scatter;
use crate::plan::Span;
use crate::random::Random;

/// The dominating trait of people behind one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Carrier,
    Zones,
    VpnExit,
    Working,
    Shifts,
    Timetable,
    Evenings,
    NightOwls,
    Person,
    Household,
    OpeningHours,
    Campus,
    Holiday,
    Event,
    Outage,
    Growth,
    Prefetch,
    Cache,
}

impl Kind {
    pub(super) const ALL: [Kind; 18] = [
        Kind::Carrier,
        Kind::Zones,
        Kind::VpnExit,
        Kind::Working,
        Kind::Shifts,
        Kind::Timetable,
        Kind::Evenings,
        Kind::NightOwls,
        Kind::Person,
        Kind::Household,
        Kind::OpeningHours,
        Kind::Campus,
        Kind::Holiday,
        Kind::Event,
        Kind::Outage,
        Kind::Growth,
        Kind::Prefetch,
        Kind::Cache,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Carrier => "carrier gateway",
            Kind::Zones => "several time zones",
            Kind::VpnExit => "VPN exit",
            Kind::Working => "working hours",
            Kind::Shifts => "shift work",
            Kind::Timetable => "school timetable",
            Kind::Evenings => "evenings",
            Kind::NightOwls => "night owls",
            Kind::Person => "one heavy person",
            Kind::Household => "a few persons",
            Kind::OpeningHours => "opening hours",
            Kind::Campus => "campus",
            Kind::Holiday => "holiday",
            Kind::Event => "event",
            Kind::Outage => "line outage",
            Kind::Growth => "growth",
            Kind::Prefetch => "prefetching",
            Kind::Cache => "behind a cache",
        }
    }

    /// Kinds that say what happens to a crowd, not who it is: who it is, is drawn.
    fn is_what_happens(self) -> bool {
        matches!(
            self,
            Kind::Holiday
                | Kind::Event
                | Kind::Outage
                | Kind::Growth
                | Kind::Prefetch
                | Kind::Cache
        )
    }

    /// People behind the address.
    fn crowd(self, random: &mut Random) -> f64 {
        let (low, high) = match self {
            Kind::Carrier => (800.0, 20_000.0),
            Kind::Zones | Kind::VpnExit => (100.0, 10_000.0),
            Kind::Household => (2.0, 14.0),
            _ => (15.0, 5_000.0),
        };
        log_between(low, high, random)
    }
}

/// A wave of presence around an hour.
#[derive(Debug, Clone, Copy)]
struct Bump {
    at: f64,
    width: f64,
    height: f64,
}

impl Bump {
    fn level(self, hour: f64) -> f64 {
        let apart = (hour - self.at).rem_euclid(24.0);
        let apart = apart.min(24.0 - apart);
        self.height * (-0.5 * (apart / self.width).powi(2)).exp()
    }
}

/// The day of people of one sort, in their own time zone.
#[derive(Debug, Clone)]
pub(super) struct Rhythm {
    /// Present from one hour, for so many, with edges of such a width.
    from: f64,
    hours: f64,
    edge: f64,
    /// Level while present before any bump, and what is left at night.
    base: f64,
    floor: f64,
    bumps: Vec<Bump>,
    /// Breaks: how long a lesson takes, and how much a break changes.
    bells: Option<(f64, f64)>,
    weekend: f64,
    /// Zones ahead of UTC in half hours, each with its share.
    zones: Vec<(usize, f64)>,
}

impl Rhythm {
    /// Who they are, by the dominating trait.
    pub(super) fn draw(kind: Kind, random: &mut Random) -> Rhythm {
        let mut rhythm = Rhythm::anybody(random);
        match kind {
            Kind::Carrier => {
                rhythm.hours = random.between(14.0, 20.0);
                rhythm.edge = random.between(1.5, 5.0);
                rhythm.floor = random.between(0.08, 0.75);
                rhythm.weekend = random.between(0.7, 1.3);
            }
            Kind::Zones => rhythm.spread(2 + random.below(5) as usize, random),
            Kind::VpnExit => {
                rhythm.spread(3 + random.below(6) as usize, random);
                rhythm.floor = random.between(0.1, 0.8);
                rhythm.weekend = random.between(0.6, 1.4);
            }
            Kind::Working => {
                rhythm.from = random.between(5.5, 11.0);
                rhythm.hours = random.between(6.5, 12.0);
                rhythm.edge = random.between(0.4, 1.8);
                rhythm.weekend = random.between(0.0, 0.4);
                rhythm.bumps = vec![Bump::lunch(random)];
            }
            Kind::Shifts => rhythm.shifts(random),
            Kind::Timetable => {
                rhythm.from = random.between(6.5, 9.5);
                rhythm.hours = random.between(4.5, 10.0);
                rhythm.edge = random.between(0.2, 0.9);
                rhythm.floor = log_between(0.002, 0.1, random);
                rhythm.weekend = random.between(0.0, 0.15);
                rhythm.bells = Some((random.between(0.7, 2.0), random.between(0.1, 0.8)));
            }
            Kind::Evenings => {
                rhythm.base = random.between(0.05, 0.5);
                rhythm.bumps = vec![Bump::around(20.0, random)];
                rhythm.weekend = random.between(0.8, 1.8);
            }
            Kind::NightOwls => {
                rhythm.from = random.between(15.0, 23.0);
                rhythm.hours = random.between(7.0, 13.0);
                rhythm.bumps = vec![Bump::around(random.between(0.0, 3.0), random)];
                rhythm.weekend = random.between(0.7, 1.6);
            }
            Kind::OpeningHours => {
                rhythm.from = random.between(6.0, 18.0);
                rhythm.hours = random.between(4.0, 14.0);
                rhythm.edge = random.between(0.2, 1.0);
                rhythm.floor = log_between(0.001, 0.06, random);
            }
            Kind::Campus => {
                rhythm.from = random.between(7.0, 10.5);
                rhythm.hours = random.between(12.0, 17.0);
                rhythm.weekend = random.between(0.2, 1.0);
                rhythm.floor = random.between(0.02, 0.3);
            }
            _ => {}
        }
        rhythm
    }

    fn anybody(random: &mut Random) -> Rhythm {
        let bump = |random: &mut Random| {
            let at = random.between(9.0, 23.0);
            Bump::around(at, random)
        };
        let floor = match random.chance(0.5) {
            true => log_between(0.002, 0.1, random),
            false => random.between(0.05, 0.6),
        };
        Rhythm {
            from: random.between(5.0, 11.0),
            hours: random.between(9.0, 18.0),
            edge: log_between(0.4, 4.0, random),
            base: random.between(0.3, 1.0),
            floor,
            bumps: (0..random.below(4)).map(|_| bump(random)).collect(),
            bells: None,
            weekend: random.between(0.05, 1.4),
            zones: vec![(random.below(DAY as u64) as usize, 1.0)],
        }
    }

    /// Several zones with random shares: one or two of them usually have most.
    fn spread(&mut self, zones: usize, random: &mut Random) {
        let share = |random: &mut Random| random.exponential(1.0).powf(1.5) + 0.01;
        self.zones = (0..zones)
            .map(|_| (random.below(DAY as u64) as usize, share(random)))
            .collect();
    }

    /// Two or three shifts: dips where they change, fewer people at night.
    fn shifts(&mut self, random: &mut Random) {
        let shifts = 2 + random.below(2) as usize;
        let first = random.between(4.0, 8.5);
        let length = match shifts {
            2 => random.between(7.0, 12.0),
            _ => 8.0,
        };
        (self.from, self.hours) = (first, 2.0 * length);
        self.edge = random.between(0.3, 1.2);
        self.floor = match shifts {
            2 => random.between(0.01, 0.3),
            _ => random.between(0.3, 0.9),
        };
        self.base = 1.0;
        let (width, depth) = (random.between(0.3, 1.0), random.between(-0.6, 0.5));
        self.bumps = (0..=shifts)
            .map(|shift| Bump {
                at: first + shift as f64 * length,
                width,
                height: depth,
            })
            .collect();
        self.weekend = random.between(0.3, 1.0);
    }

    /// How many are there, of 1 or so, at a half hour of UTC. `factor` says what a day is worth, by its number and weekday.
    pub(super) fn level(&self, bin: usize, span: Span, factor: impl Fn(usize) -> f64) -> f64 {
        let all: f64 = self.zones.iter().map(|(_, share)| share).sum();
        let zone = |(ahead, share): &(usize, f64)| {
            let hour = ((bin + ahead) % DAY) as f64 / 2.0 + 0.25;
            let weekend = match span.weekday(bin, *ahead) >= 5 {
                true => self.weekend,
                false => 1.0,
            };
            share / all * self.at(hour) * weekend * factor((bin + ahead) / DAY)
        };
        self.zones.iter().map(zone).sum()
    }

    fn at(&self, hour: f64) -> f64 {
        let middle = self.from + self.hours / 2.0;
        let apart = (hour - middle).rem_euclid(24.0);
        let apart = apart.min(24.0 - apart);
        let inside = 1.0 / (1.0 + ((apart - self.hours / 2.0) / self.edge * 3.0).exp());
        let bumps: f64 = self.bumps.iter().map(|bump| bump.level(hour)).sum();
        let bells = self.bells.map_or(1.0, |(lesson, depth)| {
            let phase = ((hour - self.from) / lesson * std::f64::consts::TAU).cos();
            1.0 - depth * phase.max(0.0)
        });
        let present = inside * bells * (self.base + bumps).max(0.02);
        self.floor + (1.0 - self.floor) * present
    }
}

impl Bump {
    fn around(hour: f64, random: &mut Random) -> Bump {
        Bump {
            at: hour + random.normal(),
            width: random.between(0.8, 4.5),
            height: random.between(0.1, 1.2),
        }
    }

    fn lunch(random: &mut Random) -> Bump {
        Bump {
            at: random.between(11.5, 14.0),
            width: random.between(0.4, 1.0),
            height: -random.between(0.0, 0.5),
        }
    }
}

/// The plans of people: one for each sort among them.
pub(super) fn plans(kind: Kind, span: Span, random: &mut Random) -> Vec<Plan> {
    let daily = volume(kind, random);
    match kind {
        Kind::Person => return vec![persons(1, daily, span, random)],
        Kind::Household => {
            let many = 2 + random.below(12) as usize;
            return vec![persons(many, daily, span, random)];
        }
        _ => {}
    }
    let sorts = match random.unit() {
        share if share < 0.6 => 1,
        share if share < 0.85 => 2,
        _ => 3,
    };
    let mut left = daily;
    let mut plans = Vec::new();
    for sort in 0..sorts {
        // The first sort has most, or the dominating trait would not dominate.
        let share = match sort + 1 == sorts {
            true => 1.0,
            false => random.between(0.55, 0.9),
        };
        let who = match kind.is_what_happens() || sort > 0 {
            true => *random.pick(&Kind::ALL[..12]),
            false => kind,
        };
        plans.push(crowd(who, kind, left * share, span, random));
        left *= 1.0 - share;
    }
    plans
}

/// Requests on an average day.
fn volume(kind: Kind, random: &mut Random) -> f64 {
    let usual = 1150.0 * random.exponential(0.8).exp();
    match kind {
        Kind::Carrier | Kind::Zones | Kind::VpnExit | Kind::Cache => {
            log_between(1200.0, 150_000.0, random)
        }
        Kind::Person | Kind::Household => usual.min(20_000.0),
        _ => usual.min(80_000.0),
    }
}

/// People of one sort: who they are, and what happens to them.
fn crowd(who: Kind, what: Kind, daily: f64, span: Span, random: &mut Random) -> Plan {
    let many = who.crowd(random);
    let rhythm = Rhythm::draw(who, random);
    let days = span.bins / DAY + 2;
    // Thousands of people are more even than dozens; news and weather move them all.
    let together = (200.0 / many).powf(0.35).clamp(0.15, 1.5);
    let mut mood = wander(
        together * random.between(0.02, 0.25),
        log_between(0.5, 8.0, random),
        random,
    );
    let restless = together * random.between(0.02, 0.2);
    let day_factors: Vec<f64> = (0..days)
        .map(|_| (restless * random.normal()).exp())
        .collect();
    let free = free_days(what, days, random);
    let factor = |day: usize| day_factors[day.min(days - 1)] * free[day.min(days - 1)];
    let mut levels: Vec<f64> = (0..span.bins)
        .map(|bin| rhythm.level(bin, span, factor) * mood())
        .collect();
    happen(what, &mut levels, random);
    Plan::of(levels, daily, scatter(what, daily, many, random))
}

/// What each day is worth: a holiday in the middle of the week, or the last days of a term.
fn free_days(what: Kind, days: usize, random: &mut Random) -> Vec<f64> {
    let mut free = vec![1.0; days];
    if what == Kind::Holiday || random.chance(0.06) {
        let first = random.below(days as u64) as usize;
        let many = 1 + random.below(3) as usize;
        let left = random.between(0.02, 0.7);
        // For people at home, a holiday is the day on which they come.
        let left = if random.chance(0.2) {
            1.0 / left.max(0.3)
        } else {
            left
        };
        free.iter_mut()
            .skip(first)
            .take(many)
            .for_each(|day| *day = left);
    }
    free
}

/// One-off events, outages of the line, growth and caches.
fn happen(what: Kind, levels: &mut [f64], random: &mut Random) {
    let bins = levels.len();
    if what == Kind::Event || random.chance(0.08) {
        let mean = levels.iter().sum::<f64>() / bins as f64;
        let at = random.below(bins as u64) as usize;
        let (height, falls) = (
            mean * log_between(1.0, 15.0, random),
            random.between(0.7, 8.0),
        );
        let rises = random.between(0.3, 3.0);
        for (bin, level) in levels.iter_mut().enumerate() {
            let since = bin as f64 - at as f64;
            let scale = if since < 0.0 { rises } else { falls };
            *level += height * (-since.abs() / scale).exp();
        }
    }
    if what == Kind::Outage || random.chance(0.06) {
        for _ in 0..1 + random.below(2) {
            let start = random.below(bins as u64) as usize;
            let length = log_between(1.0, 40.0, random) as usize;
            let left = if random.chance(0.6) {
                0.0
            } else {
                random.between(0.05, 0.6)
            };
            let span = levels.iter_mut().skip(start).take(length);
            span.for_each(|level| *level *= left);
        }
    }
    if what == Kind::Growth || random.chance(0.08) {
        let by = random.between(-1.2, 1.6);
        for (bin, level) in levels.iter_mut().enumerate() {
            *level *= (by * bin as f64 / bins as f64).exp();
        }
    }
    if what == Kind::Cache {
        // The more people ask for the same, the more of it comes from the cache.
        let power = random.between(0.5, 0.95);
        levels
            .iter_mut()
            .for_each(|level| *level = level.powf(power));
    }
}

/// Visits: what a person asks for at a time.
fn scatter(what: Kind, daily: f64, many: f64, random: &mut Random) -> Scatter {
    let (size, lasts) = match what {
        Kind::Prefetch => (log_between(12.0, 120.0, random), random.between(0.02, 0.4)),
        Kind::Cache => (log_between(1.1, 4.0, random), random.between(0.1, 0.9)),
        _ => (
            log_between(1.6, 30.0, random),
            log_between(0.1, 2.0, random),
        ),
    };
    // Fewer visits than people come in a day would be no crowd.
    let most = (daily / many.min(daily / 2.0).max(12.0)).max(1.6);
    Scatter::Visits {
        size: size.min(most.max(size.min(6.0))),
        lasts,
    }
}

/// A few persons who are on the site for hours: nothing evens them out, and none has a timetable.
fn persons(many: usize, daily: f64, span: Span, random: &mut Random) -> Plan {
    let mut levels = vec![0.0; span.bins];
    for _ in 0..many {
        let usual = random.between(0.0, 24.0);
        let (spread, sits) = (random.between(1.0, 5.0), log_between(1.5, 12.0, random));
        let stays_away = [random.between(0.0, 0.3), random.between(0.1, 0.9)];
        let weight = random.exponential(1.0) + 0.05;
        for day in 0..span.bins.div_ceil(DAY) {
            let is_weekend = span.weekday(day * DAY, 0) >= 5;
            if random.chance(stays_away[usize::from(is_weekend)]) {
                continue;
            }
            for _ in 0..1 + random.below(6) {
                let start = usual + spread * random.normal();
                let first = day as f64 * DAY as f64 + 2.0 * start;
                let length = 1 + random.exponential(sits) as usize;
                let sitting = levels.iter_mut().skip(first.max(0.0) as usize).take(length);
                sitting.for_each(|level| *level += weight * (0.6 * random.normal()).exp());
            }
        }
    }
    let scatter = Scatter::Visits {
        size: log_between(3.0, 60.0, random),
        lasts: random.between(0.05, 0.8),
    };
    Plan::of(levels, daily, scatter)
}
