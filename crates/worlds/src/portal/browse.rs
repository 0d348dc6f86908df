//! One browser and the hand on it: pages with their parts, what the cache saves, reading, going back, tabs and searches.

use std::collections::HashSet;
use std::rc::Rc;

use crate::random::Random;
use crate::scene::Hit;

use super::setting::Setting;
use super::site::Client;
use super::site::Page;
use super::site::Section;
use super::site::picture;

/// How somebody reads.
#[derive(Debug, Clone)]
pub(super) struct Style {
    /// Median of the seconds on a page, and how much they vary.
    pub(super) think_s: f64,
    think_spread: f64,
    /// Pages of a visit, on average.
    pub(super) pages: f64,
    /// How often the next step opens several tabs, goes back, or searches.
    tabs: f64,
    back: f64,
    search: f64,
    /// How often a visit starts in articles, records, search, forum, docs and downloads.
    tastes: [f64; 6],
}

impl Style {
    /// Somebody's own way of reading, around what the place is for.
    pub(super) fn draw(tastes: [f64; 6], pages: f64, random: &mut Random) -> Style {
        Style {
            think_s: 24.0 * (0.6 * random.normal()).exp().max(0.35),
            think_spread: random.between(0.7, 1.25),
            pages: (pages * (0.45 * random.normal()).exp()).max(1.05),
            tabs: random.between(0.0, 0.16),
            back: random.between(0.04, 0.3),
            search: random.between(0.03, 0.2),
            tastes: tastes.map(|taste| taste * (0.7 * random.normal()).exp()),
        }
    }

    fn think_ms(&self, random: &mut Random) -> u64 {
        let seconds = self.think_s * (self.think_spread * random.normal()).exp();
        (seconds.clamp(1.2, 1500.0) * 1000.0) as u64
    }
}

/// What a visit is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Errand {
    Browse,
    /// The teacher names an article.
    Lesson(u32),
    /// Exam results of a candidate.
    Results(u32),
}

/// A browser with its cache.
#[derive(Debug)]
pub(super) struct Browser {
    pub(super) client: Client,
    pub(super) lang: &'static str,
    /// Bundles in the cache, a bit each.
    bundles: u32,
    /// Pictures and pages seen.
    seen: HashSet<u32>,
    /// A cache that many share stands in front.
    pub(super) shared_cache: bool,
    /// Sends no referrer.
    pub(super) strips: bool,
    /// Loads no pictures: text browsers, data savers.
    pub(super) plain: bool,
    /// How quickly parts arrive: 1 is a good line.
    pub(super) lag: f64,
    /// A public machine that forgets after each visit.
    pub(super) forgets: bool,
}

/// Where a visit stands.
struct Steps<'a> {
    setting: &'a Setting,
    style: &'a Style,
    at_ms: u64,
    page: Page,
    trail: Vec<Page>,
}

impl Browser {
    pub(super) fn new(client: Client, lang: &'static str) -> Browser {
        Browser {
            client,
            lang,
            bundles: 0,
            seen: HashSet::new(),
            shared_cache: false,
            strips: false,
            plain: false,
            lag: 1.0,
            forgets: false,
        }
    }

    /// Loads a page with its parts. False where the site was down.
    fn load(
        &mut self,
        setting: &Setting,
        page: &Page,
        at_ms: u64,
        from: &Rc<str>,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) -> bool {
        let empty: Rc<str> = "".into();
        let from = if self.strips || random.chance(0.02) {
            &empty
        } else {
            from
        };
        if setting.site.down(at_ms) {
            hits.push(self.client.get(at_ms, &page.target, from, (503, 512)));
            return false;
        }
        let known = !self.seen.insert(page.key());
        let reply = match random.unit() {
            dice if dice < 0.004 => (404, 3_911),
            _ if known && random.chance(0.4) => (304, 0),
            _ if page.section == Section::Download && random.chance(0.3) => (206, page.bytes() / 2),
            _ => (200, page.bytes()),
        };
        hits.push(self.client.get(at_ms, &page.target, from, reply));
        if page.section == Section::Download && reply.0 == 206 {
            // The viewer asks for the rest in pieces.
            for piece in 1..1 + random.below(4) {
                let at_ms = at_ms + piece * random.between(400.0, 5_000.0) as u64;
                hits.push(self.client.get(at_ms, &page.target, from, (206, 131_072)));
            }
        }
        self.load_bundles(setting, page, at_ms, random, hits);
        if !self.plain {
            self.load_pictures(page, at_ms, random, hits);
        }
        true
    }

    fn load_bundles(
        &mut self,
        setting: &Setting,
        page: &Page,
        at_ms: u64,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) {
        if page
            .bundles()
            .iter()
            .all(|number| self.bundles >> number & 1 == 1)
        {
            return;
        }
        let url = page.url();
        let mut after = random.between(60.0, 260.0) * self.lag;
        for &number in page.bundles() {
            if self.bundles >> number & 1 == 1 {
                continue;
            }
            self.bundles |= 1 << number;
            if self.shared_cache && random.chance(0.88) {
                continue;
            }
            after += random.exponential(35.0) * self.lag;
            let (target, bytes) = setting.site.bundle(number);
            let referrer = if self.strips {
                "".into()
            } else {
                setting.site.bundle_referrer(number, &url)
            };
            let reply = if random.chance(0.05) {
                (304, 0)
            } else {
                (200, bytes)
            };
            hits.push(
                self.client
                    .get(at_ms + after as u64, &target, &referrer, reply),
            );
        }
    }

    fn load_pictures(&mut self, page: &Page, at_ms: u64, random: &mut Random, hits: &mut Vec<Hit>) {
        if page.pictures() == 0 {
            return;
        }
        let url: Rc<str> = if self.strips { "".into() } else { page.url() };
        let mut after = random.between(150.0, 500.0) * self.lag;
        for number in 0..page.pictures() {
            // Pictures below the fold load when somebody scrolls to them.
            if number >= 2 {
                if random.chance(0.35) {
                    break;
                }
                after += random.exponential(4_000.0);
            }
            let (id, target, bytes) = picture(page, number);
            if !self.seen.insert(0xf000_0000 ^ id) || self.shared_cache && random.chance(0.4) {
                continue;
            }
            after += random.exponential(40.0) * self.lag;
            hits.push(
                self.client
                    .get(at_ms + after as u64, &target, &url, (200, bytes)),
            );
        }
    }

    /// Things leave the cache between visits.
    fn age(&mut self, random: &mut Random) {
        if self.forgets || random.chance(0.06) {
            self.bundles = 0;
            self.seen.clear();
        } else if random.chance(0.15) {
            self.bundles &= !(1 << random.below(12));
        }
    }

    /// The first page, and what led there.
    fn entry(
        &self,
        setting: &Setting,
        style: &Style,
        at_ms: u64,
        random: &mut Random,
    ) -> (Page, Rc<str>) {
        let site = &setting.site;
        let total: f64 = style.tastes.iter().sum();
        let mut left = random.unit() * total;
        let taste = style.tastes.iter().position(|taste| {
            left -= taste;
            left < 0.0
        });
        let id = random.bits() as u32;
        let page = match taste.unwrap_or(0) {
            0 => site.read_article(self.lang, at_ms, random),
            1 => site.record(id),
            2 if random.chance(0.5) => site.home(self.lang),
            2 => site.search(id % 40_000, 0),
            3 => site.thread((90_000.0 * random.unit().powi(3)) as u32, 0),
            4 => site.docs(id),
            _ => site.download((7_000.0 * random.unit().powi(2)) as u32),
        };
        let referrer = match random.below(100) {
            0..52 => "https://www.google.com/",
            52..58 => "https://www.bing.com/",
            58..61 => "https://duckduckgo.com/",
            61..64 => *random.pick(&[
                "https://www.facebook.com/",
                "https://t.co/",
                "https://www.reddit.com/",
                "https://yandex.ru/",
            ]),
            64..66 => "https://chatgpt.com/",
            _ => "",
        };
        (page, referrer.into())
    }

    /// A whole visit. Gives when it ended.
    pub(super) fn visit(
        &mut self,
        setting: &Setting,
        style: &Style,
        begin_ms: u64,
        errand: Errand,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) -> u64 {
        self.age(random);
        let (page, referrer) = match errand {
            Errand::Browse => self.entry(setting, style, begin_ms, random),
            Errand::Lesson(id) => (
                setting.site.article(self.lang, id),
                "https://classroom.google.com/".into(),
            ),
            Errand::Results(id) => (setting.site.results(id), "".into()),
        };
        let mut steps = Steps {
            setting,
            style,
            at_ms: begin_ms,
            page,
            trail: Vec::new(),
        };
        if !self.arrive(&mut steps, &referrer, errand, random, hits) {
            return steps.at_ms;
        }
        while random.chance(1.0 - 1.0 / style.pages) {
            steps.at_ms += style.think_ms(random);
            if !self.step(&mut steps, random, hits) {
                break;
            }
        }
        if self.forgets {
            self.bundles = 0;
            self.seen.clear();
        }
        steps.at_ms
    }

    /// Loads the first page. Whoever waits for results presses reload.
    fn arrive(
        &mut self,
        steps: &mut Steps,
        from: &Rc<str>,
        errand: Errand,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) -> bool {
        let eager = matches!(errand, Errand::Results(_));
        let mut tries = if eager { random.below(5) } else { 0 };
        loop {
            let loaded = self.load(steps.setting, &steps.page, steps.at_ms, from, random, hits);
            if loaded && tries == 0 {
                return true;
            }
            if tries == 0 && !random.chance(0.5) {
                return false;
            }
            tries = tries.saturating_sub(1);
            steps.at_ms += (random.exponential(9_000.0) + 1_500.0) as u64;
        }
    }

    /// What somebody does next on a page. False where they give up.
    fn step(&mut self, steps: &mut Steps, random: &mut Random, hits: &mut Vec<Hit>) -> bool {
        let style = steps.style;
        if random.chance(style.back)
            && let Some(page) = steps.trail.pop()
        {
            // The page comes from memory: the log shows nothing.
            steps.page = page;
            steps.at_ms += (random.exponential(4_000.0) + 900.0) as u64;
        }
        if random.chance(style.search) {
            return self.search(steps, random, hits);
        }
        let from = steps.page.url();
        if random.chance(style.tabs) {
            for _ in 0..2 + random.below(3) {
                let link = steps
                    .setting
                    .site
                    .link(&steps.page, random.below(30) as u32);
                steps.at_ms += (random.exponential(1_600.0) + 500.0) as u64;
                self.load(steps.setting, &link, steps.at_ms, &from, random, hits);
                steps.at_ms += if random.chance(0.5) {
                    style.think_ms(random)
                } else {
                    0
                };
            }
            return true;
        }
        // Links near the top are taken more often.
        let link = steps
            .setting
            .site
            .link(&steps.page, (30.0 * random.unit().powi(2)) as u32);
        let loaded = self.load(steps.setting, &link, steps.at_ms, &from, random, hits);
        let before = std::mem::replace(&mut steps.page, link);
        steps.trail.push(before);
        loaded
    }

    /// Types a query, with suggestions on the way.
    fn search(&mut self, steps: &mut Steps, random: &mut Random, hits: &mut Vec<Hit>) -> bool {
        let from = steps.page.url();
        let query = (f64::from(400_000).powf(random.unit())) as u32;
        let page = steps.setting.site.search(query, 0);
        let typed = page.target.split("q=").nth(1).unwrap_or("a").to_owned();
        if !self.plain && random.chance(0.7) {
            for letters in (2..typed.len().min(9)).step_by(2) {
                let part = typed.get(..letters).unwrap_or("a");
                let target: Rc<str> = format!("/api/suggest?q={part}").into();
                hits.push(self.client.get(steps.at_ms, &target, &from, (200, 412)));
                steps.at_ms += (random.exponential(350.0) + 120.0) as u64;
            }
        }
        let loaded = self.load(steps.setting, &page, steps.at_ms, &from, random, hits);
        let before = std::mem::replace(&mut steps.page, page);
        steps.trail.push(before);
        loaded
    }

    /// A forum tab that is left open asks for news until it is closed.
    pub(super) fn leave_tab(
        &self,
        from_ms: u64,
        to_ms: u64,
        every_s: f64,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) {
        let (target, referrer): (Rc<str>, Rc<str>) = (
            "/api/notices".into(),
            format!("{}/forum/", super::site::HOST).into(),
        );
        let mut at_ms = from_ms;
        while at_ms < to_ms {
            at_ms += (every_s * 1000.0 + random.exponential(600.0)) as u64;
            hits.push(self.client.get(at_ms, &target, &referrer, (200, 187)));
        }
    }

    /// The editor's own work: an edit form, previews and a save.
    pub(super) fn edit(
        &mut self,
        setting: &Setting,
        begin_ms: u64,
        random: &mut Random,
        hits: &mut Vec<Hit>,
    ) {
        let page = setting.site.article(self.lang, random.bits() as u32);
        let url = page.url();
        self.load(setting, &page, begin_ms, &"".into(), random, hits);
        let mut at_ms = begin_ms + (random.exponential(20_000.0) + 2_000.0) as u64;
        let form: Rc<str> = format!("/w/edit?page={}", page.id).into();
        hits.push(self.client.get(at_ms, &form, &url, (200, 21_000)));
        let form_url: Rc<str> = format!("{}{form}", super::site::HOST).into();
        for last in 0..1 + random.below(4) {
            at_ms += (random.exponential(70_000.0) + 6_000.0) as u64;
            let status = if last == 0 { 302 } else { 200 };
            let mut hit = self.client.get(at_ms, &form, &form_url, (status, 22_500));
            hit.method = "POST";
            hits.push(hit);
        }
        self.load(setting, &page, at_ms + 300, &form_url, random, hits);
    }
}
