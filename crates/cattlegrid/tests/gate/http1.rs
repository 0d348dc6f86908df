//! HTTP/1 as clients of all ages speak it: HTTP/1.0, bodies that wait for leave, bodies that nobody wants, fields in their order.

use std::io::Read;
use std::io::Write;

use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::page;
use crate::harness::request;

fn chunked_or_page() -> Origin {
    Origin::answering(Box::new(|got| {
        Some(match got.target() {
            "/chunks" => {
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n".to_vec()
            }
            target => page(target),
        })
    }))
}

#[test]
fn http_1_0_has_no_chunks_and_keeps_a_connection_that_it_asks_to_keep() {
    let origin = chunked_or_page();
    let gate = Gate::limitless(&origin, "", "");
    let mut once = Client::connect("127.0.0.1", gate.address).unwrap();
    once.send(b"GET /chunks HTTP/1.0\r\nHost: www.example.org\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    once.stream.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("\r\n\r\nhello world"), "{text}");
    assert!(!text.to_ascii_lowercase().contains("transfer-encoding"));
    let kept = b"GET /kept HTTP/1.0\r\nHost: www.example.org\r\nConnection: keep-alive\r\n\r\n";
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    for _ in 0..3 {
        client.send(kept).unwrap();
        let answer = client.answer(false).unwrap();
        assert_eq!(answer.text(), "/kept");
        assert_eq!(answer.values("connection"), ["keep-alive"]);
    }
    // Without a length the end of the connection is the end of the body, whatever was asked for.
    let chunks = String::from_utf8_lossy(kept).replace("/kept", "/chunks");
    client.send(chunks.as_bytes()).unwrap();
    let mut text = String::new();
    client.stream.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("hello world"), "{text}");
    // What passed was HTTP/1.1 for the site.
    assert!(
        origin
            .got()
            .iter()
            .all(|got| got.line().ends_with("HTTP/1.1"))
    );
}

#[test]
fn a_client_that_waits_for_leave_gets_it_once_and_only_where_its_body_is_wanted() {
    let origin = Origin::start();
    let rule = "[[gate.rule]]\npath = \"/denied\"\naction = \"block\"\n";
    let gate = Gate::limitless(&origin, "", rule);
    let head = |path: &str| {
        request(
            "POST",
            path,
            &[("Content-Length", "5"), ("Expect", "100-continue")],
        )
    };
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    for path in ["/one", "/two"] {
        client.send(&head(path)).unwrap();
        let mut leave = [0; 25];
        client.stream.read_exact(&mut leave).unwrap();
        assert_eq!(&leave, b"HTTP/1.1 100 Continue\r\n\r\n");
        client.send(b"hello").unwrap();
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
    let bodies: Vec<Vec<u8>> = origin.got().iter().map(|got| got.body.clone()).collect();
    assert_eq!(bodies, [b"hello", b"hello"]);
    client.send(&head("/denied")).unwrap();
    let mut text = String::new();
    client.stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 403"), "{text}");
}

/// A client that sends everything before it reads gets its refusal: the connection is not reset under it.
#[test]
fn who_sends_a_body_that_nobody_wants_gets_the_answer_all_the_same() {
    let origin = Origin::start();
    let rule = "[[gate.rule]]\npath = \"/denied\"\naction = \"block\"\n";
    let gate = Gate::limitless(&origin, "", rule);
    for size in [1_000, 60_000, 70_000, 4_000_000] {
        let body = vec![b'x'; size];
        let length = size.to_string();
        let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
        let head = request("POST", "/denied", &[("Content-Length", &length)]);
        client
            .stream
            .write_all(&[&head[..], &body].concat())
            .unwrap();
        let answer = client.answer(false).unwrap();
        assert_eq!(answer.status, 403, "{size}");
        // After a short one the connection goes on.
        let is_kept = answer.values("connection").is_empty();
        assert_eq!(is_kept, size <= 64 * 1024, "{size}");
        if is_kept {
            assert_eq!(client.get("/next", &[]).unwrap().status, 200);
        }
    }
    assert!(!origin.has_seen("/denied"));
}

#[test]
fn fields_reach_the_site_in_their_order_and_letters() {
    let origin = Origin::start();
    let gate = Gate::limitless(&origin, "", "");
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    client
        .send(
            b"GET /order HTTP/1.1\r\nsec-ch-ua: \"x\"\r\nHost: www.example.org\r\nX-Zed: 1\r\nACCEPT: */*\r\nuser-agent: a\r\n\
              Accept-Language: en\r\nx-zed: 2\r\n\r\n",
        )
        .unwrap();
    assert_eq!(client.answer(false).unwrap().status, 200);
    let got = origin.got();
    let names: Vec<&str> = got[0]
        .head
        .lines()
        .skip(1)
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect();
    let sent = [
        "sec-ch-ua",
        "X-Zed",
        "ACCEPT",
        "user-agent",
        "Accept-Language",
        "x-zed",
    ];
    let kept: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| sent.contains(name))
        .collect();
    assert_eq!(kept, sent, "{names:?}");
}
