//! Addresses of both families as bits, cut where denied and allowed networks begin and end, and the tree above the cuts.

use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use ipnet::IpNet;
use ipnet::Ipv4Net;
use ipnet::Ipv6Net;

use super::Denied;
use super::aggregate::Expiry;

/// Later than any end: 2^32 seconds after 1970 does not fit into an end's 32 bits.
const NEVER: u64 = 1 << 32;

/// IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) const BOTH: [Family; 2] = [Family::V4, Family::V6];

    /// The prefix length of what counts as one address.
    fn unit(self) -> u8 {
        match self {
            Family::V4 => 32,
            Family::V6 => 64,
        }
    }

    /// A network as bits, if it is of this family.
    fn prefix(self, network: IpNet) -> Option<Prefix> {
        match (self, network.trunc()) {
            (Family::V4, IpNet::V4(network)) => Some(Prefix {
                bits: u128::from(network.network().to_bits()) << 96,
                length: network.prefix_len(),
            }),
            (Family::V6, IpNet::V6(network)) => Some(Prefix {
                bits: network.network().to_bits(),
                length: network.prefix_len(),
            }),
            _ => None,
        }
    }

    /// The network of bits; of IPv4, the first 32 of them.
    pub(super) fn network(self, prefix: Prefix) -> IpNet {
        let Prefix { bits, length } = prefix;
        match self {
            Family::V4 => {
                let address = Ipv4Addr::from_bits((bits >> 96) as u32);
                IpNet::V4(Ipv4Net::new_assert(address, length))
            }
            Family::V6 => IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::from_bits(bits), length)),
        }
    }

    /// How many addresses the prefix holds as a whole; none where it is smaller than what counts as one.
    fn addresses(self, prefix: Prefix) -> u128 {
        match self.unit().checked_sub(prefix.length) {
            Some(free) => 1 << free,
            None => 0,
        }
    }
}

/// The first bits of an address, left-aligned, the others 0. Ordered as a walk through the tree, parents first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix {
    bits: u128,
    length: u8,
}

impl Prefix {
    const ROOT: Prefix = Prefix { bits: 0, length: 0 };

    /// The two halves; only of prefixes that hold longer ones.
    fn halves(self) -> [Prefix; 2] {
        let length = self.length + 1;
        let bits = self.bits | 1 << (128 - u32::from(length));
        [Prefix { length, ..self }, Prefix { bits, length }]
    }

    /// The longest prefix that holds both, which do not hold each other.
    fn common(self, other: Prefix) -> Prefix {
        let length = (self.bits ^ other.bits).leading_zeros();
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        Prefix {
            bits: self.bits & mask,
            // At most 127, as the two differ.
            length: length as u8,
        }
    }
}

/// What the longest network around an address says of it. Ordered so that of equal networks the denied one comes last and
/// wins, after the allowed one has put an end to what larger ones say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Unknown,
    Allowed,
    /// Denied until then, or [`NEVER`].
    Denied(u64),
}

impl Kind {
    /// What holds inside a network of kind `inner` that lies in this one. Denied inside denied ends with the later.
    fn inside(self, inner: Kind) -> Kind {
        match (self, inner) {
            (Kind::Denied(_), Kind::Denied(_)) => self.max(inner),
            _ => inner,
        }
    }

    /// Whether two halves of these kinds make a whole, and of which.
    fn joined(self, other: Kind, expiry: Expiry) -> Option<Kind> {
        match (self, other) {
            _ if self == other => Some(self),
            (Kind::Denied(_), Kind::Denied(_)) if expiry == Expiry::Ignored => {
                Some(self.max(other))
            }
            _ => None,
        }
    }
}

/// A prefix and what holds in all of it.
pub(super) type Piece = (Prefix, Kind);

/// Cuts all that is denied or allowed into the fewest disjoint pieces, in order.
pub(super) fn partition(
    family: Family,
    denied: &[Denied],
    allowed: &[IpNet],
    expiry: Expiry,
) -> Vec<Piece> {
    let denied = denied.iter().filter_map(|denied| {
        let until = denied.until.map_or(NEVER, u64::from);
        Some((family.prefix(denied.network)?, Kind::Denied(until)))
    });
    let allowed = allowed
        .iter()
        .filter_map(|network| Some((family.prefix(*network)?, Kind::Allowed)));
    let mut entries: Vec<Piece> = denied.chain(allowed).collect();
    entries.sort_unstable();
    entries.dedup();
    let mut pieces = Vec::with_capacity(entries.len());
    cut(&mut pieces, (Prefix::ROOT, Kind::Unknown), &entries, expiry);
    pieces
}

/// Appends the pieces of `whole`, which is of its kind wherever the `entries`, all inside it, say nothing else.
fn cut(pieces: &mut Vec<Piece>, whole: Piece, entries: &[Piece], expiry: Expiry) {
    let (prefix, mut kind) = whole;
    if let (Kind::Unknown, [only]) = (kind, entries) {
        pieces.push(*only);
        return;
    }
    let mut entries = entries;
    while let [first, rest @ ..] = entries
        && first.0 == prefix
    {
        kind = kind.inside(first.1);
        entries = rest;
    }
    if entries.is_empty() {
        if kind != Kind::Unknown {
            pieces.push((prefix, kind));
        }
        return;
    }
    let halves = prefix.halves();
    let (low, high) =
        entries.split_at(entries.partition_point(|entry| entry.0.bits < halves[1].bits));
    cut(pieces, (halves[0], kind), low, expiry);
    cut(pieces, (halves[1], kind), high, expiry);
    if let [.., (left, left_kind), (right, right_kind)] = pieces[..]
        && [left, right] == halves
        && let Some(kind) = left_kind.joined(right_kind, expiry)
    {
        pieces.truncate(pieces.len() - 2);
        pieces.push((prefix, kind));
    }
}

/// A piece, or the smallest network around several.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) family: Family,
    pub(super) prefix: Prefix,
    pub(super) parent: Option<usize>,
    pub(super) children: [Option<usize>; 2],
    /// The latest end inside.
    pub(super) until: u64,
    /// Addresses inside that nobody denied.
    pub(super) unknown: u128,
    /// How many networks stand for what is denied inside.
    pub(super) networks: u32,
    /// How many addresses these cover that nobody denied.
    pub(super) extra: u128,
    /// Whether one network stands for all of it, or for something around it. So it is with denied pieces from the start.
    pub(super) taken: bool,
    /// Whether nothing inside is allowed, nor ends at another time where ends count.
    uniform: bool,
}

impl Node {
    fn leaf(family: Family, piece: Piece) -> Node {
        let (prefix, kind) = piece;
        let (until, unknown, is_denied) = match kind {
            Kind::Denied(until) => (until, 0, true),
            Kind::Unknown | Kind::Allowed => (0, family.addresses(prefix), false),
        };
        Node {
            family,
            prefix,
            parent: None,
            children: [None, None],
            until,
            unknown,
            networks: u32::from(is_denied),
            extra: 0,
            taken: is_denied,
            uniform: is_denied,
        }
    }

    /// Whether one network may come to stand for all of it.
    pub(super) fn may_be_taken(&self) -> bool {
        self.uniform && !self.taken && self.prefix.length <= self.family.unit()
    }

    fn denied(&self) -> u128 {
        self.family.addresses(self.prefix) - self.unknown
    }
}

/// Grows the tree above some pieces and returns its root.
pub(super) fn plant(
    nodes: &mut Vec<Node>,
    family: Family,
    pieces: &[Piece],
    expiry: Expiry,
) -> Option<usize> {
    let (first, last) = (pieces.first()?, pieces.last()?);
    if pieces.len() == 1 {
        nodes.push(Node::leaf(family, *first));
        return Some(nodes.len() - 1);
    }
    let prefix = first.0.common(last.0);
    let middle = prefix.halves()[1].bits;
    let (low, high) = pieces.split_at(pieces.partition_point(|piece| piece.0.bits < middle));
    let children = [
        plant(nodes, family, low, expiry)?,
        plant(nodes, family, high, expiry)?,
    ];
    let [left, right] = children.map(|child| &nodes[child]);
    let node = Node {
        family,
        prefix,
        parent: None,
        children: children.map(Some),
        until: left.until.max(right.until),
        unknown: family.addresses(prefix) - left.denied() - right.denied(),
        networks: left.networks + right.networks,
        extra: 0,
        taken: false,
        uniform: left.uniform
            && right.uniform
            && (expiry == Expiry::Ignored || left.until == right.until),
    };
    for child in children {
        nodes[child].parent = Some(nodes.len());
    }
    nodes.push(node);
    Some(nodes.len() - 1)
}
