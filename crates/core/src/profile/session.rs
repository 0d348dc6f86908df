//! One visit while it goes on: what can be said of a client after a handful of requests.
//!
//! All values of the real-time decision tree (RTD) and those beyond it are sums that one request changes by little work, so that a gate
//! can ask at every page.

use super::pace::Pace;
use super::record::File;
use super::record::Record;
use super::record::Status;
use super::record::flag;
use super::record::is_start;
use crate::request::Tick;

/// A visit that goes on, or the sum of several.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session {
    /// Time of the first request.
    pub first: u32,
    /// Time of the latest request.
    pub last: u32,
    /// Time of the latest page request.
    last_page: u32,
    /// Time of the latest request that is neither a page nor a part of one.
    last_call: u32,
    /// Lower half of the latest page's hash.
    page: u16,
    /// All requests.
    pub requests: u16,
    /// Requests for pages.
    pub pages: u16,
    /// Requests for pictures.
    images: u16,
    /// Requests for style sheets, scripts, fonts and the site's icon.
    styles: u16,
    /// Requests that asked for headers alone.
    heads: u16,
    /// Answers 2xx, 3xx but 304, 304, 4xx.
    ok: u16,
    moved: u16,
    unchanged: u16,
    client_errors: u16,
    archives: u16,
    media: u16,
    texts: u16,
    binaries: u16,
    /// Page requests that follow another (siblings, see below, do not count), and the seconds between them: their sum, that of their squares, of their logarithms and of the
    /// squares of those.
    steps: u16,
    shortest: u16,
    longest: u16,
    waited: f32,
    waited_squares: f32,
    logarithms: f32,
    logarithm_squares: f32,
    /// Page requests that name the page before as the one that led there, those that name any page of this visit, the start page, or none.
    chain: u16,
    known: u16,
    origin: u16,
    unreferred: u16,
    /// Page requests opened from the same page as the one before: tabs, or a list that is worked through.
    siblings: u16,
    /// The page that led to the latest page: lower half of its hash.
    opener: u16,
    /// Pages and parts that were asked for before in this visit, by one bit of a filter each.
    pages_again: u16,
    styles_again: u16,
    pages_seen: u128,
    styles_seen: u128,
    /// Seconds from a page to its style sheets, scripts and icon; pages of which one came late.
    lag: u16,
    late: u16,
    /// Requests that are neither pages nor parts, such as those of a page's own scripts; the seconds between them, and their squares.
    calls: u16,
    call_steps: u16,
    call_waited: f32,
    call_squares: f32,
    /// Page requests in each quarter of the last minute.
    clicks: [u8; 4],
    clicks_max: u8,
    bits: u8,
    /// How evenly pages follow each other.
    pub pace: Pace,
}

/// What the log shows of everybody, to read one session by.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around {
    /// How far the site's clock is ahead of UTC, in hours.
    pub hours: i32,
    /// Page requests so far.
    pages: u64,
    /// Parts of pages.
    parts: u64,
    /// Page requests with a referrer.
    referrers: u64,
}

impl Around {
    /// What a log shows as a whole.
    pub fn of(pages: u64, parts: u64, referrers: u64) -> Around {
        Around {
            hours: 0,
            pages,
            parts,
            referrers,
        }
    }

    /// Takes in one request of anybody.
    pub fn observe(&mut self, record: &Record) {
        if record.is_page() {
            self.pages += 1;
            let named = flag::REFERRER_LOGGED | flag::REFERRER_EMPTY;
            self.referrers += u64::from(record.flags & named == flag::REFERRER_LOGGED);
        } else {
            self.parts += u64::from(record.has(flag::ASSET));
        }
    }

    /// Parts of pages are in the log. They are not where another server has them.
    fn has_parts(&self) -> bool {
        self.parts * RARE >= self.pages
    }

    /// Page requests name the page before, often enough to tell.
    pub fn has_referrers(&self) -> bool {
        self.referrers * RARE >= self.pages
    }
}

/// One part or referrer in so many pages, and the log has them.
const RARE: u64 = 20;

/// Bits of [`Session::bits`].
mod bit {
    pub(super) const ROBOTS: u8 = 1;
    /// The latest page has a late part already.
    pub(super) const LATE: u8 = 2;
}

/// Seconds from which a style sheet or a script comes late. Browsers ask for them as soon as they have read the page's head.
const LATE_SECONDS: u32 = 2;
/// Seconds after which a part belongs to what a person did on the page, not to the page.
const LAG_MAX: u32 = 30;
/// Seconds between requests of scripts that count at most.
const CALL_MAX: u32 = 60;
/// Seconds that a line may come after a later one: servers log a request when it ends.
const BACK_MAX: u32 = 60;
/// Seconds of a quarter of a minute.
const QUARTER: u32 = 15;
/// The night of the site, by the clock of its owner (RTD).
const NIGHT: std::ops::Range<u32> = 2..8;

/// Names of a session's values, in their order.
pub const VALUE_NAMES: [&str; VALUES] = [
    "image_share",
    "page_share",
    "client_error_share",
    "page_seconds",
    "clicks_per_minute",
    "head_share",
    "ok_share",
    "moved_share",
    "unchanged_share",
    "archive_share",
    "media_share",
    "text_share",
    "binary_share",
    "night",
    "page_seconds_deviation",
    "duration",
    "robots_txt",
    "log_seconds",
    "log_seconds_deviation",
    "shortest_seconds",
    "longest_seconds",
    "chain_share",
    "known_share",
    "origin_share",
    "sibling_share",
    "unreferred_share",
    "pages_again_share",
    "styles_per_page",
    "styles_again_per_page",
    "lag_seconds",
    "late_share",
    "calls_per_page",
    "call_seconds_deviation",
    "pages",
    "log_has_parts",
    "log_has_referrers",
];
/// How many values a session has. The first five are those of the paper's tree.
pub const VALUES: usize = 36;
/// Values of the paper's tree, and where it cuts them.
pub const PAPER_CUTS: [f64; 5] = [0.1, 0.6, 0.2, 50.0, 10.0];

impl Session {
    /// Takes in the next request. Times that run back count as no time.
    pub fn observe(&mut self, record: &Record) {
        if self.requests == 0 {
            (self.first, self.last) = (record.time, record.time);
        }
        let time = record.time.max(self.last);
        self.shift_clicks(time);
        self.last = time;
        add(&mut self.requests, true);
        self.observe_answer(record);
        if record.is_page() {
            self.observe_page(record, time);
        } else if record.has(flag::ASSET | flag::DRAWN) {
            self.observe_part(record, time);
        } else if record.has(flag::ROBOTS) {
            self.bits |= bit::ROBOTS;
        } else {
            self.observe_call(time);
        }
    }

    fn observe_answer(&mut self, record: &Record) {
        let answer = record.answer;
        add(&mut self.heads, answer.is_to_head());
        match answer.status() {
            Status::Ok => add(&mut self.ok, true),
            Status::Moved => add(&mut self.moved, true),
            Status::Unchanged => add(&mut self.unchanged, true),
            Status::ClientError => add(&mut self.client_errors, true),
            Status::Unknown | Status::ServerError => {}
        }
        match answer.file() {
            File::None => {}
            File::Archive => add(&mut self.archives, true),
            File::Media => add(&mut self.media, true),
            File::Text => add(&mut self.texts, true),
            File::Binary => add(&mut self.binaries, true),
        }
    }

    fn observe_page(&mut self, record: &Record, time: u32) {
        let from = record.from;
        if self.pages > 0 {
            // Browsers that name the site alone name its start page for every other.
            let names_page = from != 0 && !is_start(u32::from(from));
            let is_sibling = names_page && from == self.opener && from != self.page;
            match is_sibling {
                true => add(&mut self.siblings, true),
                false => self.step(time - self.last_page),
            }
            if record.tick().is_known() || self.pace.has_tick() {
                self.keep_pace(record, time, is_sibling.then_some(from));
            }
            add(&mut self.chain, from == self.page);
            let is_known = from != 0 && self.pages_seen & place(from) != 0;
            add(&mut self.known, is_known);
            add(&mut self.origin, is_start(u32::from(from)));
        } else if record.tick().is_known() {
            self.pace.skip(record.tick());
        }
        self.opener = from;
        add(&mut self.pages, true);
        add(&mut self.unreferred, record.has(flag::REFERRER_EMPTY));
        let seen = see(&mut self.pages_seen, record.page as u16);
        add(&mut self.pages_again, seen);
        self.clicks[0] = self.clicks[0].saturating_add(1);
        let clicks = self
            .clicks
            .iter()
            .fold(0_u8, |sum, one| sum.saturating_add(*one));
        self.clicks_max = self.clicks_max.max(clicks);
        (self.last_page, self.page) = (time, record.page as u16);
        self.bits &= !bit::LATE;
    }

    /// Compares the time from the last page to this one with the one before.
    #[cold]
    fn keep_pace(&mut self, record: &Record, time: u32, sibling_of: Option<u16>) {
        let is_again = self.pages_seen & place(record.page as u16) != 0;
        // Scripts of a page that was left open call with a new query each time.
        match sibling_of.is_some() || is_again || record.has(flag::QUERY) {
            true => self.pace.skip(record.tick()),
            false => self.pace.step(time - self.last_page, record.tick()),
        }
    }

    /// Notes the time between two pages.
    fn step(&mut self, seconds: u32) {
        let whole = seconds.min(u32::from(u16::MAX)) as u16;
        self.shortest = match self.steps {
            0 => whole,
            _ => self.shortest.min(whole),
        };
        self.longest = self.longest.max(whole);
        add(&mut self.steps, true);
        let seconds = f32::from(whole);
        self.waited += seconds;
        self.waited_squares += seconds * seconds;
        // Within the same second: half of it.
        let logarithm = seconds.max(0.5).ln();
        self.logarithms += logarithm;
        self.logarithm_squares += logarithm * logarithm;
    }

    fn observe_part(&mut self, record: &Record, time: u32) {
        if record.has(flag::ASSET) && record.has(flag::IMAGE) {
            add(&mut self.images, true);
            // Pictures come when somebody scrolls down to them.
            return;
        }
        add(&mut self.styles, true);
        let seen = see(&mut self.styles_seen, record.part() as u16);
        add(&mut self.styles_again, seen);
        let seconds = time - self.last_page;
        // To the nearest second, where the log is more exact.
        let lag = match self.pace.ticks(seconds, record.tick()) {
            Some(ticks) => (ticks + Tick::PER_SECOND / 2) / Tick::PER_SECOND,
            None => seconds,
        };
        if self.pages == 0 || lag > LAG_MAX {
            return;
        }
        self.lag = self.lag.saturating_add(lag as u16);
        if lag >= LATE_SECONDS && self.bits & bit::LATE == 0 {
            self.bits |= bit::LATE;
            add(&mut self.late, true);
        }
    }

    fn observe_call(&mut self, time: u32) {
        if self.calls > 0 {
            let seconds = (time - self.last_call).min(CALL_MAX) as f32;
            add(&mut self.call_steps, true);
            self.call_waited += seconds;
            self.call_squares += seconds * seconds;
        }
        add(&mut self.calls, true);
        self.last_call = time;
    }

    /// Moves the quarters of the last minute on to this time.
    fn shift_clicks(&mut self, time: u32) {
        // The latest quarter is the lowest byte.
        let quarters = (time / QUARTER - self.last / QUARTER).min(4);
        let clicks = u64::from(u32::from_le_bytes(self.clicks)) << (8 * quarters);
        self.clicks = (clicks as u32).to_le_bytes();
    }

    /// Whether it has ended at this time. A clock that was set back ends it, too: what follows would seem to come at once.
    pub fn is_over(&self, time: u32, silence: u32) -> bool {
        let is_back = self.last.saturating_sub(time) > BACK_MAX;
        is_back || time.saturating_sub(self.last) > silence
    }

    /// True for parts of pages, and no page.
    pub fn is_pageless(&self) -> bool {
        self.pages == 0 && self.images.saturating_add(self.styles) > 0
    }

    /// What it measures, in the order of [`VALUE_NAMES`].
    pub fn values(&self, around: &Around) -> [f64; VALUES] {
        let share = |part: u16, of: u16| f64::from(part) / f64::from(of.max(1));
        let of_requests = |part: u16| share(part, self.requests);
        let of_pages = |part: u16| share(part, self.pages);
        let steps = f64::from(self.steps.max(1));
        let (mean, deviation) = moments(self.waited, self.waited_squares, steps);
        let (log_mean, log_deviation) = moments(self.logarithms, self.logarithm_squares, steps);
        let call_steps = f64::from(self.call_steps.max(1));
        let (_, call_deviation) = moments(self.call_waited, self.call_squares, call_steps);
        let hour = (self.first as i64 / 3600 + i64::from(around.hours)).rem_euclid(24) as u32;
        [
            of_requests(self.images),
            of_requests(self.pages),
            of_requests(self.client_errors),
            mean,
            f64::from(self.clicks_max),
            of_requests(self.heads),
            of_requests(self.ok),
            of_requests(self.moved),
            of_requests(self.unchanged),
            of_requests(self.archives),
            of_requests(self.media),
            of_requests(self.texts),
            of_requests(self.binaries),
            f64::from(u8::from(NIGHT.contains(&hour))),
            deviation,
            f64::from(self.last - self.first),
            f64::from(self.bits & bit::ROBOTS),
            log_mean,
            log_deviation,
            f64::from(self.shortest),
            f64::from(self.longest),
            of_pages(self.chain),
            of_pages(self.known),
            of_pages(self.origin),
            of_pages(self.siblings),
            of_pages(self.unreferred),
            of_pages(self.pages_again),
            of_pages(self.styles),
            of_pages(self.styles_again),
            share(self.lag, self.styles),
            of_pages(self.late),
            of_pages(self.calls),
            call_deviation,
            f64::from(self.pages),
            f64::from(u8::from(around.has_parts())),
            f64::from(u8::from(around.has_referrers())),
        ]
    }
}

/// Counts one up where something is so.
fn add(count: &mut u16, is_so: bool) {
    *count = count.saturating_add(u16::from(is_so));
}

/// The bit of a hash in a filter of 128.
fn place(hash: u16) -> u128 {
    1 << (u32::from(hash).wrapping_mul(0x9e37_79b9) >> 25)
}

/// Notes a hash in a filter. True where it may have been there.
fn see(filter: &mut u128, hash: u16) -> bool {
    let seen = *filter & place(hash) != 0;
    *filter |= place(hash);
    seen
}

/// Mean and deviation of so many values.
fn moments(sum: f32, squares: f32, many: f64) -> (f64, f64) {
    let mean = f64::from(sum) / many;
    let variance = f64::from(squares) / many - mean * mean;
    (mean, variance.max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::Gathered;
    use super::super::Recorder;
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::request::Client;
    use crate::request::Field;
    use crate::request::Request;

    /// A session of requests: seconds since midnight, method, target, status, referrer.
    fn session(requests: &[(u32, &str, &str, u16, &str)]) -> Session {
        let knowledge = Knowledge::new("[]", Vec::new()).unwrap();
        let recorder = Recorder::new(1, &[]).unwrap();
        let mut session = Session::default();
        for (time, method, target, status, referrer) in requests {
            let request = Request {
                client: Client::Written(b"192.0.2.1"),
                time: *time,
                method: method.as_bytes(),
                target: target.as_bytes(),
                status: *status,
                referrer: Field::logged(referrer.as_bytes()),
                ..Request::default()
            };
            let record = recorder.record(&request, &knowledge, &mut Gathered::default());
            session.observe(&record);
        }
        session
    }

    fn value(session: &Session, name: &str) -> f64 {
        let at = VALUE_NAMES.iter().position(|known| *known == name);
        session.values(&Around::default())[at.unwrap()]
    }

    #[test]
    fn a_reader_with_a_browser() {
        let session = session(&[
            (36_000, "GET", "/", 200, "-"),
            (36_000, "GET", "/a.css", 200, "https://example.com/"),
            (36_001, "GET", "/a.js", 200, "https://example.com/"),
            (36_001, "GET", "/a.png", 200, "https://example.com/"),
            (36_040, "GET", "/news/", 200, "https://example.com/"),
            (36_043, "GET", "/a.css", 304, "https://example.com/news/"),
            (
                36_043,
                "POST",
                "/api/seen",
                204,
                "https://example.com/news/",
            ),
            (
                36_050,
                "GET",
                "/paper.pdf",
                404,
                "https://example.com/news/",
            ),
        ]);
        for (name, expected) in [
            ("image_share", 0.125),
            ("page_share", 0.25),
            ("client_error_share", 0.125),
            ("page_seconds", 40.0),
            ("clicks_per_minute", 2.0),
            ("unchanged_share", 0.125),
            ("ok_share", 0.75),
            ("text_share", 0.125),
            ("duration", 50.0),
            ("night", 0.0),
            ("chain_share", 0.5),
            ("known_share", 0.5),
            ("origin_share", 0.5),
            ("sibling_share", 0.0),
            ("unreferred_share", 0.5),
            ("styles_per_page", 1.5),
            ("styles_again_per_page", 0.5),
            ("late_share", 0.5),
            ("calls_per_page", 1.0),
            ("pages", 2.0),
        ] {
            assert_eq!(value(&session, name), expected, "{name}");
        }
        assert!((value(&session, "lag_seconds") - 4.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn clicks_of_the_last_minute() {
        let click = |time: u32| (time, "GET", "/a", 200, "-");
        let steady: Vec<_> = (0..40).map(|number| click(number * 6)).collect();
        assert_eq!(value(&session(&steady), "clicks_per_minute"), 10.0);
        let late: Vec<_> = (0..40).map(|number| click(number * 100)).collect();
        assert_eq!(value(&session(&late), "clicks_per_minute"), 1.0);
    }

    #[test]
    fn times_that_run_back_are_no_time() {
        let session = session(&[
            (500, "GET", "/a", 200, "-"),
            (100, "GET", "/b", 200, "-"),
            (u32::MAX, "GET", "/c", 200, "-"),
            (0, "GET", "/robots.txt", 200, "-"),
        ]);
        assert_eq!(value(&session, "shortest_seconds"), 0.0);
        assert_eq!(value(&session, "longest_seconds"), 65_535.0);
        assert_eq!(value(&session, "robots_txt"), 1.0);
        let around = Around {
            hours: -12,
            ..Around::default()
        };
        assert!(
            session
                .values(&around)
                .iter()
                .all(|value| value.is_finite())
        );
    }

    #[test]
    fn a_million_fit_a_quarter_of_a_gibibyte() {
        assert!(size_of::<Session>() <= 192, "{}", size_of::<Session>());
    }
}
