//! What programs fetch, in which order: lists and their listings, numbers, searches, sellers, one list for ever, feeds.

use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

use super::site::Site;
use crate::random::Random;

/// One thing to fetch.
#[derive(Debug, Clone)]
pub(super) struct Fetch {
    pub(super) target: Rc<str>,
    /// The page that linked to it.
    pub(super) parent: Rc<str>,
    pub(super) item: Option<u32>,
    pub(super) answer: (u16, u32),
}

/// What a program is after.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Aim {
    /// Pages of categories so deep, and a share of the listings on them.
    Lists {
        depth: usize,
        share: f64,
        again: bool,
    },
    /// Numbers one after the other, with a step.
    Numbers {
        step: u32,
    },
    /// Words, so many pages deep.
    Searches {
        depth: usize,
        share: f64,
    },
    Sellers,
    /// The same listings for ever.
    Same {
        shuffled: bool,
    },
    /// The first page of newest listings, and what is new on it.
    Newest {
        categories: usize,
    },
    /// Whatever is known, mostly what is popular.
    Wander,
    Interface,
    Photos,
    Feeds,
    /// Few pages that must answer.
    Probe {
        pages: usize,
    },
}

/// A program on its way through the site.
#[derive(Debug)]
pub(super) struct Route<'a> {
    site: &'a Site,
    aim: Aim,
    /// Which part of the work is its own.
    shard: (usize, usize),
    cursor: (usize, usize),
    /// Where numbers begin.
    offset: usize,
    list: Vec<u32>,
    queries: Vec<Rc<str>>,
    pending: VecDeque<Fetch>,
    seen: HashSet<u32>,
}

impl<'a> Route<'a> {
    /// A route with work of its own; `list` says how long a fixed list is.
    pub(super) fn new(
        site: &'a Site,
        aim: Aim,
        shard: (usize, usize),
        list: usize,
        random: &mut Random,
    ) -> Route<'a> {
        let count = site.old();
        Route {
            site,
            aim,
            shard,
            cursor: (shard.0, 1),
            offset: if shard.1 > 1 {
                0
            } else {
                random.below(count) as usize
            },
            list: (0..list).map(|_| random.below(count) as u32).collect(),
            queries: (0..20 + random.below(150))
                .map(|_| site.query(random).into())
                .collect(),
            pending: VecDeque::new(),
            seen: HashSet::new(),
        }
    }

    /// A job or round begins anew.
    pub(super) fn restart(&mut self, random: &mut Random) {
        match self.aim {
            Aim::Lists { again, .. } => {
                if again {
                    self.pending.clear();
                    self.seen.clear();
                }
                self.cursor = (self.shard.0, 1);
            }
            Aim::Same { shuffled } => {
                self.cursor.0 = 0;
                if shuffled {
                    for place in (1..self.list.len()).rev() {
                        self.list
                            .swap(place, random.below(place as u64 + 1) as usize);
                    }
                }
            }
            _ => {}
        }
    }

    /// The next thing to fetch.
    pub(super) fn next(&mut self, at: u64, random: &mut Random) -> Fetch {
        if let Some(mut fetch) = self.pending.pop_front() {
            if let (Some(item), 200) = (fetch.item, fetch.answer.0) {
                fetch.answer = self.site.item_answer(item, at);
            }
            return fetch;
        }
        match self.aim {
            Aim::Lists { depth, share, .. } => self.list_page(at, depth, share, random),
            Aim::Numbers { step } => self.number(at, step),
            Aim::Searches { depth, share } => self.search(at, depth, share, random),
            Aim::Sellers => self.seller(at, random),
            Aim::Same { .. } => self.same(at),
            Aim::Newest { categories } => self.newest(at, categories),
            Aim::Wander => self.wander(at, random),
            Aim::Interface => self.interface(random),
            Aim::Photos => self.photo(random),
            Aim::Feeds => self.feed(at, random),
            Aim::Probe { pages } => self.probe(at, pages),
        }
    }

    fn item(&self, item: u32, parent: Rc<str>, at: u64) -> Fetch {
        let target = self.site.items[item as usize].url.clone();
        Fetch {
            target,
            parent,
            item: Some(item),
            answer: self.site.item_answer(item, at),
        }
    }

    fn page(&self, target: String, bytes: u32) -> Fetch {
        Fetch {
            target: target.into(),
            parent: self.site.empty.clone(),
            item: None,
            answer: (200, bytes),
        }
    }

    fn queue_items(
        &mut self,
        shown: &[u32],
        parent: &Rc<str>,
        share: f64,
        at: u64,
        random: &mut Random,
    ) {
        for &item in shown {
            if random.chance(share) && self.seen.insert(item) {
                self.pending.push_back(self.item(item, parent.clone(), at));
            }
        }
    }

    fn list_page(&mut self, at: u64, depth: usize, share: f64, random: &mut Random) -> Fetch {
        let (category, page) = self.cursor;
        let category = category % self.site.categories();
        let shown = self.site.list(category, page, at);
        let fetch = self.page(
            self.site.category_path(category, page, false),
            9_000 + 2_100 * shown.len() as u32,
        );
        // The end of a list, or of its patience.
        self.cursor = match shown.is_empty() || page >= depth {
            true => (self.cursor.0 + self.shard.1, 1),
            false => (self.cursor.0, page + 1),
        };
        self.queue_items(&shown, &fetch.target, share, at, random);
        // Once all is seen, a crawler that never fetches twice would stop; it starts anew instead.
        if self.seen.len() > self.site.items.len() * 2 / 5 {
            self.seen.clear();
        }
        fetch
    }

    fn number(&mut self, at: u64, step: u32) -> Fetch {
        let place = (self.offset + self.cursor.0 * step as usize) % (self.site.items.len() * 2);
        self.cursor.0 += self.shard.1;
        let index = (place / 2) as u32;
        let item = &self.site.items[index as usize];
        // Every second number hits a hole: a draft, or a listing deleted long ago.
        if place % 2 == 1 {
            let mut fetch = self.page(format!("/item/{}", item.number + 1), 4_871);
            fetch.answer.0 = 404;
            return fetch;
        }
        let mut fetch = self.page(format!("/item/{}", item.number), 0);
        fetch.answer.0 = 301;
        let follow = self.item(index, self.site.empty.clone(), at);
        self.pending.push_back(follow);
        fetch
    }

    fn search(&mut self, at: u64, depth: usize, share: f64, random: &mut Random) -> Fetch {
        let (word, page) = self.cursor;
        let query = self.queries[word % self.queries.len()].clone();
        let shown = self.site.found(&query, page, at);
        let target = if page > 1 {
            format!("/s?q={query}&page={page}")
        } else {
            format!("/s?q={query}")
        };
        let fetch = self.page(target, 9_000 + 2_100 * shown.len() as u32);
        self.cursor = if page >= depth || shown.len() < 20 {
            (word + 1, 1)
        } else {
            (word, page + 1)
        };
        self.queue_items(&shown, &fetch.target, share, at, random);
        fetch
    }

    fn seller(&mut self, at: u64, random: &mut Random) -> Fetch {
        self.cursor.0 += self.shard.1;
        let seller = (self.cursor.0 as u64 * 13 % self.site.sellers()) as u32;
        let shown = self.site.stock(seller, at);
        let fetch = self.page(
            format!("/seller/{seller}"),
            8_000 + 2_000 * shown.len() as u32,
        );
        self.queue_items(&shown, &fetch.target, 0.15, at, random);
        fetch
    }

    fn same(&mut self, at: u64) -> Fetch {
        let item = self.list[self.cursor.0 % self.list.len()];
        self.cursor.0 += 1;
        self.item(item, self.site.empty.clone(), at)
    }

    fn newest(&mut self, at: u64, categories: usize) -> Fetch {
        let category = (self.shard.0 * 5 + self.cursor.0 % categories) % self.site.categories();
        self.cursor.0 += 1;
        let shown = self.site.list(category, 1, at);
        let fetch = self.page(
            self.site.category_path(category, 1, true),
            9_000 + 2_100 * shown.len() as u32,
        );
        for item in shown {
            if self.seen.insert(item) {
                self.pending
                    .push_back(self.item(item, fetch.target.clone(), at));
            }
        }
        fetch
    }

    fn wander(&mut self, at: u64, random: &mut Random) -> Fetch {
        let home: Rc<str> = "/".into();
        match random.below(100) {
            0 => self.page("/robots.txt".to_string(), 412),
            1 => self.page(
                format!("/sitemaps/items-{}.xml.gz", random.below(40)),
                310_000,
            ),
            2..=14 => {
                let (category, page) = (
                    random.below(self.site.categories() as u64) as usize,
                    1 + random.below(30) as usize,
                );
                let shown = self.site.list(category, page, at);
                self.page(
                    self.site.category_path(category, page, false),
                    9_000 + 2_100 * shown.len() as u32,
                )
            }
            15..=20 => self.page(
                format!("/seller/{}", random.below(self.site.sellers())),
                22_000,
            ),
            21..=50 => self.item(random.below(self.site.old()) as u32, home, at),
            _ => self.item(self.site.popular(random), home, at),
        }
    }

    fn interface(&mut self, random: &mut Random) -> Fetch {
        let (category, page) = self.cursor;
        let end = 10 + random.below(40) as usize;
        self.cursor = if page > end {
            (category + self.shard.1, 1)
        } else {
            (category, page + 1)
        };
        let category = category % self.site.categories();
        self.page(
            format!(
                "/api/v2/search?cat={category}&offset={}&limit=50",
                (page - 1) * 50
            ),
            18_400,
        )
    }

    fn photo(&mut self, random: &mut Random) -> Fetch {
        let item = self.site.popular(random) as usize;
        let entry = &self.site.items[item];
        let photo = random.pick(&entry.photos).clone();
        let bytes = (88_000.0 * (0.35 * random.normal()).exp()) as u32;
        Fetch {
            target: photo,
            parent: entry.url.clone(),
            item: None,
            answer: (200, bytes),
        }
    }

    fn feed(&mut self, at: u64, random: &mut Random) -> Fetch {
        self.cursor.0 += 1;
        let category = self.cursor.0 % self.site.categories();
        let mut fetch = self.page(self.site.feed_path(category), 21_000);
        if at > 0 && random.chance(0.55) {
            fetch.answer = (304, 0);
        }
        fetch
    }

    fn probe(&mut self, at: u64, pages: usize) -> Fetch {
        self.cursor.0 += 1;
        match self.cursor.0 % pages {
            0 => self.page("/".to_string(), 38_000),
            1 => self.page("/healthz".to_string(), 15),
            2 => self.page("/s?q=test".to_string(), 29_000),
            3 => self.page("/login".to_string(), 9_700),
            _ => self.item(0, self.site.empty.clone(), at),
        }
    }
}
