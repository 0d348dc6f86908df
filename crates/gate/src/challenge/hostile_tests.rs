//! Hostile cases, by number. Each is run again with its defence switched off, where the same attack must succeed.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cattlegrid_core::request::Source;
use tempfile::TempDir;

use super::work;
use super::*;

mod answers;
mod clearances;
mod figures;
mod questions;
mod solver;

const NOW: Moment = Moment {
    unix: 1_893_456_000,
    steady_ms: 5_000_000,
};
const BITS: u8 = 10;
const PAGES: u32 = 500;
const TERMS: Terms = Terms {
    bits: BITS,
    confirms: None,
    lifted_pages: 0,
    suspect: None,
};
const AGENT: &[u8] = b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// A key file that several gates of one test share.
struct KeyFile {
    _folder: TempDir,
    path: PathBuf,
}

impl KeyFile {
    fn new() -> KeyFile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        KeyFile {
            _folder: folder,
            path,
        }
    }

    fn gate(&self) -> Challenger {
        self.gate_with(Settings::default())
    }

    fn gate_with(&self, settings: Settings) -> Challenger {
        Challenger::new(Keys::open(&self.path, NOW.unix - 86_400).unwrap(), settings).unwrap()
    }
}

fn gate() -> Challenger {
    KeyFile::new().gate()
}

fn visitor() -> Visitor<'static> {
    from("192.0.2.7")
}

fn from(address: &str) -> Visitor<'static> {
    Visitor {
        source: Source::from_address(address.as_bytes()).unwrap(),
        agent: AGENT,
        site: "example.org",
        is_secure: true,
    }
}

fn later(seconds: u64) -> Moment {
    Moment {
        unix: NOW.unix + seconds,
        steady_ms: NOW.steady_ms + 1000 * seconds,
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

    /// Asks for a page and meets a challenge.
    fn ask(
        &mut self,
        gate: &Challenger,
        visitor: &Visitor<'_>,
        target: &str,
        now: Moment,
    ) -> Puzzle {
        let puzzle = gate.mint(visitor, target.as_bytes(), TERMS, [&self.header()[..]], now);
        puzzle
            .set_cookie
            .iter()
            .for_each(|cookie| self.keep(cookie));
        puzzle
    }

    /// Sends an answer and keeps the clearance.
    fn send(
        &mut self,
        gate: &Challenger,
        visitor: &Visitor<'_>,
        body: &str,
        now: Moment,
    ) -> Result<Solved, Refusal> {
        let solved = gate.answer(visitor, body.as_bytes(), [&self.header()[..]], PAGES, now)?;
        self.keep(&solved.set_cookie);
        Ok(solved)
    }

    fn is_cleared(&self, gate: &Challenger, visitor: &Visitor<'_>, now: Moment) -> bool {
        gate.find([&self.header()[..]], visitor, now.unix).is_some()
    }

    /// Meets a challenge and solves it.
    fn pass(&mut self, gate: &Challenger, visitor: &Visitor<'_>, now: Moment) -> Solved {
        let puzzle = self.ask(gate, visitor, "/", now);
        self.send(gate, visitor, &solution(&puzzle), now).unwrap()
    }

    fn value(&self, name: &str) -> String {
        self.cookies
            .iter()
            .find(|(kept, _)| kept == name)
            .unwrap()
            .1
            .clone()
    }
}

/// The right answer to a challenge.
fn solution(puzzle: &Puzzle) -> String {
    let id = u128::from_str_radix(&puzzle.seed, 16).unwrap();
    body(&puzzle.token, &work::solve(id, puzzle.bits))
}

fn body(token: &str, found: &[u32]) -> String {
    let work: Vec<String> = found.iter().map(u32::to_string).collect();
    format!("token={token}&work={}", work.join("."))
}

/// An attack fails on the whole gate and succeeds on one without the defence that is to stop it.
fn check(defence: Defence, attack: impl Fn(&KeyFile, &dyn Fn(Challenger) -> Challenger) -> bool) {
    assert!(
        !attack(&KeyFile::new(), &|gate| gate),
        "the attack succeeds"
    );
    assert!(
        attack(&KeyFile::new(), &|gate| gate.without(defence)),
        "the test has no teeth: {defence:?}"
    );
}
