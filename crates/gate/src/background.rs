//! Off the request's way: learning, publishing the knowledge base, saving counters, the listener for health and metrics.

pub(crate) mod admin;
pub(crate) mod counters;
pub(crate) mod knowledge;
pub(crate) mod learn;
