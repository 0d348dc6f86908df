//! The knowledge base against real files; deny lists held against a count of every address, and against the programs that read them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails here says why"
)]

mod aggregate;
mod base;
mod export;
mod programs;
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
