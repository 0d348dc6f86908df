//! `train`: learns the shape of crawlers' and people's traffic from examples.

use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use cattlegrid_learn::cluster::PAPER_K;
use cattlegrid_learn::committee::Committee;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::series::PAPER_ATTRIBUTES;

use crate::cli::TrainArgs;
use crate::cli::TruthArgs;
use crate::files::write_whole;
use crate::labelled::Examples;
use crate::labelled::Truth;
use crate::labelled::collect;
use crate::model;

/// Examples of each class below which nothing can be learned.
const EXAMPLES_MIN: usize = 20;

pub(crate) fn run(arguments: &TrainArgs) -> anyhow::Result<ExitCode> {
    let examples = collect(
        &arguments.log,
        arguments.truth.truth(),
        arguments.truth.day_requests,
    )?;
    if let Some(path) = &arguments.labels_out {
        write_whole(path, |file| write_labels(&examples, file))?;
    }
    let Some(out) = &arguments.out else {
        say_labels(&examples)?;
        return Ok(ExitCode::SUCCESS);
    };
    // What is not learned here stays.
    let old = model::load(arguments.log.model.as_deref())?;
    let model = Model {
        sessions: old.sessions.clone(),
        paths: old.paths.clone(),
        ..learn(&examples)?
    };
    write_whole(out, |file| file.write_all(model.to_json()?.as_bytes()))?;
    let mut page = io::stdout().lock();
    let [crawlers, users] = model.examples;
    writeln!(
        page,
        "learned from {crawlers} crawlers and {users} users ({}), written to {}",
        model.made_from,
        out.display()
    )?;
    let whose = match examples.campaign_k() {
        Some(_) => "learned from the campaigns that are named",
        None => "the paper's own, as no campaign of three sources is named",
    };
    writeln!(
        page,
        "  k of the paper's Algorithm 1: {}, {whose}",
        model.campaign_k
    )?;
    for (label, count) in &examples.without_shape {
        writeln!(
            page,
            "  left out: {count} of label {label} without a shape (too few requests, or too short a log)"
        )?;
    }
    if arguments.show_rules {
        for rule in model.shape.describe_rules() {
            writeln!(page, "  {rule}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Learns from all values, and from those of the paper alone.
pub(crate) fn learn(examples: &Examples) -> anyhow::Result<Model> {
    let dataset = examples.to_learn_from();
    let crawlers = dataset.positives();
    let users = dataset.examples.len() - crawlers;
    if crawlers.min(users) < EXAMPLES_MIN {
        bail!(
            "{crawlers} crawlers and {users} users send enough requests to learn the shape of their traffic from; it takes {EXAMPLES_MIN} of \
             each. A source needs more than two days of log and enough requests on its busiest day. Give a longer log, lower the requests a \
             day with --day-requests, or keep the built-in model: it was trained on simulated sites and needs no training on a small one"
        );
    }
    let paper = dataset.first_attributes(PAPER_ATTRIBUTES);
    let (shape, paper) = rayon::join(
        || Committee::learn(&dataset, SEED),
        || Committee::learn(&paper, SEED),
    );
    Ok(Model {
        made_from: examples.origin.join("; "),
        campaign_k: examples.campaign_k().unwrap_or(PAPER_K),
        examples: [crawlers as u64, users as u64],
        shape,
        paper,
        sessions: None,
        paths: None,
    })
}

/// The same examples give the same model.
const SEED: u64 = 1;

fn write_labels(examples: &Examples, file: &mut impl Write) -> io::Result<()> {
    let mut out = csv::Writer::from_writer(file);
    out.write_record(["source", "label"])?;
    for (source, label) in &examples.derived {
        out.write_record([source, label])?;
    }
    out.flush()
}

fn say_labels(examples: &Examples) -> io::Result<()> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, label) in &examples.derived {
        *counts.entry(label).or_default() += 1;
    }
    let mut page = io::stdout().lock();
    for (label, count) in counts {
        writeln!(page, "{count:>10}  {label}")?;
    }
    writeln!(
        page,
        "Correct the file by hand where it is wrong, and train with --labels FILE --out MODEL."
    )
}

impl TruthArgs {
    pub(crate) fn truth(&self) -> Truth<'_> {
        match (&self.labels, self.derive_labels) {
            (Some(path), _) => Truth::File(path),
            (None, true) => Truth::Derived,
            (None, false) => Truth::Worlds,
        }
    }
}
