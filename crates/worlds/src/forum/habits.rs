//! Kinds of readers: what each does how often, how long it reads, how often it comes. Every person varies all of it.

use crate::random::Random;

/// What a reader may do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Takes a link to content.
    Open,
    /// The next page of the thread or list.
    Next,
    /// Goes back to an earlier page, which the browser still has, and takes a link there.
    Back,
    /// Goes back to an earlier list, which is loaded again, or reloads the page.
    Again,
    /// A link of the menu.
    Menu,
    /// Opens several links of the page in tabs.
    Tabs,
    /// Goes on in another tab.
    Switch,
    /// A bookmark, a typed address or a link in a mail.
    Outside,
    /// Writes a reply.
    Reply,
    /// Somebody's profile.
    Profile,
    /// Searches.
    Search,
    /// The moderators' queue.
    Moderate,
}

/// All of them, in the order of the weights.
const ACTS: [Act; 12] = [
    Act::Open,
    Act::Next,
    Act::Back,
    Act::Again,
    Act::Menu,
    Act::Tabs,
    Act::Switch,
    Act::Outside,
    Act::Reply,
    Act::Profile,
    Act::Search,
    Act::Moderate,
];

/// A kind of reader.
#[derive(Debug)]
pub(super) struct Habits {
    pub(super) name: &'static str,
    /// How often each act, in any unit.
    weights: [f64; ACTS.len()],
    /// Logarithm of the seconds on a thread's page: the range of people's medians.
    reading: (f64, f64),
    /// Pages of a visit: the range of people's means.
    pages: (f64, f64),
    /// Visits a day: the range.
    visits: (f64, f64),
    /// Where a visit begins: the list of new posts, the index, or elsewhere.
    news_first: f64,
    /// Share of pages that are left open for minutes.
    pauses: (f64, f64),
}

//                        Open Next Back Again Menu Tabs Switch Outside Reply Profile Search Moderate
pub(super) const HABITS: [Habits; 8] = [
    Habits {
        name: "skimmer of new posts",
        weights: [3.0, 1.0, 6.0, 3.0, 1.5, 0.5, 0.3, 0.2, 0.3, 0.2, 0.1, 0.0],
        reading: (1.5, 3.2),
        pages: (6.0, 30.0),
        visits: (0.7, 5.0),
        news_first: 0.9,
        pauses: (0.0, 0.05),
    },
    Habits {
        name: "reader of long threads",
        weights: [2.0, 18.0, 1.0, 0.3, 0.5, 0.2, 0.2, 0.3, 0.2, 0.3, 0.2, 0.0],
        reading: (2.2, 4.4),
        pages: (8.0, 45.0),
        visits: (0.4, 2.5),
        news_first: 0.3,
        pauses: (0.0, 0.08),
    },
    Habits {
        name: "moderator",
        weights: [2.0, 0.7, 2.0, 1.5, 0.8, 0.6, 0.5, 0.3, 0.7, 1.5, 0.4, 4.0],
        reading: (1.3, 3.3),
        pages: (10.0, 35.0),
        visits: (0.8, 4.0),
        news_first: 0.4,
        pauses: (0.0, 0.1),
    },
    Habits {
        name: "poster",
        weights: [2.0, 1.0, 1.5, 1.5, 1.0, 0.2, 0.2, 0.5, 3.5, 0.5, 0.3, 0.0],
        reading: (2.2, 4.2),
        pages: (6.0, 25.0),
        visits: (0.7, 4.0),
        news_first: 0.5,
        pauses: (0.02, 0.15),
    },
    Habits {
        name: "searcher",
        weights: [3.0, 1.2, 4.0, 0.5, 0.3, 0.6, 0.4, 0.3, 0.2, 0.4, 3.0, 0.0],
        reading: (1.6, 3.8),
        pages: (6.0, 30.0),
        visits: (0.4, 2.5),
        news_first: 0.1,
        pauses: (0.0, 0.08),
    },
    Habits {
        name: "opener of tabs",
        weights: [1.5, 1.5, 0.7, 0.7, 0.8, 3.0, 4.0, 0.3, 0.2, 0.3, 0.3, 0.0],
        reading: (2.0, 4.2),
        pages: (12.0, 45.0),
        visits: (0.4, 2.5),
        news_first: 0.5,
        pauses: (0.0, 0.08),
    },
    Habits {
        name: "reader of the archive",
        weights: [2.0, 3.5, 6.0, 0.5, 0.2, 0.5, 0.5, 0.2, 0.1, 0.2, 0.1, 0.0],
        reading: (1.4, 3.6),
        pages: (15.0, 60.0),
        visits: (0.3, 1.8),
        news_first: 0.0,
        pauses: (0.0, 0.06),
    },
    Habits {
        name: "reader with long pauses",
        weights: [3.0, 1.5, 1.0, 1.5, 1.0, 0.2, 0.5, 4.0, 0.2, 0.4, 0.3, 0.0],
        reading: (3.0, 5.2),
        pages: (2.0, 9.0),
        visits: (1.0, 5.0),
        news_first: 0.4,
        pauses: (0.15, 0.5),
    },
];

/// Share of visits that go on for hours.
const MARATHONS_MAX: f64 = 0.12;

/// One person.
#[derive(Debug)]
pub(super) struct Person {
    weights: [f64; ACTS.len()],
    /// Seconds on a thread's page: the median, and how far they spread (of the logarithm).
    pub(super) median: f64,
    pub(super) spread: f64,
    /// Share of pages that are left within seconds.
    pub(super) skims: f64,
    /// Pages of a visit, visits a day.
    pub(super) pages: f64,
    pub(super) visits: f64,
    pub(super) news_first: f64,
    pub(super) pauses: f64,
    /// Share of visits that go on for hours.
    pub(super) marathons: f64,
    /// Share of visits in which the tabs of the last one are loaded again.
    pub(super) restores: f64,
    /// The hour of the day at which the person comes most.
    pub(super) hour: f64,
    /// Tabs at once.
    pub(super) tabs: u64,
    pub(super) referrer: Sends,
}

/// What a person's browser sends as the referrer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sends {
    Page,
    Origin,
    Nothing,
}

impl Person {
    pub(super) fn draw(random: &mut Random, habits: &Habits) -> Person {
        let within = |random: &mut Random, (low, high): (f64, f64)| random.between(low, high);
        let mut weights = habits.weights;
        for weight in &mut weights {
            // Everybody does a little of everything but moderating.
            let own = *weight + random.between(0.0, 0.25);
            *weight = own * (0.9 * random.normal()).exp();
        }
        if habits.weights[11] == 0.0 {
            weights[11] = 0.0;
        }
        Person {
            weights,
            median: within(random, habits.reading).exp(),
            spread: random.between(0.5, 1.4),
            skims: random.between(0.0, 0.35),
            pages: within(random, habits.pages),
            visits: within(random, habits.visits),
            news_first: (habits.news_first + random.between(-0.2, 0.2)).clamp(0.0, 1.0),
            pauses: within(random, habits.pauses),
            marathons: random.between(-0.5 * MARATHONS_MAX, MARATHONS_MAX).max(0.0),
            restores: random.between(-0.2, 0.2).max(0.0),
            hour: random.between(7.0, 23.0),
            tabs: random.between(1.1, 3.6).exp() as u64,
            referrer: match random.below(100) {
                0..12 => Sends::Nothing,
                12..17 => Sends::Origin,
                _ => Sends::Page,
            },
        }
    }

    /// What to do next.
    pub(super) fn act(&self, random: &mut Random) -> Act {
        let mut place = random.unit() * self.weights.iter().sum::<f64>();
        for (act, weight) in ACTS.into_iter().zip(self.weights) {
            place -= weight;
            if place < 0.0 {
                return act;
            }
        }
        Act::Open
    }
}
