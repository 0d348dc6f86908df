//! A recording of all that a process did to its files, and the files as a power failure at some moment may leave them.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::Dice;
use crate::child::Told;
use crate::programs::have;

/// The shim, as a library that can be loaded before others.
pub(crate) struct Shim {
    pub(crate) folder: TempDir,
    pub(crate) library: PathBuf,
}

/// Compiles the shim; nothing where there is no compiler.
pub(crate) fn shim() -> Option<Shim> {
    if !have(&["cc"], 1) {
        return None;
    }
    let folder = TempDir::new().unwrap();
    let library = folder.path().join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/shim.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-lpthread")
        .status()
        .unwrap();
    assert!(compiled.success(), "the shim does not compile");
    Some(Shim { folder, library })
}

/// One step. Files are numbered: a number stays the same when a name changes.
enum Step {
    Create(String, usize),
    Write(usize, u64, Range<usize>),
    Cut(usize, u64),
    Sync(usize),
    SyncFolder,
    Rename(String, String),
    Link(String, String),
    Unlink(String),
    Tell(String),
}

/// All steps, in their order.
pub(crate) struct Recording {
    bytes: Vec<u8>,
    steps: Vec<Step>,
}

/// What a power failure has left.
pub(crate) struct Crash {
    /// What had been told until then.
    pub(crate) told: Told,
    /// Writes that are not there as they were made.
    pub(crate) lost: usize,
}

fn number(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

impl Recording {
    pub(crate) fn read(path: &Path) -> Recording {
        let bytes = fs::read(path).unwrap();
        let mut steps = Vec::new();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut files = 0;
        let mut at = 0;
        while at < bytes.len() {
            let kind = bytes[at];
            let name_length = number(&bytes[at + 1..at + 5]) as usize;
            let data_length = number(&bytes[at + 5..at + 9]) as usize;
            let offset = number(&bytes[at + 9..at + 17]);
            let data_start = at + 17 + name_length;
            let data = data_start..data_start + data_length;
            let name = String::from_utf8(bytes[at + 17..data_start].to_vec()).unwrap();
            at = data.end;
            let text = || String::from_utf8(bytes[data.clone()].to_vec()).unwrap();
            if matches!(kind, b'W' | b'T') && !names.contains_key(&name) {
                files += 1;
                names.insert(name.clone(), files);
                steps.push(Step::Create(name.clone(), files));
            }
            steps.push(match kind {
                b'W' => Step::Write(names[&name], offset, data),
                b'T' => Step::Cut(names[&name], offset),
                b'S' if name == "." => Step::SyncFolder,
                // A file that nothing was written to.
                b'S' if !names.contains_key(&name) => continue,
                b'S' => Step::Sync(names[&name]),
                b'A' => Step::Tell(text()),
                b'R' | b'L' | b'U' => rename(kind, name, text(), &mut names),
                _ => panic!("an unknown step: {kind}"),
            });
        }
        Recording { bytes, steps }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The step at which something was told for the first time.
    pub(crate) fn first_told(&self) -> usize {
        let is_told = |step: &Step| matches!(step, Step::Tell(_));
        self.steps.iter().position(is_told).unwrap()
    }

    pub(crate) fn summary(&self) -> String {
        let count = |is: fn(&Step) -> bool| self.steps.iter().filter(|step| is(step)).count();
        format!(
            "{} writes, {} flushes, {} renamings and removals, {} lines told",
            count(|step| matches!(step, Step::Write(..) | Step::Cut(..))),
            count(|step| matches!(step, Step::Sync(_) | Step::SyncFolder)),
            count(|step| matches!(step, Step::Rename(..) | Step::Link(..) | Step::Unlink(_))),
            count(|step| matches!(step, Step::Tell(_))),
        )
    }

    /// Puts the files into a folder as a power failure before a step may leave them: all that was flushed is there; of the rest some is
    /// lost, out of order, or torn.
    pub(crate) fn crash(&self, at: usize, dice: &mut Dice, folder: &Path) -> Crash {
        let past = &self.steps[..at];
        let mut told = Told::default();
        let mut files: BTreeMap<usize, Vec<&Step>> = BTreeMap::new();
        let mut flushed: BTreeMap<usize, usize> = BTreeMap::new();
        for step in past {
            match step {
                Step::Write(file, ..) | Step::Cut(file, _) => {
                    files.entry(*file).or_default().push(step);
                }
                Step::Sync(file) => {
                    flushed.insert(*file, files.get(file).map_or(0, Vec::len));
                }
                Step::Tell(line) => told.hear(line.trim_end()),
                _ => {}
            }
        }
        let mut lost = 0;
        for (name, file) in names_after(past, dice) {
            let steps = files.get(&file).map_or(&[][..], Vec::as_slice);
            let (sure, unsure) = steps.split_at(flushed.get(&file).copied().unwrap_or(0));
            let mut content = Vec::new();
            for step in sure {
                self.take(step, &mut content, |_| true);
            }
            lost += self.take_unsure(unsure, &mut content, dice);
            fs::write(folder.join(name), content).unwrap();
        }
        Crash { told, lost }
    }

    /// Takes over some of what was not flushed.
    fn take_unsure(&self, steps: &[&Step], content: &mut Vec<u8>, dice: &mut Dice) -> usize {
        let mut order: Vec<&Step> = steps.to_vec();
        if dice.below(2) == 0 {
            for last in (1..order.len()).rev() {
                order.swap(last, dice.below(last + 1));
            }
        }
        let sector = [512, 4096][dice.below(2)];
        let mut lost = 0;
        for step in order {
            match dice.below(3) {
                0 => lost += 1,
                1 => self.take(step, content, |_| true),
                _ => {
                    lost += 1;
                    let salt = dice.next();
                    self.take(step, content, |at| Dice(salt ^ (at / sector)).below(2) == 0);
                }
            }
        }
        lost
    }

    /// Does a step, but only at the places that are kept.
    fn take(&self, step: &Step, content: &mut Vec<u8>, is_kept: impl Fn(u64) -> bool) {
        match step {
            Step::Cut(_, length) => content.resize(*length as usize, 0),
            Step::Write(_, at, bytes) => {
                let bytes = &self.bytes[bytes.clone()];
                let mut done = 0;
                while done < bytes.len() {
                    let from = *at as usize + done;
                    // As far as the next border of any sector.
                    let many = (512 - from % 512).min(bytes.len() - done);
                    if is_kept(from as u64) {
                        if content.len() < from + many {
                            content.resize(from + many, 0);
                        }
                        content[from..from + many].copy_from_slice(&bytes[done..done + many]);
                    }
                    done += many;
                }
            }
            _ => {}
        }
    }
}

fn rename(kind: u8, name: String, other: String, names: &mut BTreeMap<String, usize>) -> Step {
    let file = match kind {
        b'L' => names.get(&name).copied(),
        _ => names.remove(&name),
    };
    if kind == b'U' {
        return Step::Unlink(name);
    }
    if let Some(file) = file {
        names.insert(other.clone(), file);
    }
    match kind {
        b'L' => Step::Link(name, other),
        _ => Step::Rename(name, other),
    }
}

/// The names after a power failure. File systems keep changes of names in order, but only those before the last flush of the folder are
/// sure. A new file counts as sure: SQLite flushes the folder with it, and nothing here relies on more.
fn names_after(past: &[Step], dice: &mut Dice) -> BTreeMap<String, usize> {
    let is_sure = |step: &Step| matches!(step, Step::SyncFolder | Step::Create(..));
    let sure = past.iter().rposition(is_sure).map_or(0, |last| last + 1);
    let until = sure + dice.below(past.len() - sure + 1);
    let mut names = BTreeMap::new();
    for step in &past[..until] {
        match step {
            Step::Create(name, file) => {
                names.insert(name.clone(), *file);
            }
            Step::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Step::Link(from, to) => {
                if let Some(file) = names.get(from).copied() {
                    names.insert(to.clone(), file);
                }
            }
            Step::Unlink(name) => {
                names.remove(name);
            }
            _ => {}
        }
    }
    names
}
