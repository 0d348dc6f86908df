//! How steady verdicts are while a log grows: who was called something else, and how often on a day.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::HashSet;

use crate::policy::DAY;
use crate::report::Band;
use crate::request::Source;

/// Classes of verdicts, in the order of [`Steadiness::turns`].
pub const CLASSES: [&str; 4] = ["people", "undecided", "automated", "crawlers"];

/// Changes of class that are told apart: none, one, two, three or more.
pub const CHANGES: usize = 4;

/// What was counted.
#[derive(Debug, Clone, Default)]
pub struct Steadiness {
    /// How often sources of one class were in another at the next judgement.
    pub turns: [[u64; CLASSES.len()]; CLASSES.len()],
    /// Sources by the changes of their worst day.
    pub worst_days: [u64; CHANGES],
    /// The same, counting only changes while a source had sent nothing since the judgement before.
    pub worst_idle_days: [u64; CHANGES],
    /// Judgements.
    pub judgements: u64,
    /// Sources with two changes or more on a day, the worst first, with the classes they were in one after the other.
    pub unsteady: Vec<(Source, Vec<Turn>)>,
}

/// When a source came into a class, by its place in [`CLASSES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Seconds since 1970.
    pub time: u32,
    /// The class.
    pub class: u8,
}

/// Sources that are named at most, and turns of each.
const UNSTEADY_MAX: usize = 100;
const TURNS_MAX: usize = 16;

/// Verdicts as they came.
#[derive(Debug, Default)]
pub struct Watcher {
    known: HashMap<Source, Known, RandomState>,
    /// Those who have sent something since the last judgement.
    active: HashSet<Source, RandomState>,
    /// Of those who changed.
    turns: HashMap<Source, Vec<Turn>, RandomState>,
    steadiness: Steadiness,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    class: u8,
    /// Changes of the day, and of the worst day so far.
    all: Changes,
    /// Those without a new request.
    idle: Changes,
    day: u32,
    /// When it was first judged.
    since: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Changes {
    today: u8,
    worst: u8,
}

impl Changes {
    fn add(&mut self) {
        self.today = self.today.saturating_add(1);
        self.worst = self.worst.max(self.today);
    }
}

impl Watcher {
    /// Notes that a source has sent something.
    pub fn note(&mut self, source: Source) {
        self.active.insert(source);
    }

    /// Takes in the verdicts of one judgement.
    pub fn observe(&mut self, bands: &[(Source, Band)], time: u32) {
        let day = time / DAY;
        self.steadiness.judgements += 1;
        for (source, band) in bands {
            let class = class(*band);
            let known = self.known.entry(*source).or_insert(Known {
                class,
                all: Changes::default(),
                idle: Changes::default(),
                day,
                since: time,
            });
            if known.day != day {
                known.day = day;
                (known.all.today, known.idle.today) = (0, 0);
            }
            if known.class != class {
                self.steadiness.turns[usize::from(known.class)][usize::from(class)] += 1;
                if !self.active.contains(source) {
                    known.idle.add();
                }
                let before = Turn {
                    time: known.since,
                    class: known.class,
                };
                let turns = self.turns.entry(*source).or_insert_with(|| vec![before]);
                if turns.len() < TURNS_MAX {
                    turns.push(Turn { time, class });
                }
                known.class = class;
                known.all.add();
            }
        }
        self.active.clear();
    }

    /// Forgets whom nobody judges any more, where there are more than so many.
    pub fn keep(&mut self, bands: &[(Source, Band)], most: usize) {
        if self.known.len() <= most {
            return;
        }
        let steadiness = &mut self.steadiness;
        self.known.retain(|source, known| {
            let stays = bands
                .binary_search_by_key(source, |(judged, _)| *judged)
                .is_ok();
            if !stays {
                steadiness.close(known);
            }
            stays
        });
        let known = &self.known;
        self.turns.retain(|source, _| known.contains_key(source));
    }

    /// What was counted.
    pub fn finish(mut self) -> Steadiness {
        for known in self.known.values() {
            self.steadiness.close(known);
        }
        let known = self.known.iter();
        let unsteady = known.filter(|(_, known)| known.all.worst > 1);
        let mut unsteady: Vec<(u8, Source)> = unsteady
            .map(|(source, known)| (known.all.worst, *source))
            .collect();
        unsteady.sort_unstable_by_key(|(worst, source)| (std::cmp::Reverse(*worst), *source));
        unsteady.truncate(UNSTEADY_MAX);
        let turns = unsteady
            .into_iter()
            .map(|(_, source)| (source, self.turns.remove(&source).unwrap_or_default()));
        self.steadiness.unsteady = turns.collect();
        self.steadiness
    }
}

impl Steadiness {
    fn close(&mut self, known: &Known) {
        let at = |changes: Changes| usize::from(changes.worst).min(CHANGES - 1);
        self.worst_days[at(known.all)] += 1;
        self.worst_idle_days[at(known.idle)] += 1;
    }

    /// Adds what another log showed.
    pub fn add(&mut self, other: &Steadiness) {
        for (mine, theirs) in self.turns.iter_mut().zip(&other.turns) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        for (mine, theirs) in self.worst_days.iter_mut().zip(other.worst_days) {
            *mine += theirs;
        }
        self.judgements += other.judgements;
        for (mine, theirs) in self.worst_idle_days.iter_mut().zip(other.worst_idle_days) {
            *mine += theirs;
        }
        self.unsteady.extend_from_slice(&other.unsteady);
        self.unsteady.truncate(UNSTEADY_MAX);
    }
}

fn class(band: Band) -> u8 {
    match band {
        Band::People => 0,
        Band::Undecided => 1,
        Band::Automated => 2,
        Band::Legitimate | Band::Unproven | Band::Unauthorized | Band::Masquerading => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_by_day() {
        let source = Source::from_address(b"192.0.2.1").unwrap();
        let mut watcher = Watcher::default();
        let bands = [
            (Band::Undecided, 0),
            (Band::People, 1),
            (Band::Masquerading, 2),
            (Band::Unproven, 3),
            (Band::People, DAY),
        ];
        for (band, time) in bands {
            if band != Band::Masquerading {
                watcher.note(source);
            }
            watcher.observe(&[(source, band)], time);
        }
        watcher.keep(&[], 0);
        let steadiness = watcher.finish();
        assert_eq!(steadiness.worst_days, [0, 0, 1, 0]);
        assert_eq!(steadiness.worst_idle_days, [0, 1, 0, 0]);
        assert_eq!(steadiness.turns[0], [0, 0, 0, 1]);
        assert_eq!(steadiness.turns[1], [1, 0, 0, 0]);
        assert_eq!(steadiness.turns[3], [1, 0, 0, 0]);
        assert_eq!(steadiness.judgements, 5);
    }
}
