//! What checks cost, and that they take the same time wherever a signature is wrong.

use std::hint::black_box;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_marker::timing::DIFFERENT_FROM;
use cattlegrid_marker::timing::difference;

use super::*;

/// Best of several rounds: other programs on the machine make single ones slow.
fn fastest(mut deed: impl FnMut()) -> Duration {
    let rounds = (0..40).map(|_| {
        let before = Instant::now();
        (0..50).for_each(|_| deed());
        before.elapsed() / 50
    });
    rounds.min().unwrap()
}

/// Test builds are hardly optimised.
fn within(limit: Duration) -> Duration {
    if cfg!(debug_assertions) {
        10 * limit
    } else {
        limit
    }
}

fn report(what: &str, cost: Duration, limit: Duration) {
    eprintln!("{what}: {:.2} µs", cost.as_secs_f64() * 1e6);
    assert!(cost < within(limit), "{what} takes {cost:?}");
}

#[test]
fn h098_challenges_that_nobody_solves_cost_no_memory() {
    check(Defence::Stateless, |file, part| {
        let gate = part(file.gate());
        for _ in 0..10_000 {
            gate.mint(&visitor(), b"/", TERMS, [], NOW);
        }
        gate.remembered() > 0
    });
    let gate = gate();
    report(
        "mint",
        fastest(|| drop(black_box(gate.mint(&visitor(), b"/", TERMS, [], NOW)))),
        Duration::from_micros(20),
    );
}

#[test]
fn h099_a_refusal_is_cheap() {
    const LIMIT: Duration = Duration::from_micros(20);
    let (gate, mut jar) = (gate(), Jar::default());
    let puzzle = jar.ask(&gate, &visitor(), &format!("/{}", "a".repeat(2047)), NOW);
    let mut solved = Jar::default();
    let spent = solved.ask(&gate, &visitor(), "/", NOW);
    solved
        .send(&gate, &visitor(), &solution(&spent), NOW)
        .unwrap();
    let mut forged = puzzle.token.clone().into_bytes();
    forged[1000] = if forged[1000] == b'A' { b'B' } else { b'A' };
    let forged = body(str::from_utf8(&forged).unwrap(), &[0; 16]);
    let mut long_agent = visitor();
    long_agent.agent = &[b'x'; 8192];
    let right = solution(&puzzle);
    let idle = body(&puzzle.token, &[0; 16]);
    let (spent, junk) = (solution(&spent), "x".repeat(4000));
    let cases = [
        (Refusal::Malformed, &jar, junk, visitor(), NOW),
        (Refusal::Forged, &jar, forged, visitor(), NOW),
        (Refusal::Expired, &jar, right.clone(), visitor(), later(301)),
        (Refusal::TooEasy, &jar, idle, visitor(), NOW),
        (Refusal::OtherVisitor, &jar, right, long_agent, NOW),
        (Refusal::Spent, &solved, spent, visitor(), NOW),
    ];
    for (expected, jar, body, visitor, now) in cases {
        let header = jar.header();
        let cost = fastest(|| {
            let answer = gate.answer(&visitor, body.as_bytes(), [&header[..]], PAGES, now);
            assert_eq!(answer, Err(expected));
        });
        // Only who may answer this challenge makes the gate look at the work.
        let limit = match expected {
            Refusal::TooEasy => Duration::from_millis(2),
            _ => LIMIT,
        };
        report(expected.name(), cost, limit);
    }
}

#[test]
fn h099_a_gate_that_does_the_work_again_would_be_noticed() {
    let file = KeyFile::new();
    let (gate, mut jar) = (file.gate().without(Defence::CheapAnswers), Jar::default());
    jar.ask(&gate, &visitor(), "/", NOW);
    let header = jar.header();
    // As much work as the first challenge of a visitor is.
    let puzzle = gate.mint(
        &visitor(),
        b"/",
        Terms { bits: 15, ..TERMS },
        [&header[..]],
        NOW,
    );
    let idle = body(&puzzle.token, &[0; 16]);
    let costs = (0..20).map(|_| {
        let before = Instant::now();
        let answer = gate.answer(&visitor(), idle.as_bytes(), [&header[..]], PAGES, NOW);
        assert_eq!(answer, Err(Refusal::TooEasy));
        before.elapsed()
    });
    let cost = costs.min().unwrap();
    assert!(cost > within(Duration::from_micros(20)), "{cost:?}");
}

#[test]
fn a_clearance_is_found_fast() {
    let (gate, mut jar) = (gate(), Jar::default());
    jar.pass(&gate, &visitor(), NOW);
    let header = [b"session=0123456789abcdef; theme=dark; ", &jar.header()[..]].concat();
    let cost =
        fastest(|| assert!(black_box(gate.find([&header[..]], &visitor(), NOW.unix)).is_some()));
    report("clearance found", cost, Duration::from_nanos(1500));
    let other = b"session=0123456789abcdef; theme=dark; consent=yes";
    let cost =
        fastest(|| assert!(black_box(gate.find([&other[..]], &visitor(), NOW.unix)).is_none()));
    report("no cookie of ours", cost, Duration::from_nanos(500));
    let cost = fastest(|| drop(black_box(strip(&header))));
    report("cookies stripped", cost, Duration::from_nanos(1000));
}

#[test]
fn h107_a_wrong_signature_takes_the_same_time_wherever_it_is_wrong() {
    let (gate, mut jar) = (gate(), Jar::default());
    jar.pass(&gate, &visitor(), NOW);
    let bytes = URL_SAFE_NO_PAD
        .decode(jar.value("__Host-cattlegrid"))
        .unwrap();
    let wrong_at = |index: usize| {
        let mut wrong = bytes.clone();
        wrong[index] ^= 0x40;
        format!("__Host-cattlegrid={}", URL_SAFE_NO_PAD.encode(wrong)).into_bytes()
    };
    let found = difference(&[wrong_at(16), wrong_at(31)], |header| {
        assert!(black_box(gate.find([&header[..]], &visitor(), NOW.unix)).is_none());
    });
    eprintln!("t of wrong first and last byte: {found:.1}");
    assert!(found < DIFFERENT_FROM, "t = {found}");
}

#[test]
fn h107_a_comparison_that_ends_early_would_be_noticed() {
    // Byte by byte as a naive program does it, slow enough to be seen by this clock.
    let compare = |one: &[u8], other: &[u8]| {
        one.iter().zip(other).all(|(one, other)| {
            (0..20).for_each(|round| {
                black_box(round);
            });
            black_box(one) == black_box(other)
        })
    };
    let right = [7; 16];
    let (mut first, mut last) = (right, right);
    first[0] ^= 0x40;
    last[15] ^= 0x40;
    let found = difference(&[first, last], |wrong| assert!(!compare(&right, wrong)));
    assert!(found > DIFFERENT_FROM, "t = {found}");
}

/// The median times that looking for a clearance takes, in nanoseconds, taken in turn: a machine whose speed changes is slow for all of them.
fn medians_ns(gate: &Challenger, values: &[&str]) -> Vec<u128> {
    const ROUNDS: usize = 2000;
    let headers: Vec<_> = values
        .iter()
        .map(|value| format!("__Host-cattlegrid={value}").into_bytes())
        .collect();
    let mut times = vec![Vec::with_capacity(ROUNDS); values.len()];
    for _ in 0..ROUNDS {
        for (header, times) in headers.iter().zip(&mut times) {
            let started = Instant::now();
            assert!(black_box(gate.find([&header[..]], &visitor(), NOW.unix)).is_none());
            times.push(started.elapsed().as_nanos());
        }
    }
    let median = |mut times: Vec<u128>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    times.into_iter().map(median).collect()
}

#[test]
fn h088_all_cookies_that_fail_take_equally_long() {
    let (gate, mut jar) = (gate(), Jar::default());
    jar.pass(&gate, &visitor(), NOW);
    let genuine = jar.value("__Host-cattlegrid");
    let bytes = URL_SAFE_NO_PAD.decode(&genuine).unwrap();
    let changed = |index: usize| {
        let mut changed = bytes.clone();
        changed[index] ^= 0x40;
        URL_SAFE_NO_PAD.encode(changed)
    };
    let kinds = [
        ("a wrong signature", changed(bytes.len() - 1)),
        ("another version", changed(0)),
        ("an unknown key", changed(1)),
        ("no base64", "!".repeat(genuine.len())),
        ("cut", genuine[..genuine.len() - 1].to_owned()),
        ("a token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.".to_owned()),
    ];
    let values: Vec<&str> = kinds.iter().map(|(_, value)| &value[..]).collect();
    let times = medians_ns(&gate, &values);
    let names = kinds.iter().map(|(name, _)| *name);
    eprintln!("{:?}", names.zip(&times).collect::<Vec<_>>());
    let (shortest, longest) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(longest * 2 < shortest * 3, "{times:?} ns");
}
