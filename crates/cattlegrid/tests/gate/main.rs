//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests stop at the first surprise, and show figures"
)]

mod day;
mod harness;
mod http2;
mod http2_heads;
mod listeners;
mod operation;
mod passing;
mod reload;
mod slow;
mod solve;
mod upstream;
