//! The end of an analysis: every source is judged, totals are added up, the ones worth listing are listed.

mod describe;
mod manners;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use cattlegrid_learn::series::Scratch;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use rayon::prelude::*;
use smallvec::SmallVec;

use self::manners::ByRobot;
use super::Analysis;
use super::again::Before;
use super::lock;
use super::parse::table_of;
use super::sample::Sample;
use super::silence::Silence;
use super::sites::host_names;
use super::sites::not_logged;
use super::sites::sites;
use super::sites::whole_sites;
use super::trials::Trial;
use super::trials::crowd;
use super::trials::decisive;
use super::trials::is_hardly_decided;
use crate::campaigns::Campaigns;
use crate::campaigns::Finder;
use crate::detectors::SPECS;
use crate::detectors::shape_values;
use crate::evidence::Context;
use crate::knowledge::Knowledge;
use crate::knowledge::Purpose;
use crate::profile::AgentIndex;
use crate::profile::AgentTexts;
use crate::profile::BIN_SECONDS;
use crate::profile::Profile;
use crate::report::Band;
use crate::report::FoundInTable;
use crate::report::HostReport;
use crate::report::Inspection;
use crate::report::JudgedAs;
use crate::report::Lesson;
use crate::report::Lines;
use crate::report::Report;
use crate::report::RobotReport;
use crate::report::SourceReport;
use crate::report::Timeline;
use crate::report::Totals;
use crate::report::WindowInspection;
use crate::request::Source;
use crate::request::SourceKind;
use crate::settings::Settings;
use crate::site::Site;
use crate::table::Clock;
use crate::table::Table;
use crate::table::Window;
use crate::text::printable;
use crate::verdict::Class;
use crate::verdict::Verdict;
use crate::verdict::judge;
use crate::verdict::judge_whole;

/// Judges what was seen so far. Gives what the next judgement is to know, too.
pub(super) fn report(analysis: &Analysis) -> (Report, Before) {
    let mut report = Report {
        window_seconds: analysis.settings.window_seconds,
        min_requests: analysis.settings.min_requests,
        has_robots_txt: analysis.knowledge.rules.is_some(),
        ..Report::default()
    };
    let (agents, sample) = gather(analysis, &mut report.statuses);
    report.lines = lines(analysis);
    let Some(clock) = analysis.clock else {
        return (report, Before::default());
    };
    let sites = sites(&analysis.tables, clock.bins as usize);
    let (first, last) = describe_log(&sites, &mut report);
    let hosts = hosts(analysis, &sites);
    let agents = agents.into_index();
    let finder = Finder {
        tables: &analysis.tables,
        clock: &clock,
        sites: &sites,
        knowledge: &analysis.knowledge,
        agents: &agents,
        settings: &analysis.settings,
        before: &analysis.before.campaigns,
    };
    let campaigns = finder.find();
    let court = Court {
        settings: &analysis.settings,
        knowledge: &analysis.knowledge,
        agents: &agents,
        campaigns: &campaigns,
        sites: &sites,
        whole_sites: &whole_sites(&sites),
        clock: &clock,
        tokens: &analysis.tokens,
        hosts: &hosts,
        span: (first, last),
        focus: analysis.focus,
        before: &analysis.before.sources,
    };
    let sampled = sample.sources(analysis.tables.len(), |source| {
        table_of(source, &analysis.hasher, analysis.tables.len())
    });
    let mut whole = Part::default();
    for part in court.judge_tables(&analysis.tables, &sampled) {
        part.add_to(&mut report, &mut whole);
    }
    report.hosts = sorted_hosts(whole.hosts);
    report.manners = court.describe_manners(&whole.manners);
    report.campaigns = court.describe_campaigns(&sample);
    report.groups = court.describe_groups();
    if analysis.settings.paper_campaigns {
        report.paper_campaigns = Some(court.describe_paper_campaigns(finder.by_paper()));
    }
    let bands = of_sample(analysis, &sampled, &whole.bands);
    report.paths = sample.paths(&bands, first, report.all().pages);
    if analysis.settings.keep_bands {
        report.bands = whole.bands;
        report.bands.par_sort_unstable_by_key(|(source, _)| *source);
    }
    let inspection = report.inspection.iter_mut();
    inspection.for_each(|inspection| inspection.lines = analysis.examples.clone());
    report.sources = sorted_sources(whole.sources);
    let before = Before {
        sources: whole.crawled.into_iter().collect(),
        campaigns: campaigns.keys,
    };
    (report, before)
}

/// Names of hosts by number, where each is judged for itself.
fn hosts(analysis: &Analysis, sites: &BTreeMap<Window, Site>) -> BTreeMap<u16, Arc<str>> {
    match analysis.settings.reading.by_host {
        true => host_names(&analysis.hosts, sites),
        false => BTreeMap::new(),
    }
}

/// What was read and what was skipped.
fn lines(analysis: &Analysis) -> Lines {
    let mut lines = analysis.lines.clone();
    lines.skipped.sort_by_key(|skipped| skipped.reason);
    if analysis.settings.pseudonyms.is_some() {
        // A line tells who sent it.
        let skipped = lines.skipped.iter_mut();
        skipped.for_each(|skipped| skipped.example = b"(not shown)".to_vec());
    }
    lines
}

/// What the sources of the sample are.
fn of_sample(
    analysis: &Analysis,
    sampled: &[Vec<Source>],
    bands: &[(Source, Band)],
) -> BTreeMap<Source, Band> {
    let is_sampled = |(source, _): &&(Source, Band)| {
        let table = table_of(*source, &analysis.hasher, analysis.tables.len());
        sampled[table].binary_search(source).is_ok()
    };
    bands.iter().filter(is_sampled).copied().collect()
}

fn sorted_sources(mut sources: Vec<(Source, SourceReport)>) -> Vec<SourceReport> {
    // Two sources may print alike; their kinds and values never do.
    sources.par_sort_unstable_by(|(source_a, a), (source_b, b)| {
        b.requests
            .cmp(&a.requests)
            .then_with(|| a.source.cmp(&b.source))
            .then_with(|| source_a.cmp(source_b))
    });
    sources.into_iter().map(|(_, report)| report).collect()
}

fn sorted_hosts(hosts: BTreeMap<u16, HostReport>) -> Vec<HostReport> {
    let mut hosts: Vec<HostReport> = hosts.into_values().collect();
    hosts.sort_by(|a, b| {
        let by_requests = b.requests.cmp(&a.requests);
        by_requests.then_with(|| a.host.cmp(&b.host))
    });
    hosts
}

/// What can be said of the log without judging anybody. Gives the times of its first and last request.
fn describe_log(sites: &BTreeMap<Window, Site>, report: &mut Report) -> (u32, u32) {
    let first = sites.values().map(|site| site.first_seen).min();
    let last = sites.values().map(|site| site.last_seen).max();
    let span = (first.unwrap_or_default(), last.unwrap_or_default());
    report.span = Some(span);
    report.timeline = timeline(span.0, span.1);
    report.not_logged = not_logged(sites);
    report.is_timed = sites.values().any(Site::is_timed);
    span
}

/// Puts together what the threads have kept beside the records.
pub(super) fn gather(
    analysis: &Analysis,
    statuses: &mut BTreeMap<u16, u64>,
) -> (AgentTexts, Sample) {
    let mut agents = AgentTexts::default();
    let mut sample = Sample::default();
    for parser in lock(&analysis.parsers).iter() {
        agents.absorb(parser.agents());
        sample.absorb(parser.sample());
        for (status, requests) in parser.statuses() {
            *statuses.entry(status).or_default() += requests;
        }
    }
    (agents, sample)
}

/// A timeline without requests.
fn timeline(first: u32, last: u32) -> Timeline {
    let step = Timeline::step_for(last - first);
    let start = first - first % step;
    let steps = (last - start) as usize / step as usize + 1;
    Timeline {
        start,
        step,
        bands: std::array::from_fn(|_| vec![0; steps]),
    }
}

/// What one table adds to the report.
#[derive(Default)]
struct Part {
    totals: [Totals; 4],
    undecided: [Totals; 4],
    mixed: u64,
    timeline: Timeline,
    purposes: BTreeMap<Purpose, Totals>,
    /// Robots by number, with what is known of their names.
    manners: ByRobot,
    hosts: BTreeMap<u16, HostReport>,
    sources: Vec<(Source, SourceReport)>,
    /// Bands of the sources in the sample.
    bands: Vec<(Source, Band)>,
    /// The verdicts on all sources in short, where they are kept.
    judged: FoundInTable,
    /// Windows in which sources are crawlers.
    crawled: Vec<(Source, Window)>,
    inspection: Option<Inspection>,
    /// Windows of the source that is looked at closely.
    inspected: Vec<WindowInspection>,
    /// Busy half hours of the source that is being judged: when they begin, and their requests.
    busy: Vec<(u32, u32)>,
}

impl Part {
    /// Adds what can be added up to the report, and the rest to `whole`.
    fn add_to(self, report: &mut Report, whole: &mut Part) {
        for (mine, theirs) in report.totals.iter_mut().zip(self.totals) {
            mine.absorb(theirs);
        }
        for (mine, theirs) in report.undecided.iter_mut().zip(self.undecided) {
            mine.absorb(theirs);
        }
        report.mixed += self.mixed;
        report.timeline.absorb(&self.timeline);
        for (purpose, totals) in self.purposes {
            report.purposes.entry(purpose).or_default().absorb(totals);
        }
        for (robot, manners) in &self.manners {
            whole.manners.entry(*robot).or_default().absorb(manners);
        }
        whole.sources.extend(self.sources);
        whole.bands.extend(self.bands);
        report.judged.absorb(self.judged);
        whole.crawled.extend(self.crawled);
        for (number, host) in self.hosts {
            match whole.hosts.entry(number) {
                Entry::Vacant(place) => drop(place.insert(host)),
                Entry::Occupied(mut known) => known.get_mut().absorb(&host),
            }
        }
        if self.inspection.is_some() {
            report.inspection = self.inspection;
        }
    }
}

/// Everything a judgement needs.
pub(super) struct Court<'a> {
    pub(super) settings: &'a Settings,
    knowledge: &'a Knowledge,
    pub(super) agents: &'a AgentIndex,
    pub(super) campaigns: &'a Campaigns,
    sites: &'a BTreeMap<Window, Site>,
    /// All windows of each host together; empty where there is but one.
    whole_sites: &'a BTreeMap<u16, Site>,
    pub(super) clock: &'a Clock,
    tokens: &'a BTreeMap<u64, Box<[u8]>>,
    /// Names of hosts by number, where each is judged for itself.
    hosts: &'a BTreeMap<u16, Arc<str>>,
    /// The first request and the last.
    span: (u32, u32),
    /// The source that is looked at closely.
    focus: Option<Source>,
    /// Windows in which sources were crawlers before.
    before: &'a HashSet<(Source, Window), RandomState>,
}

/// Pages from which a source of one window is judged again beside the whole log's visitors.
const WHOLE_PAGES_MIN: u32 = 5;

impl Court<'_> {
    /// Judges all sources; `sampled` are those of each table whose bands are noted.
    fn judge_tables(&self, tables: &[Table], sampled: &[Vec<Source>]) -> Vec<Part> {
        let tables = tables.par_iter().zip(sampled);
        tables
            .map_init(Silence::default, |silence, (table, sampled)| {
                self.judge_table(table, sampled, silence)
            })
            .collect()
    }

    /// Judges all sources of a table; the bands of those in `sampled`, which are sorted, are noted.
    fn judge_table(&self, table: &Table, sampled: &[Source], silence: &mut Silence) -> Part {
        let mut part = Part {
            timeline: timeline(self.span.0, self.span.1),
            ..Part::default()
        };
        let mut trials: Vec<Trial> = Vec::new();
        let scratch = RefCell::default();
        table.for_each_source(self.clock, |source, windows| {
            trials.clear();
            part.busy.clear();
            let windows: SmallVec<[(Window, &Profile); 2]> = windows.collect();
            for (window, profile) in &windows {
                let start = self.clock.span(*window).0;
                profile.bins.for_each(|bin, count| {
                    part.busy
                        .push((start + u32::from(bin) * BIN_SECONDS, count));
                });
                if self.focus == Some(source) {
                    part.inspected
                        .push(self.inspect(source, *window, profile, &scratch));
                }
                let context = self.context(source, *window, &scratch);
                let judge = || self.judge(profile, &context);
                let is_alone = context.campaign.is_none()
                    && !context.was_crawler
                    && !self.settings.has_own_rules;
                let verdict = match profile.only_request().filter(|_| is_alone) {
                    Some(request) => silence.verdict(*window, request, judge),
                    None => judge(),
                };
                if verdict.class == Class::Crawler {
                    part.crawled.push((source, *window));
                }
                trials.push(self.trial(*window, profile, &context, verdict));
            }
            self.judge_whole(source, &windows, &mut trials, &scratch);
            // Of the hosts of one window, the one asked most speaks last.
            if !self.hosts.is_empty() {
                trials.sort_by_key(|trial| (trial.window.number(), trial.totals.requests));
            }
            let band = self.close(source, &mut trials, &mut part);
            if self.settings.keep_bands || sampled.binary_search(&source).is_ok() {
                part.bands.push((source, band));
            }
        });
        part
    }

    pub(super) fn context<'a>(
        &'a self,
        source: Source,
        window: Window,
        scratch: &'a RefCell<Scratch>,
    ) -> Context<'a> {
        Context {
            site: &self.sites[&window],
            knowledge: self.knowledge,
            agents: self.agents,
            source,
            sources: 1,
            days: None,
            model: self.settings.model.as_deref(),
            scratch,
            campaign: self.campaigns.membership(source, window),
            was_crawler: self.before.contains(&(source, window)),
        }
    }

    fn judge(&self, profile: &Profile, context: &Context<'_>) -> Verdict {
        let (detectors, weights) = (&self.settings.detectors, &self.settings.weights);
        judge(profile, context, detectors, weights)
    }

    fn trial(
        &self,
        window: Window,
        profile: &Profile,
        context: &Context<'_>,
        verdict: Verdict,
    ) -> Trial {
        let keep = self.settings.keep_shapes;
        let totals = Totals {
            sources: 0,
            requests: u64::from(profile.requests),
            pages: u64::from(profile.pages),
            bytes: profile.bytes,
            ms: profile.took_ms(),
        };
        Trial {
            window,
            crowd: crowd(profile, &verdict),
            lesson: keep.map(|_| self.lesson(profile, context, &verdict)),
            verdict,
            manners: manners::manners(profile, totals),
            totals,
            seen: (profile.first_seen, profile.last_seen),
            agent: profile.agents.top(),
            agents: profile.agents.count(),
            robot: context.robot_number(profile),
            shape: keep.and_then(|(day, busy)| shape_values(profile, context, day, busy)),
        }
    }

    /// A source that sends a few requests a week is undecided in each window, whatever it does; and one that looked like a person in
    /// a window that holds less than half of its requests is none for that. Then all its windows are judged as one, beside what the
    /// site's visitors do in the whole log: a single window may have too few people to tell.
    fn judge_whole(
        &self,
        source: Source,
        windows: &[(Window, &Profile)],
        trials: &mut [Trial],
        scratch: &RefCell<Scratch>,
    ) {
        let (Some((first, profile)), Some((last, _))) = (windows.first(), windows.last()) else {
            return;
        };
        let is_single = windows.len() == 1;
        let has_contrast = || self.sites[first].has_contrast();
        if is_single && (profile.pages < WHOLE_PAGES_MIN || has_contrast()) {
            return;
        }
        let is_one_host = windows
            .iter()
            .all(|(window, _)| window.host() == first.host());
        let Some(site) = self.whole_sites.get(&first.host()).filter(|_| is_one_host) else {
            return;
        };
        if !is_hardly_decided(trials) || is_single && !site.has_contrast() {
            return;
        }
        let mut whole = Profile::default();
        for (_, profile) in windows {
            whole.absorb(profile, self.clock.bins as usize);
        }
        let days = windows.iter().map(|(_, profile)| profile.bins.busy_days());
        let context = Context {
            site,
            days: Some(days.sum()),
            campaign: None,
            was_crawler: false,
            ..self.context(source, *last, scratch)
        };
        let (detectors, weights) = (&self.settings.detectors, &self.settings.weights);
        let verdict = judge_whole(&whole, &context, detectors, weights);
        if is_single && verdict.class == Class::Undecided {
            return;
        }
        if trials.iter().any(|trial| !trial.is_open()) && verdict.class != Class::User {
            let people = trials.iter_mut().filter(|trial| !trial.is_open());
            people.for_each(|trial| trial.verdict = verdict.clone());
        } else if let Some(trial) = trials.last_mut().filter(|trial| trial.is_open()) {
            trial.verdict = verdict;
        }
    }

    /// Adds the verdict on a source to all totals, and lists it where it is worth that.
    fn close(&self, source: Source, trials: &mut Vec<Trial>, part: &mut Part) -> Band {
        let decisive = decisive(trials);
        let mut totals = Totals {
            sources: 1,
            ..Totals::default()
        };
        trials.iter().for_each(|trial| totals.absorb(trial.totals));
        let verdict = &trials[decisive].verdict;
        part.totals[verdict.class as usize].absorb(totals);
        if let Some(cause) = verdict.cause {
            part.undecided[cause as usize].absorb(totals);
        }
        let mixed = trials.iter().any(|trial| trial.verdict.mixed);
        part.mixed += u64::from(mixed);
        let band = Band::of(verdict.class, verdict.kind);
        if self.settings.second_look {
            part.judged.note(source, JudgedAs { verdict, mixed });
        }
        self.count_hosts(trials, band, &mut part.hosts);
        let steps = &mut part.timeline.bands[band as usize];
        for (time, count) in &part.busy {
            // A half hour may begin before the first request.
            let at = time.saturating_sub(part.timeline.start) / part.timeline.step;
            if let Some(step) = steps.get_mut(at as usize) {
                *step += u64::from(*count);
            }
        }
        let robot = self.robot(&trials[decisive]);
        if let Some(robot) = robot {
            part.purposes
                .entry(robot.purpose)
                .or_default()
                .absorb(totals);
            manners::add(&trials[decisive], trials, &mut part.manners);
        }
        let has_evidence = trials
            .iter()
            .any(|trial| !trial.verdict.evidence.is_empty());
        let is_listed = totals.requests >= self.settings.min_requests
            || (verdict.class != Class::User && has_evidence);
        let is_focus = self.focus == Some(source);
        if is_listed || is_focus {
            let mut numbers = trials
                .iter()
                .filter_map(|trial| self.campaigns.number(source, trial.window));
            let described = SourceReport {
                mixed,
                campaign: numbers.next_back().map(|number| number as usize),
                curve: self.curve(&part.busy, totals.requests),
                robot: robot.map(|robot| RobotReport::of(robot, self.knowledge)),
                ..self.describe(source, trials, decisive, totals)
            };
            if is_focus {
                part.inspection = Some(Inspection {
                    source: described.clone(),
                    windows: std::mem::take(&mut part.inspected),
                    lines: Vec::new(),
                    course: Vec::new(),
                });
            }
            if is_listed {
                part.sources.push((source, described));
            }
        }
        band
    }

    fn count_hosts(&self, trials: &[Trial], band: Band, hosts: &mut BTreeMap<u16, HostReport>) {
        for trial in trials {
            let Some(name) = self.host(trial.window) else {
                break;
            };
            let host = hosts.entry(trial.window.host());
            host.or_insert_with(|| HostReport::new(name))
                .add(band, trial.totals);
        }
    }

    /// What the rules measured and found, to learn from.
    fn lesson(&self, profile: &Profile, context: &Context<'_>, verdict: &Verdict) -> Lesson {
        let rules = SPECS.iter().zip(&self.settings.detectors);
        let voting = rules.filter(|(spec, _)| spec.vote.is_some());
        let found = verdict.evidence.iter();
        let limits = &self.settings.campaigns;
        Lesson {
            measures: voting
                .map(|(spec, rule)| (spec.name, rule.measures(profile, context)))
                .collect(),
            findings: found
                .map(|item| (item.detector, item.toward, item.weight))
                .collect(),
            series: match profile.requests >= limits.series_requests_min
                && profile.bins.busy() >= limits.half_hours_min
            {
                true => context.site.covered_counts(profile),
                false => Vec::new(),
            },
        }
    }

    pub(super) fn host(&self, window: Window) -> Option<Arc<str>> {
        self.hosts.get(&window.host()).map(Arc::clone)
    }

    pub(super) fn name(&self, source: Source) -> String {
        name(self.settings, self.tokens, source)
    }
}

/// A source as the report names it.
pub(super) fn name(
    settings: &Settings,
    tokens: &BTreeMap<u64, Box<[u8]>>,
    source: Source,
) -> String {
    if let Some(pseudonyms) = &settings.pseudonyms {
        return pseudonyms.name(source);
    }
    let token = (source.kind == SourceKind::Token)
        .then(|| tokens.get(&source.value))
        .flatten();
    token.map_or_else(|| source.to_string(), |text| printable(text))
}
