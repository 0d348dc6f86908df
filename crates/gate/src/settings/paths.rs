//! The `[gate.paths]` part: what is noted of the paths of signed-in people, and what happens to suspects.

use std::path::PathBuf;

use cattlegrid_core::paths::OddityLimits;
use cattlegrid_core::paths::UserLimits;
use jiff::tz::TimeZone;
use serde::Deserialize;
use toml::Spanned;

use super::Errors;
use super::markers::MarkerSetup;

const DAY_MS: u64 = 86_400_000;

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PathOptions {
    mode: ModeOption,
    days: u32,
    pseudonyms: bool,
    odd_requests: u32,
    unmarked: u32,
    unmarked_percent: u32,
    zone: String,
    challenge_seconds: u32,
    users_max: usize,
    keep_sessions: bool,
    model: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeOption {
    Off,
    Watch,
    Act,
}

impl Default for PathOptions {
    fn default() -> PathOptions {
        let limits = UserLimits::default();
        PathOptions {
            // Whoever switches markers on looks at the list of suspects before anybody is asked.
            mode: ModeOption::Watch,
            days: u32::try_from(limits.memory_ms / DAY_MS).unwrap_or(30),
            pseudonyms: false,
            odd_requests: limits.oddities.a_day,
            unmarked: limits.oddities.unmarked,
            unmarked_percent: limits.oddities.unmarked_percent,
            zone: "system".to_owned(),
            challenge_seconds: 30,
            users_max: limits.users,
            keep_sessions: false,
            model: None,
        }
    }
}

/// The same, checked.
#[derive(Debug)]
pub(crate) struct PathSetup {
    /// Paths are noted.
    pub(crate) is_on: bool,
    /// Suspects are challenged, and not only noted.
    pub(crate) acts: bool,
    /// How much is remembered, and how much is too much.
    pub(crate) limits: UserLimits,
    /// The table has names.
    pub(crate) keeps_names: bool,
    /// Sessions of people are kept to learn from.
    pub(crate) keeps_sessions: bool,
    /// Whose midnight ends a day.
    pub(crate) zone: TimeZone,
    /// For how long a suspect can answer a question.
    pub(crate) challenge_seconds: u32,
    /// The owner's model.
    pub(crate) model: Option<PathBuf>,
}

pub(super) fn checked(
    options: &Spanned<PathOptions>,
    markers: &MarkerSetup,
    errors: &mut Errors<'_>,
) -> PathSetup {
    let at = options.span().start;
    let given = options.get_ref();
    let mut error = |what: String| errors.at(at, format!("[gate.paths]: {what}"));
    for (name, value, min, max) in [
        ("days", given.days, 1, 366),
        ("odd_requests", given.odd_requests, 5, 100_000),
        ("unmarked", given.unmarked, 0, 100_000),
        ("unmarked_percent", given.unmarked_percent, 0, 100),
        ("challenge_seconds", given.challenge_seconds, 10, 3600),
    ] {
        if !(min..=max).contains(&value) {
            error(format!("{name} must lie between {min} and {max}"));
        }
    }
    if !(100..=10_000_000).contains(&given.users_max) {
        error("users_max must lie between 100 and 10000000".to_owned());
    }
    let zone = match given.zone.as_str() {
        "system" => TimeZone::system(),
        name => TimeZone::get(name).unwrap_or_else(|_| {
            error(format!(
                "zone = '{name}' is no time zone, like \"Europe/Berlin\", and not \"system\""
            ));
            TimeZone::UTC
        }),
    };
    PathSetup {
        is_on: given.mode != ModeOption::Off && markers.is_on(),
        acts: given.mode == ModeOption::Act,
        limits: UserLimits {
            oddities: OddityLimits {
                a_day: given.odd_requests,
                unmarked: given.unmarked,
                unmarked_percent: given.unmarked_percent,
                ..OddityLimits::default()
            },
            users: given.users_max,
            memory_ms: u64::from(given.days) * DAY_MS,
        },
        keeps_names: !given.pseudonyms,
        keeps_sessions: given.keep_sessions,
        zone,
        challenge_seconds: given.challenge_seconds,
        model: given.model.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Setup;

    fn parse(paths: &str) -> Result<Setup, Vec<String>> {
        Setup::parse(&format!(
            "[gate]\n[gate.markers]\nstyle = \"query\"\n[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"/k\"\n[gate.paths]\n{paths}\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n"
        ))
    }

    #[test]
    fn paths_are_noted_where_links_have_markers() {
        let on = parse("mode = \"act\"").unwrap().paths;
        assert!(on.is_on && on.acts && on.keeps_names);
        let watch = parse("pseudonyms = true").unwrap().paths;
        assert!(watch.is_on && !watch.acts && !watch.keeps_names);
        assert!(!parse("mode = \"off\"").unwrap().paths.is_on);
        let without = "[gate]\n[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n";
        assert!(!Setup::parse(without).unwrap().paths.is_on);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (line, expected) in [
            ("mode = \"block\"", "unknown variant `block`"),
            ("days = 0", "days must lie between 1 and 366"),
            ("odd_requests = 1", "odd_requests must lie between 5"),
            ("unmarked_percent = 101", "unmarked_percent must lie"),
            ("challenge_seconds = 5", "challenge_seconds must lie"),
            ("users_max = 1", "users_max must lie"),
            ("zone = \"Europe/Atlantis\"", "is no time zone"),
            ("retention = 3", "unknown field `retention`"),
        ] {
            let errors = parse(line).unwrap_err();
            assert!(errors[0].contains(expected), "{line}: {errors:?}");
        }
        parse("zone = \"Europe/Berlin\"").unwrap();
    }
}
