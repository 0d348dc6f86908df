//! The backup beside a base: kept after each change, brought back by one step that a crash cannot halve.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::backup::Backup;
use rusqlite::backup::StepResult;

use super::Base;
use super::CHANGES_DAYS;
use super::open::beside;
use super::open::io_fault;
use super::open::move_into_place;
use super::rows;
use crate::fault::Fault;

impl Base {
    /// Where the backup of a base is.
    pub fn backup(path: &Path) -> PathBuf {
        beside(path, ".backup")
    }

    /// Keeps a backup beside the base. A backup that this base has not grown from may be all that is left of another: it is set aside
    /// under a name that is given back.
    pub fn keep_copy(&self) -> Result<Option<PathBuf>, Fault> {
        let place = Base::backup(&self.path);
        let mut aside = None;
        if self.is_foreign(&place)? {
            let name = free_name(&self.path, ".backup");
            fs::rename(&place, &name).map_err(|error| io_fault(&place, &error))?;
            aside = Some(name);
        }
        self.copy_to(&place)?;
        Ok(aside)
    }

    /// Whether the last changes of a backup are not among the changes of this base, or cannot be read: another version may be able to.
    /// Changes older than 90 days are forgotten; then their numbers, which are never used again, must do.
    fn is_foreign(&self, place: &Path) -> Result<bool, Fault> {
        if !place.exists() {
            return Ok(false);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let saved = Base::connect(place, flags).and_then(|saved| {
            let next = rows::next_batch(&saved.connection);
            let next = next.map_err(|error| saved.fault(&error))?;
            Ok((next, saved.changes(1)?.pop()))
        });
        let Ok((saved_next, last)) = saved else {
            return Ok(true);
        };
        let fault = |error: rusqlite::Error| self.fault(&error);
        if rows::next_batch(&self.connection).map_err(fault)? < saved_next {
            return Ok(true);
        }
        let Some(last) = last else {
            return Ok(false);
        };
        if rows::knows(&self.connection, &last).map_err(fault)? {
            return Ok(false);
        }
        let newest = self.changes(1)?.pop().map_or(0, |newest| newest.time);
        Ok(newest.saturating_sub(last.time) <= CHANGES_DAYS * 86_400)
    }

    /// Puts the backup in the place of a base. What was there is kept under another name, which is given back.
    ///
    /// A program that is killed meanwhile leaves the base as it was, or the backup in its place.
    pub fn restore(path: &Path) -> Result<(Base, Option<PathBuf>), Fault> {
        let saved = Base::open(&Base::backup(path))?;
        let kept = free_name(path, ".damaged");
        let kept = match Base::open(path) {
            Ok(mut old) => {
                old.copy_to(&kept)?;
                old.take_over(&saved)?;
                Some(kept)
            }
            Err(
                Fault::Missing(_)
                | Fault::Vanished(..)
                | Fault::Damaged(..)
                | Fault::NotABase(..)
                | Fault::Newer(..),
            ) => {
                let are_kept = keep_files(path, &kept)?;
                replace(path, &saved)?;
                are_kept.then_some(kept)
            }
            Err(fault) => return Err(fault),
        };
        Ok((Base::open_or_create(path)?, kept))
    }

    /// Takes over what another base holds, in one transaction: whoever reads meanwhile sees the one or the other.
    fn take_over(&mut self, other: &Base) -> Result<(), Fault> {
        let path = self.path.clone();
        let copied = copy_pages(&other.connection, &mut self.connection);
        match copied.map_err(|error| Fault::of(&path, &error))? {
            StepResult::Done => Ok(()),
            _ => Err(Fault::Busy(path)),
        }
    }
}

fn copy_pages(from: &Connection, to: &mut Connection) -> rusqlite::Result<StepResult> {
    // A negative number is all pages.
    Backup::new(from, to)?.step(-1)
}

/// The first of `NAME-1`, `NAME-2`… that is not there.
fn free_name(path: &Path, end: &str) -> PathBuf {
    (1..)
        .map(|number| beside(path, &format!("{end}-{number}")))
        .find(|name| !name.exists() && !beside(name, "-wal").exists())
        .unwrap_or_else(|| beside(path, end))
}

/// Copies the files of a base that SQLite cannot read, as they are, and says whether there were any.
fn keep_files(path: &Path, kept: &Path) -> Result<bool, Fault> {
    let mut any = false;
    for end in ["-wal", ""] {
        let (from, to) = (beside(path, end), beside(kept, end));
        if from.is_dir() {
            let what = "it is a folder; move it away first".to_owned();
            return Err(Fault::NotABase(from, what));
        }
        if from.exists() {
            let part = beside(&to, ".part");
            let copied = fs::copy(&from, &part).and_then(|_| move_into_place(&part, &to));
            copied.map_err(|error| io_fault(&to, &error))?;
            any = true;
        }
    }
    Ok(any)
}

/// Puts a copy of a base in the place of files that are no base. The old log goes first: SQLite would read it as the new base's.
fn replace(path: &Path, saved: &Base) -> Result<(), Fault> {
    let other = |error: std::io::Error| io_fault(path, &error);
    let new = beside(path, ".new");
    saved.copy_to(&new)?;
    for end in ["-wal", "-shm"] {
        match fs::remove_file(beside(path, end)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(other(error));
            }
            _ => {}
        }
    }
    move_into_place(&new, path).map_err(other)
}
