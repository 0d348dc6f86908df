//! Bytes behind a request: what was not read as a body, or was meant for a tunnel, is never taken for a request that passed the gate,
//! and never passes it as bytes.

use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::thread;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::each;
use crate::harness::naive;
use crate::harness::page;
use crate::harness::raw;
use crate::harness::watched;

const RULES: &str = "[[gate.rule]]\npath = \"/denied*\"\naction = \"block\"\n\
     [[gate.rule]]\npath = \"/asked*\"\naction = \"challenge\"\n\
     [[gate.rule]]\npath = \"/slowed*\"\naction = \"throttle\"\n";

/// Requests to upgrade, each with a second request behind it that must not pass.
fn upgrades() -> Vec<String> {
    let behind = "GET /denied HTTP/1.1\r\nHost: www.example.org\r\n\r\n";
    let lines = [
        "Connection: Upgrade\r\nUpgrade: foo\r\n",
        "Connection: keep-alive, Upgrade\r\nUpgrade: foo\r\n",
        "Upgrade: foo\r\n",
        "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket, foo\r\n",
    ];
    lines
        .iter()
        .map(|lines| format!("GET /open HTTP/1.1\r\nHost: www.example.org\r\n{lines}\r\n{behind}"))
        .collect()
}

/// The second request is answered for itself and refused, or not at all.
fn stays_out(address: SocketAddr, origin: &Origin, bytes: &str) -> bool {
    let answer = raw(address, bytes.as_bytes());
    let is_answered = answer.text.contains("HTTP/1.1 403");
    !origin.has_seen("/denied") && (is_answered || answer.is_closed)
}

#[test]
fn h005_a_request_behind_an_upgrade_that_was_refused() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", RULES);
    watched(&mut guarded, |gate| {
        let results = each(&upgrades(), |bytes| stays_out(gate.address, &origin, bytes));
        assert_eq!(results, vec![true; upgrades().len()]);
    });
    let bare = naive(origin.address);
    assert!(!stays_out(bare, &origin, &upgrades()[0]));
}

#[test]
fn h005_a_site_that_switches_to_what_nobody_asked_for() {
    let origin = Origin::answering(Box::new(|got| match got.target() {
        "/open" => Some(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\n"
                .to_vec(),
        ),
        target => Some(page(target)),
    }));
    let mut guarded = Gate::limitless(&origin, "", RULES);
    watched(&mut guarded, |gate| {
        let results = each(&upgrades(), |bytes| {
            stays_out(gate.address, &origin, bytes)
                && !raw(gate.address, bytes.as_bytes()).text.contains(" 101 ")
        });
        assert_eq!(results, vec![true; upgrades().len()]);
    });
    assert!(!stays_out(naive(origin.address), &origin, &upgrades()[0]));
}

/// Requests that the gate answers itself, whose bodies look like requests.
fn bodies(lines: &str, size: usize) -> Vec<String> {
    let inside = "GET /inside HTTP/1.1\r\nHost: www.example.org\r\n\r\n";
    let body = format!("{inside}{}", "a".repeat(size - inside.len()));
    let targets = [
        "/denied",
        "/asked",
        "/slowed",
        "/.cattlegrid/answer",
        "/.cattlegrid/nothing",
    ];
    let next = "GET /denied/next HTTP/1.1\r\nHost: www.example.org\r\n\r\n";
    targets
        .iter()
        .map(|target| {
            format!(
                "POST {target} HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: {size}\r\n{lines}\r\n{body}{next}"
            )
        })
        .collect()
}

/// What stands in a body is not answered, and reaches nobody.
fn is_swallowed(address: SocketAddr, origin: &Origin, bytes: &str) -> Result<(), String> {
    let mut answer = raw(address, bytes.as_bytes());
    // Somebody may have wanted the body, to look at it.
    answer.text = answer
        .text
        .trim_start_matches("HTTP/1.1 100 Continue\r\n\r\n")
        .to_owned();
    let is_sound = (1..=2).contains(&answer.answers())
        && answer.status() >= 400
        && !answer.text.contains("/inside")
        && !answer.text.contains("HTTP/1.1 200")
        && !origin.has_seen("/inside");
    match is_sound {
        true => Ok(()),
        false => Err(format!("{answer:?}")),
    }
}

/// A server that answers 403 and takes the body for the next request.
fn careless() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let (mut held, mut chunk) = (String::new(), [0; 4096]);
                while let Ok(length @ 1..) = stream.read(&mut chunk) {
                    held.push_str(&String::from_utf8_lossy(&chunk[..length]));
                    while let Some(end) = held.find("\r\n\r\n") {
                        let head: String = held.drain(..end + 4).collect();
                        let target = head.split(' ').nth(1).unwrap_or("").to_owned();
                        let status = match head.starts_with("POST") {
                            true => "403 Forbidden",
                            false => "200 OK",
                        };
                        let length = target.len();
                        let answer = format!(
                            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{target}"
                        );
                        let _ = stream.write_all(answer.as_bytes());
                    }
                }
            });
        }
    });
    address
}

fn check_bodies(lines: &str, size: usize) {
    let origin = Origin::start();
    let all = bodies(lines, size);
    let mut guarded = Gate::limitless(&origin, "", RULES);
    watched(&mut guarded, |gate| {
        let results = each(&all, |bytes| is_swallowed(gate.address, &origin, bytes));
        assert_eq!(results, vec![Ok(()); all.len()]);
    });
    assert!(is_swallowed(careless(), &origin, &all[0]).is_err());
}

#[test]
fn h006_a_request_inside_the_body_of_one_that_is_refused() {
    check_bodies("", 100);
    check_bodies("", 300_000);
}

#[test]
fn h007_a_body_that_was_not_waited_for() {
    check_bodies("Expect: 100-continue\r\n", 1 << 20);
    check_bodies("Expect: 100-continue\r\n", 100);
    check_bodies("Expect: foo\r\n", 100);
}
