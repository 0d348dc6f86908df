//! How long the shape of a series takes, and the votes about it: `cargo run --release -p cattlegrid-learn --example shape_speed`.

use std::io::Write;
use std::time::Instant;

use cattlegrid_learn::model::Model;
use cattlegrid_learn::series::Scratch;
use cattlegrid_learn::series::Shape;

/// Series in one round.
const SERIES: usize = 5000;
const ROUNDS: usize = 7;

/// The best round's time for one series, in microseconds.
fn best(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min) * 1e6 / SERIES as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let day = |at: usize| 30.0 - 25.0 * (at as f64 / 48.0 * std::f64::consts::TAU).cos();
    let count = |at: usize, number: usize| (day(at + number) + (at * number % 7) as f64).round();
    let series: Vec<Vec<f64>> = (0..SERIES)
        .map(|number| (0..240).map(|at| count(at, number)).collect())
        .collect();
    let mut scratch = Scratch::default();
    let mut shapes = Vec::new();
    let values = best(|| {
        shapes.clear();
        let found = series.iter().map(|counts| Shape::of(counts, &mut scratch));
        shapes.extend(found.flatten());
    });
    let model = Model::parse(include_str!("../../../data/default-model.json"))?;
    let mut sum = 0.0;
    let votes = best(|| {
        for shape in &shapes {
            sum += model.shape.judge(&shape.values).decibans;
        }
    });
    writeln!(
        std::io::stdout(),
        "{values:.1} µs for all values of a series of 240 points, {votes:.1} µs for the votes; 100,000 series in {:.1} CPU-seconds (checksum {sum:.1})",
        (values + votes) / 10.0
    )?;
    Ok(())
}
