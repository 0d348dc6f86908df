//! Services that are neither people nor crawlers: monitors, feed readers, link previews, mail proxies.

use std::rc::Rc;

use super::calendar::{Calendar, Curve, SPAN_MS, pareto};
use super::crawler::Crawler;
use super::pace::Pace;
use super::roster::base;
use super::route::Aim;
use crate::actor::Label;
use crate::random::Random;

/// Draws all heavy services.
pub(super) fn heavy(calendar: &Calendar, random: &mut Random) -> Vec<Crawler> {
    (0..10 + random.below(11))
        .map(|number| service(number % 4, calendar, random))
        .collect()
}

/// One service of a sort.
pub(super) fn service(sort: u64, calendar: &Calendar, random: &mut Random) -> Crawler {
    // What people send one another and when they read mail follows their day.
    let bumps = vec![
        (8.0, 1.5, random.between(0.3, 1.0)),
        (13.0, 3.0, 0.6),
        (20.0, 3.0, 1.0),
    ];
    let curve = Curve {
        bumps,
        floor: 0.06,
        week: [1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.95],
        open: None,
    }
    .moved(random, 0.6);
    let people = Pace::Curve {
        curve,
        zone: calendar.home,
        jitter: 1.5,
    };
    let (kind, names, pace, aim): (_, &[&str], _, _) = match sort {
        0 => (
            "uptime monitor",
            &MONITORS,
            Pace::Steady {
                jitter: random.between(0.0, 0.05),
            },
            Aim::Probe {
                pages: 1 + random.below(5) as usize,
            },
        ),
        1 => (
            "feed fetcher",
            &READERS,
            Pace::Rounds {
                minutes: *random.pick(&[10.0, 20.0, 30.0]),
                seconds: random.between(0.2, 3.0),
            },
            Aim::Feeds,
        ),
        2 => ("link preview", &PREVIEWS, people, Aim::Wander),
        _ => ("mail image proxy", &MAIL, people, Aim::Photos),
    };
    let mut crawler = base(Label::Automated, kind, pace, aim, random);
    crawler.agents = vec![Rc::from(*random.pick(names))];
    crawler.target = pareto(random, 1_100.0, 2.5, 4_000.0);
    crawler.span = (0, SPAN_MS);
    if sort == 2 {
        crawler.parts.photos = random.between(0.3, 1.0);
    }
    if sort == 0 && random.chance(0.4) {
        crawler.method = "HEAD";
    }
    crawler
}

const MONITORS: [&str; 4] = [
    "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
    "Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)",
    "Mozilla/5.0 (compatible; StatusCake)",
    "Site24x7",
];

const READERS: [&str; 4] = [
    "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)",
    "Mozilla/5.0 (compatible; inoreader.com/1.0; +https://www.inoreader.com)",
    "Tiny Tiny RSS/23.05 (https://tt-rss.org/)",
    "FreshRSS/1.21.0 (Linux; https://freshrss.org)",
];

const PREVIEWS: [&str; 5] = [
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "WhatsApp/2.23.20.0",
    "TelegramBot (like TwitterBot)",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
];

const MAIL: [&str; 2] = [
    "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
    "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html",
];
