//! `analyze`: logs in, verdicts out.

use std::fs::File;
use std::io;
use std::path::Path;
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
use crate::files::write_whole;
use crate::logs;

pub(crate) fn run(arguments: &AnalyzeArgs) -> anyhow::Result<ExitCode> {
    let mut settings = logs::settings(&arguments.log)?;
    if let Some(requests) = arguments.min_requests {
        settings.min_requests = requests;
    }
    if arguments.pseudonymize {
        settings.pseudonyms = Some(Pseudonyms::new(pseudonym_key(arguments)?));
    }
    let read = logs::read(&arguments.log, settings)?;
    let report = &read.report;
    write(report, arguments, read.pieces)?;
    let failed = arguments
        .fail_on
        .is_some_and(|class| report.total(class.class()).sources > 0);
    Ok(match (failed, read.is_incomplete) {
        (_, true) => ExitCode::from(2),
        (true, false) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    })
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

fn write(report: &Report, arguments: &AnalyzeArgs, pieces: Vec<String>) -> anyhow::Result<()> {
    let to_stdout = arguments.json.as_deref() == Some(Path::new("-"));
    match &arguments.json {
        Some(_) if to_stdout => write_json(report, &mut io::stdout().lock())?,
        Some(path) => write_whole(path, |file| write_json(report, file))?,
        None => {}
    }
    if let Some(path) = &arguments.html {
        write_whole(path, |file| write_html(report, file))?;
    }
    if arguments.log.quiet || to_stdout {
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

impl FailOn {
    fn class(self) -> Class {
        match self {
            FailOn::Crawler => Class::Crawler,
            FailOn::Automated => Class::Automated,
            FailOn::Undecided => Class::Undecided,
        }
    }
}
