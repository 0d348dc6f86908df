//! The ways of visitors through a site.

use serde_json::Value;

use crate::run;
use crate::stdout;

#[test]
fn sealed_links_cost_what_the_paper_says() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let html = page.to_str().unwrap();
    let output = run(&["paths", "suppression", "--runs", "5", "--html", html]);
    assert!(output.status.success());
    let text = stdout(&output);
    assert!(
        text.contains("Figure 4") && text.contains("2,881 %"),
        "{text}"
    );
    let drawn = std::fs::read_to_string(page).unwrap();
    assert_eq!(drawn.matches("<polyline").count(), 2);
    let output = run(&["paths", "suppression", "--runs", "5", "--json", "-"]);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let half = &json["figure_5"][9];
    assert_eq!(half["share"], 0.5);
    let downloads = half["downloads"].as_f64().unwrap();
    assert!((2.3..=2.6).contains(&downloads), "{downloads}");
    assert!(
        !run(&["paths", "suppression", "--runs", "0"])
            .status
            .success()
    );
}

/// A forum's log and labels, in a folder that lives as long as the test.
fn forum(seed: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = run(&["simulate", "forum", "--seed", seed, "--out", out, "--quiet"]);
    assert!(output.status.success());
    let log = format!("{out}/access.log");
    (folder, log)
}

#[test]
fn a_log_proposes_the_length_of_long_sessions() {
    // Requests at these minutes: their longest short sessions are 5, 3 and 7.
    let users: [(&str, &[u32]); 3] = [
        ("ann", &[0, 1, 2, 3, 4, 90, 91]),
        ("bob", &[0, 40, 41, 42, 110]),
        ("carl", &[5, 6, 7, 8, 9, 10, 39]),
    ];
    let mut rows: Vec<(u32, &str)> = Vec::new();
    for (user, minutes) in users {
        rows.extend(minutes.iter().map(|minute| (*minute, user)));
    }
    rows.sort_unstable();
    let line = |(minute, user): &(u32, &str)| {
        let (hour, minute) = (minute / 60, minute % 60);
        format!(
            "192.0.2.7 - {user} [07/Jan/2030:{hour:02}:{minute:02}:00 +0000] \"GET /thread/{minute} HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0\"\n\
             192.0.2.7 - {user} [07/Jan/2030:{hour:02}:{minute:02}:00 +0000] \"GET /style.css HTTP/1.1\" 200 512 \"-\" \"Mozilla/5.0\"\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    std::fs::write(&log, rows.iter().map(line).collect::<String>()).unwrap();
    let measure = |more: &[&str]| {
        let all = [&["paths", "measure", log.to_str().unwrap()], more].concat();
        stdout(&run(&all))
    };
    let text = measure(&["--active", "1"]);
    assert!(text.contains("19 named by the log, 0 by session"), "{text}");
    assert!(text.contains("median 5 page requests"), "{text}");
    assert!(
        text.contains("twice the median: 10 page requests"),
        "{text}"
    );
    // With gaps of a quarter of an hour, carl's last request stands alone.
    let text = measure(&["--active", "7", "--gap", "15"]);
    assert!(text.contains("2 of them with 7 page requests"), "{text}");
    assert!(text.contains("half of the users from 5 to 5"), "{text}");
    let text = measure(&[]);
    assert!(text.contains("too few to propose"), "{text}");
}

#[test]
fn users_who_crawl_are_found_in_a_log() {
    let (folder, log) = forum("72");
    let text = stdout(&run(&["paths", "judge", &log, "--top", "1000"]));
    assert!(text.contains("weaker than markers"), "{text}");
    let labels = std::fs::read_to_string(folder.path().join("labels.csv")).unwrap();
    let mut wrong = [0, 0];
    let mut all = [0, 0];
    for row in labels.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let is_crawler = cells[2] != "user";
        let is_listed = text.contains(&format!("  {} ", cells[0]));
        all[usize::from(is_crawler)] += 1;
        wrong[usize::from(is_crawler)] += i32::from(is_listed != is_crawler);
    }
    assert_eq!(all[0], 64);
    assert!(
        wrong[0] <= 6 && wrong[1] <= 3,
        "{wrong:?} of {all:?}\n{text}"
    );
}

#[test]
fn evaluate_prints_table_i_and_draws_both_figures() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("figures.html");
    let html = page.to_str().unwrap();
    let json = folder.path().join("table.json");
    let json = json.to_str().unwrap();
    let world = "world:forum:73";
    let output = run(&["evaluate", "--paths", world, "--html", html, "--json", json]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("Table I, learned from half").count(), 4);
    assert_eq!(text.matches("(paper 96.43)").count(), 16);
    assert!(text.contains("log only, parents from referrers (weaker)"));
    let drawn = std::fs::read_to_string(page).unwrap();
    assert_eq!(drawn.matches("<svg").count(), 2);
    assert!(drawn.contains("Figure 2") && drawn.contains("Figure 3"));
    let document = std::fs::read_to_string(json).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let schema = include_str!("../../../../docs/schema/evaluate-paths.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert_eq!(
        crate::schema::errors(&schema, &document),
        Vec::<String>::new()
    );
    // The same figures as in the text.
    let people = &document["results"][0]["tables"][3]["people"];
    let rate = format!("({} of {},", people["right"], people["sessions"]);
    assert!(text.contains(&rate), "{rate}\n{text}");
}

#[test]
fn paths_are_learned_from_forums_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model.json");
    let out = out.to_str().unwrap();
    for (world, says) in [
        (
            "world:social:1",
            "there are no signed-in users in a world 'social'",
        ),
        ("access.log", "simulated forums"),
    ] {
        let output = run(&["train", "--paths", world, "--out", out]);
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(says), "{said}");
    }
    let output = run(&["train", "--paths", "world:forum:1"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("--out"));
}
