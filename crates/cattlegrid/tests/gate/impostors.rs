//! Robots that name servers prove, and impostors: names that lead nowhere, names that only look right, and name servers that fail.
//! Addresses come through a trusted proxy's header.

use std::time::Duration;
use std::time::Instant;

use crate::crawlers::GOOGLEBOT;
use crate::crawlers::client;
use crate::crawlers::passed;
use crate::crawlers::reason;
use crate::harness::Gate;
use crate::harness::Manner;
use crate::harness::NameRecord;
use crate::harness::NameServer;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::harness::wait_for;
use crate::harness::watched;
use crate::solve::Puzzle;

/// Pages of an unknown source.
const K1: usize = 20;

/// A gate that asks this name server, with more lines in its `[gate]` part.
fn asking(origin: &Origin, server: &NameServer, more: &str) -> Gate {
    Gate::with(
        origin,
        Wanted {
            gate: format!("trusted_proxies = [\"127.0.0.1\"]\n{more}"),
            parts: format!("[gate.crawlers]\nresolver = \"{}\"\n", server.address),
            // Lists that this machine has fetched are not the test's.
            environment: vec![("XDG_DATA_HOME", "/nonexistent".to_owned())],
            ..Wanted::default()
        },
    )
}

/// The line that switches a defence off.
fn without(defence: &str) -> String {
    format!("without = [\"{defence}\"]")
}

#[test]
fn h052_names_that_lead_back_prove_a_robot() {
    let origin = Origin::start();
    let server = NameServer::start();
    let gate = asking(&origin, &server, "");
    let right = |address: &str, names: &[&str]| {
        server.names(address, names);
    };
    // One name; the last of several; capitals and a last dot; an alias on the way; IPv6.
    right("192.0.2.1", &["crawl-1.googlebot.com"]);
    server.addresses("crawl-1.googlebot.com", &["192.0.2.77", "192.0.2.1"]);
    right(
        "192.0.2.2",
        &[
            "host.example",
            "crawl-x.googlebot.com",
            "crawl-2.googlebot.com",
        ],
    );
    server.addresses("crawl-x.googlebot.com", &["192.0.2.9"]);
    server.addresses("crawl-2.googlebot.com", &["192.0.2.2"]);
    right("192.0.2.3", &["Crawl-3.GoogleBot.COM."]);
    server.addresses("crawl-3.googlebot.com", &["192.0.2.3"]);
    right("192.0.2.4", &["crawl-4.googlebot.com"]);
    server.has(
        "crawl-4.googlebot.com",
        &[NameRecord::Alias("real.googlebot.com".to_owned())],
    );
    server.addresses("real.googlebot.com", &["192.0.2.4"]);
    right("2001:db8::5", &["crawl-5.googlebot.com"]);
    server.addresses("crawl-5.googlebot.com", &["2001:db8::5"]);
    for address in [
        "192.0.2.1",
        "192.0.2.2",
        "192.0.2.3",
        "192.0.2.4",
        "2001:db8::5",
    ] {
        let mut robot = client(&gate, address, GOOGLEBOT);
        wait_for("the robot is proven", || {
            robot.get("/robot");
            reason(&gate, "/robot") == "proven"
        });
        assert_eq!(passed(&mut robot, 0..500), 500, "{address}");
    }
    // The answers are kept: one lookup of a few queries for each.
    let queries = server.asked().len();
    assert!(queries <= 12, "{queries}");
}

/// Those of some addresses that a gate takes for Googlebot as soon as it has asked. They have all pages, and the others none.
fn believed<'a>(gate: &Gate, addresses: &[&'a str]) -> Vec<&'a str> {
    let is_believed = |address: &str| {
        let mut robot = client(gate, address, GOOGLEBOT);
        let path = format!("/who/{address}");
        let mut said = String::new();
        wait_for(&format!("{address} is known"), || {
            robot.get(&path);
            said = reason(gate, &path);
            ["proven", "disproved"].contains(&said.as_str())
        });
        let expected = if said == "proven" { 50 } else { 0 };
        assert_eq!(passed(&mut robot, 0..50), expected, "{address}: {said}");
        said == "proven"
    };
    let all = addresses.iter().copied();
    all.filter(|address| is_believed(address)).collect()
}

/// The same with a victim beside them.
fn believed_beside_a_victim<'a>(gate: &mut Gate, addresses: &[&'a str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    watched(gate, |gate| found = believed(gate, addresses));
    found
}

#[test]
fn h052_whose_name_does_not_lead_back_is_an_impostor() {
    let origin = Origin::start();
    let server = NameServer::start();
    server.names("192.0.2.1", &["crawl-1-2-3-4.googlebot.com"]);
    server.addresses("crawl-1-2-3-4.googlebot.com", &["66.249.66.1"]); // another's
    server.names("192.0.2.2", &["crawl-2.googlebot.com"]); // a name, no address
    server.addresses("crawl-3.googlebot.com", &["192.0.2.3"]); // an address, no name
    let all = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    let mut gate = asking(&origin, &server, "");
    assert!(believed_beside_a_victim(&mut gate, &all).is_empty());
    let gate = asking(&origin, &server, &without("forward_dns"));
    assert_eq!(believed(&gate, &all), all[..2]);
}

/// A name in a domain that takes so many bytes in a message: each label one more than its letters, and one for the end.
fn long(bytes: usize, domain: &str) -> String {
    let mut name = domain.to_owned();
    while name.len() + 2 < bytes {
        let left = bytes - 2 - name.len();
        // A label takes at least two bytes: not one may be left over.
        let taken = if left == 52 { 50 } else { left.min(51) };
        name = format!("{}.{name}", "x".repeat(taken - 1));
    }
    name
}

#[test]
fn h053_names_are_compared_by_whole_labels_in_any_spelling() {
    let origin = Origin::start();
    let server = NameServer::start();
    let of_255 = long(255, "googlebot.com");
    let other_of_255 = long(255, "evilgooglebot.com");
    let names = [
        ("192.0.2.1", "Crawl-1.GoogleBot.COM."),
        ("192.0.2.2", "googlebot.com"),
        ("192.0.2.3", "xn--crawl-kva.googlebot.com"),
        ("192.0.2.4", of_255.as_str()),
        ("192.0.2.5", "evilgooglebot.com"),
        ("192.0.2.6", "BadGoogleBot.COM."),
        ("192.0.2.7", "xn--googlebot.com"),
        ("192.0.2.8", "crawl.xn--googlebot.com"),
        ("192.0.2.9", other_of_255.as_str()),
        ("192.0.2.11", "googlebot.com.evil.example"),
        ("192.0.2.12", "googlebot.com.xn--p1ai"),
        ("192.0.2.13", "googlebot.xn--com-9qa"),
    ];
    for (address, name) in names {
        server.names(address, &[name]);
        server.addresses(name, &[address]);
    }
    // Dots within labels: no host has such a name, whatever it looks like.
    server.labels("192.0.2.10", &["evil.googlebot", "com"]);
    server.addresses("evil?googlebot.com", &["192.0.2.10"]);
    server.labels("192.0.2.14", &["crawl", "googlebot.com"]);
    server.addresses("crawl.googlebot?com", &["192.0.2.14"]);
    let all: Vec<String> = (1..=14).map(|number| format!("192.0.2.{number}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut gate = asking(&origin, &server, "");
    assert_eq!(believed_beside_a_victim(&mut gate, &all), all[..4]);
    // What the end of the text decides lets in all that end like it.
    let gate = asking(&origin, &server, &without("whole_labels"));
    assert_eq!(believed(&gate, &all), all[..10]);
}

/// Names that are longer than any may be cannot be asked for: such an address is neither proven nor an impostor.
#[test]
fn h053_names_that_are_too_long_prove_nothing() {
    let origin = Origin::start();
    let server = NameServer::start();
    let mut gate = asking(&origin, &server, "");
    watched(&mut gate, |gate| {
        for (address, bytes) in [("192.0.2.1", 256), ("192.0.2.2", 258), ("192.0.2.3", 400)] {
            let name = long(bytes, "googlebot.com");
            server.names(address, &[&name]);
            server.addresses(&name, &[address]);
            let mut robot = client(gate, address, GOOGLEBOT);
            let failed = || gate.metric("cattlegrid_lookups_total{result=\"failed\"}");
            let before = failed().unwrap_or_default();
            assert_eq!(robot.get("/first").status, 200);
            wait_for("it was looked up", || failed() > Some(before));
            assert_eq!(passed(&mut robot, 0..50), K1 - 1, "{bytes} bytes");
        }
    });
}

#[test]
fn h052_h053_h056_impostors_are_challenged_at_once() {
    let origin = Origin::start();
    let server = NameServer::start();
    let gate = asking(&origin, &server, "");
    server.names("192.0.2.1", &["crawl-1.googlebot.com"]); // no address
    server.names("192.0.2.2", &["crawl-2.googlebot.com"]);
    server.addresses("crawl-2.googlebot.com", &["66.249.66.1"]); // another's
    server.addresses("crawl-3.googlebot.com", &["192.0.2.3"]); // an address, no name
    server.names("192.0.2.4", &["evilgooglebot.com"]);
    server.addresses("evilgooglebot.com", &["192.0.2.4"]);
    server.names("192.0.2.5", &["crawl.googlebot.com.evil.example"]);
    server.addresses("crawl.googlebot.com.evil.example", &["192.0.2.5"]);
    server.names("192.0.2.6", &["1-2-3-4.bc.googleusercontent.com"]); // a rented machine
    server.addresses("1-2-3-4.bc.googleusercontent.com", &["192.0.2.6"]);
    server.names("192.0.2.7", &["google-proxy-1.google.com"]); // fetches for anybody
    server.addresses("google-proxy-1.google.com", &["192.0.2.7"]);
    server.names("192.0.2.8", &["crawl-8.googlebot.com"]);
    server.addresses("crawl-8.googlebot.com", &["::ffff:192.0.2.8"]); // the wrong kind
    server.names("192.0.2.9", &["loop.googlebot.com"]);
    server.has(
        "loop.googlebot.com",
        &[NameRecord::Alias("loop.googlebot.com".to_owned())],
    );
    server.names("192.0.2.10", &["a\n\"<script>.googlebot.com"]);
    let long = format!("{}.googlebot.com", ["x".repeat(60).as_str(); 3].join("."));
    server.names("192.0.2.11", &[&long]);
    let many: Vec<String> = (0..60).map(|number| format!("n{number}.example")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    server.names("192.0.2.12", &many[..12]);
    for number in 1..=13 {
        let address = format!("192.0.2.{number}");
        let mut fake = client(&gate, &address, GOOGLEBOT);
        let path = format!("/fake/{number}");
        wait_for(&format!("{address} is challenged"), || {
            fake.get(&path).status == 403
        });
        wait_for(&format!("{address} is disproved in the log"), || {
            reason(&gate, &path) == "disproved"
        });
        assert_eq!(passed(&mut fake, 0..50), 0, "{address}");
    }
    // A person whose browser calls itself that solves one challenge, and reads.
    let mut person = client(&gate, "192.0.2.1", GOOGLEBOT);
    person.keeps_cookies = true;
    assert_eq!(person.open("/page/1").status, 200);
    assert_eq!(person.get("/page/2").status, 200);
}

/// What a flood of robots by name saw that come from a network each.
struct Flood {
    passed: usize,
    slowest: Duration,
}

fn flood(gate: &Gate, count: usize) -> Flood {
    let mut client = client(gate, "192.0.2.1", GOOGLEBOT);
    let mut flood = Flood {
        passed: 0,
        slowest: Duration::ZERO,
    };
    for number in 0..count {
        client.headers[0].1 = format!("10.{}.{}.7", 1 + number / 250, number % 250);
        let asked = Instant::now();
        flood.passed += usize::from(client.get("/page").status == 200);
        flood.slowest = flood.slowest.max(asked.elapsed());
    }
    flood
}

/// A robot that nobody can verify has the pages of an unknown visitor, and the next one is a challenge.
fn an_unverified_robot_is_challenged_after_k1_pages(gate: &Gate) {
    let mut robot = client(gate, "203.0.113.9", GOOGLEBOT);
    assert_eq!(passed(&mut robot, 0..K1), K1);
    let next = robot.get("/page/next");
    assert_eq!(next.status, 403);
    assert!(Puzzle::of(&next.text()).is_some(), "{}", next.text());
    assert_ne!(reason(gate, "/page/next"), "disproved");
}

fn withstands_a_name_server_that_is(manner: Manner) {
    let origin = Origin::start();
    let server = NameServer::start();
    server.set(manner);
    let mut gate = asking(&origin, &server, "");
    watched(&mut gate, |gate| {
        an_unverified_robot_is_challenged_after_k1_pages(gate);
        let Flood { passed, slowest } = flood(gate, 10_000);
        // The queue lasts longer than the flood: late answers come while others are asked for.
        wait_for("hundreds of queries were sent", || {
            server.asked().len() >= 300
        });
        let log = gate.log();
        let waits = || log.iter().filter_map(|line| line["duration"].as_f64());
        let longest = waits().fold(0.0, f64::max);
        let late = waits().filter(|seconds| *seconds > 0.05).count();
        let (queries, open) = (server.asked().len(), server.most_open());
        say(&format!(
            "{manner:?}: {passed} of 10,000 passed, the slowest in {slowest:?}, in the gate in {longest} s, {late} in more than 50 ms; {queries} queries, {open} at once at most"
        ));
        // Nobody is an impostor because a server is silent: each is a visitor with its first page.
        assert_eq!(passed, 10_000);
        assert!(
            late <= 20,
            "{late} requests took more than 50 ms, {longest} s at most"
        );
        match manner {
            Manner::Fails => {}
            // So many that the limit of 64 was met. The server notices the end of a query later than the gate.
            _ => assert!((33..=80).contains(&open), "{open} queries at once"),
        }
        // What robots can prove by their networks does not wait for a name server.
        let mut google = client(gate, "66.249.66.1", GOOGLEBOT);
        assert_eq!(crate::crawlers::passed(&mut google, 0..100), 100);
        // What still waits in the queue goes quickly, and with it its files.
        server.set(Manner::Answers);
    });
}

#[test]
fn h055_a_silent_name_server_makes_nobody_wait_and_disproves_nobody() {
    withstands_a_name_server_that_is(Manner::Silent);
}

#[test]
fn h055_a_failing_name_server_makes_nobody_wait_and_disproves_nobody() {
    withstands_a_name_server_that_is(Manner::Fails);
}

#[test]
fn h055_a_late_name_server_makes_nobody_wait_and_disproves_nobody() {
    withstands_a_name_server_that_is(Manner::Late);
}

#[test]
fn h055_without_a_limit_there_are_more_queries_at_once() {
    let origin = Origin::start();
    let server = NameServer::start();
    server.set(Manner::Late);
    let gate = asking(&origin, &server, &without("lookups"));
    flood(&gate, 500);
    wait_for("more than 64 queries wait", || server.most_open() > 64);
}

/// The shortest time between two lookups of one address whose name server fails, on a clock that runs twenty times too fast.
fn shortest_gap(more: &str) -> Duration {
    let origin = Origin::start();
    let server = NameServer::start();
    server.set(Manner::Fails);
    let clock = "clock = { start = 1893456000, speed = 20 }\n";
    let gate = asking(&origin, &server, &format!("{clock}{more}"));
    let mut robot = client(&gate, "192.0.2.1", GOOGLEBOT);
    wait_for("it is looked up three times", || {
        robot.get("/page");
        server.asked().len() >= 3
    });
    let asked = server.asked();
    let gaps = asked.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.min().unwrap()
}

#[test]
fn h055_a_name_server_that_failed_is_asked_again_after_a_minute() {
    // A minute of whole seconds may lack one, and what was asked may come a moment late.
    let minute = Duration::from_secs(58) / 20;
    let gaps = [shortest_gap(""), shortest_gap(&without("lookups"))];
    say(&format!(
        "between lookups that fail {:?} of a fast clock, without the defence {:?}",
        20 * gaps[0],
        20 * gaps[1]
    ));
    assert!(gaps[0] >= minute && gaps[1] < minute, "{gaps:?}");
}

/// A crawler that knows the rules floods the queue from one network, whose names never come: others are verified all the same.
#[test]
fn one_network_cannot_keep_others_from_being_verified() {
    let origin = Origin::start();
    let server = NameServer::start();
    server.set(Manner::Selective);
    server.names("198.51.100.1", &["crawl-1.googlebot.com"]);
    server.addresses("crawl-1.googlebot.com", &["198.51.100.1"]);
    let gate = asking(&origin, &server, "");
    let mut flood = client(&gate, "192.0.2.1", GOOGLEBOT);
    for number in 0..2_000 {
        flood.headers[0].1 = format!("203.0.{}.{}", 113 + number % 4, number / 8);
        flood.get("/flood");
    }
    let asked = Instant::now();
    let mut robot = client(&gate, "198.51.100.1", GOOGLEBOT);
    wait_for("the robot is proven", || {
        robot.get("/robot");
        reason(&gate, "/robot") == "proven"
    });
    say(&format!("verified {:?} after the flood", asked.elapsed()));
    assert!(asked.elapsed() < Duration::from_secs(5));
}
