//! What the page of a report shows beyond verdicts: who is unwanted and how to block them, and what people asked for.

use serde_json::Value;
use tempfile::TempDir;

use crate::EXAMPLE;
use crate::file;
use crate::log_line;
use crate::run;
use crate::run_with_input;
use crate::stderr;
use crate::stdout;
use crate::write;

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// The page and the JSON report of a log.
fn made(arguments: &[&str]) -> (String, Value) {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("report.html");
    let page = page.to_str().unwrap();
    let flags = ["analyze", "--json", "-", "--html", page];
    let output = run(&[&flags, arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let json = serde_json::from_slice(&output.stdout).unwrap();
    (std::fs::read_to_string(page).unwrap(), json)
}

fn sum(rows: &Value, key: &str) -> u64 {
    let rows = rows.as_array().unwrap();
    rows.iter().map(|row| row[key].as_u64().unwrap()).sum()
}

#[test]
fn panels_count_the_requests_of_people_and_no_others() {
    let (page, json) = made(&["--min-requests", "1", EXAMPLE]);
    let schema = include_str!("../../../../docs/schema/analyze.json");
    let schema = serde_json::from_str(schema).unwrap();
    let errors = crate::schema::errors(&schema, &json);
    assert!(errors.is_empty(), "{errors:?}");
    let people = &json["panels"]["people"];
    let user = &json["totals"]["user"];
    assert_eq!(sum(&people["statuses"], "requests"), user["requests"]);
    assert_eq!(sum(&people["days"], "requests"), user["requests"]);
    assert_eq!(sum(&people["days"], "bytes"), user["bytes"]);
    let views = sum(&people["days"], "views");
    assert!(views > 0 && views <= user["pages"].as_u64().unwrap());
    assert_eq!(people["pages"]["requests"], views);
    assert_eq!(sum(&people["browsers"], "requests"), views);
    assert_eq!(sum(&people["systems"], "requests"), views);
    let hours = people["hours"].as_array().unwrap();
    assert_eq!(hours.iter().filter_map(Value::as_u64).sum::<u64>(), views);
    // Who hurts comes first, then people.
    let place = |id: &str| page.find(&format!("<h2 id=\"{id}\">")).unwrap();
    assert!(place("unwanted") < place("people"));
    assert!(place("people") < place("list"));
}

#[test]
fn panels_are_the_same_for_any_number_of_threads_and_from_standard_input() {
    let (page, one) = made(&["--threads", "1", EXAMPLE]);
    let (same, two) = made(&["--threads", "2", EXAMPLE]);
    assert_eq!(page, same);
    assert_eq!(one, two);
    let folder = TempDir::new().unwrap();
    let piped = folder.path().join("piped.html");
    let piped = piped.to_str().unwrap();
    let log = std::fs::read(EXAMPLE).unwrap();
    let output = run_with_input(&["analyze", "-q", "--html", piped, "-"], &log);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(piped).unwrap(), page);
}

#[test]
fn the_command_on_the_page_blocks_the_source() {
    let (page, _) = made(&[EXAMPLE]);
    let command = page
        .split("<pre>")
        .filter_map(|part| part.split("</pre>").next())
        .find(|command| command.starts_with("cattlegrid kb deny "))
        .unwrap();
    let folder = TempDir::new().unwrap();
    let base = folder.path().join("kb.sqlite");
    let base = base.to_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(2).collect();
    let output = run(&[&["kb", "--kb", base], &words[..]].concat());
    assert!(output.status.success(), "{command}: {}", stderr(&output));
    let list = run(&["kb", "--kb", base, "export", "--as", "cidr"]);
    assert!(stdout(&list).contains(words[1]), "{}", stdout(&list));
}

#[test]
fn a_pseudonym_has_no_command() {
    let (page, _) = made(&["--pseudonymize", EXAMPLE]);
    assert!(!page.contains("<pre>cattlegrid kb"));
    assert!(page.contains("anon-"));
}

#[test]
fn referrers_are_told_apart() {
    let mut log = String::new();
    for number in 0..30 {
        let source = format!("198.51.100.{number}");
        let referrer = match number % 3 {
            0 => "https://www.google.com/",
            1 => "https://chatgpt.com/",
            _ => "https://blog.example.org/post",
        };
        let at = number * 600;
        let page = format!("/page{number}");
        let own = format!("https://www.example.com{page}");
        let style = "/style.css";
        log += &(log_line(at, &source, &page, 200, referrer, FIREFOX) + "\n");
        log += &(log_line(at + 1, &source, style, 200, &own, FIREFOX) + "\n");
        log += &(log_line(at + 2, &source, "/photo.jpg", 200, &own, FIREFOX) + "\n");
        log += &(log_line(at + 40, &source, "/next", 200, &own, FIREFOX) + "\n");
        log += &(log_line(at + 41, &source, style, 304, &own, FIREFOX) + "\n");
        log += &(log_line(at + 60, &source, "/<b>gone", 404, &own, FIREFOX) + "\n");
    }
    let (_folder, log) = file(log.as_bytes());
    let (page, json) = made(&["--min-requests", "1", &log]);
    let people = &json["panels"]["people"];
    let views = sum(&people["days"], "views");
    assert_eq!(views, 60, "{}", json["totals"]);
    assert_eq!(people["own_hosts"][0], "www.example.com");
    let first = |rows: &Value| (rows[0]["text"].clone(), rows[0]["requests"].clone());
    assert_eq!(first(&people["searches"]), ("google".into(), 10.into()));
    assert_eq!(
        first(&people["referrers"]),
        ("blog.example.org".into(), 10.into())
    );
    let sent = &json["panels"]["ai"]["sent_back"];
    assert_eq!(first(sent), ("chatgpt.com".into(), 10.into()));
    assert_eq!(people["not_found"]["requests"], 30);
    assert_eq!(
        first(&people["files"]["rows"]),
        ("/style.css".into(), 60.into())
    );
    assert!(page.contains("/&lt;b&gt;gone") && !page.contains("<b>gone"));
}

#[test]
fn a_folder_may_hold_what_is_no_log() {
    let folder = TempDir::new().unwrap();
    let log = std::fs::read(EXAMPLE).unwrap();
    write(folder.path(), "access.log", &log);
    let error_log = b"2030/01/01 00:00:00 [error] 7#7: *1 open() \"/srv/x\" failed (2: No such file or directory)\n".repeat(20);
    let error_log = write(folder.path(), "error.log", &error_log);
    let output = run(&["analyze", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("error.log is passed over"));
    assert!(stdout(&output).contains("3,000 requests"));
    // Who names the file itself wants it read.
    let output = run(&["analyze", EXAMPLE, &error_log]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn text_for_a_pipe_is_not_cut() {
    let text = stdout(&run(&["analyze", EXAMPLE]));
    assert!(text.lines().any(|line| line.len() > 130), "{text}");
    assert!(!text.contains('…'), "{text}");
}
