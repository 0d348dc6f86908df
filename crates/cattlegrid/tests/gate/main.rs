//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.
#![allow(clippy::unwrap_used, reason = "a test that fails here says why")]

mod harness;

mod clients;
mod desync;
mod framing;
mod headers;
mod hosts;
mod passing;
mod paths;
mod websockets;
