//! Numbers nobody can guess, without asking the system for each of them.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use hmac::Hmac;
use hmac::Mac;
use sha2::Sha256;
use zeroize::Zeroizing;

/// A keyed function of a counter: as unpredictable as the key it drew from the system at start, never the same twice, and
/// it cannot fail while a request waits.
pub(super) struct Random {
    keyed: Hmac<Sha256>,
    drawn: AtomicU64,
}

impl Random {
    /// Fails only where the system has no randomness to give.
    pub(super) fn new() -> io::Result<Random> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(key.as_mut_slice()).map_err(io::Error::other)?;
        let keyed = Hmac::new_from_slice(key.as_slice()).map_err(io::Error::other)?;
        Ok(Random {
            keyed,
            drawn: AtomicU64::new(0),
        })
    }

    /// The next number.
    pub(super) fn draw(&self) -> u128 {
        let count = self.drawn.fetch_add(1, Ordering::Relaxed);
        let block: [u8; 32] = self
            .keyed
            .clone()
            .chain_update(count.to_be_bytes())
            .finalize()
            .into_bytes()
            .into();
        block
            .iter()
            .take(16)
            .fold(0, |number, &byte| number << 8 | u128::from(byte))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn h087_numbers_do_not_repeat_over_two_starts() {
        let (first, second) = (Random::new().unwrap(), Random::new().unwrap());
        let numbers: HashSet<u128> = (0..50_000)
            .flat_map(|_| [first.draw(), second.draw()])
            .collect();
        assert_eq!(numbers.len(), 100_000);
        // Each bit is set about half the time, so none of the 128 is lost.
        for bit in 0..128 {
            let set = numbers
                .iter()
                .filter(|&number| number >> bit & 1 == 1)
                .count();
            assert!((48_500..51_500).contains(&set), "bit {bit}: {set}");
        }
    }
}
