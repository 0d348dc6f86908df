//! The gate: a live request is let through, challenged or turned away.

pub mod challenge;
