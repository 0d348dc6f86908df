//! Crawlers hidden in sources that people share: found by user agent and session cookie, and no agent of people is accused.

use std::collections::BTreeMap;

use serde_json::Value;
use tempfile::TempDir;

use crate::report;
use crate::run;
use crate::stderr;
use crate::stdout;

/// A world of gateways: its folder, its log, and the truth about each source: its kind, and the agent of the crawler in it.
fn gateways(seed: &str) -> (TempDir, String, BTreeMap<String, (String, String)>) {
    let folder = TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let made = run(&["simulate", "gateways", "--seed", seed, "--out", out]);
    assert!(made.status.success(), "{}", stderr(&made));
    let labels = folder.path().join("labels.csv");
    let mut labels = csv::Reader::from_path(labels).unwrap();
    let truth = labels.records().map(|row| {
        let row = row.unwrap();
        (row[0].to_owned(), (row[3].to_owned(), row[5].to_owned()))
    });
    let truth = truth.collect();
    let log = folder.path().join("access.log");
    let log = log.to_str().unwrap().to_owned();
    (folder, log, truth)
}

#[test]
fn hidden_crawlers_are_found_and_the_people_beside_them_are_not_accused() {
    let (_folder, log, truth) = gateways("3");
    let json = report(&["--hidden", &log]);
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/analyze.json")).unwrap();
    assert_eq!(crate::schema::errors(&schema, &json), Vec::<String>::new());
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for hidden in json["hidden"].as_array().unwrap() {
        let source = hidden["source"].as_str().unwrap();
        let (kind, agent) = &truth[source];
        assert_eq!(
            hidden["agent"],
            agent.as_str(),
            "accused in {source} ({kind})"
        );
        found.entry(source).or_default().push(kind);
    }
    for (source, (kind, _)) in &truth {
        // A real browser that loads pages and follows links leaves nothing to tell it by.
        let is_told = kind.starts_with("hidden") && kind != "hidden: real browser";
        let times = found.get(source.as_str()).map_or(0, Vec::len);
        assert_eq!(times, usize::from(is_told), "{source} ({kind})");
        let mut listed = json["sources"].as_array().unwrap().iter();
        let listed = listed.find(|listed| listed["source"] == source.as_str());
        if let Some(listed) = listed {
            assert_eq!(listed["mixed"], is_told, "{source} ({kind})");
        }
    }
    assert_eq!(found.len(), 8);
    assert_eq!(json["mixed_sources"], 8);
}

#[test]
fn threads_change_nothing_and_without_the_flag_nothing_is_split() {
    let (_folder, log, _) = gateways("4");
    let of = |threads: &str| {
        stdout(&run(&[
            "analyze",
            "--hidden",
            "--threads",
            threads,
            "--json",
            "-",
            &log,
        ]))
    };
    assert_eq!(of("1"), of("2"));
    assert!(report(&[&log]).get("hidden").is_none());
    let text = stdout(&run(&["analyze", "--hidden", &log]));
    assert!(
        text.contains("Crawlers hidden in sources that people share"),
        "{text}"
    );
    assert!(text.contains("told by its session cookie"), "{text}");
}
