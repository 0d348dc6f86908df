//! `train --paths`: how the paths of crawlers and of people through a site differ, after the PathMarker paper and beyond it.

use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::ensure;
use cattlegrid_core::paths::Cut;
use cattlegrid_core::paths::FEATURES;
use cattlegrid_core::paths::Parents;
use cattlegrid_learn::model::Model;
use cattlegrid_learn::path_model::PathExample;
use cattlegrid_learn::path_model::PathModel;
use cattlegrid_learn::path_model::PathRules;

use crate::cli::TrainArgs;
use crate::files::write_whole;
use crate::model;
use crate::path_examples::PathSession;
use crate::path_examples::collect;
use crate::path_examples::value_names;

/// Long sessions of people, and of each kind of crawler, below which nothing can be learned.
const SESSIONS_MIN: usize = 20;

pub(crate) fn run(arguments: &TrainArgs) -> anyhow::Result<ExitCode> {
    let out = arguments.out.as_ref().context("--paths needs --out")?;
    let worlds = &arguments.log.logs;
    let cut = Cut {
        gap_ms: 60_000 * u64::from(arguments.path_gap),
        entries: arguments.path_entries as usize,
    };
    let marked = collect(worlds, Parents::Markers, &cut)?;
    let plain = collect(worlds, Parents::Referrers, &cut)?;
    let (marked_rules, referrer_rules) = rayon::join(|| learn(&marked), || learn(&plain));
    let crawlers = marked.iter().filter(|session| session.truth().is_some());
    let crawlers = crawlers.count();
    let people = marked.len() - crawlers;
    let paths = PathModel {
        made_from: worlds.join(" ").chars().take(500).collect(),
        examples: [crawlers as u64, people as u64],
        values: value_names(),
        paper_values: FEATURES,
        entries: cut.entries,
        gap_seconds: (cut.gap_ms / 1000) as u32,
        marked: marked_rules?,
        referrers: referrer_rules?,
    };
    let old = model::load(arguments.log.model.as_deref())?;
    let new = Model {
        paths: Some(paths),
        ..Model::clone(&old)
    };
    write_whole(out, |file| file.write_all(new.to_json()?.as_bytes()))?;
    writeln!(
        io::stdout().lock(),
        "learned from {crawlers} long sessions of crawlers and {people} of people, with markers and with referrers\n\
         written with the rest of the model in use to {}",
        out.display()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Learns all rules from sessions.
pub(crate) fn learn(sessions: &[PathSession]) -> anyhow::Result<PathRules> {
    let examples: Vec<PathExample> = sessions.iter().map(PathSession::example).collect();
    for kind in [None, Some(0), Some(1), Some(2)] {
        let many = examples.iter().filter(|example| example.kind == kind);
        let many = many.count();
        ensure!(
            many >= SESSIONS_MIN,
            "{many} long sessions of type {}; it takes {SESSIONS_MIN} of people and of each type of crawler",
            kind.map_or(0, |kind| kind + 1)
        );
    }
    Ok(PathRules::learn(&examples, &value_names(), FEATURES))
}
