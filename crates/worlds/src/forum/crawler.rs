//! The paper's six crawlers, and crawlers with several accounts.

use super::CRAWLERS_OF_A_KIND;
use super::DAYS;
use super::Forum;
use super::Links;
use super::Referrer;
use super::Role;
use super::SHARED_CRAWLERS;
use super::View;
use super::frontier::Frontier;
use super::frontier::Link;
use super::pace::Pace;
use super::pace::Waits;
use super::site::Page;
use super::start_ms;
use crate::random::Random;

/// The paper's crawlers.
const KINDS: [(Role, Waits, &str); 6] = [
    (Role::DepthFirst, Waits::No, "depth-first"),
    (Role::DepthFirst, Waits::Randomly, "depth-first with delay"),
    (Role::BreadthFirst, Waits::No, "breadth-first"),
    (
        Role::BreadthFirst,
        Waits::Randomly,
        "breadth-first with delay",
    ),
    (Role::RandomLike, Waits::No, "random-like"),
    (Role::RandomLike, Waits::Randomly, "random-like with delay"),
];

/// Pages that an account of a crawler asks for: at least, and at most.
const REQUESTS: (u64, u64) = (180, 600);

/// What a crawler sends as the referrer.
#[derive(Debug, Clone, Copy)]
enum Manners {
    /// The page with the link.
    Honest,
    Nothing,
    /// Always the start page.
    Start,
    /// The page it asked for before.
    Before,
}

/// One account at work.
struct Worker {
    account: u32,
    random: Random,
    pace: Pace,
    now_ms: u64,
    before: Option<Page>,
    manners: Manners,
    /// Pages that it asked for.
    visited: Vec<Link>,
}

/// All crawlers of a world.
pub(super) fn crawl_all(seed: u64, links: Links, forum: &mut Forum) {
    let mut number = 0;
    for (role, waits, kind) in KINDS {
        for _ in 0..CRAWLERS_OF_A_KIND {
            crawl(seed, number, links, (role, waits, kind, 1), forum);
            number += 1;
        }
    }
    for _ in 0..SHARED_CRAWLERS {
        let mut random = Random::new(seed, 0x9000 + number);
        let accounts = 2 + random.below(4);
        let waits = match random.chance(0.5) {
            true => Waits::No,
            false => Waits::Randomly,
        };
        let kind = (Role::Shared, waits, "shared links", accounts);
        crawl(seed, number, links, kind, forum);
        number += 1;
    }
}

/// One crawler with one account or more, which take links from one frontier.
fn crawl(
    seed: u64,
    number: u64,
    links: Links,
    (role, waits, kind, accounts): (Role, Waits, &'static str, u64),
    forum: &mut Forum,
) {
    let mut random = Random::new(seed, 0x5000 + number);
    let mut frontier = Frontier::draw(&mut random, role, links);
    let pace = Pace::draw(&mut random, waits);
    let begin = start_ms() + random.below(DAYS / 2 * 86_400_000);
    let manners = match random.below(10) {
        0..5 => Manners::Honest,
        5..8 => Manners::Nothing,
        8 => Manners::Start,
        _ => Manners::Before,
    };
    // Looks for new posts, or tries again what failed.
    let refreshes = match random.chance(0.6) {
        true => random.between(0.0, 0.15),
        false => 0.0,
    };
    let mut workers: Vec<Worker> = (0..accounts)
        .map(|worker| Worker {
            account: forum.account(role, kind, format!("crawler{number:02}")),
            random: Random::new(seed, 0x10_0000 + 0x100 * number + worker),
            pace,
            now_ms: begin + 1000 * worker,
            before: None,
            manners,
            visited: Vec::new(),
        })
        .collect();
    let requests = accounts * (REQUESTS.0 + random.below(REQUESTS.1 - REQUESTS.0));
    for _ in 0..requests {
        let Some(worker) = workers.iter_mut().min_by_key(|worker| worker.now_ms) else {
            return;
        };
        let again = match random.chance(refreshes) {
            true => worker.known_list(),
            false => None,
        };
        let Some(link) = again.or_else(|| frontier.take(&mut random)) else {
            return;
        };
        forum.views.push(worker.view(link));
        let day = (worker.now_ms - start_ms()) / 86_400_000;
        frontier.gather(&mut random, link.0, forum.site.links(link.0, day));
        worker.now_ms = worker.pace.next(&mut worker.random, worker.now_ms);
    }
}

impl Worker {
    /// A list that was visited, or any page where there is none, by the address it had.
    fn known_list(&mut self) -> Option<Link> {
        let lists: Vec<Link> = self
            .visited
            .iter()
            .filter(|(page, _)| page.is_list())
            .copied()
            .collect();
        let from = if lists.is_empty() {
            &self.visited
        } else {
            &lists
        };
        (!from.is_empty()).then(|| *self.random.pick(from))
    }

    fn view(&mut self, (page, parent): Link) -> View {
        let before = self.before.replace(page);
        self.visited.push((page, parent));
        let referrer = match self.manners {
            Manners::Honest => parent,
            Manners::Nothing => None,
            Manners::Start => Some(Page::Index),
            Manners::Before => before,
        };
        View {
            at_ms: self.now_ms,
            account: self.account,
            page,
            parent,
            referrer: referrer.map_or(Referrer::Nothing, Referrer::Page),
        }
    }
}
