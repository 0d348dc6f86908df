//! `simulate`: a world whose truth is known, as a log and labels.

use std::cell::Cell;
use std::cell::RefCell;
use std::io;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_worlds::World;
use cattlegrid_worlds::forum;
use cattlegrid_worlds::forum::Forum;
use cattlegrid_worlds::forum::Links;
use cattlegrid_worlds::scene::Fields;
use cattlegrid_worlds::scenes::SceneKind;
use cattlegrid_worlds::world::Kind;
use cattlegrid_worlds::write::write_labels;
use cattlegrid_worlds::write::write_log;

use crate::cli::SimulateArgs;
use crate::files::write_whole;

pub(crate) fn run(arguments: &SimulateArgs) -> anyhow::Result<ExitCode> {
    // Before the folder is made: a misspelt name leaves nothing behind.
    let world = Simulated::named(&arguments.world)?;
    if arguments.common && !matches!(world, Simulated::Scene(_)) {
        bail!(
            "--common is for {}; the other worlds have one format each",
            SceneKind::ALL.map(SceneKind::name).join(", ")
        );
    }
    let folder = &arguments.out;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let (requests, sources) = match world {
        Simulated::Scene(scene) => write_scene(scene, arguments, folder)?,
        Simulated::World(kind) => write_world(&World::new(kind, arguments.seed), folder)?,
        Simulated::Forum => write_forum(&Forum::new(arguments.seed, Links::Plain), folder)?,
    };
    if !arguments.quiet {
        writeln!(
            io::stdout().lock(),
            "{requests} requests of {sources} in {}, what they are in labels.csv beside it",
            folder.join("access.log").display()
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

const FORUM: &str = "forum";

/// What can be simulated.
enum Simulated {
    Scene(SceneKind),
    World(Kind),
    /// The world whose users are signed in: its log names them.
    Forum,
}

impl Simulated {
    fn named(name: &str) -> anyhow::Result<Simulated> {
        let mut scenes = SceneKind::ALL.into_iter();
        match scenes.find(|scene| scene.name() == name) {
            Some(scene) => Ok(Simulated::Scene(scene)),
            None if name == FORUM => Ok(Simulated::Forum),
            None => kind(name).map(Simulated::World),
        }
    }
}

/// Requests, and who sent them.
type Written = (u64, String);

fn write_forum(forum: &Forum, folder: &Path) -> anyhow::Result<Written> {
    write_whole(&folder.join("labels.csv"), |file| {
        let mut out = io::BufWriter::new(file);
        forum::write_labels(forum, &mut out)?;
        out.flush()
    })?;
    let written = Cell::new(0);
    write_whole(&folder.join("access.log"), |file| {
        written.set(forum::write_log(forum, file)?);
        Ok(())
    })?;
    Ok((written.get(), format!("{} users", forum.accounts.len())))
}

fn write_world(world: &World, folder: &Path) -> anyhow::Result<Written> {
    let written = Cell::new(0);
    write_whole(&folder.join("labels.csv"), |file| {
        let mut out = io::BufWriter::new(file);
        write_labels(world, &mut out)?;
        out.flush()
    })?;
    write_whole(&folder.join("access.log"), |file| {
        written.set(write_log(world, file)?);
        Ok(())
    })?;
    let sources = world.actors.len() + world.crowd_sources().len();
    Ok((written.get(), format!("{sources} sources")))
}

fn write_scene(
    kind: SceneKind,
    arguments: &SimulateArgs,
    folder: &Path,
) -> anyhow::Result<Written> {
    let scene = RefCell::new(kind.build(arguments.seed));
    let fields = match arguments.common {
        true => Fields::Common,
        false => Fields::Combined,
    };
    let written = Cell::new(0);
    write_whole(&folder.join("labels.csv"), |file| {
        let mut out = io::BufWriter::new(file);
        scene.borrow().write_labels(&mut out)?;
        out.flush()
    })?;
    write_whole(&folder.join("access.log"), |file| {
        written.set(scene.borrow_mut().write_log(fields, file)?);
        Ok(())
    })?;
    let sources = scene.borrow().parties().len();
    Ok((written.get(), format!("{sources} sources")))
}

/// The kind of world by its name.
pub(crate) fn kind(name: &str) -> anyhow::Result<Kind> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.with_context(|| {
        let line = |name: &str, what: &str| format!("\n  {name:<17} {what}");
        let worlds = Kind::ALL.map(|kind| line(kind.name(), kind.describe()));
        let scenes = SceneKind::ALL.map(|scene| line(scene.name(), scene.describe()));
        format!(
            "there is no world '{name}'; there are:{}{}{}",
            worlds.concat(),
            scenes.concat(),
            line(
                FORUM,
                "a forum with signed-in readers and crawlers, to learn paths from"
            )
        )
    })
}
