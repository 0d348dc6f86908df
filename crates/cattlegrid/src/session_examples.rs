//! Requests of labelled sources in the order of time, from logs or from simulated worlds: to learn sessions from, or to replay.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::sync::mpsc::SyncSender;
use std::thread;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Settings;
use cattlegrid_core::analysis::Block;
use cattlegrid_core::format::Format;
use cattlegrid_core::profile::Record;
use cattlegrid_core::profile::Recorder;
use cattlegrid_core::profile::VALUES;
use cattlegrid_core::request::Source;
use cattlegrid_core::sessions::Client;
use cattlegrid_core::sessions::Sessions;
use cattlegrid_worlds::scene::Fields;
use cattlegrid_worlds::scene::Scene;
use cattlegrid_worlds::scenes::SceneKind;
use rayon::prelude::*;

use crate::cli::LogArgs;
use crate::feed::Feed;
use crate::labelled::Truth;
use crate::labelled::derive;
use crate::labelled::kind_and_seeds;
use crate::labelled::read_label_rows;
use crate::lists;
use crate::logs;

/// What somebody is, and of which kind.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) kind: String,
}

/// What somebody is to a replay, in the order of the report's groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Person,
    Robot,
    Automated,
}

impl Known {
    pub(crate) fn role(&self) -> Role {
        match (self.is_judged(), self.is_robot()) {
            (false, _) => Role::Automated,
            (true, true) => Role::Robot,
            (true, false) => Role::Person,
        }
    }

    /// Programs that fetch what somebody asked for are neither people nor crawlers.
    pub(crate) fn is_judged(&self) -> bool {
        self.label != "automated"
    }

    pub(crate) fn is_robot(&self) -> bool {
        self.label != "user"
    }
}

/// Sources whose truth is known, and sessions by their first second where these have a truth of their own.
#[derive(Debug, Default)]
pub(crate) struct KnownSources {
    pub(crate) sources: BTreeMap<Source, Known>,
    sessions: BTreeMap<(Source, u32), Known>,
    /// Names of sources of which nothing else is known.
    names: BTreeMap<Source, String>,
}

impl KnownSources {
    /// What is known of a session.
    fn of(&self, source: Source, first: u32) -> Option<&Known> {
        let own = self.sessions.get(&(source, first));
        own.or_else(|| self.sources.get(&source))
    }
}

/// One log or world.
pub(crate) enum Set<'a> {
    Log(&'a LogArgs),
    World(&'a LogArgs, SceneKind, u64),
}

/// The logs as one set, or each world as one.
pub(crate) fn sets(log: &LogArgs) -> anyhow::Result<Vec<Set<'_>>> {
    let is_world = |name: &&String| name.starts_with("world:");
    let (worlds, logs): (Vec<&String>, Vec<&String>) = log.logs.iter().partition(is_world);
    if logs.is_empty() {
        let worlds: anyhow::Result<Vec<Vec<Set<'_>>>> =
            worlds.iter().map(|name| worlds_of(log, name)).collect();
        return Ok(worlds?.into_iter().flatten().collect());
    }
    if !worlds.is_empty() {
        bail!("give logs or worlds, not both at once");
    }
    Ok(vec![Set::Log(log)])
}

/// `world:KIND:SEED` or `world:KIND:FIRST-LAST`.
fn worlds_of<'a>(log: &'a LogArgs, name: &str) -> anyhow::Result<Vec<Set<'a>>> {
    let (kind, seeds) = kind_and_seeds(name)?;
    let mut kinds = SceneKind::ALL.into_iter();
    let found = kinds.find(|known| known.name() == kind);
    let found = found.with_context(|| {
        let known = SceneKind::ALL.map(SceneKind::name).join(", ");
        format!("there are no sessions in a world '{kind}'; there are in {known}")
    })?;
    Ok(seeds.map(|seed| Set::World(log, found, seed)).collect())
}

impl Set<'_> {
    /// What the sources are.
    pub(crate) fn truth(&self, labels: Truth<'_>) -> anyhow::Result<KnownSources> {
        match (self, labels) {
            (Set::Log(log), Truth::File(path)) => truth_of_file(log, path),
            (Set::Log(log), Truth::Derived) => derived_truth(log),
            (Set::Log(_), Truth::Worlds) => bail!(
                "whether the sources of a log are people or robots must be known: give --labels FILE (columns source and label)"
            ),
            (Set::World(_, kind, seed), Truth::Worlds) => Ok(truth_of_scene(&kind.build(*seed))),
            (Set::World(..), _) => bail!("labels are for logs; worlds bring their own"),
        }
    }

    /// Gives every request to `each` in the order of time.
    pub(crate) fn replay(&self, mut each: impl FnMut(&Record) + Send) -> anyhow::Result<()> {
        self.read(|analysis, blocks| analysis.replay(blocks, &mut each))?;
        Ok(())
    }

    /// Gives blocks of lines to `work`, and the analysis that it worked with back.
    pub(crate) fn read(
        &self,
        mut work: impl FnMut(&mut Analysis, &[Block]) + Send,
    ) -> anyhow::Result<Analysis> {
        match self {
            Set::Log(log) => logs::read_again(log, self.settings()?, work),
            Set::World(log, kind, seed) => {
                let knowledge = lists::knowledge(log.lists.as_deref())?;
                let format = Format::parse("combined").map_err(anyhow::Error::msg)?;
                let mut analysis =
                    Analysis::new(self.settings()?, knowledge).map_err(anyhow::Error::msg)?;
                // As a log is read by a thread of its own.
                thread::scope(|scope| {
                    let (give, take) = mpsc::sync_channel::<Vec<Block>>(1);
                    let writer = scope.spawn(move || write_scene(kind.build(*seed), format, give));
                    take.iter().for_each(|blocks| work(&mut analysis, &blocks));
                    let written = writer.join();
                    written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })?;
                Ok(analysis)
            }
        }
    }

    /// The settings that it is read with.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let (Set::Log(log) | Set::World(log, ..)) = self;
        Ok(Settings {
            keep_bands: true,
            ..logs::settings(log)?
        })
    }
}

/// Gives the lines of a scene in blocks.
fn write_scene(
    mut scene: Scene,
    format: Format,
    give: SyncSender<Vec<Block>>,
) -> anyhow::Result<()> {
    // Nobody takes them where the other side panicked, which is told there.
    let mut feed = Feed::new(format, |blocks| drop(give.send(blocks)));
    let written = scene.write_log(Fields::Combined, &mut feed);
    written.context("the world could not be written")?;
    feed.finish();
    Ok(())
}

/// Names of sources as the analysis of a log has them.
fn recorder(log: &LogArgs) -> anyhow::Result<Recorder> {
    let settings = logs::settings(log)?;
    Recorder::new(settings.hash_key, &[]).map_err(anyhow::Error::msg)
}

fn truth_of_file(log: &LogArgs, path: &Path) -> anyhow::Result<KnownSources> {
    let recorder = recorder(log)?;
    let mut truth = KnownSources::default();
    for (name, labels) in read_label_rows(path)? {
        let source = recorder.source(&name);
        let known = Known {
            name,
            label: labels.label,
            kind: labels.habit,
        };
        match labels.start {
            Some(start) => truth.sessions.insert((source, start), known),
            None => truth.sources.insert(source, known),
        };
    }
    Ok(truth)
}

fn derived_truth(log: &LogArgs) -> anyhow::Result<KnownSources> {
    let recorder = recorder(log)?;
    // Who sends less has no session to judge, and there may be millions of them.
    let settings = Settings {
        min_requests: u64::from(PAGES_MIN),
        ..logs::settings(log)?
    };
    let read = logs::read_by(log, settings, |analysis, blocks| {
        analysis.observe(blocks);
        analysis.keep_heaviest(CAPACITY);
    })?;
    let mut truth = KnownSources::default();
    for report in &read.report.sources {
        let source = recorder.source(&report.source);
        let Some(label) = derive(report) else {
            truth.names.insert(source, report.source.clone());
            continue;
        };
        let known = Known {
            name: report.source.clone(),
            label: label.to_owned(),
            kind: String::new(),
        };
        truth.sources.insert(source, known);
    }
    Ok(truth)
}

fn truth_of_scene(scene: &Scene) -> KnownSources {
    let row = |party: &cattlegrid_worlds::scene::Party| {
        let address = std::net::Ipv4Addr::from(party.address).to_string();
        let known = Known {
            name: address.clone(),
            label: party.label.name().to_owned(),
            kind: party.kind.to_owned(),
        };
        Source::from_address(address.as_bytes()).map(|source| (source, known))
    };
    KnownSources {
        sources: scene.parties().iter().filter_map(row).collect(),
        ..KnownSources::default()
    }
}

/// One session at one moment, with its truth.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) client: Client,
    /// The first second of the session.
    pub(crate) first: u32,
    pub(crate) set: usize,
    pub(crate) values: [f64; VALUES],
    /// `None` where nothing is known.
    pub(crate) is_robot: Option<bool>,
    /// The source by name, where it is known.
    pub(crate) name: String,
    /// What kind of people or robot, where that is known.
    pub(crate) kind: String,
    /// At its end, or at one of the page requests before.
    pub(crate) is_end: bool,
}

/// Page requests at which a session is looked at while it goes on.
const LOOKS: [u16; 6] = [5, 7, 10, 15, 25, 50];
/// Page requests of a session to learn from at least.
const PAGES_MIN: u16 = 5;
/// Sessions at once, and sources whose labels are derived: those of a log of any size.
pub(crate) const CAPACITY: usize = 1 << 20;

/// All sessions with enough pages, at several moments each. Programs that fetch what somebody asked for are left out.
pub(crate) fn collect(
    log: &LogArgs,
    labels: Truth<'_>,
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
    labels: Truth<'_>,
    silence: u32,
    number: usize,
) -> anyhow::Result<Vec<Moment>> {
    let mut sessions = Sessions::new(CAPACITY, silence).keep_ended();
    let mut moments: Vec<Moment> = Vec::new();
    let moment = |client: Client, first: u32, values: [f64; VALUES], is_end: bool| Moment {
        client,
        first,
        set: number,
        values,
        is_robot: None,
        name: String::new(),
        kind: String::new(),
        is_end,
    };
    let truth = set.truth(labels)?;
    set.replay(|record| {
        let ongoing = sessions.observe(record);
        if record.is_page() && LOOKS.contains(&ongoing.session.pages) {
            let first = ongoing.session.first;
            moments.push(moment(ongoing.client, first, ongoing.values(), false));
        }
    })?;
    for ended in sessions.finish() {
        if ended.session.pages >= PAGES_MIN {
            let first = ended.session.first;
            moments.push(moment(ended.client, first, ended.values, true));
        }
    }
    moments.retain_mut(|moment| {
        let Some(known) = truth.of(moment.client.source, moment.first) else {
            let name = truth.names.get(&moment.client.source);
            moment.name = name.cloned().unwrap_or_default();
            return true;
        };
        moment.is_robot = Some(known.is_robot());
        moment.kind.clone_from(&known.kind);
        moment.name.clone_from(&known.name);
        known.is_judged()
    });
    Ok(moments)
}
