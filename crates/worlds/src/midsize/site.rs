//! The mid-size site as visitors see it: pages, their parts, and which page leads to which.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::stage::rank;
use crate::random::Random;

/// Where the site lives.
pub(super) const ORIGIN: &str = "https://www.hafenblatt.example";

/// Number of a page.
pub(super) type PageId = usize;
/// Number of a part.
pub(super) type AssetId = usize;

/// Areas of the site. Each has a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Home,
    NewsList,
    Article,
    ShopList,
    Product,
    Basket,
    ForumList,
    Thread,
    BookList,
    Book,
    Chapter,
    Text,
    Contact,
    Search,
    Login,
    Admin,
}

/// What a part is for: blockers decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AssetKind {
    Css,
    Script,
    /// Scripts of advertisements.
    Advert,
    /// A request that a script makes on each page.
    Call,
    Image,
    Font,
    Icon,
}

/// How browsers keep a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// For a year: its name changes with its content.
    Long,
    /// To be asked about again after some hours.
    Check,
    /// Not at all.
    Never,
}

/// A part of pages.
#[derive(Debug)]
pub(super) struct Asset {
    pub(super) target: Rc<str>,
    pub(super) url: Rc<str>,
    pub(super) kind: AssetKind,
    pub(super) bytes: u32,
    pub(super) keep: Keep,
    /// Fonts and images that a style sheet asks for.
    pub(super) children: Vec<AssetId>,
}

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) target: Rc<str>,
    pub(super) url: Rc<str>,
    pub(super) section: Section,
    /// News category, shelf, forum or book.
    pub(super) group: u32,
    pub(super) bytes: u32,
    /// Milliseconds since the start; pages older than the log have negative ones.
    pub(super) published: i64,
    /// Its own images, in the order of the page.
    pub(super) images: Vec<AssetId>,
    /// What lists show of it.
    pub(super) thumbnail: Option<AssetId>,
}

/// The site.
#[derive(Debug, Default)]
pub(super) struct Site {
    pub(super) pages: Vec<Page>,
    pub(super) assets: Vec<Asset>,
    /// Parts that all pages of a section share.
    pub(super) templates: BTreeMap<Section, Vec<AssetId>>,
    /// Pages of a section, the oldest first.
    pub(super) sections: BTreeMap<Section, Vec<PageId>>,
    /// Pages of a group of a section, the oldest first.
    pub(super) groups: BTreeMap<(Section, u32), Vec<PageId>>,
    /// Old articles that search engines still send people to, the most read last.
    pub(super) evergreen: Vec<PageId>,
    /// The story of each day that everybody talks about.
    pub(super) hot: Vec<PageId>,
    /// Articles of the archive that were removed or renamed.
    pub(super) gone: Vec<Rc<str>>,
    /// The icon of the site.
    pub(super) icon: AssetId,
}

impl Site {
    /// A page by its number.
    pub(super) fn page(&self, page: PageId) -> &Page {
        &self.pages[page]
    }

    /// Pages of a section, the oldest first, also those that appear later.
    pub(super) fn section(&self, section: Section) -> &[PageId] {
        self.sections.get(&section).map_or(&[], Vec::as_slice)
    }

    /// Pages of a group, the oldest first, also those that appear later.
    pub(super) fn group(&self, section: Section, group: u32) -> &[PageId] {
        self.groups
            .get(&(section, group))
            .map_or(&[], Vec::as_slice)
    }

    /// The front page.
    pub(super) fn home(&self) -> PageId {
        self.section(Section::Home)[0]
    }

    /// How many pages of a list exist by now.
    fn existing(&self, list: &[PageId], now: u64) -> usize {
        list.partition_point(|page| self.pages[*page].published <= now as i64)
            .max(1)
    }

    /// Pages of a section that exist by now, the oldest first.
    pub(super) fn until(&self, section: Section, now: u64) -> &[PageId] {
        let list = self.section(section);
        &list[..self.existing(list, now)]
    }

    /// One of a list, the newest the likeliest.
    pub(super) fn newest(&self, random: &mut Random, list: &[PageId], now: u64) -> PageId {
        let existing = self.existing(list, now);
        list[existing - 1 - rank(random, existing)]
    }

    /// An article: half of what is read is new.
    pub(super) fn article(&self, random: &mut Random, now: u64) -> PageId {
        if random.chance(0.55) {
            self.newest(random, self.section(Section::Article), now)
        } else {
            self.newest(random, &self.evergreen, now)
        }
    }

    /// A page of a section, the popular ones the likeliest.
    pub(super) fn any(&self, random: &mut Random, now: u64, section: Section) -> PageId {
        match section {
            Section::Article => self.article(random, now),
            _ => self.newest(random, self.section(section), now),
        }
    }

    /// The chapter after this one, or the page of its book after the last.
    pub(super) fn next_chapter(&self, page: PageId) -> PageId {
        let next = page + 1;
        let group = self.pages[page].group;
        match self.pages.get(next) {
            Some(found) if found.section == Section::Chapter && found.group == group => next,
            _ => self.group(Section::Book, group)[0],
        }
    }

    /// Where somebody goes who reads this page.
    pub(super) fn follow(&self, random: &mut Random, now: u64, from: PageId) -> PageId {
        use Section::*;
        let here = &self.pages[from];
        let within = |random: &mut Random, section| {
            let list = self.group(section, here.group);
            if list.is_empty() {
                self.any(random, now, section)
            } else {
                self.newest(random, list, now)
            }
        };
        let share = random.below(100);
        let next = match here.section {
            Home => *random.pick(&[
                Article, Article, Article, Article, NewsList, ShopList, ForumList, BookList,
            ]),
            Article if share < 50 => return within(random, Article),
            Article if share < 62 => return within(random, NewsList),
            Article => *random.pick(&[Article, Article, Home, Home, Product, Text, Search]),
            NewsList if share < 85 => return within(random, Article),
            NewsList => *random.pick(&[NewsList, Home]),
            ShopList if share < 80 => return within(random, Product),
            ShopList => *random.pick(&[ShopList, ShopList, Search]),
            Product if share < 40 => return within(random, Product),
            Product if share < 72 => return within(random, ShopList),
            Product => *random.pick(&[Basket, Basket, Search, Text, Home]),
            Basket => *random.pick(&[Basket, Product, ShopList, Text]),
            ForumList if share < 90 => return within(random, Thread),
            ForumList => ForumList,
            Thread if share < 35 => return within(random, Thread),
            Thread if share < 80 => return within(random, ForumList),
            Thread => *random.pick(&[Search, Home, Article]),
            Chapter if share < 82 => return self.next_chapter(from),
            Chapter if share < 92 => return within(random, Book),
            Chapter => BookList,
            Book if share < 85 => return within(random, Chapter),
            Book | BookList => Book,
            Search => *random.pick(&[Article, Article, Product, Thread, Search]),
            Text | Contact | Login | Admin => *random.pick(&[Home, Home, Text, Contact, Article]),
        };
        self.any(random, now, next)
    }

    /// The images of a page: the front page shows the newest stories.
    pub(super) fn images(&self, page: PageId, now: u64) -> Vec<AssetId> {
        let page = &self.pages[page];
        if page.section != Section::Home {
            return page.images.clone();
        }
        let articles = self.until(Section::Article, now);
        let newest = articles.iter().rev().take(18);
        newest
            .filter_map(|article| self.pages[*article].thumbnail)
            .collect()
    }
}
