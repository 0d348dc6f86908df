//! Markers in request targets: what must hold is in `marker::invariants`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cattlegrid_marker::invariants::targets(bytes));
