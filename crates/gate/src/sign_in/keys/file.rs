//! The key file: a secret on each line, public keys in PEM, or a JSON Web Key Set.

use std::fs::File;
use std::io::Read;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Hmac;
use hmac::Mac;
use ring::signature::RsaPublicKeyComponents;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde::de::IgnoredAny;
use zeroize::Zeroizing;

use super::Algorithm;
use super::Key;
use super::Keys;
use super::Material;

const FILE_BYTES_MAX: u64 = 64 << 10;
/// Keys of one file: the one in use, the next and the last, and some to spare. Each may be tried for a token.
const KEYS_MAX: usize = 8;
/// Bytes of a secret at least (RFC 7518, 3.2): shorter ones are found by trying.
const SECRET_BYTES_MIN: usize = 32;
/// Bytes of an RSA modulus at least.
const MODULUS_BYTES_MIN: usize = 256;

/// A JSON Web Key. Members that are not here do not matter.
#[derive(Deserialize)]
struct Jwk<'a> {
    kty: String,
    kid: Option<String>,
    crv: Option<String>,
    /// Read where it stands, so that no copy is left behind.
    #[serde(borrow)]
    k: Option<&'a str>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JwkFile<'a> {
    Set {
        #[serde(borrow)]
        keys: Vec<Jwk<'a>>,
    },
    One(#[serde(borrow)] Box<Jwk<'a>>),
}

impl Keys {
    /// Reads a key file. An error says what is wrong with it, and what to do.
    pub(crate) fn open(path: &Path, algorithm: Algorithm) -> Result<Keys, String> {
        let named = |what: String| format!("key_file = {}: {what}", path.display());
        let text = read(path, algorithm).map_err(named)?;
        Keys::parse(&text, algorithm).map_err(named)
    }

    pub(in crate::sign_in) fn parse(text: &str, algorithm: Algorithm) -> Result<Keys, String> {
        let is_json = text.trim_start().starts_with('{');
        let keys = match (is_json, algorithm) {
            (true, _) => of_json(text, algorithm)?,
            (false, Algorithm::Hs256) => secrets(text)?,
            (false, _) => of_pem(text, algorithm)?,
        };
        match keys.len() {
            0 => Err(format!(
                "holds no key for {}; see docs/sign-in.md",
                algorithm.name()
            )),
            1..=KEYS_MAX => Ok(Keys { algorithm, keys }),
            _ => Err(format!(
                "holds more than {KEYS_MAX} keys; remove those that sign nothing any more"
            )),
        }
    }
}

/// The file's text, unless others can read a secret or change a key.
fn read(path: &Path, algorithm: Algorithm) -> Result<Zeroizing<String>, String> {
    let unreadable = |error: std::io::Error| {
        format!("cannot be read: {error}; let the gate's user read the file")
    };
    let file = File::open(path).map_err(unreadable)?;
    #[cfg(unix)]
    {
        // The opened file is asked, not its name: another may take the name in between.
        let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
        let path = path.display();
        match algorithm {
            Algorithm::Hs256 if mode & 0o077 != 0 => {
                return Err(format!(
                    "others can read or change the secret (mode {mode:04o}); run 'chmod 600 {path}', and make a new secret if others may have read it"
                ));
            }
            _ if mode & 0o022 != 0 => {
                return Err(format!(
                    "others can replace the key and sign in as anybody (mode {mode:04o}); run 'chmod 644 {path}'"
                ));
            }
            _ => {}
        }
    }
    // Room for all of it, so that no copy is left behind where the text grows.
    let mut text = Zeroizing::new(String::with_capacity(FILE_BYTES_MAX as usize + 1));
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    match text.len() as u64 > FILE_BYTES_MAX {
        true => Err("is larger than 64 KiB and no key file".to_owned()),
        false => Ok(text),
    }
}

/// A secret on each line.
fn secrets(text: &str) -> Result<Vec<Key>, String> {
    if text.contains("-----BEGIN") {
        return Err("is a key in PEM, and HS256 needs a secret that site and gate share; with a public key, set algorithm to RS256, ES256 or EdDSA".to_owned());
    }
    let lines = text.lines().map(str::trim_end);
    let keys = lines
        .filter(|line| !line.is_empty())
        .map(|line| secret(None, line.as_bytes()));
    keys.collect()
}

fn secret(id: Option<String>, bytes: &[u8]) -> Result<Key, String> {
    if bytes.len() < SECRET_BYTES_MIN {
        return Err(format!(
            "holds a secret of {} bytes, which can be found by trying; at least {SECRET_BYTES_MIN} are needed ('openssl rand -hex 32' makes one)",
            bytes.len()
        ));
    }
    let state = Hmac::new_from_slice(bytes).map_err(|_| "holds a secret without a length")?;
    Ok(Key {
        id,
        material: Material::Secret(state),
    })
}

fn of_json(text: &str, algorithm: Algorithm) -> Result<Vec<Key>, String> {
    // The message of the error could quote the secret.
    let file: JwkFile<'_> = serde_json::from_str(text)
        .map_err(|_| "begins like JSON and is no JSON Web Key or set of them")?;
    let keys = match file {
        JwkFile::Set { keys } => keys,
        JwkFile::One(key) => vec![*key],
    };
    keys.into_iter()
        .filter_map(|key| of_jwk(key, algorithm).transpose())
        .collect()
}

/// A key of a set; none where it is for another algorithm.
fn of_jwk(jwk: Jwk<'_>, algorithm: Algorithm) -> Result<Option<Key>, String> {
    if jwk.d.is_some() {
        return Err(PRIVATE.to_owned());
    }
    let decode = |text: Option<&str>| URL_SAFE_NO_PAD.decode(text.unwrap_or_default()).ok();
    let curve = jwk.crv.as_deref();
    let material = match (algorithm, jwk.kty.as_str(), curve) {
        (Algorithm::Hs256, "oct", _) => {
            let bytes = decode(jwk.k).map(Zeroizing::new);
            let bytes = bytes.ok_or("holds a JSON Web Key whose k is not base64url")?;
            return secret(jwk.kid, &bytes).map(Some);
        }
        (Algorithm::Rs256, "RSA", _) => {
            let (n, e) = (decode(jwk.n.as_deref()), decode(jwk.e.as_deref()));
            n.zip(e).map(|(n, e)| rsa(n, e)).transpose()?
        }
        (Algorithm::Es256, "EC", Some("P-256")) => {
            let (x, y) = (decode(jwk.x.as_deref()), decode(jwk.y.as_deref()));
            let point = x.zip(y).map(|(x, y)| [vec![4], x, y].concat());
            point.filter(|point| point.len() == 65).map(Material::P256)
        }
        (Algorithm::EdDsa, "OKP", Some("Ed25519")) => {
            let point = decode(jwk.x.as_deref());
            point
                .filter(|point| point.len() == 32)
                .map(Material::Ed25519)
        }
        _ => return Ok(None),
    };
    let material =
        material.ok_or_else(|| format!("holds an incomplete key for {}", algorithm.name()))?;
    Ok(Some(Key {
        id: jwk.kid,
        material,
    }))
}

const PRIVATE: &str = "holds a private key, and the gate needs only the public one ('openssl pkey -in PRIVATE -pubout'); keep the private key where tokens are made";

fn of_pem(text: &str, algorithm: Algorithm) -> Result<Vec<Key>, String> {
    if text.contains("PRIVATE KEY-----") {
        return Err(PRIVATE.to_owned());
    }
    if text.contains("-----BEGIN CERTIFICATE") {
        return Err("is a certificate; take the key out of it with 'openssl x509 -in CERTIFICATE -pubkey -noout'".to_owned());
    }
    let all = SubjectPublicKeyInfoDer::pem_slice_iter(text.as_bytes());
    let keys = all.map(|key| {
        let key = key.map_err(|_| "is not PEM")?;
        let material = of_spki(&key, algorithm)?;
        Ok(Key { id: None, material })
    });
    keys.collect()
}

/// What stands before the key itself, with its length (RFC 8410, 4; RFC 5480, 2).
const ED25519: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
const P256: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
/// The algorithm of an RSA key (RFC 3279, 2.3.1).
const RSA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";

fn of_spki(der: &[u8], algorithm: Algorithm) -> Result<Material, String> {
    let fixed = |prefix: &[u8], length: usize| {
        let point = der.strip_prefix(prefix)?;
        (point.len() == length).then(|| point.to_vec())
    };
    let found = match algorithm {
        Algorithm::EdDsa => fixed(ED25519, 32).map(Material::Ed25519),
        Algorithm::Es256 => fixed(P256, 65).map(Material::P256),
        Algorithm::Rs256 => rsa_of_spki(der).map(|(n, e)| rsa(n, e)).transpose()?,
        Algorithm::Hs256 => None,
    };
    found.ok_or_else(|| {
        format!(
            "holds a key that is not for {}; set algorithm to the one that signs tokens",
            algorithm.name()
        )
    })
}

fn rsa(n: Vec<u8>, e: Vec<u8>) -> Result<Material, String> {
    let leading = n.iter().take_while(|byte| **byte == 0).count();
    let n = n[leading..].to_vec();
    match n.len() < MODULUS_BYTES_MIN {
        true => Err(format!(
            "holds an RSA key of {} bits; at least {} are needed",
            8 * n.len(),
            8 * MODULUS_BYTES_MIN
        )),
        false => Ok(Material::Rsa(RsaPublicKeyComponents { n, e })),
    }
}

/// Modulus and exponent of an RSA key.
fn rsa_of_spki(der: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (whole, []) = element(0x30, der)? else {
        return None;
    };
    let (algorithm, rest) = element(0x30, whole)?;
    let (bits, []) = element(0x03, rest)? else {
        return None;
    };
    let (key, []) = element(0x30, bits.strip_prefix(&[0])?)? else {
        return None;
    };
    let (n, rest) = element(0x02, key)?;
    let (e, []) = element(0x02, rest)? else {
        return None;
    };
    (algorithm == RSA).then(|| (n.to_vec(), e.to_vec()))
}

/// The content of a DER element with a tag, and what follows it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = der.strip_prefix(&[tag])?;
    let (length, rest) = match rest {
        [short @ 0..=0x7f, rest @ ..] => (usize::from(*short), rest),
        [0x81, length, rest @ ..] => (usize::from(*length), rest),
        [0x82, high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, algorithm: Algorithm, expected: &str) {
        let error = Keys::parse(text, algorithm).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn files_that_are_not_meant_are_refused_with_the_cure() {
        use Algorithm::EdDsa;
        use Algorithm::Es256;
        use Algorithm::Hs256;
        use Algorithm::Rs256;
        check("", Hs256, "holds no key for HS256");
        check("password\n", Hs256, "openssl rand -hex 32");
        check(
            "-----BEGIN PUBLIC KEY-----\n",
            Hs256,
            "RS256, ES256 or EdDSA",
        );
        check("-----BEGIN PRIVATE KEY-----\n", Es256, "-pubout");
        check("-----BEGIN CERTIFICATE-----\n", Rs256, "-pubkey -noout");
        check(
            "0123456789abcdef0123456789abcdef",
            EdDsa,
            "holds no key for EdDSA",
        );
        check(r#"{"keys":3}"#, Rs256, "no JSON Web Key");
        check(
            r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#,
            EdDsa,
            "incomplete",
        );
        check(
            r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA","d":"AAAA"}"#,
            EdDsa,
            "-pubout",
        );
        check(
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
            Rs256,
            "RSA key of 24 bits",
        );
        // A secret that is wrong is not shown.
        let secret = r#"{"kty":"oct","k":"c2VjcmV0"}"#;
        let error = Keys::parse(secret, Hs256).unwrap_err();
        assert!(
            !error.contains("c2VjcmV0") && !error.contains("secret\""),
            "{error}"
        );
        let many = "0123456789abcdef0123456789abcdef\n".repeat(9);
        check(&many, Hs256, "more than 8 keys");
    }

    #[test]
    fn others_must_not_read_secrets_or_change_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        let open = |mode: u32, algorithm: Algorithm| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).unwrap();
            Keys::open(&path, algorithm)
        };
        assert_eq!(
            format!("{:?}", open(0o600, Algorithm::Hs256).unwrap()),
            "1 keys for HS256"
        );
        for mode in [0o604, 0o640, 0o660, 0o666] {
            let error = open(mode, Algorithm::Hs256).unwrap_err();
            assert!(error.contains("chmod 600"), "{error}");
        }
        let error = open(0o666, Algorithm::Es256).unwrap_err();
        assert!(error.contains("chmod 644"), "{error}");
    }
}
