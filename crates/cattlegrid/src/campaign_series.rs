//! Series of sources whose campaigns are known, from labelled logs or from simulated worlds: to learn k from, or to test on.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;
use std::path::Path;

use anyhow::bail;
use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::verdict::Class;
use cattlegrid_learn::cluster::MEMBERS_MIN;
use cattlegrid_worlds::World;
use cattlegrid_worlds::random::Random;
use cattlegrid_worlds::world;

use crate::cli::LogArgs;
use crate::labelled::HALF_HOURS_MIN;
use crate::labelled::Truth;
use crate::labelled::Truthful;
use crate::labelled::read_labels;
use crate::labelled::worlds_of;
use crate::logs;
use crate::table_8::Member;

/// Requests from which a source's times are compared, as the program is shipped.
const REQUESTS_MIN: f64 = 300.0;

/// What a scene is changed to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change {
    None,
    /// Sources come in another order than the heaviest first.
    Lightest,
    Shuffled,
    /// Each source is ahead of its schedule, or behind, by a half hour or on time.
    Jitter,
    /// Members of campaigns send so much on a day. Only a world can be drawn again with other volumes.
    Volume(f64),
}

impl Change {
    pub(crate) const ALL: [Change; 8] = [
        Change::None,
        Change::Lightest,
        Change::Shuffled,
        Change::Jitter,
        Change::Volume(500.0),
        Change::Volume(5000.0),
        Change::Volume(50_000.0),
        Change::Volume(500_000.0),
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Change::None => "as they are, heaviest first".to_owned(),
            Change::Lightest => "lightest first".to_owned(),
            Change::Shuffled => "in any order".to_owned(),
            Change::Jitter => "each early or late by half an hour".to_owned(),
            Change::Volume(daily) => format!("campaigns of {daily} requests a day and source"),
        }
    }
}

/// Sources whose series can be compared with each other.
#[derive(Debug)]
pub(crate) enum Set {
    /// A world, which is drawn when it is needed.
    World(world::Kind, u64),
    /// One window of a log: when it begins, and its sources.
    Window(u32, Vec<Row>),
}

/// A source.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Sources of equal volume come in this order.
    number: u64,
    network: u64,
    series: Vec<f64>,
    campaign: Option<String>,
    /// A number for its agent, where no browser of people has it.
    kin: Option<u64>,
}

/// Everybody of one set whose times can be compared.
pub(crate) struct Scene {
    pub(crate) series: Vec<Vec<f64>>,
    /// Campaigns of three sources and more.
    pub(crate) campaigns: Vec<Option<u32>>,
    /// Agents that no browser has.
    pub(crate) kin: Vec<Option<u64>>,
    /// Members of campaigns as they are known.
    pub(crate) members: Vec<Option<Member>>,
}

/// The worlds or windows that the flags name.
pub(crate) fn collect(log: &LogArgs, truth: Truth<'_>) -> anyhow::Result<Vec<Set>> {
    let (worlds, logs): (Vec<&String>, Vec<&String>) =
        log.logs.iter().partition(|name| name.starts_with("world:"));
    match (truth, logs.is_empty(), worlds.is_empty()) {
        (_, false, false) => bail!("give logs or worlds, not both at once"),
        (Truth::File(_) | Truth::Derived, true, _) => {
            bail!("--labels and --derive-labels are for logs; worlds bring their own campaigns")
        }
        (Truth::Derived, false, _) => {
            bail!("derived labels name no campaigns: give --labels FILE with a column 'campaign'")
        }
        (Truth::Worlds, false, _) => bail!(
            "which sources of a log are one campaign must be known: give --labels FILE with the columns source, label and campaign"
        ),
        (Truth::File(path), false, _) => return of_log(log, path),
        (Truth::Worlds, true, _) => {}
    }
    let mut sets = Vec::new();
    for name in worlds {
        let (kind, seeds) = worlds_of(name)?;
        sets.extend(seeds.map(|seed| Set::World(kind, seed)));
    }
    Ok(sets)
}

fn of_log(log: &LogArgs, path: &Path) -> anyhow::Result<Vec<Set>> {
    let labels = read_labels(path)?;
    if labels.values().all(|truth| truth.campaign.is_empty()) {
        bail!(
            "{} names no campaign: add a column 'campaign' with the same name for all sources that crawl as one",
            path.display()
        );
    }
    let settings = Settings {
        keep_shapes: Some((0, HALF_HOURS_MIN)),
        min_requests: 0,
        ..logs::settings(log)?
    };
    let read = logs::read(log, settings)?;
    let sets = windows(&read.report, &labels);
    if !sets
        .iter()
        .any(|set| set.scene(Change::None).has_campaign())
    {
        bail!(
            "no campaign in {} has {MEMBERS_MIN} sources with {REQUESTS_MIN} requests in one window of more than two days",
            path.display()
        );
    }
    Ok(sets)
}

/// Sources with labels and series, window by window.
fn windows(report: &Report, labels: &BTreeMap<String, Truthful>) -> Vec<Set> {
    // An agent that people use says nothing about who belongs together. Who people are is what analysis says, not what labels say.
    let people = report.sources.iter();
    let people = people.filter(|source| source.class == Class::User);
    let common: BTreeSet<&str> = people
        .filter_map(|source| source.agent.as_deref())
        .collect();
    let mut sets: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for source in &report.sources {
        let Some(truth) = labels.get(&source.source) else {
            continue;
        };
        let agent = source.agent.as_deref();
        let odd = agent.filter(|agent| !common.contains(agent));
        for window in &source.windows {
            let series = window
                .lesson
                .as_deref()
                .map_or(&[][..], |lesson| &lesson.series);
            if series.is_empty() {
                continue;
            }
            let campaign = Some(truth.campaign.clone()).filter(|campaign| !campaign.is_empty());
            sets.entry(window.start).or_default().push(Row {
                number: number(&source.source),
                network: network(&source.source),
                series: series.to_vec(),
                campaign,
                kin: odd.map(number),
            });
        }
    }
    let sets = sets.into_iter();
    sets.map(|(start, rows)| Set::Window(start, rows)).collect()
}

/// Any number will do that is the same for the same text.
fn number(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The /24 or /48 of a source as reports name it; a token is a network of its own.
fn network(source: &str) -> u64 {
    if let Ok(address) = source.parse::<Ipv4Addr>() {
        return u64::from(u32::from(address) >> 8);
    }
    let bare = source.strip_suffix("/64").unwrap_or(source);
    match bare.parse::<Ipv6Addr>() {
        Ok(address) => (u128::from(address) >> 80) as u64,
        Err(_) => number(source),
    }
}

impl Set {
    /// What it is called.
    pub(crate) fn name(&self) -> String {
        match self {
            Set::World(kind, seed) => format!("{} {seed}", kind.name()),
            Set::Window(start, _) => match jiff::Timestamp::from_second(i64::from(*start)) {
                Ok(time) => format!("window from {}", time.strftime("%Y-%m-%d %H:%M")),
                Err(_) => "window".to_owned(),
            },
        }
    }

    /// Whether a change can be made to it.
    pub(crate) fn allows(&self, change: Change) -> bool {
        match (self, change) {
            (Set::Window(..), Change::Volume(_)) => false,
            (Set::World(..) | Set::Window(..), _) => true,
        }
    }

    /// Its sources after a change.
    pub(crate) fn scene(&self, change: Change) -> Scene {
        let seed = match self {
            Set::World(_, seed) => *seed,
            Set::Window(start, _) => u64::from(*start),
        };
        let mut random = Random::new(seed, 0xca3b);
        let rows = match self {
            Set::World(kind, seed) => of_world(&World::new(*kind, *seed), change, &mut random),
            Set::Window(_, rows) => {
                let mut rows = rows.clone();
                if change == Change::Jitter {
                    rows.iter_mut()
                        .for_each(|row| jitter(&mut row.series, &mut random));
                }
                rows
            }
        };
        Scene::of(rows, change, &mut random)
    }
}

fn jitter<T>(series: &mut [T], random: &mut Random) {
    if !series.is_empty() {
        series.rotate_right(1);
        series.rotate_left(random.below(3) as usize);
    }
}

fn of_world(world: &World, change: Change, random: &mut Random) -> Vec<Row> {
    let row = |actor: &cattlegrid_worlds::Actor| {
        let mut counts = actor.counts.clone();
        if let (Change::Volume(daily), Some(_)) = (change, &actor.campaign) {
            let sum: f64 = counts.iter().map(|count| f64::from(*count)).sum();
            let share = daily * counts.len() as f64 / 48.0 / sum.max(1.0);
            counts.fill(0);
            for plan in &actor.plans {
                plan.for_member(share).draw(random, &mut counts);
            }
        }
        if change == Change::Jitter {
            jitter(&mut counts, random);
        }
        let agent = actor.manners.agents.first();
        let odd = agent.filter(|agent| !cattlegrid_worlds::actor::is_common(agent));
        Row {
            number: u64::from(actor.address),
            network: u64::from(actor.address >> 8),
            series: counts.iter().map(|count| f64::from(*count)).collect(),
            campaign: actor.campaign.clone(),
            kin: odd.map(|agent| number(agent)),
        }
    };
    world.actors.iter().map(row).collect()
}

impl Scene {
    fn of(rows: Vec<Row>, change: Change, random: &mut Random) -> Scene {
        let requests = |row: &Row| row.series.iter().sum::<f64>();
        let rows = rows.into_iter().map(|row| (requests(&row), row));
        let mut rows: Vec<(f64, Row)> = rows.filter(|(sum, _)| *sum >= REQUESTS_MIN).collect();
        match change {
            Change::Lightest => {
                rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.number.cmp(&b.1.number)));
            }
            Change::Shuffled => {
                let mut keys: Vec<u64> = rows.iter().map(|_| random.bits()).collect();
                rows.sort_by_cached_key(|_| keys.pop());
            }
            Change::None | Change::Jitter | Change::Volume(_) => {
                rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.number.cmp(&b.1.number)));
            }
        }
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for campaign in rows.iter().filter_map(|(_, row)| row.campaign.as_deref()) {
            *sizes.entry(campaign).or_default() += 1;
        }
        sizes.retain(|_, size| *size >= MEMBERS_MIN);
        let numbers: BTreeMap<&str, u32> = sizes.into_keys().zip(0..).collect();
        let campaign = |row: &Row| numbers.get(row.campaign.as_deref()?).copied();
        let member = |(sum, row): &(f64, Row)| {
            Some(Member {
                campaign: row.campaign.clone()?,
                network: row.network,
                daily: sum * 48.0 / row.series.len().max(1) as f64,
            })
        };
        Scene {
            campaigns: rows.iter().map(|(_, row)| campaign(row)).collect(),
            kin: rows.iter().map(|(_, row)| row.kin).collect(),
            members: rows.iter().map(member).collect(),
            series: rows.into_iter().map(|(_, row)| row.series).collect(),
        }
    }

    /// Whether there is anything to learn or to test.
    pub(crate) fn has_campaign(&self) -> bool {
        self.campaigns.iter().any(Option::is_some)
    }
}
