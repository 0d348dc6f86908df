//! How people use a site: page views, visitors and visits by month and day, before and after robots are removed in the two steps of the
//! log study (docs/report.md). The numbers are counted in a second look at the log: a source found anywhere loses all its requests.

mod activity;
mod baseline;
mod chances;
mod counter;
mod heaviest;
mod json;
mod page;
mod steps;
mod text;

use std::collections::BTreeMap;
use std::collections::HashMap;

use cattlegrid_core::Report;
use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::report::Judged;
use cattlegrid_core::request::Source;
use cattlegrid_core::text::printable;
use cattlegrid_core::verdict::Class;
use foldhash::fast::RandomState;
use jiff::tz::TimeZone;

use activity::Activity;
use activity::Days;
use activity::day_name;
use activity::month_number;
pub use baseline::Baseline;
pub use baseline::Comparison;
use chances::Chances;
pub use counter::CounterMonth;
pub use counter::Counting;
pub use heaviest::Heaviest;
pub use heaviest::Heavy;
pub use json::write_usage_json;
pub use page::write_usage_html;
use steps::JUDGED;
pub use steps::Step;
pub use steps::Steps;
pub use steps::Word;
pub use text::write_usage;

/// What was asked for.
#[derive(Debug, Clone)]
pub struct UsageOptions {
    /// Whose days and months are counted.
    pub zone: TimeZone,
    /// Seconds of silence that end a visit.
    pub silence: u32,
    /// Sources that are listed for each month.
    pub heaviest: usize,
    /// Decibans from which a source is a crawler.
    pub crawler_from: f64,
}

/// What was counted in one month, on one day, or in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Pages that the site sent.
    pub views: u64,
    /// Sources that viewed a page.
    pub visitors: u64,
    /// Visits that began.
    pub visits: u64,
}

/// A number with the range it probably lies in.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// The most likely number.
    pub value: f64,
    /// From here.
    pub low: f64,
    /// To here.
    pub high: f64,
}

/// A month, a day, or all.
#[derive(Debug, Clone, Default)]
pub struct Period {
    /// `2030-01`, `2030-01-31` or `all`.
    pub name: String,
    /// All traffic, what is left after step one, and after step two.
    pub steps: [Count; 3],
    /// Page views of people.
    pub views: Estimate,
    /// People who viewed pages.
    pub visitors: Estimate,
    /// The truth, where it is known.
    pub truth: Option<Count>,
}

/// What one rule removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The step: 1 or 2.
    pub step: u8,
    /// The rule.
    pub by: &'static str,
    /// Sources, with or without page views.
    pub sources: u64,
    /// What they had counted for.
    pub count: Count,
}

/// What would be left at another threshold.
#[derive(Debug, Clone)]
pub struct Moved {
    /// The threshold, in words.
    pub what: String,
    /// What would be left.
    pub count: Count,
}

/// A removed source that may be a person.
#[derive(Debug, Clone)]
pub struct Doubtful {
    /// Its name.
    pub source: String,
    /// What removed it.
    pub by: &'static str,
    /// Its page views.
    pub views: u64,
    /// How likely it is a person.
    pub person: f64,
}

/// Everything about the usage of a site.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// The log's first and last request.
    pub span: Option<(u32, u32)>,
    /// Lines of the log, and those of them that could not be read.
    pub lines: (u64, u64),
    /// Seconds of silence that end a visit.
    pub silence: u32,
    /// All months together.
    pub all: Period,
    /// By month.
    pub months: Vec<Period>,
    /// By day.
    pub days: Vec<Period>,
    /// Requests for paths that look like pages, and that only scripts of pages request: they are no page views.
    pub calls: Vec<(String, u64)>,
    /// Sources that step one blacklists.
    pub blacklisted: u64,
    /// What each rule removed, most views first.
    pub removed: Vec<Removed>,
    /// How the numbers move.
    pub thresholds: Vec<Moved>,
    /// The heaviest sources after step one.
    pub heaviest: Heaviest,
    /// Removed sources that are most like people.
    pub doubtful: Vec<Doubtful>,
    /// The comparison with a page-tagging tool.
    pub comparison: Option<Comparison>,
    /// The metrics of COUNTER by month, where they were asked for.
    pub counter: Option<Vec<CounterMonth>>,
}

/// Counts page views.
#[derive(Debug)]
pub struct Views {
    options: UsageOptions,
    sources: HashMap<Source, Activity, RandomState>,
    days: Days,
    calls: Vec<u64>,
}

/// What is known beside the log.
#[derive(Debug, Default)]
pub struct Beside {
    /// What sources really are, by name: true for people.
    pub truth: Option<BTreeMap<String, bool>>,
    /// What a page-tagging tool counted.
    pub baseline: Option<Baseline>,
}

/// One source, to be counted.
struct Counted<'a> {
    source: Source,
    judged: &'a Judged,
    activity: Activity,
    count: Count,
    step: Step,
    /// How likely it is a person.
    person: f64,
    /// The share of it that is people's: at least, most likely, at most.
    shares: [f64; 3],
    /// What it really is.
    is_person: Option<bool>,
}

/// Removed sources that are listed as most like people.
const DOUBTFUL_MAX: usize = 10;

impl Views {
    /// Nothing yet.
    pub fn new(options: UsageOptions) -> Views {
        Views {
            days: Days::new(options.zone.clone()),
            sources: HashMap::default(),
            calls: Vec::new(),
            options,
        }
    }

    /// Adds a page view.
    pub fn add(&mut self, source: Source, time: u32) {
        let day = self.days.of(time);
        let activity = self.sources.entry(source).or_default();
        activity.add(time, day, self.options.silence / 2);
    }

    /// Adds a request for one of the paths that only scripts request.
    pub fn add_call(&mut self, number: usize) {
        self.calls.resize(self.calls.len().max(number + 1), 0);
        self.calls[number] += 1;
    }

    /// Sums everything up.
    pub fn finish(
        self,
        report: &Report,
        look: &SecondLook,
        steps: &Steps,
        beside: &Beside,
    ) -> Usage {
        let options = self.options;
        let mut calls: Vec<(String, u64)> = look
            .calls()
            .into_iter()
            .map(printable)
            .zip(self.calls)
            .collect();
        calls.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        let counted = counted(self.sources, &options, look, steps, beside);
        let mut usage = Usage {
            span: report.span,
            lines: (report.lines.read, report.lines.unreadable()),
            silence: options.silence,
            calls,
            removed: removed(&counted, look, steps),
            heaviest: heaviest::find(&counted, report, look, &options),
            doubtful: doubtful(&counted, look),
            ..Usage::default()
        };
        let is_one = |removed: &&Removed| removed.step == 1;
        let ones = usage.removed.iter().filter(is_one);
        usage.blacklisted = ones.map(|removed| removed.sources).sum();
        let truth = beside.truth.as_ref().map(|_| Count::default());
        let all = periods(&counted, &options, truth, |_| 0, |_| "all".to_owned());
        usage.all = all.into_iter().next().unwrap_or_default();
        let mut months = Months::default();
        let number = |day: i32| months.number(day);
        usage.months = periods(&counted, &options, truth, number, month_name);
        usage.days = periods(&counted, &options, truth, |day| day, day_name);
        usage.thresholds = thresholds(&counted, &options, usage.all.steps[2]);
        let baseline = beside.baseline.as_ref();
        usage.comparison = baseline.map(|baseline| baseline.compare(&usage));
        usage
    }
}

/// Months of days. Reading a calendar for every burst would take longer than all the rest.
#[derive(Default)]
struct Months(BTreeMap<i32, i32>);

impl Months {
    fn number(&mut self, day: i32) -> i32 {
        *self.0.entry(day).or_insert_with(|| month_number(day))
    }
}

fn month_name(day: i32) -> String {
    let mut name = day_name(day);
    name.truncate(7);
    name
}

fn counted<'a>(
    sources: HashMap<Source, Activity, RandomState>,
    options: &UsageOptions,
    look: &'a SecondLook,
    steps: &Steps,
    beside: &Beside,
) -> Vec<Counted<'a>> {
    let mut chances = Chances::default();
    let mut all: Vec<Counted<'a>> = Vec::with_capacity(sources.len());
    let mut sorted: Vec<(Source, Activity)> = sources.into_iter().collect();
    sorted.sort_unstable_by_key(|(source, _)| *source);
    for (source, activity) in sorted {
        let Some(judged) = look.judged().get(&source) else {
            continue;
        };
        let count = Count {
            views: activity.views(),
            visitors: 1,
            visits: activity.visits(options.silence).count() as u64,
        };
        chances.count(judged, count.views);
        let truth = beside.truth.as_ref();
        all.push(Counted {
            source,
            judged,
            activity,
            count,
            step: steps.of(source, judged),
            person: 0.0,
            shares: [0.0; 3],
            is_person: truth.and_then(|truth| truth.get(&look.name(source)).copied()),
        });
    }
    for counted in &mut all {
        counted.person = match (steps.words.get(&counted.source), counted.step) {
            (Some(Word::Person), _) => 1.0,
            (Some(Word::Crawler), _) | (None, Step::One(_)) => 0.0,
            (None, _) => chances.person(counted.judged, counted.count.views),
        };
        counted.shares = shares(counted);
    }
    all
}

/// Counts in each period, which `key` gives for a day and `name` for one of its days.
fn periods(
    counted: &[Counted<'_>],
    options: &UsageOptions,
    truth: Option<Count>,
    mut key: impl FnMut(i32) -> i32,
    name: impl Fn(i32) -> String,
) -> Vec<Period> {
    let mut periods: BTreeMap<i32, Period> = BTreeMap::new();
    let mut own: Vec<(i32, i32, Count)> = Vec::new();
    for source in counted {
        own.clear();
        for burst in source.activity.bursts() {
            let key = key(burst.day);
            // Bursts are in the order of time, and so of periods.
            if own.last().is_none_or(|(last, ..)| *last != key) {
                own.push((key, burst.day, Count::default()));
            }
            if let Some((.., count)) = own.last_mut() {
                count.views += u64::from(burst.views);
                count.visitors = 1;
            }
        }
        let mut at = 0;
        for day in source.activity.visits(options.silence) {
            while own[at].0 != key(day) {
                at += 1;
            }
            own[at].2.visits += 1;
        }
        for (key, day, count) in &own {
            let period = periods.entry(*key).or_insert_with(|| Period {
                name: name(*day),
                truth,
                ..Period::default()
            });
            period.add(*count, source);
        }
    }
    periods.into_values().collect()
}

impl Count {
    fn absorb(&mut self, other: Count) {
        self.views += other.views;
        self.visitors += other.visitors;
        self.visits += other.visits;
    }
}

impl Estimate {
    /// Adds a part of which people's share is between two bounds.
    fn add(&mut self, part: u64, [low, value, high]: [f64; 3]) {
        self.low += low * part as f64;
        self.value += value * part as f64;
        self.high += high * part as f64;
    }
}

impl Period {
    fn add(&mut self, count: Count, source: &Counted<'_>) {
        for step in &mut self.steps[..=source.step.survived()] {
            step.absorb(count);
        }
        self.views.add(count.views, source.shares);
        self.visitors.add(count.visitors, source.shares);
        if source.is_person == Some(true) {
            self.truth.get_or_insert_default().absorb(count);
        }
    }
}

/// The share of a source that is people's: at least, most likely, at most. An undecided source is a robot in the worst case, and a person
/// in the best; decided ones are wrong as often as their evidence says.
fn shares(source: &Counted<'_>) -> [f64; 3] {
    let person = source.person;
    match (source.step, source.judged.class) {
        (Step::One(_), _) => [0.0; 3],
        (Step::Two(_), _) => [0.0, 0.0, person],
        (Step::Rest, Class::Undecided) => [0.0, person, 1.0],
        (Step::Rest, _) => [person, 1.0, 1.0],
    }
}

fn removed(counted: &[Counted<'_>], look: &SecondLook, steps: &Steps) -> Vec<Removed> {
    let mut all: BTreeMap<Step, Removed> = BTreeMap::new();
    let entry = |step: Step| match step {
        Step::One(by) => Some((1, by)),
        Step::Two(by) => Some((2, by)),
        Step::Rest => None,
    };
    let sources = look.judged().iter();
    sources.for_each(|(source, judged)| {
        let found = steps.of(*source, judged);
        if let Some((step, by)) = entry(found) {
            let removed = all.entry(found).or_insert(Removed {
                step,
                by,
                sources: 0,
                count: Count::default(),
            });
            removed.sources += 1;
        }
    });
    for source in counted {
        if let Some(removed) = all.get_mut(&source.step) {
            removed.count.absorb(source.count);
        }
    }
    let mut all: Vec<Removed> = all.into_values().collect();
    all.sort_by_key(|removed| {
        (
            removed.step,
            std::cmp::Reverse(removed.count.views),
            removed.by,
        )
    });
    all
}

/// What would be left if a source were a crawler from fewer or more decibans on, or without one detector; and how visits depend on the
/// silence that ends them.
fn thresholds(counted: &[Counted<'_>], options: &UsageOptions, left: Count) -> Vec<Moved> {
    let mut all = Vec::new();
    for difference in [-8.0, -5.0, -2.0, 2.0, 5.0, 10.0] {
        let from = options.crawler_from + difference;
        let mut count = Count::default();
        let kept = counted
            .iter()
            .filter(|source| source.is_open() && f64::from(source.judged.decibans) < from);
        kept.for_each(|source| count.absorb(source.count));
        all.push(Moved {
            what: format!("a crawler from {from:.0} decibans on"),
            count,
        });
    }
    let mut without: BTreeMap<&'static str, Count> = BTreeMap::new();
    for source in counted {
        if !matches!(source.step, Step::Two(_)) || !source.is_open() {
            continue;
        }
        for (detector, weight) in source.judged.findings.iter() {
            let rest = f64::from(source.judged.decibans - weight);
            if *weight > 0.0 && rest < options.crawler_from {
                without.entry(detector).or_insert(left).absorb(source.count);
            }
        }
    }
    all.extend(without.into_iter().map(|(detector, count)| Moved {
        what: format!("without {detector}"),
        count,
    }));
    for silence in [options.silence / 2, options.silence * 2] {
        let kept = counted.iter().filter(|source| source.step == Step::Rest);
        let visits = kept.map(|source| source.activity.visits(silence).count() as u64);
        all.push(Moved {
            what: format!("{} minutes of silence end a visit", silence / 60),
            count: Count {
                visits: visits.sum(),
                ..left
            },
        });
    }
    all
}

impl Counted<'_> {
    /// False for a source about which no threshold decides.
    fn is_open(&self) -> bool {
        !matches!(self.step, Step::One(_) | Step::Two(JUDGED))
    }
}

fn doubtful(counted: &[Counted<'_>], look: &SecondLook) -> Vec<Doubtful> {
    let mut all: Vec<&Counted<'_>> = counted
        .iter()
        .filter(|source| matches!(source.step, Step::Two(_)) && source.person > 0.0)
        .collect();
    let expected = |source: &Counted<'_>| source.person * source.count.views as f64;
    all.sort_by(|a, b| {
        let by_views = expected(b).total_cmp(&expected(a));
        by_views.then_with(|| a.source.cmp(&b.source))
    });
    let listed = all.into_iter().take(DOUBTFUL_MAX).map(|source| Doubtful {
        source: look.name(source.source),
        by: match source.step {
            Step::One(by) | Step::Two(by) => by,
            Step::Rest => "",
        },
        views: source.count.views,
        person: source.person,
    });
    listed.collect()
}
