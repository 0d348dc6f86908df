//! Markers on whole pages: hostile ones, generated ones, large ones, and what a browser makes of them.
#![allow(clippy::unwrap_used, reason = "a test stops where something is wrong")]

mod browser;
mod hostile;
mod limits;
mod properties;
mod saved;
