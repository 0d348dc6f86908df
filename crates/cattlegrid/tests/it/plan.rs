//! Containment, rehearsed: numbers that can be counted by hand, and a simulated long tail.

use std::fmt::Write;

use serde_json::Value;

use crate::file;
use crate::log_line;
use crate::run;
use crate::stderr;
use crate::stdout;

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

fn line(log: &mut String, second: usize, source: &str, target: &str, referrer: &str, agent: &str) {
    let line = log_line(second, source, target, 200, referrer, agent);
    let _ = writeln!(log, "{line}");
}

/// On one day: 60 visitors with one page each, a person with 30 pages and their parts, a crawler with 1,500 pages.
fn log() -> String {
    let mut log = String::new();
    for second in 0..1500 {
        if second < 60 {
            let source = format!("198.51.100.{second}");
            line(
                &mut log,
                second,
                &source,
                "/a",
                "https://search.example/",
                BROWSER,
            );
        }
        if second < 60 * 30 && second % 50 == 0 {
            let page = format!("/item/{}", second / 50 * 7 % 11);
            line(
                &mut log,
                second,
                "192.0.2.7",
                &page,
                "https://site.example/",
                BROWSER,
            );
            for part in ["/a.css", "/b.jpg"] {
                let of = format!("https://site.example{page}");
                line(&mut log, second, "192.0.2.7", part, &of, BROWSER);
            }
        }
        let page = format!("/item/{second:05}");
        line(
            &mut log,
            second * 50,
            "203.0.113.66",
            &page,
            "-",
            "python-requests/2.31",
        );
    }
    let time = |line: &&str| line.split('[').nth(1).map(str::to_owned);
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_by_key(time);
    lines.join("\n") + "\n"
}

fn plan(arguments: &[&str]) -> Value {
    let mut all = vec!["plan", "--quiet", "--json", "-"];
    all.extend(arguments);
    let output = run(&all);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn share(plan: &Value, table: &str, k1: u32, k2: u32) -> f64 {
    let cells = plan[table].as_array().unwrap();
    let cell = cells
        .iter()
        .find(|cell| cell["k1"] == k1 && cell["k2"] == k2);
    cell.unwrap()["share"].as_f64().unwrap()
}

#[test]
fn shares_and_fates_are_what_can_be_counted_by_hand() {
    let (_folder, path) = file(log().as_bytes());
    let plan = plan(&[&path]);
    let schema = include_str!("../../../../docs/schema/plan.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    assert_eq!(crate::schema::errors(&schema, &plan), Vec::<String>::new());
    // 60 + 90 + 1,500 requests of 62 sources; the person's 90 requests lie between 50 and 100.
    assert_eq!(
        (&plan["requests"], &plan["source_days"]),
        (&Value::from(1650), &Value::from(62))
    );
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-3, "{a} {b}");
    near(share(&plan, "table_9", 50, 100), 90.0 / 1650.0);
    near(share(&plan, "table_9", 100, 1000), 0.0);
    near(share(&plan, "table_9", 100, 2000), 1500.0 / 1650.0);
    near(share(&plan, "sources_between", 10, 10_000), 2.0 / 62.0);
    let person = &plan["fates"]["people"];
    assert_eq!(
        (&person["pages"], &person["passed"], &person["solved"]),
        (&Value::from(30), &Value::from(30), &Value::from(1))
    );
    // The crawler gets its first 20 pages, is held until it is judged a second after its thousandth, and blocked then.
    let crawler = &plan["fates"]["unauthorized"];
    assert_eq!(crawler["passed"], 20, "{plan:#}");
    let (held, blocked) = (
        crawler["held"].as_u64().unwrap(),
        crawler["blocked"].as_u64().unwrap(),
    );
    assert_eq!(held + blocked, 1480);
    assert_eq!(held, 980 + 2, "{plan:#}");
}

#[test]
fn other_limits_and_the_page() {
    let (folder, path) = file(log().as_bytes());
    let html = folder.path().join("plan.html");
    let output = run(&[
        "plan",
        "--k1",
        "50",
        "--k2",
        "2000",
        "--html",
        html.to_str().unwrap(),
        &path,
    ]);
    let text = stdout(&output);
    assert!(
        text.contains("k1 = 50, k2 = 2000") && text.contains("the paper"),
        "{text}"
    );
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("Figure 7") && page.matches("<polyline").count() == 6);
    let output = run(&["plan", "--k1", "50", "--k2", "20", &path]);
    assert!(stderr(&output).contains("k1 = 50 must not be above k2 = 20"));
}

#[test]
fn the_long_tail_of_the_paper_gives_its_table() {
    let folder = tempfile::TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    let made = run(&[
        "simulate",
        "containment-small",
        "--seed",
        "3",
        "--out",
        out,
        "--quiet",
    ]);
    assert!(made.status.success(), "{}", stderr(&made));
    let plan = plan(&[&format!("{out}/access.log")]);
    let near = |a: f64, percent: f64| assert!((100.0 * a - percent).abs() < 0.1, "{a} {percent}");
    near(share(&plan, "table_9", 20, 1000), 3.24);
    near(share(&plan, "table_9", 10, 5000), 6.27);
    near(share(&plan, "table_9", 100, 500), 1.46);
    assert!(share(&plan, "sources_between", 20, 1000) < 0.001);
    assert_eq!(plan["forgotten"], 0);
}
