//! `paths`: the ways of visitors through a site, and what sealed links do to crawlers.

use std::io;
use std::io::Write;
use std::process::ExitCode;

use cattlegrid_report::suppression::Suppression;
use cattlegrid_worlds::suppression::Figures;
use cattlegrid_worlds::suppression::Plan;

use crate::cli::PathsCommand;
use crate::files::is_stdout;
use crate::files::write_whole;

pub(crate) fn run(command: &PathsCommand) -> anyhow::Result<ExitCode> {
    let PathsCommand::Suppression(arguments) = command;
    let figures = Figures::new(Plan::PAPER, arguments.seed, arguments.runs);
    let suppression = Suppression {
        runs: figures.runs,
        efficiency: &figures.efficiency,
        work: &figures.work,
    };
    if let Some(path) = &arguments.html {
        write_whole(path, |file| suppression.write_html(file))?;
    }
    match &arguments.json {
        Some(path) if is_stdout(path) => suppression.write_json(&mut io::stdout().lock())?,
        json => {
            if let Some(path) = json {
                write_whole(path, |file| suppression.write_json(file))?;
            }
            let mut out = io::stdout().lock();
            suppression.write(&mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
