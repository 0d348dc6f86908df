//! A sample of the requests with their paths: bounded, and the same whatever the order of lines and the number of threads.
//!
//! Each request has a rank, a hash of what it is; the sample is the requests of the lowest ranks. Of a log that is not longer than
//! the sample, it is all of them.

use std::collections::BTreeMap;

use super::calls::Asked;
use crate::profile::Record;
use crate::profile::flag;
use crate::profile::path_of;
use crate::report::Band;
use crate::report::PathReport;
use crate::report::Paths;
use crate::request::Source;
use crate::text::printable;

/// Requests in the sample: enough that a path with a tenth of the requests is told to a thirtieth of that.
const SAMPLE: usize = 8192;
/// Bytes of a path that are kept.
const PATH_BYTES_MAX: usize = 120;
/// Paths of a campaign in a report.
const CAMPAIGN_PATHS_MAX: usize = 10;
/// Paths in a report.
const PATHS_MAX: usize = 50;

/// The requests of the lowest ranks.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    entries: Vec<Entry>,
    /// Ranks above this are not taken any more.
    limit: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    rank: u64,
    source: Source,
    time: u32,
    path: Box<[u8]>,
    requests: u64,
    errors: u64,
    /// Those that name another page.
    referred: u64,
}

impl Entry {
    /// Moves it out; its path is gone from where it was.
    fn take(&mut self) -> Entry {
        Entry {
            path: std::mem::take(&mut self.path),
            ..*self
        }
    }

    /// Adds another of the same rank. Two pages may have one hash: the path that comes first in the alphabet stands for both.
    fn join(&mut self, other: Entry) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.referred += other.referred;
        if other.path < self.path {
            self.path = other.path;
        }
    }
}

/// A path behind the name of its host.
fn on_host(host: &[u8], path: &[u8]) -> Box<[u8]> {
    let mut whole = host.to_ascii_lowercase();
    whole.extend(path);
    whole.truncate(PATH_BYTES_MAX);
    whole.into()
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            entries: Vec::new(),
            limit: u64::MAX,
        }
    }
}

impl Sample {
    /// Takes a page request into account; `host` is empty where hosts are not told apart.
    #[inline]
    pub(super) fn offer(&mut self, record: &Record, host: &[u8], target: &[u8], status: u16) {
        if !record.is_page() {
            return;
        }
        let rank = record.rank();
        if rank <= self.limit {
            self.take(rank, record, host, target, status);
        }
    }

    #[cold]
    #[inline(never)]
    fn take(&mut self, rank: u64, record: &Record, host: &[u8], target: &[u8], status: u16) {
        let path = path_of(target);
        let path = match host {
            // The usual case, without a copy that would be cut to its size.
            [] => path[..path.len().min(PATH_BYTES_MAX)].into(),
            _ => on_host(host, path),
        };
        self.entries.push(Entry {
            rank,
            source: record.source(),
            time: record.time,
            path,
            requests: 1,
            errors: u64::from(status >= 400),
            referred: u64::from(record.has(flag::REFERRER_LINK)),
        });
        if self.entries.len() >= 2 * SAMPLE {
            self.shrink();
        }
    }

    /// Requests of one rank, a source's for one page in one second, are one entry however many they are; of too many entries the
    /// lowest stay.
    fn shrink(&mut self) {
        // Ranks are sorted, and not the entries, which are four times as long.
        let ranks = self.entries.iter().map(|entry| entry.rank);
        let mut order: Vec<(u64, u32)> = ranks.zip(0..).collect();
        order.sort_unstable();
        let mut kept: Vec<Entry> = Vec::with_capacity(2 * SAMPLE);
        for (rank, at) in order {
            let entry = self.entries[at as usize].take();
            if let Some(same) = kept.last_mut().filter(|last| last.rank == rank) {
                same.join(entry);
            } else if kept.len() < SAMPLE {
                kept.push(entry);
            } else {
                break;
            }
        }
        if kept.len() == SAMPLE {
            self.limit = kept[SAMPLE - 1].rank;
        }
        self.entries = kept;
    }

    /// Adds what another thread has.
    pub(super) fn absorb(&mut self, other: &Sample) {
        self.limit = self.limit.min(other.limit);
        self.entries.extend(other.entries.iter().cloned());
        self.entries.retain(|entry| entry.rank <= self.limit);
        self.shrink();
    }

    /// Sources in the sample, each once, by the table they are in.
    pub(super) fn sources(
        &self,
        tables: usize,
        table: impl Fn(Source) -> usize,
    ) -> Vec<Vec<Source>> {
        let mut sources: Vec<Source> = self.entries.iter().map(|entry| entry.source).collect();
        sources.sort_unstable();
        sources.dedup();
        let mut by_table = vec![Vec::new(); tables];
        for source in sources {
            by_table[table(source)].push(source);
        }
        by_table
    }

    /// The paths that each of some campaigns asks for most, with their page requests in the sample.
    pub(super) fn paths_of(
        &self,
        campaigns: usize,
        campaign: impl Fn(Source, u32) -> Option<usize>,
    ) -> Vec<Vec<(String, u64)>> {
        let mut counts: Vec<BTreeMap<&[u8], u64>> = vec![BTreeMap::new(); campaigns];
        for entry in &self.entries {
            if let Some(paths) =
                campaign(entry.source, entry.time).and_then(|at| counts.get_mut(at))
            {
                *paths.entry(&entry.path).or_default() += entry.requests;
            }
        }
        let top = |paths: BTreeMap<&[u8], u64>| {
            let mut paths: Vec<(&[u8], u64)> = paths.into_iter().collect();
            paths.sort_by_key(|(_, requests)| std::cmp::Reverse(*requests));
            paths.truncate(CAMPAIGN_PATHS_MAX);
            let name = |(path, requests)| (printable(path), requests);
            paths.into_iter().map(name).collect()
        };
        counts.into_iter().map(top).collect()
    }

    /// What the sample tells about each path.
    pub(super) fn asked(&self) -> BTreeMap<&[u8], Asked> {
        let mut by_path: BTreeMap<&[u8], Asked> = BTreeMap::new();
        for entry in &self.entries {
            let asked = by_path.entry(&entry.path).or_default();
            asked.requests += entry.requests;
            asked.errors += entry.errors;
            asked.referred += entry.referred;
            asked.sources.insert(entry.source);
        }
        by_path
    }

    /// True for a sample that has all page requests.
    pub(super) fn is_whole(&self) -> bool {
        self.limit == u64::MAX
    }

    /// The paths asked for most, by what asked for them; of requests before `first` nobody knows any more what sent them.
    pub(super) fn paths(&self, bands: &BTreeMap<Source, Band>, first: u32, pages: u64) -> Paths {
        let mut by_path: BTreeMap<&[u8], PathReport> = BTreeMap::new();
        let mut taken = 0;
        for entry in self.entries.iter().filter(|entry| entry.time >= first) {
            let Some(band) = bands.get(&entry.source) else {
                continue;
            };
            taken += entry.requests;
            let path = by_path.entry(&entry.path).or_default();
            path.bands[*band as usize] += entry.requests;
            path.errors += entry.errors;
        }
        let is_whole = self.is_whole();
        // Whole numbers, so that the report is the same on every machine.
        let scale = |number: u64| {
            if is_whole || taken == 0 {
                number
            } else {
                number * pages / taken
            }
        };
        let mut top: Vec<(&[u8], PathReport)> = by_path.into_iter().collect();
        let requests = |path: &PathReport| path.bands.iter().sum::<u64>();
        // Sorted by path before, and equals stay in their order.
        top.sort_by_key(|(_, path)| std::cmp::Reverse(requests(path)));
        let distinct = top.len() as u64;
        top.truncate(PATHS_MAX);
        Paths {
            is_estimate: !is_whole,
            distinct,
            top: top
                .into_iter()
                .map(|(path, counted)| PathReport {
                    path: printable(path),
                    requests: scale(requests(&counted)),
                    errors: scale(counted.errors),
                    bands: counted.bands.map(scale),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(requests: impl Iterator<Item = (u64, u32)>) -> Sample {
        let mut sample = Sample::default();
        for (source, time) in requests {
            let record = Record::page_for_tests(source, time);
            sample.offer(&record, b"", b"/page?x", 404);
        }
        sample
    }

    #[test]
    fn equal_requests_are_one_entry() {
        let sample = offered((0..10 * SAMPLE as u64).map(|_| (1, 1)));
        assert!(sample.entries.len() <= 2 * SAMPLE);
        let bands = BTreeMap::from([(sample.entries[0].source, Band::People)]);
        let paths = sample.paths(&bands, 0, 10 * SAMPLE as u64);
        let top = &paths.top[0];
        assert_eq!(
            (top.path.as_str(), top.requests, top.errors),
            ("/page", 81_920, 81_920)
        );
        assert!(!paths.is_estimate);
    }

    #[test]
    fn the_sample_is_the_same_in_any_order_and_from_any_number_of_threads() {
        let requests: Vec<(u64, u32)> = (0..5 * SAMPLE as u64)
            .map(|number| (number % 9000, (number % 7) as u32))
            .collect();
        let mut whole = Sample::default();
        whole.absorb(&offered(requests.iter().copied()));
        let mut halves = Sample::default();
        for half in 0..2 {
            halves.absorb(&offered(
                requests.iter().rev().skip(half).step_by(2).copied(),
            ));
        }
        let what = |sample: &Sample| -> Vec<(u64, u64)> {
            sample
                .entries
                .iter()
                .map(|entry| (entry.rank, entry.requests))
                .collect()
        };
        assert_eq!(what(&whole), what(&halves));
        assert_eq!(whole.entries.len(), SAMPLE);
    }
}
