//! What findings are worth together, in decibans: logistic regression with a penalty and with bounds on each weight.

/// Decibans of one unit of log-odds.
pub const DECIBANS: f64 = 10.0 / std::f64::consts::LN_10;

/// One example: the findings it has, and its class.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Numbers of the findings, and how much of each: 1 where it is there or not.
    pub findings: Vec<(usize, f64)>,
    /// Which of the two classes.
    pub is_positive: bool,
}

/// Steps of the descent; more change no digit that is written.
const STEPS: usize = 2000;

/// What is known of a finding's weight before any example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// What it is worth in decibans where no example says otherwise.
    pub usual: f64,
    /// The lowest it can be.
    pub low: f64,
    /// The highest it can be.
    pub high: f64,
}

/// Weights of findings in decibans. Both classes count the same, so that weights are ratios of likelihoods and not the mix of the
/// examples; there is no constant, as no findings must mean nothing. The penalty holds weights near what they usually are: a finding
/// that no example has keeps its usual weight.
pub fn learn(examples: &[Found], priors: &[Prior], penalty: f64) -> Vec<f64> {
    let positives = examples.iter().filter(|found| found.is_positive).count();
    let negatives = examples.len() - positives;
    if positives == 0 || negatives == 0 {
        return priors.iter().map(|prior| prior.usual).collect();
    }
    let usual: Vec<f64> = priors.iter().map(|prior| prior.usual / DECIBANS).collect();
    let mut weights = usual.clone();
    let all = examples.len() as f64;
    let share =
        |is_positive: bool| all / 2.0 / if is_positive { positives } else { negatives } as f64;
    // How steep each direction can be at most, so that a step never leaps over the lowest point.
    let mut steep = vec![penalty; priors.len()];
    for found in examples {
        let all: f64 = found.findings.iter().map(|(_, much)| much.abs()).sum();
        for (at, much) in &found.findings {
            steep[*at] += share(found.is_positive) * 0.25 * all * much.abs();
        }
    }
    let mut slope = vec![0.0_f64; priors.len()];
    for _ in 0..STEPS {
        for (at, slope) in slope.iter_mut().enumerate() {
            *slope = penalty * (weights[at] - usual[at]);
        }
        for found in examples {
            let findings = found.findings.iter();
            let sum: f64 = findings.map(|(at, much)| weights[*at] * much).sum();
            let likely = 1.0 / (1.0 + (-sum).exp());
            let error = likely - f64::from(u8::from(found.is_positive));
            for (at, much) in &found.findings {
                slope[*at] += share(found.is_positive) * error * much;
            }
        }
        for (at, weight) in weights.iter_mut().enumerate() {
            let (low, high) = (priors[at].low / DECIBANS, priors[at].high / DECIBANS);
            *weight = (*weight - slope[at] / steep[at]).clamp(low, high);
        }
    }
    weights.iter().map(|weight| weight * DECIBANS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(with: [usize; 2], without: [usize; 2]) -> Vec<Found> {
        let mut all = Vec::new();
        for (findings, counts) in [(vec![(0, 1.0)], with), (Vec::new(), without)] {
            for (is_positive, count) in [(true, counts[0]), (false, counts[1])] {
                let found = Found {
                    findings: findings.clone(),
                    is_positive,
                };
                all.extend(std::iter::repeat_n(found, count));
            }
        }
        all
    }

    const FREE: Prior = Prior {
        usual: 0.0,
        low: 0.0,
        high: 30.0,
    };

    #[test]
    fn a_finding_ten_times_as_likely_on_one_class_moves_the_odds_tenfold() {
        // Without a constant the rest of each class pulls a little; one side alone has it here.
        let weights = learn(&examples([1000, 100], [0, 0]), &[FREE], 1e-6);
        assert!(
            weights[0].abs() < 0.1,
            "each class counts the same: {weights:?}"
        );
        let weights = learn(&examples([1000, 100], [1000, 1900]), &[FREE], 1e-6);
        assert!((weights[0] - 10.0).abs() < 0.1, "{weights:?}");
    }

    #[test]
    fn how_much_of_a_finding_there_is_counts() {
        // Half a finding for one class, a whole one for the other: the factor must lie between.
        let example = |much: f64, is_positive: bool| Found {
            findings: vec![(0, much)],
            is_positive,
        };
        let mut all = vec![example(2.0, true); 90];
        all.extend(vec![example(2.0, false); 10]);
        all.extend(vec![example(-2.0, false); 80]);
        let prior = Prior { low: 0.0, ..FREE };
        let weight = learn(&all, &[prior], 1e-6)[0];
        let odds = (weight / DECIBANS * 2.0).exp();
        assert!((8.0..20.0).contains(&odds), "{weight} {odds}");
    }

    #[test]
    fn bounds_and_what_is_usual_hold() {
        let sure = examples([50, 0], [0, 50]);
        let within = |low: f64, high: f64| {
            let prior = Prior { low, high, ..FREE };
            learn(&sure, &[prior], 1e-6)[0]
        };
        assert!((within(0.0, 14.0) - 14.0).abs() < 1e-6);
        assert!(within(-5.0, 0.0).abs() < 1e-6);
        let usual = Prior { usual: 7.0, ..FREE };
        let unseen = learn(&examples([0, 0], [10, 10]), &[usual], 1.0);
        assert!((unseen[0] - 7.0).abs() < 1e-6, "{unseen:?}");
    }
}
