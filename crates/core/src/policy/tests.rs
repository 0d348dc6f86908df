//! The order of decision, counted days, and what is known.

use super::*;
use crate::request::SourceKind;

const START: u32 = 1_900_000_000 / DAY * DAY;

fn source(number: u32) -> Source {
    Source {
        kind: SourceKind::V4,
        value: u64::from(0xc633_6400 + number),
    }
}

fn policy() -> Policy {
    Policy::new(Limits::default(), 1000, 7)
}

fn clearance(id: u64) -> Clearance {
    Clearance {
        id,
        pages: 500,
        place: Place::Home,
        lifts_denial: false,
    }
}

fn ruling(action: Action) -> Ruling {
    Ruling {
        action,
        is_owners: false,
        is_learned: true,
        cap: 0,
        since: 0,
        until: u32::MAX,
        entry: 1,
    }
}

fn known(action: Action) -> Standing {
    let mut standing = Standing::default();
    standing.add_source(source(1), ruling(action));
    standing
}

#[test]
fn an_unknown_source_passes_up_to_k1_and_is_challenged_then() {
    let (policy, nothing) = (policy(), Standing::default());
    for page in 1..=1200_u32 {
        let decided = policy.decide(&Asked::page(source(1), START + page), &nothing);
        let expected = match page {
            0..=20 => (Decision::Pass, Reason::FewPages),
            21..=1000 => (Decision::Challenge, Reason::ManyPages),
            _ => (Decision::Challenge, Reason::TooManyPages),
        };
        assert_eq!((decided.decision, decided.reason), expected, "page {page}");
        assert_eq!(decided.pages, page);
    }
}

#[test]
fn parts_of_pages_do_not_count() {
    let (policy, nothing) = (policy(), Standing::default());
    let part = Asked {
        content: Content::Part,
        ..Asked::page(source(1), START)
    };
    for _ in 0..500 {
        assert_eq!(policy.decide(&part, &nothing).decision, Decision::Pass);
    }
    for _ in 0..20 {
        let decided = policy.decide(&Asked::page(source(1), START), &nothing);
        assert_eq!(decided.decision, Decision::Pass);
    }
    // Who is over the limit is so for everything.
    policy.decide(&Asked::page(source(1), START), &nothing);
    assert_eq!(policy.decide(&part, &nothing).decision, Decision::Challenge);
}

#[test]
fn the_order_of_reasons_is_the_documented_one() {
    let denied = known(Action::Deny);
    let mut owners = Standing::default();
    owners.add_source(
        source(1),
        Ruling {
            is_owners: true,
            ..ruling(Action::Allow)
        },
    );
    let all = Asked {
        rule: Some(Decision::Block),
        user: Some(9),
        proof: Proof::Disproved,
        clearance: Some(clearance(5)),
        is_suspicious: true,
        ..Asked::page(source(1), START)
    };
    let check = |asked: Asked, standing: &Standing, expected: (Decision, Reason)| {
        let decided = policy().decide(&asked, standing);
        assert_eq!((decided.decision, decided.reason), expected);
    };
    check(all, &owners, (Decision::Block, Reason::OwnersRule));
    let all = Asked { rule: None, ..all };
    check(all, &owners, (Decision::Pass, Reason::OwnersEntry));
    check(all, &denied, (Decision::Pass, Reason::SignedIn));
    let all = Asked { user: None, ..all };
    check(all, &denied, (Decision::Block, Reason::Entry));
    let proven = Asked {
        proof: Proof::Proven {
            crawler: 1,
            pages: 1,
        },
        ..all
    };
    check(proven, &denied, (Decision::Pass, Reason::Proven));
    // Who solves a challenge is a person, whatever the browser calls itself.
    let nothing = Standing::default();
    check(all, &nothing, (Decision::Pass, Reason::Cleared));
    let disproved = Asked {
        clearance: None,
        ..all
    };
    check(
        disproved,
        &nothing,
        (Decision::Challenge, Reason::Disproved),
    );
    check(
        disproved,
        &known(Action::Allow),
        (Decision::Challenge, Reason::Disproved),
    );
    let all = Asked {
        proof: Proof::None,
        ..all
    };
    check(all, &denied, (Decision::Block, Reason::Entry));
    check(all, &nothing, (Decision::Pass, Reason::Cleared));
    let all = Asked {
        clearance: None,
        ..all
    };
    check(all, &nothing, (Decision::Challenge, Reason::Suspicious));
}

#[test]
fn what_the_owner_wants_for_a_name_holds_without_proof() {
    let check = |treatment, expected: (Decision, Reason)| {
        let asked = Asked {
            proof: Proof::Declared(treatment),
            is_suspicious: true,
            ..Asked::page(source(1), START)
        };
        let decided = policy().decide(&asked, &Standing::default());
        assert_eq!((decided.decision, decided.reason), expected);
    };
    check(Treatment::Refuse, (Decision::Block, Reason::Declared));
    check(
        Treatment::Challenge,
        (Decision::Challenge, Reason::Declared),
    );
    check(Treatment::Limit, (Decision::Pass, Reason::Tool));
}

#[test]
fn an_allowed_source_passes_until_its_cap_and_is_unknown_then() {
    let mut standing = Standing::default();
    standing.add_source(
        source(1),
        Ruling {
            cap: 100,
            ..ruling(Action::Allow)
        },
    );
    let policy = policy();
    for page in 1..=101 {
        let decided = policy.decide(&Asked::page(source(1), START), &standing);
        assert_eq!(decided.is_over_cap, page > 100);
        let expected = match page {
            101 => Decision::Challenge,
            _ => Decision::Pass,
        };
        assert_eq!(decided.decision, expected, "page {page}");
    }
}

#[test]
fn who_solves_challenges_is_counted_and_judged_all_the_same() {
    let (policy, nothing) = (policy(), Standing::default());
    for page in 1..=1001 {
        // A new challenge is solved whenever the budget of the last is used up.
        let cleared = Asked {
            clearance: Some(clearance((page - 1) / 500)),
            ..Asked::page(source(1), START + page as u32)
        };
        let decided = policy.decide(&cleared, &nothing);
        assert_eq!(
            (decided.decision, decided.reason),
            (Decision::Pass, Reason::Cleared)
        );
        assert_eq!(decided.is_to_be_judged(&policy.limits), page > 1000);
        assert_eq!(decided.is_to_be_judged_now(&policy.limits), page == 1001);
    }
    let decided = policy.decide(&Asked::page(source(1), START), &nothing);
    assert_eq!(decided.reason, Reason::TooManyPages);
}

#[test]
fn a_clearance_is_good_for_its_pages_and_not_one_more() {
    let (policy, nothing) = (policy(), Standing::default());
    let asked = |id: u64, is_page: bool, time: u32| Asked {
        content: match is_page {
            true => Content::Page,
            false => Content::Part,
        },
        clearance: Some(clearance(id)),
        ..Asked::page(source(1), time)
    };
    let reason = |asked: &Asked| policy.decide(asked, &nothing).reason;
    for page in 0..500_u32 {
        // Over nearly a day: nothing that was used comes back, and what is no page uses nothing.
        let time = START + 10_000 + page * 172;
        assert_eq!(reason(&asked(7, false, time)), Reason::Cleared);
        assert_eq!(
            reason(&asked(7, true, time)),
            Reason::Cleared,
            "page {page}"
        );
    }
    let end = START + 10_000 + DAY - 1;
    assert_eq!(reason(&asked(7, false, end)), Reason::Cleared, "its parts");
    assert_eq!(reason(&asked(7, true, end)), Reason::ManyPages);
    assert_eq!(reason(&asked(8, true, end)), Reason::Cleared);
    // Longer than a day, where the owner wants that.
    assert_eq!(reason(&asked(7, true, end + DAY / 2)), Reason::ManyPages);
}

#[test]
fn of_many_threads_with_one_clearance_as_many_pages_pass_as_it_has() {
    let limits = Limits {
        clearance_burst: 1000,
        ..Limits::default()
    };
    let (policy, nothing) = (Policy::new(limits, 1000, 7), Standing::default());
    let passed = std::sync::atomic::AtomicU32::new(0);
    let ask = || {
        let asked = Asked {
            clearance: Some(clearance(7)),
            ..Asked::page(source(1), START)
        };
        for _ in 0..200 {
            let is_cleared = policy.decide(&asked, &nothing).reason == Reason::Cleared;
            passed.fetch_add(u32::from(is_cleared), std::sync::atomic::Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(ask);
        }
    });
    assert_eq!(passed.into_inner(), 500);
}

#[test]
fn looking_changes_nothing() {
    let counters = Counters::new(100, 7);
    let one = Tally::source(source(1));
    assert_eq!(counters.look(one, START), 0);
    assert_eq!(counters.count(one, START, 5), 5);
    assert_eq!(counters.look(one, START + 60), 5);
    assert_eq!(counters.look(one, START + 2 * DAY), 0);
    // The look into the next days did not make it forget.
    assert_eq!(counters.look(one, START + 60), 5);
    assert_eq!(counters.look(Tally::clearance(one_value()), START), 0);
}

/// The number of a clearance that is the value of a source: the two are not one tally.
fn one_value() -> u64 {
    source(1).value
}

#[test]
fn an_entry_ends_when_it_expires() {
    let mut standing = Standing::default();
    standing.add_source(
        source(1),
        Ruling {
            until: START + 10,
            ..ruling(Action::Deny)
        },
    );
    let policy = policy();
    let at = |time: u32| {
        policy
            .decide(&Asked::page(source(1), time), &standing)
            .decision
    };
    assert_eq!(at(START + 9), Decision::Block);
    assert_eq!(at(START + 10), Decision::Pass);
}

#[test]
fn sources_that_are_watched_are_counted_as_one() {
    let mut standing = Standing::default();
    for number in 0..100 {
        standing.add_source(source(number), ruling(Action::Watch));
    }
    let policy = policy();
    let decided: Vec<Decision> = (0..30)
        .map(|number| {
            let asked = Asked::page(source(number), START);
            policy.decide(&asked, &standing).decision
        })
        .collect();
    assert!(
        decided[..20]
            .iter()
            .all(|decision| *decision == Decision::Pass)
    );
    assert!(
        decided[20..]
            .iter()
            .all(|decision| *decision == Decision::Challenge)
    );
}

#[test]
fn a_network_has_a_cap_of_its_own() {
    let (policy, nothing) = (policy(), Standing::default());
    let mut passed = 0;
    for number in 0..250 {
        for _ in 0..5 {
            let decided = policy.decide(&Asked::page(source(number), START), &nothing);
            passed += u32::from(decided.decision == Decision::Pass);
        }
    }
    assert_eq!(passed, 1000);
}

#[test]
fn the_owners_word_on_a_network_is_over_what_was_found_of_a_source() {
    let mut standing = known(Action::Deny);
    let network = "198.51.100.0/24".parse().unwrap();
    standing.add_network(network, ruling(Action::Allow));
    let decision = |standing: &Standing| {
        let asked = Asked::page(source(1), START);
        policy().decide(&asked, standing).decision
    };
    assert_eq!(decision(&standing), Decision::Block);
    standing.add_network(
        network,
        Ruling {
            is_owners: true,
            ..ruling(Action::Allow)
        },
    );
    assert_eq!(decision(&standing), Decision::Pass);
    // What was found later does not replace it, nor does what a list says of a part of it.
    standing.add_network(network, ruling(Action::Deny));
    standing.add_network("198.51.100.0/28".parse().unwrap(), ruling(Action::Deny));
    assert_eq!(decision(&standing), Decision::Pass);
}

#[test]
fn what_has_ended_hides_nothing() {
    let mut standing = Standing::default();
    standing.add_network("198.51.100.0/24".parse().unwrap(), ruling(Action::Deny));
    let ended = Ruling {
        until: START,
        ..ruling(Action::Allow)
    };
    standing.add_network("198.51.100.0/28".parse().unwrap(), ended);
    let asked = Asked::page(source(1), START);
    assert_eq!(policy().decide(&asked, &standing).decision, Decision::Block);
}

#[test]
fn a_day_slides() {
    let counters = Counters::new(100, 7);
    let one = Tally::source(source(1));
    for hour in 0..24 {
        counters.count(one, START + hour * 3600, 1);
    }
    assert_eq!(counters.count(one, START + DAY - 1, 0), 24);
    // Half a day later the first half has left; a day later everything but the last moment has.
    assert_eq!(counters.count(one, START + DAY + DAY / 2, 0), 12);
    assert!(counters.count(one, START + 2 * DAY - 3600, 0) <= 3);
    assert_eq!(counters.count(one, START + 3 * DAY, 0), 0);
    // A clock that runs back neither loses nor doubles.
    assert_eq!(counters.count(one, START, 1), 1);
}

#[test]
fn a_full_table_forgets_the_lightest_and_says_so() {
    let counters = Counters::new(1000, 7);
    let heavy = Tally::source(source(200));
    counters.count(heavy, START, 500);
    for number in 0..100_000_u32 {
        let light = Tally::source(Source {
            kind: SourceKind::V6,
            value: u64::from(number),
        });
        counters.count(light, START + 1, 1);
    }
    assert_eq!(counters.count(heavy, START + 2, 1), 501);
    assert!(counters.forgotten() > 90_000);
}

#[test]
fn threads_that_count_at_once_lose_no_page() {
    let policy = policy();
    let nothing = Standing::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..10_000 {
                    let asked = Asked::page(source(number % 10), START);
                    policy.decide(&asked, &nothing);
                }
            });
        }
    });
    for number in 0..10 {
        let one = Tally::source(source(number));
        assert_eq!(policy.counters.count(one, START, 0), 4000);
    }
    // Of each source only what passes counts for its network.
    let network = source(0).networks().map(Tally::network).next().unwrap();
    assert_eq!(policy.counters.count(network, START, 0), 200);
    assert_eq!(policy.counters.forgotten(), 0);
}

#[test]
fn tallies_are_spread_evenly_over_shards_and_rows() {
    // With room for a quarter more than there are, hardly a row is too full.
    let counters = Counters::new(100_000, 7);
    for number in 0..100_000_u32 {
        counters.count(Tally::user(u64::from(number)), START, 1);
    }
    assert!(counters.forgotten() < 3000, "{}", counters.forgotten());
    assert!(counters.bytes() / 100_000 < 40);
}

/// Pages that pass of so many requests.
fn passed(policy: &Policy, asked: &Asked, requests: usize) -> usize {
    let nothing = Standing::default();
    let decided = (0..requests).map(|_| policy.decide(asked, &nothing).decision);
    decided
        .filter(|decision| *decision == Decision::Pass)
        .count()
}

#[test]
fn documents_count_as_fractions_of_pages() {
    let policy = policy();
    let document = Asked {
        content: Content::Document,
        ..Asked::page(source(1), START)
    };
    assert_eq!(passed(&policy, &document, 2000), 524);
    assert_eq!(passed(&policy, &Asked::page(source(1), START), 5), 0);
    let cleared = Asked {
        clearance: Some(clearance(7)),
        ..document
    };
    let slowly = (0..20_000_u32).map(|at| Asked {
        time: START + at,
        ..cleared
    });
    let got: usize = slowly.map(|asked| passed(&policy, &asked, 1)).sum();
    assert_eq!(got, 500 * 25, "a clearance has a budget, too");
}

#[test]
fn shipped_rules_pass_nobody_who_is_denied() {
    let open = Asked {
        is_open: true,
        ..Asked::page(source(1), START)
    };
    let decided = policy().decide(&open, &known(Action::Deny));
    assert_eq!(
        (decided.decision, decided.reason),
        (Decision::Block, Reason::Entry)
    );
    let policy = policy();
    assert_eq!(passed(&policy, &open, 100), 100);
    assert_eq!(passed(&policy, &Asked::page(source(1), START), 100), 20);
    assert_eq!(passed(&policy, &open, 100), 100);
}

#[test]
fn away_from_home_a_clearance_is_good_for_k1_pages_until_it_is_confirmed() {
    let policy = policy();
    let away = |moves: u8, time: u32| Asked {
        clearance: Some(Clearance {
            place: Place::Away { moves },
            ..clearance(7)
        }),
        ..Asked::page(source(1), time)
    };
    passed(&policy, &Asked::page(source(1), START), 100);
    let pages = |asked: Asked| passed(&policy, &asked, 38);
    assert_eq!(pages(away(0, START)), 20);
    assert_eq!(pages(away(0, START + 100)), 0);
    assert_eq!(pages(away(1, START + 200)), 20);
    let home = Asked {
        clearance: Some(clearance(7)),
        ..away(0, 0)
    };
    let got: usize = (0..40)
        .map(|at| {
            pages(Asked {
                time: START + 300 + 100 * at,
                ..home
            })
        })
        .sum();
    assert_eq!(got, 460, "one budget wherever it is used");
}

#[test]
fn one_customer_uses_up_its_own_budget_and_not_that_of_its_provider() {
    let limits = Limits::default();
    let policy = Policy::new(limits, 100_000, 7);
    let at = |network: u64| {
        let source = Source {
            kind: SourceKind::V6,
            value: 0x2001_0db8_0000_0000 + network,
        };
        Asked::page(source, START)
    };
    // All /64 of a /56, of a /48, of a /40, each as often as it likes.
    let got: usize = (0..256).map(|one| passed(&policy, &at(one), 100)).sum();
    assert_eq!(got, 250);
    let got: usize = (256..2560).map(|one| passed(&policy, &at(one), 100)).sum();
    assert_eq!(got, 750);
    let got: usize = (1..256)
        .flat_map(|one| (0..50).map(move |two| (one << 16) + (two << 8)))
        .map(|one| passed(&policy, &at(one), 20))
        .sum();
    assert_eq!(got, 3000);
    // The neighbours in the next /40 do not notice.
    assert_eq!(passed(&policy, &at(1 << 24), 20), 20);
}

#[test]
fn clearances_of_one_source_share_a_budget_from_the_ninth_on() {
    let limits = Limits::default();
    let budgets: Vec<u32> = [0, 7, 8, 15, 99, 199, 5000]
        .map(|given| limits.clearance_budget(given))
        .to_vec();
    assert_eq!(budgets, [500, 500, 444, 250, 40, 20, 20]);
    let policy = policy();
    for _ in 0..100 {
        policy.count_solution(source(1), START);
    }
    let solutions = |number| policy.solutions(source(number), START);
    assert_eq!((solutions(1).of_source, solutions(1).of_network), (100, 25));
    assert_eq!((solutions(2).of_source, solutions(2).of_network), (0, 25));
}

#[test]
fn a_harder_challenge_lifts_learned_denials_and_never_the_owners() {
    let policy = policy();
    let lifting = Clearance {
        lifts_denial: true,
        pages: 20,
        ..clearance(7)
    };
    let with = |clearance: Clearance| Asked {
        clearance: Some(clearance),
        ..Asked::page(source(1), START)
    };
    let check = |asked: Asked, standing: &Standing, expected: (Decision, Reason)| {
        let decided = policy.decide(&asked, standing);
        assert_eq!((decided.decision, decided.reason), expected);
    };
    let denied = known(Action::Deny);
    let block = (Decision::Block, Reason::Entry);
    check(with(clearance(6)), &denied, block);
    let away = Clearance {
        place: Place::Away { moves: 0 },
        ..lifting
    };
    check(with(away), &denied, block);
    for _ in 0..20 {
        check(with(lifting), &denied, (Decision::Pass, Reason::Cleared));
    }
    check(with(lifting), &denied, block);
    let mut others = Standing::default();
    let list = Ruling {
        is_learned: false,
        ..ruling(Action::Deny)
    };
    others.add_source(source(1), list);
    let fresh = Clearance { id: 8, ..lifting };
    check(with(fresh), &others, block);
    let owners = Ruling {
        is_owners: true,
        ..list
    };
    others.add_source(source(1), owners);
    check(with(fresh), &others, (Decision::Block, Reason::OwnersEntry));
}

#[test]
fn what_the_owner_took_back_does_not_outweigh_a_later_word() {
    let owners = |action: Action| Ruling {
        is_owners: true,
        is_learned: false,
        ..ruling(action)
    };
    let network = "192.0.2.0/24".parse().unwrap();
    let address = Source::from_address(b"192.0.2.7").unwrap();
    let decide = |of_source: Ruling, of_network: Ruling| {
        let mut standing = Standing::default();
        standing.add_source(address, of_source);
        standing.add_network(network, of_network);
        policy()
            .decide(&Asked::page(address, START), &standing)
            .decision
    };
    let spared = owners(Action::Watch);
    assert_eq!(decide(spared, owners(Action::Deny)), Decision::Block);
    assert_eq!(decide(spared, ruling(Action::Deny)), Decision::Pass);
    let allowed = owners(Action::Allow);
    assert_eq!(decide(allowed, owners(Action::Deny)), Decision::Pass);
}

#[test]
fn the_name_of_a_program_buys_nothing() {
    let tool = |number: u32, content: Content| Asked {
        proof: Proof::Declared(Treatment::Limit),
        target: 7,
        content,
        ..Asked::page(source(number), START)
    };
    // Those who are watched together have the pages of one, under any name.
    let mut standing = Standing::default();
    (1..=40).for_each(|number| standing.add_source(source(number), ruling(Action::Watch)));
    let together = policy();
    let passed = (1..=40).filter(|number| {
        let asked = tool(*number, Content::Page);
        together.decide(&asked, &standing).decision == Decision::Pass
    });
    assert_eq!(passed.count(), 20);
    // Forms that are answered with pages are pages.
    let (alone, nothing) = (policy(), Standing::default());
    let passed = (0..100).filter(|_| {
        let decided = alone.decide(&tool(1, Content::Part), &nothing);
        let is_passed = decided.decision == Decision::Pass;
        if is_passed {
            let _ = alone.count_page(source(1), None, START);
        }
        is_passed
    });
    assert!(passed.count() <= 22);
}

#[test]
fn a_clearance_that_is_used_up_counts_as_none() {
    let policy = policy();
    let clearance = Clearance {
        id: 7,
        pages: 20,
        place: Place::Home,
        lifts_denial: false,
    };
    let shown = |number: u32| {
        let count = |_: &u32| policy.count_page(source(number), Some(&clearance), START);
        (0..100)
            .take_while(|page| count(page) == Unforeseen::Counted)
            .count()
    };
    // Twenty for the clearance, and as many as an unknown source may have.
    assert_eq!(shown(1), 40);
    assert_eq!(shown(2), 0);
}
