//! The keys that seal markers, and the names that stand in markers for pages and people.
//!
//! Invariant: key bytes never appear in `Debug` and never in a marker. Which key seals is decided by the time that the caller gives.

use std::fmt;
use std::sync::Arc;

use aes::Aes256;
use aes::cipher::BlockEncrypt;
use aes::cipher::InnerIvInit;
use aes::cipher::StreamCipherCore;
use aes_gcm_siv::Aes256GcmSiv;
use aes_gcm_siv::KeyInit;
use ctr::CtrCore;
use ctr::flavors::Ctr32LE;
use hmac::Hmac;
use hmac::Mac;
use sha2::Sha256;

/// Bytes of a nonce of AES-GCM-SIV.
pub const NONCE_BYTES: usize = 12;

/// One secret of the owner.
#[derive(Clone)]
pub struct Key {
    /// Stands in clear in each marker. No two keys of a ring share it.
    pub id: u16,
    /// The secret itself, drawn at random.
    pub secret: [u8; 32],
    /// The key seals markers from this time on, in minutes since 1970. It opens them at any time.
    pub since_minutes: u32,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Key {} since minute {}", self.id, self.since_minutes)
    }
}

/// All keys that open markers. The newest one whose time has come seals them.
pub struct Keyring {
    /// Oldest first.
    sealers: Vec<Arc<Sealer>>,
    /// Opens nothing; used where a marker names an unknown key, so that this takes as long as a wrong marker of a known one.
    fallback: Arc<Sealer>,
    names: Hmac<Sha256>,
}

/// A key, expanded.
pub(crate) struct Sealer {
    pub(crate) id: u16,
    since_minutes: u32,
    pub(crate) cipher: Aes256GcmSiv,
    nonces: Aes256,
}

impl Keyring {
    /// A ring of these keys; `None` if there is no key or two have the same id.
    ///
    /// `names` is the secret behind [`Keyring::page_name`] and [`Keyring::user_name`]. It does not rotate with the keys: a name must
    /// mean the same page in markers of last month and of today.
    pub fn new(keys: &[Key], names: &[u8; 32]) -> Option<Keyring> {
        let mut sorted: Vec<&Key> = keys.iter().collect();
        sorted.sort_by_key(|key| (key.since_minutes, key.id));
        let is_repeated = |key: &Key| keys.iter().filter(|other| other.id == key.id).count() > 1;
        if keys.is_empty() || keys.iter().any(is_repeated) {
            return None;
        }
        let fallback = Key {
            id: 0,
            secret: derived(names, "cattlegrid marker fallback 1"),
            since_minutes: 0,
        };
        Some(Keyring {
            sealers: sorted.into_iter().map(Sealer::new).map(Arc::new).collect(),
            fallback: Arc::new(Sealer::new(&fallback)),
            names: keyed(&derived(names, "cattlegrid marker names 1")),
        })
    }

    /// What stands in a marker for a page: a keyed hash of its request target, as the site gets it.
    pub fn page_name(&self, target: &[u8]) -> u64 {
        self.name(b"page\0", target)
    }

    /// What stands in a marker for a person: a keyed hash of the user id.
    pub fn user_name(&self, id: &[u8]) -> u64 {
        self.name(b"user\0", id)
    }

    fn name(&self, kind: &[u8], text: &[u8]) -> u64 {
        let mac = self.names.clone().chain_update(kind).chain_update(text);
        let digest = mac.finalize().into_bytes();
        u64::from_be_bytes(first(&digest))
    }

    /// The key that seals at a time. Where the time of none has come, as with a clock that is wrong, it is the oldest.
    pub(crate) fn newest(&self, now_minutes: u32) -> &Arc<Sealer> {
        let mut ready = self.sealers.iter().rev();
        ready
            .find(|sealer| sealer.since_minutes <= now_minutes)
            .or(self.sealers.first())
            .unwrap_or(&self.fallback)
    }

    /// The key of an id, or the one that opens nothing.
    pub(crate) fn by_id(&self, id: u16) -> &Sealer {
        let known = self.sealers.iter().find(|sealer| sealer.id == id);
        known.unwrap_or(&self.fallback)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ids = self.sealers.iter().map(|sealer| sealer.id);
        f.debug_list().entries(ids).finish()
    }
}

impl Sealer {
    fn new(key: &Key) -> Sealer {
        // The secret may serve other purposes as well, so each use here has a key of its own.
        let seal = derived(&key.secret, "cattlegrid marker seal 1");
        let nonces = derived(&key.secret, "cattlegrid marker nonce 1");
        Sealer {
            id: key.id,
            since_minutes: key.since_minutes,
            cipher: Aes256GcmSiv::new(&seal.into()),
            nonces: Aes256::new(&nonces.into()),
        }
    }

    /// The nonce of the n-th ciphertext of a page.
    ///
    /// It is the page's nonce and the number, enciphered: a permutation of both, so that two repeat only by an accident of 96 bits, and
    /// a reader cannot tell which links came from one page.
    pub(crate) fn nonce(&self, page: &[u8; NONCE_BYTES], number: u32) -> [u8; NONCE_BYTES] {
        let mut block = [0; 16];
        block[..NONCE_BYTES].copy_from_slice(page);
        block[NONCE_BYTES..].copy_from_slice(&number.to_be_bytes());
        let mut block = block.into();
        self.nonces.encrypt_block(&mut block);
        first(&block)
    }

    /// Enciphers what was decrypted: the last thing that a decryption does which fails. Done with a genuine marker that is too old, it takes
    /// as long as a wrong one.
    pub(crate) fn hide(&self, body: &mut [u8], tag: &aes_gcm_siv::Tag) {
        CtrCore::<&Aes256, Ctr32LE>::inner_iv_init(&self.nonces, tag)
            .apply_keystream_partial(body.into());
        // Or the compiler leaves it out.
        std::hint::black_box(body);
    }
}

fn keyed(secret: &[u8; 32]) -> Hmac<Sha256> {
    <Hmac<Sha256> as Mac>::new_from_slice(secret).expect("HMAC takes keys of any length")
}

fn derived(secret: &[u8; 32], purpose: &str) -> [u8; 32] {
    let mac = keyed(secret).chain_update(purpose);
    mac.finalize().into_bytes().into()
}

/// The first bytes of a longer slice.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: u16, since_minutes: u32) -> Key {
        Key {
            id,
            secret: [id as u8; 32],
            since_minutes,
        }
    }

    #[test]
    fn the_newest_key_whose_time_has_come_seals() {
        let ring = Keyring::new(&[key(3, 300), key(1, 100), key(2, 200)], &[9; 32]).unwrap();
        let newest = |now| ring.newest(now).id;
        assert_eq!([50, 100, 250, 300, 9999].map(newest), [1, 1, 2, 3, 3]);
        assert_eq!(ring.by_id(2).id, 2);
    }

    #[test]
    fn a_ring_has_a_key_and_no_id_twice() {
        assert!(Keyring::new(&[], &[9; 32]).is_none());
        assert!(Keyring::new(&[key(1, 1), key(1, 2)], &[9; 32]).is_none());
    }

    #[test]
    fn no_debug_output_shows_a_secret() {
        let ring = Keyring::new(&[key(7, 1)], &[9; 32]).unwrap();
        assert_eq!(
            format!("{ring:?} {:?}", key(7, 1)),
            "[7] Key 7 since minute 1"
        );
    }

    #[test]
    fn names_depend_on_kind_and_secret_not_on_keys() {
        let one = Keyring::new(&[key(1, 1)], &[9; 32]).unwrap();
        let other = Keyring::new(&[key(2, 1)], &[9; 32]).unwrap();
        let foreign = Keyring::new(&[key(1, 1)], &[8; 32]).unwrap();
        assert_eq!(one.page_name(b"/a"), other.page_name(b"/a"));
        assert_ne!(one.page_name(b"/a"), one.user_name(b"/a"));
        assert_ne!(one.page_name(b"/a"), foreign.page_name(b"/a"));
    }

    /// Ciphertexts of two nodes with one key: so many restarts of each, a hundred pages after each, a hundred sealed links on a page. Gives how
    /// many share a nonce with another, where each page draws its own by `draw`.
    fn repeated(restarts: usize, mut draw: impl FnMut(&mut [u8; NONCE_BYTES], usize)) -> usize {
        let sealer = Sealer::new(&key(1, 1));
        let mut seen = Vec::with_capacity(2 * restarts * 100 * 100);
        for _ in 0..2 * restarts {
            for number in 0..100 {
                let mut page = [0; NONCE_BYTES];
                draw(&mut page, number);
                seen.extend((0..100).map(|link| sealer.nonce(&page, link)));
            }
        }
        seen.sort_unstable();
        let count = seen.len();
        seen.dedup();
        count - seen.len()
    }

    #[test]
    fn h112_no_nonce_of_twenty_million_repeats() {
        let mut random = std::io::BufReader::new(std::fs::File::open("/dev/urandom").unwrap());
        let draw = |page: &mut [u8; NONCE_BYTES], _: usize| {
            std::io::Read::read_exact(&mut random, page).unwrap();
        };
        assert_eq!(repeated(1000, draw), 0);
        // A counter that each process begins anew would repeat all of them.
        let count = |page: &mut [u8; NONCE_BYTES], number: usize| {
            page[..8].copy_from_slice(&number.to_be_bytes());
        };
        assert_eq!(repeated(5, count), 9 * 100 * 100);
    }
}
