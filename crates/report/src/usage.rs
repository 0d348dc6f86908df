//! How people use a site: page views, visitors and visits by month and day, before and after robots are removed in the two steps of the
//! log study (docs/report.md). The numbers are counted in a second look at the log: a source found anywhere loses all its requests.

mod activity;
mod baseline;
mod chances;
mod counter;
mod counter_robots;
mod heaviest;
mod json;
mod page;
mod steps;
mod sums;
mod text;

use std::collections::BTreeMap;
use std::collections::HashMap;

use cattlegrid_core::Report;
use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::report::Judged;
use cattlegrid_core::report::Judgements;
use cattlegrid_core::request::Source;
use cattlegrid_core::text::printable;
use foldhash::fast::RandomState;
use jiff::tz::TimeZone;

use activity::Activity;
use activity::Days;
pub use baseline::Baseline;
pub use baseline::Comparison;
use chances::Chances;
use chances::Odds;
pub use counter::Counter;
pub use counter::CounterMonth;
pub use counter::CounterRules;
pub use counter::Counting;
pub use counter_robots::CounterRobots;
pub use heaviest::Heaviest;
pub use heaviest::Heavy;
pub use json::write_usage_json;
pub use page::write_usage_html;
use steps::JUDGED;
pub use steps::Step;
pub use steps::Steps;
pub use steps::Word;
use sums::Counted;
use sums::Sums;
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

/// What is known to be true, and what the report says of the sources of which it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Truth {
    /// What people did.
    pub people: Count,
    /// What is left after step two.
    pub left: Count,
    /// Page views of people, estimated.
    pub views: f64,
    /// People who viewed pages, estimated.
    pub visitors: f64,
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
    pub truth: Option<Truth>,
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
    /// Decibans from which a source is a crawler.
    pub crawler_from: f64,
    /// Removed sources that are most like people.
    pub doubtful: Vec<Doubtful>,
    /// Visitors of whom the labels do not say what they are.
    pub unlabelled: u64,
    /// The comparison with a page-tagging tool.
    pub comparison: Option<Comparison>,
    /// The metrics of COUNTER, where they were asked for.
    pub counter: Option<Counter>,
}

/// Counts page views.
#[derive(Debug)]
pub struct Views {
    options: UsageOptions,
    /// As judgements are parted.
    parts: Vec<ViewPart>,
    days: Days,
    calls: Vec<u64>,
}

/// The views of some of the sources.
#[derive(Debug, Default)]
struct ViewPart {
    /// Views that are not counted yet, with their times and days.
    waiting: Vec<(Source, u32, i32)>,
    sources: HashMap<Source, Activity, RandomState>,
    /// Requests of scripts, of sources that have any.
    calls: HashMap<Source, u32, RandomState>,
}

/// Views of a part that are counted at once: its sources are in a cache then.
const AT_ONCE: usize = 1024;

impl ViewPart {
    fn count(&mut self, silence: u32) {
        for (source, time, day) in self.waiting.drain(..) {
            let activity = self.sources.entry(source).or_default();
            activity.add(time, day, silence / 2);
        }
    }

    /// Page requests of a source. Its evidence is about all of them, whether somebody views the page or a script loads it.
    fn size(&self, source: Source, views: u64) -> u64 {
        views + self.calls.get(&source).map_or(0, |calls| u64::from(*calls))
    }
}

/// What is known beside the log.
#[derive(Debug, Default)]
pub struct Beside {
    /// What sources really are: true for people.
    pub truth: Option<BTreeMap<Source, bool>>,
    /// What a page-tagging tool counted.
    pub baseline: Option<Baseline>,
}

impl Views {
    /// Nothing yet.
    pub fn new(options: UsageOptions) -> Views {
        let parts = (0..Judgements::PARTS).map(|_| ViewPart::default());
        Views {
            days: Days::new(options.zone.clone()),
            parts: parts.collect(),
            calls: Vec::new(),
            options,
        }
    }

    /// Adds a page view.
    pub fn add(&mut self, source: Source, time: u32) {
        let day = self.days.of(time);
        let part = &mut self.parts[Judgements::part_of(source)];
        part.waiting.push((source, time, day));
        if part.waiting.len() == AT_ONCE {
            part.count(self.options.silence);
        }
    }

    /// Adds a request for one of the paths that only scripts request.
    pub fn add_call(&mut self, source: Source, number: usize) {
        self.calls.resize(self.calls.len().max(number + 1), 0);
        self.calls[number] += 1;
        let part = &mut self.parts[Judgements::part_of(source)];
        *part.calls.entry(source).or_default() += 1;
    }

    /// Sums everything up.
    pub fn finish(
        mut self,
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
        let mut chances = Chances::default();
        for (part, number) in self.parts.iter_mut().zip(0..) {
            part.count(options.silence);
            for (source, judged) in look.judged().part(number) {
                if let Some(activity) = part.sources.get(&source) {
                    chances.count(judged, part.size(source, activity.views()));
                }
            }
        }
        let odds = chances.odds();
        let truth = beside.truth.as_ref().map(|_| Truth::default());
        let mut sums = Sums::new(&options, truth);
        for (part, number) in self.parts.into_iter().zip(0..) {
            let counted = counted(part, number, look, steps, beside, &odds);
            sums.add(&counted);
        }
        let mut usage = Usage {
            span: report.span,
            lines: (report.lines.read, report.lines.unreadable()),
            silence: options.silence,
            calls,
            ..sums.finish(report, look)
        };
        let is_one = |removed: &&Removed| removed.step == 1;
        let ones = usage.removed.iter().filter(is_one);
        usage.blacklisted = ones.map(|removed| removed.sources).sum();
        let baseline = beside.baseline.as_ref();
        usage.comparison = baseline.map(|baseline| baseline.compare(&usage, &options.zone));
        usage
    }
}

/// Sorts the sources of a part into steps, and says how likely each is a person. Those without page views are removed, too.
fn counted<'a>(
    mut part: ViewPart,
    number: usize,
    look: &'a SecondLook,
    steps: &Steps,
    beside: &Beside,
    odds: &Odds,
) -> Vec<Counted<'a>> {
    let of = |(source, judged): (Source, &'a Judged)| {
        let activity = part.sources.remove(&source).unwrap_or_default();
        let step = steps.of(source, judged);
        let views = activity.views();
        let person = match step {
            Step::Kept(_) => 1.0,
            Step::One(_) | Step::Two(JUDGED) => 0.0,
            Step::Two(_) | Step::Rest => odds.person(judged, part.size(source, views)),
        };
        let truth = beside.truth.as_ref().filter(|_| views > 0);
        Counted {
            source,
            judged,
            activity,
            views,
            step,
            person,
            is_person: truth.and_then(|truth| truth.get(&source).copied()),
        }
    };
    let mut judged: Vec<(Source, &'a Judged)> = look.judged().part(number).collect();
    // Sums of fractions depend on the order of their parts.
    judged.sort_unstable_by_key(|(source, _)| *source);
    judged.into_iter().map(of).collect()
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
