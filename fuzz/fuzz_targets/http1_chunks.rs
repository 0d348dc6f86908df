//! A chunked body: what must hold is in `http1::invariants`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cattlegrid_http1::invariants::chunks(bytes));
