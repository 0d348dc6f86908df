//! The head of a response: what must hold is in `http1::invariants`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cattlegrid_http1::invariants::response_head(bytes));
