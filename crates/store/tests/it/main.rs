//! Tests of the knowledge base against real files.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails here says why"
)]

mod base;

use std::path::PathBuf;

use cattlegrid_core::policy::Action;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Origin;
use tempfile::TempDir;

/// The time in all tests.
const NOW: u32 = 1_900_000_000;

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
