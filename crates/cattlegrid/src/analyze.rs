//! `analyze`: logs in, verdicts out.

use std::fs::File;
use std::io;
use std::process::ExitCode;

use anyhow::Context;
use cattlegrid_core::pseudonyms::Pseudonyms;

use crate::cli::AnalyzeArgs;
use crate::follow;
use crate::kb;
use crate::logs;
use crate::reports;
use crate::second;

pub(crate) fn run(arguments: &AnalyzeArgs) -> anyhow::Result<ExitCode> {
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
    let read = if arguments.hidden {
        second::read_hidden(&arguments.log, settings)?
    } else if arguments.html.is_some() {
        second::read_panels(&arguments.log, settings)?
    } else {
        logs::read(&arguments.log, settings)?
    };
    kb::update(&read.report, arguments, &limits)?;
    reports::write(&read.report, arguments, read.pieces)?;
    Ok(reports::exit_code(
        &read.report,
        arguments,
        read.is_incomplete,
    ))
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
