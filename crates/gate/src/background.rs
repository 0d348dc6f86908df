//! Off the request's way: learning, publishing the knowledge base, saving counters, asking name servers, fetching keys of robots, the listener for health and metrics.

pub(crate) mod admin;
pub(crate) mod counters;
pub(crate) mod directories;
pub(crate) mod knowledge;
pub(crate) mod learn;
pub(crate) mod names;
pub(crate) mod robots_txt;
