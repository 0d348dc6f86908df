//! Answers to challenges and clearance cookies that nobody signed: none is accepted.
#![no_main]

use cattlegrid_core::request::Source;
use cattlegrid_gate::challenge::{Challenger, Keys, Language, Moment, Settings, Turn, Visitor};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    thread_local! {
        static CHALLENGER: Challenger = {
            let path = std::env::temp_dir().join(format!("cattlegrid-fuzz-{}", std::process::id()));
            let keys = Keys::open(&path, 1_900_000_000).unwrap();
            Challenger::new(keys, Settings::default()).unwrap()
        };
    }
    let visitor = Visitor {
        source: Source::of([192, 0, 2, 1].into()),
        agent: b"Mozilla/5.0",
        site: "www.example.org",
        is_secure: true,
    };
    let now = Moment { unix: 1_900_000_000, steady_ms: 1_000_000 };
    CHALLENGER.with(|challenger| {
        let (body, cookies) = bytes.split_at(bytes.len() / 2);
        assert!(challenger.answer(&visitor, body, [cookies], 500, now).is_err());
        let turn = Turn { wait_seconds: 0, take: || Ok(()) };
        let sent = (body, Language::Japanese);
        assert!(challenger.answer_question(&visitor, sent, [cookies], 25, now, turn).is_err());
        assert!(challenger.find([bytes], &visitor, now.unix).is_none());
        let _ = challenger.return_of(bytes);
    });
});
