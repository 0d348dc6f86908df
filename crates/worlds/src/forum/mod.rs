//! A forum whose users are signed in: people who read it in their own ways for a month, and accounts that copy it.
//!
//! Every seed is another forum. People differ in kind and, within a kind, in every habit; crawlers follow the PathMarker paper (depth-first,
//! breadth-first and random-like, each with and without a random delay), with paces drawn from wide ranges, and some share
//! their links between accounts. What is here was settled before anything was trained on it.
//!
//! With [`Links::Marked`], every link names the page it stands on, so that a crawler that compares whole addresses takes one page for many.
//! People do the same in both kinds of links.

mod crawler;
mod frontier;
mod habits;
mod pace;
mod reader;
mod site;
mod write;

use crate::random::Random;
use habits::HABITS;
use site::Page;
use site::Site;

pub use write::write_labels;
pub use write::write_log;

/// Days that people are followed.
const DAYS: u64 = 30;
/// People in one world.
const PEOPLE: u32 = 64;
/// Crawlers with one account: each of the six kinds so often.
const CRAWLERS_OF_A_KIND: u32 = 4;
/// Crawlers with several accounts.
const SHARED_CRAWLERS: u32 = 3;
/// The first second: Monday, 7 January 2030.
const START: u32 = 1_893_974_400;

/// Whether links name the page they stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Each link has a marker.
    Marked,
    /// Links are the site's own.
    Plain,
}

/// What an account is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A person.
    Person,
    /// Goes as deep as it can.
    DepthFirst,
    /// Takes all links of a page before those of the next.
    BreadthFirst,
    /// Takes links without regard to where they stand.
    RandomLike,
    /// One of several accounts that take links from one list.
    Shared,
}

/// One account.
#[derive(Debug, Clone)]
pub struct Account {
    /// The name it signs in with.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// The kind of reader or crawler, in a word or two.
    pub kind: &'static str,
    /// The crawler that the account belongs to; of a person, nothing.
    pub campaign: String,
    address: u32,
    agent: &'static str,
}

/// One page request.
#[derive(Debug, Clone)]
pub struct View {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The number of the account.
    pub account: u32,
    page: Page,
    /// The page whose link was taken.
    parent: Option<Page>,
    referrer: Referrer,
}

/// What is sent as the referrer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Referrer {
    Nothing,
    Page(Page),
    /// The address of the site alone.
    Origin,
}

impl View {
    /// Path and query of the page.
    pub fn target(&self) -> String {
        self.page.target()
    }

    /// Path and query of the page whose link was taken.
    pub fn parent(&self) -> Option<String> {
        self.parent.map(Page::target)
    }

    /// The referrer as a log has it: the parent, nothing, or something else.
    pub fn referrer(&self) -> Option<String> {
        match self.referrer {
            Referrer::Nothing => None,
            Referrer::Page(page) => Some(page.target()),
            Referrer::Origin => Some("/".to_owned()),
        }
    }
}

/// A month of a forum.
#[derive(Debug)]
pub struct Forum {
    /// All accounts.
    pub accounts: Vec<Account>,
    /// All page requests in order of time.
    pub views: Vec<View>,
    site: Site,
}

impl Forum {
    /// The forum of a seed.
    pub fn new(seed: u64, links: Links) -> Forum {
        let mut forum = Forum {
            accounts: Vec::new(),
            views: Vec::new(),
            site: Site::draw(seed),
        };
        for number in 0..PEOPLE {
            let habits = &HABITS[number as usize % HABITS.len()];
            let account = forum.account(Role::Person, habits.name, String::new());
            // Numbers of their own for each account: what one does changes nothing for another.
            let mut random = Random::new(seed, 0x1000 + u64::from(number));
            let views = reader::month(&mut random, &forum.site, habits, account);
            forum.views.extend(views);
        }
        crawler::crawl_all(seed, links, &mut forum);
        // Stable: requests of one millisecond stay in the order in which they were made.
        forum.views.sort_by_key(|view| view.at_ms);
        forum
    }

    /// Path and query of all links on the page that is requested, in their order.
    pub fn links_of(&self, view: &View) -> Vec<String> {
        let day = (view.at_ms - start_ms()) / 86_400_000;
        let links = self.site.links(view.page, day);
        links.into_iter().map(Page::target).collect()
    }

    /// Adds an account and gives its number.
    fn account(&mut self, role: Role, kind: &'static str, campaign: String) -> u32 {
        let number = self.accounts.len() as u32;
        let agents = write::AGENTS;
        self.accounts.push(Account {
            name: format!("member{number:03}"),
            role,
            kind,
            campaign,
            // Addresses of benchmarks (RFC 2544).
            address: 0xc612_0000 + number,
            agent: agents[number as usize % agents.len()],
        });
        number
    }
}

/// The millisecond of the start.
fn start_ms() -> u64 {
    u64::from(START) * 1000
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn people_do_the_same_with_and_without_markers() {
        let views = |links: Links| -> Vec<(u64, String)> {
            let forum = Forum::new(7, links);
            let is_person =
                |view: &&View| forum.accounts[view.account as usize].role == Role::Person;
            let people = forum.views.iter().filter(is_person);
            people.map(|view| (view.at_ms, view.target())).collect()
        };
        assert_eq!(views(Links::Marked), views(Links::Plain));
    }

    #[test]
    fn every_role_has_enough_entries_for_long_sessions() {
        let forum = Forum::new(3, Links::Marked);
        for (number, account) in forum.accounts.iter().enumerate() {
            let views = forum.views.iter();
            let many = views.filter(|view| view.account as usize == number).count();
            assert!(many >= 60, "{} {} {many}", account.name, account.kind);
        }
    }

    #[test]
    fn without_markers_a_crawler_seldom_asks_for_a_page_twice() {
        let share = |links: Links| {
            let forum = Forum::new(5, links);
            let accounts = &forum.accounts;
            let is_crawler = |view: &&View| accounts[view.account as usize].role != Role::Person;
            let crawled: Vec<(&String, String)> = forum
                .views
                .iter()
                .filter(is_crawler)
                .map(|view| (&accounts[view.account as usize].campaign, view.target()))
                .collect();
            let distinct: BTreeSet<&(&String, String)> = crawled.iter().collect();
            distinct.len() as f64 / crawled.len() as f64
        };
        let (marked, plain) = (share(Links::Marked), share(Links::Plain));
        assert!(marked < 0.85 && plain > 0.9, "{marked} {plain}");
    }
}
