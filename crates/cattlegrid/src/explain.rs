//! `explain` and `config show`: what the program knows about itself.

use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use cattlegrid_core::Settings;
use cattlegrid_core::detectors::SPECS;
use cattlegrid_gate::Setup;

pub(crate) fn run(detector: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let Some(name) = detector else {
        for spec in &SPECS {
            let manual = spec.manual();
            writeln!(
                out,
                "{:<22} {}",
                spec.name,
                manual.lines().nth(2).unwrap_or_default()
            )?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
        let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        bail!("there is no detector '{name}'; known: {}", names.join(", "));
    };
    out.write_all(spec.manual().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn show_defaults() -> anyhow::Result<ExitCode> {
    io::stdout()
        .lock()
        .write_all((Settings::manual() + Setup::manual()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
