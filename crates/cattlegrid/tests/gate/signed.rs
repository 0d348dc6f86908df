//! Robots that sign their requests (Web Bot Auth), with signatures of an independent implementation: `signed/sign.mjs` made them.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::harness::wait_for;
use crate::skip;
use crate::solve::Browser;
use crate::solve::Puzzle;

const RECORDED: &str = include_str!("signed/recorded.json");
/// The public half of the test key of RFC 9421, B.1.4, and another.
const KEYS: &str =
    r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}"#;
const OTHER_KEYS: &str =
    r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

type Fields = BTreeMap<String, String>;

fn recorded() -> Value {
    serde_json::from_str(RECORDED).unwrap()
}

fn fields(value: &Value) -> Fields {
    serde_json::from_value(value.clone()).unwrap()
}

/// A gate whose clock shows a time at which the recorded signatures are good, with an agent's keys in a file.
fn gate_at(origin: &Origin, start: u32, agent: &str, keys: Option<&str>) -> Gate {
    let folder = tempfile::tempdir().unwrap().keep();
    let file = folder.join("keys.json");
    std::fs::write(&file, keys.unwrap_or_default()).unwrap();
    let keys = keys.map_or_else(String::new, |_| format!("keys = \"{}\"\n", file.display()));
    Gate::with(
        origin,
        Wanted {
            gate: format!(
                "trusted_proxies = [\"127.0.0.1\"]\nclock = {{ start = {start}, speed = 1 }}"
            ),
            parts: format!(
                "[gate.crawlers]\nresolver = \"off\"\n[[gate.crawlers.signed]]\nagent = \"{agent}\"\n{keys}"
            ),
            environment: vec![("XDG_DATA_HOME", "/nonexistent".to_owned())],
            ..Wanted::default()
        },
    )
}

fn gate(origin: &Origin) -> Gate {
    let gate = gate_at(origin, 1_900_000_100, "https://bot.example", Some(KEYS));
    wait_for("the keys are read", || {
        gate.stderr().contains("read the keys")
    });
    gate
}

/// Sends a signed request from an address; gives its status and the reason in the log.
fn send(gate: &Gate, address: &str, path: &str, fields: &Fields) -> (u16, String) {
    let mut client = Browser::new("127.0.0.1", gate.address)
        .with("X-Forwarded-For", address)
        .with("User-Agent", "ExampleBot/1.0");
    let sent: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let answer = client.send("GET", path, &sent, "");
    let is_challenge = Puzzle::of(&answer.text()).is_some();
    assert_eq!(is_challenge, answer.status == 403);
    let count = |gate: &Gate| {
        gate.log()
            .iter()
            .filter(|line| line["target"] == path)
            .count()
    };
    wait_for("the request is in the log", || count(gate) > 0);
    let log = gate.log();
    let line = log
        .iter()
        .rev()
        .find(|line| line["target"] == path)
        .unwrap();
    (answer.status, line["reason"].as_str().unwrap().to_owned())
}

#[test]
fn signatures_of_an_independent_implementation_pass_once() {
    let origin = Origin::start();
    let gate = gate(&origin);
    let recorded = recorded();
    let all = recorded["package"].as_array().unwrap();
    // One address alone would have had 20 pages.
    for (number, one) in all.iter().enumerate() {
        let seen = send(&gate, "192.0.2.1", &format!("/page/{number}"), &fields(one));
        assert_eq!(seen, (200, "proven".to_owned()), "{number}");
    }
    // Each of them again, from there and from elsewhere, also for another page.
    for (number, one) in all.iter().enumerate().take(10) {
        for address in ["192.0.2.1", "192.0.2.2"] {
            let path = format!("/again/{number}/{address}");
            let seen = send(&gate, address, &path, &fields(one));
            assert_eq!(seen, (403, "disproved".to_owned()), "{path}");
        }
    }
}

#[test]
fn a_signature_without_a_nonce_belongs_to_the_first_address_that_used_it() {
    let origin = Origin::start();
    let gate = gate(&origin);
    let dictionary = fields(&recorded()["dictionary"]);
    for page in 0..30 {
        let seen = send(&gate, "192.0.2.1", &format!("/page/{page}"), &dictionary);
        assert_eq!(seen, (200, "proven".to_owned()));
    }
    let seen = send(&gate, "192.0.2.2", "/stolen", &dictionary);
    assert_eq!(seen, (403, "disproved".to_owned()));
}

#[test]
fn signatures_that_are_tampered_with_expired_or_bound_to_nothing_are_refused() {
    let origin = Origin::start();
    let gate = gate(&origin);
    let recorded = recorded();
    let path = fields(&recorded["path"]);
    let refused = (403, "disproved".to_owned());
    // What is signed cannot be used for anything else.
    for (number, target) in ["/page/8?a=b", "/page/7?a=c", "/page/7"]
        .into_iter()
        .enumerate()
    {
        assert_eq!(
            send(&gate, &format!("192.0.2.{}", 10 + number), target, &path),
            refused,
            "{target}"
        );
    }
    assert_eq!(send(&gate, "192.0.2.1", "/page/7?a=b", &path).0, 200);
    let mut fresh = recorded["package"].as_array().unwrap().iter().map(fields);
    let mut tampered = |name: &str, from: &str, to: &str| {
        let mut one = fresh.next().unwrap();
        let value = one.get_mut(name).unwrap();
        assert!(value.contains(from), "{value}");
        *value = value.replacen(from, to, 1);
        send(
            &gate,
            "192.0.2.3",
            &format!("/tampered/{name}/{}", to.len()),
            &one,
        )
    };
    assert_eq!(
        tampered(
            "Signature-Input",
            "expires=1900003600",
            "expires=1900003601"
        ),
        refused
    );
    assert_eq!(
        tampered(
            "Signature-Input",
            "created=1900000000",
            "created=1900000001"
        ),
        refused
    );
    assert_eq!(
        tampered("Signature-Input", "nonce=\"", "nonce=\"A"),
        refused
    );
    assert_eq!(tampered("Signature-Input", "\"@authority\" ", ""), refused);
    assert_eq!(
        tampered("Signature-Input", "alg=\"ed25519\"", "alg=\"hmac-sha256\""),
        refused
    );
    assert_eq!(tampered("Signature", "sig1=:", "sig1=:AAAA"), refused);
    assert_eq!(tampered("Signature", "sig1", "sig2"), refused);
}

#[test]
fn signatures_that_are_bound_to_nothing_too_old_or_too_long_are_refused() {
    let origin = Origin::start();
    let gate = gate(&origin);
    let recorded = recorded();
    let refused = (403, "disproved".to_owned());
    for (number, name) in [
        "without_authority",
        "without_agent",
        "other_algorithm",
        "other_site",
        "long",
    ]
    .into_iter()
    .enumerate()
    {
        let seen = send(
            &gate,
            &format!("192.0.2.{}", 30 + number),
            &format!("/{name}"),
            &fields(&recorded[name]),
        );
        assert_eq!(seen, refused, "{name}");
    }
    // The same on another day.
    assert_eq!(
        send(&gate, "192.0.2.4", "/short", &fields(&recorded["short"])),
        refused
    );
    let early = gate_at(&origin, 1_899_990_000, "https://bot.example", Some(KEYS));
    wait_for("the keys are read", || {
        early.stderr().contains("read the keys")
    });
    assert_eq!(
        send(&early, "192.0.2.4", "/early", &fields(&recorded["short"])),
        refused
    );
}

#[test]
fn a_signature_of_somebody_else_says_nothing() {
    let origin = Origin::start();
    let one = fields(&recorded()["package"][0]);
    let other = (200, "few_pages".to_owned());
    // An agent that is not listed, and a listed one that does not have this key.
    let unlisted = gate_at(&origin, 1_900_000_100, "https://other.example", Some(KEYS));
    wait_for("the keys are read", || {
        unlisted.stderr().contains("read the keys")
    });
    let sent = send(&unlisted, "192.0.2.1", "/unlisted", &one);
    assert!(sent == other || sent.1 == "tool", "{sent:?}");
    let without = gate_at(
        &origin,
        1_900_000_100,
        "https://bot.example",
        Some(OTHER_KEYS),
    );
    wait_for("the keys are read", || {
        without.stderr().contains("read the keys")
    });
    let sent = send(&without, "192.0.2.1", "/without", &one);
    assert_ne!(sent.1, "proven");
    // Whoever signs is not Googlebot for that, and Googlebot's name adds nothing.
    let mut broken = one.clone();
    broken.insert("Signature-Input".to_owned(), "sig1=(((".to_owned());
    assert_ne!(send(&without, "192.0.2.1", "/broken", &broken).1, "proven");
}

#[test]
fn h058_directories_inside_are_never_asked() {
    let inside = TcpListener::bind("127.0.0.1:0").unwrap();
    inside.set_nonblocking(true).unwrap();
    let port = inside.local_addr().unwrap().port();
    let origin = Origin::start();
    let gate = gate_at(
        &origin,
        1_900_000_100,
        &format!("https://127.0.0.1:{port}"),
        None,
    );
    wait_for("the directory is refused", || {
        gate.stderr()
            .contains("its directory is at an address inside")
    });
    let mut one = fields(&recorded()["package"][0]);
    for agent in [
        format!("\"https://127.0.0.1:{port}\""),
        format!("\"https://127.0.0.1:{port}/x?y\""),
    ] {
        one.insert("Signature-Agent".to_owned(), agent);
        assert_ne!(send(&gate, "192.0.2.1", "/inside", &one).1, "proven");
    }
    assert!(inside.accept().is_err(), "the gate has connected");
}

/// The same with signatures of this moment, where the package is installed (`npm install web-bot-auth`, and `NODE_PATH` or a folder above
/// names it).
#[test]
fn fresh_signatures_pass() {
    if !skip::has("node", 1) {
        return;
    }
    let folder = std::env::var("CATTLEGRID_WEB_BOT_AUTH").unwrap_or_default();
    if folder.is_empty() {
        say("web-bot-auth is not installed: only recorded signatures were checked");
        return;
    }
    let script = std::path::Path::new(&folder).join("sign-for-a-test.mjs");
    std::fs::write(&script, include_str!("signed/sign.mjs")).unwrap();
    let output = Command::new("node")
        .arg(&script)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    let origin = Origin::start();
    let gate = gate(&origin);
    for (number, one) in made["package"].as_array().unwrap().iter().enumerate() {
        let seen = send(
            &gate,
            "192.0.2.1",
            &format!("/fresh/{number}"),
            &fields(one),
        );
        assert_eq!(seen, (200, "proven".to_owned()), "{number}");
    }
}
