//! Robots: what they load, how they wait, in which order they go.

use super::browser::Referrer;
use super::browser::Visit;
use super::pages_of_a_visit;
use super::site::Page;
use super::site::Site;
use crate::random::Random;

/// How a program waits between two pages.
#[derive(Debug, Clone, Copy)]
enum Pause {
    /// Always the same, with a share of jitter.
    Steady { seconds: f64, jitter: f64 },
    /// Anything between two numbers.
    Between(f64, f64),
    /// As independent events come.
    Exponential(f64),
    /// As somebody believes that people read.
    LikePeople { median: f64, spread: f64 },
}

/// In which order a program goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Page after page of the listings.
    Listed,
    /// A listing, then its pages, each from the listing.
    FromListing,
    /// Anything.
    Random,
    /// By links, as people do.
    Links,
}

/// Fills a visit, and says what kind of robot it is.
pub(super) fn plan(random: &mut Random, site: &Site, visit: &mut Visit) -> &'static str {
    let kind = equipment(random, visit);
    let pause = draw_pause(random, kind);
    let order = *random.pick(&[
        Order::Listed,
        Order::FromListing,
        Order::Random,
        Order::Links,
        Order::Links,
    ]);
    let again = match order {
        Order::Links => random.between(-0.2, 0.3).max(0.0),
        _ => 0.0,
    };
    let visits = 1 + random.poisson(0.7);
    for _ in 0..visits {
        let many = pages_of_a_visit(random);
        crawl(
            random,
            site,
            visit,
            &Crawl {
                pause,
                order,
                again,
                many,
            },
        );
        visit.now += 1000.0 * random.between(2400.0, 20_000.0);
    }
    kind
}

/// With what pages are loaded: bare, with some parts, or by a real browser.
fn equipment(random: &mut Random, visit: &mut Visit) -> &'static str {
    visit.scrolls = 0.0;
    visit.referrer = match random.below(100) {
        0..40 => Referrer::None,
        40..55 => Referrer::Origin,
        _ => Referrer::Page,
    };
    match random.below(10) {
        0..3 => {
            (visit.loads_parts, visit.calls) = (0.0, false);
            "fetcher"
        }
        3 => {
            visit.loads_images = false;
            visit.calls = false;
            visit.asks_icon = false;
            visit.loads_parts = random.between(0.1, 1.0);
            "fetcher with parts"
        }
        4..6 => {
            visit.has_cache = false;
            browser_of_a_program(random, visit);
            "browser without cache"
        }
        _ => {
            browser_of_a_program(random, visit);
            "browser with cache"
        }
    }
}

fn browser_of_a_program(random: &mut Random, visit: &mut Visit) {
    visit.asks_icon = random.chance(0.4);
    visit.loads_images = random.chance(0.8);
    visit.scrolls = match random.chance(0.3) {
        true => random.unit(),
        false => 0.0,
    };
    // Many browsers on one machine, or one on a busy one.
    visit.stalls = match random.chance(0.4) {
        true => random.between(0.1, 0.6),
        false => random.between(-0.05, 0.05).max(0.0),
    };
    // Programs go to addresses; some click.
    visit.referrer = match random.below(100) {
        0..30 => Referrer::None,
        30..42 => Referrer::Origin,
        _ => Referrer::Page,
    };
}

fn draw_pause(random: &mut Random, kind: &str) -> Pause {
    let seconds = match kind {
        // As fast as the site answers, up to half a minute.
        "fetcher" | "fetcher with parts" => random.between(-4.0, 3.2).exp(),
        _ => random.between(0.3, 3.5).exp(),
    };
    match random.below(8) {
        0 | 1 => Pause::Steady {
            seconds,
            jitter: random.between(0.0, 0.5),
        },
        2..5 => Pause::Between(
            seconds * random.between(0.2, 0.8),
            seconds * random.between(1.2, 3.0),
        ),
        5 => Pause::Exponential(seconds),
        _ => Pause::LikePeople {
            median: seconds,
            spread: random.between(0.3, 1.2),
        },
    }
}

impl Pause {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Pause::Steady { seconds, jitter } => seconds * (1.0 + jitter * (random.unit() - 0.5)),
            Pause::Between(low, high) => random.between(low, high),
            Pause::Exponential(mean) => random.exponential(mean),
            Pause::LikePeople { median, spread } => median * (spread * random.normal()).exp(),
        }
    }
}

struct Crawl {
    pause: Pause,
    order: Order,
    /// Share of pages that are asked for again.
    again: f64,
    many: u32,
}

fn crawl(random: &mut Random, site: &Site, visit: &mut Visit, crawl: &Crawl) {
    let mut page = match random.chance(0.5) {
        true => Page::START,
        false => site.any(random),
    };
    let mut seen = vec![page];
    visit.open(random, site, page, None);
    for _ in 1..crawl.many {
        let seconds = crawl.pause.draw(random);
        visit.wait(random, site, seconds);
        let (next, from) = match crawl.order {
            _ if random.chance(crawl.again) => (*random.pick(&seen), page),
            Order::Listed => (site.next(page), page),
            Order::FromListing => {
                let next = site.next(page);
                (next, Page { number: 0, ..next })
            }
            Order::Random => (site.any(random), page),
            Order::Links => {
                // What was fetched is not fetched again, where that can be helped.
                let mut tries = (0..5).map(|_| site.link(random, page));
                let new = tries.find(|next| !seen.contains(next));
                (new.unwrap_or_else(|| site.next(page)), page)
            }
        };
        visit.open(random, site, next, Some(from).filter(|from| *from != next));
        page = next;
        seen.push(page);
    }
}
