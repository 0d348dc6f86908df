//! The result of an analysis as one plain value. It names no file, thread or duration: equal input gives an equal report.

mod crawlers;
mod judged;
mod manners;
mod panels;

use std::collections::BTreeMap;
use std::sync::Arc;

use cattlegrid_learn::committee::MEMBERS;

use crate::evidence::Measure;
use crate::evidence::Outcome;
use crate::evidence::Toward;
use crate::format::Skip;
use crate::knowledge::Knowledge;
use crate::knowledge::Purpose;
use crate::knowledge::Robot;
use crate::request::Source;
use crate::text::printable;
use crate::verdict::Cause;
use crate::verdict::Class;
use crate::verdict::Evidence;
use crate::verdict::Kind;
use crate::verdict::Votes;
pub use crawlers::CampaignBefore;
pub use crawlers::CampaignReport;
pub use crawlers::GroupReport;
pub use crawlers::HiddenBy;
pub use crawlers::HiddenCrawler;
pub use crawlers::PaperCampaign;
pub use crawlers::PaperCampaigns;
pub(crate) use judged::FoundInTable;
pub use judged::Judged;
pub(crate) use judged::JudgedAs;
pub use judged::Judgements;
pub use manners::Manners;
pub use manners::MannersReport;
pub use manners::Name;
pub use panels::AiRobot;
pub use panels::PanelDay;
pub use panels::Panels;
pub use panels::PeoplePanels;
pub use panels::Row;
pub use panels::SourcePanel;
pub use panels::Top;

/// What an analysis found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Lines read and left out.
    pub lines: Lines,
    /// Time of the first request, and of the last.
    pub span: Option<(u32, u32)>,
    /// Length of a window in seconds.
    pub window_seconds: u32,
    /// Requests and sources by class, in the order of [`Class::ALL`].
    pub totals: [Totals; 4],
    /// Undecided sources by cause, in the order of [`Cause::ALL`].
    pub undecided: [Totals; 4],
    /// Sources in which people and a crawler share an address.
    pub mixed: u64,
    /// The log says how long answers took.
    pub is_timed: bool,
    /// Fields the log does not have, that rules would use.
    pub not_logged: Vec<&'static str>,
    /// Requests over time.
    pub timeline: Timeline,
    /// Requests by the answer's status.
    pub statuses: BTreeMap<u16, u64>,
    /// The pages asked for most.
    pub paths: Paths,
    /// Hosts of the log, most requests first, where each was judged for itself.
    pub hosts: Vec<HostReport>,
    /// Robots that name themselves, by what they come for.
    pub purposes: BTreeMap<Purpose, Totals>,
    /// What they did about robots.txt, most requests first.
    pub manners: Vec<MannersReport>,
    /// A robots.txt was given, so that what it forbids is known.
    pub has_robots_txt: bool,
    /// Sources that crawl as one, most requests first.
    pub campaigns: Vec<CampaignReport>,
    /// Campaigns by the paper's algorithm, where they were asked for.
    pub paper_campaigns: Option<PaperCampaigns>,
    /// Sources that share something and were judged together, most requests first.
    pub groups: Vec<GroupReport>,
    /// Crawlers among the people of one source, most requests first, where the log was read twice to find them.
    pub hidden: Option<Vec<HiddenCrawler>>,
    /// Sources worth listing, most requests first.
    pub sources: Vec<SourceReport>,
    /// What every source is, sorted, where that was asked for.
    pub bands: Vec<(Source, Band)>,
    /// The verdict on every source in short, where a second look at the log was asked for.
    pub judged: Judgements,
    /// What people asked for and more, where the log was read twice for it.
    pub panels: Option<Box<Panels>>,
    /// Requests from which users and sources without any evidence are listed.
    pub min_requests: u64,
    /// Everything about the source that was looked at closely.
    pub inspection: Option<Inspection>,
}

/// Requests for one host of the log.
#[derive(Debug, Clone)]
pub struct HostReport {
    /// Its name.
    pub host: Arc<str>,
    /// All its requests.
    pub requests: u64,
    /// Its page requests.
    pub pages: u64,
    /// Bytes it sent.
    pub bytes: u64,
    /// Requests by what sent them, in the order of [`Band::ALL`].
    pub bands: [u64; Band::ALL.len()],
}

impl HostReport {
    /// A host without requests.
    pub fn new(host: Arc<str>) -> HostReport {
        HostReport {
            host,
            requests: 0,
            pages: 0,
            bytes: 0,
            bands: [0; Band::ALL.len()],
        }
    }

    /// Adds requests of one source.
    pub fn add(&mut self, band: Band, totals: Totals) {
        self.requests += totals.requests;
        self.pages += totals.pages;
        self.bytes = self.bytes.saturating_add(totals.bytes);
        self.bands[band as usize] += totals.requests;
    }

    /// False for what stands for all requests that name no host.
    pub fn is_named(&self) -> bool {
        &*self.host != "(no host)"
    }

    /// Requests of crawlers.
    pub fn crawlers(&self) -> u64 {
        crawlers(&self.bands)
    }

    /// Adds another part of the same host.
    pub fn absorb(&mut self, other: &HostReport) {
        self.requests += other.requests;
        self.pages += other.pages;
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (mine, theirs) in self.bands.iter_mut().zip(other.bands) {
            *mine += theirs;
        }
    }
}

/// Pages by path, without their queries.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// The numbers are estimates from a sample of the page requests.
    pub is_estimate: bool,
    /// Different paths, in the sample.
    pub distinct: u64,
    /// The ones asked for most.
    pub top: Vec<PathReport>,
}

/// Page requests for one path.
#[derive(Debug, Clone, Default)]
pub struct PathReport {
    /// The path.
    pub path: String,
    /// How often it was asked for.
    pub requests: u64,
    /// How often the answer was an error.
    pub errors: u64,
    /// By what asked for it, in the order of [`Band::ALL`].
    pub bands: [u64; Band::ALL.len()],
}

/// Everything about one source.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// Its verdict.
    pub source: SourceReport,
    /// What each rule said and what was counted, for each window.
    pub windows: Vec<WindowInspection>,
    /// Its first lines in the log.
    pub lines: Vec<Vec<u8>>,
    /// What it was called on the way, the first moment first; empty where nobody asked.
    pub course: Vec<Moment>,
}

/// What a source was called at one moment, by what had come until then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Time of its latest request.
    pub time: u32,
    /// Its requests so far.
    pub requests: u64,
    /// What it was.
    pub class: Class,
    /// How sure that was.
    pub confidence: f64,
    /// The rule or the strongest family that decided.
    pub decided_by: Option<&'static str>,
}

/// One window of a source that was looked at closely.
#[derive(Debug, Clone)]
pub struct WindowInspection {
    /// First second of the window.
    pub start: u32,
    /// The host, where each was judged for itself.
    pub host: Option<Arc<str>>,
    /// What each rule said, in the order of their names.
    pub outcomes: Vec<(&'static str, Outcome)>,
    /// What was counted.
    pub numbers: Vec<(&'static str, u64)>,
    /// Requests of each half hour.
    pub series: Vec<u32>,
    /// The shape of its traffic, where the log is long enough.
    pub shape: Option<ShapeInspection>,
}

/// The shape of one source's traffic, as the paper's Figures 2, 4 and 5 show it.
#[derive(Debug, Clone)]
pub struct ShapeInspection {
    /// First second of the series: gaps of the log are left out.
    pub start: u32,
    /// Requests of each half hour.
    pub counts: Vec<f64>,
    /// Autocorrelation at the lags 1, 2, …, in half hours.
    pub coefficients: Vec<f64>,
    /// Their standard errors.
    pub errors: Vec<f64>,
    /// What comes back every day, in requests.
    pub season: Vec<f64>,
    /// What changes slowly, in requests.
    pub trend: Vec<f64>,
    /// The rest, in requests.
    pub rest: Vec<f64>,
    /// Variance over mean of the counts.
    pub dispersion: f64,
    /// What classifiers look at, by name; a class as its name.
    pub values: Vec<(String, String)>,
    /// How likely a crawler is, as naive Bayes, rules and support vectors see it, where there is a model.
    pub votes: Option<[f64; MEMBERS]>,
}

/// Requests over time, by what sent them.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// When the first step begins.
    pub start: u32,
    /// Seconds of a step: half hours, or more in a long log.
    pub step: u32,
    /// Requests of each step, in the order of [`Band::ALL`].
    pub bands: [Vec<u64>; Band::ALL.len()],
}

/// A part of the traffic in the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// People.
    People,
    /// What could not be judged.
    Undecided,
    /// Monitors, previews, feed readers, proxies.
    Automated,
    /// Crawlers that are proven to be who they say.
    Legitimate,
    /// Crawlers that name a search engine, unproven.
    Unproven,
    /// Crawlers that nobody asked for.
    Unauthorized,
    /// Crawlers under a browser's agent or a false name.
    Masquerading,
}

impl Band {
    /// All bands, from the bottom of a chart to its top.
    pub const ALL: [Band; 7] = [
        Band::People,
        Band::Undecided,
        Band::Automated,
        Band::Legitimate,
        Band::Unproven,
        Band::Unauthorized,
        Band::Masquerading,
    ];

    /// The band of a verdict.
    pub fn of(class: Class, kind: Option<Kind>) -> Band {
        match (class, kind) {
            (Class::User, _) => Band::People,
            (Class::Undecided, _) => Band::Undecided,
            (Class::Automated, _) => Band::Automated,
            (Class::Crawler, Some(Kind::Legitimate)) => Band::Legitimate,
            (Class::Crawler, Some(Kind::Unauthorized)) => Band::Unauthorized,
            (Class::Crawler, Some(Kind::Masquerading)) => Band::Masquerading,
            (Class::Crawler, None) => Band::Unproven,
        }
    }

    /// The key in reports.
    pub fn key(self) -> &'static str {
        match self {
            Band::People => "people",
            Band::Undecided => "undecided",
            Band::Automated => "automated",
            Band::Legitimate => "legitimate",
            Band::Unproven => "unproven",
            Band::Unauthorized => "unauthorized",
            Band::Masquerading => "masquerading",
        }
    }

    /// What to call it.
    pub fn name(self) -> &'static str {
        match self {
            Band::People => "people",
            Band::Undecided => "undecided",
            Band::Automated => "automated",
            Band::Legitimate => "crawlers, legitimate",
            Band::Unproven => "crawlers, unproven search engines",
            Band::Unauthorized => "crawlers, unauthorized",
            Band::Masquerading => "crawlers, masquerading",
        }
    }
}

/// Requests of all bands that are crawlers'.
fn crawlers(bands: &[u64; Band::ALL.len()]) -> u64 {
    bands[Band::Legitimate as usize..].iter().sum()
}

impl PathReport {
    /// Requests of crawlers.
    pub fn crawlers(&self) -> u64 {
        crawlers(&self.bands)
    }
}

impl Timeline {
    /// The step for a span of seconds: at most about five thousand steps in all.
    pub fn step_for(seconds: u32) -> u32 {
        match seconds / 86_400 {
            0..=90 => 1800,
            91..=1000 => 6 * 3600,
            _ => 86_400,
        }
    }

    /// Adds another part of the same log.
    pub fn absorb(&mut self, other: &Timeline) {
        for (mine, theirs) in self.bands.iter_mut().zip(&other.bands) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
    }
}

/// Lines of the log.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// All lines.
    pub read: u64,
    /// Lines that became requests.
    pub parsed: u64,
    /// Lines without anything.
    pub blank: u64,
    /// Lines left out, by reason.
    pub skipped: Vec<SkippedLines>,
}

/// Lines left out for one reason.
#[derive(Debug, Clone)]
pub struct SkippedLines {
    /// The reason.
    pub reason: Skip,
    /// How many.
    pub count: u64,
    /// The first of them, at most 300 bytes, as it stood in the log.
    pub example: Vec<u8>,
    /// Piece of the input and line in it where the example stood. Not part of what must be equal for equal logs.
    pub place: (u32, u64),
}

impl SkippedLines {
    /// Where the example stood: the piece's name, and the line where it is known.
    pub fn place_in(&self, pieces: &[String]) -> String {
        let (piece, line) = self.place;
        let name = pieces.get(piece as usize).map_or("", String::as_str);
        let place = match line {
            0 => name.to_owned(),
            _ => format!("{name}:{line}"),
        };
        printable(place.as_bytes())
    }
}

impl Lines {
    /// Lines left out that should have been readable.
    pub fn unreadable(&self) -> u64 {
        self.skipped
            .iter()
            .filter(|skipped| !skipped.reason.is_sound())
            .map(|skipped| skipped.count)
            .sum()
    }
}

/// Sums over sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many sources.
    pub sources: u64,
    /// Their requests.
    pub requests: u64,
    /// Their page requests.
    pub pages: u64,
    /// Bytes sent to them.
    pub bytes: u64,
    /// How long their answers took, in milliseconds.
    pub ms: u64,
}

impl Totals {
    /// Adds another part.
    pub fn absorb(&mut self, other: Totals) {
        self.sources += other.sources;
        self.requests += other.requests;
        self.pages += other.pages;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.ms = self.ms.saturating_add(other.ms);
    }
}

/// One source with its verdict.
#[derive(Debug, Clone)]
pub struct SourceReport {
    /// Its name.
    pub source: String,
    /// All its requests.
    pub requests: u64,
    /// Its page requests.
    pub pages: u64,
    /// Bytes sent to it.
    pub bytes: u64,
    /// How long its answers took, in milliseconds.
    pub ms: u64,
    /// Its first and its last request.
    pub first_seen: u32,
    /// Its last request.
    pub last_seen: u32,
    /// The agent it used most, where that is known.
    pub agent: Option<String>,
    /// How many agents it used in its busiest window.
    pub agents: usize,
    /// The robot it names itself as.
    pub robot: Option<RobotReport>,
    /// Requests in each of [`CURVE_STEPS`] parts of the log's span; empty for a source with few requests.
    pub curve: Vec<u32>,
    /// What it is: the class of the latest window that was decided.
    pub class: Class,
    /// What kind of crawler.
    pub kind: Option<Kind>,
    /// How sure, from 0.5 to 1.
    pub confidence: f64,
    /// The rule or family that decided.
    pub decided_by: Option<&'static str>,
    /// The evidence of the window that decided, strongest first.
    pub evidence: Vec<Evidence>,
    /// People and a crawler share this source.
    pub mixed: bool,
    /// It would be no crawler without what was seen of its visits.
    pub by_visits: bool,
    /// It is a crawler only because it was one at the judgement before: that is shown, and nobody is denied for it.
    pub is_kept: bool,
    /// The campaign it belonged to last: its place in the list.
    pub campaign: Option<usize>,
    /// What tells a crowd from one visitor, in the latest window in which its traffic had a shape.
    pub crowd: Option<Box<Crowd>>,
    /// Why it is undecided.
    pub cause: Option<Cause>,
    /// One verdict for each window it was seen in.
    pub windows: Vec<WindowReport>,
}

/// What one window tells about how many visitors share a source. Parts of pages are left out: one browser loads them, too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crowd {
    /// Decibans of the traffic's shape: negative for people, positive for a crawler.
    pub shape: f64,
    /// Days with at least a tenth of the requests of the busiest day.
    pub days: u32,
    /// Page requests.
    pub pages: u64,
    /// Distinct pages, an estimate where they are many.
    pub distinct_pages: u64,
    /// User agents with at least [`AGENT_SHARE_MIN`] of the requests each, a lower bound.
    pub agents: usize,
    /// The share of the most used agent, an upper bound.
    pub top_agent: f64,
    /// The share of requests under a browser's agent.
    pub browsers: f64,
    /// Distinct session ids, where it sent any.
    pub sessions: Option<u64>,
    /// Time of the last request in the window.
    pub last_seen: u32,
}

/// The share of a source's requests from which one of its agents counts as a visitor of its own.
pub const AGENT_SHARE_MIN: f64 = 0.01;

impl Crowd {
    /// Page requests on a busy day, on average.
    pub fn daily_pages(&self) -> u64 {
        self.pages / u64::from(self.days.max(1))
    }
}

/// Parts of the log's span in a source's curve.
pub const CURVE_STEPS: usize = 48;

/// A robot that a source names itself as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotReport {
    /// Its name.
    pub name: String,
    /// What it comes for.
    pub purpose: Purpose,
    /// Who runs it.
    pub operator: Option<String>,
}

impl RobotReport {
    /// A robot with its operator.
    pub(crate) fn of(robot: &Robot, knowledge: &Knowledge) -> RobotReport {
        RobotReport {
            name: robot.name.clone(),
            purpose: robot.purpose,
            operator: knowledge
                .operator(robot)
                .map(|operator| operator.name.clone()),
        }
    }
}

impl std::fmt::Display for RobotReport {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.name)?;
        if let Some(operator) = &self.operator {
            write!(out, " of {operator}")?;
        }
        write!(out, ", {}", self.purpose.name())
    }
}

/// A source's verdict in one window.
#[derive(Debug, Clone)]
pub struct WindowReport {
    /// First second of the window.
    pub start: u32,
    /// First second after it.
    pub end: u32,
    /// The host, where each was judged for itself.
    pub host: Option<Arc<str>>,
    /// Requests in it.
    pub requests: u64,
    /// Page requests in it.
    pub pages: u64,
    /// What the source is in it.
    pub class: Class,
    /// What kind of crawler.
    pub kind: Option<Kind>,
    /// Sum of evidence in decibans.
    pub decibans: f64,
    /// How sure.
    pub confidence: f64,
    /// The rule or family that decided.
    pub decided_by: Option<&'static str>,
    /// How the header heuristics voted.
    pub votes: Votes,
    /// Why it is undecided.
    pub cause: Option<Cause>,
    /// The values of its series, where they are kept.
    pub shape: Option<Vec<f64>>,
    /// What rules measured and found, where it is kept.
    pub lesson: Option<Box<Lesson>>,
}

/// What the rules measured and found about a source in a window, to learn from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lesson {
    /// What each voting heuristic measured, in the order of the detectors. Nothing where it abstained.
    pub measures: Vec<(&'static str, Vec<Measure>)>,
    /// Findings: the detector, which way it points, and its weight in decibans.
    pub findings: Vec<(&'static str, Toward, f64)>,
    /// Requests of each half hour that the log covers, where there are enough to compare them with others'.
    pub series: Vec<f64>,
}

/// Sources of a crowd: addresses of a proxy, with everybody behind them.
const CROWD_SOURCES: usize = 20;
/// User agents from which a source is many visitors.
const CROWD_AGENTS: usize = 13;
/// Requests from which a log tells.
const CROWD_REQUESTS: u64 = 200;

impl Report {
    /// How many sources, each with many user agents, sent at least half of all requests, where they are few: a proxy stands
    /// between the visitors and the server, and the log names the proxy.
    pub fn crowd(&self) -> Option<usize> {
        let all = self.all().requests;
        let mut requests = 0;
        // The heaviest come first.
        let crowd = self
            .sources
            .iter()
            .filter(|source| source.agents >= CROWD_AGENTS)
            .take(CROWD_SOURCES)
            .take_while(|source| {
                let is_needed = requests * 2 < all;
                requests += source.requests;
                is_needed
            })
            .count();
        (all >= CROWD_REQUESTS && requests * 2 >= all).then_some(crowd)
    }

    /// Totals of one class.
    pub fn total(&self, class: Class) -> Totals {
        self.totals[class as usize]
    }

    /// Totals of everything.
    pub fn all(&self) -> Totals {
        let mut all = Totals::default();
        self.totals.iter().for_each(|totals| all.absorb(*totals));
        all
    }
}
