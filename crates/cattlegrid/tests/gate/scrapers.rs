//! Programs that people copy sites with, unchanged: what they get, with traps and without.

use std::fs;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use crate::browser::Chromium;
use crate::containment::PAGES;
use crate::containment::leaked;
use crate::containment::site;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::say;
use crate::harness::watched;
use crate::skip::has;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// A spider that follows every link, also of pages that refuse it, for some seconds.
const SPIDER: &str = r#"
import scrapy

class Spider(scrapy.Spider):
    name = "spider"
    custom_settings = {
        "ROBOTSTXT_OBEY": False, "HTTPERROR_ALLOW_ALL": True, "RETRY_ENABLED": False, "LOG_ENABLED": False,
        "CLOSESPIDER_TIMEOUT": 8, "TELNETCONSOLE_ENABLED": False,
        "USER_AGENT": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    }

    def start_requests(self):
        yield self.request(self.base)

    def request(self, url):
        return scrapy.Request(url, meta={"bindaddress": (self.source, 0)})

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            if link.startswith("/"):
                yield self.request(response.urljoin(link))
"#;

fn gate(origin: &Origin, links: &str) -> Gate {
    Gate::with(
        origin,
        Wanted {
            parts: format!("[gate.traps]\nlinks = \"{links}\"\ndelay_seconds = 0.5\n"),
            ..Wanted::default()
        },
    )
}

fn trap_pages(gate: &Gate) -> usize {
    gate.metric("cattlegrid_trap_pages_total").unwrap_or(0.0) as usize
}

#[test]
fn scrapy_gets_what_an_unknown_source_may_have() {
    if !has("scrapy", 2) {
        return;
    }
    for (links, source) in [("never", "127.0.57.1"), ("always", "127.0.57.2")] {
        let origin = site();
        let gate = gate(&origin, links);
        let folder = tempfile::tempdir().unwrap();
        let spider = folder.path().join("spider.py");
        fs::write(&spider, SPIDER).unwrap();
        let began = Instant::now();
        let status = Command::new("scrapy")
            .arg("runspider")
            .arg(&spider)
            .args(["-a", &format!("source={source}")])
            .args(["-a", &format!("base=http://{}/", gate.address)])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "scrapy: {status}");
        let (leaked, trapped) = (leaked(&origin, source), trap_pages(&gate));
        say(&format!(
            "Scrapy, trap links {links}: {leaked} of {PAGES} pages and {trapped} of the maze in {:.1} s",
            began.elapsed().as_secs_f64()
        ));
        assert!((1..=20).contains(&leaked), "{leaked}");
        assert_eq!(trapped > 0, links == "always");
    }
}

/// Follows links with a real browser for a while, also those that nobody sees; gives the pages of the site it has seen.
fn crawl(chromium: &Chromium, gate: &Gate, seconds: u64) -> usize {
    let (mut seen, mut next) = (Vec::new(), vec!["/".to_owned()]);
    let began = Instant::now();
    let mut shown = 0;
    while began.elapsed() < Duration::from_secs(seconds) && !next.is_empty() {
        let path = next.remove(0);
        if seen.contains(&path) {
            continue;
        }
        chromium.open(gate.address, &path);
        seen.push(path.clone());
        // A challenge leads back to the page when it is solved.
        let deadline = Instant::now() + Duration::from_secs(8);
        let is_shown = || {
            chromium
                .text("document.body.innerText")
                .contains("you asked for")
        };
        let is_denied = || {
            chromium
                .text("document.documentElement.innerHTML")
                .contains("data-token")
        };
        while !is_shown() && is_denied() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        shown += usize::from(is_shown());
        let links =
            chromium.text("Array.from(document.links).map(link => link.pathname).join(' ')");
        next.extend(
            links
                .split(' ')
                .filter(|link| !link.is_empty())
                .map(str::to_owned),
        );
    }
    shown
}

#[test]
fn a_browser_that_is_driven_by_a_program_pays_for_its_pages() {
    for links in ["never", "always"] {
        let origin = site();
        let gate = gate(&origin, links);
        let Some(chromium) = Chromium::start("en") else {
            return;
        };
        let shown = crawl(&chromium, &gate, 8);
        let solved = gate.metric("cattlegrid_solved_total").unwrap_or(0.0);
        say(&format!(
            "Chromium driven by a program, trap links {links}: {shown} pages in 8 s, {solved} challenges solved, {} pages of the maze",
            trap_pages(&gate)
        ));
        assert!((1..PAGES).contains(&shown), "{shown}");
    }
}

/// Requests of a program that has a browser's cookie.
const REQUESTS: usize = 10_000;
const K1: usize = 20;
const CLEARANCE_PAGES: usize = 500;

/// A program with the clearance, the agent and the header fields of a real browser that has just solved a challenge.
fn with_a_browsers_cookie(chromium: &Chromium, gate: &Gate, origin: &Origin) -> Browser {
    for page in 0..=K1 {
        let path = format!("/page/{page}");
        chromium.open(gate.address, &path);
        chromium.wait_for_page(&path);
    }
    assert_eq!(gate.metric("cattlegrid_solved_total"), Some(1.0));
    let command = json!({"cmd": "Network.getAllCookies", "params": {}});
    let kept = chromium.post("/goog/cdp/execute", &command);
    let mut thief = Browser::new("127.0.0.1", gate.address);
    for cookie in kept["cookies"].as_array().unwrap() {
        let text = |name: &str| cookie[name].as_str().unwrap().to_owned();
        thief.cookies.insert(text("name"), text("value"));
    }
    let last = format!("/page/{K1}");
    let seen = origin.got().into_iter().find(|got| got.target() == last);
    let head = seen.unwrap().head;
    let fields = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "));
    let is_of_browser = |name: &str| {
        let name = name.to_ascii_lowercase();
        let by_gate = [
            "host",
            "connection",
            "cookie",
            "via",
            "x-real-ip",
            "forwarded",
        ];
        !by_gate.contains(&name.as_str()) && !name.starts_with("x-forwarded-")
    };
    for (name, value) in fields.filter(|(name, _)| is_of_browser(name)) {
        thief.headers.push((name.to_owned(), value.to_owned()));
    }
    let host = gate.address.to_string();
    thief.with("Host", &host)
}

/// What became of many requests.
#[derive(Debug, Default)]
struct Taken {
    passed: usize,
    too_fast: usize,
    challenged: usize,
    took: Duration,
}

/// Asks for pages as fast as it can, a minute at most. Every answer is a page, a challenge, or says that it was too fast.
fn take(thief: &mut Browser, requests: usize) -> Taken {
    let mut taken = Taken::default();
    let began = Instant::now();
    for number in 0..requests {
        let answer = thief.get(&format!("/taken/{number}"));
        match answer.status {
            200 => taken.passed += 1,
            429 => taken.too_fast += 1,
            403 if Puzzle::of(&answer.text()).is_some() => taken.challenged += 1,
            status => panic!("{status}: {}", answer.text()),
        }
        taken.took = began.elapsed();
        if taken.took > Duration::from_secs(60) {
            break;
        }
    }
    taken
}

/// The same with the cookie of a new browser, at a gate with these lines.
fn taken_with_a_browsers_cookie(without: &str, policy: &str, requests: usize) -> Option<Taken> {
    let chromium = Chromium::start("en")?;
    let origin = Origin::answering(Box::new(|got| {
        let text = format!("<!doctype html><title>the site</title>{}", got.target());
        Some(page(&text))
    }));
    let mut gate = Gate::set(&origin, without, policy);
    let mut thief = with_a_browsers_cookie(&chromium, &gate, &origin);
    let mut taken = Taken::default();
    watched(&mut gate, |_| taken = take(&mut thief, requests));
    say(&format!(
        "{requests} requests with the cookie of Chromium, {policy:?} {without:?}: {taken:?}"
    ));
    assert_eq!(gate.metric("cattlegrid_solved_total"), Some(1.0));
    Some(taken)
}

#[test]
fn h102_the_cookie_of_a_real_browser_buys_no_more_than_its_pages() {
    let Some(taken) = taken_with_a_browsers_cookie("", "", REQUESTS) else {
        return;
    };
    assert!(taken.passed <= K1 + CLEARANCE_PAGES, "{taken:?}");
    // By its pace alone it is kept to far less: forty at once, and two a second.
    let most = 40 + 2 * (taken.took.as_secs() as usize + 2);
    assert!(taken.passed <= most && taken.too_fast > 0, "{taken:?}");
    // Where nobody is too fast there are the pages of its clearance, and then challenges.
    let fast = "[policy]\nclearance_rate = 1000.0\nclearance_burst = 10000\n";
    let taken = taken_with_a_browsers_cookie("", fast, REQUESTS).unwrap();
    assert!((1..=CLEARANCE_PAGES).contains(&taken.passed), "{taken:?}");
    assert_eq!(taken.too_fast, 0, "{taken:?}");
    let unlimited = taken_with_a_browsers_cookie("without = [\"budget\"]", "", 1_000).unwrap();
    assert_eq!(unlimited.passed, 1_000);
}
