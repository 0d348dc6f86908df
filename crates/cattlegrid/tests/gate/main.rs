//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.

mod harness;
mod http2;
mod http2_heads;
mod listeners;
mod passing;
mod reload;
mod slow;
mod upstream;
