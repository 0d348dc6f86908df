//! People of the mid-size world with something to do there: moderators, readers of chapters, shoppers, editors, commenters.

use std::rc::Rc;

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
use super::people::Door;
use super::people::common_browser;
use super::people::device;
use super::people::entry;
use super::people::visits;
use super::people::wander;
use super::people::wander_from;
use super::site::ORIGIN;
use super::site::Section;
use super::stage::Client;
use super::stage::Net;
use super::stage::Stage;
use super::stage::answer;
use super::stage::ok;

/// All people with habits of their own.
pub(super) fn play(stage: &mut Stage) {
    type Part = fn(&mut Stage);
    let parts: [(u32, Part); 10] = [
        (12, moderator),
        (260, chapter_reader),
        (100, shopper),
        (15, editor),
        (200, commenter),
        (140, wrong_password),
        (200, old_bookmark),
        (200, many_tabs),
        (180, feed_clicker),
        (60, feed_at_home),
    ];
    for (count, part) in parts {
        for _ in 0..stage.about(count) {
            part(stage);
        }
    }
}

/// Somebody who has been here often.
fn regular(stage: &mut Stage, kind: &'static str, phones: f64) -> Browser {
    let source = stage.person(kind, Net::Home);
    let device = device(stage, phones);
    let mut browser = common_browser(stage, source, device);
    if stage.random.chance(0.75) {
        let share = stage.random.between(0.85, 1.0);
        browser.warm(stage, share);
    }
    browser
}

/// Logs in, with so many wrong passwords before the right one. Gives when it is done.
fn log_in(stage: &mut Stage, browser: &mut Browser, at: u64, wrong: u64) -> u64 {
    let login = stage.site.section(Section::Login)[0];
    browser.open(stage, at, login, &Whence::Nowhere);
    let mut now = at;
    for _ in 0..wrong {
        now += 3000 + stage.pause(9.0);
        browser.post(stage, now, "/wp-login.php", 200, &Whence::Page(login));
    }
    now += 3000 + stage.pause(8.0);
    browser.post(stage, now, "/wp-login.php", 302, &Whence::Page(login));
    now + 300
}

/// Works through reports of the forum by their numbers.
fn moderator(stage: &mut Stage) {
    let mut browser = regular(stage, "moderator", 0.2);
    let mut number = 48_100 + stage.random.below(40_000);
    let threads = stage.site.section(Section::Thread).to_vec();
    for day in 0..DAYS {
        let mut now = stage
            .calendar
            .on_day(&mut stage.random, day, Rhythm::Leisure, 1);
        let mut before = Whence::Page(stage.site.section(Section::ForumList)[0]);
        for _ in 0..20 + stage.random.below(110) {
            let target: Rc<str> =
                format!("/forum/mcp.php?i=queue&mode=approve_details&p={number}").into();
            let page = *stage.random.pick(&threads);
            browser.open_as(stage, now, page, &target, &before);
            before = Whence::Address(format!("{ORIGIN}{target}").into());
            now += 1200 + stage.pause(6.0);
            if stage.random.chance(0.8) {
                browser.post(
                    stage,
                    now,
                    "/forum/mcp.php?i=queue&mode=approve",
                    302,
                    &before,
                );
            }
            now += 350 + stage.random.below(700);
            number += 1 + stage.random.below(2);
        }
    }
}

/// Reads a book from chapter to chapter, in bed, on trains, through nights.
fn chapter_reader(stage: &mut Stage) {
    let mut browser = regular(stage, "chapter reader", 0.6);
    if stage.random.chance(0.1) {
        browser.telling = Telling::Nothing;
    }
    let site = Rc::clone(&stage.site);
    let zone = zone(&mut stage.random);
    let mut left = 30 + (stage.random.exponential(50.0) as u64).min(170);
    let pause = stage.random.between(60.0, 420.0);
    let book = stage.random.below(16) as u32;
    let chapters = site.group(Section::Chapter, book);
    let start = stage.random.below(chapters.len() as u64 / 2) as usize;
    let mut page = chapters[start];
    let mut before = Whence::Nowhere;
    let mut now = stage
        .calendar
        .on_day(&mut stage.random, 0, Rhythm::Leisure, zone);
    while left > 0 && now < END {
        for _ in 0..(10 + stage.random.below(40)).min(left) {
            browser.open(stage, now, page, &before);
            before = Whence::Page(page);
            page = site.next_chapter(page);
            if site.page(page).section != Section::Chapter {
                let other = stage.random.below(16) as u32;
                page = site.group(Section::Chapter, other)[0];
            }
            now += 2000 + stage.pause(pause);
            left -= 1;
        }
        // The next sitting starts where the tab was left.
        before = Whence::Nowhere;
        now += 3 * HOUR + stage.random.below(14 * HOUR);
    }
}

/// Looks at dozens of goods, in long sittings, and buys something.
fn shopper(stage: &mut Stage) {
    let mut browser = regular(stage, "shop power user", 0.4);
    let zone = zone(&mut stage.random);
    let count = stage.few(2.5);
    for at in stage.moments(count, Rhythm::Leisure, zone) {
        let site = Rc::clone(&stage.site);
        let shelf = site.any(&mut stage.random, at, Section::ShopList);
        let pages = 12 + stage.random.below(45) as u32;
        let mut now = wander_from(stage, &mut browser, at, (shelf, Whence::Nowhere), pages);
        if stage.random.chance(0.5) {
            let basket = site.section(Section::Basket);
            now += stage.pause(10.0);
            let product = site.any(&mut stage.random, now, Section::Product);
            browser.post(
                stage,
                now,
                "/?wc-ajax=add_to_cart",
                200,
                &Whence::Page(product),
            );
            browser.open(stage, now + 4000, basket[0], &Whence::Page(product));
            browser.open(stage, now + 20_000, basket[1], &Whence::Page(basket[0]));
            browser.post(
                stage,
                now + 95_000,
                "/?wc-ajax=checkout",
                200,
                &Whence::Page(basket[1]),
            );
        }
    }
}

/// Writes for the site, logged in for hours.
fn editor(stage: &mut Stage) {
    let source = stage.person("editor", Net::Company);
    let mut browser = common_browser(stage, source, Device::Desktop);
    browser.warm(stage, 0.9);
    let site = Rc::clone(&stage.site);
    let admin = site.section(Section::Admin);
    for day in 0..DAYS {
        if stage.calendar.is_weekend(day) && stage.random.chance(0.7) && day > 0 {
            continue;
        }
        let at = stage
            .calendar
            .on_day(&mut stage.random, day, Rhythm::Work, 1);
        let wrong = stage.random.below(5) / 4;
        let mut now = log_in(stage, &mut browser, at, wrong);
        browser.open(
            stage,
            now,
            admin[0],
            &Whence::Page(site.section(Section::Login)[0]),
        );
        for _ in 0..2 + stage.random.below(8) {
            let page = *stage.random.pick(admin);
            now += stage.pause(25.0);
            browser.open(stage, now, page, &Whence::Page(admin[0]));
            // While a form is open the browser says each minute that somebody is there.
            for _ in 0..2 + stage.random.below(25) {
                now += MINUTE;
                browser.post(
                    stage,
                    now,
                    "/wp-admin/admin-ajax.php",
                    200,
                    &Whence::Page(page),
                );
            }
            browser.post(
                stage,
                now + 700,
                "/wp-admin/post.php",
                302,
                &Whence::Page(page),
            );
            let article = site.newest(&mut stage.random, site.section(Section::Article), now);
            browser.open(stage, now + 4000, article, &Whence::Page(page));
        }
    }
}

/// Reads, and has something to say to it or to the office.
fn commenter(stage: &mut Stage) {
    let mut browser = regular(stage, "commenter", 0.5);
    let zone = zone(&mut stage.random);
    let count = 1 + stage.random.below(2) as u32;
    for at in stage.moments(count, Rhythm::Leisure, zone) {
        let pages = stage.few(2.5);
        let now = wander(stage, &mut browser, at, Door::Direct, pages) + stage.pause(20.0);
        let site = Rc::clone(&stage.site);
        if stage.random.chance(0.25) {
            let contact = site.section(Section::Contact)[0];
            browser.open(stage, now, contact, &Whence::Page(site.home()));
            let then = now + 20_000 + stage.pause(90.0);
            browser.post(stage, then, "/contact/", 200, &Whence::Page(contact));
            continue;
        }
        let article = site.article(&mut stage.random, now);
        browser.open(stage, now, article, &Whence::Page(site.home()));
        let then = now + 25_000 + stage.pause(80.0);
        browser.post(
            stage,
            then,
            "/wp-comments-post.php",
            302,
            &Whence::Page(article),
        );
        let number = 71_000 + then / 90_000;
        let shown: Rc<str> = format!("{}?unapproved={number}", site.page(article).target).into();
        browser.open_as(stage, then + 400, article, &shown, &Whence::Page(article));
    }
}

/// Has an account, and not the best memory.
fn wrong_password(stage: &mut Stage) {
    let mut browser = regular(stage, "wrong password", 0.5);
    let zone = zone(&mut stage.random);
    let count = stage.few(1.4);
    for at in stage.moments(count, Rhythm::Leisure, zone) {
        let wrong = 1 + stage.random.below(6);
        let now = log_in(stage, &mut browser, at, wrong);
        let site = Rc::clone(&stage.site);
        let account = site.section(Section::Basket)[2];
        let pages = stage.few(3.0);
        wander_from(
            stage,
            &mut browser,
            now,
            (account, Whence::Page(site.section(Section::Login)[0])),
            pages,
        );
    }
}

/// Keeps addresses for years, some longer than the site does.
fn old_bookmark(stage: &mut Stage) {
    let mut browser = regular(stage, "old bookmark", 0.3);
    let zone = zone(&mut stage.random);
    let site = Rc::clone(&stage.site);
    let count = stage.few(1.6);
    for at in stage.moments(count, Rhythm::Leisure, zone) {
        let gone = Rc::clone(stage.random.pick(&site.gone));
        browser.miss(stage, at, &gone, &Whence::Nowhere);
        match stage.random.below(4) {
            0 => {
                // Tries another of the list.
                let other = Rc::clone(stage.random.pick(&site.gone));
                let then = at + stage.pause(12.0);
                browser.miss(stage, then, &other, &Whence::Nowhere);
            }
            1 => {}
            _ => {
                let then = at + 2000 + stage.pause(9.0);
                let pages = stage.few(2.5);
                let whence = Whence::Address(format!("{ORIGIN}{gone}").into());
                wander_from(stage, &mut browser, then, (site.home(), whence), pages);
            }
        }
    }
}

/// Opens everything of a list that looks good, and reads it later.
fn many_tabs(stage: &mut Stage) {
    let mut browser = regular(stage, "many tabs", 0.1);
    let zone = zone(&mut stage.random);
    let site = Rc::clone(&stage.site);
    let count = stage.few(2.0);
    for mut now in stage.moments(count, Rhythm::Leisure, zone) {
        let (list, whence) = entry(stage, now, Door::Direct);
        // A browser that starts again loads all tabs of yesterday in the same second.
        let restored = stage.random.chance(0.3);
        if !restored {
            browser.open(stage, now, list, &whence);
            now += stage.pause(10.0);
        }
        for _ in 0..4 + stage.random.below(14) {
            let page = site.follow(&mut stage.random, now, list);
            browser.open(stage, now, page, &Whence::Page(list));
            now += if restored {
                stage.random.below(150)
            } else {
                400 + stage.pause(1.3)
            };
        }
    }
}

/// Clicks items of a feed that a service reads.
fn feed_clicker(stage: &mut Stage) {
    let mut browser = regular(stage, "feed clicker", 0.4);
    let zone = zone(&mut stage.random);
    let count = stage.few(4.0);
    for mut now in stage.moments(count, Rhythm::Leisure, zone) {
        for _ in 0..stage.few(2.2) {
            wander(stage, &mut browser, now, Door::Item, 1);
            now += 2000 + stage.pause(45.0);
        }
    }
}

/// Has a program at home that reads the feed, and a browser for what is in it.
fn feed_at_home(stage: &mut Stage) {
    let mut browser = regular(stage, "feed program at home", 0.0);
    let agent = *stage.random.pick(&[
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.14.0",
        "NetNewsWire (RSS Reader; https://netnewswire.com/)",
        "QuiteRSS/0.19.4",
        "Liferea/1.15.8 (Linux; https://lzone.de/liferea/) AppleWebKit (KHTML, like Gecko)",
    ]);
    let program = Client {
        source: browser.client.source,
        agent: agent.into(),
        protocol: "HTTP/2.0",
    };
    let (feed, none): (Rc<str>, Rc<str>) = ("/feed/".into(), Rc::clone(&stage.none));
    let every = *stage.random.pick(&[30, 60, 60, 120]) * MINUTE;
    // The computer runs in the evening only.
    for day in 0..DAYS {
        let mut now = stage
            .calendar
            .on_day(&mut stage.random, day, Rhythm::Leisure, 1);
        for _ in 0..2 + stage.random.below(8) {
            let reply = if stage.random.chance(0.5) {
                ok(28_400)
            } else {
                answer(304, 0)
            };
            stage.send(&program, now, "GET", &feed, reply, &none);
            now += every + stage.random.below(3000);
        }
    }
    visits(stage, &mut browser, 3.0, 1.8);
    for at in stage.moments(3, Rhythm::Leisure, 1) {
        wander(stage, &mut browser, at, Door::Item, 1);
    }
}
