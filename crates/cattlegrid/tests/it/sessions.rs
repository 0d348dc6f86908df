//! `train --sessions`, `replay` and `evaluate --sessions`.

use tempfile::TempDir;

use crate::run;
use crate::stderr;
use crate::stdout;

/// A number of the first row of Table I: robots called, of all, people accused, of all.
fn first_row(page: &str) -> [u32; 4] {
    let mut table = page.lines().skip_while(|line| !line.starts_with("Table I"));
    let row = table.nth(2).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    let of = |word: usize| words[words.len() - word].parse().unwrap();
    [of(7), of(5), of(4), of(2)]
}

#[test]
fn what_is_learned_on_some_sites_tells_robots_on_another() {
    let folder = TempDir::new().unwrap();
    let model = folder.path().join("model.json");
    let model = model.to_str().unwrap();
    let output = run(&[
        "train",
        "--sessions",
        "world:visits:1-4",
        "--out",
        model,
        "--show-rules",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let rules = stdout(&output);
    assert!(rules.contains("the paper's values and cuts"), "{rules}");
    assert!(rules.contains("page_share > 0.6"), "{rules}");
    let replay = |judge: &str, threshold: &str| {
        let world = "world:visits:5-6";
        let output = run(&[
            "replay",
            world,
            "--model",
            model,
            "--judge",
            judge,
            "--threshold",
            threshold,
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        first_row(&stdout(&output))
    };
    let [called, robots, accused, people] = replay("best", "0.9");
    assert_eq!([robots, people], [600, 600]);
    assert!(
        called > 420 && accused < 120,
        "{called} robots, {accused} people"
    );
    let [_, _, accused_by_paper, _] = replay("paper", "0.5");
    assert!(accused_by_paper > accused);
}

#[test]
fn a_log_with_labels_is_replayed_like_its_world() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let out = folder.path().to_str().unwrap();
    let output = run(&["simulate", "visits", "--seed", "9", "--out", out, "-q"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let (log, labels) = (path("access.log"), path("labels.csv"));
    let from_log = run(&["replay", &log, "--labels", &labels]);
    let from_world = run(&["replay", "world:visits:9"]);
    assert!(from_log.status.success(), "{}", stderr(&from_log));
    assert_eq!(stdout(&from_log), stdout(&from_world));
    let document = run(&["replay", "world:visits:9", "--json", "-"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&document)).unwrap();
    let schema = include_str!("../../../../docs/schema/replay.json");
    let schema = serde_json::from_str(schema).unwrap();
    assert_eq!(
        crate::schema::errors(&schema, &document),
        Vec::<String>::new()
    );
    let [called, robots, accused, people] = first_row(&stdout(&from_world));
    let row = &document["table_1"][0];
    let counts = ["called", "robots", "accused", "people"].map(|name| row[name].as_u64());
    assert_eq!(
        counts,
        [called, robots, accused, people].map(|count| Some(u64::from(count)))
    );
}

/// What each source is, by a report.
fn verdicts(path: &str) -> Vec<(String, serde_json::Value)> {
    let report = std::fs::read_to_string(path).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let sources = report["sources"].as_array().unwrap();
    let verdict = |source: &serde_json::Value| {
        let name = source["source"].as_str().unwrap().to_owned();
        (name, source.clone())
    };
    sources.iter().map(verdict).collect()
}

#[test]
fn a_replay_ends_in_the_verdicts_of_an_analysis() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let out = folder.path().to_str().unwrap();
    let output = run(&["simulate", "visits", "--seed", "10", "--out", out, "-q"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let (log, labels) = (path("access.log"), path("labels.csv"));
    let (analysed, replayed) = (path("analysed.json"), path("replayed.json"));
    let output = run(&["analyze", &log, "--json", &analysed, "--quiet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = run(&["replay", &log, "--labels", &labels, "--report", &replayed]);
    assert!(output.status.success(), "{}", stderr(&output));
    let (analysed, replayed) = (verdicts(&analysed), verdicts(&replayed));
    assert!(analysed.len() > 500);
    assert_eq!(analysed, replayed);
}

#[test]
fn the_gate_of_a_replay_holds_robots_and_lets_people_pass() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let replay = |solvers: &str| {
        let output = run(&[
            "replay",
            "world:visits:11",
            "--solvers",
            solvers,
            "--json",
            "-",
            "--html",
            page,
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let groups = &document["gate"]["groups"];
        let of = |group: &str, name: &str| groups[group][name].as_u64().unwrap();
        let got = |group: &str| 100 * of(group, "passed") / of(group, "pages");
        (got("people"), got("robots"), of("robots", "suspected"))
    };
    let (people, robots, suspected) = replay("people");
    assert!(people >= 95 && robots <= 40, "{people}, {robots}");
    assert!(suspected > 10, "{suspected}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("people solve every challenge, robots none"));
    assert!(html.contains("Figure 6"));
    let (people, robots, _) = replay("everyone");
    assert!(people >= 95 && robots >= 80, "{people}, {robots}");
    let (people, ..) = replay("nobody");
    assert!(people <= 60, "{people}");
}

#[test]
fn without_labels_a_replay_is_about_agreement() {
    let output = run(&["replay", "../../examples/access.log"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = stdout(&output);
    assert!(page.contains("agreement, not accuracy"), "{page}");
    assert!(
        stderr(&output).contains("judgements"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_is_missing_is_said() {
    let check = |arguments: &[&str], message: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    };
    check(&["replay", "-"], "or --labels FILE");
    check(&["replay", "no.log", "--labels", "no.csv"], "no.csv");
    check(&["replay", "world:visit:1"], "there are in market, midsize");
    check(&["replay", "world:visits:x"], "should be world:KIND:SEEDS");
    check(
        &["replay", "world:visits:5-1"],
        "should be world:KIND:SEEDS",
    );
    check(
        &["replay", "world:visits:1", "--threshold", "7"],
        "is not a probability",
    );
    check(
        &["evaluate", "--sessions", "world:visits:1", "--folds", "1"],
        "it takes two parts",
    );
    check(
        &["replay", "world:visits:1", "access.log"],
        "not both at once",
    );
    check(
        &["replay", "world:visits:1", "--labels", "labels.csv"],
        "worlds bring their own",
    );
}
