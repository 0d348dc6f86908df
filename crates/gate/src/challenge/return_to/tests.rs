//! Tests of return targets.
