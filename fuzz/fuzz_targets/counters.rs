//! Saved counters, as if an enemy had written the file: they are read or refused, within the room that the settings give.
#![no_main]

use cattlegrid_core::policy::Policy;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok((counters, taken)) = Policy::restore(1000, &mut &bytes[..], 1_900_000_000) {
        let mut saved = Vec::new();
        counters.save(&mut saved, 1_900_000_000).unwrap();
        let (_, again) = Policy::restore(1000, &mut &saved[..], 1_900_000_000).unwrap();
        assert!(again <= taken);
    }
});
