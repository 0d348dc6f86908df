//! Reports of `analyze`, once or again and again: where they are written, and the exit status they lead to.

use std::io;
use std::io::IsTerminal;
use std::process::ExitCode;

use cattlegrid_core::Report;
use cattlegrid_core::verdict::Class;
use cattlegrid_report::TextOptions;
use cattlegrid_report::write_html;
use cattlegrid_report::write_json;
use cattlegrid_report::write_text;

use crate::cli::AnalyzeArgs;
use crate::cli::FailOn;
use crate::files::is_stdout;
use crate::files::write_whole;

/// The exit status of the program.
pub(crate) fn exit_code(report: &Report, arguments: &AnalyzeArgs, is_incomplete: bool) -> ExitCode {
    let failed = arguments
        .fail_on
        .is_some_and(|class| report.total(class.class()).sources > 0);
    match (failed, is_incomplete) {
        (_, true) => ExitCode::from(2),
        (true, false) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    }
}

/// Writes everything that was asked for.
pub(crate) fn write(
    report: &Report,
    arguments: &AnalyzeArgs,
    pieces: Vec<String>,
) -> anyhow::Result<()> {
    write_files(report, arguments)?;
    if arguments.is_json_to_stdout() {
        write_json(report, &mut io::stdout().lock())?;
        return Ok(());
    }
    if arguments.log.quiet {
        return Ok(());
    }
    let options = TextOptions {
        top: arguments.top,
        width: width(),
        pieces,
    };
    write_text(report, &options, &mut io::stdout().lock())?;
    Ok(())
}

/// Columns of the summary: whoever reads it from a pipe or a file wants the whole lines.
fn width() -> usize {
    match io::stdout().is_terminal() {
        true => 110,
        false => 10_000,
    }
}

/// Writes the files that were asked for, each of them whole.
pub(crate) fn write_files(report: &Report, arguments: &AnalyzeArgs) -> anyhow::Result<()> {
    if let Some(path) = &arguments.json
        && !arguments.is_json_to_stdout()
    {
        write_whole(path, |file| write_json(report, file))?;
    }
    if let Some(path) = &arguments.html {
        write_whole(path, |file| write_html(report, file))?;
    }
    Ok(())
}

impl AnalyzeArgs {
    pub(crate) fn is_json_to_stdout(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }
}

impl FailOn {
    fn class(self) -> Class {
        match self {
            FailOn::Crawler => Class::Crawler,
            FailOn::Automated => Class::Automated,
            FailOn::Undecided => Class::Undecided,
        }
    }
}
