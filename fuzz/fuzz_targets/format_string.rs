//! A format string and a line, cut at the first newline.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let cut = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    if let Ok(format) = std::str::from_utf8(&bytes[..cut]) {
        cattlegrid_core::format::invariants::format_string(format, &bytes[(cut + 1).min(bytes.len())..]);
    }
});
