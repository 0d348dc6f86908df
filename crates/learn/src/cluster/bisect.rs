//! The k of Algorithm 1 from known campaigns, by bisecting clustering as the paper describes it.
//!
//! All series are one cluster, which is split in two again and again until each series stands alone. In this hierarchy each campaign has
//! a cluster that fits it best. How alike the series of that cluster are to its founder, times their deviation, is the k at which Algorithm 1
//! still keeps them together: a cut point. The paper took the coefficient that is best for all campaigns; so do we, among all cut points.

use std::collections::BTreeMap;

use super::MEMBERS_MIN;
use super::agreement;
use super::paper::Normal;
use super::paper::PAPER_K;
use super::paper::cluster;

/// Series that are split, the heaviest first: a hierarchy can be as deep as there are series.
const SERIES_MAX: usize = 1500;
/// Rounds of moving series to the nearer of two means.
const ROUNDS: usize = 4;
/// Shares of a campaign's series that a cut may leave out: one odd member must not set the threshold for all.
const LEFT_OUT: [f64; 4] = [0.0, 0.1, 0.25, 0.5];
/// Candidates that are tried, so that a log with a thousand campaigns takes no longer than one with a hundred.
const TRIED_MAX: usize = 200;

/// The k with which clusters agree best with known campaigns, by the sum of precision and recall of pairs; `None` where no campaign has
/// three series. Series come heaviest first.
pub fn learn_k(series: &[impl AsRef<[f64]>], campaigns: &[Option<u32>]) -> Option<f64> {
    let series = series.iter().take(SERIES_MAX);
    let series: Vec<Normal> = series.map(|counts| Normal::of(counts.as_ref())).collect();
    let campaigns = &campaigns[..series.len().min(campaigns.len())];
    let mut best: Option<(f64, f64)> = None;
    for k in cut_points(&series, campaigns) {
        let found = agreement(&cluster(&series, k), campaigns);
        let score = found.pair_precision + found.pair_recall;
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, k));
        }
    }
    best.map(|(_, k)| k)
}

/// Values of k at which campaigns come out whole, or nearly so.
fn cut_points(series: &[Normal], campaigns: &[Option<u32>]) -> Vec<f64> {
    let nodes = best_nodes(series, campaigns);
    let mut cuts = Vec::new();
    if !nodes.is_empty() {
        // Series that are all the same have no cut point; the paper's own value is as good as any then.
        cuts.push(PAPER_K);
    }
    for (campaign, node) in nodes {
        let founder = &series[node[0] as usize];
        let members = node[1..].iter().map(|at| *at as usize);
        let members = members.filter(|at| campaigns[*at] == Some(campaign));
        let mut alike: Vec<f64> = members
            .map(|at| series[at].similarity(founder) * series[at].deviation())
            .filter(|alike| alike.is_finite() && *alike > 0.0)
            .collect();
        alike.sort_by(f64::total_cmp);
        for share in LEFT_OUT {
            let at = (alike.len() as f64 * share) as usize;
            // A series joins only where it is more alike than k asks for.
            cuts.extend(alike.get(at).map(|alike| alike * 0.999));
        }
    }
    cuts.sort_by(f64::total_cmp);
    cuts.dedup_by(|a, b| *a <= *b * 1.02);
    // The largest first: of values that are as good, the strictest.
    cuts.reverse();
    let step = cuts.len().div_ceil(TRIED_MAX).max(1);
    cuts.into_iter().step_by(step).collect()
}

/// The cluster of the hierarchy that fits each campaign best, its series in their order.
fn best_nodes(series: &[Normal], campaigns: &[Option<u32>]) -> BTreeMap<u32, Vec<u32>> {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    for campaign in campaigns.iter().flatten() {
        *sizes.entry(*campaign).or_default() += 1;
    }
    sizes.retain(|_, size| *size >= MEMBERS_MIN);
    let mut best: BTreeMap<u32, (f64, Vec<u32>)> = BTreeMap::new();
    let mut open: Vec<Vec<u32>> = vec![(0..campaigns.len() as u32).collect()];
    while let Some(node) = open.pop() {
        let mut shared: BTreeMap<u32, usize> = BTreeMap::new();
        for campaign in node.iter().filter_map(|at| campaigns[*at as usize]) {
            *shared.entry(campaign).or_default() += 1;
        }
        shared.retain(|campaign, shared| *shared >= 2 && sizes.contains_key(campaign));
        for (campaign, shared) in &shared {
            let fit = 2.0 * *shared as f64 / (node.len() + sizes[campaign]) as f64;
            if best.get(campaign).is_none_or(|(most, _)| fit > *most) {
                best.insert(*campaign, (fit, node.clone()));
            }
        }
        // Below a node in which no campaign has two series there is nothing to find.
        if !shared.is_empty() && node.len() > 2 {
            open.extend(split(series, &node).into_iter().flatten());
        }
    }
    let best = best.into_iter();
    best.map(|(campaign, (_, node))| (campaign, node)).collect()
}

/// Two parts, by two means that begin far apart; nothing where all series are the same.
fn split(series: &[Normal], node: &[u32]) -> Option<[Vec<u32>; 2]> {
    let values = |at: u32| series[at as usize].values();
    let farthest = |from: &[f32]| {
        let away = |at: &u32| (distance(values(*at), from), std::cmp::Reverse(*at));
        let order = |a: &u32, b: &u32| {
            let ((near, first), (far, second)) = (away(a), away(b));
            near.total_cmp(&far).then(first.cmp(&second))
        };
        node.iter().copied().max_by(order)
    };
    let one = farthest(&mean(series, node))?;
    let other = farthest(values(one))?;
    if distance(values(one), values(other)) == 0.0 {
        return None;
    }
    let mut means = [values(one).to_vec(), values(other).to_vec()];
    let mut parts = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let is_first =
            |at: &u32| distance(values(*at), &means[0]) <= distance(values(*at), &means[1]);
        let (first, second): (Vec<u32>, Vec<u32>) = node.iter().copied().partition(is_first);
        if first.is_empty() || second.is_empty() {
            break;
        }
        means = [mean(series, &first), mean(series, &second)];
        parts = [first, second];
    }
    (!parts[0].is_empty()).then_some(parts)
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn mean(series: &[Normal], node: &[u32]) -> Vec<f32> {
    let points = node
        .first()
        .map_or(0, |at| series[*at as usize].values().len());
    let mut mean = vec![0.0; points];
    for at in node {
        for (mean, value) in mean.iter_mut().zip(series[*at as usize].values()) {
            *mean += value / node.len() as f32;
        }
    }
    mean
}

/// The geometric mean of several k with three decimals: k is a factor.
pub fn mean_k(found: impl ExactSizeIterator<Item = f64>) -> f64 {
    let many = found.len().max(1) as f64;
    let mean = (found.map(f64::ln).sum::<f64>() / many).exp();
    (mean * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folds::Shuffler;

    const POINTS: usize = 240;

    /// Two campaigns by schedules of their own, thinned by chance, and others who come when they like.
    fn world() -> (Vec<Vec<f64>>, Vec<Option<u32>>) {
        let mut series = Vec::new();
        let mut campaigns = Vec::new();
        for member in 0..24 {
            let campaign = (member < 16).then_some(member as u32 % 2);
            let schedule = campaign.map_or(100 + member, u64::from);
            let mut plan = Shuffler::new(schedule + 1);
            let mut chance = Shuffler::new(member << 32 | 7);
            let mut is_on = true;
            let counts = (0..POINTS).map(|_| {
                is_on ^= plan.next().is_multiple_of(7);
                let tries = if is_on { 80 } else { 4 };
                (0..tries)
                    .filter(|_| chance.next().is_multiple_of(2))
                    .count() as f64
            });
            series.push(counts.collect());
            campaigns.push(campaign);
        }
        (series, campaigns)
    }

    #[test]
    fn the_learned_k_brings_known_campaigns_back() {
        let (series, campaigns) = world();
        let k = learn_k(&series, &campaigns).unwrap();
        let found = agreement(&super::super::algorithm_1(&series, k), &campaigns);
        assert!(
            found.pair_precision > 0.99 && found.pair_recall > 0.9,
            "k {k}: {found:?}"
        );
        // The paper's own k is for its own volumes.
        let paper = super::super::algorithm_1(&series, PAPER_K);
        assert!(agreement(&paper, &campaigns).pair_recall < 0.1);
    }

    #[test]
    fn without_a_campaign_of_three_nothing_is_learned() {
        let (series, campaigns) = world();
        assert_eq!(learn_k(&series, &vec![None; series.len()]), None);
        let pairs: Vec<Option<u32>> = (0..campaigns.len() as u32).map(|at| Some(at / 2)).collect();
        assert_eq!(learn_k(&series, &pairs), None);
        let same = vec![vec![1.0; POINTS]; 5];
        assert_eq!(learn_k(&same, &[Some(1); 5]), Some(PAPER_K));
    }
}
