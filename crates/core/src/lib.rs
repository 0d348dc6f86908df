//! The heart of Cattlegrid, free of files, sockets and clocks:
//!
//! ```text
//! bytes ──format──▶ Request ──observe──▶ Profile ──detectors──▶ Evidence ──judge──▶ Verdict
//! ```
//!
//! [`Analysis`] drives that loop over blocks of log lines and ends in a [`Report`].
//! Modules stand in reading order; each uses only those above it.

pub mod text;

pub mod request;

pub mod networks;

pub mod proxies;

pub mod pseudonyms;

pub mod format;

pub mod hosts;

pub mod knowledge;

pub mod profile;

pub mod sessions;

pub mod paths;

pub mod site;

pub mod table;

pub mod evidence;

pub mod detectors;

pub mod verdict;

pub mod policy;

pub mod report;

pub mod settings;

pub mod campaigns;

pub mod rehearsal;

pub mod analysis;

pub use analysis::Analysis;
pub use report::Report;
pub use settings::Settings;
