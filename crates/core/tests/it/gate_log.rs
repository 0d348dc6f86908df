//! The gate's own log is judged like any other, by what the site answered.

use cattlegrid_core::Report;
use cattlegrid_core::Settings;
use cattlegrid_core::format::Skip;
use cattlegrid_core::verdict::Class;

use crate::analyze;

/// A crawler that goes through numbered pages, and people who read some and load their parts.
fn requests() -> Vec<(u32, String, String, String)> {
    let mut requests = Vec::new();
    for number in 0..3000_u32 {
        let time = 1_893_456_000 + number * 20;
        requests.push((
            time,
            "203.0.113.7".to_owned(),
            format!("/item/{number}"),
            String::new(),
        ));
        let person = format!("198.51.100.{}", number % 20);
        let page = format!("/item/{}", number * 7 % 40);
        let link = format!("https://www.example.org{page}");
        requests.push((time + 3, person.clone(), page, String::new()));
        requests.push((time + 4, person, "/style.css".to_owned(), link));
    }
    requests
}

fn own((time, source, target, referrer): &(u32, String, String, String), decision: &str) -> String {
    format!(
        r#"{{"time":{time}.123,"source":"{source}","method":"GET","host":"www.example.org","target":"{target}","status":200,"bytes":5120,"referrer":"{referrer}","agent":"Mozilla/5.0","session":"s1","user":"","duration":0.0125,"decision":"{decision}","reason":"few_pages","would":"challenge","site":"www.example.org"}}"#
    )
}

fn nginx((time, source, target, referrer): &(u32, String, String, String)) -> String {
    format!(
        r#"{{"msec":"{time}.123","remote_addr":"{source}","request":"GET {target} HTTP/1.1","host":"www.example.org","status":200,"body_bytes_sent":5120,"http_referer":"{referrer}","http_user_agent":"Mozilla/5.0","cookie_sid":"s1","remote_user":"","request_time":0.0125}}"#
    )
}

fn settings() -> Settings {
    Settings {
        min_requests: 0,
        ..Settings::default()
    }
}

/// All but the lines themselves, which differ.
fn without_lines(mut report: Report) -> String {
    report.lines = Default::default();
    format!("{report:?}")
}

#[test]
fn the_gates_log_gives_the_verdicts_of_the_servers() {
    let requests = requests();
    let gate: Vec<String> = requests.iter().map(|asked| own(asked, "pass")).collect();
    let server: Vec<String> = requests.iter().map(nginx).collect();
    let gate = analyze(&[&gate], settings(), "json_cattlegrid", 1000);
    let server = analyze(&[&server], settings(), "json_nginx", 1000);
    assert_eq!(gate.lines.parsed, 9000);
    assert!(
        gate.sources
            .iter()
            .any(|source| source.source == "203.0.113.7" && source.class == Class::Crawler)
    );
    assert_eq!(without_lines(gate), without_lines(server));
}

#[test]
fn what_the_gate_answered_itself_does_not_count() {
    let requests = requests();
    let passed: Vec<String> = requests.iter().map(|asked| own(asked, "pass")).collect();
    let decisions = ["challenge", "block", "throttle", "own"];
    let mut mixed = Vec::new();
    for (number, asked) in requests.iter().enumerate() {
        let (_, _, target, _) = asked;
        let refused = (
            asked.0,
            "203.0.113.99".to_owned(),
            target.clone(),
            String::new(),
        );
        mixed.push(own(&refused, decisions[number % 4]));
        mixed.push(own(asked, decisions[(number + 1) % 4]));
        mixed.push(own(asked, "pass"));
    }
    let passed = analyze(&[&passed], settings(), "json_cattlegrid", 1000);
    let mixed = analyze(&[&mixed], settings(), "json_cattlegrid", 1000);
    let refused = &mixed.lines.skipped[0];
    assert_eq!((refused.reason, refused.count), (Skip::Refused, 18_000));
    assert_eq!(mixed.lines.parsed, 9000);
    assert_eq!(without_lines(mixed), without_lines(passed));
}
