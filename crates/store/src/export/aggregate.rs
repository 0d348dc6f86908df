//! The fewest networks for what is denied, and who else they cover.
//!
//! Exact first. The longest network that holds an address decides: an allowed network is cut out of a larger denied one, a
//! denied network inside an allowed one (or equal to it) stays. What is left is disjoint, and brothers are joined.
//!
//! Then, within the budget, networks are covered by larger ones, always by the one that saves most networks for each
//! address nobody denied. For a tree of choices this order passes through the best solution of every price per address
//! (it is the weakest-link pruning of Breiman et al., *Classification and Regression Trees*, 1984, 3.3). What does
//! not fit into the rest of the budget never will, because whatever makes it cheaper spends as much; it is passed over
//! and the rest goes to what does fit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cattlegrid_core::policy::DAY;
use ipnet::IpNet;

use super::Denied;
use super::Target;
use super::trie::Family;
use super::trie::Kind;
use super::trie::Node;
use super::trie::Prefix;
use super::trie::partition;
use super::trie::plant;

/// What becomes of the ends of denied networks that are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing is kept apart for its end: for targets that cannot expire entries, where the next export takes them out.
    /// A network carries the latest end of its parts, which says only that nothing in it was denied for longer.
    Ignored,
    /// Ends are moved up to the next midnight UTC, and only networks with the same end are joined or covered together.
    ///
    /// So nobody is denied for more than a day too long, and nobody a moment too short. Joining different ends under the
    /// latest would deny an address of one hour for ever because its neighbour is; without rounding hardly two ends
    /// would be equal, and nothing would be joined.
    ByDay,
}

impl Expiry {
    /// The rule for a target.
    pub fn of(target: Target) -> Expiry {
        if target.has_expiry() {
            Expiry::ByDay
        } else {
            Expiry::Ignored
        }
    }
}

/// Networks for what is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregated {
    /// The networks, none overlapping another, in order of their addresses, IPv4 first.
    pub networks: Vec<Denied>,
    /// Addresses covered that nobody denied, at most the budget. Of IPv6 this counts the /64 networks that were not
    /// denied as a whole, because a /64 is what one customer has; nothing smaller is ever widened to.
    pub extra: u64,
}

/// Makes few networks of many; with a budget of 0 they hold exactly what is denied.
///
/// `budget` is how many addresses that nobody denied may be covered for the sake of a shorter list, counted as in
/// [`Aggregated::extra`]. Allowed addresses are never covered. Expired entries count as any other: see
/// [`super::current`].
pub fn aggregate(denied: &[Denied], allowed: &[IpNet], budget: u64, expiry: Expiry) -> Aggregated {
    let rounded: Vec<Denied> = denied
        .iter()
        .map(|denied| Denied {
            until: match expiry {
                Expiry::Ignored => denied.until,
                Expiry::ByDay => denied.until.map(day_end),
            },
            ..*denied
        })
        .collect();
    let mut nodes = Vec::new();
    let mut roots = Vec::new();
    for family in Family::BOTH {
        let pieces = partition(family, &rounded, allowed, expiry);
        roots.extend(plant(&mut nodes, family, &pieces, expiry));
    }
    let extra = widen(&mut nodes, budget);
    let mut networks = Vec::new();
    for root in roots {
        harvest(&nodes, root, &mut networks);
    }
    Aggregated { networks, extra }
}

/// What is denied, without overlaps and in order, with the ends as they are.
pub(super) fn disjoint(denied: &[Denied], expiry: Expiry) -> Vec<Denied> {
    let mut networks = Vec::new();
    for family in Family::BOTH {
        for (prefix, kind) in partition(family, denied, &[], expiry) {
            if let Kind::Denied(until) = kind {
                networks.push(listed(family, prefix, until));
            }
        }
    }
    networks
}

/// The first midnight not before `until`; the last second there is, where that lies beyond.
fn day_end(until: u32) -> u32 {
    until.div_ceil(DAY).saturating_mul(DAY)
}

fn listed(family: Family, prefix: Prefix, until: u64) -> Denied {
    Denied {
        network: family.network(prefix),
        until: u32::try_from(until).ok(),
    }
}

/// Covering all of a node by one network: how many networks fewer, for how many more addresses.
#[derive(Debug, PartialEq, Eq)]
struct Offer {
    saved: u32,
    price: u128,
    node: usize,
}

impl Offer {
    fn of(nodes: &[Node], node: usize) -> Offer {
        Offer {
            saved: nodes[node].networks - 1,
            price: nodes[node].unknown - nodes[node].extra,
            node,
        }
    }
}

impl Ord for Offer {
    /// The better offer is the greater: more saved per address, then fewer addresses. Prices are at most 2^64, so the
    /// products cannot overflow.
    fn cmp(&self, other: &Offer) -> Ordering {
        let own = u128::from(self.saved) * other.price;
        let others = u128::from(other.saved) * self.price;
        own.cmp(&others)
            .then(other.price.cmp(&self.price))
            .then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Offer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Takes nodes whole, best offers first, and returns how many addresses are covered that nobody denied.
///
/// Taking the best offer never makes a remaining one better (an ancestor loses a part with a better rate than its own),
/// so an offer is brought up to date only when its turn comes.
fn widen(nodes: &mut [Node], budget: u64) -> u64 {
    let mut left = budget;
    let mut offers: BinaryHeap<Offer> = (0..nodes.len())
        .filter(|node| nodes[*node].may_be_taken() && nodes[*node].unknown <= u128::from(budget))
        .map(|node| Offer::of(nodes, node))
        .collect();
    while let Some(offer) = offers.pop() {
        if nodes[offer.node].taken {
            continue;
        }
        let now = Offer::of(nodes, offer.node);
        if now != offer {
            offers.push(now);
            continue;
        }
        if let Ok(price) = u64::try_from(offer.price)
            && price <= left
        {
            left -= price;
            take(nodes, &offer);
        }
    }
    budget - left
}

/// Takes a node whole. Everything below it is taken too, and all above it holds fewer networks and more addresses.
fn take(nodes: &mut [Node], offer: &Offer) {
    let mut above = Some(offer.node);
    while let Some(node) = above {
        nodes[node].networks -= offer.saved;
        nodes[node].extra += offer.price;
        above = nodes[node].parent;
    }
    let mut below = vec![offer.node];
    while let Some(node) = below.pop() {
        if !nodes[node].taken {
            nodes[node].taken = true;
            below.extend(nodes[node].children.into_iter().flatten());
        }
    }
}

fn harvest(nodes: &[Node], root: usize, networks: &mut Vec<Denied>) {
    let node = &nodes[root];
    if node.taken {
        networks.push(listed(node.family, node.prefix, node.until));
        return;
    }
    for child in node.children.into_iter().flatten() {
        harvest(nodes, child, networks);
    }
}
