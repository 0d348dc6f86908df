//! A program that fetches: its pace, its route and the headers it sends.

use std::rc::Rc;

use super::calendar::Calendar;
use super::pace::{Beat, Pace};
use super::route::{Aim, Fetch, Route};
use super::site::{Site, absolute};
use crate::actor::Label;
use crate::random::Random;
use crate::scene::Hit;

/// When a program changes its user agent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rotate {
    Never,
    EachRequest,
    /// After so many requests.
    Session(u32),
}

/// What a program says about where it came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Forge {
    Nothing,
    Home,
    Google,
    /// The page that really linked to it.
    Parent,
    /// The page fetched before, linked or not.
    Before,
    /// One of the above by chance.
    Mixed,
}

/// What a program fetches beside pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parts {
    /// How often the style sheet and script come with a page.
    pub(super) styles: f64,
    /// How often the photos of a listing come with it.
    pub(super) photos: f64,
}

/// A program on one address.
#[derive(Debug, Clone)]
pub(super) struct Crawler {
    pub(super) label: Label,
    pub(super) kind: &'static str,
    pub(super) campaign: String,
    /// Requests wanted on the busiest day.
    pub(super) target: f64,
    pub(super) pace: Pace,
    pub(super) aim: Aim,
    pub(super) shard: (usize, usize),
    pub(super) agents: Vec<Rc<str>>,
    pub(super) rotate: Rotate,
    pub(super) forge: Forge,
    pub(super) parts: Parts,
    pub(super) protocol: &'static str,
    pub(super) method: &'static str,
    /// From when to when it runs.
    pub(super) span: (u64, u64),
    /// When it hung or its machine was off.
    pub(super) pauses: Vec<(u64, u64)>,
    /// Fetches a failed page again.
    pub(super) retries: bool,
}

/// Requests on their way out.
struct Line<'a> {
    crawler: &'a Crawler,
    site: &'a Site,
    source: u32,
    agent: Rc<str>,
    since: u32,
    before: Rc<str>,
    hits: Vec<Hit>,
}

impl Crawler {
    /// All requests, with so many fetches on a busy day.
    pub(super) fn requests(
        &self,
        source: u32,
        volume: f64,
        site: &Site,
        calendar: &Calendar,
        random: &mut Random,
    ) -> Vec<Hit> {
        let list = self.pace.round(volume).unwrap_or(200);
        let mut route = Route::new(site, self.aim.clone(), self.shard, list, random);
        let agent = random.pick(&self.agents).clone();
        let mut line = Line {
            crawler: self,
            site,
            source,
            agent,
            since: 0,
            before: site.empty.clone(),
            hits: Vec::new(),
        };
        for beat in self.pace.beats(volume, self.span, calendar, random) {
            if self
                .pauses
                .iter()
                .any(|&(from, to)| (from..to).contains(&beat.at))
            {
                continue;
            }
            if beat.first {
                route.restart(random);
            }
            let fetch = route.next(beat.at, random);
            line.fetch(beat, &fetch, random);
        }
        line.hits
    }
}

impl Line<'_> {
    fn fetch(&mut self, beat: Beat, fetch: &Fetch, random: &mut Random) {
        self.since += 1;
        let due = match self.crawler.rotate {
            Rotate::Never => false,
            Rotate::EachRequest => true,
            Rotate::Session(after) => beat.first || self.since > after,
        };
        if due {
            self.agent = random.pick(&self.crawler.agents).clone();
            self.since = 0;
            self.before = self.site.empty.clone();
        }
        let referrer = self.referrer(fetch, random);
        let down = self.site.is_down(beat.at);
        let answer = match (down, beat.refused) {
            (true, _) => (503, 612),
            (_, true) => (429, 189),
            _ if random.chance(0.0015) => (500, 733),
            _ => fetch.answer,
        };
        self.send(beat.at, &fetch.target, answer, &referrer);
        if answer.0 >= 500 && self.crawler.retries {
            self.send(
                beat.at + 1_000 + random.below(9_000),
                &fetch.target,
                answer,
                &referrer,
            );
        }
        if answer.0 == 200 {
            self.parts(beat.at, fetch, random);
        }
        self.before = fetch.target.clone();
    }

    fn send(&mut self, at: u64, target: &Rc<str>, (status, bytes): (u16, u32), referrer: &Rc<str>) {
        self.hits.push(Hit {
            at_ms: at,
            source: self.source,
            method: self.crawler.method,
            target: target.clone(),
            protocol: self.crawler.protocol,
            status,
            bytes: if self.crawler.method == "HEAD" {
                0
            } else {
                bytes
            },
            referrer: referrer.clone(),
            agent: self.agent.clone(),
        });
    }

    fn referrer(&self, fetch: &Fetch, random: &mut Random) -> Rc<str> {
        let page = |target: &Rc<str>| {
            if target.is_empty() {
                self.site.empty.clone()
            } else {
                absolute(target)
            }
        };
        let forge = match self.crawler.forge {
            Forge::Mixed => *random.pick(&[
                Forge::Google,
                Forge::Parent,
                Forge::Parent,
                Forge::Before,
                Forge::Nothing,
            ]),
            forge => forge,
        };
        match forge {
            Forge::Nothing | Forge::Mixed => self.site.empty.clone(),
            Forge::Home => absolute("/"),
            Forge::Google => "https://www.google.com/".into(),
            Forge::Parent => page(&fetch.parent),
            Forge::Before => page(&self.before),
        }
    }

    fn parts(&mut self, at: u64, fetch: &Fetch, random: &mut Random) {
        let site = self.site;
        let from = if self.crawler.forge == Forge::Nothing {
            site.empty.clone()
        } else {
            absolute(&fetch.target)
        };
        let mut now = at;
        if random.chance(self.crawler.parts.styles) {
            for asset in site.assets(at).iter().take(1 + random.below(3) as usize) {
                now += 60 + random.below(300);
                self.send(now, &asset.target, (200, asset.bytes), &from);
            }
        }
        if let Some(item) = fetch.item
            && random.chance(self.crawler.parts.photos)
        {
            for photo in &site.items[item as usize].photos {
                now += 60 + random.below(300);
                self.send(now, photo, (200, 88_000), &from);
            }
        }
    }
}
