//! `simulate`: a world whose truth is known, as a log and labels.

use std::cell::Cell;
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
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
use indicatif::DecimalBytes;
use indicatif::ProgressBar;
use indicatif::ProgressBarIter;
use indicatif::ProgressStyle;

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
    let log = Log::new(folder, arguments);
    let (requests, sources) = match world {
        Simulated::Scene(scene) => write_scene(scene, arguments, folder, &log)?,
        Simulated::World(kind) => write_world(&World::new(kind, arguments.seed), folder, &log)?,
        Simulated::Forum => write_forum(&Forum::new(arguments.seed, Links::Plain), folder, &log)?,
    };
    if !arguments.quiet {
        writeln!(
            io::stdout().lock(),
            "{requests} requests of {sources} in {} ({}), what they are in labels.csv beside it",
            log.path.display(),
            DecimalBytes(std::fs::metadata(&log.path)?.len())
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

/// The log that is written. Some worlds make a gigabyte: its length is shown as it grows.
struct Log {
    path: PathBuf,
    length: ProgressBar,
}

impl Log {
    fn new(folder: &Path, arguments: &SimulateArgs) -> Log {
        // Hidden where nobody looks on: indicatif draws on terminals alone.
        let length = match arguments.quiet {
            true => ProgressBar::hidden(),
            false => ProgressBar::no_length(),
        };
        if let Ok(style) = ProgressStyle::with_template("writing access.log: {decimal_bytes}") {
            length.set_style(style);
        }
        Log {
            path: folder.join("access.log"),
            length,
        }
    }

    /// Writes the log, and returns the number of requests in it.
    fn write(
        &self,
        fill: impl Fn(&mut ProgressBarIter<&mut File>) -> io::Result<u64>,
    ) -> anyhow::Result<u64> {
        let written = Cell::new(0);
        write_whole(&self.path, |file| {
            written.set(fill(&mut self.length.wrap_write(file))?);
            Ok(())
        })?;
        self.length.finish_and_clear();
        Ok(written.get())
    }
}

/// Requests, and who sent them.
type Written = (u64, String);

fn write_forum(forum: &Forum, folder: &Path, log: &Log) -> anyhow::Result<Written> {
    write_whole(&folder.join("labels.csv"), |file| {
        let mut out = io::BufWriter::new(file);
        forum::write_labels(forum, &mut out)?;
        out.flush()
    })?;
    let written = log.write(|out| forum::write_log(forum, out))?;
    Ok((written, format!("{} users", forum.accounts.len())))
}

fn write_world(world: &World, folder: &Path, log: &Log) -> anyhow::Result<Written> {
    write_whole(&folder.join("labels.csv"), |file| {
        let mut out = io::BufWriter::new(file);
        write_labels(world, &mut out)?;
        out.flush()
    })?;
    let written = log.write(|out| write_log(world, out))?;
    let sources = world.actors.len() + world.crowd_sources().len();
    Ok((written, format!("{sources} sources")))
}

fn write_scene(
    kind: SceneKind,
    arguments: &SimulateArgs,
    folder: &Path,
    log: &Log,
) -> anyhow::Result<Written> {
    let scene = RefCell::new(kind.build(arguments.seed));
    let fields = match arguments.common {
        true => Fields::Common,
        false => Fields::Combined,
    };
    write_whole(&folder.join("labels.csv"), |file| {
        let mut out = io::BufWriter::new(file);
        scene.borrow().write_labels(&mut out)?;
        out.flush()
    })?;
    let written = log.write(|out| scene.borrow_mut().write_log(fields, out))?;
    let sources = scene.borrow().parties().len();
    Ok((written, format!("{sources} sources")))
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
