//! A day through the running gate in a minute: people, crawlers, a campaign and a fleet ask over HTTP, the gate contains and learns, and
//! `analyze` of its access log comes to the same verdicts.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Answer;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::say;
use crate::harness::wait_for;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// A midnight: a window begins.
const START: u32 = 1_893_456_000;
/// A day in seventy-two seconds.
const SPEED: u32 = 1200;
const DAY: u32 = 86_400;
const THREADS: usize = 8;

/// What an actor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Person,
    Crawler,
    Campaign,
    Fleet,
}

/// Someone who asks for pages at times of the day.
struct Actor {
    kind: Kind,
    source: String,
    agent: &'static str,
    /// Seconds of the day, and the page.
    plan: Vec<(u32, u32)>,
}

/// What became of the requests of one kind.
#[derive(Debug, Default, Clone)]
struct Fate {
    sources: BTreeSet<String>,
    asked: u32,
    passed: u32,
    challenged: u32,
    solved: u32,
    blocked: u32,
}

const BROWSER: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0";
const CRAWLER: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36";
const CAMPAIGN: &str = "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0.2228.0 Safari/537.36";
const FLEET: &str = "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.2)";

/// Numbers by chance, the same every time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

/// Who asks on this day. Addresses are of 198.18.0.0/15, which is for tests like this one.
fn actors() -> Vec<Actor> {
    let mut chance = Chance(7);
    let mut actors = Vec::new();
    for number in 0..120 {
        // People read a few pages in one or two visits, in the waking hours.
        let mut plan = Vec::new();
        for _ in 0..1 + chance.below(2) {
            let mut time = 7 * 3600 + chance.below(15 * 3600);
            for _ in 0..3 + chance.below(12) {
                plan.push((time, chance.below(400)));
                time += 15 + chance.below(180);
            }
        }
        actors.push(actor(
            Kind::Person,
            format!("198.18.{}.{}", number, 7 + number % 200),
            BROWSER,
            plan,
        ));
    }
    for number in 0..8 {
        // Page after page, at an even pace, day and night.
        let plan = (0..1200)
            .map(|page| (page * 72 + number, page % 400))
            .collect();
        actors.push(actor(
            Kind::Crawler,
            format!("198.18.200.{number}"),
            CRAWLER,
            plan,
        ));
    }
    for number in 0..40 {
        // All at the same hours, each its own part of the site.
        let waves = (0..8).flat_map(|wave| (0..14).map(move |page| wave * 10_800 + page * 60));
        let plan = waves
            .enumerate()
            .map(|(at, time)| (time + number, (at as u32 * 40 + number) % 400))
            .collect();
        actors.push(actor(
            Kind::Campaign,
            format!("198.19.{}.{}", number, 10 + number),
            CAMPAIGN,
            plan,
        ));
    }
    for number in 0..300_u32 {
        // So few pages each that none is over a limit.
        let plan = (0..14)
            .map(|_| (chance.below(DAY), chance.below(400)))
            .collect();
        actors.push(actor(
            Kind::Fleet,
            format!("198.19.{}.{}", 100 + number % 100, 1 + number),
            FLEET,
            plan,
        ));
    }
    actors
}

fn actor(kind: Kind, source: String, agent: &'static str, mut plan: Vec<(u32, u32)>) -> Actor {
    // An address has at most 255 at its end.
    let (network, last) = source.rsplit_once('.').unwrap();
    let source = format!("{network}.{}", last.parse::<u32>().unwrap() % 250);
    plan.sort_unstable();
    Actor {
        kind,
        source,
        agent,
        plan,
    }
}

/// Sends what actors plan when it is time to, and notes what became of it.
fn live(gate: &Gate, actors: Vec<Actor>, started: Instant) -> BTreeMap<Kind, Fate> {
    let fates: Mutex<BTreeMap<Kind, Fate>> = Mutex::default();
    let mut shares: Vec<Vec<Actor>> = (0..THREADS).map(|_| Vec::new()).collect();
    for (number, actor) in actors.into_iter().enumerate() {
        shares[number % THREADS].push(actor);
    }
    thread::scope(|scope| {
        for share in shares {
            let fates = &fates;
            scope.spawn(move || live_share(gate, &share, started, fates));
        }
    });
    fates.into_inner().unwrap()
}

fn live_share(gate: &Gate, share: &[Actor], started: Instant, fates: &Mutex<BTreeMap<Kind, Fate>>) {
    let mut browsers: Vec<Browser> = share
        .iter()
        .map(|actor| {
            let browser = Browser::new("127.0.0.1", gate.address);
            let mut browser = browser
                .with("X-Forwarded-For", &actor.source)
                .with("User-Agent", actor.agent);
            browser.keeps_cookies = actor.kind == Kind::Person;
            browser
        })
        .collect();
    let mut events: Vec<(u32, usize, u32)> = Vec::new();
    for (at, actor) in share.iter().enumerate() {
        events.extend(actor.plan.iter().map(|(time, page)| (*time, at, *page)));
    }
    events.sort_unstable();
    for (time, at, number) in events {
        let due = started + Duration::from_millis(u64::from(time) * 1000 / u64::from(SPEED));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let fate = ask(&share[at], &mut browsers[at], number);
        add(&mut fates.lock().unwrap(), share[at].kind, &fate);
    }
}

fn add(fates: &mut BTreeMap<Kind, Fate>, kind: Kind, fate: &Fate) {
    let sum = fates.entry(kind).or_default();
    sum.sources.extend(fate.sources.iter().cloned());
    sum.asked += fate.asked;
    sum.passed += fate.passed;
    sum.challenged += fate.challenged;
    sum.solved += fate.solved;
    sum.blocked += fate.blocked;
}

/// One page: people solve what they are asked to, and load the parts of the page.
fn ask(actor: &Actor, browser: &mut Browser, number: u32) -> Fate {
    let path = format!("/page{number}");
    let mut fate = Fate {
        sources: [actor.source.clone()].into(),
        asked: 1,
        ..Fate::default()
    };
    let mut answer = browser.get(&path);
    if is_challenge(&answer) {
        fate.challenged = 1;
        if actor.kind == Kind::Person {
            browser.clear(&answer).unwrap();
            fate.solved = 1;
            answer = browser.get(&path);
        }
    }
    fate.passed = u32::from(answer.status == 200);
    fate.blocked = u32::from(answer.status == 403 && !is_challenge(&answer));
    if actor.kind == Kind::Person && answer.status == 200 {
        let referrer = format!("https://www.example.org{path}");
        for part in ["/style.css", "/logo.png", "/site.js"] {
            let headers = [("Referer", referrer.as_str()), ("Accept", "*/*")];
            browser.send("GET", part, &headers, "");
        }
    }
    fate
}

pub(crate) fn is_challenge(answer: &Answer) -> bool {
    Puzzle::of(&answer.text()).is_some()
}

/// The sources that a knowledge base denies, also as members of a campaign.
pub(crate) fn denied(base: &std::path::Path) -> BTreeSet<String> {
    let listed = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["kb", "export", "--as", "cidr", "--kb"])
        .arg(base)
        .output()
        .unwrap();
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let text = String::from_utf8(listed.stdout).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_day_through_the_gate_gives_the_verdicts_of_its_log() {
    let origin = Origin::answering(Box::new(|got| {
        let mut answer = page(&format!("you asked for {}", got.target()));
        if !got.target().starts_with("/page") {
            answer = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\nabcd"
                .to_vec();
        }
        Some(answer)
    }));
    let wanted = Wanted {
        gate: format!(
            "trusted_proxies = [\"127.0.0.1\"]\njudge_minutes = 0.05\nclock = {{ start = {START}, speed = {SPEED} }}\n"
        ),
        parts: "[gate.challenge]\nseconds = 86400\nbits = 6\n".to_owned(),
        ..Wanted::default()
    };
    let gate = Gate::with(&origin, wanted);
    let fates = live(&gate, actors(), Instant::now());
    // All that was asked has been judged.
    let judged = |gate: &Gate| gate.metric("cattlegrid_judged_total").unwrap_or(0.0);
    let before = judged(&gate);
    wait_for("the last requests are judged", || {
        judged(&gate) >= before + 2.0
    });
    say(&format!(
        "{:<10} {:>7} {:>6} {:>6} {:>10} {:>6} {:>7}",
        "who", "sources", "asked", "passed", "challenged", "solved", "blocked"
    ));
    for (kind, fate) in &fates {
        say(&format!(
            "{:<10} {:>7} {:>6} {:>6} {:>10} {:>6} {:>7}",
            format!("{kind:?}"),
            fate.sources.len(),
            fate.asked,
            fate.passed,
            fate.challenged,
            fate.solved,
            fate.blocked
        ));
    }
    let people = &fates[&Kind::Person];
    assert_eq!((people.passed, people.blocked), (people.asked, 0));
    let crawlers = &fates[&Kind::Crawler];
    assert!(crawlers.passed <= 21 * 8 + 8, "{crawlers:?}");
    let fleet = &fates[&Kind::Fleet];
    assert!(
        fleet.blocked > 0,
        "{} of {} of the fleet's pages passed",
        fleet.passed,
        fleet.asked
    );
    same_verdicts(&gate);
}

/// What the gate has denied is what `analyze` denies, from the log that the gate wrote.
fn same_verdicts(gate: &Gate) {
    let fresh = gate.path("fresh.sqlite");
    let now = gate.log().last().unwrap()["time"].as_f64().unwrap() as u64;
    let analyzed = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["analyze", "--quiet", "--kb-time", &now.to_string(), "--kb"])
        .arg(&fresh)
        .arg(gate.path("state/access.log"))
        .output()
        .unwrap();
    assert!(
        analyzed.status.success(),
        "{}",
        String::from_utf8_lossy(&analyzed.stderr)
    );
    let (live, old) = (denied(&gate.path("state/kb.sqlite")), denied(&fresh));
    say(&format!(
        "denied by the gate {}, by analyze of its log {}",
        live.len(),
        old.len()
    ));
    assert_eq!(live, old);
}
