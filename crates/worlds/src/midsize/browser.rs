//! A browser as people of the mid-size world use it: what it loads with a page, what it keeps, what it tells of where it came from.

use std::collections::HashMap;
use std::rc::Rc;

use super::clock::HOUR;
use super::clock::MINUTE;
use super::site::AssetId;
use super::site::AssetKind;
use super::site::Keep;
use super::site::ORIGIN;
use super::site::PageId;
use super::site::Section;
use super::stage::Client;
use super::stage::Stage;
use super::stage::answer;
use super::stage::ok;

/// What it tells of the page before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// The whole address within the site.
    Full,
    /// The origin at most.
    Origin,
    /// Nothing, ever.
    Nothing,
}

/// Where somebody comes from.
#[derive(Debug, Clone)]
pub(super) enum Whence {
    /// An address typed or kept, or an app.
    Nowhere,
    /// Another site.
    Outside(&'static str),
    /// A page of this site.
    Page(PageId),
    /// An address of this site that is no page of the catalogue.
    Address(Rc<str>),
}

/// A browser with its cache.
#[derive(Debug)]
pub(super) struct Browser {
    pub(super) client: Client,
    pub(super) telling: Telling,
    /// Kinds of parts that it does not load.
    pub(super) refuses: &'static [AssetKind],
    /// How slow the line is: 1 for an ordinary one.
    pub(super) slowness: f64,
    /// After so many milliseconds nothing more of a page is loaded.
    pub(super) patience: u64,
    kept: HashMap<AssetId, u64>,
    fetched_ahead: HashMap<PageId, u64>,
}

impl Browser {
    /// A browser with nothing in its cache.
    pub(super) fn new(client: Client) -> Browser {
        Browser {
            client,
            telling: Telling::Full,
            refuses: &[],
            slowness: 1.0,
            patience: u64::MAX,
            kept: HashMap::new(),
            fetched_ahead: HashMap::new(),
        }
    }

    /// Fills the cache with this share of what templates need: somebody was here before the log began.
    pub(super) fn warm(&mut self, stage: &mut Stage, share: f64) {
        let site = Rc::clone(&stage.site);
        for part in site.templates.values().flatten() {
            self.keep_some(stage, *part, share);
            for child in &site.assets[*part].children {
                self.keep_some(stage, *child, share);
            }
        }
        self.keep_some(stage, site.icon, share);
    }

    fn keep_some(&mut self, stage: &mut Stage, part: AssetId, share: f64) {
        if stage.site.assets[part].keep != Keep::Never && stage.random.chance(share) {
            self.kept.insert(part, 0);
        }
    }

    /// The `Referer` that it sends.
    pub(super) fn referrer(&self, stage: &Stage, whence: &Whence) -> Rc<str> {
        match (self.telling, whence) {
            (Telling::Nothing, _) | (_, Whence::Nowhere) => Rc::clone(&stage.none),
            (_, Whence::Outside(site)) => (*site).into(),
            (Telling::Origin, _) => format!("{ORIGIN}/").into(),
            (Telling::Full, Whence::Page(page)) => Rc::clone(&stage.site.page(*page).url),
            (Telling::Full, Whence::Address(address)) => Rc::clone(address),
        }
    }

    /// Opens a page of the catalogue with all its parts.
    pub(super) fn open(&mut self, stage: &mut Stage, at: u64, page: PageId, whence: &Whence) {
        let ahead = self.fetched_ahead.remove(&page);
        if ahead.is_some_and(|then| then <= at && at - then < 5 * MINUTE) {
            let url = Rc::clone(&stage.site.page(page).url);
            self.load_parts(stage, at, page, &url);
            return;
        }
        let target = Rc::clone(&stage.site.page(page).target);
        self.open_as(stage, at, page, &target, whence);
    }

    /// Opens an address that looks like this page.
    pub(super) fn open_as(
        &mut self,
        stage: &mut Stage,
        at: u64,
        page: PageId,
        target: &Rc<str>,
        whence: &Whence,
    ) {
        let referrer = self.referrer(stage, whence);
        let bytes = stage.site.page(page).bytes + stage.random.below(90) as u32;
        stage.send(&self.client, at, "GET", target, ok(bytes), &referrer);
        let url: Rc<str> = format!("{ORIGIN}{target}").into();
        self.load_parts(stage, at, page, &url);
    }

    /// An address of the past: the server's own error page, in the style of the site.
    pub(super) fn miss(&mut self, stage: &mut Stage, at: u64, target: &Rc<str>, whence: &Whence) {
        let referrer = self.referrer(stage, whence);
        stage.send(
            &self.client,
            at,
            "GET",
            target,
            answer(404, 9_120),
            &referrer,
        );
        let url: Rc<str> = format!("{ORIGIN}{target}").into();
        let search = stage.site.section(Section::Search)[0];
        self.load_parts(stage, at, search, &url);
    }

    /// Sends a form, with the page it stands on as the referrer.
    pub(super) fn post(
        &self,
        stage: &mut Stage,
        at: u64,
        target: &str,
        status: u16,
        whence: &Whence,
    ) {
        let referrer = self.referrer(stage, whence);
        let bytes = if status == 200 { 4_100 } else { 0 };
        stage.send(
            &self.client,
            at,
            "POST",
            &target.into(),
            answer(status, bytes),
            &referrer,
        );
    }

    /// Fetches a page that may be wanted next, without its parts.
    pub(super) fn fetch_ahead(&mut self, stage: &mut Stage, at: u64, page: PageId, from: PageId) {
        let referrer = self.referrer(stage, &Whence::Page(from));
        let found = Rc::clone(&stage.site);
        let found = found.page(page);
        stage.send(
            &self.client,
            at,
            "GET",
            &found.target,
            ok(found.bytes),
            &referrer,
        );
        self.fetched_ahead.insert(page, at);
    }

    fn load_parts(&mut self, stage: &mut Stage, at: u64, page: PageId, url: &Rc<str>) {
        let site = Rc::clone(&stage.site);
        let from = match self.telling {
            Telling::Full => Rc::clone(url),
            Telling::Origin => format!("{ORIGIN}/").into(),
            Telling::Nothing => Rc::clone(&stage.none),
        };
        let last = at.saturating_add(self.patience);
        let arrived = at + self.delay(stage, 70.0, 350.0);
        for part in site
            .templates
            .get(&site.page(page).section)
            .into_iter()
            .flatten()
        {
            let wait = match site.assets[*part].kind {
                AssetKind::Call => self.delay(stage, 400.0, 1300.0),
                _ => self.delay(stage, 1.0, 160.0),
            };
            self.load(stage, arrived + wait, *part, &from, last);
        }
        // Images below the fold wait for somebody to scroll there.
        let scrolled = 2 + stage.random.exponential(6.0) as usize;
        let mut then = arrived + self.delay(stage, 40.0, 300.0);
        for (place, image) in site.images(page, at).into_iter().enumerate() {
            if place >= scrolled {
                break;
            }
            then += if place < 4 {
                self.delay(stage, 0.0, 60.0)
            } else {
                self.delay(stage, 200.0, 2500.0)
            };
            self.load(stage, then, image, &from, last);
        }
        let icon_at = arrived + self.delay(stage, 300.0, 900.0);
        self.load(stage, icon_at, site.icon, &from, last);
    }

    fn delay(&self, stage: &mut Stage, low: f64, high: f64) -> u64 {
        (stage.random.between(low, high) * self.slowness) as u64
    }

    fn load(&mut self, stage: &mut Stage, at: u64, part: AssetId, referrer: &Rc<str>, last: u64) {
        let site = Rc::clone(&stage.site);
        let asset = &site.assets[part];
        if at > last || self.refuses.contains(&asset.kind) {
            return;
        }
        let kept = self.kept.get(&part).copied();
        let reply = match (asset.keep, kept) {
            (Keep::Long, Some(_)) => return,
            (Keep::Check, Some(then)) if at < then + 3 * HOUR => return,
            (Keep::Check, Some(_)) => answer(304, 0),
            _ => ok(asset.bytes),
        };
        let method = if asset.kind == AssetKind::Call {
            "POST"
        } else {
            "GET"
        };
        stage.send(&self.client, at, method, &asset.target, reply, referrer);
        if asset.keep != Keep::Never {
            self.kept.insert(part, at);
        }
        let from = match self.telling {
            Telling::Full => &asset.url,
            Telling::Origin | Telling::Nothing => referrer,
        };
        for child in &asset.children {
            let then = at + self.delay(stage, 60.0, 260.0);
            self.load(stage, then, *child, from, last);
        }
    }
}
