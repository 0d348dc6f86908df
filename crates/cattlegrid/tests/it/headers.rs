//! Thresholds and weights learned from a labelled log, and the tables of the header heuristics.

use crate::file;
use crate::run;
use crate::stdout;

/// Crawlers that fetch each page once without a referrer, and people who go back and forth; sixty pages each.
fn log_and_labels() -> (String, String) {
    let (mut log, mut labels) = (String::new(), "source,label,evasion\n".to_owned());
    for source in 0..25 {
        labels += &format!("192.0.2.{source},masquerading,2\n198.51.100.{source},user,\n");
    }
    for number in 0..60 {
        for source in 0..25 {
            let clock = format!(
                "[01/Jan/2030:{:02}:{:02}:00 +0000]",
                number / 60,
                number % 60
            );
            log += &format!(
                "192.0.2.{source} - - {clock} \"GET /item/{source}-{number} HTTP/1.1\" 200 10 \"-\" \"Mozilla/5.0 a\"\n"
            );
            log += &format!(
                "198.51.100.{source} - - {clock} \"GET /item/{} HTTP/1.1\" 200 10 \"http://shop.example.com/item/{}\" \"Mozilla/5.0 b\"\n",
                number % 20,
                (number + 19) % 20
            );
        }
    }
    (log, labels)
}

#[test]
fn thresholds_and_weights_are_learned_and_used() {
    let (log, labels) = log_and_labels();
    let (folder, log) = file(log.as_bytes());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (labels_file, settings) = (path("labels.csv"), path("learned.toml"));
    std::fs::write(&labels_file, labels).unwrap();
    let truth = ["--labels", &labels_file, "--day-requests", "50"];
    let mut train = vec!["train", "--headers", &log, "--out-settings", &settings];
    train.extend(truth);
    let text = stdout(&run(&train));
    for expected in [
        "25 crawlers and 25 users",
        "empty_max",
        "revisits_min",
        "shipped weights",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let written = std::fs::read_to_string(&settings).unwrap();
    assert!(written.contains("[detectors.low_page_revisit]") && written.contains("[weights]"));
    // Detectors that grade their findings have a factor instead, and are no longer left out.
    let (weights, grades) = written.split_once("[grades]").unwrap();
    assert!(
        grades.contains("suspicious_sequence = ") && !weights.contains("suspicious_sequence =")
    );
    let mut evaluate = vec![
        "evaluate",
        "--headers",
        &log,
        "--config",
        &settings,
        "--json",
        "-",
    ];
    evaluate.extend(truth);
    let tested: serde_json::Value = serde_json::from_str(&stdout(&run(&evaluate))).unwrap();
    let percent = |class: &str, answer: &str| {
        let rows = tested["tables"]["log"].as_array().unwrap();
        let mut rows = rows.iter();
        let row = rows.find(|row| row["class"] == class && row["answer"] == answer);
        row.unwrap()["percent"].as_f64().unwrap()
    };
    for class in ["crawlers", "users", "evasion 2"] {
        for answer in ["H2", "H3"] {
            assert_eq!(percent(class, answer), 100.0, "{class} {answer}");
        }
    }
}

#[test]
fn header_heuristics_want_labels_that_nobody_derived() {
    let (log, _) = log_and_labels();
    let (_folder, log) = file(log.as_bytes());
    let output = run(&["evaluate", "--headers", &log, "--derive-labels"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--labels FILE"), "{said}");
}
