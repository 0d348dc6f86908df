//! `train --sessions`: how sessions of robots and of people differ, after the real-time paper (RTD) and beyond it.

use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::profile::PAPER_CUTS;
use cattlegrid_core::profile::VALUE_NAMES;
use cattlegrid_learn::data::Dataset;
use cattlegrid_learn::data::Example;
use cattlegrid_learn::folds::balanced;
use cattlegrid_learn::model::Ensemble;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::model::SessionModel;
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
/// The same examples give the same model.
const SEED: u64 = 1;

pub(crate) fn run(arguments: &TrainArgs) -> anyhow::Result<ExitCode> {
    let out = arguments.out.as_ref().context("--out FILE is missing")?;
    let moments = collect(&arguments.log, arguments.truth.labels.as_deref(), SILENCE)?;
    let sessions = learn(&moments, &arguments.log.logs.join(" "))?;
    let old = model::load(arguments.log.model.as_deref())?;
    let mut page = io::stdout().lock();
    let [robots, people] = sessions.examples;
    writeln!(
        page,
        "learned from {robots} sessions of robots and {people} of people"
    )?;
    if arguments.show_rules {
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
    }
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
    Ok(ExitCode::SUCCESS)
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
        let group = *groups.entry((moment.set, moment.source)).or_insert(next);
        Example {
            values: moment.values.to_vec(),
            is_positive: moment.is_robot,
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
