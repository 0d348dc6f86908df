//! Those who come on one day with few requests. There are millions of them, so each is a few bytes; all else about them follows from
//! the seed when their requests are written.

use crate::actor::BROWSERS;
use crate::actor::Label;
use crate::people::People;
use crate::plan::DAY;
use crate::random::Random;
use crate::town::SELDOM;

/// Seconds of a day.
pub(crate) const DAY_SECONDS: u32 = 86_400;
/// Seconds of a half hour.
const BIN_SECONDS: u32 = 1800;

/// A light source on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passer {
    /// IPv4 address.
    pub address: u32,
    /// The day, from 0.
    pub day: u8,
    /// Requests on that day, at most 100.
    pub volume: u8,
    /// What it is after.
    pub errand: Errand,
}

/// What a light source is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// A person who comes from a search engine and reads on, or does not.
    Reading,
    /// A messenger that looks at a page that somebody sent.
    Preview,
    /// A member of a fleet, by its number.
    Fleet(u8),
}

/// A fleet that stays light: a few requests a day from each of many addresses.
pub(crate) struct Fleet {
    name: &'static str,
    agent: &'static str,
    /// Its share of the sources with one request, with up to ten, and with up to a hundred.
    pub(crate) shares: [f64; 3],
    /// It comes when people are awake.
    keeps_hours: bool,
}

/// The slow fleets.
pub(crate) const FLEETS: [Fleet; 2] = [
    Fleet {
        name: "slow with an odd agent",
        agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/117.0.5938.92 Safari/537.36",
        shares: [0.015, 0.1, 0.05],
        keeps_hours: false,
    },
    Fleet {
        name: "slow with a common agent",
        agent: BROWSERS[0],
        shares: [0.005, 0.05, 0.15],
        keeps_hours: true,
    },
];

/// Where readers come from; some browsers do not tell.
const OUTSIDE: [&str; 6] = [
    "https://www.google.com/",
    "https://www.google.com/",
    "https://www.google.com/",
    "https://www.bing.com/",
    "https://duckduckgo.com/",
    "-",
];

impl Errand {
    /// What the source is.
    pub fn label(self) -> Label {
        match self {
            Errand::Reading => Label::User,
            Errand::Preview => Label::Automated,
            Errand::Fleet(_) => Label::Masquerading,
        }
    }

    /// The campaign it belongs to.
    pub fn campaign(self) -> Option<&'static str> {
        match self {
            Errand::Fleet(which) => Some(FLEETS[usize::from(which)].name),
            _ => None,
        }
    }

    /// What decides when it comes.
    pub fn habit(self) -> &'static str {
        match self {
            Errand::Reading => "reader",
            Errand::Preview => "preview",
            Errand::Fleet(_) => "slow fleet",
        }
    }
}

/// When people are on the site, on one day.
pub(crate) struct Rhythm {
    /// Sums of presence up to the end of each half hour.
    until: Vec<f64>,
}

impl Rhythm {
    /// Of a weekday; 0 is Monday. Most people live where the site does, phones are all over the world.
    pub(crate) fn of(weekday: usize) -> Rhythm {
        let circles = [People::Gateway, People::Homes, People::University];
        let mut sum = 0.0;
        let until = (0..DAY)
            .map(|bin| {
                let hour = bin as f64 / 2.0;
                let there = circles.map(|people| people.presence(hour, weekday));
                sum += there.iter().sum::<f64>();
                sum
            })
            .collect();
        Rhythm { until }
    }

    fn second(&self, random: &mut Random) -> u32 {
        let sum = self.until.last().copied().unwrap_or_default();
        let at = random.unit() * sum;
        let bin = self.until.partition_point(|until| *until <= at) as u32;
        bin.min(DAY as u32 - 1) * BIN_SECONDS + random.below(u64::from(BIN_SECONDS)) as u32
    }
}

/// A passer on its way through the site: what all its requests have in common.
pub(crate) struct Visit {
    pub(crate) agent: &'static str,
    pub(crate) session: u64,
    /// Where it comes from, outside of the site.
    pub(crate) outside: &'static str,
    errand: Errand,
    /// Parts of each page that are loaded.
    parts: u32,
    /// Where its numbers come from.
    seed: u64,
    purpose: u64,
    random: Random,
}

/// One request of a visit.
pub(crate) struct Step {
    pub(crate) page: u64,
    /// The page before, unless this is the first.
    pub(crate) before: Option<u64>,
    /// The part of the page, unless it is the page itself.
    pub(crate) part: Option<u32>,
    /// The page is asked for by a search on the site.
    pub(crate) is_query: bool,
    pub(crate) is_error: bool,
}

impl Visit {
    /// The visit of the passer with this number in its world.
    pub(crate) fn new(passer: &Passer, number: u64, seed: u64) -> Visit {
        let purpose = 1 << 48 | number << 8;
        let mut random = Random::new(seed, purpose);
        let agent = match passer.errand {
            Errand::Reading if random.chance(0.04) => random.pick(&SELDOM).0,
            Errand::Reading => random.pick(&BROWSERS),
            Errand::Preview => "WhatsApp/2.24.20.88 A",
            Errand::Fleet(which) => FLEETS[usize::from(which)].agent,
        };
        let (parts, outside) = match passer.errand {
            Errand::Reading => (*random.pick(&[4, 4, 3, 1]), *random.pick(&OUTSIDE)),
            _ => (0, "-"),
        };
        Visit {
            agent,
            session: random.bits(),
            outside,
            errand: passer.errand,
            parts,
            seed,
            purpose,
            random,
        }
    }

    /// The second of the day of each request, in order.
    pub(crate) fn seconds(mut self, volume: u8, rhythm: &Rhythm) -> Vec<u32> {
        let random = &mut self.random;
        if let Errand::Fleet(which) = self.errand {
            let keeps_hours = FLEETS[usize::from(which)].keeps_hours;
            let mut seconds: Vec<u32> = (0..volume)
                .map(|_| match keeps_hours {
                    true => rhythm.second(random),
                    false => random.below(u64::from(DAY_SECONDS)) as u32,
                })
                .collect();
            seconds.sort_unstable();
            return seconds;
        }
        let mut at = rhythm.second(random);
        let mut seconds: Vec<u32> = (0..u32::from(volume))
            .map(|step| {
                at += match step % (1 + self.parts) {
                    _ if step == 0 => 0,
                    // Reading takes time, parts come at once.
                    0 => 4 + random.exponential(40.0) as u32,
                    _ => random.below(2) as u32,
                };
                at
            })
            .collect();
        // A visit stays within its day: volumes are counted by the day.
        let late = (at + 1).saturating_sub(DAY_SECONDS);
        seconds
            .iter_mut()
            .for_each(|second| *second = second.saturating_sub(late));
        seconds
    }

    /// The request with this number in the visit.
    pub(crate) fn step(&self, step: u32, pages: u64) -> Step {
        let (number, part) = (step / (1 + self.parts), step % (1 + self.parts));
        let mut random = self.page_random(number);
        let page = self.page(&mut random, pages);
        let before = number.checked_sub(1);
        Step {
            page,
            before: before.map(|before| self.page(&mut self.page_random(before), pages)),
            part: part.checked_sub(1),
            is_query: number > 0 && random.chance(0.15),
            is_error: random.chance(0.01),
        }
    }

    fn page_random(&self, number: u32) -> Random {
        Random::new(self.seed, self.purpose | u64::from(number + 1))
    }

    fn page(&self, random: &mut Random, pages: u64) -> u64 {
        match self.errand {
            // A fleet divides the site among its members.
            Errand::Fleet(_) => random.below(pages),
            // Some pages are asked for far more often than others.
            _ => (random.unit().powi(4) * pages as f64) as u64,
        }
    }
}
