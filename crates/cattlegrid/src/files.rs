//! Files that are whole or not there, and the beginning of those that others wrote.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::Context;

/// True for the `-` that stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The text without the byte order mark that some editors put before it: it is no part of the first line.
pub(crate) fn without_mark(mut text: String) -> String {
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    text
}

/// A file is whole or not there: it takes its name only once it lies on the disk.
pub(crate) fn write_whole(
    path: &Path,
    fill: impl Fn(&mut File) -> io::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    // A device or a pipe has no half-written state to hide, and must not be replaced by a file.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let mut file = File::options()
            .write(true)
            .open(path)
            .with_context(failed)?;
        return fill(&mut file).with_context(failed);
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&name);
    let written = File::create(part).and_then(|mut file| {
        fill(&mut file)?;
        file.sync_all()
    });
    written
        .and_then(|()| std::fs::rename(part, path))
        .with_context(failed)
        .inspect_err(|_| drop(std::fs::remove_file(part)))
}
