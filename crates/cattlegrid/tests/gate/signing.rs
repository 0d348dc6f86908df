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
    gate.signal("HUP");
    wait_for("the gate says that it has the new key", || {
        let said = gate.stderr();
        said.contains(&format!("key=\"{fingerprint}\""))
            && said.contains("the new settings are in force")
    });
}

/// A gate whose clearances last, so that only keys decide.
fn lasting() -> Wanted {
    let mut wanted = strict("");
    wanted.parts = wanted
        .parts
        .replace("clearance_pages = 20", "clearance_pages = 100000");
    wanted
}

#[test]
fn h108_nobody_is_lost_while_keys_are_rotated_under_load() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, lasting());
    let mut people: Vec<Browser> = (1..=8)
        .map(|number| cleared(&gate, &format!("127.0.2.{number}")))
        .collect();
    let (stop, pages) = (AtomicBool::new(false), AtomicUsize::new(0));
    withstands(&mut gate, |gate| {
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
                rotate(gate, &[]);
                wait_for("people go on reading", || {
                    pages.load(Ordering::Relaxed) > seen + 100
                });
            }
            stop.store(true, Ordering::Relaxed);
            let lost = readers.into_iter().map(|reader| reader.join().unwrap());
            lost.sum::<usize>()
        });
        say(&format!(
            "{} pages over three rotations, {lost} lost",
            pages.load(Ordering::Relaxed)
        ));
        must(lost == 0, &format!("{lost} pages were lost"))
    });
}

#[test]
fn h108_without_the_old_key_there_is_one_challenge_more() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, lasting());
    let mut people: Vec<Browser> = (1..=4)
        .map(|number| cleared(&gate, &format!("127.0.2.{}", 100 + number)))
        .collect();
    let (mut asked, challenge) = challenged(&gate, "127.0.2.99", "/asked");
    rotate(&gate, &["--leaked"]);
    for person in &mut people {
        assert_eq!(person.open("/y").status, 200);
        assert_eq!(person.open("/z").status, 200);
        assert_eq!(person.solved, 2, "one challenge more");
    }
    // A challenge that was on screen then gets another in its place, and leads to the same page.
    let (page, rounds) = asked.end_tab(&challenge).unwrap();
    assert_eq!((page.as_str(), rounds), ("/", 2));
    let keys = fs::read_to_string(gate.path("state/keys")).unwrap();
    assert_eq!(keys.lines().count(), 1);
}

#[test]
fn h108_a_node_that_has_the_new_key_later_knows_what_is_signed_meanwhile() {
    let origin = Origin::start();
    let (one, other) = (
        Gate::with(&origin, lasting()),
        Gate::with(&origin, lasting()),
    );
    fs::copy(one.path("state/keys"), other.path("state/keys")).unwrap();
    let other = other.restart();
    rotate(&one, &[]);
    let person = cleared(&one, "127.0.2.200");
    let mut there = Browser::new("127.0.2.200", other.address);
    there.cookies.clone_from(&person.cookies);
    assert_eq!(there.open("/y").status, 200);
    assert_eq!(there.solved, 0);
    // A key that is dropped at once is another matter.
    rotate(&one, &["--leaked"]);
    let (mut person, _) = challenged(&one, "127.0.2.201", "/x");
    assert_eq!(person.open("/y").status, 200);
    let (mut there, _) = challenged(&other, "127.0.2.201", "/x");
    there.cookies.clone_from(&person.cookies);
    assert_eq!(there.open("/y").status, 200);
    assert_eq!(there.solved, 1);
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

#[test]
fn h109_the_key_is_the_owners_alone_and_shown_nowhere() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, strict(""));
    let path = gate.path("state/keys");
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    let hex = text.split(' ').nth(1).unwrap();
    let raw: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let mut person = cleared(&gate, "127.0.2.203");
    person.post("answer", "token=x&work=y");
    person.send("GET", "/y", &[("X-Test-Panic", "1")], "");
    gate.signal("HUP");
    wait_for("the reload is done", || {
        gate.stderr().contains("the new settings are in force")
    });
    wait_for("the page is in the log", || {
        gate.log().iter().any(|line| line["target"] == "/x")
    });
    let config = gate.path("gate.toml");
    let check = cattlegrid(&["check", "--config", config.to_str().unwrap()]);
    let mut shown: Vec<(String, Vec<u8>)> = vec![
        ("stderr".to_owned(), gate.stderr().into_bytes()),
        ("metrics".to_owned(), get(gate.admin, "/metrics", &[]).body),
        ("check".to_owned(), [check.stdout, check.stderr].concat()),
        ("cookies".to_owned(), person.cookie().into_bytes()),
    ];
    read_all(gate.folder.path(), &mut shown).unwrap();
    assert!(shown.iter().any(|(name, _)| name.ends_with("access.log")));
    assert!(shown[0].1.windows(8).any(|window| window == b"panicked"));
    for (name, bytes) in &shown {
        let has = |what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
        assert!(!has(&hex.as_bytes()[..12]) && !has(&raw[..8]), "{name}");
    }
    assert!(
        gate.stderr().contains("signing key key="),
        "its fingerprint"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop_and_refuse(gate);
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

const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

#[test]
fn h110_a_clock_that_goes_wrong_locks_nobody_out() {
    if !Path::new(FAKETIME).exists() {
        say("SKIPPED: clocks that go wrong, faketime is not installed");
        return;
    }
    let origin = Origin::start();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("time");
    fs::write(&file, "+0\n").unwrap();
    let mut wanted = lasting();
    wanted.environment = vec![
        ("LD_PRELOAD", FAKETIME.to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let mut gate = Gate::with(&origin, wanted);
    let mut person = cleared(&gate, "127.0.2.204");
    let (mut unknown, _) = challenged(&gate, "127.0.2.205", "/x");
    withstands(&mut gate, |gate| {
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
            fs::write(&file, format!("{time}\n")).map_err(|error| error.to_string())?;
            // The gate looks at the clock once a second.
            thread::sleep(Duration::from_millis(1100));
            let page = person.get("/y");
            must(page.status == 200, &format!("{time}: {}", page.status))?;
            let challenge = unknown.get("/z");
            must(
                Puzzle::of(&challenge.text()).is_some(),
                &format!("{time}: the unknown one is still challenged"),
            )?;
            let (mut solver, challenge) = (Browser::new("127.0.2.205", gate.address), challenge);
            solver.cookies.clone_from(&unknown.cookies);
            solver
                .clear(&challenge)
                .map_err(|refused| format!("{time}: {refused}"))?;
            must(solver.get("/w").status == 200, "and gets in")?;
        }
        Ok(())
    });
}

#[test]
fn h110_a_gate_that_starts_with_a_wrong_clock_serves() {
    if !Path::new(FAKETIME).exists() {
        say("SKIPPED: clocks that go wrong, faketime is not installed");
        return;
    }
    let origin = Origin::start();
    for time in ["@1970-01-01 00:00:10", "+30d", "@2105-12-31 00:00:00"] {
        let mut wanted = lasting();
        wanted.environment = vec![
            ("LD_PRELOAD", FAKETIME.to_owned()),
            ("FAKETIME", time.to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("TZ", "UTC".to_owned()),
        ];
        let gate = Gate::with(&origin, wanted);
        let mut person = cleared(&gate, "127.0.2.206");
        assert_eq!(person.get("/y").status, 200, "{time}");
        assert_eq!(person.part("/y.png").status, 200, "{time}");
        assert!(!gate.stderr().contains("panicked"), "{}", gate.stderr());
    }
}
