//! Series that belong together: Algorithm 1 of the PubCrawl paper, and a rule that knows what chance does.
//!
//! The paper calls two series alike when the distance of the normalised series is small. Two samples of one schedule differ by
//! counting noise alone, so at a thousand requests nothing is alike, and at a million everything that is merely flat, or merely
//! follows the day, is. Our rule asks two questions instead. Do the two differ by no more than their noise? And is what they share
//! *distinctive*: does it remain when the plain day of people, of any length and depth, is taken away from both?

mod bisect;
mod fingerprint;
mod paper;
mod warp;

use std::collections::BTreeMap;

pub use bisect::learn_k;
pub use bisect::mean_k;
use fingerprint::BITS;
pub use fingerprint::Fingerprint;
use fingerprint::SEARCHED;
pub use fingerprint::Signs;
pub use paper::PAPER_K;
pub use paper::algorithm_1;
pub use warp::warped_distance;

/// Members from which a cluster is a campaign.
pub const MEMBERS_MIN: usize = 3;

/// How alike two series must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Deviations of chance by which their distinctive parts agree.
    pub chance_min: f64,
    /// The same for two that share another trait: then few others could be mistaken for them.
    pub chance_min_kin: f64,
    /// Correlation of their distinctive parts once noise is accounted for.
    pub alike_min: f64,
    /// How much they may differ, in units of the noise.
    pub difference_max: f64,
    /// Two that share another trait and are both plain need only be alike within their noise...
    pub difference_max_kin: f64,
    /// ...and as busy as each other, to this share.
    pub volumes_min_kin: f64,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule {
            chance_min: 6.0,
            chance_min_kin: 3.0,
            alike_min: 0.8,
            difference_max: 2.0,
            difference_max_kin: 1.5,
            volumes_min_kin: 0.75,
        }
    }
}

/// How alike two series are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    /// Deviations of chance by which their distinctive parts agree.
    pub chance: f64,
    /// Correlation of their distinctive parts once noise is accounted for.
    pub alike: f64,
    /// How much they differ, in units of the noise.
    pub difference: f64,
    /// The smaller volume over the larger.
    pub volumes: f64,
}

impl Rule {
    fn accepts(&self, likeness: Likeness, is_kin: bool) -> bool {
        let chance_min = if is_kin {
            self.chance_min_kin
        } else {
            self.chance_min
        };
        let by_shape = likeness.chance >= chance_min
            && likeness.alike >= self.alike_min
            && likeness.difference <= self.difference_max;
        let by_kin = is_kin
            && likeness.difference <= self.difference_max_kin
            && likeness.volumes >= self.volumes_min_kin;
        by_shape || by_kin
    }
}

/// Medoids of one kin that a joining series is compared with.
const KIN_MAX: usize = 64;
/// Series up to which those ahead and behind are searched, too.
const LAGS_SERIES_MAX: usize = 20_000;
/// Bands in which two sketches must agree for the series to be compared: unrelated ones do in one of five hundred.
const AGREEING_MIN: u8 = 2;

/// Clusters that are found while series come in, heaviest first; the founder of each stands for it.
///
/// To compare each series with each founder would take hours for a hundred thousand. Sketches are cut into bands of bits instead, and
/// only those that agree in two bands are compared. Bands are the wider the more series there are, so that few agree by chance.
struct Clusters<'a> {
    prints: &'a [&'a Fingerprint],
    kin: &'a [Option<u64>],
    rule: Rule,
    /// Bits of a band, and lags that are searched.
    width: usize,
    lags: usize,
    /// Places of founders by the value of each band.
    bands: Vec<Vec<u32>>,
    by_kin: BTreeMap<u64, Vec<u32>>,
    /// In how many bands each founder agrees with the series at hand, and for which founders that is any.
    agreeing: Vec<u8>,
    touched: Vec<u32>,
}

/// The founder of each series' cluster. Series come in their order; those of one kin share another trait.
pub fn cluster(prints: &[&Fingerprint], kin: &[Option<u64>], rule: Rule) -> Vec<u32> {
    let width = (prints.len().max(2).ilog2() as usize)
        .saturating_sub(4)
        .clamp(8, 11);
    let mut clusters = Clusters {
        prints,
        kin,
        rule,
        width,
        // Among very many only those on time: what shares another trait is compared at all lags anyway.
        lags: if prints.len() > LAGS_SERIES_MAX {
            1
        } else {
            SEARCHED
        },
        bands: vec![Vec::new(); (BITS / width) << width],
        by_kin: BTreeMap::new(),
        agreeing: vec![0; prints.len()],
        touched: Vec::new(),
    };
    (0..prints.len() as u32)
        .map(|place| clusters.join(place))
        .collect()
}

impl Clusters<'_> {
    /// Joins the most alike founder, or founds a cluster.
    fn join(&mut self, place: u32) -> u32 {
        let print = self.prints[place as usize];
        let kin = self.kin.get(place as usize).copied().flatten();
        let mut candidates = self.candidates(print);
        if let Some(founders) = kin.and_then(|kin| self.by_kin.get(&kin)) {
            candidates.extend(founders);
        }
        let mut best: Option<(f64, u32)> = None;
        for founder in candidates {
            let is_kin = kin.is_some() && self.kin[founder as usize] == kin;
            let likeness = print.likeness(self.prints[founder as usize]);
            let is_better = best.is_none_or(|(least, _)| likeness.difference < least);
            if is_better && self.rule.accepts(likeness, is_kin) {
                best = Some((likeness.difference, founder));
            }
        }
        match best {
            Some((_, founder)) => founder,
            None => {
                self.found(place, kin);
                place
            }
        }
    }

    /// Founders whose sketches agree with that of a series.
    fn candidates(&mut self, print: &Fingerprint) -> Vec<u32> {
        let mut found = Vec::new();
        if !print.is_distinctive() {
            return found;
        }
        for (lag, band) in
            (0..self.lags).flat_map(|lag| (0..BITS / self.width).map(move |band| (lag, band)))
        {
            let at = band << self.width | print.band(lag, band, self.width);
            for founder in &self.bands[at] {
                let agreeing = &mut self.agreeing[*founder as usize];
                match *agreeing {
                    0 => self.touched.push(*founder),
                    bands if bands + 1 == AGREEING_MIN => found.push(*founder),
                    _ => {}
                }
                *agreeing = agreeing.saturating_add(1);
            }
        }
        for founder in self.touched.drain(..) {
            self.agreeing[founder as usize] = 0;
        }
        found.retain(|founder| print.is_near(self.prints[*founder as usize]));
        found
    }

    fn found(&mut self, place: u32, kin: Option<u64>) {
        let print = self.prints[place as usize];
        if let Some(kin) = kin {
            let founders = self.by_kin.entry(kin).or_default();
            if founders.len() < KIN_MAX {
                founders.push(place);
            }
        }
        if print.is_distinctive() {
            for band in 0..BITS / self.width {
                let at = band << self.width | print.band(0, band, self.width);
                self.bands[at].push(place);
            }
        }
    }
}

/// Clusters that are compared by warping: each pair takes as long as a thousand that are not.
const WARPED_MAX: usize = 400;

/// Joins clusters of which one runs ahead of the other by up to so many half hours: the same schedule by another clock. `founders` are
/// those of each series, as [`cluster`] gives them; the heaviest come first.
pub fn join_shifted(prints: &[&Fingerprint], founders: &mut [u32], band: usize, rule: Rule) {
    let mut heads: Vec<u32> = founders.to_vec();
    heads.sort_unstable();
    heads.dedup();
    heads.retain(|head| prints[*head as usize].is_distinctive());
    heads.truncate(WARPED_MAX);
    let mut into: BTreeMap<u32, u32> = BTreeMap::new();
    for (at, head) in heads.iter().enumerate() {
        let print = prints[*head as usize];
        let mut earlier = heads[..at].iter().filter(|other| !into.contains_key(other));
        let found = earlier.find(|other| {
            let other = prints[**other as usize];
            let likeness = print.likeness_within(band, other);
            likeness.chance >= rule.chance_min
                && likeness.alike >= rule.alike_min
                && print.warped(other, band) <= rule.difference_max
        });
        if let Some(other) = found.copied() {
            into.insert(*head, other);
        }
    }
    for founder in founders {
        *founder = into.get(founder).copied().unwrap_or(*founder);
    }
}

/// How found clusters agree with campaigns that are known. Clusters of fewer than three are none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Agreement {
    /// Share of clustered series that belong to the campaign that most of their cluster belong to.
    pub precision: f64,
    /// Share of the campaigns' series that are in the cluster which most of their campaign are in.
    pub recall: f64,
    /// Share of all series that were rightly called members of a campaign or not.
    pub accuracy: f64,
    /// Share of pairs within clusters that belong together.
    pub pair_precision: f64,
    /// Share of pairs that belong together that are within one cluster.
    pub pair_recall: f64,
}

/// Compares clusters with campaigns; `None` is a series of no campaign.
pub fn agreement(clusters: &[u32], campaigns: &[Option<u32>]) -> Agreement {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    clusters
        .iter()
        .for_each(|cluster| *sizes.entry(*cluster).or_default() += 1);
    let found = |cluster: u32| (sizes[&cluster] >= MEMBERS_MIN).then_some(cluster);
    let mut both: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut by_cluster: BTreeMap<u32, u64> = BTreeMap::new();
    let mut by_campaign: BTreeMap<u32, u64> = BTreeMap::new();
    let mut right = 0;
    for (cluster, campaign) in clusters.iter().zip(campaigns) {
        let cluster = found(*cluster);
        right += u64::from(cluster.is_some() == campaign.is_some());
        if let Some(cluster) = cluster {
            *by_cluster.entry(cluster).or_default() += 1;
        }
        if let Some(campaign) = campaign {
            *by_campaign.entry(*campaign).or_default() += 1;
        }
        if let Some(pair) = cluster.zip(*campaign) {
            *both.entry(pair).or_default() += 1;
        }
    }
    let mut most_of_cluster: BTreeMap<u32, u64> = BTreeMap::new();
    let mut most_of_campaign: BTreeMap<u32, u64> = BTreeMap::new();
    for ((cluster, campaign), count) in &both {
        let most = most_of_cluster.entry(*cluster).or_default();
        *most = (*most).max(*count);
        let most = most_of_campaign.entry(*campaign).or_default();
        *most = (*most).max(*count);
    }
    let pairs = |counts: &mut dyn Iterator<Item = &u64>| {
        counts
            .map(|count| count * count.saturating_sub(1) / 2)
            .sum::<u64>()
    };
    let together = pairs(&mut both.values());
    Agreement {
        precision: share(most_of_cluster.values().sum(), by_cluster.values().sum()),
        recall: share(most_of_campaign.values().sum(), by_campaign.values().sum()),
        accuracy: share(right, clusters.len() as u64),
        pair_precision: share(together, pairs(&mut by_cluster.values())),
        pair_recall: share(together, pairs(&mut by_campaign.values())),
    }
}

/// Of nothing, everything is right.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folds::Shuffler;

    const POINTS: usize = 240;

    /// Requests by a schedule that works and rests for random spans, thinned by chance.
    fn by_schedule(schedule: u64, member: u64, ahead: usize) -> Vec<f64> {
        let mut plan = Shuffler::new(schedule);
        let mut is_on = true;
        let levels: Vec<bool> = (0..POINTS)
            .map(|_| {
                is_on ^= plan.next().is_multiple_of(9);
                is_on
            })
            .collect();
        let mut chance = Shuffler::new(schedule << 32 | member);
        (0..POINTS)
            .map(|at| match levels[(at + ahead) % POINTS] {
                true => (0..80).filter(|_| chance.next().is_multiple_of(2)).count() as f64,
                false => 0.0,
            })
            .collect()
    }

    /// The same all the time but for chance.
    fn flat(member: u64) -> Vec<f64> {
        let mut chance = Shuffler::new(member);
        (0..POINTS)
            .map(|_| (0..80).filter(|_| chance.next().is_multiple_of(2)).count() as f64)
            .collect()
    }

    fn prints(series: &[Vec<f64>]) -> Vec<Fingerprint> {
        let signs = Signs::new(POINTS);
        series
            .iter()
            .map(|series| Fingerprint::of(series, &signs))
            .collect()
    }

    #[test]
    fn schedules_are_told_apart_and_a_flat_series_is_nobodys() {
        let mut series: Vec<Vec<f64>> = (0..4).map(|member| by_schedule(1, member, 0)).collect();
        series.extend((0..4).map(|member| by_schedule(2, member, 0)));
        series.extend((0..4).map(flat));
        let prints = prints(&series);
        let prints: Vec<&Fingerprint> = prints.iter().collect();
        let nobody = [None; 12];
        let found = cluster(&prints, &nobody, Rule::default());
        assert_eq!(found, [0, 0, 0, 0, 4, 4, 4, 4, 8, 9, 10, 11]);
        // Those who share an agent and a volume need no more than not to differ.
        let kin: Vec<Option<u64>> = (0..12).map(|at| (at >= 8).then_some(7)).collect();
        assert_eq!(cluster(&prints, &kin, Rule::default())[8..], [8, 8, 8, 8]);
    }

    #[test]
    fn half_an_hour_early_is_the_same_schedule_and_six_hours_only_when_asked() {
        let series: Vec<Vec<f64>> = [0, 1, 12]
            .into_iter()
            .zip(0..)
            .map(|(ahead, member)| by_schedule(3, member, ahead))
            .collect();
        let prints = prints(&series);
        let prints: Vec<&Fingerprint> = prints.iter().collect();
        let mut found = cluster(&prints, &[None; 3], Rule::default());
        assert_eq!(found, [0, 0, 2]);
        join_shifted(&prints, &mut found, 16, Rule::default());
        assert_eq!(found, [0, 0, 0]);
    }

    #[test]
    fn extreme_series_are_no_trouble() {
        let series = [
            vec![0.0; POINTS],
            vec![1e300; POINTS],
            (0..POINTS)
                .map(|at| if at == 7 { 1e12 } else { 0.0 })
                .collect(),
            vec![1.0; POINTS],
        ];
        let prints = prints(&series);
        let prints: Vec<&Fingerprint> = prints.iter().collect();
        let found = cluster(&prints, &[Some(1); 4], Rule::default());
        assert_eq!(found.len(), 4);
        let short: Vec<Vec<f64>> = vec![vec![1.0], vec![2.0]];
        let signs = Signs::new(1);
        let short: Vec<Fingerprint> = short
            .iter()
            .map(|series| Fingerprint::of(series, &signs))
            .collect();
        let short: Vec<&Fingerprint> = short.iter().collect();
        assert_eq!(cluster(&short, &[None; 2], Rule::default()).len(), 2);
    }

    #[test]
    fn agreement_counts_members_and_pairs() {
        // Two campaigns of four and three, one series of none; one cluster of the first with a stray, one of the second.
        let campaigns = [
            Some(0),
            Some(0),
            Some(0),
            Some(0),
            Some(1),
            Some(1),
            Some(1),
            None,
        ];
        let found = agreement(&[0, 0, 0, 3, 4, 4, 4, 0], &campaigns);
        assert_eq!(found.precision, 6.0 / 7.0);
        assert_eq!(found.recall, 6.0 / 7.0);
        assert_eq!(found.accuracy, 6.0 / 8.0);
        assert_eq!(found.pair_precision, 6.0 / 9.0);
        assert_eq!(found.pair_recall, 6.0 / 9.0);
        let none = agreement(&[0, 1, 2], &[None, None, None]);
        assert_eq!(
            (none.precision, none.recall, none.accuracy),
            (1.0, 1.0, 1.0)
        );
    }
}
