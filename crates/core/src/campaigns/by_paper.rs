//! Campaigns by Algorithm 1 of the PubCrawl paper, which compares series of requests and nothing else. They are listed beside ours and
//! are no evidence: the algorithm also finds people who keep the same hours.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use cattlegrid_learn::cluster::MEMBERS_MIN;
use cattlegrid_learn::cluster::PAPER_K;
use cattlegrid_learn::cluster::algorithm_1;
use cattlegrid_learn::series::POINTS_MIN;
use rayon::prelude::*;

use super::Finder;
use crate::profile::Profile;
use crate::request::Source;
use crate::table::Table;
use crate::table::Window;

/// Series that are compared, the heaviest first: 20,000 take 60 MB and three seconds.
const SERIES_MAX: usize = 20_000;

/// All campaigns by the paper's algorithm.
#[derive(Debug, Default)]
pub struct ByPaper {
    /// How alike series must be.
    pub k: f64,
    /// Sources that were compared, each once in a window.
    pub compared: usize,
    /// Sources that were heavy enough and left out all the same, because there were too many.
    pub left_out: usize,
    /// Most requests first.
    pub all: Vec<PaperCluster>,
}

/// Sources that come in the same numbers at the same times in one window.
#[derive(Debug)]
pub struct PaperCluster {
    /// When.
    pub window: Window,
    /// All its sources, sorted.
    pub members: Vec<Source>,
    /// All their requests.
    pub requests: u64,
    /// Agents, with the sources that use each most, most first.
    pub agents: Vec<(u32, u32)>,
    /// /24 or /48 networks.
    pub networks: usize,
}

/// A source in a window whose times are compared.
struct Series {
    window: Window,
    requests: u32,
    source: Source,
    agent: Option<u32>,
    counts: Vec<f64>,
}

impl Finder<'_> {
    /// Finds the paper's campaigns.
    pub fn by_paper(&self) -> ByPaper {
        let mut heaviest: Vec<(Reverse<u32>, Source, Window)> = self
            .tables
            .par_iter()
            .flat_map_iter(|table| {
                let mut found = Vec::new();
                table.for_each(self.clock, |source, window, profile| {
                    if self.has_series(window, profile) {
                        found.push((Reverse(profile.requests), source, window));
                    }
                });
                found
            })
            .collect();
        heaviest.par_sort_unstable();
        let left_out = heaviest.len().saturating_sub(SERIES_MAX);
        heaviest.truncate(SERIES_MAX);
        let mut series = self.series_of(
            &heaviest
                .iter()
                .map(|(_, source, window)| (*source, *window))
                .collect(),
        );
        series.sort_unstable_by_key(|one| (one.window, Reverse(one.requests), one.source));
        let model = self.settings.model.as_deref();
        let k = model.map_or(PAPER_K, |model| model.campaign_k);
        let windows: Vec<&[Series]> = series.chunk_by(|a, b| a.window == b.window).collect();
        let mut all: Vec<PaperCluster> = windows
            .par_iter()
            .flat_map_iter(|series| clusters(series, k))
            .collect();
        all.sort_unstable_by_key(|cluster| {
            (
                Reverse(cluster.requests),
                cluster.window,
                cluster.members[0],
            )
        });
        ByPaper {
            k,
            compared: series.len(),
            left_out,
            all,
        }
    }

    fn has_series(&self, window: Window, profile: &Profile) -> bool {
        profile.requests >= self.options().series_requests_min
            && profile.bins.busy() >= self.options().half_hours_min
            && self.sites[&window].covered().len() >= POINTS_MIN
    }

    fn series_of(&self, chosen: &BTreeSet<(Source, Window)>) -> Vec<Series> {
        let of_table = |table: &Table| {
            let mut found = Vec::new();
            table.for_each(self.clock, |source, window, profile| {
                if chosen.contains(&(source, window)) {
                    found.push(Series {
                        window,
                        requests: profile.requests,
                        source,
                        agent: profile.agents.top(),
                        counts: self.sites[&window].covered_counts(profile),
                    });
                }
            });
            found
        };
        self.tables.par_iter().flat_map_iter(of_table).collect()
    }
}

/// Clusters of one window, whose series come heaviest first.
fn clusters(series: &[Series], k: f64) -> Vec<PaperCluster> {
    let counts: Vec<&[f64]> = series.iter().map(|one| one.counts.as_slice()).collect();
    let mut of: BTreeMap<u32, Vec<&Series>> = BTreeMap::new();
    for (one, founder) in series.iter().zip(algorithm_1(&counts, k)) {
        of.entry(founder).or_default().push(one);
    }
    let large = of.into_values().filter(|found| found.len() >= MEMBERS_MIN);
    large.map(|found| describe(&found)).collect()
}

fn describe(found: &[&Series]) -> PaperCluster {
    let mut members: Vec<Source> = found.iter().map(|one| one.source).collect();
    members.sort_unstable();
    let mut agents: BTreeMap<u32, u32> = BTreeMap::new();
    for agent in found.iter().filter_map(|one| one.agent) {
        *agents.entry(agent).or_default() += 1;
    }
    let mut agents: Vec<(u32, u32)> = agents.into_iter().collect();
    agents.sort_unstable_by_key(|(agent, sources)| (Reverse(*sources), *agent));
    let networks = members
        .iter()
        .map(|source| source.network().unwrap_or(*source));
    PaperCluster {
        window: found[0].window,
        requests: found.iter().map(|one| u64::from(one.requests)).sum(),
        networks: networks.collect::<BTreeSet<Source>>().len(),
        agents,
        members,
    }
}
