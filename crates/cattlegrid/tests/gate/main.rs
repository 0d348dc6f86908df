//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.

mod browser;
mod caches;
mod caddy;
mod challenge;
mod clearance;
mod containment;
mod envoy;
mod forward_auth;
mod front;
mod haproxy;
mod harness;
mod nginx;
mod passing;
mod signing;
mod solve;
