//! The limits: how much an unknown source may take before it must show that it is no crawler.

use serde::Deserialize;

use super::rates::Pace;

/// Clearances of a source in a day that have the full budget: a household, or a browser that reads all day.
const FULL_CLEARANCES: u32 = 8;
/// A page each millisecond, by which buckets count.
const PAGES_A_MINUTE_MAX: u32 = 60_000;

/// The `[policy]` part of the settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Pages in a day up to which an unknown source passes.
    pub k1: u32,
    /// Pages in a day from which a source is judged.
    pub k2: u32,
    /// Probability from which a visit is suspicious, and meets a challenge before `k1`.
    pub suspect_from: f64,
    /// Pages in a day up to which the unknown sources of one /24 or /48 network pass; other lengths have a multiple of it.
    pub network_pages: u32,
    /// Pages in a day up to which a group of unknown sources with one fingerprint passes, where something tells it from people; groups are not
    /// counted where this is 0.
    pub group_pages: u32,
    /// Documents that count as one page.
    pub documents_per_page: u32,
    /// Parts of pages in a day that may be answered with an error page before such answers count as pages.
    pub broken_parts: u32,
    /// Pages in a day of a signed-in person, before they must wait.
    pub user_pages: u32,
    /// Pages a minute of a signed-in person.
    pub user_pages_a_minute: u32,
    /// Pages that they may have at once.
    pub user_burst: u32,
    /// Pages in a day of a signed-in person who was suspected twice of crawling.
    pub throttled_user_pages: u32,
    /// Pages a minute of such a person.
    pub throttled_user_pages_a_minute: u32,
    /// Pages for which a clearance is good.
    pub clearance_pages: u32,
    /// Hours for which a clearance is good.
    pub clearance_hours: u32,
    /// Pages a second that a clearance allows.
    pub clearance_rate: f64,
    /// Pages that it allows at once.
    pub clearance_burst: u32,
    /// Pages for which a clearance is good that was earned by answering a question; no question is asked where this is 0.
    pub question_pages: u32,
    /// Seconds after which the answer to a question counts; also the least time between two answers of a source.
    pub question_seconds: u32,
    /// Days for which a source that was judged a crawler is denied.
    pub deny_days: u32,
    /// Days for which a crowd of people behind one address, or a proven robot, is allowed.
    pub allow_days: u32,
    /// Pages in a day up to which a crowd is allowed at most; no crowd is allowed where this is not above `k2`.
    pub allow_pages_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            k1: 20,
            k2: 1000,
            suspect_from: 0.98,
            network_pages: 1000,
            group_pages: 200,
            documents_per_page: 25,
            broken_parts: 40,
            user_pages: 5000,
            user_pages_a_minute: 60,
            user_burst: 60,
            throttled_user_pages: 200,
            throttled_user_pages_a_minute: 2,
            clearance_pages: 500,
            clearance_hours: 24,
            clearance_rate: 2.0,
            clearance_burst: 40,
            question_pages: 20,
            question_seconds: 20,
            deny_days: 7,
            allow_days: 30,
            allow_pages_max: 20_000,
        }
    }
}

impl Limits {
    /// What cannot be meant, in words.
    pub fn check(&self) -> Result<(), String> {
        if self.k1 > self.k2 {
            return Err(format!(
                "k1 = {} must not be above k2 = {}",
                self.k1, self.k2
            ));
        }
        for (name, days) in [
            ("deny_days", self.deny_days),
            ("allow_days", self.allow_days),
        ] {
            if !(1..=3660).contains(&days) {
                return Err(format!("{name} must lie between 1 and 3660"));
            }
        }
        if self.clearance_pages == 0 || self.clearance_hours == 0 {
            return Err(
                "a clearance must be good for a page and an hour at least, or nobody who solves a challenge gets in"
                    .to_owned(),
            );
        }
        if !(1..=60).contains(&self.question_seconds) {
            return Err("question_seconds must lie between 1 and 60".to_owned());
        }
        if !(0.5..=1.0).contains(&self.suspect_from) {
            return Err("suspect_from must lie between 0.5 and 1".to_owned());
        }
        if self.user_pages == 0 || self.user_pages_a_minute == 0 || self.user_burst == 0 {
            return Err(
                "user_pages, user_pages_a_minute and user_burst must be 1 or more; to treat signed-in people like others, remove [gate.sign_in]"
                    .to_owned(),
            );
        }
        if self.throttled_user_pages == 0 || self.throttled_user_pages_a_minute == 0 {
            return Err(
                "throttled_user_pages and throttled_user_pages_a_minute must be 1 or more: a person may be among those who are throttled"
                    .to_owned(),
            );
        }
        for (name, pages) in [
            ("user_pages_a_minute", self.user_pages_a_minute),
            (
                "throttled_user_pages_a_minute",
                self.throttled_user_pages_a_minute,
            ),
        ] {
            if pages > PAGES_A_MINUTE_MAX {
                return Err(format!("{name} must be {PAGES_A_MINUTE_MAX} or less"));
            }
        }
        if self.documents_per_page == 0 {
            return Err("documents_per_page must be 1 or more".to_owned());
        }
        if !(0.01..=1_000_000.0).contains(&self.clearance_rate) || self.clearance_burst == 0 {
            return Err(
                "clearance_rate must lie between 0.01 and 1000000, clearance_burst above 0"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Pages in a day up to which the unknown sources of a network pass, by the length of its prefix.
    ///
    /// A /56 is one household, or 256 telephones; a /48 one company, or 65,536 telephones; a /32 a provider. Each level has four times the
    /// budget of the one below: enough for a site of 80,000 pages a day where one provider brings 30 % of them, 65 % of these over IPv6
    /// from a single /32.
    pub fn network_budget(&self, length: u8) -> u32 {
        match length {
            32 => self.network_pages.saturating_mul(16),
            40 => self.network_pages.saturating_mul(4),
            56 => self.network_pages.div_ceil(4),
            _ => self.network_pages,
        }
    }

    /// Pages for which a new clearance is good, where so many were given out before around the same source within a day.
    ///
    /// The first ones have the full budget. From then on they share it, down to what an unknown source may have: an address with thousands
    /// of people behind it turns nobody away, and one that hoards clearances gains little by each.
    pub fn clearance_budget(&self, given: u32) -> u32 {
        self.share(self.clearance_pages, given)
    }

    /// The same for a clearance that was earned behind a denial: what an unknown source may have.
    pub fn lifted_budget(&self) -> u32 {
        self.k1.min(self.clearance_pages).max(1)
    }

    /// The same for a clearance that was earned by answering a question.
    pub fn question_budget(&self, given: u32) -> u32 {
        self.share(self.question_pages.min(self.clearance_pages), given)
    }

    fn share(&self, full: u32, given: u32) -> u32 {
        let shared = u64::from(full) * u64::from(FULL_CLEARANCES);
        let share = shared / u64::from(given.saturating_add(1).max(FULL_CLEARANCES));
        let least = self.k1.min(full).max(1);
        (share as u32).max(least)
    }

    /// How fast a clearance can be used.
    pub(super) fn pace(&self) -> Pace {
        let each_ms = ((1000.0 / self.clearance_rate) as u64).max(1);
        Pace {
            each_ms,
            room_ms: each_ms.saturating_mul(u64::from(self.clearance_burst)),
        }
    }

    /// How fast a signed-in person may ask.
    pub(super) fn user_pace(&self) -> Pace {
        let each_ms = (60_000 / u64::from(self.user_pages_a_minute.max(1))).max(1);
        Pace {
            each_ms,
            room_ms: each_ms.saturating_mul(u64::from(self.user_burst)),
        }
    }

    /// How fast people are who were suspected twice of crawling. A page and what it leads to at once may come together.
    pub(super) fn throttled_pace(&self) -> Pace {
        let each_ms = (60_000 / u64::from(self.throttled_user_pages_a_minute.max(1))).max(1);
        Pace {
            each_ms,
            room_ms: each_ms.saturating_mul(5),
        }
    }

    /// The documented defaults, as a part of the settings file.
    pub fn manual() -> String {
        let limits = Limits::default();
        format!(
            "\n[policy]\n\
             # Page requests in 24 hours up to which an unknown source passes, and from which it is judged. In between, and while no\n\
             # verdict is known, it must solve a challenge ('cattlegrid plan' shows what other values would have cost).\n\
             k1 = {}\n\
             k2 = {}\n\
             # A client whose visit of five pages or more is a robot's with at least this probability is challenged before k1; it is never\n\
             # denied for this alone. 1 turns this off.\n\
             suspect_from = {:?}\n\
             # Page requests in 24 hours that the unknown sources of one /24 (IPv4) or /48 (IPv6) network may send together. An IPv6 /56\n\
             # has a quarter of it, a /40 four times and a /32 sixteen times as much.\n\
             network_pages = {}\n\
             # Page requests in 24 hours, from all networks together, of the unknown sources with one fingerprint (user agent, form of header\n\
             # fields, TLS and HTTP/2 handshake) that do not behave as browsers do. Above it they are challenged from their first or second\n\
             # page on. 0 turns this off.\n\
             group_pages = {}\n\
             # Documents (JSON, text, feeds, PDF and other files) that count as one page.\n\
             documents_per_page = {}\n\
             # HTML counts as a page whatever its name and status. Style sheets, scripts and images of a source that are answered with\n\
             # an HTML error page count only beyond this number in 24 hours.\n\
             broken_parts = {}\n\
             # Page requests in 24 hours of a signed-in person (docs/sign-in.md) on all devices together, in a minute, and at once. Above\n\
             # that they get 429 with Retry-After, or wait.\n\
             user_pages = {}\n\
             user_pages_a_minute = {}\n\
             user_burst = {}\n\
             # The same for signed-in people whose paths were twice like a crawler's within 'days' of [gate.paths] (docs/paths.md).\n\
             throttled_user_pages = {}\n\
             throttled_user_pages_a_minute = {}\n\
             # How long a solved challenge is good for: pages, and hours. Clearances beyond the eighth of a source in 24 hours share the\n\
             # pages of eight; away from the network where it was earned a clearance is good for k1 pages.\n\
             clearance_pages = {}\n\
             clearance_hours = {}\n\
             # Pages a second of a cleared client, and pages that it may request at once. Faster clients get 429 with Retry-After.\n\
             clearance_rate = {:?}\n\
             clearance_burst = {}\n\
             # Visitors without JavaScript answer a question instead of solving a challenge: pages for which this is good (0: no question is\n\
             # asked), and seconds after which an answer counts. Each doubling of the answers of a source in 24 hours doubles the time until\n\
             # its next one, up to four minutes.\n\
             question_pages = {}\n\
             question_seconds = {}\n\
             # Days for which 'analyze --kb' and the gate deny crawlers, and allow crowds of people behind one address and proven robots.\n\
             deny_days = {}\n\
             allow_days = {}\n\
             # Page requests in 24 hours up to which a crowd can be allowed. Only sources above k2 get an entry, it grows by at most a\n\
             # quarter a week, and what is above it meets challenges. 0: no crowd is allowed.\n\
             allow_pages_max = {}\n",
            limits.k1,
            limits.k2,
            limits.suspect_from,
            limits.network_pages,
            limits.group_pages,
            limits.documents_per_page,
            limits.broken_parts,
            limits.user_pages,
            limits.user_pages_a_minute,
            limits.user_burst,
            limits.throttled_user_pages,
            limits.throttled_user_pages_a_minute,
            limits.clearance_pages,
            limits.clearance_hours,
            limits.clearance_rate,
            limits.clearance_burst,
            limits.question_pages,
            limits.question_seconds,
            limits.deny_days,
            limits.allow_days,
            limits.allow_pages_max
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_that_cannot_be_kept_is_refused() {
        let paced = |user_pages_a_minute: u32| Limits {
            user_pages_a_minute,
            ..Limits::default()
        };
        assert_eq!(paced(60_000).check(), Ok(()));
        assert_eq!(paced(60_000).user_pace().each_ms, 1);
        let refused = paced(60_001).check().unwrap_err();
        assert!(refused.contains("user_pages_a_minute"), "{refused}");
    }
}
