//! Programs that are no crawlers: monitors, feed fetchers, link previews and mail image proxies.

use std::rc::Rc;

use crate::actor::Label;
use crate::random::Random;
use crate::scene::Hit;

use super::crawl::END_S;
use super::robots::Robot;
use super::robots::is_heavy;
use super::setting::Setting;
use super::setting::any_country;
use super::setting::local_midnight;
use super::site::Client;
use super::site::DAYS;
use super::site::END_MS;

const MONITORS: [&str; 4] = [
    "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
    "Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)",
    "Mozilla/5.0 (compatible; StatusCake)",
    "Better Uptime Bot Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/121.0.0.0 Safari/537.36",
];
const FEEDS: [&str; 4] = [
    "Feedly/1.0 (+http://www.feedly.com/fetcher.html; 214 subscribers; like FeedFetcher-Google)",
    "Mozilla/5.0 (compatible; inoreader.com-feed-fetcher; 88 subscribers; )",
    "NewsBlur Feed Fetcher - 31 subscribers - https://www.newsblur.com",
    "Tiny Tiny RSS/24.03 (https://tt-rss.org/)",
];
const PREVIEWS: [&str; 5] = [
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "WhatsApp/2.23.20.0",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "TelegramBot (like TwitterBot)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
];
const MAIL: [&str; 2] = [
    "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
    "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html",
];

fn get(
    client: &Client,
    setting: &Setting,
    at_s: f64,
    target: &Rc<str>,
    reply: (u16, u32),
    hits: &mut Vec<Hit>,
) {
    let at_ms = (at_s.max(0.0) * 1000.0) as u64;
    if at_ms < END_MS {
        let reply = if setting.site.down(at_ms) {
            (503, 512)
        } else {
            reply
        };
        hits.push(client.get(at_ms, target, &"".into(), reply));
    }
}

/// Checks a few addresses, each at its interval.
fn monitor(client: &Client, least: f64, setting: &Setting, random: &mut Random) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut per_day = 0.0;
    let targets = [
        "/",
        "/search?q=atlas",
        "/api/health",
        "/forum/",
        "/record/0000001",
        "/docs/",
    ];
    for target in targets.iter().cycle() {
        let every = *random.pick(&[30.0, 60.0, 60.0, 180.0, 300.0]);
        let mut at_s = random.unit() * every;
        while at_s < END_S {
            get(
                client,
                setting,
                at_s,
                &(*target).into(),
                (200, 9_120),
                &mut hits,
            );
            at_s += every + 0.4 * random.normal();
        }
        per_day += 86_400.0 / every;
        if per_day > least {
            return hits;
        }
    }
    hits
}

/// Polls the feeds that its readers subscribe to: those that change often are asked more often.
fn feeds(client: &Client, least: f64, setting: &Setting, random: &mut Random) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut per_day = 0.0;
    let mut number = 0;
    while per_day < least {
        let every = *random.pick(&[600.0, 900.0, 1800.0, 3600.0, 3600.0, 10_800.0]);
        let target: Rc<str> = format!("/feeds/topic-{number}.xml").into();
        let mut at_s = random.unit() * every;
        while at_s < END_S {
            let reply = if random.chance(0.8) {
                (304, 0)
            } else {
                (200, 24_310)
            };
            get(client, setting, at_s, &target, reply, &mut hits);
            at_s += every * random.between(0.97, 1.08);
        }
        per_day += 86_400.0 / every;
        number += 1;
    }
    hits
}

/// Fetches what people share or open at that moment: it follows their days.
fn on_demand(
    client: &Client,
    mail: bool,
    least: f64,
    setting: &Setting,
    random: &mut Random,
) -> Vec<Hit> {
    let mut hits = Vec::new();
    let countries: Vec<usize> = (0..1 + random.below(8))
        .map(|_| any_country(random))
        .collect();
    let letter: Rc<str> = "/media/newsletter/header-2030-01.png".into();
    for day in -1..=DAYS as i64 {
        for _ in 0..random.poisson(least) {
            let country = *random.pick(&countries);
            // Whoever shares is awake: the middle of somebody's day, give or take.
            let hour = 14.5 + 3.9 * random.normal();
            let at_s = local_midnight(country, day) + hour * 3600.0;
            if at_s < 0.0 {
                continue;
            }
            if mail {
                get(client, setting, at_s, &letter, (200, 48_200), &mut hits);
                continue;
            }
            let page = setting
                .site
                .read_article("en", (at_s * 1000.0) as u64, random);
            get(
                client,
                setting,
                at_s,
                &page.target,
                (206, 32_768),
                &mut hits,
            );
            if random.chance(0.5) && page.pictures() > 0 {
                let (_, target, bytes) = super::site::picture(&page, 0);
                get(
                    client,
                    setting,
                    at_s + random.between(0.3, 1.5),
                    &target,
                    (200, bytes),
                    &mut hits,
                );
            }
        }
    }
    hits
}

/// All heavy ones of a world.
pub(super) fn automata(setting: &Setting, random: &mut Random) -> Vec<Robot> {
    let mut robots = Vec::new();
    for _ in 0..11 + random.below(9) {
        let sort = random.below(4);
        let names: &[&str] = [&MONITORS[..], &FEEDS, &PREVIEWS, &MAIL][sort as usize];
        let kind = [
            "uptime monitor",
            "feed fetcher",
            "link preview",
            "mail image proxy",
        ][sort as usize];
        let client = Client {
            agent: (*random.pick(names)).into(),
            protocol: "HTTP/1.1",
        };
        let mut least = 1_150.0 * (0.5 * random.normal().abs()).exp();
        loop {
            let hits = match sort {
                0 => monitor(&client, least, setting, random),
                1 => feeds(&client, least, setting, random),
                _ => on_demand(&client, sort == 3, least, setting, random),
            };
            if is_heavy(&hits) {
                robots.push(Robot {
                    label: Label::Automated,
                    kind,
                    campaign: String::new(),
                    hits,
                });
                break;
            }
            least *= 1.15;
        }
    }
    robots
}
