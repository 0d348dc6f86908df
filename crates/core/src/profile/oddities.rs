//! Requests that people's browsers seldom send.

use super::Record;
use super::flag;
use super::record::MADE_UP;

/// Requests that people's browsers seldom send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Requests that robots.txt forbids.
    pub forbidden: u32,
    /// When robots.txt was first requested; 0 for never.
    pub robots_txt_at: u32,
    /// Requests without a user agent, where it is logged.
    pub agents_empty: u32,
    /// Requests under the names of monitors, previews and feed readers.
    pub declared_automated: u32,
    /// Requests by HTTP/1.0.
    pub old_protocol: u32,
    /// Requests for weak spots that attack tools look for.
    pub probes: u32,
    /// Forms that were sent, logins among them.
    pub posts: u32,
    /// Of these, the ones that name another page as the one with the form.
    pub posts_link: u32,
    /// Of these, the ones that ended in an error.
    pub posts_failed: u32,
    /// Of these, the ones sent to where passwords go.
    pub logins: u32,
    /// Requests for pages behind a trap.
    pub traps: u16,
    /// Which of them, a bit each by their hash.
    trap_pages: u32,
    /// Where the forms went: of several the smallest hash; 0 for none.
    pub form: u32,
    /// Where the passwords went, likewise.
    pub login: u32,
    /// Page requests whose referrer no browser writes so: without a path, or the page itself.
    pub referrers_odd: u32,
    /// Page requests that name the address which redirected there.
    pub redirects_named: u32,
    /// Page requests whose referrer is made up, whatever the page: without a path or a scheme, or with a port that browsers leave out. By
    /// the hash of the host named.
    pub made_up: [u8; MADE_UP_CELLS],
    /// Parts of a page, and links followed from it, that came under another user agent than the page.
    pub other_agent: u32,
    /// Page requests that name a page which the source never fetched, by the hash of the host that has it. The first page does not
    /// count: it may be led to from elsewhere.
    pub borrowed: [u16; REFERRER_CELLS],
}

/// Different pages behind a trap from which nobody is there by curiosity.
const TRAP_PAGES_MIN: u32 = 3;

/// Cells for the hosts of [`Oddities::borrowed`].
pub const REFERRER_CELLS: usize = 4;

/// Cells for the hosts of [`Oddities::made_up`]: so many that another site's host seldom meets the own one's.
pub const MADE_UP_CELLS: usize = 16;

impl Oddities {
    pub(super) fn absorb(&mut self, other: &Oddities) {
        let sums = [
            (&mut self.forbidden, other.forbidden),
            (&mut self.agents_empty, other.agents_empty),
            (&mut self.declared_automated, other.declared_automated),
            (&mut self.old_protocol, other.old_protocol),
            (&mut self.probes, other.probes),
            (&mut self.posts, other.posts),
            (&mut self.posts_link, other.posts_link),
            (&mut self.posts_failed, other.posts_failed),
            (&mut self.logins, other.logins),
            (&mut self.referrers_odd, other.referrers_odd),
            (&mut self.other_agent, other.other_agent),
            (&mut self.redirects_named, other.redirects_named),
        ];
        for (mine, theirs) in sums {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in self.borrowed.iter_mut().zip(other.borrowed) {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in self.made_up.iter_mut().zip(other.made_up) {
            *mine = mine.saturating_add(theirs);
        }
        self.robots_txt_at = smaller(self.robots_txt_at, other.robots_txt_at);
        self.traps = self.traps.saturating_add(other.traps);
        self.trap_pages |= other.trap_pages;
        self.form = smaller(self.form, other.form);
        self.login = smaller(self.login, other.login);
    }

    /// Different pages behind a trap, or a few less: two may share a bit.
    pub fn trap_pages(&self) -> u32 {
        self.trap_pages.count_ones()
    }

    /// True for who went on behind a trap, after the first page has told what it is.
    pub fn has_followed_traps(&self) -> bool {
        self.trap_pages() >= TRAP_PAGES_MIN
    }

    pub(super) fn observe(&mut self, record: &Record) {
        let count = |bits: u32| u32::from(record.has(bits));
        self.forbidden += count(flag::FORBIDDEN);
        self.agents_empty += count(flag::AGENT_EMPTY);
        self.declared_automated += count(flag::AUTOMATED);
        self.old_protocol += count(flag::OLD_PROTOCOL);
        self.probes += count(flag::PROBE);
        self.referrers_odd += u32::from(record.is_page() && record.has(flag::REFERRER_ODD));
        if record.is_page() && record.has(flag::REFERRER_ODD) && record.from == MADE_UP {
            let cell = &mut self.made_up[usize::from(record.referrer_host) % MADE_UP_CELLS];
            *cell = cell.saturating_add(1);
        }
        if record.has(flag::ROBOTS) {
            self.robots_txt_at = smaller(self.robots_txt_at, record.time.max(1));
        }
        if record.is_trap() {
            self.traps = self.traps.saturating_add(1);
            self.trap_pages |= 1 << (record.page % u32::BITS);
        }
        if record.has(flag::POST) {
            self.posts += 1;
            self.posts_link += count(flag::REFERRER_LINK);
            self.posts_failed += count(flag::CLIENT_ERROR);
            let place = if record.has(flag::LOGIN) {
                self.logins += 1;
                &mut self.login
            } else {
                &mut self.form
            };
            *place = smaller(*place, record.page.max(1));
        }
    }
}

/// The smaller of two values, where 0 is none.
fn smaller(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, value) | (value, 0) => value,
        _ => one.min(other),
    }
}

/// Flags of [`Oddities`].
pub(super) const ODD: u32 = flag::FORBIDDEN
    | flag::ROBOTS
    | flag::AUTOMATED
    | flag::AGENT_EMPTY
    | flag::OLD_PROTOCOL
    | flag::PROBE
    | flag::POST
    | flag::TRAP
    | flag::REFERRER_ODD;
