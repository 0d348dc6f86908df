//! How long all values of one series take: `cargo run --release -p cattlegrid-learn --example shape_speed`.

use std::time::Instant;

use cattlegrid_learn::series::Scratch;
use cattlegrid_learn::series::Shape;

/// Series in one round.
const SERIES: usize = 5000;

fn main() {
    let mut scratch = Scratch::default();
    let day = |at: usize| 30.0 - 25.0 * (at as f64 / 48.0 * std::f64::consts::TAU).cos();
    let series: Vec<Vec<f64>> = (0..SERIES)
        .map(|number| {
            (0..240)
                .map(|at| (day(at + number) + (at * number % 7) as f64).round())
                .collect()
        })
        .collect();
    let mut sum = 0.0;
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        for counts in &series {
            sum += Shape::of(counts, &mut scratch).map_or(0.0, |shape| shape.values[0]);
        }
        best = best.min(start.elapsed().as_secs_f64() / SERIES as f64);
    }
    let text = format!(
        "{:.1} µs for all values of one series of 240 points (checksum {sum:.3})\n",
        best * 1e6
    );
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())
        .expect("standard output takes a line");
}
