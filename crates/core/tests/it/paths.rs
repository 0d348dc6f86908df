//! The built-in model on paths that anybody would call a crawler's or a person's.

use std::sync::Arc;

use cattlegrid_core::paths::Entry;
use cattlegrid_core::paths::Judge;
use cattlegrid_core::paths::Parents;
use cattlegrid_core::paths::PathKind;
use cattlegrid_learn::model::Model;

fn judge() -> Judge {
    let text = include_str!("../../../../data/default-model.json");
    let model = Model::parse(text).unwrap();
    Judge::new(Arc::new(model.paths.unwrap())).unwrap()
}

fn entry(second: f64, page: u64, parent: Option<u64>) -> Entry {
    Entry {
        at_ms: 1_893_974_400_000 + (1000.0 * second) as u64,
        user: 1,
        page,
        parent,
    }
}

/// Sixty entries, one every second and a bit.
fn crawl(parent: impl Fn(u64) -> Option<u64>) -> Vec<Entry> {
    let step = |at: u64| entry(1.1 * at as f64 + 0.1 * (at % 3) as f64, at, parent(at));
    (0..60).map(step).collect()
}

/// Ten visits on different days: the list of new posts, then threads from it, back to the list, and a reply.
fn person() -> Vec<Entry> {
    let mut entries = Vec::new();
    for day in 0..10_u64 {
        let start = 86_400.0 * day as f64 + 137.0 * (day * day % 29) as f64;
        let thread = 100 + 10 * day;
        let pauses = [0.0, 9.0, 71.0, 78.0, 190.0, 241.0]
            .map(|pause| start + pause * (1.0 + 0.13 * day as f64));
        entries.extend([
            entry(pauses[0], 1, None),
            entry(pauses[1], thread, Some(1)),
            entry(pauses[2], thread + 1, Some(thread)),
            entry(pauses[3], 1, Some(thread + 1)),
            entry(pauses[4], thread + 2, Some(1)),
            entry(pauses[5], thread + 3, Some(1)),
        ]);
    }
    entries
}

#[test]
fn plain_crawlers_are_named_and_a_plain_reader_is_not() {
    let judge = judge();
    let kind = |entries: &[Entry]| judge.judge(entries, Parents::Markers).unwrap().kind;
    let deep = crawl(|at| at.checked_sub(1));
    assert_eq!(kind(&deep), Some(PathKind::DepthFirst));
    let wide = crawl(|at| (at > 0).then_some(at / 50 * 50).filter(|on| *on < at));
    assert_eq!(kind(&wide), Some(PathKind::BreadthFirst));
    let random = crawl(|at| (at > 0).then(|| at * 7919 % at));
    assert!(kind(&random).is_some());
    assert_eq!(kind(&person()), None);
    let seen = judge.judge(&person(), Parents::Referrers).unwrap();
    assert_eq!(seen.kind, None, "{seen:?}");
}

#[test]
fn an_incomplete_session_is_not_judged() {
    let entries = person();
    assert!(judge().judge(&entries[..59], Parents::Markers).is_none());
    assert!(judge().judge(&[], Parents::Markers).is_none());
}
