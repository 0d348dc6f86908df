//! The keys that sign challenges and cookies, and the file they live in.
//!
//! Invariant: key bytes are in the file and, while it is read, in memory that is wiped; never in a message, a log or `Debug`.

use std::fmt;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use hmac::Hmac;
use hmac::Mac;
use sha2::Digest;
use sha2::Sha256;
use zeroize::Zeroizing;

pub(crate) mod file;

/// Bytes of a signature that are kept: 128 bits.
pub(super) const MAC_BYTES: usize = 16;
/// A new key signs only after this time, so that every node can check it before anybody shows what it signed.
const LEAD_SECONDS: u64 = 120;
/// More keys than anybody needs at once, and each key id fits a byte.
const KEYS_MAX: usize = 16;
const KEY_BYTES: usize = 32;

/// What a signature is for. Each purpose has a key of its own, derived from the one in the file, so that nothing signed for
/// one can be shown for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Challenge,
    Asker,
    Clearance,
    Trap,
    User,
}

impl Purpose {
    const ALL: [(Purpose, &str); 5] = [
        (Purpose::Challenge, "cattlegrid challenge 1"),
        (Purpose::Asker, "cattlegrid asker 1"),
        (Purpose::Clearance, "cattlegrid clearance 1"),
        (Purpose::Trap, "cattlegrid trap 1"),
        (Purpose::User, "cattlegrid user 1"),
    ];
}

/// The signing keys, newest last.
pub struct Keys {
    keys: Vec<Key>,
}

struct Key {
    id: u8,
    may_sign: bool,
    /// Seconds since 1970.
    since: u64,
    fingerprint: String,
    /// Keyed states, so that a check hashes nothing but its message.
    signers: [Hmac<Sha256>; Purpose::ALL.len()],
}

impl Keys {
    /// Reads the keys from a file; where there is none, draws a key and writes it, readable by its owner alone.
    pub fn open(path: &Path, unix: u64) -> Result<Keys, KeyFault> {
        match file::read(path) {
            Err(KeyFault {
                cause: Cause::Unreadable(cause),
                ..
            }) if cause.kind() == io::ErrorKind::NotFound => {
                file::create(path, &file::line(1, unix, path)?)?
            }
            Err(fault) => return Err(fault),
            Ok(_) => {}
        }
        Keys::parse(&file::read(path)?, path)
    }

    /// Adds a key to the file and gives the new set. It checks at once and signs after two minutes.
    ///
    /// Keys whose successor is older than `grace_seconds` are dropped. A grace as long as cookies live loses nobody; a grace
    /// of 0 drops all others at once, for a key that leaked.
    pub fn rotate(path: &Path, unix: u64, grace_seconds: u64) -> Result<Keys, KeyFault> {
        let text = file::read(path)?;
        let keys = Keys::parse(&text, path)?.keys;
        let last = keys.last().map_or(0, |key| key.id);
        let is_free = |id: &u8| keys.iter().all(|key| key.id != *id);
        let id = (1..=u8::MAX)
            .map(|step| last.wrapping_add(step))
            .find(is_free)
            .unwrap_or(0);
        let mut next = Zeroizing::new(String::new());
        let lines = text.lines().filter(|line| !is_remark(line));
        for (index, (key, line)) in keys.iter().zip(lines).enumerate() {
            let replaced = keys.get(index + 1).map_or(unix, |next| next.since);
            let is_fresh = unix.saturating_sub(replaced) < grace_seconds;
            if is_fresh && keys.len() - index < KEYS_MAX {
                // The key before the new one goes on signing until the new one may.
                let is_latest = index + 1 == keys.len();
                file::append(&mut next, line, is_latest && key.may_sign);
            }
        }
        next.push_str(&file::line(id, unix, path)?);
        file::replace(path, &next)?;
        Keys::parse(&next, path)
    }

    /// Eight hex digits that tell the newest key from others and nothing about it.
    pub fn fingerprint(&self) -> &str {
        self.keys.last().map_or("", |key| &key.fingerprint)
    }

    fn parse(text: &str, path: &Path) -> Result<Keys, KeyFault> {
        let mut keys: Vec<Key> = Vec::new();
        for (index, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !is_remark(line))
        {
            let fault = |what| {
                KeyFault::new(
                    path,
                    Cause::Malformed {
                        line: index + 1,
                        what,
                    },
                )
            };
            let key = Key::parse(line).map_err(fault)?;
            if keys.iter().any(|other| other.id == key.id) {
                return Err(fault("this number is used twice"));
            }
            if keys.len() == KEYS_MAX {
                return Err(fault("more keys than 16"));
            }
            keys.push(key);
        }
        if !keys.iter().any(|key| key.may_sign) {
            let what = "no key is 'active'";
            return Err(KeyFault::new(path, Cause::Malformed { line: 1, what }));
        }
        Ok(Keys { keys })
    }

    /// The number of the key that signs at this time.
    ///
    /// Before the newest key's lead is over the one before it signs, which all nodes know. So it does where a clock that went wrong, or
    /// a rotation soon after the first key was drawn, leaves none whose lead is over.
    pub(super) fn signing(&self, unix: u64) -> u8 {
        let active = || self.keys.iter().filter(|key| key.may_sign);
        let settled = active()
            .rev()
            .find(|key| key.since.saturating_add(LEAD_SECONDS) <= unix);
        settled.or_else(|| active().next()).map_or(0, |key| key.id)
    }

    /// The number of the key by which people get pseudonyms: the oldest, so that a new key does not give them new budgets.
    pub(super) fn oldest(&self) -> u8 {
        self.keys.first().map_or(0, |key| key.id)
    }

    /// The signature of a message given in two parts.
    pub(super) fn sign(&self, id: u8, purpose: Purpose, message: [&[u8]; 2]) -> [u8; MAC_BYTES] {
        let mut signature = [0; MAC_BYTES];
        if let Some(mac) = self.keyed(id, purpose, message) {
            signature.copy_from_slice(&mac.finalize().into_bytes()[..MAC_BYTES]);
        }
        signature
    }

    /// Whether a signature is right, in a time that depends neither on where it is wrong nor on whether its key is known.
    pub(super) fn is_genuine(
        &self,
        id: u8,
        purpose: Purpose,
        message: [&[u8]; 2],
        signature: &[u8],
    ) -> bool {
        let known = self.keyed(id, purpose, message);
        let is_known = known.is_some();
        let mac = known.or_else(|| self.keyed(self.keys.first()?.id, purpose, message));
        let is_right = mac.is_some_and(|mac| mac.verify_truncated_left(signature).is_ok());
        is_known && is_right && signature.len() == MAC_BYTES
    }

    fn keyed(&self, id: u8, purpose: Purpose, message: [&[u8]; 2]) -> Option<Hmac<Sha256>> {
        let key = self.keys.iter().find(|key| key.id == id)?;
        let mut mac = key.signers[purpose as usize].clone();
        mac.update(message[0]);
        mac.update(message[1]);
        Some(mac)
    }
}

/// Numbers and fingerprints; what is secret is not shown.
impl fmt::Debug for Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .keys
            .iter()
            .map(|key| format!("{} {}", key.id, key.fingerprint));
        out.debug_list().entries(shown).finish()
    }
}

impl Key {
    fn parse(line: &str) -> Result<Key, &'static str> {
        let mut words = line.split_ascii_whitespace();
        let (Some(id), Some(hex), Some(state), since, None) = (
            words.next(),
            words.next(),
            words.next(),
            words.next(),
            words.next(),
        ) else {
            return Err("a line is: number, 64 hex digits, 'active' or 'old', seconds since 1970");
        };
        let id = id.parse().map_err(|_| "the key's number is not 0 to 255")?;
        let bytes = file::from_hex(hex).ok_or("the key is not 64 hex digits")?;
        let may_sign = match state {
            "active" => true,
            "old" => false,
            _ => return Err("the key is neither 'active' nor 'old'"),
        };
        let since = since
            .map_or(Ok(0), str::parse)
            .map_err(|_| "its time is no number of seconds")?;
        let master: Hmac<Sha256> =
            Hmac::new_from_slice(bytes.as_slice()).map_err(|_| "the key has no length")?;
        let signer = |label: &str| {
            let derived = master.clone().chain_update(label).finalize().into_bytes();
            Hmac::new_from_slice(&derived).map_err(|_| "the key has no length")
        };
        let [challenge, asker, clearance, trap, user] =
            Purpose::ALL.map(|(_, label)| signer(label));
        let digest = Sha256::new()
            .chain_update("cattlegrid fingerprint 1")
            .chain_update(bytes.as_slice())
            .finalize();
        Ok(Key {
            id,
            may_sign,
            since,
            fingerprint: digest
                .iter()
                .take(4)
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            signers: [challenge?, asker?, clearance?, trap?, user?],
        })
    }
}

fn is_remark(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Why there are no keys: what is wrong, in which file, and what to do.
#[derive(Debug)]
pub struct KeyFault {
    path: PathBuf,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Unreadable(io::Error),
    Unwritable(io::Error),
    OpenToOthers(u32),
    Malformed { line: usize, what: &'static str },
    NoRandomness(io::Error),
}

impl KeyFault {
    fn new(path: &Path, cause: Cause) -> KeyFault {
        KeyFault {
            path: path.to_owned(),
            cause,
        }
    }

    /// True where there is no file.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(&self.cause, Cause::Unreadable(cause) if cause.kind() == io::ErrorKind::NotFound)
    }

    /// What is wrong with the file, for keys of another kind than those that sign.
    pub(crate) fn in_short(&self) -> String {
        match &self.cause {
            Cause::Unreadable(cause) => format!("cannot be read: {cause}"),
            Cause::Unwritable(cause) => format!("cannot be written: {cause}"),
            Cause::OpenToOthers(mode) => {
                format!("can be read or changed by others (mode {mode:04o}): run 'chmod 600' on it")
            }
            Cause::Malformed { line, what } => format!("line {line}: {what}"),
            Cause::NoRandomness(cause) => format!("no random bytes from the system: {cause}"),
        }
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.cause {
            Cause::Unreadable(cause) => write!(
                out,
                "{path}: the signing keys cannot be read: {cause}; let the gate's user read the file, or remove it and the gate draws a new key"
            ),
            Cause::Unwritable(cause) => write!(
                out,
                "{path}: the signing keys cannot be written: {cause}; name a file in a folder that the gate's user may write to"
            ),
            Cause::OpenToOthers(mode) => write!(
                out,
                "{path}: others can read or change the signing keys (mode {mode:04o}), so they may be known; run 'chmod 600 {path}', and remove the file where they were exposed: the gate then draws a new key"
            ),
            Cause::Malformed { line, what } => write!(
                out,
                "{path}:{line}: {what}; correct the line, or remove the file and the gate draws a new key (visitors then meet one challenge more)"
            ),
            Cause::NoRandomness(cause) => write!(
                out,
                "{path}: the system gives no random bytes for a signing key: {cause}; write a line '1 <64 hex digits> active' into the file yourself"
            ),
        }
    }
}

impl std::error::Error for KeyFault {}

#[cfg(test)]
mod tests;
