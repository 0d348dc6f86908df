//! Programs of the mid-size world that want in, or want their advertisements in: scans, guessed passwords, spam. Single and spread.

use std::rc::Rc;

use super::agents;
use super::clock::DAY;
use super::clock::HOUR;
use super::robots::early;
use super::robots::fetch;
use super::robots::get;
use super::robots::modern_protocol;
use super::robots::program;
use super::scrapers::scraper;
use super::site::ORIGIN;
use super::site::Section;
use super::stage::Client;
use super::stage::Net;
use super::stage::Stage;
use super::stage::answer;
use super::stage::ok;
use crate::actor::Label;

const WEAK_SPOTS: [&str; 36] = [
    "/.env",
    "/.env.bak",
    "/.env.production",
    "/api/.env",
    "/.git/config",
    "/.git/HEAD",
    "/wp-config.php.bak",
    "/wp-config.php~",
    "/wp-config.old",
    "/wp-config.txt",
    "/phpmyadmin/index.php",
    "/pma/",
    "/phpMyAdmin/",
    "/adminer.php",
    "/xmlrpc.php",
    "/wp-content/debug.log",
    "/backup.zip",
    "/backup.sql",
    "/dump.sql",
    "/shell.php",
    "/alfa.php",
    "/wso.php",
    "/c99.php",
    "/wp-content/plugins/hellopress/wp_filemanager.php",
    "/wp-includes/wlwmanifest.xml",
    "/wp-json/wp/v2/users",
    "/?author=1",
    "/server-status",
    "/phpinfo.php",
    "/info.php",
    "/.aws/credentials",
    "/.vscode/sftp.json",
    "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
    "/cgi-bin/luci/;stok=/locale",
    "/actuator/health",
    "/wp-admin/install.php",
];

/// Single attackers.
pub(super) fn play(stage: &mut Stage) {
    type Part = fn(&mut Stage);
    let parts: [(u32, Part); 6] = [
        (75, hidden_scan),
        (35, named_scan),
        (24, login_guess),
        (12, xmlrpc_guess),
        (36, comment_spam),
        (20, contact_spam),
    ];
    for (count, part) in parts {
        for _ in 0..stage.about(count) {
            part(stage);
        }
    }
}

/// Attacks that many addresses share.
pub(super) fn play_spread(stage: &mut Stage) {
    for _ in 0..stage.about(300) {
        spread_login(stage);
    }
    let wave = stage.random.below(2) * DAY;
    for _ in 0..stage.about(100) {
        let client = member(stage, "spread comment spam", "comment-spam");
        let at = wave + stage.random.below(3 * DAY);
        for number in 0..1 + stage.random.below(4) {
            let then = at + number * stage.random.below(2 * HOUR);
            post_comment(stage, &client, then);
        }
    }
    for _ in 0..stage.about(60) {
        let client = member(stage, "spread contact spam", "contact-spam");
        let at = DAY + stage.random.below(3 * DAY);
        for number in 0..1 + stage.random.below(3) {
            let then = at + number * stage.random.below(5 * HOUR);
            post_contact(stage, &client, then);
        }
    }
}

fn member(stage: &mut Stage, kind: &'static str, campaign: &str) -> Client {
    let net = if stage.random.chance(0.6) {
        Net::Home
    } else {
        Net::Hosting
    };
    let source = stage.member(kind, campaign, net);
    let agent = agents::copied(&mut stage.random);
    let protocol = modern_protocol(stage);
    Client {
        source,
        agent,
        protocol,
    }
}

fn hidden_scan(stage: &mut Stage) {
    let client = scraper(stage, "weak spot scan");
    scan(stage, &client);
}

fn named_scan(stage: &mut Stage) {
    let agent = *stage.random.pick(&[
        "python-requests/2.27.1",
        "Go-http-client/1.1",
        "curl/7.81.0",
        "",
        "l9explore/1.2.2",
        "Nuclei - Open-source project (github.com/projectdiscovery/nuclei)",
    ]);
    let client = program(stage, Label::Unauthorized, "named weak spot scan", agent);
    scan(stage, &client);
}

/// A few probes; some look at the front page first, as a visitor would.
fn scan(stage: &mut Stage, client: &Client) {
    let mut now = early(stage);
    if stage.random.chance(0.35) {
        get(stage, client, now, "/", ok(24_310));
        now += 900 + stage.random.below(4000);
    }
    let quick = stage.random.chance(0.7);
    for _ in 0..1 + stage.random.exponential(6.0) as u64 {
        let target = *stage.random.pick(&WEAK_SPOTS);
        let reply = match target {
            "/xmlrpc.php" => answer(405, 42),
            "/wp-json/wp/v2/users" => answer(401, 110),
            "/?author=1" => answer(301, 0),
            "/wp-includes/wlwmanifest.xml" => ok(1_045),
            spot if spot.starts_with("/.") => answer(403, 146),
            _ => answer(404, 9_120),
        };
        get(stage, client, now, target, reply);
        now += if quick {
            100 + stage.random.below(1500)
        } else {
            stage.pause(900.0)
        };
    }
}

fn post(
    stage: &mut Stage,
    client: &Client,
    at: u64,
    target: &str,
    reply: (u16, u32),
    referrer: &Rc<str>,
) {
    stage.send(
        client,
        at,
        "POST",
        &target.into(),
        answer(reply.0, reply.1),
        referrer,
    );
}

fn login_guess(stage: &mut Stage) {
    let client = scraper(stage, "login guess");
    let (mut now, gap) = (early(stage), stage.random.between(0.6, 20.0));
    let referrer: Rc<str> = if stage.random.chance(0.5) {
        format!("{ORIGIN}/wp-login.php").into()
    } else {
        "".into()
    };
    get(stage, &client, now, "/wp-login.php", ok(3_210));
    for _ in 0..25 + stage.random.exponential(120.0) as u64 {
        now += 300 + stage.pause(gap);
        post(
            stage,
            &client,
            now,
            "/wp-login.php",
            (200, 4_100),
            &referrer,
        );
    }
}

fn xmlrpc_guess(stage: &mut Stage) {
    let client = scraper(stage, "xmlrpc guess");
    let (mut now, none) = (early(stage), Rc::clone(&stage.none));
    for _ in 0..10 + stage.random.exponential(80.0) as u64 {
        now += 500 + stage.pause(4.0);
        post(stage, &client, now, "/xmlrpc.php", (200, 403), &none);
    }
}

/// Too few from each address for a lock to close.
fn spread_login(stage: &mut Stage) {
    let client = member(stage, "spread login", "login-spread");
    let mut now = DAY / 2 + stage.random.below(4 * DAY);
    let login: Rc<str> = format!("{ORIGIN}/wp-login.php").into();
    let careful = stage.random.chance(0.5);
    let referrer = if stage.random.chance(0.6) {
        login
    } else {
        Rc::clone(&stage.none)
    };
    for _ in 0..3 + stage.random.below(13) {
        if careful {
            get(stage, &client, now, "/wp-login.php", ok(3_210));
            now += 900 + stage.random.below(2500);
        }
        post(
            stage,
            &client,
            now,
            "/wp-login.php",
            (200, 4_100),
            &referrer,
        );
        now += 2000 + stage.pause(140.0);
    }
}

/// The form first, or straight to its target.
fn post_comment(stage: &mut Stage, client: &Client, at: u64) {
    let site = Rc::clone(&stage.site);
    let article = *stage.random.pick(&site.evergreen);
    let url = Rc::clone(&site.page(article).url);
    let mut now = at;
    if stage.random.chance(0.6) {
        let referrer = if stage.random.chance(0.5) {
            Rc::clone(&url)
        } else {
            Rc::clone(&stage.none)
        };
        fetch(stage, client, now, article, &referrer);
        now += 900 + stage.random.below(9000);
    }
    let status = if stage.random.chance(0.7) { 302 } else { 403 };
    post(
        stage,
        client,
        now,
        "/wp-comments-post.php",
        (status, 0),
        &url,
    );
}

fn post_contact(stage: &mut Stage, client: &Client, at: u64) {
    let contact = stage.site.section(Section::Contact)[0];
    let url = Rc::clone(&stage.site.page(contact).url);
    let mut now = at;
    if stage.random.chance(0.7) {
        let none = Rc::clone(&stage.none);
        fetch(stage, client, now, contact, &none);
        now += 1500 + stage.random.below(12_000);
    }
    post(stage, client, now, "/contact/", (200, 8_300), &url);
}

fn comment_spam(stage: &mut Stage) {
    let client = scraper(stage, "comment spam");
    let mut now = early(stage);
    for _ in 0..4 + stage.random.exponential(22.0) as u64 {
        post_comment(stage, &client, now);
        now += 12_000 + stage.pause(90.0);
    }
}

fn contact_spam(stage: &mut Stage) {
    let client = scraper(stage, "contact spam");
    let mut now = early(stage);
    for _ in 0..2 + stage.random.exponential(6.0) as u64 {
        post_contact(stage, &client, now);
        now += 20_000 + stage.pause(2400.0);
    }
}
