//! How alike the sources of a campaign are (k), learned from a log whose labels name campaigns.

use std::fmt::Write;

use serde_json::Value;

use crate::campaigns::Log;
use crate::campaigns::SPAN;
use crate::campaigns::draw;
use crate::campaigns::own_agent;
use crate::file;
use crate::report;
use crate::run;
use crate::stdout;
use crate::write;

/// Two campaigns of six, each by a schedule of its own of which every member misses other requests, and their labels.
fn two_schedules() -> (String, String) {
    let mut log = Log::default();
    log.readers();
    let mut labels = "source,label,campaign\n".to_owned();
    for (campaign, network) in [(3, "203.0.113"), (11, "198.51.100")] {
        for member in 0..6 {
            let _ = writeln!(labels, "{network}.{member},masquerading,fleet {campaign}");
        }
        let mut plan = campaign;
        let mut chance = 1000 * campaign;
        for burst in 0..90 {
            let start = draw(&mut plan) % (SPAN - 3600);
            for (member, page) in (0..6).flat_map(|member| (0..30).map(move |page| (member, page)))
            {
                // Chance keeps each member from half of the work.
                if draw(&mut chance).is_multiple_of(2) {
                    let target = format!("/archive/{}", member * 100_000 + burst * 100 + page);
                    let source = format!("{network}.{member}");
                    log.add(start + page * 61, &source, &target, "-", &own_agent(member));
                }
            }
        }
    }
    (log.text(), labels)
}

#[test]
fn k_is_learned_from_the_campaigns_of_a_labelled_log_and_used() {
    let (log, labels) = two_schedules();
    let (folder, log) = file(log.as_bytes());
    let labels = write(folder.path(), "labels.csv", labels.as_bytes());
    let model = folder.path().join("model.json");
    let model = model.to_str().unwrap();
    let truth = ["--labels", &labels];
    let learned = run(&[&["train", "--campaigns", &log, "--out", model], &truth[..]].concat());
    let text = stdout(&learned);
    assert!(
        text.contains("k by bisecting clustering"),
        "{text} {}",
        crate::stderr(&learned)
    );
    let tested = run(&[
        &[
            "evaluate",
            "--campaigns",
            &log,
            "--model",
            model,
            "--json",
            "-",
        ],
        &truth[..],
    ]
    .concat());
    let tested: Value = serde_json::from_str(&stdout(&tested)).unwrap();
    let figure = |rule: &str, name: &str| {
        let mut rows = tested["figures"].as_array().unwrap().iter();
        let row = rows.find(|row| row["rule"] == rule && row["figure"] == name);
        row.unwrap()["percent"].as_f64().unwrap()
    };
    for name in ["precision", "recall"] {
        assert!(
            figure("the paper's, k learned", name) > 99.0,
            "{name} in {tested:#}"
        );
    }
    assert!(figure("the paper's, k 350", "recall") < 50.0, "{tested:#}");

    let json = report(&["--paper-campaigns", "--model", model, &log]);
    let schema = include_str!("../../../../docs/schema/analyze.json");
    let schema = serde_json::from_str(schema).unwrap();
    assert_eq!(crate::schema::errors(&schema, &json), Vec::<String>::new());
    let found = json["paper_campaigns"]["campaigns"].as_array().unwrap();
    let sizes: Vec<usize> = found
        .iter()
        .map(|campaign| campaign["sources"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [6, 6], "{found:#?}");
    assert!(report(&[&log]).get("paper_campaigns").is_none());
    let text = stdout(&run(&[
        "analyze",
        "--paper-campaigns",
        "--model",
        model,
        &log,
    ]));
    assert!(
        text.contains("Campaigns by the paper's algorithm (2 of 2"),
        "{text}"
    );
}

#[test]
fn labels_without_campaigns_are_refused_with_the_reason() {
    let (log, labels) = two_schedules();
    let (folder, log) = file(log.as_bytes());
    let check = |labels: Option<&str>, expected: &str| {
        let mut arguments = vec!["evaluate", "--campaigns", &log];
        let file = labels.map(|labels| write(folder.path(), "labels.csv", labels.as_bytes()));
        if let Some(file) = &file {
            arguments.extend(["--labels", file]);
        }
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2));
        let text = crate::stderr(&output);
        assert!(text.contains(expected), "'{expected}' is missing in {text}");
    };
    check(
        None,
        "give --labels FILE with the columns source, label and campaign",
    );
    check(
        Some("source,label\n203.0.113.1,masquerading\n"),
        "names no campaign",
    );
    let pair: String = labels
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    check(Some(&pair), "no campaign in");
}
