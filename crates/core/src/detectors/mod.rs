//! Detectors: one file each, listed here. A detector looks at one profile and says what it sees.

mod accept_language;
mod agents_of_one_page;
mod borrowed_referrer;
mod campaign_member;
mod claimed_operator;
mod client_hints;
mod clockwork_visits;
mod declared_robot;
mod even_pace;
mod fetch_metadata;
mod fetched_robots_txt;
mod followed_links;
mod followed_trap;
mod forged_referrer;
mod hammered_login;
mod header_order;
mod high_error_rate;
mod high_page_rate;
mod ignored_cookies;
mod ignored_robots_txt;
mod indiscriminate_download;
mod loaded_page_parts;
mod low_page_revisit;
mod low_parameter_usage;
mod no_daily_rhythm;
mod old_protocol;
mod outdated_browser;
mod partial_pages;
mod posted_blindly;
mod probed_weak_spots;
mod regular_counts;
mod same_every_day;
mod sent_no_agent;
mod skipped_page_parts;
mod suspicious_referrer;
mod suspicious_sequence;
mod traffic_shape;
mod unbalanced_traffic;
mod unnamed_links;
mod unread_referrers;
mod visit_manner;

use cattlegrid_learn::series::POINTS_MIN;
use serde::de::DeserializeOwned;

use crate::evidence::Context;
use crate::evidence::Gap;
use crate::evidence::Measure;
use crate::evidence::Outcome;
use crate::profile::Profile;

pub use traffic_shape::inspect_shape;
pub use traffic_shape::shape_values;
pub use visit_manner::visit_probability;

/// All detectors, sorted by name. The place in this list is the detector's number everywhere.
pub const SPECS: [Spec; 41] = [
    accept_language::SPEC,
    agents_of_one_page::SPEC,
    borrowed_referrer::SPEC,
    campaign_member::SPEC,
    claimed_operator::SPEC,
    client_hints::SPEC,
    clockwork_visits::SPEC,
    declared_robot::SPEC,
    even_pace::SPEC,
    fetch_metadata::SPEC,
    fetched_robots_txt::SPEC,
    followed_links::SPEC,
    followed_trap::SPEC,
    forged_referrer::SPEC,
    hammered_login::SPEC,
    header_order::SPEC,
    high_error_rate::SPEC,
    high_page_rate::SPEC,
    ignored_cookies::SPEC,
    ignored_robots_txt::SPEC,
    indiscriminate_download::SPEC,
    loaded_page_parts::SPEC,
    low_page_revisit::SPEC,
    low_parameter_usage::SPEC,
    no_daily_rhythm::SPEC,
    old_protocol::SPEC,
    outdated_browser::SPEC,
    partial_pages::SPEC,
    posted_blindly::SPEC,
    probed_weak_spots::SPEC,
    regular_counts::SPEC,
    same_every_day::SPEC,
    sent_no_agent::SPEC,
    skipped_page_parts::SPEC,
    suspicious_referrer::SPEC,
    suspicious_sequence::SPEC,
    traffic_shape::SPEC,
    unbalanced_traffic::SPEC,
    unnamed_links::SPEC,
    unread_referrers::SPEC,
    visit_manner::SPEC,
];

/// Requests per half hour where the log covers more than two days without a gap; otherwise why not.
fn series(profile: &Profile, context: &Context<'_>) -> Result<Vec<f64>, Gap> {
    if profile.is_mixed() {
        return Err(Gap::NotKnown(
            "people and robots share this source, and its shape is neither's",
        ));
    }
    let covered = context.site.covered();
    if covered.len() < POINTS_MIN {
        return Err(Gap::NoContrast(
            "no more than two days of this window's log are without a gap, too short to show a rhythm",
        ));
    }
    Ok(context.site.covered_counts(profile))
}

/// A rule that looks at one source.
pub trait Detector: Send + Sync {
    /// What the profile shows.
    fn evaluate(&self, profile: &Profile, context: &Context<'_>) -> Outcome;

    /// What one of the voting heuristics measured, for `train` to learn its settings from: it points to a crawler where one of the
    /// measures lies beyond its setting, and abstains where there are none.
    fn measures(&self, _: &Profile, _: &Context<'_>) -> Vec<Measure> {
        Vec::new()
    }
}

/// Evidence of one family is not independent; the verdict weighs families, not detectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// What the source says it is.
    Identity,
    /// Headers and addresses of its requests.
    Headers,
    /// When they come.
    Shape,
    /// Whom it acts together with.
    Campaign,
    /// What it does within one visit.
    Visits,
}

impl Family {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Family::Identity => "identity",
            Family::Headers => "headers",
            Family::Shape => "shape",
            Family::Campaign => "campaign",
            Family::Visits => "visits",
        }
    }
}

/// The two sets of heuristics whose votes are reported (PubCrawl, Tables 2 and 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoteSet {
    /// Known before the paper: H1 to H4.
    Former,
    /// The paper's own: H5 to H7.
    New,
}

/// A detector's entry in the list.
pub struct Spec {
    /// Its name: file, settings key, report id and manual page.
    pub name: &'static str,
    /// The family its evidence belongs to.
    pub family: Family,
    /// The set it votes in.
    pub vote: Option<VoteSet>,
    source_text: &'static str,
    build: fn(toml::Table) -> Result<Box<dyn Detector>, String>,
}

impl std::fmt::Debug for Spec {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl Spec {
    const fn of<D: Detector + DeserializeOwned + 'static>(
        name: &'static str,
        family: Family,
        vote: Option<VoteSet>,
        source_text: &'static str,
    ) -> Spec {
        Spec {
            name,
            family,
            vote,
            source_text,
            build: build::<D>,
        }
    }

    /// The detector with the settings of its table; what is not set has its default.
    pub fn build(&self, settings: toml::Table) -> Result<Box<dyn Detector>, String> {
        (self.build)(settings)
    }

    /// The manual page: the file's opening comment, then its settings with their defaults.
    pub fn manual(&self) -> String {
        let comment = |line: &'static str| {
            line.strip_prefix("//!")
                .map(|text| text.strip_prefix(' ').unwrap_or(text))
        };
        let about: Vec<&str> = self.source_text.lines().map_while(comment).collect();
        format!(
            "{}\n\n{}\n\n# Settings\n{}",
            self.name,
            about.join("\n").trim_end(),
            self.settings_manual()
        )
    }

    /// The settings as a commented table of the settings file.
    pub fn settings_manual(&self) -> String {
        let mut out = format!("[detectors.{}]\n", self.name);
        let fields = self
            .source_text
            .lines()
            .skip_while(|line| !line.starts_with("settings! {"))
            .skip(1)
            .take_while(|line| *line != "}");
        for line in fields.map(str::trim) {
            if let Some(doc) = line.strip_prefix("///") {
                out += &format!("#{doc}\n");
            } else if let Some((name, rest)) = line.split_once(':')
                && let Some((_, default)) = rest.split_once('=')
            {
                out += &format!("{name} = {}\n", default.trim().trim_end_matches([',', ';']));
            }
        }
        out
    }
}

fn build<D: Detector + DeserializeOwned + 'static>(
    settings: toml::Table,
) -> Result<Box<dyn Detector>, String> {
    let detector: D = settings
        .try_into()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    Ok(Box::new(detector))
}

/// Declares a detector's settings: fields with documentation and default, readable from the settings file.
macro_rules! settings {
    ($name:ident { $($(#[doc = $doc:literal])+ $field:ident : $kind:ty = $default:expr,)* }) => {
        #[derive(Debug, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct $name {
            $($(#[doc = $doc])+ $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }
    };
}
use settings;

/// Decibans of a header field that a browser always sends and that is missing: fewer where the client loads what only a browser shows.
fn missing_field(profile: &Profile) -> f64 {
    if profile.shows_pages() { 2.0 } else { 4.0 }
}

/// A share as whole percent, for a sentence.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 {
        format!("{:.1} %", 100.0 * share)
    } else {
        format!("{:.0} %", (100.0 * share + 1e-9).floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_complete() {
        let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        assert!(
            names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]),
            "{names:?}"
        );
        let listed = include_str!("mod.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        let files: Vec<&str> = listed.filter(|name| *name != "tests").collect();
        assert_eq!(names, files);
    }

    #[test]
    fn every_detector_has_a_manual_and_checked_settings() {
        for spec in &SPECS {
            let manual = spec.manual();
            for heading in ["# Why it matters", "# When it is wrong", "# Settings"] {
                assert!(manual.contains(heading), "{}: {heading}", spec.name);
            }
            assert!(spec.build(toml::Table::new()).is_ok(), "{}", spec.name);
            let unknown = spec
                .build("no_such_key = 1".parse().unwrap())
                .err()
                .unwrap_or_default();
            assert!(unknown.contains("no_such_key"), "{}: {unknown}", spec.name);
            let shown: toml::Table = spec.settings_manual().parse().unwrap();
            let defaults = shown["detectors"][spec.name].as_table().unwrap().clone();
            assert!(
                !defaults.is_empty() && spec.build(defaults).is_ok(),
                "{}: the shown defaults load",
                spec.name
            );
        }
    }
}
