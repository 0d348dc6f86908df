//! How a page is asked for: by a browser with its parts, or bare.

use std::collections::HashSet;
use std::rc::Rc;

use super::SPAN_MS;
use super::site::Page;
use super::site::Site;
use crate::random::Random;
use crate::scene::Hit;

/// Which referrer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Referrer {
    /// The page with the link.
    Page,
    /// The site's start page, by a privacy setting.
    Origin,
    None,
}

/// One source's requests, as they are made.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) hits: Vec<Hit>,
    /// The clock, in milliseconds.
    pub(super) now: f64,
    pub(super) referrer: Referrer,
    /// Loads style sheets, scripts, fonts.
    pub(super) loads_parts: f64,
    pub(super) loads_images: bool,
    pub(super) asks_icon: bool,
    /// Keeps copies.
    pub(super) has_cache: bool,
    /// Runs scripts, which call the site.
    pub(super) calls: bool,
    /// Scrolls down to lazy pictures.
    pub(super) scrolls: f64,
    /// Milliseconds from a page to its first part on average, and how often it takes seconds instead.
    pub(super) lag_ms: f64,
    pub(super) stalls: f64,
    kept: HashSet<Rc<str>>,
    agent: Rc<str>,
    /// When the scripts of the page that is open began.
    open_since: f64,
    open: Option<Page>,
}

impl Visit {
    /// A browser like most, at a time of the world.
    pub(super) fn draw(random: &mut Random, address: u32) -> Visit {
        Visit {
            hits: Vec::new(),
            now: random.between(0.0, SPAN_MS),
            referrer: Referrer::Page,
            loads_parts: 1.0,
            loads_images: true,
            asks_icon: true,
            has_cache: true,
            calls: true,
            scrolls: random.unit(),
            lag_ms: random.between(3.5, 6.5).exp(),
            stalls: 0.0,
            kept: HashSet::new(),
            agent: format!(
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36",
                130 + address % 12
            )
            .into(),
            open_since: 0.0,
            open: None,
        }
    }

    /// Waits so many seconds on the page that is open, whose scripts call the site meanwhile.
    pub(super) fn wait(&mut self, random: &mut Random, site: &Site, seconds: f64) {
        let end = self.now + 1000.0 * seconds.min(6.0 * 3600.0);
        if self.calls
            && site.call_seconds > 0.0
            && let Some(page) = self.open
        {
            let period = 1000.0 * site.call_seconds;
            // A busy machine holds timers up; browsers stop them in hidden tabs after some minutes.
            let jitter = if self.stalls > 0.1 { 0.6 } else { 0.05 };
            let last = end.min(self.open_since + 300_000.0);
            let mut at = self.open_since + period;
            for _ in 0..200 {
                if at >= last {
                    break;
                }
                self.send(at, "POST", "/api/seen".into(), 204, &page.target());
                at += period * (1.0 + jitter * (random.unit() - 0.5).abs());
            }
        }
        self.now = end;
    }

    /// Opens a page, by a link of another or not.
    pub(super) fn open(
        &mut self,
        random: &mut Random,
        site: &Site,
        page: Page,
        from: Option<Page>,
    ) {
        let from = match self.referrer {
            Referrer::Page => from.map_or_else(String::new, Page::target),
            Referrer::Origin if from.is_some() => "/".to_owned(),
            Referrer::Origin | Referrer::None => String::new(),
        };
        let is_broken = random.chance(site.broken);
        let status = if is_broken { 404 } else { 200 };
        self.send(self.now, "GET", page.target().into(), status, &from);
        self.open = Some(page);
        self.open_since = self.now;
        let answered = self.now + random.exponential(site.answer_ms);
        self.now = answered;
        if random.chance(self.loads_parts) {
            self.load(random, site, page, answered);
        }
    }

    /// Fetches a page that a link names before anybody asks for it.
    pub(super) fn fetch_ahead(&mut self, random: &mut Random, site: &Site, page: Page) {
        let next = site.link(random, page);
        let at = self.now + random.exponential(800.0);
        self.send(at, "GET", next.target().into(), 200, &page.target());
    }

    /// Loads what belongs to a page.
    fn load(&mut self, random: &mut Random, site: &Site, page: Page, answered: f64) {
        let held_up = match random.chance(self.stalls) {
            true => random.between(1500.0, 8000.0),
            false => 0.0,
        };
        let mut at = answered + held_up;
        let referrer = match self.referrer {
            Referrer::None => String::new(),
            Referrer::Origin => "/".to_owned(),
            Referrer::Page => page.target(),
        };
        let icon = (site.has_icon && self.asks_icon).then(|| "/favicon.ico".to_owned());
        for part in site.parts(page).chain(icon) {
            at += random.exponential(self.lag_ms / 4.0);
            self.part(at, part.into(), site, &referrer);
        }
        if !self.loads_images {
            return;
        }
        for picture in site.pictures(page) {
            let is_lazy = random.chance(site.lazy);
            if is_lazy && !random.chance(self.scrolls) {
                continue;
            }
            let later = if is_lazy {
                random.exponential(6000.0)
            } else {
                0.0
            };
            at += random.exponential(self.lag_ms / 6.0);
            self.part(at + later, picture.into(), site, &referrer);
        }
    }

    /// Asks for a part, unless a copy of it may be used.
    fn part(&mut self, at: f64, part: Rc<str>, site: &Site, referrer: &str) {
        let is_known = self.has_cache && !self.kept.insert(Rc::clone(&part));
        match (is_known, site.keeps_parts) {
            (true, true) => {}
            (true, false) => self.send(at, "GET", part, 304, referrer),
            (false, _) => self.send(at, "GET", part, 200, referrer),
        }
    }

    /// Asks for a document that a page names.
    pub(super) fn document(&mut self, random: &mut Random, page: Page) {
        let name = format!("/papers/{}-{}.pdf", page.section, random.below(20));
        self.send(self.now, "GET", name.into(), 200, &page.target());
    }

    /// A request. Its source is set when all are made.
    pub(super) fn send(
        &mut self,
        at: f64,
        method: &'static str,
        target: Rc<str>,
        status: u16,
        referrer: &str,
    ) {
        let referrer = match referrer {
            "" => "".into(),
            path => format!("https://www.example.org{path}").into(),
        };
        self.hits.push(Hit {
            at_ms: at.max(0.0) as u64,
            source: 0,
            method,
            target,
            protocol: "HTTP/1.1",
            status,
            bytes: 1000,
            referrer,
            agent: Rc::clone(&self.agent),
        });
    }

    /// Another person with a browser of its own.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.open = None;
    }

    /// Everything kept so far: somebody who was there the day before.
    pub(super) fn remember(&mut self, site: &Site) {
        let sections = (0..site.sections).map(|section| Page { section, number: 0 });
        for page in sections {
            self.kept.extend(site.parts(page).map(Rc::from));
        }
    }
}
