//! Tools that copy sites, and people, before one gate: what the tools get away with, and whether people notice.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Gate;
use crate::harness::Got;
use crate::harness::NO_LIMITS;
use crate::harness::Origin;
use crate::harness::VICTIM;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::say;
use crate::harness::try_get_from;
use crate::harness::wait_for;
use crate::solve::Browser;
use crate::solve::Puzzle;

pub(crate) const PAGES: usize = 300;

/// A site of 300 pages that link to each other, whatever stands behind a page's number and whatever the method.
pub(crate) fn site() -> Origin {
    Origin::answering(Box::new(|got| Some(page(&linked(got)))))
}

fn number(target: &str) -> Option<usize> {
    let rest = target.strip_prefix("/page/")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn linked(got: &Got) -> String {
    let at = number(got.target()).unwrap_or(0);
    let mut text = format!("<title>{}</title><p>you asked for {}</p>", at, got.target());
    for next in [2 * at + 1, 2 * at + 2, at + 1] {
        if next <= PAGES {
            let _ = write!(text, "<a href=\"/page/{next}\">{next}</a> ");
        }
    }
    text
}

/// Pages of the site that an address got.
pub(crate) fn leaked(origin: &Origin, source: &str) -> usize {
    let got = origin.got();
    let of_source = got
        .iter()
        .filter(|got| got.values("x-real-ip") == [source.to_owned()]);
    let pages: BTreeSet<&str> = of_source.map(Got::target).collect();
    pages
        .iter()
        .filter(|target| number(target).is_some() || **target == "/")
        .count()
}

fn limits(policy: &str) -> Wanted {
    Wanted {
        parts: format!("[gate.challenge]\nbits = 4\n[policy]\n{policy}\n"),
        ..Wanted::default()
    }
}

fn run(command: &mut Command) {
    let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    // What they make of a refusal is their own business.
    done.unwrap();
}

#[test]
fn tools_that_copy_sites_get_what_an_unknown_source_may_have() {
    let origin = site();
    let mut gate = Gate::start(&origin);
    let folder = tempfile::tempdir().unwrap();
    let base = format!("http://{}", gate.address);
    withstands(&mut gate, |gate| {
        run(Command::new("curl")
            .args(["-s", "--interface", "127.0.50.1", "-o", "/dev/null"])
            .arg(format!("{base}/page/[1-300]")));
        run(Command::new("wget")
            .args(["--mirror", "-q", "-e", "robots=off", "--tries=1"])
            .args(["--bind-address=127.0.50.2", "-P"])
            .arg(folder.path())
            .arg(format!("{base}/")));
        crawl(gate, "127.0.50.3", "GET", "");
        for (tool, source) in [
            ("curl", "127.0.50.1"),
            ("wget --mirror", "127.0.50.2"),
            ("a crawler with a browser's headers", "127.0.50.3"),
        ] {
            let leaked = leaked(&origin, source);
            say(&format!("{tool}: {leaked} of {PAGES} pages"));
            must((1..=20).contains(&leaked), &format!("{tool}: {leaked}"))?;
        }
        Ok(())
    });
}

/// Follows links, as scripts do: no cookies, no scripts.
fn crawl(gate: &Gate, source: &str, method: &str, behind: &str) {
    let mut crawler = Browser::new(source, gate.address);
    crawler.keeps_cookies = false;
    let (mut todo, mut seen) = (vec![0], BTreeSet::from([0]));
    while let Some(at) = todo.pop() {
        let answer = crawler.send(method, &format!("/page/{at}{behind}"), &[], "");
        let text = answer.text();
        let links = text.split("href=\"/page/").skip(1);
        let links = links.filter_map(|rest| number(&format!("/page/{rest}")));
        let new: Vec<usize> = links.filter(|link| seen.insert(*link)).collect();
        todo.extend(new);
    }
}

#[test]
fn pages_that_are_asked_for_in_odd_ways_count_like_others() {
    let origin = site();
    let odd = |gate: &Gate| {
        crawl(gate, "127.0.50.4", "POST", "");
        crawl(gate, "127.0.50.5", "GET", "/style.css");
        let got = ["127.0.50.4", "127.0.50.5"].map(|source| leaked(&origin, source));
        origin.forget();
        say(&format!(
            "by POST and as /page/7/style.css: {got:?} of {PAGES} pages"
        ));
        got
    };
    let mut gate = Gate::start(&origin);
    withstands(&mut gate, |gate| {
        let got = odd(gate);
        must(got.iter().all(|pages| *pages <= 21), &format!("{got:?}"))
    });
    let gate = Gate::without(&origin, "pages_by_answer");
    assert!(odd(&gate).iter().all(|pages| *pages > 250));
}

#[test]
fn a_crawler_with_many_addresses_of_a_network_is_contained_as_one() {
    let origin = site();
    let mut gate = Gate::with(&origin, limits("network_pages = 200"));
    withstands(&mut gate, |gate| {
        let mut passed = 0;
        for at in 0..1000 {
            let source = format!("127.0.52.{}", 1 + at % 50);
            let path = format!("/page/{}", at % PAGES);
            let answer = try_get_from(&source, gate.address, &path, &[]);
            passed += usize::from(answer.map_err(|error| error.to_string())?.status == 200);
        }
        say(&format!(
            "50 addresses of one /24: {passed} of 1000 pages at network_pages = 200"
        ));
        must(passed == 200, &format!("{passed}"))
    });
}

/// A crawler that does all the work it is asked for. Gives the pages of each clearance and the bits of each challenge.
fn pays(gate: &Gate, source: &str) -> Result<(Vec<usize>, Vec<u32>), String> {
    let mut crawler = Browser::new(source, gate.address);
    let (mut clearances, mut bits) = (vec![0], Vec::new());
    for at in 0..PAGES {
        let answer = crawler.get(&format!("/page/{at}"));
        let Some(puzzle) = Puzzle::of(&answer.text()) else {
            *clearances.last_mut().ok_or("none")? += 1;
            continue;
        };
        bits.push(puzzle.bits);
        crawler.clear(&answer)?;
        clearances.push(0);
    }
    Ok((clearances, bits))
}

#[test]
fn h102_who_solves_challenges_pays_for_every_forty_pages_and_more_each_time() {
    let origin = site();
    let mut gate = Gate::with(
        &origin,
        limits("k1 = 5\nclearance_pages = 40\nclearance_burst = 1000"),
    );
    withstands(&mut gate, |gate| {
        let (clearances, bits) = pays(gate, "127.0.53.1")?;
        say(&format!(
            "pages of each clearance: {clearances:?}, bits of work: {bits:?}"
        ));
        must(clearances[0] == 5, "before the first")?;
        must(clearances[1..].iter().all(|pages| *pages <= 40), "budget")?;
        must(bits.is_sorted() && bits.len() > 5, "never less work")?;
        must(
            bits[bits.len() - 1] >= bits[0] + 5,
            "and far more at the end",
        )
    });
    let mut wanted = limits("k1 = 5\nclearance_pages = 40\nclearance_burst = 1000");
    wanted.gate = "without = [\"budget\"]".to_owned();
    let gate = Gate::with(&origin, wanted);
    let (clearances, _) = pays(&gate, "127.0.53.1").unwrap();
    assert!(clearances[1] > 40, "{clearances:?}");
}

/// Sends the same request from many connections at once, each several times; counts what passes.
fn at_once(gate: &Gate, source: &str, cookie: &str) -> usize {
    let passed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..24 {
            let passed = &passed;
            scope.spawn(move || {
                let mut sender = Browser::new(source, gate.address);
                for at in 0..15 {
                    let path = format!("/page/{}", 15 * thread + at);
                    let answer = sender.send("GET", &path, &[("Cookie", cookie)], "");
                    passed.fetch_add(usize::from(answer.status == 200), Ordering::Relaxed);
                }
            });
        }
    });
    passed.into_inner()
}

#[test]
fn h102_many_requests_at_once_get_no_more_than_one_after_the_other() {
    let origin = site();
    let gate = Gate::with(
        &origin,
        limits("k1 = 5\nclearance_pages = 40\nclearance_burst = 1000"),
    );
    assert_eq!(at_once(&gate, "127.0.53.2", "a=b"), 5, "without clearance");
    let mut crawler = Browser::new("127.0.53.2", gate.address);
    let challenge = crawler.get("/page/1");
    crawler.clear(&challenge).unwrap();
    assert_eq!(at_once(&gate, "127.0.53.2", &crawler.cookie()), 40);
    // A cookie that is shared by a fleet is one budget, and a small one.
    let challenge = crawler.get("/page/1");
    crawler.clear(&challenge).unwrap();
    let passed: usize = (0..4)
        .map(|network| {
            let source = format!("127.0.{}.9", 100 + network);
            // They use up what they may have as unknown sources first.
            at_once(&gate, &source, "a=b");
            at_once(&gate, &source, &crawler.cookie())
        })
        .sum();
    assert_eq!(passed, 5);
}

/// People behind a proxy that tells their addresses.
struct Person {
    browser: Browser,
    addresses: Vec<String>,
    asked: usize,
    bits: Vec<u32>,
    /// Parts of pages that came for few pages, while another behind the same address asked for one too many.
    parts_missed: usize,
}

const PROXY: &str = "127.0.0.77";

impl Person {
    fn new(gate: &Gate, number: usize) -> Person {
        let agent = format!(
            "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0",
            120 + number % 7
        );
        let mut addresses = vec![format!("192.0.2.{}", 1 + number % 20)];
        match number % 3 {
            // Dual-stack: each request may come over the other family.
            0 => addresses.push(format!("2001:db8:{:x}::1", number / 4)),
            // A phone: the mobile network's shared addresses, and home.
            1 => addresses.push(format!("198.51.100.{}", 1 + number % 4)),
            _ => {}
        }
        Person {
            browser: Browser::new(PROXY, gate.address).with("User-Agent", &agent),
            addresses,
            asked: 0,
            bits: Vec::new(),
            parts_missed: 0,
        }
    }

    fn send(&mut self, path: &str, is_page: bool) -> crate::harness::Answer {
        self.asked += 1;
        let at = (self.asked / 3) % self.addresses.len();
        let address = self.addresses[at].clone();
        let kind = if is_page { "text/html" } else { "image/*" };
        let headers = [("X-Forwarded-For", address.as_str()), ("Accept", kind)];
        self.browser.send("GET", path, &headers, "")
    }

    /// Looks at a page with its parts. False where the page did not come in the end, or after the first challenge a part of it.
    fn view(&mut self, path: &str) -> bool {
        let mut answer = self.send(path, true);
        if let Some(puzzle) = Puzzle::of(&answer.text()) {
            self.bits.push(puzzle.bits);
            let at = self.asked % self.addresses.len();
            self.browser
                .headers
                .push(("X-Forwarded-For".to_owned(), self.addresses[at].clone()));
            let ended = self.browser.end_tab(&answer);
            self.browser.headers.pop();
            if ended.is_err() {
                return false;
            }
            answer = self.send(path, true);
        }
        let has_part = self.send("/picture.png", false).status == 200;
        let is_cleared = !self.bits.is_empty();
        self.parts_missed += usize::from(!has_part && !is_cleared);
        answer.status == 200 && (has_part || !is_cleared)
    }
}

#[test]
fn g16_ten_thousand_views_of_people_and_nobody_is_turned_away() {
    let origin = site();
    // They read a day's pages in two seconds.
    let mut wanted = limits("clearance_burst = 1000");
    wanted.gate = format!("trusted_proxies = [\"{PROXY}\"]");
    let gate = Gate::with(&origin, wanted);
    let (people, views) = (100, 100);
    let began = Instant::now();
    let results: Vec<(usize, usize, Vec<u32>)> = thread::scope(|scope| {
        let groups: Vec<_> = (0..4)
            .map(|group| {
                let gate = &gate;
                scope.spawn(move || {
                    let mut people: Vec<Person> = (group..people)
                        .step_by(4)
                        .map(|number| Person::new(gate, number))
                        .collect();
                    let mut lost = 0;
                    for view in 0..views {
                        for (number, person) in people.iter_mut().enumerate() {
                            let page = (view * 7 + number * 13) % PAGES;
                            lost += usize::from(!person.view(&format!("/page/{page}")));
                        }
                    }
                    let missed = people.iter().map(|person| person.parts_missed).sum();
                    let bits = people.into_iter().flat_map(|person| person.bits);
                    (lost, missed, bits.collect())
                })
            })
            .collect();
        groups
            .into_iter()
            .map(|group| group.join().unwrap())
            .collect()
    });
    let lost: usize = results.iter().map(|(lost, ..)| lost).sum();
    let missed: usize = results.iter().map(|(_, missed, _)| missed).sum();
    let bits: Vec<u32> = results.into_iter().flat_map(|(.., bits)| bits).collect();
    say(&format!(
        "{} views in {:?}: {lost} lost, {} challenges, {missed} pictures missed before the first challenge, work above the first {:?} bits at most",
        people * views,
        began.elapsed(),
        bits.len(),
        bits.iter().max().map(|most| most - 4)
    ));
    assert_eq!(lost, 0);
    assert!(bits.len() <= 2 * people, "{} challenges", bits.len());
    assert!(!gate.log().iter().any(|line| line["decision"] == "block"));
}

/// People and a crawler without cookies behind one address. Gives the views that people lost and the pages that the crawler got.
fn share_an_address(gate: &Gate, people: usize) -> (usize, usize) {
    let shared = "127.0.54.1";
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let crawler = scope.spawn(|| {
            let mut crawler = Browser::new(shared, gate.address);
            crawler.keeps_cookies = false;
            let mut passed = 0;
            for at in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let answer = crawler.get(&format!("/page/{at}"));
                passed += usize::from(answer.status == 200);
                thread::sleep(Duration::from_millis(20));
            }
            passed
        });
        let mut lost = 0;
        for number in 0..people {
            let mut person = Browser::new(shared, gate.address);
            for view in 0..3 {
                let path = format!("/page/{}", (number + view) % PAGES);
                lost += usize::from(person.open(&path).status != 200);
            }
        }
        stop.store(true, Ordering::Relaxed);
        (lost, crawler.join().unwrap())
    })
}

#[test]
fn h063_cleared_people_do_not_notice_a_crawler_behind_their_address() {
    let origin = site();
    let mut gate = Gate::with(&origin, limits(""));
    withstands(&mut gate, |gate| {
        let (lost, crawled) = share_an_address(gate, 2000);
        say(&format!(
            "2000 people behind one address: {lost} views lost; the crawler got {crawled} pages"
        ));
        must(lost == 0 && crawled <= 20, &format!("{lost} {crawled}"))
    });
    // With one budget for all clearances of an address the first 500 pages use it up.
    let mut wanted = limits("");
    wanted.gate = "without = [\"own_budget\"]".to_owned();
    let (lost, _) = share_an_address(&Gate::with(&origin, wanted), 300);
    assert!(lost > 0);
}

#[test]
fn who_is_denied_gets_a_number_that_the_owner_can_look_up() {
    let origin = Origin::start();
    let gate = Gate::with(
        &origin,
        Wanted {
            parts: NO_LIMITS.to_owned(),
            ..Wanted::default()
        },
    );
    let mut denied = Browser::new("127.0.0.5", gate.address).with("Accept-Language", "de");
    assert_eq!(denied.get("/before").status, 200);
    let why = "took the whole catalogue last night";
    gate.kb(&["deny", "127.0.0.5", "--yes", "--reason", why]);
    // On the same connection.
    wait_for("the owner's word counts", || denied.get("/x").status == 403);
    let page = denied.get("/y");
    let text = page.text();
    assert!(text.contains("Kein Zugang"), "{text}");
    assert!(text.contains("webmaster@example.org"), "{text}");
    assert_eq!(page.header("cache-control").unwrap(), "no-store");
    let (_, rest) = text.split_once("class=\"number\">").unwrap();
    let incident = rest.split('<').next().unwrap();
    wait_for("the number is in the log", || {
        gate.log().iter().any(|line| line["incident"] == incident)
    });
    let shown = gate.command(&["incident", incident, "--config"], "gate.toml");
    assert!(shown.contains(why), "{shown}");
    let program = denied.send("POST", "/y", &[("Accept", "*/*")], "");
    let json: serde_json::Value = serde_json::from_str(&program.text()).unwrap();
    assert_eq!(
        (program.status, json["incident"].as_str()),
        (403, Some(incident))
    );
    assert!(!origin.has_seen("/y"));
    // A clearance does not help against the owner's word, and taking it back does.
    gate.kb(&["forget", "127.0.0.5"]);
    wait_for("it is taken back", || denied.get("/z").status == 200);
}

#[test]
fn in_shadow_mode_everything_passes_and_the_log_says_what_would_happen() {
    let origin = Origin::start();
    let mut wanted = limits("k1 = 5");
    wanted.gate = "mode = \"shadow\"".to_owned();
    let gate = Gate::with(&origin, wanted);
    gate.kb(&["deny", "127.0.0.6", "--yes"]);
    for page in 0..10 {
        for source in ["127.0.0.7", "127.0.0.6"] {
            let answer = try_get_from(source, gate.address, &format!("/{page}"), &[]).unwrap();
            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("cache-control"), None, "as the site sent it");
        }
        wait_for("a page is in the log", || {
            gate.log()
                .iter()
                .any(|line| line["target"] == format!("/{page}"))
        });
    }
    let would = |source: &str, what: &str| {
        let lines = gate.log();
        let of_source = lines.iter().filter(|line| line["source"] == source);
        of_source.filter(|line| line["would"] == what).count()
    };
    wait_for("all lines are there", || {
        would("127.0.0.7", "challenge") == 5
    });
    wait_for("the entry is known", || {
        let _ = try_get_from("127.0.0.6", gate.address, "/more", &[]);
        would("127.0.0.6", "block") > 0
    });
    assert_eq!(
        gate.log()
            .iter()
            .filter(|line| line["source"] == VICTIM)
            .count(),
        0
    );
}
