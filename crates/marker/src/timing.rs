//! Whether two kinds of input take the same time, for tests of what must not tell them apart.

use std::time::Instant;

/// |t| from which the times of two kinds of input differ.
pub const DIFFERENT_FROM: f64 = 10.0;
/// The tolerated difference as a fraction: 15 of 1,500 ns. Through a network with 50 µs of jitter, it takes a hundred million requests to
/// measure. Without it, ten CPU cycles fail a test on a quiet machine.
const ALLOWED: f64 = 0.01;
/// A machine with other work has quiet moments, a leak has none.
const ATTEMPTS: usize = 6;
const ROUNDS: u32 = 20_000;

/// How much the times differ that `run` takes for two inputs: the first |t| of some attempts that is below [`DIFFERENT_FROM`], or the
/// smallest.
pub fn difference<T>(inputs: &[T; 2], mut run: impl FnMut(&T)) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..ATTEMPTS {
        least = least.min(t(inputs, &mut run));
        if least < DIFFERENT_FROM {
            break;
        }
    }
    least
}

/// Welch's t of the times of two inputs beyond what is [`ALLOWED`], taken in turn and without the slowest tenth.
fn t<T>(inputs: &[T; 2], mut run: impl FnMut(&T)) -> f64 {
    let mut times: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        // A hash of the round, so that nothing periodic falls on one input.
        let kind = (round.wrapping_mul(0x9e37_79b9) >> 31) as usize;
        let before = Instant::now();
        run(&inputs[kind]);
        times[kind].push(before.elapsed().as_nanos() as f64);
    }
    let moments = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.truncate(times.len() * 9 / 10);
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count)
    });
    let [(first, first_error), (second, second_error)] = moments;
    let beyond = (first - second).abs() - ALLOWED * first.min(second);
    beyond.max(0.0) / (first_error + second_error).sqrt()
}
