//! Algorithm 1 of the paper, as it is written there.

use std::collections::BTreeMap;

/// The paper's k, learned from its own campaigns.
pub const PAPER_K: f64 = 350.0;

/// How far volume, amplitude and deviation of a candidate may lie from those of the joining series.
const NEAR: [f64; 3] = [0.25, 0.35, 0.30];

/// A series as the paper compares it.
pub(super) struct Normal {
    values: Vec<f32>,
    /// Volume, amplitude, deviation.
    traits: [f64; 3],
}

impl Normal {
    pub(super) fn of(counts: &[f64]) -> Normal {
        let total: f64 = counts.iter().sum();
        let n = counts.len().max(1) as f64;
        let values: Vec<f64> = counts.iter().map(|count| count / total.max(1.0)).collect();
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        let deviation = (squares.sum::<f64>() / n).sqrt();
        let most = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        Normal {
            traits: [total, most - least.min(most), deviation],
            values: values.into_iter().map(|value| value as f32).collect(),
        }
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    pub(super) fn deviation(&self) -> f64 {
        self.traits[2]
    }

    fn is_near(&self, medoid: &Normal) -> bool {
        let pairs = self.traits.iter().zip(medoid.traits).zip(NEAR);
        pairs
            .into_iter()
            .all(|((mine, theirs), near)| (mine - theirs).abs() <= near * mine)
    }

    /// A cell of a grid in which near ones are in the same cell or in one beside it.
    fn cell(&self) -> [i32; 3] {
        std::array::from_fn(|at| {
            let step = -(1.0 - NEAR[at]).ln();
            (self.traits[at].max(1e-12).ln() / step).floor() as i32
        })
    }

    /// The inverse of the squared distance.
    pub(super) fn similarity(&self, other: &Normal) -> f64 {
        let squares = self.values.iter().zip(&other.values);
        let distance: f32 = squares.map(|(a, b)| (a - b) * (a - b)).sum();
        1.0 / f64::from(distance)
    }
}

/// The founder of each series' cluster, in the order of the series.
pub fn algorithm_1(series: &[impl AsRef<[f64]>], k: f64) -> Vec<u32> {
    let series = series.iter().map(|counts| Normal::of(counts.as_ref()));
    let series: Vec<Normal> = series.collect();
    cluster(&series, k)
}

pub(super) fn cluster(series: &[Normal], k: f64) -> Vec<u32> {
    let mut cells: BTreeMap<[i32; 3], Vec<u32>> = BTreeMap::new();
    let mut founders = Vec::with_capacity(series.len());
    for (place, joining) in (0..).zip(series) {
        let mut best: Option<(f64, u32)> = None;
        let cell = joining.cell();
        for beside in 0..27 {
            let near = [beside / 9 - 1, beside / 3 % 3 - 1, beside % 3 - 1];
            let near = std::array::from_fn(|at| cell[at].saturating_add(near[at]));
            for founder in cells.get(&near).into_iter().flatten() {
                let medoid = &series[*founder as usize];
                if !joining.is_near(medoid) {
                    continue;
                }
                let similarity = joining.similarity(medoid);
                if best.is_none_or(|(most, _)| similarity > most) {
                    best = Some((similarity, *founder));
                }
            }
        }
        // A series that never changes has no deviation, and is like nothing but itself.
        let enough = k / joining.deviation();
        founders.push(match best {
            Some((similarity, founder)) if similarity > enough => founder,
            _ => {
                cells.entry(cell).or_default().push(place);
                place
            }
        });
    }
    founders
}
