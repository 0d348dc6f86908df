//! The model by which the shape of traffic is judged: the owner's file, or the one that is built in.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use anyhow::ensure;
use cattlegrid_core::paths::Judge;
use cattlegrid_core::profile::VALUE_NAMES;
use cattlegrid_learn::model::BYTES_MAX;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::model::SessionModel;

/// Made by `eval/default-model`.
const BUILT_IN: &str = include_str!("../../../data/default-model.json");

/// Reads the model; a file is read as if an enemy had written it.
pub(crate) fn load(path: Option<&Path>) -> anyhow::Result<Arc<Model>> {
    let Some(path) = path else {
        let model = Model::parse(BUILT_IN).map_err(anyhow::Error::msg);
        return Ok(Arc::new(model.context("the model that is built in")?));
    };
    Ok(Arc::new(read(path)?))
}

/// What a model has learned of sessions, if it looks at the values that this program measures.
pub(crate) fn sessions(model: &Model) -> anyhow::Result<&SessionModel> {
    let sessions = model.sessions.as_ref().context(
        "the model has no session classifiers: train them with 'cattlegrid train --sessions'",
    )?;
    ensure!(
        sessions.values == VALUE_NAMES,
        "the model was trained on other session values than this version measures: train it again with 'cattlegrid train --sessions'"
    );
    Ok(sessions)
}

/// The judge of users' paths, if the model has learned any and looks at the values that this program measures.
pub(crate) fn paths(model: &Model) -> anyhow::Result<Judge> {
    let paths = model.paths.as_ref().context(
        "the model has no path classifiers: train them with 'cattlegrid train --paths world:forum:1-19 --out FILE'",
    )?;
    Judge::new(Arc::new(paths.clone())).map_err(anyhow::Error::msg)
}

pub(crate) fn read(path: &Path) -> anyhow::Result<Model> {
    let failed = || format!("the model {} cannot be read", path.display());
    let mut text = String::new();
    let file = File::open(path).with_context(failed)?;
    file.take(BYTES_MAX as u64 + 1)
        .read_to_string(&mut text)
        .with_context(failed)?;
    Model::parse(&text)
        .map_err(anyhow::Error::msg)
        .with_context(failed)
}
