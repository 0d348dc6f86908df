//! The clearance cookie: what a browser shows after it solved a challenge.
//!
//! Layout, numbers big-endian, then base64 for addresses without padding: version 1, key 1, id 8, issued 4 (seconds),
//! hours 2, pages 4, moves 1, lifts a denial 1, networks 3 times 4, signature 16. Agent, site and, where the owner wants it, network are part of what is
//! signed and not of the cookie, so every wrong cookie fails in the same place, in the same way and time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cattlegrid_core::policy;
use cattlegrid_core::policy::Place;
use cattlegrid_core::request::Source;
use sha2::Digest;
use sha2::Sha256;

use super::defence::Defence;
use super::defence::Guards;
use super::keys::Keys;
use super::keys::MAC_BYTES;
use super::keys::Purpose;

const VERSION: u8 = 3;
const HEAD_BYTES: usize = 34;
const COOKIE_BYTES: usize = HEAD_BYTES + MAC_BYTES;
/// Clocks of two nodes, and one that was set, differ by no more than this.
const SKEW_SECONDS: u64 = 120;
/// Networks that a clearance is at home in: a house, a telephone and an office; or one of them by IPv4 and IPv6.
const HOMES: usize = 3;

/// A valid clearance. Its budget is counted by `id`, so a cookie that many share is used up by all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clearance {
    /// Random number of this clearance.
    pub id: u64,
    /// Pages it is good for.
    pub pages: u32,
    /// How often it was confirmed in another network.
    pub moves: u8,
    /// It was earned by a harder challenge, behind a learned denial, and passes in spite of it.
    pub lifts_denial: bool,
    /// When it was given, and for how long.
    issued: u32,
    hours: u16,
    /// Networks that it was earned or confirmed in, by hash; the last one first, 0 for none.
    homes: [u32; HOMES],
}

impl Clearance {
    /// A new one for a source.
    pub(super) fn new(id: u64, unix: u64, hours: u16, pages: u32, source: Source) -> Clearance {
        Clearance {
            id,
            pages,
            moves: 0,
            lifts_denial: false,
            // Good until 2106; a clock beyond it gives cookies that are never valid rather than ones that never end.
            issued: u32::try_from(unix).unwrap_or(u32::MAX),
            hours,
            homes: [home(source), 0, 0],
        }
    }

    /// The same clearance, and it passes in spite of a learned denial.
    pub(super) fn lifting(self) -> Clearance {
        Clearance {
            lifts_denial: true,
            ..self
        }
    }

    /// The same clearance, confirmed in the network of a source: budget and end stay. A denial is lifted where that was paid for.
    pub(super) fn moved_to(self, source: Source) -> Clearance {
        let [first, second, _] = self.homes;
        Clearance {
            moves: self.moves.saturating_add(1),
            lifts_denial: false,
            homes: [home(source), first, second],
            ..self
        }
    }

    /// Seconds since 1970 at which it ends.
    pub fn until(&self) -> u64 {
        u64::from(self.issued) + 3600 * u64::from(self.hours)
    }

    /// The clearance as the policy needs it, where it is used by this source.
    pub fn used_by(&self, source: Source) -> policy::Clearance {
        let is_home = self.homes.contains(&home(source));
        policy::Clearance {
            id: self.id,
            pages: self.pages,
            place: match is_home {
                true => Place::Home,
                false => Place::Away { moves: self.moves },
            },
            lifts_denial: self.lifts_denial,
        }
    }

    /// The text of a cookie.
    pub(super) fn seal(&self, key: u8, binding: &[u8; 32], keys: &Keys) -> String {
        let mut bytes = [0; COOKIE_BYTES];
        let (head, signature) = bytes.split_at_mut(HEAD_BYTES);
        head[0] = VERSION;
        head[1] = key;
        head[2..10].copy_from_slice(&self.id.to_be_bytes());
        head[10..14].copy_from_slice(&self.issued.to_be_bytes());
        head[14..16].copy_from_slice(&self.hours.to_be_bytes());
        head[16..20].copy_from_slice(&self.pages.to_be_bytes());
        head[20] = self.moves;
        head[21] = u8::from(self.lifts_denial);
        for (home, place) in self.homes.iter().zip(head[22..].chunks_exact_mut(4)) {
            place.copy_from_slice(&home.to_be_bytes());
        }
        signature.copy_from_slice(&keys.sign(key, Purpose::Clearance, [head, binding]));
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
        let mut bytes = [0; COOKIE_BYTES + 2];
        // What is no cookie of ours is compared with a signature all the same, so that all failures take equally long.
        let is_written = text.len() == (COOKIE_BYTES * 4).div_ceil(3)
            && URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).is_ok();
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let signature = rest.first_chunk::<MAC_BYTES>()?;
        let is_genuine = keys.is_genuine(head[1], Purpose::Clearance, [head, binding], signature)
            && head[0] == VERSION;
        if !is_written || !is_genuine && guards.has(Defence::Clearance) {
            return None;
        }
        let clearance = Clearance::read(head)?;
        let issued = u64::from(clearance.issued);
        let is_current = unix < clearance.until() && issued <= unix.saturating_add(SKEW_SECONDS);
        (is_current || !guards.has(Defence::ClearanceExpiry)).then_some(clearance)
    }

    fn read(head: &[u8; HEAD_BYTES]) -> Option<Clearance> {
        let (&id, rest) = head[2..].split_first_chunk()?;
        let (&issued, rest) = rest.split_first_chunk()?;
        let (&hours, rest) = rest.split_first_chunk()?;
        let (&pages, rest) = rest.split_first_chunk()?;
        let (&[moves, lifts_denial], rest) = rest.split_first_chunk()?;
        let mut homes = [0; HOMES];
        for (home, bytes) in homes.iter_mut().zip(rest.chunks_exact(4)) {
            *home = u32::from_be_bytes(*bytes.first_chunk()?);
        }
        Some(Clearance {
            id: u64::from_be_bytes(id),
            pages: u32::from_be_bytes(pages),
            moves,
            lifts_denial: lifts_denial == 1,
            issued: u32::from_be_bytes(issued),
            hours: u16::from_be_bytes(hours),
            homes,
        })
    }
}

/// A hash of the /24 or /48 network of a source, never 0. A source without a network is its own.
pub(super) fn home(source: Source) -> u32 {
    let network = source.network().unwrap_or(source);
    let mut hash = Sha256::new();
    hash.update([network.kind as u8]);
    hash.update(network.value.to_be_bytes());
    let hash: [u8; 32] = hash.finalize().into();
    hash.first_chunk()
        .map_or(1, |first| u32::from_be_bytes(*first).max(1))
}
