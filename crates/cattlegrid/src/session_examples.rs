//! Requests of labelled sources in the order of time, from logs or from simulated worlds: to learn sessions from, or to replay.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Settings;
use cattlegrid_core::format::Format;
use cattlegrid_core::profile::Record;
use cattlegrid_core::profile::Recorder;
use cattlegrid_core::profile::VALUES;
use cattlegrid_core::request::Source;
use cattlegrid_core::sessions::Sessions;
use cattlegrid_worlds::scene::Fields;
use cattlegrid_worlds::scene::Scene;
use cattlegrid_worlds::scenes::SceneKind;
use rayon::prelude::*;

use crate::cli::LogArgs;
use crate::feed::Feed;
use crate::labelled::read_labels;
use crate::lists;
use crate::logs;

/// What somebody is, and of which kind.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) kind: String,
}

impl Known {
    /// Programs that fetch what somebody asked for are neither people nor crawlers.
    pub(crate) fn is_judged(&self) -> bool {
        self.label != "automated"
    }

    pub(crate) fn is_robot(&self) -> bool {
        self.label != "user"
    }
}

/// Sources whose truth is known.
pub(crate) type Truth = BTreeMap<Source, Known>;

/// One log or world.
pub(crate) enum Set<'a> {
    Log(&'a LogArgs),
    World(SceneKind, u64),
}

/// The logs as one set, or each world as one.
pub(crate) fn sets(log: &LogArgs) -> anyhow::Result<Vec<Set<'_>>> {
    let is_world = |name: &&String| name.starts_with("world:");
    let (worlds, logs): (Vec<&String>, Vec<&String>) = log.logs.iter().partition(is_world);
    if logs.is_empty() {
        let worlds: anyhow::Result<Vec<Vec<Set<'_>>>> =
            worlds.iter().map(|name| worlds_of(name)).collect();
        return Ok(worlds?.into_iter().flatten().collect());
    }
    if !worlds.is_empty() {
        bail!("give logs or worlds, not both at once");
    }
    Ok(vec![Set::Log(log)])
}

/// `world:KIND:SEED` or `world:KIND:FIRST-LAST`.
fn worlds_of(name: &str) -> anyhow::Result<Vec<Set<'static>>> {
    let asked = || {
        let known = SceneKind::ALL.map(SceneKind::name).join(", ");
        format!("'{name}' should be world:KIND:SEEDS, like world:visits:1-10, of one of {known}")
    };
    let mut parts = name.splitn(3, ':').skip(1);
    let (kind, seeds) = parts.next().zip(parts.next()).with_context(asked)?;
    let mut kinds = SceneKind::ALL.into_iter();
    let kind = kinds.find(|known| known.name() == kind);
    let kind = kind.with_context(asked)?;
    let (first, last) = seeds.split_once('-').unwrap_or((seeds, seeds));
    let seeds: Option<RangeInclusive<u64>> = first
        .parse()
        .ok()
        .zip(last.parse().ok())
        .map(|(first, last)| first..=last);
    let seeds = seeds.with_context(asked)?;
    Ok(seeds.map(|seed| Set::World(kind, seed)).collect())
}

impl Set<'_> {
    pub(crate) fn name(&self) -> String {
        match self {
            Set::Log(_) => "log".to_owned(),
            Set::World(kind, seed) => format!("world:{}:{seed}", kind.name()),
        }
    }

    /// Gives every request to `each` in the order of time. What the sources are comes from the file of labels, or from the world.
    pub(crate) fn replay(
        &self,
        labels: Option<&Path>,
        each: impl FnMut(&Record) + Send,
    ) -> anyhow::Result<Truth> {
        match (self, labels) {
            (Set::Log(log), Some(labels)) => {
                let truth = truth_of_log(log, labels)?;
                logs::replay(log, each)?;
                Ok(truth)
            }
            (Set::Log(_), None) => bail!(
                "whether the sources of a log are people or robots must be known: give --labels FILE (columns source and label)"
            ),
            (Set::World(..), Some(_)) => bail!("--labels is for logs; worlds bring their own"),
            (Set::World(kind, seed), None) => {
                let mut scene = kind.build(*seed);
                replay_scene(&mut scene, each)?;
                Ok(truth_of_scene(&scene))
            }
        }
    }
}

fn truth_of_log(log: &LogArgs, labels: &Path) -> anyhow::Result<Truth> {
    let settings = logs::settings(log)?;
    let recorder = Recorder::new(settings.hash_key, &[]).map_err(anyhow::Error::msg)?;
    let row = |(name, truth): (String, crate::labelled::Truthful)| {
        let known = Known {
            name: name.clone(),
            label: truth.label,
            kind: truth.habit,
        };
        (recorder.source(&name), known)
    };
    Ok(read_labels(labels)?.into_iter().map(row).collect())
}

fn truth_of_scene(scene: &Scene) -> Truth {
    let row = |party: &cattlegrid_worlds::scene::Party| {
        let address = std::net::Ipv4Addr::from(party.address).to_string();
        let known = Known {
            name: address.clone(),
            label: party.label.name().to_owned(),
            kind: party.kind.to_owned(),
        };
        Source::from_address(address.as_bytes()).map(|source| (source, known))
    };
    scene.parties().iter().filter_map(row).collect()
}

fn replay_scene(scene: &mut Scene, mut each: impl FnMut(&Record)) -> anyhow::Result<()> {
    let format = Format::parse("combined").map_err(anyhow::Error::msg)?;
    let mut analysis =
        Analysis::new(Settings::default(), lists::knowledge(None)?).map_err(anyhow::Error::msg)?;
    let mut feed = Feed::new(format, |blocks| analysis.replay(blocks, &mut each));
    scene
        .write_log(Fields::Combined, &mut feed)
        .context("the world could not be written")?;
    feed.finish();
    Ok(())
}

/// One session at one moment, with its truth.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) source: Source,
    pub(crate) set: usize,
    pub(crate) values: [f64; VALUES],
    pub(crate) is_robot: bool,
    /// What kind of people or robot, where that is known.
    pub(crate) kind: String,
    /// At its end, or at one of the page requests before.
    pub(crate) is_end: bool,
}

/// Page requests at which a session is looked at while it goes on.
const LOOKS: [u16; 6] = [5, 7, 10, 15, 25, 50];
/// Page requests of a session to learn from at least.
const PAGES_MIN: u16 = 5;
/// Sessions at once: those of a log of any size.
pub(crate) const CAPACITY: usize = 1 << 20;

/// All sessions of labelled sources with enough pages, at several moments each.
pub(crate) fn collect(
    log: &LogArgs,
    labels: Option<&Path>,
    silence: u32,
) -> anyhow::Result<Vec<Moment>> {
    let sets = sets(log)?;
    let moments: anyhow::Result<Vec<Vec<Moment>>> = sets
        .par_iter()
        .enumerate()
        .map(|(number, set)| collect_set(set, labels, silence, number))
        .collect();
    Ok(moments?.into_iter().flatten().collect())
}

fn collect_set(
    set: &Set<'_>,
    labels: Option<&Path>,
    silence: u32,
    number: usize,
) -> anyhow::Result<Vec<Moment>> {
    let mut sessions = Sessions::new(CAPACITY, silence).keep_ended();
    let mut looks: Vec<(Source, [f64; VALUES], bool)> = Vec::new();
    let truth = set.replay(labels, |record| {
        let (client, session) = sessions.observe(record);
        if record.is_page() && LOOKS.contains(&session.pages) {
            looks.push((client.source, session.values(0), false));
        }
    })?;
    let ended = sessions.finish();
    let ended = ended
        .iter()
        .filter(|(_, session)| session.pages >= PAGES_MIN);
    looks.extend(ended.map(|(client, session)| (client.source, session.values(0), true)));
    let moment = |(source, values, is_end): (Source, [f64; VALUES], bool)| {
        let known = truth.get(&source).filter(|known| known.is_judged())?;
        Some(Moment {
            source,
            set: number,
            values,
            is_robot: known.is_robot(),
            kind: known.kind.clone(),
            is_end,
        })
    };
    Ok(looks.into_iter().filter_map(moment).collect())
}
