//! The scenes by name: worlds that models and rules are tested on, never taught. Visits alone are for learning.

use crate::market;
use crate::midsize;
use crate::portal;
use crate::scene::Scene;
use crate::visits;

/// The scenes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SceneKind {
    /// A marketplace with heavy sources of all kinds.
    Market,
    /// A mid-size site, mostly of light visitors.
    Midsize,
    /// The same without fleets and spread attacks.
    MidsizeCalm,
    /// A reference site with heavy sources from all over the world.
    Portal,
    /// Visits of people and robots to one small site, to learn sessions from.
    Visits,
}

impl SceneKind {
    /// All of them.
    pub const ALL: [SceneKind; 5] = [
        SceneKind::Market,
        SceneKind::Midsize,
        SceneKind::MidsizeCalm,
        SceneKind::Portal,
        SceneKind::Visits,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SceneKind::Market => "market",
            SceneKind::Midsize => "midsize",
            SceneKind::MidsizeCalm => "midsize-calm",
            SceneKind::Portal => "portal",
            SceneKind::Visits => "visits",
        }
    }

    /// What it is, in a line.
    pub fn describe(self) -> &'static str {
        match self {
            SceneKind::Market => {
                "a marketplace: 100 heavy sources of people, 140 heavy crawlers, a light crowd"
            }
            SceneKind::Midsize => {
                "news, shop and forum with 16,000 people and 3,300 robots, most of them light, fleets and spread attacks"
            }
            SceneKind::MidsizeCalm => "the same without fleets and spread attacks",
            SceneKind::Portal => {
                "a reference site: 110 heavy sources of people of all countries, 130 heavy crawlers, a light crowd"
            }
            SceneKind::Visits => {
                "light visits to a small site, another one for each seed: 300 people and 300 robots of all makes, to learn sessions from"
            }
        }
    }

    /// The scene of a seed.
    pub fn build(self, seed: u64) -> Scene {
        match self {
            SceneKind::Market => market::build(seed),
            SceneKind::Portal => portal::build(seed),
            SceneKind::Visits => visits::build(seed),
            SceneKind::Midsize => midsize::build_with(seed, midsize::Cast::Everybody),
            SceneKind::MidsizeCalm => midsize::build_with(seed, midsize::Cast::WithoutCampaigns),
        }
    }
}
