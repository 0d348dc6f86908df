//! A world: its site, its actors, and when all of it happens.

use std::collections::BTreeSet;

use crate::actor::Actor;
use crate::plan::DAY;
use crate::plan::Span;
use crate::random::Random;
use crate::shop;
use crate::social;
use crate::town;

/// The kinds of world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A social network in the mix of the paper's training set.
    Social,
    /// The same in the mix of its test set.
    SocialTest,
    /// A shop with a catalogue.
    Shop,
    /// A newspaper with many readers of few pages.
    Town,
    /// The same with fleets among them.
    Fleets,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [
        Kind::Social,
        Kind::SocialTest,
        Kind::Shop,
        Kind::Town,
        Kind::Fleets,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Social => "social",
            Kind::SocialTest => "social-test",
            Kind::Shop => "shop",
            Kind::Town => "town",
            Kind::Fleets => "fleets",
        }
    }

    /// The log has the eight fields of the paper; otherwise it is 'combined'.
    pub(crate) fn has_eight_fields(self) -> bool {
        matches!(self, Kind::Social | Kind::SocialTest)
    }

    /// What it is, in a line.
    pub fn describe(self) -> &'static str {
        match self {
            Kind::Social => {
                "a social network: 709 crawlers and 104 proxies of people, campaigns, evasions (PubCrawl's training set)"
            }
            Kind::SocialTest => {
                "the same with few users: 725 crawlers and 38 proxies (PubCrawl's test set)"
            }
            Kind::Shop => {
                "a shop with catalogue, search and facets: phones, schools, shifts, scrapers, AI crawlers, monitors, mail proxies"
            }
            Kind::Town => {
                "a newspaper with 26,000 readers, each from an address of their own, and no crawler"
            }
            Kind::Fleets => {
                "the same with five fleets of 300 to 30,000 addresses that send five requests a day each"
            }
        }
    }
}

/// A world with the requests of everybody in it.
#[derive(Debug)]
pub struct World {
    /// What kind.
    pub kind: Kind,
    /// The seed it grew from.
    pub seed: u64,
    /// The first second.
    pub start: u32,
    /// Everybody, in the order of their addresses.
    pub actors: Vec<Actor>,
}

/// Days of a world.
const DAYS: usize = 5;
/// The first day that a world may begin with, a Monday: 2030-01-07.
const MONDAY: u32 = 1_893_974_400;

impl World {
    /// The world of a seed.
    pub fn new(kind: Kind, seed: u64) -> World {
        let mut builder = Builder::new(kind, seed);
        let weekday = builder.span.weekday;
        match kind {
            Kind::Social => social::build(social::TRAINING, &mut builder),
            Kind::SocialTest => social::build(social::TEST, &mut builder),
            Kind::Shop => shop::build(&mut builder),
            Kind::Town => town::build(false, &mut builder),
            Kind::Fleets => town::build(true, &mut builder),
        }
        let bins = builder.span.bins;
        let mut actors = builder.actors;
        actors.sort_by_key(|actor| actor.address);
        for (number, actor) in (1..).zip(&mut actors) {
            // Each has numbers of its own: one more actor changes nobody else.
            actor.draw(bins, &mut Random::new(seed, number));
        }
        World {
            kind,
            seed,
            start: MONDAY + weekday as u32 * 86_400,
            actors,
        }
    }

    /// Half hours of the world.
    pub fn bins(&self) -> usize {
        DAYS * DAY
    }
}

/// A world under construction.
pub(crate) struct Builder {
    pub(crate) span: Span,
    pub(crate) random: Random,
    actors: Vec<Actor>,
    addresses: BTreeSet<u32>,
}

impl Builder {
    fn new(kind: Kind, seed: u64) -> Builder {
        let mut random = Random::new(seed, 0x776f_726c_6400 + kind as u64);
        let weekday = random.below(7) as usize;
        Builder {
            span: Span {
                bins: DAYS * DAY,
                weekday,
            },
            random,
            actors: Vec::new(),
            addresses: BTreeSet::new(),
        }
    }

    pub(crate) fn add(&mut self, actor: Actor) {
        self.actors.push(actor);
    }

    pub(crate) fn len(&self) -> usize {
        self.actors.len()
    }

    /// Requests on an average day: from about a thousand, few with very many.
    pub(crate) fn volume(&mut self) -> f64 {
        (1150.0 * self.random.exponential(0.7).exp()).min(60_000.0)
    }

    /// A /24 network in 10.0.0.0/8: nobody's real address.
    pub(crate) fn network(&mut self) -> u32 {
        10 << 24 | (self.random.below(1 << 16) as u32) << 8
    }

    pub(crate) fn address(&mut self) -> u32 {
        let network = self.network();
        self.address_in(network)
    }

    /// A new address in a network, or in the next one with room.
    pub(crate) fn address_in(&mut self, network: u32) -> u32 {
        let mut address = network | (1 + self.random.below(254) as u32);
        while !self.addresses.insert(address) {
            address = 10 << 24 | ((address + 1) & 0x00ff_ffff);
        }
        address
    }
}
