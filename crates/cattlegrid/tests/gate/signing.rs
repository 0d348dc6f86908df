//! The signing key of the running gate: kept to itself, replaced while people read, and clocks that go wrong.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::process::Output;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::challenge::challenged;
use crate::challenge::must;
use crate::challenge::strict;
use crate::challenge::withstands;
use crate::clearance::cleared;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::get;
use crate::harness::say;
use crate::harness::wait_for;
use crate::skip::not_installed;
use crate::solve::Browser;
use crate::solve::Puzzle;

fn cattlegrid(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Draws a new key and has the gate take it.
fn rotate(gate: &Gate, more: &[&str]) {
    let config = gate.path("gate.toml");
    let mut arguments = vec!["rotate-keys", "--config", config.to_str().unwrap()];
    arguments.extend(more);
    let output = cattlegrid(&arguments);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let fingerprint = said.split(' ').nth(3).unwrap().trim_end_matches(';');
    let reloads = || {
        gate.stderr()
            .matches("the new settings are in force")
            .count()
    };
    let before = reloads();
    gate.signal("HUP");
    // It names the key when it has read it, and signs with it from the end of the reload on.
    wait_for("the gate has the new key", || reloads() > before);
    assert!(
        gate.stderr().contains(&format!("key=\"{fingerprint}\"")),
        "{}",
        gate.stderr()
    );
}

/// A gate whose clearances last, so that only keys decide.
fn lasting() -> Wanted {
    let mut wanted = strict("");
    wanted.parts = wanted.parts.replace(
        "clearance_pages = 20",
        "clearance_pages = 100000\nclearance_burst = 100000",
    );
    wanted
}

/// People read while keys are rotated three times. Gives the pages that they lost.
fn rotates_under_load(gate: &Gate, how: &[&str]) -> usize {
    let mut people: Vec<Browser> = (1..=8)
        .map(|number| cleared(gate, &format!("127.0.2.{number}")))
        .collect();
    let (stop, pages) = (AtomicBool::new(false), AtomicUsize::new(0));
    let lost = thread::scope(|scope| {
        let readers: Vec<_> = people
            .iter_mut()
            .map(|person| {
                scope.spawn(|| {
                    let mut lost = 0;
                    while !stop.load(Ordering::Relaxed) {
                        lost += usize::from(person.get("/y").status != 200);
                        pages.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(20));
                    }
                    lost
                })
            })
            .collect();
        for _ in 0..3 {
            let seen = pages.load(Ordering::Relaxed);
            rotate(gate, how);
            wait_for("people go on reading", || {
                pages.load(Ordering::Relaxed) > seen + 100
            });
        }
        stop.store(true, Ordering::Relaxed);
        let lost = readers.into_iter().map(|reader| reader.join().unwrap());
        lost.sum::<usize>()
    });
    say(&format!(
        "{} pages over three rotations {how:?}, {lost} lost",
        pages.load(Ordering::Relaxed)
    ));
    lost
}

#[test]
fn h108_nobody_is_lost_while_keys_are_rotated_under_load() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, lasting());
    withstands(&mut gate, |gate| {
        let lost = rotates_under_load(gate, &[]);
        must(lost == 0, &format!("{lost} pages were lost"))
    });
    drop(gate);
    // Without a grace for the old key everybody is.
    let gate = Gate::with(&origin, lasting());
    assert!(rotates_under_load(&gate, &["--leaked"]) > 100);
}

/// People read on after a rotation. Gives the challenges that each of them has met in all, and where one is led who was asked before it,
/// after how many rounds.
fn reads_on(gate: &Gate, how: &[&str]) -> ([usize; 4], String, usize) {
    let mut people = [101, 102, 103, 104].map(|number| cleared(gate, &format!("127.0.2.{number}")));
    let (mut asked, challenge) = challenged(gate, "127.0.2.99", "/asked");
    rotate(gate, how);
    for person in &mut people {
        assert_eq!(person.open("/y").status, 200);
        assert_eq!(person.open("/z").status, 200);
    }
    let (page, rounds) = asked.end_tab(&challenge).unwrap();
    (people.map(|person| person.solved), page, rounds)
}

#[test]
fn h108_without_the_old_key_there_is_one_challenge_more() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, lasting());
    withstands(&mut gate, |gate| {
        // A challenge that was on screen then gets another in its place.
        let met = reads_on(gate, &["--leaked"]);
        must(met == ([2; 4], "/".to_owned(), 2), &format!("{met:?}"))
    });
    let keys = fs::read_to_string(gate.path("state/keys")).unwrap();
    assert_eq!(keys.lines().count(), 1);
    // With the old key nobody would notice, not even who has stolen it.
    let gate = Gate::with(&origin, lasting());
    assert_eq!(reads_on(&gate, &[]), ([1; 4], "/asked".to_owned(), 1));
    let keys = fs::read_to_string(gate.path("state/keys")).unwrap();
    assert_eq!(keys.lines().count(), 2);
}

/// Earns a clearance at one node. Gives the challenges that the same browser then meets at the other.
fn challenges_there(one: &Gate, other: &Gate, source: &str) -> usize {
    let person = cleared(one, source);
    let (mut there, _) = challenged(other, source, "/x");
    there.cookies.clone_from(&person.cookies);
    assert_eq!(there.open("/y").status, 200);
    there.solved
}

#[test]
fn h108_a_node_that_has_the_new_key_later_knows_what_is_signed_meanwhile() {
    let origin = Origin::start();
    let (one, other) = (
        Gate::with(&origin, lasting()),
        Gate::with(&origin, lasting()),
    );
    fs::copy(one.path("state/keys"), other.path("state/keys")).unwrap();
    let mut other = other.restart();
    withstands(&mut other, |other| {
        rotate(&one, &[]);
        must(challenges_there(&one, other, "127.0.2.200") == 0, "known")
    });
    // A key that signs at once, as one does where the old one has leaked, is not known there yet.
    rotate(&one, &["--leaked"]);
    assert_eq!(challenges_there(&one, &other, "127.0.2.201"), 1);
}

#[test]
fn a_damaged_key_file_leaves_the_old_keys_in_force() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, lasting());
    let mut person = cleared(&gate, "127.0.2.202");
    fs::write(gate.path("state/keys"), "nonsense\n").unwrap();
    gate.signal("HUP");
    wait_for("the gate refuses the file", || {
        gate.metric("cattlegrid_reload_failed") == Some(1.0)
    });
    assert!(gate.stderr().contains("keys:1:"), "{}", gate.stderr());
    assert_eq!(person.open("/y").status, 200);
    assert_eq!(person.solved, 1);
}

/// True for a file that nobody but its owner can read or change.
fn is_owners(path: &Path) -> bool {
    let mode = fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    mode == 0o600
}

/// All that a gate shows in which bytes of its key stand; the file of the key itself is not looked at.
fn shows_key(gate: &Gate, person: &Browser) -> Vec<String> {
    let text = fs::read_to_string(gate.path("state/keys")).unwrap();
    let hex = text.split(' ').nth(1).unwrap();
    let raw: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let config = gate.path("gate.toml");
    let check = cattlegrid(&["check", "--config", config.to_str().unwrap()]);
    let mut shown: Vec<(String, Vec<u8>)> = vec![
        ("metrics".to_owned(), get(gate.admin, "/metrics", &[]).body),
        ("check".to_owned(), [check.stdout, check.stderr].concat()),
        ("cookies".to_owned(), person.cookie().into_bytes()),
    ];
    read_all(gate.folder.path(), &mut shown).unwrap();
    for name in ["access.log", "stderr", "counters"] {
        assert!(
            shown.iter().any(|(shown, _)| shown.ends_with(name)),
            "{name}"
        );
    }
    let has_key = |(_, bytes): &(String, Vec<u8>)| {
        let has = |what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
        has(&hex.as_bytes()[..12]) || has(&raw[..8])
    };
    shown.retain(has_key);
    shown.into_iter().map(|(name, _)| name).collect()
}

/// Does what makes a gate talk, but for a panic: answers, a reload, pages.
fn makes_it_talk(gate: &Gate) -> Browser {
    let mut person = cleared(gate, "127.0.2.203");
    person.post("answer", "token=x&work=y");
    gate.signal("HUP");
    wait_for("the reload is done", || {
        gate.stderr().contains("the new settings are in force")
    });
    wait_for("the page is in the log", || {
        gate.log().iter().any(|line| line["target"] == "/x")
    });
    person
}

#[test]
fn h109_the_key_is_the_owners_alone_and_shown_nowhere() {
    let origin = Origin::start();
    // Counters are on the disk once a gate has ended.
    let mut gate = Gate::with(&origin, strict("")).restart();
    let path = gate.path("state/keys");
    assert!(is_owners(&path));
    assert_eq!(gate.core_max(), "0");
    withstands(&mut gate, |gate| {
        let shown = shows_key(gate, &makes_it_talk(gate));
        must(shown.is_empty(), &format!("{shown:?}"))
    });
    let (mut person, _) = challenged(&gate, "127.0.2.207", "/x");
    person.send("GET", "/y", &[("X-Test-Panic", "1")], "");
    wait_for("it panics", || gate.stderr().contains("panicked"));
    assert_eq!(shows_key(&gate, &person), Vec::<String>::new());
    assert!(
        gate.stderr().contains("signing key key="),
        "its fingerprint"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop_and_refuse(gate);
    // A gate that tells all it knows when it starts would be noticed, and a file that is written without care.
    let gate = Gate::with(&origin, strict("without = [\"secret_key\"]")).restart();
    let shown = shows_key(&gate, &makes_it_talk(&gate));
    assert!(
        shown.iter().any(|name| name.ends_with("stderr")),
        "{shown:?}"
    );
    let naive = gate.path("naive");
    let written = Command::new("sh")
        .args(["-c", "umask 022; echo key >\"$0\""])
        .arg(&naive)
        .status();
    assert!(written.unwrap().success() && !is_owners(&naive));
}

/// All files of the gate but the key file itself.
fn read_all(folder: &Path, shown: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for found in fs::read_dir(folder)? {
        let path = found?.path();
        match path.is_dir() {
            true => read_all(&path, shown)?,
            false if path.ends_with("state/keys") => {}
            false => shown.push((path.display().to_string(), fs::read(&path)?)),
        }
    }
    Ok(())
}

/// A gate whose key others can read does not start, and says what to do.
fn drop_and_refuse(gate: Gate) {
    let copy = tempfile::tempdir().unwrap();
    let settings = fs::read_to_string(gate.path("gate.toml")).unwrap();
    let config = copy.path().join("gate.toml");
    let from = gate.folder.path().to_str().unwrap().to_owned();
    fs::create_dir(copy.path().join("state")).unwrap();
    // A copy keeps the mode.
    fs::copy(gate.path("state/keys"), copy.path().join("state/keys")).unwrap();
    drop(gate);
    fs::write(
        &config,
        settings.replace(&from, copy.path().to_str().unwrap()),
    )
    .unwrap();
    let output = cattlegrid(&["gate", "--config", config.to_str().unwrap()]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("chmod 600"), "{said}");
}

/// The library that changes clocks, where Debian has it.
fn faketime() -> String {
    let folder = format!("/usr/lib/{}-linux-gnu/faketime", std::env::consts::ARCH);
    format!("{folder}/libfaketimeMT.so.1")
}

/// Whether the library that changes clocks is there.
fn has_faketime() -> bool {
    let is_there = Path::new(&faketime()).exists();
    if !is_there {
        not_installed("faketime", 1);
    }
    is_there
}

/// A gate whose clock shows what a file says.
fn with_clock(origin: &Origin, file: &Path, time: &str, settings: &str) -> Gate {
    fs::write(file, format!("{time}\n")).unwrap();
    let mut wanted = lasting();
    wanted.gate = settings.to_owned();
    wanted.environment = vec![
        ("LD_PRELOAD", faketime()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("TZ", "UTC".to_owned()),
    ];
    Gate::with(origin, wanted)
}

/// Sets the clock of a gate again and again, through the file that it is read from. Nobody may notice.
fn sets_the_clock(gate: &Gate, file: &Path) -> Result<(), String> {
    let mut person = cleared(gate, "127.0.2.204");
    let (mut unknown, _) = challenged(gate, "127.0.2.205", "/x");
    for time in [
        "-1h",
        "+1h",
        "+30d",
        "@1970-01-02 00:00:00",
        "+0",
        "-1h",
        "+0",
        "+3650d",
        "+0",
    ] {
        fs::write(file, format!("{time}\n")).map_err(|error| error.to_string())?;
        // The gate looks at the clock once a second.
        thread::sleep(Duration::from_millis(1100));
        let page = person.get("/y");
        must(page.status == 200, &format!("{time}: {}", page.status))?;
        let challenge = unknown.get("/z");
        must(
            Puzzle::of(&challenge.text()).is_some(),
            &format!("{time}: the unknown one is still challenged"),
        )?;
        let mut solver = Browser::new("127.0.2.205", gate.address);
        solver.cookies.clone_from(&unknown.cookies);
        solver
            .clear(&challenge)
            .map_err(|refused| format!("{time}: {refused}"))?;
        must(solver.get("/w").status == 200, "and gets in")?;
    }
    Ok(())
}

#[test]
fn h110_a_clock_that_goes_wrong_locks_nobody_out() {
    if !has_faketime() {
        return;
    }
    let origin = Origin::start();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("time");
    let mut gate = with_clock(&origin, &file, "+0", "");
    withstands(&mut gate, |gate| sets_the_clock(gate, &file));
    drop(gate);
    let gate = with_clock(&origin, &file, "+0", "without = [\"steady_clock\"]");
    assert!(sets_the_clock(&gate, &file).is_err());
}

/// A gate that starts with a wrong clock, which is then set right: it challenges, clears and serves before and after.
fn serves_from(gate: &Gate, file: &Path) -> Result<(), String> {
    let mut person = cleared(gate, "127.0.2.206");
    must(person.get("/y").status == 200, "a page")?;
    must(person.part("/y.png").status == 200, "a part of it")?;
    fs::write(file, "+0\n").map_err(|error| error.to_string())?;
    // The gate looks at the clock once a second.
    thread::sleep(Duration::from_millis(1100));
    // More than an unknown source may ask for: after a leap of days all would be unknown.
    let mut pages = (0..10).map(|_| person.get("/z").status);
    must(
        pages.all(|status| status == 200),
        "pages by the right clock",
    )
}

#[test]
fn h110_a_gate_that_starts_with_a_wrong_clock_serves() {
    if !has_faketime() {
        return;
    }
    let origin = Origin::start();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("time");
    for time in ["@1970-01-01 00:00:10", "+30d", "@2105-12-31 00:00:00"] {
        let mut gate = with_clock(&origin, &file, time, "");
        withstands(&mut gate, |gate| serves_from(gate, &file));
        drop(gate);
        let gate = with_clock(&origin, &file, time, "without = [\"steady_clock\"]");
        assert!(serves_from(&gate, &file).is_err(), "{time}");
    }
}
