//! Arguments, messages, exit status, documents.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::EXAMPLE;
use crate::LINE;
use crate::file;
use crate::report;
use crate::run;
use crate::run_with_input;
use crate::stderr;
use crate::stdout;
use crate::write;

#[test]
fn the_example_shows_its_crawlers_and_why() {
    let output = run(&["analyze", EXAMPLE]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("format combined"));
    let text = stdout(&output);
    for expected in [
        "3,000 requests from",
        // As the README shows it.
        "people                     50         1,816   60.5 %           454   27.9 %    36.4 MB",
        "203.0.113.66",
        "masquerading",
        "in ascending order by number",
        "that of Googlebot",
        "Could not be judged",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let json = report(&[EXAMPLE]);
    let class = |source: &str| {
        let entry = json["sources"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["source"] == source)
            .unwrap();
        (entry["class"].as_str().unwrap(), entry["kind"].as_str())
    };
    assert_eq!(class("203.0.113.10"), ("crawler", None));
    assert_eq!(class("203.0.113.66"), ("crawler", Some("masquerading")));
    assert_eq!(class("203.0.113.99"), ("crawler", Some("masquerading")));
    assert_eq!(class("203.0.113.20"), ("automated", None));
    assert_eq!(class("198.51.100.250"), ("user", None));
}

#[test]
fn the_json_report_keeps_to_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/analyze.json")).unwrap();
    let empty = run_with_input(
        &["analyze", "--json", "-", "--format", "combined", "-"],
        b"# nothing\n",
    );
    let json = report(&["--min-requests", "1", EXAMPLE]);
    for document in [json, serde_json::from_slice(&empty.stdout).unwrap()] {
        let errors = crate::schema::errors(&schema, &document);
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[test]
fn listed_are_findings_of_any_size_and_the_rest_from_min_requests_on() {
    let few = report(&[EXAMPLE]);
    let all = report(&["--min-requests", "1", EXAMPLE]);
    let listed = few["sources"].as_array().unwrap();
    assert!(
        listed
            .iter()
            .all(|source| source["class"] != "user" || source["requests"].as_u64() >= Some(100))
    );
    assert_eq!(
        all["sources"].as_array().unwrap().len() as u64,
        all["totals"]["all"]["sources"].as_u64().unwrap()
    );
    assert!(listed.len() < all["sources"].as_array().unwrap().len());
    assert_eq!(few["totals"], all["totals"]);
    let requests: Vec<u64> = all["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["requests"].as_u64().unwrap())
        .collect();
    assert!(requests.is_sorted_by(|a, b| a >= b));
}

#[test]
fn exit_status_tells_findings_and_errors_apart() {
    assert_eq!(run(&["analyze", EXAMPLE, "-q"]).status.code(), Some(0));
    assert_eq!(
        run(&["analyze", EXAMPLE, "-q", "--fail-on", "crawler"])
            .status
            .code(),
        Some(1)
    );
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
    let line = LINE.replace("Mozilla/5.0", browser);
    let (_folder, person) = file(format!("{line}\n").as_bytes());
    assert_eq!(
        run(&["analyze", &person, "-q", "--fail-on", "crawler"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(run(&["analyze", "/no/such/file"]).status.code(), Some(2));
    assert_eq!(run(&["analyze"]).status.code(), Some(2));
    assert_eq!(
        run(&["analyze", EXAMPLE, "--json", "/no/such/folder/report.json"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn one_bad_file_does_not_keep_the_others_from_being_read() {
    let output = run(&["analyze", "/no/such/file", EXAMPLE]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/no/such/file does not exist"));
    assert!(stdout(&output).contains("3,000 requests"));
}

#[test]
fn a_log_that_is_not_understood_says_what_to_do() {
    let (_folder, words) = file(b"just\nsome\nwords\n");
    let message = stderr(&run(&["analyze", &words]));
    assert!(
        message.contains("was not recognised")
            && message.contains("just")
            && message.contains("--format"),
        "{message}"
    );
    // Right at first, another format later: the wrong lines are in the majority.
    let json = r#"{"time_iso8601":"2030-01-01T00:00:00+00:00","remote_addr":"192.0.2.1","request":"GET / HTTP/1.1","status":200}"#;
    let mixed = format!("{LINE}\n").repeat(300) + &format!("{json}\n").repeat(1000);
    let (_folder, mixed) = file(mixed.as_bytes());
    let output = run(&["analyze", &mixed]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message.contains("1000 of 1300 lines could not be read")
            && message.contains(":301: {")
            && message.contains("--format json_nginx"),
        "{message}"
    );
}

#[test]
fn wrong_settings_are_refused_with_their_line() {
    let (folder, log) = file(format!("{LINE}\n").as_bytes());
    let config = write(
        folder.path(),
        "cattlegrid.toml",
        b"\n[detectors.high_error_rate]\nerror_max = 0.5\n",
    );
    let output = run(&["analyze", &log, "--config", &config]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains(
            "cattlegrid.toml: line 2: [detectors.high_error_rate]: unknown field `error_max`"
        ),
        "{message}"
    );
    assert!(stderr(&run(&["analyze", &log, "--window", "0d"])).contains("--window"));
    let shown = stdout(&run(&["config", "show"]));
    let config = write(folder.path(), "shown.toml", shown.as_bytes());
    assert_eq!(
        run(&["analyze", EXAMPLE, "--json", "-", "--config", &config]).stdout,
        run(&["analyze", EXAMPLE, "--json", "-"]).stdout
    );
    let documented = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/default.toml"),
    )
    .unwrap();
    assert_eq!(
        documented, shown,
        "run: cattlegrid config show > docs/default.toml"
    );
}

#[test]
fn detectors_explain_themselves() {
    let list = stdout(&run(&["explain"]));
    assert_eq!(list.lines().count(), 41);
    for name in list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
    {
        let page = stdout(&run(&["explain", name]));
        assert!(
            page.contains("# Why it matters") && page.contains(&format!("[detectors.{name}]")),
            "{page}"
        );
    }
    assert!(stderr(&run(&["explain", "nonsense"])).contains("known: accept_language"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let shell = format!(
        "'{}' analyze '{EXAMPLE}' --json - | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_cattlegrid")
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &shell])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "0",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn formats_of_servers_give_the_same_verdicts() {
    let combined = crate::make_log::make(2000, 9);
    let nginx: String = combined.iter().map(|line| to_json(line) + "\n").collect();
    let vhost: String = combined
        .iter()
        .map(|line| format!("shop.example.com:443 {line}\n"))
        .collect();
    let (_one, combined) = file((combined.join("\n") + "\n").as_bytes());
    let (_two, nginx) = file(nginx.as_bytes());
    let (_three, vhost) = file(vhost.as_bytes());
    let verdicts = |path: &str| {
        let json = report(&["--min-requests", "1", path]);
        let short = |source: &serde_json::Value| {
            format!(
                "{} {} {} {}",
                source["source"], source["requests"], source["class"], source["kind"]
            )
        };
        json["sources"]
            .as_array()
            .unwrap()
            .iter()
            .map(short)
            .collect::<Vec<String>>()
    };
    let expected = verdicts(&combined);
    assert!(expected.len() > 100);
    assert_eq!(verdicts(&nginx), expected);
    assert_eq!(verdicts(&vhost), expected);
}

#[test]
fn hosts_are_judged_each_for_itself() {
    let log = crate::make_log::make(6000, 11);
    // Two sites with other visitors, one log; the second spells its name in several ways.
    let shop = log
        .iter()
        .map(|line| format!("shop.example.com:443 {line}"));
    let wiki = crate::make_log::make(3000, 12);
    let spelled = [
        "Wiki.example.com:80",
        "wiki.example.com",
        "wiki.example.com.:80",
    ];
    let wiki = wiki
        .iter()
        .zip(spelled.iter().cycle())
        .map(|(line, host)| format!("{host} {line}"));
    let lines = |lines: &[String]| (lines.join("\n") + "\n").into_bytes();
    let (shop, wiki): (Vec<String>, Vec<String>) = (shop.collect(), wiki.collect());
    let mixed: Vec<String> = shop
        .chunks(2)
        .zip(wiki.chunks(1))
        .flat_map(|(two, one)| [two, one].concat())
        .collect();
    let (_one, mixed) = file(&lines(&mixed));
    let both = report(&["--by-host", "--min-requests", "1", &mixed]);
    let schema =
        serde_json::from_str(include_str!("../../../../docs/schema/analyze.json")).unwrap();
    assert_eq!(crate::schema::errors(&schema, &both), Vec::<String>::new());
    let hosts: Vec<String> = both["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| format!("{} {}", host["host"], host["requests"]))
        .collect();
    assert_eq!(
        hosts,
        ["\"shop.example.com\" 6000", "\"wiki.example.com\" 3000"]
    );
    assert_eq!(
        report(&["--by-host", "--threads", "1", "--min-requests", "1", &mixed]),
        both
    );

    // Each host's verdicts are those of a log of its own.
    for (host, alone) in [("shop.example.com", shop), ("wiki.example.com", wiki)] {
        let (_two, alone) = file(&lines(&alone));
        let alone = report(&["--by-host", "--min-requests", "1", &alone]);
        let verdicts = |report: &serde_json::Value| {
            let mut all = Vec::new();
            for source in report["sources"].as_array().unwrap() {
                let windows = source["windows"].as_array().unwrap().iter();
                let own = windows.filter(|window| window["host"] == host);
                all.extend(own.map(|window| {
                    format!(
                        "{} {} {}",
                        source["source"], window["requests"], window["decibans"]
                    )
                }));
            }
            all.sort();
            all
        };
        let expected = verdicts(&alone);
        assert!(expected.len() > 100, "{}", expected.len());
        assert_eq!(verdicts(&both), expected);
    }
    // Without the flag nothing speaks of hosts.
    let plain = report(&["--min-requests", "1", &mixed]);
    assert_eq!(plain["hosts"], serde_json::json!([]));
    assert_eq!(
        plain["sources"][0]["windows"][0]["host"],
        serde_json::Value::Null
    );
}

/// A combined line as nginx's JSON.
fn to_json(line: &str) -> String {
    let quoted: Vec<&str> = line.split('"').collect();
    let head: Vec<&str> = quoted[0]
        .split([' ', '[', ']'])
        .filter(|part| !part.is_empty())
        .collect();
    let tail: Vec<&str> = quoted[2].split_whitespace().collect();
    serde_json::json!({
        "remote_addr": head[0], "time_local": format!("{} {}", head[3], head[4]), "request": quoted[1], "status": tail[0].parse::<u16>().unwrap(),
        "body_bytes_sent": tail[1].parse::<u64>().unwrap(), "http_referer": if quoted[3] == "-" { "" } else { quoted[3] }, "http_user_agent": quoted[5],
    })
    .to_string()
}

#[test]
fn inspect_tells_everything_about_one_source() {
    let output = run(&["inspect", "203.0.113.66", EXAMPLE]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "203.0.113.66: crawler, masquerading, 99 % sure, decided by headers",
        "suspicious_sequence  it went through pages in ascending order",
        "ignored_cookies      silent: the session cookie is not logged",
        "353  page requests",
        "Verdict after the first requests\n          5 requests",
        "two days a row",
        "203.0.113.66 - - [07/Jan/2030",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    // People with few requests are not listed by 'analyze', but can be inspected; an IPv6 address means its network.
    let (_folder, path) = file(LINE.replace("192.0.2.1", "2001:db8::5").as_bytes());
    let output = run(&["inspect", "2001:db8::17", &path]);
    assert!(
        stdout(&output).starts_with("2001:db8::/64: "),
        "{}",
        stdout(&output)
    );
    let output = run(&["inspect", "192.0.2.99", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("there is no request from 192.0.2.99"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn pseudonyms_tell_nobody_and_keep_networks() {
    let folder = tempfile::TempDir::new().unwrap();
    let key = crate::write(folder.path(), "key", b"0123456789abcdef");
    let page = folder.path().join("report.html");
    let json = folder.path().join("report.json");
    let (page, json) = (page.to_str().unwrap(), json.to_str().unwrap());
    let log = std::fs::read_to_string(EXAMPLE).unwrap() + "203.0.113.66 a damaged line\n";
    let log = crate::write(folder.path(), "access.log", log.as_bytes());
    let all = |key: &[&str]| {
        let flags = [
            "analyze",
            "--pseudonymize",
            "--min-requests",
            "1",
            "--html",
            page,
            "--json",
            json,
        ];
        let output = run(&[&flags, key, &[&log]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let read = |path: &str| std::fs::read_to_string(path).unwrap();
        stdout(&output) + &read(page) + &read(json)
    };
    let with_key = all(&["--pseudonym-key", &key]);
    for prefix in ["203.0.113.", "192.0.2.", "198.51.100."] {
        assert!(!with_key.contains(prefix), "{prefix} is still told");
    }
    assert_eq!(
        with_key,
        all(&["--pseudonym-key", &key]),
        "the same key, the same names"
    );
    assert_ne!(
        with_key,
        all(&[]),
        "without a key nobody can make them again"
    );
    let short = crate::write(folder.path(), "short", b"x");
    let output = run(&["analyze", "--pseudonymize", "--pseudonym-key", &short, &log]);
    assert!(
        stderr(&output).contains("shorter than 16 bytes"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_report_says_what_each_robot_did_about_robots_txt() {
    let folder = TempDir::new().unwrap();
    let rules = write(
        folder.path(),
        "robots.txt",
        b"User-agent: *\nDisallow: /private/\n",
    );
    let line = |source: &str, agent: &str, target: &str, second: u32| {
        let at = format!("[01/Apr/2030:10:00:{second:02} +0000]");
        format!("{source} - - {at} \"GET {target} HTTP/1.1\" 200 99 \"-\" \"{agent}\"\n")
    };
    let lines = [
        line("192.0.2.1", "GPTBot/1.2", "/robots.txt", 1),
        line("192.0.2.2", "GPTBot/1.2", "/page", 2),
        line("192.0.2.2", "GPTBot/1.2", "/private/1", 3),
        line("192.0.2.3", "CCBot/2.0", "/page", 4),
        line("192.0.2.3", "CCBot/2.0", "/robots.txt", 9),
        line("192.0.2.4", "Bytespider", "/page", 5),
    ];
    let log = write(folder.path(), "access.log", lines.concat().as_bytes());
    let told = |report: &Value, name: &str| {
        let robots = report["robots"].as_array().unwrap();
        let robot = robots.iter().find(|robot| robot["name"] == name);
        let robot = robot.unwrap_or_else(|| panic!("{name}: {robots:?}"));
        [
            "sources",
            "robots_txt_requests",
            "robots_txt_after_seconds",
            "forbidden_requests",
        ]
        .map(|key| robot[key].as_i64().unwrap_or(-1))
    };
    let given = report(&["--robots", &rules, &log]);
    assert_eq!(told(&given, "GPTBot"), [2, 1, 0, 1]);
    assert_eq!(told(&given, "CCBot"), [1, 1, 5, 0]);
    assert_eq!(told(&given, "Bytespider"), [1, 0, -1, 0]);
    assert_eq!(told(&report(&[&log]), "GPTBot"), [2, 1, 0, -1]);
    let text = stdout(&run(&["analyze", "--robots", &rules, &log]));
    assert!(text.contains("Robots and robots.txt (3 of 3)"), "{text}");
}

#[test]
fn robots_that_ignore_robots_txt_are_told() {
    let folder = TempDir::new().unwrap();
    let rules = write(
        folder.path(),
        "robots.txt",
        b"User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n",
    );
    let lines: String = (0..5)
        .map(|number| {
            let line = LINE.replace("GET /", &format!("GET /page-{number}"));
            let gptbot = line.replace("Mozilla/5.0", "GPTBot/1.2");
            let other = line
                .replace("Mozilla/5.0", "Otherbot/1.0")
                .replace("192.0.2.1", "192.0.2.2");
            format!("{gptbot}\n{other}\n")
        })
        .collect();
    let log = write(folder.path(), "access.log", lines.as_bytes());
    let report = report(&["--robots", &rules, &log]);
    let ignores = |name: &str| {
        let sources = report["sources"].as_array().unwrap();
        let source = sources
            .iter()
            .find(|source| source["source"] == name)
            .unwrap();
        let evidence = source["evidence"].as_array().unwrap();
        evidence
            .iter()
            .any(|item| item["detector"] == "ignored_robots_txt")
    };
    assert!(ignores("192.0.2.1") && !ignores("192.0.2.2"));
    let missing = run(&["analyze", "--robots", "/nonexistent", &log]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("--robots: /nonexistent cannot be read"));
    let nothing = write(folder.path(), "open.txt", b"User-agent: *\nAllow: /\n");
    let output = run(&["analyze", "--robots", &nothing, &log]);
    assert!(
        stderr(&output).contains("forbids nothing"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn crawlers_have_a_cost_and_pages_their_visitors() {
    let folder = TempDir::new().unwrap();
    let lines: String = (0..40)
        .map(|number| {
            let page = if number % 4 == 0 {
                "GET /a?x=1"
            } else {
                "GET /b"
            };
            let robot = LINE
                .replace("GET /", page)
                .replace("Mozilla/5.0", "Examplebot/1.0");
            let status = if number % 10 == 0 { " 503 " } else { " 200 " };
            format!("{} 0.250\n", robot.replace(" 200 ", status))
        })
        .collect();
    let log = write(folder.path(), "access.log", lines.as_bytes());
    let format = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time"#;
    let report = report(&["--format", format, &log]);
    assert_eq!(report["times_logged"], true);
    assert_eq!(report["sources"][0]["answer_ms"], 10_000);
    assert_eq!(report["totals"]["crawler"]["answer_ms"], 10_000);
    let statuses =
        serde_json::json!([{"status": 200, "requests": 36}, {"status": 503, "requests": 4}]);
    assert_eq!(report["statuses"], statuses);
    let paths = report["paths"]["top"].as_array().unwrap();
    let row = |at: usize| {
        (
            &paths[at]["path"],
            &paths[at]["requests"],
            &paths[at]["errors"],
            &paths[at]["by"]["unauthorized"],
        )
    };
    assert_eq!(row(0), (&"/b".into(), &30.into(), &2.into(), &30.into()));
    assert_eq!(row(1), (&"/a".into(), &10.into(), &2.into(), &10.into()));
    assert_eq!(report["paths"]["estimated"], false);
    let text = stdout(&run(&["analyze", "--format", format, &log]));
    assert!(
        text.contains("server time") && text.contains("10.0 s"),
        "{text}"
    );
}

#[test]
fn paths_of_a_long_log_are_estimated() {
    let folder = TempDir::new().unwrap();
    let lines: String = (0..40_000)
        .map(|number| {
            let path = if number % 5 == 0 {
                "GET /often".to_owned()
            } else {
                format!("GET /page-{number}")
            };
            LINE.replace("GET /", &path).replace(
                "192.0.2.1",
                &format!("198.51.{}.{}", number / 250 % 100, number % 250),
            ) + "\n"
        })
        .collect();
    let log = write(folder.path(), "access.log", lines.as_bytes());
    let report = report(&[&log]);
    assert_eq!(report["paths"]["estimated"], true);
    let top = &report["paths"]["top"][0];
    assert_eq!(top["path"], "/often");
    let requests = top["requests"].as_u64().unwrap();
    assert!((7400..8600).contains(&requests), "{requests} of 8000");
}

#[test]
fn a_proxy_before_the_server_is_told() {
    let lines = |agents: usize| -> String {
        (0..600)
            .map(|number| {
                let agent = format!(
                    "Mozilla/5.0 (X11; Linux x86_64) Firefox/{}",
                    100 + number % agents
                );
                LINE.replace("192.0.2.1", &format!("192.0.2.{}", number % 3))
                    .replace("Mozilla/5.0", &agent)
                    + "\n"
            })
            .collect()
    };
    let said = |agents: usize| {
        let (_folder, log) = file(lines(agents).as_bytes());
        stderr(&run(&["analyze", &log])).contains("as behind a CDN or proxy")
    };
    assert!(said(40) && !said(2));
}

#[test]
fn inspect_writes_json_by_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/inspect.json")).unwrap();
    let (folder, log) = file(&crate::log_bytes(3000, 7));
    let report = report(&[&log]);
    let source = report["sources"][0]["source"].as_str().unwrap();
    let output = run(&["inspect", source, &log, "--json", "-"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        crate::schema::errors(&schema, &document),
        Vec::<String>::new()
    );
    assert_eq!(document["source"], report["sources"][0]);
    assert_eq!(
        document["windows"][0]["detectors"]
            .as_array()
            .unwrap()
            .len(),
        41
    );
    let kept = folder.path().join("one.json");
    let output = run(&["inspect", source, &log, "--json", kept.to_str().unwrap()]);
    assert!(stdout(&output).contains("First lines"));
    assert_eq!(std::fs::read(kept).unwrap().last(), Some(&b'\n'));
}
