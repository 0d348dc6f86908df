//! What crawlers get in a day of the policy, with the limits that are shipped: the table in docs/gate.md.

use std::time::Duration;
use std::time::Instant;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::say;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// A proxy that names its clients: crawlers come from addresses that can be denied.
const PROXY: &str = "127.0.0.78";
/// The gate's clock is this much faster, so that a cleared client's rate of two pages a second lets a thousand pass in half a minute. What
/// a crawler gets between crossing k2 and its denial is as much too large.
const SPEED: u32 = 20;

fn gate(origin: &Origin) -> Gate {
    Gate::with(
        origin,
        Wanted {
            gate: format!(
                "trusted_proxies = [\"{PROXY}\"]\nclock = {{ start = 1893456000, speed = {SPEED} }}\n"
            ),
            parts: "[gate.challenge]\nbits = 4\n".to_owned(),
            ..Wanted::default()
        },
    )
}

/// A site whose pages have style sheets and pictures.
fn site() -> Origin {
    Origin::answering(Box::new(|got| {
        let part = |kind: &str| {
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 2\r\n\r\nok")
                .into_bytes()
        };
        Some(match got.target() {
            target if target.ends_with(".css") => part("text/css"),
            target if target.ends_with(".png") => part("image/png"),
            target => page(target),
        })
    }))
}

/// People who read some pages each, as browsers do: without any a crawler stands out by nothing.
fn people(gate: &Gate) {
    for number in 0..40 {
        let mut person = client(gate, &format!("198.18.{}.77", 210 + number));
        let mut before = "https://search.example/".to_owned();
        for read in 0..6 {
            let path = format!("/read/{}", (number * 5 + read * read) % 60);
            let referrer = ("Referer", before.as_str());
            assert_eq!(person.send("GET", &path, &[referrer], "").status, 200);
            before = format!("http://www.example.org{path}");
            for part in ["/style.css", "/logo.png"] {
                let headers = [("Accept", "*/*"), ("Referer", before.as_str())];
                person.send("GET", part, &headers, "");
            }
        }
    }
}

fn client(gate: &Gate, address: &str) -> Browser {
    Browser::new(PROXY, gate.address).with("X-Forwarded-For", address)
}

/// A crawler that solves nothing: pages among so many requests.
fn plain(gate: &Gate, address: &str, requests: usize) -> usize {
    let mut crawler = client(gate, address);
    crawler.keeps_cookies = false;
    let pages = (0..requests).map(|page| crawler.get(&format!("/page/{page}")).status);
    pages.filter(|status| *status == 200).count()
}

/// A crawler that solves every challenge and waits when it is told to, until it is denied.
fn solver(gate: &Gate, address: &str) -> usize {
    let mut crawler = client(gate, address);
    let deadline = Instant::now() + Duration::from_secs(240);
    let mut got = 0;
    for page in 0.. {
        assert!(Instant::now() < deadline, "never denied: {got} pages");
        let answer = crawler.get(&format!("/page/{page}"));
        match answer.status {
            200 => got += 1,
            429 => std::thread::sleep(Duration::from_millis(20)),
            _ if Puzzle::of(&answer.text()).is_some() => {
                if crawler.clear(&answer).is_err() {
                    break;
                }
            }
            _ => break,
        }
    }
    got
}

/// A crawler that earns clearances without loading pages and uses them from other networks, each until it is stopped.
fn hoarder(gate: &Gate, address: &str, clearances: usize) -> usize {
    let mut got = 0;
    for number in 0..clearances {
        let mut browser = client(gate, address);
        let challenge = browser.post("challenge", "token=none");
        if browser.clear(&challenge).is_err() {
            break;
        }
        browser.headers = vec![("X-Forwarded-For".to_owned(), format!("198.19.{number}.1"))];
        let pages = (0..200).take_while(|page| browser.get(&format!("/p/{page}")).status == 200);
        got += pages.count();
    }
    got
}

/// A crawler that fetches a style sheet with a referrer for each page, as browsers do, and solves nothing.
fn loads_parts(gate: &Gate, address: &str, requests: usize) -> usize {
    let mut crawler = client(gate, address);
    crawler.keeps_cookies = false;
    let mut got = 0;
    for page in 0..requests {
        // In no order that shows.
        let path = format!("/page/{}", page * 7919 % 10_007);
        got += usize::from(crawler.get(&path).status == 200);
        let _ = crawler.part("/style.css");
    }
    got
}

#[test]
fn pages_in_a_day_of_the_policy() {
    let origin = site();
    let gate = gate(&origin);
    people(&gate);
    let network: usize = (1..=200)
        .map(|host| plain(&gate, &format!("198.18.50.{host}"), 30))
        .sum();
    let networks: usize = (0..200)
        .map(|net| plain(&gate, &format!("198.18.{}.9", net + 55), 30))
        .sum();
    // The solver is denied when it is judged, which takes longer on a busy machine; its clearances bound what it gets until then.
    let rows = [
        (
            "one address, no challenge solved",
            plain(&gate, "198.18.1.1", 400),
            20,
        ),
        (
            "the same with style sheets and referrers",
            loads_parts(&gate, "198.18.2.1", 400),
            20,
        ),
        (
            "a solver that waits when told to",
            solver(&gate, "198.18.3.1"),
            4_500,
        ),
        (
            "100 clearances, used from other networks",
            hoarder(&gate, "198.18.4.1", 100),
            4_000,
        ),
        ("200 addresses of one /24", network, 1_000),
        ("200 networks", networks, 4_000),
    ];
    for (crawler, pages, most) in rows {
        say(&format!(
            "{crawler}: {pages} pages in a day, at most {most}"
        ));
        assert!(pages <= most, "{crawler}: {pages}");
    }
    // A person beside them loses nothing.
    let mut person = client(&gate, "198.18.251.7");
    for page in 0..60 {
        assert_eq!(person.open(&format!("/read/{page}")).status, 200, "{page}");
        std::thread::sleep(Duration::from_millis(30));
    }
    assert_eq!(person.solved, 1);
}
