//! The item metrics of the COUNTER Code of Practice, release 5.1.1: what is usage of an item, double clicks, and items per session
//! (sections 7.1 to 7.3). Sources that are robots are left out before (section 7.8), user agents on COUNTER's list here.

use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;

use cattlegrid_core::analysis::Seen;
use cattlegrid_core::request::Field;
use cattlegrid_core::settings::CounterSettings;
use cattlegrid_core::settings::Use;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::counter_robots::CounterRobots;

/// Two clicks on one link within so many seconds are one, and the second is the one that counts.
const DOUBLE_CLICK_SECONDS: u32 = 30;

/// Usage of items, before double clicks are filtered.
#[derive(Debug, Default)]
pub struct Counting {
    events: Vec<Event>,
    /// Uses by user agents on COUNTER's list.
    by_robots: u64,
    /// Uses of which the log does not say the user agent.
    without_agent: u64,
}

/// What counts.
#[derive(Debug)]
pub struct CounterRules {
    /// Which requests are usage of items.
    pub items: CounterSettings,
    /// Which user agents are left out.
    pub robots: CounterRobots,
}

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counter {
    /// By month.
    pub months: Vec<CounterMonth>,
    /// Uses that only COUNTER's list leaves out: no step removed their sources.
    pub by_robots: u64,
    /// Uses of which the log does not say the user agent, so that the list could not be applied.
    pub without_agent: u64,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    /// Whose clicks are double clicks.
    user: u64,
    /// Who uses an item once.
    session: Session,
    url: u64,
    item: u64,
    time: u32,
    how: Use,
}

#[derive(Debug, Clone, Copy)]
enum Session {
    /// The log names it. It ends with the day.
    Named(u64),
    /// What one user does within one hour of the day.
    HoursOf(u64),
}

/// The metrics of one month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterMonth {
    /// `2030-01`.
    pub month: String,
    /// Total_Item_Investigations.
    pub total_investigations: u64,
    /// Unique_Item_Investigations.
    pub unique_investigations: u64,
    /// Total_Item_Requests.
    pub total_requests: u64,
    /// Unique_Item_Requests.
    pub unique_requests: u64,
}

/// Names of the metrics, in the order of [`CounterMonth::metrics`].
pub(super) const METRICS: [&str; 4] = [
    "Total_Item_Investigations",
    "Unique_Item_Investigations",
    "Total_Item_Requests",
    "Unique_Item_Requests",
];

impl CounterMonth {
    pub(super) fn metrics(&self) -> [u64; METRICS.len()] {
        [
            self.total_investigations,
            self.unique_investigations,
            self.total_requests,
            self.unique_requests,
        ]
    }
}

impl Counting {
    /// Takes in a request of a source that both steps keep.
    pub fn observe(&mut self, seen: &Seen<'_>, rules: &CounterRules) {
        let request = seen.request;
        if !matches!(request.method, b"GET" | b"POST") {
            return;
        }
        let Some((how, item)) = rules.items.item(request.target, request.status) else {
            return;
        };
        if rules.robots.has(request.agent) {
            self.by_robots += 1;
            return;
        }
        self.without_agent += u64::from(request.agent == Field::NotLogged);
        let host = request.host.value();
        let signed_in = request.user.value().map(|name| hash(&(2, name)));
        let cookie = request.session.value().map(|name| hash(&(1, name)));
        let address = || hash(&(seen.glance.source, request.agent.value()));
        self.events.push(Event {
            // Section 7.2, the most reliable of those that are logged.
            user: signed_in.or(cookie).unwrap_or_else(address),
            // Section 7.3.
            session: match cookie {
                Some(cookie) => Session::Named(cookie),
                None => Session::HoursOf(signed_in.unwrap_or_else(address)),
            },
            url: hash(&(host, request.target)),
            item: hash(&(host, item)),
            time: request.time,
            how,
        });
    }

    /// Adds what came after it.
    pub fn absorb(&mut self, mut later: Counting) {
        self.events.append(&mut later.events);
        self.by_robots += later.by_robots;
        self.without_agent += later.without_agent;
    }

    /// Counts by month.
    pub fn finish(mut self, zone: &TimeZone) -> Counter {
        self.events
            .sort_unstable_by_key(|event| (event.user, event.url, event.time, event.how));
        let mut months: BTreeMap<(i16, i8), CounterMonth> = BTreeMap::new();
        let mut used: Vec<(u64, i64, u64, Use)> = Vec::new();
        for (at, event) in self.events.iter().enumerate() {
            let is_double = self.events.get(at + 1).is_some_and(|next| {
                (next.user, next.url) == (event.user, event.url)
                    && next.time - event.time <= DOUBLE_CLICK_SECONDS
            });
            if is_double {
                continue;
            }
            let zoned = Timestamp::from_second(i64::from(event.time)).unwrap_or_default();
            let zoned = zoned.to_zoned(zone.clone());
            let hour = (i64::from(event.time) + i64::from(zoned.offset().seconds())) / 3600;
            let (session, hour) = match event.session {
                Session::Named(session) => (session, hour / 24 * 24),
                Session::HoursOf(user) => (user, hour),
            };
            used.push((session, hour, event.item, event.how));
            let month = months.entry((zoned.year(), zoned.month())).or_default();
            month.total_investigations += 1;
            month.total_requests += u64::from(event.how == Use::Request);
        }
        used.sort_unstable();
        for of_item in used.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
            let date = Timestamp::from_second(of_item[0].1 * 3600).unwrap_or_default();
            let date = date.to_zoned(TimeZone::UTC);
            let month = months.entry((date.year(), date.month())).or_default();
            month.unique_investigations += 1;
            let is_request = of_item.iter().any(|used| used.3 == Use::Request);
            month.unique_requests += u64::from(is_request);
        }
        let named = months
            .into_iter()
            .map(|((year, number), month)| CounterMonth {
                month: format!("{year:04}-{number:02}"),
                ..month
            });
        Counter {
            months: named.collect(),
            by_robots: self.by_robots,
            without_agent: self.without_agent,
        }
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(user: u64, url: u64, item: u64, time: u32, how: Use) -> Event {
        Event {
            user,
            session: Session::HoursOf(user),
            url,
            item,
            time,
            how,
        }
    }

    fn months(events: Vec<Event>) -> Vec<CounterMonth> {
        let counting = Counting {
            events,
            ..Counting::default()
        };
        counting.finish(&TimeZone::UTC).months
    }

    /// The examples of section 7.2: clicks at 10:01:00 and 10:01:29 are one, at 10:01:00 and 10:01:35 two. In a row of clicks, each
    /// removes the one before it.
    #[test]
    fn double_clicks_are_one_and_the_last_counts() {
        let check = |times: &[u32], expected: u64| {
            let events = times.iter().map(|time| event(1, 1, 1, *time, Use::Request));
            let months = months(events.collect());
            assert_eq!(months[0].total_requests, expected, "{times:?}");
            assert_eq!((months[0].unique_requests, months.len()), (1, 1));
        };
        check(&[60, 89], 1);
        check(&[3590, 3605], 1);
        check(&[60, 95], 2);
        check(&[60, 85, 110, 135], 1);
        check(&[60, 60, 60], 1);
        check(&[135, 60, 95], 3);
        // The second of two clicks around midnight is the next month's, in which the item is used.
        let months = months(vec![
            event(1, 1, 1, 31 * 86_400 - 5, Use::Request),
            event(1, 1, 1, 31 * 86_400 + 5, Use::Request),
        ]);
        assert_eq!(months.len(), 1);
        assert_eq!(
            (months[0].month.as_str(), months[0].metrics()),
            ("1970-02", [1; 4])
        );
    }

    #[test]
    fn an_item_counts_once_a_session_and_a_request_is_an_investigation() {
        let counted = months(vec![
            event(1, 1, 7, 100, Use::Investigation),
            event(1, 2, 7, 200, Use::Request),
            event(1, 3, 7, 300, Use::Request),
            event(1, 4, 8, 400, Use::Investigation),
            event(1, 1, 7, 3700, Use::Investigation),
            event(2, 1, 7, 100, Use::Investigation),
        ]);
        let expected = CounterMonth {
            month: "1970-01".to_owned(),
            total_investigations: 6,
            unique_investigations: 4,
            total_requests: 2,
            unique_requests: 1,
        };
        assert_eq!(counted, [expected]);
        let in_session = |time: u32| Event {
            session: Session::Named(9),
            ..event(1, 1, 7, time, Use::Request)
        };
        let counted = months([100, 3700, 86_500].map(in_session).to_vec());
        assert_eq!(counted[0].unique_requests, 2);
    }
}
