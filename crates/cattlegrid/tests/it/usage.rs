//! The usage of a site by people: numbers that can be counted by hand, logs that are odd, and what other programs count.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use serde_json::json;

use crate::file;
use crate::gzip;
use crate::log_line;
use crate::run;
use crate::run_with_input;
use crate::skip;
use crate::stderr;
use crate::stdout;
use crate::write;

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const ROBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/// Two people on two days, with parts of pages, an error and a redirect; a robot with a name.
fn log() -> String {
    let mut log = String::new();
    let mut line = |second: usize, source: &str, target: &str, status: u16, agent: &str| {
        let referrer = match target {
            "/" => "-",
            _ => "http://www.example.com/",
        };
        let line = log_line(second, source, target, status, referrer, agent);
        let _ = writeln!(log, "{line}");
    };
    // Two visits: 31 minutes of silence end the first.
    for (second, target) in [(0, "/"), (1, "/style.css"), (1800, "/a"), (3661, "/b")] {
        line(second, "192.0.2.1", target, 200, BROWSER);
    }
    line(3662, "192.0.2.1", "/moved", 302, BROWSER);
    line(3663, "192.0.2.1", "/gone", 404, BROWSER);
    for second in [3700, 3701, 3702, 3703, 3704] {
        line(second, "198.51.100.9", "/robots.txt", 200, ROBOT);
        line(second, "198.51.100.9", "/", 200, ROBOT);
    }
    // A visit over midnight is one visit, and a visitor on both days.
    for second in [86_390, 86_410] {
        line(second, "192.0.2.2", "/", 200, BROWSER);
    }
    log
}

fn usage(arguments: &[&str]) -> Value {
    let output = run(&[&["report", "--json", "-"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = include_str!("../../../../docs/schema/report.json");
    let schema = serde_json::from_str(schema).unwrap();
    assert_eq!(crate::schema::errors(&schema, &json), Vec::<String>::new());
    json
}

/// A log without referrers and user agents.
fn in_common(log: &str) -> String {
    let short = |line: &str| {
        let line = line.split(" \"http").next().unwrap();
        format!("{}\n", line.split(" \"-\"").next().unwrap())
    };
    log.lines().map(short).collect()
}

fn counted(views: u64, visitors: u64, visits: u64) -> Value {
    json!({"page_views": views, "visitors": visitors, "visits": visits})
}

/// Forty people who each view three pages with their parts; a script of the last one asks for a completion of what they type.
fn log_with_calls() -> String {
    let mut log = String::new();
    for person in 0..40 {
        let source = format!("192.0.2.{person}");
        for (second, target, from) in [
            (0, "/", "-"),
            (1, "/a.css", "http://www.example.com/"),
            (60, "/list", "http://www.example.com/"),
            (61, "/b.png", "http://www.example.com/list"),
            (120, "/article?id=7", "http://www.example.com/list"),
            (121, "/c.png", "http://www.example.com/article?id=7"),
            (130, "/complete?q=c", "http://www.example.com/article?id=7"),
            (131, "/complete?q=ca", "http://www.example.com/article?id=7"),
        ] {
            let line = log_line(person * 300 + second, &source, target, 200, from, BROWSER);
            let _ = writeln!(log, "{line}");
        }
    }
    log
}

#[test]
fn what_scripts_request_is_no_page_view() {
    let (_folder, path) = file(log_with_calls().as_bytes());
    let json = usage(&[&path]);
    assert_eq!(json["all"]["all"], counted(120, 40, 40));
    assert_eq!(
        json["calls"],
        json!([{"path": "/complete", "requests": 80}])
    );
    let text = stdout(&run(&["report", &path]));
    assert!(text.contains("80 requests for 1 path that"), "{text}");
    // Without referrers nobody knows.
    let bare: Vec<String> = log_with_calls()
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('"').collect();
            [&fields[..3], &["-"], &fields[4..]].concat().join("\"")
        })
        .collect();
    let bare = bare.join("\n");
    let (_folder, path) = file(bare.as_bytes());
    assert_eq!(usage(&[&path])["calls"], json!([]));
}

#[test]
fn pages_that_were_sent_are_counted_and_robots_are_not() {
    let (_folder, path) = file(log().as_bytes());
    let json = usage(&[&path]);
    assert_eq!(json["all"]["all"], counted(10, 3, 4));
    assert_eq!(json["all"]["after_step_one"], counted(5, 2, 3));
    assert_eq!(json["all"]["after_step_two"], counted(5, 2, 3));
    assert_eq!(json["blacklisted_sources"], 1);
    let days = json["days"].as_array().unwrap();
    assert_eq!(days[0]["after_step_two"], counted(4, 2, 3));
    assert_eq!(days[1]["after_step_two"], counted(1, 1, 0));
    assert_eq!(json["months"][0]["period"], "2030-01");
    // The same from standard input, from a packed file, and with any number of threads.
    let output = run_with_input(&["report", "--json", "-", "-"], log().as_bytes());
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).unwrap(),
        json
    );
    let output = run_with_input(&["report", "--json", "-", "-"], &gzip(log().as_bytes()));
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).unwrap(),
        json
    );
    assert_eq!(usage(&["--threads", "1", &path]), json);
    let text = stdout(&run(&["report", &path]));
    assert!(text.contains("Step one blacklists 1 sources"), "{text}");
    // An hour of silence: one visit instead of two.
    let (_folder, settings) = file(b"visit_minutes = 60.0\n");
    let json = usage(&["--config", &settings, &path]);
    assert_eq!(json["all"]["after_step_two"]["visits"], 2);
    // Two hours further east it is another day.
    let json = usage(&["--tz", "+02:00", &path]);
    assert_eq!(json["days"][0]["after_step_two"], counted(3, 1, 2));
}

#[test]
fn two_files_that_overlap_count_as_one_log() {
    let (folder, path) = file(log().as_bytes());
    let text = log();
    let lines: Vec<&str> = text.lines().collect();
    let part = |odd: usize| {
        let lines = lines.iter().enumerate().filter(|(at, _)| at % 2 == odd);
        lines
            .map(|(_, line)| format!("{line}\n"))
            .collect::<String>()
    };
    let first = write(folder.path(), "first.log", part(0).as_bytes());
    let second = write(folder.path(), "second.log", part(1).as_bytes());
    let (whole, parts) = (usage(&[&path]), usage(&[&first, &second]));
    assert_eq!(whole["all"]["all"], parts["all"]["all"]);
    assert_eq!(whole["days"][0]["all"], parts["days"][0]["all"]);
}

#[test]
fn the_log_of_people_has_their_lines_byte_for_byte() {
    let (folder, path) = file(log().as_bytes());
    let people = folder.path().join("people.log");
    let people = people.to_str().unwrap();
    let output = run(&["report", "-q", "--write-human-log", people, &path]);
    assert!(output.status.success(), "{}", stderr(&output));
    let expected: String = log()
        .lines()
        .filter(|line| !line.starts_with("198.51.100.9"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(std::fs::read_to_string(people).unwrap(), expected);
    let packed = format!("{people}.gz");
    run(&["report", "-q", "--write-human-log", &packed, &path]);
    let bytes = std::fs::read(&packed).unwrap();
    let mut text = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
    std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
    assert_eq!(text, expected);
}

#[test]
fn goaccess_counts_the_same_in_the_log_of_people() {
    if !skip::has("goaccess", 1) {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let out = folder.path().to_str().unwrap();
    run(&["simulate", "visits", "--seed", "7", "--out", out]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (log, people) = (at("access.log"), at("people.log"));
    let json = usage(&["--write-human-log", &people, &log]);
    let output = Command::new("goaccess")
        .args([&people, "--log-format=COMBINED", "--no-global-config", "-o"])
        .arg(at("goaccess.json"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs: Value =
        serde_json::from_slice(&std::fs::read(at("goaccess.json")).unwrap()).unwrap();
    let general = &theirs["general"];
    let lines = std::fs::read_to_string(&people).unwrap().lines().count();
    assert_eq!(general["total_requests"], lines);
    assert_eq!(general["failed_requests"], 0);
    // GoAccess counts an address with one agent on one day as a visitor; days and pages are ours.
    let hits: u64 = theirs["hosts"]["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["hits"]["count"].as_u64().unwrap())
        .sum();
    assert!(hits <= lines as u64);
    let days = theirs["visitors"]["data"].as_array().unwrap().len();
    let ours = json["days"].as_array().unwrap();
    let seen = ours
        .iter()
        .filter(|day| day["after_step_two"]["page_views"] != 0);
    assert_eq!(days, seen.count());
    let most = ours
        .iter()
        .map(|day| day["after_step_two"]["visitors"].as_u64().unwrap());
    let visitors = general["unique_visitors"].as_u64().unwrap();
    assert!(
        visitors >= most.clone().max().unwrap() && visitors > 0,
        "{visitors}"
    );
}

#[test]
fn a_baseline_is_compared_and_wrong_ones_are_refused_by_line() {
    let (folder, path) = file(log().as_bytes());
    let baseline = write(
        folder.path(),
        "b.csv",
        b"month,page_views,visitors\n2030-01,4,2\n2030-02,9,9\n",
    );
    let text = stdout(&run(&["report", "--baseline", &baseline, &path]));
    assert!(
        text.contains("+25.0 %") && text.contains("Table 4"),
        "{text}"
    );
    assert!(
        text.contains("The log has no page views in 2030-02."),
        "{text}"
    );
    assert!(
        text.contains("The log covers only 2 of the 31 days of 2030-01"),
        "{text}"
    );
    assert!(!text.contains("Warning"), "{text}");
    let more = write(
        folder.path(),
        "m.csv",
        b"month,page_views,visitors\n2030-01-01,6,2\n",
    );
    let text = stdout(&run(&["report", "--baseline", &more, &path]));
    assert!(
        text.contains("Warning: in 2030-01-01 less is left than was tagged"),
        "{text}"
    );
    let compared = &usage(&["--baseline", &baseline, &path])["comparison"];
    assert_eq!(compared["partly_covered"][0]["days_in_log"], 2);
    let wrong = write(
        folder.path(),
        "w.csv",
        b"month,page_views,visitors\n2030-01,many,2\n",
    );
    let output = run(&["report", "--baseline", &wrong, &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("w.csv: line 2: 'many' is no number"));
}

#[test]
fn a_judgement_is_taken_from_a_file_or_the_knowledge_base() {
    let (folder, path) = file(log().as_bytes());
    let words = write(
        folder.path(),
        "words.csv",
        b"192.0.2.1,crawler\n198.51.100.9,person\n",
    );
    let json = usage(&["--judged", &words, &path]);
    assert_eq!(json["all"]["after_step_two"], counted(7, 2, 2));
    assert_eq!(json["heaviest"]["crawlers"], 1);
    let wrong = write(folder.path(), "wrong.csv", b"\n192.0.2.1,robot\n");
    let output = run(&["report", "--judged", &wrong, &path]);
    assert!(stderr(&output).contains("line 2: '192.0.2.1,robot' should be"));
    let kb = folder.path().join("kb.sqlite");
    let kb = kb.to_str().unwrap();
    let said = run(&["kb", "--kb", kb, "deny", "192.0.2.1", "--reason", "crawler"]);
    assert!(said.status.success(), "{}", stderr(&said));
    let json = usage(&["--kb", kb, &path]);
    assert_eq!(json["all"]["after_step_one"], counted(2, 1, 1));
    assert_eq!(json["blacklisted_sources"], 2);
}

/// Thousands of pages without anything else are a crawler's, unless somebody knows better.
fn heavy_log() -> String {
    let mut log = log();
    for second in 0..3_000 {
        let target = format!("/page-{second}");
        let line = log_line(second * 20, "192.0.2.9", &target, 200, "-", BROWSER);
        let _ = writeln!(log, "{line}");
    }
    log
}

#[test]
fn who_is_allowed_is_people_and_no_threshold_removes_them() {
    let (folder, path) = file(heavy_log().as_bytes());
    let left = |json: &Value| json["all"]["after_step_two"]["page_views"].clone();
    assert_eq!(left(&usage(&[&path])), 5);
    let words = write(folder.path(), "words.csv", b"192.0.2.9,person\n");
    let kb = folder.path().join("kb.sqlite");
    let kb = kb.to_str().unwrap();
    // A robot with a name is allowed because it is welcome, not because it is a person.
    for source in ["192.0.2.9", "198.51.100.9"] {
        let said = run(&["kb", "--kb", kb, "allow", source, "--yes"]);
        assert!(said.status.success(), "{}", stderr(&said));
        assert!(stdout(&said).contains(kb), "{}", stdout(&said));
    }
    let [by_word, by_base] = [["--judged", &words], ["--kb", kb]].map(|[flag, file]| {
        let json = usage(&[flag, file, &path]);
        assert_eq!(left(&json), 3_005, "{flag}");
        for moved in json["thresholds"].as_array().unwrap() {
            assert!(
                moved["left"]["page_views"].as_u64() >= Some(3_000),
                "{flag}: {moved}"
            );
        }
        let heaviest = &json["heaviest"]["months"][0]["sources"][0];
        assert_eq!(heaviest["source"], "192.0.2.9");
        assert!(heaviest["kept_by"].is_string(), "{heaviest}");
        json["all"]["people"].clone()
    });
    assert_eq!(by_word, by_base);
    let text = stdout(&run(&["report", "--kb", kb, &path]));
    assert!(text.contains("kept: knowledge base"), "{text}");
}

#[test]
fn judgements_without_effect_are_told() {
    let (folder, path) = file(log().as_bytes());
    let check = |words: &[u8], code: i32, expected: &str| {
        let words = write(folder.path(), "words.csv", words);
        let output = run(&["report", "--judged", &words, &path]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    check(
        b"203.0.113.1,crawler\n192.0.2.1,person\n",
        0,
        "1 of 2 sources are not in the log: 203.0.113.1",
    );
    check(
        b"192.0.2.1,person\n192.0.2.1,crawler\n",
        2,
        "line 2: '192.0.2.1' contradicts an earlier line",
    );
    check(b"\n", 2, "is empty; it needs lines");
    // One source with two names.
    check(
        b"2001:db8::1,person\n2001:db8::2,crawler\n",
        2,
        "'2001:db8::1' and '2001:db8::2' name one source",
    );
    let output = run(&["report", "--kb", "nowhere.sqlite", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no knowledge base nowhere.sqlite"));
}

#[test]
fn labels_speak_only_of_the_sources_that_they_name() {
    let (folder, path) = file(log().as_bytes());
    let labels = |text: &str| write(folder.path(), "labels.csv", text.as_bytes());
    let known = labels("source,label\n192.0.2.1,user\n");
    let text = stdout(&run(&["report", "--labels", &known, &path]));
    assert!(text.contains("2 of 3 visitors have no label"), "{text}");
    assert!(!text.contains("page-tagging tool"), "{text}");
    let row = text.lines().find(|line| line.starts_with("all  ")).unwrap();
    assert!(row.contains("+0.0 %"), "{row}");
    // Other spellings of an address, and two of one source that say different things.
    for (sources, without) in [
        (&["192.0.2.1:443,user"][..], 2),
        (&["::ffff:192.0.2.1,user"], 2),
        (
            &["192.0.2.1,user", "192.0.2.1:443,crawler", "192.0.2.2,user"],
            2,
        ),
    ] {
        let known = labels(&format!("source,label\n{}\n", sources.join("\n")));
        let text = stdout(&run(&["report", "--labels", &known, &path]));
        let said = format!("{without} of 3 visitors have no label");
        assert!(text.contains(&said), "{sources:?}: {text}");
    }
    for (text, expected) in [
        ("source,label\n192.0.2.1,human\n", "'human' is no label"),
        (
            "source,label\n203.0.113.1,user\n",
            "none of its sources is in the log",
        ),
    ] {
        let output = run(&["report", "--labels", &labels(text), &path]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_log_is_never_written_over() {
    let text = log();
    let (folder, path) = file(text.as_bytes());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (hard, soft) = (at("hard.log"), at("soft.log"));
    std::fs::hard_link(&path, &hard).unwrap();
    std::os::unix::fs::symlink(&path, &soft).unwrap();
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    };
    let is_log = "is one of the input logs";
    for flag in ["--write-human-log", "--html", "--json"] {
        for name in [&path, &hard, &soft] {
            refused(&["report", flag, name, &path], is_log);
        }
        refused(
            &["report", flag, &path, folder.path().to_str().unwrap()],
            is_log,
        );
    }
    for command in ["analyze", "plan"] {
        refused(&[command, "--html", &path, &path], is_log);
    }
    let page = at("page.html");
    refused(
        &["report", "--html", &page, "--json", &page, &path],
        "--json and --html both write to",
    );
    let other = at("other.html");
    std::os::unix::fs::symlink(&page, &other).unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    let roundabout = at(&format!("../{name}/page.html"));
    for other in [other, roundabout] {
        std::fs::write(&page, "").unwrap();
        refused(
            &["report", "--html", &page, "--json", &other, &path],
            "--json and --html both write to",
        );
        std::fs::remove_file(&page).unwrap();
        if !Path::new(&other).is_symlink() {
            refused(
                &["report", "--html", &page, "--json", &other, &path],
                "--json and --html both write to",
            );
        }
    }
    let nowhere = ["--html", "/dev/null", "--json", "/dev/null"];
    let output = run(&[&["report"], &nowhere[..], &[&path]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    refused(
        &["report", "--html", "-", &path],
        "--html needs a file name",
    );
    // A page of an earlier run beside the logs is no log.
    for _ in 0..2 {
        let output = run(&["analyze", "--html", &page, folder.path().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn times_without_requests_are_told() {
    let (_folder, path) = file(log().as_bytes());
    let text = stdout(&run(&["report", "--since", "2032-01-01", &path]));
    assert!(
        text.contains("no requests between --since and --until (of 18 lines)"),
        "{text}"
    );
}

#[test]
fn a_wrong_format_is_answered_with_the_recognised_one() {
    let (_folder, path) = file(log().as_bytes());
    let output = run(&["report", "--format", "vhost_combined", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("These lines look like --format combined"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn odd_logs_are_counted_as_they_are() {
    // Nothing but robots.
    let robots: String = log()
        .lines()
        .filter(|line| line.starts_with("198.51.100.9"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (folder, path) = file(robots.as_bytes());
    let json = usage(&[
        "--html",
        folder.path().join("p.html").to_str().unwrap(),
        &path,
    ]);
    assert_eq!(json["all"]["after_step_two"], counted(0, 0, 0));
    // No user agents and no referrers.
    let (_folder, path) = file(in_common(&log()).as_bytes());
    let json = usage(&["--format", "common", &path]);
    assert_eq!(json["all"]["all"], counted(10, 3, 4));
    // A line from another year among the others does not count, here and in the log of people.
    let mut jump = log();
    let late =
        log_line(4000, "192.0.2.1", "/late", 200, "-", BROWSER).replace("/Jan/2030", "/Jun/2033");
    let at = jump.find("/b HTTP").unwrap();
    let at = jump[..at].rfind('\n').unwrap() + 1;
    jump.insert_str(at, &format!("{late}\n"));
    let (folder, path) = file(jump.as_bytes());
    let people = folder.path().join("people.log");
    let json = usage(&["--write-human-log", people.to_str().unwrap(), &path]);
    assert_eq!(json["months"].as_array().unwrap().len(), 1);
    let people = std::fs::read_to_string(people).unwrap();
    assert!(!people.contains("2033") && people.contains("/b HTTP"));
    // A part that is no log.
    let broken = log() + &"\u{1}\u{2} nothing\n".repeat(3);
    let (_folder, path) = file(broken.as_bytes());
    let json = usage(&[&path]);
    assert_eq!(json["unreadable_lines"], 3);
    assert_eq!(json["all"]["all"], counted(10, 3, 4));
    // Nothing at all.
    let (_folder, path) = file(b"");
    assert_eq!(
        run(&["report", &path]).status.code(),
        run(&["analyze", &path]).status.code()
    );
}

#[test]
fn the_metrics_of_counter_leave_out_double_clicks_and_robots() {
    let mut log = String::new();
    let items = [
        (0, "192.0.2.1", "/article/7", 200, BROWSER),
        (20, "192.0.2.1", "/article/7", 304, BROWSER),
        (60, "192.0.2.1", "/article/7/pdf", 200, BROWSER),
        (95, "192.0.2.1", "/article/7/pdf", 200, BROWSER),
        (99, "192.0.2.1", "/article/8/pdf", 404, BROWSER),
        (120, "192.0.2.1", "/about", 200, BROWSER),
        (125, "192.0.2.1", "/away/9", 302, BROWSER),
        (126, "192.0.2.1", "/article/9/pdf", 302, BROWSER),
        (130, "198.51.100.9", "/article/7/pdf", 200, ROBOT),
        // The owner may take it for a person, COUNTER does not.
        (140, "192.0.2.2", "/article/7/pdf", 200, "curl/8.5.0"),
    ];
    for (second, source, target, status, agent) in items {
        let _ = writeln!(
            log,
            "{}",
            log_line(second, source, target, status, "-", agent)
        );
    }
    let (folder, path) = file(log.as_bytes());
    let settings = "[counter]\ninvestigations = ['^/article/([0-9]+)$']\nrequests = ['^/article/([0-9]+)/pdf$']\nlinkouts = ['^/away/([0-9]+)$']\n";
    let settings = write(folder.path(), "settings.toml", settings.as_bytes());
    // Nine requests are too few to tell a person by.
    let words = write(
        folder.path(),
        "words.csv",
        b"192.0.2.1,person\n192.0.2.2,person\n",
    );
    let page = folder.path().join("page.html").display().to_string();
    let json = usage(&[
        "--counter",
        "--html",
        &page,
        "--config",
        &settings,
        "--judged",
        &words,
        &path,
    ]);
    let expected = json!([{
        "month": "2030-01",
        "Total_Item_Investigations": 4, "Unique_Item_Investigations": 2,
        "Total_Item_Requests": 2, "Unique_Item_Requests": 1,
    }]);
    assert_eq!(json["counter"], expected);
    assert_eq!(json["counter_left_out"], 1);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("both steps kept the source: 1."), "{page}");
    let output = run(&["report", "--counter", &path]);
    assert!(stderr(&output).contains("[counter]"));
    // Without user agents nobody knows whom COUNTER's list would leave out.
    let common = write(folder.path(), "common.log", in_common(&log).as_bytes());
    let with_settings = ["--counter", "--config", &settings, "--judged", &words];
    let json = usage(&[&with_settings[..], &[&common]].concat());
    assert_eq!(json["counter_without_agent"], 7);
    let text = stdout(&run(&[&["report"], &with_settings[..], &[&common]].concat()));
    assert!(text.contains("do not conform to the Code"), "{text}");
}

#[test]
fn patterns_that_match_nothing_are_told() {
    let (folder, path) = file(log().as_bytes());
    let none = write(
        folder.path(),
        "none.toml",
        b"[counter]\nrequests = ['^/nowhere/([0-9]+)$']\n",
    );
    let text = stdout(&run(&["report", "--counter", "--config", &none, &path]));
    assert!(
        text.contains("No request by people matches a pattern in [counter]"),
        "{text}"
    );
}

#[test]
fn a_simulated_world_comes_with_tables_figure_and_truth() {
    let folder = tempfile::TempDir::new().unwrap();
    let html = folder.path().join("page.html");
    let html = html.to_str().unwrap();
    let text = stdout(&run(&["report", "--html", html, "world:visits:901"]));
    for part in [
        "Table 3",
        "Table 4",
        "a simulated page-tagging tool",
        "The truth beside it",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = std::fs::read_to_string(html).unwrap();
    assert!(
        page.contains("(Figure 1)") && page.contains("<rect"),
        "{page}"
    );
    let output = run(&["report", "world:nowhere:1"]);
    assert!(stderr(&output).contains("there is no world 'nowhere'"));
}
