//! Sources whose truth is known, from logs with labels or from simulated worlds: to learn from, or to test on.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Settings;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Kind;
use cattlegrid_core::verdict::Votes;
use cattlegrid_learn::cluster::learn_k;
use cattlegrid_learn::cluster::mean_k;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::series::Scratch;
use cattlegrid_learn::series::Shape;
use cattlegrid_learn::series::attributes;
use cattlegrid_worlds::World;
use cattlegrid_worlds::world;
use rayon::prelude::*;

use crate::cli::LogArgs;
use crate::logs;
use crate::simulate;

/// Labels that a source may have.
pub(crate) const LABELS: [&str; 6] = [
    "user",
    "legitimate",
    "unauthorized",
    "masquerading",
    "crawler",
    "automated",
];

/// Busy half hours below which a source has no shape, as the detector has it.
pub(crate) const HALF_HOURS_MIN: u32 = 48;

/// Members of one campaign to learn from: a thousand sources of one schedule are one example, not a thousand.
const MEMBERS_MAX: usize = 3;

/// One source in one window, with its truth.
#[derive(Debug, Clone)]
pub(crate) struct Labelled {
    pub(crate) source: String,
    /// Which world, or the log.
    pub(crate) set: String,
    pub(crate) label: String,
    pub(crate) campaign: String,
    /// What decides when it comes, where that is known.
    pub(crate) habit: String,
    pub(crate) values: Vec<f64>,
    /// The window of a log, by its first second. Series of different windows cannot be compared.
    pub(crate) window: u32,
    /// Requests of each half hour.
    pub(crate) counts: Vec<f64>,
    /// How the header heuristics voted, where there are headers.
    pub(crate) votes: Option<Votes>,
}

impl Labelled {
    /// Whose series it can be compared with.
    fn comparable(&self) -> (&str, u32) {
        (&self.set, self.window)
    }

    pub(crate) fn is_crawler(&self) -> bool {
        self.label != "user"
    }
}

/// All that was found.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    pub(crate) rows: Vec<Labelled>,
    /// Windows with a label that have no shape: too few requests, too short a log.
    pub(crate) without_shape: BTreeMap<String, u64>,
    /// What they come from, in words.
    pub(crate) origin: Vec<String>,
    /// Labels that were derived, by source.
    pub(crate) derived: Vec<(String, String)>,
}

impl Examples {
    /// To learn from: people and crawlers, few of each campaign.
    pub(crate) fn to_learn_from(&self) -> Dataset {
        self.dataset(MEMBERS_MAX)
    }

    /// The k of the paper's Algorithm 1, from the first worlds or windows with campaigns; `None` where there are none to learn from.
    pub(crate) fn campaign_k(&self) -> Option<f64> {
        const SETS: usize = 4;
        let mut sets: Vec<(&str, u32)> = self.rows.iter().map(Labelled::comparable).collect();
        sets.dedup();
        // Stable: worlds stay in the order in which they were named.
        sets.sort_by_key(|(_, window)| *window);
        sets.dedup();
        let found = sets.into_iter().filter_map(|set| self.campaign_k_of(set));
        let found: Vec<f64> = found.take(SETS).collect();
        (!found.is_empty()).then(|| mean_k(found.into_iter()))
    }

    fn campaign_k_of(&self, set: (&str, u32)) -> Option<f64> {
        let mut rows: Vec<&Labelled> = self
            .rows
            .iter()
            .filter(|row| row.comparable() == set && !row.counts.is_empty())
            .collect();
        let volume = |row: &Labelled| row.counts.iter().sum::<f64>();
        rows.sort_by(|a, b| volume(b).total_cmp(&volume(a)));
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        let mut campaigns = Vec::new();
        for row in &rows {
            let next = numbers.len() as u32;
            let is_member = !row.campaign.is_empty();
            campaigns.push(is_member.then(|| *numbers.entry(&row.campaign).or_insert(next)));
        }
        let series: Vec<&[f64]> = rows.iter().map(|row| row.counts.as_slice()).collect();
        learn_k(&series, &campaigns)
    }

    /// Everybody, in the order of the rows.
    pub(crate) fn everybody(&self) -> Dataset {
        self.dataset(usize::MAX)
    }

    /// The windows of one source are one group, and so are the sources of one campaign.
    fn dataset(&self, members_max: usize) -> Dataset {
        let mut groups: BTreeMap<(&str, &str), (u32, usize)> = BTreeMap::new();
        let mut examples = Vec::new();
        for row in self.rows.iter().filter(|row| row.label != "automated") {
            let is_alone = row.campaign.is_empty();
            let name = if is_alone { &row.source } else { &row.campaign };
            let number = groups.len() as u32;
            let (group, seen) = groups.entry((&row.set, name)).or_insert((number, 0));
            *seen += 1;
            if is_alone || *seen <= members_max {
                examples.push(Example {
                    values: row.values.clone(),
                    is_positive: row.is_crawler(),
                    group: Some(*group),
                });
            }
        }
        Dataset {
            attributes: attributes(),
            examples,
        }
    }
}

/// Where truth comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Truth<'a> {
    File(&'a Path),
    Derived,
    /// Worlds bring their own.
    Worlds,
}

/// Collects sources of at least so many requests on their busiest day.
pub(crate) fn collect(
    log: &LogArgs,
    truth: Truth<'_>,
    day_requests_min: u32,
) -> anyhow::Result<Examples> {
    let (worlds, logs): (Vec<&String>, Vec<&String>) =
        log.logs.iter().partition(|name| name.starts_with("world:"));
    let mut examples = Examples::default();
    match (truth, logs.is_empty()) {
        (Truth::Worlds, true) => {}
        (Truth::Worlds, false) => bail!(
            "whether the sources of a log are people or crawlers must be known: give --labels FILE or --derive-labels"
        ),
        (_, true) => bail!("--labels and --derive-labels are for logs; the worlds bring their own"),
        (_, false) if !worlds.is_empty() => bail!("give logs or worlds, not both at once"),
        (truth, false) => from_logs(log, truth, day_requests_min, &mut examples)?,
    }
    for world in worlds {
        from_worlds(world, day_requests_min, &mut examples)?;
    }
    Ok(examples)
}

/// `world:KIND:SEED` or `world:KIND:FIRST-LAST`.
pub(crate) fn worlds_of(name: &str) -> anyhow::Result<(world::Kind, RangeInclusive<u64>)> {
    let (kind, seeds) = kind_and_seeds(name)?;
    Ok((simulate::kind(kind)?, seeds))
}

/// The name of a kind of world, and seeds.
pub(crate) fn kind_and_seeds(name: &str) -> anyhow::Result<(&str, RangeInclusive<u64>)> {
    let asked = || format!("'{name}' should be world:KIND:SEEDS, like world:social:1-10");
    let mut parts = name.splitn(3, ':').skip(1);
    let (kind, seeds) = parts.next().zip(parts.next()).with_context(asked)?;
    let (first, last) = seeds.split_once('-').unwrap_or((seeds, seeds));
    let first: u64 = first.parse().ok().with_context(asked)?;
    let last: u64 = last.parse().ok().with_context(asked)?;
    anyhow::ensure!(first <= last && last - first < 1000, asked());
    Ok((kind, first..=last))
}

/// Sources with a shape, and the labels of those without.
type Rows = Vec<Result<Labelled, String>>;

fn from_worlds(name: &str, day_requests_min: u32, examples: &mut Examples) -> anyhow::Result<()> {
    let (kind, seeds) = worlds_of(name)?;
    let (first, last) = (*seeds.start(), *seeds.end());
    let worlds: Vec<(Rows, Vec<&'static str>)> = (first..=last)
        .into_par_iter()
        .map(|seed| {
            let world = World::new(kind, seed);
            // The crowd comes once, with few requests: none of it has a shape.
            let crowd = world.crowd_sources().into_iter();
            let crowd = crowd.map(|passer| passer.errand.label().name()).collect();
            (rows_of(&world, day_requests_min), crowd)
        })
        .collect();
    for (rows, crowd) in worlds {
        for row in rows {
            match row {
                Ok(row) => examples.rows.push(row),
                Err(label) => *examples.without_shape.entry(label).or_default() += 1,
            }
        }
        for label in crowd {
            *examples.without_shape.entry(label.to_owned()).or_default() += 1;
        }
    }
    examples
        .origin
        .push(format!("{} worlds, seeds {first} to {last}", kind.name()));
    Ok(())
}

/// Everybody in a world but the crowd; the label of those without a shape.
fn rows_of(world: &World, day_requests_min: u32) -> Rows {
    let mut scratch = Scratch::default();
    let row = |actor: &cattlegrid_worlds::Actor| {
        let label = actor.label.name().to_owned();
        let covered = actor.counts.get(world.covered.clone()).unwrap_or_default();
        let counts: Vec<f64> = covered.iter().map(|count| f64::from(*count)).collect();
        let days = counts.chunks(cattlegrid_learn::series::DAY);
        let busiest = days.map(|day| day.iter().sum::<f64>()).fold(0.0, f64::max);
        let busy = counts.iter().filter(|count| **count > 0.0).count() as u32;
        let shape = match busiest >= f64::from(day_requests_min) && busy >= HALF_HOURS_MIN {
            true => Shape::of(&counts, &mut scratch),
            false => None,
        };
        let Some(shape) = shape else {
            return Err(label);
        };
        Ok(Labelled {
            source: Ipv4Addr::from(actor.address).to_string(),
            set: format!("{} {}", world.kind.name(), world.seed),
            label,
            campaign: actor.campaign.clone().unwrap_or_default(),
            habit: actor.habit.to_owned(),
            values: shape.values,
            window: 0,
            counts,
            votes: None,
        })
    };
    world.actors.iter().map(row).collect()
}

fn from_logs(
    log: &LogArgs,
    truth: Truth<'_>,
    day_requests_min: u32,
    examples: &mut Examples,
) -> anyhow::Result<()> {
    let settings = Settings {
        keep_shapes: Some((day_requests_min, HALF_HOURS_MIN)),
        min_requests: 0,
        ..logs::settings(log)?
    };
    let mut labels = match truth {
        Truth::File(path) => read_labels(path)?,
        _ => BTreeMap::new(),
    };
    let read = logs::read(log, settings)?;
    for source in &read.report.sources {
        if matches!(truth, Truth::Derived)
            && let Some(label) = derive(source)
        {
            examples
                .derived
                .push((source.source.clone(), label.to_owned()));
            labels.insert(source.source.clone(), Truthful::of(label));
        }
        let Some(known) = labels.get(&source.source) else {
            continue;
        };
        for window in &source.windows {
            match &window.shape {
                None => {
                    *examples
                        .without_shape
                        .entry(known.label.clone())
                        .or_default() += 1
                }
                Some(values) => examples.rows.push(Labelled {
                    source: source.source.clone(),
                    set: "log".to_owned(),
                    label: known.label.clone(),
                    campaign: known.campaign.clone(),
                    habit: known.habit.clone(),
                    values: values.clone(),
                    window: window.start,
                    counts: window
                        .lesson
                        .as_deref()
                        .map_or_else(Vec::new, |lesson| lesson.series.clone()),
                    votes: Some(window.votes),
                }),
            }
        }
    }
    examples.origin.push(match truth {
        Truth::Derived => "a log with derived labels".to_owned(),
        _ => "a log with labels".to_owned(),
    });
    Ok(())
}

/// What an owner or a simulation says of a source.
#[derive(Debug, Clone)]
pub(crate) struct Truthful {
    pub(crate) label: String,
    pub(crate) campaign: String,
    pub(crate) habit: String,
    /// The row of the paper's Table 13 whose manners it has.
    pub(crate) evasion: String,
    /// The first second of the one session that is meant; `None` for all that the source does.
    pub(crate) start: Option<u32>,
}

impl Truthful {
    fn of(label: &str) -> Truthful {
        Truthful {
            label: label.to_owned(),
            campaign: String::new(),
            habit: String::new(),
            evasion: String::new(),
            start: None,
        }
    }
}

/// What a file says of each source.
pub(crate) fn read_labels(path: &Path) -> anyhow::Result<BTreeMap<String, Truthful>> {
    Ok(read_label_rows(path)?.into_iter().collect())
}

/// Reads `source,label[,campaign][,habit|kind][,evasion][,start]`, in any order of columns.
pub(crate) fn read_label_rows(path: &Path) -> anyhow::Result<Vec<(String, Truthful)>> {
    let failed = || format!("the labels {} cannot be read", path.display());
    let mut reader = csv::Reader::from_path(path).with_context(failed)?;
    let headers = reader.headers().with_context(failed)?.clone();
    let column = |name: &str| headers.iter().position(|header| header.trim() == name);
    let (Some(source), Some(label)) = (column("source"), column("label")) else {
        bail!(
            "{}: the first line must name the columns 'source' and 'label'",
            path.display()
        );
    };
    let (campaign, evasion) = (column("campaign"), column("evasion"));
    let habit = column("habit").or_else(|| column("kind"));
    let start = column("start");
    let mut labels = Vec::new();
    for (number, record) in (2..).zip(reader.records()) {
        let record = record.with_context(failed)?;
        let text = |at: Option<usize>| {
            at.and_then(|at| record.get(at))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let known = Truthful {
            label: text(Some(label)),
            campaign: text(campaign),
            habit: text(habit),
            evasion: text(evasion),
            start: match start {
                Some(_) => Some(second(&text(start), path, number)?),
                None => None,
            },
        };
        if !LABELS.contains(&known.label.as_str()) {
            bail!(
                "{} line {number}: '{}' is no label; there are {}",
                path.display(),
                known.label,
                LABELS.join(", ")
            );
        }
        labels.push((text(Some(source)), known));
    }
    Ok(labels)
}

fn second(text: &str, path: &Path, line: usize) -> anyhow::Result<u32> {
    let failed = || {
        format!(
            "{} line {line}: '{text}' is not a start in seconds since 1970",
            path.display()
        )
    };
    text.parse().ok().with_context(failed)
}

/// The label that facts beside the traffic's shape give a source: its name, its address, how its browser loads pages.
pub(crate) fn derive(source: &SourceReport) -> Option<&'static str> {
    let by_name = source
        .decided_by
        .is_some_and(|rule| ["declared_robot", "claimed_operator"].contains(&rule));
    let speaks_for_people = |rule: &str| {
        source
            .evidence
            .iter()
            .any(|item| item.detector == rule && item.weight < 0.0)
    };
    match (source.class, source.kind) {
        (Class::Automated, _) if by_name => Some("automated"),
        (Class::Crawler, Some(Kind::Legitimate)) if by_name => Some("legitimate"),
        (Class::Crawler, Some(Kind::Masquerading)) if by_name => Some("masquerading"),
        (Class::Crawler, _) if by_name => Some("unauthorized"),
        // Pages with their parts, and links that were followed.
        _ if speaks_for_people("loaded_page_parts") && speaks_for_people("followed_links") => {
            Some("user")
        }
        _ => None,
    }
}
