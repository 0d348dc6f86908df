//! Formats as a user meets them: recognised from the first lines, or named as something that is no access log.

use serde_json::Value;

use crate::LINE;
use crate::file;
use crate::real_logs::data;
use crate::report;
use crate::run;
use crate::stderr;

/// What the format was recognised as, and the report.
fn recognised(log: &str) -> (String, Value) {
    let (_folder, path) = file(log.as_bytes());
    let output = run(&["analyze", "--json", "-", "--min-requests", "1", &path]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    let name = said
        .split("format ")
        .nth(1)
        .and_then(|rest| rest.split(" (").next())
        .unwrap_or_else(|| panic!("{said}"));
    (
        name.to_owned(),
        serde_json::from_slice(&output.stdout).unwrap(),
    )
}

#[test]
fn servers_and_services_are_recognised() {
    const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64)";
    let w3c = format!(
        "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n\
         #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken\n\
         2030-01-01 00:00:00 198.51.100.1 GET /a b=1 443 - 192.0.2.1 {} - 200 0 0 15\n",
        AGENT.replace(' ', "+")
    );
    let cases = [
        ("traefik", format!(r#"{LINE} 17 "web@docker" "http://198.51.100.1:80" 12ms"#)),
        ("gandi", format!("www.example.com {}", LINE.replace("] ", "] (0 s) "))),
        ("haproxy", r#"192.0.2.1:4711 [01/Jan/2030:00:00:00.000] web~ app/1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 {|Mozilla/5.0} "GET / HTTP/1.1""#.to_owned()),
        ("haproxy", r#"Jan  1 00:00:00 lb haproxy[1]: 192.0.2.1:4711 [01/Jan/2030:00:00:00.000] web~ app/1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1""#.to_owned()),
        ("alb", format!(r#"https 2030-01-01T00:00:00.000000Z app/my/1 192.0.2.1:4711 198.51.100.1:80 0.000 0.001 0.000 200 200 34 512 "GET https://www.example.com:443/ HTTP/1.1" "{AGENT}" - -"#)),
        ("elb", format!(r#"2030-01-01T00:00:00.000000Z my 192.0.2.1:4711 198.51.100.1:80 0.000 0.001 0.000 200 200 34 512 "GET https://www.example.com:443/ HTTP/1.1" "{AGENT}" - -"#)),
        ("s3", format!(r#"0a1b example-bucket [01/Jan/2030:00:00:00 +0000] 192.0.2.1 - 3E57 WEBSITE.GET.OBJECT a "GET /a HTTP/1.1" 200 - 512 512 10 9 "-" "{AGENT}" -"#)),
        ("envoy", format!(r#"[2030-01-01T00:00:00.000Z] "GET / HTTP/1.1" 200 - 0 512 3 2 "203.0.113.99, 192.0.2.1" "{AGENT}" "1" "www.example.com" "198.51.100.1:80""#)),
        ("nginx_proxy_manager", format!(r#"[01/Jan/2030:00:00:00 +0000] - 200 200 - GET https www.example.com "/a" [Client 192.0.2.1] [Length 512] [Gzip -] [Sent-to app] "{AGENT}" "-""#)),
        ("npmplus", format!(r#"[01/Jan/2030:00:00:00 +0000] www.example.com 192.0.2.1 0.001 "GET / HTTP/1.1" 200 512 440 - {AGENT}"#)),
        ("zoraxy", format!("2030/01/01 00:00:00 [2030-01-01 00:00:00.000000] [router:host-http] [origin:www.example.com] [client: 192.0.2.1] [useragent: {AGENT}] GET /a 200")),
        ("cloudfront", "2030-01-01\t00:00:00\tFRA2\t512\t192.0.2.1\tGET\td1.example.net\t/a\t200\t-\tMozilla/5.0%20(X11)\t-\t-\tHit\tid\twww.example.com\thttps\t62\t0.001\t-\tTLSv1.3".to_owned()),
        ("w3c", w3c),
        ("pubcrawl", "2030-01-01T00:00:00\t192.0.2.1\tN17\tMozilla/5.0 (X11)\t/people/a\t200\t-\tS1".to_owned()),
        ("json_envoy", r#"2030-01-01T00:00:00.000000000Z stdout F {"start_time":"2030-01-01T00:00:00Z","method":"GET","path":"/","response_code":200,"bytes_sent":512,"user_agent":"M","downstream_remote_address":"192.0.2.1:4711",":authority":"www.example.com"}"#.to_owned()),
        ("json_matomo", r#"{"ip":"192.0.2.1","host":"www.example.com","path":"/","status":"200","referrer":"","user_agent":"M","length":512,"generation_time_milli":3,"date":"2030-01-01T00:00:00+00:00"}"#.to_owned()),
        ("json_cloudflare", r#"{"ClientIP":"192.0.2.1","ClientRequestHost":"www.example.com","ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeEndTimestamp":"2030-01-01T00:00:00Z","EdgeResponseBytes":512,"EdgeResponseStatus":200,"EdgeStartTimestamp":"2030-01-01T00:00:00Z","RayID":"3a6050bcbe121a87","ClientRequestReferer":"","ClientRequestUserAgent":"M"}"#.to_owned()),
        ("json_cloudflare", r#"{"ClientIP":"192.0.2.1","ClientRequestHost":"www.example.com","ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeEndTimestamp":1893456000000000000,"EdgeResponseBytes":512,"EdgeResponseStatus":200,"EdgeStartTimestamp":1893456000000000000,"RayID":"3a6050bcbe121a87","ClientRequestReferer":"","ClientRequestUserAgent":"M"}"#.to_owned()),
        ("json_cloudflare", r#"{"ClientIP":"192.0.2.1","ClientRequestHost":"www.example.com","ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeEndTimestamp":1893456000,"EdgeResponseBytes":512,"EdgeResponseStatus":200,"EdgeStartTimestamp":1893456000,"RayID":"3a6050bcbe121a87","ClientRequestReferer":"","ClientRequestUserAgent":"M"}"#.to_owned()),
        ("json_cattlegrid", format!(r#"{{"time":1893456000.123,"source":"192.0.2.1","method":"GET","host":"www.example.com","target":"/","status":200,"bytes":512,"referrer":"","agent":"{AGENT}","user":"","duration":0.0123,"decision":"pass","reason":"few_pages"}}"#)),
    ];
    for (name, log) in cases {
        let (found, json) = recognised(&log);
        assert_eq!(found, name, "{log}");
        assert_eq!(json["lines"]["parsed"], 1, "{log}");
        assert_eq!(json["sources"][0]["source"], "192.0.2.1", "{log}");
        assert_eq!(
            json["sources"][0]["first_seen"], "2030-01-01T00:00:00Z",
            "{log}"
        );
    }
}

#[test]
fn a_log_of_two_formats_is_read_with_both() {
    let log = format!("{LINE}\nwww.example.com:443 {LINE}\n").repeat(20);
    let (name, json) = recognised(&log);
    assert_eq!(name, "combined and vhost_combined");
    assert_eq!(json["lines"]["parsed"], 40);
    assert_eq!(
        json["totals"]["all"]["sources"], 1,
        "the host is nobody's address"
    );
}

#[test]
fn lines_of_an_error_log_in_between_are_no_damage() {
    let log = format!(
        "2030/01/01 00:00:00 [error] 1#1: *1 open() failed\n{LINE}\n2030/01/01 00:00:00 [warn] 1#1: x\n"
    );
    let (name, json) = recognised(&log);
    assert_eq!(
        (name.as_str(), &json["lines"]["parsed"]),
        ("combined", &Value::from(1))
    );
    assert_eq!(json["lines"]["skipped"][0]["reason"], "other_log");
}

#[test]
fn what_is_no_access_log_is_named() {
    for (log, name) in [
        (
            "2030/01/01 00:00:00 [error] 1#1: *1 open() failed\n",
            "an error log of nginx",
        ),
        (
            "[Tue Jan 01 00:00:00.000000 2030] [core:error] [pid 1] AH00126: x\n",
            "an error log of Apache",
        ),
        (
            "#Fields: date time x-event c-ip\n2030-01-01 00:00:00 play 192.0.2.1\n",
            "its header does not name the columns cs-uri-stem, sc-status",
        ),
    ] {
        let (_folder, path) = file(log.as_bytes());
        let output = run(&["analyze", &path]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
}

#[test]
fn a_w3c_log_may_change_its_columns_anywhere() {
    let line = |number: usize, first: bool| {
        let second = number % 60;
        if first {
            format!(
                "2030-01-01 00:00:{second:02} 192.0.2.1 GET /{number} 200 {}\n",
                "x".repeat(60)
            )
        } else {
            format!(
                "GET 2030-01-01 00:00:{second:02} /{number} 200 192.0.2.1 {}\n",
                "x".repeat(60)
            )
        }
    };
    let headers = [
        "#Fields: date time c-ip cs-method cs-uri-stem sc-status x-filler\n",
        "#Fields: cs-method date time cs-uri-stem sc-status c-ip x-filler\n",
    ];
    // Blocks have a mebibyte: the columns change in the second, and again in the fifth.
    let mut log = String::new();
    for (part, lines) in [15_000, 30_000, 20_000].into_iter().enumerate() {
        log += headers[part % 2];
        (0..lines).for_each(|number| log += &line(number, part % 2 == 0));
    }
    let (_folder, path) = file(log.as_bytes());
    for threads in ["1", "2"] {
        let json = report(&["--threads", threads, "--min-requests", "1", &path]);
        assert_eq!(json["lines"]["parsed"], 65_000);
        assert_eq!(json["totals"]["all"]["sources"], 1);
    }
}

#[test]
fn h180_a_forwarded_address_counts_only_where_the_owner_says_so() {
    let line =
        |peer: &str, chain: &str| format!("{} \"{chain}\"\n", LINE.replace("192.0.2.1", peer));
    let log = [
        line("198.51.100.1", "203.0.113.7, 192.0.2.1"),
        line("198.51.100.1", "192.0.2.1, 198.51.100.2"),
        line("192.0.2.50", "203.0.113.7"),
    ]
    .concat();
    let (_folder, path) = file(log.as_bytes());
    let format = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" "%{X-Forwarded-For}i""#;
    let sources = |flags: &[&str]| {
        let json = report(&[flags, &["--min-requests", "1", "--format", format, &path]].concat());
        let mut sources: Vec<(String, u64)> = json["sources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|source| {
                let name = source["source"].as_str().unwrap();
                (name.to_owned(), source["requests"].as_u64().unwrap())
            })
            .collect();
        sources.sort();
        sources
    };
    let expected = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    };
    assert_eq!(
        sources(&[]),
        expected(&[("192.0.2.50", 1), ("198.51.100.1", 2)])
    );
    let field = ["--source-field", "x-forwarded-for"];
    assert_eq!(
        sources(&[&field[..], &["--trusted-proxy", "198.51.100.0/24"]].concat()),
        expected(&[("192.0.2.1", 2), ("192.0.2.50", 1)])
    );
    let output = run(&[
        "analyze",
        "--source-field",
        "x-real-ip",
        "--format",
        format,
        &path,
    ]);
    assert!(
        stderr(&output).contains("has no field 'x-real-ip' (it has x_forwarded_for)"),
        "{}",
        stderr(&output)
    );
    let output = run(&[
        "analyze",
        "--source-field",
        "x",
        "--trusted-proxy",
        "0.0.0.0/0",
        &path,
    ]);
    assert!(
        stderr(&output).contains("would trust everybody"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn times_without_a_zone_and_spans() {
    let haproxy = r#"192.0.2.1:1 [01/Jul/2030:12:00:00.000] w~ a/1 0/0/1/2/3 200 512 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.1""#;
    let log = format!("{haproxy}\n{}\n", haproxy.replace("12:00", "18:00"));
    let (_folder, path) = file(log.as_bytes());
    let seen = |flags: &[&str]| {
        let json = report(&[flags, &["--min-requests", "1", &path]].concat());
        let source = &json["sources"][0];
        format!(
            "{} {} {}",
            source["requests"], source["first_seen"], source["last_seen"]
        )
        .replace('"', "")
    };
    assert_eq!(seen(&[]), "2 2030-07-01T12:00:00Z 2030-07-01T18:00:00Z");
    assert_eq!(
        seen(&["--tz", "Europe/Vienna"]),
        "2 2030-07-01T10:00:00Z 2030-07-01T16:00:00Z"
    );
    assert_eq!(
        seen(&["--tz", "+03:00", "--since", "2030-07-01 15:00"]),
        "1 2030-07-01T15:00:00Z 2030-07-01T15:00:00Z"
    );
    assert_eq!(
        seen(&["--until", "2030-07-01T17:00:00Z"]),
        "1 2030-07-01T12:00:00Z 2030-07-01T12:00:00Z"
    );
    for (flags, message) in [
        (["--tz", "Mars/Base"], "there is no time zone 'Mars/Base'"),
        (["--since", "yesterday"], "'yesterday' is no time"),
    ] {
        let output = run(&[&["analyze"], &flags[..], &[&path]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

/// Samples of two other projects that are no access logs.
const NO_ACCESS_LOGS: [&str; 12] = [
    "apache-guacamole-logs__apache-guacamole-logs.log",
    "apache-guacamole_bf__apache-guacamole_bf.log",
    "apache-guacamole_user_enum__apache-guacamole_user_enum.log",
    "caddy-coraza__coraza.log",
    "caddy-crs-anomaly-score__coraza.log",
    "http-magento-bf__http-magento-bf.log",
    "iis-xml-logs__iis-logs.log",
    "litespeed-admin-bf__litespeed-admin-bf.log",
    "nginx-mail-bf__nginx-mail-bf.log",
    "nginx_req_limit_exceeded__nginx_req_limit_exceeded.log",
    "amazon_cloudfront_rtmp.log",
    // An access log, but with a date that only its own format string tells.
    "custom_regex_custom_date.log",
];

#[test]
fn samples_of_other_projects_are_read_or_named() {
    let Some(folder) = data(95) else { return };
    let (mut read, mut named, mut lines, mut left_out) =
        (0, 0, 0, std::collections::BTreeMap::new());
    for project in ["crowdsec", "matomo"] {
        for entry in std::fs::read_dir(folder.join("lists/parser_formats").join(project)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let output = run(&["analyze", "--json", "-", path.to_str().unwrap()]);
            if NO_ACCESS_LOGS.contains(&name.as_str()) {
                let said = stderr(&output);
                let is_named = [
                    "no access log",
                    "no log of web requests",
                    "was not recognised",
                ]
                .iter()
                .any(|text| said.contains(text));
                assert!(
                    output.status.code() == Some(2) && is_named,
                    "{name}: {said}"
                );
                named += 1;
                continue;
            }
            assert!(output.status.success(), "{name}: {}", stderr(&output));
            let json: Value = serde_json::from_slice(&output.stdout).unwrap();
            let parsed = json["lines"]["parsed"].as_u64().unwrap();
            let mut sound = parsed;
            for skipped in json["lines"]["skipped"].as_array().unwrap() {
                let reason = skipped["reason"].as_str().unwrap().to_owned();
                let count = skipped["count"].as_u64().unwrap();
                if ["not_http", "no_request", "comment", "other_log"].contains(&reason.as_str()) {
                    sound += count;
                }
                *left_out.entry(reason).or_insert(0) += count;
            }
            assert!(sound > 0, "{name}");
            read += 1;
            lines += parsed;
        }
    }
    let said =
        format!("{read} samples read ({lines} requests; left out {left_out:?}), {named} named\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes());
    assert_eq!((read, named), (83, 12));
    let dated = folder.join("lists/parser_formats/matomo/custom_regex_custom_date.log");
    let format = r#"%h %l %u [%{%B - %d, %Y:%H:%M:%S}t] "%r" %>s %b"#;
    let json = report(&["--format", format, dated.to_str().unwrap()]);
    assert_eq!(json["lines"]["parsed"], 1);
}
