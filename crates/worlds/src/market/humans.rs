//! Which sources of people the market has: kinds with wide margins, from one collector to a carrier's gateway.

use super::calendar::{Calendar, Curve, MINUTE_MS, SPAN_MS, pareto, spread};
use super::crowds::Crowd;
use super::visit::Taste;
use crate::random::Random;

/// Requests of a typical visit: a first guess from which the volume is then set right.
pub(super) const VISIT: f64 = 55.0;

type Make = fn(&Calendar, &mut Random) -> Crowd;

/// Kinds with how often they occur.
const KINDS: [(Make, f64); 18] = [
    (collector, 5.0),
    (seller, 9.0),
    (household, 5.0),
    (office, 10.0),
    (school, 4.0),
    (students, 6.0),
    (night_shift, 4.0),
    (warehouse, 3.0),
    (call_centre, 4.0),
    (carrier, 12.0),
    (vpn, 8.0),
    (cafe, 4.0),
    (library, 3.0),
    (hotel, 4.0),
    (provider, 9.0),
    (weekend_traders, 3.0),
    (global_company, 4.0),
    (train, 3.0),
];

/// Draws all heavy sources of people.
pub(super) fn heavy(calendar: &Calendar, random: &mut Random) -> Vec<Crowd> {
    let count = 90 + random.below(31) as usize;
    let sums = super::calendar::sums(KINDS.iter().map(|kind| kind.1));
    let mut crowds = Vec::with_capacity(count);
    for index in 0..count {
        // Two of each kind at least.
        let kind = if index < KINDS.len() * 2 {
            index % KINDS.len()
        } else {
            super::calendar::draw(&sums, random)
        };
        let mut crowd = KINDS[kind].0(calendar, random);
        if random.chance(0.12) {
            let from = random.below(SPAN_MS * 9 / 10);
            crowd.cut = Some((
                from,
                from + random.between(1.0, 9.0) as u64 * 60 * MINUTE_MS,
            ));
        }
        crowds.push(crowd);
    }
    // A handful of gateways dwarf the rest.
    let giants = 2 + random.below(2);
    for crowd in crowds
        .iter_mut()
        .filter(|crowd| matches!(crowd.kind, "mobile carrier" | "provider"))
        .take(giants as usize)
    {
        crowd.target = spread(random, 19_000.0, 0.45).clamp(11_000.0, 42_000.0);
        crowd.people = (crowd.target / VISIT / random.between(0.12, 0.6)) as usize;
    }
    crowds
}

fn curve(bumps: &[(f64, f64, f64)], floor: f64, week: [f64; 7]) -> Curve {
    Curve {
        bumps: bumps.to_vec(),
        floor,
        week,
        open: None,
    }
}

const EVERY_DAY: [f64; 7] = [1.0, 0.98, 1.0, 1.0, 0.95, 1.0, 1.1];
const WORKDAYS: [f64; 7] = [1.05, 1.0, 1.0, 1.0, 0.85, 0.03, 0.02];

/// What most people have in common; each kind changes what is special about it.
fn base(
    kind: &'static str,
    calendar: &Calendar,
    random: &mut Random,
    per_head: f64,
    most: f64,
) -> Crowd {
    let target = pareto(random, 1_100.0, 2.0, most);
    let per_head = spread(random, per_head, 0.5);
    Crowd {
        kind,
        target,
        people: ((target / VISIT / per_head).round() as usize).max(1),
        zones: vec![(calendar.home, 1.0)],
        curve: curve(&[(20.5, 2.6, 1.0), (12.5, 3.0, 0.55)], 0.05, EVERY_DAY).moved(random, 0.7),
        phase: random.between(0.2, 1.0),
        taste: Taste {
            pages: spread(random, 4.5, 0.3),
            pages_sigma: random.between(0.7, 1.1),
            think: spread(random, 15.0, 0.3),
            selling: random.between(0.02, 0.1),
            hunting: random.between(0.0, 0.05),
            lingering: random.between(0.0, 0.08),
        },
        mobile: random.between(0.3, 0.75),
        managed: 0,
        forgets: false,
        proxy: false,
        privacy: random.between(0.03, 0.15),
        days_off: random.between(0.05, 0.35),
        show: random.between(0.0, 5.0),
        holiday: random.between(0.9, 1.5),
        cut: None,
        restless: random.between(0.1, 0.35),
        bells: Vec::new(),
    }
}

/// One person who spends hours.
fn collector(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("collector", calendar, random, 1.0, 4_500.0);
    crowd.people = 1;
    crowd.curve = curve(
        &[(random.between(9.0, 25.0), random.between(1.5, 4.0), 1.0)],
        0.03,
        EVERY_DAY,
    )
    .moved(random, 2.0);
    crowd.taste.pages = spread(random, 16.0, 0.4);
    crowd.taste.think = spread(random, 9.0, 0.4);
    // Some load the newest listings again and again, by hand.
    crowd.taste.hunting = if random.chance(0.4) {
        random.between(0.2, 0.6)
    } else {
        0.03
    };
    crowd.taste.lingering = random.between(0.0, 0.4);
    crowd.mobile = if random.chance(0.3) { 1.0 } else { 0.0 };
    crowd.days_off = random.between(0.0, 0.15);
    crowd.phase = 0.0;
    crowd
}

/// People who live on what they sell here.
fn seller(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("pro seller", calendar, random, 1.0, 6_000.0);
    crowd.people = 1 + random.below(5) as usize;
    let week = [
        1.1,
        1.0,
        1.0,
        1.0,
        1.0,
        random.between(0.1, 1.0),
        random.between(0.0, 0.8),
    ];
    crowd.curve = curve(
        &[(10.5, 1.8, 1.0), (15.0, 2.2, 0.9), (20.5, 1.2, 0.4)],
        0.01,
        week,
    )
    .moved(random, 0.8);
    crowd.taste.pages = spread(random, 12.0, 0.4);
    crowd.days_off = random.between(0.0, 0.15);
    crowd.taste.selling = random.between(0.3, 0.75);
    crowd.taste.think = spread(random, 13.0, 0.4);
    crowd.taste.lingering = random.between(0.1, 0.6);
    crowd.mobile = 0.15;
    crowd.holiday = random.between(0.2, 0.9);
    crowd
}

/// A family that moves house, or just likes the market.
fn household(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("household", calendar, random, 4.0, 3_000.0);
    crowd.people = 2 + random.below(5) as usize;
    crowd.taste.pages = spread(random, 10.0, 0.4);
    crowd.taste.lingering = random.between(0.0, 0.3);
    crowd.show = random.between(0.0, 10.0);
    crowd
}

fn office(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("office", calendar, random, 0.7, 9_000.0);
    crowd.curve = curve(
        &[(10.0, 1.6, 0.6), (12.6, 0.6, 1.2), (15.2, 1.5, 0.7)],
        0.004,
        WORKDAYS,
    )
    .moved(random, 0.5);
    crowd.phase = random.between(0.0, 0.4);
    crowd.mobile = random.between(0.0, 0.25);
    crowd.managed = if random.chance(0.6) {
        1 + random.below(6) as usize
    } else {
        0
    };
    crowd.proxy = random.chance(0.3);
    crowd.holiday = random.between(0.0, 0.25);
    crowd.show = 0.0;
    crowd
}

fn school(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("school", calendar, random, 0.3, 5_000.0);
    crowd.curve = curve(
        &[(9.5, 1.5, 0.8), (12.5, 1.4, 1.0)],
        0.003,
        [1.0, 1.0, 1.0, 0.9, 0.8, 0.01, 0.01],
    )
    .moved(random, 0.3);
    crowd.curve.open = Some((random.between(6.5, 7.5), random.between(15.0, 18.0)));
    crowd.bells = vec![
        (9.6, random.between(1.0, 6.0)),
        (11.4, random.between(1.0, 6.0)),
        (13.0, random.between(1.0, 6.0)),
    ];
    crowd.phase = 0.0;
    crowd.mobile = random.between(0.2, 0.6);
    crowd.managed = 1 + random.below(3) as usize;
    crowd.forgets = random.chance(0.5);
    crowd.holiday = 0.0;
    crowd.show = 0.0;
    crowd
}

fn students(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("student hall", calendar, random, 0.5, 6_000.0);
    // In exam weeks the nights are long and everybody looks for something else to do.
    let exams = random.chance(0.5);
    let night = if exams {
        random.between(0.8, 1.5)
    } else {
        random.between(0.2, 0.7)
    };
    crowd.curve = curve(
        &[(25.5, 2.2, night), (21.0, 2.2, 1.0), (14.5, 2.5, 0.6)],
        0.06,
        EVERY_DAY,
    )
    .moved(random, 0.8);
    crowd.phase = random.between(0.8, 2.2);
    crowd.restless = random.between(0.2, 0.5);
    crowd
}

fn night_shift(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("night shift", calendar, random, 1.0, 3_500.0);
    crowd.curve = curve(
        &[(23.5, 1.2, 0.8), (26.5, 1.8, 1.0), (29.5, 1.0, 0.5)],
        0.05,
        EVERY_DAY,
    )
    .moved(random, 0.6);
    crowd.taste.pages = spread(random, 8.0, 0.4);
    crowd.holiday = 1.0;
    crowd.show = 0.0;
    crowd
}

fn warehouse(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("warehouse", calendar, random, 0.5, 4_000.0);
    let week = [
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        random.between(0.1, 1.0),
        random.between(0.0, 1.0),
    ];
    crowd.curve = curve(
        &[(10.0, 3.0, 0.3), (18.0, 3.0, 0.3), (26.0, 3.0, 0.25)],
        0.15,
        week,
    )
    .moved(random, 0.3);
    // Breaks in the middle of each shift, and the change of shifts.
    let early = random.between(5.5, 6.5);
    crowd.bells = [0.0, 4.0, 8.0, 12.0, 16.0, 20.0]
        .iter()
        .map(|hour| ((early + hour) % 24.0, random.between(2.0, 9.0)))
        .collect();
    crowd.mobile = 0.92;
    crowd.phase = 0.0;
    crowd.show = 0.0;
    crowd.holiday = random.between(0.1, 1.0);
    crowd
}

/// Agents of a service desk look listings up for callers, at every hour.
fn call_centre(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("call centre", calendar, random, 3.0, 9_000.0);
    crowd.curve = curve(
        &[(11.0, 3.0, 0.6), (17.0, 3.5, 0.6)],
        random.between(0.25, 0.9),
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.85],
    );
    crowd.taste.pages = spread(random, 3.0, 0.2);
    crowd.taste.think = spread(random, 24.0, 0.3);
    crowd.taste.lingering = random.between(0.0, 0.15);
    crowd.mobile = 0.0;
    crowd.managed = 1 + random.below(2) as usize;
    crowd.proxy = random.chance(0.4);
    crowd.phase = 0.0;
    crowd.holiday = 0.95;
    crowd.restless = random.between(0.05, 0.2);
    crowd.show = 0.0;
    crowd
}

fn carrier(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("mobile carrier", calendar, random, 0.35, 12_000.0);
    crowd.curve = curve(
        &[(8.0, 1.2, 0.5), (12.7, 2.2, 0.7), (20.8, 2.7, 1.0)],
        0.05,
        EVERY_DAY,
    )
    .moved(random, 0.5);
    crowd.mobile = random.between(0.94, 1.0);
    crowd.days_off = random.between(0.4, 0.7);
    if random.chance(0.25) {
        crowd
            .zones
            .push((calendar.home + 60, random.between(0.1, 1.0)));
    }
    crowd
}

fn vpn(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("vpn exit", calendar, random, 0.6, 10_000.0);
    let many = 2 + random.below(8);
    let world = [
        -480, -420, -360, -300, -180, 0, 60, 120, 180, 240, 330, 420, 480, 540, 600,
    ];
    crowd.zones = (0..many)
        .map(|_| (*random.pick(&world), random.exponential(1.0) + 0.05))
        .collect();
    crowd.privacy = random.between(0.2, 0.7);
    crowd.forgets = random.chance(0.25);
    crowd.days_off = random.between(0.3, 0.6);
    crowd
}

fn cafe(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("internet cafe", calendar, random, 2.5, 4_000.0);
    let week = [0.8, 0.8, 0.85, 0.9, 1.2, 1.4, 1.1];
    crowd.curve = curve(&[(15.0, 2.5, 0.6), (20.0, 3.0, 1.0)], 0.03, week).moved(random, 0.6);
    crowd.curve.open = Some((random.between(8.5, 11.0), random.between(22.0, 27.0)));
    crowd.mobile = random.between(0.0, 0.2);
    crowd.managed = 1 + random.below(2) as usize;
    crowd.forgets = true;
    crowd.phase = 0.0;
    crowd.days_off = 0.1;
    crowd
}

fn library(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("library", calendar, random, 1.5, 2_500.0);
    let mut week = [1.0, 1.0, 1.0, 1.0, 1.0, 0.6, 0.0];
    week[random.below(5) as usize] = 0.0;
    crowd.curve = curve(&[(11.5, 1.8, 0.8), (16.0, 2.0, 1.0)], 0.05, week).moved(random, 0.3);
    crowd.curve.open = Some((random.between(8.5, 10.5), random.between(17.5, 21.0)));
    crowd.mobile = random.between(0.1, 0.5);
    crowd.managed = 1;
    crowd.forgets = true;
    crowd.phase = 0.0;
    crowd.holiday = random.between(0.0, 0.5);
    crowd
}

fn hotel(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("hotel", calendar, random, 0.5, 3_500.0);
    crowd.curve = curve(&[(7.8, 1.2, 0.7), (22.0, 1.8, 1.0)], 0.08, EVERY_DAY).moved(random, 0.5);
    // Some guests still live by the clock of where they came from.
    for _ in 0..random.below(4) {
        crowd.zones.push((
            calendar.home + (random.below(17) as i32 - 8) * 60,
            random.between(0.05, 0.4),
        ));
    }
    crowd.days_off = random.between(0.4, 0.65);
    crowd
}

/// An access provider with many homes behind one address.
fn provider(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("provider", calendar, random, 0.6, 14_000.0);
    crowd.show = random.between(2.0, 16.0);
    crowd.mobile = random.between(0.35, 0.6);
    crowd
}

fn weekend_traders(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("weekend traders", calendar, random, 3.0, 4_000.0);
    let weekday = random.between(0.12, 0.35);
    crowd.curve = curve(
        &[(9.5, 2.0, 1.0), (17.0, 2.5, 0.7)],
        0.03,
        [weekday, weekday, weekday, weekday, 0.5, 1.0, 0.95],
    );
    crowd.taste.pages = spread(random, 12.0, 0.3);
    crowd.taste.selling = random.between(0.1, 0.45);
    crowd.holiday = random.between(1.0, 3.0);
    crowd
}

/// One proxy for offices on several continents: the sun never sets on it.
fn global_company(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = office(calendar, random);
    crowd.kind = "global company";
    crowd.target = pareto(random, 1_300.0, 1.5, 9_000.0);
    crowd.people = (crowd.target / VISIT / random.between(0.1, 0.8)) as usize + 5;
    crowd.zones = [-480, -300, 0, 60, 330, 480, 540]
        .iter()
        .map(|&zone| (zone, random.exponential(1.0)))
        .collect();
    crowd.proxy = random.chance(0.75);
    crowd
}

fn train(calendar: &Calendar, random: &mut Random) -> Crowd {
    let mut crowd = base("train wifi", calendar, random, 0.5, 3_000.0);
    crowd.curve = curve(
        &[(7.6, 1.1, 1.0), (17.3, 1.5, 1.0), (12.0, 3.0, 0.3)],
        0.01,
        [1.0, 1.0, 1.0, 1.0, 1.2, 0.5, 0.7],
    );
    crowd.curve = crowd.curve.moved(random, 0.4);
    crowd.mobile = random.between(0.6, 0.9);
    crowd.days_off = random.between(0.4, 0.6);
    // Tunnels and sold-out trains.
    crowd.restless = random.between(0.4, 0.8);
    crowd.holiday = random.between(0.2, 0.8);
    crowd
}
