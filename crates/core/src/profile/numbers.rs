//! Everything that a profile has counted, by name.

use super::Fetch;
use super::Hints;
use super::Order;
use super::Profile;

impl Profile {
    /// Everything that was counted, by name.
    pub fn numbers(&self) -> Vec<(&'static str, u64)> {
        let mut numbers = self.request_numbers();
        numbers.extend(self.sign_numbers());
        numbers
    }

    fn request_numbers(&self) -> Vec<(&'static str, u64)> {
        let sessions = self.sessions();
        let odd = self.oddities();
        let count = |number: u32| u64::from(number);
        vec![
            ("requests", count(self.requests)),
            ("bytes", self.bytes),
            ("milliseconds of answering", self.took_ms()),
            ("page requests", count(self.pages)),
            ("different pages", self.distinct_pages.count()),
            ("page requests answered with 4xx", count(self.page_errors)),
            ("page requests with a query", count(self.queries)),
            ("page requests answered with the page", count(self.shown)),
            ("style sheets, scripts, images", count(self.assets)),
            ("of these images", count(self.images)),
            ("of these naming their page", count(self.assets_of_pages)),
            ("requests for robots.txt", u64::from(self.robots)),
            ("requests that robots.txt forbids", count(odd.forbidden)),
            ("requests for weak spots", count(odd.probes)),
            ("forms sent", count(odd.posts)),
            ("of these logins", count(odd.logins)),
            ("requests by HTTP/1.0", count(odd.old_protocol)),
            ("requests without a user agent", count(odd.agents_empty)),
            (
                "referrers that no browser writes so",
                count(odd.referrers_odd),
            ),
            (
                "parts and links of a page under another agent",
                count(odd.other_agent),
            ),
            ("page requests with logged referrer", count(self.referrers)),
            ("of these empty", count(self.referrers_empty)),
            ("of these naming another page", count(self.referrers_link)),
            ("of these naming the page before", count(self.chain)),
            (
                "of these naming a page that it had left, or was never on",
                u64::from(self.unread.all()),
            ),
            ("of these listings", count(self.listings().all)),
            (
                "page requests with logged session",
                sessions.map_or(0, |sessions| count(sessions.logged)),
            ),
            (
                "different sessions",
                sessions.map_or(0, |sessions| sessions.distinct.count()),
            ),
            ("user agents", self.agents.count() as u64),
            (
                "requests of the most used agent",
                count(self.agents.top_requests()),
            ),
            ("requests under a browser's agent", count(self.browsers)),
            ("requests under a robot's name", count(self.declared)),
            (
                "steps between named pages of one folder",
                count(self.named_pairs.all),
            ),
            ("of these ascending", count(self.named_pairs.ascending)),
            (
                "steps between numbered pages of one folder",
                count(self.numbered_pairs.all),
            ),
            ("of these ascending", count(self.numbered_pairs.ascending)),
        ]
    }

    /// What header fields say; nothing where none of them was judged.
    fn sign_numbers(&self) -> Vec<(&'static str, u64)> {
        let Some(signs) = self.signs().filter(|signs| !signs.is_empty()) else {
            return Vec::new();
        };
        let count = |number: u32| u64::from(number);
        vec![
            (
                "page requests with judged Sec-Fetch fields",
                count(signs.fetch_judged()),
            ),
            ("of these not sent", count(signs.fetch(Fetch::Missing))),
            ("of these consistent", count(signs.fetch(Fetch::Sent))),
            (
                "page requests with judged client hints",
                count(signs.hints_judged()),
            ),
            ("of these not sent", count(signs.hints(Hints::Missing))),
            ("of these consistent", count(signs.hints(Hints::Sent))),
            ("page requests with logged language", count(signs.languages)),
            ("of these not sent", count(signs.languages_missing)),
            (
                "links followed with another language",
                count(signs.languages_changed),
            ),
            (
                "page requests with judged header order",
                count(signs.order_judged()),
            ),
            (
                "of these in another order",
                count(signs.order(Order::Other)),
            ),
        ]
    }
}
