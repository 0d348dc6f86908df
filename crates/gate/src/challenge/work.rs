//! The work itself: numbers whose hash begins with zeros.
//!
//! One challenge is sixteen small searches instead of one large one. The sum of sixteen varies by a quarter where a single
//! search varies by its whole length, so nobody waits long by bad luck, and the page can show honest progress.

use sha2::Digest;
use sha2::Sha256;

/// Searches of one challenge.
pub(super) const PARTS: usize = 16;
/// Bits of a challenge's difficulty that the number of searches stands for.
const PARTS_BITS: u8 = PARTS.ilog2() as u8;
/// What the first word of a hash can show; a solver compares no more.
pub(super) const BITS_MAX: u8 = PARTS_BITS + 28;

/// Whether every search found its number.
pub(super) fn is_done(id: u128, bits: u8, found: &[u32; PARTS]) -> bool {
    let mut parts = (0..).zip(found);
    parts.all(|(part, &number)| {
        zeros(id, part, number) >= u32::from(bits.saturating_sub(PARTS_BITS))
    })
}

/// Zero bits at the beginning of SHA-256 over the challenge's id, the search and the number, all of them big-endian.
fn zeros(id: u128, part: u32, number: u32) -> u32 {
    let mut message = [0; 24];
    message[..16].copy_from_slice(&id.to_be_bytes());
    message[16..20].copy_from_slice(&part.to_be_bytes());
    message[20..].copy_from_slice(&number.to_be_bytes());
    let hash: [u8; 32] = Sha256::digest(message).into();
    hash.first_chunk()
        .map_or(0, |first| u64::from_be_bytes(*first).leading_zeros())
}

/// Does the work, for tests and for a gate that a test keeps from judging answers cheaply.
#[cfg(any(test, debug_assertions))]
pub(super) fn solve(id: u128, bits: u8) -> [u32; PARTS] {
    std::array::from_fn(|part| {
        let is_found = |&number: &u32| {
            zeros(id, part as u32, number) >= u32::from(bits.saturating_sub(PARTS_BITS))
        };
        // Some number among four thousand million does, but by a chance that no test meets.
        (0..=u32::MAX).find(is_found).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h082_each_search_counts() {
        let found = solve(7, 12);
        assert!(is_done(7, 12, &found));
        assert!(!is_done(8, 12, &found));
        assert!(!is_done(7, 20, &found));
        for part in 0..PARTS {
            let mut short = found;
            short[part] = found[part].wrapping_sub(1);
            assert!(found[part] == 0 || !is_done(7, 12, &short), "part {part}");
        }
        assert!(!is_done(7, 12, &[0; PARTS]));
        assert!(
            !is_done(7, 12, &[found[0]; PARTS]),
            "one number does not do for all"
        );
    }
}
