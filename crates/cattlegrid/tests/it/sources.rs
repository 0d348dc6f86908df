//! What stands where the client should be: a log of addresses stays one, and a log of other names is read as such.

use std::fmt::Write;

use serde_json::Value;

use crate::file;
use crate::log_line;
use crate::report;
use crate::run;
use crate::stdout;
use crate::write;

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// Lines of which each has its source.
fn log(from: usize, sources: impl Iterator<Item = String>) -> String {
    let mut log = String::new();
    for (number, source) in sources.enumerate() {
        let line = log_line(
            from + number,
            &source,
            &format!("/{number}"),
            200,
            "-",
            AGENT,
        );
        let _ = writeln!(log, "{line}");
    }
    log
}

fn addresses(many: usize) -> impl Iterator<Item = String> {
    (0..many).map(|number| format!("192.0.2.{}", number % 250))
}

fn names(json: &Value) -> Vec<String> {
    let sources = json["sources"].as_array().unwrap().iter();
    sources
        .map(|source| source["source"].as_str().unwrap().to_owned())
        .collect()
}

fn changed(json: &Value) -> u64 {
    let skipped = json["lines"]["skipped"].as_array().unwrap().iter();
    let changed = skipped.filter(|entry| entry["reason"] == "changed_source");
    changed.map(|entry| entry["count"].as_u64().unwrap()).sum()
}

/// H205. A prefix that changes in the middle of a log is told, with its line, and is no source.
#[test]
fn h205_a_source_does_not_become_something_else() {
    for prefix in ["www.site.test:80", "0.123", "16909060", "203.0.113.99,"] {
        let before = log(0, addresses(4000));
        let after = log(4000, (0..3000).map(|_| prefix.to_owned()));
        let (folder, path) = file(format!("{before}{after}").as_bytes());
        let json = report(&["--min-requests", "1", &path]);
        assert_eq!(changed(&json), 3000, "{prefix}");
        assert_eq!(json["lines"]["parsed"], 4000, "{prefix}");
        assert!(!names(&json).contains(&prefix.to_owned()), "{prefix}");
        let text = stdout(&run(&["analyze", &path]));
        assert!(text.contains("access.log:4001"), "{text}");
        assert!(text.contains("the format changed here"), "{text}");
        // The same where the change comes with a rotation, and where some lines stay as they were.
        let first = write(folder.path(), "access.log.1", before.as_bytes());
        let second = write(folder.path(), "access.log", after.as_bytes());
        let arguments = [
            "--min-requests",
            "1",
            "--format",
            "combined",
            &first,
            &second,
        ];
        assert_eq!(changed(&report(&arguments)), 3000, "{prefix}");
        let mixed = (0..3000).map(|number| match number % 3 {
            0 => prefix.to_owned(),
            _ => format!("192.0.2.{}", number % 250),
        });
        let mixed = write(
            folder.path(),
            "mixed.log",
            format!("{before}{}", log(4000, mixed)).as_bytes(),
        );
        assert_eq!(
            changed(&report(&["--min-requests", "1", &mixed])),
            1000,
            "{prefix}"
        );
    }
}

/// The honest cases: pseudonyms, host names among addresses, and a log that is too short to know.
#[test]
fn h205_logs_of_other_names_are_read_as_before() {
    let pseudonyms = log(
        0,
        (0..3000).map(|number| format!("visitor-{}", number % 100)),
    );
    let hosts = log(
        0,
        (0..3000).map(|number| match number % 7 {
            0 => format!("dial-{}.example.net", number % 40),
            _ => format!("192.0.2.{}", number % 250),
        }),
    );
    let short =
        log(0, addresses(100)) + &log(100, (0..100).map(|_| "proxy.example.net".to_owned()));
    for (log, lines, name) in [
        (pseudonyms, 3000, "visitor-7"),
        (hosts, 3000, "dial-7.example.net"),
        (short, 200, "proxy.example.net"),
    ] {
        let (_folder, path) = file(log.as_bytes());
        let json = report(&["--min-requests", "1", &path]);
        assert_eq!(
            (json["lines"]["parsed"].as_u64(), changed(&json)),
            (Some(lines), 0)
        );
        assert!(names(&json).contains(&name.to_owned()), "{name}");
    }
}

/// Apache looks up the names of those who ask for what is protected by name. A host that takes everybody's place is still noticed.
#[test]
fn h205_single_host_names_among_addresses_are_read() {
    let some = (0..6000).map(|number| match number % 1000 {
        500 => "dial-7.example.net".to_owned(),
        _ => format!("192.0.2.{}", number % 250),
    });
    let log_of_some = log(0, addresses(2000)) + &log(2000, some);
    let (_folder, path) = file(log_of_some.as_bytes());
    let json = report(&["--min-requests", "1", &path]);
    assert_eq!(
        (json["lines"]["parsed"].as_u64(), changed(&json)),
        (Some(8000), 0)
    );
    let all = (0..3000).map(|_| "www.site.test".to_owned());
    let (_folder, path) = file((log(0, addresses(4000)) + &log(4000, all)).as_bytes());
    let json = report(&["--min-requests", "1", &path]);
    assert!(changed(&json) > 2900, "{json}");
}
