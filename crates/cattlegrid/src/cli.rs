//! Commands, flags and their help.

use std::path::PathBuf;

use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;

/// Finds the crawlers in a web site's traffic, and says why.
#[derive(Debug, Parser)]
#[command(name = "cattlegrid", version, about, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read access logs and say which sources are crawlers, and why
    Analyze(AnalyzeArgs),
    /// Explain a detector: what it looks at, when it is wrong, its settings
    Explain {
        /// The detector's name; without one, all are listed
        detector: Option<String>,
    },
    /// Settings
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print all settings with their defaults, as a file to start from
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// Log files, patterns ('logs/access.log*'), folders, or - for standard input; plain or gzip, in any order
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<String>,
    /// Format of the log, if it is not recognised: a name (common, combined, vhost_combined, json_nginx, json_caddy,
    /// json_traefik), the format string of Apache or nginx, or json:source=KEY,time=KEY,request=KEY,status=KEY,…
    #[arg(long, value_name = "NAME|STRING")]
    pub(crate) format: Option<String>,
    /// Write the whole report as JSON to a file, or to standard output with - (then without the summary)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Settings file ('cattlegrid config show' prints one)
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Length of the windows in which sources are judged: 5d, 36h
    #[arg(long, value_name = "SPAN", value_parser = span_days)]
    pub(crate) window: Option<f64>,
    /// List users, and sources without any evidence, from this many requests on [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) min_requests: Option<u64>,
    /// Sources in each list of the summary
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Threads that parse and judge; all cores unless given. Reading and unpacking has one of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Exit with status 1 if there is a source of this class
    #[arg(long, value_name = "CLASS", value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    /// No summary, no progress, no notes: only errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FailOn {
    /// Any crawler
    Crawler,
    /// Monitors, previews, feed readers
    Automated,
    /// Sources that could not be judged
    Undecided,
}

/// `5d`, `36h`, or a bare number of days.
fn span_days(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('h') {
        Some(hours) => (hours, 24.0),
        None => (text.strip_suffix('d').unwrap_or(text), 1.0),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "give a span like 5d or 36h".to_owned())?;
    Ok(number / unit)
}
