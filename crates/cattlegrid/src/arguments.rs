//! Errors in the arguments that the parser cannot see, found before anything is read: outputs that would replace an input or each other, and
//! a knowledge base that does not exist.

use std::path::Path;
use std::path::PathBuf;

use anyhow::bail;
use anyhow::ensure;
use cattlegrid_core::format::Format;
use cattlegrid_input::Looking;
use cattlegrid_input::is_read;

use crate::cli::Command;
use crate::cli::LogArgs;
use crate::files::is_stdout;

/// Files that a command writes, with the flags that name them.
type Outputs<'a> = Vec<(&'static str, &'a Path)>;

/// Checks the arguments of commands that read logs.
pub(crate) fn check(command: &Command) -> anyhow::Result<()> {
    let Some((log, outputs)) = of(command) else {
        return Ok(());
    };
    // Only `analyze` creates one.
    if let Some(path) = &log.kb
        && !matches!(command, Command::Analyze(_))
    {
        ensure!(
            path.exists(),
            "--kb: there is no knowledge base {}; 'cattlegrid analyze --kb' creates one",
            path.display()
        );
    }
    check_outputs(log, &outputs)
}

fn check_outputs(log: &LogArgs, outputs: &[(&'static str, &Path)]) -> anyhow::Result<()> {
    let looking = Looking {
        // A wrong format is an error of its own.
        format: log
            .format
            .as_deref()
            .and_then(|format| Format::parse(format).ok()),
        ..Looking::default()
    };
    for (at, (flag, path)) in outputs.iter().enumerate() {
        if is_stdout(path) {
            ensure!(
                *flag == "--json",
                "{flag} needs a file name; only --json accepts - for standard output"
            );
            continue;
        }
        // What is written to a device replaces nothing.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            continue;
        }
        let mut others = outputs[..at].iter();
        if let Some((other, _)) = others.find(|(_, other)| place(other) == place(path)) {
            bail!(
                "{other} and {flag} both write to {}; name two different files",
                path.display()
            );
        }
        ensure!(
            !is_read(path, &log.logs, &looking),
            "{flag}: {} is one of the input logs, and writing would replace it; name another file",
            path.display()
        );
    }
    Ok(())
}

/// Where a file is, or will be, whichever way its name goes.
fn place(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    let place = path.canonicalize().ok().or_else(of_folder);
    place.unwrap_or_else(|| path.to_owned())
}

/// The logs that a command reads, and what it writes.
fn of(command: &Command) -> Option<(&LogArgs, Outputs<'_>)> {
    let (log, outputs) = match command {
        Command::Analyze(of) => (&of.log, vec![("--json", &of.json), ("--html", &of.html)]),
        Command::Report(of) => (
            &of.log,
            vec![
                ("--json", &of.json),
                ("--html", &of.html),
                ("--write-human-log", &of.write_human_log),
            ],
        ),
        Command::Inspect(of) => (&of.log, vec![("--json", &of.json), ("--html", &of.html)]),
        Command::Plan(of) => (&of.log, vec![("--json", &of.json), ("--html", &of.html)]),
        Command::Replay(of) => (
            &of.log,
            vec![
                ("--json", &of.json),
                ("--html", &of.html),
                ("--report", &of.report),
            ],
        ),
        Command::Train(of) => (
            &of.log,
            vec![
                ("--out", &of.out),
                ("--out-settings", &of.out_settings),
                ("--labels-out", &of.labels_out),
            ],
        ),
        Command::Evaluate(of) => (
            &of.log,
            vec![
                ("--json", &of.json),
                ("--html", &of.html),
                ("--calibration", &of.calibration),
            ],
        ),
        _ => return None,
    };
    let given = outputs
        .into_iter()
        .filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
    Some((log, given.collect()))
}
