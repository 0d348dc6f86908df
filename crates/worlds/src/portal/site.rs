//! The reference site: its pages, how they link, what parts they have, how fast it answers and when it is down.

use std::rc::Rc;

use crate::random::Random;
use crate::scene::Hit;

/// What the site calls itself in referrers.
pub(super) const HOST: &str = "https://www.openshelf.example";
/// Days told.
pub(super) const DAYS: usize = 5;
/// Milliseconds of a day.
pub(super) const DAY_MS: u64 = 86_400_000;
/// The first millisecond after the world.
pub(super) const END_MS: u64 = DAYS as u64 * DAY_MS;

const ARTICLES: u32 = 60_000;
const RECORDS: u32 = 1_800_000;
const THREADS: u32 = 90_000;
const DOCS: u32 = 2_400;
const FILES: u32 = 7_000;

const WORDS: [&str; 64] = [
    "river", "copper", "treaty", "glacier", "sonata", "vector", "harbour", "mosaic", "enzyme",
    "dynasty", "comet", "lexicon", "quarry", "monsoon", "railway", "orchid", "census", "theorem",
    "falcon", "parish", "cobalt", "delta", "fresco", "kernel", "lagoon", "meteor", "nebula",
    "oxide", "prairie", "quartz", "reactor", "saffron", "tundra", "uranium", "viaduct", "wetland",
    "xylem", "yeast", "zenith", "archive", "bastion", "canal", "diode", "estuary", "fjord",
    "gazette", "hormone", "isotope", "jasmine", "kiln", "ledger", "magnet", "notation", "obelisk",
    "plasma", "quorum", "rhythm", "senate", "tariff", "ulcer", "vaccine", "willow", "zoning",
    "atlas",
];

/// Style sheets, scripts and the like, with their sizes: a browser keeps them between pages.
const BUNDLES: [(&str, u32); 12] = [
    ("/static/css/main.7f3a91.css", 38_412),
    ("/static/js/app.c41d02.js", 91_877),
    ("/static/js/vendor.0be7aa.js", 164_209),
    ("/static/fonts/shelf-regular.woff2", 28_336),
    ("/static/img/logo.svg", 5_204),
    ("/static/css/article.55ce10.css", 14_120),
    ("/static/css/forum.91aa3f.css", 11_906),
    ("/static/js/forum.e8810c.js", 33_415),
    ("/static/js/search.1d77b4.js", 20_118),
    ("/static/css/record.aa02e4.css", 8_077),
    ("/favicon.ico", 4_286),
    ("/static/fonts/shelf-bold.woff2", 29_104),
];
/// Fonts: the main style sheet names them, not the page.
const FONT_BUNDLES: [usize; 2] = [3, 11];

/// The sections of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Home,
    Article,
    Record,
    Search,
    Forum,
    Docs,
    Download,
    Results,
}

/// One page.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) section: Section,
    pub(super) id: u32,
    pub(super) lang: &'static str,
    pub(super) target: Rc<str>,
}

impl Page {
    /// The page as later requests name it in their referrer.
    pub(super) fn url(&self) -> Rc<str> {
        format!("{HOST}{}", self.target).into()
    }

    /// A number of its own for each page, near enough.
    pub(super) fn key(&self) -> u32 {
        (self.section as u32) << 28 ^ self.id
    }

    /// Bytes of the page's text.
    pub(super) fn bytes(&self) -> u32 {
        let spread = mix(u64::from(self.key())) % 60_000;
        match self.section {
            Section::Download => 180_000 + spread as u32 * 90,
            Section::Article | Section::Docs => 14_000 + spread as u32,
            Section::Results => 3_100 + spread as u32 / 100,
            _ => 7_000 + spread as u32 / 4,
        }
    }

    /// How many pictures of its own the page has.
    pub(super) fn pictures(&self) -> u32 {
        let dice = mix(u64::from(self.key()) ^ 0x51c7) as u32;
        match self.section {
            Section::Home => 6,
            Section::Article => (dice % 8).saturating_sub(1),
            Section::Record => u32::from(!dice.is_multiple_of(3)),
            Section::Forum => dice % 5,
            Section::Docs => dice % 3,
            Section::Search => dice % 4,
            Section::Download | Section::Results => 0,
        }
    }

    /// Which bundles the page names, as numbers for [`Site::bundle`].
    pub(super) fn bundles(&self) -> &'static [usize] {
        match self.section {
            Section::Article | Section::Docs => &[0, 5, 1, 2, 3, 11, 4, 10],
            Section::Record => &[0, 9, 1, 2, 3, 4, 10],
            Section::Forum => &[0, 6, 7, 1, 2, 3, 4, 10],
            Section::Search => &[0, 8, 1, 2, 3, 4, 10],
            Section::Download => &[],
            Section::Home | Section::Results => &[0, 1, 2, 3, 4, 10],
        }
    }
}

/// Spreads the bits of a number.
pub(super) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn word(number: u64) -> &'static str {
    WORDS[(mix(number) % WORDS.len() as u64) as usize]
}

/// The site as all requests find it.
#[derive(Debug)]
pub(super) struct Site {
    bundles: Vec<Rc<str>>,
    /// The main style sheet, as browsers name it when they fetch its fonts.
    style_url: Rc<str>,
    /// What is in the news, by day.
    trending: Vec<[u32; 5]>,
    /// When the site answers 503.
    outages: Vec<(u64, u64)>,
}

impl Site {
    pub(super) fn new(random: &mut Random) -> Site {
        let trending =
            (0..DAYS).map(|_| std::array::from_fn(|_| random.below(u64::from(ARTICLES)) as u32));
        let trending = trending.collect();
        let mut outages = Vec::new();
        for _ in 0..1 + random.below(3) {
            let from = random.below(END_MS);
            outages.push((from, from + random.between(90_000.0, 1_100_000.0) as u64));
        }
        Site {
            bundles: BUNDLES.iter().map(|bundle| bundle.0.into()).collect(),
            style_url: format!("{HOST}{}", BUNDLES[0].0).into(),
            trending,
            outages,
        }
    }

    /// True while the site answers 503.
    pub(super) fn down(&self, at_ms: u64) -> bool {
        self.outages
            .iter()
            .any(|outage| (outage.0..outage.1).contains(&at_ms))
    }

    /// Seconds until an answer: the site is slower while Europe and America are both awake.
    pub(super) fn latency(&self, at_s: f64, random: &mut Random) -> f64 {
        let hour = at_s / 3600.0 % 24.0;
        let load = 1.0 + 0.35 * ((hour - 15.5) / 24.0 * std::f64::consts::TAU).cos();
        0.19 * load * (0.55 * random.normal()).exp()
    }

    /// Target and size.
    pub(super) fn bundle(&self, number: usize) -> (Rc<str>, u32) {
        (self.bundles[number].clone(), BUNDLES[number].1)
    }

    /// The referrer that browsers send with a bundle of a page.
    pub(super) fn bundle_referrer(&self, number: usize, page: &Rc<str>) -> Rc<str> {
        let font = FONT_BUNDLES.contains(&number);
        if font {
            self.style_url.clone()
        } else {
            page.clone()
        }
    }

    pub(super) fn home(&self, lang: &'static str) -> Page {
        let target = if lang == "en" {
            "/".into()
        } else {
            format!("/{lang}/").into()
        };
        self.page(Section::Home, 0, lang, target)
    }

    pub(super) fn article(&self, lang: &'static str, id: u32) -> Page {
        let id = id % ARTICLES;
        let (first, second) = (word(u64::from(id) * 2), word(u64::from(id) * 2 + 1));
        self.page(
            Section::Article,
            id,
            lang,
            format!("/{lang}/wiki/{first}_{second}_{id}").into(),
        )
    }

    pub(super) fn record(&self, id: u32) -> Page {
        let id = id % RECORDS;
        self.page(
            Section::Record,
            id,
            "en",
            format!("/record/{:07}", id + 1).into(),
        )
    }

    pub(super) fn search(&self, query: u32, number: u32) -> Page {
        let text = match mix(u64::from(query)) % 3 {
            0 => word(u64::from(query)).to_owned(),
            1 => format!("{}+{}", word(u64::from(query)), word(u64::from(query) ^ 77)),
            _ => format!(
                "{}+{}+{}",
                word(u64::from(query)),
                word(u64::from(query) ^ 5),
                query % 2000
            ),
        };
        let target = if number == 0 {
            format!("/search?q={text}")
        } else {
            format!("/search?q={text}&page={}", number + 1)
        };
        self.page(
            Section::Search,
            query % 9_000_000 * 16 + number.min(15),
            "en",
            target.into(),
        )
    }

    pub(super) fn thread(&self, id: u32, number: u32) -> Page {
        let id = id % THREADS;
        let slug = word(u64::from(id) ^ 0xf0);
        let target = if number == 0 {
            format!("/forum/t/{id}-{slug}")
        } else {
            format!("/forum/t/{id}-{slug}?page={}", number + 1)
        };
        self.page(
            Section::Forum,
            id * 16 + number.min(15),
            "en",
            target.into(),
        )
    }

    pub(super) fn docs(&self, id: u32) -> Page {
        let id = id % DOCS;
        let (book, leaf) = (
            word(u64::from(id / 40) ^ 0xd0c),
            word(u64::from(id) ^ 0xd0d),
        );
        self.page(
            Section::Docs,
            id,
            "en",
            format!("/docs/{book}/{:02}-{leaf}.html", id % 40).into(),
        )
    }

    pub(super) fn download(&self, id: u32) -> Page {
        let id = id % FILES;
        let name = word(u64::from(id) ^ 0xf11e);
        self.page(
            Section::Download,
            id,
            "en",
            format!("/download/{id}/{name}.pdf").into(),
        )
    }

    pub(super) fn results(&self, candidate: u32) -> Page {
        let candidate = candidate % 800_000;
        self.page(
            Section::Results,
            candidate,
            "en",
            format!("/results/2029-autumn?candidate={:06}", candidate + 100_000).into(),
        )
    }

    fn page(&self, section: Section, id: u32, lang: &'static str, target: Rc<str>) -> Page {
        Page {
            section,
            id,
            lang,
            target,
        }
    }

    /// An article as readers arrive at them: few are read often, most hardly ever, and some are in the news.
    pub(super) fn read_article(&self, lang: &'static str, at_ms: u64, random: &mut Random) -> Page {
        let day = ((at_ms / DAY_MS) as usize).min(DAYS - 1);
        let id = if random.chance(0.06) {
            *random.pick(&self.trending[day])
        } else {
            // By 1/rank; popularity differs by language.
            let rank = f64::from(ARTICLES).powf(random.unit()) as u64;
            (mix(rank ^ u64::from(lang.as_bytes()[0]) << 40) % u64::from(ARTICLES)) as u32
        };
        self.article(lang, id)
    }

    /// The link with this number on a page: the same page always links to the same pages.
    pub(super) fn link(&self, page: &Page, number: u32) -> Page {
        let dice = mix(u64::from(page.key()) << 8 ^ u64::from(number % 40));
        let id = (dice >> 16) as u32;
        match page.section {
            Section::Home if dice.is_multiple_of(4) => self.docs(id),
            Section::Home | Section::Article if !dice.is_multiple_of(11) => {
                self.article(page.lang, id)
            }
            Section::Home | Section::Article => self.record(id),
            Section::Record if dice.is_multiple_of(3) => self.search(id, 0),
            Section::Record => self.record(page.id.wrapping_add(id % 400)),
            Section::Search if number == 0 => self.search(page.id / 16, page.id % 16 + 1),
            Section::Search if dice.is_multiple_of(3) => self.article(page.lang, id),
            Section::Search => self.record(id),
            Section::Forum if number == 0 => self.thread(page.id / 16, page.id % 16 + 1),
            Section::Forum => self.thread(id, 0),
            Section::Docs if dice.is_multiple_of(9) => self.download(id),
            Section::Docs => self.docs(page.id + 1 + id % 3),
            Section::Download => self.docs(id),
            Section::Results => self.home(page.lang),
        }
    }
}

/// Address and size of the picture with this number on a page.
pub(super) fn picture(page: &Page, number: u32) -> (u32, Rc<str>, u32) {
    let id = (mix(u64::from(page.key()) << 6 ^ u64::from(number)) % 4_000_000) as u32;
    // Pictures of page furniture recur: avatars, flags and maps.
    let id = if id.is_multiple_of(6) { id % 500 } else { id };
    (
        id,
        format!("/media/thumb/{:02x}/{id}.jpg", id % 256).into(),
        2_500 + id % 46_000,
    )
}

/// What a client sends with every request.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) agent: Rc<str>,
    pub(super) protocol: &'static str,
}

impl Client {
    /// One request, still without its source.
    pub(super) fn get(
        &self,
        at_ms: u64,
        target: &Rc<str>,
        referrer: &Rc<str>,
        (status, bytes): (u16, u32),
    ) -> Hit {
        Hit {
            at_ms,
            source: 0,
            method: "GET",
            target: target.clone(),
            protocol: self.protocol,
            status,
            bytes,
            referrer: referrer.clone(),
            agent: self.agent.clone(),
        }
    }
}

/// Requests on each day.
pub(super) fn by_day(hits: &[Hit]) -> [u32; DAYS] {
    let mut days = [0; DAYS];
    for hit in hits {
        if let Some(day) = days.get_mut((hit.at_ms / DAY_MS) as usize) {
            *day += 1;
        }
    }
    days
}
