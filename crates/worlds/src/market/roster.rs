//! Which programs the market has: lone crawlers, campaigns of several addresses, and search engines.

use super::agents::{self, ENGINES, TOOLS};
use super::calendar::{Calendar, Curve, DAY_MS, MINUTE_MS, SPAN_MS, pareto, spread};
use super::crawler::{Crawler, Forge, Parts, Rotate};
use super::pace::Pace;
use super::route::Aim;
use super::services::service;
use crate::actor::Label;
use crate::random::Random;

/// What the roster draws for one campaign.
#[derive(Debug)]
pub(super) struct Campaign {
    pub(super) members: Vec<Crawler>,
    /// Rented machines side by side, rather than homes all over.
    pub(super) neighbours: bool,
}

const PLAIN: Parts = Parts {
    styles: 0.0,
    photos: 0.0,
};

/// Draws all heavy crawlers that work alone.
pub(super) fn lone(calendar: &Calendar, random: &mut Random) -> Vec<Crawler> {
    let mut crawlers: Vec<Crawler> = (0..9 + random.below(5)).map(|_| engine(random)).collect();
    crawlers.extend((0..14 + random.below(8)).map(|_| tool(calendar, random)));
    crawlers.extend((0..28 + random.below(15)).map(|_| masked(calendar, random)));
    // Two or three take far more than anybody else.
    for _ in 0..2 + random.below(2) {
        let place = random.below(crawlers.len() as u64) as usize;
        crawlers[place].target = spread(random, 22_000.0, 0.5).clamp(12_000.0, 55_000.0);
        // No list that is watched is so long; who takes so much goes through everything.
        crawlers[place].pace = Pace::Steady {
            jitter: random.between(0.2, 1.4),
        };
        crawlers[place].aim = Aim::Lists {
            depth: 60,
            share: 1.0,
            again: false,
        };
        crawlers[place].kind = "bulk";
    }
    crawlers
}

/// Draws all campaigns.
pub(super) fn campaigns(calendar: &Calendar, random: &mut Random) -> Vec<Campaign> {
    let count = 6 + random.below(5);
    // Sixty to eighty addresses in all.
    let mut sizes: Vec<usize> = (0..count)
        .map(|_| (pareto(random, 3.0, 1.1, 25.0)) as usize)
        .collect();
    while sizes.iter().sum::<usize>() > 80 {
        let largest = sizes
            .iter()
            .enumerate()
            .max_by_key(|(_, size)| **size)
            .map_or(0, |(place, _)| place);
        sizes[largest] = sizes[largest] * 3 / 4;
    }
    while sizes.iter().sum::<usize>() < 60 {
        let place = random.below(count) as usize;
        sizes[place] = (sizes[place] + 1).min(25);
    }
    sizes
        .iter()
        .enumerate()
        .map(|(number, &size)| campaign(number, size, calendar, random))
        .collect()
}

fn campaign(number: usize, size: usize, calendar: &Calendar, random: &mut Random) -> Campaign {
    let mut model = masked(calendar, random);
    let neighbours = number.is_multiple_of(2) != random.chance(0.2);
    if !neighbours {
        model.kind = "residential";
        model.agents = (0..8 + random.below(60))
            .map(|_| agents::copied(random))
            .collect();
        model.rotate = if random.chance(0.5) {
            Rotate::Session(5 + random.below(60) as u32)
        } else {
            Rotate::Never
        };
    }
    if model.label == Label::Masquerading && random.chance(0.15) {
        model.label = Label::Unauthorized;
        model.agents = vec![(*random.pick(&TOOLS)).into()];
        model.rotate = Rotate::Never;
        model.kind = "tool ring";
    }
    // Large rings take little with each address; that is what they have them for.
    let volume = pareto(random, 1_250.0, 2.2, 6_000.0).min(1_250.0 + 12_000.0 / size as f64);
    let uneven = random.between(0.03, 0.3);
    let member = |place: usize| {
        let mut member = model.clone();
        member.campaign = format!("ring-{}", number + 1);
        member.shard = (place, size);
        member.target = spread(random, volume, uneven).max(1_100.0);
        if let Pace::Jobs { hours, .. } = &mut member.pace {
            // One scheduler starts all, one after the other.
            hours
                .iter_mut()
                .for_each(|hour| *hour += place as f64 * 0.02);
        }
        if random.chance(0.1) {
            member.span.1 = member.span.1.min(SPAN_MS - random.below(DAY_MS * 3 / 2));
        }
        member
    };
    Campaign {
        members: (0..size).map(member).collect(),
        neighbours,
    }
}

/// What most programs have in common; each sort changes what is special about it.
pub(super) fn base(
    label: Label,
    kind: &'static str,
    pace: Pace,
    aim: Aim,
    random: &mut Random,
) -> Crawler {
    let mut span = (0, SPAN_MS);
    if random.chance(0.2) {
        span.0 = random.below(DAY_MS * 3 / 2);
    }
    if random.chance(0.2) {
        span.1 = SPAN_MS - random.below(DAY_MS * 3 / 2);
    }
    let pause = |_| {
        let from = random.below(SPAN_MS);
        (from, from + (spread(random, 70.0, 0.9) as u64) * MINUTE_MS)
    };
    let pauses = (0..2).map(pause).collect();
    let kept = random.below(3) as usize;
    let mut crawler = Crawler {
        label,
        kind,
        campaign: String::new(),
        target: pareto(random, 1_150.0, 2.1, 9_000.0),
        pace,
        aim,
        shard: (0, 1),
        agents: Vec::new(),
        rotate: Rotate::Never,
        forge: Forge::Nothing,
        parts: PLAIN,
        protocol: if random.chance(0.5) {
            "HTTP/1.1"
        } else {
            "HTTP/2.0"
        },
        method: "GET",
        span,
        pauses,
        retries: random.chance(0.5),
    };
    crawler.pauses.truncate(kept);
    crawler
}

fn engine(random: &mut Random) -> Crawler {
    let pace = match random.below(3) {
        0 => Pace::Steady { jitter: 1.5 },
        1 => Pace::Queue {
            on: random.between(5.0, 40.0),
            off: random.between(2.0, 25.0),
        },
        _ => Pace::Throttle {
            growth: random.between(0.001, 0.01),
        },
    };
    let mut crawler = base(
        Label::Legitimate,
        "search engine",
        pace,
        Aim::Wander,
        random,
    );
    crawler.agents = vec![(*random.pick(&ENGINES)).into()];
    crawler.parts = Parts {
        styles: random.between(0.0, 0.15),
        photos: random.between(0.0, 0.1),
    };
    crawler.span = (0, SPAN_MS);
    crawler
}

fn tool(calendar: &Calendar, random: &mut Random) -> Crawler {
    let (kind, pace, aim) = habit(calendar, random);
    let mut crawler = base(Label::Unauthorized, kind, pace, aim, random);
    crawler.agents = vec![(*random.pick(&TOOLS)).into()];
    crawler.protocol = "HTTP/1.1";
    crawler
}

fn masked(calendar: &Calendar, random: &mut Random) -> Crawler {
    let (kind, pace, aim) = habit(calendar, random);
    let mut crawler = base(Label::Masquerading, kind, pace, aim, random);
    let many = if random.chance(0.45) {
        1
    } else {
        pareto(random, 2.0, 0.8, 60.0) as usize
    };
    crawler.agents = (0..many).map(|_| agents::copied(random)).collect();
    crawler.rotate = match random.below(3) {
        _ if many == 1 => Rotate::Never,
        0 => Rotate::EachRequest,
        _ => Rotate::Session(10 + random.below(150) as u32),
    };
    crawler.forge = *random.pick(&[
        Forge::Nothing,
        Forge::Nothing,
        Forge::Nothing,
        Forge::Home,
        Forge::Google,
        Forge::Parent,
        Forge::Parent,
        Forge::Before,
        Forge::Mixed,
    ]);
    // The careful fetch a style sheet now and then, and those who want photos take them.
    if random.chance(0.35) {
        crawler.parts.styles = random.unit().powi(2) * 0.9;
    }
    if random.chance(0.25) {
        crawler.parts.photos = random.between(0.1, 1.0);
    }
    crawler
}

/// A curve as a program has it: what its author thinks people do.
fn copied_curve(random: &mut Random) -> (Curve, bool) {
    let weekend = random.chance(0.5);
    let rest = if weekend {
        random.between(0.1, 0.6)
    } else {
        1.0
    };
    let peak = random.between(11.0, 21.0);
    let mut bumps = vec![(peak, random.between(2.5, 5.0), 1.0)];
    if random.chance(0.4) {
        bumps.push((
            random.between(8.0, 13.0),
            random.between(1.0, 3.0),
            random.between(0.3, 1.0),
        ));
    }
    let open = random
        .chance(0.25)
        .then(|| (random.between(5.0, 9.0), random.between(20.0, 24.5)));
    let floor = random.between(0.0, 0.12);
    (
        Curve {
            bumps,
            floor,
            week: [1.0, 1.0, 1.0, 1.0, 1.0, rest, rest],
            open,
        },
        weekend,
    )
}

fn zone(calendar: &Calendar, random: &mut Random) -> i32 {
    if random.chance(0.6) {
        calendar.home
    } else {
        *random.pick(&[-300, 0, 60, 180, 330, 420, 480])
    }
}

/// How a program works, and what it is called.
fn habit(calendar: &Calendar, random: &mut Random) -> (&'static str, Pace, Aim) {
    let zone = zone(calendar, random);
    match random.below(20) {
        0..=2 => (
            "steady",
            Pace::Steady {
                jitter: *random.pick(&[0.02, 0.2, 0.5, 1.5]),
            },
            aim(random),
        ),
        3..=4 => ("night pause", night_pause(zone, random), aim(random)),
        5..=7 => job(random),
        8..=10 => (
            "queue worker",
            Pace::Queue {
                on: spread(random, 18.0, 0.8),
                off: spread(random, 25.0, 0.9),
            },
            aim(random),
        ),
        11..=12 => (
            "adaptive",
            Pace::Throttle {
                growth: random.between(0.0008, 0.01),
            },
            aim(random),
        ),
        13..=14 => {
            let minutes = *random.pick(&[5.0, 10.0, 15.0, 30.0, 60.0, 120.0]);
            let goal = Aim::Same {
                shuffled: random.chance(0.4),
            };
            (
                "price watcher",
                Pace::Rounds {
                    minutes,
                    seconds: random.between(0.3, 6.0),
                },
                goal,
            )
        }
        15 => {
            let categories = 1 + random.below(6) as usize;
            (
                "newest watcher",
                Pace::Steady {
                    jitter: random.between(0.05, 0.9),
                },
                Aim::Newest { categories },
            )
        }
        16..=17 => {
            let (curve, weekend) = copied_curve(random);
            let kind = if weekend {
                "day curve with weekend"
            } else {
                "day curve"
            };
            (
                kind,
                Pace::Curve {
                    curve,
                    zone,
                    jitter: random.between(0.3, 1.5),
                },
                aim(random),
            )
        }
        _ => ("session copier", session_copier(zone, random), aim(random)),
    }
}

fn night_pause(zone: i32, random: &mut Random) -> Pace {
    let open = Some((random.between(5.0, 9.0), random.between(21.0, 25.5)));
    let rest = *random.pick(&[1.0, 1.0, 0.3, 0.05]);
    let curve = Curve {
        bumps: Vec::new(),
        floor: 1.0,
        week: [1.0, 1.0, 1.0, 1.0, 1.0, rest, rest],
        open,
    };
    Pace::Curve {
        curve,
        zone,
        jitter: random.between(0.1, 1.4),
    }
}

fn job(random: &mut Random) -> (&'static str, Pace, Aim) {
    // Timetables are written in quarters of an hour.
    let hours = (0..1 + random.below(6))
        .map(|_| (random.between(0.0, 24.0) * 4.0).floor() / 4.0)
        .collect();
    let (workers, seconds, slip) = (
        1 + random.below(8),
        spread(random, 2.0, 0.8),
        random.between(0.05, 6.0),
    );
    if random.chance(0.5) {
        return (
            "batch job",
            Pace::Jobs {
                hours,
                slip,
                workers,
                seconds,
                fails: 0.05,
            },
            aim(random),
        );
    }
    let goal = Aim::Lists {
        depth: 5 + random.below(60) as usize,
        share: random.between(0.3, 1.0),
        again: true,
    };
    let fails = random.between(0.2, 0.7);
    (
        "rerun",
        Pace::Jobs {
            hours,
            slip,
            workers,
            seconds,
            fails,
        },
        goal,
    )
}

fn session_copier(zone: i32, random: &mut Random) -> Pace {
    let (curve, _) = copied_curve(random);
    let least = random.between(3.0, 8.0);
    let pages = (least, least + random.between(2.0, 25.0));
    let wait = random.between(1.0, 6.0);
    Pace::Sessions {
        curve,
        zone,
        pages,
        sleep: (wait, wait + random.between(1.0, 20.0)),
    }
}

fn aim(random: &mut Random) -> Aim {
    match random.below(12) {
        0..=4 => {
            let depth = 2 + random.below(80) as usize;
            Aim::Lists {
                depth,
                share: *random.pick(&[1.0, 1.0, 0.6, 0.3, 0.0]),
                again: random.chance(0.4),
            }
        }
        5..=6 => Aim::Numbers { step: 1 },
        7..=8 => Aim::Searches {
            depth: 1 + random.below(10) as usize,
            share: random.unit(),
        },
        9 => Aim::Sellers,
        10 => Aim::Interface,
        _ => Aim::Wander,
    }
}

/// A small program: a scanner, a hobby script, a bot that looks in now and then.
pub(super) fn light(calendar: &Calendar, random: &mut Random) -> Crawler {
    let mut crawler = match random.below(20) {
        0..=3 => engine(random),
        4..=8 => tool(calendar, random),
        9..=11 => service(random.below(4), calendar, random),
        _ => masked(calendar, random),
    };
    crawler.target = pareto(random, 3.0, 0.6, 500.0);
    crawler
}
