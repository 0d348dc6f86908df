//! A world: its site, its actors, and when all of it happens.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::actor::Actor;
use crate::containment;
use crate::crowd::Passer;
use crate::gateways;
use crate::plan::DAY;
use crate::plan::Span;
use crate::random::Random;
use crate::shop;
use crate::social;
use crate::town;
use crate::volumes::Distribution;
use crate::wide;

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
    /// A large site with the long tail of its sources: a tenth of the paper's set for containment.
    Containment,
    /// A hundredth of it.
    ContainmentSmall,
    /// People and crawlers from wide priors instead of a list of kinds: to learn from.
    Wide,
    /// Gateways of people, with crawlers hidden in some.
    Gateways,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 9] = [
        Kind::Social,
        Kind::SocialTest,
        Kind::Shop,
        Kind::Town,
        Kind::Fleets,
        Kind::Containment,
        Kind::ContainmentSmall,
        Kind::Wide,
        Kind::Gateways,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Social => "social",
            Kind::SocialTest => "social-test",
            Kind::Shop => "shop",
            Kind::Town => "town",
            Kind::Fleets => "fleets",
            Kind::Containment => "containment",
            Kind::ContainmentSmall => "containment-small",
            Kind::Wide => "wide",
            Kind::Gateways => "gateways",
        }
    }

    /// Days of the world.
    fn days(self) -> usize {
        match self {
            Kind::Containment | Kind::ContainmentSmall => 4,
            _ => 5,
        }
    }

    /// The log has the eight fields of the paper; otherwise it is 'combined'.
    pub fn has_eight_fields(self) -> bool {
        matches!(self, Kind::Social | Kind::SocialTest | Kind::Gateways)
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
            Kind::Containment => {
                "a large site with the long tail of its sources: 11 million requests of 4.7 million sources (PubCrawl's S2, a tenth)"
            }
            Kind::ContainmentSmall => {
                "the same in small: 1.1 million requests of 470,000 sources (a hundredth)"
            }
            Kind::Wide => {
                "150 crawlers and 150 proxies of people with traits drawn from wide ranges, to learn from"
            }
            Kind::Gateways => {
                "20 gateways of people, a crawler hidden in every other one, and 150 readers; labels name the agent of the hidden crawler"
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
    /// Everybody who is worth a plan, in the order of their addresses.
    pub actors: Vec<Actor>,
    /// Those who come on one day with few requests, by day. Only a large site has them.
    pub crowd: Vec<Passer>,
    /// The half hours that the log covers: nobody has requests in others.
    pub covered: Range<usize>,
}

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
            Kind::Containment => containment::build(containment::TENTH, &mut builder),
            Kind::ContainmentSmall => containment::build(containment::HUNDREDTH, &mut builder),
            Kind::Wide => wide::build(&mut builder),
            Kind::Gateways => gateways::build(&mut builder),
        }
        let covered = match kind {
            Kind::Wide => wide::covered(builder.span, &mut builder.random),
            _ => 0..builder.span.bins,
        };
        let bins = builder.span.bins;
        let mut actors = builder.actors;
        actors.sort_by_key(|actor| actor.address);
        for (number, actor) in (1..).zip(&mut actors) {
            // Some worlds have drawn already, to bring all together to a sum.
            if actor.counts.is_empty() {
                // Each has numbers of its own: one more actor changes nobody else.
                actor.draw(bins, &mut Random::new(seed, number));
            }
            let outside = |(bin, count): (usize, &mut u32)| {
                if !covered.contains(&bin) {
                    *count = 0;
                }
            };
            actor.counts.iter_mut().enumerate().for_each(outside);
        }
        World {
            kind,
            seed,
            start: MONDAY + weekday as u32 * 86_400,
            actors,
            crowd: builder.crowd,
            covered,
        }
    }

    /// Half hours of the world.
    pub fn bins(&self) -> usize {
        self.kind.days() * DAY
    }

    /// Weekday of a day of the world; 0 is Monday.
    pub(crate) fn weekday(&self, day: usize) -> usize {
        ((self.start - MONDAY) as usize / 86_400 + day) % 7
    }

    /// The sources of the crowd in the order of their addresses, those who came again once.
    pub fn crowd_sources(&self) -> Vec<Passer> {
        let mut sources = self.crowd.clone();
        sources.sort_unstable_by_key(|passer| (passer.address, passer.day));
        sources.dedup_by_key(|passer| passer.address);
        sources
    }

    /// Requests that sources send in a day: each counts once for each day on which it comes.
    pub fn volumes(&self) -> Distribution {
        let light = self.crowd.iter().map(|passer| u32::from(passer.volume));
        let days = self
            .actors
            .iter()
            .flat_map(|actor| actor.counts.chunks(DAY));
        let heavy = days.map(|day| day.iter().sum()).filter(|sum| *sum > 0);
        Distribution::new(light.chain(heavy).collect())
    }
}

/// A world under construction.
pub(crate) struct Builder {
    pub(crate) seed: u64,
    pub(crate) span: Span,
    pub(crate) random: Random,
    pub(crate) crowd: Vec<Passer>,
    actors: Vec<Actor>,
    addresses: BTreeSet<u32>,
}

impl Builder {
    pub(crate) fn new(kind: Kind, seed: u64) -> Builder {
        let mut random = Random::new(seed, 0x776f_726c_6400 + kind as u64);
        let weekday = random.below(7) as usize;
        Builder {
            seed,
            span: Span {
                bins: kind.days() * DAY,
                weekday,
            },
            random,
            crowd: Vec::new(),
            actors: Vec::new(),
            addresses: BTreeSet::new(),
        }
    }

    pub(crate) fn add(&mut self, actor: Actor) {
        self.actors.push(actor);
    }

    pub(crate) fn actors_mut(&mut self) -> &mut [Actor] {
        &mut self.actors
    }

    #[cfg(test)]
    pub(crate) fn actors(&self) -> &[Actor] {
        &self.actors
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
