//! Networks as they are written, and lists of them.

use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

use ipnet::IpNet;
use ipnet::Ipv6Net;
use prefix_trie::joint::JointPrefixSet;

use crate::request::Source;
use crate::request::SourceKind;

/// Limits on a list of networks: far above any real one.
const NETWORKS_MAX: usize = 100_000;
/// Nobody has larger networks than these.
const PREFIX_V4_MIN: u8 = 8;
const PREFIX_V6_MIN: u8 = 20;
/// A network, or an address as the network of itself.
pub fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let network = match text.parse::<IpNet>() {
        Ok(network) => network,
        Err(_) => text.parse::<IpAddr>().map(IpNet::from).map_err(|_| {
            format!("'{text}' is neither an address nor a network like 192.0.2.0/24")
        })?,
    };
    Ok(network.trunc())
}

/// Networks of a list, each checked as if an enemy had written it.
pub fn networks<'a>(lines: impl Iterator<Item = &'a str>) -> Result<JointPrefixSet<IpNet>, String> {
    let mut networks = JointPrefixSet::new();
    for (number, line) in lines.enumerate() {
        let network = network(line).map_err(|error| format!("network {}: {error}", number + 1))?;
        let min = match network {
            IpNet::V4(_) => PREFIX_V4_MIN,
            IpNet::V6(_) => PREFIX_V6_MIN,
        };
        if network.prefix_len() < min {
            return Err(format!(
                "network {}: {network} is larger than any operator's",
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
