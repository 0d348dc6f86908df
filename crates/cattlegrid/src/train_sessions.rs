//! `train --sessions`: how sessions of robots and of people differ, after the real-time paper (RTD) and beyond it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use cattlegrid_core::profile::PAPER_CUTS;
use cattlegrid_core::profile::VALUE_NAMES;
use cattlegrid_core::sessions::Client;
use cattlegrid_learn::data::Classifier;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::folds::balanced;
use cattlegrid_learn::model::Ensemble;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::model::SessionModel;
use cattlegrid_learn::network::Network;
use cattlegrid_learn::tree::Cuts;
use cattlegrid_learn::tree::Leaf;
use cattlegrid_learn::tree::Size;
use cattlegrid_learn::tree::Tree;

use crate::cli::TrainArgs;
use crate::files::write_whole;
use crate::model;
use crate::session_examples::Moment;
use crate::session_examples::collect;

/// Seconds of silence that end a session to learn from. Half an hour is what web statistics agree on, and people read a page for minutes: the
/// two minutes of the live session would cut their visits into single pages.
pub(crate) const SILENCE: u32 = 1800;
/// Sessions of each class below which nothing can be learned.
const SESSIONS_MIN: usize = 20;
/// Examples to learn from at most: more take long and teach little.
const EXAMPLES_MAX: usize = 60_000;
/// The paper's trees have five values, each asked for once.
const PAPER_SIZE: Size = Size { depth: 5, leaf: 10 };
/// A tree that a person reads.
const READABLE: Size = Size { depth: 6, leaf: 30 };
/// Values of the network (Stassopoulou and Dikaiakos).
const NETWORK_VALUES: [&str; 6] = [
    "clicks_per_minute",
    "duration",
    "image_share",
    "text_share",
    "client_error_share",
    "robots_txt",
];
/// Probability from which on a session has a label (RTD).
const SURE: f64 = 0.8;
/// What the paper found: the value, whether sessions above its cut are meant, and the share of people and of robots.
const PAPER_STATISTICS: [(&str, usize, bool, [&str; 2]); 5] = [
    (
        "images above 10 % of requests",
        0,
        true,
        ["nearly all", "1 %"],
    ),
    ("pages above 60 % of requests", 1, true, ["6 %", "most"]),
    ("4xx above 20 % of requests", 2, true, ["4 %", "35 %"]),
    (
        "less than 50 s between pages",
        3,
        false,
        ["not given", "75 %"],
    ),
    ("more than 10 pages in a minute", 4, true, ["1 %", "60 %"]),
];
/// The same examples give the same model.
const SEED: u64 = 1;

pub(crate) fn run(arguments: &TrainArgs) -> anyhow::Result<ExitCode> {
    let mut moments = collect(&arguments.log, arguments.truth.truth(), SILENCE)?;
    let mut page = String::new();
    if arguments.truth.derive_labels {
        label(&mut moments, arguments.labels_out.as_deref(), &mut page)?;
    }
    moments.retain(|moment| moment.is_robot.is_some());
    statistics(&moments, &mut page)?;
    if let Some(out) = &arguments.out {
        let sessions = learn(&moments, &arguments.log.logs.join(" "))?;
        let [robots, people] = sessions.examples;
        writeln!(
            page,
            "learned from {robots} sessions of robots and {people} of people"
        )?;
        if arguments.show_rules {
            show_rules(&sessions, &mut page)?;
        }
        let old = model::load(arguments.log.model.as_deref())?;
        let new = Model {
            sessions: Some(sessions),
            ..Model::clone(&old)
        };
        write_whole(out, |file| file.write_all(new.to_json()?.as_bytes()))?;
        writeln!(
            page,
            "written with the rest of the model in use to {}",
            out.display()
        )?;
    }
    io::stdout().lock().write_all(page.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Labels all sessions by a Bayesian network that learned from those whose source is known by name or by how it loads pages. What it is
/// not sure of has no label.
fn label(
    moments: &mut [Moment],
    labels_out: Option<&Path>,
    page: &mut String,
) -> anyhow::Result<()> {
    let is_known = |moment: &&Moment| moment.is_end && moment.is_robot.is_some();
    let known = dataset(moments.iter().filter(is_known));
    let robots = known.positives();
    let people = known.examples.len() - robots;
    if robots.min(people) < SESSIONS_MIN {
        bail!(
            "too few sessions are known by names and page loads: {robots} of robots, {people} of people; it takes {SESSIONS_MIN} of each. \
             Give --labels FILE"
        );
    }
    let places = NETWORK_VALUES.map(|name| VALUE_NAMES.iter().position(|known| *known == name));
    let places: Vec<usize> = places.into_iter().flatten().collect();
    let network = Network::learn(&balanced(&known, EXAMPLES_MAX, 1, SEED), &places);
    writeln!(
        page,
        "The network: share of people's and of robots' sessions in each range"
    )?;
    for line in network.describe(&VALUE_NAMES) {
        writeln!(page, "  {line}")?;
    }
    let ended = moments.iter().filter(|moment| moment.is_end);
    let labels: BTreeMap<Key, f64> = ended
        .map(|moment| (key(moment), network.probability(&moment.values)))
        .collect();
    let unsure = labels
        .values()
        .filter(|probability| call(**probability).is_none());
    writeln!(
        page,
        "  {} of {} sessions of five pages or more are labelled with a probability above {SURE}, {} are not",
        labels.len() - unsure.clone().count(),
        labels.len(),
        unsure.count()
    )?;
    for moment in moments.iter_mut() {
        let probability = labels.get(&key(moment)).copied();
        moment.is_robot = probability.and_then(call);
    }
    if let Some(path) = labels_out {
        write_whole(path, |file| write_sessions(moments, &labels, file))?;
        writeln!(
            page,
            "  written to {}: correct the labels there, and train with --sessions --labels {0}",
            path.display()
        )?;
    }
    Ok(())
}

/// Which session of which set.
type Key = (usize, Client, u32);

fn key(moment: &Moment) -> Key {
    (moment.set, moment.client, moment.first)
}

/// What a session is called at this probability of a robot.
fn call(probability: f64) -> Option<bool> {
    match probability {
        sure if sure > SURE => Some(true),
        sure if sure < 1.0 - SURE => Some(false),
        _ => None,
    }
}

/// One row for each session that has a label and a source with a name, for a person to look through.
fn write_sessions(
    moments: &[Moment],
    labels: &BTreeMap<Key, f64>,
    file: &mut impl Write,
) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(file);
    let names = ["source", "start", "label", "probability"];
    out.write_record(names.iter().chain(&VALUE_NAMES))?;
    for moment in moments.iter().filter(|moment| moment.is_end) {
        let (Some(is_robot), Some(probability)) = (moment.is_robot, labels.get(&key(moment)))
        else {
            continue;
        };
        let label = if is_robot { "crawler" } else { "user" };
        let first = [
            moment.name.clone(),
            moment.first.to_string(),
            label.to_owned(),
            format!("{probability:.4}"),
        ];
        let values = moment.values.iter().map(|value| format!("{value:.4}"));
        out.write_record(first.into_iter().chain(values))?;
    }
    out.flush()
}

/// What the paper says of its five values, and what these sessions say.
fn statistics(moments: &[Moment], page: &mut String) -> std::fmt::Result {
    let whole = moments.iter().filter(|moment| moment.is_end);
    let (robots, people): (Vec<&Moment>, Vec<&Moment>) =
        whole.partition(|moment| moment.is_robot == Some(true));
    writeln!(page, "Share of sessions, in brackets the paper's")?;
    writeln!(page, "  {:<34}{:>20}{:>16}", "", "people", "robots")?;
    for (text, value, is_above, [of_people, of_robots]) in PAPER_STATISTICS {
        let share = |of: &[&Moment]| {
            let is_so = |moment: &&&Moment| (moment.values[value] > PAPER_CUTS[value]) == is_above;
            100.0 * of.iter().filter(is_so).count() as f64 / of.len().max(1) as f64
        };
        let both = |ours: f64, paper: &str| format!("{ours:.0} % ({paper})");
        writeln!(
            page,
            "  {text:<34}{:>20}{:>16}",
            both(share(&people), of_people),
            both(share(&robots), of_robots)
        )?;
    }
    for (figure, value, text) in [(1, 0, "images"), (2, 1, "pages")] {
        writeln!(
            page,
            "Figure {figure}: sessions by their share of {text}, in percent of people and of robots"
        )?;
        for tenth in 0..10 {
            let share = |of: &[&Moment]| {
                let is_there =
                    |moment: &&&Moment| (moment.values[value] * 10.0).min(9.9) as u32 == tenth;
                100.0 * of.iter().filter(is_there).count() as f64 / of.len().max(1) as f64
            };
            let bar = |share: f64| "#".repeat((share / 4.0).round() as usize);
            let (of_people, of_robots) = (share(&people), share(&robots));
            writeln!(
                page,
                "  {:>3} to {:>3} %{of_people:>6.1} {:<26}{of_robots:>6.1} {}",
                10 * tenth,
                10 * tenth + 10,
                bar(of_people),
                bar(of_robots)
            )?;
        }
    }
    Ok(())
}

fn show_rules(sessions: &SessionModel, page: &mut String) -> std::fmt::Result {
    let trees = [
        ("the paper's values and cuts", &sessions.paper),
        ("the paper's values, learned cuts", &sessions.cuts),
        ("all values", &sessions.all),
    ];
    for (name, tree) in trees {
        writeln!(page, "{name}")?;
        for leaf in tree.leaves() {
            writeln!(page, "  {}", rule(&leaf))?;
        }
    }
    Ok(())
}

/// Learns all judges.
pub(crate) fn learn(moments: &[Moment], origin: &str) -> anyhow::Result<SessionModel> {
    let whole = dataset(moments.iter().filter(|moment| moment.is_end));
    let robots = whole.positives();
    let people = whole.examples.len() - robots;
    if robots.min(people) < SESSIONS_MIN {
        bail!(
            "{robots} sessions of robots and {people} of people have five pages or more; it takes {SESSIONS_MIN} of each"
        );
    }
    // As many of both, drawn at random (RTD).
    let whole = balanced(&whole, EXAMPLES_MAX, 1, SEED);
    let all = balanced(&dataset(moments.iter()), EXAMPLES_MAX, 1, SEED);
    let five = Cuts::LearnedOfFirst(PAPER_CUTS.len());
    Ok(SessionModel {
        made_from: origin.chars().take(500).collect(),
        examples: [robots as u64, people as u64],
        values: VALUE_NAMES.map(str::to_owned).to_vec(),
        paper: Tree::learn(&whole, Cuts::Given(&PAPER_CUTS), PAPER_SIZE),
        cuts: Tree::learn(&whole, five, PAPER_SIZE),
        all: Tree::learn(&all, Cuts::Learned, READABLE),
        best: Ensemble::learn(&all, SEED),
    })
}

pub(crate) fn dataset<'a>(moments: impl Iterator<Item = &'a Moment>) -> Dataset {
    let mut groups = BTreeMap::new();
    let example = |moment: &Moment| {
        let next = groups.len() as u32;
        let group = *groups
            .entry((moment.set, moment.client.source))
            .or_insert(next);
        Example {
            values: moment.values.to_vec(),
            is_positive: moment.is_robot == Some(true),
            group: Some(group),
        }
    };
    Dataset {
        attributes: SessionModel::attributes(&VALUE_NAMES.map(str::to_owned)),
        examples: moments.map(example).collect(),
    }
}

/// A way through a tree in words: `page_share > 0.6, clicks_per_minute <= 10: robot (120 of 130)`.
fn rule(leaf: &Leaf) -> String {
    let step = |step: &cattlegrid_learn::tree::Step| {
        let sign = if step.is_above { ">" } else { "<=" };
        let name = VALUE_NAMES.get(step.value).unwrap_or(&"?");
        format!("{name} {sign} {}", step.cut)
    };
    let path: Vec<String> = leaf.path.iter().map(step).collect();
    let [people, robots] = leaf.counts;
    let (class, many) = match robots > people {
        true => ("robot", robots),
        false => ("person", people),
    };
    format!(
        "{}: {class} ({many} of {})",
        path.join(", "),
        people + robots
    )
}
