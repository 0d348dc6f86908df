//! The keys that check tokens, and the file they are in.
//!
//! Invariant: the bytes of a secret are in the file and, while it is read, in memory that is wiped; never in a message, a log or `Debug`.

mod file;

use std::fmt;

use hmac::Hmac;
use hmac::Mac;
use ring::signature::ECDSA_P256_SHA256_FIXED;
use ring::signature::ED25519;
use ring::signature::RSA_PKCS1_2048_8192_SHA256;
use ring::signature::RsaPublicKeyComponents;
use ring::signature::UnparsedPublicKey;
use serde::Deserialize;
use sha2::Sha256;

/// How tokens are signed. The owner names one; what a token says about it must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Algorithm {
    /// HMAC-SHA256, with a secret that site and gate share.
    #[serde(rename = "HS256")]
    Hs256,
    /// RSA with SHA-256 (PKCS #1 v1.5).
    #[serde(rename = "RS256")]
    Rs256,
    /// ECDSA with P-256 and SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl Algorithm {
    /// The name in tokens (RFC 7518, RFC 8037).
    pub(crate) fn name(self) -> &'static str {
        match self {
            Algorithm::Hs256 => "HS256",
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
            Algorithm::EdDsa => "EdDSA",
        }
    }
}

/// The keys of one file, all for one algorithm.
pub(crate) struct Keys {
    algorithm: Algorithm,
    keys: Vec<Key>,
}

/// One key.
struct Key {
    /// By which tokens name it; without one it is tried for each token.
    id: Option<String>,
    material: Material,
}

enum Material {
    Secret(Hmac<Sha256>),
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl fmt::Debug for Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, name) = (self.keys.len(), self.algorithm.name());
        write!(out, "{count} keys for {name}")
    }
}

impl Keys {
    /// How their tokens are signed.
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.keys.len()
    }

    /// True where one of them has signed a message: the one of this name, or one without any name.
    pub(super) fn verify(&self, id: Option<&str>, message: &[u8], signature: &[u8]) -> bool {
        let is_meant = |key: &&Key| match (&key.id, id) {
            (Some(known), Some(named)) => known == named,
            _ => true,
        };
        let mut meant = self.keys.iter().filter(is_meant);
        meant.any(|key| key.material.verify(message, signature))
    }

    #[cfg(test)]
    pub(super) fn secret(secrets: &[&[u8]]) -> Keys {
        let keys = secrets.iter().map(|secret| Key {
            id: None,
            material: Material::Secret(Hmac::new_from_slice(secret).unwrap()),
        });
        Keys {
            algorithm: Algorithm::Hs256,
            keys: keys.collect(),
        }
    }
}

impl Material {
    fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Material::Secret(state) => {
                // In a time that does not depend on where it is wrong.
                let mac = state.clone().chain_update(message);
                mac.verify_slice(signature).is_ok()
            }
            Material::Rsa(key) => {
                let parameters = &RSA_PKCS1_2048_8192_SHA256;
                key.verify(parameters, message, signature).is_ok()
            }
            Material::P256(point) => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).is_ok()
            }
            Material::Ed25519(point) => {
                let key = UnparsedPublicKey::new(&ED25519, point);
                key.verify(message, signature).is_ok()
            }
        }
    }
}
