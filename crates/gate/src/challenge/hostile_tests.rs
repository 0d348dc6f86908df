//! Hostile cases, by number. Each is run again with its defence switched off, where the same attack must succeed.

use std::path::Path;

use cattlegrid_core::request::Source;

use super::*;

const NOW: Moment = Moment {
    unix: 1_893_456_000,
    steady_ms: 5_000_000,
};
const BITS: u8 = 10;
const AGENT: &[u8] = b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// Keys that any two gates of a test share.
fn keys(path: &Path) -> Keys {
    Keys::open(path, NOW.unix - 86_400).unwrap()
}

fn gate() -> Challenger {
    gate_with(Settings::default())
}

fn gate_with(settings: Settings) -> Challenger {
    let folder = tempfile::tempdir().unwrap();
    Challenger::new(keys(&folder.path().join("keys")), settings).unwrap()
}

fn visitor() -> Visitor<'static> {
    Visitor {
        source: Source::from_address(b"192.0.2.7").unwrap(),
        agent: AGENT,
        site: "example.org",
        is_secure: true,
    }
}

/// A browser's cookies for one site.
#[derive(Default, Clone)]
struct Jar {
    cookies: Vec<(String, String)>,
}

impl Jar {
    fn keep(&mut self, set_cookie: &str) {
        let (name, value) = set_cookie
            .split(';')
            .next()
            .unwrap()
            .split_once('=')
            .unwrap();
        self.cookies.retain(|(kept, _)| kept != name);
        self.cookies.push((name.to_owned(), value.to_owned()));
    }

    fn header(&self) -> Vec<u8> {
        let pairs: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ").into_bytes()
    }
}

#[test]
fn h098_challenges_that_nobody_solves_cost_no_memory() {
    let gate = gate();
    for _ in 0..10_000 {
        gate.mint(&visitor(), b"/", BITS, [], NOW);
    }
    assert_eq!(gate.spent_len(), 0);
    let mut jar = Jar::default();
    jar.keep(
        &gate
            .mint(&visitor(), b"/", BITS, [], NOW)
            .set_cookie
            .unwrap(),
    );
    assert_eq!(
        gate.mint(&visitor(), b"/", BITS, [&jar.header()[..]], NOW)
            .set_cookie,
        None
    );
}
