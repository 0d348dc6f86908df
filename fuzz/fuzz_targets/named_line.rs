//! A line of any format with a name, which the first byte chooses; also with the format recognised from it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cattlegrid_core::format::invariants::named_line(bytes));
