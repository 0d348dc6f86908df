//! Traffic shape: worlds, models, labels, and what `inspect` draws.

use crate::EXAMPLE;
use crate::file;
use crate::report;
use crate::run;
use crate::stdout;

/// A page every three minutes for some days, and a visitor who keeps the log from having gaps.
fn steady(days: usize) -> Vec<u8> {
    let line = |number: usize, source: &str| {
        let second = number * 180;
        let clock = format!(
            "{:02}/Jan/2030:{:02}:{:02}:{:02}",
            1 + second / 86_400,
            second / 3600 % 24,
            second / 60 % 60,
            second % 60
        );
        format!(
            "{source} - - [{clock} +0000] \"GET /p-{number} HTTP/1.1\" 200 10 \"-\" \"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\"\n"
        )
    };
    let lines =
        (0..days * 480).map(|number| line(number, "192.0.2.1") + &line(number, "192.0.2.2"));
    lines.collect::<String>().into_bytes()
}

#[test]
fn inspect_draws_the_shape_where_the_log_is_long_enough() {
    let (folder, log) = file(&steady(4));
    let page = folder.path().join("one.html");
    let output = run(&[
        "inspect",
        "192.0.2.1",
        &log,
        "--html",
        page.to_str().unwrap(),
    ]);
    let text = stdout(&output);
    for expected in [
        "Autocorrelation, lags of 1 to 96",
        "Decomposition of 192 half hours",
        "How likely a crawler is by its shape",
        "quietest hours",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let html = std::fs::read_to_string(page).unwrap();
    assert!(
        html.contains("Autocorrelation at lags")
            && html.contains("<polyline")
            && !html.contains("NaN"),
        "{html}"
    );
    let schema =
        serde_json::from_str(include_str!("../../../../docs/schema/inspect.json")).unwrap();
    let output = run(&["inspect", "192.0.2.1", &log, "--json", "-"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        crate::schema::errors(&schema, &document),
        Vec::<String>::new()
    );
    assert_eq!(
        document["windows"][0]["shape"]["autocorrelation"]
            .as_array()
            .unwrap()
            .len(),
        96
    );
    // A day and a half has no shape, and the rules say so.
    let (_folder, log) = file(&steady(1));
    let text = stdout(&run(&["inspect", "192.0.2.1", &log]));
    assert!(!text.contains("Autocorrelation"), "{text}");
    assert!(text.contains("too short to show a rhythm"), "{text}");
}

#[test]
fn a_simulated_world_is_a_log_with_labels() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = run(&["simulate", "shop", "--seed", "7", "--out", out]);
    assert!(output.status.success());
    let labels = std::fs::read_to_string(folder.path().join("labels.csv")).unwrap();
    assert!(labels.starts_with("source,label,campaign,habit,evasion\n"));
    let json = report(&[folder.path().join("access.log").to_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    let requests = json["totals"]["all"]["requests"].as_u64().unwrap();
    assert!(
        said.starts_with(&format!("{requests} requests of ")),
        "{said}"
    );
    assert_eq!(
        json["totals"]["all"]["sources"].as_u64().unwrap() as usize,
        labels.lines().count() - 1
    );
    let unknown = run(&["simulate", "moon", "--out", out]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("social-test"));
}

#[test]
fn a_model_is_trained_tested_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let model = path("model.json");
    let trained = run(&["train", "world:shop:1", "--out", &model]);
    assert!(
        trained.status.success(),
        "{}",
        String::from_utf8_lossy(&trained.stderr)
    );
    assert!(stdout(&trained).starts_with("learned from "));
    let tested = stdout(&run(&[
        "evaluate",
        "world:shop:2",
        "--model",
        &model,
        "--json",
        "-",
    ]));
    let tested: serde_json::Value = serde_json::from_str(&tested).unwrap();
    let rows = tested["shape"]["all_values"].as_array().unwrap();
    let vote = |class: &str| {
        rows.iter()
            .find(|row| row["class"] == class && row["answer"] == "vote")
            .unwrap()["percent"]
            .as_f64()
            .unwrap()
    };
    // One small world to learn from: far better than chance, and no more is asked.
    assert!(vote("crawlers") > 80.0 && vote("users") > 80.0, "{tested}");
    // Cut, and not there.
    std::fs::write(path("cut.json"), &std::fs::read(&model).unwrap()[..5000]).unwrap();
    for (name, word) in [("cut.json", "train"), ("none.json", "cannot be read")] {
        let output = run(&["analyze", EXAMPLE, "--model", &path(name)]);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(name) && said.contains(word), "{said}");
    }
    let output = run(&["train", EXAMPLE, "--out", &model]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--labels"));
    std::fs::write(path("labels.csv"), "source,label\n192.0.2.1,martian\n").unwrap();
    let output = run(&[
        "train",
        EXAMPLE,
        "--labels",
        &path("labels.csv"),
        "--out",
        &model,
    ]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("line 2: 'martian' is no label"), "{said}");
}

#[test]
fn labels_are_derived_corrected_and_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let labels = folder.path().join("labels.csv");
    let labels = labels.to_str().unwrap();
    let output = run(&["train", EXAMPLE, "--derive-labels", "--labels-out", labels]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = std::fs::read_to_string(labels).unwrap();
    assert!(
        text.contains("203.0.113.20,automated") && text.contains("203.0.113.10,unauthorized"),
        "{text}"
    );
    // The example is too small to learn from, and says so.
    let output = run(&["train", EXAMPLE, "--labels", labels, "--out", "/dev/null"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--day-requests"));
}
