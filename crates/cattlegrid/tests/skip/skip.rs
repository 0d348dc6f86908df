//! Checks that are left out because a program is not installed.
//!
//! `./test` installs every program that a check needs and sets `CATTLEGRID_NO_SKIP=1`: there a check that would be left out fails.

use std::env;
use std::io;
use std::io::Write;

/// True where a program is in `PATH`. Where it is not, that leaves out this many checks.
pub(crate) fn has(program: &str, checks: usize) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let has = env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !has {
        not_installed(program, checks);
    }
    has
}

/// Leaves out checks: says so past the test harness, which would capture it, or fails in a full run.
pub(crate) fn not_installed(what: &str, checks: usize) {
    assert!(
        env::var_os("CATTLEGRID_NO_SKIP").is_none_or(|value| value != "1"),
        "{what} is not installed, and CATTLEGRID_NO_SKIP=1 allows no skipped check: install it, or unset the variable"
    );
    let _ = writeln!(
        io::stderr(),
        "SKIPPED: {checks} checks, {what} is not installed"
    );
}
