//! The report as JSON, by the schema in `docs/schema/analyze.json`. Equal reports give equal bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::io::Write;

use cattlegrid_core::Report;
use cattlegrid_core::evidence::Outcome;
use cattlegrid_core::report::Band;
use cattlegrid_core::report::CampaignReport;
use cattlegrid_core::report::HostReport;
use cattlegrid_core::report::Inspection;
use cattlegrid_core::report::Moment;
use cattlegrid_core::report::RobotReport;
use cattlegrid_core::report::ShapeInspection;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::report::Totals;
use cattlegrid_core::report::WindowInspection;
use cattlegrid_core::report::WindowReport;
use cattlegrid_core::text::printable;
use cattlegrid_core::verdict::Cause;
use cattlegrid_core::verdict::Class;
use cattlegrid_core::verdict::Evidence;
use cattlegrid_core::verdict::Votes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;

use crate::by_paper::PaperCampaignsJson;
use crate::campaigns::CampaignJson;
use crate::campaigns::GroupJson;
use crate::hidden::HiddenJson;
use crate::panels;

/// Writes the report as one JSON document.
pub fn write_json(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &Document::of(report))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes everything about one source as one JSON document, by the schema in `docs/schema/inspect.json`.
pub fn write_inspection_json(inspection: &Inspection, out: &mut impl Write) -> io::Result<()> {
    let document = InspectionJson {
        schema: "cattlegrid/inspect/1",
        source: SourceJson::of(&inspection.source),
        windows: inspection
            .windows
            .iter()
            .map(WindowInspectionJson::of)
            .collect(),
        lines: inspection
            .lines
            .iter()
            .map(|line| printable(line))
            .collect(),
        course: inspection.course.iter().map(MomentJson::of).collect(),
    };
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct InspectionJson<'a> {
    schema: &'static str,
    source: SourceJson<'a>,
    windows: Vec<WindowInspectionJson<'a>>,
    lines: Vec<String>,
    course: Vec<MomentJson>,
}

#[derive(Serialize)]
struct MomentJson {
    time: String,
    requests: u64,
    class: &'static str,
    confidence: f64,
    decided_by: Option<&'static str>,
}

impl MomentJson {
    fn of(moment: &Moment) -> MomentJson {
        MomentJson {
            time: time(moment.time),
            requests: moment.requests,
            class: moment.class.name(),
            confidence: rounded(moment.confidence),
            decided_by: moment.decided_by,
        }
    }
}

#[derive(Serialize)]
struct WindowInspectionJson<'a> {
    start: String,
    host: Option<&'a str>,
    detectors: Vec<OutcomeJson<'a>>,
    numbers: Vec<NumberJson>,
    half_hours: &'a [u32],
    shape: Option<ShapeJson<'a>>,
}

#[derive(Serialize)]
struct ShapeJson<'a> {
    start: String,
    half_hours: usize,
    autocorrelation: Vec<f64>,
    standard_errors: Vec<f64>,
    season: Vec<f64>,
    trend: Vec<f64>,
    rest: Vec<f64>,
    dispersion: f64,
    values: BTreeMap<&'a str, &'a str>,
    votes: Option<Vec<f64>>,
}

impl<'a> ShapeJson<'a> {
    fn of(shape: &'a ShapeInspection) -> ShapeJson<'a> {
        let all = |values: &[f64]| values.iter().map(|value| rounded(*value)).collect();
        let values = shape.values.iter();
        ShapeJson {
            start: time(shape.start),
            half_hours: shape.counts.len(),
            autocorrelation: all(&shape.coefficients),
            standard_errors: all(&shape.errors),
            season: all(&shape.season),
            trend: all(&shape.trend),
            rest: all(&shape.rest),
            dispersion: rounded(shape.dispersion),
            values: values
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            votes: shape.votes.map(|votes| votes.map(rounded).to_vec()),
        }
    }
}

#[derive(Serialize)]
struct OutcomeJson<'a> {
    detector: &'static str,
    outcome: &'static str,
    why: Option<Cow<'a, str>>,
    measured: Option<f64>,
}

#[derive(Serialize)]
struct NumberJson {
    what: &'static str,
    count: u64,
}

impl<'a> WindowInspectionJson<'a> {
    fn of(window: &'a WindowInspection) -> WindowInspectionJson<'a> {
        let outcomes = window.outcomes.iter();
        let numbers = window.numbers.iter();
        WindowInspectionJson {
            start: time(window.start),
            host: window.host.as_deref(),
            detectors: outcomes
                .map(|(detector, outcome)| OutcomeJson::of(detector, outcome))
                .collect(),
            numbers: numbers
                .map(|(what, count)| NumberJson {
                    what,
                    count: *count,
                })
                .collect(),
            half_hours: &window.series,
            shape: window.shape.as_ref().map(ShapeJson::of),
        }
    }
}

impl<'a> OutcomeJson<'a> {
    fn of(detector: &'static str, outcome: &'a Outcome) -> OutcomeJson<'a> {
        let (outcome, why, measured) = match outcome {
            Outcome::Abstain(gap) => ("silent", Some(Cow::Owned(gap.to_string())), None),
            Outcome::Clear(measured) => ("nothing", None, Some(rounded(*measured))),
            Outcome::Finding(finding) => {
                ("finding", Some(Cow::Borrowed(finding.why.as_str())), None)
            }
        };
        OutcomeJson {
            detector,
            outcome,
            why,
            measured,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    lines: LinesJson,
    first_seen: Option<String>,
    last_seen: Option<String>,
    window_seconds: u32,
    min_requests: u64,
    totals: TotalsByClass,
    undecided: Vec<UndecidedJson>,
    mixed_sources: u64,
    not_logged: &'a [&'static str],
    times_logged: bool,
    purposes: Vec<PurposeJson>,
    robots: Vec<MannersJson<'a>>,
    statuses: Vec<StatusJson>,
    paths: PathsJson<'a>,
    hosts: Vec<HostJson<'a>>,
    timeline: TimelineJson<'a>,
    #[serde(serialize_with = "each_source")]
    sources: &'a [SourceReport],
    groups: Vec<GroupJson<'a>>,
    #[serde(serialize_with = "each_campaign")]
    campaigns: &'a [CampaignReport],
    #[serde(skip_serializing_if = "Option::is_none")]
    paper_campaigns: Option<PaperCampaignsJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<Vec<HiddenJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    panels: Option<serde_json::Value>,
}

#[derive(Serialize)]
struct LinesJson {
    read: u64,
    parsed: u64,
    blank: u64,
    skipped: Vec<SkippedJson>,
}

#[derive(Serialize)]
struct SkippedJson {
    reason: &'static str,
    count: u64,
    example: String,
}

#[derive(Serialize)]
struct TotalsByClass {
    all: TotalsJson,
    user: TotalsJson,
    crawler: TotalsJson,
    automated: TotalsJson,
    undecided: TotalsJson,
}

#[derive(Serialize)]
struct TotalsJson {
    sources: u64,
    requests: u64,
    pages: u64,
    bytes: u64,
    answer_ms: u64,
}

impl TotalsJson {
    fn of(totals: Totals) -> TotalsJson {
        TotalsJson {
            sources: totals.sources,
            requests: totals.requests,
            pages: totals.pages,
            bytes: totals.bytes,
            answer_ms: totals.ms,
        }
    }
}

#[derive(Serialize)]
struct UndecidedJson {
    cause: &'static str,
    sources: u64,
    requests: u64,
}

#[derive(Serialize)]
struct SourceJson<'a> {
    source: &'a str,
    requests: u64,
    pages: u64,
    bytes: u64,
    answer_ms: u64,
    first_seen: String,
    last_seen: String,
    agent: Option<&'a str>,
    agents: usize,
    robot: Option<RobotJson<'a>>,
    class: &'static str,
    kind: Option<&'static str>,
    confidence: f64,
    decided_by: Option<&'static str>,
    cause: Option<&'static str>,
    evidence: Vec<EvidenceJson<'a>>,
    campaign: Option<usize>,
    mixed: bool,
    by_visits: bool,
    windows: Vec<WindowJson<'a>>,
}

#[derive(Serialize)]
struct RobotJson<'a> {
    name: &'a str,
    purpose: &'static str,
    operator: Option<&'a str>,
}

impl RobotJson<'_> {
    fn of(robot: &RobotReport) -> RobotJson<'_> {
        RobotJson {
            name: &robot.name,
            purpose: robot.purpose.key(),
            operator: robot.operator.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct StatusJson {
    status: u16,
    requests: u64,
}

impl StatusJson {
    fn all(report: &Report) -> Vec<StatusJson> {
        let statuses = report.statuses.iter();
        statuses
            .map(|(status, requests)| StatusJson {
                status: *status,
                requests: *requests,
            })
            .collect()
    }
}

#[derive(Serialize)]
struct PathsJson<'a> {
    estimated: bool,
    top: Vec<PathJson<'a>>,
}

#[derive(Serialize)]
struct PathJson<'a> {
    path: &'a str,
    requests: u64,
    errors: u64,
    by: BTreeMap<&'static str, u64>,
}

impl<'a> PathsJson<'a> {
    fn of(report: &'a Report) -> PathsJson<'a> {
        let top = report.paths.top.iter();
        PathsJson {
            estimated: report.paths.is_estimate,
            top: top
                .map(|path| PathJson {
                    path: &path.path,
                    requests: path.requests,
                    errors: path.errors,
                    by: by_band(path.bands),
                })
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct HostJson<'a> {
    host: &'a str,
    requests: u64,
    pages: u64,
    bytes: u64,
    by: BTreeMap<&'static str, u64>,
}

impl<'a> HostJson<'a> {
    fn of(host: &'a HostReport) -> HostJson<'a> {
        HostJson {
            host: &host.host,
            requests: host.requests,
            pages: host.pages,
            bytes: host.bytes,
            by: by_band(host.bands),
        }
    }
}

fn by_band(bands: [u64; Band::ALL.len()]) -> BTreeMap<&'static str, u64> {
    let bands = Band::ALL.into_iter().zip(bands);
    bands
        .map(|(band, requests)| (band.key(), requests))
        .collect()
}

#[derive(Serialize)]
struct PurposeJson {
    purpose: &'static str,
    #[serde(flatten)]
    totals: TotalsJson,
}

impl PurposeJson {
    fn all(report: &Report) -> Vec<PurposeJson> {
        let purposes = report.purposes.iter();
        purposes
            .map(|(purpose, totals)| PurposeJson {
                purpose: purpose.key(),
                totals: TotalsJson::of(*totals),
            })
            .collect()
    }
}

#[derive(Serialize)]
struct MannersJson<'a> {
    #[serde(flatten)]
    robot: RobotJson<'a>,
    proof: &'static str,
    sources: u64,
    requests: u64,
    robots_txt_requests: u64,
    robots_txt_after_seconds: Option<u32>,
    forbidden_requests: Option<u64>,
}

impl MannersJson<'_> {
    fn all(report: &Report) -> Vec<MannersJson<'_>> {
        let robots = report.manners.iter();
        robots
            .map(|row| MannersJson {
                robot: RobotJson::of(&row.robot),
                proof: row.name.name(),
                sources: row.manners.totals.sources,
                requests: row.manners.totals.requests,
                robots_txt_requests: row.manners.fetched,
                robots_txt_after_seconds: row.manners.asked_after(),
                forbidden_requests: report.has_robots_txt.then_some(row.manners.forbidden),
            })
            .collect()
    }
}

#[derive(Serialize)]
struct TimelineJson<'a> {
    start: Option<String>,
    step_seconds: u32,
    #[serde(flatten)]
    bands: BTreeMap<&'static str, &'a [u64]>,
}

impl<'a> TimelineJson<'a> {
    fn of(report: &'a Report) -> TimelineJson<'a> {
        let timeline = &report.timeline;
        let bands = Band::ALL.iter().zip(&timeline.bands);
        TimelineJson {
            start: report.span.map(|_| time(timeline.start)),
            step_seconds: timeline.step,
            bands: bands
                .map(|(band, requests)| (band.key(), requests.as_slice()))
                .collect(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct EvidenceJson<'a> {
    detector: &'static str,
    points_to: &'static str,
    weight: f64,
    why: &'a str,
    values: Map<String, Value>,
}

#[derive(Serialize)]
struct WindowJson<'a> {
    start: String,
    end: String,
    host: Option<&'a str>,
    requests: u64,
    pages: u64,
    class: &'static str,
    kind: Option<&'static str>,
    decibans: f64,
    confidence: f64,
    decided_by: Option<&'static str>,
    votes: VotesJson,
    cause: Option<&'static str>,
}

#[derive(Serialize)]
struct VotesJson {
    former: Option<&'static str>,
    new: Option<&'static str>,
    combined: Option<&'static str>,
}

impl<'a> Document<'a> {
    fn of(report: &'a Report) -> Document<'a> {
        let total = |class: Class| TotalsJson::of(report.total(class));
        let skipped = report.lines.skipped.iter().map(|skipped| SkippedJson {
            reason: skipped.reason.name(),
            count: skipped.count,
            example: printable(&skipped.example),
        });
        let undecided = Cause::ALL.into_iter().zip(report.undecided);
        Document {
            schema: "cattlegrid/analyze/1",
            lines: LinesJson {
                read: report.lines.read,
                parsed: report.lines.parsed,
                blank: report.lines.blank,
                skipped: skipped.collect(),
            },
            first_seen: report.span.map(|(first, _)| time(first)),
            last_seen: report.span.map(|(_, last)| time(last)),
            window_seconds: report.window_seconds,
            min_requests: report.min_requests,
            totals: TotalsByClass {
                all: TotalsJson::of(report.all()),
                user: total(Class::User),
                crawler: total(Class::Crawler),
                automated: total(Class::Automated),
                undecided: total(Class::Undecided),
            },
            undecided: undecided
                .map(|(cause, totals)| UndecidedJson {
                    cause: cause.name(),
                    sources: totals.sources,
                    requests: totals.requests,
                })
                .collect(),
            mixed_sources: report.mixed,
            not_logged: &report.not_logged,
            times_logged: report.is_timed,
            purposes: PurposeJson::all(report),
            robots: MannersJson::all(report),
            statuses: StatusJson::all(report),
            paths: PathsJson::of(report),
            hosts: report.hosts.iter().map(HostJson::of).collect(),
            timeline: TimelineJson::of(report),
            sources: &report.sources,
            groups: report.groups.iter().map(GroupJson::of).collect(),
            campaigns: &report.campaigns,
            paper_campaigns: report.paper_campaigns.as_ref().map(PaperCampaignsJson::of),
            hidden: report
                .hidden
                .as_ref()
                .map(|found| found.iter().map(HiddenJson::of).collect()),
            panels: report.panels.as_deref().map(panels::json),
        }
    }
}

fn each_campaign<S: serde::Serializer>(
    campaigns: &&[CampaignReport],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(campaigns.iter().enumerate().map(CampaignJson::of))
}

/// Sources are turned into JSON one at a time: there may be millions.
fn each_source<S: serde::Serializer>(
    sources: &&[SourceReport],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sources.iter().map(SourceJson::of))
}

impl<'a> SourceJson<'a> {
    fn of(source: &'a SourceReport) -> SourceJson<'a> {
        SourceJson {
            source: &source.source,
            requests: source.requests,
            pages: source.pages,
            bytes: source.bytes,
            answer_ms: source.ms,
            first_seen: time(source.first_seen),
            last_seen: time(source.last_seen),
            agent: source.agent.as_deref(),
            agents: source.agents,
            robot: source.robot.as_ref().map(RobotJson::of),
            class: source.class.name(),
            kind: source.kind.map(|kind| kind.name()),
            confidence: rounded(source.confidence),
            decided_by: source.decided_by,
            cause: source.cause.map(Cause::name),
            evidence: source.evidence.iter().map(EvidenceJson::of).collect(),
            campaign: source.campaign,
            mixed: source.mixed,
            by_visits: source.by_visits,
            windows: source.windows.iter().map(WindowJson::of).collect(),
        }
    }
}

impl<'a> EvidenceJson<'a> {
    pub(crate) fn of(evidence: &'a Evidence) -> EvidenceJson<'a> {
        let values = evidence
            .values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(rounded(*value))));
        EvidenceJson {
            detector: evidence.detector,
            points_to: evidence.toward.name(),
            weight: evidence.weight,
            why: &evidence.why,
            values: values.collect(),
        }
    }
}

impl<'a> WindowJson<'a> {
    fn of(window: &'a WindowReport) -> WindowJson<'a> {
        WindowJson {
            start: time(window.start),
            end: time(window.end),
            host: window.host.as_deref(),
            requests: window.requests,
            pages: window.pages,
            class: window.class.name(),
            kind: window.kind.map(|kind| kind.name()),
            decibans: rounded(window.decibans),
            confidence: rounded(window.confidence),
            decided_by: window.decided_by,
            votes: VotesJson::of(window.votes),
            cause: window.cause.map(Cause::name),
        }
    }
}

impl VotesJson {
    fn of(votes: Votes) -> VotesJson {
        let name =
            |vote: Option<bool>| vote.map(|crawler| if crawler { "crawler" } else { "user" });
        VotesJson {
            former: name(votes.former),
            new: name(votes.new),
            combined: name(votes.combined),
        }
    }
}

/// RFC 3339, UTC.
pub(crate) fn time(seconds: u32) -> String {
    Timestamp::from_second(i64::from(seconds))
        .map_or_else(|_| String::new(), |time| time.to_string())
}

/// Four decimals say all there is to say about a share.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
