//! Markers in pages, which may be cut anywhere: what must hold is in `marker::invariants`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cattlegrid_marker::invariants::pages(bytes));
