//! Flags of `report`.

use std::path::PathBuf;

use clap::Args;

use super::LogArgs;

/// LOG may also be one simulated world, whose truth is then printed beside the numbers: world:midsize:91.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Write JSON to a file, or to standard output with - (instead of the text; docs/schema/report.json)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write one HTML page with a chart of the heaviest sources of each month
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Sources that are listed for each month
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) heaviest: u16,
    /// What a person decided about sources: lines of SOURCE,crawler or SOURCE,person
    #[arg(long, value_name = "FILE")]
    pub(crate) judged: Option<PathBuf>,
    /// What a page-tagging tool counted, to compare with: a CSV file with the columns period (2030-01 or 2030-01-31), page_views and
    /// visitors
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// What sources really are, to compare with: a CSV file with the columns source and label ('user' for people)
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Write the lines of sources that both steps keep, byte for byte, for GoAccess, AWStats or Matomo; compressed if FILE ends in .gz
    #[arg(long, value_name = "FILE")]
    pub(crate) write_human_log: Option<PathBuf>,
    /// Count the item metrics of COUNTER 5.1.1: the patterns of items are in the settings file ([counter])
    #[arg(long)]
    pub(crate) counter: bool,
}
