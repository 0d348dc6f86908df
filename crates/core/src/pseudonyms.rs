//! Names for sources that do not tell who they are, but still which of them share a network.

use sha2::Digest;
use sha2::Sha256;

use crate::request::Source;
use crate::request::SourceKind;

/// Gives pseudonyms by a key. Who has the key can find out addresses; without it they cannot be told.
#[derive(Clone)]
pub struct Pseudonyms {
    key: Vec<u8>,
}

impl std::fmt::Debug for Pseudonyms {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Pseudonyms")
    }
}

impl Pseudonyms {
    /// Pseudonyms by this key.
    pub fn new(key: Vec<u8>) -> Pseudonyms {
        Pseudonyms { key }
    }

    /// The pseudonym of a source. Two sources have as many bits at the beginning in common as their pseudonyms.
    pub fn name(&self, source: Source) -> String {
        match source.kind {
            SourceKind::V4 => {
                let bits = self.permute(source.value << 32, 32, 4);
                format!("anon-{}", std::net::Ipv4Addr::from((bits >> 32) as u32))
            }
            SourceKind::V6 => {
                let bits = self.permute(source.value, 64, 6);
                let address = std::net::Ipv6Addr::from(u128::from(bits) << 64);
                format!("anon-{address}/64")
            }
            SourceKind::Token => format!("anon-{:016x}", self.draw(source.value, 64, 0)),
        }
    }

    /// Flips each of the highest bits or not, as the key and all bits before it say: equal beginnings stay equal.
    fn permute(&self, value: u64, bits: u32, domain: u8) -> u64 {
        (0..bits).fold(value, |permuted, bit| {
            let before = if bit == 0 { 0 } else { value >> (64 - bit) };
            let flip = self.draw(before, bit, domain) & 1;
            permuted ^ flip << (63 - bit)
        })
    }

    fn draw(&self, value: u64, length: u32, domain: u8) -> u64 {
        let mut hash = Sha256::new();
        hash.update((self.key.len() as u64).to_le_bytes());
        hash.update(&self.key);
        hash.update([domain]);
        hash.update(length.to_le_bytes());
        hash.update(value.to_le_bytes());
        let digest = hash.finalize();
        digest[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &str) -> u32 {
        let address: std::net::Ipv4Addr = name.strip_prefix("anon-").unwrap().parse().unwrap();
        u32::from(address)
    }

    #[test]
    fn networks_stay_together_and_addresses_apart() {
        let pseudonyms = Pseudonyms::new(b"key".to_vec());
        let name = |text: &str| pseudonyms.name(Source::from_address(text.as_bytes()).unwrap());
        let common = |a: &str, b: &str| (address(&name(a)) ^ address(&name(b))).leading_zeros();
        for (a, b) in [
            ("192.0.2.1", "192.0.2.2"),
            ("192.0.2.1", "192.0.3.1"),
            ("192.0.2.1", "203.0.113.1"),
        ] {
            let real = |text: &str| u32::from(text.parse::<std::net::Ipv4Addr>().unwrap());
            assert_eq!(common(a, b), (real(a) ^ real(b)).leading_zeros(), "{a} {b}");
        }
        let names: std::collections::BTreeSet<String> = (0..5000_u64)
            .map(|value| {
                pseudonyms.name(Source {
                    kind: SourceKind::V4,
                    value: value * 7919,
                })
            })
            .collect();
        assert_eq!(names.len(), 5000);
        assert_ne!(
            name("192.0.2.1"),
            Pseudonyms::new(b"other".to_vec()).name(Source::from_address(b"192.0.2.1").unwrap())
        );
    }
}
