//! `plan`: what containment would have cost people and stopped of crawlers, on old logs.

use std::io;
use std::process::ExitCode;

use cattlegrid_core::rehearsal::Rehearsal;
use cattlegrid_report::write_plan;
use cattlegrid_report::write_plan_html;
use cattlegrid_report::write_plan_json;

use crate::cli::PlanArgs;
use crate::files::is_stdout;
use crate::files::write_whole;
use crate::logs;
use crate::second;

pub(crate) fn run(arguments: &PlanArgs) -> anyhow::Result<ExitCode> {
    let mut settings = logs::settings(&arguments.log)?;
    let mut limits = settings.limits.clone();
    limits.k1 = arguments.k1.unwrap_or(limits.k1);
    limits.k2 = arguments.k2.unwrap_or(limits.k2);
    limits.check().map_err(anyhow::Error::msg)?;
    settings.keep_bands = true;
    let (read, mut second) = second::read_plain(&arguments.log, settings)?;
    let span = read.report.span.unwrap_or_default();
    let mut rehearsal = Rehearsal::new(limits, &read.report.bands, span);
    drop(read.report);
    second.replay(&arguments.log, |record| rehearsal.observe(record))?;
    let plan = rehearsal.finish();
    if let Some(path) = &arguments.html {
        write_whole(path, |file| write_plan_html(&plan, file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => write_plan_json(&plan, &mut io::stdout().lock())?,
        other => {
            if let Some(path) = other {
                write_whole(path, |file| write_plan_json(&plan, file))?;
            }
            if !arguments.log.quiet {
                write_plan(&plan, &mut io::stdout().lock())?;
            }
        }
    }
    Ok(ExitCode::from(if read.is_incomplete { 2 } else { 0 }))
}
