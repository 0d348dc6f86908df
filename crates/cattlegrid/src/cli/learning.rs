//! Arguments of `train` and `evaluate`.

use std::path::PathBuf;

use clap::Args;

use super::LogArgs;

/// Where the true labels of sources come from.
#[derive(Debug, Args)]
pub(crate) struct TruthArgs {
    /// Labels: a CSV file with the columns source and label (user, legitimate, unauthorized, masquerading, crawler, automated), and
    /// campaign, habit and evasion (a row of the PubCrawl paper's Table 13) if known
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Derive labels from names, addresses and page loads, which the traffic shape does not use
    #[arg(long, conflicts_with = "labels")]
    pub(crate) derive_labels: bool,
    /// Skip sources with fewer requests on their busiest day
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
    /// Learn only how similar the sources of one campaign are (the k of the PubCrawl paper's Algorithm 1), from campaigns that labels or
    /// worlds name, and write the model in use with it
    #[arg(long, requires = "out", conflicts_with_all = ["headers", "labels_out", "derive_labels", "show_rules"])]
    pub(crate) campaigns: bool,
    /// Learn only how sessions of robots and of people differ, page request by page request, from labelled logs or simulated worlds
    /// (world:visits:1-48), and write the model in use with it. With --derive-labels, a Bayesian network labels the sessions of a log; --labels-out writes
    /// them for review, and --labels reads the corrected file
    #[arg(long, conflicts_with_all = ["headers", "campaigns"])]
    pub(crate) sessions: bool,
    /// Learn only how the paths of crawlers and of people through a site differ, after the PathMarker paper, from simulated forums
    /// (world:forum:1-19), and write the model in use with it
    #[arg(long, requires = "out", conflicts_with_all = ["headers", "campaigns", "sessions", "labels_out", "labels", "derive_labels", "show_rules"])]
    pub(crate) paths: bool,
    /// With --paths: entries of a long session, which 'cattlegrid paths measure' proposes for your users
    #[arg(long, value_name = "N", default_value_t = 60, requires = "paths", value_parser = clap::value_parser!(u32).range(10..=1000))]
    pub(crate) path_entries: u32,
    /// With --paths: minutes without a page request that end a short session
    #[arg(long, value_name = "MINUTES", default_value_t = 30, requires = "paths", value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub(crate) path_gap: u32,
    /// Write what --headers learned as a settings file for --config
    #[arg(long, value_name = "FILE", requires = "headers")]
    pub(crate) out_settings: Option<PathBuf>,
    /// Write the derived labels to this file, to be corrected and passed as --labels
    #[arg(long, value_name = "FILE", requires = "derive_labels")]
    pub(crate) labels_out: Option<PathBuf>,
    /// Print the learned rules
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
    /// Also train on these sources and test on held-out parts: in this many folds, and with a third held out
    #[arg(long, value_name = "PARTS")]
    pub(crate) folds: Option<usize>,
    /// Also train without each value in turn, and test on a third
    #[arg(long)]
    pub(crate) leave_one_out: bool,
    /// Test instead which sources are found to crawl together, on worlds or on a log whose labels name campaigns: precision, recall and
    /// accuracy beside the paper's, also for other orders, jitter and (worlds only) volumes
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out"])]
    pub(crate) campaigns: bool,
    /// Test the header heuristics instead: Tables 2 and 5 beside the paper's figures, each heuristic alone, by evasion of Table 13, and
    /// together with the traffic shape. Thresholds come from --config ('train --headers' learns them)
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out", "campaigns"])]
    pub(crate) headers: bool,
    /// Test sessions instead: train on whole sessions of other sources of this log, in parts (--folds, default 5), cut 25 times at random;
    /// accuracy and people accused, with intervals, also for each kind of robots
    #[arg(long, conflicts_with_all = ["leave_one_out", "campaigns", "headers"])]
    pub(crate) sessions: bool,
    /// Test the paths of signed-in users instead, on simulated forums (world:forum:60-69): Table I of the PathMarker paper, learned from half of
    /// the accounts and tested on the other half, and the model in use; with parents from markers and, weaker, from referrers. With
    /// --leave-kinds-out, also each kind of reader and crawler judged without having been learned
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out", "campaigns", "headers", "sessions", "labels", "derive_labels", "calibration"])]
    pub(crate) paths: bool,
    /// With --paths: write a page with Figures 2 and 3 of the paper to this file
    #[arg(long, value_name = "FILE", requires = "paths")]
    pub(crate) html: Option<PathBuf>,
    /// Test instead how kinds of people or crawlers absent from training are judged: train on these sources without each
    /// kind in turn (by its habit) and test on it. Trains only trees, on at most 4,000 examples, to bound the time
    #[arg(long, conflicts_with_all = ["folds", "leave_one_out", "campaigns"])]
    pub(crate) leave_kinds_out: bool,
    /// Draw the stated confidence against the truth in this SVG file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["campaigns", "leave_kinds_out"])]
    pub(crate) calibration: Option<PathBuf>,
    /// Number of misjudged sources to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) hardest: usize,
    /// Write JSON to a file, or to standard output with - (instead of the text)
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
}
