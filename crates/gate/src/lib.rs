//! The gate: stands before a web site, lets people pass and contains crawlers.
//!
//! A request comes in through a [`listen`]er and is served by `plain`, or, where it is not plain, by `serve` behind a guard: refused where
//! it can be read in two ways, decided about by `gate` (which asks the policy of `core`), and then passed on, or answered with a page of
//! [`challenge`]. What happened goes into the `log`, and from there `learn` judges sources and writes to the knowledge base, off the path
//! of requests.

mod activity;
mod admin;
mod base;
mod body;
pub mod challenge;
mod clock;
mod config;
mod deadline;
mod defence;
mod envoy;
mod forward_auth;
mod frames;
mod framing;
mod gate;
mod guard;
pub mod head;
mod headers;
mod host;
mod learn;
mod link;
mod listen;
mod log;
mod metrics;
mod own;
mod passing;
mod plain;
mod proxy;
mod proxy_protocol;
mod questions;
mod reply;
mod rules;
mod saved;
mod serve;
mod spelling;
mod start;
mod to_site;
mod trust;
mod tunnel;
mod upload;
mod upstream;
mod worker;

pub use config::Setup;
pub use learn::History;
pub use learn::Learner;
pub use start::Load;
pub use start::Loaded;
pub use start::check;
pub use start::rotate_keys;
pub use start::run;
