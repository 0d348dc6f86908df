//! The clearance cookie: what a browser shows after it solved a challenge.
//!
//! Layout, numbers big-endian, then base64 for addresses without padding: version 1, key 1, id 8, issued 4 (seconds),
//! hours 2, signature 16. Agent, site and, where the owner wants it, network are part of what is signed and not of the
//! cookie, so every wrong cookie fails in the same place, in the same way and time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::defence::Defence;
use super::defence::Guards;
use super::keys::Keys;
use super::keys::MAC_BYTES;
use super::keys::Purpose;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 16;
const COOKIE_BYTES: usize = HEAD_BYTES + MAC_BYTES;
/// Clocks of two nodes, and one that was set, differ by no more than this.
const SKEW_SECONDS: u64 = 120;

/// A valid clearance. Its budget is counted by `id`, so a cookie that many share is used up by all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clearance {
    /// Random number of this clearance.
    pub id: u64,
    /// Seconds since 1970 at which it ends.
    pub until: u64,
}

/// The text of a new cookie.
pub(super) fn seal(id: u64, unix: u64, hours: u16, binding: &[u8; 32], keys: &Keys) -> String {
    let mut bytes = [0; COOKIE_BYTES];
    let (head, signature) = bytes.split_at_mut(HEAD_BYTES);
    head[0] = VERSION;
    head[1] = keys.signing(unix);
    head[2..10].copy_from_slice(&id.to_be_bytes());
    // Good until 2106; a clock beyond it gives cookies that are never valid rather than ones that never end.
    let issued = u32::try_from(unix).unwrap_or(u32::MAX);
    head[10..14].copy_from_slice(&issued.to_be_bytes());
    head[14..].copy_from_slice(&hours.to_be_bytes());
    signature.copy_from_slice(&keys.sign(head[1], Purpose::Clearance, [head, binding]));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The clearance behind a cookie's text.
pub(super) fn open(
    text: &[u8],
    unix: u64,
    binding: &[u8; 32],
    keys: &Keys,
    guards: Guards,
) -> Option<Clearance> {
    let mut bytes = [0; COOKIE_BYTES + 1];
    if text.len() != (COOKIE_BYTES * 4).div_ceil(3) {
        return None;
    }
    URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
    let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let signature = rest.first_chunk::<MAC_BYTES>()?;
    let is_genuine = head[0] == VERSION
        && keys.is_genuine(head[1], Purpose::Clearance, [head, binding], signature);
    if !is_genuine && guards.has(Defence::Clearance) {
        return None;
    }
    let (id, rest) = head[2..].split_first_chunk()?;
    let (issued, hours) = rest.split_first_chunk()?;
    let issued = u64::from(u32::from_be_bytes(*issued));
    let until = issued + 3600 * u64::from(u16::from_be_bytes(*hours.first_chunk()?));
    let is_current = unix < until && issued <= unix.saturating_add(SKEW_SECONDS);
    (is_current || !guards.has(Defence::ClearanceExpiry)).then_some(Clearance {
        id: u64::from_be_bytes(*id),
        until,
    })
}
