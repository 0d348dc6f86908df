//! A [`cattlegrid_core::Report`] for people and for programs.

mod json;
mod text;

pub use json::write_json;
pub use text::TextOptions;
pub use text::write_text;
