//! A market of classified ads as a world to test on: its people, its crawlers and its services, from a seed.
//!
//! ```text
//! seed ──▶ site, calendar ──┬─ humans ──▶ crowds ──▶ visit ──▶ browser ──┐
//!                           └─ roster ──▶ crawler ──▶ pace × route ──────┴─▶ Scene
//! ```
//!
//! Nothing here is shared with the worlds that models learn from: who wrote it had not read them.

mod agents;
mod browser;
mod calendar;
mod crawler;
mod crowds;
mod humans;
mod pace;
mod roster;
mod route;
mod services;
mod site;
mod visit;

use std::collections::HashSet;

use crate::actor::Label;
use crate::random::Random;
use crate::scene::{Hit, Party, Scene};

use agents::Device;
use browser::{Person, Window};
use calendar::{Calendar, Curve, DAY_MS, DAYS, MINUTE_MS, SPAN_MS, draw, spread, sums};
use crawler::Crawler;
use crowds::Crowd;
use site::Site;
use visit::Taste;

/// 2030-01-07 00:00 UTC, a Monday.
const MONDAY: u32 = 1_893_974_400;

/// Purposes of random numbers start here, so that no other world draws the same.
const PURPOSE: u64 = 0x6d61_726b_6574_0000;

/// The least that a heavy source has on its busiest day, with a margin for requests that the limit of the world cuts off.
const LEAST: f64 = 1_030.0;

/// Once the world has so many requests, further crawlers are small ones, so that it stays below 3.5 million.
const ENOUGH: usize = 2_100_000;

/// Everything that is needed while the world is built.
struct Market {
    seed: u64,
    purpose: u64,
    site: Site,
    calendar: Calendar,
    scene: Scene,
    addresses: HashSet<u32>,
    random: Random,
}

/// Builds the world.
pub(crate) fn build(seed: u64) -> Scene {
    let mut market = Market::new(seed);
    for crowd in humans::heavy(&market.calendar, &mut market.random) {
        market.add_crowd(&crowd);
    }
    market.add_crawlers();
    market.add_light_people();
    for _ in 0..300 + market.random.below(301) {
        let crawler = roster::light(&market.calendar, &mut market.random);
        market.add_light_crawler(&crawler);
    }
    market.scene
}

/// Requests on the busiest day, and on how many days there are more than a few.
fn busiest(hits: &[Hit]) -> (f64, usize) {
    let mut days = [0_u32; DAYS];
    for hit in hits {
        days[(hit.at_ms / DAY_MS) as usize] += 1;
    }
    let most = days.into_iter().max().unwrap_or_default();
    (
        f64::from(most),
        days.into_iter().filter(|&day| day >= 100).count(),
    )
}

impl Market {
    /// The site and its calendar, before anybody comes.
    fn new(seed: u64) -> Market {
        let mut random = Random::new(seed, PURPOSE);
        let first_weekday = random.below(7) as usize;
        // A week of the next half year.
        let week = random.below(26) as u32;
        let start = MONDAY + (week * 7 + first_weekday as u32) * (DAY_MS / 1_000) as u32;
        let calendar = Calendar::new(first_weekday, &mut random);
        Market {
            seed,
            purpose: PURPOSE,
            site: Site::new(&mut random),
            calendar,
            scene: Scene::new(start, Random::new(seed, PURPOSE + 1)),
            addresses: HashSet::new(),
            random,
        }
    }

    /// Random numbers of their own for each source: one source more does not change the others.
    fn fork(&mut self) -> Random {
        self.purpose += 16;
        Random::new(self.seed, self.purpose)
    }

    fn source(
        &mut self,
        label: Label,
        kind: &'static str,
        campaign: &str,
        near: Option<u32>,
    ) -> u32 {
        let address = loop {
            let address = match near {
                Some(base) => base & !0xff | self.random.below(256) as u32,
                None => 0x0a00_0000 | self.random.below(1 << 24) as u32,
            };
            if self.addresses.insert(address) {
                break address;
            }
        };
        self.scene.source(Party {
            address,
            label,
            campaign: campaign.to_string(),
            kind,
        })
    }

    /// Tries volumes until the busiest day is about as busy as wanted.
    fn fit(
        &mut self,
        target: f64,
        guess: f64,
        mut attempt: impl FnMut(&Market, f64, &mut Random) -> Vec<Hit>,
    ) -> Vec<Hit> {
        let mut random = self.fork();
        let mut volume = guess;
        let mut hits = Vec::new();
        for round in 0..12 {
            hits = attempt(self, volume, &mut random.clone());
            let (found, days) = busiest(&hits);
            let near = (0.75..1.4).contains(&(found / target)) || round >= 6;
            let often = days >= 3 || round >= 6;
            if near && often && found >= LEAST {
                break;
            }
            if near && !often {
                // Chance kept somebody away too long: other chances, at the same volume.
                random.bits();
                continue;
            }
            let least = if round >= 6 { 1.25 } else { 0.0 };
            volume *= (target / found.max(1.0)).clamp(0.2, 8.0).max(least);
        }
        hits
    }

    fn write(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            self.scene.request(hit);
        }
    }

    fn add_crowd(&mut self, crowd: &Crowd) {
        let source = self.source(Label::User, crowd.kind, "", None);
        let hits = self.fit(
            crowd.target,
            crowd.target / humans::VISIT,
            |market, visits, random| {
                crowd.requests(source, visits, &market.site, &market.calendar, random)
            },
        );
        self.write(hits);
    }

    fn add_crawlers(&mut self) {
        let mut crawlers = roster::lone(&self.calendar, &mut self.random);
        crawlers.extend(services::heavy(&self.calendar, &mut self.random));
        for crawler in crawlers {
            self.add_crawler(&crawler, None);
        }
        for campaign in roster::campaigns(&self.calendar, &mut self.random) {
            let base = 0x0a00_0000 | self.random.below(1 << 24) as u32;
            for crawler in &campaign.members {
                self.add_crawler(crawler, campaign.neighbours.then_some(base));
            }
        }
    }

    fn add_crawler(&mut self, crawler: &Crawler, near: Option<u32>) {
        let source = self.source(crawler.label, crawler.kind, &crawler.campaign, near);
        let most = if self.scene.hits().len() > ENOUGH {
            1_250.0
        } else {
            f64::MAX
        };
        let target = crawler.target.min(most);
        let hits = self.fit(target, target, |market, volume, random| {
            let mut hits = crawler.requests(source, volume, &market.site, &market.calendar, random);
            hits.retain(|hit| hit.at_ms < SPAN_MS);
            hits
        });
        self.write(hits);
    }

    /// Small programs come as they come: no volume is promised.
    fn add_light_crawler(&mut self, crawler: &Crawler) {
        let source = self.source(crawler.label, crawler.kind, "", None);
        let mut random = self.fork();
        let mut hits = crawler.requests(
            source,
            crawler.target,
            &self.site,
            &self.calendar,
            &mut random,
        );
        hits.retain(|hit| hit.at_ms < SPAN_MS);
        hits.truncate(900);
        self.write(hits);
    }

    /// People who look in once, or some times.
    fn add_light_people(&mut self) {
        let mut random = self.fork();
        let count = 4_000 + random.below(4_001);
        // As the world's day goes: most live at home, some elsewhere.
        let curve = Curve {
            bumps: vec![(20.5, 2.8, 1.0), (12.5, 3.2, 0.6)],
            floor: 0.06,
            week: [1.0; 7],
            open: None,
        };
        let slots = SPAN_MS / (15 * MINUTE_MS);
        let weight = |slot: u64| {
            let at = slot * 15 * MINUTE_MS;
            curve.at(self.calendar.local(at, self.calendar.home).1)
                * (1.0 + 4.0 * self.calendar.show(at, self.calendar.home))
        };
        let sums = sums((0..slots).map(weight));
        for _ in 0..count {
            let source = self.source(Label::User, "light", "", None);
            let away = if random.chance(0.2) {
                random.below(20 * 60) * MINUTE_MS
            } else {
                0
            };
            let mut hits = Vec::new();
            let device = if random.chance(0.6) {
                Device::Mobile
            } else {
                Device::Desktop
            };
            let mut person = Person::new(&self.site, device, 0.1, &mut random);
            let taste = Taste {
                pages: 2.2,
                pages_sigma: 0.8,
                think: spread(&mut random, 15.0, 0.3),
                selling: 0.04,
                hunting: 0.0,
                lingering: 0.02,
            };
            let visits = 1 + random.exponential(1.0).min(5.0) as u64;
            let mut starts: Vec<u64> = (0..visits)
                .map(|_| {
                    (draw(&sums, &mut random) as u64 * 15 * MINUTE_MS
                        + random.below(15 * MINUTE_MS)
                        + away)
                        % SPAN_MS
                })
                .collect();
            starts.sort_unstable();
            let mut clock = 0;
            for start in starts {
                let mut window = Window {
                    site: &self.site,
                    random: &mut random,
                    hits: &mut hits,
                    source,
                    proxy: None,
                };
                clock = window.visit(&mut person, start.max(clock + 1), &taste);
            }
            hits.retain(|hit| hit.at_ms < SPAN_MS);
            self.write(hits);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash, Hasher};

    use super::*;

    fn digest(scene: &Scene) -> u64 {
        let mut hasher = DefaultHasher::new();
        for hit in scene.hits().iter().step_by(101) {
            (
                hit.at_ms,
                hit.source,
                &hit.target,
                &hit.referrer,
                &hit.agent,
                hit.status,
                hit.bytes,
            )
                .hash(&mut hasher);
        }
        hasher.finish()
    }

    /// A few sources of each sort: a whole world takes seconds.
    fn part(seed: u64) -> Scene {
        let mut market = Market::new(seed);
        for crowd in humans::heavy(&market.calendar, &mut market.random)
            .iter()
            .skip(10)
            .step_by(9)
        {
            market.add_crowd(crowd);
        }
        for crawler in roster::lone(&market.calendar, &mut market.random)
            .iter()
            .step_by(7)
        {
            market.add_crawler(crawler, None);
        }
        market.scene
    }

    #[test]
    fn a_seed_gives_one_world() {
        let (one, again, other) = (part(1), part(1), part(2));
        assert_eq!(one.hits().len(), again.hits().len());
        assert_eq!(digest(&one), digest(&again));
        assert_ne!(digest(&one), digest(&other));
        assert_ne!(one.start, other.start);
    }

    #[test]
    fn sources_are_what_was_promised() {
        let scene = build(3);
        assert!(scene.hits().len() <= 3_500_000, "{}", scene.hits().len());
        assert!(scene.hits().iter().all(|hit| hit.at_ms < SPAN_MS));
        let addresses: HashSet<u32> = scene.parties().iter().map(|party| party.address).collect();
        assert_eq!(addresses.len(), scene.parties().len());
        assert!(addresses.iter().all(|address| address >> 24 == 10));
        let mut days = vec![[0_u32; DAYS]; scene.parties().len()];
        for hit in scene.hits() {
            days[hit.source as usize][(hit.at_ms / DAY_MS) as usize] += 1;
        }
        let heavy = |place: &usize| days[*place].iter().any(|&count| count >= 1_000);
        let parties = scene.parties();
        // Heavy sources come first, up to the first light one.
        let light = parties
            .iter()
            .position(|party| party.kind == "light")
            .unwrap();
        for place in 0..light {
            assert!(heavy(&place), "{:?} {:?}", parties[place], days[place]);
        }
        assert!((light..parties.len()).all(|place| !heavy(&place)));
        let of = |labels: &[Label]| {
            parties[..light]
                .iter()
                .filter(|party| labels.contains(&party.label))
                .count()
        };
        assert!((90..=120).contains(&of(&[Label::User])));
        assert!((110..=160).contains(&of(&[
            Label::Legitimate,
            Label::Unauthorized,
            Label::Masquerading
        ])));
        assert!((10..=20).contains(&of(&[Label::Automated])));
        let people = parties[..light]
            .iter()
            .filter(|party| party.label == Label::User);
        assert!(people.map(|party| party.kind).collect::<HashSet<_>>().len() >= 12);
    }
}
