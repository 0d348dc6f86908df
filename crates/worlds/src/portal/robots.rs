//! Who crawls: how many search engines, tools and disguised programs there are, how much each fetches and what it sends.

use std::rc::Rc;

use crate::actor::Label;
use crate::random::Random;
use crate::scene::Hit;

use super::agents::ENGINES;
use super::agents::TOOLS;
use super::agents::copied_agent;
use super::campaigns::campaign;
use super::crawl::END_S;
use super::crawl::Fetcher;
use super::crawl::Forge;
use super::crawl::Frontier;
use super::crawl::Headers;
use super::crawl::Loop;
use super::crawl::Pause;
use super::crawl::Run;
use super::places::shrink;
use super::schedulers::Scheduler;
use super::schedulers::program;
use super::setting::Setting;
use super::site::by_day;

/// One heavy source that is no person, with its requests.
#[derive(Debug)]
pub(super) struct Robot {
    pub(super) label: Label,
    pub(super) kind: &'static str,
    pub(super) campaign: String,
    pub(super) hits: Vec<Hit>,
}

/// From careless to careful.
pub(super) fn headers(label: Label, random: &mut Random) -> Headers {
    let named = label != Label::Masquerading;
    let care = random.unit();
    let agents: Vec<Rc<str>> = match label {
        Label::Legitimate => vec![(*random.pick(&ENGINES)).into()],
        Label::Masquerading => {
            let count = if random.chance(0.5) {
                1
            } else {
                2 + random.below(30)
            };
            (0..count).map(|_| copied_agent(random)).collect()
        }
        _ => vec![(*random.pick(&TOOLS)).into()],
    };
    let forge = match (named, random.below(10)) {
        (true, _) => Forge::None,
        (_, 0..3) if care > 0.4 => Forge::Google,
        (_, 3..5) => Forge::Home,
        (_, 5..) if care > 0.35 => Forge::Previous,
        _ => Forge::None,
    };
    Headers {
        agents,
        rotate: *random.pick(&[1, 1, 20, 200, 1000]),
        forge,
        parts: if !named && care > 0.6 {
            random.unit().powi(2) * 0.8
        } else {
            0.0
        },
        protocol: if random.chance(0.2 + 0.4 * care) {
            "HTTP/2.0"
        } else {
            "HTTP/1.1"
        },
        robots: named && random.chance(0.7),
    }
}

/// True where a source is as heavy as all heavy ones must be.
pub(super) fn is_heavy(hits: &[Hit]) -> bool {
    let days = by_day(hits);
    days.iter().any(|day| *day >= 1_010) && days.iter().filter(|day| **day >= 20).count() >= 3
}

fn lone(label: Label, peak: f64, setting: &Setting, random: &mut Random) -> Robot {
    let scheduler = match label {
        Label::Legitimate => {
            *random.pick(&[Scheduler::Always, Scheduler::Always, Scheduler::Spells])
        }
        _ => Scheduler::draw(random),
    };
    let headers = headers(label, random);
    // Parts come on top of pages: about three for each page that has them fetched.
    let mut pages = peak / (1.0 + 3.0 * headers.parts);
    loop {
        let mut program = program(scheduler, pages, setting, random);
        if label == Label::Legitimate {
            program.pause = *random.pick(&[Pause::Exponential, Pause::Polite]);
        }
        let mut fetcher = Fetcher::new(setting, headers.clone());
        let mut frontier = Frontier::draw(random);
        let mut hits = Vec::new();
        for fetch in program.fetches(setting, random) {
            fetcher.fetch(fetch, &mut frontier, random, &mut hits);
        }
        if is_heavy(&hits) {
            let kind = match label {
                Label::Legitimate => "search engine",
                Label::Unauthorized => "named tool",
                _ => scheduler.kind(),
            };
            return Robot {
                label,
                kind,
                campaign: String::new(),
                hits,
            };
        }
        pages *= 1.15;
    }
}

/// How many addresses each campaign has: few have many.
fn campaign_sizes(random: &mut Random) -> Vec<usize> {
    let count = 6 + random.below(5) as usize;
    let mut sizes: Vec<usize> = (0..count)
        .map(|_| (3.0 * (26.0_f64 / 3.0).powf(random.unit())) as usize)
        .collect();
    while sizes.iter().sum::<usize>() > 74 {
        if let Some(largest) = sizes.iter_mut().max() {
            *largest -= 1;
        }
    }
    sizes
}

/// All heavy crawlers of a world, with about as many requests altogether as `budget` allows.
pub(super) fn crawlers(setting: &Setting, budget: f64, random: &mut Random) -> Vec<Robot> {
    let sizes = campaign_sizes(random);
    let total = 122 + random.below(37) as usize;
    let (engines, tools) = (7 + random.below(5) as usize, 12 + random.below(9) as usize);
    let alone = total - sizes.iter().sum::<usize>();
    let mut peaks: Vec<f64> = (0..alone)
        .map(|_| 1_700.0 * (0.8 * random.normal()).exp())
        .collect();
    for _ in 0..3 + random.below(3) {
        let giant = random.below(alone as u64) as usize;
        peaks[giant] = 10_000.0 * 5.5_f64.powf(random.unit());
    }
    peaks
        .iter_mut()
        .for_each(|peak| *peak = peak.clamp(1_100.0, 55_000.0));
    let shared: Vec<f64> = sizes
        .iter()
        .map(|_| 1_300.0 * (0.3 * random.normal()).exp().max(0.9))
        .collect();
    let spent: f64 = sizes
        .iter()
        .zip(&shared)
        .map(|(size, peak)| *size as f64 * peak)
        .sum();
    let share = shrink(&peaks, budget / 4.6 - spent);
    let mut robots = Vec::new();
    for (number, peak) in peaks.iter().enumerate() {
        let label = match number {
            _ if number < engines => Label::Legitimate,
            _ if number < engines + tools => Label::Unauthorized,
            _ => Label::Masquerading,
        };
        robots.push(lone(
            label,
            1_080.0 + (peak - 1_080.0) * share,
            setting,
            random,
        ));
    }
    for (number, (size, peak)) in sizes.iter().zip(&shared).enumerate() {
        robots.extend(campaign(number, *size, *peak, setting, random));
    }
    robots
}

/// A robot that comes once or for a little while.
pub(super) fn light(setting: &Setting, random: &mut Random) -> (Label, Vec<Hit>) {
    let label = *random.pick(&[
        Label::Masquerading,
        Label::Masquerading,
        Label::Masquerading,
        Label::Unauthorized,
        Label::Unauthorized,
        Label::Legitimate,
    ]);
    let mut hits = Vec::new();
    let mut fetcher = Fetcher::new(setting, headers(label, random));
    let mut frontier = Frontier::draw(random);
    let spells = 1 + random.below(6);
    for _ in 0..spells {
        let from = random.unit() * END_S;
        let quota = (1.0 + 120.0 * random.unit().powi(4)) as u32;
        let runs = vec![Run {
            from,
            to: END_S,
            quota,
        }];
        let mean_s = 0.3 * 40_f64.powf(random.unit());
        let program = Loop {
            runs,
            workers: 1,
            pause: Pause::Uniform,
            mean_s,
            table: None,
            crash: (0.0, 0.0),
        };
        for fetch in program.fetches(setting, random) {
            fetcher.fetch(fetch, &mut frontier, random, &mut hits);
        }
    }
    if random.chance(0.25) {
        probe(&fetcher.headers, random, &mut hits);
    }
    (label, hits)
}

/// Looks for doors that others forgot to close.
fn probe(headers: &Headers, random: &mut Random, hits: &mut Vec<Hit>) {
    let client = super::site::Client {
        agent: headers.agents[0].clone(),
        protocol: "HTTP/1.1",
    };
    let mut at_ms = (random.unit() * (END_S - 60.0) * 1000.0) as u64;
    for target in [
        "/wp-login.php",
        "/.env",
        "/.git/config",
        "/xmlrpc.php",
        "/admin/",
        "/phpmyadmin/",
        "/backup.zip",
    ] {
        hits.push(client.get(at_ms, &target.into(), &"".into(), (404, 3_911)));
        at_ms += random.between(80.0, 1_500.0) as u64;
    }
}
