//! The site itself: categories, listings that come and go, photos, static parts, and its own bad hours.

use std::rc::Rc;

use super::calendar::{DAY_MS, MINUTE_MS, SPAN_MS};
use crate::random::Random;

/// Where the market lives, as referrers name it.
pub(super) const HOST: &str = "https://www.flohbasar.example";

/// Listings on one page of a list.
const PER_PAGE: usize = 20;

const CATEGORIES: [&str; 26] = [
    "cars",
    "car-parts",
    "motorbikes",
    "bicycles",
    "flats-to-rent",
    "houses",
    "furniture",
    "kitchen",
    "garden",
    "tools",
    "phones",
    "computers",
    "consoles",
    "audio",
    "cameras",
    "watches",
    "coins",
    "stamps",
    "books",
    "toys",
    "baby",
    "clothes-women",
    "clothes-men",
    "shoes",
    "tickets",
    "pets",
];

const WORDS: [&str; 48] = [
    "vintage",
    "oak",
    "table",
    "bike",
    "trek",
    "canyon",
    "golf",
    "bmw",
    "ikea",
    "pax",
    "sofa",
    "lamp",
    "iphone",
    "galaxy",
    "thinkpad",
    "ps5",
    "switch",
    "lego",
    "playmobil",
    "pram",
    "stroller",
    "drill",
    "bosch",
    "makita",
    "saw",
    "mower",
    "grill",
    "weber",
    "leica",
    "nikon",
    "lens",
    "vinyl",
    "amp",
    "fender",
    "rolex",
    "seiko",
    "silver",
    "coin",
    "jacket",
    "boots",
    "dress",
    "nike",
    "wheels",
    "tyres",
    "tent",
    "kayak",
    "puppy",
    "aquarium",
];

/// A listing.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) number: u32,
    pub(super) url: Rc<str>,
    pub(super) thumb: Rc<str>,
    pub(super) photos: Vec<Rc<str>>,
    pub(super) category: usize,
    pub(super) seller: u32,
    /// Milliseconds of the world; 0 for all that were there before.
    born: u64,
    gone: u64,
    bytes: u32,
}

/// A static file, and the page or style sheet that asks for it.
#[derive(Debug)]
pub(super) struct Asset {
    pub(super) target: Rc<str>,
    pub(super) bytes: u32,
    /// Fonts are asked for by the style sheet.
    pub(super) by_style: bool,
}

/// The site.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) items: Vec<Item>,
    /// Newest first.
    by_category: Vec<Vec<u32>>,
    by_seller: Vec<Vec<u32>>,
    assets: [Vec<Asset>; 2],
    styles: [Rc<str>; 2],
    deploy_ms: u64,
    down: Option<(u64, u64)>,
    /// Share of photos that the site serves itself; a CDN that does not log here has the rest.
    pub(super) photo_share: f64,
    pub(super) empty: Rc<str>,
}

impl Site {
    /// A site with its stock and its bad hours.
    pub(super) fn new(random: &mut Random) -> Site {
        let count = random.between(25_000.0, 45_000.0) as u32;
        let sellers = count / 5;
        let base = random.between(3_000_000.0, 90_000_000.0) as u32;
        let mut items: Vec<Item> = (0..count).map(|_| draw_item(random, sellers)).collect();
        // Numbers grow with time, as a database gives them, with holes of drafts that nobody published.
        items.sort_by_key(|item| item.born);
        let mut number = base;
        for item in &mut items {
            number += 1 + random.below(4) as u32;
            name_item(item, number, random);
        }
        let mut by_category = vec![Vec::new(); CATEGORIES.len()];
        let mut by_seller = vec![Vec::new(); sellers as usize];
        for (index, item) in items.iter().enumerate().rev() {
            by_category[item.category].push(index as u32);
            by_seller[item.seller as usize].push(index as u32);
        }
        let down = random.chance(0.6).then(|| {
            let from = random.below(SPAN_MS * 9 / 10);
            (from, from + random.between(15.0, 170.0) as u64 * MINUTE_MS)
        });
        let hashes = [random.bits() as u32, random.bits() as u32];
        Site {
            items,
            by_category,
            by_seller,
            assets: hashes.map(draw_assets),
            styles: hashes.map(|hash| format!("{HOST}/static/css/app.{hash:08x}.css").into()),
            // Programmers deploy in the morning.
            deploy_ms: (1 + random.below(4)) * DAY_MS
                + random.between(8.0, 13.0) as u64 * 60 * MINUTE_MS,
            down,
            photo_share: random.between(0.45, 1.0),
            empty: "".into(),
        }
    }

    /// How many categories there are.
    pub(super) fn categories(&self) -> usize {
        CATEGORIES.len()
    }

    /// How many sellers there are.
    pub(super) fn sellers(&self) -> u64 {
        self.by_seller.len() as u64
    }

    /// 0 before the deployment, 1 after it.
    pub(super) fn version(&self, at: u64) -> usize {
        usize::from(at >= self.deploy_ms)
    }

    /// Static parts at a time.
    pub(super) fn assets(&self, at: u64) -> &[Asset] {
        &self.assets[self.version(at)]
    }

    /// The style sheet as the referrer of fonts.
    pub(super) fn style(&self, at: u64) -> Rc<str> {
        self.styles[self.version(at)].clone()
    }

    /// Whether the site answers 503.
    pub(super) fn is_down(&self, at: u64) -> bool {
        self.down.is_some_and(|(from, to)| (from..to).contains(&at))
    }

    /// Path of a list.
    pub(super) fn category_path(&self, category: usize, page: usize, newest: bool) -> String {
        let name = CATEGORIES[category];
        match (page, newest) {
            (0 | 1, false) => format!("/c/{name}"),
            (0 | 1, true) => format!("/c/{name}?sort=new"),
            (_, false) => format!("/c/{name}?page={page}"),
            (_, true) => format!("/c/{name}?sort=new&page={page}"),
        }
    }

    /// Path of a feed.
    pub(super) fn feed_path(&self, category: usize) -> String {
        format!("/feed/{}.rss", CATEGORIES[category])
    }

    /// Listings on a page of a category.
    pub(super) fn list(&self, category: usize, page: usize, at: u64) -> Vec<u32> {
        let all = &self.by_category[category];
        let first = all.partition_point(|&item| self.items[item as usize].born > at);
        let skip = first + page.saturating_sub(1) * PER_PAGE;
        all.iter()
            .skip(skip)
            .filter(|&&item| self.items[item as usize].gone > at)
            .take(PER_PAGE)
            .copied()
            .collect()
    }

    /// Listings that a search finds: some of one category, at a stride that the words decide.
    pub(super) fn found(&self, query: &str, page: usize, at: u64) -> Vec<u32> {
        let hash = query.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let all = &self.by_category[(hash >> 8) as usize % CATEGORIES.len()];
        let stride = 3 + (hash >> 24) as usize % 17;
        let skip = (hash >> 40) as usize % stride + page.saturating_sub(1) * PER_PAGE * stride;
        let there = |item: &&u32| self.items[**item as usize].is_there(at);
        all.iter()
            .skip(skip)
            .step_by(stride)
            .filter(there)
            .take(PER_PAGE)
            .copied()
            .collect()
    }

    /// Listings of a seller.
    pub(super) fn stock(&self, seller: u32, at: u64) -> Vec<u32> {
        let there = |item: &&u32| self.items[**item as usize].is_there(at);
        self.by_seller[seller as usize]
            .iter()
            .filter(there)
            .take(PER_PAGE)
            .copied()
            .collect()
    }

    /// How many listings were there before the world began: nobody links to what is not yet there.
    pub(super) fn old(&self) -> u64 {
        self.items.partition_point(|item| item.born == 0) as u64
    }

    /// A listing that people like: few get most of the visits.
    pub(super) fn popular(&self, random: &mut Random) -> u32 {
        let old = self.old() as f64;
        // A stride by a prime spreads the liked ones over numbers and categories.
        ((random.unit().powf(2.8) * old) as u64 * 7919 % old as u64) as u32
    }

    /// Status and bytes of a listing's page.
    pub(super) fn item_answer(&self, item: u32, at: u64) -> (u16, u32) {
        let item = &self.items[item as usize];
        match (item.born <= at, item.gone > at) {
            (true, true) => (200, item.bytes),
            (true, false) => (410, 5_213),
            (false, _) => (404, 4_871),
        }
    }

    /// Words that somebody types.
    pub(super) fn query(&self, random: &mut Random) -> String {
        let mut words = (*random.pick(&WORDS)).to_string();
        for _ in 0..random.below(3) {
            words.push('+');
            words.push_str(random.pick::<&str>(&WORDS));
        }
        words
    }
}

impl Item {
    fn is_there(&self, at: u64) -> bool {
        self.born <= at && self.gone > at
    }
}

/// The full address of a path, as browsers send it.
pub(super) fn absolute(target: &str) -> Rc<str> {
    format!("{HOST}{target}").into()
}

fn draw_item(random: &mut Random, sellers: u32) -> Item {
    let born = if random.chance(0.16) {
        random.below(SPAN_MS)
    } else {
        0
    };
    let gone = if random.chance(0.12) {
        born + random.below(SPAN_MS)
    } else {
        u64::MAX
    };
    let category = (random.unit().powf(1.5) * CATEGORIES.len() as f64) as usize;
    Item {
        number: 0,
        url: "".into(),
        thumb: "".into(),
        photos: Vec::new(),
        category: category.min(CATEGORIES.len() - 1),
        seller: (random.unit().powi(2) * f64::from(sellers)) as u32,
        born,
        gone,
        bytes: (31_000.0 * (0.25 * random.normal()).exp()) as u32,
    }
}

fn name_item(item: &mut Item, number: u32, random: &mut Random) {
    item.number = number;
    let (first, second) = (random.pick(&WORDS), random.pick(&WORDS));
    item.url = format!("/item/{number}-{first}-{second}").into();
    item.thumb = format!("/img/{number}/1_s.webp").into();
    item.photos = (1..=1 + random.below(5))
        .map(|photo| format!("/img/{number}/{photo}_l.webp").into())
        .collect();
}

fn draw_assets(hash: u32) -> Vec<Asset> {
    let asset = |target: String, bytes, by_style| Asset {
        target: target.into(),
        bytes,
        by_style,
    };
    vec![
        asset(format!("/static/css/app.{hash:08x}.css"), 48_211, false),
        asset(format!("/static/js/vendor.{hash:08x}.js"), 181_902, false),
        asset(format!("/static/js/app.{hash:08x}.js"), 96_340, false),
        asset("/static/img/logo.svg".to_string(), 3_120, false),
        asset("/static/img/icons.svg".to_string(), 11_742, false),
        asset("/static/fonts/inter-400.woff2".to_string(), 22_660, true),
        asset("/static/fonts/inter-700.woff2".to_string(), 23_104, true),
        asset("/favicon.ico".to_string(), 4_286, false),
    ]
}
