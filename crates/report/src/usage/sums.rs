//! What sources add up to: by period, by what removed them, at other thresholds. They come part by part, so that millions of them are never
//! in memory at once and each part is in a cache while it is gone through again and again.

use std::collections::BTreeMap;

use cattlegrid_core::Report;
use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::report::Judged;
use cattlegrid_core::request::Source;
use cattlegrid_core::verdict::Class;

use super::Count;
use super::Doubtful;
use super::Moved;
use super::Period;
use super::Removed;
use super::Truth;
use super::Usage;
use super::UsageOptions;
use super::activity::Activity;
use super::activity::day_name;
use super::activity::month_number;
use super::heaviest::Gathering;
use super::steps::JUDGED;
use super::steps::Step;

/// Removed sources that are listed as most like people.
const DOUBTFUL_MAX: usize = 10;
/// How far the threshold is moved, in decibans.
const DIFFERENCES: [f64; 6] = [-8.0, -5.0, -2.0, 2.0, 5.0, 10.0];

/// One source, to be counted.
pub(super) struct Counted<'a> {
    pub(super) source: Source,
    pub(super) judged: &'a Judged,
    pub(super) activity: Activity,
    pub(super) views: u64,
    pub(super) step: Step,
    /// How likely it is a person.
    pub(super) person: f64,
    /// What it really is.
    pub(super) is_person: Option<bool>,
}

impl Counted<'_> {
    /// Its views, its visits, and itself.
    fn count(&self, silence: u32) -> Count {
        Count {
            views: self.views,
            visitors: 1,
            visits: self.activity.visits(silence).count() as u64,
        }
    }

    /// The share of it that is people's: at least, most likely, at most. An undecided source is a robot in the worst case, and a person in
    /// the best; decided ones are wrong as often as their evidence says.
    fn shares(&self) -> [f64; 3] {
        let person = self.person;
        match (self.step, self.judged.class) {
            (Step::One(_), _) => [0.0; 3],
            (Step::Two(_), _) => [0.0, 0.0, person],
            (Step::Kept(_), _) => [1.0; 3],
            (Step::Rest, Class::Undecided) => [0.0, person, 1.0],
            (Step::Rest, _) => [person, 1.0, 1.0],
        }
    }
}

/// All sums.
pub(super) struct Sums<'a> {
    options: &'a UsageOptions,
    all: Periods,
    months: Periods,
    days: Periods,
    removed: BTreeMap<Step, Removed>,
    /// What is left if the threshold is moved.
    moved: [Count; DIFFERENCES.len()],
    /// What a detector alone removes.
    alone: BTreeMap<&'static str, Count>,
    /// Visits that half and twice the silence ends.
    visits: [u64; 2],
    heaviest: Gathering,
    doubtful: Vec<(f64, Source, Doubtful)>,
    /// Visitors of whom nobody says what they are.
    unlabelled: u64,
}

impl<'a> Sums<'a> {
    /// Nothing yet; `truth` is what each period begins with.
    pub(super) fn new(options: &'a UsageOptions, truth: Option<Truth>) -> Sums<'a> {
        let periods = || Periods {
            truth,
            ..Periods::default()
        };
        Sums {
            options,
            all: periods(),
            months: periods(),
            days: periods(),
            removed: BTreeMap::new(),
            moved: Default::default(),
            alone: BTreeMap::new(),
            visits: [0; 2],
            heaviest: Gathering::new(options.heaviest),
            doubtful: Vec::new(),
            unlabelled: 0,
        }
    }

    /// Adds some sources, in their order.
    pub(super) fn add(&mut self, counted: &[Counted<'_>]) {
        let mut months = Months::default();
        for source in counted {
            let count = match source.views {
                0 => Count::default(),
                _ => source.count(self.options.silence),
            };
            self.remove(source, count);
            if source.views == 0 {
                continue;
            }
            self.unlabelled += u64::from(source.is_person.is_none());
            self.all.add(source, self.options, |_| 0);
            self.months
                .add(source, self.options, |day| months.number(day));
            self.days.add(source, self.options, |day| day);
            self.move_thresholds(source, count);
            self.doubt(source);
            self.heaviest.add(source, &mut months);
        }
        self.cut_doubtful();
    }

    fn remove(&mut self, source: &Counted<'_>, count: Count) {
        let (step, by) = match source.step {
            Step::One(by) => (1, by),
            Step::Two(by) => (2, by),
            Step::Kept(_) | Step::Rest => return,
        };
        let removed = self.removed.entry(source.step).or_insert(Removed {
            step,
            by,
            sources: 0,
            count: Count::default(),
        });
        removed.sources += 1;
        removed.count.absorb(count);
    }

    /// What would be left if a source were a crawler from fewer or more decibans on, or without one detector; and how visits depend on the
    /// silence that ends them.
    fn move_thresholds(&mut self, source: &Counted<'_>, count: Count) {
        let silence = self.options.silence;
        if source.step.is_kept() {
            for (visits, silence) in self.visits.iter_mut().zip([silence / 2, silence * 2]) {
                *visits += source.activity.visits(silence).count() as u64;
            }
        }
        match source.step {
            // No threshold decides about these.
            Step::One(_) | Step::Two(JUDGED) => return,
            Step::Kept(_) => return self.moved.iter_mut().for_each(|moved| moved.absorb(count)),
            Step::Two(_) | Step::Rest => {}
        }
        let decibans = source.judged.decibans;
        let from = self.options.crawler_from;
        for (moved, difference) in self.moved.iter_mut().zip(DIFFERENCES) {
            if f64::from(decibans) < from + difference {
                moved.absorb(count);
            }
        }
        if !matches!(source.step, Step::Two(_)) {
            return;
        }
        for (detector, weight) in source.judged.findings.iter() {
            if *weight > 0.0 && f64::from(decibans - weight) < from {
                self.alone.entry(detector).or_default().absorb(count);
            }
        }
    }

    fn doubt(&mut self, source: &Counted<'_>) {
        let Step::Two(by) = source.step else { return };
        if source.person > 0.0 {
            let doubtful = Doubtful {
                source: String::new(),
                by,
                views: source.views,
                person: source.person,
            };
            let expected = source.person * source.views as f64;
            self.doubtful.push((expected, source.source, doubtful));
        }
    }

    fn cut_doubtful(&mut self) {
        self.doubtful
            .sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        self.doubtful.truncate(DOUBTFUL_MAX);
    }

    /// Everything that is known of the sources.
    pub(super) fn finish(self, report: &Report, look: &SecondLook) -> Usage {
        let all = self.all.finish(|_| "all".to_owned());
        let all = all.into_iter().next().unwrap_or_default();
        let left = all.steps[2];
        let mut removed: Vec<Removed> = self.removed.into_values().collect();
        removed.sort_by_key(|removed| {
            (
                removed.step,
                std::cmp::Reverse(removed.count.views),
                removed.by,
            )
        });
        let named = |(_, source, doubtful): (f64, Source, Doubtful)| Doubtful {
            source: look.name(source),
            ..doubtful
        };
        let moved = DIFFERENCES.iter().zip(self.moved);
        let moved = moved.map(|(difference, count)| Moved {
            what: format!(
                "a crawler from {:.0} decibans on",
                self.options.crawler_from + difference
            ),
            count,
        });
        let without = self.alone.into_iter().map(|(detector, mut count)| {
            count.absorb(left);
            Moved {
                what: format!("without {detector}"),
                count,
            }
        });
        let silence = self.options.silence;
        let silences = [silence / 2, silence * 2].into_iter().zip(self.visits);
        let silences = silences.map(|(silence, visits)| Moved {
            what: format!("{} minutes of silence end a visit", silence / 60),
            count: Count { visits, ..left },
        });
        Usage {
            months: self.months.finish(month_name),
            days: self.days.finish(day_name),
            thresholds: moved.chain(without).chain(silences).collect(),
            removed,
            heaviest: self.heaviest.finish(report, look),
            doubtful: self.doubtful.into_iter().map(named).collect(),
            crawler_from: self.options.crawler_from,
            unlabelled: self.unlabelled,
            all,
            ..Usage::default()
        }
    }
}

/// Months of days. Reading a calendar for every burst would take longer than all the rest.
#[derive(Default)]
pub(super) struct Months {
    numbers: BTreeMap<i32, i32>,
    /// The last day, and its month.
    last: Option<(i32, i32)>,
}

impl Months {
    pub(super) fn number(&mut self, day: i32) -> i32 {
        if let Some((last, month)) = self.last
            && last == day
        {
            return month;
        }
        let month = *self.numbers.entry(day).or_insert_with(|| month_number(day));
        self.last = Some((day, month));
        month
    }
}

fn month_name(day: i32) -> String {
    let mut name = day_name(day);
    name.truncate(7);
    name
}

/// Counts in each period.
#[derive(Default)]
struct Periods {
    /// By key, with one of its days.
    periods: BTreeMap<i32, (i32, Period)>,
    truth: Option<Truth>,
    /// What the source at hand has in each period. Kept for its room.
    own: Vec<(i32, i32, Count)>,
}

impl Periods {
    /// Adds a source to the periods that `key` gives for days.
    fn add(
        &mut self,
        source: &Counted<'_>,
        options: &UsageOptions,
        mut key: impl FnMut(i32) -> i32,
    ) {
        let own = &mut self.own;
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
        let shares = source.shares();
        for (key, day, count) in &self.own {
            let (_, period) = self.periods.entry(*key).or_insert_with(|| {
                let period = Period {
                    truth: self.truth,
                    ..Period::default()
                };
                (*day, period)
            });
            period.add(*count, source, shares);
        }
    }

    /// All periods in the order of time, named by one of their days.
    fn finish(self, name: impl Fn(i32) -> String) -> Vec<Period> {
        let named = |(day, period): (i32, Period)| Period {
            name: name(day),
            ..period
        };
        self.periods.into_values().map(named).collect()
    }
}

impl Period {
    fn add(&mut self, count: Count, source: &Counted<'_>, shares: [f64; 3]) {
        for step in &mut self.steps[..=source.step.survived()] {
            step.absorb(count);
        }
        self.views.add(count.views, shares);
        self.visitors.add(count.visitors, shares);
        let Some(is_person) = source.is_person else {
            return;
        };
        let truth = self.truth.get_or_insert_default();
        if is_person {
            truth.people.absorb(count);
        }
        if source.step.is_kept() {
            truth.left.absorb(count);
        }
        truth.views += shares[1] * count.views as f64;
        truth.visitors += shares[1] * count.visitors as f64;
    }
}
