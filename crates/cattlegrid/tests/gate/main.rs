//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in its helpers"
)]

mod accessible;
mod asked_sites;
mod browser;
mod caches;
mod caddy;
mod challenge;
mod clearance;
mod clients;
mod clocks;
mod containment;
mod crawlers;
mod day;
mod desync;
mod disguises;
mod documents;
mod envoy;
mod fleets;
mod floods;
mod forum_paths;
mod forward_auth;
mod framing;
mod front;
mod haproxy;
mod harness;
mod headers;
mod hoards;
mod honest;
mod hosts;
mod http1;
mod http2;
mod http2_heads;
mod http2_streams;
mod impostors;
mod ipv6;
mod learning;
mod listeners;
mod long_pages;
mod marked_sites;
mod marked_trees;
mod markers;
mod marking;
mod maze;
mod nginx;
mod operation;
mod passing;
mod paths;
mod pipeline;
mod preload;
mod programs;
mod questions;
mod rates;
mod reload;
mod replayed;
mod scrapers;
mod sent;
#[path = "../webdriver/session.rs"]
mod session;
mod sign_in;
mod signed;
mod signing;
#[path = "../skip/skip.rs"]
mod skip;
mod slow;
mod solve;
mod suppressed;
mod table;
mod traps;
mod upstream;
mod user_browser;
mod user_files;
mod user_paths;
mod way_back;
mod websockets;
mod wiki;
mod without_javascript;
