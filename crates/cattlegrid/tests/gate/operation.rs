//! Running it: the check command, the examples, metrics, restarts and crashes.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::get;
use crate::harness::get_from;
use crate::harness::wait_for;
use crate::skip::has;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gate")
}

fn check(file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["check", "--config"])
        .arg(file)
        .output()
        .unwrap()
}

#[test]
fn check_tells_every_error_with_its_line_and_binds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.toml");
    let bad = "[gate]\nmode = \"enforce\"\nprefix = \"x\"\ntrusted_proxies = [\"0.0.0.0/0\"]\n\n[[gate.listen]]\naddress = \"nowhere\"\n\n[[gate.listen]]\naddress = \"127.0.0.1:1\"\ncertificate = \"a.pem\"\n\n[[gate.site]]\nhosts = [\"a b\"]\nupstream = \"https://site\"\n\n[[gate.rule]]\npath = \"x\"\naction = \"block\"\n\n[policy]\nk1 = 9\nk2 = 3\n";
    fs::write(&file, bad).unwrap();
    let output = check(&file);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    for expected in [
        "line 3: prefix = 'x'",
        "line 4: 0.0.0.0/0 would trust everybody",
        "line 7: 'nowhere' is not ADDRESS:PORT",
        "line 9: [[gate.listen]]: certificate and key belong together",
        "line 14: 'a b' is no host name",
        "line 15: https://site",
        "line 17: [[gate.rule]]: path = 'x' must begin with '/'",
        "line 21: [policy]: k1 = 9 must not be above k2 = 3",
    ] {
        assert!(said.contains(expected), "{expected} is not in:\n{said}");
    }
    for (text, expected) in [
        ("[gate]\nmod = 1\n", "line 2: unknown field `mod`"),
        ("[gate\n", "line 1"),
        ("", "there is no [gate] part"),
        ("[gate]\n", "no listener"),
        ("[gate]\nwithout = [\"nonsense\"]\n", "there is no defence"),
    ] {
        fs::write(&file, text).unwrap();
        let output = check(&file);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.code() == Some(1) && said.contains(expected),
            "{text}: {said}"
        );
    }
}

#[test]
fn the_example_settings_are_sound() {
    let output = check(&examples().join("gate.toml"));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let text = get(gate.admin, "/metrics", &[]).text();
    let dashboard: serde_json::Value =
        serde_json::from_slice(&fs::read(examples().join("grafana.json")).unwrap()).unwrap();
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let from = expression.find("cattlegrid_").unwrap();
            let name: String = expression[from..]
                .chars()
                .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
                .collect();
            // A family without labels yet shows only its help.
            let bare = name.trim_end_matches("_total").trim_end_matches("_bucket");
            assert!(
                text.contains(&format!("# HELP {bare} ")),
                "{name} is not in:\n{text}"
            );
            asked += 1;
        }
    }
    assert!(asked > 10);
}

#[test]
fn the_unit_file_is_sound() {
    let unit = examples().join("cattlegrid.service");
    if !has("systemd-analyze", 1) {
        return;
    }
    let output = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&unit)
        .output()
        .unwrap();
    // It may lack the program itself, which is not installed here.
    let said = String::from_utf8(output.stderr).unwrap();
    let bad: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("cattlegrid.service") && !line.contains("is not executable"))
        .collect();
    assert!(bad.is_empty(), "{bad:?}");
}

/// Pages that pass from a fresh address before the first challenge.
fn free_pages(gate: &Gate, start: u32) -> u32 {
    (start..start + 40)
        .take_while(|page| get(gate.address, &format!("/page{page}"), &[]).status == 200)
        .count() as u32
}

#[test]
fn what_was_counted_survives_a_restart_and_a_crash() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    for page in 0..12 {
        assert_eq!(get(gate.address, &format!("/page{page}"), &[]).status, 200);
    }
    let gate = gate.restart();
    for page in 0..5 {
        assert_eq!(get(gate.address, &format!("/page{page}"), &[]).status, 200);
    }
    wait_for("the last line is in the log", || gate.log().len() >= 17);
    // No time to save anything: what was counted since is in the log.
    let gate = gate.crash();
    assert_eq!(free_pages(&gate, 100), 3);
}

#[test]
fn nothing_of_the_owners_listener_is_public() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    for path in ["/metrics", "/healthz"] {
        let answer = get(gate.address, path, &[("User-Agent", "kube-probe/1.30")]);
        assert_eq!(answer.text(), format!("you asked for {path}"));
    }
    assert_eq!(get(gate.admin, "/", &[]).status, 404);
    assert_eq!(get(gate.admin, "/healthz", &[]).text(), "ok\n");
}

/// H198. A base that vanishes under a running gate lifts no ban, with or without its backup; restored, it is in force at once.
#[test]
fn h198_a_base_that_vanishes_lifts_no_ban_and_is_told() {
    const BANNED: &str = "127.0.0.66";
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let status = || get_from(BANNED, gate.address, "/page", &[]).status;
    let failed = || gate.metric("cattlegrid_base_failed");
    // The honest case: no base yet is no fault.
    assert_eq!((status(), failed()), (200, Some(0.0)));
    gate.kb(&["deny", BANNED, "--yes"]);
    wait_for("the ban is in force", || status() == 403);
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(gate.path(&format!("state/kb.sqlite{end}")));
    }
    wait_for("the alarm is raised", || failed() == Some(1.0));
    assert_eq!(status(), 403);
    let said = gate.stderr();
    assert!(said.contains("known entries stay in force"), "{said}");
    assert!(said.contains("kb.sqlite is missing"), "{said}");
    gate.kb(&["restore"]);
    wait_for("the alarm is over", || failed() == Some(0.0));
    assert_eq!(status(), 403);
    fs::rename(gate.path("state"), gate.path("moved")).unwrap();
    wait_for("the alarm is raised again", || failed() == Some(1.0));
    assert_eq!(status(), 403);
}

/// H207. A listener that waits for a PROXY header of trusted proxies where there are none would close every connection.
#[test]
fn h207_a_proxy_header_of_nobody_is_refused_before_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.toml");
    let settings = |trusted: &str, address: &str| {
        format!(
            "[gate]\nstate = \"{}\"\n{trusted}\n[[gate.listen]]\naddress = \"{address}\"\nproxy_protocol = true\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:9\"\n",
            folder.path().join("state").display()
        )
    };
    let socket = format!("unix:{}", folder.path().join("socket").display());
    for (trusted, address) in [
        ("", "127.0.0.1:1"),
        ("trusted_proxies = []", "127.0.0.1:1"),
        ("trusted_proxies = [\"unix\"]", "127.0.0.1:1"),
        ("trusted_proxies = [\"192.0.2.1\"]", &socket),
    ] {
        fs::write(&file, settings(trusted, address)).unwrap();
        let output = check(&file);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{trusted} {address}: {said}");
        assert!(said.contains("proxy_protocol = true needs"), "{said}");
        let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args(["gate", "--config"])
            .arg(&file)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("proxy_protocol = true needs"), "{said}");
    }
    for (trusted, address) in [
        ("trusted_proxies = [\"192.0.2.1\"]", "127.0.0.1:1"),
        ("trusted_proxies = [\"unix\"]", &socket),
        ("trust_everybody = true", "127.0.0.1:1"),
    ] {
        fs::write(&file, settings(trusted, address)).unwrap();
        let output = check(&file);
        assert!(output.status.success(), "{trusted}: {output:?}");
    }
}

#[test]
fn a_second_gate_on_one_machine_is_told_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    // Whoever else has the port does as well.
    let _taken = std::net::TcpListener::bind("127.0.0.1:9180");
    let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["gate", "--listen", "127.0.0.1:0", "--to"])
        .arg("http://127.0.0.1:1")
        .env("XDG_DATA_HOME", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(
        said.contains("\n  admin: cannot listen on 127.0.0.1:9180: "),
        "{said}"
    );
    assert!(
        said.contains("another gate") && said.contains("'admin'"),
        "{said}"
    );
}

#[test]
fn settings_come_from_a_file_or_from_the_command_line() {
    let check_with = |config: Option<&str>, arguments: &[&str], expected: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cattlegrid"));
        command.arg("gate").args(arguments);
        match config {
            Some(config) => command.env("CATTLEGRID_CONFIG", config),
            None => command.env_remove("CATTLEGRID_CONFIG"),
        };
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{arguments:?}: {said}");
    };
    let check = |arguments: &[&str], expected: &str| check_with(None, arguments, expected);
    let to = ["--to", "http://127.0.0.1:1"];
    let config = ["--config", "gate.toml"];
    check(&[to, config].concat(), "cannot be used with");
    check(
        &[&config[..], &["--enforce"]].concat(),
        "cannot be used with",
    );
    check(&["--enforce"], "<--config <FILE>|--to <URL>>");
    check(&[], "<--config <FILE>|--to <URL>>");
    // What was typed comes before the environment.
    let missing = Some("/nonexistent/gate.toml");
    check_with(missing, &[], "/nonexistent/gate.toml");
    check_with(missing, &["--to", "gopher://127.0.0.1"], "gopher://");
    check_with(missing, &["--enforce"], "--to <URL>");
}

#[test]
fn a_gate_without_a_settings_file_is_found_by_other_commands() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    gate.kb(&["deny", "127.0.0.5", "--yes", "--reason", "took everything"]);
    // A challenge, which has no number, may come first.
    wait_for("it is denied", || {
        let page = get_from("127.0.0.5", gate.address, "/", &[("Accept", "text/html")]);
        page.text().contains("class=\"number\"")
    });
    let number = || {
        let lines = gate.log();
        let line = lines.iter().find(|line| line["incident"].is_string())?;
        line["incident"].as_str().map(str::to_owned)
    };
    wait_for("the number is in the log", || number().is_some());
    let home = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args(arguments)
            .env("XDG_DATA_HOME", home.path())
            .env_remove("CATTLEGRID_CONFIG")
            .env_remove("CATTLEGRID_KB")
            .output()
            .unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [_, error] = said(&["incident", &number().unwrap()]);
    assert!(error.contains("--config FILE"), "{error}");
    // What such a gate leaves in the home folder.
    let state = home.path().join("cattlegrid/gate");
    fs::create_dir_all(&state).unwrap();
    for name in ["access.log", "kb.sqlite"] {
        fs::copy(gate.path("state").join(name), state.join(name)).unwrap();
    }
    let base = state.join("kb.sqlite");
    let base = base.to_str().unwrap();
    let [shown, error] = said(&["incident", &number().unwrap()]);
    assert!(shown.contains("took everything"), "{shown}{error}");
    assert!(shown.contains(&format!("--kb {base}")), "{shown}");
    let [allowed, error] = said(&["kb", "allow", "127.0.0.5", "--yes"]);
    assert!(allowed.contains(base), "{allowed}{error}");
    // A base of the owner's comes first.
    fs::copy(base, home.path().join("cattlegrid/kb.sqlite")).unwrap();
    let [allowed, error] = said(&["kb", "allow", "127.0.0.5", "--yes"]);
    assert!(!allowed.contains(base), "{allowed}{error}");
    assert!(allowed.contains("nothing has changed"), "{allowed}{error}");
    let [allowed, error] = said(&["kb", "allow", "127.0.0.6", "--yes"]);
    assert!(allowed.contains("takes it back"), "{allowed}{error}");
    // One that is lost comes back from its backup, and the gate's stays as it is.
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(home.path().join(format!("cattlegrid/kb.sqlite{end}")));
    }
    let [allowed, error] = said(&["kb", "allow", "127.0.0.5", "--yes"]);
    assert!(allowed.is_empty(), "{allowed}");
    assert!(error.contains("kb restore"), "{error}");
}

/// H207. What ends a line or turns text round for other programs stands in the log as an escape, and reads back as it was sent.
#[test]
fn h207_characters_that_act_on_readers_are_escaped_in_the_log() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let agent = "a\u{85}b\u{2028}c\u{2029}d\u{202e}e\u{2066}f\u{9b}g\u{feff}h\u{e0041}i é 漢 🐄";
    get(gate.address, "/marks", &[("User-Agent", agent)]);
    wait_for("it is in the log", || {
        gate.log().iter().any(|line| line["target"] == "/marks")
    });
    let text = fs::read_to_string(gate.path("state/access.log")).unwrap();
    let raw: Vec<char> = text
        .chars()
        .filter(|char| {
            char.is_control() && *char != '\n'
                || "\u{2028}\u{2029}\u{202e}\u{2066}\u{feff}\u{e0041}".contains(*char)
        })
        .collect();
    assert!(raw.is_empty(), "{raw:?}");
    let lines = gate.log();
    let line = lines
        .iter()
        .find(|line| line["target"] == "/marks")
        .unwrap();
    assert_eq!(line["agent"], agent);
    assert!(text.contains("é 漢 🐄"), "{text}");
}
