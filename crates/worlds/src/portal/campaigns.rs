//! Campaigns: addresses that share a scheduler, and how it divides the work among them.

use crate::actor::Label;
use crate::random::Random;

use super::agents::copied_agent;
use super::crawl::Fetch;
use super::crawl::Fetcher;
use super::crawl::Frontier;
use super::crawl::Loop;
use super::robots::Robot;
use super::robots::headers;
use super::robots::is_heavy;
use super::schedulers::Scheduler;
use super::schedulers::program;
use super::setting::Setting;

/// How the central scheduler divides the work.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Division {
    /// One queue: each fetch goes through the next or any address.
    Pool { in_turn: bool },
    /// One queue, but an address is kept for some pages.
    Sticky { pages: u32 },
    /// Each address has its own part of the site, all under the same cron.
    Shards,
    /// Only some addresses work at a time, in slices of so many seconds.
    Relay { slice_s: f64, at_once: usize },
}

impl Division {
    fn draw(members: usize, random: &mut Random) -> Division {
        match random.below(5) {
            0 => Division::Pool {
                in_turn: random.chance(0.5),
            },
            1 => Division::Sticky {
                pages: 5 + random.below(60) as u32,
            },
            2 => Division::Relay {
                slice_s: random.between(900.0, 14_000.0),
                at_once: 1 + members / 4,
            },
            _ => Division::Shards,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Division::Pool { .. } | Division::Sticky { .. } => "campaign pool",
            Division::Shards => "campaign shards",
            Division::Relay { .. } => "campaign relay",
        }
    }
}

/// A queue's fetches, each given to a member.
fn divide(
    fetches: &[Fetch],
    division: Division,
    members: usize,
    random: &mut Random,
) -> Vec<Vec<Fetch>> {
    let mut parts = vec![Vec::new(); members];
    let mut kept = 0;
    let mut slice = (u64::MAX, Vec::new());
    let mut order: Vec<usize> = (0..members).collect();
    for (number, fetch) in fetches.iter().enumerate() {
        let member = match division {
            Division::Pool { in_turn: true } => number % members,
            Division::Sticky { pages } if (number as u32).is_multiple_of(pages) => {
                kept = random.below(members as u64) as usize;
                kept
            }
            Division::Sticky { .. } => kept,
            Division::Relay { slice_s, at_once } => {
                let now = (fetch.at_s / slice_s) as u64;
                if slice.0 != now {
                    // Whoever worked last goes to the end.
                    order.rotate_left(at_once % members);
                    slice = (now, order[..at_once.min(members)].to_vec());
                }
                *random.pick(&slice.1)
            }
            _ => random.below(members as u64) as usize,
        };
        parts[member].push(*fetch);
    }
    parts
}

/// All addresses of one campaign, with their requests.
pub(super) fn campaign(
    number: usize,
    members: usize,
    peak: f64,
    setting: &Setting,
    random: &mut Random,
) -> Vec<Robot> {
    let division = Division::draw(members, random);
    let label = if random.chance(0.1) {
        Label::Unauthorized
    } else {
        Label::Masquerading
    };
    let scheduler = Scheduler::draw(random);
    let common = headers(label, random);
    // Either all send the same or each has its own from the list.
    let own_agent = label == Label::Masquerading && random.chance(0.5);
    let name = format!("portal-{}", number + 1);
    let mut pages = peak / (1.0 + 3.0 * common.parts);
    loop {
        let all = if division == Division::Shards {
            pages
        } else {
            pages * members as f64
        };
        let program = program(scheduler, all, setting, random);
        let parts = if division == Division::Shards {
            (0..members)
                .map(|_| shard(&program, setting, random))
                .collect()
        } else {
            divide(&program.fetches(setting, random), division, members, random)
        };
        let mut shared = Frontier::draw(random);
        let mut robots = Vec::new();
        for fetches in parts {
            let mut headers = common.clone();
            if own_agent {
                headers.agents = vec![copied_agent(random)];
            }
            if division == Division::Shards {
                shared = Frontier::draw(random);
            }
            let mut fetcher = Fetcher::new(setting, headers);
            let mut hits = Vec::new();
            for fetch in fetches {
                fetcher.fetch(fetch, &mut shared, random, &mut hits);
            }
            robots.push(Robot {
                label,
                kind: division.kind(),
                campaign: name.clone(),
                hits,
            });
        }
        if robots.iter().all(|robot| is_heavy(&robot.hits)) {
            return robots;
        }
        pages *= 1.1;
    }
}

/// The same program on another machine: its clock and its speed differ a little.
fn shard(program: &Loop, setting: &Setting, random: &mut Random) -> Vec<Fetch> {
    let mut own = program.clone();
    let skew = random.exponential(20.0);
    let load = (0.06 * random.normal()).exp();
    own.mean_s *= (0.05 * random.normal()).exp();
    for run in &mut own.runs {
        run.from += skew;
        run.quota = (f64::from(run.quota) * load).min(f64::from(u32::MAX)) as u32;
    }
    own.fetches(setting, random)
}
