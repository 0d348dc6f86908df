//! Pages as they are in the wild: all that folders on this machine hold, which `CATTLEGRID_PAGES` names (parted by colons). Documentation
//! of compilers and packages is made by dozens of programs.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use cattlegrid_marker::Style;
use cattlegrid_marker::invariants;

/// Pages that are taken, from all folders alike, and the largest.
const PAGES: usize = 2000;
const BYTES_MAX: u64 = 1 << 20;

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let is_page = path.extension().is_some_and(|ending| ending == "html");
        if kind.is_dir() {
            collect(&path, found);
        } else if kind.is_file() && is_page {
            found.push(path);
        }
    }
}

/// Some of the pages of a folder, spread over it.
fn some_of(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, &mut found);
    found.retain(|path| path.metadata().is_ok_and(|data| data.len() <= BYTES_MAX));
    found.sort();
    let step = found.len().div_ceil(most).max(1);
    found.into_iter().step_by(step).collect()
}

#[test]
fn h121_saved_pages_come_back_whole() {
    let folders = std::env::var_os("CATTLEGRID_PAGES").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let pages = folders
        .iter()
        .flat_map(|folder| some_of(folder, PAGES / folders.len()));
    let (mut count, mut links, mut without) = (0_u64, 0, 0_u64);
    for (path, number) in pages.zip(0_u32..) {
        let page = std::fs::read(&path).unwrap();
        let seed = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
        invariants::pages(&[&seed[..], &page].concat());
        let (_, outcome) = invariants::rewritten(&page, Style::Query, &[usize::MAX], 1 << 20);
        count += 1;
        links += outcome.marked;
        without += u64::from(outcome.marked == 0);
    }
    let said = match count {
        0 => "SKIPPED: 1 check, CATTLEGRID_PAGES names no folder with pages\n".to_owned(),
        _ => format!("{count} saved pages, {links} links, {without} pages without\n"),
    };
    // Past the test's capture: a run must show what it did not check.
    std::io::stderr().write_all(said.as_bytes()).unwrap();
    assert!(count == 0 || links > count, "{said}");
}
