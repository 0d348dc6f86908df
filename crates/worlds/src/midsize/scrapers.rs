//! Single scrapers of the mid-size world that call themselves browsers: walks with few parts or none, in every order and pace.

use std::rc::Rc;

use super::agents;
use super::clock::DAYS;
use super::clock::END;
use super::clock::HOUR;
use super::clock::MINUTE;
use super::clock::Rhythm;
use super::robots::Order;
use super::robots::early;
use super::robots::fetch;
use super::robots::fetch_parts;
use super::robots::get;
use super::robots::modern_protocol;
use super::robots::piece;
use super::site::AssetKind;
use super::site::ORIGIN;
use super::site::PageId;
use super::site::Section;
use super::stage::Client;
use super::stage::Net;
use super::stage::Stage;
use super::stage::ok;
use crate::actor::Label;

const CSS: &[AssetKind] = &[AssetKind::Css];

/// A scraper under the agent of some browser; a third sit behind the line of a household.
pub(super) fn scraper(stage: &mut Stage, kind: &'static str) -> Client {
    let net = if stage.random.chance(0.35) {
        Net::Home
    } else {
        Net::Hosting
    };
    let source = stage.robot(Label::Masquerading, kind, net);
    let agent = agents::copied(&mut stage.random);
    let protocol = modern_protocol(stage);
    Client {
        source,
        agent,
        protocol,
    }
}

/// How many pages, most of them few.
fn length(stage: &mut Stage) -> usize {
    6 + stage.random.exponential(26.0) as usize
}

/// All single scrapers.
pub(super) fn play(stage: &mut Stage) {
    type Part = fn(&mut Stage);
    let parts: [(u32, Part); 13] = [
        (40, page_walk),
        (32, sorted_walk),
        (36, forged_referrer),
        (30, css_walk),
        (55, slow_walk),
        (36, old_protocol),
        (14, chapter_copier),
        (24, price_watcher),
        (16, feed_scraper),
        (12, sitemap_walk),
        (20, rotating_agents),
        (6, fixed_list),
        (26, referrer_spam),
    ];
    for (count, part) in parts {
        for _ in 0..stage.about(count) {
            part(stage);
        }
    }
}

fn page_walk(stage: &mut Stage) {
    let client = scraper(stage, "page walk");
    let (mut now, count, none) = (early(stage), length(stage), Rc::clone(&stage.none));
    let gap = stage.random.between(1.0, 25.0);
    for page in piece(stage, now, Order::Shuffled, count) {
        fetch(stage, &client, now, page, &none);
        now += 200 + stage.pause(gap);
    }
}

fn sorted_walk(stage: &mut Stage) {
    let client = scraper(stage, "sorted walk");
    let (mut now, count, none) = (early(stage), length(stage), Rc::clone(&stage.none));
    let gap = stage.random.between(500.0, 12_000.0);
    for page in piece(stage, now, Order::Sorted, count) {
        fetch(stage, &client, now, page, &none);
        now += stage.random.between(gap * 0.8, gap * 1.2) as u64;
    }
}

/// Each request claims to come from somewhere: a search engine, the front page, or the page before.
fn forged_referrer(stage: &mut Stage) {
    let client = scraper(stage, "forged referrer walk");
    let (mut now, count) = (early(stage), length(stage));
    let habit = stage.random.below(3);
    let fixed: Rc<str> = if habit == 0 {
        "https://www.google.com/".into()
    } else {
        format!("{ORIGIN}/").into()
    };
    let mut before = Rc::clone(&fixed);
    for page in piece(stage, now, Order::Shuffled, count) {
        fetch(stage, &client, now, page, &before);
        if habit == 2 {
            before = Rc::clone(&stage.site.page(page).url);
        }
        now += 800 + stage.pause(9.0);
    }
}

fn css_walk(stage: &mut Stage) {
    let client = scraper(stage, "css walk");
    let (mut now, count, none) = (early(stage), length(stage), Rc::clone(&stage.none));
    let order = if stage.random.chance(0.5) {
        Order::Sorted
    } else {
        Order::Shuffled
    };
    for page in piece(stage, now, order, count) {
        fetch(stage, &client, now, page, &none);
        fetch_parts(stage, &client, now, page, (CSS, 2));
        now += 1500 + stage.pause(8.0);
    }
}

/// Five to forty pages a day, at the hours of people.
fn slow_walk(stage: &mut Stage) {
    let client = scraper(stage, "slow walk");
    let (each, none) = (5 + stage.random.below(36), Rc::clone(&stage.none));
    let first = stage.random.below(3);
    let inner = stage.random.chance(0.4);
    let home = Rc::clone(&stage.site.page(stage.site.home()).url);
    for day in first..DAYS {
        for _ in 0..stage.random.below(each) + 2 {
            let at = stage
                .calendar
                .on_day(&mut stage.random, day, Rhythm::Leisure, 1);
            let section = *stage.random.pick(&[
                Section::Article,
                Section::Article,
                Section::Product,
                Section::Thread,
            ]);
            let page = *stage.random.pick(stage.site.until(section, at));
            fetch(stage, &client, at, page, if inner { &home } else { &none });
        }
    }
}

/// A protocol of the last century under an agent of today.
fn old_protocol(stage: &mut Stage) {
    let mut client = scraper(stage, "http 1.0 browser");
    client.protocol = "HTTP/1.0";
    let (mut now, count, none) = (
        early(stage),
        1 + stage.random.below(12) as usize,
        Rc::clone(&stage.none),
    );
    for page in piece(stage, now, Order::Shuffled, count) {
        fetch(stage, &client, now, page, &none);
        now += 500 + stage.pause(6.0);
    }
}

/// Copies a book for another site; half of them name the chapter before as their referrer.
fn chapter_copier(stage: &mut Stage) {
    let client = scraper(stage, "chapter copier");
    let site = Rc::clone(&stage.site);
    let chapters = site.group(Section::Chapter, stage.random.below(16) as u32);
    let (mut now, gap) = (
        stage.random.below(2 * DAYS * HOUR),
        stage.random.between(8.0, 240.0),
    );
    let names = stage.random.chance(0.5);
    for pair in chapters.windows(2) {
        let referrer = if names {
            &site.page(pair[0]).url
        } else {
            &stage.none
        };
        let referrer = Rc::clone(referrer);
        fetch(stage, &client, now, pair[1], &referrer);
        now += 1000 + stage.pause(gap);
    }
}

/// Looks at the same few goods several times a day.
fn price_watcher(stage: &mut Stage) {
    let client = scraper(stage, "price watcher");
    let count = 2 + stage.random.below(7);
    let goods: Vec<PageId> = (0..count)
        .map(|_| *stage.random.pick(stage.site.section(Section::Product)))
        .collect();
    let (every, none) = (
        *stage.random.pick(&[6, 8, 12, 24]) * HOUR,
        Rc::clone(&stage.none),
    );
    let mut start = stage.random.below(every);
    while start < END {
        let mut now = start;
        for page in &goods {
            fetch(stage, &client, now, *page, &none);
            now += 900 + stage.pause(4.0);
        }
        start += every + stage.random.below(20 * MINUTE);
    }
}

/// Reads the feed under a browser's agent, and takes each article that is new.
fn feed_scraper(stage: &mut Stage) {
    let client = scraper(stage, "feed scraper");
    let (every, none) = (
        *stage.random.pick(&[60, 120, 360]) * MINUTE,
        Rc::clone(&stage.none),
    );
    let mut now = stage.random.below(every);
    let mut known = stage.site.until(Section::Article, now).len();
    while now < END {
        get(stage, &client, now, "/feed/", ok(28_400));
        let site = Rc::clone(&stage.site);
        let articles = site.until(Section::Article, now);
        let mut then = now + 1500;
        for page in &articles[known..] {
            fetch(stage, &client, then, *page, &none);
            then += 400 + stage.random.below(3000);
        }
        known = articles.len();
        now += every + stage.random.below(MINUTE);
    }
}

fn sitemap_walk(stage: &mut Stage) {
    let client = scraper(stage, "sitemap walk");
    let (mut now, count, none) = (early(stage), 20 + length(stage), Rc::clone(&stage.none));
    get(stage, &client, now, "/wp-sitemap.xml", ok(1_730));
    get(
        stage,
        &client,
        now + 900,
        "/wp-sitemap-posts-post-1.xml",
        ok(96_000),
    );
    for page in piece(stage, now, Order::Sorted, count) {
        now += 1200 + stage.pause(3.0);
        fetch(stage, &client, now, page, &none);
    }
}

/// Eight agents in turn within one visit.
fn rotating_agents(stage: &mut Stage) {
    let mut client = scraper(stage, "rotating agents");
    let mut several = Vec::new();
    for _ in 0..8 {
        several.push(agents::copied(&mut stage.random));
    }
    let (mut now, count, none) = (early(stage), 10 + length(stage), Rc::clone(&stage.none));
    for page in piece(stage, now, Order::Shuffled, count) {
        client.agent = Rc::clone(stage.random.pick(&several));
        fetch(stage, &client, now, page, &none);
        now += 700 + stage.pause(7.0);
    }
}

/// The same 25 pages with their styles, every six hours.
fn fixed_list(stage: &mut Stage) {
    let client = scraper(stage, "fixed list");
    let (mut start, none) = (stage.random.below(6 * HOUR), Rc::clone(&stage.none));
    let list = piece(stage, 0, Order::Shuffled, 25);
    while start < END {
        let mut now = start;
        for page in &list {
            fetch(stage, &client, now, *page, &none);
            fetch_parts(stage, &client, now, *page, (CSS, 3));
            now += 2000 + stage.pause(5.0);
        }
        start += 6 * HOUR + stage.random.below(2 * MINUTE);
    }
}

/// Wants its address in the statistics of the site.
fn referrer_spam(stage: &mut Stage) {
    let client = scraper(stage, "referrer spam");
    let sold = *stage.random.pick(&[
        "https://best-seo-offer.example/",
        "https://free-share-buttons.example/",
        "http://casino-royal-bonus.example/",
        "https://buy-traffic.example/try.php?u=hafenblatt",
    ]);
    let sold: Rc<str> = sold.into();
    let home = stage.site.home();
    for _ in 0..1 + stage.random.below(6) {
        let at = stage.random.below(END);
        let page = if stage.random.chance(0.7) {
            home
        } else {
            piece(stage, at, Order::Shuffled, 1)[0]
        };
        fetch(stage, &client, at, page, &sold);
    }
}
