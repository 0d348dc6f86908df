//! A line of the format `vhost_combined`: what must hold is in `format::invariants`.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| cattlegrid_core::format::invariants::text_line("vhost_combined", line));
