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
    /// Pieces without a marker that scripts may load on one page.
    pub pieces: u32,
}

impl Default for OddityLimits {
    fn default() -> OddityLimits {
        OddityLimits {
            a_day: 30,
            unmarked: 10,
            unmarked_percent: 30,
            at_once: 10,
            pieces: 10,
        }
    }
}

/// The time within which pages come at once, in milliseconds.
const FAST_MS: u64 = 5000;
/// Broken and fast requests of one minute that count. A browser that restores a hundred old tabs must not make a suspect; a crawler goes on.
const BURST_MAX: u32 = 20;
const BURST_MS: u64 = 60_000;
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

/// What a request has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    /// A page.
    Page,
    /// A piece of a page that a script asked for. Scripts make addresses of their own, which have no markers.
    Piece,
    /// A redirect: the page comes with the next request.
    Redirect,
}

/// One page request of a signed-in user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// The browser that sent it.
    pub client: Browser,
    /// What it has brought.
    pub loaded: Loaded,
}

/// A browser, as far as requests tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Browser {
    /// Hash of the user agent.
    pub agent: u64,
    /// Hash of the session cookie.
    pub session: u64,
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
    pub(super) number: u32,
    pub(super) requests: u32,
    pub(super) unmarked: u32,
    pub(super) counts: [u32; Oddity::ALL.len()],
    /// Since when pages come at once, and how many have come.
    since_ms: u64,
    at_once: u32,
    /// Since when broken and fast requests come, and how many have counted.
    burst_ms: u64,
    burst: u32,
    /// Pieces that scripts have loaded since the last page.
    pieces: u32,
    /// Pages and the browsers that loaded them, the latest last.
    recent: Vec<(u64, Browser)>,
}

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// What is odd about it.
    pub(super) odd: Vec<Oddity>,
    /// It belongs to the user's path.
    pub(super) is_entry: bool,
}

impl Day {
    /// All odd requests; one that is odd in two ways counts once for each.
    pub(super) fn odd(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Forgets what was odd.
    pub(super) fn clear(&mut self) {
        (self.counts, self.unmarked) = (Default::default(), 0);
    }

    /// Takes in a request, and says what is odd about it.
    pub(super) fn observe(&mut self, request: &UserRequest, limits: &OddityLimits) -> Seen {
        if request.day != self.number {
            // What browsers have loaded does not end at midnight.
            *self = Day {
                number: request.day,
                recent: std::mem::take(&mut self.recent),
                ..Day::default()
            };
        }
        if self.is_of_page(request, limits) {
            return Seen {
                odd: Vec::new(),
                is_entry: false,
            };
        }
        self.requests += 1;
        let is_entry = request.loaded != Loaded::Redirect;
        let of_link = match request.link {
            Link::Unmarked => self
                .is_unmarked_too_often(limits)
                .then_some(Oddity::Unmarked),
            Link::Broken => Some(Oddity::Broken),
            Link::OtherUser => Some(Oddity::OtherUser),
            // The request that follows a redirect says the same once more.
            Link::Own(_) if !is_entry => None,
            Link::Own(parent) => self.contradiction(request, parent),
        };
        let fast = is_entry && self.is_fast(request.at_ms, limits);
        let found = [of_link, fast.then_some(Oddity::Fast)]
            .into_iter()
            .flatten();
        let odd: Vec<Oddity> = found
            .filter(|oddity| self.counts_now(*oddity, request.at_ms))
            .collect();
        for oddity in &odd {
            self.counts[*oddity as usize] += 1;
        }
        if is_entry {
            self.remember(request);
        }
        Seen { odd, is_entry }
    }

    /// True for a piece that belongs to the page before it, as far as a person can have asked for it.
    fn is_of_page(&mut self, request: &UserRequest, limits: &OddityLimits) -> bool {
        if request.loaded != Loaded::Piece || request.link != Link::Unmarked {
            self.pieces = 0;
            return false;
        }
        self.pieces += 1;
        self.pieces <= limits.pieces
    }

    fn is_unmarked_too_often(&mut self, limits: &OddityLimits) -> bool {
        self.unmarked += 1;
        let share = u64::from(self.requests) * u64::from(limits.unmarked_percent) / 100;
        // Those that were odd do not count against the next ones.
        let free = self
            .unmarked
            .saturating_sub(self.counts[Oddity::Unmarked as usize]);
        u64::from(free) > u64::from(limits.unmarked) + share
    }

    /// What contradicts a marker of the user's own.
    fn contradiction(&self, request: &UserRequest, parent: u64) -> Option<Oddity> {
        // Who loads a page again, or goes back, sends what was sent before: page, marker and referrer belong together. Scripts may give a page
        // an address under which nobody has loaded it; that contradicts nothing.
        let is_loaded = |page: u64| self.recent.iter().any(|(loaded, _)| *loaded == page);
        let is_other = |referrer: u64| referrer != parent && is_loaded(referrer);
        if request.referrer.is_some_and(is_other) {
            return Some(Oddity::Referrer);
        }
        let shown = || self.recent.iter().filter(|(page, _)| *page == parent);
        let client = request.client;
        let by_same_agent = || shown().filter(|(_, known)| known.agent == client.agent);
        let is_elsewhere = match (shown().next(), by_same_agent().next()) {
            (None, _) => false,
            (Some(_), None) => true,
            // Many sites give a new session cookie with each response: only one that was seen before belongs to another browser.
            (Some(_), Some(_)) => {
                by_same_agent().all(|(_, known)| *known != client)
                    && self.recent.iter().any(|(_, known)| *known == client)
            }
        };
        is_elsewhere.then_some(Oddity::Client)
    }

    fn is_fast(&mut self, at_ms: u64, limits: &OddityLimits) -> bool {
        if at_ms.saturating_sub(self.since_ms) >= FAST_MS {
            (self.since_ms, self.at_once) = (at_ms, 0);
        }
        self.at_once += 1;
        self.at_once > limits.at_once
    }

    /// False where as many of its kind have counted within a minute as may.
    fn counts_now(&mut self, oddity: Oddity, at_ms: u64) -> bool {
        if !matches!(oddity, Oddity::Broken | Oddity::Fast) {
            return true;
        }
        if at_ms.saturating_sub(self.burst_ms) >= BURST_MS {
            (self.burst_ms, self.burst) = (at_ms, 0);
        }
        self.burst += 1;
        self.burst <= BURST_MAX
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
            client: DESK,
            loaded: Loaded::Page,
        }
    }

    const DESK: Browser = Browser {
        agent: 5,
        session: 50,
    };

    fn observe(day: &mut Day, request: &UserRequest) -> Vec<Oddity> {
        day.observe(request, &OddityLimits::default()).odd
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
            referrer: Some(2),
            ..request(120, 4, Link::Own(3))
        };
        check(&mut day, forged, &[Oddity::Referrer]);
        let renamed = UserRequest {
            referrer: Some(99),
            ..forged
        };
        check(&mut day, renamed, &[]);
        let silent = UserRequest {
            referrer: None,
            ..request(180, 5, Link::Own(4))
        };
        check(&mut day, silent, &[]);
        assert_eq!(day.counts, [1, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn a_link_belongs_to_the_browser_that_loaded_its_page() {
        let mut day = Day::default();
        let by = |client: Browser, request: UserRequest| UserRequest { client, ..request };
        let telephone = Browser { agent: 6, ..DESK };
        assert_eq!(observe(&mut day, &request(0, 2, Link::Own(HOME))), []);
        // Two devices side by side: each follows its own links.
        let own = by(telephone, request(60, 3, Link::Own(HOME)));
        assert_eq!(observe(&mut day, &own), []);
        let own = by(telephone, request(120, 4, Link::Own(3)));
        assert_eq!(observe(&mut day, &own), []);
        assert_eq!(observe(&mut day, &request(180, 5, Link::Own(2))), []);
        // Workers that share what they found do not.
        let shared = by(telephone, request(240, 6, Link::Own(5)));
        assert_eq!(observe(&mut day, &shared), [Oddity::Client]);
        // Nor those of one agent that each have a session.
        let worker = Browser {
            session: 51,
            ..DESK
        };
        let first = by(worker, request(300, 7, Link::Own(5)));
        assert_eq!(observe(&mut day, &first), [], "the first is new");
        assert_eq!(observe(&mut day, &request(360, 8, Link::Own(5))), []);
        let next = by(worker, request(420, 9, Link::Own(8)));
        assert_eq!(observe(&mut day, &next), [Oddity::Client]);
    }

    #[test]
    fn a_session_cookie_may_change_with_every_response() {
        let mut day = Day::default();
        for step in 0..100 {
            let session = 1000 + step;
            let client = Browser { session, ..DESK };
            let link = Link::Own(HOME + step.saturating_sub(1));
            let request = request(60 * step, HOME + step, link);
            assert_eq!(observe(&mut day, &UserRequest { client, ..request }), []);
        }
    }

    #[test]
    fn tabs_may_be_restored_but_not_all_day() {
        let mut day = Day::default();
        let mut restore = |second: u64, tabs: u64, link: Link| -> usize {
            let tabs = (0..tabs).map(|tab| request(second, 100 + tab, link));
            tabs.map(|tab| observe(&mut day, &tab).len()).sum()
        };
        assert_eq!(restore(0, 30, Link::Own(HOME)), 20);
        assert_eq!(restore(3600, 1, Link::Own(100)), 0);
        let odd = restore(86_400, 100, Link::Broken);
        assert_eq!(odd, 20, "a hundred old tabs are below what makes a suspect");
        assert_eq!(restore(86_470, 100, Link::Broken), 20, "who goes on is not");
    }

    #[test]
    fn a_redirect_is_no_page_and_hides_nothing() {
        let mut day = Day::default();
        let led = |request: UserRequest| UserRequest {
            loaded: Loaded::Redirect,
            ..request
        };
        for step in 0..100 {
            let through = led(request(60 * step, 1000 + step, Link::Own(HOME)));
            let seen = day.observe(&through, &OddityLimits::default());
            assert_eq!((seen.odd.len(), seen.is_entry), (0, false));
        }
        let foreign = led(request(9000, 5, Link::OtherUser));
        assert_eq!(observe(&mut day, &foreign), [Oddity::OtherUser]);
    }

    #[test]
    fn scripts_load_pieces_of_a_page_but_not_the_whole_site() {
        let mut day = Day::default();
        let mut entries = 0;
        for step in 0..1000 {
            let piece = UserRequest {
                loaded: Loaded::Piece,
                ..request(60 * step, step, Link::Unmarked)
            };
            entries += u32::from(day.observe(&piece, &OddityLimits::default()).is_entry);
        }
        assert_eq!(entries, 990);
        assert!(day.odd() > 600, "{}", day.odd());
        let page = request(70_000, 1, Link::Own(HOME));
        assert!(day.observe(&page, &OddityLimits::default()).is_entry);
        let piece = UserRequest {
            loaded: Loaded::Piece,
            ..request(70_001, 7, Link::Unmarked)
        };
        assert!(!day.observe(&piece, &OddityLimits::default()).is_entry);
    }
}
