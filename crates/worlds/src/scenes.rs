//! The scenes by name: worlds that models and rules are tested on, never taught.

use crate::midsize;
use crate::scene::Scene;

/// The scenes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SceneKind {
    /// A mid-size site, mostly of light visitors.
    Midsize,
    /// The same without fleets and spread attacks.
    MidsizeCalm,
}

impl SceneKind {
    /// All of them.
    pub const ALL: [SceneKind; 2] = [SceneKind::Midsize, SceneKind::MidsizeCalm];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SceneKind::Midsize => "midsize",
            SceneKind::MidsizeCalm => "midsize-calm",
        }
    }

    /// What it is, in a line.
    pub fn describe(self) -> &'static str {
        match self {
            SceneKind::Midsize => {
                "news, shop and forum with 16,000 people and 3,300 robots, most of them light, fleets and spread attacks"
            }
            SceneKind::MidsizeCalm => "the same without fleets and spread attacks",
        }
    }

    /// The scene of a seed.
    pub fn build(self, seed: u64) -> Scene {
        match self {
            SceneKind::Midsize => midsize::build_with(seed, midsize::Cast::Everybody),
            SceneKind::MidsizeCalm => midsize::build_with(seed, midsize::Cast::WithoutCampaigns),
        }
    }
}
