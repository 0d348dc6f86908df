//! Bringing back the backup: killed at any moment it leaves the old base or the new one, and a base that is missing is never taken for
//! an empty one.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Fault;
use tempfile::TempDir;

use crate::Dice;
use crate::NOW;
use crate::child;
use crate::deny;
use crate::place;
use crate::put;
use crate::seed;
use crate::times;

/// Lines that a process says before it begins: those of the test runner and an empty one.
const LINES_BEFORE: usize = 3;
/// Entries of the base and of its backup.
const ENTRIES: usize = 40;
const SAVED: usize = 555;

fn entries(many: usize) -> Vec<Change> {
    (0..many)
        .map(|number| put(deny(&format!("10.0.{}.{}", number / 250, number % 250))))
        .collect()
}

fn backup(path: &Path) -> PathBuf {
    path.with_file_name("kb.sqlite.backup")
}

/// A base whose newest changes lie in its log, beside a backup with more entries.
fn base_and_backup() -> (TempDir, PathBuf) {
    let (folder, path) = place();
    let saved = folder.path().join("saved");
    let mut base = Base::open_or_create(&saved).unwrap();
    base.apply(&entries(SAVED), "a test", NOW).unwrap();
    base.copy_to(&backup(&path)).unwrap();
    let other = folder.path().join("other");
    let mut base = Base::open_or_create(&other).unwrap();
    base.apply(&entries(ENTRIES - 1), "a test", NOW).unwrap();
    drop(base);
    let mut base = Base::open_or_create(&other).unwrap();
    base.apply(&entries(ENTRIES), "a test", NOW).unwrap();
    // A process that was killed leaves its log behind.
    for end in ["", "-wal", "-shm"] {
        let name = |start: &str| folder.path().join(format!("{start}{end}"));
        fs::copy(name("other"), name("kb.sqlite")).unwrap();
    }
    (folder, path)
}

/// A copy of a folder's base and backup.
fn copied(from: &TempDir) -> (TempDir, PathBuf) {
    let (folder, path) = place();
    for end in ["", "-wal", "-shm", ".backup"] {
        let name = format!("kb.sqlite{end}");
        let _ = fs::copy(from.path().join(&name), folder.path().join(&name));
    }
    (folder, path)
}

/// Lets a process bring back the backup, and kills it after some time.
fn killed(path: &Path, after: Duration) {
    let mut child = child::command("restore", path).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..LINES_BEFORE {
        lines.next().unwrap().unwrap();
    }
    thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The time that bringing back takes here.
fn duration(from: &TempDir) -> Duration {
    let (_folder, path) = copied(from);
    let started = Instant::now();
    Base::restore(&path).unwrap();
    started.elapsed()
}

/// How many kills found the base as it was, and how many the backup in its place.
fn kill_often(from: &TempDir, is_sound: impl Fn(&Base) -> usize) -> [usize; 2] {
    let rounds = times("CATTLEGRID_KILL_ROUNDS", 200) / 2;
    let mut dice = Dice(seed());
    let longest = duration(from).as_micros() as usize * 3 / 2;
    let mut found = [0, 0];
    for round in 0..rounds {
        let (_folder, path) = copied(from);
        killed(&path, Duration::from_micros(dice.below(longest) as u64));
        let is_new = match Base::open(&path) {
            Ok(base) => is_sound(&base) == SAVED,
            Err(Fault::Damaged(..)) => false,
            Err(fault) => panic!("round {round}: {fault}"),
        };
        found[usize::from(is_new)] += 1;
        assert_eq!(
            Base::open(&backup(&path)).unwrap().entries().unwrap().len(),
            SAVED,
            "round {round}: the backup"
        );
        let (base, _) = Base::restore(&path).unwrap();
        assert_eq!(base.entries().unwrap().len(), SAVED, "round {round}");
    }
    found
}

/// H198. Fails where `Base::restore` moves the base away before another is in its place, and where it puts another there beside the old
/// log.
#[test]
fn h198_a_restore_that_is_killed_leaves_the_old_base_or_the_new_one() {
    let (from, _path) = base_and_backup();
    let found = kill_often(&from, |base| {
        let many = base.entries().unwrap().len();
        assert!([ENTRIES, SAVED].contains(&many), "{many} entries");
        many
    });
    println!(
        "{} kills left the old base, {} the backup",
        found[0], found[1]
    );
}

/// H198 with a damaged base: it is damaged or replaced, and never missing.
#[test]
fn h198_a_damaged_base_is_never_missing_while_it_is_replaced() {
    let (from, path) = base_and_backup();
    for end in ["-wal", "-shm"] {
        fs::remove_file(from.path().join(format!("kb.sqlite{end}"))).unwrap();
    }
    damage(&path);
    let found = kill_often(&from, |base| base.entries().unwrap().len());
    println!(
        "{} kills left the damaged base, {} the backup",
        found[0], found[1]
    );
}

/// Changes an address in the base's rows.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(8).position(|part| part == b"10.0.0.7");
    bytes[at.unwrap() + 7] = b'6';
    fs::write(path, bytes).unwrap();
}

/// H198. Fails where a missing base is made anew although its backup is there.
#[test]
fn h198_a_missing_base_beside_its_backup_is_a_fault() {
    let (_folder, path) = base_and_backup();
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(path.with_file_name(format!("kb.sqlite{end}")));
    }
    for fault in [
        Base::open(&path).unwrap_err(),
        Base::open_or_create(&path).unwrap_err(),
    ] {
        let said = fault.to_string();
        assert!(said.contains("kb.sqlite is missing"), "{said}");
        assert!(said.contains("kb restore"), "{said}");
    }
    assert!(!path.exists());
    let (base, kept) = Base::restore(&path).unwrap();
    assert_eq!(base.entries().unwrap().len(), SAVED);
    assert_eq!(kept, None);
}

/// H198. Fails where `keep_copy` does not look at what it replaces. The owner's own changes, also those that remove entries, go into the
/// backup as before.
#[test]
fn h198_a_backup_of_another_base_is_set_aside() {
    let (folder, path) = base_and_backup();
    let mut base = Base::open_or_create(&path).unwrap();
    let aside = base.keep_copy().unwrap();
    let aside = aside.expect("the backup of another base was overwritten");
    assert_eq!(Base::open(&aside).unwrap().entries().unwrap().len(), SAVED);
    let names = |end: &str| {
        let files = fs::read_dir(folder.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(end)).count()
    };
    let before = names(".backup");
    let gone: Vec<Change> = entries(30)
        .iter()
        .map(|change| Change::Remove(change.subject().clone()))
        .collect();
    base.apply(&gone, "a test", NOW).unwrap();
    assert_eq!(base.keep_copy().unwrap(), None);
    let later = NOW + 200 * 86_400;
    base.apply(&entries(1), "a test", later).unwrap();
    assert_eq!(base.keep_copy().unwrap(), None);
    assert_eq!(names(".backup"), before);
    let saved = Base::open(&backup(&path)).unwrap();
    assert_eq!(saved.entries().unwrap().len(), ENTRIES - 29);
    // Another base with a longer past than the backup's is another base.
    let other = folder.path().join("longer");
    let mut longer = Base::open_or_create(&other).unwrap();
    longer.apply(&entries(300), "another", later).unwrap();
    base.copy_to(&folder.path().join("longer.backup")).unwrap();
    assert!(longer.keep_copy().unwrap().is_some());
    // One that cannot be read may be of another version.
    fs::write(backup(&path), b"SQLite format 9").unwrap();
    let aside = base.keep_copy().unwrap().unwrap();
    assert_eq!(fs::read(aside).unwrap(), b"SQLite format 9");
}

/// The honest case: what was there is kept whole, also what lay in its log, and whoever reads meanwhile goes on.
#[test]
fn h198_what_was_replaced_is_kept_with_its_newest_changes() {
    let (_folder, path) = base_and_backup();
    let reader = Base::open(&path).unwrap();
    let (base, kept) = Base::restore(&path).unwrap();
    assert_eq!(base.entries().unwrap().len(), SAVED);
    let kept = Base::open(&kept.unwrap()).unwrap();
    assert_eq!(kept.entries().unwrap().len(), ENTRIES);
    assert_eq!(reader.entries().unwrap().len(), SAVED);
}
