//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.

mod caddy;
mod challenge;
mod envoy;
mod forward_auth;
mod front;
mod haproxy;
mod harness;
mod nginx;
mod passing;
mod solve;
