//! Requests of a signed-in user that the links of the site do not explain. A few of them are normal: people share links, keep bookmarks
//! and restore tabs. Thirty on one day are not.

use super::Entry;

/// What is odd about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Oddity {
    /// The link was shown to another user.
    OtherUser,
    /// The marker does not open: changed, too old, or of another site.
    Broken,
    /// There is no marker, more often than typed addresses, bookmarks and links from elsewhere explain.
    Unmarked,
    /// The referrer is another page of the site than the one that showed the link.
    Referrer,
    /// The link was shown to another browser or session of the same user.
    Client,
    /// Pages come faster than anybody opens them.
    Fast,
}

impl Oddity {
    /// All of them.
    pub const ALL: [Oddity; 6] = [
        Oddity::OtherUser,
        Oddity::Broken,
        Oddity::Unmarked,
        Oddity::Referrer,
        Oddity::Client,
        Oddity::Fast,
    ];

    /// The word for it in logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Oddity::OtherUser => "other_user",
            Oddity::Broken => "broken",
            Oddity::Unmarked => "unmarked",
            Oddity::Referrer => "referrer",
            Oddity::Client => "client",
            Oddity::Fast => "fast",
        }
    }
}

/// How many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OddityLimits {
    /// Odd requests on one day that make a suspect.
    pub a_day: u32,
    /// Requests without a marker that are free every day...
    pub unmarked: u32,
    /// ...and of every hundred requests so many more.
    pub unmarked_percent: u32,
    /// Pages within [`FAST_MS`] that are free: a browser that starts opens all its tabs.
    pub at_once: u32,
}

impl Default for OddityLimits {
    fn default() -> OddityLimits {
        OddityLimits {
            a_day: 30,
            unmarked: 10,
            unmarked_percent: 30,
            at_once: 10,
        }
    }
}

/// The time within which pages come at once, in milliseconds.
const FAST_MS: u64 = 5000;
/// Pages of which the browser that loaded them is remembered.
const RECENT: usize = 32;

/// What a request says about the link that led to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// No marker.
    Unmarked,
    /// A marker that does not open.
    Broken,
    /// A link that was shown to another user.
    OtherUser,
    /// A link that was shown to this user, on this page.
    Own(u64),
}

impl Link {
    /// The page whose link led here.
    pub fn parent(self) -> Option<u64> {
        match self {
            Link::Own(parent) => Some(parent),
            Link::Unmarked | Link::Broken | Link::OtherUser => None,
        }
    }
}

/// One page request of a signed-in user.
#[derive(Debug, Clone, Copy)]
pub struct UserRequest {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The day where the owner lives, by number.
    pub day: u32,
    /// Hash of the user's name.
    pub user: u64,
    /// Hash of the page's address, without a marker.
    pub page: u64,
    /// What the marker says.
    pub link: Link,
    /// Hash of the referrer's address; `None` where there is none, or one of another site, or of the front page alone.
    pub referrer: Option<u64>,
    /// Hash of user agent and session cookie.
    pub client: u64,
}

impl UserRequest {
    /// The same for the path.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            at_ms: self.at_ms,
            user: self.user,
            page: self.page,
            parent: self.link.parent(),
        }
    }
}

/// What one user has done on one day.
#[derive(Debug, Clone, Default)]
pub(super) struct Day {
    number: u32,
    requests: u32,
    unmarked: u32,
    counts: [u32; Oddity::ALL.len()],
    /// Since when pages come at once, and how many have come.
    since_ms: u64,
    at_once: u32,
    /// Pages and the browsers that loaded them, the latest last.
    recent: Vec<(u64, u64)>,
}

impl Day {
    /// Odd requests of each kind.
    pub(super) fn counts(&self) -> [u32; Oddity::ALL.len()] {
        self.counts
    }

    /// All odd requests; one that is odd in two ways counts once for each.
    pub(super) fn odd(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Forgets what was odd.
    pub(super) fn clear(&mut self) {
        (self.counts, self.unmarked) = (Default::default(), 0);
    }

    /// Takes in a request, and says what is odd about it.
    pub(super) fn observe(&mut self, request: &UserRequest, limits: &OddityLimits) -> Vec<Oddity> {
        if request.day != self.number {
            // What browsers have loaded does not end at midnight.
            *self = Day {
                number: request.day,
                recent: std::mem::take(&mut self.recent),
                ..Day::default()
            };
        }
        self.requests += 1;
        let of_link = match request.link {
            Link::Unmarked => self
                .is_unmarked_too_often(limits)
                .then_some(Oddity::Unmarked),
            Link::Broken => Some(Oddity::Broken),
            Link::OtherUser => Some(Oddity::OtherUser),
            Link::Own(parent) => self.contradiction(request, parent),
        };
        let fast = self.is_fast(request.at_ms, limits).then_some(Oddity::Fast);
        let odd: Vec<Oddity> = [of_link, fast].into_iter().flatten().collect();
        for oddity in &odd {
            self.counts[*oddity as usize] += 1;
        }
        self.remember(request);
        odd
    }

    fn is_unmarked_too_often(&mut self, limits: &OddityLimits) -> bool {
        self.unmarked += 1;
        let share = u64::from(self.requests) * u64::from(limits.unmarked_percent) / 100;
        // Those that were odd do not count against the next ones.
        let free = self.unmarked - self.counts[Oddity::Unmarked as usize];
        u64::from(free) > u64::from(limits.unmarked) + share
    }

    /// What contradicts a marker of the user's own.
    fn contradiction(&self, request: &UserRequest, parent: u64) -> Option<Oddity> {
        // Who loads a page again, or goes back, sends what was sent before: page, marker and referrer belong together.
        if request.referrer.is_some_and(|referrer| referrer != parent) {
            return Some(Oddity::Referrer);
        }
        let shown = || self.recent.iter().filter(|(page, _)| *page == parent);
        let is_elsewhere =
            shown().next().is_some() && shown().all(|(_, client)| *client != request.client);
        is_elsewhere.then_some(Oddity::Client)
    }

    fn is_fast(&mut self, at_ms: u64, limits: &OddityLimits) -> bool {
        if at_ms.saturating_sub(self.since_ms) >= FAST_MS {
            (self.since_ms, self.at_once) = (at_ms, 0);
        }
        self.at_once += 1;
        self.at_once > limits.at_once
    }

    fn remember(&mut self, request: &UserRequest) {
        let loaded = (request.page, request.client);
        self.recent.retain(|known| *known != loaded);
        if self.recent.len() >= RECENT {
            self.recent.remove(0);
        }
        self.recent.push(loaded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: u64 = 1;

    fn request(second: u64, page: u64, link: Link) -> UserRequest {
        UserRequest {
            at_ms: 1000 * second,
            day: 1,
            user: 7,
            page,
            link,
            referrer: link.parent(),
            client: 5,
        }
    }

    fn observe(day: &mut Day, request: &UserRequest) -> Vec<Oddity> {
        day.observe(request, &OddityLimits::default())
    }

    #[test]
    fn following_links_is_never_odd_nor_is_loading_again() {
        let mut day = Day::default();
        for step in 0..200 {
            let (page, parent) = (HOME + step, HOME + step.saturating_sub(1));
            let link = request(60 * step, page, Link::Own(parent));
            assert_eq!(observe(&mut day, &link), []);
            assert_eq!(observe(&mut day, &link), [], "loaded again");
        }
        assert_eq!(day.odd(), 0);
    }

    #[test]
    fn addresses_are_typed_now_and_then() {
        let mut day = Day::default();
        let typed = |step: u64| request(60 * step, step, Link::Unmarked);
        let odd: usize = (0..14)
            .map(|step| observe(&mut day, &typed(step)).len())
            .sum();
        assert_eq!(odd, 0, "ten, and three of ten more");
        let odd: usize = (14..114)
            .map(|step| observe(&mut day, &typed(step)).len())
            .sum();
        assert!((65..75).contains(&odd), "{odd}");
        let next = UserRequest {
            day: 2,
            ..typed(200)
        };
        assert_eq!(observe(&mut day, &next), [], "midnight");
        assert_eq!(day.odd(), 0);
    }

    #[test]
    fn foreign_and_broken_markers_and_other_referrers_count() {
        let mut day = Day::default();
        let check = |day: &mut Day, request: UserRequest, expected: &[Oddity]| {
            assert_eq!(observe(day, &request), expected);
        };
        check(
            &mut day,
            request(0, 2, Link::OtherUser),
            &[Oddity::OtherUser],
        );
        check(&mut day, request(60, 3, Link::Broken), &[Oddity::Broken]);
        let forged = UserRequest {
            referrer: Some(99),
            ..request(120, 4, Link::Own(3))
        };
        check(&mut day, forged, &[Oddity::Referrer]);
        let silent = UserRequest {
            referrer: None,
            ..request(180, 5, Link::Own(4))
        };
        check(&mut day, silent, &[]);
        assert_eq!(day.counts(), [1, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn a_link_belongs_to_the_browser_that_loaded_its_page() {
        let mut day = Day::default();
        let telephone = |request: UserRequest| UserRequest {
            client: 6,
            ..request
        };
        assert_eq!(observe(&mut day, &request(0, 2, Link::Own(HOME))), []);
        // Two devices side by side: each follows its own links.
        assert_eq!(
            observe(&mut day, &telephone(request(60, 3, Link::Own(HOME)))),
            []
        );
        assert_eq!(
            observe(&mut day, &telephone(request(120, 4, Link::Own(3)))),
            []
        );
        assert_eq!(observe(&mut day, &request(180, 5, Link::Own(2))), []);
        // Workers that share what they found do not.
        let shared = telephone(request(240, 6, Link::Own(5)));
        assert_eq!(observe(&mut day, &shared), [Oddity::Client]);
    }

    #[test]
    fn tabs_may_be_restored_but_not_all_day() {
        let mut day = Day::default();
        let tabs: usize = (0..30)
            .map(|tab| observe(&mut day, &request(0, 100 + tab, Link::Own(HOME))).len())
            .sum();
        assert_eq!(tabs, 20, "below what makes a suspect");
        let later = request(3600, 500, Link::Own(100));
        assert_eq!(observe(&mut day, &later), []);
    }
}
