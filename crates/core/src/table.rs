//! All profiles of one bucket of sources: the one place a source lives in.

mod chunks;
mod eviction;
mod visits;

pub use eviction::Weight;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::hosts::HOST_BITS;
use crate::profile::Answer;
use crate::profile::BIN_SECONDS;
use crate::profile::Profile;
use crate::profile::Record;
use crate::profile::Took;
use crate::profile::Visit;
use crate::profile::flag;
use crate::request::Source;
use crate::request::SourceKind;
use crate::site::Site;
use chunks::Chunks;
use visits::Ongoing;

/// Where a time falls: which window of the log, which half hour of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Start of window 0: whole windows before the UTC midnight of the first request, so that no time lies before it.
    pub origin: u32,
    /// Half hours in a window.
    pub bins: u32,
    /// Seconds of silence that end a visit.
    pub silence: u32,
}

impl Clock {
    /// A clock for a log that starts at `first`.
    pub fn new(first: u32, window_seconds: u32, silence: u32) -> Clock {
        let bins = (window_seconds / BIN_SECONDS).max(1);
        let midnight = first - first % 86_400;
        Clock {
            origin: midnight % (bins * BIN_SECONDS),
            bins,
            silence,
        }
    }

    /// Window and half hour of a time.
    pub fn place(&self, time: u32) -> (u32, u16) {
        let HalfHour { window, bin, .. } = self.half_hour(time);
        (window, bin)
    }

    fn half_hour(&self, time: u32) -> HalfHour {
        let bin = time.saturating_sub(self.origin) / BIN_SECONDS;
        HalfHour {
            start: self.origin + bin * BIN_SECONDS,
            window: bin / self.bins,
            bin: (bin % self.bins) as u16,
        }
    }

    /// The first second of a window and the first after it.
    pub fn span(&self, window: Window) -> (u32, u32) {
        let start = self
            .origin
            .saturating_add(window.number().saturating_mul(self.bins * BIN_SECONDS));
        (start, start.saturating_add(self.bins * BIN_SECONDS))
    }
}

/// A half hour by its start, its window and its place there.
#[derive(Clone, Copy)]
struct HalfHour {
    start: u32,
    window: u32,
    bin: u16,
}

impl HalfHour {
    fn holds(&self, time: u32) -> bool {
        time.wrapping_sub(self.start) < BIN_SECONDS
    }
}

/// What one profile covers: a window of time, of one host where each is judged for itself. Ordered by time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window(u32);

impl Window {
    /// A window by its number, of one host. There are less than 2^22 windows of half an hour before times end.
    pub fn new(number: u32, host: u16) -> Window {
        Window(number << HOST_BITS | u32::from(host))
    }

    /// Its number since the clock's origin.
    pub fn number(self) -> u32 {
        self.0 >> HOST_BITS
    }

    /// The number of the host.
    pub fn host(self) -> u16 {
        self.0 as u16 & ((1 << HOST_BITS) - 1)
    }
}

/// Profiles by source and window. Goes through them in sorted order only, so that no hash shows in a result.
#[derive(Debug)]
pub struct Table {
    index: HashTable<Entry>,
    slots: Chunks<Slot>,
    /// Profiles of sources with more than one request. They lie together, so that folding a table stays in few pages of
    /// memory: scattered over the heap they cost a tenth of the time.
    profiles: Chunks<Profile>,
    visits: Ongoing,
    hasher: RandomState,
    /// Totals of this table's requests by window.
    sites: Vec<(Window, Site)>,
    /// Places in `sites`.
    site_index: BTreeMap<Window, usize>,
    /// The place asked for last.
    last_site: usize,
}

/// One source in one window. Most send a single request: that one is kept as it came.
#[derive(Debug)]
struct Slot {
    source: u64,
    window: Window,
    kind: SourceKind,
    /// Of the answer to its single request.
    traits: [u8; 3],
    body: Requests,
}

#[derive(Debug)]
enum Requests {
    One(Single),
    /// The number of its profile.
    Many(u32),
}

/// A record without its source, session and referring host, and with 32 bits for its size.
#[derive(Debug, Clone, Copy)]
struct Single {
    order: [u32; 2],
    bytes: u32,
    time: u32,
    page: u32,
    group: u16,
    from: u16,
    agent: u32,
    flags: u32,
    /// The robot, and above it the stream.
    robot: u16,
    took: Took,
}

/// Bits for the number of a robot: the lists have some two thousand.
const ROBOT_BITS: u32 = 12;

impl Single {
    /// The short form, where the record has one.
    fn of(record: &Record, stream: u16) -> Option<Single> {
        let names_host = flag::REFERRER_LISTING | flag::REFERRER_ODD;
        let lossless = record.session == 0 && !record.has(names_host);
        let fits = record.robot >> ROBOT_BITS == 0 && stream >> (16 - ROBOT_BITS) == 0;
        let bytes = u32::try_from(record.bytes())
            .ok()
            .filter(|_| lossless && fits)?;
        Some(Single {
            order: [(record.order >> 32) as u32, record.order as u32],
            bytes,
            time: record.time,
            page: record.page,
            group: record.group,
            from: record.from,
            agent: record.agent,
            flags: record.flags,
            robot: record.robot | stream << ROBOT_BITS,
            took: record.took,
        })
    }

    fn stream(&self) -> u16 {
        self.robot >> ROBOT_BITS
    }

    fn record(&self, source: u64, traits: [u8; 3]) -> Record {
        Record {
            source,
            answer: Answer::join(self.bytes, traits),
            order: u64::from(self.order[0]) << 32 | u64::from(self.order[1]),
            time: self.time,
            page: self.page,
            group: self.group,
            from: self.from,
            agent: self.agent,
            session: 0,
            referrer_host: 0,
            host: 0,
            flags: self.flags,
            robot: self.robot & ((1 << ROBOT_BITS) - 1),
            took: self.took,
        }
    }
}

/// A place in the index: which slot, and bits of the key's hash that tell nearly all others apart without a look at it.
#[derive(Debug, Clone, Copy)]
struct Entry {
    tag: u32,
    slot: u32,
}

/// Records looked up together, so that the memory of one is fetched while the next is looked up: sources lie scattered
/// over hundreds of megabytes, and waiting for each in turn took half of the time.
const BATCH: usize = 16;

impl Table {
    /// An empty table; all tables of one analysis share the hasher.
    pub fn new(hasher: RandomState) -> Table {
        Table {
            index: HashTable::new(),
            slots: Chunks::new(),
            profiles: Chunks::new(),
            visits: Ongoing::default(),
            hasher,
            sites: Vec::new(),
            site_index: BTreeMap::new(),
            last_site: 0,
        }
    }

    /// Takes in records of one stream, in their order.
    pub fn fold(&mut self, records: &[Record], stream: u16, clock: &Clock) {
        let Some(first) = records.first() else { return };
        // Records come nearly in order of time: the half hour is nearly always the one before, and two divisions less.
        let mut half_hour = clock.half_hour(first.time);
        let mut batch = [Ahead::default(); BATCH];
        for records in records.chunks(BATCH) {
            for (ahead, record) in batch.iter_mut().zip(records) {
                if !half_hour.holds(record.time) {
                    half_hour = clock.half_hour(record.time);
                }
                let window = Window::new(half_hour.window, record.host);
                let hash = self.hash(record.source, window);
                let near = self.index.find(hash, |entry| entry.tag == tag(hash));
                *ahead = Ahead {
                    slot: near.map(|entry| entry.slot),
                    hash,
                    place: Place {
                        stream,
                        window,
                        bin: half_hour.bin,
                    },
                };
            }
            self.fetch(&batch[..records.len()]);
            for (ahead, record) in batch.iter().zip(records) {
                if !record.is_dead() {
                    self.take_in(record, ahead, clock);
                }
            }
        }
    }

    fn take_in(&mut self, record: &Record, ahead: &Ahead, clock: &Clock) {
        let Place {
            stream,
            window,
            bin,
        } = ahead.place;
        let site = self.site(window);
        self.sites[site].1.observe(record);
        let near = ahead
            .slot
            .filter(|at| self.slots.get(*at).is(record.source(), window));
        match near.or_else(|| self.find(ahead.hash, record.source(), window)) {
            Some(at) => {
                let number = self.profile_number(at, clock);
                let profile = self.profiles.get_mut(number);
                let viewing = profile.observe(record, stream, bin, clock.bins as usize);
                self.sites[site].1.observe_view(viewing);
                self.visits
                    .observe((number, profile), record, (stream, clock.silence));
            }
            None => self.insert(record, ahead, clock),
        }
    }

    fn hash(&self, source: u64, window: Window) -> u64 {
        self.hasher.hash_one((source, window))
    }

    fn find(&self, hash: u64, source: Source, window: Window) -> Option<u32> {
        let same =
            |entry: &Entry| entry.tag == tag(hash) && self.slots.get(entry.slot).is(source, window);
        self.index.find(hash, same).map(|entry| entry.slot)
    }

    /// Reads a little of each slot, then of each profile, without using it: by the time it is needed it is near.
    fn fetch(&self, batch: &[Ahead]) {
        let near = batch.iter().filter_map(|ahead| ahead.slot.as_ref());
        let mut sum: usize = near
            .clone()
            .map(|at| self.slots.get(*at).window.0 as usize)
            .sum();
        for at in near {
            if let Requests::Many(profile) = self.slots.get(*at).body {
                sum += self.profiles.get(profile).touch();
            }
        }
        std::hint::black_box(sum);
    }

    fn insert(&mut self, record: &Record, ahead: &Ahead, clock: &Clock) {
        let source = record.source();
        let place = &ahead.place;
        let body = match Single::of(record, place.stream) {
            Some(single) => Requests::One(single),
            None => {
                let mut profile = Profile::default();
                profile.observe(record, place.stream, place.bin, clock.bins as usize);
                let number = self.profiles.push(profile);
                let profile = self.profiles.get_mut(number);
                self.visits
                    .observe((number, profile), record, (place.stream, clock.silence));
                Requests::Many(number)
            }
        };
        let slot = Slot {
            source: source.value,
            window: place.window,
            kind: source.kind,
            traits: record.answer.traits(),
            body,
        };
        self.push(ahead.hash, slot);
    }

    /// Adds a slot that is not there yet, by the hash of its source and window.
    fn push(&mut self, hash: u64, slot: Slot) {
        let Table {
            index,
            slots,
            hasher,
            ..
        } = self;
        let rehash = |entry: &Entry| {
            let slot = slots.get(entry.slot);
            hasher.hash_one((slot.source, slot.window))
        };
        let entry = Entry {
            tag: tag(hash),
            slot: slots.len() as u32,
        };
        index.insert_unique(hash, entry, rehash);
        slots.push(slot);
    }

    /// The place of a window's totals.
    #[inline]
    fn site(&mut self, window: Window) -> usize {
        // Logs are nearly in order: the window is nearly always the last one asked for.
        let is_last = |(known, _): &(Window, Site)| *known == window;
        if !self.sites.get(self.last_site).is_some_and(is_last) {
            self.find_site(window);
        }
        self.last_site
    }

    #[cold]
    fn find_site(&mut self, window: Window) {
        self.last_site = *self.site_index.entry(window).or_insert(self.sites.len());
        if self.last_site == self.sites.len() {
            self.sites.push((window, Site::default()));
        }
    }

    /// Notes which long visits go on, for [`Table::take_watched`].
    pub fn watch(&mut self) {
        self.visits.watch();
    }

    /// True where [`Table::take_watched`] has something to go through.
    pub fn has_watched(&self) -> bool {
        self.visits.has_watched()
    }

    /// Goes through the long visits that had requests since the last call. Each may come more than once.
    pub fn take_watched(&mut self, mut visit: impl FnMut(Source, &Visit)) {
        for (number, source) in self.visits.take_watched() {
            let visits = self.profiles.get(number).visits();
            if let Some(latest) = visits.and_then(|visits| visits.long().last()) {
                visit(source, latest);
            }
        }
    }

    /// Requests behind a trap since the last call, of those who went on there.
    pub fn take_trapped(&mut self) -> Vec<Record> {
        self.visits.take_trapped()
    }

    /// Totals by window.
    pub fn sites(&self) -> &[(Window, Site)] {
        &self.sites
    }

    /// Gives back the memory of the index: the table is only read from here on.
    pub fn seal(&mut self) {
        self.index = HashTable::new();
    }

    /// All slots, the windows of each source together.
    fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.slots.len() as u32).collect();
        // With a single window every source has a single slot, and what is made of them is sorted later.
        if self.sites.len() > 1 {
            order.sort_unstable_by_key(|at| {
                let slot = self.slots.get(*at);
                (slot.kind, slot.source, slot.window)
            });
        }
        order
    }

    /// Goes through the profiles of all sources with more than one request, in no order.
    pub fn for_each_busy(&self, mut visit: impl FnMut(Window, &Profile)) {
        for slot in self.slots.iter() {
            if let Requests::Many(profile) = slot.body {
                visit(slot.window, self.profiles.get(profile));
            }
        }
    }

    /// Goes through all profiles, in no order.
    pub fn for_each(&self, clock: &Clock, mut visit: impl FnMut(Source, Window, &Profile)) {
        let mut scratch = Profile::default();
        for slot in self.slots.iter() {
            let source = Source {
                kind: slot.kind,
                value: slot.source,
            };
            match &slot.body {
                Requests::Many(number) => visit(source, slot.window, self.profiles.get(*number)),
                Requests::One(single) => {
                    single.unfold((slot.source, slot.traits), clock, &mut scratch);
                    visit(source, slot.window, &scratch);
                }
            }
        }
    }

    /// Goes through the table: one call for each source, with its windows in their order.
    pub fn for_each_source(
        &self,
        clock: &Clock,
        mut visit: impl FnMut(Source, &mut dyn Iterator<Item = (Window, &Profile)>),
    ) {
        let mut scratch = Profile::default();
        let key = |at: &u32| {
            let slot = self.slots.get(*at);
            (slot.kind, slot.source)
        };
        for run in self.order().chunk_by(|a, b| key(a) == key(b)) {
            let first = self.slots.get(run[0]);
            let source = Source {
                kind: first.kind,
                value: first.source,
            };
            // The single request of most sources becomes a profile in the one scratch place.
            if let ([_], Requests::One(single)) = (run, &first.body) {
                single.unfold((first.source, first.traits), clock, &mut scratch);
                visit(source, &mut std::iter::once((first.window, &scratch)));
                continue;
            }
            let profiles: Vec<(Window, Cow<'_, Profile>)> = run
                .iter()
                .map(|at| self.slots.get(*at))
                .map(|slot| (slot.window, self.view(slot, clock)))
                .collect();
            visit(
                source,
                &mut profiles
                    .iter()
                    .map(|(window, profile)| (*window, profile.as_ref())),
            );
        }
    }
}

/// Bits of the hash that the index itself does not use.
fn tag(hash: u64) -> u32 {
    (hash >> 24) as u32
}

/// Where a record will probably go.
#[derive(Clone, Copy, Default)]
struct Ahead {
    slot: Option<u32>,
    /// Of its source and window.
    hash: u64,
    place: Place,
}

/// Where in time a record belongs.
#[derive(Clone, Copy, Default)]
struct Place {
    stream: u16,
    window: Window,
    bin: u16,
}

impl Single {
    /// Makes it a profile. What it leaves out stands in its slot.
    fn unfold(&self, (source, traits): (u64, [u8; 3]), clock: &Clock, profile: &mut Profile) {
        *profile = Profile::default();
        let (_, bin) = clock.place(self.time);
        let stream = self.stream();
        let record = self.record(source, traits);
        profile.observe(&record, stream, bin, clock.bins as usize);
    }
}

impl Slot {
    fn is(&self, source: Source, window: Window) -> bool {
        self.source == source.value && self.window == window && self.kind == source.kind
    }
}

impl Table {
    /// The number of a slot's profile, which is made from the first request when the second comes.
    fn profile_number(&mut self, at: u32, clock: &Clock) -> u32 {
        let slot = self.slots.get_mut(at);
        let single = match &slot.body {
            Requests::Many(number) => return *number,
            Requests::One(single) => *single,
        };
        let mut profile = Profile::default();
        single.unfold((slot.source, slot.traits), clock, &mut profile);
        let first = single.record(slot.source, slot.traits);
        let stream = single.stream();
        let number = self.profiles.push(profile);
        slot.body = Requests::Many(number);
        let profile = self.profiles.get_mut(number);
        self.visits
            .observe((number, profile), &first, (stream, clock.silence));
        number
    }

    fn view(&self, slot: &Slot, clock: &Clock) -> Cow<'_, Profile> {
        match &slot.body {
            Requests::Many(number) => Cow::Borrowed(self.profiles.get(*number)),
            Requests::One(single) => {
                let mut profile = Profile::default();
                single.unfold((slot.source, slot.traits), clock, &mut profile);
                Cow::Owned(profile)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_with_one_request_takes_64_bytes_with_its_share_of_the_index() {
        // The index holds four bytes and one control byte at a load of 7/16 to 7/8: 8 bytes on average.
        assert!(size_of::<Slot>() <= 56, "{}", size_of::<Slot>());
    }

    #[test]
    fn windows_tumble_from_the_first_midnight() {
        let clock = Clock::new(86_400 * 12 + 5, 5 * 86_400, 1800);
        assert_eq!(clock.place(86_400 * 12), (2, 0));
        assert_eq!(clock.place(86_400 * 12 - 1), (1, 239));
        assert_eq!(clock.place(86_400 * 17 - 1), (2, 239));
        assert_eq!(clock.place(86_400 * 17), (3, 0));
        assert_eq!(clock.span(Window::new(2, 7)), (86_400 * 12, 86_400 * 17));
    }
}
