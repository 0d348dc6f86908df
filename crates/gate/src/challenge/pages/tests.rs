//! Tests of the pages.
