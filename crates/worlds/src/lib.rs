//! Simulated sites whose truth is known: people, crawlers and campaigns, from a seed.
//!
//! ```text
//! seed ──mix──▶ actors with their plan ──plan──▶ requests per half hour ──write──▶ lines and labels
//!      └─────▶ a crowd with its volumes ──────────────────────────────────────┘
//! ```
//!
//! What the worlds contain was settled before anything was trained on them. A world on which everything scores 100 % measures
//! nothing: crawlers here keep office hours, and people never sleep.

pub mod random;

pub mod people;

pub mod habit;

pub mod plan;

pub mod actor;

pub mod volumes;

pub mod crowd;

pub mod scene;

pub mod forum;

mod containment;
mod gateways;
mod headers;
mod market;
mod midsize;
mod portal;
mod shop;
mod social;
mod town;
mod visits;
mod wide;

pub mod scenes;

pub mod suppression;

pub mod world;

pub mod write;

pub use actor::Actor;
pub use actor::Label;
pub use world::World;
