//! `gate` and `check`: the gate's settings file, and what it learns with.

use std::hash::BuildHasher;
use std::hash::RandomState;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Settings;
use cattlegrid_core::policy::Crawlers;
use cattlegrid_gate::History;
use cattlegrid_gate::Learner;
use cattlegrid_gate::Loaded;
use cattlegrid_gate::Setup;
use cattlegrid_input::BLOCK_BYTES;
use cattlegrid_input::Looking;
use cattlegrid_input::plan;
use tracing_subscriber::EnvFilter;

use crate::cli::CONFIG;
use crate::cli::GateArgs;
use crate::gate_file::default_places;
use crate::gate_file::parse;
use crate::gate_file::read;
use crate::kb;
use crate::lists;
use crate::logs;
use crate::model;

/// Says what is wrong with a settings file, and nothing else.
pub(crate) fn check(config: &Path) -> anyhow::Result<ExitCode> {
    let errors = match load(config) {
        Ok(loaded) => cattlegrid_gate::check(&loaded),
        Err(errors) => errors,
    };
    let mut out = io::stdout().lock();
    if errors.is_empty() {
        writeln!(out, "{}: valid", config.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    for error in &errors {
        writeln!(out, "{}: {error}", config.display())?;
    }
    Ok(ExitCode::FAILURE)
}

/// Where the gate's settings come from.
#[derive(Debug, Clone)]
enum Given {
    /// A file, read again at every reload.
    File(PathBuf),
    /// The command line, as the text of a file.
    Line(String),
}

impl Given {
    fn of(arguments: &GateArgs) -> anyhow::Result<Given> {
        let Some(to) = &arguments.to else {
            let of_environment = || std::env::var_os(CONFIG).map(PathBuf::from);
            let file = arguments.config.clone().or_else(of_environment);
            return file
                .map(Given::File)
                .context("say --config FILE or --to URL");
        };
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mode = match arguments.enforce {
            true => "enforce",
            false => "shadow",
        };
        let places = default_places().context(
            "there is no home folder for the gate's state; write a settings file with 'state' (docs/gate.md)",
        )?;
        Ok(Given::Line(format!(
            "[gate]\nmode = \"{mode}\"\nstate = {}\n[[gate.listen]]\naddress = \"{}\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = {}\n",
            quoted(&places.state.to_string_lossy()),
            arguments.listen,
            quoted(to),
        )))
    }

    fn load(&self) -> Result<Loaded, Vec<String>> {
        match self {
            Given::File(path) => load(path),
            // Lines of a file that nobody wrote say nothing.
            Given::Line(text) => parse(text)
                .and_then(loaded)
                .map_err(|errors| errors.iter().map(|error| without_line(error)).collect()),
        }
    }

    /// What the gate says when it cannot start. Only errors of a file need its name.
    fn all(&self, errors: &[String]) -> String {
        match self {
            Given::File(path) => all(path, errors),
            Given::Line(_) => cannot_start(errors.iter().cloned()),
        }
    }
}

/// An error without the number of its line.
fn without_line(error: &str) -> String {
    match error.split_once(": ") {
        Some((line, what)) if line.starts_with("line ") => what.to_owned(),
        _ => error.to_owned(),
    }
}

/// Runs the gate until a signal ends it.
pub(crate) fn run(arguments: &GateArgs) -> anyhow::Result<ExitCode> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(false)
        .with_writer(io::stderr)
        .init();
    let given = Given::of(arguments)?;
    let loaded = match given.load() {
        Ok(loaded) => loaded,
        Err(errors) => bail!(given.all(&errors)),
    };
    if let Given::Line(_) = given {
        tracing::info!(
            state = %loaded.setup.state.display(),
            log = %loaded.setup.log.display(),
            "settings from the command line"
        );
    }
    let learner = learner(loaded)?;
    let load = Box::new({
        let given = given.clone();
        move || given.load()
    });
    match cattlegrid_gate::run(load, learner) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(errors) => bail!(given.all(&errors)),
    }
}

/// Draws a new signing key. What the old one has signed stays good for as long as it was given, unless the old one has leaked.
pub(crate) fn rotate_keys(config: &Path, has_leaked: bool) -> anyhow::Result<ExitCode> {
    let (setup, settings) = match read(config) {
        Ok(read) => read,
        Err(errors) => bail!(all(config, &errors)),
    };
    // The cookie that tells which browser was asked lives for a day.
    let hours = settings.limits.clearance_hours.max(24);
    let grace_seconds = if has_leaked {
        0
    } else {
        3600 * u64::from(hours)
    };
    let fingerprint =
        cattlegrid_gate::rotate_keys(&setup.state, grace_seconds).map_err(anyhow::Error::msg)?;
    writeln!(
        io::stdout(),
        "new signing key {fingerprint}; the gate takes it at its next reload: send it SIGHUP"
    )?;
    Ok(ExitCode::SUCCESS)
}

fn all(config: &Path, errors: &[String]) -> String {
    let named = |error: &String| format!("{}: {error}", config.display());
    cannot_start(errors.iter().map(named))
}

fn cannot_start(errors: impl Iterator<Item = String>) -> String {
    let lines: String = errors.map(|error| format!("\n  {error}")).collect();
    format!("the gate cannot start:{lines}")
}

/// Reads the file, and the lists of robots that it is about.
fn load(config: &Path) -> Result<Loaded, Vec<String>> {
    read(config).and_then(loaded)
}

fn loaded((setup, settings): (Setup, Settings)) -> Result<Loaded, Vec<String>> {
    let crawlers = crawlers(&setup)?;
    Ok(Loaded {
        setup,
        settings,
        crawlers,
    })
}

/// Robots with what the owner wants for them, by the lists as they are now.
fn crawlers(setup: &Setup) -> Result<Crawlers, Vec<String>> {
    let knowledge = lists::knowledge(lists::default_folder().as_deref())
        .and_then(|knowledge| {
            lists::refuse_own(&knowledge, setup.own_addresses())?;
            Ok(knowledge)
        })
        .map_err(|error| vec![format!("{error:#}")])?;
    // Nobody outside can choose agents that push each other out of the table.
    let seed = RandomState::new().hash_one(());
    Crawlers::new(knowledge, setup.crawlers.wishes.clone(), seed)
}

/// What the gate learns with: the same analysis that reads logs.
fn learner(loaded: Loaded) -> anyhow::Result<Learner> {
    let Loaded {
        setup,
        mut settings,
        ..
    } = loaded;
    settings.model = Some(model::load(None)?);
    let paths = model::paths(&*model::load(setup.path_model())?)?;
    // What is older than the window before this one would be forgotten at once.
    let since = kb::now().saturating_sub(2 * settings.window_seconds);
    settings.reading.span = since..u32::MAX;
    let knowledge = lists::knowledge(lists::default_folder().as_deref())?;
    lists::refuse_own(&knowledge, setup.own_addresses())?;
    let protected = kb::protected(&setup.trusted_proxies)?;
    let analysis = Analysis::new(settings, knowledge)
        .map_err(anyhow::Error::msg)
        .context("the analysis cannot begin")?;
    Ok(Learner {
        analysis,
        protected,
        history: history(setup.log),
        paths,
    })
}

/// The gate's own log, also the parts of it that were rotated away.
fn history(log: PathBuf) -> History {
    Box::new(move |each| {
        // A new gate has nothing to remember, which needs no words.
        if log.metadata().is_ok_and(|found| found.len() == 0) || !log.exists() {
            return;
        }
        let pattern = format!("{}*", log.display());
        let plan = plan(&[pattern], &Looking::default());
        logs::say_problems(&plan.problems);
        let problems = plan.read(
            || vec![0; BLOCK_BYTES],
            |block| {
                each(block);
                true
            },
        );
        logs::say_problems(&problems);
    })
}
