//! A [`cattlegrid_core::Report`] for people and for programs.

mod html;
mod json;
mod text;
mod words;

pub use html::write_html;
pub use json::write_json;
pub use text::TextOptions;
pub use text::write_text;
