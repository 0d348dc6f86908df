//! What can go wrong with the base, in words that say what to do next.

use std::fmt;
use std::path::Path;
use std::path::PathBuf;

use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Why the base could not be read or written. Nothing was changed, unless it says otherwise.
#[derive(Debug)]
pub enum Fault {
    /// There is no such file.
    Missing(PathBuf),
    /// There is no such file, but its backup is there.
    Vanished(PathBuf, PathBuf),
    /// The file is something else.
    NotABase(PathBuf, String),
    /// It was written by a later version of the program.
    Newer(PathBuf, usize),
    /// Another program is writing.
    Busy(PathBuf),
    /// The disk is full.
    Full(PathBuf),
    /// Its content is not what was written.
    Damaged(PathBuf, String),
    /// The disk did not confirm a write: from then on nothing is written.
    Unconfirmed(PathBuf),
    /// What was asked for makes no sense.
    Refused(String),
    /// Anything else.
    Other(PathBuf, String),
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Missing(path) => write!(
                out,
                "there is no knowledge base {}; 'cattlegrid analyze --kb' or 'cattlegrid kb allow|deny' makes one",
                path.display()
            ),
            Fault::Vanished(path, backup) => write!(
                out,
                "the knowledge base {} is missing, but its backup {} is there; 'cattlegrid kb restore --kb {0}' brings it back (to begin with an empty base, move the backup away)",
                path.display(),
                backup.display()
            ),
            Fault::NotABase(path, what) => write!(
                out,
                "{} is no knowledge base: {what}; it was left as it is",
                path.display()
            ),
            Fault::Newer(path, version) => write!(
                out,
                "{} was written by a later version of cattlegrid (layout {version}); use that one, or 'cattlegrid kb export --as json' with it and import here",
                path.display()
            ),
            Fault::Busy(path) => write!(
                out,
                "{} is being written by another program; nothing was changed, try again",
                path.display()
            ),
            Fault::Full(path) => write!(
                out,
                "the disk of {} is full; nothing was changed, and nothing that was confirmed before is lost",
                path.display()
            ),
            Fault::Damaged(path, what) => write!(
                out,
                "{} is damaged: {what}; it was left as it is, and 'cattlegrid kb restore' brings back the last sound copy",
                path.display()
            ),
            Fault::Unconfirmed(path) => write!(
                out,
                "the disk did not confirm a write to {}; it may or may not be there after a restart, and nothing more is written until then. Look at the disk",
                path.display()
            ),
            Fault::Refused(why) => write!(out, "{why}"),
            Fault::Other(path, what) => write!(out, "{}: {what}", path.display()),
        }
    }
}

impl Fault {
    /// The fault behind an error of SQLite.
    pub(crate) fn of(path: &Path, error: &rusqlite::Error) -> Fault {
        let path = path.to_owned();
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return match error {
                // A value of another type than was ever written.
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..) => {
                    Fault::Damaged(path, error.to_string())
                }
                _ => Fault::Other(path, error.to_string()),
            };
        };
        if matches!(
            failure.extended_code,
            ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC
        ) {
            return Fault::Unconfirmed(path);
        }
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Fault::Busy(path),
            ErrorCode::DiskFull => Fault::Full(path),
            ErrorCode::DatabaseCorrupt => Fault::Damaged(path, error.to_string()),
            ErrorCode::CannotOpen => Fault::Other(
                path,
                format!(
                    "it cannot be opened ({error}); check that you may read and write it and its folder, and that the program may open more files"
                ),
            ),
            ErrorCode::NotADatabase => Fault::NotABase(path, "it does not begin as one".to_owned()),
            _ => Fault::Other(path, error.to_string()),
        }
    }
}
