//! The key file: read with care, replaced whole.

use std::fmt::Write as _;
use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Write as _;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

use zeroize::Zeroizing;

use super::Cause;
use super::KEY_BYTES;
use super::KeyFault;

/// Sixteen keys with remarks need far less.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// The file's text, unless others can reach it.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<String>, KeyFault> {
    let unreadable = |cause| KeyFault::new(path, Cause::Unreadable(cause));
    let file = File::open(path).map_err(unreadable)?;
    #[cfg(unix)]
    {
        // The opened file is asked, not its name: another may take the name in between.
        let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyFault::new(path, Cause::OpenToOthers(mode)));
        }
    }
    // Room for all of it, so that no copy is left behind where the text grows.
    let mut text = Zeroizing::new(String::with_capacity(FILE_BYTES_MAX as usize + 1));
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let what = "the file is larger than 64 KiB and no key file";
        return Err(KeyFault::new(path, Cause::Malformed { line: 1, what }));
    }
    Ok(text)
}

/// Writes a file that was not there. Where another process was faster its file stays: both then use the same key.
pub(crate) fn create(path: &Path, text: &str) -> Result<(), KeyFault> {
    write(path, text, |written| match fs::hard_link(written, path) {
        Ok(()) => fs::remove_file(written),
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => fs::remove_file(written),
        // Not every file system has links.
        Err(_) => fs::rename(written, path),
    })
}

/// Puts a new text in the place of the old one: after a crash the file is the one or the other.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), KeyFault> {
    write(path, text, |written| fs::rename(written, path))
}

fn write(path: &Path, text: &str, place: impl Fn(&Path) -> io::Result<()>) -> Result<(), KeyFault> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(name);
    let attempt = || {
        // A file that a killed process of the same number left behind would keep its mode.
        match fs::remove_file(&beside) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let mut file = options.open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        place(&beside)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()
    };
    attempt().map_err(|cause| {
        // Nothing can be done about a leftover that cannot be removed either; the fault itself is told.
        let _ = fs::remove_file(&beside);
        KeyFault::new(path, Cause::Unwritable(cause))
    })
}

/// A new key, drawn at random, as 64 hex digits.
pub(crate) fn draw(path: &Path) -> Result<Zeroizing<String>, KeyFault> {
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    let drawn = getrandom::fill(bytes.as_mut_slice());
    drawn.map_err(|cause| KeyFault::new(path, Cause::NoRandomness(io::Error::other(cause))))?;
    let mut digits = Zeroizing::new(String::with_capacity(2 * KEY_BYTES));
    for byte in bytes.iter() {
        // Writing to a text cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}

/// The line of a key that is drawn now.
pub(super) fn line(id: u8, unix: u64, path: &Path) -> Result<Zeroizing<String>, KeyFault> {
    let digits = draw(path)?;
    let mut line = Zeroizing::new(String::with_capacity(128));
    // Writing to a text cannot fail.
    let _ = writeln!(line, "{id} {} active {unix}", digits.as_str());
    Ok(line)
}

/// Adds a line of the old file, as one that signs or as one that only checks.
pub(super) fn append(text: &mut String, line: &str, may_sign: bool) {
    for (index, word) in line.split_ascii_whitespace().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(match (index, may_sign) {
            (2, false) => "old",
            _ => word,
        });
    }
    text.push('\n');
}

/// The key that 64 hex digits spell.
pub(crate) fn from_hex(text: &str) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let digits = text.as_bytes();
    if digits.len() != 2 * KEY_BYTES {
        return None;
    }
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        *byte = (value(pair[0])? << 4 | value(pair[1])?) as u8;
    }
    Some(bytes)
}
