//! Bounded totals of the whole log in one window: what a source is compared with.

mod cells;
mod headers;
mod popularity;

use std::ops::Range;
use std::sync::OnceLock;

use cattlegrid_learn::series::DAY;

use crate::profile::Around;
use crate::profile::Distinct;
use crate::profile::FOLDER_BITS;
use crate::profile::Lowest;
use crate::profile::MADE_UP_CELLS;
use crate::profile::Profile;
use crate::profile::REFERRER_CELLS;
use crate::profile::Record;
use crate::profile::Viewing;
use crate::profile::flag;
use crate::profile::folder;
use cells::Cells;
pub use headers::HeaderHabits;
use popularity::Popularity;

/// Cells that count referring hosts by hash.
const HOST_CELLS: usize = 1024;

/// Folders of a site, by hash.
const FOLDERS: usize = 1 << FOLDER_BITS;

/// How visitors who load parts at all view the pages of one folder.
#[derive(Debug, Clone, Copy, Default)]
struct Folder {
    views: u32,
    with_parts: u32,
    with_images: u32,
    /// Of these, the views right after another page of the same folder.
    later: u32,
    later_with_parts: u32,
}

impl Folder {
    fn add(&mut self, other: &Folder) {
        self.views += other.views;
        self.with_parts += other.with_parts;
        self.with_images += other.with_images;
        self.later += other.later;
        self.later_with_parts += other.later_with_parts;
    }

    /// Share of later views that come with parts. Half a view more, so that one visitor does not make a custom; and what most visitors
    /// have in their caches is expected of nobody.
    fn later_share(&self) -> f64 {
        const CUSTOM_MIN: f64 = 0.3;
        let share = self.any_later_share();
        if share < CUSTOM_MIN { 0.0 } else { share }
    }

    /// The same, however seldom.
    fn any_later_share(&self) -> f64 {
        let later = self.later.max(self.later_with_parts);
        f64::from(self.later_with_parts) / (f64::from(later) + 0.5)
    }

    /// Share of views that come with parts, first ones included.
    fn part_share(&self) -> f64 {
        f64::from(self.with_parts) / (f64::from(self.views.max(self.with_parts)) + 0.5)
    }

    /// Share of views that come with pictures.
    fn image_share(&self) -> f64 {
        f64::from(self.with_images) / (f64::from(self.views.max(self.with_images)) + 0.5)
    }
}

/// How many of a source's pages would have come with parts, if it did as other visitors do who load parts at all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Expected {
    /// Pages with parts, beside the first of each folder, which a cache from earlier visits may explain.
    pub parts: f64,
    /// Pages with pictures.
    pub images: f64,
    /// All views with parts, the same page again and again included, however seldom parts come with a page.
    pub views: f64,
    /// First pages of folders with parts: no cache explains them for long.
    pub first: f64,
}

/// How many sources of a site do what browsers do: each counts the same, so that one heavy crawler does not set the rule.
#[derive(Debug, Clone, Copy, Default)]
pub struct Customs {
    /// Sources with more than one request.
    pub sources: u64,
    /// Of these, the ones that were sent three pages or more and name themselves no robot.
    pub readers: u64,
    /// Of these, the ones that loaded parts of pages.
    pub loaders: u64,
    /// Of the readers with many pictures, those who loaded a style sheet or script, too.
    pub styled: Habit,
    /// Of the readers with some style sheets, those who loaded a font or the site's icon, too.
    pub drawn: Habit,
    /// Of the readers with pictures or fonts who name some pages, those who named the page before again and again.
    pub chained: Habit,
    /// Sources that speak HTTP/1.0.
    pub old_protocol: u64,
    /// Sources without a user agent.
    pub agentless: u64,
    /// Sources that named a page which led there, at least once.
    pub referring: u64,
    /// Sources that wrote a referrer as no browser does.
    pub made_up: u64,
    /// Of the loaders, the ones that named the page with a part.
    pub naming: u64,
    /// Which header fields they send.
    pub headers: HeaderHabits,
}

/// How many sources do one thing, and how many of these another.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habit {
    sources: u64,
    with: u64,
}

impl Habit {
    fn observe(&mut self, sources: bool, with: bool) {
        self.sources += u64::from(sources);
        self.with += u64::from(sources && with);
    }

    fn absorb(&mut self, other: Habit) {
        self.sources += other.sources;
        self.with += other.with;
    }

    /// The share of those with the habit, where there are enough sources to tell. One without it is supposed beside them.
    pub fn share(self) -> Option<f64> {
        const SOURCES_MIN: u64 = 20;
        (self.sources >= SOURCES_MIN).then(|| self.with as f64 / (self.sources + 1) as f64)
    }
}

impl Customs {
    fn observe(&mut self, profile: &Profile) {
        let odd = profile.oddities();
        let is_reader = profile.shown >= READER_PAGES && profile.declared == 0;
        self.sources += 1;
        self.readers += u64::from(is_reader);
        self.loaders += u64::from(is_reader && profile.assets > 0);
        self.styled.observe(
            is_reader && profile.images >= PICTURES,
            profile.styles() > 0,
        );
        self.drawn
            .observe(is_reader && profile.styles() >= STYLES, profile.drawn > 0);
        self.chained.observe(
            is_reader && profile.shows_pages() && profile.referrers_link >= LINKS_NAMED,
            profile.chain * CHAINED >= profile.referrers_link,
        );
        self.old_protocol += u64::from(odd.old_protocol * 2 > profile.requests);
        self.agentless += u64::from(odd.agents_empty * 2 > profile.requests);
        self.referring += u64::from(profile.referrers_empty < profile.referrers);
        self.made_up += u64::from(odd.made_up != [0; MADE_UP_CELLS]);
        self.naming += u64::from(is_reader && profile.assets_of_pages > 0);
        self.headers.observe(profile);
    }

    fn absorb(&mut self, other: Customs) {
        self.sources += other.sources;
        self.readers += other.readers;
        self.loaders += other.loaders;
        self.styled.absorb(other.styled);
        self.drawn.absorb(other.drawn);
        self.chained.absorb(other.chained);
        self.old_protocol += other.old_protocol;
        self.agentless += other.agentless;
        self.referring += other.referring;
        self.made_up += other.made_up;
        self.naming += other.naming;
        self.headers.absorb(other.headers);
    }
}

/// A source's steps from page to page that name no page, as far as they can be looked up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Steps {
    /// All of them.
    pub all: u32,
    /// Those that are links of the site.
    pub linked: u32,
}

/// Links of the site that are kept.
const LINKS: usize = 512;

/// Referrers it takes to tell the names of the site.
const OWN_REFERRERS_MIN: u64 = 20;
/// Pages from which a source is a reader, whose browser loads parts if it ever does.
const READER_PAGES: u32 = 3;
/// Pictures, and style sheets and scripts, from which other kinds of parts are to be expected.
const PICTURES: u32 = 10;
const STYLES: u32 = 5;
/// Pages with a referrer from which it is to be expected that the page before is among them, and one in how many it is then at least.
const LINKS_NAMED: u32 = 10;
const CHAINED: u32 = 10;

/// Totals of one window. All of them are integers that add up in any order.
#[derive(Debug, Clone)]
pub struct Site {
    /// Page requests.
    pub pages: u64,
    /// Requests for style sheets, scripts, fonts and images.
    parts: u64,
    /// Time of the earliest request.
    pub first_seen: u32,
    /// Time of the latest request.
    pub last_seen: u32,
    /// Page requests with a session id.
    pub sessions: u64,
    /// All bits that any record has.
    flags: u32,
    /// Asset requests by their referrer's host: browsers name the page's own site there.
    asset_hosts: Cells<u32, HOST_CELLS>,
    asset_referrers: u64,
    /// By the folder's hash: pages of one folder are made alike.
    folders: Cells<Folder, FOLDERS>,
    customs: Customs,
    /// Links that visitors followed.
    links: Lowest<LINKS>,
    /// Which pages people look at.
    popularity: Popularity,
    /// Page requests by their referrer's host: where a log has no assets, the site's own is the one named most.
    page_hosts: Cells<u32, HOST_CELLS>,
    page_referrers: u64,
    /// Which cells of borrowed referrers hold a host of the site's own, once everything is added up and somebody asks: that takes a look
    /// at all hosts, and thousands of sources ask.
    own_cells: OnceLock<[bool; REFERRER_CELLS]>,
    /// The query strings of sources with pages enough to have a habit: all of them, and those that look like people.
    habits: [QueryHabits; 2],
    /// Pages of all sources with more than one request.
    distinct_pages: Distinct,
    /// Requests of those sources in each half hour.
    half_hours: Vec<u64>,
    /// The longest stretch of them without a gap, once everything is added up.
    covered: Range<usize>,
}

/// Sources, and the sum of their query shares in thousandths.
#[derive(Debug, Clone, Copy, Default)]
struct QueryHabits {
    sources: u64,
    queries: u64,
}

/// Sources from which their mean is the site's.
const HABIT_SOURCES_MIN: u64 = 20;

impl QueryHabits {
    fn add(&mut self, other: QueryHabits) {
        self.sources += other.sources;
        self.queries += other.queries;
    }

    fn share(self) -> Option<f64> {
        (self.sources >= HABIT_SOURCES_MIN)
            .then(|| self.queries as f64 / self.sources as f64 / 1000.0)
    }
}

/// Share of the busiest agent below which several agents are several people.
const SHARED_TOP_MAX: f64 = 0.8;

/// Somebody behind the source loads page parts, or several browsers share it. Crawlers that do so are few, even where crawlers are
/// most of the sources.
fn looks_like_people(profile: &Profile) -> bool {
    let top = f64::from(profile.agents.top_requests());
    let is_shared =
        profile.agents.count() > 1 && top < SHARED_TOP_MAX * f64::from(profile.agents_logged);
    profile.assets_of_pages > 0 || is_shared
}

/// Requests that a silence must have swallowed to be a gap in the log: by chance it happens once in a billion.
const GAP_REQUESTS: f64 = 20.0;

fn longer(one: Range<usize>, other: Range<usize>) -> Range<usize> {
    if other.len() > one.len() { other } else { one }
}

/// Pages from which a source's share of queries is a habit.
const HABIT_PAGES: u32 = 5;

impl Default for Site {
    fn default() -> Site {
        Site {
            pages: 0,
            parts: 0,
            first_seen: u32::MAX,
            last_seen: 0,
            sessions: 0,
            flags: 0,
            asset_hosts: Cells::default(),
            asset_referrers: 0,
            folders: Cells::default(),
            customs: Customs::default(),
            links: Lowest::default(),
            popularity: Popularity::default(),
            page_hosts: Cells::default(),
            page_referrers: 0,
            own_cells: OnceLock::new(),
            habits: [QueryHabits::default(); 2],
            distinct_pages: Distinct::default(),
            half_hours: Vec::new(),
            covered: 0..0,
        }
    }
}

impl Site {
    /// A source's requests in each half hour that the log covers.
    pub fn covered_counts(&self, profile: &Profile) -> Vec<f64> {
        let counts = profile.bins.dense(self.half_hours.len());
        let covered = counts.get(self.covered()).unwrap_or_default();
        covered.iter().map(|count| f64::from(*count)).collect()
    }

    /// Takes in one request.
    pub fn observe(&mut self, record: &Record) {
        self.first_seen = self.first_seen.min(record.time);
        self.last_seen = self.last_seen.max(record.time);
        self.pages += u64::from(record.is_page());
        self.parts += u64::from(record.has(flag::ASSET));
        self.sessions += u64::from(record.has_session());
        self.flags |= record.flags;
        if let Some(host) = record.asset_referrer() {
            *self.asset_hosts.get_mut(host as usize % HOST_CELLS) += 1;
            self.asset_referrers += 1;
        } else if let Some(host) = record.page_referrer() {
            *self.page_hosts.get_mut(host as usize % HOST_CELLS) += 1;
            self.page_referrers += 1;
        }
    }

    /// Takes in how a page is viewed.
    pub fn observe_view(&mut self, viewing: Viewing) {
        if let Some(link) = viewing.link {
            self.links.insert(link);
        }
        if !viewing.view && !viewing.with_parts && !viewing.with_images {
            return;
        }
        let folder = self.folders.get_mut(viewing.folder);
        folder.views += u32::from(viewing.view);
        folder.with_parts += u32::from(viewing.with_parts);
        folder.with_images += u32::from(viewing.with_images);
        if viewing.is_later {
            folder.later += u32::from(viewing.view);
            folder.later_with_parts += u32::from(viewing.with_parts);
        }
    }

    /// Takes in the habits of one source: each counts the same, so that one heavy crawler does not set the rule.
    pub fn observe_habits(&mut self, profile: &Profile, bins: usize) {
        self.half_hours.resize(bins, 0);
        profile
            .bins
            .for_each(|bin, count| self.half_hours[usize::from(bin)] += u64::from(count));
        self.distinct_pages.absorb(&profile.distinct_pages);
        self.customs.observe(profile);
        if looks_like_people(profile) {
            self.popularity.observe(&profile.distinct_pages);
        }
        if profile.pages >= HABIT_PAGES {
            let habits = QueryHabits {
                sources: 1,
                queries: u64::from(profile.queries) * 1000 / u64::from(profile.pages),
            };
            self.habits[0].add(habits);
            if looks_like_people(profile) {
                self.habits[1].add(habits);
            }
        }
    }

    /// Adds another part of the same window.
    pub fn absorb(&mut self, other: &Site) {
        self.own_cells = OnceLock::new();
        self.pages += other.pages;
        self.parts += other.parts;
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        self.sessions += other.sessions;
        self.flags |= other.flags;
        self.asset_referrers += other.asset_referrers;
        self.customs.absorb(other.customs);
        self.links.absorb(&other.links);
        self.popularity.absorb(&other.popularity);
        self.page_referrers += other.page_referrers;
        for (mine, theirs) in self.habits.iter_mut().zip(other.habits) {
            mine.add(theirs);
        }
        self.distinct_pages.absorb(&other.distinct_pages);
        if self.half_hours.len() < other.half_hours.len() {
            self.half_hours.resize(other.half_hours.len(), 0);
        }
        for (mine, theirs) in self.half_hours.iter_mut().zip(&other.half_hours) {
            *mine += theirs;
        }
        let folders = &mut self.folders;
        (other.folders).for_each(|at, folder| folders.get_mut(at).add(folder));
        let hosts = &mut self.asset_hosts;
        (other.asset_hosts).for_each(|at, requests| *hosts.get_mut(at) += requests);
        let hosts = &mut self.page_hosts;
        (other.page_hosts).for_each(|at, requests| *hosts.get_mut(at) += requests);
    }

    /// Whether any request's referrer, user agent and session were logged.
    pub fn logged(&self) -> [bool; 3] {
        [
            flag::REFERRER_LOGGED,
            flag::AGENT_LOGGED,
            flag::SESSION_LOGGED,
        ]
        .map(|bit| self.flags & bit != 0)
    }

    /// Adds the pages, parts and referrers of another site, and nothing else.
    pub fn count_kinds(&mut self, other: &Site) {
        self.pages += other.pages;
        self.parts += other.parts;
        self.page_referrers += other.page_referrers;
    }

    /// What sessions are read by.
    pub fn around(&self) -> Around {
        Around::of(self.pages, self.parts, self.page_referrers)
    }

    /// What the site's other sources do.
    pub fn customs(&self) -> Customs {
        self.customs
    }

    /// True where some sources say which page led them to the next: where nobody does, a proxy may take the referrer away from all.
    pub fn has_referrers(&self) -> bool {
        const SOURCES_MIN: u64 = 20;
        let Customs {
            sources, referring, ..
        } = self.customs;
        sources < SOURCES_MIN || referring >= SOURCES_MIN || referring * 50 >= sources
    }

    /// True where enough sources load parts of this site's pages for their absence to say something.
    pub fn has_parts(&self) -> bool {
        // Where crawlers are most of all visitors, people are still enough to show what pages have. More of them have to, so that a
        // fleet cannot hide them among its own addresses.
        const LOADERS: [(u64, u64); 2] = [(10, 20), (30, 100)];
        let Customs {
            readers, loaders, ..
        } = self.customs;
        let mut shares = LOADERS.iter();
        shares.any(|(least, among)| loaders >= *least && loaders * among >= readers)
    }

    /// True where enough people came to show what browsers do here, and under which name they know the site.
    pub fn has_contrast(&self) -> bool {
        self.has_parts() && self.asset_referrers >= OWN_REFERRERS_MIN
    }

    /// How many of a source's pages a browser would have loaded with parts. What its pages have in common is in the cache for it as it is
    /// for others: of chapter after chapter hardly one brings anything new.
    pub fn expected_parts(&self, profile: &Profile) -> Expected {
        if self.folders.is_empty() {
            return Expected::default();
        }
        let Some(few) = profile.distinct_pages.few() else {
            return self.expected_of_many(profile);
        };
        let mut seen = [0_u64; FOLDERS / 64];
        let mut expected = Expected::default();
        for at in few.iter().map(|page| folder(*page)) {
            let folder = self.folders.get(at);
            match seen[at / 64] >> (at % 64) & 1 == 1 {
                true => expected.parts += folder.later_share(),
                false => expected.first += folder.part_share(),
            }
            seen[at / 64] |= 1 << (at % 64);
            expected.images += folder.image_share();
            expected.views += folder.any_later_share();
        }
        // Which page it saw again is not known.
        expected.views *= f64::from(profile.shown) / few.len().max(1) as f64;
        expected
    }

    /// Of many pages only the number is known: those of the folder in which it goes from page to page, or those of all.
    fn expected_of_many(&self, profile: &Profile) -> Expected {
        let steps = profile.named_pairs.all + profile.numbered_pairs.all;
        let stays = steps * 2 >= profile.pages;
        let like = match profile.last_folder().filter(|_| stays) {
            Some(folder) => self.folders.get(folder),
            None => {
                let mut sum = Folder::default();
                self.folders.for_each(|_, folder| sum.add(folder));
                sum
            }
        };
        let pages = profile.distinct_pages.count() as f64;
        Expected {
            parts: like.later_share() * pages,
            images: like.image_share() * pages,
            views: like.any_later_share() * f64::from(profile.shown),
            first: like.part_share(),
        }
    }

    /// Whether any request's version of HTTP was logged.
    pub fn tells_protocol(&self) -> bool {
        self.flags & flag::PROTOCOL_LOGGED != 0
    }

    /// Whether any request's answering time was logged.
    pub fn is_timed(&self) -> bool {
        self.flags & flag::TIMED != 0
    }

    /// Half hours of the window, whether the log covers them or not.
    pub fn half_hours(&self) -> usize {
        self.half_hours.len()
    }

    /// The longest stretch of half hours that the log covers without a gap.
    ///
    /// A quiet night is no gap. It is one where nobody came at a time at which on other days there are always some.
    pub fn covered(&self) -> Range<usize> {
        self.covered.clone()
    }

    /// Finds out what the log covers, once everything is added up: every source asks.
    pub fn settle(&mut self) {
        let is_busy = |count: &u64| *count > 0;
        let first = self.half_hours.iter().position(is_busy).unwrap_or(0);
        let end = self
            .half_hours
            .iter()
            .rposition(is_busy)
            .map_or(0, |last| last + 1);
        let mut longest = first..first;
        let mut start = first;
        let mut at = first;
        while at < end {
            let silence = self.half_hours[at..end]
                .iter()
                .take_while(|count| **count == 0)
                .count();
            let missed: f64 = (at..at + silence).map(|bin| self.expected(bin)).sum();
            if missed >= GAP_REQUESTS {
                longest = longer(longest, start..at);
                start = at + silence;
            }
            at += silence.max(1);
        }
        self.covered = longer(longest, start..end);
    }

    /// Requests in the same half hour of the window's other days, on average.
    fn expected(&self, bin: usize) -> f64 {
        let same = self.half_hours.iter().skip(bin % DAY).step_by(DAY);
        let (days, requests) = same.fold((0, 0), |(days, sum), count| (days + 1, sum + count));
        // The half hour itself is empty.
        requests as f64 / f64::from((days - 1).max(1))
    }

    /// Different pages that sources with more than one request fetched.
    pub fn distinct_pages(&self) -> u64 {
        self.distinct_pages.count()
    }

    /// Different pages that so many page requests would reach if they went where people go; `None` where too few people came to tell.
    pub fn expected_pages(&self, requests: u32) -> Option<f64> {
        self.popularity.expected(requests, self.distinct_pages())
    }

    /// How many of a source's steps without a referrer are links of this site, as far as the sample of links covers them.
    pub fn look_up_links(&self, profile: &Profile) -> Steps {
        let steps = profile.unnamed_steps().iter();
        let covered = steps.filter(|step| **step <= self.links.limit());
        let mut found = Steps::default();
        for step in covered {
            found.all += 1;
            found.linked += u32::from(self.links.contains(*step));
        }
        found
    }

    /// Share of page requests with a query string, as the typical source has it: of those that look like people where there are
    /// enough of them, since crawlers can be nineteen of twenty sources and would set the rule they are judged by.
    pub fn query_share(&self) -> Option<f64> {
        let [all, people] = self.habits;
        people.share().or_else(|| all.share())
    }

    /// True for a host that at least one in a hundred asset requests names as its page's. Where the log has no assets, for one that
    /// at least half of the page requests with a referrer name.
    pub fn is_own_host(&self, host: u32) -> bool {
        self.is_own_cell(host as usize % HOST_CELLS)
    }

    /// How many page requests of a source name a page of this site that it never fetched.
    pub fn borrowed(&self, profile: &Profile) -> u32 {
        let borrowed = profile.oddities().borrowed;
        if borrowed == [0; REFERRER_CELLS] {
            return 0;
        }
        let is_own = |cell: usize| self.is_own_in(cell, REFERRER_CELLS);
        let own = self.own_cells.get_or_init(|| std::array::from_fn(is_own));
        let cells = borrowed.into_iter().zip(own);
        cells
            .filter(|(_, is_own)| **is_own)
            .map(|(count, _)| u32::from(count))
            .sum()
    }

    /// How many page requests of a source name this site in a way no browser does.
    pub fn made_up(&self, profile: &Profile) -> u32 {
        let cells = profile.oddities().made_up;
        let named = cells
            .into_iter()
            .enumerate()
            .filter(|(_, count)| *count > 0);
        named
            .filter(|(cell, _)| self.is_own_in(*cell, MADE_UP_CELLS))
            .map(|(_, count)| u32::from(count))
            .sum()
    }

    /// True where a host of this site falls into one of so many cells.
    fn is_own_in(&self, cell: usize, cells: usize) -> bool {
        (cell..HOST_CELLS)
            .step_by(cells)
            .any(|at| self.is_own_cell(at))
    }

    /// True where visitors' referrers have their paths. Logs may be written, or made anonymous, without.
    pub fn writes_paths(&self) -> bool {
        const LOADERS_MIN: u64 = 10;
        let customs = self.customs;
        match customs.loaders >= LOADERS_MIN {
            true => customs.naming * 4 >= customs.loaders,
            false => customs.made_up * 4 < customs.referring,
        }
    }

    fn is_own_cell(&self, at: usize) -> bool {
        let named = |cells: &Cells<u32, HOST_CELLS>| u64::from(cells.get(at));
        match self.asset_referrers {
            0 => {
                self.page_referrers >= OWN_REFERRERS_MIN
                    && named(&self.page_hosts) * 2 >= self.page_referrers
            }
            assets => assets >= OWN_REFERRERS_MIN && named(&self.asset_hosts) * 100 >= assets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(half_hours: impl Iterator<Item = u64>) -> Site {
        let mut site = Site {
            half_hours: half_hours.collect(),
            ..Site::default()
        };
        site.settle();
        site
    }

    #[test]
    fn a_gap_is_where_others_days_are_busy() {
        let day_and_night = |at: usize| if at % DAY < 16 { 0 } else { 30 };
        assert_eq!(site((0..240).map(day_and_night)).covered(), 16..240);
        // Three hours are missing on the second day.
        let missing = |at: usize| {
            if (80..86).contains(&at) {
                0
            } else {
                day_and_night(at)
            }
        };
        assert_eq!(site((0..240).map(missing)).covered(), 86..240);
        // The log begins and ends inside of the window.
        let part = |at: usize| if (50..110).contains(&at) { 9 } else { 0 };
        assert_eq!(site((0..240).map(part)).covered(), 50..110);
        assert_eq!(site((0..240).map(|_| 0)).covered(), 0..0);
        assert_eq!(Site::default().covered(), 0..0);
    }
}
