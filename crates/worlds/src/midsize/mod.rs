//! A mid-size site over five days: news, a shop, a forum and books in chapters, on a common content system.
//!
//! Most of its visitors are light, people and programs alike: a page or a few. Nothing here knows how crawlers are looked for.
//! No program of this world drives a real browser; none loads all that belongs to a page.

mod agents;
mod attackers;
mod browser;
mod catalogue;
mod clock;
mod fleets;
mod named;
mod people;
mod regulars;
mod robots;
mod scrapers;
mod shared;
mod site;
mod stage;

use crate::random::Random;
use crate::scene::Scene;
use clock::Calendar;
use stage::Stage;

/// Random numbers of this world are its own; each part has a row, so that one part more changes no other.
const PURPOSE: u64 = 0x6d69_6473_697a_6500;

/// Who plays in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cast {
    /// All.
    Everybody,
    /// The same people and single programs, but no fleet and no attack from many addresses.
    WithoutCampaigns,
}

/// The world of this seed with this cast.
pub(crate) fn build_with(seed: u64, cast: Cast) -> Scene {
    let mut random = Random::new(seed, PURPOSE);
    let calendar = Calendar::new(&mut random);
    let site = catalogue::stock(&mut random, &calendar);
    let scene = Scene::new(calendar.start, Random::new(seed, PURPOSE + 1));
    let mut stage = Stage::new(scene, site, calendar, random);
    type Part = fn(&mut Stage);
    let single: [Part; 6] = [
        people::play,
        shared::play,
        regulars::play,
        named::play,
        scrapers::play,
        attackers::play,
    ];
    let spread: [Part; 2] = [fleets::play, attackers::play_spread];
    let parts = match cast {
        Cast::Everybody => [&single[..], &spread[..]].concat(),
        Cast::WithoutCampaigns => single.to_vec(),
    };
    for (number, part) in parts.into_iter().enumerate() {
        stage.random = Random::new(seed, PURPOSE + 2 + number as u64);
        part(&mut stage);
    }
    stage.scene
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::BTreeSet;

    use super::*;
    use crate::actor::Label;
    use crate::scene::Hit;

    fn told(hit: &Hit) -> String {
        format!("{hit:?}")
    }

    fn ends(scene: &Scene) -> (usize, String, String) {
        let hits = scene.hits();
        let first = hits.iter().min_by_key(|hit| hit.at_ms).unwrap();
        let last = hits.iter().max_by_key(|hit| hit.at_ms).unwrap();
        (hits.len(), told(first), told(last))
    }

    #[test]
    fn a_seed_gives_one_world() {
        let first = build_with(1, Cast::Everybody);
        assert_eq!(ends(&first), ends(&build_with(1, Cast::Everybody)));
        assert_ne!(ends(&first), ends(&build_with(2, Cast::Everybody)));
    }

    #[test]
    fn the_cast_has_the_promised_sizes() {
        let scene = build_with(3, Cast::Everybody);
        let (parties, hits) = (scene.parties(), scene.hits());
        let addresses: BTreeSet<u32> = parties.iter().map(|party| party.address).collect();
        assert_eq!(addresses.len(), parties.len());
        assert!(addresses.iter().all(|address| address >> 24 == 10));
        let mut heard = vec![false; parties.len()];
        for hit in hits {
            heard[hit.source as usize] = true;
            assert!(hit.at_ms < clock::END);
        }
        assert!(heard.iter().all(|heard| *heard));
        assert!(hits.len() < 2_500_000, "{}", hits.len());
        let people = parties.iter().filter(|party| party.label == Label::User);
        let robots = parties.iter().filter(|party| party.label != Label::User);
        assert!((14_000..=18_000).contains(&people.clone().count()));
        assert!(
            (2_500..=3_500).contains(&robots.clone().count()),
            "{}",
            robots.count()
        );
        let kinds: BTreeSet<&str> = people.map(|party| party.kind).collect();
        let robot_kinds: BTreeSet<&str> = robots.map(|party| party.kind).collect();
        assert!(kinds.len() >= 18 && robot_kinds.len() >= 15);
        assert!(kinds.is_disjoint(&robot_kinds));
    }

    #[test]
    fn campaigns_have_the_promised_sizes_or_are_away() {
        let scene = build_with(4, Cast::Everybody);
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for party in scene.parties() {
            *sizes.entry(&party.campaign).or_default() += 1;
        }
        assert!((540..=660).contains(&sizes["fleet-plain"]));
        assert!((810..=990).contains(&sizes["fleet-parts"]));
        assert!((270..=330).contains(&sizes["daily-rotation"]));
        assert!((270..=330).contains(&sizes["login-spread"]));
        assert!(sizes["comment-spam"] > 80 && sizes["contact-spam"] > 50);
        let calm = build_with(4, Cast::WithoutCampaigns);
        assert!(calm.parties().iter().all(|party| party.campaign.is_empty()));
        // The same people: sources and requests are a beginning of those of the full world.
        for (quiet, full) in calm.parties().iter().zip(scene.parties()) {
            assert_eq!((quiet.address, quiet.kind), (full.address, full.kind));
        }
        let last = calm.hits().len() - 1;
        assert_eq!(told(&calm.hits()[last]), told(&scene.hits()[last]));
    }
}
