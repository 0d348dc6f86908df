//! The links that a crawler has gathered, and which one it takes next.

use std::collections::BTreeSet;
use std::collections::VecDeque;

use super::Links;
use super::Role;
use super::site::Page;
use crate::random::Random;

/// A link and the page it stands on.
pub(super) type Link = (Page, Option<Page>);

/// By what a crawler knows a page again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity {
    /// By the page.
    Page,
    /// By the whole address: with markers, the link's page and the page it stands on.
    Address,
}

/// In which order links are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The latest gathered, the first of its page first.
    Deep,
    /// The first gathered.
    Wide,
    /// Any of the latest so many: of all, or of those on the pages just seen.
    Random { reach: u64 },
}

/// Which links are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everything,
    /// Boards and threads.
    Content,
    /// All but forms and the reader's own pages.
    Public,
}

/// The frontier of one crawl.
#[derive(Debug)]
pub(super) struct Frontier {
    links: VecDeque<Link>,
    seen: BTreeSet<Link>,
    identity: Identity,
    scope: Scope,
    order: Order,
    /// Whether the links of a page are shuffled before they are gathered.
    shuffles: bool,
}

impl Frontier {
    pub(super) fn draw(random: &mut Random, role: Role, links: Links) -> Frontier {
        let recognises = random.chance(0.5);
        let scope = match random.below(3) {
            0 => Scope::Everything,
            1 => Scope::Content,
            _ => Scope::Public,
        };
        let reach = match random.chance(0.5) {
            true => u64::MAX,
            false => random.between(3.0, 6.7).exp() as u64,
        };
        let any = [Order::Deep, Order::Wide, Order::Random { reach }];
        let drawn = *random.pick(&any);
        Frontier {
            links: VecDeque::from([(Page::Index, None)]),
            seen: BTreeSet::new(),
            identity: match (links, recognises) {
                (Links::Marked, false) => Identity::Address,
                _ => Identity::Page,
            },
            scope,
            order: match role {
                Role::DepthFirst => Order::Deep,
                Role::BreadthFirst => Order::Wide,
                Role::RandomLike => Order::Random { reach },
                Role::Person | Role::Shared => drawn,
            },
            shuffles: random.chance(0.4),
        }
    }

    /// Gathers the links of a page that are new.
    pub(super) fn gather(&mut self, random: &mut Random, on: Page, mut links: Vec<Page>) {
        links.retain(|page| self.scope.has(*page));
        if self.shuffles {
            for at in (1..links.len()).rev() {
                links.swap(at, random.below(at as u64 + 1) as usize);
            }
        }
        if self.order == Order::Deep {
            links.reverse();
        }
        for page in links {
            // A depth-first crawler has a page in its list until it is visited: the latest place counts.
            let is_new = match self.order {
                Order::Deep => !self.seen.contains(&self.key((page, Some(on)))),
                _ => self.seen.insert(self.key((page, Some(on)))),
            };
            if is_new {
                self.links.push_back((page, Some(on)));
            }
        }
    }

    /// The link to take next.
    pub(super) fn take(&mut self, random: &mut Random) -> Option<Link> {
        loop {
            let link = match self.order {
                Order::Deep => self.links.pop_back(),
                Order::Wide => self.links.pop_front(),
                Order::Random { reach } => {
                    let many = self.links.len() as u64;
                    let from_end = random.below(many.min(reach));
                    let at = many.checked_sub(1 + from_end);
                    at.and_then(|at| self.links.swap_remove_back(at as usize))
                }
            }?;
            let key = self.key(link);
            let is_first = self.seen.insert(key);
            if is_first || self.order != Order::Deep {
                return Some(link);
            }
        }
    }

    fn key(&self, (page, on): Link) -> Link {
        match self.identity {
            Identity::Page => (page, None),
            Identity::Address => (page, on),
        }
    }
}

impl Scope {
    fn has(self, page: Page) -> bool {
        match self {
            Scope::Everything => true,
            Scope::Content => matches!(
                page,
                Page::Index | Page::Board(..) | Page::Thread(..) | Page::News(_)
            ),
            Scope::Public => !matches!(
                page,
                Page::Reply(_) | Page::Inbox | Page::Message(_) | Page::Settings | Page::Queue
            ),
        }
    }
}
