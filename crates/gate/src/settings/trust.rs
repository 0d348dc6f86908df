//! Who a client is: the address that connected, or what a trusted proxy says of it.

use std::io::Write;
use std::net::IpAddr;

use cattlegrid_core::proxies::Proxies;
use cattlegrid_core::request::Source;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Name;

/// Bytes of a chain of addresses that are read, from its end: no honest one is longer.
const CHAIN_MAX: usize = 4096;

/// Whose word about a client is taken.
#[derive(Debug, Default)]
pub struct Trust {
    proxies: Proxies,
    has_proxies: bool,
    /// Whoever reaches the socket file is trusted: its folder says who can.
    unix: bool,
    everybody: bool,
}

/// Who connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// From an address.
    Address(IpAddr),
    /// Through a socket file.
    Unix,
}

impl Trust {
    /// Trusts these networks, single addresses, and `unix` for sockets in the file system.
    pub(crate) fn new(names: &[String], everybody: bool, is_needed: bool) -> Result<Trust, String> {
        let unix = names.iter().any(|name| name == "unix");
        let networks: Vec<String> = names
            .iter()
            .filter(|name| *name != "unix")
            .cloned()
            .collect();
        if everybody {
            // The networks do not matter any more, but must still be sound.
            let sound: Vec<String> = networks
                .into_iter()
                .filter(|name| !matches!(name.as_str(), "0.0.0.0/0" | "::/0"))
                .collect();
            Proxies::new(&sound)?;
            return Ok(Trust {
                unix: true,
                everybody,
                ..Trust::default()
            });
        }
        if is_needed && names.is_empty() {
            return Err("a forward_auth listener believes what the asking server says of its clients: name it in trusted_proxies, like [\"127.0.0.1\"] or [\"unix\"]".to_owned());
        }
        let proxies = Proxies::new(&networks).map_err(|error| {
            format!(
                "{error} (trust_everybody = true if nobody but your proxies can reach the gate)"
            )
        })?;
        Ok(Trust {
            proxies,
            has_proxies: !networks.is_empty(),
            unix,
            everybody,
        })
    }

    /// True where a peer with an address can be trusted.
    pub(crate) fn has_proxies(&self) -> bool {
        self.has_proxies || self.everybody
    }

    /// True where any client may name any address as its own.
    pub(crate) fn is_open(&self) -> bool {
        self.everybody
    }

    /// True where this peer's word is taken.
    pub fn trusts(&self, peer: Peer) -> bool {
        self.everybody
            || match peer {
                Peer::Unix => self.unix,
                Peer::Address(address) => self.has_proxies && self.proxies.trusts(address),
            }
    }

    /// The client behind a peer: its own address, or the last one of the chain that no trusted proxy has.
    pub fn client(&self, peer: Peer, headers: &Headers<'_>) -> Option<IpAddr> {
        let own = match peer {
            Peer::Address(address) => Some(address.to_canonical()),
            Peer::Unix => None,
        };
        if !self.trusts(peer) {
            return own;
        }
        let Some(chain) = chain(headers) else {
            return own;
        };
        let told = self.proxies.nearest_stranger(&chain);
        told.map(|(_, address)| address).or(own)
    }
}

/// The chain of addresses that proxies wrote, as one list; `X-Forwarded-For` before `Forwarded`.
fn chain(headers: &Headers<'_>) -> Option<Vec<u8>> {
    let mut chain: Vec<u8> = Vec::new();
    for value in headers.all(Name::XForwardedFor) {
        if !chain.is_empty() {
            chain.push(b',');
        }
        chain.extend_from_slice(value);
    }
    if chain.is_empty() {
        for value in headers.all(Name::Forwarded) {
            for element in value.split(|byte| *byte == b',') {
                if let Some(client) = forwarded_for(element) {
                    if !chain.is_empty() {
                        chain.push(b',');
                    }
                    chain.extend_from_slice(client);
                }
            }
        }
    }
    if chain.len() > CHAIN_MAX {
        chain.drain(..chain.len() - CHAIN_MAX);
        // The first element may have been cut: what is no address ends the walk.
    }
    (!chain.is_empty()).then_some(chain)
}

/// The `for=` of one element of a `Forwarded` header, without quotes.
fn forwarded_for(element: &[u8]) -> Option<&[u8]> {
    element.split(|byte| *byte == b';').find_map(|pair| {
        let pair = pair.trim_ascii();
        let (name, value) = pair.split_at_checked(4)?;
        if !name.eq_ignore_ascii_case(b"for=") {
            return None;
        }
        let value = value
            .strip_prefix(b"\"")
            .and_then(|value| value.strip_suffix(b"\""))
            .unwrap_or(value);
        Some(value)
    })
}

/// Whoever the headers name, for tests that want to see what a trusting gate would do.
#[cfg(debug_assertions)]
pub(crate) fn believing(headers: &Headers<'_>) -> Option<IpAddr> {
    let chain = chain(headers).or_else(|| headers.get(Name::XRealIp).map(<[u8]>::to_vec))?;
    let first = chain.split(|byte| *byte == b',').next()?;
    std::str::from_utf8(first.trim_ascii()).ok()?.parse().ok()
}

/// The source that an address is.
pub(crate) fn source(address: Option<IpAddr>) -> Source {
    // Who comes through a socket file and tells no address is this machine.
    let address = address.unwrap_or(IpAddr::from([127, 0, 0, 1]));
    Source::of(address)
}

/// Writes an address in its usual spelling. Each request has one in its log line and one for the site: `write!` would take a thousand instructions for it.
pub(crate) fn write_address(address: IpAddr, out: &mut Vec<u8>) {
    let IpAddr::V4(address) = address else {
        // Writing into memory cannot fail.
        let _ = write!(out, "{address}");
        return;
    };
    // The longest one has 15 letters; they are put down together.
    let (mut text, mut end) = ([0; 16], 0);
    let mut put = |letter| {
        text[end] = letter;
        end += 1;
    };
    for (at, octet) in address.octets().into_iter().enumerate() {
        if at > 0 {
            put(b'.');
        }
        if octet >= 100 {
            put(b'0' + octet / 100);
        }
        if octet >= 10 {
            put(b'0' + octet / 10 % 10);
        }
        put(b'0' + octet % 10);
    }
    out.extend_from_slice(&text[..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_spelled_as_usual() {
        for octet in 0..=255 {
            for address in [[octet, 0, 9, 10], [99, 100, 255, octet]] {
                let address = IpAddr::from(address);
                let mut out = Vec::new();
                write_address(address, &mut out);
                assert_eq!(out, address.to_string().as_bytes());
            }
        }
    }
}
