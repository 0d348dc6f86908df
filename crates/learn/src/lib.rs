//! Series and what can be learned from them. Nothing here knows that the web exists.
//!
//! ```text
//! counts ──series, stl──▶ values ──bayes, rules, svm, trees──▶ votes ──committee──▶ decibans
//! ```
//! Modules stand in reading order; each uses only those above it.

pub mod data;

pub mod folds;

pub mod threshold;

pub mod logistic;

pub mod stl;

pub mod series;

pub mod cluster;

pub mod loess;

pub mod bayes;

pub mod rules;

pub mod svm;

pub mod one_class;

pub mod one_against_one;

pub mod tree;

pub mod forest;

pub mod network;

pub mod trees;

pub mod novelty;

pub mod path_model;

pub mod committee;

pub mod model;
