//! `evaluate --campaigns`: who comes together in simulated worlds, beside the figures of the PubCrawl paper.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use cattlegrid_learn::cluster::Agreement;
use cattlegrid_learn::cluster::Fingerprint;
use cattlegrid_learn::cluster::MEMBERS_MIN;
use cattlegrid_learn::cluster::PAPER_K;
use cattlegrid_learn::cluster::Rule;
use cattlegrid_learn::cluster::Signs;
use cattlegrid_learn::cluster::agreement;
use cattlegrid_learn::cluster::algorithm_1;
use cattlegrid_learn::cluster::cluster;
use cattlegrid_learn::folds::mean_and_interval;
use cattlegrid_worlds::World;
use cattlegrid_worlds::random::Random;
use rayon::prelude::*;
use serde_json::json;

use crate::cli::EvaluateArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::labelled::worlds_of;
use crate::model;
use crate::table_8::Member;
use crate::table_8::Table8;

/// Requests from which a source's times are compared, as the program is shipped.
const REQUESTS_MIN: f64 = 300.0;

/// Everybody of one world whose times can be compared.
struct Scene {
    series: Vec<Vec<f64>>,
    campaigns: Vec<Option<u32>>,
    /// Agents that no browser has.
    kin: Vec<Option<u64>>,
    /// Members of campaigns as the world has them.
    members: Vec<Option<Member>>,
}

/// What a scene is changed to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    None,
    /// Sources come in another order than the heaviest first.
    Lightest,
    Shuffled,
    /// Each source is ahead of its schedule, or behind, by a half hour or on time.
    Jitter,
    /// Members of campaigns send so much on a day.
    Volume(f64),
}

impl Change {
    const ALL: [Change; 8] = [
        Change::None,
        Change::Lightest,
        Change::Shuffled,
        Change::Jitter,
        Change::Volume(500.0),
        Change::Volume(5000.0),
        Change::Volume(50_000.0),
        Change::Volume(500_000.0),
    ];

    fn name(self) -> String {
        match self {
            Change::None => "as they are, heaviest first".to_owned(),
            Change::Lightest => "lightest first".to_owned(),
            Change::Shuffled => "in any order".to_owned(),
            Change::Jitter => "each early or late by half an hour".to_owned(),
            Change::Volume(daily) => format!("campaigns of {daily} requests a day and source"),
        }
    }
}

impl Scene {
    fn of(world: &World, change: Change) -> Scene {
        let mut random = Random::new(world.seed, 0xca3b);
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        let mut rows = Vec::new();
        for actor in &world.actors {
            let mut counts = actor.counts.clone();
            if let (Change::Volume(daily), Some(_)) = (change, &actor.campaign) {
                let sum: f64 = counts.iter().map(|count| f64::from(*count)).sum();
                let share = daily * counts.len() as f64 / 48.0 / sum.max(1.0);
                counts.fill(0);
                for plan in &actor.plans {
                    plan.for_member(share).draw(&mut random, &mut counts);
                }
            }
            if change == Change::Jitter {
                counts.rotate_right(1);
                counts.rotate_left(random.below(3) as usize);
            }
            let series: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
            let requests: f64 = series.iter().sum();
            if requests < REQUESTS_MIN {
                continue;
            }
            let campaign = actor.campaign.as_deref().map(|name| {
                let next = numbers.len() as u32;
                *numbers.entry(name).or_insert(next)
            });
            let member = actor.campaign.clone().map(|campaign| Member {
                campaign,
                address: actor.address,
                daily: requests * 48.0 / series.len().max(1) as f64,
            });
            rows.push((
                requests,
                actor.address,
                series,
                campaign,
                odd_agent(actor),
                member,
            ));
        }
        match change {
            Change::Lightest => rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))),
            Change::Shuffled => {
                let mut keys: Vec<u64> = rows.iter().map(|_| random.bits()).collect();
                rows.sort_by_cached_key(|_| keys.pop());
            }
            _ => rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))),
        }
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        for campaign in rows.iter().filter_map(|row| row.3) {
            *sizes.entry(campaign).or_default() += 1;
        }
        let is_campaign = |campaign: &u32| sizes[campaign] >= MEMBERS_MIN;
        Scene {
            campaigns: rows.iter().map(|row| row.3.filter(is_campaign)).collect(),
            kin: rows.iter().map(|row| row.4).collect(),
            members: rows.iter().map(|row| row.5.clone()).collect(),
            series: rows.into_iter().map(|row| row.2).collect(),
        }
    }

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

/// A number for the agent, where no browser of people has it.
fn odd_agent(actor: &cattlegrid_worlds::Actor) -> Option<u64> {
    let agent = actor.manners.agents.first()?;
    let is_common = cattlegrid_worlds::actor::is_common(agent);
    // Any number will do that is the same for the same text.
    let number = agent.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (!is_common).then_some(number)
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
    let mut worlds = Vec::new();
    for name in &arguments.log.logs {
        if !name.starts_with("world:") {
            bail!(
                "--campaigns tests on simulated worlds, like world:social-test:11-20; for a log with campaigns of your own, 'analyze' lists what it finds"
            );
        }
        let (kind, seeds) = worlds_of(name)?;
        worlds.extend(seeds.map(|seed| (kind, seed)));
    }
    let model = model::load(arguments.log.model.as_deref())?;
    let k = model.campaign_k;
    let started = Instant::now();
    let results: Vec<(Change, Vec<[Agreement; RULES.len()]>)> = Change::ALL
        .into_iter()
        .map(|change| {
            let found = worlds
                .par_iter()
                .map(|(kind, seed)| Scene::of(&World::new(*kind, *seed), change).agreements(k))
                .collect();
            (change, found)
        })
        .collect();
    let mut table_8 = Table8::default();
    for (kind, seed) in &worlds {
        let scene = Scene::of(&World::new(*kind, *seed), Change::None);
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
        "({} worlds, {:.0} s)",
        worlds.len(),
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
        "Who comes together, in percent; the paper's test set: precision 92.84, recall 80.63, accuracy 91.89. Learned k: {k:.2}"
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
