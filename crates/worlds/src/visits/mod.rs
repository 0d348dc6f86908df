//! Visits to one small site, to learn sessions from: people and robots with traits drawn from wide ranges, so that no list of kinds is
//! learned by heart. Every seed is another site.
//!
//! Robots range from plain fetchers to programs that drive a real browser, wait as people do and go back now and then. People range from
//! those who open ten tabs at once to those who read one page an hour, behind slow lines, without referrers, without pictures.

mod browser;
mod people;
mod robots;
mod site;

use crate::actor::Label;
use crate::random::Random;
use crate::scene::Party;
use crate::scene::Scene;
use browser::Visit;
use site::Site;

/// Sources of people and of robots in one world.
const PEOPLE: u32 = 300;
const ROBOTS: u32 = 300;
/// Milliseconds of the world: two days.
const SPAN_MS: f64 = 2.0 * 86_400_000.0;
/// The first second: Monday, 7 January 2030.
const START: u32 = 1_893_974_400;
/// The first address: those of benchmarks (RFC 2544).
const ADDRESS: u32 = 0xc612_0000;

/// The world of a seed.
pub(crate) fn build(seed: u64) -> Scene {
    let mut random = Random::new(seed, 77);
    let site = Site::draw(&mut random);
    let mut scene = Scene::new(START, Random::new(seed, 78));
    for number in 0..PEOPLE + ROBOTS {
        let is_person = number < PEOPLE;
        let mut visit = Visit::draw(&mut random, ADDRESS + number);
        let kind = match is_person {
            true => people::plan(&mut random, &site, &mut visit),
            false => robots::plan(&mut random, &site, &mut visit),
        };
        let source = scene.source(Party {
            address: ADDRESS + number,
            label: match is_person {
                true => Label::User,
                false => Label::Masquerading,
            },
            campaign: String::new(),
            kind,
        });
        for mut hit in visit.hits {
            if !site.logs_parts && Site::is_part(&hit.target) {
                continue;
            }
            if !site.logs_referrers {
                hit.referrer = "".into();
            }
            hit.source = source;
            scene.request(hit);
        }
    }
    scene
}

/// Pages of a visit, alike for people and robots: how many somebody asks for says nothing about who it is.
fn pages_of_a_visit(random: &mut Random) -> u32 {
    let mean = random.between(1.5, 4.2).exp();
    3 + random.exponential(mean).min(200.0) as u32
}
