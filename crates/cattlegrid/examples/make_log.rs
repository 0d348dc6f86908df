//! Writes an access log of an imaginary shop: `make_log LINES [SEED]`. One seed, one byte sequence.
//!
//! The example in `examples/access.log`, the tests and the instruction benchmark are made with it. Addresses come from
//! the documentation ranges. It is a log to try the program on, not evidence of how well it detects.

use std::fmt::Write;

/// Monday, 2030-01-07 00:00 UTC.
const START: u64 = 1_893_974_400;
const DAYS: u64 = 5;
const SITE: &str = "https://shop.example.com";
const BROWSERS: [&str; 5] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36",
];
const PROBES: [&str; 6] = [
    "/.env",
    "/wp-login.php",
    "/.git/config",
    "/phpmyadmin/",
    "/old/backup",
    "/admin/setup",
];

/// xorshift64*: small, and the same everywhere.
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }
}

/// Requests with their time, sorted by it in the end.
struct Log {
    random: Random,
    lines: Vec<(u64, String)>,
}

impl Log {
    fn add(
        &mut self,
        client: &str,
        second: u64,
        target: &str,
        status: u16,
        referrer: &str,
        agent: &str,
    ) {
        let second = second.min(DAYS * 86_400 - 1);
        let (day, rest) = (7 + second / 86_400, second % 86_400);
        let (hour, minute, second_of) = (rest / 3600, rest / 60 % 60, rest % 60);
        let bytes = 400 + self.random.below(40_000);
        let mut line = String::new();
        let _ = write!(
            line,
            "{client} - - [{day:02}/Jan/2030:{hour:02}:{minute:02}:{second_of:02} +0000] \"GET {target} HTTP/1.1\" {status} {bytes} \"{referrer}\" \"{agent}\""
        );
        self.lines.push((START + second, line));
    }

    /// A time of day when people are awake.
    fn waking(&mut self) -> u64 {
        let hour = 7 + (self.random.below(16) + self.random.below(16)) / 2;
        self.random.below(DAYS) * 86_400 + hour * 3600 + self.random.below(3600)
    }

    fn product(&mut self) -> String {
        // Some products are wanted far more than others.
        let spread = 1 + self.random.below(800);
        format!("/product/{}", 1000 + self.random.below(spread))
    }

    /// Somebody comes, looks around and goes.
    fn visit(&mut self, client: &str, agent: &str) {
        let mut second = self.waking();
        let mut page = "/".to_owned();
        let mut referrer =
            ["-", "https://search.example.net/"][self.random.below(2) as usize].to_owned();
        for _ in 0..2 + self.random.below(12) {
            let status = if self.random.below(60) == 0 { 404 } else { 200 };
            self.add(client, second, &page, status, &referrer, agent);
            let here = format!("{SITE}{page}");
            for asset in ["/static/main.css", "/static/app.js", "/img/logo.webp"] {
                self.add(client, second + 1, asset, 200, &here, agent);
            }
            second += 8 + self.random.below(90);
            referrer = here;
            page = match self.random.below(8) {
                0 => "/".to_owned(),
                1 | 2 => format!("/search?q=lamp&page={}", 1 + self.random.below(4)),
                3 => format!(
                    "/category/garden?sort=price&page={}",
                    1 + self.random.below(3)
                ),
                4 => "/cart".to_owned(),
                _ => self.product(),
            };
        }
    }
}

/// The log's lines.
pub fn make(lines: usize, seed: u64) -> Vec<String> {
    let mut log = Log {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        lines: Vec::new(),
    };
    people(&mut log, lines * 6 / 10);
    crawlers(&mut log, lines * 9 / 10);
    while log.lines.len() < lines {
        // One-time visitors, most of them from addresses of their own.
        let client = format!(
            "2001:db8:{:x}:{:x}::1",
            log.random.below(65_536),
            log.random.below(65_536)
        );
        let (second, product) = (log.waking(), log.product());
        let agent = BROWSERS[log.random.below(5) as usize];
        log.add(
            &client,
            second,
            &product,
            200,
            "https://search.example.net/",
            agent,
        );
    }
    log.lines.truncate(lines);
    log.lines.sort_by_key(|(time, _)| *time);
    log.lines.into_iter().map(|(_, line)| line).collect()
}

fn people(log: &mut Log, until: usize) {
    let mut person = 0;
    while log.lines.len() < until {
        let client = match person % 4 {
            0 => format!("192.0.2.{}", log.random.below(254) + 1),
            1 => format!("2001:db8:0:{:x}::7", log.random.below(4000)),
            _ => format!("198.51.100.{}", log.random.below(200) + 1),
        };
        // An address keeps its browser; the last one is a gateway with many people behind it.
        let agent = BROWSERS[client.bytes().map(u64::from).sum::<u64>() as usize % 5];
        log.visit(&client, agent);
        if person % 5 == 0 {
            let agent = BROWSERS[log.random.below(5) as usize];
            log.visit("198.51.100.250", agent);
        }
        person += 1;
    }
}

fn crawlers(log: &mut Log, until: usize) {
    let mut step = 0;
    while log.lines.len() < until {
        let second = step * 97 % (DAYS * 86_400);
        // One that says who it is, one that walks through all products under a browser's name, a scanner, a monitor.
        let (searched, status) = (
            log.product(),
            if log.random.below(20) == 0 { 404 } else { 200 },
        );
        log.add(
            "203.0.113.10",
            second,
            &searched,
            status,
            "-",
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        );
        log.add(
            "203.0.113.66",
            second + 3,
            &format!("/product/{}", 1000 + step),
            200,
            "-",
            BROWSERS[0],
        );
        if step % 4 == 0 {
            let probe = PROBES[log.random.below(6) as usize];
            log.add(
                "203.0.113.99",
                second + 5,
                &format!("{probe}?v={step}"),
                404,
                "-",
                BROWSERS[4],
            );
            log.add(
                "203.0.113.20",
                second + 9,
                "/",
                200,
                "-",
                "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
            );
        }
        step += 1;
    }
}

#[allow(
    clippy::print_stdout,
    reason = "printing the log is what this example is for"
)]
#[allow(dead_code, reason = "tests include this file as a module")]
fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse::<u64>().ok());
    let (lines, seed) = (
        arguments.next().unwrap_or(3000),
        arguments.next().unwrap_or(1),
    );
    let mut text = make(lines as usize, seed).join("\n");
    text.push('\n');
    print!("{text}");
}
