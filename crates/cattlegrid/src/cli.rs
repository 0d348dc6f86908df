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
    /// Rehearse containment on old logs: what limits would have cost people and stopped of crawlers, and which limits to take
    Plan(Box<PlanArgs>),
    /// The knowledge base: who is allowed and who is denied, why and until when; change, undo, export, import
    Kb(Box<KbArgs>),
    /// Stand before a site: let people pass, challenge and block crawlers, learn from what is served (docs/gate.md)
    Gate {
        /// The settings file, with a [gate] part
        #[arg(long, value_name = "FILE", env = "CATTLEGRID_CONFIG")]
        config: PathBuf,
    },
    /// Check the gate's settings file: exit status 0 where it is sound, else 1 with every error and its line. Binds nothing
    Check {
        /// The settings file, with a [gate] part
        #[arg(long, value_name = "FILE", env = "CATTLEGRID_CONFIG")]
        config: PathBuf,
    },
    /// Draw a new key with which the gate signs challenges and clearances. The gate takes it at its next reload (SIGHUP)
    RotateKeys {
        /// The settings file, with a [gate] part
        #[arg(long, value_name = "FILE", env = "CATTLEGRID_CONFIG")]
        config: PathBuf,
        /// The old key has leaked: drop all old keys at once. Every visitor then meets one challenge more
        #[arg(long)]
        leaked: bool,
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
    /// Replace the model in use with a new one that is right more often on labelled logs and accuses no more people; the old model is kept
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
    /// Pages in a day up to which an unknown source passes [default: 20, or the settings file's]
    #[arg(long, value_name = "PAGES")]
    pub(crate) k1: Option<u32>,
    /// Pages in a day from which a source is judged [default: 1000, or the settings file's]
    #[arg(long, value_name = "PAGES")]
    pub(crate) k2: Option<u32>,
    /// Write it as JSON to a file, or to standard output with - (then without the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write it as one HTML page with the curves
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KbArgs {
    /// The knowledge base [default: ~/.local/share/cattlegrid/kb.sqlite]
    #[arg(long, value_name = "FILE", env = "CATTLEGRID_KB", global = true)]
    pub(crate) kb: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: KbCommand,
}

/// SUBJECT is an address, a network, agent:TEXT or campaign:NAME.
#[derive(Debug, Subcommand)]
pub(crate) enum KbCommand {
    /// List entries
    List(KbListArgs),
    /// Show all that is known of somebody, why, and what has changed
    Show {
        /// An address, a network, agent:TEXT, campaign:NAME, or #NUMBER of an entry
        subject: String,
    },
    /// Let somebody pass, whatever an analysis finds
    Allow(SayArgs),
    /// Refuse somebody, whatever an analysis finds
    Deny(SayArgs),
    /// Take out an entry: nothing is known of them any more
    Forget {
        /// An address, a network, agent:TEXT or campaign:NAME
        subject: String,
    },
    /// Show the latest changes
    Log {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50)]
        top: usize,
    },
    /// Take back changes that were made together
    Undo {
        /// Their number, as 'kb log' shows it
        batch: i64,
    },
    /// Write the deny list for a server or firewall, or the whole base as JSON
    Export(ExportArgs),
    /// Take in the JSON of another base, or a list of networks
    Import(ImportArgs),
    /// Read everything and say whether it is sound
    Check,
    /// Put the backup in the place of a damaged or missing base; what was there is kept
    Restore,
}

#[derive(Debug, Args)]
pub(crate) struct KbListArgs {
    /// Only entries about this: source, network, agent, campaign
    #[arg(long, value_name = "KIND", value_parser = ["source", "network", "agent", "campaign"])]
    pub(crate) about: Option<String>,
    /// Only entries that say this: allow, deny, watch
    #[arg(long, value_name = "ACTION", value_parser = ["allow", "deny", "watch"])]
    pub(crate) action: Option<String>,
    /// Only sources of this campaign
    #[arg(long, value_name = "NAME")]
    pub(crate) campaign: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) top: usize,
}

#[derive(Debug, Args)]
pub(crate) struct SayArgs {
    /// An address, a network, agent:TEXT or campaign:NAME
    pub(crate) subject: String,
    /// Why, for those who look it up later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Days after which it no longer holds; without this it has no end
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub(crate) days: Option<u32>,
    /// Pages a day up to which an allowed source passes
    #[arg(long, value_name = "N")]
    pub(crate) cap: Option<u32>,
    /// A proxy of your own, which is not denied by mistake. Can be repeated
    #[arg(long, value_name = "NETWORK")]
    pub(crate) trusted_proxy: Vec<String>,
    /// Do it even to everybody, to this machine, to a proxy or a search engine
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// For whom: nginx-deny, nginx-map, apache, caddy, haproxy, nftables, ipset, cidr, networks (JSON), or json for the whole base
    #[arg(long = "as", value_name = "TARGET")]
    pub(crate) target: String,
    /// Addresses that nobody denied and that may be denied with the others, so that the list is shorter (IPv6 counts in /64)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) budget: u64,
    /// The file; without one, or with -, standard output
    #[arg(value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A file of 'kb export --as json', or addresses and networks, one a line; - for standard input
    pub(crate) file: PathBuf,
    /// What to do with the networks of a list: allow or deny
    #[arg(long = "as", value_name = "ACTION", value_parser = ["allow", "deny"])]
    pub(crate) action: Option<String>,
    /// Days after which the entries of a list no longer hold
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub(crate) days: Option<u32>,
    /// The file is your own: what you said there counts as said here, and replaces it
    #[arg(long)]
    pub(crate) mine: bool,
    /// Only say what would be imported
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A proxy of your own, which is not denied by mistake. Can be repeated
    #[arg(long, value_name = "NETWORK")]
    pub(crate) trusted_proxy: Vec<String>,
    /// Import even what touches everybody, this machine, a proxy or a search engine
    #[arg(long)]
    pub(crate) yes: bool,
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
        /// Accept a list that has more than three times or less than half the size of the one before
        #[arg(long)]
        force: bool,
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
    /// Find crawlers hidden among the people of one source, such as a university's proxy, by user agent and session cookie. Reads the
    /// log twice, so it takes files
    #[arg(long, conflicts_with = "follow")]
    pub(crate) hidden: bool,
    /// List the campaigns of the PubCrawl paper's Algorithm 1, too, which compares series of requests alone
    #[arg(long)]
    pub(crate) paper_campaigns: bool,
    /// Replace addresses by pseudonyms that keep networks together, and show no lines of the log
    #[arg(long, conflicts_with = "kb")]
    pub(crate) pseudonymize: bool,
    /// A file whose content is the key of the pseudonyms: the same key gives the same pseudonyms. Without one each run draws a
    /// new key and forgets it
    #[arg(long, value_name = "FILE", requires = "pseudonymize")]
    pub(crate) pseudonym_key: Option<PathBuf>,
    /// Say what --kb would change, and change nothing
    #[arg(long, requires = "kb")]
    pub(crate) kb_dry_run: bool,
    /// Take this for the time it is now, from which entries of --kb begin and end (seconds since 1970, or 2030-01-31)
    #[arg(long, value_name = "TIME", requires = "kb", value_parser = instant)]
    pub(crate) kb_time: Option<u32>,
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
    /// long tail of its sources: 2.4 GB), containment-small (a tenth of that), wide (people and crawlers drawn from wide
    /// ranges, to learn from), gateways (people who share addresses, and crawlers hidden among them). Only for tests, nothing is
    /// learned from them: market and portal (heavy sources of people and
    /// crawlers), midsize (many light people and robots), midsize-calm (the same without fleets)
    pub(crate) world: String,
    /// The world grows from this number: one seed, one byte sequence
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Folder for access.log and labels.csv
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Write the common format, without referrer and user agent
    #[arg(long)]
    pub(crate) common: bool,
    /// Say nothing
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where the truth about sources comes from.
#[derive(Debug, Args)]
pub(crate) struct TruthArgs {
    /// Labels: a CSV file with the columns source and label (user, legitimate, unauthorized, masquerading, crawler, automated), and
    /// campaign, habit and evasion (a row of the PubCrawl paper's Table 13) if known
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
    #[arg(long, value_name = "FILE", required_unless_present_any = ["labels_out", "headers"])]
    pub(crate) out: Option<PathBuf>,
    /// Learn the thresholds of the header heuristics H1 to H7, each alone, and the weights of all findings instead, cross-validated in five
    /// parts; needs labels that were not derived from headers
    #[arg(long, conflicts_with_all = ["out", "labels_out", "derive_labels", "show_rules"])]
    pub(crate) headers: bool,
    /// Learn only how alike sources of one campaign are (the k of the PubCrawl paper's Algorithm 1), from campaigns that labels or
    /// worlds name, and write the model in use with it
    #[arg(long, requires = "out", conflicts_with_all = ["headers", "labels_out", "derive_labels", "show_rules"])]
    pub(crate) campaigns: bool,
    /// Write what --headers learned as a settings file for --config
    #[arg(long, value_name = "FILE", requires = "headers")]
    pub(crate) out_settings: Option<PathBuf>,
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
    /// Test who is found to crawl together instead, on worlds or on a log whose labels name campaigns: precision, recall and accuracy
    /// beside the paper's, for other orders, jitter and (worlds only) volumes, too
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out"])]
    pub(crate) campaigns: bool,
    /// Test the header heuristics instead: Tables 2 and 5 beside the paper's figures, each heuristic alone, by evasion of Table 13, and
    /// together with the traffic shape. Thresholds come from --config ('train --headers' learns them)
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out", "campaigns"])]
    pub(crate) headers: bool,
    /// Test how a kind of people or crawlers is judged that was not learned from, instead: learn from these sources without each
    /// kind in turn (by its habit) and test on it. Only trees are learned, from at most 4,000 examples, to bound the time
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out", "campaigns"])]
    pub(crate) leave_kinds_out: bool,
    /// Write a picture of the stated confidence against the truth to this SVG file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["campaigns", "leave_kinds_out"])]
    pub(crate) calibration: Option<PathBuf>,
    /// Misjudged sources to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) hardest: usize,
    /// Write it as JSON to a file, or to standard output with - (then without the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
}

/// What all commands that read logs have in common.
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
    /// Field with the addresses that proxies pass on (X-Forwarded-For, or a JSON key): the client is its last address that is no
    /// trusted proxy
    #[arg(long, value_name = "FIELD", help_heading = "Reading")]
    pub(crate) source_field: Option<String>,
    /// A proxy of your own, as address or network; only what it passes on in --source-field is believed. Can be repeated
    #[arg(long, value_name = "NETWORK", help_heading = "Reading")]
    pub(crate) trusted_proxy: Vec<String>,
    /// The site's robots.txt as it was when the log was written: robots that fetch what it forbids are told
    #[arg(long, value_name = "FILE")]
    pub(crate) robots: Option<PathBuf>,
    /// Knowledge base ('cattlegrid kb'): requests that it refused are no evidence. 'analyze' also brings it up to what was found
    #[arg(long, value_name = "FILE")]
    pub(crate) kb: Option<PathBuf>,
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
