//! The heaviest sources of each month after step one, as the study's Figure 1 shows them, for a person to judge.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use cattlegrid_core::Report;
use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::request::Source;
use cattlegrid_core::verdict::Class;

use super::Step;
use super::sums::Counted;
use super::sums::Months;

/// The heaviest of all months, and what became of them.
#[derive(Debug, Clone, Default)]
pub struct Heaviest {
    /// By month, most views first.
    pub months: Vec<(String, Vec<Heavy>)>,
    /// How many sources are in the lists, each counted once.
    pub sources: u64,
    /// How many of them are crawlers, by what they did or by a person's judgement.
    pub crawlers: u64,
    /// Crawlers that are in the lists of several months.
    pub repeated: u64,
    /// All visitors after step one.
    pub visitors: u64,
}

/// One of the heaviest sources.
#[derive(Debug, Clone)]
pub struct Heavy {
    /// Its name.
    pub source: String,
    /// Page views in the month.
    pub views: u64,
    /// What became of it.
    pub step: Step,
    /// Its class.
    pub class: Class,
    /// How likely it is a person.
    pub person: f64,
    /// Its user agent, where that is known.
    pub agent: Option<String>,
    /// The strongest evidence, in words.
    pub why: Option<String>,
}

/// What is kept of a source that may be one of the heaviest.
struct Candidate {
    views: u64,
    source: Source,
    step: Step,
    class: Class,
    person: f64,
}

/// Finds the heaviest of each month among sources that come one after the other.
pub(super) struct Gathering {
    /// Sources that are listed for each month.
    most: usize,
    months: BTreeMap<i32, Vec<Candidate>>,
    visitors: u64,
    /// Views by month of the source at hand. Kept for its room.
    own: Vec<(i32, u64)>,
}

impl Gathering {
    pub(super) fn new(most: usize) -> Gathering {
        Gathering {
            most,
            months: BTreeMap::new(),
            visitors: 0,
            own: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, source: &Counted<'_>, months: &mut Months) {
        if matches!(source.step, Step::One(_)) {
            return;
        }
        self.visitors += 1;
        self.own.clear();
        for burst in source.activity.bursts() {
            let month = months.number(burst.day);
            match self.own.last_mut() {
                Some((last, views)) if *last == month => *views += u64::from(burst.views),
                _ => self.own.push((month, u64::from(burst.views))),
            }
        }
        for (month, views) in &self.own {
            let heaviest = self.months.entry(*month).or_default();
            heaviest.push(Candidate {
                views: *views,
                source: source.source,
                step: source.step,
                class: source.judged.class,
                person: source.person,
            });
            // Some more than are listed, so that it is not sorted for every source.
            if heaviest.len() > 2 * self.most + 64 {
                cut(heaviest, self.most);
            }
        }
    }

    pub(super) fn finish(mut self, report: &Report, look: &SecondLook) -> Heaviest {
        let all = self.months.values_mut();
        all.for_each(|heaviest| cut(heaviest, self.most));
        let by_name: BTreeMap<&str, &SourceReport> = report
            .sources
            .iter()
            .map(|source| (source.source.as_str(), source))
            .collect();
        let mut seen: BTreeMap<Source, (u32, bool)> = BTreeMap::new();
        for candidate in self.months.values().flatten() {
            let entry = seen.entry(candidate.source).or_default();
            entry.0 += 1;
            entry.1 = matches!(candidate.step, Step::Two(_));
        }
        let describe = |candidate: &Candidate| describe(candidate, look, &by_name);
        Heaviest {
            sources: seen.len() as u64,
            crawlers: seen.values().filter(|(_, is_crawler)| *is_crawler).count() as u64,
            repeated: seen
                .values()
                .filter(|(months, is_crawler)| *is_crawler && *months > 1)
                .count() as u64,
            visitors: self.visitors,
            months: self
                .months
                .iter()
                .map(|(month, heaviest)| (name(*month), heaviest.iter().map(describe).collect()))
                .collect(),
        }
    }
}

/// A month by its number.
fn name(month: i32) -> String {
    format!("{:04}-{:02}", (month - 1) / 12, (month - 1) % 12 + 1)
}

fn cut(heaviest: &mut Vec<Candidate>, most: usize) {
    heaviest.sort_by_key(|candidate| (std::cmp::Reverse(candidate.views), candidate.source));
    heaviest.truncate(most);
}

fn describe(
    candidate: &Candidate,
    look: &SecondLook,
    by_name: &BTreeMap<&str, &SourceReport>,
) -> Heavy {
    let name = look.name(candidate.source);
    let listed = by_name.get(name.as_str());
    let evidence = listed.and_then(|listed| listed.evidence.first());
    Heavy {
        agent: listed.and_then(|listed| listed.agent.clone()),
        why: evidence.map(|evidence| evidence.why.clone()),
        source: name,
        views: candidate.views,
        step: candidate.step,
        class: candidate.class,
        person: candidate.person,
    }
}

impl Heaviest {
    /// Sources that nobody has decided on yet, each once, in the order of the lists.
    pub fn open(&self) -> Vec<&Heavy> {
        let mut seen = BTreeSet::new();
        let all = self.months.iter().flat_map(|(_, heaviest)| heaviest);
        all.filter(|heavy| heavy.class == Class::Undecided && heavy.step == Step::Rest)
            .filter(|heavy| seen.insert(heavy.source.as_str()))
            .collect()
    }
}
