//! Arguments to inputs: files, patterns, folders, `-`.

use std::fs;
use std::fs::Metadata;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::path::PathBuf;

use crate::Problem;

/// Something that can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Stdin,
    File(PathBuf),
}

impl Input {
    /// True for anything but a file on disk.
    pub(crate) fn can_only_be_read_once(&self) -> bool {
        match self {
            Input::Stdin => true,
            Input::File(path) => fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Input::Stdin => "standard input".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }
}

/// How an input was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// By its own name, or by a pattern.
    Itself,
    /// By a folder above it, which may hold other files than logs.
    Folder,
}

/// How deep folders are looked through.
const FOLDER_DEPTH_MAX: usize = 8;

/// Everything the arguments name, each once.
pub(crate) fn find(arguments: &[String], problems: &mut Vec<Problem>) -> Vec<(Input, Naming)> {
    let mut inputs = Vec::new();
    for argument in arguments {
        let path = Path::new(argument);
        if argument == "-" {
            inputs.push((Input::Stdin, Naming::Itself));
        } else if fs::symlink_metadata(path).is_ok() || !argument.contains(['*', '?', '[']) {
            named(path, &mut inputs, problems);
        } else {
            matching(argument, &mut inputs, problems);
        }
    }
    // One file by two names is one file.
    let mut seen = std::collections::BTreeSet::new();
    // The first of equal ones is kept: that with a name of its own.
    inputs.sort_by_key(|(_, naming)| *naming == Naming::Folder);
    inputs.retain(|(input, _)| match input {
        Input::Stdin => seen.insert(PathBuf::from("-")),
        Input::File(path) => seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())),
    });
    inputs
}

/// A path that was written out: its owner wants it read, or wants to know why not.
fn named(path: &Path, inputs: &mut Vec<(Input, Naming)>, problems: &mut Vec<Problem>) {
    let name = path.display().to_string();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => folder(path, 0, inputs, problems),
        Ok(metadata) => match refusal(path, &metadata) {
            None => inputs.push((Input::File(path.to_owned()), Naming::Itself)),
            Some(what) => problems.push(Problem::new(&name, what)),
        },
        Err(error) => problems.push(Problem::new(&name, open_error(&error))),
    }
}

fn matching(pattern: &str, inputs: &mut Vec<(Input, Naming)>, problems: &mut Vec<Problem>) {
    let before = inputs.len() + problems.len();
    match glob::glob(pattern) {
        Ok(paths) => paths
            .flatten()
            .for_each(|path| named(&path, inputs, problems)),
        Err(error) => problems.push(Problem::new(
            pattern,
            format!("is no valid pattern: {error}"),
        )),
    }
    if inputs.len() + problems.len() == before {
        problems.push(Problem::new(pattern, "matches no file"));
    }
}

/// All regular files below a folder. What else lies there is passed over.
fn folder(
    path: &Path,
    depth: usize,
    inputs: &mut Vec<(Input, Naming)>,
    problems: &mut Vec<Problem>,
) {
    let name = path.display().to_string();
    if depth > FOLDER_DEPTH_MAX {
        problems.push(Problem::new(
            &name,
            "lies too deep; name it as an argument of its own",
        ));
        return;
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return problems.push(Problem::new(&name, open_error(&error))),
    };
    let before = inputs.len();
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // Links inside a folder are not followed: they may lead in a circle, or count a file twice.
        match fs::symlink_metadata(&path) {
            _ if hidden => {}
            Ok(metadata) if metadata.is_dir() => folder(&path, depth + 1, inputs, problems),
            Ok(metadata) if metadata.is_file() => {
                inputs.push((Input::File(path), Naming::Folder));
            }
            _ => {}
        }
    }
    if depth == 0 && inputs.len() == before {
        problems.push(Problem::new(&name, "is a folder without files"));
    }
}

/// Why a path that exists is not read.
fn refusal(path: &Path, metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    // A shell's <(command) is a pipe with a writer at its end; any other pipe may never say anything.
    let from_shell = path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd");
    if metadata.is_file() || (kind.is_fifo() && from_shell) {
        None
    } else if kind.is_fifo() {
        Some("is a named pipe, which may never end; pass it as standard input: … - < PIPE")
    } else if kind.is_socket() {
        Some("is a socket, not a log file")
    } else {
        Some("is a device, not a log file")
    }
}

pub(crate) fn open_error(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            "may not be read by you; try as a user of the log's group (often adm)".to_owned()
        }
        _ => format!("cannot be opened: {error}"),
    }
}
