//! Arguments of `paths`.

use std::path::PathBuf;

use clap::Args;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum PathsCommand {
    /// Simulate what sealed links cost a crawler with many workers: Figures 4 and 5 of the PathMarker paper
    Suppression(SuppressionArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SuppressionArgs {
    /// Seed of the simulated sites
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Sites to simulate; the figures are means
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Write a page with both pictures to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write JSON to a file, or to standard output with - (instead of the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
}
