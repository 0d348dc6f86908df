//! Programs of the mid-size world that say what they are: search engines, tools, scripts, feed readers, monitors, previews.

use std::rc::Rc;

use super::clock::DAY;
use super::clock::DAYS;
use super::clock::END;
use super::clock::HOUR;
use super::clock::MINUTE;
use super::robots::Order;
use super::robots::content;
use super::robots::early;
use super::robots::fetch;
use super::robots::fetch_parts;
use super::robots::get;
use super::robots::of_day;
use super::robots::piece;
use super::robots::program;
use super::site::AssetKind;
use super::site::ORIGIN;
use super::site::Section;
use super::stage::Answer;
use super::stage::Client;
use super::stage::Stage;
use super::stage::answer;
use super::stage::ok;
use crate::actor::Label;

/// Agent, number of addresses, pages of each in five days.
type Crawler = (&'static str, u32, f64);

const SEARCH: [Crawler; 7] = [
    (
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.7390.54 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        12,
        260.0,
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36",
        11,
        190.0,
    ),
    (
        "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
        6,
        150.0,
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
        6,
        70.0,
    ),
    (
        "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
        4,
        12.0,
    ),
    (
        "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
        5,
        35.0,
    ),
    (
        "Mozilla/5.0 (compatible; Qwantbot/1.0; +https://help.qwant.com/bot/)",
        3,
        25.0,
    ),
];
const TOOLS: [Crawler; 7] = [
    (
        "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
        10,
        120.0,
    ),
    (
        "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
        8,
        110.0,
    ),
    (
        "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
        11,
        18.0,
    ),
    (
        "Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)",
        3,
        60.0,
    ),
    (
        "Mozilla/5.0 (compatible; DataForSeoBot/1.0; +https://dataforseo.com/dataforseo-bot)",
        4,
        50.0,
    ),
    (
        "serpstatbot/2.1 (advanced backlink tracking bot; https://serpstatbot.com/; abuse@serpstatbot.com)",
        3,
        25.0,
    ),
    (
        "Mozilla/5.0 (compatible; Barkrowler/0.9; +https://babbar.tech/crawler)",
        4,
        40.0,
    ),
];
const AI: [Crawler; 6] = [
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        7,
        240.0,
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
        6,
        230.0,
    ),
    (
        "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
        11,
        60.0,
    ),
    ("CCBot/2.0 (https://commoncrawl.org/faq/)", 3, 300.0),
    (
        "meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)",
        10,
        90.0,
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot) Chrome/119.0.6045.214 Safari/537.36",
        6,
        60.0,
    ),
];
const ON_DEMAND: [&str; 3] = [
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)",
];
const SCRIPTS: [&str; 14] = [
    "python-requests/2.32.3",
    "python-requests/2.28.1",
    "python-requests/2.31.0",
    "curl/8.5.0",
    "curl/7.88.1",
    "Go-http-client/1.1",
    "Go-http-client/2.0",
    "Wget/1.21.4",
    "Scrapy/2.11.2 (+https://scrapy.org)",
    "Python/3.11 aiohttp/3.9.5",
    "axios/1.7.2",
    "okhttp/4.12.0",
    "Java/17.0.11",
    "libwww-perl/6.77",
];
const READERS: [&str; 8] = [
    "Feedly/1.0 (+https://feedly.com/poller.html; 41 subscribers; )",
    "Mozilla/5.0 (compatible; inoreader.com; 12 subscribers)",
    "NewsBlur Feed Fetcher - 6 subscribers - https://www.newsblur.com/site/812/",
    "Mozilla/5.0 (compatible; Miniflux/2.2.9; +https://miniflux.app)",
    "FreshRSS/1.26.3 (Linux; https://freshrss.org)",
    "Tiny Tiny RSS/24.06 (https://tt-rss.org/)",
    "Bloglovin/1.0 (http://www.bloglovin.com; 2 subscribers)",
    "SimplePie/1.8.0 (Feed Parser; http://simplepie.org; Allow like Gecko)",
];
const PREVIEWS: [&str; 8] = [
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Twitterbot/1.0",
    "WhatsApp/2.23.20.0",
    "TelegramBot (like TwitterBot)",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
    "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
];
const MONITORS: [(&str, &str, u64); 4] = [
    (
        "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
        "HEAD",
        5,
    ),
    (
        "Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)",
        "GET",
        15,
    ),
    ("Mozilla/5.0 (compatible; StatusCake)", "GET", 10),
    (
        "Better Uptime Bot Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/74.0.3729.169 Safari/537.36",
        "GET",
        30,
    ),
];

/// All programs that say what they are.
pub(super) fn play(stage: &mut Stage) {
    crawlers(stage, Label::Legitimate, "search engine", &SEARCH);
    crawlers(stage, Label::Unauthorized, "search tool", &TOOLS);
    crawlers(stage, Label::Unauthorized, "ai crawler", &AI);
    image_crawlers(stage);
    on_demand(stage);
    scripts(stage);
    feed_readers(stage);
    monitors(stage);
    previews(stage);
    fetchers(stage);
    housekeeping(stage);
}

/// Addresses of a crawler divide the site; each reads robots.txt now and then.
fn crawlers(stage: &mut Stage, label: Label, kind: &'static str, all: &[Crawler]) {
    for (agent, addresses, pages) in all {
        let list = content(stage, END, Order::Shuffled);
        let mut cursor = 0;
        for _ in 0..*addresses {
            let client = program(stage, label, kind, agent);
            let mut now = stage.random.below(DAY);
            get(stage, &client, now, "/robots.txt", ok(412));
            let count = stage.random.between(pages * 0.2, pages * 1.6) as u64 + 1;
            let gap = (END - now) / (count + 1);
            let none = Rc::clone(&stage.none);
            for number in 0..count {
                now += stage.random.below(2 * gap);
                let mut page = list[cursor % list.len()];
                cursor += 1;
                let site = Rc::clone(&stage.site);
                if stage.random.chance(0.04) {
                    let gone = Rc::clone(stage.random.pick(&site.gone));
                    get(stage, &client, now, &gone, answer(404, 9_120));
                    continue;
                }
                // What is not written yet cannot be known; what is new is wanted first.
                if site.page(page).published > now as i64 {
                    page = site.newest(&mut stage.random, site.section(Section::Article), now);
                }
                fetch(stage, &client, now, page, &none);
                // Engines that render look at styles and scripts once in a while.
                if label == Label::Legitimate && number % 9 == 4 {
                    fetch_parts(
                        stage,
                        &client,
                        now + 20_000,
                        page,
                        (&[AssetKind::Css, AssetKind::Script], 4),
                    );
                }
                if number % 60 == 59 {
                    get(stage, &client, now + 900, "/robots.txt", ok(412));
                }
            }
            if stage.random.chance(0.3) {
                get(stage, &client, now, "/wp-sitemap.xml", ok(1_730));
            }
        }
    }
}

fn image_crawlers(stage: &mut Stage) {
    for _ in 0..8 {
        let agent = *stage.random.pick(&[
            "Googlebot-Image/1.0",
            "Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)",
        ]);
        let client = program(stage, Label::Legitimate, "search image crawler", agent);
        let site = Rc::clone(&stage.site);
        let images: Vec<usize> = (0..site.assets.len())
            .filter(|asset| site.assets[*asset].kind == AssetKind::Image)
            .collect();
        for _ in 0..40 + stage.random.below(200) {
            let (at, image) = (
                stage.random.below(END),
                &site.assets[*stage.random.pick(&images)],
            );
            get(stage, &client, at, &image.target, ok(image.bytes));
        }
    }
}

/// Somebody asked an assistant about something; it looks at one to three pages.
fn on_demand(stage: &mut Stage) {
    for _ in 0..stage.about(50) {
        let agent = *stage.random.pick(&ON_DEMAND);
        let client = program(stage, Label::Unauthorized, "ai on demand", agent);
        let mut now = early(stage);
        for _ in 0..1 + stage.random.below(3) {
            let site = Rc::clone(&stage.site);
            let section = *stage.random.pick(&[
                Section::Article,
                Section::Product,
                Section::Thread,
                Section::Text,
            ]);
            let page = site.any(&mut stage.random, now, section);
            let none = Rc::clone(&stage.none);
            fetch(stage, &client, now, page, &none);
            now += 300 + stage.random.below(9000);
        }
    }
}

/// Programs whose authors did not think of the agent.
fn scripts(stage: &mut Stage) {
    for _ in 0..stage.about(95) {
        let empty = stage.random.chance(0.2);
        let agent = if empty {
            ""
        } else {
            *stage.random.pick(&SCRIPTS)
        };
        let kind = if empty {
            "empty agent"
        } else {
            "careless script"
        };
        let client = program(stage, Label::Unauthorized, kind, agent);
        let mut now = early(stage);
        let none = Rc::clone(&stage.none);
        match stage.random.below(10) {
            // Most look once and never come back.
            0..5 => {
                for _ in 0..1 + stage.random.below(3) {
                    let page = stage.site.home();
                    fetch(stage, &client, now, page, &none);
                    now += 1000 + stage.random.below(30_000);
                }
            }
            5..8 => {
                let count = 8 + stage.random.exponential(45.0) as usize;
                for page in piece(stage, now, Order::Sorted, count) {
                    fetch(stage, &client, now, page, &none);
                    now += 250 + stage.random.below(2500);
                }
            }
            _ => {
                // A job that runs at a fixed minute.
                let page = piece(stage, now, Order::Shuffled, 1)[0];
                let minute = stage.random.below(60) * MINUTE;
                for hour in 0..DAYS * 24 / 3 {
                    let at = hour * 3 * HOUR + minute + stage.random.below(2500);
                    stage.send(
                        &client,
                        at,
                        "GET",
                        &Rc::clone(&stage.site.page(page).target),
                        ok(15_200),
                        &none,
                    );
                }
            }
        }
    }
}

fn feed_readers(stage: &mut Stage) {
    for _ in 0..stage.about(60) {
        let agent = *stage.random.pick(&READERS);
        let client = program(stage, Label::Automated, "feed reader", agent);
        let feed = *stage.random.pick(&[
            "/feed/",
            "/feed/",
            "/feed/",
            "/comments/feed/",
            "/topic/sport/feed/",
        ]);
        let every = *stage.random.pick(&[30, 60, 60, 120, 240, 720]) * MINUTE;
        let mut now = stage.random.below(every);
        while now < END {
            let reply = if stage.random.chance(0.35) {
                ok(28_400)
            } else {
                answer(304, 0)
            };
            get(stage, &client, now, feed, reply);
            now += every + stage.random.below(20_000);
        }
    }
}

fn monitors(stage: &mut Stage) {
    for _ in 0..16 {
        let (agent, method, minutes) = *stage.random.pick(&MONITORS);
        let client = program(stage, Label::Automated, "monitor", agent);
        let (target, none): (Rc<str>, Rc<str>) = ("/".into(), Rc::clone(&stage.none));
        let mut now = stage.random.below(minutes * MINUTE);
        while now < END {
            stage.send(&client, now, method, &target, ok(24_310), &none);
            now += minutes * MINUTE + stage.random.below(900);
        }
    }
}

/// A page and its leading image, for a chat or a timeline; servers of the fediverse come all at once.
fn previews(stage: &mut Stage) {
    for _ in 0..stage.about(60) {
        let agent = *stage.random.pick(&PREVIEWS);
        let client = program(stage, Label::Automated, "link preview", agent);
        for _ in 0..1 + stage.random.below(3) {
            let now = early(stage);
            preview(stage, &client, now, None);
        }
    }
    let site = Rc::clone(&stage.site);
    let shared = *stage.random.pick(&site.hot);
    let posted = site.page(shared).published.max(0) as u64 + 10 * MINUTE;
    for number in 0..stage.about(45) {
        let agent = format!(
            "Mastodon/4.{}.{} (http.rb/5.2.0; +https://social{number}.example/) Bot",
            2 + number % 3,
            number % 9
        );
        let client = program(stage, Label::Automated, "fediverse preview", &agent);
        let at = posted + stage.random.exponential(40_000.0) as u64;
        preview(stage, &client, at, Some(shared));
    }
}

fn preview(stage: &mut Stage, client: &Client, at: u64, page: Option<usize>) {
    let site = Rc::clone(&stage.site);
    let page = page.unwrap_or_else(|| site.article(&mut stage.random, at));
    let none = Rc::clone(&stage.none);
    fetch(stage, client, at, page, &none);
    if let Some(image) = site.page(page).images.first() {
        let image = &site.assets[*image];
        get(stage, client, at + 600, &image.target, ok(image.bytes));
    }
}

/// Podcast players and the site's own app.
fn fetchers(stage: &mut Stage) {
    for _ in 0..stage.about(25) {
        let agent = *stage.random.pick(&[
            "Overcast/3.0 (+http://overcast.fm/; iOS podcast app)",
            "AntennaPod/3.8.0",
            "AppleCoreMedia/1.0.0.22G86 (iPhone; U; CPU OS 18_6 like Mac OS X; en_us)",
        ]);
        let client = program(stage, Label::Automated, "podcast fetcher", agent);
        for day in 0..DAYS {
            let now = of_day(stage, day);
            get(stage, &client, now, "/podcast/feed/", ok(18_100));
            if stage.random.chance(0.4) {
                get(
                    stage,
                    &client,
                    now + 2000,
                    &format!("/wp-content/uploads/podcast/episode-{}.mp3", 200 + day),
                    answer(206, 9_400_000),
                );
            }
        }
    }
    for _ in 0..stage.about(25) {
        let client = program(
            stage,
            Label::Automated,
            "app fetcher",
            "HafenblattApp/3.4.1 (Android 14) okhttp/4.12.0",
        );
        for day in 0..DAYS {
            for _ in 0..1 + stage.random.below(4) {
                let now = of_day(stage, day);
                get(
                    stage,
                    &client,
                    now,
                    "/wp-json/wp/v2/posts?per_page=20&_embed=1",
                    ok(61_000),
                );
                let number = 9_000 + stage.random.below(800);
                get(
                    stage,
                    &client,
                    now + 2500,
                    &format!("/wp-json/wp/v2/posts/{number}"),
                    ok(11_000),
                );
            }
        }
    }
}

/// Certificates, the site's own alarm clock, and those who count the internet.
fn housekeeping(stage: &mut Stage) {
    let found: Answer = ok(87);
    let (day, token) = (stage.random.below(DAYS), stage.random.bits());
    let moment = of_day(stage, day);
    for _ in 0..5 {
        let client = program(
            stage,
            Label::Automated,
            "certificate check",
            "Mozilla/5.0 (compatible; Let's Encrypt validation server; +https://www.letsencrypt.org)",
        );
        let at = moment + stage.random.below(2500);
        get(
            stage,
            &client,
            at,
            &format!("/.well-known/acme-challenge/{token:016x}"),
            found,
        );
    }
    let client = program(
        stage,
        Label::Automated,
        "loopback",
        &format!("WordPress/6.8.3; {ORIGIN}"),
    );
    let (mut now, none) = (0, Rc::clone(&stage.none));
    while now < END {
        let seconds = u64::from(stage.calendar.start) + now / 1000;
        let target: Rc<str> = format!(
            "/wp-cron.php?doing_wp_cron={seconds}.{:06}",
            stage.random.below(1_000_000)
        )
        .into();
        stage.send(&client, now, "POST", &target, ok(0), &none);
        now += MINUTE + stage.pause(110.0);
    }
    for _ in 0..stage.about(20) {
        let agent = *stage.random.pick(&[
            "Mozilla/5.0 zgrab/0.x",
            "Mozilla/5.0 (compatible; CensysInspect/1.1; +https://about.censys.io/)",
            "Expanse, a Palo Alto Networks company, searches across the global IPv4 space multiple times per day",
            "Mozilla/5.0 (compatible; InternetMeasurement/1.0; +https://internet-measurement.com/)",
        ]);
        let client = program(stage, Label::Unauthorized, "internet survey", agent);
        for _ in 0..1 + stage.random.below(3) {
            let now = early(stage);
            get(stage, &client, now, "/", ok(24_310));
        }
    }
}
