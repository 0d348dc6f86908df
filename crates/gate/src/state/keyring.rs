//! Keys of robots that sign their requests (Web Bot Auth), by the agent whose directory has them, and the signatures that were used.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::sync::Mutex;
use std::sync::PoisonError;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::ECDSA_P256_SHA256_FIXED;
use ring::signature::ED25519;
use ring::signature::UnparsedPublicKey;
use serde::Deserialize;
use sha2::Digest;
use sha2::Sha256;

/// Keys of one directory that are taken.
const KEYS_MAX: usize = 32;
/// Signatures that are remembered until they expire.
const USED_MAX: usize = 1 << 18;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// The thumbprint of RFC 7638, which names it in signatures.
    pub(crate) id: String,
    kind: KeyKind,
    bytes: Vec<u8>,
    /// Seconds since 1970 between which it is good.
    valid: (u64, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Ed25519,
    P256,
}

#[derive(Deserialize)]
struct Directory {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: String,
    x: String,
    y: Option<String>,
    nbf: Option<f64>,
    exp: Option<f64>,
}

impl Key {
    fn of(jwk: &Jwk) -> Option<Key> {
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let (kind, bytes, text) = match (jwk.kty.as_str(), jwk.crv.as_str(), &jwk.y) {
            ("OKP", "Ed25519", _) => {
                let text = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, jwk.x);
                (KeyKind::Ed25519, decode(&jwk.x)?, text)
            }
            ("EC", "P-256", Some(y)) => {
                let x = &jwk.x;
                let text = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
                let bytes = [vec![4], decode(x)?, decode(y)?].concat();
                (KeyKind::P256, bytes, text)
            }
            _ => return None,
        };
        let is_whole = bytes.len()
            == match kind {
                KeyKind::Ed25519 => 32,
                KeyKind::P256 => 65,
            };
        is_whole.then(|| Key {
            id: URL_SAFE_NO_PAD.encode(Sha256::digest(text)),
            kind,
            bytes,
            valid: (seconds(jwk.nbf, 0), seconds(jwk.exp, u64::MAX)),
        })
    }

    /// True where a signature under this algorithm is its own, now.
    pub(crate) fn verifies(
        &self,
        algorithm: Option<&str>,
        message: &[u8],
        signature: &[u8],
        now: u64,
    ) -> bool {
        let (name, kind): (_, &'static dyn ring::signature::VerificationAlgorithm) = match self.kind
        {
            KeyKind::Ed25519 => ("ed25519", &ED25519),
            KeyKind::P256 => ("ecdsa-p256-sha256", &ECDSA_P256_SHA256_FIXED),
        };
        algorithm.is_none_or(|algorithm| algorithm == name)
            && (self.valid.0..self.valid.1).contains(&now)
            && UnparsedPublicKey::new(kind, &self.bytes)
                .verify(message, signature)
                .is_ok()
    }
}

/// A time of a key; some directories give it in milliseconds.
fn seconds(given: Option<f64>, otherwise: u64) -> u64 {
    match given {
        None => otherwise,
        Some(ms) if ms > 1e11 => (ms / 1000.0) as u64,
        Some(seconds) => seconds.max(0.0) as u64,
    }
}

/// The keys of a directory: a JSON Web Key Set. Keys of other kinds are passed over.
pub(crate) fn read_directory(text: &str) -> Result<Vec<Key>, String> {
    let directory: Directory =
        serde_json::from_str(text).map_err(|error| format!("no JSON Web Key Set: {error}"))?;
    let keys = directory.keys.into_iter().take(KEYS_MAX);
    let keys: Vec<Key> = keys
        .filter_map(|key| serde_json::from_value::<Jwk>(key).ok())
        .filter_map(|jwk| Key::of(&jwk))
        .collect();
    match keys.is_empty() {
        true => Err("it has no key of Ed25519 or P-256".to_owned()),
        false => Ok(keys),
    }
}

/// Keys by agent. A key counts for the agent alone whose directory has it.
pub(crate) type Keyring = BTreeMap<String, Vec<Key>>;

/// Signatures that were used and have not expired.
#[derive(Debug, Default)]
pub(crate) struct Used {
    hasher: RandomState,
    seen: Mutex<HashMap<u64, Use>>,
}

#[derive(Debug, Clone, Copy)]
struct Use {
    source: u64,
    until: u32,
}

/// How often a signature may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Once: it carries a nonce.
    Never,
    /// Again, by the source that used it first: it is not bound to one request.
    SameSource,
}

/// What is known about a signature that is sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    Fresh,
    Replayed,
    /// There is no room to remember it, so that nobody could tell the next time.
    NoRoom,
}

impl Used {
    /// Notes a signature that is good until a time.
    pub(crate) fn note(
        &self,
        signature: &[u8],
        source: impl std::hash::Hash,
        reuse: Reuse,
        (now, until): (u32, u32),
    ) -> Freshness {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let source = self.hasher.hash_one(source);
        let key = self.hasher.hash_one(signature);
        if let Some(before) = seen.get(&key).filter(|before| now < before.until) {
            return match reuse == Reuse::SameSource && before.source == source {
                true => Freshness::Fresh,
                false => Freshness::Replayed,
            };
        }
        if seen.len() >= USED_MAX {
            seen.retain(|_, known| now < known.until);
        }
        if seen.len() >= USED_MAX {
            return Freshness::NoRoom;
        }
        seen.insert(key, Use { source, until });
        Freshness::Fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = r#"{"keys":[{"kty":"RSA","n":"x","e":"AQAB"},{"kty":"OKP","crv":"Ed25519","kid":"anything","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}"#;

    #[test]
    fn keys_are_named_by_their_thumbprint() {
        let keys = read_directory(KEY).unwrap();
        // The key and its thumbprint as the working group's draft and RFC 9421 have it.
        assert_eq!(keys.len(), 1);
        assert_eq!(keys[0].id, "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U");
        assert!(read_directory("{}").is_err());
        assert!(read_directory(r#"{"keys":[]}"#).is_err());
        assert!(read_directory(r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}"#).is_err());
    }

    #[test]
    fn signatures_are_used_once_or_by_one_source() {
        let used = Used::default();
        let note = |signature: &[u8], source: u32, reuse, now| {
            used.note(signature, source, reuse, (now, 100))
        };
        assert_eq!(note(b"a", 1, Reuse::Never, 0), Freshness::Fresh);
        assert_eq!(note(b"a", 1, Reuse::Never, 50), Freshness::Replayed);
        assert_eq!(note(b"b", 1, Reuse::SameSource, 0), Freshness::Fresh);
        assert_eq!(note(b"b", 1, Reuse::SameSource, 50), Freshness::Fresh);
        assert_eq!(note(b"b", 2, Reuse::SameSource, 50), Freshness::Replayed);
        for number in 0..USED_MAX as u32 {
            note(&number.to_be_bytes(), 1, Reuse::Never, 0);
        }
        assert_eq!(note(b"c", 1, Reuse::Never, 50), Freshness::NoRoom);
        assert_eq!(note(b"c", 1, Reuse::Never, 100), Freshness::Fresh);
    }
}
