//! The gate's settings file: reading it, and where it says that things are.

use std::path::Path;
use std::path::PathBuf;

use anyhow::bail;
use cattlegrid_core::Settings;
use cattlegrid_gate::Setup;

/// Reads the file: the gate's part, and the rest.
pub(crate) fn read(config: &Path) -> Result<(Setup, Settings), Vec<String>> {
    let text = std::fs::read_to_string(config)
        .map_err(|error| vec![format!("the settings file cannot be read: {error}")])?;
    parse(&text)
}

/// The same for the text of one.
pub(crate) fn parse(text: &str) -> Result<(Setup, Settings), Vec<String>> {
    let (setup, settings) = (Setup::parse(text), Settings::parse(text));
    match (setup, settings) {
        (Ok(setup), Ok(settings)) => Ok((setup, settings)),
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

/// Where a gate keeps what other commands need.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) state: PathBuf,
    pub(crate) knowledge_base: PathBuf,
    pub(crate) log: PathBuf,
}

/// Where a gate without a settings file keeps things; nothing if there is no home folder.
pub(crate) fn default_places() -> Option<Places> {
    let state = crate::lists::data_folder()?.join("gate");
    let log = state.join("access.log");
    Some(places_in(state, log))
}

fn places_in(state: PathBuf, log: PathBuf) -> Places {
    Places {
        knowledge_base: state.join("kb.sqlite"),
        state,
        log,
    }
}

/// Where the gate with this settings file keeps things.
pub(crate) fn places(config: &Path) -> anyhow::Result<Places> {
    match read(config) {
        Ok((setup, _)) => Ok(places_in(setup.state, setup.log)),
        Err(errors) => bail!("{}: {}", config.display(), errors.join("; ")),
    }
}
