//! A sample of the requests with their paths: bounded, and the same whatever the order of lines and the number of threads.
//!
//! Each request has a rank, a hash of what it is; the sample is the requests of the lowest ranks. Of a log that is not longer than
//! the sample, it is all of them.

use std::collections::BTreeMap;

use crate::profile::Record;
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
    is_error: bool,
    path: Box<[u8]>,
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
    /// Takes a page request into account.
    #[inline]
    pub(super) fn offer(&mut self, record: &Record, target: &[u8], status: u16) {
        let rank = record.rank();
        if rank <= self.limit && record.is_page() {
            self.take(rank, record, target, status);
        }
    }

    #[cold]
    #[inline(never)]
    fn take(&mut self, rank: u64, record: &Record, target: &[u8], status: u16) {
        let path = path_of(target);
        self.entries.push(Entry {
            rank,
            source: record.source(),
            time: record.time,
            is_error: status >= 400,
            path: path[..path.len().min(PATH_BYTES_MAX)].into(),
        });
        if self.entries.len() >= 2 * SAMPLE {
            self.shrink();
        }
    }

    /// Requests of one rank are equal to each other, and stay or go together.
    fn shrink(&mut self) {
        if self.entries.len() <= SAMPLE {
            return;
        }
        let (_, last, _) = self
            .entries
            .select_nth_unstable_by_key(SAMPLE - 1, |entry| entry.rank);
        self.limit = last.rank;
        self.entries.retain(|entry| entry.rank <= self.limit);
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

    /// The paths asked for most, by what asked for them; of requests before `first` nobody knows any more what sent them.
    pub(super) fn paths(&self, bands: &BTreeMap<Source, Band>, first: u32, pages: u64) -> Paths {
        let mut by_path: BTreeMap<&[u8], PathReport> = BTreeMap::new();
        let mut taken = 0;
        for entry in self.entries.iter().filter(|entry| entry.time >= first) {
            let Some(band) = bands.get(&entry.source) else {
                continue;
            };
            taken += 1;
            let path = by_path.entry(&entry.path).or_default();
            path.bands[*band as usize] += 1;
            path.errors += u64::from(entry.is_error);
        }
        let is_whole = self.limit == u64::MAX;
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
