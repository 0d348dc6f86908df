//! Signed-in people: tokens of other implementations (`sign_in/make.mjs`, `sign_in/cookie.py`), every trick to look like one, and the limits
//! that signed-in people have.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::each;
use crate::harness::get_from;
use crate::harness::page;
use crate::harness::request;
use crate::harness::say;
use crate::harness::wait_for;
use crate::skip;
use crate::solve::Puzzle;

/// A proxy that names its clients: addresses of this machine are never denied.
const PROXY: &str = "127.0.0.79";
const SECRET: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
/// Limits that are about pages of a day and not about pace.
pub(crate) const NO_PACE: &str = "[policy]\nuser_pages_a_minute = 60000\nuser_burst = 60000\n";

/// Tokens of Node.js; nothing where it is not installed.
fn made() -> Option<Value> {
    if !skip::has("node", 1) {
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/sign_in/make.mjs");
    let output = Command::new("node").arg(script).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// A cookie of the simple kind, made by Python.
pub(crate) fn cookie(key_file: &Path, site: &str, user: &str, seconds: i64) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gate/sign_in/cookie.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(key_file)
        .args([site, user, &seconds.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A key in a file that nobody else can read.
pub(crate) fn key_file(text: &str) -> PathBuf {
    let path = tempfile::tempdir().unwrap().keep().join("key");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn text<'a>(value: &'a Value, path: [&str; 2]) -> &'a str {
    value[path[0]][path[1]].as_str().unwrap()
}

/// A gate that takes JSON Web Tokens of one algorithm.
fn jwt_gate(origin: &Origin, made: &Value, algorithm: &str, gate: &str) -> Gate {
    let key = key_file(text(made, ["keys", algorithm]));
    let parts = format!(
        "{NO_PACE}[gate.sign_in.jwt]\ncookie = \"session\"\nbearer = true\nalgorithm = \"{algorithm}\"\nkey_file = \"{}\"\n\
         issuer = \"https://id.example\"\naudience = \"www.example.org\"\n",
        key.display()
    );
    Gate::set(origin, gate, &parts)
}

/// A gate that takes the simple cookie, with limits of its own; and the cookie of alice.
fn hmac_gate(origin: &Origin, sign_in: &str, policy: &str) -> (Gate, String) {
    let key = key_file(SECRET);
    let parts = format!(
        "[gate.sign_in]\n{sign_in}\n[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"{}\"\n[policy]\n{policy}\n",
        key.display()
    );
    let cookie = cookie(&key, "*", "alice", 3600);
    (Gate::set(origin, "", &parts), format!("who={cookie}"))
}

pub(crate) fn get(gate: &Gate, source: &str, path: &str, cookie: &str) -> Answer {
    get_from(source, gate.address, path, &[("Cookie", cookie)])
}

pub(crate) fn is_challenge(answer: &Answer) -> bool {
    answer.status == 403 && Puzzle::of(&answer.text()).is_some()
}

/// Uses up what an unknown source may have.
pub(crate) fn exhaust(address: SocketAddr, source: &str) {
    for number in 0..20 {
        get_from(source, address, &format!("/few/{number}"), &[]);
    }
    assert!(is_challenge(&get_from(source, address, "/few/20", &[])));
}

/// The lines of the log about targets that begin so, once there are so many.
pub(crate) fn lines(gate: &Gate, begin: &str, count: usize) -> Vec<Value> {
    let of = |gate: &Gate| -> Vec<Value> {
        let is_meant = |line: &Value| line["target"].as_str().unwrap().starts_with(begin);
        gate.log().into_iter().filter(is_meant).collect()
    };
    wait_for("the requests are in the log", || of(gate).len() >= count);
    of(gate)
}

#[test]
fn tokens_of_node_pass_a_thousand_pages_and_leave_nothing_behind() {
    let Some(made) = made() else { return };
    let origin = Origin::start();
    let settings = format!("trusted_proxies = [\"{PROXY}\"]\njudge_minutes = 0.02");
    let gate = jwt_gate(&origin, &made, "RS256", &settings);
    let token = text(&made, ["good", "RS256"]);
    let mut client = Client::connect(PROXY, gate.address).unwrap();
    let cookie = format!("theme=dark; session={token}; cattlegrid=x");
    let headers = [("X-Forwarded-For", "198.18.7.9"), ("Cookie", &cookie)];
    for number in 0..1200 {
        let answer = client.get(&format!("/signed/{number}"), &headers).unwrap();
        assert_eq!(answer.status, 200, "{number}: {}", answer.text());
    }
    // The site gets its own cookies, as they were sent.
    assert!(origin.has_seen(&format!("theme=dark; session={token}\r\n")));
    // Others at the same address are as unknown as before, also when all sources have been judged.
    let judged = || gate.metric("cattlegrid_judged_total").unwrap();
    lines(&gate, "/signed/", 1200);
    let before = judged();
    wait_for("sources are judged", || judged() >= before + 2.0);
    assert!(!gate.kb(&["list"]).contains("198.18.7.9"));
    let anonymous = [("X-Forwarded-For", "198.18.7.9")];
    for number in 0..20 {
        let answer = client.get(&format!("/few/{number}"), &anonymous).unwrap();
        assert_eq!(answer.status, 200, "{number}");
    }
    assert!(is_challenge(&client.get("/few/20", &anonymous).unwrap()));
    // A token in Authorization is as good.
    let bearer = format!("bearer {token}");
    let headers = [anonymous[0], ("Authorization", bearer.as_str())];
    assert_eq!(client.get("/bearer", &headers).unwrap().status, 200);
    let line = &lines(&gate, "/bearer", 1)[0];
    assert_eq!(line["reason"], "signed_in");
    assert_eq!(line["user"], lines(&gate, "/signed/7", 1)[0]["user"]);
    assert_eq!(line["user"].as_str().unwrap().len(), 16);
    keeps_secrets(&gate, &["alice", token]);
}

/// Nothing that the gate writes or shows has any of these texts.
pub(crate) fn keeps_secrets(gate: &Gate, secrets: &[&str]) {
    let log = fs::read_to_string(gate.path("state/access.log")).unwrap();
    let metrics = get_from("127.0.0.1", gate.admin, "/metrics", &[]).text();
    let checked = gate.command(&["check", "--config"], "gate.toml");
    for secret in secrets {
        for (name, shown) in [
            ("log", &log),
            ("stderr", &gate.stderr()),
            ("metrics", &metrics),
            ("check", &checked),
        ] {
            assert!(!shown.contains(secret), "{secret} in {name}");
        }
    }
}

#[test]
fn every_algorithm_passes_and_only_its_own() {
    let Some(made) = made() else { return };
    let origin = Origin::start();
    for algorithm in ["HS256", "ES256", "EdDSA"] {
        let gate = jwt_gate(&origin, &made, algorithm, "");
        exhaust(gate.address, "127.0.91.1");
        for (of, token) in made["good"].as_object().unwrap() {
            let cookie = format!("session={}", token.as_str().unwrap());
            let answer = get(&gate, "127.0.91.1", &format!("/{of}"), &cookie);
            assert_eq!(answer.status == 200, of == algorithm, "{algorithm} {of}");
        }
        keeps_secrets(&gate, &["alice", text(&made, ["keys", "HS256"])]);
    }
}

/// Every trick is answered with a challenge, and all of them alike.
fn tricks(gate: &Gate, made: &Value) -> Result<(), String> {
    let source = "127.0.92.1";
    exhaust(gate.address, source);
    let plain = get(gate, source, "/plain", "a=b");
    let shape = |answer: &Answer| {
        let names = answer
            .head
            .lines()
            .map(|line| line.split(':').next().unwrap_or("").to_owned());
        (answer.status, names.collect::<Vec<_>>())
    };
    let check = |name: &str, token: &str| {
        let answer = get(gate, source, "/trick", &format!("session={token}"));
        must(is_challenge(&answer), &format!("{name}: {}", answer.status))?;
        must(
            shape(&answer) == shape(&plain),
            &format!("{name}: {}", answer.head),
        )
    };
    for (name, token) in made["tricks"].as_object().unwrap() {
        check(name, token.as_str().unwrap())?;
    }
    // One bit of each byte; the unit tests flip them all.
    let good = text(made, ["good", "RS256"]);
    for at in (0..good.len()).step_by(3) {
        let mut bytes = good.as_bytes().to_vec();
        bytes[at] ^= 1 << (at % 5);
        if bytes[at].is_ascii_graphic() && !b";,\"\\".contains(&bytes[at]) {
            check(
                &format!("bit at {at}"),
                std::str::from_utf8(&bytes).unwrap(),
            )?;
        }
    }
    // Behind the fourth cookie of the name nothing is looked at; before it a good one is found.
    let junk = "session=1; session=2; session=3";
    let answer = get(gate, source, "/fourth", &format!("{junk}; session={good}"));
    must(answer.status == 200, "a good cookie behind three others")?;
    let answer = get(
        gate,
        source,
        "/fifth",
        &format!("{junk}; session=4; session={good}"),
    );
    must(is_challenge(&answer), "a good cookie behind four others")
}

#[test]
fn h088_every_trick_is_refused() {
    let Some(made) = made() else { return };
    let origin = Origin::start();
    let mut gate = jwt_gate(&origin, &made, "RS256", "");
    withstands(&mut gate, |gate| tricks(gate, &made));
    let refused = |kind: &str| {
        let name = format!("cattlegrid_sign_in_refused_total{{kind=\"{kind}\"}}");
        gate.metric(&name).unwrap()
    };
    for kind in [
        "malformed",
        "algorithm",
        "signature",
        "expired",
        "early",
        "other_site",
        "nameless",
        "too_long",
    ] {
        assert!(refused(kind) >= 1.0, "{kind}");
    }
    let open = jwt_gate(&origin, &made, "RS256", "without = [\"sign_in\"]");
    assert!(tricks(&open, &made).is_err(), "the test would not notice");
}

#[test]
fn the_simple_cookie_is_good_for_its_site_and_its_time() {
    if !skip::has("python3", 1) {
        return;
    }
    let origin = Origin::start();
    let key = key_file(&format!("{SECRET}\n"));
    let upstream = origin.address;
    let parts = format!(
        "{NO_PACE}[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"{}\"\n[[gate.site]]\nhosts = [\"www.example.org\", \"example.org\"]\n\
         upstream = \"http://{upstream}\"\n[[gate.site]]\nhosts = [\"other.example\"]\nupstream = \"http://{upstream}\"\n",
        key.display()
    );
    let gate = Gate::set(&origin, "", &parts);
    let source = "127.0.93.1";
    exhaust(gate.address, source);
    let good = cookie(&key, "www.example.org", "alice@example.org", 3600);
    let status = |host: &str, cookie: &str| {
        let cookie = format!("who={cookie}");
        let headers = [("Host", host), ("Cookie", cookie.as_str())];
        get_from(source, gate.address, "/page", &headers).status
    };
    // Its other names belong to the same site; another site has other people.
    assert_eq!(status("www.example.org", &good), 200);
    assert_eq!(status("example.org:80", &good), 200);
    assert_eq!(status("other.example", &good), 403);
    let late = cookie(&key, "www.example.org", "alice", -200);
    assert_eq!(status("www.example.org", &late), 403);
    let other = key_file(&SECRET.replace('0', "1"));
    let forged = cookie(&other, "www.example.org", "alice", 3600);
    assert_eq!(status("www.example.org", &forged), 403);
    assert_eq!(status("www.example.org", &good[..good.len() - 1]), 403);
    keeps_secrets(&gate, &["alice", SECRET]);
}

/// Forms, websockets and requests of scripts of signed-in people pass where those of others do not.
#[test]
fn forms_and_websockets_pass() {
    if !skip::has("python3", 1) {
        return;
    }
    let origin = Origin::answering(Box::new(|got| {
        let switched =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        Some(match got.values("upgrade").is_empty() {
            true => page(got.target()),
            false => switched.as_bytes().to_vec(),
        })
    }));
    let (gate, alice) = hmac_gate(&origin, "", "user_pages = 200\nuser_burst = 100");
    let source = "127.0.94.1";
    exhaust(gate.address, source);
    let status = |cookie: &str, method: &str, more: &[(&str, &str)]| {
        let mut headers = vec![("Cookie", cookie)];
        headers.extend(more);
        let mut client = Client::connect(source, gate.address).unwrap();
        client.send(&request(method, "/x", &headers)).unwrap();
        client.answer(false).unwrap().status
    };
    let upgrade = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let empty = [("Content-Length", "0")];
    assert_eq!(status(&alice, "GET", &upgrade), 101);
    assert_eq!(status("who=alice", "GET", &upgrade), 403);
    assert_eq!(status(&alice, "POST", &empty), 200);
    assert_eq!(status("who=alice", "POST", &empty), 403);
    // What a form brings is counted for the person: a page is a page.
    let posts = (0..1000)
        .take_while(|_| status(&alice, "POST", &empty) == 200)
        .count();
    assert!(posts < 1000, "{posts}");
    let refused = get(&gate, source, "/page", &alice);
    assert_eq!(refused.status, 429);
}

#[test]
fn who_is_too_fast_is_told_the_truth_about_when_to_come_again() {
    if !skip::has("python3", 1) {
        return;
    }
    let origin = Origin::start();
    let (gate, alice) = hmac_gate(&origin, "", "user_pages_a_minute = 20\nuser_burst = 5");
    let began = Instant::now();
    for number in 0..5 {
        assert_eq!(
            get(&gate, "127.0.95.1", &format!("/{number}"), &alice).status,
            200
        );
    }
    let refused = get(&gate, "127.0.95.2", "/next", &alice);
    assert_eq!(refused.status, 429, "{}", refused.text());
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3).contains(&seconds), "{seconds}");
    assert!(refused.text().contains("<h1>"));
    // Style sheets of a page that is open come all the same.
    assert_eq!(get(&gate, "127.0.95.1", "/style.css", &alice).status, 200);
    // Asking again changes nothing.
    let told = Instant::now();
    while told.elapsed() + Duration::from_millis(1100) < Duration::from_secs(seconds) {
        assert_eq!(get(&gate, "127.0.95.3", "/next", &alice).status, 429);
        thread::sleep(Duration::from_millis(50));
    }
    // Whole seconds are counted by the clock of the gate, so that up to one of them has passed already.
    let mut passed = None;
    wait_for("the next page comes", || {
        passed = (get(&gate, "127.0.95.1", "/next", &alice).status == 200).then(|| told.elapsed());
        passed.is_some()
    });
    let took = passed.unwrap();
    assert!(
        took < Duration::from_millis(1000 * seconds + 300),
        "{took:?} {seconds}"
    );
    say(&format!("Retry-After: {seconds}, passed after {took:?}"));
    assert!(began.elapsed() < Duration::from_secs(10));
    // Others are not concerned, nor is an unknown visitor at the same address.
    assert_eq!(get(&gate, "127.0.95.1", "/other", "").status, 200);
}

#[test]
fn a_fleet_with_one_cookie_shares_one_budget_also_after_a_crash() {
    if !skip::has("python3", 1) {
        return;
    }
    let origin = Origin::start();
    let (gate, alice) = hmac_gate(&origin, "", "user_pages = 30\nuser_burst = 1000");
    let fleet: Vec<String> = (0..200)
        .map(|number| format!("127.0.96.{number}"))
        .collect();
    let answers = each(&fleet, |source| get(&gate, source, "/fleet", &alice));
    let passed = answers.iter().filter(|answer| answer.status == 200).count();
    // Threads that ask at the same moment may have one page each too many.
    say(&format!(
        "200 addresses with one cookie got {passed} pages of 30"
    ));
    assert!((30..=38).contains(&passed), "{passed}");
    let refused = answers.iter().find(|answer| answer.status == 429).unwrap();
    let seconds: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds > 3600, "{seconds}");
    lines(&gate, "/fleet", 200);
    let gate = gate.crash();
    assert_eq!(get(&gate, "127.0.96.1", "/after", &alice).status, 429);
    assert_eq!(get(&gate, "127.0.96.1", "/unknown", "").status, 200);
}

#[test]
fn slowed_requests_come_in_their_turn_and_are_bounded() {
    if !skip::has("python3", 1) {
        return;
    }
    let origin = Origin::start();
    let sign_in = "too_fast = \"slow\"\nslow_seconds = 3.0\nslowed_max = 4";
    let (gate, alice) = hmac_gate(&origin, sign_in, "user_pages_a_minute = 60\nuser_burst = 2");
    let began = Instant::now();
    for number in 0..4 {
        assert_eq!(
            get(&gate, "127.0.97.1", &format!("/slow/{number}"), &alice).status,
            200
        );
    }
    assert!(
        began.elapsed() >= Duration::from_millis(900),
        "{:?}",
        began.elapsed()
    );
    let together: Vec<usize> = (0..24).collect();
    let began = Instant::now();
    let statuses = each(&together, |_| {
        let asked = Instant::now();
        (
            get(&gate, "127.0.97.2", "/many", &alice).status,
            asked.elapsed(),
        )
    });
    let passed = statuses.iter().filter(|(status, _)| *status == 200).count();
    let refused = statuses.iter().filter(|(status, _)| *status == 429).count();
    say(&format!(
        "24 at once in {:?}: {passed} passed, {refused} refused",
        began.elapsed()
    ));
    assert_eq!(passed + refused, 24);
    assert!(refused > 0 && passed > 0);
    assert!(
        statuses
            .iter()
            .all(|(_, took)| *took < Duration::from_secs(5)),
        "{statuses:?}"
    );
    assert!(gate.metric("cattlegrid_slowed_total").unwrap() >= 2.0);
    // Each request is in the log once.
    assert_eq!(lines(&gate, "/slow/", 4).len(), 4);
}

/// A key that others can read is refused with the cure, also by `check`.
#[test]
fn h109_a_secret_that_others_can_read_is_refused() {
    let key = key_file(SECRET);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("gate.toml");
    let settings = format!(
        "[gate]\nstate = \"{}\"\n[[gate.listen]]\naddress = \"127.0.0.1:0\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:1\"\n\
         [gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"{}\"\n",
        folder.path().join("state").display(),
        key.display()
    );
    fs::write(&config, settings).unwrap();
    for command in ["check", "gate"] {
        let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args([command, "--config"])
            .arg(&config)
            .output()
            .unwrap();
        assert!(!output.status.success(), "{command}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("chmod 600"), "{command}: {said}");
        assert!(!said.contains(SECRET));
    }
}
