//! Aggregation on spaces so small that every address can be looked at, and on a list as large as they come.

use std::time::Instant;

use cattlegrid_store::export::Denied;
use cattlegrid_store::export::Expiry;
use cattlegrid_store::export::aggregate;
use cattlegrid_store::export::current;
use ipnet::IpNet;
use proptest::prelude::*;

use crate::DAY;
use crate::NOW;
use crate::denied;
use crate::denied_until;

/// 256 cells: the addresses of 192.0.2.0/24, or the /68 networks of 2001:db8::/60, 16 to each /64.
const CELLS: usize = 256;

#[derive(Debug, Clone, Copy)]
enum Space {
    V4,
    V6,
}

impl Space {
    fn network(self, start: u8, depth: u8) -> IpNet {
        let text = match self {
            Space::V4 => format!("192.0.2.{start}/{}", 24 + depth),
            Space::V6 => format!(
                "2001:db8:0:{:x}:{:x}000::/{}",
                start >> 4,
                start & 15,
                60 + depth
            ),
        };
        text.parse::<IpNet>().unwrap().trunc()
    }

    fn cells(self, network: IpNet) -> std::ops::Range<usize> {
        let (start, depth) = match (self, network) {
            (Space::V4, IpNet::V4(net)) => (net.addr().to_bits() & 255, net.prefix_len() - 24),
            (Space::V6, IpNet::V6(net)) => (
                (net.addr().to_bits() >> 60) as u32 & 255,
                net.prefix_len() - 60,
            ),
            _ => panic!("{network} is of another family"),
        };
        start as usize..start as usize + (CELLS >> depth)
    }

    fn cells_per_unit(self) -> usize {
        match self {
            Space::V4 => 1,
            Space::V6 => 16,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Unknown,
    Allowed,
    Denied(Option<u32>),
}

fn later(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    Some(one?.max(other?))
}

/// What the longest network around each cell says, found by trying all of them, from the largest to the smallest.
fn truth(space: Space, denied: &[Denied], allowed: &[IpNet]) -> Vec<Cell> {
    let mut cells = vec![Cell::Unknown; CELLS];
    for length in 0..=128 {
        for network in allowed.iter().filter(|net| net.prefix_len() == length) {
            cells[space.cells(*network)].fill(Cell::Allowed);
        }
        for Denied { network, until } in
            denied.iter().filter(|it| it.network.prefix_len() == length)
        {
            for cell in &mut cells[space.cells(*network)] {
                *cell = match *cell {
                    Cell::Denied(before) => Cell::Denied(later(before, *until)),
                    _ => Cell::Denied(*until),
                };
            }
        }
    }
    cells
}

fn check(space: Space, denied: &[Denied], allowed: &[IpNet], budget: u64, expiry: Expiry) {
    let truth = truth(space, denied, allowed);
    let result = aggregate(denied, allowed, budget, expiry);
    let mut covered = vec![None; CELLS];
    let mut end = 0;
    for Denied { network, until } in &result.networks {
        let cells = space.cells(*network);
        assert!(end <= cells.start, "{network} overlaps or is out of order");
        end = cells.end;
        covered[cells].fill(Some(*until));
    }
    let mut extra = 0;
    for (unit, truths) in truth.chunks(space.cells_per_unit()).enumerate() {
        let cells = unit * space.cells_per_unit()..(unit + 1) * space.cells_per_unit();
        let widened = cells
            .clone()
            .any(|cell| covered[cell].is_some() && !matches!(truth[cell], Cell::Denied(_)));
        extra += u64::from(widened);
        for (cell, truth) in cells.zip(truths) {
            match (*truth, covered[cell]) {
                (Cell::Unknown, covered) => assert_eq!(covered.is_some(), widened),
                (Cell::Allowed, covered) => {
                    assert_eq!(covered, None, "an allowed address is covered")
                }
                (Cell::Denied(_), None) => panic!("a denied address is not covered"),
                (Cell::Denied(until), Some(covered)) => match expiry {
                    Expiry::Ignored => assert_eq!(later(until, covered), covered),
                    Expiry::ByDay => assert_eq!(until.map(|it| it.div_ceil(DAY) * DAY), covered),
                },
            }
        }
    }
    assert_eq!(result.extra, extra, "counted wrongly");
    assert!(extra <= budget);
    let exact = aggregate(denied, allowed, 0, expiry);
    assert_eq!(exact.extra, 0);
    assert!(result.networks.len() <= exact.networks.len());
    if allowed.is_empty() && expiry == Expiry::Ignored {
        assert!(exact.networks.len() <= denied.len());
    }
    let again = aggregate(&result.networks, &[], 0, expiry);
    assert_eq!(again.networks, result.networks, "not the fewest");
}

fn space() -> impl Strategy<Value = Space> {
    prop_oneof![Just(Space::V4), Just(Space::V6)]
}

fn place() -> impl Strategy<Value = (u8, u8)> {
    (any::<u8>(), prop_oneof![3 => Just(8_u8), 2 => 0..=8_u8])
}

fn until() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![
        Just(None),
        (0..4_u32).prop_map(|half| Some(NOW + half * DAY / 2))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn every_address_is_as_it_should_be(
        space in space(),
        denied in prop::collection::vec((place(), until()), 0..40),
        allowed in prop::collection::vec(place(), 0..6),
        budget in prop_oneof![Just(0), 0..256_u64, Just(u64::MAX)],
        expiry in prop_oneof![Just(Expiry::Ignored), Just(Expiry::ByDay)],
    ) {
        let denied: Vec<Denied> = denied
            .into_iter()
            .map(|((start, depth), until)| Denied { network: space.network(start, depth), until })
            .collect();
        let allowed: Vec<IpNet> = allowed
            .into_iter()
            .map(|(start, depth)| space.network(start, depth))
            .collect();
        check(space, &denied, &allowed, budget, expiry);
        check(space, &denied, &[], budget, expiry);
    }
}

/// The fewest networks for each number of extra addresses, by trying all ways: what the tree of 256 addresses allows.
fn fewest(cells: &[bool], budget: usize) -> Vec<usize> {
    let unknown = cells.iter().filter(|denied| !**denied).count();
    if unknown == cells.len() {
        return vec![0; budget + 1];
    }
    let mut best = vec![usize::MAX / 4; budget + 1];
    if cells.len() > 1 {
        let (low, high) = cells.split_at(cells.len() / 2);
        let (low, high) = (fewest(low, budget), fewest(high, budget));
        for spent in 0..=budget {
            best[spent] = (0..=spent)
                .map(|part| low[part] + high[spent - part])
                .min()
                .unwrap();
        }
    }
    for networks in best.iter_mut().skip(unknown) {
        *networks = 1.min(*networks);
    }
    best
}

#[test]
fn the_list_is_hardly_longer_than_the_shortest_there_is() {
    let mut random = Random(7);
    let (mut ours, mut fewest_sum, mut worst) = (0, 0, 0);
    for round in 0..200 {
        let mut cells = vec![false; CELLS];
        for _ in 0..20 + round / 2 {
            cells[random.below(256) as usize] = true;
        }
        let list: Vec<Denied> = (0..=255_u8)
            .filter(|cell| cells[usize::from(*cell)])
            .map(|cell| denied(&Space::V4.network(cell, 8).to_string()))
            .collect();
        let fewest = fewest(&cells, 60);
        for (budget, fewest) in fewest.into_iter().enumerate() {
            let networks = aggregate(&list, &[], budget as u64, Expiry::Ignored)
                .networks
                .len();
            assert!(fewest <= networks);
            ours += networks;
            fewest_sum += fewest;
            worst = worst.max(networks - fewest);
        }
    }
    println!("{ours} networks where {fewest_sum} are the fewest; at worst {worst} more");
    assert!(ours * 100 <= fewest_sum * 102);
}

fn networks(result: &[Denied]) -> Vec<String> {
    result
        .iter()
        .map(|denied| denied.network.to_string())
        .collect()
}

#[test]
fn the_longer_network_wins() {
    let list = [
        denied("192.0.2.0/24"),
        denied("192.0.2.128/32"),
        denied("198.51.100.7/32"),
    ];
    let allowed = ["192.0.2.128/25", "198.51.100.7/32"].map(|it| it.parse().unwrap());
    for budget in [0, 1_000] {
        let result = aggregate(&list, &allowed, budget, Expiry::Ignored);
        assert_eq!(
            networks(&result.networks),
            ["192.0.2.0/25", "192.0.2.128/32", "198.51.100.7/32"]
        );
        assert_eq!(result.extra, 0);
    }
}

#[test]
fn all_addresses_there_are_can_be_denied() {
    let list = [denied("0.0.0.0/0"), denied("::/0")];
    let result = aggregate(&list, &[], u64::MAX, Expiry::ByDay);
    assert_eq!(networks(&result.networks), ["0.0.0.0/0", "::/0"]);
    let halves = [denied("::/128"), denied("8000::/1")];
    let result = aggregate(&halves, &[], u64::MAX, Expiry::ByDay);
    assert_eq!(networks(&result.networks), ["::/0"]);
    assert_eq!(result.extra, 1 << 63);
    let allowed = ["2001:db8::1/128".parse().unwrap()];
    let result = aggregate(&[denied("::/0")], &allowed, u64::MAX, Expiry::ByDay);
    assert_eq!(result.networks.len(), 128);
}

#[test]
fn different_ends_are_joined_only_where_ends_do_not_count() {
    let list = [
        denied_until("192.0.2.0/32", NOW + 10),
        denied_until("192.0.2.1/32", NOW + 20),
        denied_until("192.0.2.2/32", NOW + 10 * DAY),
        denied("192.0.2.3/32"),
    ];
    let by_day = aggregate(&list, &[], 1_000, Expiry::ByDay).networks;
    assert_eq!(
        by_day,
        [
            denied_until("192.0.2.0/31", NOW + DAY / 2),
            denied_until("192.0.2.2/32", NOW + 10 * DAY + DAY / 2),
            denied("192.0.2.3/32"),
        ]
    );
    let ignored = aggregate(&list, &[], 0, Expiry::Ignored).networks;
    assert_eq!(ignored, [denied("192.0.2.0/30")]);
    assert_eq!(current(&list, NOW + 10).len(), 3);
}

/// Numbers that look random and are the same every time (Knuth's constants).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn a_hundred_thousand_addresses() {
    let mut random = Random(2030);
    let mut list = Vec::new();
    for number in 0..2_500 {
        let [.., second, third] = (number * 26 + random.below(26)).to_be_bytes();
        let mut lasts: Vec<u8> = (0..=255).collect();
        for place in 0..40 {
            lasts.swap(place, place + random.below(256 - place as u64) as usize);
            let last = lasts[place];
            list.push(denied(&format!("10.{second}.{third}.{last}/32")));
        }
    }
    let mut before = usize::MAX;
    for budget in [0, 10_000, 100_000, 1_000_000] {
        let start = Instant::now();
        let result = aggregate(&list, &[], budget, Expiry::Ignored);
        let took = start.elapsed();
        let count = result.networks.len();
        println!(
            "budget {budget}: {count} networks, {} extra, {took:.0?}",
            result.extra
        );
        assert!(result.extra <= budget && count < before);
        before = count;
    }
}
