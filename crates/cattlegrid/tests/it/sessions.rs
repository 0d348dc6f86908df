//! `train --sessions`, `replay` and `evaluate --sessions`.

use tempfile::TempDir;

use crate::run;
use crate::stderr;
use crate::stdout;

/// A number of the first row of Table I: robots called, of all, people accused, of all.
fn first_row(page: &str) -> [u32; 4] {
    let row = page.lines().nth(2).unwrap();
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
    let from_log = run(&["replay", &log, "--labels", &labels, "--quiet"]);
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

#[test]
fn what_is_missing_is_said() {
    let check = |arguments: &[&str], message: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    };
    check(&["replay", "access.log"], "give --labels FILE");
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
