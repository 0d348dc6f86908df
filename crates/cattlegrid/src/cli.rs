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
    Analyze(Box<AnalyzeArgs>),
    /// Show everything about one source: verdict, evidence, silent rules, numbers, its traffic over time, its lines
    Inspect(Box<InspectArgs>),
    /// Write the log of a simulated site whose visitors are known: social, social-test, shop, town, fleets
    Simulate(SimulateArgs),
    /// Learn the shape of crawlers' and people's traffic from logs with labels, or from simulated worlds
    Train(Box<TrainArgs>),
    /// Test a model on logs with labels, or on simulated worlds: the tables of the PubCrawl paper
    Evaluate(Box<EvaluateArgs>),
    /// The model that is in use: put a better one in its place, go back to the one before, look at it
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Explain a detector: what it looks at, when it is wrong, its settings
    Explain {
        /// The detector's name; without one, all are listed
        detector: Option<String>,
    },
    /// The operators of well-known robots, and the networks they publish
    Lists {
        #[command(subcommand)]
        command: ListsCommand,
    },
    /// Settings
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Put a new model in the place of the one in use, if it is no worse on sources whose truth is known; the old one is kept
    Publish(Box<PublishArgs>),
    /// Go back to the model before
    Back {
        /// The model in use
        model: PathBuf,
    },
    /// Show what a model was made from
    Show {
        /// A model; without one, that which is built in
        model: Option<PathBuf>,
    },
}

/// LOG are sources to test on, which neither model has learned from; also simulated worlds: world:social-test:901-905.
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The new model, as written by 'train'
    #[arg(long, value_name = "FILE")]
    pub(crate) new: PathBuf,
    /// The model in use, which is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) truth: TruthArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ListsCommand {
    /// Fetch the networks that operators publish, from their addresses or from files of your own
    Update {
        /// OPERATOR=FILE or OPERATOR=URL, several for one operator are put together; without any, all operators from where they
        /// publish
        #[arg(value_name = "OPERATOR=FILE|URL")]
        from: Vec<String>,
        /// Folder to keep the lists in
        #[arg(long, value_name = "FOLDER", env = "CATTLEGRID_LISTS")]
        lists: Option<PathBuf>,
    },
    /// Show the operators, what their robots come for, and how many networks are known of each
    Show {
        /// Folder with the lists
        #[arg(long, value_name = "FOLDER", env = "CATTLEGRID_LISTS")]
        lists: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print all settings with their defaults, as a file to start from
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Write the whole report as JSON to a file, or to standard output with - (then without the summary)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Read on as the logs grow, through every rotation; judge again after each half hour of the log's time, show verdicts that
    /// changed and replace the report files. Keeps this window and the one before; Ctrl-C or SIGTERM ends it
    #[arg(long)]
    pub(crate) follow: bool,
    /// Replace addresses by pseudonyms that keep networks together, and show no lines of the log
    #[arg(long)]
    pub(crate) pseudonymize: bool,
    /// A file whose content is the key of the pseudonyms: the same key gives the same pseudonyms. Without one each run draws a
    /// new key and forgets it
    #[arg(long, value_name = "FILE", requires = "pseudonymize")]
    pub(crate) pseudonym_key: Option<PathBuf>,
    /// List users, and sources without any evidence, from this many requests on [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) min_requests: Option<u64>,
    /// Sources in each list of the summary
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Exit with status 1 if there is a source of this class
    #[arg(long, value_name = "CLASS", value_enum)]
    pub(crate) fail_on: Option<FailOn>,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The source as 'analyze' prints it: an address, an IPv6 /64 network, or a name
    pub(crate) source: String,
    /// Write it as JSON to a file, or to standard output with - (then without the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write it as one HTML page with pictures: its traffic, autocorrelation, decomposition
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The world: social (a social network after the PubCrawl paper), social-test (the same with few users), shop,
    /// town (many readers of few pages), fleets (the same with fleets among them), containment (a large site with the
    /// long tail of its sources: 2.4 GB), containment-small (a tenth of that)
    pub(crate) world: String,
    /// The world grows from this number: one seed, one byte sequence
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Folder for access.log and labels.csv
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Say nothing
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where the truth about sources comes from.
#[derive(Debug, Args)]
pub(crate) struct TruthArgs {
    /// Labels: a CSV file with the columns source and label (user, legitimate, unauthorized, masquerading, crawler, automated), and
    /// campaign and habit if known
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Derive labels from names, addresses and how pages are loaded: facts that the shape of traffic does not look at
    #[arg(long, conflicts_with = "labels")]
    pub(crate) derive_labels: bool,
    /// Leave out sources with fewer requests on their busiest day
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) day_requests: u32,
}

/// LOG may also be a simulated world: world:social:1-10, world:shop:3.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) truth: TruthArgs,
    /// Write the model to this file
    #[arg(long, value_name = "FILE", required_unless_present = "labels_out")]
    pub(crate) out: Option<PathBuf>,
    /// Write the derived labels to this file, to be corrected and given as --labels
    #[arg(long, value_name = "FILE", requires = "derive_labels")]
    pub(crate) labels_out: Option<PathBuf>,
    /// Print the rules that were learned
    #[arg(long)]
    pub(crate) show_rules: bool,
}

/// LOG may also be a simulated world: world:social-test:11-20, world:shop:3.
#[derive(Debug, Args)]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) truth: TruthArgs,
    /// Also learn from these very sources and test on parts that were held back: so many parts in turn, and a third
    #[arg(long, value_name = "PARTS")]
    pub(crate) folds: Option<usize>,
    /// Also learn without each value in turn, and test on a third
    #[arg(long)]
    pub(crate) leave_one_out: bool,
    /// Test who is found to crawl together instead: worlds only; precision, recall and accuracy beside the paper's, for other orders,
    /// jitter and volumes, too
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out"])]
    pub(crate) campaigns: bool,
    /// Misjudged sources to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) hardest: usize,
    /// Write it as JSON to a file, or to standard output with - (then without the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
}

/// What all commands that read logs have in common.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Log files, patterns ('logs/access.log*'), folders, or - for standard input; plain or compressed (gzip, zstd, bzip2, xz), in
    /// any order
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<String>,
    /// Format of the log, if it is not recognised: a name (common, combined, vhost_combined, haproxy, w3c, cloudfront, alb,
    /// json_nginx, …; see docs/formats.md), the format string of Apache or nginx, or
    /// json:source=KEY,time=KEY,request=KEY,status=KEY,…
    #[arg(long, value_name = "NAME|STRING", help_heading = "Reading")]
    pub(crate) format: Option<String>,
    /// Field with the addresses that proxies pass on (X-Forwarded-For, or a JSON key): the client is its last address that is no
    /// trusted proxy
    #[arg(long, value_name = "FIELD", help_heading = "Reading")]
    pub(crate) source_field: Option<String>,
    /// A proxy of your own, as address or network; only what it passes on in --source-field is believed. Can be repeated
    #[arg(
        long,
        value_name = "NETWORK",
        help_heading = "Reading",
        requires = "source_field"
    )]
    pub(crate) trusted_proxy: Vec<String>,
    /// The site's robots.txt as it was when the log was written: robots that fetch what it forbids are told
    #[arg(long, value_name = "FILE")]
    pub(crate) robots: Option<PathBuf>,
    /// Database of autonomous systems in MaxMind's format (GeoLite2-ASN.mmdb): sources of one provider are judged together, too
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_ASN")]
    pub(crate) asn: Option<PathBuf>,
    /// Judge each host of the log for itself, by the host that the log names (%v, $server_name, …): for servers with several
    /// unlike sites. The report shows who visits which
    #[arg(long, help_heading = "Reading")]
    pub(crate) by_host: bool,
    /// Zone of times that are written without one: Europe/Vienna, +02:00, local [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "Reading")]
    pub(crate) tz: Option<String>,
    /// Only requests from this time on: 2030-01-31, '2030-01-31 12:00', or 7d or 36h before now
    #[arg(long, value_name = "TIME", help_heading = "Reading")]
    pub(crate) since: Option<String>,
    /// Only requests before this time
    #[arg(long, value_name = "TIME", help_heading = "Reading")]
    pub(crate) until: Option<String>,
    /// Settings file ('cattlegrid config show' prints one)
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Folder with the networks that operators of robots publish ('cattlegrid lists update' fills it)
    #[arg(long, value_name = "FOLDER", env = "CATTLEGRID_LISTS")]
    pub(crate) lists: Option<PathBuf>,
    /// The model by which the shape of traffic is judged ('cattlegrid train' makes one) [default: the one that is built in]
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Length of the windows in which sources are judged: 5d, 36h
    #[arg(long, value_name = "SPAN", value_parser = span_days)]
    pub(crate) window: Option<f64>,
    /// Threads that parse and judge; all cores unless given. Reading and unpacking has one of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
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
pub(crate) fn span_days(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('h') {
        Some(hours) => (hours, 24.0),
        None => (text.strip_suffix('d').unwrap_or(text), 1.0),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "give a span like 5d or 36h".to_owned())?;
    Ok(number / unit)
}
