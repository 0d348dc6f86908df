//! How often a source, and the networks around it, may earn a clearance by answering a question.
//!
//! Any program can answer a question, so what it costs is time: answers of one source count one after the other, and each doubling of
//! them in a day doubles the time until the next. Nobody is turned away for good, because an address may have many people behind it.

use super::Policy;
use super::counters::Tally;
use super::rates::Draw;
use super::rates::Pace;
use super::shared_by;
use crate::request::Source;

/// Doublings of the time between two answers at most.
const DOUBLINGS_MAX: u32 = 4;
/// The longest time between two answers: a challenge can be answered for longer than that, so that nobody waits in vain.
const GAP_SECONDS_MAX: u32 = 240;

/// Whose answers count one after the other.
struct Queue {
    tally: Tally,
    /// Sources that share it: it moves on so many times as fast.
    shared_by: u32,
}

impl Policy {
    /// Seconds from now until an answer of a source can count: 0 where it is its turn.
    pub fn question_wait(&self, source: Source, time: u32) -> u32 {
        let waits = queues(source).map(|queue| self.turn(&queue, time, Draw::Look).err());
        waits.max().flatten().unwrap_or(0)
    }

    /// Takes the turn of a source to answer a question, and counts the answer; otherwise gives the seconds until it is its turn.
    pub fn take_question(&self, source: Source, time: u32) -> Result<(), u32> {
        // Who has to wait for one of them takes the turn of none.
        match self.question_wait(source, time) {
            0 => {}
            seconds => return Err(seconds),
        }
        // Of two threads at the same moment only one passes.
        for queue in queues(source) {
            self.turn(&queue, time, Draw::Take)?;
            self.counters.count(queue.tally, time, 1);
        }
        Ok(())
    }

    fn turn(&self, queue: &Queue, time: u32, draw: Draw) -> Result<(), u32> {
        let answered = self.counters.look(queue.tally, time) / queue.shared_by + 1;
        let doublings = (answered + 1).ilog2().min(DOUBLINGS_MAX);
        let gap_seconds = (self.limits.question_seconds << doublings).min(GAP_SECONDS_MAX);
        let gap_ms = 1000 * u64::from(gap_seconds) / u64::from(queue.shared_by);
        let pace = Pace {
            each_ms: gap_ms,
            room_ms: gap_ms,
        };
        let key = self.counters.hash(queue.tally);
        self.counters.turns.draw(key, time, pace, draw)
    }
}

/// The queues that a source stands in: its own, and those of the networks around it.
fn queues(source: Source) -> impl Iterator<Item = Queue> {
    let own = Queue {
        tally: Tally::questions(source),
        shared_by: 1,
    };
    let networks = source.networks().map(|network| Queue {
        tally: Tally::network_questions(network),
        shared_by: shared_by(network.length),
    });
    std::iter::once(own).chain(networks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Limits;

    const NOW: u32 = 1_900_000_000;

    fn source(address: &str) -> Source {
        Source::from_address(address.as_bytes()).unwrap()
    }

    fn policy() -> Policy {
        Policy::new(Limits::default(), 10_000, 7)
    }

    /// Times at which answers of these sources count within some seconds, where each of them tries every second.
    fn taken(policy: &Policy, sources: &[Source], seconds: u32) -> Vec<u32> {
        let tries = (0..seconds).flat_map(|second| sources.iter().map(move |one| (second, *one)));
        tries
            .filter(|(second, one)| policy.take_question(*one, NOW + second).is_ok())
            .map(|(second, _)| second)
            .collect()
    }

    #[test]
    fn answers_of_a_source_count_one_after_the_other_and_ever_more_slowly() {
        let times = taken(&policy(), &[source("192.0.2.7")], 2000);
        let gaps: Vec<u32> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps[..7], [40, 40, 80, 80, 80, 80, 160]);
        assert_eq!(times.len(), 16, "{times:?}");
        assert_eq!(gaps[14], 240);
    }

    #[test]
    fn a_wait_is_told_and_is_not_longer_for_asking() {
        let (policy, one) = (policy(), source("192.0.2.7"));
        assert_eq!(policy.question_wait(one, NOW), 0);
        assert_eq!(policy.take_question(one, NOW), Ok(()));
        for second in 0..40 {
            assert_eq!(policy.take_question(one, NOW + second), Err(40 - second));
            assert_eq!(policy.question_wait(one, NOW + second), 40 - second);
        }
        assert_eq!(policy.take_question(one, NOW + 40), Ok(()));
    }

    #[test]
    fn many_sources_of_one_network_wait_for_each_other() {
        let fleet: Vec<Source> = (0..=255)
            .map(|last| source(&format!("198.51.100.{last}")))
            .collect();
        let policy = policy();
        let first = taken(&policy, &fleet, 600).len();
        assert!((20..=35).contains(&first), "{first} in ten minutes");
        // A visitor elsewhere notices nothing.
        assert_eq!(policy.question_wait(source("203.0.113.9"), NOW + 600), 0);
        let household: Vec<Source> = (0..256)
            .map(|at| source(&format!("2001:db8:0:{at:x}::1")))
            .collect();
        let of_household = taken(&policy, &household, 600).len();
        assert!(
            (10..=20).contains(&of_household),
            "{of_household} in ten minutes"
        );
    }

    #[test]
    fn the_day_after_the_first_answer_counts_as_early_as_ever() {
        let (policy, one) = (policy(), source("192.0.2.7"));
        for second in 0..2000 {
            let _ = policy.take_question(one, NOW + second);
        }
        assert!(policy.question_wait(one, NOW + 2000) > 0);
        let tomorrow = NOW + 2000 + 2 * super::super::DAY;
        assert_eq!(policy.take_question(one, tomorrow), Ok(()));
        assert_eq!(policy.question_wait(one, tomorrow), 40);
    }

    #[test]
    fn a_clearance_by_a_question_has_a_small_budget_that_shrinks() {
        let limits = Limits {
            question_pages: 50,
            ..Limits::default()
        };
        let budgets = [0, 7, 8, 19, 20, 1000].map(|given| limits.question_budget(given));
        assert_eq!(budgets, [50, 50, 44, 20, 20, 20]);
        let low = Limits {
            clearance_pages: 10,
            ..Limits::default()
        };
        assert_eq!(low.question_budget(0), 10);
    }
}
