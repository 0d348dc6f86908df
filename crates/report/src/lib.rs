//! A [`cattlegrid_core::Report`] for people and for programs.

mod by_paper;
mod campaigns;
mod changes;
mod chart;
mod hidden;
mod html;
mod inspect;
mod inspect_page;
mod json;
mod manners;
mod panels;
pub mod paths;
mod plan;
mod plan_page;
pub mod replay;
mod replay_page;
pub mod suppression;
mod text;
pub mod usage;
mod words;

pub use changes::Told;
pub use html::write_html;
pub use inspect::write_inspection;
pub use inspect_page::write_inspection_html;
pub use json::write_inspection_json;
pub use json::write_json;
pub use plan::write_plan;
pub use plan::write_plan_json;
pub use plan_page::write_plan_html;
pub use replay::write_replay;
pub use replay::write_replay_json;
pub use replay_page::write_replay_html;
pub use text::TextOptions;
pub use text::write_text;
