//! A line of the format `common`: what must hold is in `format::invariants`.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| cattlegrid_core::format::invariants::text_line("common", line));
