//! What is kept of one source in one window: sums that do not depend on order, and a trail for what needs neighbours.

mod agent_texts;
mod agents;
mod bins;
mod distinct;
mod glance;
mod links;
mod numbers;
mod oddities;
mod pace;
mod record;
mod recorder;
mod resource;
mod session;
mod signs;
mod target;
mod trail;
mod visit;

pub use agent_texts::AgentIndex;
pub use agent_texts::AgentTexts;
pub use agents::Agents;
pub use bins::BIN_SECONDS;
pub use bins::Bins;
pub use distinct::Distinct;
pub use glance::Glance;
pub use links::Lowest;
pub use oddities::MADE_UP_CELLS;
pub use oddities::Oddities;
pub use oddities::REFERRER_CELLS;
pub use pace::Pace;
pub use record::Record;
pub use recorder::DEFAULT_LISTINGS;
pub use recorder::Gathered;
pub use recorder::Recorder;
pub(crate) use recorder::host_of;
pub use resource::Content;
pub use resource::is_page;
pub use session::Around;
pub use session::PAPER_CUTS;
pub use session::Session;
pub use session::VALUE_NAMES;
pub use session::VALUES;
pub use signs::Contradictions;
pub use signs::Fetch;
pub use signs::Hints;
pub use signs::Order;
pub(crate) use signs::Sent as SentFields;
pub use signs::SignCounts;
pub(crate) use signs::Signs;
pub(crate) use target::path as path_of;
pub use trail::Viewing;
pub use visit::VISIT_PAGES_MIN;
pub use visit::Visit;
pub use visit::Visits;

use links::link;
use oddities::ODD;
pub(crate) use record::Answer;
pub(crate) use record::FOLDER_BITS;
use record::START;
pub(crate) use record::Took;
pub(crate) use record::flag;
pub(crate) use record::folder;
pub(crate) use record::is_start;
use smallvec::SmallVec;
use trail::Opener;
use trail::Trail;

/// Everything we keep of one source in one window.
///
/// Nearly every request meets a profile that is not in the processor's cache: it fills four whole lines, not parts of six.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct Profile {
    /// All requests.
    pub requests: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// Time of the earliest request.
    pub first_seen: u32,
    /// Time of the latest request.
    pub last_seen: u32,
    /// Requests for pages.
    pub pages: u32,
    /// Page requests answered with 4xx.
    pub page_errors: u32,
    /// Page requests with a query string.
    pub queries: u32,
    /// Of these, the ones that the site really sent: neither errors nor redirects.
    pub shown: u32,
    /// Requests for style sheets, scripts, fonts and images.
    pub assets: u32,
    /// Of these, images.
    pub images: u32,
    /// Of these, the ones that name the page they belong to.
    pub assets_of_pages: u32,
    /// How long its answers took, in units of a quarter of a millisecond.
    pub took: u32,
    /// Page requests whose referrer was logged.
    pub referrers: u32,
    /// Of these, the empty ones.
    pub referrers_empty: u32,
    /// Of these, the ones that name another page, as a browser does.
    pub referrers_link: u32,
    /// Requests whose user agent was logged.
    pub agents_logged: u32,
    /// Requests under a browser's kind of agent that is on no robot list.
    pub browsers: u32,
    /// Requests under an agent that names a robot.
    pub declared: u32,
    /// Page requests that name the page fetched just before as the one that led there, or the one from which that was opened.
    pub chain: u32,
    /// Page requests that name another page, which is neither of these.
    pub unread: Unread,
    /// Requests for fonts and the site's icon, and for parts of which it had a copy that was still good.
    pub drawn: u16,
    /// Requests for `/robots.txt`.
    pub robots: u16,
    /// The first of the robot list that was named, one more than its number.
    pub robot: u16,
    /// Consecutive different pages of one folder that are named, and how many of these pairs ascend.
    pub named_pairs: Pairs,
    /// The same for numbered pages.
    pub numbered_pairs: Pairs,
    /// Different pages.
    pub distinct_pages: Distinct,
    /// Requests per user agent.
    pub agents: Agents,
    /// Requests per half hour.
    pub bins: Bins,
    trails: SmallVec<[Trail; 1]>,
    seldom: Option<Box<Seldom>>,
}

/// Page requests that do not name the page before. At most 255 of each are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unread {
    /// Those that name another page.
    pub pages: u8,
    /// Those that name a start page, of whichever site: browsers name no more of a page on another one. They count only where parts of
    /// the page before named that page, because some browsers never name more than the site.
    pub starts: u8,
}

impl Unread {
    fn absorb(&mut self, other: Unread) {
        self.pages = self.pages.saturating_add(other.pages);
        self.starts = self.starts.saturating_add(other.starts);
    }

    /// All of them.
    pub fn all(self) -> u16 {
        u16::from(self.pages) + u16::from(self.starts)
    }
}

/// What most sources have nothing of.
#[derive(Debug, Clone, Default)]
struct Seldom {
    sessions: Sessions,
    listings: Listings,
    unanswered: u32,
    oddities: Oddities,
    visits: Visits,
    signs: SignCounts,
    unnamed: Lowest<STEPS>,
}

/// Steps without a referrer that are kept of a source.
const STEPS: usize = 16;

/// Session ids of page requests.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    /// Page requests whose session id was logged.
    pub logged: u32,
    /// Of these, the ones without one.
    pub empty: u32,
    /// Different session ids.
    pub distinct: Distinct,
}

/// Page requests that come from listing and search pages of some site.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listings {
    /// All of them.
    pub all: u32,
    /// Those on the host the log itself names.
    pub own: u32,
    /// Host of the first (the smallest hash where there are several).
    pub host: u32,
}

/// What a request was, whoever sent it: equal ones are alike to every rule about what sources do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnlyRequest {
    /// What it counted as, one bit each.
    counts: u32,
    robot: u16,
}

impl OnlyRequest {
    /// A number that differs for nearly all that differ.
    pub fn hash(&self) -> u32 {
        (self.counts ^ u32::from(self.robot) << 16).wrapping_mul(0x9e37_79b9) >> 16
    }
}

/// Pairs of neighbours, and those in ascending order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pairs {
    /// All pairs.
    pub all: u32,
    /// Pairs in ascending order.
    pub ascending: u32,
}

impl Seldom {
    fn absorb(&mut self, other: &Seldom) {
        let (mine, theirs) = (&mut self.listings, other.listings);
        if theirs.all > 0 {
            mine.host = match mine.all {
                0 => theirs.host,
                _ => mine.host.min(theirs.host),
            };
        }
        mine.all = mine.all.saturating_add(theirs.all);
        mine.own = mine.own.saturating_add(theirs.own);
        let (mine, theirs) = (&mut self.sessions, &other.sessions);
        mine.logged = mine.logged.saturating_add(theirs.logged);
        mine.empty = mine.empty.saturating_add(theirs.empty);
        mine.distinct.absorb(&theirs.distinct);
        self.unanswered = self.unanswered.saturating_add(other.unanswered);
        self.oddities.absorb(&other.oddities);
        self.visits.absorb(&other.visits);
        self.signs.absorb(&other.signs);
        self.unnamed.absorb(&other.unnamed);
    }

    fn observe(&mut self, record: &Record) {
        self.unanswered += u32::from(record.has(flag::UNANSWERED));
        if record.has(flag::REFERRER_LISTING) {
            let listings = &mut self.listings;
            listings.host = match listings.all {
                0 => u32::from(record.referrer_host),
                _ => listings.host.min(u32::from(record.referrer_host)),
            };
            listings.all += 1;
            listings.own += u32::from(record.has(flag::REFERRER_OWN));
        }
        if record.has(flag::SESSION_LOGGED) {
            self.sessions.logged += 1;
            if record.has(flag::SESSION_EMPTY) {
                self.sessions.empty += 1;
            } else {
                self.sessions.distinct.insert(record.session);
            }
        }
    }
}

/// Requests that a robot and browsers each need for a source to be called mixed.
const MIXED_REQUESTS_MIN: u32 = 10;

impl Profile {
    /// Takes in one request. Requests of one stream come in their order.
    pub fn observe(&mut self, record: &Record, stream: u16, bin: u16, bins: usize) -> Viewing {
        if self.requests == 0 {
            (self.first_seen, self.last_seen) = (record.time, record.time);
        }
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(record.bytes());
        self.first_seen = self.first_seen.min(record.time);
        self.last_seen = self.last_seen.max(record.time);
        let mut viewing = Viewing::default();
        if record.has(flag::ASSET) {
            viewing = self.observe_part(record, stream);
        }
        self.robots = self
            .robots
            .saturating_add(u16::from(record.has(flag::ROBOTS)));
        self.drawn = self
            .drawn
            .saturating_add(u16::from(record.has(flag::DRAWN)));
        if record.has(ODD) {
            let seldom = self.seldom.get_or_insert_default();
            seldom.oddities.observe(record);
        }
        self.took = self.took.saturating_add(record.took.units());
        self.bins.add(bin, bins);
        self.observe_agent(record);
        if record.has(flag::POST) && record.moved() != 0 {
            let mut trails = self.trails.iter_mut();
            if let Some(last) = trails.find(|trail| trail.stream == stream) {
                (last.moved, last.agent) = (record.moved(), record.agent as u16);
            }
        }
        if record.has(flag::PAGE) {
            let is_followed = self.observe_page(record, stream);
            viewing = Viewing {
                folder: folder(record.page),
                link: (is_followed && self.shows_pages()).then(|| link(record.from, record.page)),
                view: self.assets > 0 && self.shows_pages() && record.has(flag::SHOWN),
                is_later: self
                    .trails
                    .last()
                    .is_some_and(|trail| trail.has(Trail::LATER)),
                ..Viewing::default()
            };
        }
        viewing
    }

    /// Takes in a style sheet, script or picture, and says what it tells about the page it belongs to.
    fn observe_part(&mut self, record: &Record, stream: u16) -> Viewing {
        let is_first = self.assets == 0;
        self.assets += 1;
        self.images += u32::from(record.has(flag::IMAGE));
        if record.is_part_of_page() {
            self.assets_of_pages += 1;
            self.compare_agents(record, stream);
        }
        let is_image = record.has(flag::IMAGE);
        let shows = self.shows_pages();
        let Some(last) = self.trails.iter_mut().find(|trail| trail.stream == stream) else {
            return Viewing::default();
        };
        // Without a referrer, or with that of a style sheet, it belongs to the page before it.
        if record.from != 0 && last.page as u16 != record.from {
            return Viewing::default();
        }
        let viewing = Viewing {
            folder: folder(last.page),
            // The page itself was not counted yet: nobody knew that its visitor loads parts.
            view: is_first && shows,
            is_later: last.has(Trail::LATER),
            with_parts: shows && !last.has(Trail::PARTS),
            with_images: is_image && !last.has(Trail::IMAGES),
            link: None,
        };
        last.bits |= Trail::PARTS | if is_image { Trail::IMAGES } else { 0 };
        viewing
    }

    /// Adds another source, for a group that is judged as one. Steps from page to page stay steps of one source.
    pub fn absorb(&mut self, other: &Profile, bins: usize) {
        if self.requests == 0 {
            (self.first_seen, self.last_seen) = (other.first_seen, other.last_seen);
        }
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        self.bytes = self.bytes.saturating_add(other.bytes);
        let sums = [
            (&mut self.requests, other.requests),
            (&mut self.pages, other.pages),
            (&mut self.page_errors, other.page_errors),
            (&mut self.queries, other.queries),
            (&mut self.shown, other.shown),
            (&mut self.assets, other.assets),
            (&mut self.images, other.images),
            (&mut self.assets_of_pages, other.assets_of_pages),
            (&mut self.took, other.took),
            (&mut self.referrers, other.referrers),
            (&mut self.referrers_empty, other.referrers_empty),
            (&mut self.referrers_link, other.referrers_link),
            (&mut self.agents_logged, other.agents_logged),
            (&mut self.browsers, other.browsers),
            (&mut self.declared, other.declared),
            (&mut self.chain, other.chain),
            (&mut self.named_pairs.all, other.named_pairs.all),
            (&mut self.named_pairs.ascending, other.named_pairs.ascending),
            (&mut self.numbered_pairs.all, other.numbered_pairs.all),
            (
                &mut self.numbered_pairs.ascending,
                other.numbered_pairs.ascending,
            ),
        ];
        for (mine, theirs) in sums {
            *mine = mine.saturating_add(theirs);
        }
        self.drawn = self.drawn.saturating_add(other.drawn);
        self.unread.absorb(other.unread);
        self.robots = self.robots.saturating_add(other.robots);
        self.robot = match (self.robot, other.robot) {
            (0, robot) | (robot, 0) => robot,
            (mine, theirs) => mine.min(theirs),
        };
        self.distinct_pages.absorb(&other.distinct_pages);
        self.agents.absorb(&other.agents);
        self.bins.absorb(&other.bins, bins);
        if let Some(seldom) = &other.seldom {
            self.seldom.get_or_insert_default().absorb(seldom);
        }
    }

    fn observe_agent(&mut self, record: &Record) {
        if !record.has(flag::AGENT_LOGGED) {
            return;
        }
        self.agents_logged += 1;
        self.agents.add(record.agent);
        if record.robot > 0 {
            self.declared += 1;
            self.robot = if self.robot == 0 {
                record.robot
            } else {
                self.robot.min(record.robot)
            };
        } else {
            self.browsers += u32::from(record.has(flag::BROWSER));
        }
    }

    /// Takes in a page request, and says whether it names the page before it, under the same agent.
    fn observe_page(&mut self, record: &Record, stream: u16) -> bool {
        self.pages += 1;
        self.shown += u32::from(record.has(flag::SHOWN));
        self.page_errors += u32::from(record.has(flag::CLIENT_ERROR));
        self.queries += u32::from(record.has(flag::QUERY));
        let is_followed = record.has(flag::REFERRER_LINK) && self.compare_agents(record, stream);
        self.note_redirect(record, stream);
        self.distinct_pages.insert(record.page);
        self.referrers += u32::from(record.has(flag::REFERRER_LOGGED));
        self.referrers_empty += u32::from(record.has(flag::REFERRER_EMPTY));
        self.referrers_link += u32::from(record.has(flag::REFERRER_LINK));
        if record.has(flag::REFERRER_LISTING | flag::SESSION_LOGGED | flag::UNANSWERED) {
            self.seldom.get_or_insert_default().observe(record);
        }
        if !record.answer.signs().is_empty() {
            self.observe_signs(record, stream);
        }
        self.follow(record, stream);
        is_followed
    }

    /// Takes in what a page request's header fields say. A link followed from the last page, under the same agent, is mostly
    /// followed by the browser that showed it.
    #[cold]
    fn observe_signs(&mut self, record: &Record, stream: u16) {
        let signs = record.answer.signs();
        let counts = &mut self.seldom.get_or_insert_default().signs;
        counts.observe(signs);
        let last = self.trails.iter().find(|trail| trail.stream == stream);
        let is_followed = |last: &&Trail| {
            record.has(flag::REFERRER_LINK)
                && last.page as u16 == record.from
                && last.agent == record.agent as u16
        };
        if let Some(last) = last.filter(is_followed) {
            counts.compare_languages(last.language(), signs.language());
        }
    }

    /// Notes a part of the last page, or a link followed from it, that came under another agent. True for one that came under the same.
    fn compare_agents(&mut self, record: &Record, stream: u16) -> bool {
        let last = self.trails.iter().find(|trail| trail.stream == stream);
        let sends_paths = last.is_some_and(|last| last.has(Trail::PARTS) && !is_start(last.page));
        let Some(last) = last.filter(|last| last.leads_to(record)) else {
            let is_start = record.from == START;
            self.unread.absorb(Unread {
                pages: u8::from(record.is_page() && !is_start),
                starts: u8::from(record.is_page() && is_start && sends_paths),
            });
            self.note_borrowed(record);
            return false;
        };
        let is_next = last.page as u16 == record.from;
        let is_same = last.agent == record.agent as u16;
        if is_next && !is_same {
            self.seldom.get_or_insert_default().oddities.other_agent += 1;
        } else if record.is_page() && is_same {
            self.chain += 1;
        }
        is_next && is_same
    }

    /// Notes a page that names another as the one that led there, which the source never fetched.
    fn note_borrowed(&mut self, record: &Record) {
        let known = match &self.distinct_pages {
            Distinct::Few(pages) => pages,
            Distinct::Many(_) => return,
        };
        let is_later = record.is_page() && record.from != START && !known.is_empty();
        if is_later && !known.iter().any(|page| *page as u16 == record.from) {
            let at = usize::from(record.referrer_host) % REFERRER_CELLS;
            let borrowed = &mut self.seldom.get_or_insert_default().oddities.borrowed[at];
            *borrowed = borrowed.saturating_add(1);
        }
    }

    /// Notes a page request that names the address from which it was sent there. A browser names the page with the link, as before.
    fn note_redirect(&mut self, record: &Record, stream: u16) {
        let last = self.trails.iter().find(|trail| trail.stream == stream);
        let is_named = |last: &Trail| {
            last.moved != 0 && last.moved == record.from && last.agent == record.agent as u16
        };
        if last.is_some_and(is_named) {
            let oddities = &mut self.seldom.get_or_insert_default().oddities;
            oddities.redirects_named = oddities.redirects_named.saturating_add(1);
        }
    }

    /// The folder of its last page, by which a source that stays in one is told.
    pub(crate) fn last_folder(&self) -> Option<usize> {
        self.trails.last().map(|trail| folder(trail.page))
    }

    /// Steps from page to page without a referrer, as hashes of links: a sample.
    pub fn unnamed_steps(&self) -> &[u32] {
        let seldom = self.seldom.as_ref();
        seldom.map_or(&[], |seldom| seldom.unnamed.hashes())
    }

    /// Requests that people's browsers seldom send.
    pub fn oddities(&self) -> Oddities {
        let seldom = self.seldom.as_ref();
        seldom.map_or_else(Oddities::default, |seldom| seldom.oddities)
    }

    /// What the header fields of its page requests say, where the log may have them.
    pub fn signs(&self) -> Option<&SignCounts> {
        self.seldom.as_ref().map(|seldom| &seldom.signs)
    }

    /// True for who does what only a browser does that shows pages.
    pub fn shows_pages(&self) -> bool {
        self.images > 0 || self.drawn > 0
    }

    /// True for who loads nothing that belongs to a page.
    pub fn loads_nothing(&self) -> bool {
        self.assets == 0 && self.drawn == 0
    }

    /// True for who goes from page to page by links, in two pages of five or more.
    pub fn goes_by_links(&self) -> bool {
        self.chain > 0 && self.chain * 5 >= self.referrers * 2
    }

    /// Requests for style sheets, scripts and fonts.
    pub fn styles(&self) -> u32 {
        self.assets - self.images
    }

    /// True for who loads every kind of part, and hardly ever says with which page: browsers behind something that takes the referrer away.
    pub fn loads_all_kinds_silently(&self) -> bool {
        let is_silent = self.assets_of_pages <= self.assets / 20;
        is_silent && self.images > 0 && self.styles() > 0 && self.drawn > 0
    }

    /// True for who loads pages as a browser shows them: with about a part for each, pictures among them.
    pub fn loads_whole_pages(&self) -> bool {
        self.images > 0 && self.assets >= self.shown.max(1)
    }

    /// Its visits, where there is something to tell of them.
    pub fn visits(&self) -> Option<&Visits> {
        self.seldom.as_ref().map(|seldom| &seldom.visits)
    }

    pub(crate) fn visits_mut(&mut self) -> &mut Visits {
        &mut self.seldom.get_or_insert_default().visits
    }

    /// Session ids, where the log has them.
    pub fn sessions(&self) -> Option<&Sessions> {
        self.seldom.as_ref().map(|seldom| &seldom.sessions)
    }

    /// Page requests whose answer is known.
    pub fn answered_pages(&self) -> u32 {
        let unanswered = self.seldom.as_ref().map_or(0, |seldom| seldom.unanswered);
        self.pages.saturating_sub(unanswered)
    }

    /// Referrers that are listings.
    pub fn listings(&self) -> Listings {
        self.seldom
            .as_ref()
            .map_or_else(Listings::default, |seldom| seldom.listings)
    }

    /// Compares the page with the one before it in the same stream.
    fn follow(&mut self, record: &Record, stream: u16) {
        let next = Trail {
            order: record.order,
            page: record.page,
            agent: record.agent as u16,
            stream,
            group: record.group,
            opener: Opener::of(record),
            bits: Trail::bits_of(record.answer.signs().language()),
            moved: record.moved(),
        };
        let Some(last) = self.trails.iter_mut().find(|trail| trail.stream == stream) else {
            self.trails.push(next);
            return;
        };
        let bits = match folder(last.page) == folder(next.page) {
            true => Trail::LATER,
            false => 0,
        };
        let opener = last.opener_of(next.opener);
        let last = std::mem::replace(
            last,
            Trail {
                bits: bits | next.bits,
                opener,
                ..next
            },
        );
        if record.has(flag::REFERRER_EMPTY) && last.page != next.page && last.agent == next.agent {
            let step = link(last.page as u16, next.page);
            self.seldom.get_or_insert_default().unnamed.insert(step);
        }
        if last.page == next.page || last.group != next.group || last.order == next.order {
            return;
        }
        let pairs = if record.has(flag::NUMBERED) {
            &mut self.numbered_pairs
        } else {
            &mut self.named_pairs
        };
        pairs.all += 1;
        pairs.ascending += u32::from(last.order < next.order);
    }

    /// What a source's single request was, but for its time, its size, its page and its agent's version. Most sources send but one, and
    /// most of those are alike. `None` where there are more, or where something about it is unusual.
    pub fn only_request(&self) -> Option<OnlyRequest> {
        if self.requests != 1 || self.seldom.is_some() {
            return None;
        }
        let counts = [
            self.pages,
            self.page_errors,
            self.queries,
            self.shown,
            self.assets,
            self.images,
            self.assets_of_pages,
            self.referrers,
            self.referrers_empty,
            self.referrers_link,
            self.agents_logged,
            self.browsers,
            self.declared,
            self.chain,
            u32::from(self.robots),
        ];
        Some(OnlyRequest {
            counts: counts.iter().fold(0, |bits, count| bits << 1 | count),
            robot: self.robot,
        })
    }

    /// True where a robot that names itself shares the source with browsers, both with enough requests to tell.
    pub fn is_mixed(&self) -> bool {
        self.declared >= MIXED_REQUESTS_MIN
            && self.browsers >= MIXED_REQUESTS_MIN
            && self.browsers > self.agents_logged / 10
    }

    /// How long its answers took, in milliseconds.
    pub fn took_ms(&self) -> u64 {
        u64::from(self.took) * Took::UNIT_US / 1000
    }

    /// Reads one value from each part of the profile, to bring it near.
    pub fn touch(&self) -> usize {
        self.requests as usize
            + usize::from(matches!(self.bins, Bins::Sparse(_)))
            + usize::from(matches!(self.agents, Agents::Few(_)))
            + usize::from(self.trails.is_empty())
            + usize::from(matches!(self.distinct_pages, Distinct::Few(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_fills_four_lines_of_the_cache() {
        assert_eq!(size_of::<Profile>(), 256);
    }
}
