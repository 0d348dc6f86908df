//! Who comes: where from, with which manners, and when.

use crate::plan::Plan;
use crate::random::Random;

/// What an actor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// People.
    User,
    /// A search engine and the like, as it says.
    Legitimate,
    /// A program that names itself and was not asked.
    Unauthorized,
    /// A crawler under a browser's agent.
    Masquerading,
    /// No person, but no crawler: monitors, mail proxies, feed readers.
    Automated,
}

impl Label {
    /// The name in labels.
    pub fn name(self) -> &'static str {
        match self {
            Label::User => "user",
            Label::Legitimate => "legitimate",
            Label::Unauthorized => "unauthorized",
            Label::Masquerading => "masquerading",
            Label::Automated => "automated",
        }
    }
}

/// The `Referer` header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Referrer {
    /// Never one.
    Empty,
    /// Always the site's directory.
    Listing,
    /// The page before, with this share of empty ones.
    Page(f64),
}

/// The session cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cookie {
    /// A new session for each request: cookies are ignored.
    Never,
    /// One session for so many requests.
    Requests(u32),
    /// One session for so many seconds.
    Seconds(u32),
}

/// How requests look.
#[derive(Debug, Clone)]
pub struct Manners {
    /// User agents: people behind one address have many.
    pub agents: Vec<&'static str>,
    /// Share of visitors, or of a crawler's requests, that come under the first agent whatever the others do.
    pub dominating: f64,
    /// The row of the paper's Table 13 that they follow.
    pub evasion: Option<u8>,
    /// The referrer.
    pub referrer: Referrer,
    /// The cookie.
    pub cookie: Cookie,
    /// Share of requests that end in an error.
    pub errors: f64,
    /// Share of pages that were seen before.
    pub revisits: f64,
    /// Share of pages in the order of their names.
    pub ordered: f64,
    /// Share of pages with a query.
    pub queries: f64,
    /// Style sheets, scripts and images for each page.
    pub parts: u32,
    /// Requests are spread evenly over the half hour.
    pub even: bool,
}

/// One source of requests.
#[derive(Debug, Clone)]
pub struct Actor {
    /// IPv4 address.
    pub address: u32,
    /// What it is.
    pub label: Label,
    /// The campaign it belongs to.
    pub campaign: Option<String>,
    /// What decides when it comes.
    pub habit: &'static str,
    /// How its requests look.
    pub manners: Manners,
    /// When it comes; a university may have people and a crawler.
    pub plans: Vec<Plan>,
    /// Requests of each half hour.
    pub counts: Vec<u32>,
}

impl Actor {
    /// Draws its requests.
    pub fn draw(&mut self, bins: usize, random: &mut Random) {
        self.counts = vec![0; bins];
        for plan in &self.plans {
            plan.draw(random, &mut self.counts);
        }
    }
}

/// Agents of browsers, as people have them.
pub(crate) const BROWSERS: [&str; 14] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (iPad; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36",
];

/// True for an agent that people have.
pub fn is_common(agent: &str) -> bool {
    BROWSERS.contains(&agent)
}

impl Manners {
    /// People: many browsers, links that are followed, sessions that last.
    pub(crate) fn people(random: &mut Random, parts: u32) -> Manners {
        let browsers = 3 + random.below(BROWSERS.len() as u64 - 3) as usize;
        let start = random.below(BROWSERS.len() as u64) as usize;
        Manners {
            agents: BROWSERS
                .iter()
                .copied()
                .cycle()
                .skip(start)
                .take(browsers)
                .collect(),
            dominating: 0.0,
            evasion: None,
            referrer: Referrer::Page(random.between(0.05, 0.3)),
            cookie: Cookie::Requests(random.between(8.0, 40.0) as u32),
            errors: random.between(0.002, 0.02),
            revisits: random.between(0.2, 0.5),
            ordered: 0.0,
            queries: random.between(0.1, 0.35),
            parts,
            even: false,
        }
    }

    /// A program that takes no care: no referrer, no cookie, page after page.
    pub(crate) fn plain_robot(agent: &'static str, random: &mut Random) -> Manners {
        Manners {
            agents: vec![agent],
            dominating: 0.0,
            evasion: None,
            referrer: Referrer::Empty,
            cookie: Cookie::Never,
            errors: random.between(0.0, 0.06),
            revisits: random.between(0.0, 0.08),
            ordered: if random.chance(0.5) {
                random.between(0.5, 1.0)
            } else {
                0.0
            },
            queries: random.between(0.0, 0.06),
            parts: 0,
            even: random.chance(0.5),
        }
    }

    /// A search engine: comes again to see what changed.
    pub(crate) fn search_engine(agent: &'static str, random: &mut Random) -> Manners {
        Manners {
            errors: random.between(0.005, 0.05),
            revisits: random.between(0.02, 0.25),
            ordered: 0.0,
            queries: random.between(0.0, 0.2),
            ..Manners::plain_robot(agent, random)
        }
    }

    /// One of the evasions of the paper's Table 13, by its row from 2 to 7, under a browser's agent.
    pub(crate) fn evasion(row: usize, agent: &'static str, random: &mut Random) -> Manners {
        let (referrer, cookie, revisits, errors) = match row {
            2 => (Referrer::Empty, Cookie::Never, 0.013, 0.014),
            3 => (Referrer::Empty, Cookie::Never, 0.0, 0.004),
            4 => (Referrer::Listing, Cookie::Never, 0.002, 0.002),
            5 => (Referrer::Listing, Cookie::Never, 0.001, 0.003),
            6 => (Referrer::Empty, Cookie::Requests(3), 0.117, 0.033),
            _ => (Referrer::Page(0.016), Cookie::Requests(100), 0.293, 0.003),
        };
        Manners {
            agents: vec![agent],
            dominating: 0.0,
            evasion: Some(row.clamp(2, 7) as u8),
            referrer,
            cookie,
            errors,
            revisits,
            ordered: if row < 6 {
                random.between(0.0, 0.9)
            } else {
                0.0
            },
            queries: random.between(0.0, 0.1),
            parts: 0,
            even: random.chance(0.3),
        }
    }
}
