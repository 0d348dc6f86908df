//! `model publish`: a new model takes the place of the old one only where it is better and accuses no more people.

use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use cattlegrid_learn::folds::Confusion;
use cattlegrid_learn::model::Model;

use crate::cli::PublishArgs;
use crate::files::write_whole;
use crate::labelled::Examples;
use crate::labelled::collect;
use crate::model::load;
use crate::model::read;

/// Where the model before is kept.
fn previous(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".previous");
    PathBuf::from(name)
}

/// How many of each class a model recognises.
fn test(model: &Model, examples: &Examples) -> Confusion {
    let mut confusion = Confusion::default();
    for example in examples.everybody().examples {
        let judgement = model.shape.judge(&example.values);
        confusion.add(example.is_positive, judgement.decibans > 0.0);
    }
    confusion
}

/// Both classes count alike, however many there are of each.
fn score(confusion: &Confusion) -> Option<f64> {
    Some(50.0 * (confusion.positives()? + confusion.negatives()?))
}

pub(crate) fn publish(arguments: &PublishArgs) -> anyhow::Result<ExitCode> {
    let PublishArgs {
        new: candidate,
        to,
        accuse_more,
        log,
        truth,
    } = arguments;
    let new = read(candidate)?;
    // Without a file of its own the program uses the one that is built in: that is what must be beaten.
    let current = load(to.exists().then_some(to.as_path()))?;
    let examples = collect(log, truth.truth(), truth.day_requests)?;
    let (old, new) = (test(&current, &examples), test(&new, &examples));
    let (before, after) = score(&old).zip(score(&new)).context(
        "people and crawlers are both needed to test on, with a shape: more than two days of log, and enough requests on a day",
    )?;
    let mut page = io::stdout().lock();
    writeln!(
        page,
        "right answers on {}: {after:.2} % by the new model, {before:.2} % by the one in use\npeople accused, of {}: {} by the new model, {} by the one in use",
        examples.origin.join("; "),
        new.false_positives + new.true_negatives,
        new.false_positives,
        old.false_positives
    )?;
    let objection = if new.false_positives > old.false_positives && !accuse_more {
        Some("accuses more people (--accuse-more accepts that)")
    } else if after <= before {
        Some("is no better")
    } else {
        None
    };
    if let Some(objection) = objection {
        writeln!(
            page,
            "the new model {objection} and was not put in place; {} is as it was",
            to.display()
        )?;
        return Ok(ExitCode::FAILURE);
    }
    if to.exists() {
        copy(to, &previous(to))?;
    }
    copy(candidate, to)?;
    writeln!(
        page,
        "{} is the new model; 'cattlegrid model back {0}' brings the old one back",
        to.display()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let bytes =
        std::fs::read(from).with_context(|| format!("{} cannot be read", from.display()))?;
    write_whole(to, |file| file.write_all(&bytes))
}

pub(crate) fn back(path: &Path) -> anyhow::Result<ExitCode> {
    let old = previous(path);
    let model = read(&old).context("there is no model to go back to")?;
    std::fs::rename(&old, path)
        .with_context(|| format!("{} cannot be replaced", path.display()))?;
    writeln!(
        io::stdout().lock(),
        "{} is the model before again, made from {}",
        path.display(),
        model.made_from
    )?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn show(path: Option<&Path>) -> anyhow::Result<ExitCode> {
    let model = load(path)?;
    let [crawlers, users] = model.examples;
    let mut page = io::stdout().lock();
    writeln!(
        page,
        "made from {}; learned from {crawlers} crawlers and {users} users",
        model.made_from
    )?;
    for rule in model.shape.describe_rules() {
        writeln!(page, "  {rule}")?;
    }
    Ok(ExitCode::SUCCESS)
}
