//! The token of a challenge: everything the gate must know again when the answer comes, signed.
//!
//! Layout, all numbers big-endian, then base64 for addresses without padding:
//! version 1, key 1, bits 1, pages in spite of a denial 4, network of these 4, start 8, id 16, minted 8, lifetime 4, asker 16, visitor 16,
//! clearance 8, suspect 8, return page 0 to 2048, signature 16.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::answer::Refusal;
use super::defence::Defence;
use super::defence::Guards;
use super::keys::Keys;
use super::keys::MAC_BYTES;
use super::keys::Purpose;
use super::return_to::RETURN_BYTES_MAX;

const VERSION: u8 = 4;
const HEAD_BYTES: usize = 95;
const TOKEN_BYTES_MAX: usize = HEAD_BYTES + RETURN_BYTES_MAX + MAC_BYTES;
/// The longest text of a token.
pub(super) const TEXT_BYTES_MAX: usize = TOKEN_BYTES_MAX.div_ceil(3) * 4;

/// A challenge as it was minted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) bits: u8,
    /// Pages of the clearance that it earns, where that passes in spite of a learned denial; else 0.
    pub(super) lifted_pages: u32,
    /// The denied network, by its hash: who answers from elsewhere would not pay what is due there.
    pub(super) home: u32,
    /// The process that minted it.
    pub(super) start: u64,
    pub(super) id: u128,
    pub(super) minted_ms: u64,
    pub(super) lifetime_ms: u32,
    /// Hash of the asker's cookie: the page must not learn the cookie's value.
    pub(super) asker: [u8; 16],
    /// Hash of agent and site.
    pub(super) visitor: [u8; 16],
    /// The clearance that it confirms in another network; 0 where a new one is earned.
    pub(super) clearance: u64,
    /// The signed-in person whom an answer makes a normal user again; 0 where it earns a clearance.
    pub(super) suspect: u64,
    pub(super) return_to: String,
}

impl Token {
    /// The moment from which it is void.
    pub(super) fn expires_ms(&self) -> u64 {
        self.minted_ms.saturating_add(u64::from(self.lifetime_ms))
    }

    /// The moment from which an answer to its question counts, where that waits for so many seconds.
    pub(super) fn due_ms(&self, wait_seconds: u32) -> u64 {
        // Half of its life is left for the answer, where that is short; and browsers' clocks run a little fast or slow.
        let wait_ms = (1000 * u64::from(wait_seconds)).min(u64::from(self.lifetime_ms) / 2);
        self.minted_ms.saturating_add(wait_ms * 95 / 100)
    }

    /// The token's text, signed with the key of this number.
    pub(super) fn seal(&self, keys: &Keys, key: u8) -> String {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.return_to.len() + MAC_BYTES);
        bytes.extend([VERSION, key, self.bits]);
        bytes.extend(self.lifted_pages.to_be_bytes());
        bytes.extend(self.home.to_be_bytes());
        bytes.extend(self.start.to_be_bytes());
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(self.minted_ms.to_be_bytes());
        bytes.extend(self.lifetime_ms.to_be_bytes());
        bytes.extend(self.asker);
        bytes.extend(self.visitor);
        bytes.extend(self.clearance.to_be_bytes());
        bytes.extend(self.suspect.to_be_bytes());
        bytes.extend(self.return_to.as_bytes());
        let signature = keys.sign(key, Purpose::Challenge, [&bytes, b""]);
        bytes.extend(signature);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The token behind a text. Nothing in it is looked at before its signature is found right.
    pub(super) fn open(text: &[u8], keys: &Keys, guards: Guards) -> Result<Token, Refusal> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Refusal::Malformed);
        }
        let mut room = [0; TOKEN_BYTES_MAX + 3];
        let length = URL_SAFE_NO_PAD
            .decode_slice(text, &mut room)
            .map_err(|_| Refusal::Malformed)?;
        let (signed, signature) = room[..length]
            .split_last_chunk::<MAC_BYTES>()
            .ok_or(Refusal::Malformed)?;
        let (head, page) = signed
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(Refusal::Malformed)?;
        let is_genuine = head[0] == VERSION
            && keys.is_genuine(head[1], Purpose::Challenge, [signed, b""], signature);
        if !is_genuine && guards.has(Defence::Signature) {
            return Err(Refusal::Forged);
        }
        Token::read(head, page).ok_or(Refusal::Malformed)
    }

    fn read(head: &[u8; HEAD_BYTES], page: &[u8]) -> Option<Token> {
        let (_, rest) = head.split_first_chunk::<2>()?;
        let (&[bits], rest) = rest.split_first_chunk()?;
        let (&lifted_pages, rest) = rest.split_first_chunk()?;
        let (&home, rest) = rest.split_first_chunk()?;
        let (&start, rest) = rest.split_first_chunk()?;
        let (&id, rest) = rest.split_first_chunk()?;
        let (&minted, rest) = rest.split_first_chunk()?;
        let (&lifetime, rest) = rest.split_first_chunk()?;
        let (&asker, rest) = rest.split_first_chunk()?;
        let (&visitor, rest) = rest.split_first_chunk()?;
        let (&clearance, rest) = rest.split_first_chunk()?;
        let &suspect = rest.first_chunk()?;
        Some(Token {
            bits,
            lifted_pages: u32::from_be_bytes(lifted_pages),
            home: u32::from_be_bytes(home),
            start: u64::from_be_bytes(start),
            id: u128::from_be_bytes(id),
            minted_ms: u64::from_be_bytes(minted),
            lifetime_ms: u32::from_be_bytes(lifetime),
            asker,
            visitor,
            clearance: u64::from_be_bytes(clearance),
            suspect: u64::from_be_bytes(suspect),
            return_to: str::from_utf8(page).ok()?.to_owned(),
        })
    }
}
