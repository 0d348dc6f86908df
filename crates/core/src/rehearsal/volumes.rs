//! How much sources send on a day: the numbers behind the paper's Table 9 and Figures 6 and 7.

use std::collections::BTreeMap;

use crate::report::Band;

/// Sources by how much they sent on a day, for each band. A source counts once for each day it was seen.
#[derive(Debug, Default)]
pub struct Volumes([BTreeMap<u32, u64>; Band::ALL.len()]);

impl Volumes {
    pub(super) fn add(&mut self, band: Band, volume: u32) {
        *self.0[band as usize].entry(volume).or_default() += 1;
    }

    /// Sources of some bands with more than `above` and at most `most` a day, and what they sent.
    pub fn between(&self, bands: &[Band], above: u32, most: u32) -> (u64, u64) {
        let mut found = (0, 0);
        if above >= most {
            return found;
        }
        for band in bands {
            for (volume, sources) in self.0[*band as usize].range(above + 1..=most) {
                found.0 += sources;
                found.1 += sources * u64::from(*volume);
            }
        }
        found
    }

    /// All sources of some bands, and what they sent.
    pub fn all(&self, bands: &[Band]) -> (u64, u64) {
        self.between(bands, 0, u32::MAX)
    }

    /// The share of sources in [`Volumes::between`].
    pub fn share_of_sources(&self, bands: &[Band], above: u32, most: u32) -> f64 {
        share(self.between(bands, above, most).0, self.all(bands).0)
    }

    /// The share of what sources in [`Volumes::between`] sent.
    pub fn share_of_requests(&self, bands: &[Band], above: u32, most: u32) -> f64 {
        share(self.between(bands, above, most).1, self.all(bands).1)
    }

    /// Shares of sources, and of what they sent, up to each of some volumes: the distributions of Figures 6 and 7.
    pub fn distribution(&self, bands: &[Band], volumes: &[u32]) -> Vec<(u32, f64, f64)> {
        volumes
            .iter()
            .map(|volume| {
                (
                    *volume,
                    self.share_of_sources(bands, 0, *volume),
                    self.share_of_requests(bands, 0, *volume),
                )
            })
            .collect()
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
