//! `paths`: the ways of visitors through a site, and what sealed links do to crawlers.

use std::io;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use cattlegrid_report::suppression::Suppression;
use cattlegrid_worlds::suppression::Figures;
use cattlegrid_worlds::suppression::Plan;
use clap::Args;
use clap::Subcommand;

use crate::files::is_stdout;
use crate::files::write_whole;

#[derive(Debug, Subcommand)]
pub(crate) enum PathsCommand {
    /// Simulate what sealed links cost a crawler with many workers: Figures 4 and 5 of the PathMarker paper
    Suppression(SuppressionArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SuppressionArgs {
    /// Seed of the simulated sites
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Sites to simulate; the figures are means
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Write a page with both pictures to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write JSON to a file, or to standard output with - (instead of the text)
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

pub(crate) fn run(command: &PathsCommand) -> anyhow::Result<ExitCode> {
    let PathsCommand::Suppression(arguments) = command;
    let figures = Figures::new(Plan::PAPER, arguments.seed, arguments.runs);
    let suppression = Suppression {
        runs: figures.runs,
        efficiency: &figures.efficiency,
        work: &figures.work,
    };
    if let Some(path) = &arguments.html {
        write_whole(path, |file| suppression.write_html(file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => suppression.write_json(&mut io::stdout().lock())?,
        json => {
            if let Some(path) = json {
                write_whole(path, |file| suppression.write_json(file))?;
            }
            let mut out = io::stdout().lock();
            suppression.write(&mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
