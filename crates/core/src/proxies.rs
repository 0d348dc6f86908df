//! Whose word about a client's address is taken: the owner's own proxies, from the last of the chain to the first.

use std::net::IpAddr;

use ipnet::IpNet;
use prefix_trie::joint::JointPrefixSet;

use crate::networks::network;
use crate::request::Client;
use crate::request::Field;
use crate::request::Request;
use crate::request::bare_address;

/// Addresses of a chain that are looked at: no honest request passes more proxies.
const HOPS_MAX: usize = 64;

/// The proxies that are trusted.
#[derive(Debug, Default)]
pub struct Proxies {
    trusted: Option<Trusted>,
}

/// Nearly everybody has a proxy or two: to compare them one by one costs less than a tree.
#[derive(Debug)]
enum Trusted {
    Few(Vec<IpNet>),
    Many(Box<JointPrefixSet<IpNet>>),
}

const FEW: usize = 4;

impl Trusted {
    fn has(&self, address: IpAddr) -> bool {
        match self {
            Trusted::Few(networks) => networks.iter().any(|network| network.contains(&address)),
            Trusted::Many(networks) => networks.get_lpm(&IpNet::from(address)).is_some(),
        }
    }
}

impl Proxies {
    /// Trusts these networks or single addresses.
    pub fn new(networks: &[String]) -> Result<Proxies, String> {
        let mut trusted = Vec::new();
        for text in networks {
            let network = network(text)?;
            if network.prefix_len() < prefix_min(network) {
                return Err(format!(
                    "{text} would trust everybody or nearly so, and a client could name any address as its own; name your proxies"
                ));
            }
            trusted.push(network);
        }
        let trusted = match trusted.len() {
            0 => None,
            1..=FEW => Some(Trusted::Few(trusted)),
            _ => Some(Trusted::Many(Box::new(trusted.into_iter().collect()))),
        };
        Ok(Proxies { trusted })
    }

    /// Who sent a request whose format has a field of forwarded addresses.
    ///
    /// The log's own client is the one that connected. Only if that is a trusted proxy, its word is taken: the last address of the
    /// chain that is no trusted proxy. Without any proxy named, the last address is taken, which the nearest proxy wrote itself.
    pub fn client<'a>(&self, request: &Request<'a>) -> Client<'a> {
        let peer = request.client;
        let Field::Value(chain) = request.forwarded else {
            return peer;
        };
        let Some(trusted) = &self.trusted else {
            let last = chain.rsplit(|byte| *byte == b',').next().unwrap_or(chain);
            return address(last).map_or(peer, |_| Client::Written(last.trim_ascii()));
        };
        if !peer_address(&peer).is_some_and(|address| trusted.has(address)) {
            return peer;
        }
        self.nearest_stranger(chain)
            .map_or(peer, |(hop, _)| Client::Written(hop))
    }

    /// True for a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        let trusted = self.trusted.as_ref();
        trusted.is_some_and(|trusted| trusted.has(address.to_canonical()))
    }

    /// The last address of a chain that is no trusted proxy, as written and as read; where all are, the first. What is no address was
    /// written by somebody who is no proxy of ours: nothing before it is believed.
    pub fn nearest_stranger<'a>(&self, chain: &'a [u8]) -> Option<(&'a [u8], IpAddr)> {
        let mut nearest = None;
        let hops = chain.rsplit(|byte| *byte == b',').take(HOPS_MAX);
        // Empty elements of a list mean nothing (RFC 9110, 5.6.1.2).
        for hop in hops.filter(|hop| !hop.trim_ascii().is_empty()) {
            let Some(address) = address(hop) else {
                return nearest;
            };
            nearest = Some((hop.trim_ascii(), address));
            if !self.trusts(address) {
                return nearest;
            }
        }
        nearest
    }
}

/// The largest networks of one's own are 10.0.0.0/8 and fc00::/7; two halves of all addresses are everybody, too.
fn prefix_min(network: IpNet) -> u8 {
    match network {
        IpNet::V4(_) => 8,
        IpNet::V6(_) => 7,
    }
}

fn peer_address(peer: &Client<'_>) -> Option<IpAddr> {
    match peer {
        Client::V4(address) => Some(IpAddr::from(address.to_be_bytes())),
        Client::Written(text) => address(text),
    }
}

fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let address: IpAddr = bare_address(text)?.parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], peer: &str, chain: &str) -> String {
        let trusted: Vec<String> = trusted.iter().map(|text| (*text).to_owned()).collect();
        let request = Request {
            client: Client::Written(peer.as_bytes()),
            forwarded: Field::logged(chain.as_bytes()),
            ..Request::default()
        };
        match Proxies::new(&trusted).unwrap().client(&request) {
            Client::Written(text) => String::from_utf8_lossy(text).into_owned(),
            Client::V4(_) => String::new(),
        }
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let own = ["198.51.100.0/24", "2001:db8:ffff::/48"];
        assert_eq!(client(&own, "198.51.100.1", "203.0.113.7"), "203.0.113.7");
        // What the client wrote itself stands first, and is passed over.
        assert_eq!(
            client(
                &own,
                "198.51.100.1",
                "192.0.2.99, 203.0.113.7, 198.51.100.2"
            ),
            "203.0.113.7"
        );
        assert_eq!(client(&own, "203.0.113.7", "192.0.2.99"), "203.0.113.7");
        assert_eq!(client(&own, "198.51.100.1", "-"), "198.51.100.1");
        assert_eq!(client(&own, "198.51.100.1", "unknown"), "198.51.100.1");
        assert_eq!(client(&own, "198.51.100.1", "198.51.100.3"), "198.51.100.3");
        assert_eq!(
            client(&own, "::ffff:198.51.100.1", "[2001:db8:1::5]:443"),
            "[2001:db8:1::5]:443"
        );
        let long = vec!["198.51.100.2"; 10_000].join(",");
        assert_eq!(client(&own, "198.51.100.1", &long), "198.51.100.2");
    }

    #[test]
    fn without_a_proxy_the_last_address_counts() {
        assert_eq!(
            client(&[], "198.51.100.1", "192.0.2.99, 203.0.113.7"),
            "203.0.113.7"
        );
        assert_eq!(client(&[], "198.51.100.1", "<script>"), "198.51.100.1");
    }

    #[test]
    fn nobody_trusts_everybody() {
        for text in ["0.0.0.0/0", "::/0", "nonsense", ""] {
            assert!(Proxies::new(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
