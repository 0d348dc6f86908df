//! Settings: what the file says ([`Options`]), and the checked values the code sees ([`Settings`]).

mod counter;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use cattlegrid_learn::model::Model;
use jiff::tz::TimeZone;
use serde::Deserialize;
use toml::Spanned;

use crate::detectors::Detector;
use crate::detectors::SPECS;
use crate::format::DEFAULT_SESSION_COOKIES;
use crate::policy::Limits;
use crate::profile::BIN_SECONDS;
use crate::profile::DEFAULT_LISTINGS;
use crate::proxies::Proxies;
use crate::pseudonyms::Pseudonyms;
use crate::table::Clock;
use crate::verdict::Weights;
use crate::verdict::is_graded;
use counter::CounterOptions;
pub use counter::CounterSettings;
pub use counter::Use;

/// The settings file. Every default is written down in [`Settings::manual`].
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    window_days: Option<Spanned<f64>>,
    visit_minutes: Option<Spanned<f64>>,
    min_requests: Option<u64>,
    time_jump_days: Option<Spanned<f64>>,
    hash_key: Option<u64>,
    session_cookies: Option<Vec<String>>,
    listings: Option<Spanned<Vec<String>>>,
    campaigns: CampaignSettings,
    counter: CounterOptions,
    policy: Option<Spanned<Limits>>,
    /// The gate reads and checks its own part.
    #[serde(rename = "gate")]
    _gate: Option<serde::de::IgnoredAny>,
    detectors: BTreeMap<Spanned<String>, Spanned<toml::Table>>,
    weights: BTreeMap<Spanned<String>, [f64; 2]>,
    grades: BTreeMap<Spanned<String>, f64>,
}

/// When sources are looked at together.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CampaignSettings {
    /// Requests from which a source's times are compared with others'.
    pub series_requests_min: u32,
    /// Busy half hours from which they are.
    pub half_hours_min: u32,
    /// Sources that must share an agent or a network to be looked at together.
    pub sources_min: u32,
    /// Decibans from which they are a campaign.
    pub decibans_min: f64,
    /// Hours by which one source may run ahead of another of its campaign.
    pub shifted_hours: u32,
}

impl Default for CampaignSettings {
    fn default() -> CampaignSettings {
        CampaignSettings {
            series_requests_min: 300,
            half_hours_min: 24,
            sources_min: 10,
            decibans_min: 15.0,
            shifted_hours: 0,
        }
    }
}

/// Seconds of silence that end a visit, as the built-in model has learned them. Web analytics uses the same half hour.
pub const VISIT_SILENCE: u32 = 1800;
const SILENCE_MIN: u32 = 60;

/// Checked settings.
pub struct Settings {
    /// Length of a window.
    pub window_seconds: u32,
    /// Seconds of silence that end a visit.
    pub visit_silence: u32,
    /// Users with fewer requests are only counted.
    pub min_requests: u64,
    /// A line further than this from both its neighbours is left out.
    pub time_jump_seconds: u32,
    /// Key of the hashes inside the sketches.
    pub hash_key: u64,
    /// Cookies that carry a session.
    pub session_cookies: Vec<String>,
    /// Texts by which listing and search pages are recognised.
    pub listings: Vec<String>,
    /// When sources are looked at together.
    pub campaigns: CampaignSettings,
    /// Which requests are usage of a library's items.
    pub counter: CounterSettings,
    /// How much unknown sources may take.
    pub limits: Limits,
    /// The detectors in the order of [`SPECS`].
    pub detectors: Vec<Box<dyn Detector>>,
    /// The owner has changed a detector's settings.
    pub has_own_rules: bool,
    /// Weights of the verdict.
    pub weights: Weights,
    /// How the log's fields are taken.
    pub reading: Reading,
    /// A source that is looked at closely: an address, a network or a token as the log has it.
    pub focus: Option<String>,
    /// Names that do not tell who sources are.
    pub pseudonyms: Option<Pseudonyms>,
    /// What was learned from examples.
    pub model: Option<Arc<Model>>,
    /// Keep the values of series of sources with so many requests on their busiest day and so many busy half hours, to learn from.
    pub keep_shapes: Option<(u32, u32)>,
    /// Keep what every single source is, also of those that are not listed.
    pub keep_bands: bool,
    /// Keep what a second look at every request needs: the verdict on every source, and which lines were left out.
    pub second_look: bool,
    /// What is kept of the log, so that a second look need not read it again.
    pub keep: Keep,
    /// List the campaigns of the paper's Algorithm 1, too.
    pub paper_campaigns: bool,
}

/// What is kept of a log in memory while it is read, and at most how many bytes. If a log has more, nothing is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    Nothing,
    /// Page views for [`SecondLook::count_views`](crate::analysis::SecondLook::count_views), 16 bytes each.
    Views(usize),
    /// Requests for [`SecondLook::take_requests`](crate::analysis::SecondLook::take_requests), 32 bytes each and their texts once.
    Requests(usize),
}

/// How the log's fields are taken.
#[derive(Debug)]
pub struct Reading {
    /// Zone of times that are written without one.
    pub zone: TimeZone,
    /// Whose word about a client's address is taken.
    pub proxies: Proxies,
    /// Only requests of this span count, in seconds since 1970.
    pub span: Range<u32>,
    /// Each host of the log is judged for itself.
    pub by_host: bool,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading {
            zone: TimeZone::UTC,
            proxies: Proxies::default(),
            span: 0..u32::MAX,
            by_host: false,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Settings")
            .field("window_seconds", &self.window_seconds)
            .field("min_requests", &self.min_requests)
            .finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::parse("").expect("an empty file means the defaults")
    }
}

/// The longest window: its half hours must fit 16 bits.
const WINDOW_SECONDS_MAX: u32 = 366 * 86_400;

impl Settings {
    /// Reads a settings file. All errors are collected, each as `line N: what`.
    pub fn parse(text: &str) -> Result<Settings, Vec<String>> {
        let at = |offset: usize| line(text, offset);
        let options: Options = toml::from_str(text).map_err(|error| {
            vec![format!(
                "{}: {}",
                error
                    .span()
                    .map_or("the file".to_owned(), |span| at(span.start)),
                error.message()
            )]
        })?;
        let mut errors = Vec::new();
        let mut seconds = |days: &Option<Spanned<f64>>, name: &str, default: f64, max: u32| {
            let days = days.as_ref();
            let value = days.map_or(default, |days| *days.as_ref()) * 86_400.0;
            if value.is_finite() && (f64::from(BIN_SECONDS)..=f64::from(max)).contains(&value) {
                // Windows are whole half hours.
                return value as u32 / BIN_SECONDS * BIN_SECONDS;
            }
            errors.push(format!(
                "{}: {name} must lie between {:.4} and {} days",
                days.map_or_else(String::new, |days| at(days.span().start)),
                f64::from(BIN_SECONDS) / 86_400.0,
                max / 86_400
            ));
            max
        };
        let window_seconds = seconds(&options.window_days, "window_days", 5.0, WINDOW_SECONDS_MAX);
        let time_jump_seconds = seconds(
            &options.time_jump_days,
            "time_jump_days",
            1.0,
            WINDOW_SECONDS_MAX,
        );
        let visit_silence = checked_silence(options.visit_minutes, &at, &mut errors);
        let has_own_rules = !options.detectors.is_empty();
        let detectors = build_detectors(options.detectors, &at, &mut errors);
        let listings = checked_listings(options.listings, &mut errors);
        let weights = checked_weights(options.weights, options.grades, &at, &mut errors);
        let counter = counter::checked(&options.counter, &mut errors);
        let limits = checked_limits(options.policy, &at, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Settings {
            window_seconds,
            visit_silence,
            min_requests: options.min_requests.unwrap_or(100),
            time_jump_seconds,
            hash_key: options.hash_key.unwrap_or(0x0ca7_71e6),
            session_cookies: options
                .session_cookies
                .unwrap_or_else(|| DEFAULT_SESSION_COOKIES.map(str::to_owned).to_vec()),
            listings,
            campaigns: options.campaigns,
            counter,
            limits,
            detectors,
            has_own_rules,
            weights,
            reading: Reading::default(),
            focus: None,
            pseudonyms: None,
            model: None,
            keep_shapes: None,
            keep_bands: false,
            second_look: false,
            keep: Keep::Nothing,
            paper_campaigns: false,
        })
    }

    /// The clock of a log that starts at `first`.
    pub fn clock(&self, first: u32) -> Clock {
        Clock::new(first, self.window_seconds, self.visit_silence)
    }

    /// The documented defaults, as a settings file.
    pub fn manual() -> String {
        let list = |names: &[&str]| {
            names
                .iter()
                .map(|name| format!("{name:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let campaigns = CampaignSettings::default();
        let mut out = format!(
            "# Cattlegrid's settings with their defaults. Every line can be left out.\n\n\
             # Length of the windows in which sources are judged, in days. Windows follow each other from the first midnight (UTC).\n\
             window_days = 5.0\n\
             # Minutes without a request after which the next one begins a new visit.\n\
             visit_minutes = 30.0\n\
             # Users, and sources without any evidence, are listed from this many requests on; all others are only counted.\n\
             min_requests = 100\n\
             # A line this many days away from both its neighbours is left out as a jump of the clock.\n\
             time_jump_days = 1.0\n\
             # Key of the hashes in sketches. Set your own where visitors could know this one.\n\
             hash_key = {}\n\
             # Cookies that carry a session, for logs with a Cookie field.\n\
             session_cookies = [{}]\n\
             # A referrer with one of these texts behind its host is a listing or search page.\n\
             listings = [{}]\n\n\
             [campaigns]\n\
             # Requests and busy half hours in a window from which a source's times are compared with others'.\n\
             series_requests_min = {}\n\
             half_hours_min = {}\n\
             # Sources that must share a user agent or a network to be judged together.\n\
             sources_min = {}\n\
             # Decibans from which they are a campaign.\n\
             decibans_min = {:.1}\n\
             # Also look for sources that follow one schedule by other clocks, up to so many hours apart (slower).\n\
             shifted_hours = {}\n",
            0x0ca7_71e6,
            list(&DEFAULT_SESSION_COOKIES),
            list(&DEFAULT_LISTINGS),
            campaigns.series_requests_min,
            campaigns.half_hours_min,
            campaigns.sources_min,
            campaigns.decibans_min,
            campaigns.shifted_hours
        );
        out += counter::MANUAL;
        out += &Limits::manual();
        for spec in &SPECS {
            out += "\n";
            out += &spec.settings_manual();
        }
        out += "\n# What findings are worth in decibans, towards a crawler and towards people: +10 makes a crawler ten times likelier.\n\
                # 'cattlegrid train --headers' learns them. Where a detector says itself what a finding is worth, its weight here is 0: see [grades].\n[weights]\n";
        for (spec, (crawler, people)) in SPECS.iter().zip(Weights::default().detectors) {
            out += &format!("{} = [{crawler:.1}, {people:.1}]\n", spec.name);
        }
        out += "\n# What the weights are multiplied with that detectors give their findings themselves, 0 to 2; learned with the weights.\n[grades]\n";
        for spec in SPECS.iter().filter(|spec| is_graded(spec)) {
            out += &format!("{} = 1.0\n", spec.name);
        }
        out
    }
}

/// Where a setting stands.
fn line(text: &str, offset: usize) -> String {
    let before = &text[..offset.min(text.len())];
    format!("line {}", 1 + before.matches('\n').count())
}

/// The most that one finding can be worth either way.
const WEIGHT_MAX: f64 = 60.0;

fn checked_weights(
    given: BTreeMap<Spanned<String>, [f64; 2]>,
    grades: BTreeMap<Spanned<String>, f64>,
    at: &dyn Fn(usize) -> String,
    errors: &mut Vec<String>,
) -> Weights {
    let mut weights = Weights::default();
    for (name, [crawler, people]) in given {
        let line = at(name.span().start);
        let place = SPECS.iter().position(|spec| spec.name == name.as_ref());
        let is_sound =
            (0.0..=WEIGHT_MAX).contains(&crawler) && (-WEIGHT_MAX..=0.0).contains(&people);
        match place {
            None => errors.push(format!(
                "{line}: [weights]: there is no detector '{}'",
                name.as_ref()
            )),
            Some(_) if !is_sound => errors.push(format!(
                "{line}: [weights]: {} must be [0 to {WEIGHT_MAX}, -{WEIGHT_MAX} to 0] decibans",
                name.as_ref()
            )),
            Some(place) => weights.detectors[place] = (crawler, people),
        }
    }
    check_grades(grades, &mut weights, at, errors);
    weights
}

/// The most that a detector's own weights can be multiplied with.
const GRADE_MAX: f64 = 2.0;

fn check_grades(
    given: BTreeMap<Spanned<String>, f64>,
    weights: &mut Weights,
    at: &dyn Fn(usize) -> String,
    errors: &mut Vec<String>,
) {
    for (name, grade) in given {
        let line = at(name.span().start);
        let name = name.as_ref();
        let place = SPECS
            .iter()
            .position(|spec| spec.name == name && is_graded(spec));
        match place {
            None => errors.push(format!(
                "{line}: [grades]: there is no detector '{name}' that weighs its findings itself"
            )),
            Some(_) if !(0.0..=GRADE_MAX).contains(&grade) => {
                errors.push(format!("{line}: [grades]: {name} must be 0 to {GRADE_MAX}"))
            }
            Some(place) => weights.grades[place] = grade,
        }
    }
}

fn checked_limits(
    given: Option<Spanned<Limits>>,
    at: &dyn Fn(usize) -> String,
    errors: &mut Vec<String>,
) -> Limits {
    let Some(given) = given else {
        return Limits::default();
    };
    if let Err(error) = given.as_ref().check() {
        errors.push(format!("{}: [policy]: {error}", at(given.span().start)));
    }
    given.into_inner()
}

/// Seconds of silence that end a visit.
fn checked_silence(
    minutes: Option<Spanned<f64>>,
    at: &dyn Fn(usize) -> String,
    errors: &mut Vec<String>,
) -> u32 {
    let Some(minutes) = minutes else {
        return VISIT_SILENCE;
    };
    let seconds = minutes.as_ref() * 60.0;
    if !(f64::from(SILENCE_MIN)..=86_400.0).contains(&seconds) {
        errors.push(format!(
            "{}: visit_minutes must lie between 1 and 1440",
            at(minutes.span().start)
        ));
    }
    seconds as u32
}

fn checked_listings(given: Option<Spanned<Vec<String>>>, errors: &mut Vec<String>) -> Vec<String> {
    let listings = given.map_or_else(
        || DEFAULT_LISTINGS.map(str::to_owned).to_vec(),
        Spanned::into_inner,
    );
    if listings.iter().any(String::is_empty) || listings.len() > 1000 {
        errors.push(
            "listings: an empty text would match every referrer, and more than 1000 are not taken"
                .to_owned(),
        );
    }
    listings
}

fn build_detectors(
    mut tables: BTreeMap<Spanned<String>, Spanned<toml::Table>>,
    at: &dyn Fn(usize) -> String,
    errors: &mut Vec<String>,
) -> Vec<Box<dyn Detector>> {
    let mut detectors = Vec::new();
    for spec in &SPECS {
        let known = tables
            .keys()
            .find(|name| name.as_ref() == spec.name)
            .cloned();
        let (place, table) = match known.and_then(|name| tables.remove_entry(&name)) {
            Some((name, table)) => (at(name.span().start), table.into_inner()),
            None => (String::new(), toml::Table::new()),
        };
        match spec.build(table) {
            Ok(detector) => detectors.push(detector),
            Err(error) => errors.push(format!("{place}: [detectors.{}]: {error}", spec.name)),
        }
    }
    for name in tables.keys() {
        let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        errors.push(format!(
            "{}: there is no detector '{}'; known: {}",
            at(name.span().start),
            name.as_ref(),
            names.join(", ")
        ));
    }
    detectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_is_a_settings_file_with_the_defaults() {
        let shown = Settings::parse(&Settings::manual()).unwrap();
        let defaults = Settings::default();
        assert_eq!(
            (
                shown.window_seconds,
                shown.min_requests,
                shown.time_jump_seconds,
                shown.hash_key,
                shown.session_cookies,
                shown.listings
            ),
            (
                defaults.window_seconds,
                defaults.min_requests,
                defaults.time_jump_seconds,
                defaults.hash_key,
                defaults.session_cookies,
                defaults.listings
            )
        );
    }

    #[test]
    fn errors_name_their_line_and_come_together() {
        let check = |text: &str, expected: &[&str]| {
            let errors = Settings::parse(text).unwrap_err();
            assert_eq!(errors.len(), expected.len(), "{errors:?}");
            errors
                .iter()
                .zip(expected)
                .for_each(|(error, expected)| assert!(error.contains(expected), "{error}"));
        };
        check(
            "\nwindow_days = 0",
            &["line 2: window_days must lie between"],
        );
        check("windw_days = 1", &["line 1: unknown field `windw_days`"]);
        check(
            "\n[detectors.high_error_rate]\npages = 3\n[detectors.nonsense]\n",
            &[
                "line 2: [detectors.high_error_rate]: unknown field `pages`",
                "line 4: there is no detector 'nonsense'",
            ],
        );
        check("window_days = nan", &["window_days"]);
        check(
            "\n[policy]\nk1 = 30\nk2 = 20",
            &["line 2: [policy]: k1 = 30 must not be above k2 = 20"],
        );
        check("min_requests = \"x\"", &["line 1: invalid type"]);
        check(
            "[weights]\nnonsense = [1.0, 0.0]\nhigh_error_rate = [-1.0, 0.0]",
            &[
                "line 3: [weights]: high_error_rate must be",
                "line 2: [weights]: there is no detector",
            ],
        );
        check(
            "[grades]\ndeclared_robot = 1.0\nskipped_page_parts = 3.0",
            &[
                "line 2: [grades]: there is no detector 'declared_robot'",
                "line 3: [grades]: skipped_page_parts must be 0 to 2",
            ],
        );
    }
}
