//! Floods of challenges that nobody solves and of answers that are no good: neither memory nor time is spent on them.

use std::time::Duration;

use crate::challenge::challenged;
use crate::challenge::changed;
use crate::challenge::must;
use crate::challenge::strict;
use crate::challenge::without;
use crate::challenge::withstands;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::solve::Browser;
use crate::solve::Puzzle;

fn senders(gate: &Gate) -> Vec<Browser> {
    (0..50)
        .map(|number| Browser::new(&format!("127.0.30.{}", number + 1), gate.address))
        .collect()
}

/// Sends many requests over kept connections from a range of addresses.
fn flood(gate: &Gate, count: usize, mut one: impl FnMut(&mut Browser, usize)) {
    let mut senders = senders(gate);
    for number in 0..count {
        let sender = &mut senders[number % 50];
        one(sender, number);
    }
}

/// Has the gate make thousands of challenges that carry as much as one may, and solves none.
fn h098_is_withstood(gate: &Gate) -> Result<(), String> {
    let long = format!("/{}", "a".repeat(2000));
    let mut senders = senders(gate);
    let forms: Vec<String> = senders
        .iter_mut()
        .map(|sender| {
            let mut pages = (0..10).map(|_| Puzzle::of(&sender.get(&long).text()));
            format!("token={}", pages.find_map(|puzzle| puzzle).unwrap().token)
        })
        .collect();
    let mut ask = |number: usize| {
        let (sender, form) = (&mut senders[number % 50], &forms[number % 50]);
        sender.cookies.clear();
        let next = sender.post("challenge", form);
        must(Puzzle::of(&next.text()).is_some(), &next.head)
    };
    (0..1000).try_for_each(&mut ask)?;
    let warm = gate.rss_kib();
    (0..6000).try_for_each(&mut ask)?;
    let grown = gate.rss_kib().saturating_sub(warm);
    say(&format!("6000 challenges of 3 KB: {grown} KiB more"));
    // The allocator takes memory by four MiB. A gate that keeps them all needs 17.
    must(grown < 8 * 1024, &format!("{grown} KiB more"))
}

#[test]
fn h098_challenges_that_nobody_solves_cost_no_memory() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, strict(""));
    withstands(&mut gate, |gate| {
        let warm = gate.rss_kib();
        flood(gate, 6000, |sender, number| {
            sender.cookies.clear();
            sender.get(&format!("/page{number}"));
        });
        let grown = gate.rss_kib().saturating_sub(warm);
        must(grown < 32 * 1024, &format!("{grown} KiB more"))?;
        h098_is_withstood(gate)?;
        let (mut honest, challenge) = challenged(gate, "127.0.40.1", "/x");
        honest.clear(&challenge).map(drop)
    });
    assert!(gate.metric("cattlegrid_challenges_total").unwrap() > 12_000.0);
    drop(gate);
    assert!(h098_is_withstood(&without(&origin, "stateless")).is_err());
}

/// Sends answers that are no good, half of them with a challenge that is signed. Each must cost the gate little.
fn h099_is_withstood(gate: &Gate, count: u32) -> Result<(), String> {
    let (mut browser, challenge) = challenged(gate, "127.0.0.21", "/x");
    let puzzle = Puzzle::of(&challenge.text()).ok_or("no challenge")?;
    let form = puzzle.form(&[0; 16]);
    let token = changed(&puzzle.token, 20, |byte| byte ^ 1);
    let forged = form.replace(&puzzle.token, &token);
    let before = gate.cpu();
    flood(gate, count as usize, |sender, number| {
        let form = if number % 2 == 0 { &form } else { &forged };
        sender.post("answer", form);
    });
    let each = (gate.cpu() - before) / count;
    say(&format!("{count} bogus answers: {each:?} for each"));
    browser.clear(&challenge)?;
    // All of HTTP is in it, in a build for tests: what the check itself costs is seen in a test of its own.
    must(each < Duration::from_millis(1), &format!("{each:?}"))
}

#[test]
fn h099_refusing_answers_leaves_time_for_others() {
    let origin = Origin::start();
    let hard = |settings: &str| Wanted {
        gate: settings.to_owned(),
        parts: strict("").parts.replace("bits = 8", "bits = 16"),
        ..Wanted::default()
    };
    let mut gate = Gate::with(&origin, hard(""));
    withstands(&mut gate, |gate| h099_is_withstood(gate, 5000));
    drop(gate);
    let gate = Gate::with(&origin, hard("without = [\"cheap_answers\"]"));
    assert!(h099_is_withstood(&gate, 200).is_err());
}
