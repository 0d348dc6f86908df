//! What a browser sends: a page, its parts that no cache holds, and what scripts ask for, with the referrers that belong to them.

use std::collections::HashSet;
use std::rc::Rc;

use super::agents::{self, Device};
use super::site::{HOST, Site, absolute};
use crate::random::Random;
use crate::scene::Hit;

/// What a browser or a company's proxy keeps.
#[derive(Debug, Default, Clone)]
pub(super) struct Cache {
    assets: u16,
    version: usize,
    /// Listing and number of photo; photo 0 is the small one.
    photos: HashSet<(u32, u8)>,
}

impl Cache {
    fn has_asset(&mut self, index: usize, version: usize) -> bool {
        // A deployment renames the first three; the rest keep their names.
        if self.version != version {
            self.version = version;
            self.assets &= !0b111;
        }
        let known = self.assets & 1 << index != 0;
        self.assets |= 1 << index;
        known
    }
}

/// What somebody's settings leave of referrers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Privacy {
    Open,
    OriginOnly,
    Nothing,
}

/// Somebody with a browser.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) agent: Rc<str>,
    pub(super) device: Device,
    pub(super) zone: usize,
    pub(super) privacy: Privacy,
    pub(super) blocks_tracking: bool,
    /// Lists whose links the browser fetches ahead: how many links.
    pub(super) prefetch: u64,
    pub(super) saves_data: bool,
    pub(super) member: bool,
    pub(super) protocol: &'static str,
    pub(super) cache: Cache,
    pub(super) categories: Vec<usize>,
    pub(super) queries: Vec<Rc<str>>,
    /// How much more than others.
    pub(super) weight: f64,
    /// Hours later than others.
    pub(super) phase: f64,
}

impl Person {
    /// Somebody, with a device and tastes of their own.
    pub(super) fn new(site: &Site, device: Device, privacy: f64, random: &mut Random) -> Person {
        let categories = (0..1 + random.below(3))
            .map(|_| random.below(site.categories() as u64) as usize)
            .collect();
        let queries = (0..1 + random.below(4))
            .map(|_| site.query(random).into())
            .collect();
        let settings = random.unit();
        Person {
            agent: agents::browser(device, random),
            device,
            zone: 0,
            privacy: match settings < privacy {
                true if settings < privacy * 0.5 => Privacy::Nothing,
                true => Privacy::OriginOnly,
                false => Privacy::Open,
            },
            blocks_tracking: random.chance(0.3 + privacy * 0.5),
            prefetch: if random.chance(0.05) {
                2 + random.below(5)
            } else {
                0
            },
            saves_data: device == Device::Mobile && random.chance(0.05),
            member: random.chance(0.35),
            protocol: if random.chance(0.93) {
                "HTTP/2.0"
            } else {
                "HTTP/1.1"
            },
            cache: Cache::default(),
            categories,
            queries,
            weight: (0.8 * random.normal()).exp(),
            phase: random.normal(),
        }
    }

    /// The referrer for what a page links to.
    pub(super) fn referrer_from(&self, target: &str) -> Rc<str> {
        match self.privacy {
            Privacy::Open => absolute(target),
            Privacy::OriginOnly => format!("{HOST}/").into(),
            Privacy::Nothing => "".into(),
        }
    }
}

/// What a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Home,
    List {
        category: usize,
        page: usize,
        newest: bool,
    },
    Search {
        page: usize,
    },
    Item(u32),
    Seller(u32),
    Account,
}

/// A page that can be opened.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) target: Rc<str>,
    pub(super) view: View,
    pub(super) query: Option<Rc<str>>,
    pub(super) shown: Vec<u32>,
}

/// A browser that writes its requests down.
#[derive(Debug)]
pub(super) struct Window<'a> {
    pub(super) site: &'a Site,
    pub(super) random: &'a mut Random,
    pub(super) hits: &'a mut Vec<Hit>,
    pub(super) source: u32,
    /// A company's proxy keeps parts for all.
    pub(super) proxy: Option<&'a mut Cache>,
}

impl Window<'_> {
    /// Writes one request. A site that is down answers 503.
    pub(super) fn send(
        &mut self,
        person: &Person,
        at: u64,
        ask: (&'static str, &Rc<str>),
        answer: (u16, u32),
        referrer: &Rc<str>,
    ) {
        let (status, bytes) = if self.site.is_down(at) {
            (503, 612)
        } else {
            answer
        };
        self.hits.push(Hit {
            at_ms: at,
            source: self.source,
            method: ask.0,
            target: ask.1.clone(),
            protocol: person.protocol,
            status,
            bytes,
            referrer: referrer.clone(),
            agent: person.agent.clone(),
        });
    }

    /// Opens a page with its parts. Gives when it has loaded, or nothing where the site is down.
    pub(super) fn open(
        &mut self,
        person: &mut Person,
        at: u64,
        page: &Page,
        referrer: &Rc<str>,
    ) -> Option<u64> {
        let answer = match page.view {
            View::Item(item) => self.site.item_answer(item, at),
            View::Home => (200, self.around(38_000.0)),
            View::Account => (200, self.around(14_000.0)),
            _ => (
                200,
                self.around(9_000.0 + 2_100.0 * page.shown.len() as f64),
            ),
        };
        self.send(person, at, ("GET", &page.target), answer, referrer);
        if self.site.is_down(at) {
            return None;
        }
        let from = person.referrer_from(&page.target);
        let mut at = at + self.random.between(90.0, 420.0) as u64;
        at = self.load_assets(person, at, &from);
        self.load_photos(person, at, page, &from, answer.0);
        if !person.blocks_tracking {
            let beacon = Rc::from("/t/collect");
            let sent = at + 150 + self.random.below(700);
            self.send(person, sent, ("POST", &beacon), (204, 0), &from);
        }
        for &item in page.shown.iter().take(person.prefetch as usize) {
            at += 20 + self.random.below(180);
            let answer = self.site.item_answer(item, at);
            let target = self.site.items[item as usize].url.clone();
            self.send(person, at, ("GET", &target), answer, &from);
        }
        Some(at)
    }

    fn around(&mut self, bytes: f64) -> u32 {
        (bytes * (0.08 * self.random.normal()).exp()) as u32
    }

    fn load_assets(&mut self, person: &mut Person, at: u64, from: &Rc<str>) -> u64 {
        let (site, version) = (self.site, self.site.version(at));
        let mut now = at;
        for (index, asset) in site.assets(at).iter().enumerate() {
            let known = person.cache.has_asset(index, version);
            let kept = self
                .proxy
                .as_deref_mut()
                .is_some_and(|proxy| proxy.has_asset(index, version));
            // Browsers throw parts away under pressure, and ask again whether old ones are still good.
            if known && !self.random.chance(0.012) || kept {
                continue;
            }
            now += 5 + self.random.below(70);
            let referrer = match asset.by_style && person.privacy == Privacy::Open {
                true => site.style(at),
                false => from.clone(),
            };
            let answer = if known { (304, 0) } else { (200, asset.bytes) };
            self.send(person, now, ("GET", &asset.target), answer, &referrer);
        }
        now
    }

    fn load_photos(
        &mut self,
        person: &mut Person,
        at: u64,
        page: &Page,
        from: &Rc<str>,
        status: u16,
    ) {
        let site = self.site;
        if person.saves_data || status != 200 {
            return;
        }
        let mut now = at;
        if let View::Item(item) = page.view {
            let photos = &site.items[item as usize].photos;
            // The first photo is on the page; the others come as somebody leafs through them.
            let seen = if self.random.chance(0.45) {
                photos.len()
            } else {
                1
            };
            for (number, photo) in photos.iter().take(seen).enumerate() {
                now += 40 + self.random.below(if number == 0 { 200 } else { 2_500 });
                self.photo(person, now, (item, number as u8 + 1), photo, from);
            }
        }
        // Lists load what is scrolled into sight, some at once and the rest later.
        let (least, most) = if person.device == Device::Mobile {
            (3, 12)
        } else {
            (6, 20)
        };
        let sight = (least + self.random.below(most - least)) as usize;
        now = at;
        for (place, &item) in page.shown.iter().take(sight).enumerate() {
            now += self
                .random
                .below(if place < least as usize { 60 } else { 900 });
            self.photo(
                person,
                now,
                (item, 0),
                &site.items[item as usize].thumb,
                from,
            );
        }
    }

    fn photo(
        &mut self,
        person: &mut Person,
        at: u64,
        key: (u32, u8),
        target: &Rc<str>,
        from: &Rc<str>,
    ) {
        let kept = self
            .proxy
            .as_deref_mut()
            .is_some_and(|proxy| !proxy.photos.insert(key));
        if !person.cache.photos.insert(key) || kept || !self.random.chance(self.site.photo_share) {
            return;
        }
        let bytes =
            if key.1 == 0 { 7_400.0 } else { 88_000.0 } * (0.35 * self.random.normal()).exp();
        self.send(person, at, ("GET", target), (200, bytes as u32), from);
    }
}
