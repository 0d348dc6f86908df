//! `train --campaigns`: the k of the PubCrawl paper's Algorithm 1, by bisecting clustering of campaigns that are known.

use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_learn::cluster::Agreement;
use cattlegrid_learn::cluster::MEMBERS_MIN;
use cattlegrid_learn::cluster::PAPER_K;
use cattlegrid_learn::cluster::agreement;
use cattlegrid_learn::cluster::algorithm_1;
use cattlegrid_learn::cluster::learn_k;
use cattlegrid_learn::cluster::mean_k;
use cattlegrid_learn::model::Model;
use rayon::prelude::*;

use crate::campaign_series::Change;
use crate::campaign_series::Scene;
use crate::campaign_series::collect;
use crate::cli::TrainArgs;
use crate::files::write_whole;
use crate::model;

pub(crate) fn run(arguments: &TrainArgs) -> anyhow::Result<ExitCode> {
    let out = arguments.out.as_ref().context("--out FILE is missing")?;
    let sets = collect(&arguments.log, arguments.truth.truth())?;
    let scenes: Vec<(String, Scene)> = sets
        .par_iter()
        .map(|set| (set.name(), set.scene(Change::None)))
        .collect();
    let scene = |(name, scene): &(String, Scene)| {
        Some((name.clone(), learn_k(&scene.series, &scene.campaigns)?))
    };
    let learned: Vec<(String, f64)> = scenes.par_iter().filter_map(scene).collect();
    if learned.is_empty() {
        bail!(
            "nothing to learn from: no campaign has {MEMBERS_MIN} sources in one world or window"
        );
    }
    let k = mean_k(learned.iter().map(|(_, k)| *k));
    let old = model::load(arguments.log.model.as_deref())?;
    let new = Model {
        campaign_k: k,
        ..Model::clone(&old)
    };
    write_whole(out, |file| file.write_all(new.to_json()?.as_bytes()))?;
    let mut page = io::stdout().lock();
    writeln!(page, "k by bisecting clustering, in percent of pairs")?;
    writeln!(
        page,
        "  {:<28}{:>8}{:>12}{:>9}{:>26}",
        "", "k", "precision", "recall", "with the paper's k 350"
    )?;
    for (name, own) in &learned {
        let found = scenes.iter().find(|(known, _)| known == name);
        let Some((_, scene)) = found else { continue };
        let [ours, paper] = [k, PAPER_K].map(|k| pairs(scene, k));
        writeln!(
            page,
            "  {name:<28}{own:>8.2}{:>12.2}{:>9.2}{:>17.2}{:>9.2}",
            100.0 * ours.pair_precision,
            100.0 * ours.pair_recall,
            100.0 * paper.pair_precision,
            100.0 * paper.pair_recall
        )?;
    }
    writeln!(
        page,
        "k = {k} (geometric mean), written with the rest of the model in use to {}",
        out.display()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn pairs(scene: &Scene, k: f64) -> Agreement {
    agreement(&algorithm_1(&scene.series, k), &scene.campaigns)
}
