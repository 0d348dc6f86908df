//! The slow pages behind links that only programs follow: what they cost the gate, and that everybody else comes first.

use std::io;
use std::io::Read as _;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::VICTIM;
use crate::harness::each;
use crate::harness::get_from;
use crate::harness::say;
use crate::harness::wait_for;
use crate::harness::watched;
use crate::http2::END_HEADERS;
use crate::http2::END_STREAM;
use crate::http2::HEADERS;
use crate::http2::Talk;
use crate::http2::asking;
use crate::http2::block;
use crate::http2::frame;
use crate::solve::Browser;
use crate::traps::refused;
use crate::traps::slots;
use crate::traps::start;
use crate::traps::strict;
use crate::traps::trap;

/// Holds a connection that waits for a page behind a trap.
fn enter(source: &str, gate: &Gate, link: &str) -> io::Result<Client> {
    let mut client = Client::connect(source, gate.address)?;
    client.send(&crate::harness::request("GET", link, &[]))?;
    Ok(client)
}

#[test]
fn h074_thousands_in_the_maze_cost_little() {
    let origin = Origin::start();
    let mut gate = start(
        &origin,
        strict("", "delay_seconds = 9.0\nbytes_per_second = 100000000"),
    );
    let crawlers: Vec<String> = (0..400)
        .map(|number| format!("127.4.{}.{}", number / 200, 1 + number % 200))
        .collect();
    let traps = each(&crawlers, |source| trap(source, gate.address, &[]));
    let before = gate.rss_kib();
    watched(&mut gate, |gate| {
        let pairs: Vec<(&String, &String)> = crawlers.iter().zip(&traps).collect();
        let inside: Vec<Client> = each(&pairs, |(source, link)| {
            (0..5)
                .map(|_| enter(source, gate, link).unwrap())
                .collect::<Vec<_>>()
        })
        .into_iter()
        .flatten()
        .collect();
        wait_for("all slots are taken", || slots(gate) == 500.0);
        wait_for("the others were refused", || {
            refused(gate, "slots") + refused(gate, "source_slots") >= 1500.0
        });
        let started = Instant::now();
        let more: usize = each(&pairs, |(source, link)| {
            let answers = (0..20).map(|_| get_from(source, gate.address, link, &[]).status);
            answers.filter(|status| *status == 403).count()
        })
        .into_iter()
        .sum();
        let grown = gate.rss_kib().saturating_sub(before);
        let took = started.elapsed();
        let statuses: Vec<u16> = inside
            .into_iter()
            .map(|mut client| client.answer(false).unwrap().status)
            .collect();
        let of = |status: u16| statuses.iter().filter(|known| **known == status).count();
        say(&format!(
            "10,000 crawlers in the maze: {} pages, {} refused at once (the last 8,000 in {took:?}), {grown} KiB more",
            of(200),
            of(403) + more
        ));
        assert_eq!((of(200), of(403)), (500, 1500));
        // On a slow machine the first ones are done before the last ones come.
        assert!(more + 500 * (took.as_secs() as usize / 9) >= 8000, "{more}");
        assert!(grown <= 32 * 1024, "{grown} KiB");
    });
    assert_eq!(slots(&gate), 0.0);
}

#[test]
fn connections_for_others_come_first() {
    let origin = Origin::start();
    let gate = start(
        &origin,
        strict("connections_max = 40", "delay_seconds = 5.0"),
    );
    let link = trap("127.0.55.1", gate.address, &[]);
    let idle: Vec<Client> = (0..25)
        .map(|_| Client::connect("127.0.55.2", gate.address).unwrap())
        .collect();
    wait_for("they are counted", || {
        gate.metric("cattlegrid_connections") >= Some(25.0)
    });
    let started = Instant::now();
    assert_eq!(get_from("127.0.55.1", gate.address, &link, &[]).status, 403);
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(refused(&gate, "connections"), 1.0);
    // Whoever gets no page of the site does not keep its connection; others keep it for a few seconds.
    let mut crawler = enter("127.0.55.1", &gate, &link).unwrap();
    let answer = crawler.answer(false).unwrap();
    assert_eq!(
        (answer.status, answer.header("connection").as_deref()),
        (403, Some("close"))
    );
    let mut person = Client::connect("127.9.9.9", gate.address).unwrap();
    let answer = person.get("/page", &[]).unwrap();
    assert_eq!(
        (answer.status, answer.header("connection").as_deref()),
        (200, None)
    );
    let kept = Instant::now();
    assert_eq!(person.stream.read(&mut [0; 64]).unwrap(), 0);
    assert!((4..15).contains(&kept.elapsed().as_secs()));
    drop(idle);
}

#[test]
fn bytes_are_bounded() {
    let origin = Origin::start();
    let gate = start(
        &origin,
        strict("", "delay_seconds = 0.0\nbytes_per_second = 8192"),
    );
    let link = trap("127.0.56.1", gate.address, &[]);
    let mut client = Browser::new("127.0.56.1", gate.address);
    let started = Instant::now();
    let answers: Vec<Answer> = (0..200).map(|_| client.get(&link)).collect();
    let seconds = started.elapsed().as_secs_f64();
    let bytes: usize = answers.iter().map(|answer| answer.body.len()).sum();
    assert!(
        answers
            .iter()
            .any(|answer| answer.status == 403 && answer.body.is_empty())
    );
    assert!(
        (bytes as f64) < 8192.0 * (seconds + 1.5),
        "{bytes} in {seconds}"
    );
    assert!(refused(&gate, "bytes") > 100.0);
}

#[test]
fn who_goes_away_frees_the_slot() {
    let origin = Origin::start();
    let gate = start(&origin, strict("", "delay_seconds = 10.0"));
    let link = trap("127.0.57.1", gate.address, &[]);
    let inside: Vec<Client> = (0..4)
        .map(|_| enter("127.0.57.1", &gate, &link).unwrap())
        .collect();
    wait_for("they wait", || slots(&gate) == 4.0);
    assert_eq!(get_from("127.0.57.1", gate.address, &link, &[]).status, 403);
    assert_eq!(refused(&gate, "source_slots"), 1.0);
    drop(inside);
    wait_for("the slots are free", || slots(&gate) == 0.0);
    wait_for("they are in the log", || {
        let log = gate.log();
        let left = log
            .iter()
            .filter(|line| line["decision"] == "trap" && line["status"] == 499);
        left.count() == 4
    });
    // The same over HTTP/2, where the connection stays.
    let link = trap("127.0.0.1", gate.address, &[]);
    let mut talk = Talk::open(gate.address, b"");
    let head = block(&asking("GET", &link));
    talk.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head))
        .unwrap();
    wait_for("it waits", || slots(&gate) == 1.0);
    let reset = frame(3, 0, 1, &8_u32.to_be_bytes());
    talk.send(&reset).unwrap();
    wait_for("the slot is free", || slots(&gate) == 0.0);
    let head = block(&asking("GET", "/.cattlegrid/more/none"));
    talk.send(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &head))
        .unwrap();
    assert!(!talk.is_answered(3));
}

#[test]
fn the_gate_stops_at_once_with_clients_in_the_maze() {
    let origin = Origin::start();
    let mut gate = start(&origin, strict("", "delay_seconds = 10.0"));
    let link = trap("127.0.0.1", gate.address, &[]);
    let mut inside: Vec<Client> = (0..3)
        .map(|_| enter("127.0.0.1", &gate, &link).unwrap())
        .collect();
    let mut talk = Talk::open(gate.address, b"");
    let head = block(&asking("GET", &link));
    talk.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head))
        .unwrap();
    wait_for("they wait", || slots(&gate) == 4.0);
    let started = Instant::now();
    gate.signal("TERM");
    for client in &mut inside {
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
    assert!(talk.is_answered(1));
    drop(talk);
    wait_for("it has ended", || gate.ended().is_some());
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn a_page_of_the_maze_costs_less_than_one_of_the_site() {
    let origin = Origin::start();
    let gate = start(
        &origin,
        strict("", "delay_seconds = 0.0\nbytes_per_second = 100000000"),
    );
    let link = trap("127.0.59.1", gate.address, &[]);
    let mut crawler = Browser::new("127.0.59.1", gate.address);
    let mut visitor = Browser::new(VICTIM, gate.address);
    let cost = |client: &mut Browser, path: &str| {
        let before = gate.cpu();
        for _ in 0..1000 {
            assert_eq!(client.get(path).status, 200);
        }
        gate.cpu() - before
    };
    // In turn: a machine with other work is slower in one moment than in the next.
    let (mut maze, mut proxied) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..5 {
        maze += cost(&mut crawler, &link) / 5000;
        proxied += cost(&mut visitor, "/page") / 5000;
    }
    say(&format!(
        "in a build for tests: {maze:?} for a page of the maze, {proxied:?} for a page of the site"
    ));
    // Most of both is HTTP and the log.
    assert!(maze < 2 * proxied, "{maze:?} {proxied:?}");
}
