//! What the rules measured and found about sources whose truth is known: from logs with labels, or from worlds whose logs are written
//! and read in memory, since headers only exist in lines.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::detectors::SPECS;
use cattlegrid_core::evidence::Measure;
use cattlegrid_core::report::Lesson;
use cattlegrid_core::report::WindowReport;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Votes;
use cattlegrid_learn::model::Model;
use cattlegrid_worlds::World;
use cattlegrid_worlds::world;
use cattlegrid_worlds::write::write_log;

use crate::cli::LogArgs;
use crate::feed::Feed;
use crate::labelled::HALF_HOURS_MIN;
use crate::labelled::Truth;
use crate::labelled::Truthful;
use crate::labelled::read_labels;
use crate::labelled::worlds_of;
use crate::lists;
use crate::logs;

/// The paper's heuristics, H1 to H7 in its order.
pub(crate) const HEURISTICS: [&str; 7] = [
    "high_error_rate",
    "low_page_revisit",
    "suspicious_referrer",
    "ignored_cookies",
    "unbalanced_traffic",
    "low_parameter_usage",
    "suspicious_sequence",
];

/// One source in one window, with its truth.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// Which world, or the log.
    pub(crate) set: String,
    pub(crate) source: String,
    pub(crate) truth: Truthful,
    pub(crate) votes: Votes,
    pub(crate) lesson: Lesson,
    /// What the traffic's shape says, where it says something.
    pub(crate) shape: Option<bool>,
    pub(crate) class: Class,
}

impl Judged {
    pub(crate) fn is_crawler(&self) -> bool {
        self.truth.label != "user"
    }

    /// What a heuristic measured: nothing where it abstained.
    pub(crate) fn measures(&self, heuristic: &str) -> &[Measure] {
        let mut all = self.lesson.measures.iter();
        let found = all.find(|(name, _)| *name == heuristic);
        found.map_or(&[], |(_, measures)| measures)
    }

    /// Whether a heuristic was triggered; `None` where it abstained.
    pub(crate) fn is_triggered(&self, heuristic: &str) -> Option<bool> {
        let mut found = self.lesson.findings.iter();
        let is_found = found.any(|(name, toward, _)| {
            *name == heuristic && *toward == cattlegrid_core::evidence::Toward::Crawler
        });
        (is_found || !self.measures(heuristic).is_empty()).then_some(is_found)
    }
}

/// Everybody who was judged.
#[derive(Debug, Default)]
pub(crate) struct Lessons {
    pub(crate) rows: Vec<Judged>,
    /// What they come from, in words.
    pub(crate) origin: Vec<String>,
}

/// Collects sources of at least so many requests in a window. Automated programs are left out: they are neither people nor crawlers.
pub(crate) fn collect(
    log: &LogArgs,
    truth: Truth<'_>,
    requests_min: u32,
) -> anyhow::Result<Lessons> {
    let (worlds, logs): (Vec<&String>, Vec<&String>) =
        log.logs.iter().partition(|name| name.starts_with("world:"));
    let mut lessons = Lessons::default();
    match (truth, logs.is_empty(), worlds.is_empty()) {
        (_, false, false) => bail!("give logs or worlds, not both at once"),
        (Truth::Worlds, true, _) => {}
        (_, true, _) => bail!("--labels and --derive-labels are for logs; worlds bring their own"),
        (Truth::File(path), false, _) => {
            let labels = read_labels(path)?;
            let settings = settings(log, requests_min)?;
            let model = settings.model.clone();
            let read = logs::read(log, settings)?;
            lessons.take(&read.report, "log", &labels, requests_min, model.as_deref());
            lessons
                .origin
                .push(format!("a log with {}", path.display()));
        }
        _ => bail!(
            "header heuristics need labels that nobody derived from headers: give --labels FILE (columns source and label)"
        ),
    }
    for name in worlds {
        let (kind, seeds) = worlds_of(name)?;
        for seed in seeds.clone() {
            let settings = settings(log, requests_min)?;
            let model = settings.model.clone();
            let world = World::new(kind, seed);
            let report = analyze(&world, settings)?;
            let set = format!("{} {seed}", kind.name());
            lessons.take(
                &report,
                &set,
                &truth_of(&world),
                requests_min,
                model.as_deref(),
            );
        }
        let (first, last) = (seeds.start(), seeds.end());
        lessons
            .origin
            .push(format!("{} worlds, seeds {first} to {last}", kind.name()));
    }
    if lessons.rows.is_empty() {
        bail!(
            "no source with a label sent {requests_min} requests in a window (--day-requests lowers that)"
        );
    }
    Ok(lessons)
}

fn settings(log: &LogArgs, requests_min: u32) -> anyhow::Result<Settings> {
    Ok(Settings {
        keep_shapes: Some((requests_min, HALF_HOURS_MIN)),
        min_requests: 0,
        ..logs::settings(log)?
    })
}

impl Lessons {
    fn take(
        &mut self,
        report: &Report,
        set: &str,
        labels: &BTreeMap<String, Truthful>,
        requests_min: u32,
        model: Option<&Model>,
    ) {
        let is_heavy = |window: &&WindowReport| window.requests >= u64::from(requests_min);
        for source in &report.sources {
            let Some(truth) = labels.get(&source.source) else {
                continue;
            };
            if truth.label == "automated" {
                continue;
            }
            for window in source.windows.iter().filter(is_heavy) {
                let shape = window.shape.as_ref().zip(model);
                self.rows.push(Judged {
                    set: set.to_owned(),
                    source: source.source.clone(),
                    truth: truth.clone(),
                    votes: window.votes,
                    lesson: window.lesson.as_deref().cloned().unwrap_or_default(),
                    shape: shape.map(|(values, model)| {
                        let votes = model.shape.votes(values);
                        model.shape.decibans(votes) > 0.0
                    }),
                    class: window.class,
                });
            }
        }
    }
}

fn truth_of(world: &World) -> BTreeMap<String, Truthful> {
    let row = |actor: &cattlegrid_worlds::Actor| {
        let evasion = actor.manners.evasion;
        let truth = Truthful {
            label: actor.label.name().to_owned(),
            campaign: actor.campaign.clone().unwrap_or_default(),
            habit: actor.habit.to_owned(),
            evasion: evasion.map_or_else(String::new, |row| row.to_string()),
            start: None,
        };
        (Ipv4Addr::from(actor.address).to_string(), truth)
    };
    world.actors.iter().map(row).collect()
}

/// Reads the log of a world as it is written: gigabytes that need no disk.
fn analyze(world: &World, settings: Settings) -> anyhow::Result<Report> {
    let name = match world.kind.has_eight_fields() {
        true => "pubcrawl",
        false => "combined",
    };
    let format = cattlegrid_core::format::Format::parse(name).map_err(anyhow::Error::msg)?;
    let knowledge = lists::knowledge(None)?;
    let mut analysis = Analysis::new(settings, knowledge).map_err(anyhow::Error::msg)?;
    let mut feed = Feed::new(format, |blocks| analysis.observe(&blocks));
    write_log(world, &mut feed).context("the world could not be written")?;
    feed.finish();
    let report = analysis.finish();
    logs::check_readable(&report, &[world_name(world)], &[])?;
    Ok(report)
}

fn world_name(world: &World) -> String {
    let kind: world::Kind = world.kind;
    format!("world:{}:{}", kind.name(), world.seed)
}

/// The place of a detector in the list of all.
pub(crate) fn place(detector: &str) -> Option<usize> {
    SPECS.iter().position(|spec| spec.name == detector)
}
