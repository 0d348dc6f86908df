//! What is distinctive of a series: what remains when a plain day, and the level of each day, are taken away.

use std::f64::consts::TAU;

use super::Likeness;
use super::warped_distance;
use crate::folds::Shuffler;
use crate::series::DAY;
use crate::series::quantile;

/// Half hours by which one source may be ahead of another of its campaign, or behind.
const LAG_MAX: usize = 2;
/// Lags that are searched among all series: on time, ahead, behind.
pub(super) const SEARCHED: usize = 3;

/// Bits of a sketch.
pub(super) const BITS: usize = 512;
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
    /// Of the distinctive part as it is, ahead and behind.
    sketches: [[u64; WORDS]; SEARCHED],
}

/// Signs by which sketches are made, and the waves of a plain day.
#[derive(Debug, Clone)]
pub struct Signs {
    /// One for each half hour.
    first: Vec<f32>,
    /// One for each bit, for the second round and the third.
    rounds: [[f32; BITS]; 2],
    /// Cosine and sine of each wave at each half hour of the day.
    waves: [[(f64, f64); DAY]; PLAIN_WAVES],
}

impl Signs {
    /// Signs for series of this length.
    pub fn new(length: usize) -> Signs {
        let mut shuffler = Shuffler::new(0x5eed);
        let mut sign = || {
            if shuffler.next() >> 63 == 1 {
                1.0
            } else {
                -1.0
            }
        };
        let angle = |wave: usize, at: usize| ((wave + 1) * at) as f64 * TAU / DAY as f64;
        Signs {
            first: (0..length).map(|_| sign()).collect(),
            rounds: [(); 2].map(|()| [(); BITS].map(|()| sign())),
            waves: std::array::from_fn(|wave| {
                std::array::from_fn(|at| (angle(wave, at).cos(), angle(wave, at).sin()))
            }),
        }
    }
}

impl Fingerprint {
    /// The fingerprint of requests per half hour; `signs` are for series of this length.
    pub fn of(counts: &[f64], signs: &Signs) -> Fingerprint {
        // With 3/8 added the noise of few requests is evened out, too (Anscombe 1948).
        let roots: Vec<f64> = counts.iter().map(|count| (count + 0.375).sqrt()).collect();
        let busy = counts.iter().filter(|count| **count > 0.0).count() as f64;
        let noise = noise(counts, &roots) * busy;
        let rest = distinctive(&roots, signs);
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
            sketches: std::array::from_fn(|lag| sketch(&rest, shift_of(lag, rest.len()), signs)),
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

    /// True where the sketches are nearer than chance brings unrelated ones: half of the bits differ, with a deviation of 11; a
    /// correlation of 0.4 leaves 189.
    pub(super) fn is_near(&self, other: &Fingerprint) -> bool {
        const DIFFERING_MAX: u32 = 205;
        let differing = |sketch: &[u64; WORDS]| -> u32 {
            let pairs = sketch.iter().zip(&other.sketches[0]);
            pairs
                .map(|(mine, theirs)| (mine ^ theirs).count_ones())
                .sum()
        };
        self.sketches
            .iter()
            .any(|sketch| differing(sketch) <= DIFFERING_MAX)
    }

    /// The value of one band of so many bits, of a shifted sketch.
    pub(super) fn band(&self, lag: usize, band: usize, bits: usize) -> usize {
        let (word, at) = (band * bits / 64, band * bits % 64);
        let sketch = &self.sketches[lag];
        let low = u128::from(sketch[word]);
        let high = u128::from(sketch.get(word + 1).copied().unwrap_or(0));
        ((high << 64 | low) >> at) as usize & ((1 << bits) - 1)
    }

    /// How alike two series are, at the lag at which their distinctive parts agree most.
    pub fn likeness(&self, other: &Fingerprint) -> Likeness {
        self.likeness_within(LAG_MAX, other)
    }

    /// The correlation of the distinctive parts where they agree most, and by how many places the first is turned for that.
    fn best_shift(&self, lag_max: usize, other: &Fingerprint) -> (f64, usize) {
        let mut best = (f64::MIN, 0);
        for lag in 0..=2 * lag_max {
            let shift = shift_of(lag, self.rest.len());
            let correlation = f64::from(shifted_dot(&self.rest, shift, &other.rest));
            if correlation > best.0 {
                best = (correlation, shift);
            }
        }
        best
    }

    /// How far two series are from each other, in units of their noise, when one runs ahead of the other by up to so many half hours,
    /// and each may stretch a little. What lies beyond the end of the other is left out.
    pub(super) fn warped(&self, other: &Fingerprint, lag_max: usize) -> f64 {
        let n = self.roots.len();
        let (_, shift) = self.best_shift(lag_max, other);
        let (mine, theirs) = if shift <= n / 2 {
            (&self.roots[shift..], &other.roots[..n - shift])
        } else {
            (&self.roots[..shift], &other.roots[n - shift..])
        };
        let wide =
            |values: &[f32]| -> Vec<f64> { values.iter().map(|value| f64::from(*value)).collect() };
        let apart = warped_distance(&wide(mine), &wide(theirs), LAG_MAX);
        apart / f64::from(self.noise + other.noise).max(1e-12)
    }

    /// As [`Fingerprint::likeness`], with lags up to this.
    pub(super) fn likeness_within(&self, lag_max: usize, other: &Fingerprint) -> Likeness {
        let (correlation, shift) = self.best_shift(lag_max, other);
        let correlation = correlation.clamp(-0.999_999, 0.999_999);
        let free = f64::from(self.free.min(other.free));
        let firm = f64::from(self.firm * other.firm).sqrt();
        // Both have length 1, so that a share of one is that of the other.
        let apart = 2.0 - 2.0 * f64::from(shifted_dot(&self.roots, shift, &other.roots));
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

/// By how many places a series is turned at a lag: 0, 1, -1, 2, -2.
fn shift_of(lag: usize, length: usize) -> usize {
    let far = lag.div_ceil(2);
    match lag % 2 {
        1 => far.min(length),
        _ => length.saturating_sub(far) % length.max(1),
    }
}

/// The sum of products of one series turned by so many places with another.
fn shifted_dot(a: &[f32], shift: usize, b: &[f32]) -> f32 {
    let split = b.len().saturating_sub(shift);
    dot(&a[shift..], &b[..split]) + dot(&a[..shift], &b[split..])
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
fn distinctive(roots: &[f64], signs: &Signs) -> Vec<f64> {
    let mut day = [0.0; DAY];
    let mut days = [0.0_f64; DAY];
    for (at, root) in roots.iter().enumerate() {
        day[at % DAY] += root;
        days[at % DAY] += 1.0;
    }
    for (sum, days) in day.iter_mut().zip(days) {
        *sum /= days.max(1.0);
    }
    let plain = smooth(&day, signs);
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
fn smooth(day: &[f64; DAY], signs: &Signs) -> [f64; DAY] {
    let mean = day.iter().sum::<f64>() / DAY as f64;
    let mut out = [mean; DAY];
    for wave in &signs.waves {
        let (mut cosine, mut sine) = (0.0, 0.0);
        for (value, (c, s)) in day.iter().zip(wave) {
            cosine += value * c;
            sine += value * s;
        }
        for (out, (c, s)) in out.iter_mut().zip(wave) {
            *out += 2.0 / DAY as f64 * (cosine * c + sine * s);
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

/// One bit for each of many planes: on which side the series lies. Bits of two series differ by their angle. The planes are those of
/// three rounds of random signs and a Hadamard transform (Andoni and others 2015), which takes a twentieth of the time of planes that
/// are drawn one by one.
fn sketch(rest: &[f32], shift: usize, signs: &Signs) -> [u64; WORDS] {
    let mut values = [0.0_f32; BITS];
    let turned = rest[shift..].iter().chain(&rest[..shift]);
    for (at, (value, sign)) in turned.zip(&signs.first).enumerate() {
        values[at % BITS] += value * sign;
    }
    hadamard(&mut values);
    for round in &signs.rounds {
        for (value, sign) in values.iter_mut().zip(round) {
            *value *= sign;
        }
        hadamard(&mut values);
    }
    let mut sketch = [0; WORDS];
    for (word, values) in sketch.iter_mut().zip(values.chunks(64)) {
        for (at, value) in values.iter().enumerate() {
            *word |= u64::from(*value > 0.0) << at;
        }
    }
    sketch
}

/// Sums and differences of all values, in as many steps as the length has binary digits.
fn hadamard(values: &mut [f32; BITS]) {
    let mut half = 1;
    while half < BITS {
        for pair in values.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}
