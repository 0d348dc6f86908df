//! Off the request's way: learning, publishing the knowledge base, saving counters, following the paths of signed-in people, asking name servers, fetching keys of robots, the listener for health and metrics.

pub(crate) mod admin;
pub(crate) mod counters;
pub(crate) mod directories;
pub(crate) mod knowledge;
pub(crate) mod learn;
pub(crate) mod names;
mod private_file;
pub(crate) mod robots_txt;
pub(crate) mod users;
