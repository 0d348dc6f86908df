//! Networks as they are written, and lists of them.

use std::net::IpAddr;

use ipnet::IpNet;
use prefix_trie::joint::JointPrefixSet;

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
