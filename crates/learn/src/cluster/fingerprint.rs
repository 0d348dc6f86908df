//! What is distinctive of a series: what remains when a plain day, and the level of each day, are taken away.

use super::Likeness;
use crate::folds::Shuffler;
use crate::series::DAY;
use crate::series::quantile;

/// Bits of a sketch.
pub const BITS: usize = 256;
const WORDS: usize = BITS / 64;

/// Waves of the mean day that count as plain: from one a day down to four hours. What people do together lies there; edges of a
/// timetable do not.
const PLAIN_WAVES: usize = 6;

/// The median of a squared normal deviate.
const MEDIAN: f64 = 0.455;
/// Variance of the root of a number of requests that know nothing of each other.
const CHANCE: f64 = 0.25;
/// Fewer bends than this say nothing about noise.
const BENDS_MIN: usize = 12;
/// Even a rate limit is not kept better than this.
const NOISE_MIN: f64 = 0.02;

/// A series made ready to be compared with many others.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    /// Square roots of the counts, of length 1: their noise is the same at all levels.
    roots: Vec<f32>,
    /// What is distinctive, of length 1; empty where noise hides it.
    rest: Vec<f32>,
    /// Variance of all roots by noise.
    noise: f32,
    /// All requests.
    volume: f32,
    /// Share of the distinctive part that is no noise.
    firm: f32,
    /// Values that are as good as independent in the distinctive part.
    free: f32,
    sketch: [u64; WORDS],
}

/// Signs by which sketches are made: one row of bits for each half hour.
#[derive(Debug, Clone)]
pub struct Signs(Vec<[f32; BITS]>);

impl Signs {
    /// Signs for series of this length.
    pub fn new(length: usize) -> Signs {
        let mut shuffler = Shuffler::new(0x5eed);
        let mut row = || {
            let mut row = [0.0; BITS];
            for part in row.chunks_mut(64) {
                let bits = shuffler.next();
                for (at, sign) in part.iter_mut().enumerate() {
                    *sign = if bits >> at & 1 == 1 { 1.0 } else { -1.0 };
                }
            }
            row
        };
        Signs((0..length).map(|_| row()).collect())
    }
}

impl Fingerprint {
    /// The fingerprint of requests per half hour; `signs` are for series of this length.
    pub fn of(counts: &[f64], signs: &Signs) -> Fingerprint {
        // With 3/8 added the noise of few requests is evened out, too (Anscombe 1948).
        let roots: Vec<f64> = counts.iter().map(|count| (count + 0.375).sqrt()).collect();
        let busy = counts.iter().filter(|count| **count > 0.0).count() as f64;
        let noise = noise(counts, &roots) * busy;
        let rest = distinctive(&roots);
        let n = roots.len().max(1) as f64;
        let energy = rest.iter().map(|value| value * value).sum::<f64>() / n;
        let firm = if energy > 0.0 {
            (1.0 - noise / (energy * n)).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let length = roots.iter().map(|root| root * root).sum::<f64>().sqrt();
        let rest_length = (energy * n).sqrt();
        let unit = |values: &[f64], length: f64| -> Vec<f32> {
            let part = |value: &f64| if length > 0.0 { value / length } else { 0.0 };
            values.iter().map(|value| part(value) as f32).collect()
        };
        let rest = unit(&rest, rest_length);
        Fingerprint {
            free: free_values(&rest) as f32,
            sketch: sketch(&rest, signs),
            roots: unit(&roots, length),
            noise: if length > 0.0 {
                (noise / (length * length)) as f32
            } else {
                0.0
            },
            firm: firm as f32,
            volume: counts.iter().sum::<f64>() as f32,
            rest,
        }
    }

    /// False where noise hides nearly all that could tell it from others.
    pub fn is_distinctive(&self) -> bool {
        self.firm > 0.2
    }

    /// Bits in which two sketches differ.
    pub(super) fn differing_bits(&self, other: &Fingerprint) -> u32 {
        let pairs = self.sketch.iter().zip(&other.sketch);
        pairs
            .map(|(mine, theirs)| (mine ^ theirs).count_ones())
            .sum()
    }

    /// The value of one band of so many bits.
    pub(super) fn band(&self, band: usize, bits: usize) -> usize {
        let first = band * bits;
        (self.sketch[first / 64] >> (first % 64)) as usize & ((1 << bits) - 1)
    }

    /// How alike two series are.
    pub fn likeness(&self, other: &Fingerprint) -> Likeness {
        let correlation = f64::from(dot(&self.rest, &other.rest)).clamp(-0.999_999, 0.999_999);
        let free = f64::from(self.free.min(other.free));
        let firm = f64::from(self.firm * other.firm).sqrt();
        // Both have length 1, so that a share of one is that of the other.
        let apart = 2.0 - 2.0 * f64::from(dot(&self.roots, &other.roots));
        let by_noise = f64::from(self.noise + other.noise);
        Likeness {
            chance: correlation.atanh() * (free - 3.0).max(0.0).sqrt(),
            alike: if firm > 0.0 { correlation / firm } else { 0.0 },
            difference: if by_noise > 0.0 {
                apart / by_noise
            } else if apart > 1e-6 {
                f64::INFINITY
            } else {
                0.0
            },
            volumes: f64::from(self.volume.min(other.volume) / self.volume.max(other.volume)),
        }
    }
}

/// A sum of products in eight lanes, which the compiler turns into vectors.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (a_parts, b_parts) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f32 = a_parts
        .remainder()
        .iter()
        .zip(b_parts.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_parts.zip(b_parts) {
        for (lane, (x, y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + tail
}

/// Variance of a busy root by noise, from how much neighbours bend away from a line, in the middle of all busy half hours.
fn noise(counts: &[f64], roots: &[f64]) -> f64 {
    let bend = |three: &[f64]| (three[0] - 2.0 * three[1] + three[2]).powi(2);
    let is_busy = |three: &[f64]| three.iter().all(|count| *count > 0.0);
    let busy = counts.windows(3).zip(roots.windows(3));
    let mut bends: Vec<f64> = busy
        .filter(|(counts, _)| is_busy(counts))
        .map(|(_, roots)| bend(roots))
        .collect();
    if bends.len() < BENDS_MIN {
        return CHANCE;
    }
    (quantile(&mut bends, 0.5) / (6.0 * MEDIAN)).max(NOISE_MIN)
}

/// What remains without a plain day: the mean day's longer waves, in the measure of each day's level.
fn distinctive(roots: &[f64]) -> Vec<f64> {
    let mut day = [0.0; DAY];
    let mut days = [0.0_f64; DAY];
    for (at, root) in roots.iter().enumerate() {
        day[at % DAY] += root;
        days[at % DAY] += 1.0;
    }
    for (sum, days) in day.iter_mut().zip(days) {
        *sum /= days.max(1.0);
    }
    let plain = smooth(&day);
    let mean = plain.iter().sum::<f64>() / DAY as f64;
    let mut rest = Vec::with_capacity(roots.len());
    for part in roots.chunks(DAY) {
        // The level of this day, by least squares against the plain day.
        let (mut over, mut under) = (0.0, 0.0);
        for (root, plain) in part.iter().zip(plain) {
            over += root * plain;
            under += plain * plain;
        }
        let level = if under > 0.0 && mean > 0.0 {
            over / under
        } else {
            0.0
        };
        rest.extend(
            part.iter()
                .zip(plain)
                .map(|(root, plain)| root - level * plain),
        );
    }
    rest
}

/// A day without its short waves.
fn smooth(day: &[f64; DAY]) -> [f64; DAY] {
    let mean = day.iter().sum::<f64>() / DAY as f64;
    let mut out = [mean; DAY];
    for wave in 1..=PLAIN_WAVES {
        let angle = |at: usize| (wave * at) as f64 * std::f64::consts::TAU / DAY as f64;
        let (mut cosine, mut sine) = (0.0, 0.0);
        for (at, value) in day.iter().enumerate() {
            cosine += value * angle(at).cos();
            sine += value * angle(at).sin();
        }
        for (at, out) in out.iter_mut().enumerate() {
            *out += 2.0 / DAY as f64 * (cosine * angle(at).cos() + sine * angle(at).sin());
        }
    }
    out.map(|value| value.max(0.0))
}

/// How many values are as good as independent, by the autocorrelation of a series of length 1 (Bartlett 1946).
fn free_values(rest: &[f32]) -> f64 {
    let n = rest.len();
    let mut squares = 0.0;
    for lag in 1..=DAY.min(n / 2) {
        let correlation = f64::from(dot(&rest[lag..], &rest[..n - lag]));
        squares += correlation * correlation;
    }
    n as f64 / (1.0 + 2.0 * squares)
}

/// One bit for each row of signs: on which side of a random plane the series lies. Bits of two series differ by their angle.
fn sketch(rest: &[f32], signs: &Signs) -> [u64; WORDS] {
    let mut sums = [0.0_f32; BITS];
    for (value, signs) in rest.iter().zip(&signs.0) {
        for (sum, sign) in sums.iter_mut().zip(signs) {
            *sum += value * sign;
        }
    }
    let mut sketch = [0; WORDS];
    for (word, sums) in sketch.iter_mut().zip(sums.chunks(64)) {
        for (at, sum) in sums.iter().enumerate() {
            *word |= u64::from(*sum > 0.0) << at;
        }
    }
    sketch
}
