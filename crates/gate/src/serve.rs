//! Serves connections: reads requests, has them decided, and forwards or answers them.
//!
//! [`exchange`] is the same for every request; [`http1`] and [`http2`] read and write it.

mod activity;
mod ask;
mod body;
mod client;
mod exchange;
mod forward;
mod http1;
mod http2;
mod marked_body;
mod marked_head;
mod marking;
mod maze;
mod own_pages;
mod pings;
mod tunnel;
mod wait;

pub(crate) use http1::Ended;
pub(crate) use http1::serve as serve_http1;
pub(crate) use http2::serve as serve_http2;
