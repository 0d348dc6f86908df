//! Websockets, and what becomes of connections that are open when their client is denied.

use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::NO_LIMITS;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::get_from;
use crate::harness::naive;
use crate::harness::page;
use crate::harness::request;
use crate::harness::wait_for;
use crate::harness::watched;

/// A site that opens a websocket for whoever asks for an upgrade.
fn site() -> Origin {
    Origin::answering(Box::new(|got| {
        let switched =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        Some(match got.values("upgrade").is_empty() {
            true => page(got.target()),
            false => switched.as_bytes().to_vec(),
        })
    }))
}

const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

fn upgrade(source: &str, address: SocketAddr) -> (Client, Answer) {
    let mut client = Client::connect(source, address).unwrap();
    client.send(&request("GET", "/socket", &UPGRADE)).unwrap();
    let answer = client.answer(false).unwrap();
    (client, answer)
}

/// Sends bytes, which come back.
fn echoes(client: &mut Client, text: &[u8]) -> bool {
    let mut back = vec![0; text.len()];
    client.stream.write_all(text).is_ok()
        && client.stream.read_exact(&mut back).is_ok()
        && back == text
}

fn exhaust(address: SocketAddr, source: &str) {
    for number in 0..21 {
        get_from(source, address, &format!("/many{number}"), &[]);
    }
}

#[test]
fn h067_a_websocket_passes_like_a_page() {
    let origin = site();
    let wanted = Wanted {
        gate: "timeouts = { websocket = 2.0 }".to_owned(),
        ..Wanted::default()
    };
    let mut guarded = Gate::with(&origin, wanted);
    let is_stopped = |address: SocketAddr, origin: &Origin| {
        exhaust(address, "127.67.0.1");
        origin.forget();
        let (_, answer) = upgrade("127.67.0.1", address);
        answer.status == 403 && !origin.has_seen("/socket")
    };
    watched(&mut guarded, |gate| {
        assert!(is_stopped(gate.address, &origin));
        let (mut client, answer) = upgrade("127.67.0.2", gate.address);
        assert_eq!(answer.status, 101, "{}", answer.head);
        let (mut silent, answer) = upgrade("127.67.0.3", gate.address);
        assert_eq!(answer.status, 101, "{}", answer.head);
        // Bytes of all kinds, also such as look like requests, and more than any buffer holds.
        let large: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
        assert!(echoes(&mut client, b"\x81\x05hello"));
        assert!(echoes(
            &mut client,
            b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"
        ));
        assert!(echoes(&mut client, &large[..60_000]));
        // Pings keep it open for twice as long as a silent one may stay.
        for _ in 0..4 {
            std::thread::sleep(Duration::from_secs(1));
            assert!(echoes(&mut client, b"\x89\x00"));
        }
        // One that was opened at the same time and sent none has ended: pings are what kept the other.
        silent.stream.set_nonblocking(true).unwrap();
        let read = silent.stream.read(&mut [0; 16]);
        let is_open = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(!is_open);
        // Silence ends it.
        let asked = Instant::now();
        assert!(matches!(client.stream.read(&mut [0; 16]), Ok(0) | Err(_)));
        assert!(asked.elapsed() < Duration::from_secs(6));
    });
    let lax = Gate::without(&origin, "upgrade");
    assert!(!is_stopped(lax.address, &origin));
}

/// Requests with something of an upgrade, and whether they are one.
fn forms() -> Vec<(String, bool)> {
    let both = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let with_none = format!("{both}Content-Length: 0\r\n\r\n");
    let with_body = format!("{both}Content-Length: 5\r\n\r\nhello");
    let with_chunks = format!("{both}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    let upgrades = [
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n",
        "Connection: Upgrade\r\nUpgrade: WebSocket, foo\r\n\r\n",
        "Connection: Upgrade\r\nUpgrade: foo\r\nUpgrade: websocket\r\n\r\n",
        &with_none,
    ];
    let pages = [
        "Upgrade: websocket\r\n\r\n",
        "Connection: Upgrade\r\n\r\n",
        "Connection: Upgrade\r\nUpgrade: websocketx\r\n\r\n",
        &with_body,
        &with_chunks,
    ];
    let form = |line: &str, rest: &str| {
        format!("{line}\r\nHost: www.example.org\r\nSec-WebSocket-Version: 13\r\n{rest}")
    };
    let get = "GET /form HTTP/1.1";
    let mut all = vec![
        (form("POST /form HTTP/1.1", &with_none), false),
        (form("GET /form HTTP/1.0", &format!("{both}\r\n")), false),
    ];
    all.extend(upgrades.map(|rest| (form(get, rest), true)));
    all.extend(pages.map(|rest| (form(get, rest), false)));
    all
}

/// Gate and site agree on what a request is.
fn agree(source: &str, address: SocketAddr, form: &str, is_websocket: bool) -> Result<(), String> {
    let mut client = Client::connect(source, address).unwrap();
    client.send(form.as_bytes()).unwrap();
    let answer = client.answer(false).map_err(|error| error.to_string())?;
    let is_sound = match is_websocket {
        true => answer.status == 101 && echoes(&mut client, b"\x81\x05hello"),
        false => answer.status == 200,
    };
    match is_sound {
        true => Ok(()),
        false => Err(format!("{form:?}: {}", answer.head)),
    }
}

#[test]
fn h068_what_is_an_upgrade_is_one_for_all() {
    let origin = site();
    let mut guarded = Gate::start(&origin);
    watched(&mut guarded, |gate| {
        for (number, (form, is_websocket)) in forms().iter().enumerate() {
            let source = format!("127.68.{number}.1");
            assert_eq!(agree(&source, gate.address, form, *is_websocket), Ok(()));
        }
        exhaust(gate.address, "127.68.100.1");
        origin.forget();
        for (form, _) in forms() {
            let mut client = Client::connect("127.68.100.1", gate.address).unwrap();
            client.send(form.as_bytes()).unwrap();
            assert_eq!(client.answer(false).unwrap().status, 403, "{form}");
        }
        assert!(!origin.has_seen("/form"));
    });
    let bare = naive(origin.address);
    let agreed = forms()
        .iter()
        .all(|(form, is_websocket)| agree("127.0.0.1", bare, form, *is_websocket).is_ok());
    assert!(!agreed);
}

#[test]
fn a_websocket_that_is_asked_for_behind_a_page() {
    let origin = site();
    let gate = Gate::start(&origin);
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let both = [
        request("GET", "/before", &[]),
        request("GET", "/socket", &UPGRADE),
    ];
    client.send(&both.concat()).unwrap();
    assert_eq!(client.answer(false).unwrap().text(), "/before");
    assert_eq!(client.answer(false).unwrap().status, 101);
    assert!(echoes(&mut client, b"\x81\x05hello"));
}

/// Denies an address, as an owner does while the gate runs.
fn deny(gate: &Gate, subject: &str) {
    let said = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .arg("kb")
        .arg("--kb")
        .arg(gate.path("state/kb.sqlite"))
        .args(["deny", subject, "--yes"])
        .output()
        .unwrap();
    assert!(said.status.success(), "{said:?}");
}

/// How long a connection still got pages, at most this long.
fn pages_stop(client: &mut Client, patience: Duration) -> Option<Duration> {
    let began = Instant::now();
    while began.elapsed() < patience {
        match client.get("/page", &[]) {
            Ok(answer) if answer.status == 403 => return Some(began.elapsed()),
            Ok(_) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => panic!("the connection ended: {error}"),
        }
    }
    None
}

#[test]
fn h069_a_denial_ends_what_is_open() {
    let origin = site();
    let wanted = Wanted {
        parts: NO_LIMITS.to_owned(),
        ..Wanted::default()
    };
    let mut guarded = Gate::with(&origin, wanted);
    watched(&mut guarded, |gate| {
        let mut kept = Client::connect("127.69.0.1", gate.address).unwrap();
        assert_eq!(kept.get("/page", &[]).unwrap().status, 200);
        let (mut socket, answer) = upgrade("127.69.0.1", gate.address);
        assert_eq!(answer.status, 101);
        let (mut other, answer) = upgrade("127.69.0.2", gate.address);
        assert_eq!(answer.status, 101);
        deny(gate, "127.69.0.1/32");
        let denied = Instant::now();
        let stopped = pages_stop(&mut kept, Duration::from_secs(5));
        assert!(
            stopped.is_some_and(|after| after < Duration::from_secs(1)),
            "{stopped:?}"
        );
        wait_for("the websocket ends", || !echoes(&mut socket, b"ping"));
        assert!(denied.elapsed() < Duration::from_secs(5));
        assert!(echoes(&mut other, b"ping"));
    });
    let mut bare = Client::connect("127.69.0.1", naive(origin.address)).unwrap();
    assert_eq!(pages_stop(&mut bare, Duration::from_secs(1)), None);
}

/// H207. A site that switches to something else than the websocket it was asked for opens no tunnel.
#[test]
fn h207_a_site_that_switches_to_another_protocol() {
    for switched in [
        "Connection: Upgrade\r\nUpgrade: h2c\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket, foo\r\n",
        "Connection: Upgrade\r\nUpgrade: foo\r\nUpgrade: websocket\r\n",
        "Connection: Upgrade\r\n",
    ] {
        let head = format!("HTTP/1.1 101 Switching Protocols\r\n{switched}\r\n");
        let origin = Origin::answering(Box::new(move |got| {
            Some(match got.values("upgrade").is_empty() {
                true => page(got.target()),
                false => head.clone().into_bytes(),
            })
        }));
        let gate = Gate::start(&origin);
        let (_, answer) = upgrade("127.0.0.1", gate.address);
        assert_eq!(answer.status, 502, "{switched}: {}", answer.head);
    }
}
