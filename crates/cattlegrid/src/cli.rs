//! Commands, flags and their help.

mod learning;
mod paths;
mod report;

use std::path::PathBuf;

use clap::ArgGroup;
use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;

pub(crate) use learning::EvaluateArgs;
pub(crate) use learning::TrainArgs;
pub(crate) use learning::TruthArgs;
pub(crate) use paths::ForgiveArgs;
pub(crate) use paths::JudgeArgs;
pub(crate) use paths::MeasureArgs;
pub(crate) use paths::PathsCommand;
pub(crate) use paths::SuppressionArgs;
pub(crate) use paths::UsersArgs;
pub(crate) use report::ReportArgs;

/// Detects crawlers in a web site's traffic and reports the evidence.
#[derive(Debug, Parser)]
#[command(name = "cattlegrid", version, about, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read access logs and report which sources are crawlers, and why
    Analyze(Box<AnalyzeArgs>),
    /// Count page views, visitors and visits of people by month and day, after known robots and then crawlers are removed (docs/report.md)
    Report(Box<ReportArgs>),
    /// Show everything about one source: verdict, evidence, rules that abstained, counts, traffic over time, log lines
    Inspect(Box<InspectArgs>),
    /// Write the log of a simulated site with known visitors: social, social-test, shop, town, fleets
    Simulate(SimulateArgs),
    /// Train a traffic shape model on labelled logs, or on simulated worlds
    Train(Box<TrainArgs>),
    /// Test a model on labelled logs, or on simulated worlds: the tables of the PubCrawl paper
    Evaluate(Box<EvaluateArgs>),
    /// Manage the model in use: publish a better one, go back to the previous one, show it
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Explain a detector: what it measures, when it is wrong, its settings
    Explain {
        /// The detector's name; without it, list all detectors
        detector: Option<String>,
    },
    /// Replay old logs through the containment policy: how many people each limit would have bothered, how many crawlers it would have stopped, and which limits to use
    Plan(Box<PlanArgs>),
    /// Replay a log or world in order of time: how soon robots are detected by their sessions, how many people are accused, and what the
    /// gate would have done
    Replay(Box<ReplayArgs>),
    /// Study the ways of signed-in users through a site: sessions of a log, users that crawl, what sealed links do to crawlers (docs/paths.md)
    Paths {
        #[command(subcommand)]
        command: PathsCommand,
    },
    /// Manage the knowledge base of allow and deny entries: list, change, undo, export, import
    Kb(Box<KbArgs>),
    /// Run in front of a site: let people pass, challenge and block crawlers, learn from the traffic (docs/gate.md)
    Gate(GateArgs),
    /// Show why the gate refused a visitor, by the number on the page, and how to let that visitor in
    Incident(IncidentArgs),
    /// Check the gate's settings file: exit with status 0 if it is valid; otherwise print the errors with their lines and exit with 1. Opens no listener
    Check {
        /// The settings file, with a [gate] section
        #[arg(long, value_name = "FILE", env = CONFIG)]
        config: PathBuf,
    },
    /// Generate a new key for signing challenges and clearances. The gate loads it at its next reload (SIGHUP)
    RotateKeys {
        /// The settings file, with a [gate] section
        #[arg(long, value_name = "FILE", env = CONFIG)]
        config: PathBuf,
        /// The old key has leaked: drop all old keys at once. Every visitor then solves one more challenge
        #[arg(long)]
        leaked: bool,
    },
    /// Manage the operators of well-known robots and the networks they publish
    Lists {
        #[command(subcommand)]
        command: ListsCommand,
    },
    /// Show settings
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IncidentArgs {
    /// The number on the visitor's page, such as K7QX-29FM
    pub(crate) number: String,
    /// The gate's logs, if they are not where the settings file says
    #[arg(value_name = "LOG")]
    pub(crate) logs: Vec<String>,
    /// The gate's settings file. For a gate that was started with --to, omit it and unset CATTLEGRID_CONFIG
    #[arg(long, value_name = "FILE", env = CONFIG)]
    pub(crate) config: Option<PathBuf>,
}

/// The environment variable that names the settings file. `gate --to` takes precedence over it.
pub(crate) const CONFIG: &str = "CATTLEGRID_CONFIG";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("settings").required(std::env::var_os(CONFIG).is_none()).args(["config", "to"]))]
pub(crate) struct GateArgs {
    /// The settings file, with a [gate] section. Default: the file named by CATTLEGRID_CONFIG, unless --to is given
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Without a settings file: the address to listen on, for every host name, over plain HTTP
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        conflicts_with = "config",
        requires = "to",
        default_value = "127.0.0.1:8080"
    )]
    pub(crate) listen: std::net::SocketAddr,
    /// Without a settings file: the site behind the gate, such as http://127.0.0.1:8081
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// Without a settings file: carry decisions out. Otherwise everything passes and the log shows what would have been decided
    #[arg(long, conflicts_with = "config", requires = "to")]
    pub(crate) enforce: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Replace the model in use with a new one that is right more often on labelled logs and accuses no more people; the old model is kept
    Publish(Box<PublishArgs>),
    /// Go back to the previous model
    Back {
        /// The model in use
        model: PathBuf,
    },
    /// Show what a model was trained on
    Show {
        /// A model; without it, the built-in model
        model: Option<PathBuf>,
    },
}

/// LOG are sources to test on that neither model was trained on; also simulated worlds: world:social-test:901-905.
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The new model, as written by 'train'
    #[arg(long, value_name = "FILE")]
    pub(crate) new: PathBuf,
    /// The model in use, to be replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// Accept a model that accuses more people than the one in use
    #[arg(long)]
    pub(crate) accuse_more: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) truth: TruthArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Pages a day up to which an unknown source passes [default: 20, or the settings file's]
    #[arg(long, value_name = "PAGES")]
    pub(crate) k1: Option<u32>,
    /// Pages a day above which a source is judged [default: 1000, or the settings file's]
    #[arg(long, value_name = "PAGES")]
    pub(crate) k2: Option<u32>,
    /// Write JSON to a file, or to standard output with - (instead of the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write one HTML page with the curves
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KbArgs {
    /// The knowledge base file [default: ~/.local/share/cattlegrid/kb.sqlite; if it does not exist, that of a gate started with --to:
    /// ~/.local/share/cattlegrid/gate/kb.sqlite]
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_KB", global = true)]
    pub(crate) kb: Option<PathBuf>,
    /// The gate's settings file: use the gate's knowledge base
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: KbCommand,
}

/// SUBJECT is an address, a network, agent:TEXT (TEXT is the whole User-Agent header, exactly) or campaign:NAME.
#[derive(Debug, Subcommand)]
pub(crate) enum KbCommand {
    /// List entries
    List(KbListArgs),
    /// Show the entries about a subject, their evidence and all changes
    Show {
        /// An address, a network, agent:TEXT, campaign:NAME, or #NUMBER of an entry
        subject: String,
    },
    /// Allow a subject, regardless of later verdicts
    Allow(SayArgs),
    /// Deny a subject, regardless of later verdicts
    Deny(SayArgs),
    /// Remove an entry, so that the subject is unknown again. A source that was denied by its traffic is not denied again for 7 days
    Forget {
        /// An address, a network, agent:TEXT or campaign:NAME
        subject: String,
    },
    /// Show the latest changes
    Log {
        /// Maximum number of changes
        #[arg(long, value_name = "N", default_value_t = 50)]
        top: usize,
    },
    /// Undo changes that were made together. Sources that were denied by their traffic are not denied again for 7 days
    Undo {
        /// The number of the changes, as 'kb log' shows it
        batch: i64,
    },
    /// Write the deny list for a server or firewall, or the whole knowledge base as JSON
    Export(ExportArgs),
    /// Import the JSON of another knowledge base, or a list of networks
    Import(ImportArgs),
    /// Read the whole knowledge base and report damage
    Check,
    /// Replace a damaged or missing knowledge base with its backup; the replaced file is kept
    Restore,
}

#[derive(Debug, Args)]
pub(crate) struct KbListArgs {
    /// Only entries of this kind: source, network, agent, campaign
    #[arg(long, value_name = "KIND", value_parser = ["source", "network", "agent", "campaign"])]
    pub(crate) about: Option<String>,
    /// Only entries with this action: allow, deny, watch
    #[arg(long, value_name = "ACTION", value_parser = ["allow", "deny", "watch"])]
    pub(crate) action: Option<String>,
    /// Only sources of this campaign
    #[arg(long, value_name = "NAME")]
    pub(crate) campaign: Option<String>,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) top: usize,
}

#[derive(Debug, Args)]
pub(crate) struct SayArgs {
    /// An address, a network, agent:TEXT or campaign:NAME
    pub(crate) subject: String,
    /// The reason, for later readers
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Days after which the entry expires; without it, the entry does not expire
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub(crate) days: Option<u32>,
    /// Pages a day up to which an allowed source passes
    #[arg(long, value_name = "N")]
    pub(crate) cap: Option<u32>,
    /// Your own proxy, protected from denial by mistake. Can be repeated
    #[arg(long, value_name = "NETWORK")]
    pub(crate) trusted_proxy: Vec<String>,
    /// Accept an entry that covers all addresses, this machine, a proxy or a search engine
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The target: nginx-deny, nginx-map, apache, caddy, haproxy, nftables, ipset, cidr, networks (JSON), or json for the whole knowledge base
    #[arg(long = "as", value_name = "TARGET")]
    pub(crate) target: String,
    /// How many addresses that nobody denied the list may cover, to be shorter (IPv6 counts in /64)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) budget: u64,
    /// The output file; standard output without it, or with -
    #[arg(value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A file from 'kb export --as json', or addresses and networks, one per line; - for standard input
    pub(crate) file: PathBuf,
    /// The action for the networks of a list: allow or deny
    #[arg(long = "as", value_name = "ACTION", value_parser = ["allow", "deny"])]
    pub(crate) action: Option<String>,
    /// Days after which the entries of a list expire
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub(crate) days: Option<u32>,
    /// The file is your own: its owner's entries count as yours, and replace existing ones
    #[arg(long)]
    pub(crate) mine: bool,
    /// Only print what would be imported
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Your own proxy, protected from denial by mistake. Can be repeated
    #[arg(long, value_name = "NETWORK")]
    pub(crate) trusted_proxy: Vec<String>,
    /// Import entries even if they cover all addresses, this machine, a proxy or a search engine
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ListsCommand {
    /// Fetch the networks that operators publish, from their URLs or from your own files
    Update {
        /// OPERATOR=FILE or OPERATOR=URL; several for one operator are merged. Without any, fetch the lists of all operators from
        /// where they publish them
        #[arg(value_name = "OPERATOR=FILE|URL")]
        from: Vec<String>,
        /// Folder for the lists
        #[arg(long, value_name = "FOLDER", env = "CATTLEGRID_LISTS")]
        lists: Option<PathBuf>,
        /// Accept a list that is older than the previous one, or has more than three times or less than half its size
        #[arg(long)]
        force: bool,
    },
    /// Show the operators, the purposes of their robots, and the number of known networks of each
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
    /// Write the whole report as JSON to a file, or to standard output with - (instead of the summary)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Keep reading as the logs grow, through every rotation; judge again after each half hour of log time, print verdicts that
    /// changed and replace the report files. Keeps the current and the previous window; Ctrl-C or SIGTERM ends it
    #[arg(long)]
    pub(crate) follow: bool,
    /// Detect crawlers hidden among the people of one source, such as a university's proxy, by user agent and session cookie. Reads the
    /// log twice, so it needs files
    #[arg(long, conflicts_with = "follow")]
    pub(crate) hidden: bool,
    /// Also list the campaigns of the PubCrawl paper's Algorithm 1, which compares only series of requests
    #[arg(long)]
    pub(crate) paper_campaigns: bool,
    /// Replace addresses by pseudonyms that preserve networks, and show no log lines
    #[arg(long, conflicts_with = "kb")]
    pub(crate) pseudonymize: bool,
    /// A file whose content is the key of the pseudonyms: the same key gives the same pseudonyms. Without it, each run generates a
    /// new key and discards it
    #[arg(long, value_name = "FILE", requires = "pseudonymize")]
    pub(crate) pseudonym_key: Option<PathBuf>,
    /// Print what --kb would change, and change nothing
    #[arg(long, requires = "kb")]
    pub(crate) kb_dry_run: bool,
    /// Use this as the current time, from which entries of --kb begin and expire (seconds since 1970, or 2030-01-31)
    #[arg(long, value_name = "TIME", requires = "kb", value_parser = instant)]
    pub(crate) kb_time: Option<u32>,
    /// List users, and sources without any evidence, from this many requests on [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) min_requests: Option<u64>,
    /// Maximum number of sources in each list of the summary
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
    /// Write JSON to a file, or to standard output with - (instead of the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write one HTML page with charts of its traffic, autocorrelation and decomposition
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The world: social (a social network after the PubCrawl paper), social-test (the same with few users), shop,
    /// town (many readers of few pages), fleets (the same with fleets among them), containment (a large site with the
    /// long tail of its sources: 2.4 GB), containment-small (a tenth of that), wide (people and crawlers drawn from wide
    /// ranges, for training), visits (light visits of people and robots, for training sessions), gateways (people who share addresses, and crawlers hidden among them), forum (signed-in readers and crawlers, by name, for training paths). Only for tests, never used for
    /// training: market and portal (heavy sources of people and
    /// crawlers), midsize (many light people and robots), midsize-calm (the same without fleets)
    pub(crate) world: String,
    /// Seed of the world: the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Folder for access.log and labels.csv
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Write the common format, without referrer and user agent
    #[arg(long)]
    pub(crate) common: bool,
    /// Print nothing
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// LOG may also be a simulated world: world:midsize:1, world:visits:901-905.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// What the sources are: CSV with the columns source and label [default: derived from names, addresses and how pages are loaded]
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// End a session after this many seconds without requests. The paper uses 120
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    pub(crate) silence: u32,
    /// The classifier to use
    #[arg(long, value_enum, default_value_t = Judge::Best)]
    pub(crate) judge: Judge,
    /// Report a session as a robot's from this probability on
    #[arg(long, value_name = "P", default_value_t = 0.5)]
    pub(crate) threshold: f64,
    /// Who solves the challenges of the gate (an assumption)
    #[arg(long, value_enum, default_value_t = Solvers::People)]
    pub(crate) solvers: Solvers,
    /// Minutes of the log between two judgements of all sources. The gate judges every 30 minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 360, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) judge_every: u32,
    /// Sources whose profiles are kept; those with the fewest requests are forgotten
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) profiles_max: usize,
    /// Number of misjudged and of unsteady sources to list
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) hardest: usize,
    /// Send the requests to a gate on this machine instead, at the times of the log: http://127.0.0.1:8080. The gate must trust
    /// 127.0.0.1 as a proxy, because the clients' addresses are sent in X-Forwarded-For
    #[arg(long, value_name = "URL", conflicts_with_all = ["html", "report", "json", "hardest"])]
    pub(crate) to: Option<String>,
    /// How many times faster than in the log requests are sent
    #[arg(long, value_name = "N", default_value_t = 1.0, requires = "to")]
    pub(crate) speed: f64,
    /// Requests to send at most
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "to")]
    pub(crate) send_max: u64,
    /// Write an HTML page to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the verdicts at the end of the log to a file, as 'analyze --json' does
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write JSON to a file, or to standard output with - (instead of the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
}

/// Who judges sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Judge {
    /// The real-time paper's five values with its cuts
    Paper,
    /// The same values with learned cuts
    Cuts,
    /// One tree of all values
    Tree,
    /// Many trees of all values
    Best,
}

impl Judge {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Judge::Paper => "paper",
            Judge::Cuts => "cuts",
            Judge::Tree => "tree",
            Judge::Best => "best",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Solvers {
    /// People do, robots do not
    People,
    /// Robots do, too
    Everyone,
    /// Nobody does
    Nobody,
}

/// Arguments of all commands that read logs.
#[derive(Debug, Clone, Args)]
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
    /// Field with the addresses that proxies pass on (X-Forwarded-For, or a JSON key): the client is its last address that is not a
    /// trusted proxy
    #[arg(long, value_name = "FIELD", help_heading = "Reading")]
    pub(crate) source_field: Option<String>,
    /// Your own proxy, as address or network; --source-field is believed only from such a proxy. Can be repeated
    #[arg(long, value_name = "NETWORK", help_heading = "Reading")]
    pub(crate) trusted_proxy: Vec<String>,
    /// The site's robots.txt as it was when the log was written: report robots that fetch what it forbids
    #[arg(long, value_name = "FILE")]
    pub(crate) robots: Option<PathBuf>,
    /// Knowledge base ('cattlegrid kb'): requests that it refused are not evidence. 'analyze' also updates it with its verdicts
    #[arg(long, value_name = "FILE")]
    pub(crate) kb: Option<PathBuf>,
    /// Database of autonomous systems in MaxMind's format (GeoLite2-ASN.mmdb): also judge the sources of one provider together
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_ASN")]
    pub(crate) asn: Option<PathBuf>,
    /// Judge each host of the log separately, by the host that the log names (%v, $server_name, …): for servers with several
    /// dissimilar sites. The report shows the visitors of each host
    #[arg(long, help_heading = "Reading")]
    pub(crate) by_host: bool,
    /// Time zone of times without one: Europe/Vienna, +02:00, local [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "Reading")]
    pub(crate) tz: Option<String>,
    /// Only requests from this time on: 2030-01-31, '2030-01-31 12:00', or 7d or 36h before now
    #[arg(long, value_name = "TIME", help_heading = "Reading")]
    pub(crate) since: Option<String>,
    /// Only requests before this time
    #[arg(long, value_name = "TIME", help_heading = "Reading")]
    pub(crate) until: Option<String>,
    /// Settings file ('cattlegrid config show' prints one)
    #[arg(long, value_name = "FILE", env = CONFIG)]
    pub(crate) config: Option<PathBuf>,
    /// Folder with the networks that operators of robots publish ('cattlegrid lists update' fills it)
    #[arg(long, value_name = "FOLDER", env = "CATTLEGRID_LISTS")]
    pub(crate) lists: Option<PathBuf>,
    /// The traffic shape model ('cattlegrid train' makes one) [default: the built-in model]
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Length of the windows in which sources are judged: 5d, 36h
    #[arg(long, value_name = "SPAN", value_parser = span_days)]
    pub(crate) window: Option<f64>,
    /// Threads for parsing and judging [default: all cores]. Reading and unpacking has a separate thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Print only errors: no summary, no progress, no notes
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

/// A day, or seconds since 1970.
fn instant(text: &str) -> Result<u32, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    let day: jiff::civil::Date = text
        .parse()
        .map_err(|_| "give a day like 2030-01-31, or seconds since 1970".to_owned())?;
    let midnight = day
        .to_zoned(jiff::tz::TimeZone::UTC)
        .map_err(|error| error.to_string())?;
    u32::try_from(midnight.timestamp().as_second())
        .map_err(|_| "give a day between 1970 and 2105".to_owned())
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
