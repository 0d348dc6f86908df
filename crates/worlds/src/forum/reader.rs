//! A person's month on the forum: visits, and what happens within one.

use super::DAYS;
use super::Referrer;
use super::View;
use super::habits::Act;
use super::habits::Habits;
use super::habits::Person;
use super::habits::Sends;
use super::site::Page;
use super::site::Site;
use super::start_ms;
use crate::random::Random;

const DAY_MS: u64 = 86_400_000;
/// Page requests of a person at least: who comes less often has no long session to judge.
const REQUESTS_MIN: usize = 130;
/// Page requests of a person at most.
const REQUESTS_MAX: usize = 900;
/// Earlier pages that somebody goes back to.
const MEMORY: usize = 12;

/// One person at the forum.
struct Reader<'a> {
    site: &'a Site,
    person: Person,
    account: u32,
    random: Random,
    now_ms: u64,
    page: Page,
    /// Pages of this visit with their parents, the latest last.
    seen: Vec<(Page, Option<Page>)>,
    /// Tabs that are open and not yet looked at.
    tabs: Vec<Page>,
    views: Vec<View>,
}

/// All page requests of a person in a month or more, in order of time.
pub(super) fn month(random: &mut Random, site: &Site, habits: &Habits, account: u32) -> Vec<View> {
    let mut reader = Reader {
        site,
        person: Person::draw(random, habits),
        account,
        random: random.clone(),
        now_ms: start_ms(),
        page: Page::Index,
        seen: Vec::new(),
        tabs: Vec::new(),
        views: Vec::new(),
    };
    let mut day = 0;
    // Who comes seldom is followed for longer.
    while reader.views.len() < REQUESTS_MIN || day < DAYS && reader.views.len() < REQUESTS_MAX {
        for start in reader.starts(day) {
            reader.now_ms = reader.now_ms.max(start);
            reader.visit();
        }
        day += 1;
    }
    reader.views
}

impl Reader<'_> {
    /// When the visits of a day begin.
    fn starts(&mut self, day: u64) -> Vec<u64> {
        let visits = self.random.poisson(self.person.visits);
        let mut starts: Vec<u64> = (0..visits)
            .map(|_| {
                let hour = self.person.hour + 3.5 * self.random.normal();
                let ms = hour.rem_euclid(24.0) * 3_600_000.0;
                start_ms() + day * DAY_MS + ms as u64
            })
            .collect();
        starts.sort_unstable();
        starts
    }

    fn day(&self) -> u64 {
        (self.now_ms - start_ms()) / DAY_MS
    }

    fn visit(&mut self) {
        let mut pages = 1 + self.random.exponential(self.person.pages) as usize;
        if self.random.chance(self.person.marathons) {
            pages += 40 + self.random.below(120) as usize;
        }
        let end = self.views.len() + pages;
        self.begin();
        while self.views.len() < end {
            self.read();
            let act = self.person.act(&mut self.random);
            self.follow(act);
        }
        self.read();
        // Now and then the window stays open, and the next visit goes on from there.
        if !self.random.chance(0.3) {
            self.seen.clear();
            self.tabs.clear();
        }
    }

    /// The first page of a visit.
    fn begin(&mut self) {
        if self.random.chance(self.person.restores) {
            let last: Vec<(Page, Option<Page>)> = self.seen.clone();
            for (page, parent) in last.into_iter().rev().take(6) {
                self.request(page, parent);
                self.wait(0.2, 2.0);
            }
        }
        if self.seen.len() > 1 && self.random.chance(0.5) {
            return self.again();
        }
        match self.random.chance(self.person.news_first) {
            true => self.request(Page::News(0), None),
            false if self.random.chance(0.75) => self.request(Page::Index, None),
            false => self.outside(),
        }
    }

    fn follow(&mut self, act: Act) {
        match act {
            Act::Open => self.open(self.page),
            Act::Next => self.turn(),
            Act::Back => self.back(),
            Act::Again => self.again(),
            Act::Menu => {
                let menu = [
                    Page::Index,
                    Page::News(0),
                    Page::Inbox,
                    Page::Settings,
                    Page::Members(0),
                ];
                let weights = [0.4, 0.75, 0.9, 0.95, 1.0];
                let place = self.random.unit();
                let at = weights
                    .iter()
                    .position(|weight| place < *weight)
                    .unwrap_or(0);
                self.request(menu[at], Some(self.page));
            }
            Act::Tabs => self.open_tabs(),
            Act::Switch => self.switch(),
            Act::Outside => self.outside(),
            Act::Reply => self.reply(),
            Act::Profile => self.profile(),
            Act::Search => self.search(),
            Act::Moderate => self.moderate(),
        }
    }

    /// Takes a link of a page that leads to content: rows of lists near the top, as they stand there.
    fn open(&mut self, on: Page) {
        let links = self.site.content(on, self.day());
        let is_wanted = |page: &&Page| {
            page.is_thread() || matches!(page, Page::Board(..) | Page::Message(_) | Page::Report(_))
        };
        let wanted: Vec<Page> = links.iter().filter(is_wanted).copied().collect();
        if wanted.is_empty() {
            return self.request(Page::Index, Some(on));
        }
        let read: Vec<Page> = self.seen.iter().map(|(page, _)| *page).collect();
        let fresh: Vec<Page> = wanted
            .iter()
            .filter(|page| !read.contains(page))
            .copied()
            .collect();
        let from = if fresh.is_empty() { &wanted } else { &fresh };
        // Rather the next in the list than any.
        let at = self.random.exponential(from.len() as f64 / 6.0) as usize;
        let page = from[at.min(from.len() - 1)];
        self.request(page, Some(on));
    }

    fn turn(&mut self) {
        let previous = Site::previous(self.page).filter(|_| self.random.chance(0.08));
        let next = previous.or_else(|| self.site.next(self.page));
        match next {
            Some(next) => self.request(next, Some(self.page)),
            None => self.back(),
        }
    }

    /// One of the latest pages, lists rather than others.
    fn earlier(&mut self) -> (Page, Option<Page>) {
        let latest: Vec<(Page, Option<Page>)> =
            self.seen.iter().rev().take(MEMORY).copied().collect();
        let lists: Vec<(Page, Option<Page>)> = latest
            .iter()
            .filter(|(page, _)| page.is_list())
            .copied()
            .collect();
        let from = match !lists.is_empty() && self.random.chance(0.85) {
            true => lists,
            false => latest,
        };
        match from.is_empty() {
            true => (Page::Index, None),
            // The latest most often.
            false => from[(self.random.exponential(0.8) as usize).min(from.len() - 1)],
        }
    }

    fn back(&mut self) {
        let (page, _) = self.earlier();
        self.open(page);
    }

    /// Loads an earlier page again by the address it had, marker and all.
    fn again(&mut self) {
        let (page, parent) = self.earlier();
        self.request(page, parent);
    }

    fn open_tabs(&mut self) {
        let (list, _) = match self.page.is_list() {
            true => (self.page, None),
            false => self.earlier(),
        };
        let many = 2 + self.random.below(self.person.tabs);
        for _ in 0..many {
            self.open(list);
            self.tabs.push(self.page);
            self.wait(0.4, 4.0);
        }
        self.page = self.tabs.remove(0);
    }

    fn switch(&mut self) {
        if self.tabs.is_empty() {
            return self.back();
        }
        self.page = self.tabs.remove(0);
        match self.site.next(self.page) {
            Some(next) if self.random.chance(0.6) => self.request(next, Some(self.page)),
            _ => self.open(self.page),
        }
    }

    fn outside(&mut self) {
        let thread = self.site.any_thread(&mut self.random);
        let last = self.site.pages_of(thread) - 1;
        self.request(Page::Thread(thread, last), None);
    }

    fn reply(&mut self) {
        let Page::Thread(thread, _) = self.page else {
            return self.open(self.page);
        };
        let before = self.page;
        self.request(Page::Reply(thread), Some(before));
        self.wait(15.0, 400.0);
        let last = self.site.pages_of(thread) - 1;
        self.request(Page::Thread(thread, last), Some(Page::Reply(thread)));
    }

    fn profile(&mut self) {
        let links = self.site.content(self.page, self.day());
        let is_profile = |page: &&Page| matches!(page, Page::Profile(_));
        let profiles: Vec<Page> = links.iter().filter(is_profile).copied().collect();
        if profiles.is_empty() {
            return self.open(self.page);
        }
        let (before, page) = (self.page, *self.random.pick(&profiles));
        self.request(page, Some(before));
        if let (Page::Profile(member), true) = (page, self.random.chance(0.4)) {
            self.read();
            self.request(Page::PostsOf(member), Some(page));
        }
    }

    fn search(&mut self) {
        let before = self.page;
        if self.random.chance(0.6) {
            self.request(Page::Search, Some(before));
            self.wait(3.0, 20.0);
        }
        let query = self.random.below(5000) as u32;
        self.request(Page::Results(query, 0), Some(self.page));
    }

    fn moderate(&mut self) {
        if self.page != Page::Queue && !self.seen.iter().any(|(page, _)| *page == Page::Queue) {
            let before = self.page;
            self.request(Page::Queue, Some(before));
            self.read();
        }
        self.open(Page::Queue);
    }

    /// Stays on the page for as long as it is worth.
    fn read(&mut self) {
        let person = &self.person;
        let worth = if self.page.is_thread() { 1.0 } else { 0.35 };
        let seconds = match self.random.chance(person.skims) {
            true => self.random.between(0.8, 5.0),
            false => worth * person.median * (person.spread * self.random.normal()).exp(),
        };
        let seconds = match self.random.chance(person.pauses) {
            true => seconds + self.random.between(4.0, 8.3).exp(),
            false => seconds,
        };
        self.now_ms += (1000.0 * seconds.max(0.6)) as u64;
    }

    fn wait(&mut self, low: f64, high: f64) {
        self.now_ms += (1000.0 * self.random.between(low, high)) as u64;
    }

    fn request(&mut self, page: Page, parent: Option<Page>) {
        let referrer = match (self.person.referrer, parent) {
            (Sends::Nothing, _) | (_, None) => Referrer::Nothing,
            (Sends::Origin, Some(_)) => Referrer::Origin,
            (Sends::Page, Some(parent)) => Referrer::Page(parent),
        };
        self.views.push(View {
            at_ms: self.now_ms,
            account: self.account,
            page,
            parent,
            referrer,
        });
        self.seen.push((page, parent));
        self.page = page;
    }
}
