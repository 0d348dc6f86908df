//! The knowledge base against real files; deny lists held against a count of every address, and against the programs that read them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails here says why"
)]

mod aggregate;
mod base;
mod child;
mod clock;
mod crash;
mod crowds;
mod denials;
mod export;
mod faults;
mod flips;
mod lookups;
mod programs;
mod recording;
mod restore;
mod serving;

use std::path::PathBuf;

use cattlegrid_core::policy::Action;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Origin;
use cattlegrid_store::export::Denied;
use tempfile::TempDir;

/// Noon of 1 January 2030.
const NOW: u32 = 1_893_499_200;
const DAY: u32 = 86_400;

/// A folder and the path of a base in it that is not there yet.
fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("kb.sqlite");
    (folder, path)
}

fn base() -> (TempDir, Base) {
    let (folder, path) = place();
    (folder, Base::open_or_create(&path).unwrap())
}

fn deny(subject: &str) -> Entry {
    Entry {
        reason: "too many pages".to_owned(),
        expires: Some(NOW + 86_400),
        ..Entry::new(
            subject.parse().unwrap(),
            Action::Deny,
            Origin::Analysis,
            NOW,
        )
    }
}

fn put(entry: Entry) -> Change {
    Change::Put(Box::new(entry))
}

fn denied(network: &str) -> Denied {
    Denied {
        network: network.parse().unwrap(),
        until: None,
    }
}

fn denied_until(network: &str, until: u32) -> Denied {
    Denied {
        until: Some(until),
        ..denied(network)
    }
}

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// How often to do something: the number in a variable of the environment, for longer runs.
fn times(variable: &str, otherwise: usize) -> usize {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |value| value.parse().unwrap())
}

/// A seed: the one in a variable of the environment, to repeat a run that failed; else one of the clock.
fn seed() -> u64 {
    let value = std::env::var("CATTLEGRID_SEED").ok();
    let seed = value.map_or_else(clock_seed, |value| value.parse().unwrap());
    println!("seed {seed}; CATTLEGRID_SEED={seed} repeats it");
    seed
}

fn clock_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_nanos() as u64
}
