//! `simulate`: a world whose truth is known, as a log and labels.

use std::cell::Cell;
use std::io;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use cattlegrid_worlds::World;
use cattlegrid_worlds::world::Kind;
use cattlegrid_worlds::write::write_labels;
use cattlegrid_worlds::write::write_log;

use crate::cli::SimulateArgs;
use crate::files::write_whole;

pub(crate) fn run(arguments: &SimulateArgs) -> anyhow::Result<ExitCode> {
    let kind = kind(&arguments.world)?;
    let folder = &arguments.out;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let world = World::new(kind, arguments.seed);
    let written = Cell::new(0);
    write_whole(&folder.join("labels.csv"), |file| {
        let mut out = io::BufWriter::new(file);
        write_labels(&world, &mut out)?;
        out.flush()
    })?;
    write_whole(&folder.join("access.log"), |file| {
        written.set(write_log(&world, file)?);
        Ok(())
    })?;
    if !arguments.quiet {
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{} requests of {} sources in {}, what they are in labels.csv beside it",
            written.get(),
            world.actors.len() + world.crowd_sources().len(),
            folder.join("access.log").display()
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The kind of world by its name.
pub(crate) fn kind(name: &str) -> anyhow::Result<Kind> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.with_context(|| {
        let all = Kind::ALL.map(|kind| format!("\n  {:<17} {}", kind.name(), kind.describe()));
        format!("there is no world '{name}'; there are:{}", all.concat())
    })
}
