//! Learned denials: when they end, and how an owner takes them back for good.

use cattlegrid_core::policy::Action;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Kind;
use cattlegrid_store::Base;
use cattlegrid_store::Entry;
use cattlegrid_store::Origin;
use cattlegrid_store::Subject;

use crate::DAY;
use crate::NOW;
use crate::base;
use crate::crowds::people;
use crate::crowds::update;
use crate::put;

const HALF_HOUR: u32 = 1800;

/// A crawler with thousands of pages, seen last at a time.
fn crawler(last_seen: u32) -> SourceReport {
    SourceReport {
        class: Class::Crawler,
        kind: Some(Kind::Masquerading),
        decided_by: Some("headers"),
        ..people(None, last_seen)
    }
}

fn subject() -> Subject {
    "192.0.2.7".parse().unwrap()
}

/// Judges the source, and gives the number of the changes that were written; 0 for none.
fn judge(base: &mut Base, source: SourceReport, now: u32) -> i64 {
    let outcome = update(source, &base.entries().unwrap(), &Limits::default(), now);
    base.apply(&outcome.changes, "gate", now).unwrap().batch
}

fn entry(base: &Base) -> Option<Entry> {
    base.find(&subject()).unwrap().map(|(_, entry)| entry)
}

fn is_denied(base: &Base) -> bool {
    entry(base).is_some_and(|entry| entry.action == Action::Deny)
}

/// Judges the source every half hour of a day in which it goes on, and says whether it was ever denied.
fn is_denied_within_a_day(base: &mut Base) -> bool {
    (1..48).any(|half| {
        let now = NOW + half * HALF_HOUR;
        judge(base, crawler(now - 60), now);
        is_denied(base)
    })
}

#[test]
fn a_denial_ends_a_set_time_after_the_last_request() {
    let (_folder, mut base) = base();
    assert_ne!(judge(&mut base, crawler(NOW - 60), NOW), 0);
    let ends = entry(&base).unwrap().expires;
    assert_eq!(ends, Some(NOW - 60 + Limits::default().deny_days * DAY));
    for half in 1..48 {
        let written = judge(&mut base, crawler(NOW - 60), NOW + half * HALF_HOUR);
        assert_eq!(written, 0, "nothing new, nothing written");
    }
    judge(&mut base, crawler(NOW + DAY), NOW + DAY);
    assert!(entry(&base).unwrap().expires > ends, "a new request");
}

#[test]
fn what_an_owner_undoes_stays_undone() {
    let (_folder, mut base) = base();
    let batch = judge(&mut base, crawler(NOW), NOW);
    assert!(is_denied(&base));
    base.take_back(batch, "kb undo", NOW).unwrap();
    assert!(!is_denied_within_a_day(&mut base));
    let later = NOW + 8 * DAY;
    judge(&mut base, crawler(later), later);
    assert!(is_denied(&base), "a week is over");
}

#[test]
fn undoing_twice_denies_again() {
    let (_folder, mut base) = base();
    let batch = judge(&mut base, crawler(NOW), NOW);
    let undone = base.take_back(batch, "kb undo", NOW).unwrap().batch;
    base.undo(undone, "kb undo", NOW).unwrap();
    assert!(is_denied(&base));
}

#[test]
fn spared_and_allowed_sources_stay_so() {
    for entry in [
        Entry::spared(subject(), NOW),
        Entry::new(subject(), Action::Allow, Origin::Owner, NOW),
    ] {
        let (_folder, mut base) = base();
        judge(&mut base, crawler(NOW), NOW);
        base.apply(&[put(entry)], "kb", NOW).unwrap();
        assert!(!is_denied_within_a_day(&mut base));
    }
}

#[test]
fn a_request_under_a_robots_name_is_no_reason_to_deny() {
    let named = |requests: u64, rule: &'static str| SourceReport {
        requests,
        pages: requests,
        kind: Some(Kind::Unauthorized),
        decided_by: Some(rule),
        ..crawler(NOW)
    };
    for (source, expected) in [
        (named(1, "declared_robot"), false),
        (named(19, "claimed_operator"), false),
        (named(20, "declared_robot"), true),
        (named(1, "headers"), true),
    ] {
        let (_folder, mut base) = base();
        judge(&mut base, source.clone(), NOW);
        assert_eq!(is_denied(&base), expected, "{source:?}");
    }
}
