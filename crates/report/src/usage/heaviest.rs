//! The heaviest sources of each month after step one, as the study's Figure 1 shows them, for a person to judge.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use cattlegrid_core::Report;
use cattlegrid_core::analysis::SecondLook;
use cattlegrid_core::report::SourceReport;
use cattlegrid_core::request::Source;
use cattlegrid_core::verdict::Class;

use super::Counted;
use super::Months;
use super::Step;
use super::UsageOptions;

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

pub(super) fn find(
    counted: &[Counted<'_>],
    report: &Report,
    look: &SecondLook,
    options: &UsageOptions,
) -> Heaviest {
    let mut months: BTreeMap<i32, Vec<(u64, &Counted<'_>)>> = BTreeMap::new();
    let mut numbers = Months::default();
    let open = counted
        .iter()
        .filter(|source| !matches!(source.step, Step::One(_)));
    let mut visitors = 0;
    for source in open {
        visitors += 1;
        let mut own: Vec<(i32, u64)> = Vec::new();
        for burst in source.activity.bursts() {
            let month = numbers.number(burst.day);
            match own.last_mut() {
                Some((last, views)) if *last == month => *views += u64::from(burst.views),
                _ => own.push((month, u64::from(burst.views))),
            }
        }
        for (month, views) in own {
            let heaviest = months.entry(month).or_default();
            heaviest.push((views, source));
            // Some more than are listed, so that it is not sorted for every source.
            if heaviest.len() > 2 * options.heaviest + 64 {
                cut(heaviest, options.heaviest);
            }
        }
    }
    months
        .values_mut()
        .for_each(|heaviest| cut(heaviest, options.heaviest));
    let by_name: BTreeMap<&str, &SourceReport> = report
        .sources
        .iter()
        .map(|source| (source.source.as_str(), source))
        .collect();
    let mut seen: BTreeMap<Source, (u32, bool)> = BTreeMap::new();
    for (_, source) in months.values().flatten() {
        let entry = seen.entry(source.source).or_default();
        entry.0 += 1;
        entry.1 = matches!(source.step, Step::Two(_));
    }
    let describe = |(views, source): &(u64, &Counted<'_>)| describe(*views, source, look, &by_name);
    Heaviest {
        sources: seen.len() as u64,
        crawlers: seen.values().filter(|(_, is_crawler)| *is_crawler).count() as u64,
        repeated: seen
            .values()
            .filter(|(months, is_crawler)| *is_crawler && *months > 1)
            .count() as u64,
        visitors,
        months: months
            .iter()
            .map(|(month, heaviest)| (name(*month), heaviest.iter().map(describe).collect()))
            .collect(),
    }
}

/// A month by its number.
fn name(month: i32) -> String {
    format!("{:04}-{:02}", (month - 1) / 12, (month - 1) % 12 + 1)
}

fn cut(heaviest: &mut Vec<(u64, &Counted<'_>)>, most: usize) {
    heaviest.sort_by_key(|(views, source)| (std::cmp::Reverse(*views), source.source));
    heaviest.truncate(most);
}

fn describe(
    views: u64,
    source: &Counted<'_>,
    look: &SecondLook,
    by_name: &BTreeMap<&str, &SourceReport>,
) -> Heavy {
    let name = look.name(source.source);
    let listed = by_name.get(name.as_str());
    let evidence = listed.and_then(|listed| listed.evidence.first());
    Heavy {
        agent: listed.and_then(|listed| listed.agent.clone()),
        why: evidence.map(|evidence| evidence.why.clone()),
        source: name,
        views,
        step: source.step,
        class: source.judged.class,
        person: source.person,
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
