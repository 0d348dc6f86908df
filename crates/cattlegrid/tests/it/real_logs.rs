//! Real logs and other projects' lists, where they lie beside the project. They are never part of it.

use std::path::PathBuf;

use cattlegrid_core::knowledge::Operator;
use cattlegrid_core::knowledge::RobotList;
use serde_json::Value;

use crate::report;

/// The folder with real logs, or a word that it is not there. That is never a failure: only some machines may have these logs.
pub(crate) fn data(skipped: usize) -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    if folder.is_dir() {
        return Some(folder);
    }
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        format!("SKIPPED: {skipped} checks on real logs, which are not here\n").as_bytes(),
    );
    None
}

/// The list of robots as the program has it.
fn robot_list() -> RobotList {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/operators"));
    let mut operators = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        operators.push(Operator::parse("x", &text).unwrap());
    }
    let list = include_str!("../../../../data/crawler-user-agents.json");
    RobotList::new(list, &operators).unwrap()
}

/// Sources by label and by the class they were given.
fn confusion(report: &Value, labels: &str) -> std::collections::BTreeMap<(String, String), u64> {
    let sources = report["sources"].as_array().unwrap();
    let class: std::collections::BTreeMap<&str, &str> = sources
        .iter()
        .map(|source| {
            (
                source["source"].as_str().unwrap(),
                source["class"].as_str().unwrap(),
            )
        })
        .collect();
    let mut table = std::collections::BTreeMap::new();
    for row in labels.lines().skip(1) {
        let mut cells = row.split(',');
        let (source, label) = (cells.next().unwrap(), cells.next().unwrap());
        let class = class.get(source).copied().unwrap_or("unlisted");
        *table
            .entry((label.to_owned(), class.to_owned()))
            .or_default() += 1;
    }
    table
}

#[test]
fn labelled_logs_are_read_whole_and_nobody_labelled_a_person_is_called_a_crawler() {
    let logs = [
        ("eleek_2020", 406_454, 265),
        ("almhuette_2020_21", 294_094, 0),
        ("nspw_2018", 87_866, 363),
        ("lowtraffic_2005_18", 105_175, 2),
    ];
    let Some(folder) = data(logs.len()) else {
        return;
    };
    for (name, parsed, left_out) in logs {
        let pattern = folder.join(name).join("*.gz");
        let report = report(&["--min-requests", "1", pattern.to_str().unwrap()]);
        assert_eq!(report["lines"]["parsed"], parsed, "{name}");
        let skipped: u64 = report["lines"]["skipped"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["count"].as_u64().unwrap())
            .sum();
        assert_eq!(skipped, left_out, "{name}");
        let labels = std::fs::read_to_string(folder.join(name).join("labels.csv")).unwrap();
        let table = confusion(&report, &labels);
        let count = |label: &str, class: &str| {
            table
                .get(&(label.to_owned(), class.to_owned()))
                .copied()
                .unwrap_or(0)
        };
        assert_eq!(
            count("user", "crawler") + count("user", "automated"),
            0,
            "{name}: {table:?}"
        );
        assert_eq!(count("legitimate", "user"), 0, "{name}: {table:?}");
        // What declares itself is found; the labels were made from the same agents, so this holds the list, not skill.
        let declared: u64 = ["legitimate", "unauthorized"]
            .iter()
            .map(|label| count(label, "crawler") + count(label, "automated"))
            .sum();
        let all: u64 = table
            .iter()
            .filter(|((label, _), _)| label == "legitimate" || label == "unauthorized")
            .map(|(_, count)| count)
            .sum();
        assert!(declared * 100 >= all * 95, "{name}: {table:?}");
    }
}

/// Robots with real browsers, many of which are taken for people: none of them is allowed anything for it.
#[test]
fn no_selenium_robot_gets_an_entry_that_allows_it() {
    let Some(folder) = data(2) else { return };
    let folder = folder.join("m4d_webbot");
    let log = folder.join("train.log.gz");
    let labels = std::fs::read_to_string(folder.join("train.labels.csv")).unwrap();
    let robots: std::collections::BTreeSet<&str> = labels
        .lines()
        .filter(|row| row.contains(",masquerading,"))
        .filter_map(|row| row.split(',').next())
        .collect();
    assert_eq!(robots.len(), 53);
    for k2 in [1000, 50] {
        let place = tempfile::TempDir::new().unwrap();
        let config = format!("[policy]\nk1 = 20\nk2 = {k2}\n");
        let config = crate::write(place.path(), "k2.toml", config.as_bytes());
        let kb = place.path().join("kb.sqlite");
        let (kb, log) = (kb.to_str().unwrap(), log.to_str().unwrap());
        let output = crate::run(&[
            "analyze",
            "--config",
            &config,
            "--kb",
            kb,
            "--kb-time",
            "2019-11-05",
            "--quiet",
            log,
        ]);
        assert!(output.status.success(), "{output:?}");
        let output = crate::run(&["kb", "--kb", kb, "list", "--action", "allow"]);
        let list = crate::stdout(&output);
        let allowed = list
            .split_whitespace()
            .filter(|word| robots.contains(word))
            .count();
        assert_eq!(allowed, 0, "k2 = {k2}: {list}");
    }
}

#[test]
fn people_behind_one_proxy_are_no_crawler() {
    let Some(folder) = data(1) else { return };
    let pattern = folder.join("small_variety/pfc_proxy__*.gz");
    let report = report(&["--min-requests", "1", pattern.to_str().unwrap()]);
    let heaviest = &report["sources"][0];
    assert_ne!(heaviest["class"], "crawler", "{heaviest}");
}

#[test]
fn agents_of_others_lists_are_told_apart() {
    let Some(folder) = data(2) else { return };
    let robots = robot_list();
    let text = std::fs::read_to_string(folder.join("lists/ua/crawler-user-agents.json")).unwrap();
    let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    let left_out = ["Viber", "AP3A\\.240617\\.008", "008\\/"];
    let kept = entries
        .iter()
        .filter(|entry| !left_out.contains(&entry["pattern"].as_str().unwrap()));
    let examples: Vec<&str> = kept
        .flat_map(|entry| entry["instances"].as_array().unwrap())
        .map(|agent| agent.as_str().unwrap())
        .collect();
    let missed: Vec<&&str> = examples
        .iter()
        .filter(|agent| robots.find(agent.as_bytes()).is_none())
        .collect();
    assert!(examples.len() > 1500 && missed.is_empty(), "{missed:?}");

    let mut text = String::new();
    let packed = std::fs::File::open(folder.join("lists/ua/intoli_user-agents.json.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut text).unwrap();
    let browsers: Vec<Value> = serde_json::from_str(&text).unwrap();
    let called: Vec<&str> = browsers
        .iter()
        .map(|entry| entry["userAgent"].as_str().unwrap())
        .filter(|agent| robots.find(agent.as_bytes()).is_some())
        .collect();
    assert!(browsers.len() == 10_000 && called.is_empty(), "{called:?}");
}

/// The agents of a fixture file: a list of texts under each name.
fn fixture(text: &str) -> Vec<String> {
    let texts = text.lines().filter_map(|line| line.strip_prefix("  - "));
    texts
        .map(|text| match text.strip_prefix('"') {
            Some(quoted) => quoted
                .trim_end_matches('"')
                .replace("\\\"", "\"")
                .replace("\\\\", "\\"),
            None => text.trim_matches('\'').to_owned(),
        })
        .collect()
}

#[test]
fn labelled_agents_of_another_project() {
    let Some(folder) = data(2) else { return };
    let robots = robot_list();
    let read = |name: &str| {
        fixture(&std::fs::read_to_string(folder.join("lists/ua/isbot").join(name)).unwrap())
    };
    let (crawlers, browsers) = (read("crawlers.yml"), read("browsers.yml"));
    let is_robot = |agent: &&String| robots.find(agent.as_bytes()).is_some();
    let missed: Vec<&String> = crawlers.iter().filter(|agent| !is_robot(agent)).collect();
    let called: Vec<&String> = browsers.iter().filter(is_robot).collect();
    let said = format!(
        "{} of {} crawlers missed: {missed:#?}\n{} of {} browsers called robots: {called:#?}\n",
        missed.len(),
        crawlers.len(),
        called.len(),
        browsers.len()
    );
    let _ = std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes());
    assert!(missed.len() * 100 <= crawlers.len(), "{said}");
    // A third of these are apps' network libraries, podcast players and injected code: programs to us.
    assert!(called.len() * 10 <= browsers.len(), "{said}");
}

/// Five parts, cut anew again and again: robots that drive a browser are told from people by what other sources of the experiment taught.
#[test]
fn selenium_robots_are_told_from_people_by_their_sessions() {
    let Some(folder) = data(1) else { return };
    let folder = folder.join("m4d_webbot");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (log, labels) = (path("train.log.gz"), path("train.labels.csv"));
    let output = crate::run(&[
        "evaluate",
        "--sessions",
        &log,
        "--labels",
        &labels,
        "--quiet",
    ]);
    assert!(output.status.success(), "{}", crate::stderr(&output));
    let page = crate::stdout(&output);
    let row = page.lines().find(|line| line.starts_with("  all "));
    let words: Vec<&str> = row.unwrap().split_whitespace().collect();
    let (accuracy, accused): (f64, u32) = (words[3].parse().unwrap(), words[7].parse().unwrap());
    assert!(accuracy >= 0.95 && accused == 0, "{page}");
}

/// Sessions of a log that nobody labelled: a network labels them, a person corrects one, and the corrected file is learned from.
#[test]
fn sessions_are_labelled_reviewed_and_learned() {
    let Some(folder) = data(1) else { return };
    let log = folder.join("almhuette_2020_21/access.log.gz");
    let place = tempfile::TempDir::new().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (log, review, model) = (
        log.to_str().unwrap(),
        path("review.csv"),
        path("model.json"),
    );
    let labelled = crate::run(&[
        "train",
        "--sessions",
        log,
        "--derive-labels",
        "--labels-out",
        &review,
        "--quiet",
    ]);
    assert!(labelled.status.success(), "{}", crate::stderr(&labelled));
    let page = crate::stdout(&labelled);
    assert!(
        page.contains("labelled with a probability above 0.8"),
        "{page}"
    );
    let text = std::fs::read_to_string(&review).unwrap();
    let users = text.matches(",user,").count();
    let robots = text.matches(",crawler,").count();
    assert!(users > 50 && robots > 100, "{users} {robots}");
    std::fs::write(&review, text.replacen(",user,", ",crawler,", 1)).unwrap();
    let learn = || {
        crate::run(&[
            "train",
            "--sessions",
            log,
            "--labels",
            &review,
            "--out",
            &model,
            "--quiet",
        ])
    };
    let learned = learn();
    assert!(learned.status.success(), "{}", crate::stderr(&learned));
    let expected = format!(
        "learned from {} sessions of robots and {} of people",
        robots + 1,
        users - 1
    );
    let page = crate::stdout(&learned);
    assert!(page.contains(&expected), "{expected}: {page}");
    std::fs::write(&review, "source,start,label\n192.0.2.1,soon,user\n").unwrap();
    let refused = crate::stderr(&learn());
    assert!(
        refused.contains("line 2: 'soon' is not a start"),
        "{refused}"
    );
}

/// `2023/01/02 10:00:52` as access logs write it.
fn clf_time(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (date, clock) = text.split_once(' ')?;
    let mut date = date.split('/');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(format!("{day}/{month}/{year}:{clock}"))
}

/// Page views that a script in the page reported: people, who run scripts. No parts are in this log, and most sessions are short.
#[test]
fn people_of_a_page_view_counter_are_not_accused_by_their_sessions() {
    let Some(folder) = data(1) else { return };
    let place = tempfile::TempDir::new().unwrap();
    let mut views: Vec<(String, String, String)> = Vec::new();
    for year in 2021..=2024 {
        let path = folder.join(format!("knihovna_beacon/counter_{year}.tsv.gz"));
        let mut text = Vec::new();
        let mut file = flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap());
        std::io::Read::read_to_end(&mut file, &mut text).unwrap();
        for row in String::from_utf8_lossy(&text).lines() {
            let fields: Vec<&str> = row.split('\t').collect();
            let [visitor, time, page, referrer, agent, ..] = fields[..] else {
                continue;
            };
            let Some(stamp) = clf_time(time) else {
                continue;
            };
            let [page, referrer, agent] = [page, referrer, agent].map(|text| text.replace('"', ""));
            let page = page.replace(' ', "%20");
            let line = format!(
                "v{visitor} - - [{stamp} +0000] \"GET {page} HTTP/1.1\" 200 1000 \"{referrer}\" \"{agent}\""
            );
            views.push((time.to_owned(), visitor.to_owned(), line));
        }
    }
    views.sort();
    let log: String = views
        .iter()
        .map(|(_, _, line)| format!("{line}\n"))
        .collect();
    let visitors: std::collections::BTreeSet<&String> =
        views.iter().map(|(_, visitor, _)| visitor).collect();
    let labels: String = visitors
        .iter()
        .map(|visitor| format!("v{visitor},user\n"))
        .collect();
    let log = crate::write(place.path(), "views.log", log.as_bytes());
    let labels = format!("source,label\n{labels}");
    let labels = crate::write(place.path(), "labels.csv", labels.as_bytes());
    let output = crate::run(&[
        "replay",
        &log,
        "--labels",
        &labels,
        "--json",
        "-",
        "--threshold",
        "0.97",
    ]);
    assert!(output.status.success(), "{}", crate::stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&crate::stdout(&output)).unwrap();
    let people = &document["kinds"][0];
    let of = |name: &str| people[name].as_u64().unwrap() as usize;
    let [all, judged, accused] = ["sources", "judged", "called"].map(of);
    // Some views are of pages whose address is none.
    assert!(all * 100 > visitors.len() * 99, "{all}");
    assert!(judged > 1500 && accused * 1000 <= all, "{people}");
}
