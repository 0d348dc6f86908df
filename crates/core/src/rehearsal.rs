//! Containment, rehearsed on an old log: how often limits would have challenged people, and how much of the crawling they would have
//! stopped, by the very code that serves live traffic. Who is who is known from an analysis of the same log.

mod gate;
mod steadiness;
mod treated;
mod volumes;

pub use gate::Answered;
pub use gate::Gate;
pub use gate::Habit;
pub use steadiness::CHANGES;
pub use steadiness::CLASSES;
pub use steadiness::Steadiness;
pub use steadiness::Turn;
pub use steadiness::Watcher;
pub use treated::Treated;
pub use volumes::Volumes;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::policy::Action;
use crate::policy::DAY;
use crate::policy::Decision;
use crate::policy::Limits;
use crate::policy::Proof;
use crate::policy::Ruling;
use crate::profile::Record;
use crate::profile::flag;
use crate::report::Band;
use crate::request::Source;

/// The first limits of the paper's Table 9.
pub const K1: [u32; 6] = [10, 15, 20, 25, 50, 100];
/// The second limits.
pub const K2: [u32; 6] = [100, 500, 1000, 2000, 5000, 10_000];
/// Seconds until a source that has passed the second limit is judged.
const JUDGED_AFTER: u32 = 1;
/// Requests on a day from which a source is a heavy one.
pub const HEAVY: u32 = 1000;
/// Sources that would be stopped and are neither people nor crawlers: so many are named.
const NAMED_MAX: usize = 20;
/// Share of people on a day whom the first limit may touch.
const TOUCHED_MAX: f64 = 0.001;
/// Share of people's pages between the limits that may meet a challenge.
const PAGES_MAX: f64 = 0.05;

/// What would have happened to the sources of one band.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fate {
    /// Sources.
    pub sources: u64,
    /// Their page requests.
    pub pages: u64,
    /// Pages they would have got.
    pub passed: u64,
    /// Pages at which they would have met a challenge, and not solved it.
    pub held: u64,
    /// Pages at which they would have been refused.
    pub blocked: u64,
    /// Challenges that they would have solved.
    pub solved: u64,
    /// Sources that would have met a challenge.
    pub challenged: u64,
    /// Sources that would have been refused.
    pub refused: u64,
}

/// How many heavy sources of the first half of the log are so in the second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stability {
    /// Heavy sources of the first half.
    pub heavy: u64,
    /// Of these, the ones that are heavy in the second half.
    pub stay: u64,
}

/// What limits would have done on a log.
#[derive(Debug)]
pub struct Plan {
    /// The limits that were rehearsed.
    pub limits: Limits,
    /// Days of the log, begun ones as whole ones.
    pub days: u32,
    /// Requests on a day, by band.
    pub requests: Volumes,
    /// Pages on a day, by band.
    pub pages: Volumes,
    /// What would have happened, in the order of [`Band::ALL`].
    pub fates: [Fate; Band::ALL.len()],
    /// Heavy sources of people, and of crawlers; nothing for a log of one day.
    pub stability: Option<[Stability; 2]>,
    /// Monitors, feed readers, unproven search engines and unknown ones that would have lost most pages, with these.
    pub stopped: Vec<(Source, Band, u32)>,
    /// Limits that this log speaks for.
    pub advice: Advice,
    /// Sources that were forgotten because there was no room to count them.
    pub forgotten: u64,
}

/// One source on its way through the log.
#[derive(Debug)]
struct Visitor {
    source: Source,
    band: Band,
    /// The day that is being counted.
    day: u32,
    requests: u32,
    pages: u32,
    /// Pages it did not get.
    lost: u32,
    is_challenged: bool,
    is_refused: bool,
    /// Heavy in the first half of the log, and in the second.
    heavy: [bool; 2],
}

/// A rehearsal under way.
#[derive(Debug)]
pub struct Rehearsal {
    gate: Gate,
    visitors: Vec<Visitor>,
    index: HashMap<Source, u32, RandomState>,
    /// When sources passed the second limit.
    passed: HashMap<Source, u32, RandomState>,
    /// First and last day.
    days: (u32, u32),
    requests: Volumes,
    pages: Volumes,
    fates: [Fate; Band::ALL.len()],
}

impl Rehearsal {
    /// A rehearsal with these limits, of a log with these sources and this first and last second.
    pub fn new(limits: Limits, bands: &[(Source, Band)], span: (u32, u32)) -> Rehearsal {
        let visitors: Vec<Visitor> = bands
            .iter()
            .map(|(source, band)| Visitor {
                source: *source,
                band: *band,
                day: 0,
                requests: 0,
                pages: 0,
                lost: 0,
                is_challenged: false,
                is_refused: false,
                heavy: [false; 2],
            })
            .collect();
        let sources = visitors.iter().map(|visitor| visitor.source);
        Rehearsal {
            gate: Gate::new(limits, visitors.len()),
            index: sources.zip(0..).collect(),
            visitors,
            passed: HashMap::default(),
            days: (span.0 / DAY, span.1 / DAY),
            requests: Volumes::default(),
            pages: Volumes::default(),
            fates: [Fate::default(); Band::ALL.len()],
        }
    }

    /// One request, in the order of time.
    pub fn observe(&mut self, record: &Record) {
        let source = record.source();
        let Some(at) = self.index.get(&source).copied() else {
            return;
        };
        let is_page = record.has(flag::PAGE);
        self.count(at as usize, record.time, is_page);
        let band = self.visitors[at as usize].band;
        let proof = match band {
            Band::Legitimate => Proof::Proven {
                crawler: source.value,
                pages: u32::MAX,
            },
            _ => Proof::None,
        };
        let habit = match band {
            Band::People => Habit::Solves,
            _ => Habit::Fails,
        };
        let answered = self.gate.ask(record, proof, habit);
        let limits = &self.gate.policy.limits;
        if answered.decided.is_to_be_judged(limits) {
            self.judge(source, band, record.time);
        }
        if is_page {
            self.tell(at as usize, &answered);
        }
    }

    /// Adds a request to its source's day.
    fn count(&mut self, at: usize, time: u32, is_page: bool) {
        let day = time / DAY;
        if self.visitors[at].day != day {
            self.close_day(at);
            self.visitors[at].day = day;
        }
        let visitor = &mut self.visitors[at];
        visitor.requests += 1;
        visitor.pages += u32::from(is_page);
    }

    fn close_day(&mut self, at: usize) {
        let visitor = &mut self.visitors[at];
        if visitor.requests == 0 {
            return;
        }
        self.requests.add(visitor.band, visitor.requests);
        if visitor.pages > 0 {
            self.pages.add(visitor.band, visitor.pages);
        }
        if visitor.requests > HEAVY {
            let (first, last) = self.days;
            let half = usize::from(visitor.day > first + (last - first) / 2);
            visitor.heavy[half] = true;
        }
        (visitor.requests, visitor.pages) = (0, 0);
    }

    /// Above the second limit the models decide, within a second: what the analysis found is what they would say.
    fn judge(&mut self, source: Source, band: Band, time: u32) {
        let since = *self.passed.entry(source).or_insert(time);
        let limits = &self.gate.policy.limits;
        // People go on solving challenges: an entry takes a crowd on three days, and a rehearsal must not promise too much.
        if !matches!(band, Band::Unauthorized | Band::Masquerading) {
            return;
        }
        if time < since.saturating_add(JUDGED_AFTER) {
            return;
        }
        self.passed.remove(&source);
        self.gate.standing.add_source(
            source,
            Ruling {
                action: Action::Deny,
                is_owners: false,
                is_learned: true,
                cap: 0,
                since: time,
                until: time.saturating_add(limits.deny_days * DAY),
                entry: 0,
            },
        );
    }

    /// What becomes of a page request: people solve what they are asked to, crawlers do not.
    fn tell(&mut self, at: usize, answered: &Answered) {
        let visitor = &mut self.visitors[at];
        let fate = &mut self.fates[visitor.band as usize];
        fate.pages += 1;
        fate.passed += u64::from(answered.has_passed);
        fate.solved += u64::from(answered.has_solved);
        visitor.lost += u32::from(!answered.has_passed);
        match answered.decided.decision {
            Decision::Block => {
                fate.refused += u64::from(!visitor.is_refused);
                visitor.is_refused = true;
                fate.blocked += 1;
            }
            Decision::Challenge | Decision::Throttle
                if answered.has_solved || !answered.has_passed =>
            {
                fate.challenged += u64::from(!visitor.is_challenged);
                visitor.is_challenged = true;
                fate.held += u64::from(!answered.has_passed);
            }
            _ => {}
        }
    }

    /// What the whole log says.
    pub fn finish(mut self) -> Plan {
        for at in 0..self.visitors.len() {
            self.close_day(at);
            self.fates[self.visitors[at].band as usize].sources += 1;
        }
        let (first, last) = self.days;
        Plan {
            days: last - first + 1,
            stability: (last > first).then(|| {
                [
                    self.stability(&[Band::People]),
                    self.stability(&[
                        Band::Legitimate,
                        Band::Unproven,
                        Band::Unauthorized,
                        Band::Masquerading,
                    ]),
                ]
            }),
            stopped: self.stopped(),
            advice: Advice::of(&self.pages),
            forgotten: self.gate.policy.counters.forgotten(),
            limits: self.gate.policy.limits,
            requests: self.requests,
            pages: self.pages,
            fates: self.fates,
        }
    }

    fn stability(&self, bands: &[Band]) -> Stability {
        let mut found = Stability::default();
        let of = |visitor: &&Visitor| bands.contains(&visitor.band) && visitor.heavy[0];
        for visitor in self.visitors.iter().filter(of) {
            found.heavy += 1;
            found.stay += u64::from(visitor.heavy[1]);
        }
        found
    }

    fn stopped(&self) -> Vec<(Source, Band, u32)> {
        let unclear = |visitor: &&Visitor| {
            let bands = [Band::Automated, Band::Unproven, Band::Undecided];
            visitor.lost > 0 && bands.contains(&visitor.band)
        };
        let mut stopped: Vec<(Source, Band, u32)> = self
            .visitors
            .iter()
            .filter(unclear)
            .map(|visitor| (visitor.source, visitor.band, visitor.lost))
            .collect();
        stopped.sort_unstable_by_key(|(source, _, lost)| (std::cmp::Reverse(*lost), *source));
        stopped.truncate(NAMED_MAX);
        stopped
    }
}

/// Limits that a log speaks for, and what they would have cost those who may be people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Advice {
    /// Pages a day up to which everybody passes.
    pub k1: u32,
    /// Pages a day above which models judge; always more than `k1`.
    pub k2: u32,
    /// The share of visitors on a day who ask for more than `k1` pages.
    pub touched: f64,
    /// The share of their pages that would have been challenged: those of visitors between both limits.
    pub challenged: f64,
}

impl Advice {
    /// The smallest first limit that hardly touches anybody who may be a person, and the largest second limit, up to a thousand (from there
    /// on models can judge), that leaves nearly all of people's pages unchallenged. Where none does, those that come nearest.
    fn of(pages: &Volumes) -> Advice {
        let people = [Band::People, Band::Undecided];
        let touched = |k1: u32| pages.share_of_sources(&people, k1, u32::MAX);
        let k1 = K1.into_iter().find(|k1| touched(*k1) <= TOUCHED_MAX);
        let k1 = k1.unwrap_or(K1[K1.len() - 1]);
        let challenged = |k2: u32| pages.share_of_requests(&people, k1, k2);
        let larger = || K2[..3].iter().copied().filter(|k2| *k2 > k1);
        let fine = larger().rev().find(|k2| challenged(*k2) <= PAGES_MAX);
        let k2 = fine
            .or_else(|| larger().next())
            .unwrap_or(K2[2].max(k1 + 1));
        Advice {
            k1,
            k2,
            touched: touched(k1),
            challenged: challenged(k2),
        }
    }

    /// True where both shares are as small as they should be: one visitor in a thousand, one page in twenty.
    pub fn is_kept(&self) -> bool {
        self.touched <= TOUCHED_MAX && self.challenged <= PAGES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_a_pair_that_says_what_it_costs() {
        let mut pages = Volumes::default();
        (0..10_000).for_each(|_| pages.add(Band::People, 3));
        let light = Advice::of(&pages);
        assert_eq!((light.k1, light.k2, light.is_kept()), (10, 1000, true));
        // One visitor in ten reads 150 pages a day.
        (0..1000).for_each(|_| pages.add(Band::People, 150));
        let heavy = Advice::of(&pages);
        assert_eq!((heavy.k1, heavy.is_kept()), (100, false));
        assert!(heavy.k2 > heavy.k1 && heavy.touched > 0.09, "{heavy:?}");
    }
}
