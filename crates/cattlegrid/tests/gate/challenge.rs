//! Challenges and answers to them, through the running gate. Each attack runs again with its defence switched off, and succeeds there.

use std::fs;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use url::Url;

use crate::harness::Answer;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Victim;
use crate::harness::Wanted;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// Pages of an unknown source in these tests.
const K1: usize = 3;

/// Settings of a gate that challenges early, for little work.
pub(crate) fn strict(gate: &str) -> Wanted {
    Wanted {
        gate: gate.to_owned(),
        parts: format!("[gate.challenge]\nbits = 8\n[policy]\nk1 = {K1}\nclearance_pages = 20\n"),
        ..Wanted::default()
    }
}

/// Such a gate without one defence.
pub(crate) fn without(origin: &Origin, defence: &str) -> Gate {
    Gate::with(origin, strict(&format!("without = [\"{defence}\"]")))
}

/// A browser that has used up what an unknown source may ask for, and the challenge it meets at `path`.
pub(crate) fn challenged(gate: &Gate, source: &str, path: &str) -> (Browser, Answer) {
    let mut browser = Browser::new(source, gate.address);
    for page in 0..K1 {
        assert_eq!(browser.get(&format!("/page{page}")).status, 200);
    }
    let challenge = browser.get(path);
    assert_eq!(challenge.status, 403, "{}", challenge.text());
    (browser, challenge)
}

pub(crate) type Attack = fn(&Gate) -> Result<(), String>;

/// An attack that must fail on a gate as it is, with a victim beside it, and succeed on one without the defence.
pub(crate) fn fails_but_without(defence: &str, attack: Attack) {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, strict(""));
    withstands(&mut gate, attack);
    drop(gate);
    let gate = without(&origin, defence);
    assert!(attack(&gate).is_err(), "without {defence} it would succeed");
}

/// Runs an attack with a victim beside it and checks what must hold after every case.
pub(crate) fn withstands(gate: &mut Gate, attack: impl FnOnce(&Gate) -> Result<(), String>) {
    let before = gate.before();
    let victim = Victim::start(gate.address);
    let result = attack(gate);
    victim.check();
    gate.check_after(&before);
    result.unwrap();
}

/// Sends an answer that must be refused; gives the reason.
fn refused(browser: &mut Browser, form: &str) -> Result<String, String> {
    let answer = browser.post("answer", form);
    let has_clearance = answer
        .values("set-cookie")
        .iter()
        .any(|cookie| cookie.starts_with("cattlegrid="));
    if answer.status != 403 || has_clearance {
        return Err(format!("{}: {}", answer.status, answer.text()));
    }
    let value: Value = serde_json::from_str(&answer.text()).map_err(|error| error.to_string())?;
    Ok(value["refused"].as_str().unwrap_or_default().to_owned())
}

/// Fails unless it holds.
pub(crate) fn must(holds: bool, what: &str) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(what.to_owned()),
    }
}

#[test]
fn who_solves_a_challenge_is_led_back_and_goes_on() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, strict(""));
    let before = gate.before();
    let (mut browser, challenge) = challenged(&gate, "127.0.0.2", "/shop?item=3&b=%2f");
    assert_eq!(challenge.header("cache-control").unwrap(), "no-store");
    let page = browser.clear(&challenge).unwrap();
    assert_eq!(page, "/shop?item=3&b=%2f");
    assert_eq!(
        browser.get(&page).text(),
        "you asked for /shop?item=3&b=%2f"
    );
    assert_eq!(browser.part("/picture.png").status, 200);
    assert_eq!(browser.open("/more").status, 200);
    assert_eq!(browser.solved, 1);
    assert!(
        !origin.has_seen("cattlegrid"),
        "the site sees no cookie of ours"
    );
    gate.check_after(&before);
}

fn answers_without_work(gate: &Gate) -> Result<(), String> {
    let (mut browser, challenge) = challenged(gate, "127.0.0.3", "/x");
    let puzzle = Puzzle::of(&challenge.text()).ok_or("no challenge")?;
    // The first number that does is searched for, so the one before it does not.
    let mut nearly = puzzle.work();
    let part = nearly.iter().position(|number| *number > 0);
    nearly[part.ok_or("no work at all")?] -= 1;
    let zeros = puzzle.form(&[0; 16]);
    let token = &puzzle.token;
    for form in [
        zeros.clone(),
        puzzle.form(&nearly),
        puzzle.form(&[7; 16]),
        puzzle.form(&[u32::MAX; 16]),
        puzzle.form(&[1; 15]),
        puzzle.form(&[1; 17]),
        format!("token={token}&work={}", ["DEADBEEF"; 16].join(".")),
        format!("token={token}&work={}", ["0x10"; 16].join(".")),
        format!("token={token}&work={}", "f".repeat(64)),
        format!("token={token}&work="),
        format!("token={token}"),
    ] {
        let reason = refused(&mut browser, &form)?;
        must(
            ["too_easy", "malformed"].contains(&reason.as_str()),
            &reason,
        )?;
    }
    let again = browser.get("/x");
    must(again.status == 403, "it is still challenged")?;
    let harder = Puzzle::of(&again.text()).ok_or("no challenge")?.bits;
    must(harder > puzzle.bits, "wrong answers cost more work")?;
    browser.clear(&again).map(drop)
}

#[test]
fn h082_an_answer_without_the_work_is_refused() {
    fails_but_without("work", answers_without_work);
}

/// The token with one byte changed.
pub(crate) fn changed(token: &str, at: usize, to: impl Fn(u8) -> u8) -> String {
    let mut bytes = URL_SAFE_NO_PAD.decode(token).unwrap();
    bytes[at] = to(bytes[at]);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn changes_what_is_asked(gate: &Gate) -> Result<(), String> {
    let (mut browser, challenge) = challenged(gate, "127.0.0.4", "/x");
    let puzzle = Puzzle::of(&challenge.text()).ok_or("no challenge")?;
    let zeros = puzzle.form(&[0; 16]);
    for more in [
        "&bits=0",
        "&difficulty=-1",
        "&algorithm=none",
        "&seed=00000000000000000000000000000000&bits=255",
    ] {
        refused(&mut browser, &format!("{zeros}{more}"))?;
    }
    // The third byte says how much work it is, the next ones who minted it, which challenge it is and until when it is good.
    for (at, value) in [(2, 0), (2, 1), (2, 255), (0, 1), (1, 9)] {
        let token = changed(&puzzle.token, at, |_| value);
        let forged = Puzzle {
            token,
            bits: 0,
            ..puzzle.clone()
        };
        let reason = refused(&mut browser, &forged.solve())?;
        must(reason == "forged", &reason)?;
    }
    for at in (3..70).step_by(3) {
        let forged = Puzzle {
            token: changed(&puzzle.token, at, |byte| byte ^ 1),
            ..puzzle.clone()
        };
        let reason = refused(&mut browser, &forged.form(&puzzle.work()))?;
        must(reason == "forged", &reason)?;
    }
    // A challenge of another site.
    let (mut other, elsewhere) = {
        let mut other = Browser::new("127.0.0.4", gate.address).with("Host", "other.example");
        let challenge = other.get("/x");
        (other, challenge)
    };
    let form = crate::solve::solve(&elsewhere.text());
    other.headers[0].1 = "www.example.org".to_owned();
    let reason = refused(&mut other, &form)?;
    must(
        ["other_visitor", "no_cookie"].contains(&reason.as_str()),
        &reason,
    )
}

#[test]
fn h083_only_signed_values_count() {
    fails_but_without("signature", changes_what_is_asked);
}

fn answers_twice(gate: &Gate) -> Result<(), String> {
    let (mut browser, challenge) = challenged(gate, "127.0.0.5", "/x");
    let form = crate::solve::solve(&challenge.text());
    let first = browser.post("answer", &form);
    must(first.status == 200, "the first counts")?;
    must(refused(&mut browser, &form)? == "spent", "same client")?;
    let mut other = Browser::new("127.0.0.6", gate.address);
    other.cookies.clone_from(&browser.cookies);
    other.cookies.remove("cattlegrid");
    must(refused(&mut other, &form)? == "spent", "other client")?;
    let next = other.post("challenge", &form);
    must(
        next.status == 200 && Puzzle::of(&next.text()).is_some(),
        "a new challenge takes its place",
    )
}

#[test]
fn h084_an_answer_counts_once() {
    fails_but_without("spent", answers_twice);
}

/// Sends one answer sixteen times at once. Gives how often it counted.
fn answers_at_once(gate: &Gate) -> usize {
    let (browser, challenge) = challenged(gate, "127.0.0.7", "/x");
    let form = crate::solve::solve(&challenge.text());
    thread::scope(|scope| {
        let senders: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let mut sender = moved(&browser, gate);
                    usize::from(sender.post("answer", &form).status == 200)
                })
            })
            .collect();
        let counted = senders.into_iter().map(|sender| sender.join().unwrap());
        counted.sum()
    })
}

#[test]
fn h084_of_many_at_the_same_moment_one_counts() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, strict(""));
    withstands(&mut gate, |gate| {
        let counted = answers_at_once(gate);
        must(counted == 1, &format!("{counted}"))
    });
    assert_eq!(answers_at_once(&without(&origin, "spent")), 16);
}

/// A browser whose answer counted here, and that answer.
fn answered(gate: &Gate, source: &str) -> (Browser, String) {
    let (mut browser, challenge) = challenged(gate, source, "/x");
    let form = crate::solve::solve(&challenge.text());
    browser.clear(&challenge).unwrap();
    (browser, form)
}

/// The same browser before another process.
fn moved(from: &Browser, gate: &Gate) -> Browser {
    let mut browser = Browser::new(&from.source, gate.address);
    browser.cookies.clone_from(&from.cookies);
    browser
}

/// Sends an answer that counted elsewhere, with the clearance that it earned; and what the browser then meets.
fn answers_elsewhere(browser: &mut Browser, form: &str) -> Result<(), String> {
    must(browser.get("/y").status == 200, "the clearance stays")?;
    must(
        refused(browser, form)? == "restarted",
        "the answer does not count again",
    )?;
    browser.cookies.remove("cattlegrid");
    let next = browser.post("challenge", form);
    must(next.status == 200, "a new challenge takes its place")?;
    must(
        browser.clear(&next)? == "/x",
        "it still leads to the page first asked for",
    )
}

#[test]
fn h084_neither_does_it_after_a_restart() {
    let origin = Origin::start();
    let restarted = |gate: Gate| {
        let (browser, form) = answered(&gate, "127.0.0.8");
        let gate = gate.restart();
        (moved(&browser, &gate), form, gate)
    };
    let (mut browser, form, mut gate) = restarted(Gate::with(&origin, strict("")));
    withstands(&mut gate, |_| answers_elsewhere(&mut browser, &form));
    let (mut browser, form, _gate) = restarted(without(&origin, "restart"));
    assert!(answers_elsewhere(&mut browser, &form).is_err());
}

#[test]
fn h084_nor_at_another_node_with_the_same_key() {
    let origin = Origin::start();
    let nodes = |settings: &str| {
        let start = || Gate::with(&origin, strict(settings));
        let (one, other) = (start(), start());
        fs::copy(one.path("state/keys"), other.path("state/keys")).unwrap();
        (one, other.restart())
    };
    let (one, mut other) = nodes("");
    let (browser, form) = answered(&one, "127.0.0.9");
    let mut there = moved(&browser, &other);
    withstands(&mut other, |_| answers_elsewhere(&mut there, &form));
    // What it has earned is good at both.
    let mut there = moved(&browser, &other);
    assert_eq!(there.open("/z").status, 200);
    assert_eq!(there.solved, 0);
    let (one, other) = nodes("without = [\"restart\"]");
    let (browser, form) = answered(&one, "127.0.0.9");
    assert!(answers_elsewhere(&mut moved(&browser, &other), &form).is_err());
}

fn answers_late(gate: &Gate) -> Result<(), String> {
    let minted = Instant::now();
    let (mut browser, challenge) = challenged(gate, "127.0.0.10", "/x");
    let form = crate::solve::solve(&challenge.text());
    // A challenge cannot be set to end sooner than after ten seconds.
    thread::sleep(Duration::from_millis(10_300).saturating_sub(minted.elapsed()));
    must(refused(&mut browser, &form)? == "expired", "too late")?;
    let next = browser.post("challenge", &form);
    must(next.status == 200, "a new challenge takes its place")?;
    must(browser.clear(&next)? == "/x", "it leads to the same page")
}

#[test]
fn h085_a_late_answer_meets_a_new_challenge() {
    let origin = Origin::start();
    let brief = |gate: &str| {
        let mut wanted = strict(gate);
        wanted.parts = wanted.parts.replace("bits = 8", "bits = 8\nseconds = 10");
        Gate::with(&origin, wanted)
    };
    let (mut gate, open) = (brief(""), brief("without = [\"expiry\"]"));
    thread::scope(|scope| {
        let late = scope.spawn(|| withstands(&mut gate, answers_late));
        assert!(answers_late(&open).is_err());
        late.join().unwrap();
    });
}

fn answers_garbage(gate: &Gate) -> Result<(), String> {
    let (mut browser, challenge) = challenged(gate, "127.0.0.11", "/x");
    let puzzle = Puzzle::of(&challenge.text()).ok_or("no challenge")?;
    let work = puzzle.form(&puzzle.work());
    let work = work.split_once("&work=").ok_or("no work")?.1;
    let garbage = [
        "x".to_owned(),
        "\r\nFLUSHALL\r\n".to_owned(),
        "*".to_owned(),
        "{x}".to_owned(),
        "../../x".to_owned(),
        "' OR 1=1 --".to_owned(),
        "%00%ff".to_owned(),
        "A".repeat(2000),
        String::new(),
        // A byte of its signature.
        changed(&puzzle.token, 104, |byte| byte ^ 128),
    ];
    for token in garbage {
        refused(&mut browser, &format!("token={token}&work={work}"))?;
        let next = browser.post("challenge", &format!("token={token}"));
        must(
            next.status == 200 && Puzzle::of(&next.text()).is_some(),
            "a new challenge",
        )?;
    }
    let long = browser.post(
        "answer",
        &format!("token={}&work={work}", "A".repeat(1 << 20)),
    );
    must(
        long.status == 400,
        "an answer of a megabyte is not read to its end",
    )
}

#[test]
fn h086_garbage_meets_a_new_challenge() {
    fails_but_without("signature", answers_garbage);
}

fn answers_without_cookies(gate: &Gate) -> Result<(), String> {
    let mut browser = Browser::new("127.0.0.12", gate.address);
    browser.keeps_cookies = false;
    let mut after_warming = 0;
    for round in 0..1500 {
        if round == 500 {
            after_warming = gate.rss_kib();
        }
        let page = browser.get(&format!("/page{round}"));
        let Some(puzzle) = Puzzle::of(&page.text()) else {
            continue;
        };
        // Work does not help who cannot show a cookie: were it accepted, the next page would ask for it again, without an end.
        let form = match round {
            0..20 => puzzle.solve(),
            _ => puzzle.form(&[0; 16]),
        };
        let reason = refused(&mut browser, &form)?;
        must(reason == "no_cookie", &reason)?;
    }
    // The allocator takes memory by four MiB.
    let grown = gate.rss_kib().saturating_sub(after_warming);
    must(grown < 8192, &format!("1000 rounds cost {grown} KiB"))
}

#[test]
fn h093_a_client_without_cookies_is_told_so_and_costs_nothing() {
    fails_but_without("ask_cookie", answers_without_cookies);
}

/// Targets that would lead to another site, or to the gate's own pages, if they were returned as they came.
const LEADING_AWAY: [&str; 30] = [
    "//evil.example",
    "///evil.example",
    "////evil.example/x",
    "/\\evil.example",
    "/\\/evil.example",
    "/\\\\evil.example",
    "/%09/evil.example",
    "/%0a/evil.example",
    "/%0d%0a/evil.example",
    "/%2f/evil.example",
    "/%5cevil.example",
    "/%5C/evil.example",
    "/%252f/evil.example",
    "/.//evil.example",
    "/..//evil.example",
    "/a/..//evil.example",
    "/a/../..//evil.example",
    "/%2e//evil.example",
    "/%2e%2e//evil.example",
    "//evil.example@www.example.org",
    "//www.example.org@evil.example",
    "//www.example.org.evil.example",
    "//[2001:db8::1]/",
    "//198.51.100.7:80/x?y",
    "/;//evil.example",
    "//evil%2eexample",
    "/\\@evil.example",
    "/./\\evil.example",
    "/.cattlegrid/x",
    "//.cattlegrid/answer",
];

fn is_led_away(gate: &Gate) -> Result<(), String> {
    let (mut browser, _) = challenged(gate, "127.0.0.13", "/x");
    let site = Url::parse("http://www.example.org/some/page?x=y").unwrap();
    let mut challenges = 0;
    for target in LEADING_AWAY {
        let answer = browser.get(target);
        if Puzzle::of(&answer.text()).is_none() {
            must(
                (400..500).contains(&answer.status),
                &format!("{target}: {}", answer.status),
            )?;
            continue;
        }
        challenges += 1;
        let page = browser.clear(&answer)?;
        let led = site.join(&page).map_err(|error| error.to_string())?;
        must(
            led.origin() == site.origin() && !led.path().starts_with("//") && page.starts_with('/'),
            &format!("{target} leads to {page}"),
        )?;
        browser.cookies.remove("cattlegrid");
    }
    must(challenges > 20, &format!("only {challenges} challenges"))
}

#[test]
fn h094_nobody_is_led_to_another_site() {
    fails_but_without("return_to", is_led_away);
}

fn sends_anothers_answer(gate: &Gate) -> Result<(), String> {
    let (attacker, challenge) = challenged(gate, "127.0.0.14", "/attackers");
    let form = crate::solve::solve(&challenge.text());
    // A victim who never met a challenge, and one who has met one; a form of another site brings neither cookie.
    let mut fresh = Browser::new("127.0.0.15", gate.address);
    must(refused(&mut fresh, &form)? == "no_cookie", "no cookie")?;
    let (mut asked, _) = challenged(gate, "127.0.0.16", "/mine");
    must(
        refused(&mut asked, &form)? == "other_visitor",
        "another cookie",
    )?;
    let cross_site = [("Origin", "http://evil.example"), ("Cookie", "")];
    let answer = asked.send("POST", "/.cattlegrid/answer", &cross_site, &form);
    must(
        answer.status == 403 && answer.values("set-cookie").is_empty(),
        "from another site",
    )?;
    drop(attacker);
    Ok(())
}

#[test]
fn h095_a_victim_cannot_be_made_to_send_anothers_answer() {
    fails_but_without("ask_cookie", sends_anothers_answer);
}

#[test]
fn h105_five_tabs_at_once_all_end_on_their_page() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, strict(""));
    for (order, source) in [
        ([0, 1, 2, 3, 4], "127.0.0.17"),
        ([4, 0, 3, 1, 2], "127.0.0.18"),
    ] {
        let (mut browser, _) = challenged(&gate, source, "/first");
        // The tabs ask before any of them has a cookie: the one of the last answer stays.
        let tabs: Vec<Answer> = (0..5)
            .map(|tab| {
                browser.cookies.clear();
                browser.get(&format!("/tab{tab}"))
            })
            .collect();
        for tab in order {
            let (page, rounds) = browser.end_tab(&tabs[tab]).unwrap();
            assert_eq!(page, format!("/tab{tab}"));
            assert!(rounds <= 2, "{rounds} rounds");
            assert_eq!(
                browser.get(&page).text(),
                format!("you asked for /tab{tab}")
            );
        }
    }
}

/// What is no page load: a name, the method, the path and its headers.
type Load = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const LOADS: [Load; 11] = [
    (
        "GET",
        "/style.css",
        &[
            ("Accept", "text/css,*/*;q=0.1"),
            ("Sec-Fetch-Dest", "style"),
        ],
    ),
    ("GET", "/app.js", &[("Accept", "*/*")]),
    (
        "GET",
        "/picture.png",
        &[("Accept", "image/*"), ("Sec-Fetch-Dest", "image")],
    ),
    (
        "GET",
        "/page",
        &[("Accept", "text/html"), ("Sec-Fetch-Dest", "image")],
    ),
    (
        "GET",
        "/page",
        &[
            ("Accept", "text/html"),
            ("X-Requested-With", "XMLHttpRequest"),
        ],
    ),
    (
        "GET",
        "/page",
        &[("Accept", "text/html"), ("Sec-Fetch-Dest", "empty")],
    ),
    (
        "GET",
        "/part",
        &[("Accept", "text/html"), ("HX-Request", "true")],
    ),
    ("GET", "/api/items", &[("Accept", "application/json")]),
    ("POST", "/form", &[("Accept", "text/html")]),
    ("DELETE", "/item", &[("Accept", "text/html")]),
    (
        "GET",
        "/socket",
        &[
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ],
    ),
];

fn programs_get_pages(gate: &Gate) -> Result<(), String> {
    let (mut browser, _) = challenged(gate, "127.0.0.19", "/x");
    for (method, path, headers) in LOADS {
        let answer = browser.send(method, path, headers, "");
        let is_short = answer.body.len() < 500 && answer.text().starts_with('{');
        let kind = answer.header("content-type").unwrap_or_default();
        must(
            [401, 403, 429].contains(&answer.status)
                && is_short
                && kind == "application/json"
                && answer.header("cache-control").as_deref() == Some("no-store"),
            &format!("{method} {path} {headers:?}: {}", answer.head),
        )?;
    }
    Ok(())
}

#[test]
fn h070_what_is_no_page_load_gets_a_short_refusal() {
    fails_but_without("reader", programs_get_pages);
}

#[test]
fn h070_a_websocket_without_accept_gets_no_page_either() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, strict(""));
    challenged(&gate, "127.0.0.20", "/x");
    let text = "GET /socket HTTP/1.1\r\nHost: www.example.org\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    let mut client = crate::harness::Client::connect("127.0.0.20", gate.address).unwrap();
    client.send(text.as_bytes()).unwrap();
    let answer = client.answer(false).unwrap();
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("content-type").unwrap(), "application/json");
    assert!(!origin.has_seen("/socket"));
}
