//! What the program knows beforehand: the list of robots, the operators' facts, and the lists that the owner has updated.

use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use cattlegrid_core::knowledge::Knowledge;
use cattlegrid_core::knowledge::Operator;
use cattlegrid_core::knowledge::covered;
use cattlegrid_core::networks::Documentation;
use cattlegrid_core::networks::network;
use cattlegrid_report::usage::CounterRobots;
use ipnet::IpNet;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::files::without_mark;
use crate::files::write_whole;

/// The list of robots is part of the program.
const ROBOTS: &str = include_str!("../../../data/crawler-user-agents.json");

/// So is COUNTER's list, which only its reports need.
const COUNTER_ROBOTS: &str = include_str!("../../../data/counter-robots.txt");

macro_rules! operators {
    ($($key:literal)*) => {
        [$(($key, include_str!(concat!("../../../data/operators/", $key, ".toml")))),*]
    };
}

/// So are the facts about operators, one file each.
const OPERATORS: [(&str, &str); 36] = operators!("ahrefs" "amazon" "anthropic" "apple" "baidu" "bytedance" "cohere" "commoncrawl" "diffbot" "discord" "duckduckgo" "google" "huawei" "internet_archive" "linkedin" "majestic" "meta" "microsoft" "mistral" "mojeek" "moz" "naver" "openai" "perplexity" "pingdom" "pinterest" "qwant" "semrush" "seznam" "slack" "sogou" "telegram" "uptimerobot" "x" "yahoo" "yandex");

/// Bytes of a list that are read.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// A new list may be this many times as large as the one before, or have lost all but one part in so many.
const GROWTH_MAX: u64 = 3;
const LOSS_MAX: u64 = 2;

/// How far a new list may be from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Not far and not back: lists grow and shrink slowly, and a large step or an older list is an error or an attack.
    Checked,
    /// As far as the owner says.
    Forced,
}

/// Tests have only networks for documentation.
fn documentation() -> Documentation {
    match std::env::var_os("CATTLEGRID_DOCUMENTATION_NETWORKS") {
        Some(value) if value == "allow" => Documentation::Allowed,
        _ => Documentation::Refused,
    }
}

/// Everything known: what is part of the program, and the published lists in the folder.
pub(crate) fn knowledge(folder: Option<&Path>) -> anyhow::Result<Knowledge> {
    let mut operators = operators()?;
    if let Some(folder) = folder {
        for operator in &mut operators {
            load(operator, folder)?;
        }
    }
    Knowledge::new(ROBOTS, operators).map_err(anyhow::Error::msg)
}

/// The robots that must not count in reports by COUNTER.
pub(crate) fn counter_robots() -> anyhow::Result<CounterRobots> {
    CounterRobots::new(COUNTER_ROBOTS).map_err(anyhow::Error::msg)
}

/// The operators as they are part of the program.
pub(crate) fn operators() -> anyhow::Result<Vec<Operator>> {
    OPERATORS
        .iter()
        .map(|(key, text)| {
            Operator::parse(key, text)
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("facts about {key}"))
        })
        .collect()
}

fn load(operator: &mut Operator, folder: &Path) -> anyhow::Result<()> {
    let path = list_path(folder, &operator.key);
    let length = match std::fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(error)
                .with_context(|| format!("the list {} cannot be read", path.display()));
        }
    };
    anyhow::ensure!(
        length <= LIST_BYTES_MAX,
        "the list {} is larger than {} MiB",
        path.display(),
        LIST_BYTES_MAX >> 20
    );
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("the list {} cannot be read", path.display()))?;
    operator
        .set_published(&text, documentation())
        .map_err(anyhow::Error::msg)
        .with_context(|| {
            format!(
                "the list {} is refused; remove it, or make it anew with 'cattlegrid lists update'",
                path.display()
            )
        })
}

/// The published list of an operator.
pub(crate) fn list_path(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.networks"))
}

/// Where lists are kept unless told otherwise.
pub(crate) fn default_folder() -> Option<PathBuf> {
    data_folder().map(|folder| folder.join("lists"))
}

/// Where the program keeps what it must not lose.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")))?;
    Some(base.join("cattlegrid"))
}

/// `lists show`
pub(crate) fn show(folder: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let knowledge = knowledge(folder.or_else(default_folder).as_deref())?;
    let mut out = io::stdout().lock();
    writeln!(out, "operator            networks  list of     robots")?;
    for operator in &knowledge.operators {
        let day = operator
            .published()
            .map_or_else(|| "some known".to_owned(), |day| day.to_string());
        let day = if operator.networks() == 0 {
            "none known"
        } else {
            &day
        };
        let robots: Vec<String> = operator
            .robots
            .iter()
            .map(|robot| format!("{} ({})", robot.agent, robot.purpose.name()))
            .collect();
        writeln!(
            out,
            "{:<18} {:>9}  {day:<10}  {}",
            operator.key,
            operator.networks(),
            robots.join(", ")
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `lists update`: what fails leaves the list as it was.
pub(crate) fn update(
    from: &[String],
    folder: Option<PathBuf>,
    change: Change,
) -> anyhow::Result<ExitCode> {
    let folder = folder
        .or_else(default_folder)
        .context("there is no folder for lists; name one with --lists")?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let operators = operators()?;
    let mut wanted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for pair in from {
        let (key, place) = pair
            .split_once('=')
            .with_context(|| format!("'{pair}' is not OPERATOR=FILE or OPERATOR=URL"))?;
        anyhow::ensure!(
            operators.iter().any(|operator| operator.key == key),
            "there is no operator '{key}'; 'cattlegrid lists show' names them"
        );
        wanted.entry(key).or_default().push(place);
    }
    if from.is_empty() {
        for operator in operators
            .iter()
            .filter(|operator| !operator.sources.is_empty())
        {
            let sources = operator.sources.iter().map(String::as_str).collect();
            wanted.insert(&operator.key, sources);
        }
    }
    let mut failed = false;
    for (key, places) in wanted {
        match update_one(key, &places, &folder, change) {
            Ok(count) => writeln!(io::stdout(), "{key}: {count} networks")?,
            Err(error) => {
                failed = true;
                writeln!(io::stderr(), "cattlegrid: {key} stays as it was: {error:#}")?;
            }
        }
    }
    Ok(ExitCode::from(if failed { 2 } else { 0 }))
}

fn update_one(key: &str, places: &[&str], folder: &Path, change: Change) -> anyhow::Result<usize> {
    let mut found = Vec::new();
    let mut ages = String::new();
    let now = Timestamp::now();
    let mut oldest = now;
    for place in places {
        let text = fetch(place).with_context(|| (*place).to_owned())?;
        found.extend(networks_in(&text).with_context(|| (*place).to_owned())?);
        // A time to come is an error: kept, it would make every later list look old.
        if let Some(created) = created_of(&text).filter(|created| *created <= now) {
            oldest = oldest.min(created);
            ages.push_str(&format!("# created {created} {place}\n"));
        }
    }
    found.sort_unstable();
    found.dedup();
    let text = format!(
        "# date {}\n# from {}\n{ages}{}\n",
        oldest.to_zoned(TimeZone::UTC).date(),
        places.join(" "),
        found.join("\n")
    );
    // The same check that every use of the list makes.
    let mut operator = operators()?
        .into_iter()
        .find(|operator| operator.key == key)
        .context("there is no such operator")?;
    operator
        .set_published(&text, documentation())
        .map_err(anyhow::Error::msg)?;
    let path = list_path(folder, key);
    if change == Change::Checked
        && let Ok(before) = std::fs::read_to_string(&path)
    {
        check_age(&before, &text)?;
        let (before, after) = (sizes(&networks_of(&before)), sizes(&networks_of(&text)));
        for (before, after) in before.into_iter().zip(after) {
            check_step(before, after)?;
        }
    }
    write_whole(&path, |file| file.write_all(text.as_bytes()))?;
    Ok(found.len())
}

/// How large a list is, by each measure that an enemy could blow up.
fn sizes(networks: &[IpNet]) -> [(&'static str, u64); 3] {
    let covered = covered(networks.iter().copied());
    [
        ("networks", networks.len() as u64),
        ("IPv4 addresses", covered.v4),
        ("IPv6 networks of /64", covered.v6),
    ]
}

/// Refuses a list that has grown or shrunk too far at once. What was not there before has not grown.
fn check_step((what, before): (&str, u64), (_, after): (&str, u64)) -> anyhow::Result<()> {
    let has_grown = before > 0 && after > before.saturating_mul(GROWTH_MAX);
    anyhow::ensure!(
        !has_grown && after >= before.div_ceil(LOSS_MAX),
        "the new list has {after} {what}, the one before {before}: at most {GROWTH_MAX} times as many and at least half are accepted at once; if the new list is right, add --force"
    );
    Ok(())
}

/// Refuses a list that is older than the one before: a stale cache has answered, or somebody who wants networks back that the operator
/// has given up. A part from a new place is compared with the oldest that is known.
fn check_age(before: &str, after: &str) -> anyhow::Result<()> {
    let before = ages_of(before);
    let Some(oldest) = before.values().min() else {
        return Ok(());
    };
    for (place, created) in ages_of(after) {
        let known = before.get(place).unwrap_or(oldest);
        anyhow::ensure!(
            created >= *known,
            "{place}: this list was created at {created}, the stored one at {known}: an older list does not replace a newer one; try again later, or add --force if the older list is right"
        );
    }
    Ok(())
}

/// When the parts of a stored list were created, by the place each came from. Parts that did not say so are missing.
fn ages_of(text: &str) -> BTreeMap<&str, Timestamp> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("# created "));
    let ages = lines.filter_map(|line| line.split_once(' '));
    ages.filter_map(|(created, place)| Some((place, created.parse().ok()?)))
        .collect()
}

fn networks_of(text: &str) -> Vec<IpNet> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| network(line).ok()).collect()
}

/// Refuses published lists with an address of this machine: whoever is let through as a search engine's robot would be ourselves.
pub(crate) fn refuse_own(
    knowledge: &Knowledge,
    own: impl Iterator<Item = IpAddr>,
) -> anyhow::Result<()> {
    for address in own {
        let lists = knowledge.operators.iter();
        let mut lists = lists.filter(|operator| operator.published().is_some());
        let holds =
            |operator: &&Operator| operator.list().any(|network| network.contains(&address));
        if let Some(operator) = lists.find(holds) {
            anyhow::bail!(
                "the published list of {} holds {address}, on which this gate listens; remove {}.networks, or make it anew with 'cattlegrid lists update'",
                operator.name,
                operator.key
            );
        }
    }
    Ok(())
}

fn fetch(place: &str) -> anyhow::Result<String> {
    if !place.starts_with("http://") && !place.starts_with("https://") {
        let length = std::fs::metadata(place)?.len();
        anyhow::ensure!(
            length <= LIST_BYTES_MAX,
            "it is larger than {} MiB",
            LIST_BYTES_MAX >> 20
        );
        return Ok(without_mark(std::fs::read_to_string(place)?));
    }
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(30)))
            .build(),
    );
    let mut answer = agent.get(place).call()?;
    let body = answer.body_mut().with_config().limit(LIST_BYTES_MAX);
    match body.read_to_string() {
        Ok(text) => Ok(without_mark(text)),
        Err(ureq::Error::BodyExceedsLimit(_)) => {
            anyhow::bail!("it is larger than {} MiB", LIST_BYTES_MAX >> 20)
        }
        Err(error) => Err(error.into()),
    }
}

/// The networks of a published list: JSON in which they stand as texts, or a text with one on each line.
fn networks_in(text: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    match serde_json::from_str::<Value>(text) {
        Ok(json) => collect(&json, &mut found),
        // Half of a JSON list is told as that, not as a text with a strange first line.
        Err(error) if text.trim_start().starts_with(['{', '[']) => {
            anyhow::bail!("it is not valid JSON: {error}")
        }
        Err(_) => {
            for (number, line) in text.lines().enumerate() {
                let line = line.split('#').next().unwrap_or_default().trim();
                if !line.is_empty() {
                    let network = network(line)
                        .map_err(anyhow::Error::msg)
                        .with_context(|| format!("line {}", number + 1))?;
                    found.push(network.to_string());
                }
            }
        }
    }
    anyhow::ensure!(!found.is_empty(), "it holds no networks");
    Ok(found)
}

/// When a list says it was created: `# date 2030-01-31`, or the creation time in JSON. Without a zone it is in UTC, as Google's is.
fn created_of(text: &str) -> Option<Timestamp> {
    let written = text.lines().find_map(|line| line.strip_prefix("# date "));
    if let Some(day) = written {
        return time_of(day.trim());
    }
    let json: Value = serde_json::from_str(text).ok()?;
    time_of(json["creationTime"].as_str()?)
}

fn time_of(text: &str) -> Option<Timestamp> {
    let in_utc = |text: &str| {
        let time: DateTime = text.parse().ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    // Whatever stands behind it, a day is better than nothing.
    let day = || in_utc(text.get(..10)?);
    text.parse().ok().or_else(|| in_utc(text)).or_else(day)
}

fn collect(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::String(text) => found.extend(network(text).ok().map(|network| network.to_string())),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(items) => items.values().for_each(|item| collect(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_facts_is_part_of_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/operators");
        let files = std::fs::read_dir(folder)
            .expect("the folder of facts")
            .count();
        assert_eq!(files, OPERATORS.len());
        assert!(knowledge(None).is_ok());
    }
}
