//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in its helpers"
)]

mod browser;
mod caches;
mod challenge;
mod clearance;
mod containment;
mod harness;
mod passing;
mod signing;
mod solve;
