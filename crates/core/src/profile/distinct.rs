//! How many different things were seen: exact while few, a sketch of 512 bytes when many. The order does not matter.

use smallvec::SmallVec;

/// Up to here every value is kept.
const FEW_MAX: usize = 96;
/// Registers of the sketch: a relative error of about 3 %.
const REGISTERS: usize = 1024;
/// Registers hold four bits: ranks above 15 matter only beyond eight million different values.
const RANK_MAX: u32 = 15;

/// A count of different 32-bit hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distinct {
    /// All values.
    Few(SmallVec<[u32; 6]>),
    /// HyperLogLog registers, two to a byte.
    Many(Box<[u8; REGISTERS / 2]>),
}

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct::Few(SmallVec::new())
    }
}

impl Distinct {
    /// Takes note of one hash.
    pub fn insert(&mut self, hash: u32) {
        match self {
            Distinct::Few(values) if values.contains(&hash) => {}
            Distinct::Few(values) if values.len() < FEW_MAX => values.push(hash),
            Distinct::Few(values) => {
                let mut registers = Box::new([0; REGISTERS / 2]);
                values
                    .iter()
                    .chain([&hash])
                    .for_each(|value| raise(&mut registers, *value));
                *self = Distinct::Many(registers);
            }
            Distinct::Many(registers) => raise(registers, hash),
        }
    }

    /// How many different hashes were seen.
    pub fn count(&self) -> u64 {
        match self {
            Distinct::Few(values) => values.len() as u64,
            Distinct::Many(registers) => estimate(registers).round() as u64,
        }
    }

    /// Takes note of everything that the other has seen.
    pub fn absorb(&mut self, other: &Distinct) {
        match (&mut *self, other) {
            (_, Distinct::Few(values)) => values.iter().for_each(|value| self.insert(*value)),
            (Distinct::Many(mine), Distinct::Many(theirs)) => {
                for (mine, theirs) in mine.iter_mut().zip(theirs.iter()) {
                    *mine = (*mine & 15).max(theirs & 15) | (*mine >> 4).max(theirs >> 4) << 4;
                }
            }
            (Distinct::Few(values), Distinct::Many(_)) => {
                let few = std::mem::take(values);
                *self = other.clone();
                few.iter().for_each(|value| self.insert(*value));
            }
        }
    }

    /// All hashes, where they are few enough to be kept.
    pub fn few(&self) -> Option<&[u32]> {
        match self {
            Distinct::Few(values) => Some(values),
            Distinct::Many(_) => None,
        }
    }
}

fn raise(registers: &mut [u8; REGISTERS / 2], hash: u32) {
    let at = hash as usize % REGISTERS;
    let rank = ((hash >> REGISTERS.trailing_zeros()).trailing_zeros() + 1).min(RANK_MAX) as u8;
    let shift = at % 2 * 4;
    let byte = &mut registers[at / 2];
    if (*byte >> shift & 15) < rank {
        *byte = *byte & !(15 << shift) | rank << shift;
    }
}

/// Ertl's estimator ("New cardinality estimation algorithms for HyperLogLog sketches", 2017): no bias to correct in any range.
fn estimate(registers: &[u8; REGISTERS / 2]) -> f64 {
    let mut histogram = [0_u32; RANK_MAX as usize + 1];
    for byte in registers {
        histogram[usize::from(byte & 15)] += 1;
        histogram[usize::from(byte >> 4)] += 1;
    }
    let size = REGISTERS as f64;
    let mut sum = size * tau(1.0 - f64::from(histogram[RANK_MAX as usize]) / size);
    for count in histogram[1..RANK_MAX as usize].iter().rev() {
        sum = 0.5 * (sum + f64::from(*count));
    }
    sum += size * sigma(f64::from(histogram[0]) / size);
    size * size / (2.0 * std::f64::consts::LN_2 * sum)
}

fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    for _ in 0..64 {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            break;
        }
    }
    z
}

fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    for _ in 0..64 {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z == before {
            break;
        }
    }
    z / 3.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hash(value: u64) -> u32 {
        rapidhash::v3::rapidhash_v3(&value.to_le_bytes()) as u32
    }

    #[test]
    fn the_error_is_small_in_every_range() {
        for count in [
            1_u64, 96, 97, 150, 500, 1_000, 2_500, 5_000, 50_000, 1_000_000,
        ] {
            let mut squares = 0.0;
            for round in 0..8 {
                let mut distinct = Distinct::default();
                (0..count).for_each(|value| distinct.insert(hash(value + round * 10_000_000)));
                squares += (distinct.count() as f64 / count as f64 - 1.0).powi(2);
            }
            assert!(
                (squares / 8.0).sqrt() < 0.05,
                "{count}: {}",
                (squares / 8.0).sqrt()
            );
        }
    }

    proptest! {
        #[test]
        fn order_and_repetition_do_not_matter(values in prop::collection::vec(0_u64..400, 0..800)) {
            let mut forward = Distinct::default();
            let mut backward = Distinct::default();
            values.iter().for_each(|value| forward.insert(hash(*value)));
            values.iter().rev().chain(&values).for_each(|value| backward.insert(hash(*value)));
            prop_assert_eq!(forward.count(), backward.count());
        }
    }
}
