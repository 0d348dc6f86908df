//! Series and what can be learned from them. Nothing here knows that the web exists.
//!
//! ```text
//! counts ──series, stl──▶ values ──bayes, rules, svm──▶ probabilities ──vote, calibration──▶ decibans
//! ```

pub mod data;

pub mod stl;

pub mod series;
