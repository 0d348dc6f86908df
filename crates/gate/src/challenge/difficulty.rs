//! How much work a visitor is asked for.

/// 2^15 hashes: a tenth of a second on a phone of 2020, for people who meet their first challenge.
const BITS_BASE: u32 = 15;
/// 2^22 hashes: a few seconds on that phone. More would lock slow phones out and hardly cost a crawler anything.
const BITS_MAX: u32 = 22;
/// Failed answers beyond these add nothing: a person with a broken browser must still get through.
const FAILURES_MAX: u32 = 4;

/// Bits of work for a source with so many pages in 24 hours and so many answers that failed.
///
/// Each doubling beyond `k1` doubles the work, a source above `k2` does twice as much again, and so does every failure.
pub fn difficulty(pages: u64, k1: u64, k2: u64, failures: u32) -> u8 {
    let doublings = (pages / k1.max(1)).checked_ilog2().unwrap_or(0);
    let above = u32::from(pages > k2);
    let bits = BITS_BASE + doublings + above + failures.min(FAILURES_MAX);
    bits.min(BITS_MAX) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_rises_with_suspicion_and_has_a_ceiling() {
        assert_eq!(difficulty(0, 20, 1000, 0), 15);
        assert_eq!(difficulty(21, 20, 1000, 0), 15);
        assert_eq!(difficulty(40, 20, 1000, 0), 16);
        assert_eq!(difficulty(1000, 20, 1000, 0), 20);
        assert_eq!(difficulty(1001, 20, 1000, 0), 21);
        assert_eq!(difficulty(40, 20, 1000, 2), 18);
        assert_eq!(difficulty(0, 0, 0, u32::MAX), 19);
        assert_eq!(difficulty(u64::MAX, 0, 0, u32::MAX), 22);
    }
}
