//! Stocks the mid-size site: templates, articles, goods, threads, books.

use std::collections::HashSet;
use std::rc::Rc;

use super::clock::Calendar;
use super::clock::DAY;
use super::clock::DAYS;
use super::clock::Rhythm;
use super::site::Asset;
use super::site::AssetId;
use super::site::AssetKind;
use super::site::Keep;
use super::site::ORIGIN;
use super::site::Page;
use super::site::PageId;
use super::site::Section;
use super::site::Site;
use super::stage::shuffle;
use crate::random::Random;

/// News categories.
const TOPICS: [&str; 9] = [
    "town", "region", "business", "sport", "culture", "harbour", "opinion", "science", "weekend",
];
/// Shelves of the shop.
const SHELVES: [&str; 10] = [
    "boots", "jackets", "ropes", "lamps", "charts", "mugs", "books", "tools", "knitwear", "gifts",
];
/// Pages without anything but text.
const TEXTS: [&str; 14] = [
    "about",
    "imprint",
    "privacy-policy",
    "terms",
    "shipping",
    "returns",
    "faq",
    "tide-tables",
    "bus-timetable",
    "opening-hours",
    "style-guide",
    "history",
    "jobs",
    "accessibility",
];
const WORDS: [&str; 64] = [
    "harbour",
    "council",
    "bridge",
    "storm",
    "ferry",
    "school",
    "budget",
    "market",
    "winter",
    "coast",
    "museum",
    "strike",
    "station",
    "island",
    "festival",
    "fishers",
    "lighthouse",
    "train",
    "mayor",
    "hospital",
    "river",
    "plan",
    "new",
    "old",
    "north",
    "debate",
    "opens",
    "closes",
    "returns",
    "delayed",
    "vote",
    "saved",
    "record",
    "final",
    "team",
    "league",
    "concert",
    "library",
    "tax",
    "rents",
    "solar",
    "wind",
    "dyke",
    "flood",
    "whale",
    "seal",
    "herring",
    "bakery",
    "garden",
    "night",
    "youth",
    "choir",
    "police",
    "court",
    "film",
    "prize",
    "road",
    "tunnel",
    "wharf",
    "crane",
    "shipyard",
    "tourists",
    "cabin",
    "summer",
];
const EXTENSIONS: [&str; 2] = ["webp", "jpg"];

/// Kind, target and bytes of a part.
type Part = (AssetKind, &'static str, u32);

/// What groups of sections load beyond the theme.
const EXTRAS: [(&[Section], &[Part]); 5] = [
    (
        &[
            Section::Home,
            Section::NewsList,
            Section::Search,
            Section::Contact,
            Section::BookList,
            Section::Book,
        ],
        &[(
            AssetKind::Css,
            "/wp-content/themes/quay/lists.min.css?ver=4.2.1",
            5_077,
        )],
    ),
    (
        &[Section::Article],
        &[
            (
                AssetKind::Css,
                "/wp-content/themes/quay/single.min.css?ver=4.2.1",
                6_650,
            ),
            (
                AssetKind::Script,
                "/wp-includes/js/comment-reply.min.js?ver=6.8.3",
                1_240,
            ),
            (
                AssetKind::Script,
                "/wp-content/plugins/lightbox/js/lightbox.min.js?ver=2.11",
                7_733,
            ),
        ],
    ),
    (
        &[Section::ShopList, Section::Product, Section::Basket],
        &[
            (
                AssetKind::Css,
                "/wp-content/plugins/woocommerce/assets/css/woocommerce.css?ver=10.2",
                14_302,
            ),
            (
                AssetKind::Css,
                "/wp-content/plugins/woocommerce/assets/css/woocommerce-layout.css?ver=10.2",
                2_710,
            ),
            (
                AssetKind::Script,
                "/wp-content/plugins/woocommerce/assets/js/frontend/woocommerce.min.js?ver=10.2",
                1_804,
            ),
            (
                AssetKind::Script,
                "/wp-content/plugins/woocommerce/assets/js/frontend/cart-fragments.min.js?ver=10.2",
                1_511,
            ),
            (AssetKind::Call, "/?wc-ajax=get_refreshed_fragments", 412),
        ],
    ),
    (
        &[Section::ForumList, Section::Thread],
        &[
            (
                AssetKind::Css,
                "/forum/styles/quay/forum.css?assets=71",
                11_006,
            ),
            (
                AssetKind::Script,
                "/forum/assets/javascript/core.js?assets=71",
                9_020,
            ),
        ],
    ),
    (
        &[Section::Chapter],
        &[
            (AssetKind::Css, "/fiction/reader.css?v=9", 3_301),
            (AssetKind::Script, "/fiction/reader.js?v=9", 2_204),
        ],
    ),
];

/// The site of this seed.
pub(super) fn stock(random: &mut Random, calendar: &Calendar) -> Site {
    let mut stock = Stock {
        site: Site::default(),
        slugs: HashSet::new(),
    };
    stock.templates();
    stock.fixed_pages(random);
    stock.news(random, calendar);
    stock.shop(random);
    stock.forum(random);
    stock.books(random);
    let mut site = stock.site;
    site.evergreen = site.until(Section::Article, 0).to_vec();
    shuffle(random, &mut site.evergreen);
    for _ in 0..160 {
        let date = calendar.date_path(-(random.between(60.0, 2500.0) as i64) * DAY as i64);
        site.gone
            .push(format!("/{date}/{}/", words(random, 4)).into());
    }
    site
}

fn words(random: &mut Random, count: u64) -> String {
    let words: Vec<&str> = (0..count).map(|_| *random.pick(&WORDS)).collect();
    words.join("-")
}

/// Bytes with a long tail.
fn size(random: &mut Random, median: f64) -> u32 {
    (median * (0.5 * random.normal()).exp()) as u32
}

struct Stock {
    site: Site,
    slugs: HashSet<String>,
}

impl Stock {
    fn asset(&mut self, kind: AssetKind, target: &str, bytes: u32) -> AssetId {
        let keep = match kind {
            AssetKind::Call => Keep::Never,
            // Uploads have no version in their name; half of them come with a validator only.
            AssetKind::Image if bytes.is_multiple_of(2) => Keep::Check,
            _ => Keep::Long,
        };
        self.site.assets.push(Asset {
            target: target.into(),
            url: format!("{ORIGIN}{target}").into(),
            kind,
            bytes,
            keep,
            children: Vec::new(),
        });
        self.site.assets.len() - 1
    }

    fn page(&mut self, section: Section, group: u32, target: &str, bytes: u32) -> PageId {
        let number = self.site.pages.len();
        self.site.pages.push(Page {
            target: target.into(),
            url: format!("{ORIGIN}{target}").into(),
            section,
            group,
            bytes,
            published: i64::MIN,
            images: Vec::new(),
            thumbnail: None,
        });
        self.site.sections.entry(section).or_default().push(number);
        self.site
            .groups
            .entry((section, group))
            .or_default()
            .push(number);
        number
    }

    /// As WordPress does it, a second page of a name gets a number.
    fn slug(&mut self, random: &mut Random, count: u64) -> String {
        let wanted = words(random, count);
        let mut slug = wanted.clone();
        let mut copy = 1;
        while !self.slugs.insert(slug.clone()) {
            copy += 1;
            slug = format!("{wanted}-{copy}");
        }
        slug
    }

    fn templates(&mut self) {
        use AssetKind::*;
        use Section::*;
        let theme = "/wp-content/themes/quay";
        let style = self.asset(Css, &format!("{theme}/style.min.css?ver=4.2.1"), 18_204);
        let mut fonts = Vec::new();
        for (name, bytes) in [
            ("source-serif-4-400", 31_240),
            ("source-sans-3-400", 24_816),
            ("source-sans-3-700", 25_102),
        ] {
            fonts.push(self.asset(Font, &format!("{theme}/fonts/{name}.woff2"), bytes));
        }
        fonts.push(self.asset(Image, &format!("{theme}/img/sprite.svg"), 6_411));
        self.site.assets[style].children = fonts;
        let jquery = self.asset(
            Script,
            "/wp-includes/js/jquery/jquery.min.js?ver=3.7.1",
            30_371,
        );
        let menu = self.asset(Script, &format!("{theme}/js/menu.min.js?ver=4.2.1"), 3_120);
        let logo = self.asset(Image, &format!("{theme}/img/logo.svg"), 4_233);
        let base = vec![style, jquery, menu, logo];
        let advert = self.asset(
            Advert,
            "/wp-content/plugins/advanced-ads/public/assets/js/advanced.min.js?ver=1.56",
            8_040,
        );
        for (sections, parts) in EXTRAS {
            let own: Vec<AssetId> = parts
                .iter()
                .map(|(kind, target, bytes)| self.asset(*kind, target, *bytes))
                .collect();
            for section in sections {
                // The reader of chapters is plain on purpose: its own style and script only.
                let mut all = if *section == Chapter {
                    Vec::new()
                } else {
                    base.clone()
                };
                all.extend(&own);
                if matches!(section, Home | Article | NewsList) {
                    all.push(advert);
                }
                self.site.templates.insert(*section, all);
            }
        }
        self.plain_templates();
    }

    /// Templates that share nothing with the theme.
    fn plain_templates(&mut self) {
        use AssetKind::*;
        let plain = self.asset(Css, "/static/plain.css", 1_912);
        self.site.templates.insert(Section::Text, vec![plain]);
        let mut login = Vec::new();
        for (kind, target, bytes) in [
            (Css, "/wp-includes/css/dashicons.min.css?ver=6.8.3", 35_700),
            (Css, "/wp-admin/css/login.min.css?ver=6.8.3", 2_303),
            (
                Script,
                "/wp-admin/js/password-strength-meter.min.js?ver=6.8.3",
                1_120,
            ),
            (
                Image,
                "/wp-admin/images/wordpress-logo.svg?ver=20131107",
                1_521,
            ),
        ] {
            login.push(self.asset(kind, target, bytes));
        }
        self.site.templates.insert(Section::Login, login);
        let mut admin = Vec::new();
        for (kind, target, bytes) in [
            (
                Css,
                "/wp-admin/load-styles.php?c=1&dir=ltr&load%5Bchunk_0%5D=dashicons,admin-bar,common,forms&ver=6.8.3",
                98_400,
            ),
            (
                Script,
                "/wp-admin/load-scripts.php?c=1&load%5Bchunk_0%5D=jquery-core,jquery-migrate,utils&ver=6.8.3",
                60_210,
            ),
            (Script, "/wp-includes/js/heartbeat.min.js?ver=6.8.3", 5_911),
        ] {
            admin.push(self.asset(kind, target, bytes));
        }
        self.site.templates.insert(Section::Admin, admin);
        self.site.icon = self.asset(Icon, "/favicon.ico", 5_430);
    }

    fn fixed_pages(&mut self, random: &mut Random) {
        self.page(Section::Home, 0, "/", 24_310);
        for text in TEXTS {
            let bytes = size(random, 5_200.0);
            self.page(Section::Text, 0, &format!("/{text}/"), bytes);
        }
        self.page(Section::Contact, 0, "/contact/", 8_122);
        for target in ["/shop/basket/", "/shop/checkout/", "/my-account/"] {
            self.page(Section::Basket, 0, target, 14_050);
        }
        self.page(Section::Login, 0, "/wp-login.php", 3_210);
        for target in [
            "/wp-admin/",
            "/wp-admin/edit.php",
            "/wp-admin/post-new.php",
            "/wp-admin/edit-comments.php",
            "/wp-admin/upload.php",
        ] {
            self.page(Section::Admin, 0, target, 41_000);
        }
        for number in 0..90 {
            let first = WORDS[number % WORDS.len()];
            let target = if number < WORDS.len() {
                format!("/?s={first}")
            } else {
                format!("/?s={first}+{}", random.pick(&WORDS))
            };
            let bytes = size(random, 14_000.0);
            self.page(Section::Search, 0, &target, bytes);
        }
        self.page(Section::BookList, 0, "/fiction/", 9_400);
    }

    fn upload(&mut self, random: &mut Random, name: &str, median: f64) -> AssetId {
        let extension = random.pick(&EXTENSIONS);
        let bytes = size(random, median);
        self.asset(
            AssetKind::Image,
            &format!("/wp-content/uploads/{name}.{extension}"),
            bytes,
        )
    }

    fn news(&mut self, random: &mut Random, calendar: &Calendar) {
        let mut times: Vec<i64> = Vec::new();
        for day in 0..DAYS {
            let count = if calendar.is_weekend(day) { 14 } else { 30 };
            for _ in 0..count {
                times.push(calendar.on_day(random, day, Rhythm::Work, 1) as i64);
            }
        }
        for _ in 0..1500 {
            // Many of last week, few of years ago.
            times.push(-(DAY as f64 * (1600.0_f64.powf(random.unit()) - 0.9)) as i64);
        }
        times.sort_unstable();
        for published in times {
            let count = 3 + random.below(3);
            let slug = self.slug(random, count);
            let (date, group) = (
                calendar.date_path(published),
                random.below(TOPICS.len() as u64) as u32,
            );
            let bytes = size(random, 15_500.0);
            let page = self.page(Section::Article, group, &format!("/{date}/{slug}/"), bytes);
            let folder = &date[..7];
            let images = match random.below(100) {
                0..15 => 0,
                15..60 => 1 + random.below(2),
                60..92 => 3 + random.below(4),
                _ => 8 + random.below(18),
            };
            let mut own = Vec::new();
            for number in 0..images {
                own.push(self.upload(
                    random,
                    &format!("{folder}/{slug}-{number}-1024x683"),
                    74_000.0,
                ));
            }
            self.site.pages[page].thumbnail =
                Some(self.upload(random, &format!("{folder}/{slug}-300x200"), 14_000.0));
            self.site.pages[page].images = own;
            self.site.pages[page].published = published;
        }
        self.relate(random);
        for (group, topic) in TOPICS.iter().enumerate() {
            for number in (1..=7).rev() {
                let target = if number == 1 {
                    format!("/topic/{topic}/")
                } else {
                    format!("/topic/{topic}/page/{number}/")
                };
                let page = self.page(Section::NewsList, group as u32, &target, 17_400);
                self.list(page, Section::Article, 10, number - 1);
            }
        }
        for day in 0..DAYS as i64 {
            let of_day =
                |page: &&PageId| self.site.pages[**page].published.div_euclid(DAY as i64) == day;
            let articles: Vec<PageId> = self
                .site
                .section(Section::Article)
                .iter()
                .filter(of_day)
                .copied()
                .collect();
            self.site.hot.push(*random.pick(&articles));
        }
    }

    /// Below most articles stand three older ones of the same category.
    fn relate(&mut self, random: &mut Random) {
        for group in 0..TOPICS.len() as u32 {
            let list = self.site.group(Section::Article, group).to_vec();
            for (place, page) in list.iter().enumerate() {
                if place < 3 || random.chance(0.2) {
                    continue;
                }
                let older = list[place - 3..place]
                    .iter()
                    .filter_map(|page| self.site.pages[*page].thumbnail);
                let older: Vec<AssetId> = older.collect();
                self.site.pages[*page].images.extend(older);
            }
        }
    }

    /// Gives a list page the thumbnails of what it lists; the newest that exist when the log starts.
    fn list(&mut self, page: PageId, of: Section, each: usize, skip: usize) {
        let group = self.site.pages[page].group;
        let old = self
            .site
            .group(of, group)
            .iter()
            .rev()
            .filter(|page| self.site.pages[**page].published <= 0);
        let shown = old
            .skip(each * skip)
            .take(each)
            .filter_map(|page| self.site.pages[*page].thumbnail);
        let shown: Vec<AssetId> = shown.collect();
        self.site.pages[page].images = shown;
    }

    fn shop(&mut self, random: &mut Random) {
        for group in 0..SHELVES.len() as u32 {
            for _ in 0..62 {
                let slug = self.slug(random, 3);
                let bytes = size(random, 17_000.0);
                let page = self.page(
                    Section::Product,
                    group,
                    &format!("/shop/product/{slug}/"),
                    bytes,
                );
                let mut own = Vec::new();
                for number in 0..1 + random.below(6) {
                    own.push(self.upload(
                        random,
                        &format!("shop/{slug}-{number}-600x600"),
                        41_000.0,
                    ));
                }
                self.site.pages[page].images = own;
                self.site.pages[page].thumbnail =
                    Some(self.upload(random, &format!("shop/{slug}-300x300"), 12_000.0));
            }
        }
        for (group, shelf) in SHELVES.iter().enumerate() {
            for number in (1..=4).rev() {
                let target = if number == 1 {
                    format!("/shop/{shelf}/")
                } else {
                    format!("/shop/{shelf}/page/{number}/")
                };
                let page = self.page(Section::ShopList, group as u32, &target, 19_200);
                self.list(page, Section::Product, 16, number - 1);
            }
        }
    }

    fn forum(&mut self, random: &mut Random) {
        let avatars: Vec<AssetId> = (0..240)
            .map(|number| {
                let bytes = size(random, 4_400.0);
                self.asset(
                    AssetKind::Image,
                    &format!("/forum/download/file.php?avatar={}.png", 100 + number * 7),
                    bytes,
                )
            })
            .collect();
        for number in 0..2400_u64 {
            let (group, bytes) = (random.below(8) as u32, size(random, 13_000.0));
            let page = self.page(
                Section::Thread,
                group,
                &format!("/forum/viewtopic.php?t={}", 30_100 + number),
                bytes,
            );
            let shown = random.below(9);
            self.site.pages[page].images = (0..shown).map(|_| *random.pick(&avatars)).collect();
        }
        for group in 0..8 {
            for start in [150, 100, 50, 0] {
                let forum = group + 2;
                let target = if start == 0 {
                    format!("/forum/viewforum.php?f={forum}")
                } else {
                    format!("/forum/viewforum.php?f={forum}&start={start}")
                };
                self.page(Section::ForumList, group, &target, 12_600);
            }
        }
    }

    fn books(&mut self, random: &mut Random) {
        for book in 0..16 {
            let title = self.slug(random, 2);
            let cover = self.upload(random, &format!("covers/{title}"), 52_000.0);
            let page = self.page(Section::Book, book, &format!("/fiction/{title}/"), 11_800);
            self.site.pages[page].images = vec![cover];
            self.site.pages[page].thumbnail = Some(cover);
            for chapter in 1..=45 + random.below(190) {
                let bytes = size(random, 11_000.0);
                self.page(
                    Section::Chapter,
                    book,
                    &format!("/fiction/{title}/chapter-{chapter}/"),
                    bytes,
                );
            }
        }
        let covers: Vec<AssetId> = self
            .site
            .section(Section::Book)
            .iter()
            .filter_map(|page| self.site.pages[*page].thumbnail)
            .collect();
        let list: Rc<[PageId]> = self.site.section(Section::BookList).into();
        for page in list.iter() {
            self.site.pages[*page].images.clone_from(&covers);
        }
    }
}
