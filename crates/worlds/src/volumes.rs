//! How many requests sources send in a day: the long tail of a large site, and figures that say whether a world has it.

use crate::random::Random;

/// Sources that send more than `above` and at most `most` requests a day, and the share of all requests that they send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Band {
    pub(crate) above: u32,
    pub(crate) most: u32,
    pub(crate) share: f64,
    /// How fast sources get fewer within the band: their number falls with this power of the volume. Not 1.
    pub(crate) falls: f64,
}

impl Band {
    /// How many sources there are among so many requests a day.
    pub(crate) fn sources(self, daily: f64) -> usize {
        let volumes = || (self.above + 1..=self.most).map(f64::from);
        let sources: f64 = volumes().map(|volume| volume.powf(-self.falls)).sum();
        let requests: f64 = volumes().map(|volume| volume.powf(1.0 - self.falls)).sum();
        let count = daily * self.share * sources / requests;
        (count.round() as usize).max(1)
    }

    /// Volumes of so many sources on one day, the lightest first. Their sum is the band's share as far as its limits allow: with a
    /// handful of sources in a band, chance alone would miss it.
    pub(crate) fn volumes(self, sources: usize, daily: f64, random: &mut Random) -> Vec<u32> {
        let power = 1.0 - self.falls;
        let low = (f64::from(self.above) + 0.5).powf(power);
        let high = (f64::from(self.most) + 0.5).powf(power);
        let mut volumes: Vec<u32> = (0..sources)
            .map(|which| {
                let place = (which as f64 + random.unit()) / sources as f64;
                let volume = (low + place * (high - low)).powf(power.recip());
                (volume.round() as u32).clamp(self.above + 1, self.most)
            })
            .collect();
        let wanted = (daily * self.share).round() as i64;
        loop {
            let missing = wanted - volumes.iter().map(|volume| i64::from(*volume)).sum::<i64>();
            let step = (missing.abs() / sources as i64).max(1) * missing.signum();
            let mut left = missing;
            for volume in &mut volumes {
                let step = if left == 0 { 0 } else { step };
                let (least, most) = (i64::from(self.above) + 1, i64::from(self.most));
                let moved = (i64::from(*volume) + step).clamp(least, most);
                left -= moved - i64::from(*volume);
                *volume = moved as u32;
            }
            if left == 0 || left == missing {
                break;
            }
        }
        volumes.sort_unstable();
        volumes
    }
}

/// Rows and columns of the paper's Table 9.
pub const TABLE_9_K1: [u32; 6] = [10, 15, 20, 25, 50, 100];
/// Columns of the paper's Table 9.
pub const TABLE_9_K2: [u32; 6] = [100, 500, 1000, 2000, 5000, 10_000];
/// The paper's Table 9: percent of all requests that are sent by sources with more than k1 and at most k2 requests a day.
pub const TABLE_9: [[f64; 6]; 6] = [
    [1.49, 2.95, 3.75, 4.82, 6.27, 7.88],
    [1.20, 2.66, 3.46, 4.53, 5.98, 7.58],
    [0.99, 2.44, 3.24, 4.32, 5.77, 7.37],
    [0.81, 2.27, 3.07, 4.14, 5.59, 7.19],
    [0.37, 1.83, 2.63, 3.70, 5.15, 6.75],
    [0.00, 1.46, 2.26, 3.33, 4.78, 6.38],
];

/// The distribution of volumes over sources and over requests. Each source counts once for each day on which it comes.
#[derive(Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The lightest first.
    volumes: Vec<u32>,
    requests: u64,
}

impl Distribution {
    /// Of volumes in any order.
    pub fn new(mut volumes: Vec<u32>) -> Distribution {
        volumes.sort_unstable();
        let requests = sum(&volumes);
        Distribution { volumes, requests }
    }

    /// How many sources, day for day.
    pub fn sources(&self) -> usize {
        self.volumes.len()
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The most that one source sent in a day.
    pub fn heaviest(&self) -> u32 {
        self.volumes.last().copied().unwrap_or_default()
    }

    /// Percent of sources that send at most so many requests a day: the paper's Figure 6.
    pub fn sources_up_to(&self, volume: u32) -> f64 {
        let lighter = self.volumes.partition_point(|other| *other <= volume);
        100.0 * lighter as f64 / self.volumes.len().max(1) as f64
    }

    /// Percent of requests by sources that send at most so many a day: the paper's Figure 7.
    pub fn requests_up_to(&self, volume: u32) -> f64 {
        let lighter = self.volumes.partition_point(|other| *other <= volume);
        100.0 * sum(&self.volumes[..lighter]) as f64 / self.requests.max(1) as f64
    }

    /// Percent of requests by sources with more than `k1` and at most `k2` a day: the paper's Table 9.
    pub fn requests_between(&self, k1: u32, k2: u32) -> f64 {
        self.requests_up_to(k2) - self.requests_up_to(k1)
    }
}

fn sum(volumes: &[u32]) -> u64 {
    volumes.iter().map(|volume| u64::from(*volume)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_has_its_share_where_its_limits_allow() {
        let band = Band {
            above: 100,
            most: 500,
            share: 0.0146,
            falls: 2.0,
        };
        let check = |daily: f64, sources: usize, sum: u32| {
            let volumes = band.volumes(sources, daily, &mut Random::new(1, 1));
            assert_eq!(volumes.iter().sum::<u32>(), sum);
            assert!(volumes.iter().all(|volume| (101..=500).contains(volume)));
        };
        assert_eq!(band.sources(2_750_000.0), 199);
        check(2_750_000.0, 200, 40_150);
        check(100_000.0, 7, 1460);
        // One source cannot send fewer than 101.
        check(1000.0, 1, 101);
        check(100_000.0, 1, 500);
    }

    #[test]
    fn shares_are_of_sources_and_of_requests() {
        let found = Distribution::new(vec![1, 1, 1, 17]);
        assert_eq!(found.sources_up_to(1), 75.0);
        assert_eq!(found.requests_up_to(1), 15.0);
        assert_eq!(found.requests_between(10, 100), 85.0);
        assert_eq!((found.sources(), found.heaviest()), (4, 17));
    }
}
