//! People: how long they read, how they move, what their browsers do. Every trait is drawn by itself, so that all combinations occur.

use super::browser::Referrer;
use super::browser::Visit;
use super::pages_of_a_visit;
use super::site::Page;
use super::site::Site;
use crate::random::Random;

/// How somebody reads.
#[derive(Debug, Clone, Copy)]
struct Reader {
    /// Seconds on a page: the median, and how far they spread (of the logarithm).
    median: f64,
    spread: f64,
    /// Share of pages that are left within seconds.
    skims: f64,
    /// Share of pages whose links are opened in tabs, several at once.
    tabs: f64,
    /// Share of steps back to a page seen before.
    back: f64,
    /// Share of steps to the next page in the site's order: chapters, galleries, result pages.
    onward: f64,
    /// Share of pages that a search engine or a bookmark leads to.
    outside: f64,
    /// Share of visits that begin with all tabs of the last one.
    restores: f64,
    /// Share of pages whose links the browser fetches before they are asked for.
    prefetches: f64,
}

/// People behind one address at most.
const HOUSEHOLD_MAX: u64 = 8;

/// Fills a visit, and says what kind of person it is.
pub(super) fn plan(random: &mut Random, site: &Site, visit: &mut Visit) -> &'static str {
    equip(random, site, visit);
    let kind = kind_of(visit);
    if !random.chance(0.15) {
        stay(random, site, visit);
        return kind;
    }
    // Several people with the same device, or behind one proxy, at the same time.
    let people = 2 + random.below(HOUSEHOLD_MAX - 1);
    let begun = visit.now;
    for _ in 0..people {
        visit.now = begun + 1000.0 * random.between(0.0, 1800.0);
        visit.forget();
        stay(random, site, visit);
    }
    "shared address"
}

/// What the browser and the line are like.
fn equip(random: &mut Random, site: &Site, visit: &mut Visit) {
    visit.referrer = match random.below(100) {
        0..18 => Referrer::None,
        18..28 => Referrer::Origin,
        _ => Referrer::Page,
    };
    visit.stalls = match random.chance(0.12) {
        true => random.between(0.1, 0.6),
        false => random.between(-0.1, 0.12).max(0.0),
    };
    if random.chance(0.15) {
        visit.lag_ms = random.between(6.0, 8.5).exp();
    }
    // Proxies that keep copies, reader views, text browsers.
    if random.chance(0.08) {
        visit.loads_parts = random.between(-0.5, 0.5).max(0.0);
    }
    visit.loads_images = random.chance(0.9);
    visit.asks_icon = random.chance(0.65);
    visit.calls = random.chance(0.8);
    visit.has_cache = random.chance(0.95);
    if random.chance(0.4) {
        visit.remember(site);
    }
}

fn kind_of(visit: &Visit) -> &'static str {
    match visit {
        Visit { loads_parts, .. } if *loads_parts < 1.0 => "without parts",
        Visit {
            referrer: Referrer::None,
            ..
        } => "without referrers",
        Visit {
            loads_images: false,
            ..
        } => "without pictures",
        Visit { stalls, .. } if *stalls > 0.1 => "slow line",
        _ => "plain",
    }
}

impl Reader {
    fn draw(random: &mut Random) -> Reader {
        let seldom =
            |random: &mut Random, share: f64, low: f64, high: f64| match random.chance(share) {
                true => random.between(low, high),
                false => random.between(-0.1, low.max(0.1)).max(0.0),
            };
        let mut reader = Reader {
            median: random.between(0.9, 4.8).exp(),
            spread: random.between(0.5, 1.7),
            skims: random.between(0.0, 0.4),
            tabs: seldom(random, 0.12, 0.2, 0.8),
            back: random.between(0.0, 0.6),
            onward: seldom(random, 0.15, 0.3, 1.0),
            outside: seldom(random, 0.15, 0.2, 0.9),
            restores: seldom(random, 0.1, 0.4, 1.0),
            prefetches: seldom(random, 0.06, 0.3, 1.0),
        };
        // Turning pages: pictures of a gallery, chapters skimmed.
        if random.chance(0.08) {
            reader.spread = random.between(0.2, 0.6);
            reader.skims = 0.0;
        }
        reader
    }
}

/// One person's visits.
fn stay(random: &mut Random, site: &Site, visit: &mut Visit) {
    let reader = Reader::draw(random);
    for _ in 0..1 + random.poisson(0.7) {
        walk(random, site, visit, &reader);
        visit.wait(random, site, 120.0);
        visit.now += 1000.0 * random.between(2400.0, 20_000.0);
    }
}

fn walk(random: &mut Random, site: &Site, visit: &mut Visit, reader: &Reader) {
    let mut page = match random.chance(0.4) {
        true => Page::START,
        false => site.any(random),
    };
    let mut seen = vec![page];
    let many = pages_of_a_visit(random);
    let mut opened = 1;
    match random.chance(reader.restores) {
        true => opened += restore(random, site, visit, &mut seen),
        false => visit.open(random, site, page, None),
    }
    while opened < many {
        if random.chance(reader.prefetches) {
            for _ in 0..1 + random.below(4) {
                visit.fetch_ahead(random, site, page);
            }
        }
        read(random, site, visit, reader);
        if random.chance(site.documents) {
            visit.document(random, page);
        }
        if random.chance(reader.tabs) {
            opened += open_tabs(random, site, visit, page, &mut seen);
            continue;
        }
        let (next, from) = step(random, site, reader, page, &seen);
        visit.open(random, site, next, from);
        opened += 1;
        page = next;
        seen.push(page);
    }
}

/// Where somebody goes from a page, and which page leads there.
fn step(
    random: &mut Random,
    site: &Site,
    reader: &Reader,
    page: Page,
    seen: &[Page],
) -> (Page, Option<Page>) {
    if random.chance(reader.outside) {
        return (site.any(random), None);
    }
    if random.chance(reader.onward) {
        return (site.next(page), Some(page));
    }
    if !random.chance(reader.back) {
        let next = site.link(random, page);
        return (next, Some(page).filter(|page| *page != next));
    }
    // The button for going back shows the copy, and a link of it is taken; or the page is asked for again.
    let before = *random.pick(seen);
    match random.chance(0.6) {
        true => {
            let next = site.link(random, before);
            (next, Some(before).filter(|before| *before != next))
        }
        false => (before, Some(page).filter(|page| *page != before)),
    }
}

/// Opens several links of a page one after the other, and says how many.
fn open_tabs(
    random: &mut Random,
    site: &Site,
    visit: &mut Visit,
    page: Page,
    seen: &mut Vec<Page>,
) -> u32 {
    let tabs = 2 + random.below(6) as u32;
    for _ in 0..tabs {
        let next = site.link(random, page);
        visit.open(random, site, next, Some(page).filter(|page| *page != next));
        visit.now += 1000.0 * random.between(0.3, 4.0);
        seen.push(next);
    }
    tabs
}

/// Opens all tabs of the last visit at once, and says how many.
fn restore(random: &mut Random, site: &Site, visit: &mut Visit, seen: &mut Vec<Page>) -> u32 {
    let tabs = 2 + random.below(14) as u32;
    let listing = Page {
        number: 0,
        ..site.any(random)
    };
    for _ in 0..tabs {
        let page = site.link(random, listing);
        let from = random.chance(0.7).then_some(listing);
        visit.open(random, site, page, from.filter(|from| *from != page));
        seen.push(page);
    }
    tabs
}

/// Stays on a page for a while.
fn read(random: &mut Random, site: &Site, visit: &mut Visit, reader: &Reader) {
    let seconds = match random.chance(reader.skims) {
        true => random.between(0.8, 6.0),
        false => reader.median * (reader.spread * random.normal()).exp(),
    };
    visit.wait(random, site, seconds.max(0.7));
}
