//! What was confirmed survives a process that is killed and a computer that loses its power; nothing is ever there by half.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_store::Base;
use cattlegrid_store::Fault;
use tempfile::TempDir;

use crate::Dice;
use crate::child;
use crate::child::Model;
use crate::child::Told;
use crate::place;
use crate::recording::Recording;
use crate::recording::shim;
use crate::seed;
use crate::times;

/// Lines that a process says before it opens the base: those of the test runner and an empty one.
const LINES_BEFORE: usize = 3;

/// Lets a process write, kills it after a number of its lines and some time more, and gives what it has told.
fn killed(path: &Path, dice: &mut Dice, round: usize, after: usize, micros: usize) -> Told {
    let task = format!("mixed {} {round} 1000000", dice.next());
    let mut child = child::command(&task, path).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = Told::default();
    for _ in 0..after {
        match lines.next() {
            Some(line) => told.hear(&line.unwrap()),
            None => break,
        }
    }
    thread::sleep(Duration::from_micros(dice.below(micros) as u64));
    child.kill().unwrap();
    for line in lines {
        told.hear(&line.unwrap());
    }
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "round {round}: {status}");
    told
}

/// H135. Fails where `Base::apply` begins no transaction (each change is there by itself, a killed one by half), and where
/// `Base::create` makes the file in its place (killed early, an empty file stays that no one opens).
#[test]
fn h135_what_was_confirmed_is_there_after_kill_9_at_any_moment() {
    let rounds = times("CATTLEGRID_KILL_ROUNDS", 200);
    let mut dice = Dice(seed());
    let (mut folder, mut path) = place();
    let mut known = Model::new();
    let (mut acked, mut on_top, mut slowest) = (0, 0, Duration::ZERO);
    for round in 0..rounds {
        // At first new bases, which are killed while being made; then one that grows, and forgets its oldest changes after 90 rounds.
        let told = if round < rounds / 5 {
            (folder, path) = place();
            known = Model::new();
            killed(&path, &mut dice, round, LINES_BEFORE, 3000)
        } else {
            let after = dice.below(40);
            killed(&path, &mut dice, round, after, 8000)
        };
        acked += told.acked;
        on_top += usize::from(told.acked < told.tries.len());
        if !path.exists() {
            assert_eq!(told.tries.len(), 0, "round {round}: the base is gone");
            continue;
        }
        let started = Instant::now();
        let base = Base::open(&path).unwrap_or_else(|fault| panic!("round {round}: {fault}"));
        slowest = slowest.max(started.elapsed());
        known = told
            .verify(&known, &base)
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        let copy = folder.path().join("kb.sqlite.backup");
        if told.copies > 0 {
            Base::open(&copy).unwrap_or_else(|fault| panic!("round {round}: {fault}"));
        }
    }
    println!(
        "{rounds} kills: {acked} confirmed transactions all there, {on_top} kills with one in the middle, opened within {slowest:.1?}"
    );
    assert!(acked > rounds);
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}

/// H136. Fails with `PRAGMA synchronous = OFF` or `NORMAL` (confirmed transactions are lost), and without `sync_folder` (a confirmed
/// copy is not there).
#[test]
fn h136_what_was_confirmed_is_there_after_a_power_failure() {
    let Some(shim) = shim() else { return };
    let seeds = times("CATTLEGRID_CRASH_SEEDS", 300);
    let (folder, path) = place();
    let journal = shim.folder.path().join("journal");
    // The first seed is always the same, so that what is recorded has all there is: checkpoints, copies, closings.
    let output = child::command("mixed 7 0 90", &path)
        .env("LD_PRELOAD", &shim.library)
        .env("SHIM_FOLDER", folder.path())
        .env("SHIM_JOURNAL", &journal)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let recording = Recording::read(&journal);
    let mut dice = Dice(seed());
    let (mut lost, mut missing) = (0, 0);
    // Every moment at which the base is being made, then drawn ones.
    let making = recording.first_told();
    for number in 0..making + seeds {
        let image = TempDir::new().unwrap();
        let at = match number < making {
            true => number,
            false => dice.below(recording.len() + 1),
        };
        let crash = recording.crash(at, &mut dice, image.path());
        lost += crash.lost;
        let told = crash.told;
        let base = match Base::open(&image.path().join("kb.sqlite")) {
            Err(Fault::Missing(_)) if told.tries.is_empty() => {
                missing += 1;
                continue;
            }
            opened => opened.unwrap_or_else(|fault| panic!("image {number} at {at}: {fault}")),
        };
        told.verify(&Model::new(), &base)
            .unwrap_or_else(|error| panic!("image {number} at {at}: {error}"));
        if told.copies > 0 {
            let copy = image.path().join("kb.sqlite.backup");
            Base::open(&copy).unwrap_or_else(|fault| panic!("image {number} at {at}: {fault}"));
        }
    }
    let bytes = fs::metadata(&journal).unwrap().len();
    println!(
        "{making} power failures while the base was made and {seeds} in {} steps ({bytes} bytes, {}): {lost} writes lost, torn or out of order, {missing} before there was a base",
        recording.len(),
        recording.summary()
    );
}
