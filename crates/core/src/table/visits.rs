//! Visits that go on: what a source does within half an hour. Short ones lie together here, long ones in the source's profile.
//!
//! A visit must be followed from its first request on, or its pages lack their parts. Most visits end after a page: followed in the
//! profile, they would double its size.

use crate::profile::Profile;
use crate::profile::Record;
use crate::profile::VISIT_PAGES_MIN;
use crate::profile::Visit;
use crate::request::Source;

/// Where the visit of a profile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u32);

impl Place {
    /// There is none.
    const NONE: Place = Place(u32::MAX);
    /// It is the latest of those in the profile.
    const LONG: Place = Place(u32::MAX - 1);
}

/// A short visit, the number of its profile, and the stream of its requests.
///
/// Files that overlap in time are streams of their own, and times go back from one to the next. Only requests of its own stream tell
/// that a visit has ended: those of another may come from hours later, and whose share a table is another matter in each run.
#[derive(Debug)]
struct Short {
    profile: u32,
    stream: u16,
    visit: Visit,
}

/// Visits that go on, by the number of their profile.
#[derive(Debug, Default)]
pub(super) struct Ongoing {
    places: Vec<Place>,
    short: Vec<Short>,
    /// Where the search for visits that have ended goes on.
    hand: usize,
    /// Profiles whose long visits had a request, where somebody wants to know.
    watched: Option<Vec<(u32, Source)>>,
    /// Requests of those who went on behind a trap, likewise.
    trapped: Vec<Record>,
}

/// Requests of a source after which it is followed, and for how many of these in turn: the visits of the busiest sources are many, and a
/// part of them tells as much.
const TURN: u32 = 64;
const TURNS: u32 = 8;
/// Page requests of long visits that are noted at most until somebody asks.
const WATCHED_MAX: usize = 4096;
/// Looks at visits for each new one, where many of them are of other streams.
const LOOKS_MAX: u32 = 16;
/// User agents of a source beyond which those behind a trap are not noted one by one: it has many clients, or one with many names.
const AGENTS_MAX: usize = 12;

/// True for a source with so many requests that is followed now.
fn is_followed(requests: u32) -> bool {
    (requests / TURN).is_multiple_of(TURNS)
}

impl Ongoing {
    /// Takes in a request of the profile with this number, from a stream. Visits end after so many seconds of silence.
    pub(super) fn observe(
        &mut self,
        (number, profile): (u32, &mut Profile),
        record: &Record,
        (stream, silence): (u16, u32),
    ) {
        // The gate's own pages are no part of a visit to the site.
        if record.is_trap() {
            self.note_trapped(profile, record);
            return;
        }
        // Who names itself a robot is one, whatever its visits are like.
        if record.robot != 0 || !is_followed(profile.requests) {
            return;
        }
        let number = number as usize;
        if self.places.len() <= number {
            self.places.resize(number + 1, Place::NONE);
        }
        match self.places[number] {
            Place::NONE => self.begin((number, profile), record, (stream, silence)),
            Place::LONG => match profile.visits_mut().latest_mut() {
                Some(visit) if !visit.session.is_over(record.time, silence) => {
                    visit.observe(record);
                    self.note_watched(number, record);
                }
                _ => self.begin((number, profile), record, (stream, silence)),
            },
            Place(at) => {
                let at = at as usize;
                let short = &mut self.short[at];
                let visit = &mut short.visit;
                if short.stream != stream || visit.session.is_over(record.time, silence) {
                    *visit = begun(record, profile);
                    short.stream = stream;
                    return;
                }
                let was_pageless = visit.session.is_pageless();
                visit.observe(record);
                match (was_pageless, visit.session.is_pageless()) {
                    (false, true) => profile.visits_mut().note_pageless(),
                    (true, false) => profile.visits_mut().take_back_pageless(),
                    _ => {}
                }
                if visit.session.pages >= VISIT_PAGES_MIN {
                    profile.visits_mut().keep(*visit);
                    self.note_watched(number, record);
                    self.places[number] = Place::LONG;
                    self.remove(at);
                }
            }
        }
    }

    fn note_watched(&mut self, number: usize, record: &Record) {
        if let Some(watched) = &mut self.watched
            && record.is_page()
            && watched.len() < WATCHED_MAX
        {
            watched.push((number as u32, record.source()));
        }
    }

    #[cold]
    fn note_trapped(&mut self, profile: &Profile, record: &Record) {
        if self.watched.is_some()
            && self.trapped.len() < WATCHED_MAX
            && profile.oddities().has_followed_traps()
            && profile.agents.count() <= AGENTS_MAX
        {
            self.trapped.push(*record);
        }
    }

    /// Requests behind a trap since the last call, of those who went on there.
    pub(super) fn take_trapped(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.trapped)
    }

    /// Notes from now on which long visits go on.
    pub(super) fn watch(&mut self) {
        self.watched.get_or_insert_default();
    }

    /// True where a long visit had a page request since the last call of [`Ongoing::take_watched`].
    pub(super) fn has_watched(&self) -> bool {
        let watched = self.watched.as_ref();
        watched.is_some_and(|watched| !watched.is_empty())
    }

    /// The profiles whose long visits had a page request since the last call. Each may come more than once.
    pub(super) fn take_watched(&mut self) -> Vec<(u32, Source)> {
        let watched = self.watched.as_mut();
        watched.map(std::mem::take).unwrap_or_default()
    }

    fn begin(
        &mut self,
        (number, profile): (usize, &mut Profile),
        record: &Record,
        (stream, silence): (u16, u32),
    ) {
        // Two looks for each new visit find all that have ended before their number has doubled. Those of other streams do not count.
        let (mut looks, mut own) = (0, 0);
        while looks < LOOKS_MAX && own < 2 {
            own += u32::from(self.look(record.time, (stream, silence)));
            looks += 1;
        }
        self.places[number] = Place(self.short.len() as u32);
        self.short.push(Short {
            profile: number as u32,
            stream,
            visit: begun(record, profile),
        });
    }

    /// Removes the next visit if it ended long ago: twice as long as would do, because lines are not always in order. True unless it is
    /// of another stream, whose times say nothing about it.
    fn look(&mut self, time: u32, (stream, silence): (u16, u32)) -> bool {
        self.hand = self.hand.checked_sub(1).unwrap_or(self.short.len());
        let Some(short) = self.short.get(self.hand) else {
            return true;
        };
        if short.stream != stream {
            return false;
        }
        if short.visit.session.last.saturating_add(2 * silence) < time {
            self.places[short.profile as usize] = Place::NONE;
            self.remove(self.hand);
        }
        true
    }

    fn remove(&mut self, at: usize) {
        self.short.swap_remove(at);
        if let Some(moved) = self.short.get(at) {
            self.places[moved.profile as usize] = Place(at as u32);
        }
    }

    /// The same with other numbers, by the old ones. Those without a number are forgotten.
    pub(super) fn renumber(mut self, numbers: &[Option<u32>]) -> Ongoing {
        let many = numbers.iter().flatten().count();
        let mut places = vec![Place::NONE; many];
        for (old, new) in numbers.iter().enumerate() {
            if let (Some(&Place::LONG), Some(new)) = (self.places.get(old), new) {
                places[*new as usize] = Place::LONG;
            }
        }
        self.short.retain_mut(|short| {
            let new = numbers.get(short.profile as usize).copied().flatten();
            short.profile = new.unwrap_or(short.profile);
            new.is_some()
        });
        for (at, short) in self.short.iter().enumerate() {
            places[short.profile as usize] = Place(at as u32);
        }
        // Who had a visit when profiles were moved will have another request.
        self.take_watched();
        Ongoing {
            places,
            hand: 0,
            ..self
        }
    }
}

/// A visit that begins. Whether it will have a page cannot wait until it has ended: when that is noticed depends on who else comes.
fn begun(record: &Record, profile: &mut Profile) -> Visit {
    let visit = Visit::begin(record);
    if visit.session.is_pageless() {
        profile.visits_mut().note_pageless();
    }
    visit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::flag;

    const SILENCE: u32 = 1800;

    /// Profiles with the visits of their requests: number, time, page or part.
    struct Followed {
        stream: u16,
        ongoing: Ongoing,
        profiles: Vec<Profile>,
    }

    impl Followed {
        fn new(many: usize) -> Followed {
            Followed {
                stream: 0,
                ongoing: Ongoing::default(),
                profiles: vec![Profile::default(); many],
            }
        }

        fn ask(&mut self, number: u32, record: &Record) {
            let profile = &mut self.profiles[number as usize];
            profile.observe(record, 0, 0, 240);
            self.ongoing
                .observe((number, profile), record, (self.stream, SILENCE));
        }

        fn page(&mut self, number: u32, time: u32) {
            self.ask(number, &Record::page_for_tests(u64::from(number), time));
        }

        fn pages_of(&self, number: u32) -> Vec<u16> {
            let visits = self.profiles[number as usize].visits();
            let long = visits.map_or(&[][..], |visits| visits.long());
            long.iter().map(|visit| visit.session.pages).collect()
        }
    }

    #[test]
    fn long_visits_are_kept_the_latest_three_of_them() {
        let mut followed = Followed::new(2);
        for visit in 0..6 {
            for page in 0..5 + visit {
                followed.page(0, visit * 10_000 + page * 20);
                followed.page(1, visit * 10_000 + page * 2000);
            }
        }
        assert_eq!(followed.pages_of(0), [8, 9, 10]);
        assert!(followed.pages_of(1).is_empty(), "all of one page");
    }

    #[test]
    fn one_client_is_followed_at_a_time() {
        let mut followed = Followed::new(1);
        for time in 0..30 {
            let mut record = Record::page_for_tests(0, time);
            record.agent = time % 3;
            followed.ask(0, &record);
        }
        assert_eq!(followed.pages_of(0), [10]);
        let mut followed = Followed::new(1);
        for time in 0..40 {
            let mut record = Record::page_for_tests(0, time);
            record.session = 1 + time % 4;
            followed.ask(0, &record);
        }
        assert_eq!(
            followed.pages_of(0),
            [13],
            "three before the first came back"
        );
    }

    #[test]
    fn visits_that_ended_make_room() {
        let mut followed = Followed::new(10_000);
        for number in 0..10_000 {
            followed.page(number, number * 60);
        }
        assert!(
            followed.ongoing.short.len() <= 130,
            "{}",
            followed.ongoing.short.len()
        );
        for time in 0..5 {
            followed.page(9_990, 600_000 + time);
        }
        assert_eq!(followed.pages_of(9_990), [6]);
    }

    #[test]
    fn visits_of_files_that_overlap_make_room() {
        let mut followed = Followed::new(20_000);
        for stream in 0..20_u16 {
            followed.stream = stream;
            (0..1000).for_each(|visit| followed.page(u32::from(stream) * 1000 + visit, visit * 60));
        }
        // Some 60 visits of each file go on when it ends.
        let kept = followed.ongoing.short.len();
        assert!(kept <= 5_000, "{kept}");
    }

    #[test]
    fn who_else_comes_does_not_show_where_files_overlap() {
        let check = |others: u32| {
            let mut followed = Followed::new(40);
            (0..3).for_each(|page| followed.page(0, page * 20));
            // Another file begins, in which hours go by.
            followed.stream = 1;
            (1..=others).for_each(|number| followed.page(number, number * 3600));
            followed.stream = 0;
            (3..6).for_each(|page| followed.page(0, page * 20));
            followed.pages_of(0)
        };
        assert_eq!([check(0), check(30)], [[6], [6]]);
    }

    #[test]
    fn visits_without_a_page_are_counted() {
        let mut followed = Followed::new(3);
        for visit in 0..3 {
            let mut part = Record::page_for_tests(0, visit * 10_000);
            part.flags = flag::ASSET;
            followed.ask(0, &part);
        }
        let pageless = |followed: &Followed| {
            let visits = followed.profiles[0].visits();
            visits.map_or(0, |visits| visits.pageless)
        };
        assert_eq!(pageless(&followed), 3);
        followed.page(0, 20_010);
        assert_eq!(pageless(&followed), 2, "the third has a page");
    }

    #[test]
    fn renumbered_visits_go_on() {
        let mut followed = Followed::new(4);
        for time in 0..5 {
            followed.page(0, time);
            followed.page(1, time);
        }
        for number in 2..4 {
            followed.page(number, 5);
        }
        followed.profiles = vec![
            std::mem::take(&mut followed.profiles[3]),
            std::mem::take(&mut followed.profiles[1]),
        ];
        followed.ongoing =
            std::mem::take(&mut followed.ongoing).renumber(&[None, Some(1), None, Some(0)]);
        for time in 6..11 {
            followed.page(0, time);
            followed.page(1, time);
        }
        assert_eq!(followed.pages_of(0), [6]);
        assert_eq!(followed.pages_of(1), [10]);
    }

    #[test]
    fn the_busiest_are_followed_in_turns() {
        let mut followed = Followed::new(1);
        for time in 0..10_000 {
            followed.page(0, time);
        }
        let pages: u32 = followed
            .pages_of(0)
            .iter()
            .map(|pages| u32::from(*pages))
            .sum();
        assert!((1000..2000).contains(&pages), "{pages}");
    }
}
