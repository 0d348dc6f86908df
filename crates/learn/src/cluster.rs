//! Series that belong together: Algorithm 1 of the PubCrawl paper, and a rule that knows what chance does.
//!
//! The paper calls two series alike when the distance of the normalised series is small. Two samples of one schedule differ by
//! counting noise alone, so at a thousand requests nothing is alike, and at a million everything that is merely flat, or merely
//! follows the day, is. Our rule asks two questions instead. Do the two differ by no more than their noise? And is what they share
//! *distinctive*: does it remain when the plain day of people, of any length and depth, is taken away from both?

mod fingerprint;
mod paper;
mod warp;

use std::collections::BTreeMap;

pub use fingerprint::BITS;
pub use fingerprint::Fingerprint;
pub use fingerprint::Signs;
pub use paper::PAPER_K;
pub use paper::algorithm_1;
pub use paper::learn_k;
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
/// Bits of a band: series that agree in all bits of one are compared.
const BAND: usize = 8;
const BANDS: usize = BITS / BAND;
/// Bits that may differ before two series are compared in full. Half of them differ by chance, with a deviation of 8; a correlation
/// of 0.4 leaves 95.
const BITS_MAX: u32 = 102;

/// Clusters that are found while series come in, heaviest first; the founder of each stands for it.
struct Clusters<'a> {
    prints: &'a [Fingerprint],
    kin: &'a [Option<u64>],
    rule: Rule,
    /// Places of founders by the value of each band.
    bands: Vec<Vec<u32>>,
    by_kin: BTreeMap<u64, Vec<u32>>,
    /// The founder with which a place was compared last, so that none is compared twice.
    seen: Vec<u32>,
}

/// The founder of each series' cluster. Series come in their order; those of one kin share another trait.
pub fn cluster(prints: &[Fingerprint], kin: &[Option<u64>], rule: Rule) -> Vec<u32> {
    let mut clusters = Clusters {
        prints,
        kin,
        rule,
        bands: vec![Vec::new(); BANDS << BAND],
        by_kin: BTreeMap::new(),
        seen: vec![u32::MAX; prints.len()],
    };
    (0..prints.len() as u32)
        .map(|place| clusters.join(place))
        .collect()
}

impl Clusters<'_> {
    /// Joins the most alike founder, or founds a cluster.
    fn join(&mut self, place: u32) -> u32 {
        let print = &self.prints[place as usize];
        let kin = self.kin.get(place as usize).copied().flatten();
        let mut best: Option<(f64, u32)> = None;
        let mut consider = |founder: u32, seen: &mut [u32]| {
            if std::mem::replace(&mut seen[founder as usize], place) == place {
                return;
            }
            let is_kin = kin.is_some() && self.kin[founder as usize] == kin;
            let other = &self.prints[founder as usize];
            if !is_kin && print.differing_bits(other) > BITS_MAX {
                return;
            }
            let likeness = print.likeness(other);
            if self.rule.accepts(likeness, is_kin)
                && best.is_none_or(|(least, _)| likeness.difference < least)
            {
                best = Some((likeness.difference, founder));
            }
        };
        let mut seen = std::mem::take(&mut self.seen);
        if let Some(founders) = kin.and_then(|kin| self.by_kin.get(&kin)) {
            for founder in founders {
                consider(*founder, &mut seen);
            }
        }
        if print.is_distinctive() {
            for band in 0..BANDS {
                for founder in &self.bands[place_of(print, band)] {
                    consider(*founder, &mut seen);
                }
            }
        }
        self.seen = seen;
        match best {
            Some((_, founder)) => founder,
            None => {
                self.found(place, kin);
                place
            }
        }
    }

    fn found(&mut self, place: u32, kin: Option<u64>) {
        let print = &self.prints[place as usize];
        if let Some(kin) = kin {
            let founders = self.by_kin.entry(kin).or_default();
            if founders.len() < KIN_MAX {
                founders.push(place);
            }
        }
        if print.is_distinctive() {
            for band in 0..BANDS {
                self.bands[place_of(print, band)].push(place);
            }
        }
    }
}

fn place_of(print: &Fingerprint, band: usize) -> usize {
    band << BAND | print.band(band, BAND)
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
