//! Distance of two series of which one may run ahead of the other.

/// The least sum of squared differences when both are walked through side by side, and each may wait for the other by at most
/// `band` steps (Sakoe and Chiba 1978). Series must be equally long.
pub fn warped_distance(a: &[f64], b: &[f64], band: usize) -> f64 {
    let n = a.len().min(b.len());
    if n == 0 {
        return 0.0;
    }
    // Two rows of the table are enough; what lies outside of the band cannot be reached.
    let mut above = vec![f64::INFINITY; n + 1];
    let mut here = vec![f64::INFINITY; n + 1];
    above[0] = 0.0;
    for (row, value) in a.iter().take(n).enumerate() {
        here.fill(f64::INFINITY);
        let (first, last) = (row.saturating_sub(band), (row + band).min(n - 1));
        for column in first..=last {
            let apart = (value - b[column]).powi(2);
            let before = above[column].min(above[column + 1]).min(here[column]);
            here[column + 1] = apart + before;
        }
        std::mem::swap(&mut above, &mut here);
    }
    above[n]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By trying all ways.
    fn slow(a: &[f64], b: &[f64], band: usize) -> f64 {
        match (a, b) {
            ([x], [y]) => (x - y).powi(2),
            _ if a.is_empty() || b.is_empty() || a.len().abs_diff(b.len()) > band => f64::INFINITY,
            ([.., x], [.., y]) => {
                let (a_less, b_less) = (&a[..a.len() - 1], &b[..b.len() - 1]);
                let before = slow(a_less, b_less, band)
                    .min(slow(a_less, b, band))
                    .min(slow(a, b_less, band));
                (x - y).powi(2) + before
            }
            _ => f64::INFINITY,
        }
    }

    proptest! {
        #[test]
        fn as_by_trying_all_ways(values in prop::collection::vec((-5_i8..5, -5_i8..5), 1..7), band in 0_usize..4) {
            let a: Vec<f64> = values.iter().map(|(a, _)| f64::from(*a)).collect();
            let b: Vec<f64> = values.iter().map(|(_, b)| f64::from(*b)).collect();
            prop_assert_eq!(warped_distance(&a, &b, band), slow(&a, &b, band));
        }
    }

    #[test]
    fn a_shift_within_the_band_costs_little() {
        let wave = |shift: usize| -> Vec<f64> {
            (0..240)
                .map(|at| f64::from(u8::from((at + shift) % 37 < 9)))
                .collect()
        };
        let (straight, warped) = (
            warped_distance(&wave(0), &wave(5), 0),
            warped_distance(&wave(0), &wave(5), 6),
        );
        assert!(straight > 50.0 && warped <= 5.0, "{straight} {warped}");
    }
}
