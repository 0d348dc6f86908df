//! Opening: every file is taken for damaged or foreign until it has shown that it is not.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::Transaction;
use rusqlite::config::DbConfig;
use rusqlite_migration::M;
use rusqlite_migration::Migrations;

use super::Base;
use super::Change;
use super::Session;
use super::rows;
use crate::fault::Fault;

/// Marks the file as ours: `CGkb`.
const APPLICATION: i32 = 0x4347_6b62;
/// Layouts that this program knows.
const LAYOUTS: usize = 2;
/// How long a writer waits for another.
pub(super) const WRITE_PATIENCE: Duration = Duration::from_millis(900);
/// How long others wait: whoever closes a base last moves its log into the file, and nobody reads until the disk has taken that.
pub(super) const READ_PATIENCE: Duration = Duration::from_secs(10);

/// Whether a log stays beside its file when the file is closed.
const KEEPS_LOG: DbConfig = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;

fn migrations() -> Migrations<'static> {
    Migrations::new(vec![
        M::up(rows::LAYOUT_1),
        M::up_with_hook(rows::LAYOUT_2, |transaction: &Transaction<'_>| {
            Ok(take_back_older_rule(transaction)?)
        }),
    ])
}

/// Entries that allowed people before crowds were told from single browsers are taken back, as a change that the log shows and that can be
/// undone. A crowd gets a new one at the next judgement.
fn take_back_older_rule(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let by_older_rule = rows::entries(transaction)?
        .into_iter()
        .filter(|known| known.entry.is_of_older_rule())
        .map(|known| Change::Remove(known.entry.subject));
    let changes: Vec<Change> = by_older_rule.collect();
    let now = transaction.query_row("SELECT unixepoch()", [], |row| row.get(0))?;
    let mut session = Session::begin(
        transaction,
        "new layout: allowed by an older rule, without evidence of a crowd",
        now,
    )?;
    for change in &changes {
        session.make(change)?;
    }
    session.end().map(|_| ())
}

impl Base {
    /// Opens a base that is there, and reads it whole to see that it is sound.
    pub fn open(path: &Path) -> Result<Base, Fault> {
        look_at(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut base = Base::connect(path, flags)?;
        base.update_layout()?;
        base.check()?;
        let set = base.connection.set_db_config(KEEPS_LOG, false);
        set.map_err(|error| base.fault(&error))?;
        Ok(base)
    }

    /// The number that the next changes get: whoever has read the base after asking for it knows all changes while it stays the same.
    pub fn next_batch(path: &Path) -> Result<i64, Fault> {
        look_at(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let base = Base::connect(path, flags)?;
        let next = rows::next_batch(&base.connection);
        next.map_err(|error| base.fault(&error))
    }

    /// Opens a base, or makes a new one where there is no file.
    pub fn open_or_create(path: &Path) -> Result<Base, Fault> {
        if path.symlink_metadata().is_err() {
            Base::create(path)?;
        }
        let base = Base::open(path)?;
        // Readers and the writer do not wait for each other.
        let set = base.connection.pragma_update(None, "journal_mode", "wal");
        set.map_err(|error| base.fault(&error))?;
        Ok(base)
    }

    /// Makes a new base beside its place and puts it there whole: a program that is killed meanwhile leaves no half of one, which
    /// would be refused from then on.
    fn create(path: &Path) -> Result<(), Fault> {
        let log = beside(path, "-wal");
        if log.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(Fault::Damaged(
                path.to_owned(),
                format!(
                    "the file is missing, but {} is there with what was written last",
                    log.display()
                ),
            ));
        }
        if Base::backup(path).exists() {
            return Err(Fault::Vanished(path.to_owned(), Base::backup(path)));
        }
        if let Some(folder) = path.parent() {
            // Where that fails, the next step says what it cannot write.
            let _ = fs::create_dir_all(folder);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut base = Base::connect(Path::new(":memory:"), flags)?;
        let fault = |error: rusqlite::Error| Fault::of(path, &error);
        let mark = base
            .connection
            .pragma_update(None, "application_id", APPLICATION);
        mark.map_err(fault)?;
        base.update_layout()?;
        let new = beside(path, &format!(".new-{}", std::process::id()));
        base.copy_to(&new)?;
        // Another program may have made one since: a link, unlike a renaming, never takes the place of a file.
        let put = match fs::hard_link(&new, path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(_) => fs::rename(&new, path),
            Ok(()) => Ok(()),
        };
        let _ = fs::remove_file(&new);
        put.and_then(|()| sync_folder(path))
            .map_err(|error| io_fault(path, &error))
    }

    pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Base, Fault> {
        let fault = |error: rusqlite::Error| Fault::of(path, &error);
        let connection = Connection::open_with_flags(path, flags).map_err(fault)?;
        connection.busy_timeout(READ_PATIENCE).map_err(fault)?;
        // A log beside a file that is no base must not get into it when this is closed.
        connection.set_db_config(KEEPS_LOG, true).map_err(fault)?;
        // What is confirmed must survive a power failure; a damaged row must be an error and never an answer.
        connection
            .execute_batch(
                "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;",
            )
            .map_err(fault)?;
        Ok(Base {
            path: path.to_owned(),
            connection,
            is_broken: false,
        })
    }

    fn number(&self, pragma: &str) -> rusqlite::Result<i32> {
        self.connection
            .pragma_query_value(None, pragma, |row| row.get(0))
    }

    /// Brings the tables to this program's layout. The file as it was is kept.
    fn update_layout(&mut self) -> Result<(), Fault> {
        let application = self.number("application_id");
        let application = application.map_err(|error| self.fault(&error))?;
        if application != APPLICATION {
            return Err(Fault::NotABase(
                self.path.clone(),
                "it is a database of another program".to_owned(),
            ));
        }
        let layout = self.number("user_version");
        let layout = layout.map_err(|error| self.fault(&error))? as usize;
        if layout > LAYOUTS {
            return Err(Fault::Newer(self.path.clone(), layout));
        }
        if layout == LAYOUTS {
            return Ok(());
        }
        if layout > 0 {
            self.copy_to(&beside(&self.path, &format!(".layout-{layout}")))?;
        }
        migrations()
            .to_latest(&mut self.connection)
            .map_err(|error| match error {
                rusqlite_migration::Error::RusqliteError { err, .. } => self.fault(&err),
                other => Fault::Other(self.path.clone(), other.to_string()),
            })
    }

    /// Reads everything: SQLite's own check, every seal, and that no row is missing or doubled.
    pub fn check(&self) -> Result<(), Fault> {
        let damaged = |what: String| Fault::Damaged(self.path.clone(), what);
        let fault = |error: rusqlite::Error| self.fault(&error);
        // All of it as it was at one moment, whatever others write meanwhile; ends when this returns.
        let _reading = self.connection.unchecked_transaction().map_err(fault)?;
        let answer: String = self
            .connection
            .pragma_query_value(None, "integrity_check", |row| row.get(0))
            .map_err(fault)?;
        if answer != "ok" {
            let first = answer.lines().next().unwrap_or_default().to_owned();
            return Err(damaged(first));
        }
        let counted = rows::count_all(&self.connection).map_err(fault)?;
        for (what, counted) in ["entries", "changes"].into_iter().zip(counted) {
            let written = rows::total(&self.connection, what).map_err(fault)?;
            if written != counted {
                return Err(damaged(format!(
                    "{} {what} are there, {} were written",
                    counted.rows, written.rows
                )));
            }
        }
        Ok(())
    }

    /// Writes a whole copy to a file, in place of what is there.
    pub fn copy_to(&self, path: &Path) -> Result<(), Fault> {
        let part = beside(path, ".part");
        let other = |error: std::io::Error| io_fault(path, &error);
        discard(&part).map_err(other)?;
        let copied = self
            .connection
            .execute("VACUUM INTO ?", [part.to_string_lossy()])
            .map_err(|error| Fault::of(path, &error))
            .and_then(|_| move_into_place(&part, path).map_err(other));
        if copied.is_err() {
            // Half a copy is of no use, and takes the space that may be what was missing.
            let _ = discard(&part);
        }
        copied
    }
}

/// Removes half a copy, where there is one, with the journal that SQLite wrote it with.
fn discard(part: &Path) -> std::io::Result<()> {
    for end in ["-journal", ""] {
        match fs::remove_file(beside(part, end)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Puts a written file in the place of another, so that after a power failure one of them is there whole.
pub(super) fn move_into_place(part: &Path, path: &Path) -> std::io::Result<()> {
    File::open(part)?.sync_all()?;
    fs::rename(part, path)?;
    sync_folder(path)
}

/// A name is on the disk only when its folder is.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

pub(super) fn io_fault(path: &Path, error: &std::io::Error) -> Fault {
    match error.kind() {
        std::io::ErrorKind::StorageFull => Fault::Full(path.to_owned()),
        _ => Fault::Other(path.to_owned(), error.to_string()),
    }
}

pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Looks at a file before SQLite does: it would take an empty one for a new base, and make one in place of what is missing.
fn look_at(path: &Path) -> Result<(), Fault> {
    let not_ours = |what: &str| Err(Fault::NotABase(path.to_owned(), what.to_owned()));
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(match Base::backup(path).exists() {
                true => Fault::Vanished(path.to_owned(), Base::backup(path)),
                false => Fault::Missing(path.to_owned()),
            });
        }
        Err(error) => return Err(Fault::Other(path.to_owned(), error.to_string())),
    };
    if metadata.is_dir() {
        return not_ours("it is a folder");
    }
    if !metadata.is_file() {
        return not_ours("it is no file");
    }
    if metadata.len() == 0 {
        return not_ours(
            "it is empty; remove it to begin anew, or bring back the last sound copy with 'cattlegrid kb restore'",
        );
    }
    // Whether it begins as one is for SQLite to see. To open it here would be worse than useless: when this program closed it, the system
    // would drop the locks of all its other connections, and another program could write meanwhile.
    Ok(())
}
