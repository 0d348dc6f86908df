//! What a fleet gets, what it costs people who look like it, and what somebody gains who knows the rules.

use super::super::Clearance;
use super::super::DAY;
use super::super::Decided;
use super::super::Decision;
use super::super::Place;
use super::super::Standing;
use super::*;
use crate::profile::Contradictions;
use crate::request::SourceKind;

const START: u32 = 1_900_000_000 / DAY * DAY;

/// Whether page parts are loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Loaded,
    Left,
    /// With the first page alone: the others find them in the cache.
    Cached,
}

/// Clients of one kind, each in a network of its own.
#[derive(Clone, Copy)]
struct Clients {
    /// The first octet of their addresses.
    net: u64,
    count: u64,
    pages: u32,
    agent: u32,
    fingerprint: Fingerprint,
    parts: Parts,
}

/// What became of them.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Fate {
    passed: u32,
    challenged: u32,
    /// Clients that met a challenge.
    bothered: u32,
}

fn fingerprint(claim: Claim, digest: u64) -> Fingerprint {
    Fingerprint {
        claim,
        contradictions: Contradictions::default(),
        loader: Loader::Window,
        digest,
    }
}

const CHROME: Fingerprint = Fingerprint {
    claim: Claim::Chromium,
    contradictions: Contradictions::NONE,
    loader: Loader::Window,
    digest: 1,
};

/// People with the agent of the fleet.
const PEOPLE: Clients = Clients {
    net: 10,
    count: 200,
    pages: 5,
    agent: 131,
    fingerprint: CHROME,
    parts: Parts::Loaded,
};

/// People with another browser.
const OTHERS: Clients = Clients {
    net: 11,
    agent: 140,
    fingerprint: Fingerprint {
        claim: Claim::Gecko,
        digest: 2,
        ..CHROME
    },
    ..PEOPLE
};

const FLEET: Clients = Clients {
    net: 20,
    count: 200,
    pages: 15,
    parts: Parts::Left,
    ..PEOPLE
};

fn forged() -> Fingerprint {
    fingerprint(Claim::Forged, 3)
}

fn source(net: u64, number: u64) -> Source {
    Source {
        kind: SourceKind::V4,
        value: net << 24 | number << 8 | 7,
    }
}

fn policy(group_pages: u32) -> Policy {
    let limits = Limits {
        group_pages,
        ..Limits::default()
    };
    Policy::new(limits, 100_000, 7)
}

fn ask(policy: &Policy, asked: &Asked) -> Decided {
    let decided = policy.decide(asked, &Standing::default());
    if let Some(seat) = &decided.seat {
        policy.count_shown(seat, asked.time);
    }
    decided
}

/// All clients load a page, then all of them the next, spread over a day. They solve nothing.
fn run(policy: &Policy, kinds: &[Clients], start: u32) -> Vec<Fate> {
    let mut fates = vec![Fate::default(); kinds.len()];
    let rounds = kinds.iter().map(|kind| kind.pages).max().unwrap_or(0);
    let mut bothered = std::collections::BTreeSet::new();
    for round in 0..rounds {
        let time = start + round * (DAY / 24);
        let clients = kinds.iter().map(|kind| kind.count).max().unwrap_or(0);
        for number in 0..clients {
            for (kind, fate) in kinds.iter().zip(&mut fates) {
                if number >= kind.count || round >= kind.pages {
                    continue;
                }
                let source = source(kind.net, number);
                let asked = Asked {
                    agent: kind.agent,
                    fingerprint: Some(kind.fingerprint),
                    ..Asked::page(source, time)
                };
                if ask(policy, &asked).decision == Decision::Challenge {
                    fate.challenged += 1;
                    fate.bothered += u32::from(bothered.insert(source));
                    continue;
                }
                fate.passed += 1;
                let loads = match kind.parts {
                    Parts::Loaded => true,
                    Parts::Left => false,
                    Parts::Cached => round == 0,
                };
                if loads {
                    policy.count_part(source, kind.agent);
                    policy.count_part(source, kind.agent);
                }
            }
        }
    }
    fates
}

/// What people and a fleet get, with groups counted.
fn mixed(fleet: Clients) -> Vec<Fate> {
    let without = run(&policy(0), &[PEOPLE, OTHERS, fleet], START);
    assert_eq!(without[2].passed, fleet.count as u32 * fleet.pages.min(20));
    run(&policy(200), &[PEOPLE, OTHERS, fleet], START)
}

fn untouched(fate: Fate) -> bool {
    fate.challenged == 0
}

#[test]
fn people_alone_are_never_challenged() {
    for parts in [Parts::Loaded, Parts::Cached, Parts::Left] {
        let people = Clients {
            parts,
            count: 2000,
            ..PEOPLE
        };
        let others = Clients { parts, ..OTHERS };
        let fates = run(&policy(200), &[people, others], START);
        assert!(fates.iter().copied().all(untouched), "{fates:?}");
    }
}

#[test]
fn a_fleet_whose_fields_contradict_its_browser_gets_group_pages() {
    let fleet = Clients {
        fingerprint: forged(),
        ..FLEET
    };
    let [people, others, fleet] = mixed(fleet)[..] else {
        unreachable!()
    };
    assert!(untouched(people) && untouched(others));
    assert!((200..=400).contains(&fleet.passed), "{fleet:?}");
}

#[test]
fn a_fleet_that_loads_no_parts_gets_little_more() {
    // Its own fingerprint under the agent of people.
    let own = Clients {
        fingerprint: fingerprint(Claim::Chromium, 9),
        ..FLEET
    };
    let fates = mixed(own);
    assert!(untouched(fates[0]) && untouched(fates[1]), "{fates:?}");
    assert!((200..=400).contains(&fates[2].passed), "{fates:?}");
    // The fingerprint of people, too: its clients are told by what they load.
    let fates = mixed(FLEET);
    assert!(untouched(fates[0]) && untouched(fates[1]), "{fates:?}");
    assert!(fates[2].passed <= 600, "{fates:?}");
}

#[test]
fn agents_and_fingerprints_that_change_do_not_help() {
    let policy = policy(200);
    run(&policy, &[PEOPLE, OTHERS], START);
    let passed = |change: fn(u64) -> (u32, Fingerprint)| {
        let passes = |number: &u64| {
            let (agent, fingerprint) = change(*number);
            let asked = Asked {
                agent,
                fingerprint: Some(fingerprint),
                ..Asked::page(source(30, number % 1000), START + DAY / 2)
            };
            ask(&policy, &asked).decision == Decision::Pass
        };
        (0..10_000).filter(passes).count()
    };
    let agents = passed(|number| (number as u32, fingerprint(Claim::Chromium, 77)));
    assert!(agents <= 1500, "{agents} with ever new agents");
    let prints = passed(|number| (number as u32, fingerprint(Claim::WebKit, number)));
    assert!(prints <= 5500, "{prints} with ever new fingerprints");
    let contradictions = passed(|number| (number as u32, fingerprint(Claim::Forged, number)));
    assert!(
        contradictions <= 260,
        "{contradictions} with ever new contradictions"
    );
}

#[test]
fn one_page_from_each_of_thousands_of_addresses_is_seen() {
    let fleet = Clients {
        count: 20_000,
        pages: 1,
        fingerprint: fingerprint(Claim::Chromium, 9),
        ..FLEET
    };
    let policy = policy(200);
    run(&policy, &[PEOPLE, OTHERS], START);
    let fates = run(&policy, &[fleet], START + DAY / 2);
    assert!(fates[0].passed <= 260, "{fates:?}");
}

#[test]
fn a_proxy_that_strips_fields_or_a_site_without_parts_says_nothing() {
    let stripped = Clients {
        fingerprint: forged(),
        count: 2000,
        ..PEOPLE
    };
    let fates = run(&policy(200), &[stripped], START);
    assert!(untouched(fates[0]), "{fates:?}");
    let bare = Clients {
        parts: Parts::Left,
        ..OTHERS
    };
    let fates = run(&policy(200), &[FLEET, bare], START);
    assert!(untouched(fates[0]), "nothing to compare with: {fates:?}");
}

#[test]
fn contradictions_of_a_few_and_of_those_who_load_parts_are_borne() {
    let odd = Clients {
        fingerprint: forged(),
        count: 30,
        net: 40,
        ..PEOPLE
    };
    let fates = run(&policy(200), &[PEOPLE, OTHERS, odd], START);
    assert!(fates.iter().copied().all(untouched), "{fates:?}");
    let many = Clients { count: 300, ..odd };
    let fates = run(&policy(200), &[PEOPLE, OTHERS, many], START);
    assert!(fates.iter().copied().all(untouched), "{fates:?}");
}

#[test]
fn a_provider_with_one_network_is_no_fleet() {
    let policy = policy(200);
    run(&policy, &[OTHERS], START);
    let mut challenged = 0;
    for page in 0..900 {
        let address = Source {
            kind: SourceKind::V4,
            value: 50 << 24 | (page % 200),
        };
        let asked = Asked {
            agent: 131,
            fingerprint: Some(CHROME),
            ..Asked::page(address, START + DAY / 2)
        };
        challenged += u32::from(ask(&policy, &asked).decision != Decision::Pass);
    }
    assert_eq!(challenged, 0);
}

#[test]
fn a_program_in_one_network_leaves_the_networks_budget_to_others() {
    let policy = policy(200);
    run(&policy, &[PEOPLE, OTHERS], START);
    let pages = |fingerprint: Fingerprint, first: u64| {
        let passes = |page: &u64| {
            let address = Source {
                kind: SourceKind::V4,
                value: 50 << 24 | (first + page % 100),
            };
            let asked = Asked {
                agent: 131,
                fingerprint: Some(fingerprint),
                ..Asked::page(address, START + DAY / 2)
            };
            let passes = ask(&policy, &asked).decision == Decision::Pass;
            policy.count_part(address, asked.agent);
            passes
        };
        (0..1500).filter(passes).count()
    };
    assert_eq!(pages(forged(), 0), 250);
    assert_eq!(pages(CHROME, 100), 750);
}

#[test]
fn h183_a_copy_of_a_browser_costs_its_users_one_challenge_a_day_at_most() {
    let policy = policy(200);
    let copies = Clients {
        count: 20_000,
        pages: 3,
        ..FLEET
    };
    run(&policy, &[PEOPLE, OTHERS, copies], START);
    let others = Clients { net: 61, ..OTHERS };
    let fates = run(&policy, &[others], START + DAY / 2);
    assert!(untouched(fates[0]), "another browser: {fates:?}");
    let (mut challenges, mut passed) = (0, 0);
    for number in 0..200 {
        let mut clearance = None;
        for page in 0..100 {
            let asked = Asked {
                agent: 131,
                fingerprint: Some(CHROME),
                clearance,
                ..Asked::page(source(60, number), START + DAY / 2 + page * 300)
            };
            match ask(&policy, &asked).decision {
                Decision::Challenge => {
                    challenges += 1;
                    clearance = Some(Clearance {
                        id: 1000 + number,
                        pages: policy.limits.clearance_pages,
                        place: Place::Home,
                        lifts_denial: false,
                    });
                }
                Decision::Pass => passed += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(challenges <= 200, "{challenges} challenges of 200 people");
    assert_eq!(passed + challenges, 200 * 100);
}

#[test]
fn h103_looking_like_a_browser_is_never_a_pass() {
    let policy = policy(200);
    run(&policy, &[PEOPLE, OTHERS], START);
    let asked = Asked {
        agent: 131,
        fingerprint: Some(CHROME),
        ..Asked::page(source(70, 1), START + DAY / 2)
    };
    let mut passed = 0;
    for _ in 0..100 {
        passed += u32::from(ask(&policy, &asked).decision == Decision::Pass);
        policy.count_part(asked.source, asked.agent);
    }
    assert_eq!(passed, policy.limits.k1);
}

#[test]
fn a_group_that_grows_many_times_while_others_do_not_has_half_of_k1() {
    let policy = policy(20);
    let some = Clients {
        count: 20,
        ..PEOPLE
    };
    let others = Clients {
        count: 100,
        ..OTHERS
    };
    for day in 0..10 {
        let fates = run(&policy, &[some, others], START + day * DAY);
        assert!(fates.into_iter().all(untouched));
    }
    // Real browsers that load everything.
    let fleet = Clients {
        count: 400,
        parts: Parts::Loaded,
        ..FLEET
    };
    let fates = run(&policy, &[some, others, fleet], START + 10 * DAY);
    assert!(
        untouched(fates[0]) && untouched(fates[1]),
        "few pages each: {fates:?}"
    );
    assert!(fates[2].passed <= 400 * 10, "{fates:?}");
    // A browser of which all get more visits on one day is not one of them.
    let all = [some, others].map(|kind| Clients {
        count: kind.count * 5,
        pages: 15,
        ..kind
    });
    let fates = run(&policy, &all, START + 30 * DAY);
    assert!(fates.into_iter().all(untouched));
}

#[test]
fn what_scripts_load_belongs_to_their_page() {
    let policy = policy(200);
    run(&policy, &[PEOPLE, OTHERS], START);
    let script = Fingerprint {
        loader: Loader::Script,
        digest: 5,
        ..CHROME
    };
    let passed = |net: u64, agent: u32, count: u64| {
        let passes = |number: &u64| {
            let asked = Asked {
                agent,
                fingerprint: Some(script),
                ..Asked::page(source(net, number % 200), START + DAY / 2)
            };
            ask(&policy, &asked).decision == Decision::Pass
        };
        (0..count).filter(passes).count()
    };
    // Readers whose pages fetch others, up to k1 in all.
    assert_eq!(passed(PEOPLE.net, PEOPLE.agent, 3000), 3000);
    // A program that calls all its requests such.
    let program = passed(80, PEOPLE.agent, 3000);
    assert!(program <= 1000, "{program}");
}

#[test]
fn one_style_sheet_does_not_pay_for_all_pages_of_an_address() {
    let policy = policy(200);
    run(&policy, &[PEOPLE, OTHERS], START);
    let window = Fingerprint {
        digest: 6,
        ..CHROME
    };
    let script = Fingerprint {
        loader: Loader::Script,
        ..window
    };
    let mut passed = 0;
    for number in 0..200 {
        for page in 0..20 {
            let asked = Asked {
                agent: FLEET.agent,
                fingerprint: Some(if page == 0 { window } else { script }),
                ..Asked::page(source(95, number), START + DAY / 2)
            };
            passed += usize::from(ask(&policy, &asked).decision == Decision::Pass);
            if page == 0 {
                policy.count_part(asked.source, asked.agent);
            }
        }
    }
    // Nine pages of each, and the allowance of the group.
    assert!(passed <= 2500, "{passed}");
}

#[test]
fn what_a_fleet_is_called_is_told() {
    let policy = policy(200);
    run(&policy, &[PEOPLE, OTHERS, FLEET], START);
    assert!(policy.fleets() > 0);
    let asked = Asked {
        agent: FLEET.agent,
        fingerprint: Some(FLEET.fingerprint),
        ..Asked::page(source(FLEET.net, 3), START + DAY / 2)
    };
    let fleet = ask(&policy, &asked).fleet.unwrap();
    assert_eq!(fleet.cause, Cause::FewParts);
    assert!(fleet.number != 0 && fleet.pages > 0);
}
