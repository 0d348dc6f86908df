//! A visit: where somebody comes from, which pages they open and how long they look, until they have had enough.

use std::rc::Rc;

use super::browser::{Page, Person, Privacy, View, Window};
use super::calendar::{SPAN_MS, spread};
use super::site::Site;

/// How the people of a source use the market.
#[derive(Debug, Clone)]
pub(super) struct Taste {
    /// Median of pages in a visit, and how widely it varies.
    pub(super) pages: f64,
    pub(super) pages_sigma: f64,
    /// Seconds that the median page is looked at.
    pub(super) think: f64,
    /// How often a step goes to own listings and messages.
    pub(super) selling: f64,
    /// How often the newest listings are loaded again rather than something else.
    pub(super) hunting: f64,
    /// How often a page stays open after the visit and its script goes on asking for messages.
    pub(super) lingering: f64,
}

/// Seconds between two questions of the script that looks for messages.
const POLL_S: f64 = 90.0;

impl Window<'_> {
    /// One visit. Gives when it ended.
    pub(super) fn visit(&mut self, person: &mut Person, start: u64, taste: &Taste) -> u64 {
        let mut left = spread(self.random, taste.pages, taste.pages_sigma).clamp(1.0, 400.0) as u32;
        let mut at = start;
        let (mut page, mut referrer) = self.entry(person, at);
        let mut trail: Vec<Page> = Vec::new();
        loop {
            let loaded = self.open(person, at, &page, &referrer);
            left = left.saturating_sub(1);
            let Some(loaded) = loaded else {
                if left == 0 || self.random.chance(0.5) {
                    return at;
                }
                at += self.random.between(3_000.0, 45_000.0) as u64;
                continue;
            };
            at = at.max(loaded - (loaded - at) / 2) + self.think(page.view, taste);
            if left == 0 || at >= SPAN_MS {
                break;
            }
            if !matches!(page.view, View::Item(_) | View::Account) {
                trail.push(page.clone());
            }
            let (next, from) = self.next(person, &mut at, &page, &mut trail, taste);
            referrer = person.referrer_from(&from);
            page = next;
        }
        if person.member && self.random.chance(taste.lingering) {
            self.linger(person, at, &page);
        }
        at
    }

    fn think(&mut self, view: View, taste: &Taste) -> u64 {
        let median = match view {
            View::Item(_) => taste.think * 1.7,
            View::Account => taste.think * 1.2,
            _ => taste.think * 0.8,
        };
        // Somebody at the door, a phone call, a kettle.
        let away = if self.random.chance(0.03) {
            self.random.exponential(240.0)
        } else {
            0.0
        };
        ((spread(self.random, median, 0.95).clamp(0.6, 1_500.0) + away) * 1_000.0) as u64
    }

    fn entry(&mut self, person: &Person, at: u64) -> (Page, Rc<str>) {
        let engines = [
            "https://www.google.com/",
            "https://www.google.com/",
            "https://www.bing.com/",
            "https://duckduckgo.com/",
        ];
        let engine: Rc<str> = (*self.random.pick(&engines)).into();
        let engine = if person.privacy == Privacy::Nothing {
            self.site.empty.clone()
        } else {
            engine
        };
        let nowhere = self.site.empty.clone();
        match self.random.below(20) {
            0..=5 => (
                item_page(self.site, self.site.popular(self.random), at),
                engine,
            ),
            6 => (
                item_page(self.site, self.site.popular(self.random), at),
                "https://l.facebook.com/".into(),
            ),
            // A link in a mail, or sent by a friend.
            7..=8 => (
                item_page(self.site, self.site.popular(self.random), at),
                nowhere,
            ),
            9..=11 => (self.own_search(person, 1, at), nowhere),
            12..=13 => (
                list_page(
                    self.site,
                    *self.random.pick(&person.categories),
                    1,
                    true,
                    at,
                ),
                nowhere,
            ),
            14..=15 => (self.home(), engine),
            _ => (self.home(), nowhere),
        }
    }

    fn home(&mut self) -> Page {
        let shown = (0..8).map(|_| self.site.popular(self.random)).collect();
        Page {
            target: "/".into(),
            view: View::Home,
            query: None,
            shown,
        }
    }

    fn own_search(&mut self, person: &Person, page: usize, at: u64) -> Page {
        let query = match self.random.chance(0.75) {
            true => self.random.pick(&person.queries).clone(),
            false => self.site.query(self.random).into(),
        };
        search_page(self.site, query, page, at)
    }

    /// The next page and the page that links to it.
    fn next(
        &mut self,
        person: &mut Person,
        at: &mut u64,
        page: &Page,
        trail: &mut Vec<Page>,
        taste: &Taste,
    ) -> (Page, Rc<str>) {
        let here = page.target.clone();
        if person.member && self.random.chance(taste.selling) {
            return (self.business(person, at, &here), here);
        }
        if self.random.chance(taste.hunting) {
            let category = person.categories[0];
            let list = list_page(self.site, category, 1, true, *at);
            return (list.clone(), list.target);
        }
        match page.view {
            View::Home => self.leave_home(person, at, page),
            View::List { .. } | View::Search { .. } | View::Seller(_) => {
                self.leave_list(person, at, page)
            }
            View::Item(item) => self.leave_item(person, at, (item, &here), trail),
            View::Account => (self.typed_search(person, at, &here), here),
        }
    }

    fn leave_home(&mut self, person: &Person, at: &mut u64, page: &Page) -> (Page, Rc<str>) {
        let here = page.target.clone();
        match self.random.below(10) {
            0..=4 => (self.typed_search(person, at, &here), here),
            5..=7 => (
                list_page(
                    self.site,
                    *self.random.pick(&person.categories),
                    1,
                    false,
                    *at,
                ),
                here,
            ),
            _ => (
                item_page(self.site, *self.random.pick(&page.shown), *at),
                here,
            ),
        }
    }

    fn leave_list(&mut self, person: &mut Person, at: &mut u64, page: &Page) -> (Page, Rc<str>) {
        let here = page.target.clone();
        if page.shown.is_empty() {
            return (self.typed_search(person, at, &here), here);
        }
        let pick = |window: &mut Self| {
            // People look at the top of a list more than at its end.
            let place = window.random.unit().powf(1.4) * page.shown.len() as f64;
            item_page(window.site, page.shown[place as usize], *at)
        };
        match self.random.below(100) {
            0..=49 => (pick(self), here),
            50..=61 => {
                // Several in new tabs, one click after the other.
                let from = person.referrer_from(&here);
                for _ in 0..1 + self.random.below(3) {
                    let tab = item_page(self.site, *self.random.pick(&page.shown), *at);
                    self.open(person, *at, &tab, &from);
                    *at += self.random.between(700.0, 3_000.0) as u64;
                }
                (
                    item_page(self.site, *self.random.pick(&page.shown), *at),
                    here,
                )
            }
            62..=83 => (self.turn(page, *at), here),
            _ => (self.typed_search(person, at, &here), here),
        }
    }

    /// The next page of a list.
    fn turn(&mut self, page: &Page, at: u64) -> Page {
        match (page.view, &page.query) {
            (
                View::List {
                    category,
                    page,
                    newest,
                },
                _,
            ) => list_page(self.site, category, page + 1, newest, at),
            (View::Search { page }, Some(query)) => {
                search_page(self.site, query.clone(), page + 1, at)
            }
            _ => item_page(self.site, *self.random.pick(&page.shown), at),
        }
    }

    fn leave_item(
        &mut self,
        person: &mut Person,
        at: &mut u64,
        here: (u32, &Rc<str>),
        trail: &mut Vec<Page>,
    ) -> (Page, Rc<str>) {
        let (item, here) = here;
        let back = trail.pop().filter(|list| !list.shown.is_empty());
        match (self.random.below(100), back) {
            (0..=57, Some(list)) => {
                // The back button: most browsers show what they kept, some ask again.
                if self.random.chance(0.3) {
                    let empty = self.site.empty.clone();
                    self.open(person, *at, &list, &empty);
                    *at += spread(self.random, 3_000.0, 0.7) as u64;
                }
                let next = item_page(self.site, *self.random.pick(&list.shown), *at);
                let from = list.target.clone();
                trail.push(list);
                (next, from)
            }
            (58..=68, _) => (
                seller_page(self.site, self.site.items[item as usize].seller, *at),
                here.clone(),
            ),
            (69..=73, _) if person.member => {
                let watch = format!("/api/watch/{}", self.site.items[item as usize].number).into();
                let from = person.referrer_from(here);
                self.send(person, *at, ("POST", &watch), (204, 0), &from);
                *at += 1_500;
                (self.typed_search(person, at, here), here.clone())
            }
            (74..=86, _) => {
                let category = self.site.items[item as usize].category;
                (list_page(self.site, category, 1, false, *at), here.clone())
            }
            _ => (self.typed_search(person, at, here), here.clone()),
        }
    }

    /// A search, with the suggestions that a script asks for while somebody types.
    fn typed_search(&mut self, person: &Person, at: &mut u64, here: &str) -> Page {
        let page = self.own_search(person, 1, *at);
        let query = page
            .query
            .clone()
            .unwrap_or_else(|| self.site.empty.clone());
        if self.random.chance(0.5) {
            let from = person.referrer_from(here);
            let mut length = 2;
            while length < query.len() && self.random.chance(0.7) {
                let suggest = format!("/api/suggest?q={}", &query[..length]).into();
                self.send(person, *at, ("GET", &suggest), (200, 420), &from);
                *at += spread(self.random, 420.0, 0.5) as u64;
                length += 1 + self.random.below(4) as usize;
            }
        }
        page
    }

    /// Messages and own listings.
    fn business(&mut self, person: &Person, at: &mut u64, here: &str) -> Page {
        let from = person.referrer_from(here);
        let number = self.random.below(900_000) + 100_000;
        let target: Rc<str> = match self.random.below(8) {
            0..=1 => "/messages".into(),
            2..=3 => format!("/messages/{number}").into(),
            4 => {
                let send = format!("/messages/{number}/send").into();
                self.send(person, *at, ("POST", &send), (302, 0), &from);
                *at += 120 + self.random.below(300);
                format!("/messages/{number}").into()
            }
            5 => "/my/listings".into(),
            6 => format!("/my/listings/{number}/edit").into(),
            _ => {
                for _ in 0..self.random.below(5) {
                    let upload = "/api/photos".into();
                    self.send(person, *at, ("POST", &upload), (201, 88), &from);
                    *at += spread(self.random, 2_500.0, 0.6) as u64;
                }
                let save = format!("/my/listings/{number}").into();
                self.send(person, *at, ("POST", &save), (302, 0), &from);
                *at += 120 + self.random.below(300);
                "/my/listings".into()
            }
        };
        Page {
            target,
            view: View::Account,
            query: None,
            shown: Vec::new(),
        }
    }

    /// A tab that was left open: its script asks on, for hours.
    fn linger(&mut self, person: &Person, at: u64, page: &Page) {
        let unread: Rc<str> = "/api/unread".into();
        let from = person.referrer_from(&page.target);
        let end = at + (self.random.exponential(3_600.0 * 1.3) * 1_000.0) as u64;
        let mut now = at + (POLL_S * 1_000.0) as u64;
        while now < end.min(SPAN_MS) {
            self.send(person, now, ("GET", &unread), (200, 31), &from);
            now += (POLL_S * 1_000.0) as u64 + self.random.below(400);
        }
    }
}

/// The page of a listing, with listings like it below.
pub(super) fn item_page(site: &Site, item: u32, at: u64) -> Page {
    let entry = &site.items[item as usize];
    let mut shown = site.found(&entry.url, 1, at);
    shown.truncate(4);
    Page {
        target: entry.url.clone(),
        view: View::Item(item),
        query: None,
        shown,
    }
}

/// A page of a category.
pub(super) fn list_page(site: &Site, category: usize, page: usize, newest: bool, at: u64) -> Page {
    let target = site.category_path(category, page, newest).into();
    let shown = site.list(category, page, at);
    Page {
        target,
        view: View::List {
            category,
            page,
            newest,
        },
        query: None,
        shown,
    }
}

/// A page of a search.
pub(super) fn search_page(site: &Site, query: Rc<str>, page: usize, at: u64) -> Page {
    let target = match page {
        0 | 1 => format!("/s?q={query}").into(),
        _ => format!("/s?q={query}&page={page}").into(),
    };
    let shown = site.found(&query, page, at);
    Page {
        target,
        view: View::Search { page },
        query: Some(query),
        shown,
    }
}

fn seller_page(site: &Site, seller: u32, at: u64) -> Page {
    let target = format!("/seller/{seller}").into();
    Page {
        target,
        view: View::Seller(seller),
        query: None,
        shown: site.stock(seller, at),
    }
}
