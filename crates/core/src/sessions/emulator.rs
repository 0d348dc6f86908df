//! The emulator of the real-time paper (RTD): a log in the order of time, every page request judged by what came before it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::Sessions;
use crate::profile::Record;
use crate::profile::VALUES;
use crate::request::Source;

/// Page requests in the active session before which nothing is said, one experiment of the paper each.
pub const MINIMUMS: [u16; 5] = [5, 10, 15, 20, 50];

/// Probability above which no more is asked.
const SURE: f64 = 0.999;

/// What became of one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fate {
    /// Its page requests.
    pub pages: u32,
    /// The highest probability of a robot that was stated, for each minimum; 0 where nothing was said.
    pub highest: [f32; MINIMUMS.len()],
    /// What its first session that reached the first minimum measured then, and the probability that was stated.
    pub first: Option<Box<([f32; VALUES], f32)>>,
    /// Which of its page requests was the first at which it was called a robot, for each minimum; 0 for none.
    pub called_at: [u32; MINIMUMS.len()],
}

/// How likely a session with these values is a robot's.
type Judge<'a> = Box<dyn Fn(&[f64; VALUES]) -> f64 + Send + 'a>;

/// An emulation under way.
pub struct Emulator<'a> {
    sessions: Sessions,
    judge: Judge<'a>,
    /// From which probability on it is called one.
    threshold: f64,
    /// Of those whom somebody asks about: any number of others may come.
    fates: HashMap<Source, Fate, RandomState>,
}

impl std::fmt::Debug for Emulator<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Emulator of {} sources", self.fates.len())
    }
}

impl<'a> Emulator<'a> {
    /// An emulation with a judge that calls robots from a probability on. What becomes of these sources is noted.
    pub fn new(
        sessions: Sessions,
        judge: impl Fn(&[f64; VALUES]) -> f64 + Send + 'a,
        threshold: f64,
        sources: impl IntoIterator<Item = Source>,
    ) -> Emulator<'a> {
        let sources = sources.into_iter();
        Emulator {
            sessions,
            judge: Box::new(judge),
            threshold,
            fates: sources.map(|source| (source, Fate::default())).collect(),
        }
    }

    /// The next request.
    pub fn observe(&mut self, record: &Record) {
        let ongoing = self.sessions.observe(record);
        if !record.is_page() {
            return;
        }
        let Some(fate) = self.fates.get_mut(&ongoing.client.source) else {
            return;
        };
        fate.pages = fate.pages.saturating_add(1);
        let reached = MINIMUMS
            .iter()
            .take_while(|minimum| ongoing.session.pages >= **minimum)
            .count();
        // Who was called a robot stays one, and this is as sure as it gets: there is nothing left to ask.
        let sure = SURE.max(self.threshold);
        let is_sure = |known: &f32| f64::from(*known) >= sure;
        if fate.highest[..reached].iter().all(is_sure) {
            return;
        }
        let values = ongoing.values();
        let probability = (self.judge)(&values);
        if reached > 0 && fate.first.is_none() {
            let values = values.map(|value| value as f32);
            fate.first = Some(Box::new((values, probability as f32)));
        }
        for at in 0..reached {
            fate.highest[at] = fate.highest[at].max(probability as f32);
            if probability >= self.threshold && fate.called_at[at] == 0 {
                fate.called_at[at] = fate.pages;
            }
        }
    }

    /// What became of the sources that were asked about.
    pub fn finish(self) -> HashMap<Source, Fate, RandomState> {
        self.fates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minimum_speaks_when_it_is_reached_and_nothing_is_taken_back() {
        // Robots are those whose pages come within two seconds.
        let judge = |values: &[f64; VALUES]| f64::from(u8::from(values[3] < 2.0));
        let sources = [1, 2, 3].map(|number| Record::page_for_tests(number, 0).source());
        let mut emulator = Emulator::new(Sessions::new(100, 120), judge, 0.5, sources);
        for number in 0..12 {
            emulator.observe(&Record::page_for_tests(1, number));
            emulator.observe(&Record::page_for_tests(2, 30 * number));
            emulator.observe(&Record::page_for_tests(3, 200 * number));
        }
        emulator.observe(&Record::page_for_tests(1, 100));
        let fates = emulator.finish();
        let fate = |value: u64| {
            let mut all = fates.iter().filter(|(source, _)| source.value == value);
            all.next().unwrap().1.clone()
        };
        assert_eq!(fate(1).called_at, [5, 10, 0, 0, 0]);
        assert_eq!(fate(1).pages, 13);
        assert_eq!(fate(2).called_at, [0; 5]);
        assert_eq!(fate(3).highest, [0.0; 5], "sessions of one page each");
    }
}
