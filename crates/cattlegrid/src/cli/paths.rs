//! Arguments of `paths`.

use std::path::PathBuf;

use clap::Args;
use clap::Subcommand;

use super::LogArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum PathsCommand {
    /// Measure the longest short session of each user on a log, and propose the length of long sessions
    Measure(Box<MeasureArgs>),
    /// Judge the long sessions of users on a log whose pages have no markers. Weaker than markers: parents come from referrers, which a
    /// client can withhold or forge
    Judge(Box<JudgeArgs>),
    /// List the signed-in users of a gate who are suspects or throttled, and why
    Users(UsersArgs),
    /// Make a signed-in user of a gate a normal user again, as if nothing had happened
    Forgive(ForgiveArgs),
    /// Simulate what sealed links cost a crawler with many workers: Figures 4 and 5 of the PathMarker paper
    Suppression(SuppressionArgs),
}

/// A user is who the log names, else a session cookie, else a source with a user agent.
#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// End a short session after this many minutes without a page request
    #[arg(long, value_name = "MINUTES", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) gap: u32,
    /// Leave out users with fewer page requests
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) active: u32,
}

/// A user is who the log names, else a session cookie, else a source with a user agent.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Number of users to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}

/// The gate saves its users at once when somebody becomes a suspect, and else every minute.
#[derive(Debug, Args)]
pub(crate) struct UsersArgs {
    /// The gate's settings file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// A gate that runs does so within a second, another when it starts.
#[derive(Debug, Args)]
pub(crate) struct ForgiveArgs {
    /// The number of the user as 'paths users' and the log have it, or the name
    #[arg(value_name = "USER")]
    pub(crate) user: String,
    /// The gate's settings file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
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
