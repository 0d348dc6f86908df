//! Single people of the mid-size world: how they come in, wander about and leave, and what their browsers hide or refuse.

use std::rc::Rc;

use super::agents;
use super::agents::Device;
use super::browser::Browser;
use super::browser::Telling;
use super::browser::Whence;
use super::clock::DAYS;
use super::clock::END;
use super::clock::HOUR;
use super::clock::MINUTE;
use super::clock::Rhythm;
use super::clock::zone;
use super::site::AssetKind;
use super::site::PageId;
use super::site::Section;
use super::stage::Client;
use super::stage::Net;
use super::stage::Stage;
use super::stage::answer;
use super::stage::one_of;

/// How somebody comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Search,
    Social,
    /// The front page or a section, typed or kept.
    Direct,
    /// An item of a feed, a mail, a chat: a page without any referrer.
    Item,
}

const SEARCHES: [&str; 12] = [
    "https://www.google.com/",
    "https://www.google.com/",
    "https://www.google.com/",
    "https://www.google.com/",
    "https://www.google.com/",
    "https://www.google.de/",
    "https://www.google.co.uk/",
    "https://www.bing.com/",
    "https://duckduckgo.com/",
    "https://www.ecosia.org/",
    "https://search.yahoo.com/",
    "https://yandex.ru/",
];
const NETWORKS: [&str; 9] = [
    "https://www.facebook.com/",
    "https://l.facebook.com/",
    "https://m.facebook.com/",
    "https://t.co/",
    "https://www.reddit.com/",
    "https://l.instagram.com/",
    "https://bsky.app/",
    "https://www.linkedin.com/",
    "https://news.ycombinator.com/",
];

/// Parts that a browser for text leaves out: all.
pub(super) const EVERYTHING: &[AssetKind] = &[
    AssetKind::Css,
    AssetKind::Script,
    AssetKind::Advert,
    AssetKind::Call,
    AssetKind::Image,
    AssetKind::Font,
    AssetKind::Icon,
];
const ADVERTS: &[AssetKind] = &[AssetKind::Advert];
const SCRIPTS: &[AssetKind] = &[AssetKind::Script, AssetKind::Advert, AssetKind::Call];
const IMAGES: &[AssetKind] = &[AssetKind::Image, AssetKind::Advert];
const ALL_BUT_CSS: &[AssetKind] = &[
    AssetKind::Script,
    AssetKind::Advert,
    AssetKind::Call,
    AssetKind::Image,
    AssetKind::Font,
    AssetKind::Icon,
];

/// A program of a person at this source. Some antivirus programs and companies take HTTP/2 away.
pub(super) fn client(stage: &mut Stage, source: u32, agent: Rc<str>) -> Client {
    let protocol = match stage.random.below(100) {
        0..7 => "HTTP/1.1",
        7..30 => "HTTP/3.0",
        _ => "HTTP/2.0",
    };
    Client {
        source,
        agent,
        protocol,
    }
}

/// A common browser at this source.
pub(super) fn common_browser(stage: &mut Stage, source: u32, device: Device) -> Browser {
    let agent = agents::browser(&mut stage.random, device);
    let client = client(stage, source, agent);
    let mut browser = Browser::new(client);
    browser.slowness = match device {
        Device::Desktop => stage.random.between(0.5, 1.6),
        Device::Phone => stage.random.between(0.8, 3.0),
    };
    browser
}

/// A phone or a desktop.
pub(super) fn device(stage: &mut Stage, phones: f64) -> Device {
    if stage.random.chance(phones) {
        Device::Phone
    } else {
        Device::Desktop
    }
}

/// The first page of a visit, and where it was found.
pub(super) fn entry(stage: &mut Stage, at: u64, door: Door) -> (PageId, Whence) {
    use Section::*;
    let random = &mut stage.random;
    let section = match door {
        Door::Search => *random.pick(&[
            Article, Article, Article, Article, Product, Product, Thread, Thread, Book, Text,
        ]),
        Door::Social => *random.pick(&[
            Article, Article, Article, Article, Article, Article, Product, Chapter,
        ]),
        Door::Direct => *random.pick(&[
            Home, Home, Home, Home, NewsList, ShopList, ForumList, ForumList, BookList,
        ]),
        Door::Item => Article,
    };
    let list = stage.site.section(section);
    let page = match (door, section) {
        // Search engines lead into the depth of archives.
        (Door::Search, Article | Product | Thread) if random.chance(0.4) => {
            *random.pick(stage.site.until(section, at))
        }
        (Door::Item, _) => stage.site.newest(random, list, at),
        _ => stage.site.any(random, at, section),
    };
    let whence = match door {
        Door::Search => Whence::Outside(one_of(random, &SEARCHES)),
        // Apps of networks often say nothing.
        Door::Social if random.chance(0.35) => Whence::Nowhere,
        Door::Social => Whence::Outside(one_of(random, &NETWORKS)),
        Door::Direct | Door::Item => Whence::Nowhere,
    };
    (page, whence)
}

/// A visit from page to page. Gives when it ends.
pub(super) fn wander(
    stage: &mut Stage,
    browser: &mut Browser,
    at: u64,
    door: Door,
    pages: u32,
) -> u64 {
    let (first, whence) = entry(stage, at, door);
    wander_from(stage, browser, at, (first, whence), pages)
}

/// A visit that starts on this page.
pub(super) fn wander_from(
    stage: &mut Stage,
    browser: &mut Browser,
    at: u64,
    first: (PageId, Whence),
    pages: u32,
) -> u64 {
    let (first, whence) = first;
    let mut now = at;
    if matches!(whence, Whence::Nowhere) && stage.random.chance(0.04) {
        mistype(stage, browser, now, first);
        now += 120;
    }
    browser.open(stage, now, first, &whence);
    let mut seen = vec![first];
    for _ in 1..pages {
        now += 1500 + stage.pause(28.0);
        // The back button shows an earlier page without asking for it, so the next one comes from there.
        let from = if stage.random.chance(0.35) {
            *stage.random.pick(&seen)
        } else {
            seen[seen.len() - 1]
        };
        let site = Rc::clone(&stage.site);
        let page = site.follow(&mut stage.random, now, from);
        browser.open(stage, now, page, &Whence::Page(from));
        seen.push(page);
    }
    now
}

/// An address typed without its last stroke is led to the right one.
fn mistype(stage: &mut Stage, browser: &Browser, at: u64, page: PageId) {
    let site = Rc::clone(&stage.site);
    if let Some(short) = site
        .page(page)
        .target
        .strip_suffix('/')
        .filter(|short| !short.is_empty())
    {
        let none = Rc::clone(&stage.none);
        stage.send(
            &browser.client,
            at,
            "GET",
            &short.into(),
            answer(301, 0),
            &none,
        );
    }
}

/// Which doors regular and casual visitors use.
pub(super) fn some_door(stage: &mut Stage) -> Door {
    match stage.random.below(100) {
        0..38 => Door::Search,
        38..54 => Door::Social,
        54..90 => Door::Direct,
        _ => Door::Item,
    }
}

/// Several visits over the days; the first is always there.
pub(super) fn visits(stage: &mut Stage, browser: &mut Browser, mean_visits: f64, mean_pages: f64) {
    let zone = zone(&mut stage.random);
    let count = stage.few(mean_visits);
    for at in stage.moments(count, Rhythm::Leisure, zone) {
        let pages = stage.few(mean_pages);
        let door = some_door(stage);
        wander(stage, browser, at, door, pages);
    }
}

/// A common browser, after a look at whether its owner was here before.
fn visitor(stage: &mut Stage, kind: &'static str, phones: f64) -> Browser {
    let device = device(stage, phones);
    let net = if device == Device::Phone && stage.random.chance(0.12) {
        Net::Carrier
    } else {
        Net::Home
    };
    let source = stage.person(kind, net);
    let mut browser = common_browser(stage, source, device);
    if stage.random.chance(0.3) {
        let share = stage.random.between(0.6, 1.0);
        browser.warm(stage, share);
    }
    browser
}

/// All single people without habits of their own.
pub(super) fn play(stage: &mut Stage) {
    one_page(stage);
    ordinary(stage);
    guarded(stage);
    blockers(stage);
    unusual(stage);
    fetching_ahead(stage);
}

/// The largest crowd: one page, and gone.
fn one_page(stage: &mut Stage) {
    for _ in 0..stage.about(4200) {
        let mut browser = visitor(stage, "one page from search", 0.6);
        let zone = zone(&mut stage.random);
        let at = stage
            .calendar
            .moment(&mut stage.random, Rhythm::Leisure, zone);
        let pages = if stage.random.chance(0.86) { 1 } else { 2 };
        wander(stage, &mut browser, at, Door::Search, pages);
    }
    for _ in 0..stage.about(2600) {
        let source = stage.person("one page from network", Net::Home);
        let in_app = stage.random.chance(0.4);
        let mut browser = common_browser(stage, source, Device::Phone);
        if in_app {
            browser.client.agent = agents::in_app(&mut stage.random);
        }
        // A story of the day draws a crowd within hours; the rest of what networks show is mixed.
        if stage.random.chance(0.45) {
            let site = Rc::clone(&stage.site);
            let page = *stage.random.pick(&site.hot);
            let shared = site.page(page).published.max(0) as u64;
            let mut at = shared + stage.random.exponential(5.0 * HOUR as f64) as u64;
            if at >= END {
                at = shared + stage.random.below(END - shared);
            }
            let (_, whence) = entry(stage, at, Door::Social);
            browser.open(stage, at, page, &whence);
        } else {
            let zone = zone(&mut stage.random);
            let at = stage
                .calendar
                .moment(&mut stage.random, Rhythm::Leisure, zone);
            wander(stage, &mut browser, at, Door::Social, 1);
        }
    }
    // Gone before the page was shown.
    for _ in 0..stage.about(150) {
        let mut browser = visitor(stage, "early leaver", 0.7);
        browser.patience = stage.random.below(350);
        let zone = zone(&mut stage.random);
        let at = stage
            .calendar
            .moment(&mut stage.random, Rhythm::Leisure, zone);
        wander(stage, &mut browser, at, Door::Search, 1);
    }
}

fn ordinary(stage: &mut Stage) {
    for _ in 0..stage.about(1900) {
        let mut browser = visitor(stage, "ordinary desktop", 0.0);
        visits(stage, &mut browser, 2.2, 3.4);
    }
    for _ in 0..stage.about(2400) {
        let mut browser = visitor(stage, "ordinary phone", 1.0);
        visits(stage, &mut browser, 2.0, 2.6);
    }
    for _ in 0..stage.about(60) {
        let source = stage.person("old device", Net::Home);
        let agent = agents::old_device(&mut stage.random);
        let mut browser = common_browser(stage, source, Device::Desktop);
        browser.client.agent = agent;
        browser.client.protocol = "HTTP/1.1";
        visits(stage, &mut browser, 2.0, 3.0);
    }
}

/// People whose browsers tell little of where they come from.
fn guarded(stage: &mut Stage) {
    for (kind, telling) in [
        ("no referrer", Telling::Nothing),
        ("origin referrer", Telling::Origin),
    ] {
        for _ in 0..stage.about(350) {
            let mut browser = visitor(stage, kind, 0.4);
            browser.telling = telling;
            if stage.random.chance(0.5) {
                browser.refuses = ADVERTS;
            }
            visits(stage, &mut browser, 2.2, 3.5);
        }
    }
}

/// People whose browsers leave out parts.
fn blockers(stage: &mut Stage) {
    let kinds: [(&'static str, u32, &'static [AssetKind]); 4] = [
        ("ad blocker", 300, ADVERTS),
        ("script blocker", 120, SCRIPTS),
        ("image blocker", 100, IMAGES),
        ("css only", 90, ALL_BUT_CSS),
    ];
    for (kind, count, refuses) in kinds {
        for _ in 0..stage.about(count) {
            let mut browser = visitor(stage, kind, 0.3);
            browser.refuses = refuses;
            visits(stage, &mut browser, 2.2, 3.6);
        }
    }
}

fn unusual(stage: &mut Stage) {
    for _ in 0..stage.about(60) {
        let source = stage.person("text browser", Net::Home);
        let agent = agents::text_browser(&mut stage.random);
        let mut client = client(stage, source, agent);
        client.protocol = if stage.random.chance(0.3) {
            "HTTP/1.0"
        } else {
            "HTTP/1.1"
        };
        let mut browser = Browser::new(client);
        browser.refuses = EVERYTHING;
        // Lynx and w3m tell the whole address; links is often set to tell nothing.
        if browser.client.agent.starts_with("Links") {
            browser.telling = Telling::Nothing;
        }
        visits(stage, &mut browser, 2.0, 5.0);
    }
    // Reader mode stops the page once its text is there.
    for _ in 0..stage.about(80) {
        let mut browser = visitor(stage, "reader mode", 0.6);
        browser.patience = 250 + stage.random.below(900);
        visits(stage, &mut browser, 2.4, 3.0);
    }
    // Screen readers are ordinary browsers whose owners skip from heading to heading.
    for _ in 0..stage.about(60) {
        let mut browser = visitor(stage, "screen reader", 0.2);
        browser.slowness *= 1.3;
        visits(stage, &mut browser, 3.0, 5.0);
    }
    for _ in 0..stage.about(250) {
        let net = if stage.random.chance(0.3) {
            Net::Carrier
        } else {
            Net::Home
        };
        let source = stage.person("app web view", net);
        let agent = agents::web_view(&mut stage.random);
        let mut browser = Browser::new(client(stage, source, agent));
        let zone = zone(&mut stage.random);
        let count = stage.few(2.0);
        for at in stage.moments(count, Rhythm::Leisure, zone) {
            // Each item is opened from the list of the app, so none has a page before it.
            let mut now = at;
            for _ in 0..stage.few(2.2) {
                wander(stage, &mut browser, now, Door::Item, 1);
                now += 4000 + stage.pause(50.0);
            }
        }
    }
    // The operator of the link keeps parts near the dish, and what passes takes its time.
    for _ in 0..stage.about(120) {
        let mut browser = visitor(stage, "satellite link", 0.3);
        browser.slowness = stage.random.between(3.0, 7.0);
        browser.warm(stage, 0.85);
        browser.client.protocol = "HTTP/1.1";
        visits(stage, &mut browser, 2.0, 3.4);
    }
}

/// Browsers that fetch pages before they are asked for, and phones that do so again and again.
fn fetching_ahead(stage: &mut Stage) {
    for _ in 0..stage.about(250) {
        let mut browser = visitor(stage, "prefetching", 0.4);
        let zone = zone(&mut stage.random);
        let count = stage.few(2.0);
        for mut now in stage.moments(count, Rhythm::Leisure, zone) {
            let door = some_door(stage);
            let (mut page, whence) = entry(stage, now, door);
            browser.open(stage, now, page, &whence);
            for _ in 0..stage.few(2.6) {
                let site = Rc::clone(&stage.site);
                let mut ahead = Vec::new();
                for _ in 0..stage.random.below(4) {
                    let next = site.follow(&mut stage.random, now, page);
                    now += 700 + stage.pause(3.0);
                    browser.fetch_ahead(stage, now, next, page);
                    ahead.push(next);
                }
                now += stage.pause(12.0);
                let next = match ahead.last() {
                    Some(last) if stage.random.chance(0.6) => *last,
                    _ => site.follow(&mut stage.random, now, page),
                };
                browser.open(stage, now, next, &Whence::Page(page));
                page = next;
            }
        }
    }
    for _ in 0..stage.about(220) {
        waking_phone(stage);
    }
}

/// A tab that was left open is loaded anew when its phone wakes up.
fn waking_phone(stage: &mut Stage) {
    let mut browser = visitor(stage, "waking phone", 1.0);
    let zone = zone(&mut stage.random);
    let first = stage
        .calendar
        .on_day(&mut stage.random, 0, Rhythm::Leisure, zone);
    let door = some_door(stage);
    let (page, whence) = entry(stage, first, door);
    browser.open(stage, first, page, &whence);
    let morning = (30 - zone).rem_euclid(24) as u64 * HOUR + stage.random.below(90 * MINUTE);
    for day in 1..DAYS {
        if stage.random.chance(0.1) {
            continue;
        }
        let at = day * 24 * HOUR + morning + stage.random.below(25 * MINUTE);
        if stage.random.chance(0.3) {
            // Some ask whether it has changed; the server of pages says no.
            let referrer = browser.referrer(stage, &whence);
            let target = Rc::clone(&stage.site.page(page).target);
            stage.send(
                &browser.client,
                at,
                "GET",
                &target,
                answer(304, 0),
                &referrer,
            );
        } else {
            browser.open(stage, at, page, &whence);
        }
        if stage.random.chance(0.15) {
            let pages = stage.few(2.0);
            let then = at + stage.random.below(HOUR);
            wander(stage, &mut browser, then, Door::Direct, pages);
        }
    }
}
