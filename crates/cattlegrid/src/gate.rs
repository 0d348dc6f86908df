//! `gate` and `check`: the gate's settings file, and what it learns with.

use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use anyhow::bail;
use cattlegrid_core::Analysis;
use cattlegrid_core::Settings;
use cattlegrid_gate::History;
use cattlegrid_gate::Learner;
use cattlegrid_gate::Loaded;
use cattlegrid_gate::Setup;
use cattlegrid_input::BLOCK_BYTES;
use cattlegrid_input::Looking;
use cattlegrid_input::plan;
use tracing_subscriber::EnvFilter;

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

/// Runs the gate until a signal ends it.
pub(crate) fn run(config: &Path) -> anyhow::Result<ExitCode> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(false)
        .with_writer(io::stderr)
        .init();
    let loaded = match load(config) {
        Ok(loaded) => loaded,
        Err(errors) => bail!(all(config, &errors)),
    };
    let learner = learner(loaded)?;
    let path = config.to_owned();
    let load = Box::new(move || load(&path));
    match cattlegrid_gate::run(load, learner) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(errors) => bail!(all(config, &errors)),
    }
}

/// Draws a new signing key. What the old one has signed stays good for as long as it was given, unless the old one has leaked.
pub(crate) fn rotate_keys(config: &Path, has_leaked: bool) -> anyhow::Result<ExitCode> {
    let Loaded { setup, settings } = match load(config) {
        Ok(loaded) => loaded,
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
    let lines: String = errors
        .iter()
        .map(|error| format!("\n  {}: {error}", config.display()))
        .collect();
    format!("the gate cannot start:{lines}")
}

/// Reads the file: the gate's part, and the rest.
fn load(config: &Path) -> Result<Loaded, Vec<String>> {
    let text = std::fs::read_to_string(config)
        .map_err(|error| vec![format!("the settings file cannot be read: {error}")])?;
    let (setup, settings) = (Setup::parse(&text), Settings::parse(&text));
    match (setup, settings) {
        (Ok(setup), Ok(settings)) => Ok(Loaded { setup, settings }),
        (setup, settings) => {
            let mut errors = setup.err().unwrap_or_default();
            // A file that is no TOML at all is told once.
            for error in settings.err().unwrap_or_default() {
                if !errors.contains(&error) {
                    errors.push(error);
                }
            }
            Err(errors)
        }
    }
}

/// What the gate learns with: the same analysis that reads logs.
fn learner(loaded: Loaded) -> anyhow::Result<Learner> {
    let Loaded {
        setup,
        mut settings,
    } = loaded;
    settings.model = Some(model::load(None)?);
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
