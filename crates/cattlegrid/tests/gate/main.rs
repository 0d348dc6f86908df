//! The running gate, over real sockets: the program is started on loopback with a folder of its own, before an origin that records
//! every byte.

mod day;
mod harness;
mod operation;
mod passing;
mod solve;
