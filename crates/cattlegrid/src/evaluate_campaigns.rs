//! `evaluate --campaigns`: who comes together in simulated worlds or in a log with known campaigns, beside the figures of the PubCrawl paper.

use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use cattlegrid_learn::cluster::Agreement;
use cattlegrid_learn::cluster::Fingerprint;
use cattlegrid_learn::cluster::PAPER_K;
use cattlegrid_learn::cluster::Rule;
use cattlegrid_learn::cluster::Signs;
use cattlegrid_learn::cluster::agreement;
use cattlegrid_learn::cluster::algorithm_1;
use cattlegrid_learn::cluster::cluster;
use cattlegrid_learn::folds::mean_and_interval;
use rayon::prelude::*;
use serde_json::json;

use crate::campaign_series::Change;
use crate::campaign_series::Scene;
use crate::campaign_series::collect;
use crate::cli::EvaluateArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::model;
use crate::table_8::Table8;

impl Scene {
    /// Clusters by our rule with agents.
    fn clusters(&self) -> Vec<u32> {
        let signs = Signs::new(self.series.first().map_or(0, Vec::len));
        let prints = self.series.iter();
        let prints: Vec<Fingerprint> = prints
            .map(|series| Fingerprint::of(series, &signs))
            .collect();
        let prints: Vec<&Fingerprint> = prints.iter().collect();
        cluster(&prints, &self.kin, Rule::default())
    }

    /// By each rule in the order of [`RULES`].
    fn agreements(&self, k: f64) -> [Agreement; RULES.len()] {
        let signs = Signs::new(self.series.first().map_or(0, Vec::len));
        let prints: Vec<Fingerprint> = self
            .series
            .iter()
            .map(|series| Fingerprint::of(series, &signs))
            .collect();
        let prints: Vec<&Fingerprint> = prints.iter().collect();
        let nobody = vec![None; prints.len()];
        let compare = |clusters: Vec<u32>| agreement(&clusters, &self.campaigns);
        [
            compare(algorithm_1(&self.series, PAPER_K)),
            compare(algorithm_1(&self.series, k)),
            compare(cluster(&prints, &nobody, Rule::default())),
            compare(cluster(&prints, &self.kin, Rule::default())),
        ]
    }
}

const RULES: [&str; 4] = [
    "the paper's, k 350",
    "the paper's, k learned",
    "ours, times alone",
    "ours, with agents",
];

/// A figure: its name, how it is read, and the paper's.
type Figure = (&'static str, fn(&Agreement) -> f64, Option<f64>);

const COLUMNS: [Figure; 5] = [
    ("precision", |found| found.precision, Some(92.84)),
    ("recall", |found| found.recall, Some(80.63)),
    ("accuracy", |found| found.accuracy, Some(91.89)),
    ("pair precision", |found| found.pair_precision, None),
    ("pair recall", |found| found.pair_recall, None),
];

pub(crate) fn run(arguments: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let sets = collect(&arguments.log, arguments.truth.truth())?;
    let model = model::load(arguments.log.model.as_deref())?;
    let k = model.campaign_k;
    let started = Instant::now();
    let possible = |change: &Change| sets.iter().all(|set| set.allows(*change));
    let results: Vec<(Change, Vec<[Agreement; RULES.len()]>)> = Change::ALL
        .into_iter()
        .filter(possible)
        .map(|change| {
            let found = sets
                .par_iter()
                .map(|set| set.scene(change).agreements(k))
                .collect();
            (change, found)
        })
        .collect();
    let mut table_8 = Table8::default();
    for set in &sets {
        let scene = set.scene(Change::None);
        table_8.add(&scene.members, &scene.clusters());
    }
    if let Some(path) = &arguments.json {
        let document = document(&results, &table_8, k);
        if is_stdout(path) {
            writeln!(io::stdout().lock(), "{document}")?;
            return Ok(ExitCode::SUCCESS);
        }
        write_whole(path, |file| writeln!(file, "{document}"))?;
    }
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = text(&results, k, &mut page);
    let _ = table_8.text(&mut page);
    let _ = writeln!(
        page,
        "({} worlds or windows, {:.0} s)",
        sets.len(),
        started.elapsed().as_secs_f64()
    );
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Mean over worlds in percent, and half of its 95 % interval.
fn mean(
    found: &[[Agreement; RULES.len()]],
    rule: usize,
    value: fn(&Agreement) -> f64,
) -> (f64, f64) {
    let values: Vec<f64> = found
        .iter()
        .map(|rules| 100.0 * value(&rules[rule]))
        .collect();
    let (mean, half) = mean_and_interval(&values);
    (mean, half.unwrap_or(0.0))
}

fn text(
    results: &[(Change, Vec<[Agreement; RULES.len()]>)],
    k: f64,
    page: &mut String,
) -> std::fmt::Result {
    writeln!(
        page,
        "Who comes together, in percent (Tables 4 and 7). The paper's test set: precision 92.84, recall 80.63, accuracy 91.89; its training set: 99.03, 85.54, 94.35. Learned k: {k:.2}"
    )?;
    for (change, found) in results {
        write!(page, "\n  {:<44}", change.name())?;
        for (name, _, _) in COLUMNS {
            write!(page, "{name:>16}")?;
        }
        writeln!(page)?;
        for (rule, name) in RULES.iter().enumerate() {
            write!(page, "    {name:<42}")?;
            for (_, value, _) in COLUMNS {
                let (mean, half) = mean(found, rule, value);
                write!(page, "{:>16}", format!("{mean:.2} ±{half:.2}"))?;
            }
            writeln!(page)?;
        }
    }
    Ok(())
}

fn document(
    results: &[(Change, Vec<[Agreement; RULES.len()]>)],
    table_8: &Table8,
    k: f64,
) -> serde_json::Value {
    let mut rows = Vec::new();
    for (change, found) in results {
        for (rule, name) in RULES.iter().enumerate() {
            for (column, value, paper) in COLUMNS {
                let (mean, half) = mean(found, rule, value);
                rows.push(json!({ "world": change.name(), "rule": name, "figure": column, "percent": mean, "half_interval": half, "paper": paper }));
            }
        }
    }
    json!({ "schema": "cattlegrid/evaluate-campaigns/1", "k": k, "figures": rows, "table_8": table_8.json() })
}
