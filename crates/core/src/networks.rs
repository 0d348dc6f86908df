//! Networks as they are written, and lists of them.

use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use ipnet::IpNet;
use ipnet::Ipv6Net;
use prefix_trie::joint::JointPrefixSet;

use crate::request::Source;
use crate::request::SourceKind;
use crate::text::printable;
use crate::text::shorten;

/// Limits on a list of networks: far above any real one.
const NETWORKS_MAX: usize = 100_000;
/// Characters of a text that is no network, to name it by.
const SHOWN_CHARS: usize = 80;

/// The largest networks that a list may hold, as prefix lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Largest {
    /// Of IPv4.
    pub v4: u8,
    /// Of IPv6.
    pub v6: u8,
}

impl Largest {
    /// Facts that are part of the program: some operators have a whole /8.
    pub const OF_FACTS: Largest = Largest { v4: 8, v6: 20 };
    /// Lists that operators publish: robots come from far smaller networks.
    pub const OF_PUBLISHED: Largest = Largest { v4: 12, v6: 28 };
}

/// What to do with networks for documentation: no robot has an address there, except in tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Documentation {
    /// As all other networks of a special purpose.
    Refused,
    /// For tests.
    Allowed,
}

const DOCUMENTATION: [(&str, &str); 5] = [
    ("192.0.2.0/24", "documentation"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("2001:db8::/32", "documentation"),
    ("3fff::/20", "documentation"),
];

/// Networks that no client on the internet has: IANA's registries of special-purpose addresses (RFC 6890 and its updates), multicast,
/// and all of IPv6 that is not assigned for global use.
const SPECIAL: [(&str, &str); 25] = [
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private use"),
    ("100.64.0.0/10", "shared address space of providers"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private use"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.31.196.0/24", "AS112"),
    ("192.52.193.0/24", "AMT"),
    ("192.88.99.0/24", "6to4 relays"),
    ("192.168.0.0/16", "private use"),
    ("192.175.48.0/24", "AS112"),
    ("198.18.0.0/15", "benchmarking"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("2001::/23", "protocol assignments"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "AS112"),
    ("::/3", "no global address"),
    ("4000::/2", "no global address"),
    ("8000::/2", "no global address"),
    ("c000::/3", "no global address"),
    ("e000::/4", "no global address"),
    ("f000::/5", "no global address"),
    ("f800::/5", "private use, link-local or multicast"),
];

/// The special purpose of a network that touches any: no operator's robot comes from there.
pub fn special_purpose(network: IpNet, documentation: Documentation) -> Option<&'static str> {
    let documentation = match documentation {
        Documentation::Refused => &DOCUMENTATION[..],
        Documentation::Allowed => &[],
    };
    let touches = |text: &str| {
        text.parse::<IpNet>()
            .is_ok_and(|special| special.contains(&network) || network.contains(&special))
    };
    let mut all = documentation.iter().chain(&SPECIAL);
    all.find(|(text, _)| touches(text)).map(|(_, what)| *what)
}

/// A network, or an address as the network of itself.
pub fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let network = match text.parse::<IpNet>() {
        Ok(network) => network,
        Err(_) => text.parse::<IpAddr>().map(IpNet::from).map_err(|_| {
            // A page in place of a list may be one line of megabytes, and may hold what acts on a terminal.
            let shown = printable(shorten(text, SHOWN_CHARS).as_bytes());
            format!("'{shown}' is neither an address nor a network like 192.0.2.0/24")
        })?,
    };
    Ok(network.trunc())
}

/// Networks of a list, each checked as if an enemy had written it.
pub fn networks<'a>(
    lines: impl Iterator<Item = &'a str>,
    largest: Largest,
) -> Result<JointPrefixSet<IpNet>, String> {
    let mut networks = JointPrefixSet::new();
    for (number, line) in lines.enumerate() {
        let network = network(line).map_err(|error| format!("network {}: {error}", number + 1))?;
        let min = match network {
            IpNet::V4(_) => largest.v4,
            IpNet::V6(_) => largest.v6,
        };
        if network.prefix_len() < min {
            return Err(format!(
                "network {}: {network} is larger than any operator's (at most /{min})",
                number + 1
            ));
        }
        if number >= NETWORKS_MAX {
            return Err(format!("it holds more than {NETWORKS_MAX} networks"));
        }
        networks.insert(network);
    }
    Ok(networks)
}

/// A source as the network it is.
pub fn network_of(source: Source) -> Option<IpNet> {
    match source.kind {
        SourceKind::V4 => {
            let address = Ipv4Addr::from(source.value as u32);
            Some(IpNet::from(IpAddr::V4(address)))
        }
        SourceKind::V6 => {
            let address = Ipv6Addr::from(u128::from(source.value) << 64);
            Ipv6Net::new(address, 64).ok().map(IpNet::V6)
        }
        SourceKind::Token => None,
    }
}

/// The source that a network is, where it is no larger than one.
pub fn source_of(network: IpNet) -> Option<Source> {
    match network {
        IpNet::V4(network) if network.prefix_len() == 32 => Some(Source {
            kind: SourceKind::V4,
            value: u64::from(u32::from(network.network())),
        }),
        IpNet::V6(network) if network.prefix_len() >= 64 => Some(Source {
            kind: SourceKind::V6,
            value: (u128::from(network.network()) >> 64) as u64,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_purposes_are_known_by_any_part_of_them() {
        let of = |text: &str| special_purpose(network(text).unwrap(), Documentation::Refused);
        for text in [
            "127.0.0.1",
            "10.1.0.0/16",
            "100.64.0.0/12",
            "169.254.9.9",
            "224.0.0.0/12",
            "255.255.255.255",
            "192.0.0.0/12",
            "203.0.113.7",
            "::1",
            "::ffff:192.0.2.0/120",
            "64:ff9b::/96",
            "2001:db8::/48",
            "2001::/32",
            "2002:c000:200::/48",
            "3fff::/28",
            "fc00::/48",
            "fe80::/64",
            "ff02::/64",
        ] {
            assert!(of(text).is_some(), "{text}");
        }
        // Search engines' robots come from such networks.
        for text in [
            "66.249.64.0/27",
            "40.77.167.0/24",
            "2001:4860:4801::/48",
            "2a03:2880::/32",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        let shown = network("192.0.2.0/24").unwrap();
        assert_eq!(special_purpose(shown, Documentation::Allowed), None);
        for (text, _) in DOCUMENTATION.iter().chain(&SPECIAL) {
            assert_eq!(text.parse::<IpNet>().unwrap().trunc().to_string(), *text);
        }
    }
}
