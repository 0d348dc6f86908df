//! Files that the gate keeps for itself.

use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Puts a new file in the place of the old one: after a crash it is the one or the other. Only its owner can read it.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    write_beside(path, write)?.put_in_place()
}

/// A file that is written, and neither on the disk nor in its place yet.
#[derive(Debug)]
pub(super) struct Written {
    file: File,
    new: New,
    path: PathBuf,
}

/// The name of a file that is not in its place yet. It is removed if the write fails: on a full disk it takes the space that was missing.
#[derive(Debug)]
struct New(PathBuf);

impl Drop for New {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes what is to replace a file. That seldom takes long; to put it in its place takes as long as the disk does.
pub(super) fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<Written> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    // A file that was left behind would keep its mode.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let file = options
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&new)?;
    let new = New(new);
    let mut out = BufWriter::with_capacity(1 << 18, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let path = path.to_owned();
    Ok(Written { file, new, path })
}

impl Written {
    /// Waits for the disk and replaces the old file.
    pub(super) fn put_in_place(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.new.0, &self.path)?;
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}
