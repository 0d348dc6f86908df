//! Decides what happens to a request. Nothing here knows a socket or an HTTP library: a decision is a [`Page`](crate::challenge::Page), or
//! that the request passes.

mod check;
mod claim;
mod contain;
mod facts;
mod fields;
mod fingerprint;
mod judge;
mod marker;
mod sign_in;
mod signature;

pub(crate) use check::Refusal;
pub(crate) use check::check;
pub(crate) use contain::ask_suspect;
pub(crate) use contain::contain;
pub(crate) use contain::language;
pub(crate) use contain::reader_of_failure;
pub(crate) use facts::Facts;
pub(crate) use facts::Told;
pub(crate) use facts::says_https;
pub(crate) use judge::Judged;
pub(crate) use marker::Unmarked;
pub(crate) use sign_in::Held;
pub(crate) use sign_in::Unsettled;
pub(crate) use sign_in::Who;
