//! `replay --to`: an old log against the running gate.

use std::fmt::Write as _;
use std::process::Command;
use std::process::Output;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;

/// A person who reads five pages, and a robot that walks through sixty, within half a minute.
fn log() -> String {
    let mut log = String::new();
    let mut line = |second: u32, source: &str, target: &str| {
        writeln!(
            log,
            "{source} - - [01/Apr/2030:10:00:{second:02} +0000] \"GET {target} HTTP/1.1\" 200 99 \"-\" \"Mozilla/5.0\""
        )
        .unwrap();
    };
    for second in 0..30 {
        line(second, "198.51.100.7", &format!("/page/{}", 2 * second));
        line(second, "198.51.100.7", &format!("/page/{}", 2 * second + 1));
        if second % 6 == 0 {
            line(second, "203.0.113.9", &format!("/page/{second}"));
            line(second, "203.0.113.9", "/style.css");
        }
    }
    log
}

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .arg("replay")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_log_is_sent_to_the_gate_at_its_times() {
    let origin = Origin::start();
    let gate = Gate::with(
        &origin,
        Wanted {
            gate: "trusted_proxies = [\"127.0.0.1\"]".to_owned(),
            ..Wanted::default()
        },
    );
    let (log_path, labels) = (gate.path("old.log"), gate.path("labels.csv"));
    std::fs::write(&log_path, log()).unwrap();
    let rows = "source,label\n198.51.100.7,masquerading\n203.0.113.9,user\n";
    std::fs::write(&labels, rows).unwrap();
    let began = std::time::Instant::now();
    let to = format!("http://{}", gate.address);
    let files = [
        log_path.to_str().unwrap(),
        "--labels",
        labels.to_str().unwrap(),
    ];
    let sent = [&files[..], &["--to", &to, "--speed", "30"]].concat();
    let output = replay(&sent);
    assert!(output.status.success(), "{output:?}");
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("70 requests sent, 0 failed"), "{page}");
    let numbers = |name: &str| -> Vec<u32> {
        let mut lines = page.lines();
        let line = lines.find(|line| line.trim_start().starts_with(name));
        let words = line.unwrap().split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    // Sources, pages, passed, challenged, refused, throttled, contained.
    assert_eq!(numbers("people")[..7], [1, 5, 5, 0, 0, 0, 0], "{page}");
    assert_eq!(
        numbers("robots")[..8],
        [1, 60, 20, 40, 0, 0, 1, 20],
        "{page}"
    );
    // Half a minute at thirty times the speed.
    assert!(began.elapsed().as_millis() > 900);
}

#[test]
fn only_a_gate_on_this_machine_is_sent_to() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("old.log");
    std::fs::write(&path, log()).unwrap();
    let check = |to: &str, said: &str| {
        let output = replay(&[path.to_str().unwrap(), "--to", to]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    };
    check("http://192.0.2.1:80", "loopback addresses only");
    check("ftp://127.0.0.1", "should begin with http://");
    // A port on which nobody listens.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    check(&format!("http://{address}"), "start the gate first");
}
