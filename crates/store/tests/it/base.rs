//! What is written is there, can be undone, and foreign or damaged files are told as such and left alone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use cattlegrid_core::policy::Action;
use cattlegrid_core::request::Source;
use cattlegrid_store::Applied;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Fault;
use cattlegrid_store::Origin;
use cattlegrid_store::Subject;
use cattlegrid_store::Writer;

use crate::NOW;
use crate::base;
use crate::deny;
use crate::place;
use crate::put;

fn subjects(base: &Base) -> Vec<String> {
    let entries = base.entries().unwrap();
    entries
        .iter()
        .map(|(_, entry)| entry.subject.to_string())
        .collect()
}

#[test]
fn what_is_written_is_there_after_opening_again() {
    let (_folder, mut base) = base();
    let path = base.path().to_owned();
    let subjects = [
        "192.0.2.7",
        "2001:db8::/64",
        "198.51.100.0/24",
        "2001:db8::/32",
        "agent:Scraper/1.0 'quoted' \u{1F404}",
        "campaign:agent-00c0ffee",
    ];
    let changes: Vec<Change> = subjects.iter().map(|name| put(deny(name))).collect();
    let applied = base.apply(&changes, "a test", NOW).unwrap();
    assert_eq!((applied.batch, applied.added), (1, 6));
    drop(base);
    let base = Base::open(&path).unwrap();
    for name in subjects {
        let subject: Subject = name.parse().unwrap();
        let (_, entry) = base.find(&subject).unwrap().unwrap();
        assert_eq!(entry, deny(name));
    }
    let changes = base.changes(100).unwrap();
    assert_eq!(changes.len(), 6);
    assert!(
        changes
            .iter()
            .all(|change| change.by == "a test" && change.before.is_none())
    );
}

#[test]
fn an_ipv6_address_stands_for_its_network_and_host_bits_are_dropped() {
    let check = |text: &str, expected: &str| {
        assert_eq!(text.parse::<Subject>().unwrap().to_string(), expected);
    };
    check("2001:db8::1", "2001:db8::/64");
    check("2001:db8:0:0:1::/80", "2001:db8::/64");
    check("192.0.2.7/32", "192.0.2.7");
    check("192.0.2.7/24", "192.0.2.0/24");
    assert!("".parse::<Subject>().is_err());
    assert!("agent:".parse::<Subject>().is_err());
    assert!(
        "somebody"
            .parse::<Subject>()
            .unwrap_err()
            .contains("agent:TEXT")
    );
}

#[test]
fn a_change_that_changes_nothing_is_none() {
    let (_folder, mut base) = base();
    base.apply(&[put(deny("192.0.2.7"))], "a test", NOW)
        .unwrap();
    let again = base
        .apply(&[put(deny("192.0.2.7"))], "a test", NOW)
        .unwrap();
    assert_eq!(again, Applied::default());
    assert_eq!(base.changes(100).unwrap().len(), 1);
}

#[test]
fn changes_are_undone_together_unless_something_came_after_them() {
    let (_folder, mut base) = base();
    let first = base.apply(&[put(deny("192.0.2.7"))], "first", NOW).unwrap();
    let allowed = Entry {
        action: Action::Allow,
        ..deny("192.0.2.7")
    };
    let changes = [
        put(allowed.clone()),
        put(deny("192.0.2.8")),
        put(deny("192.0.2.9")),
    ];
    let second = base.apply(&changes, "second", NOW).unwrap();
    assert_eq!((second.added, second.changed), (2, 1));
    let refused = base.undo(first.batch, "undo", NOW).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("192.0.2.7 has been changed since"),
        "{refused}"
    );
    let undone = base.undo(second.batch, "undo", NOW).unwrap();
    assert_eq!((undone.changed, undone.removed), (1, 2));
    assert_eq!(subjects(&base), ["192.0.2.7"]);
    let (_, entry) = base.find(&"192.0.2.7".parse().unwrap()).unwrap().unwrap();
    assert_eq!(entry.action, Action::Deny);
    // What was undone cannot be undone again, but undoing can.
    assert!(base.undo(second.batch, "undo", NOW).is_err());
    base.undo(undone.batch, "undo", NOW).unwrap();
    assert_eq!(subjects(&base).len(), 3);
    base.check().unwrap();
}

#[test]
fn old_changes_are_forgotten_and_the_seals_still_fit() {
    let (_folder, mut base) = base();
    base.apply(&[put(deny("192.0.2.7"))], "long ago", NOW)
        .unwrap();
    let later = NOW + 91 * 86_400;
    base.apply(&[put(deny("192.0.2.8"))], "today", later)
        .unwrap();
    let changes = base.changes(100).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].by, "today");
    base.check().unwrap();
}

#[test]
fn what_is_said_of_a_campaign_holds_for_its_sources() {
    let (_folder, mut base) = base();
    let member = |name: &str| Entry {
        campaign: Some("agent-1".to_owned()),
        ..deny(name)
    };
    let mut owners = member("192.0.2.9");
    (owners.origin, owners.action) = (Origin::Owner, Action::Allow);
    let campaign = deny("campaign:agent-1");
    let changes = [
        put(campaign.clone()),
        put(member("192.0.2.7")),
        put(member("192.0.2.8")),
        put(owners),
    ];
    base.apply(&changes, "a test", NOW).unwrap();
    let action = |base: &Base, address: &str| {
        let standing = base.standing(NOW, |_| 0).unwrap();
        let source = Source::from_address(address.as_bytes()).unwrap();
        standing.ruling(source, 0, NOW).map(|ruling| ruling.action)
    };
    assert_eq!(action(&base, "192.0.2.7"), Some(Action::Deny));
    assert_eq!(action(&base, "192.0.2.9"), Some(Action::Allow));
    let allowed = Entry {
        action: Action::Allow,
        origin: Origin::Owner,
        ..campaign
    };
    base.apply(&[put(allowed)], "the owner", NOW).unwrap();
    assert_eq!(action(&base, "192.0.2.7"), Some(Action::Allow));
    assert_eq!(action(&base, "192.0.2.8"), Some(Action::Allow));
    assert_eq!(action(&base, "192.0.2.10"), None);
}

#[test]
fn h140_files_that_are_no_base_are_told_as_such_and_left_as_they_are() {
    let (folder, path) = place();
    let check = |bytes: &[u8], expected: &str| {
        fs::write(&path, bytes).unwrap();
        for open in [Base::open, Base::open_or_create] {
            let fault = open(&path).unwrap_err();
            assert!(fault.to_string().contains(expected), "{fault}");
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        fs::remove_file(&path).unwrap();
    };
    check(b"", "it is empty");
    check(b"SQLite", "it does not begin as one");
    check(
        b"192.0.2.7,deny\n192.0.2.8,deny\n",
        "it does not begin as one",
    );
    assert!(matches!(Base::open(&path).unwrap_err(), Fault::Missing(_)));
    assert!(matches!(
        Base::open_or_create(folder.path()).unwrap_err(),
        Fault::NotABase(..)
    ));
    // The log of what was written last, without what it belongs to.
    fs::write(folder.path().join("kb.sqlite-wal"), [1; 5000]).unwrap();
    let fault = Base::open_or_create(&path).unwrap_err();
    assert!(fault.to_string().contains("the file is missing"), "{fault}");
}

#[test]
fn h140_a_later_layout_and_another_programs_database_are_refused() {
    let (_folder, path) = place();
    drop(Base::open_or_create(&path).unwrap());
    // The number of the layout is bytes 60 to 63 of the file, the program's mark 68 to 71.
    let sound = fs::read(&path).unwrap();
    for (at, value, expected) in [(63, 9, "a later version"), (71, 1, "of another program")] {
        let mut bytes = sound.clone();
        bytes[at] = value;
        fs::write(&path, &bytes).unwrap();
        let fault = Base::open(&path).unwrap_err();
        assert!(fault.to_string().contains(expected), "{fault}");
    }
}

#[test]
fn h141_a_second_writer_is_refused_within_a_second_and_changes_nothing() {
    let (_folder, mut first) = base();
    let mut second = Base::open(first.path()).unwrap();
    let lock = rusqlite::Connection::open(first.path()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = std::time::Instant::now();
    let fault = second
        .apply(&[put(deny("192.0.2.7"))], "second", NOW)
        .unwrap_err();
    assert!(matches!(fault, Fault::Busy(_)), "{fault}");
    assert!(started.elapsed().as_millis() < 1500);
    lock.execute_batch("ROLLBACK").unwrap();
    first
        .apply(&[put(deny("192.0.2.8"))], "first", NOW)
        .unwrap();
    second
        .apply(&[put(deny("192.0.2.7"))], "second", NOW)
        .unwrap();
    assert_eq!(subjects(&first), ["192.0.2.7", "192.0.2.8"]);
    first.check().unwrap();
}

/// The log of another base must not get into a file that is none, nor be lost.
#[test]
fn h140_a_foreign_file_is_left_alone_beside_a_log() {
    let (_folder, mut base) = base();
    base.apply(&[put(deny("192.0.2.7"))], "test", NOW).unwrap();
    let path = base.path().to_owned();
    let log = PathBuf::from(format!("{}-wal", path.display()));
    let log_was = fs::read(&log).unwrap();
    assert!(!log_was.is_empty());
    let sound = fs::read(&path).unwrap();
    drop(base);
    for (at, value) in [(0, b'x'), (71, 1)] {
        let mut foreign = sound.clone();
        foreign[at] = value;
        fs::write(&path, &foreign).unwrap();
        fs::write(&log, &log_was).unwrap();
        Base::open(&path).unwrap_err();
        assert!(fs::read(&path).unwrap() == foreign, "the file, byte {at}");
        assert!(fs::read(&log).unwrap() == log_was, "the log, byte {at}");
    }
}

/// Locks belong to the whole program: to close the file beside SQLite would drop those of all its connections, and a command beside a gate
/// would take a base that is being made for one that was left half made.
#[test]
fn to_open_a_base_again_drops_no_lock() {
    let (_folder, base) = base();
    let file = format!(":{} ", base.path().metadata().unwrap().ino());
    let locks = || {
        let all = fs::read_to_string("/proc/locks").unwrap();
        all.lines().filter(|lock| lock.contains(&file)).count()
    };
    base.entries().unwrap();
    let held = locks();
    if held == 0 {
        eprintln!("SKIPPED: 1 check, this file system numbers files otherwise than its locks");
    }
    drop(Base::open(base.path()).unwrap());
    assert_eq!(locks(), held);
}

/// Whoever closes a base last locks it until the disk has taken its log.
#[test]
fn a_reader_waits_for_a_slow_disk() {
    let (_folder, base) = base();
    let path = base.path().to_owned();
    drop(base);
    let locked = rusqlite::Connection::open(&path).unwrap();
    locked
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        .unwrap();
    let reader = std::thread::spawn(move || Base::open(&path).map(drop));
    // Longer than a writer waits.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(!reader.is_finished());
    drop(locked);
    reader.join().unwrap().unwrap();
}

#[test]
fn a_damaged_base_is_restored_from_its_copy_and_kept() {
    let (folder, mut base) = base();
    let path = base.path().to_owned();
    base.apply(&[put(deny("192.0.2.7"))], "a test", NOW)
        .unwrap();
    base.keep_copy().unwrap();
    drop(base);
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes
        .windows(9)
        .position(|part| part == b"192.0.2.7")
        .unwrap();
    bytes[at + 8] = b'8';
    fs::write(&path, &bytes).unwrap();
    let fault = Base::open(&path).unwrap_err();
    assert!(matches!(fault, Fault::Damaged(..)), "{fault}");
    let (base, kept) = Base::restore(&path).unwrap();
    assert_eq!(subjects(&base), ["192.0.2.7"]);
    assert_eq!(fs::read(kept.unwrap()).unwrap(), bytes);
    assert!(folder.path().join("kb.sqlite.backup").exists());
}

#[test]
fn many_who_write_at_once_share_transactions_and_all_are_answered() {
    let (_folder, base) = base();
    let writer = Writer::start(base, "the gate").unwrap();
    let answers: Vec<_> = (0..500_u32)
        .map(|number| {
            let name = format!("10.0.{}.{}", number / 250, number % 250);
            writer.submit(vec![put(deny(&name))], NOW)
        })
        .collect();
    for answer in answers {
        answer.recv().unwrap().unwrap();
    }
    let base = writer.finish().unwrap();
    assert_eq!(base.entries().unwrap().len(), 500);
    let batches = base.changes(1000).unwrap();
    assert!(batches[0].batch < 500, "{}", batches[0].batch);
}

#[test]
fn a_hundred_thousand_entries_are_written_in_seconds() {
    let (_folder, mut base) = base();
    let changes: Vec<Change> = (0..100_000_u32)
        .map(|number| {
            let name = std::net::Ipv4Addr::from(0x0a00_0000 + number * 3).to_string();
            put(deny(&name))
        })
        .collect();
    let started = std::time::Instant::now();
    base.apply(&changes, "a test", NOW).unwrap();
    let written = started.elapsed();
    let standing = base.standing(NOW, |_| 0).unwrap();
    assert_eq!(standing.len(), 100_000);
    println!(
        "100,000 entries written in {written:.1?}, published {:.1?} after that",
        started.elapsed() - written
    );
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let (_folder, mut base) = base();
    let mut nameless = deny("agent:x");
    nameless.subject = Subject::Agent(String::new());
    let mut endless = deny("agent:x");
    endless.subject = Subject::Agent("x".repeat(1001));
    let mut weightless = deny("192.0.2.7");
    weightless.evidence = vec![cattlegrid_store::Proof {
        detector: "none".to_owned(),
        weight: f64::NAN,
        why: String::new(),
    }];
    for entry in [nameless, endless, weightless] {
        let fault = base.apply(&[put(deny("192.0.2.8")), put(entry)], "a test", NOW);
        assert!(matches!(fault, Err(Fault::Refused(_))), "{fault:?}");
    }
    assert_eq!(subjects(&base), [""; 0]);
}

#[test]
fn numbers_of_changes_are_never_used_again() {
    let (_folder, mut base) = base();
    let first = base.apply(&[put(deny("192.0.2.7"))], "first", NOW).unwrap();
    let later = NOW + 91 * 86_400;
    let second = base
        .apply(&[put(deny("192.0.2.8"))], "second", later)
        .unwrap();
    let third = base
        .apply(&[put(deny("192.0.2.9"))], "third", later + 91 * 86_400)
        .unwrap();
    assert!(first.batch < second.batch && second.batch < third.batch);
}
