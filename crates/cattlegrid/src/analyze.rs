//! `analyze`: logs in, verdicts out.

use std::fs::File;
use std::io;
use std::process::ExitCode;

use anyhow::Context;
use cattlegrid_core::Report;
use cattlegrid_core::pseudonyms::Pseudonyms;
use cattlegrid_core::verdict::Class;
use cattlegrid_report::TextOptions;
use cattlegrid_report::write_html;
use cattlegrid_report::write_json;
use cattlegrid_report::write_text;

use crate::cli::AnalyzeArgs;
use crate::cli::FailOn;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::follow;
use crate::kb;
use crate::logs;

pub(crate) fn run(arguments: &AnalyzeArgs) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !arguments.hidden || !arguments.log.logs.iter().any(|log| log == "-"),
        "--hidden reads the logs twice: give it files instead of standard input"
    );
    let mut settings = logs::settings(&arguments.log)?;
    if let Some(requests) = arguments.min_requests {
        settings.min_requests = requests;
    }
    settings.paper_campaigns = arguments.paper_campaigns;
    if arguments.pseudonymize {
        settings.pseudonyms = Some(Pseudonyms::new(pseudonym_key(arguments)?));
    }
    if arguments.follow {
        anyhow::ensure!(
            !arguments.is_json_to_stdout(),
            "--follow writes the JSON report again and again: give it a file, --json FILE"
        );
        let limits = settings.limits.clone();
        let prepared = logs::prepare(&arguments.log, settings, true)?;
        return follow::run(arguments, prepared, limits);
    }
    let limits = settings.limits.clone();
    let read = match arguments.hidden {
        false => logs::read(&arguments.log, settings)?,
        true => logs::read_twice(&arguments.log, settings)?,
    };
    kb::update(&read.report, arguments, &limits)?;
    write(&read.report, arguments, read.pieces)?;
    Ok(exit_code(&read.report, arguments, read.is_incomplete))
}

/// What the program's end says.
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

/// The owner's key, or one that nobody will know.
fn pseudonym_key(arguments: &AnalyzeArgs) -> anyhow::Result<Vec<u8>> {
    let Some(path) = &arguments.pseudonym_key else {
        let mut key = vec![0; 32];
        File::open("/dev/urandom")
            .and_then(|mut source| io::Read::read_exact(&mut source, &mut key))
            .context("no key could be drawn for the pseudonyms; give one with --pseudonym-key")?;
        return Ok(key);
    };
    let key = std::fs::read(path)
        .with_context(|| format!("the key {} cannot be read", path.display()))?;
    anyhow::ensure!(
        key.len() >= 16,
        "the key {} is shorter than 16 bytes, so that addresses could be guessed; make one: head -c 32 /dev/urandom > {}",
        path.display(),
        path.display()
    );
    Ok(key)
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
        width: 110,
        pieces,
    };
    write_text(report, &options, &mut io::stdout().lock())?;
    Ok(())
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
    fn is_json_to_stdout(&self) -> bool {
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
