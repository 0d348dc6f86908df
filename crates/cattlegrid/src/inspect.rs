//! `inspect`: everything about one source.

use std::io;
use std::process::ExitCode;

use anyhow::bail;
use cattlegrid_report::write_inspection;
use cattlegrid_report::write_inspection_html;
use cattlegrid_report::write_inspection_json;

use crate::cli::InspectArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::logs;

pub(crate) fn run(arguments: &InspectArgs) -> anyhow::Result<ExitCode> {
    let mut settings = logs::settings(&arguments.log)?;
    settings.focus = Some(arguments.source.clone());
    let read = logs::read(&arguments.log, settings)?;
    let Some(inspection) = &read.report.inspection else {
        bail!(
            "there is no request from {} among the {} in these logs; give the source as 'analyze' prints it (an IPv6 address stands for its /64 network)",
            cattlegrid_core::text::printable(arguments.source.as_bytes()),
            read.report.lines.parsed
        );
    };
    if let Some(path) = &arguments.html {
        write_whole(path, |file| write_inspection_html(inspection, file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => {
            write_inspection_json(inspection, &mut io::stdout().lock())?;
        }
        other => {
            if let Some(path) = other {
                write_whole(path, |file| write_inspection_json(inspection, file))?;
            }
            write_inspection(inspection, &mut io::stdout().lock())?;
        }
    }
    Ok(ExitCode::from(if read.is_incomplete { 2 } else { 0 }))
}
