//! Sealing markers and opening them (AES-256-GCM-SIV, RFC 8452).
//!
//! A marker is base64url text: key id (2 bytes, clear), nonce (12), sealed facts (21), tag (16). In the sealed style the target is
//! sealed behind the facts. The site's host is authenticated as well, so that a marker of one site opens on no other.
//!
//! Invariant: a marker that does not open has one kind of failure, and each takes one decryption: an unknown key, a foreign host, a
//! wrong bit, an age above the limit (whose text is enciphered again, as a failed decryption does).

use std::sync::Arc;

use aes_gcm_siv::AeadInPlace;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::keys::Keyring;
use crate::keys::NONCE_BYTES;
use crate::keys::Sealer;

/// Characters of a marker in the query and path styles.
pub const MARKER_CHARS: usize = 68;
/// Longer targets are not sealed: with base64 the request line would come near the 8 KiB that many servers allow.
pub const SEALED_TARGET_MAX: usize = 4096;

const ID_BYTES: usize = 2;
const HEAD_BYTES: usize = ID_BYTES + NONCE_BYTES;
const FACTS_BYTES: usize = 21;
const TAG_BYTES: usize = 16;
const MARKER_BYTES: usize = HEAD_BYTES + FACTS_BYTES + TAG_BYTES;
/// Sealed targets are padded to a multiple of this, so that the length of a link says little about where it leads.
const PAD_BYTES: usize = 32;
const LENGTH_BYTES: usize = 2;
/// The first byte of the facts: format 1, without and with a sealed target.
const SHARED: u8 = 0x11;
const SEALED: u8 = 0x12;

/// The host that markers are bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Authenticated with each marker.
    bound: Vec<u8>,
}

impl Site {
    /// The site of a `Host` header: in lower case, without port.
    pub fn new(host: &str) -> Site {
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let name = match host.rsplit_once(':') {
            Some((name, port)) if is_port(port) => name,
            _ => host,
        };
        let mut bound = b"cattlegrid marker 1\0".to_vec();
        bound.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
        Site { bound }
    }
}

/// What a marker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The page that the link stood on ([`Keyring::page_name`]).
    pub parent: u64,
    /// The person who was shown the link ([`Keyring::user_name`]).
    pub user: u64,
    /// When, in minutes since 1970.
    pub minted_minutes: u32,
}

impl Facts {
    fn bytes(&self, kind: u8) -> [u8; FACTS_BYTES] {
        let mut bytes = [kind; FACTS_BYTES];
        bytes[1..9].copy_from_slice(&self.parent.to_be_bytes());
        bytes[9..17].copy_from_slice(&self.user.to_be_bytes());
        bytes[17..].copy_from_slice(&self.minted_minutes.to_be_bytes());
        bytes
    }

    /// The kind and the facts.
    fn read(bytes: &[u8]) -> Option<(u8, Facts)> {
        let (kind, rest) = bytes.split_first()?;
        let (parent, rest) = rest.split_first_chunk()?;
        let (user, rest) = rest.split_first_chunk()?;
        let (minutes, _) = rest.split_first_chunk()?;
        let facts = Facts {
            parent: u64::from_be_bytes(*parent),
            user: u64::from_be_bytes(*user),
            minted_minutes: u32::from_be_bytes(*minutes),
        };
        Some((*kind, facts))
    }
}

/// The markers of one page: one text for all its links, or one for each sealed target.
pub struct PageMarker {
    sealer: Arc<Sealer>,
    site: Site,
    facts: Facts,
    nonce: [u8; NONCE_BYTES],
    /// Ciphertexts made so far.
    count: u32,
    shared: String,
}

impl PageMarker {
    /// The markers of a page. `nonce` is drawn at random for each page.
    pub fn new(ring: &Keyring, site: &Site, facts: Facts, nonce: [u8; NONCE_BYTES]) -> PageMarker {
        let mut page = PageMarker {
            sealer: Arc::clone(ring.newest(facts.minted_minutes)),
            site: site.clone(),
            facts,
            nonce,
            count: 0,
            shared: String::new(),
        };
        page.shared = page.encrypt(facts.bytes(SHARED).to_vec());
        page
    }

    /// The marker of all links of the page, in the query and path styles.
    pub fn shared(&self) -> &str {
        &self.shared
    }

    /// A marker that holds a target; `None` for one that is too long. No two calls give the same text.
    pub fn seal(&mut self, target: &[u8]) -> Option<String> {
        let length = u16::try_from(target.len()).ok()?;
        if target.len() > SEALED_TARGET_MAX || self.count == u32::MAX {
            return None;
        }
        let padded = (LENGTH_BYTES + target.len()).next_multiple_of(PAD_BYTES);
        let mut plain = Vec::with_capacity(MARKER_BYTES + padded);
        plain.extend(self.facts.bytes(SEALED));
        plain.extend(length.to_be_bytes());
        plain.extend(target);
        plain.resize(FACTS_BYTES + padded, 0);
        Some(self.encrypt(plain))
    }

    fn encrypt(&mut self, mut plain: Vec<u8>) -> String {
        let nonce = self.sealer.nonce(&self.nonce, self.count);
        self.count += 1;
        let bound = &self.site.bound;
        let tag = self
            .sealer
            .cipher
            .encrypt_in_place_detached(&nonce.into(), bound, &mut plain)
            .expect("a few kilobytes are below the 64 GiB of RFC 8452");
        let id = self.sealer.id.to_be_bytes();
        URL_SAFE_NO_PAD.encode([&id[..], &nonce[..], &plain[..], &tag[..]].concat())
    }
}

/// The ages in minutes up to which markers open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ages {
    /// In the query and path styles, where an old link works without its marker.
    pub shared_minutes: u32,
    /// In the sealed style, where a link that does not open leads nowhere.
    pub sealed_minutes: u32,
}

impl Default for Ages {
    /// A week, and a year.
    fn default() -> Ages {
        Ages {
            shared_minutes: 7 * 24 * 60,
            sealed_minutes: 366 * 24 * 60,
        }
    }
}

/// A genuine marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// What it says.
    pub facts: Facts,
    /// The target, in the sealed style.
    pub target: Option<Vec<u8>>,
}

/// Whether a text has the exact format of a marker in the query and path styles.
pub fn is_marker(text: &[u8]) -> bool {
    text.len() == MARKER_CHARS && text.iter().all(is_base64url)
}

/// Whether a text has the exact format of a marker with a sealed target.
pub fn is_sealed(text: &[u8]) -> bool {
    let bytes = text.len() / 4 * 3 + (text.len() % 4).saturating_sub(1);
    let padded = bytes.saturating_sub(MARKER_BYTES);
    let most = (LENGTH_BYTES + SEALED_TARGET_MAX).next_multiple_of(PAD_BYTES);
    let is_length = padded > 0 && padded.is_multiple_of(PAD_BYTES) && padded <= most;
    // The last character may hold bits that belong to no byte; a marker has zeros there.
    let spare = match text.len() % 4 {
        0 => 0,
        2 => 0b1111,
        3 => 0b11,
        _ => return false,
    };
    let last = text.last().map_or(0, |last| value(*last));
    is_length && last & spare == 0 && text.iter().all(is_base64url)
}

fn is_base64url(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn value(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        _ => 63,
    }
}

impl Keyring {
    /// Opens a marker of this site; `None` for whatever is not a genuine one.
    pub fn open(&self, text: &[u8], site: &Site, now_minutes: u32, ages: &Ages) -> Option<Opened> {
        // What is not in the format is decrypted as well, as zeros, so that it takes as long.
        let decoded = URL_SAFE_NO_PAD.decode(text).ok();
        let decoded = decoded.filter(|_| is_marker(text) || is_sealed(text));
        let mut bytes = decoded.unwrap_or_else(|| vec![0; MARKER_BYTES]);
        let (head, rest) = bytes.split_at_mut(HEAD_BYTES);
        let (body, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let (id, nonce) = head.split_first_chunk()?;
        let sealer = self.by_id(u16::from_be_bytes(*id));
        #[cfg(test)]
        tests::DECRYPTIONS.with(|count| count.set(count.get() + 1));
        let nonce = aes_gcm_siv::Nonce::from_slice(nonce);
        let tag = aes_gcm_siv::Tag::from_slice(tag);
        sealer
            .cipher
            .decrypt_in_place_detached(nonce, &site.bound, body, tag)
            .ok()?;
        let opened = Opened::read(body, now_minutes, ages);
        if opened.is_none() {
            sealer.hide(body, tag);
        }
        opened
    }
}

impl Opened {
    /// What decrypted bytes say; `None` where they are too old.
    fn read(body: &[u8], now_minutes: u32, ages: &Ages) -> Option<Opened> {
        let (kind, facts) = Facts::read(body)?;
        let age_max = match kind {
            SHARED if body.len() == FACTS_BYTES => ages.shared_minutes,
            SEALED => ages.sealed_minutes,
            _ => return None,
        };
        if now_minutes.saturating_sub(facts.minted_minutes) > age_max {
            return None;
        }
        let target = match kind {
            SEALED => Some(target_in(&body[FACTS_BYTES..])?),
            _ => None,
        };
        Some(Opened { facts, target })
    }
}

fn target_in(padded: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = padded.split_first_chunk()?;
    let target = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
    Some(target.to_vec())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::keys::Key;
    use crate::timing::DIFFERENT_FROM;
    use crate::timing::difference;

    thread_local! {
        /// Decryptions of this thread: failures must not differ in their number.
        pub(super) static DECRYPTIONS: Cell<u32> = const { Cell::new(0) };
    }

    const NOW: u32 = 29_000_000;
    const FACTS: Facts = Facts {
        parent: 0x0102_0304_0506_0708,
        user: 0x1112_1314_1516_1718,
        minted_minutes: NOW,
    };

    fn ring(ids: &[u16]) -> Keyring {
        let key = |id: &u16| Key {
            id: *id,
            secret: [*id as u8; 32],
            since_minutes: u32::from(*id),
        };
        Keyring::new(&ids.iter().map(key).collect::<Vec<_>>(), &[5; 32]).unwrap()
    }

    fn page(ring: &Keyring, nonce: u8) -> PageMarker {
        PageMarker::new(ring, &Site::new("example.org"), FACTS, [nonce; 12])
    }

    fn open(ring: &Keyring, text: &[u8]) -> Option<Opened> {
        ring.open(text, &Site::new("example.org"), NOW, &Ages::default())
    }

    #[test]
    fn what_was_sealed_opens() {
        let ring = ring(&[1, 2]);
        let mut page = page(&ring, 1);
        let shared = open(&ring, page.shared().as_bytes()).unwrap();
        assert_eq!((shared.facts, shared.target), (FACTS, None));
        for length in [1, 29, 30, 31, 62, 63, 4096] {
            let target = vec![b'/'; length];
            let text = page.seal(&target).unwrap();
            assert!(is_sealed(text.as_bytes()) && !is_marker(text.as_bytes()));
            let opened = open(&ring, text.as_bytes()).unwrap();
            assert_eq!((opened.facts, opened.target), (FACTS, Some(target)));
        }
        assert_eq!(page.seal(&[b'/'; 4097]), None);
    }

    #[test]
    fn h111_nothing_but_the_exact_text_opens() {
        let ring = ring(&[1, 2]);
        let mut first = page(&ring, 1);
        let mut second = page(&ring, 2);
        let texts = [
            (first.shared().to_owned(), second.shared().to_owned()),
            (first.seal(b"/a").unwrap(), second.seal(b"/b").unwrap()),
            (
                first.seal(&[b'/'; 40]).unwrap(),
                second.seal(&[b'/'; 41]).unwrap(),
            ),
        ];
        let mut wrong: Vec<Vec<u8>> = Vec::new();
        for (text, other) in &texts {
            let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                wrong.push(URL_SAFE_NO_PAD.encode(bytes).into_bytes());
            }
            for cut in 0..text.len() {
                wrong.push(text.as_bytes()[..cut].to_vec());
                wrong.push(text.as_bytes()[cut + 1..].to_vec());
                let mut splice = text.as_bytes()[..cut].to_vec();
                splice.extend(&other.as_bytes()[cut..]);
                wrong.push(splice);
            }
            for tail in ["=", "==", "A", "AA", "AAAA", "%3D", " ", "\0"] {
                wrong.push(format!("{text}{tail}").into_bytes());
            }
            wrong.push(text.replace('-', "+").replace('_', "/").into_bytes());
            // Other characters with the same bytes: bits behind the last byte.
            for byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
                let mut other = text.clone().into_bytes();
                *other.last_mut().unwrap() = *byte;
                wrong.push(other);
            }
        }
        let genuine = |text: &[u8]| {
            let same =
                |(one, two): &(String, String)| [one.as_bytes(), two.as_bytes()].contains(&text);
            texts.iter().any(same)
        };
        wrong.retain(|text| !genuine(text));
        assert!(wrong.len() > 3000);
        for text in wrong {
            DECRYPTIONS.set(0);
            assert_eq!(open(&ring, &text), None, "{}", text.escape_ascii());
            assert_eq!(DECRYPTIONS.get(), 1, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn h111_markers_that_fail_take_equally_long() {
        let ring = ring(&[1, 2]);
        let sites = ["example.org", "example.net"].map(Site::new);
        let mut page = page(&ring, 1);
        let shared = page.shared().to_owned();
        let sealed = page.seal(b"/a").unwrap();
        let failures = |inputs: &[(String, usize, u32); 2]| {
            difference(inputs, |(text, site, now)| {
                let opened = ring.open(text.as_bytes(), &sites[*site], *now, &Ages::default());
                assert!(std::hint::black_box(opened).is_none());
            })
        };
        for text in [shared, sealed] {
            let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            let changed = |at: usize| {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                URL_SAFE_NO_PAD.encode(changed)
            };
            let wrong = (changed(bytes.len() - 1), 0, NOW);
            let long_ago = NOW + 2 * Ages::default().sealed_minutes;
            let kinds = [
                ("another byte of the tag", changed(bytes.len() - 16), 0, NOW),
                ("another nonce", changed(ID_BYTES), 0, NOW),
                ("another byte of the facts", changed(HEAD_BYTES), 0, NOW),
                ("an unknown key", changed(0), 0, NOW),
                ("another key", changed(1), 0, NOW),
                ("another site", text.clone(), 1, NOW),
                ("too old", text.clone(), 0, long_ago),
            ];
            for (kind, other, site, now) in kinds {
                let found = failures(&[wrong.clone(), (other, site, now)]);
                eprintln!("t of a wrong bit and {kind}: {found:.1}");
                assert!(found < DIFFERENT_FROM, "{kind}: t = {found}");
            }
        }
    }

    /// Bits behind the last byte make a text the site's own, not a broken marker.
    #[test]
    fn h117_other_spellings_of_a_sealed_marker_are_none() {
        let ring = ring(&[1]);
        let text = page(&ring, 1).seal(b"/a").unwrap();
        let (start, last) = text.split_at(text.len() - 1);
        let next = char::from(last.as_bytes()[0] + 1);
        let other = format!("{start}{next}");
        assert!(is_sealed(text.as_bytes()));
        assert!(!is_sealed(other.as_bytes()), "{other}");
    }

    #[test]
    fn h112_no_two_ciphertexts_of_a_page_share_a_nonce() {
        let ring = ring(&[1]);
        let mut page = page(&ring, 1);
        let mut texts = vec![page.shared().to_owned()];
        texts.extend((0..1000).map(|_| page.seal(b"/same").unwrap()));
        let nonce =
            |text: &String| URL_SAFE_NO_PAD.decode(text).unwrap()[ID_BYTES..HEAD_BYTES].to_vec();
        let mut nonces: Vec<Vec<u8>> = texts.iter().map(nonce).collect();
        nonces.sort_unstable();
        nonces.dedup();
        assert_eq!(nonces.len(), 1001);
    }

    #[test]
    fn every_failure_takes_one_decryption() {
        let ring = ring(&[1, 2]);
        let text = page(&ring, 1).shared().to_owned();
        let foreign = page(&self::ring(&[3]), 1).shared().to_owned();
        let ages = Ages::default();
        let site = Site::new("example.org");
        let other_site = Site::new("example.com");
        let late = NOW + ages.shared_minutes + 1;
        let cases: [(&str, &Site, u32); 5] = [
            (&text, &other_site, NOW),
            (&text, &site, late),
            (&foreign, &site, NOW),
            ("", &site, NOW),
            ("no marker", &site, NOW),
        ];
        for (text, site, now) in cases {
            DECRYPTIONS.set(0);
            assert_eq!(ring.open(text.as_bytes(), site, now, &ages), None);
            assert_eq!(DECRYPTIONS.get(), 1);
        }
    }

    #[test]
    fn h118_old_keys_open_and_sealed_links_last_a_year() {
        let old = ring(&[1]);
        let mut page = page(&old, 1);
        let (shared, sealed) = (page.shared().to_owned(), page.seal(b"/x").unwrap());
        let rotated = ring(&[1, 2, 3]);
        let at = |text: &str, days: u32| {
            let now = NOW + days * 24 * 60;
            let site = Site::new("EXAMPLE.org:8443");
            rotated.open(text.as_bytes(), &site, now, &Ages::default())
        };
        assert!(at(&shared, 7).is_some() && at(&shared, 8).is_none());
        assert!(at(&sealed, 366).is_some() && at(&sealed, 367).is_none());
        assert!(open(&ring(&[2, 3]), sealed.as_bytes()).is_none());
    }

    /// A clock that was set back makes no marker invalid.
    #[test]
    fn a_marker_from_the_future_opens() {
        let ring = ring(&[1]);
        let text = page(&ring, 1).shared().to_owned();
        let opened = ring.open(
            text.as_bytes(),
            &Site::new("example.org"),
            5,
            &Ages::default(),
        );
        assert!(opened.is_some());
    }

    #[test]
    fn h113_a_site_is_its_host_without_case_and_port() {
        let same = ["Example.ORG", "example.org:80", "example.org:"];
        for host in same {
            assert_eq!(Site::new(host), Site::new("example.org"), "{host}");
        }
        assert_eq!(Site::new("[2001:DB8::1]:80"), Site::new("[2001:db8::1]"));
        for host in ["www.example.org", "example.org.", "example.or", ""] {
            assert_ne!(Site::new(host), Site::new("example.org"), "{host}");
        }
    }

    #[test]
    fn h119_all_markers_have_one_length_and_share_nothing_but_the_key_id() {
        let ring = ring(&[1]);
        let site = Site::new("example.org");
        let mut texts = Vec::new();
        for user in [&b"a"[..], &[b'x'; 300]] {
            for nonce in 0..50 {
                let facts = Facts {
                    user: ring.user_name(user),
                    ..FACTS
                };
                texts.push(
                    URL_SAFE_NO_PAD
                        .decode(PageMarker::new(&ring, &site, facts, [nonce; 12]).shared())
                        .unwrap(),
                );
            }
        }
        assert!(texts.iter().all(|text| text.len() == MARKER_BYTES));
        // Each position behind the key id varies: no byte of a person or a page stands still.
        for at in ID_BYTES..MARKER_BYTES {
            let mut values: Vec<u8> = texts[..50].iter().map(|text| text[at]).collect();
            values.sort_unstable();
            values.dedup();
            assert!(values.len() > 30, "byte {at}");
        }
    }

    #[test]
    fn sealed_lengths_tell_little() {
        let ring = ring(&[1]);
        let mut page = page(&ring, 1);
        let mut length = |target: usize| page.seal(&vec![b'/'; target]).unwrap().len();
        assert_eq!(length(1), length(30));
        assert_eq!(length(31), length(62));
        assert!(length(30) < length(31));
    }
}
