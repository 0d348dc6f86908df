//! The challenge: a visitor's browser does some work and gets a clearance cookie for it.
//!
//! Nothing here knows a socket or a clock. Every token and cookie is signed by the gate, and whatever comes back is judged
//! by the signed values alone; what fails any check meets a new challenge, never an error.

mod answer;
pub mod assets;
mod challenger;
mod clearance;
mod cookies;
mod defence;
mod difficulty;
mod keys;
mod language;
mod maze;
pub mod pages;
mod question;
mod random;
mod return_to;
mod spent;
mod template;
mod texts;
mod token;
mod trap;
mod visitor;
mod work;

#[cfg(test)]
mod hostile_tests;

pub use answer::Refusal;
pub use challenger::Binding;
pub use challenger::Challenger;
pub use challenger::Earned;
pub use challenger::Puzzle;
pub use challenger::Settings;
pub use challenger::Solved;
pub use challenger::Suspected;
pub use challenger::Terms;
pub use challenger::Turn;
pub use challenger::Unanswered;
pub use clearance::Clearance;
pub use cookies::named as cookies_named;
pub use cookies::strip;
pub use defence::Defence;
pub use difficulty::Suspicion;
pub use difficulty::confirmation;
pub use difficulty::difficulty;
pub use keys::KeyFault;
pub use keys::Keys;
pub(crate) use keys::file as key_file;
pub use language::Language;
pub use maze::Maze;
pub use pages::BlockedBy;
pub use pages::Note;
pub use pages::Page;
pub use pages::Pages;
pub use pages::Reader;
pub use pages::Upstream;
pub use question::Question;
pub use return_to::return_to;
pub use template::Template;
pub use trap::FOLDER as TRAP_FOLDER;
pub use trap::Trap;
pub use visitor::Moment;
pub use visitor::Visitor;
