//! How much work a visitor is asked for.

use cattlegrid_core::policy::Solutions;

/// 2^15 walks: 68 ms of one core of a server, 0.7 s in Chromium on one thread with the processor throttled six times.
const BITS_BASE: u32 = 15;
/// 2^20 walks: a few seconds, on several cores, of a slow phone. More would lock such phones out.
const BITS_MAX: u32 = 20;
/// Failed answers beyond these add nothing: a person with a broken browser must still get through.
const FAILURES_MAX: u32 = 4;
/// Bits that solutions of others in the same network add at most: they may be many people.
const NETWORK_BITS_MAX: u32 = 3;
/// Bits for who has followed traps: four times the work.
const TRAP_BITS: u32 = 2;
/// Bits that changes of networks add at most.
const MOVES_BITS_MAX: u32 = 4;

/// What speaks against a visitor, in the last day.
#[derive(Debug, Clone, Copy, Default)]
pub struct Suspicion {
    /// Pages of the source.
    pub pages: u32,
    /// Answers of the source that failed.
    pub failures: u32,
    /// Challenges that were solved around it.
    pub solutions: Solutions,
    /// It has followed traps.
    pub has_followed_traps: bool,
}

/// Bits of work for a visitor, with the limits of the site.
///
/// Each doubling of pages beyond `k1` doubles the work, a source above `k2` does twice as much again, and so does every failure. Each
/// doubling of the challenges that the source has solved doubles it, too, so that nobody hoards clearances cheaply. Who has followed traps
/// does four times as much.
pub fn difficulty(suspicion: &Suspicion, k1: u32, k2: u32) -> u8 {
    let Suspicion {
        pages,
        failures,
        solutions,
        has_followed_traps,
    } = *suspicion;
    let doublings = (pages / k1.max(1)).checked_ilog2().unwrap_or(0);
    let above = u32::from(pages > k2);
    let of_source = solutions.of_source.saturating_add(1).ilog2();
    let of_network = solutions.of_network.saturating_add(1).ilog2();
    let solved = of_source.max(of_network.min(NETWORK_BITS_MAX));
    let trapped = match has_followed_traps {
        true => TRAP_BITS,
        false => 0,
    };
    let bits = BITS_BASE + doublings.max(solved) + above + failures.min(FAILURES_MAX) + trapped;
    bits.min(BITS_MAX) as u8
}

/// Bits of work for a visitor who has a clearance and came into another network, for the time after so many others.
pub fn confirmation(moves: u8) -> u8 {
    (BITS_BASE + (u32::from(moves) / 2).min(MOVES_BITS_MAX)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_rises_with_suspicion_and_has_a_ceiling() {
        let check = |pages: u32, failures: u32, [of_source, of_network]: [u32; 2], bits: u8| {
            let suspicion = Suspicion {
                pages,
                failures,
                solutions: Solutions {
                    of_source,
                    of_network,
                },
                has_followed_traps: false,
            };
            assert_eq!(difficulty(&suspicion, 20, 1000), bits, "{suspicion:?}");
            let trapped = Suspicion {
                has_followed_traps: true,
                ..suspicion
            };
            assert_eq!(difficulty(&trapped, 20, 1000), (bits + 2).min(20));
        };
        check(0, 0, [0, 0], 15);
        check(21, 0, [0, 0], 15);
        check(40, 0, [0, 0], 16);
        check(1000, 0, [0, 0], 20);
        check(1001, 0, [0, 0], 20);
        check(40, 2, [0, 0], 18);
        check(0, u32::MAX, [0, 0], 19);
        check(u32::MAX, u32::MAX, [u32::MAX; 2], 20);
        // A second clearance, a household, a hoard; a network full of people.
        check(0, 0, [1, 0], 16);
        check(0, 0, [4, 0], 17);
        check(0, 0, [127, 0], 20);
        check(0, 0, [0, 5000], 18);
        assert_eq!([0, 1, 4, 200].map(confirmation), [15, 15, 17, 19]);
    }
}
