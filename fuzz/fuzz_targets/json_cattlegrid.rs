//! A line of the format `json_cattlegrid`: what must hold is in `format::invariants`.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| cattlegrid_core::format::invariants::json_line("json_cattlegrid", line));
