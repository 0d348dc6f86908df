//! What one browser earns by behaving well: sixty days through the running gate, which learns all the while.

use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::harness::wait_for;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// A midnight.
const START: u32 = 1_893_456_000;
/// A day in half a second.
const SPEED: u32 = 172_800;
const DAYS: u32 = 60;
const DAY: Duration = Duration::from_millis(500);

/// What a crawler does at a challenge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Leaves,
    Solves,
}

/// Reads pages in no order, each with its style sheet and a referrer, for sixty days; asks for three times what it got the day before.
/// Gives the pages of each day.
fn crawl(gate: &Gate, source: &str, manner: Manner, began: Instant) -> Vec<usize> {
    let mut crawler = Browser::new(source, gate.address);
    let (mut days, mut wanted, mut chance) = (Vec::new(), 60, 7_u32);
    for day in 1..=DAYS {
        let mut got = 0;
        for _ in 0..wanted {
            if began.elapsed() >= DAY * day {
                break;
            }
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let page = format!("/page/{}", (chance >> 8) % 5000);
            let referrer = format!("http://www.example.org/page/{}", (chance >> 16) % 5000);
            let headers = [("Referer", referrer.as_str())];
            let mut answer = crawler.send("GET", &page, &headers, "");
            let is_challenge = Puzzle::of(&answer.text()).is_some();
            if is_challenge && manner == Manner::Solves && crawler.clear(&answer).is_ok() {
                answer = crawler.send("GET", &page, &headers, "");
            }
            if answer.status == 200 {
                got += 1;
                crawler.part("/style.css");
            } else {
                break;
            }
        }
        days.push(got);
        wanted = (3 * got).clamp(60, 3000);
        let next = DAY * day;
        thread::sleep(next.saturating_sub(began.elapsed()));
    }
    days
}

#[test]
fn h196_one_browser_earns_no_entry_in_sixty_days() {
    let origin = Origin::start();
    let gate = Gate::with(
        &origin,
        Wanted {
            gate: format!("judge_minutes = 0.005\nclock = {{ start = {START}, speed = {SPEED} }}"),
            parts: "[gate.challenge]\nbits = 4\n".to_owned(),
            ..Wanted::default()
        },
    );
    let began = Instant::now();
    let [leaves, solves] = thread::scope(|scope| {
        let ways = [
            ("127.0.90.1", Manner::Leaves),
            ("127.1.90.1", Manner::Solves),
        ];
        let crawls = ways.map(|(source, manner)| {
            let gate = &gate;
            scope.spawn(move || crawl(gate, source, manner, began))
        });
        crawls.map(|crawl| crawl.join().unwrap())
    });
    wait_for("it has judged on most days", || {
        gate.metric("cattlegrid_judged_total") >= Some(50.0)
    });
    say(&format!("pages a day without solving: {leaves:?}"));
    say(&format!(
        "pages a day with every challenge solved: {solves:?}"
    ));
    // The sliding day is counted in steps of three hours.
    assert!(leaves.iter().all(|pages| *pages <= 25), "{leaves:?}");
    let log = gate.log();
    let by_entry = log
        .iter()
        .filter(|line| line["reason"] == "entry" && line["decision"] == "pass");
    assert_eq!(by_entry.count(), 0, "pages by an entry");
}

/// Somebody who loads pages as a browser does, so that there is something to compare with.
fn read(gate: &Gate, source: &str) {
    let mut reader = Browser::new(source, gate.address);
    let mut before = String::new();
    for page in ["/", "/news", "/about"] {
        let referrer = format!("http://www.example.org{page}");
        let headers = [("Referer", before.as_str())];
        let headers = if before.is_empty() { &[][..] } else { &headers };
        assert_eq!(reader.send("GET", page, headers, "").status, 200);
        for part in ["/style.css", "/app.js", "/photo.png"] {
            reader.send("GET", part, &[("Referer", &referrer)], "");
        }
        before = referrer;
    }
}

/// Asks for one page after the other, two seconds apart by the gate's clock, until a challenge comes; gives how many it got.
fn walk(gate: &Gate, source: &str, agent: &str) -> usize {
    let mut crawler = Browser::new(source, gate.address);
    let pages = (0..20).take_while(|number| {
        thread::sleep(Duration::from_millis(500));
        let answer = crawler.send(
            "GET",
            &format!("/page/{number}"),
            &[("User-Agent", agent)],
            "",
        );
        if *number == 6 {
            wait_for("the visit is known", || {
                gate.metric("cattlegrid_suspects") >= Some(1.0)
            });
        }
        answer.status == 200 && Puzzle::of(&answer.text()).is_none()
    });
    pages.count()
}

#[test]
fn a_suspicious_visit_meets_a_challenge_before_the_first_limit_and_nobody_is_denied() {
    const ROBOT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    const OTHER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0";
    let origin = Origin::start();
    let wanted = |policy: &str| Wanted {
        gate: format!("judge_minutes = 0.005\nclock = {{ start = {START}, speed = 4 }}"),
        parts: format!("[gate.challenge]\nbits = 4\n[policy]\n{policy}\n"),
        ..Wanted::default()
    };
    let gate = Gate::with(&origin, wanted(""));
    read(&gate, "127.0.91.1");
    let pages = walk(&gate, "127.0.91.2", ROBOT);
    say(&format!("pages before the challenge: {pages}"));
    // Five pages are enough to judge a visit, and the walk waits for that after the seventh.
    assert!((5..=8).contains(&pages), "{pages}");
    let mut other = Browser::new("127.0.91.2", gate.address);
    let answer = other.send("GET", "/page/30", &[("User-Agent", OTHER)], "");
    assert!(
        Puzzle::of(&answer.text()).is_none(),
        "another browser there"
    );
    let judged = gate.metric("cattlegrid_judged_total");
    wait_for("all sources were judged after that", || {
        gate.metric("cattlegrid_judged_total") > judged.map(|judged| judged + 1.0)
    });
    let log = gate.log();
    let suspicious = log.iter().filter(|line| line["reason"] == "suspicious");
    assert!(suspicious.count() > 0);
    assert_eq!(gate.metric("cattlegrid_entries"), Some(0.0), "no entry");
    let off = Gate::with(&origin, wanted("suspect_from = 1.0"));
    read(&off, "127.0.91.1");
    let mut crawler = Browser::new("127.0.91.2", off.address);
    let passed = (0..20).filter(|number| {
        let answer = crawler.send(
            "GET",
            &format!("/page/{number}"),
            &[("User-Agent", ROBOT)],
            "",
        );
        Puzzle::of(&answer.text()).is_none()
    });
    assert_eq!(passed.count(), 20, "up to the first limit");
}
