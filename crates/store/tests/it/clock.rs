//! A clock that is set back, set forward or not set at all: a denial neither vanishes nor becomes endless.

use cattlegrid_core::policy::Action;
use cattlegrid_core::request::Source;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Origin;

use crate::NOW;
use crate::base;
use crate::deny;
use crate::put;

const DAY: u32 = 86_400;

/// Whether an address is denied at a time by what is published at another.
fn is_denied(base: &Base, published: u32, time: u32) -> bool {
    let standing = base.standing(published, |_| 0).unwrap();
    let source = Source::from_address(b"192.0.2.7").unwrap();
    standing
        .ruling(source, 0, time)
        .is_some_and(|ruling| ruling.action == Action::Deny)
}

fn denied_for(days: u32) -> Entry {
    Entry {
        expires: Some(NOW + days * DAY),
        ..deny("192.0.2.7")
    }
}

#[test]
fn h146_a_denial_outlasts_a_clock_that_jumps_and_ends_when_it_should() {
    let (_folder, mut base) = base();
    base.apply(&[put(denied_for(7))], "a test", NOW).unwrap();
    for now in [0, 1, NOW - 400 * DAY, NOW - DAY, NOW - 60, NOW, NOW + DAY] {
        assert!(is_denied(&base, now, now), "{now}");
        // Whatever the clock shows: no longer than it was made for, give or take two minutes.
        let end = now + 7 * DAY + 120;
        assert!(!is_denied(&base, now, end), "{now}");
    }
    assert!(is_denied(&base, NOW - DAY, NOW - DAY + 7 * DAY - 1));
    assert!(!is_denied(&base, u32::MAX, u32::MAX));
    // Nothing was rewritten meanwhile: the clock is right again, and so is the end.
    assert!(is_denied(&base, NOW, NOW + 7 * DAY - 1));
    assert!(!is_denied(&base, NOW, NOW + 7 * DAY));
}

#[test]
fn h146_an_end_that_is_no_end_is_made_one() {
    let (_folder, mut base) = base();
    let check = |base: &mut Base, now: u32, expires: u32, expected: u32| {
        let entry = Entry {
            expires: Some(expires),
            ..deny("192.0.2.7")
        };
        base.apply(&[put(entry)], "a test", now).unwrap();
        let (_, there) = base.find(&"192.0.2.7".parse().unwrap()).unwrap().unwrap();
        assert_eq!(there.expires, Some(expected), "at {now}");
    };
    let last = NOW + 3660 * DAY;
    check(&mut base, NOW, u32::MAX, last);
    check(&mut base, NOW, last - 1, last - 1);
    // A clock that is not set cuts off nothing that is right.
    check(&mut base, 0, last - 2, last - 2);
    check(&mut base, 0, u32::MAX, last);
    check(&mut base, u32::MAX, NOW + DAY, NOW + DAY);
    let latest = base.changes(1).unwrap()[0].batch;
    base.undo(latest, "undo", NOW).unwrap();
    base.check().unwrap();
}

#[test]
fn h146_what_has_no_end_holds_at_any_time() {
    let (_folder, mut base) = base();
    let endless = Entry {
        expires: None,
        origin: Origin::Owner,
        ..deny("192.0.2.7")
    };
    base.apply(&[put(endless)], "the owner", NOW).unwrap();
    for now in [0, NOW - DAY, NOW, NOW + DAY, u32::MAX] {
        assert!(is_denied(&base, now, now), "{now}");
    }
}

#[test]
fn a_campaign_that_has_run_out_does_not_end_what_is_said_of_its_sources() {
    let (_folder, mut base) = base();
    let member = Entry {
        campaign: Some("agent-1".to_owned()),
        ..denied_for(7)
    };
    let campaign = deny("campaign:agent-1");
    base.apply(&[put(member), put(campaign)], "a test", NOW)
        .unwrap();
    assert!(is_denied(&base, NOW + 2 * DAY, NOW + 2 * DAY));
}

#[test]
fn what_was_changed_twice_at_once_is_undone_at_once() {
    let (_folder, mut base) = base();
    let changes = [
        put(denied_for(1)),
        put(denied_for(2)),
        Change::Remove("192.0.2.7".parse().unwrap()),
        put(denied_for(3)),
    ];
    let applied = base.apply(&changes, "a test", NOW).unwrap();
    let undone = base.undo(applied.batch, "undo", NOW).unwrap();
    assert!(base.entries().unwrap().is_empty());
    base.undo(undone.batch, "undo", NOW).unwrap();
    assert!(base.entries().unwrap()[0].1 == denied_for(3));
    base.check().unwrap();
}
