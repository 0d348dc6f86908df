//! Programs that people copy sites with, unchanged: what they get, with traps and without.

use std::fs;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use crate::browser::Chromium;
use crate::containment::PAGES;
use crate::containment::leaked;
use crate::containment::site;
use crate::harness::Gate;
use crate::harness::Wanted;
use crate::harness::say;
use crate::skip::has;

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

fn gate(origin: &crate::harness::Origin, links: &str) -> Gate {
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
