//! How long a decision takes, and what a counted source costs: `cargo run --release -p cattlegrid-core --example policy_speed`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    reason = "an example that measures time and prints it"
)]

use std::time::Instant;

use cattlegrid_core::networks::network_of;
use cattlegrid_core::policy::Action;
use cattlegrid_core::policy::Asked;
use cattlegrid_core::policy::Claim;
use cattlegrid_core::policy::Fingerprint;
use cattlegrid_core::policy::Limits;
use cattlegrid_core::policy::Loader;
use cattlegrid_core::policy::Policy;
use cattlegrid_core::policy::Ruling;
use cattlegrid_core::policy::Standing;
use cattlegrid_core::profile::Contradictions;
use cattlegrid_core::request::Source;
use cattlegrid_core::request::SourceKind;

/// Entries of the knowledge base.
const ENTRIES: u32 = 100_000;
/// Decisions that are timed one by one.
const TIMED: usize = 1_000_000;

fn source(number: u32) -> Source {
    // Spread over all addresses, each once.
    Source {
        kind: SourceKind::V4,
        value: u64::from(number.wrapping_mul(0x9e37_79b1)),
    }
}

fn standing() -> Standing {
    let mut standing = Standing::default();
    let ruling = |number: u32| Ruling {
        action: Action::Deny,
        is_owners: false,
        is_learned: true,
        cap: 0,
        since: 0,
        until: u32::MAX,
        entry: u64::from(number),
    };
    for number in 0..ENTRIES {
        standing.add_source(source(number * 7), ruling(number));
        if number % 10 == 0
            && let Some(network) = source(number * 3 + 1).network().and_then(network_of)
        {
            standing.add_network(network, ruling(number));
        }
    }
    standing
}

/// Times of single calls, sorted, without the time that taking the time costs.
fn times(mut call: impl FnMut(usize)) -> Vec<u128> {
    let mut times: Vec<u128> = (0..TIMED)
        .map(|at| {
            let start = Instant::now();
            call(at);
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times
}

fn show(what: &str, times: &[u128], clock: u128) {
    let at = |share: f64| times[(times.len() as f64 * share) as usize].saturating_sub(clock);
    println!(
        "{what}: median {} ns, 99 % {} ns, longest {} ns",
        at(0.5),
        at(0.99),
        times[times.len() - 1]
    );
}

/// What counting groups adds: to a page, with one of a few fingerprints, and to a part of a page.
fn show_groups(policy: &Policy, standing: &Standing, sources: u32, clock: u128) {
    let asked = |at: usize| {
        let number = (at as u32).wrapping_mul(0x9e37_79b1) % sources;
        Asked {
            agent: number % 50,
            fingerprint: Some(Fingerprint {
                claim: Claim::Chromium,
                contradictions: Contradictions::NONE,
                loader: Loader::Window,
                digest: u64::from(number % 10),
            }),
            ..Asked::page(source(number), 1_900_000_100)
        }
    };
    let pages = times(|at| {
        let decided = policy.decide(&asked(at), standing);
        if let Some(seat) = &decided.seat {
            policy.count_shown(seat, 1_900_000_100);
        }
    });
    show("  the same with a fingerprint", &pages, clock);
    let parts = times(|at| {
        let asked = asked(at);
        policy.count_part(asked.source, asked.agent);
        policy.count_part(asked.source, asked.agent);
    });
    show("  two parts of a page", &parts, clock);
}

fn main() {
    let clock = times(|_| {})[TIMED / 2];
    let standing = standing();
    println!(
        "{} entries, reading the clock costs {clock} ns",
        standing.len()
    );
    let looked = times(|at| {
        let source = source((at as u32).wrapping_mul(0x0019_660d) % 1_000_000);
        std::hint::black_box(standing.ruling(source, 0, 1));
    });
    show("lookup in what is known", &looked, clock);
    for sources in [1_000_000_u32, 10_000_000] {
        let policy = Policy::new(Limits::default(), sources as usize, 7);
        let mut longest = 0;
        for number in 0..sources {
            let start = Instant::now();
            policy.decide(&Asked::page(source(number), 1_900_000_000), &standing);
            longest = longest.max(start.elapsed().as_micros());
        }
        let decided = times(|at| {
            let number = (at as u32).wrapping_mul(0x9e37_79b1) % sources;
            let asked = Asked::page(source(number), 1_900_000_100);
            std::hint::black_box(policy.decide(&asked, &standing));
        });
        show(&format!("decision with {sources} sources"), &decided, clock);
        show_groups(&policy, &standing, sources, clock);
        println!(
            "  {} bytes a source, {} forgotten, longest decision while it filled {longest} µs",
            policy.counters.bytes() / sources as usize,
            policy.counters.forgotten()
        );
        let mut saved = Vec::new();
        let start = Instant::now();
        let is_saved = policy.counters.save(&mut saved, 1_900_000_100).is_ok();
        let saving = start.elapsed();
        let start = Instant::now();
        let restored = Policy::restore(sources as usize, &mut &*saved, 1_900_000_100);
        println!(
            "  saved ({is_saved}) as {} MB in {saving:.1?}, {:?} tallies restored in {:.1?}",
            saved.len() / 1_000_000,
            restored.map(|(_, taken)| taken),
            start.elapsed()
        );
    }
}
