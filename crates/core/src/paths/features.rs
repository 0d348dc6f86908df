//! What is measured of one long session: the paper's six features, and further values that the default rule looks at.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Cut;
use super::Entry;

/// How many features the paper has.
pub const FEATURES: usize = 6;

/// The paper's features in its order, as F1 to F6.
pub const FEATURE_NAMES: [&str; FEATURES] = [
    "depth_rate",
    "width_rate",
    "interval_variation",
    "depth_difference",
    "width_difference",
    "burst_interval_variation",
];

/// The six features and the further values.
pub const VALUES: usize = FEATURES + 13;

/// Names of all values, in their order.
pub const VALUE_NAMES: [&str; VALUES] = [
    FEATURE_NAMES[0],
    FEATURE_NAMES[1],
    FEATURE_NAMES[2],
    FEATURE_NAMES[3],
    FEATURE_NAMES[4],
    FEATURE_NAMES[5],
    "burst_share",
    "revisits",
    "parent_unknown",
    "parent_just_before",
    "parent_again",
    "pages_that_led_on",
    "median_interval",
    "interval_spread",
    "interval_rhythm",
    "links_again",
    "interval_low",
    "interval_high",
    "bursts",
];

/// The paper's six features of one long session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Features(pub [f64; FEATURES]);

impl Features {
    /// Measures a long session, whose entries are in order of time.
    pub fn of(entries: &[Entry], cut: &Cut) -> Features {
        let long = Shape::of(entries);
        let burst = cut.longest(entries);
        let short = Shape::of(burst);
        Features([
            long.depth_rate,
            long.width_rate,
            variation(entries),
            (long.depth_rate - short.depth_rate).abs(),
            (long.width_rate - short.width_rate).abs(),
            variation(burst),
        ])
    }

    /// The features as a classifier takes them: the variations, which reach the number of intervals, as logarithms.
    fn coordinates(&self) -> [f64; FEATURES] {
        let mut values = self.0;
        values[2] = values[2].ln_1p();
        values[5] = values[5].ln_1p();
        values
    }
}

/// All that is measured of a long session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// The paper's features as the paper defines them.
    pub features: Features,
    /// The six features and the further values, as classifiers take them.
    pub values: [f64; VALUES],
}

impl Measures {
    /// Measures a long session, whose entries are in order of time.
    pub fn of(entries: &[Entry], cut: &Cut) -> Measures {
        let features = Features::of(entries, cut);
        let bursts = cut.short_sessions(entries).count();
        let mut values = [0.0; VALUES];
        values[..FEATURES].copy_from_slice(&features.coordinates());
        values[FEATURES..].copy_from_slice(&further(entries, cut.longest(entries), bursts));
        Measures { features, values }
    }
}

/// The largest depth and width of a session, as shares of its length.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    depth_rate: f64,
    width_rate: f64,
}

impl Shape {
    /// An entry is one deeper than the latest visit to its parent, if the parent was visited before in the session, else its depth is 0.
    /// The width of a page is the number of entries it led to after a visit.
    fn of(entries: &[Entry]) -> Shape {
        let mut pages: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        let (mut depth_max, mut width_max) = (0, 0);
        for entry in entries {
            let parent = entry.parent.and_then(|parent| pages.get_mut(&parent));
            let depth = parent.map_or(0, |(depth, width)| {
                *width += 1;
                width_max = width_max.max(*width);
                *depth + 1
            });
            depth_max = depth_max.max(depth);
            pages.entry(entry.page).or_insert((0, 0)).0 = depth;
        }
        let length = entries.len().max(1) as f64;
        Shape {
            depth_rate: f64::from(depth_max) / length,
            width_rate: f64::from(width_max) / length,
        }
    }
}

/// Seconds between consecutive entries.
fn intervals(entries: &[Entry]) -> impl Iterator<Item = f64> {
    let pairs = entries.windows(2);
    pairs.map(|pair| pair[1].at_ms.saturating_sub(pair[0].at_ms) as f64 / 1000.0)
}

/// Variance of the intervals over the square of their mean; 0 for fewer than two intervals, and where the mean is 0.
fn variation(entries: &[Entry]) -> f64 {
    let count = entries.len().saturating_sub(1) as f64;
    let mean = intervals(entries).sum::<f64>() / count.max(1.0);
    if count < 2.0 || mean <= 0.0 {
        return 0.0;
    }
    let squares = intervals(entries).map(|interval| (interval - mean).powi(2));
    squares.sum::<f64>() / count / (mean * mean)
}

/// Where the entries of a session came from, counted.
#[derive(Debug, Default)]
struct Ways {
    revisits: u32,
    unknown: u32,
    just_before: u32,
    again: u32,
    led_on: u32,
    links_again: u32,
}

impl Ways {
    fn of(entries: &[Entry]) -> Ways {
        let mut ways = Ways::default();
        // For each page how many entries it led to.
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        let mut links: BTreeSet<(u64, Option<u64>)> = BTreeSet::new();
        let mut before: Option<&Entry> = None;
        for entry in entries {
            let known = entry.parent.and_then(|parent| seen.get_mut(&parent));
            match known {
                None => ways.unknown += 1,
                Some(children) => {
                    ways.led_on += u32::from(*children == 0);
                    *children += 1;
                }
            }
            if let Some(before) = before {
                ways.just_before += u32::from(entry.parent == Some(before.page));
                let is_again = entry.parent.is_some() && entry.parent == before.parent;
                ways.again += u32::from(is_again);
            }
            let is_known = !links.insert((entry.page, entry.parent));
            ways.links_again += u32::from(is_known);
            ways.revisits += u32::from(seen.contains_key(&entry.page));
            seen.entry(entry.page).or_insert(0);
            before = Some(entry);
        }
        ways
    }
}

/// The further values. Shares are of the long session's entries; times are of the longest short session, in logarithms of seconds.
fn further(entries: &[Entry], burst: &[Entry], bursts: usize) -> [f64; VALUES - FEATURES] {
    let ways = Ways::of(entries);
    let length = entries.len().max(1) as f64;
    let share = |count: u32| f64::from(count) / length;
    // Logs have whole seconds: what follows at once counts as a quarter of one.
    let mut logarithms: Vec<f64> = intervals(burst)
        .map(|seconds| seconds.max(0.25).ln())
        .collect();
    let rhythm = rhythm(&logarithms);
    logarithms.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| {
        let place = part * logarithms.len().saturating_sub(1) as f64;
        logarithms.get(place as usize).copied().unwrap_or(0.0)
    };
    [
        burst.len() as f64 / length,
        share(ways.revisits),
        share(ways.unknown),
        share(ways.just_before),
        share(ways.again),
        share(ways.led_on),
        at(0.5),
        at(0.8) - at(0.2),
        rhythm,
        share(ways.links_again),
        at(0.5) - at(0.05),
        at(0.95) - at(0.5),
        bursts as f64 / length,
    ]
}

/// How alike consecutive values are: their correlation at lag 1; 0 for fewer than three, and where all are equal.
fn rhythm(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() < 3 || variance <= 1e-9 {
        return 0.0;
    }
    let products = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    products.sum::<f64>() / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries as (second, page, parent), with 0 for no parent.
    fn entries(rows: &[(u64, u64, u64)]) -> Vec<Entry> {
        let entry = |(second, page, parent): &(u64, u64, u64)| Entry {
            at_ms: second * 1000,
            user: 1,
            page: *page,
            parent: (*parent > 0).then_some(*parent),
        };
        rows.iter().map(entry).collect()
    }

    fn features(rows: &[(u64, u64, u64)]) -> [f64; FEATURES] {
        Features::of(&entries(rows), &Cut::default()).0
    }

    fn check(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn depth_is_one_more_than_that_of_the_parents_latest_visit() {
        // Depths 0, 1, 2, then page 1 again from page 3 (depth 3), then 4 from that latest visit (depth 4).
        let rows = [(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 1, 3), (4, 4, 1)];
        check(features(&rows)[0], 4.0 / 5.0);
        // A parent that was not visited before in the session counts as none, even if it is visited later.
        let rows = [(0, 2, 1), (1, 3, 2), (2, 1, 0), (3, 5, 9)];
        check(features(&rows)[0], 1.0 / 4.0);
    }

    #[test]
    fn width_counts_what_a_page_led_to_after_its_visit() {
        // Page 1 leads to 2, 3 and 4; the first entry names it before its visit and does not count.
        let rows = [
            (0, 9, 1),
            (1, 1, 0),
            (2, 2, 1),
            (3, 3, 1),
            (4, 4, 1),
            (5, 5, 4),
        ];
        check(features(&rows)[1], 3.0 / 6.0);
        // A second visit to the page does not begin its count again.
        let rows = [(0, 1, 0), (1, 2, 1), (2, 1, 2), (3, 3, 1)];
        check(features(&rows)[1], 2.0 / 4.0);
    }

    #[test]
    fn variation_is_variance_over_the_squared_mean() {
        // Intervals 1, 3: mean 2, variance 1.
        check(features(&[(0, 1, 0), (1, 2, 0), (4, 3, 0)])[2], 0.25);
        // One interval, or none, or all at once.
        check(features(&[(0, 1, 0), (7, 2, 0)])[2], 0.0);
        check(features(&[(0, 1, 0)])[2], 0.0);
        check(features(&[(5, 1, 0), (5, 2, 0), (5, 3, 0)])[2], 0.0);
        check(features(&[])[2], 0.0);
    }

    #[test]
    fn differences_compare_the_longest_short_session() {
        // Two visits a day apart: 1 -> 2 -> 3 in the first; in the second 4 and 5 from 3, which within it was not visited.
        let day = 86_400;
        let rows = [
            (0, 1, 0),
            (10, 2, 1),
            (day, 4, 2),
            (day + 10, 5, 4),
            (day + 40, 6, 4),
        ];
        let found = features(&rows);
        // Long: depths 0, 1, 2, 3, 3 and width 2 of five. Short (the second visit): depths 0, 1, 1 and width 2 of three.
        check(found[0], 3.0 / 5.0);
        check(found[1], 2.0 / 5.0);
        check(found[3], 3.0 / 5.0 - 1.0 / 3.0);
        check(found[4], 2.0 / 3.0 - 2.0 / 5.0);
        // Its intervals 10, 30: mean 20, variance 100.
        check(found[5], 0.25);
        // All intervals 10, 86,390, 10, 30: mean 21,610.
        let squares = 2.0 * 21_600.0_f64.powi(2) + 64_780.0_f64.powi(2) + 21_580.0_f64.powi(2);
        check(found[2], squares / 4.0 / 21_610.0_f64.powi(2));
    }

    #[test]
    fn of_two_equally_long_visits_the_earlier_is_compared() {
        // The earlier goes deep, the later wide.
        let rows = [
            (0, 1, 0),
            (1, 2, 1),
            (2, 3, 2),
            (9000, 11, 0),
            (9001, 12, 11),
            (9002, 13, 11),
        ];
        let found = features(&rows);
        check(found[3], 2.0 / 3.0 - 2.0 / 6.0);
        check(found[4], (2.0_f64 / 6.0 - 1.0 / 3.0).abs());
    }

    #[test]
    fn further_values_count_where_entries_came_from() {
        // 1, then 2 and 3 from it, 4 from 3, then 1 again from nowhere.
        let rows = [(0, 1, 0), (1, 2, 1), (2, 3, 1), (3, 4, 3), (4, 1, 0)];
        let found = Measures::of(&entries(&rows), &Cut::default()).values;
        let by_name = |name: &str| {
            let place = VALUE_NAMES.iter().position(|known| *known == name).unwrap();
            found[place]
        };
        check(by_name("burst_share"), 1.0);
        check(by_name("revisits"), 1.0 / 5.0);
        check(by_name("parent_unknown"), 2.0 / 5.0);
        check(by_name("parent_just_before"), 2.0 / 5.0);
        check(by_name("parent_again"), 1.0 / 5.0);
        check(by_name("pages_that_led_on"), 2.0 / 5.0);
        check(by_name("median_interval"), 0.0);
        check(by_name("interval_spread"), 0.0);
        check(by_name("interval_rhythm"), 0.0);
        check(by_name("links_again"), 1.0 / 5.0);
        check(by_name("interval_low"), 0.0);
        check(by_name("interval_high"), 0.0);
        check(by_name("bursts"), 1.0 / 5.0);
    }

    #[test]
    fn rhythm_is_the_correlation_of_neighbours() {
        check(rhythm(&[1.0, 2.0]), 0.0);
        check(rhythm(&[1.0, -1.0, 1.0, -1.0]), -0.75);
    }
}
