//! The number of a refusal, for a visitor to tell and for the owner to look up in the log.
//!
//! The log has it with every refused request. So nothing is kept for it, and a flood of refusals takes no memory. A visitor has the same
//! number all day, as long as the reason is the same: whoever loads the page again does not have ten of them.

use std::fmt;
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::sync::LazyLock;

use cattlegrid_core::policy::DAY;
use cattlegrid_core::request::Source;

/// The number of a refusal, written as `K7QX-29FM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incident(u64);

/// Letters that nobody takes for another over the telephone (Crockford's base 32).
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters of a number.
const LENGTH: u32 = 8;

/// Nobody outside can tell from a number whose it is.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl Incident {
    /// The number of a source that is refused for a reason, perhaps by an entry of the knowledge base.
    pub(crate) fn of(source: Source, why: (&str, Option<u64>), time: u32) -> Incident {
        Incident(HASHER.hash_one((source, why, time / DAY)))
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for at in 0..LENGTH {
            if at == LENGTH / 2 {
                out.write_str("-")?;
            }
            let letter = LETTERS[(self.0 >> (5 * at) & 31) as usize];
            fmt::Write::write_char(out, char::from(letter))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_has_one_number_a_day_and_others_have_another() {
        let source = |address: &str| Source::from_address(address.as_bytes()).unwrap();
        let number = |address: &str, reason: &str, time: u32| {
            Incident::of(source(address), (reason, None), time).to_string()
        };
        let first = number("192.0.2.7", "entry", 5 * DAY);
        assert_eq!(first.len(), 9, "{first}");
        assert_eq!(first, number("192.0.2.7", "entry", 6 * DAY - 1));
        for other in [
            number("192.0.2.8", "entry", 5 * DAY),
            number("192.0.2.7", "owners_rule", 5 * DAY),
            number("192.0.2.7", "entry", 6 * DAY),
        ] {
            assert_ne!(first, other);
        }
    }
}
