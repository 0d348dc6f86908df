//! A reference site with readers all over the world: an encyclopedia, a library catalogue, documentation, a forum and exam results.
//!
//! ```text
//! setting ──▶ places ──▶ people ──▶ browse ──▶ requests
//!        └──▶ robots, automata ──▶ crawl ────▶ requests
//! ```
//!
//! No curve draws people or crawlers: people sit behind an address and have their days, and crawlers run a loop. What an
//! address shows over time is what comes out of that.

mod agents;
mod automata;
mod browse;
mod campaigns;
mod crawl;
mod passers;
mod people;
mod places;
mod recipes;
mod robots;
mod schedulers;
mod setting;
mod site;

use std::collections::HashSet;

use crate::actor::Label;
use crate::random::Random;
use crate::scene::Hit;
use crate::scene::Party;
use crate::scene::Scene;

use setting::Setting;

/// 2030-01-07 00:00 UTC, a Monday.
const MONDAY: u32 = 1_893_974_400;
const PURPOSE: u64 = 0x706f_7274_616c;

/// What light sources are called; all others are heavy.
const LIGHT_PEOPLE: &str = "passer-by";
const LIGHT_ROBOT: &str = "light robot";

/// Requests of all heavy people together, and of all heavy crawlers.
const PEOPLE_BUDGET: f64 = 1_400_000.0;
const CRAWLER_BUDGET: f64 = 1_350_000.0;

/// Gives out addresses, each once.
struct Addresses {
    given: HashSet<u32>,
    /// Campaigns that rent a block of neighbours: name and next address.
    block: (String, u32),
}

impl Addresses {
    fn any(&mut self, random: &mut Random) -> u32 {
        loop {
            let address = 10 << 24 | random.below(1 << 24) as u32;
            if !matches!(address & 255, 0 | 255) && self.given.insert(address) {
                return address;
            }
        }
    }

    /// The address of one more machine of a campaign: half of the campaigns have them side by side.
    fn of(&mut self, campaign: &str, random: &mut Random) -> u32 {
        if campaign.is_empty() {
            return self.any(random);
        }
        if self.block.0 != campaign {
            let next = if random.chance(0.5) {
                self.any(random)
            } else {
                0
            };
            self.block = (campaign.to_owned(), next);
        }
        self.block.1 += u32::from(self.block.1 > 0);
        let next = self.block.1;
        if next >> 24 == 10 && self.given.insert(next) {
            next
        } else {
            self.any(random)
        }
    }
}

fn add(scene: &mut Scene, party: Party, hits: Vec<Hit>) {
    let source = scene.source(party);
    for hit in hits.into_iter().filter(|hit| hit.at_ms < site::END_MS) {
        scene.request(Hit { source, ..hit });
    }
}

/// The world of a seed.
pub(crate) fn build(seed: u64) -> Scene {
    let mut random = Random::new(seed, PURPOSE);
    let first_day = random.below(7 * 26) as u32;
    let mut scene = Scene::new(MONDAY + first_day * 86_400, Random::new(seed, PURPOSE + 1));
    let setting = Setting::new(i64::from(first_day % 7), &mut random);
    let mut addresses = Addresses {
        given: HashSet::new(),
        block: (String::new(), 0),
    };
    for place in places::places(&setting, PEOPLE_BUDGET, &mut random) {
        let hits = place.fill(&setting, &mut random);
        let address = addresses.any(&mut random);
        let (label, kind) = (Label::User, place.kind());
        add(
            &mut scene,
            Party {
                address,
                label,
                campaign: String::new(),
                kind,
            },
            hits,
        );
    }
    let mut robots = robots::crawlers(&setting, CRAWLER_BUDGET, &mut random);
    robots.extend(automata::automata(&setting, &mut random));
    for robot in robots {
        let address = addresses.of(&robot.campaign, &mut random);
        add(
            &mut scene,
            Party {
                address,
                label: robot.label,
                campaign: robot.campaign,
                kind: robot.kind,
            },
            robot.hits,
        );
    }
    for _ in 0..4_300 + random.below(3_500) {
        let hits = passers::passer_by(&setting, &mut random);
        let address = addresses.any(&mut random);
        let party = Party {
            address,
            label: Label::User,
            campaign: String::new(),
            kind: LIGHT_PEOPLE,
        };
        add(&mut scene, party, hits);
    }
    for _ in 0..310 + random.below(280) {
        let (label, hits) = robots::light(&setting, &mut random);
        let address = addresses.any(&mut random);
        add(
            &mut scene,
            Party {
                address,
                label,
                campaign: String::new(),
                kind: LIGHT_ROBOT,
            },
            hits,
        );
    }
    scene
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::BTreeSet;

    use super::site::DAYS;
    use super::*;

    fn days(scene: &Scene) -> Vec<[u32; DAYS]> {
        let mut days = vec![[0; DAYS]; scene.parties().len()];
        for hit in scene.hits() {
            days[hit.source as usize][(hit.at_ms / site::DAY_MS) as usize] += 1;
        }
        days
    }

    fn ends(scene: &Scene) -> (usize, String) {
        let (first, last) = (scene.hits().first().unwrap(), scene.hits().last().unwrap());
        (scene.hits().len(), format!("{first:?} {last:?}"))
    }

    fn promises_hold(scene: &Scene) {
        assert!(scene.hits().len() <= 3_500_000, "{}", scene.hits().len());
        let addresses: BTreeSet<u32> = scene.parties().iter().map(|party| party.address).collect();
        assert_eq!(addresses.len(), scene.parties().len());
        assert!(addresses.iter().all(|address| address >> 24 == 10));
        let mut counts: BTreeMap<(Label, &str), u32> = BTreeMap::new();
        for (party, days) in scene.parties().iter().zip(days(scene)) {
            *counts.entry((party.label, party.kind)).or_default() += 1;
            if party.kind == LIGHT_PEOPLE || party.kind == LIGHT_ROBOT {
                continue;
            }
            let active = days.iter().filter(|day| **day >= 20).count();
            assert!(days.iter().any(|day| *day >= 1_000), "{party:?} {days:?}");
            assert!(active >= 3, "{party:?} {days:?}");
        }
        let heavy: Vec<_> = counts
            .iter()
            .filter(|count| ![LIGHT_PEOPLE, LIGHT_ROBOT].contains(&count.0.1))
            .collect();
        let total = |user: bool, automated: bool| -> u32 {
            let of = heavy.iter().filter(|count| {
                (count.0.0 == Label::User) == user && (count.0.0 == Label::Automated) == automated
            });
            of.map(|count| count.1).sum()
        };
        assert!(
            heavy
                .iter()
                .filter(|count| count.0.0 == Label::User)
                .count()
                >= 12
        );
        assert!((90..=120).contains(&total(true, false)), "{heavy:?}");
        assert!((110..=160).contains(&total(false, false)), "{heavy:?}");
        assert!((10..=20).contains(&total(false, true)), "{heavy:?}");
    }

    #[test]
    fn a_seed_gives_one_world_with_what_was_promised() {
        let scene = build(1);
        promises_hold(&scene);
        let first = ends(&scene);
        drop(scene);
        assert_eq!(first, ends(&build(1)));
        let other = build(2);
        promises_hold(&other);
        assert_ne!(first, ends(&other));
    }
}
