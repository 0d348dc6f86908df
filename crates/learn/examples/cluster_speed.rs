//! How long clustering takes: 10,000, 30,000 and 100,000 series of five days, a third of them in campaigns of 3 to 300, on the threads
//! that `RAYON_NUM_THREADS` allows. Run with `cargo run --release -p cattlegrid-learn --example cluster_speed`.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::time::Instant;

use cattlegrid_learn::cluster::Fingerprint;
use cattlegrid_learn::cluster::Rule;
use cattlegrid_learn::cluster::Signs;
use cattlegrid_learn::cluster::agreement;
use cattlegrid_learn::cluster::algorithm_1;
use cattlegrid_learn::cluster::cluster;
use rayon::prelude::*;

const POINTS: usize = 240;

/// Numbers between 0 and 1, the same in each run.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A schedule: a level that wanders, and now and then stops.
fn schedule(draw: &mut Draw) -> Vec<f64> {
    let (mut level, mut is_on) = (0.0_f64, true);
    let change = 0.02 + 0.2 * draw.next();
    (0..POINTS)
        .map(|_| {
            level = 0.95 * level + 0.3 * (draw.next() - 0.5);
            is_on ^= draw.next() < change;
            if is_on { level.exp() } else { 0.05 }
        })
        .collect()
}

/// What one source does by a schedule, with noise.
fn source(schedule: &[f64], draw: &mut Draw) -> Vec<f64> {
    let volume = 10.0 * (4.0 * draw.next()).exp();
    schedule
        .iter()
        .map(|level| {
            let expected = level * volume;
            let noise = (0..6).map(|_| draw.next()).sum::<f64>() - 3.0;
            (expected + noise * (2.0 * expected).sqrt())
                .max(0.0)
                .round()
        })
        .collect()
}

fn main() {
    println!(
        "{:>8} {:>14} {:>12} {:>14} {:>10} {:>10} {:>16}",
        "series", "fingerprints", "clustering", "together", "pairs", "right", "Algorithm 1"
    );
    for many in [10_000, 30_000, 100_000] {
        let mut draw = Draw(many as u64);
        let (mut series, mut campaigns) = (Vec::new(), Vec::new());
        while series.len() < many {
            let plan = schedule(&mut draw);
            let is_campaign = draw.next() < 0.02;
            let members = if is_campaign {
                3 + (draw.next().powi(3) * 297.0) as usize
            } else {
                1
            };
            let number = series.len() as u32;
            for _ in 0..members {
                series.push(source(&plan, &mut draw));
                campaigns.push(is_campaign.then_some(number));
            }
        }
        let started = Instant::now();
        let signs = Signs::new(POINTS);
        let prints: Vec<Fingerprint> = series
            .par_iter()
            .map(|series| Fingerprint::of(series, &signs))
            .collect();
        let printed = started.elapsed().as_secs_f64();
        let prints: Vec<&Fingerprint> = prints.iter().collect();
        let clusters = cluster(&prints, &vec![None; prints.len()], Rule::default());
        let together = started.elapsed().as_secs_f64();
        let found = agreement(&clusters, &campaigns);
        let started = Instant::now();
        // The paper's candidates are many where volumes are alike: a hundred thousand take minutes.
        let is_short = series.len() < 50_000;
        if is_short {
            let _ = algorithm_1(&series, 2.3);
        }
        println!(
            "{:>8} {printed:>13.2}s {:>11.2}s {together:>13.2}s {:>9.1}% {:>9.1}% {:>15.2}s",
            series.len(),
            together - printed,
            100.0 * found.pair_recall,
            100.0 * found.pair_precision,
            started.elapsed().as_secs_f64()
        );
    }
}
