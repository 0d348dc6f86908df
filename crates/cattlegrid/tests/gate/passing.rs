//! What passes reaches the site as it was sent, and comes back as it was answered.

use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::NO_LIMITS;
use crate::harness::Origin;
use crate::harness::WAYS;
use crate::harness::Wanted;
use crate::harness::Way;
use crate::harness::get;
use crate::harness::raw;
use crate::harness::request;

#[test]
fn people_pass_up_to_the_first_limit_and_are_challenged_then() {
    let origin = Origin::start();
    let mut gate = Gate::start(&origin);
    let before = gate.before();
    for page in 0..20 {
        let answer = get(gate.address, &format!("/page{page}"), &[]);
        assert_eq!(
            (answer.status, answer.text()),
            (200, format!("you asked for /page{page}"))
        );
    }
    let answer = get(gate.address, "/page20", &[]);
    assert_eq!(answer.status, 403);
    assert!(answer.text().contains("/.cattlegrid/"), "{}", answer.text());
    assert!(!origin.has_seen("/page20"));
    gate.check_after(&before);
}

/// The bytes of the target that reached the site for this one, which are the same both ways; `None` where the gate refused it.
fn target_of(address: SocketAddr, origin: &Origin, target: &[u8]) -> Option<Vec<u8>> {
    let [close, keep] = WAYS.map(|way| target_by(way, address, origin, target));
    assert_eq!(close, keep, "{}", String::from_utf8_lossy(target));
    close
}

fn target_by(way: Way, address: SocketAddr, origin: &Origin, target: &[u8]) -> Option<Vec<u8>> {
    origin.forget();
    let head = [b"GET ", target, b" HTTP/1.1\r\nHost: www.example.org\r\n"].concat();
    let status = way.status(address, &head);
    if status != 200 {
        assert_eq!(status, 400, "{way:?} {}", String::from_utf8_lossy(target));
        return None;
    }
    let bytes = origin.bytes();
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap();
    let target = line.strip_prefix(b"GET ").unwrap();
    Some(target.strip_suffix(b" HTTP/1.1").unwrap().to_vec())
}

#[test]
fn h017_targets_reach_the_site_byte_for_byte() {
    let origin = Origin::start();
    let gate = Gate::limitless(&origin, "", "");
    for target in [
        "/?a=1;b=2",
        "/?a&a=&=b",
        "/?",
        "/a?",
        "/a+b%20c?d+e%20f",
        "//deep//path",
        "/a%2fb%2Fc",
        "/a/./b/../c",
        "/a//",
        "/%",
        "/%zz%1",
        "/?a=%",
        "/;x=y/;z",
        "/a\\b",
        "/a|b^c",
        "/[a]{b}",
        "/?[]={}|^`'",
        "/'(a)!*$,:@&=~_-.",
        "/?x=a/b?c=d",
        "/?http://a.example/?b#",
        "/a\"b",
        "/%00%0d%0a",
        "/%61%41",
        "/\u{e4}\u{4e2d}",
        "/?q=\u{e4}\u{4e2d}",
        "/.well-known//x",
        "/...;",
        "/?%2e%2e%2f",
    ] {
        let sent = target.split('#').next().unwrap().as_bytes();
        let got = target_of(gate.address, &origin, target.as_bytes());
        assert_eq!(got.as_deref(), Some(sent), "{target}");
    }
}

/// Bytes that the `http` crate takes in a target, and no others; every one goes on unchanged.
#[test]
fn h017_bytes_that_no_target_may_hold() {
    let origin = Origin::start();
    let gate = Gate::limitless(&origin, "", "");
    let refused = |before: &[u8], after: &[u8]| -> Vec<u8> {
        // A blank ends the target, and a fragment is not sent on.
        let bytes = (0_u8..=0xff).filter(|byte| !b" #\n\r".contains(byte));
        bytes
            .filter(|byte| {
                let target = [before, &[*byte], after].concat();
                let got = target_of(gate.address, &origin, &target);
                let is_refused = got.is_none();
                assert!(is_refused || got == Some(target));
                is_refused
            })
            .collect()
    };
    let controls = || (0..0x20_u8).filter(|byte| !b"\n\r".contains(byte));
    // A byte above 0x7f alone is no UTF-8.
    let high = || 0x80..=0xff_u8;
    let of_path: Vec<u8> = controls().chain(*b"<>`\x7f").chain(high()).collect();
    assert_eq!(refused(b"/a", b"b"), of_path);
    let of_query: Vec<u8> = controls().chain(*b"\"<>\x7f").chain(high()).collect();
    assert_eq!(refused(b"/?a", b"b"), of_query);
}

#[test]
fn bodies_reach_the_site_byte_for_byte() {
    let origin = Origin::start();
    let mut gate = Gate::limitless(&origin, "", "");
    let before = gate.before();
    let body: Vec<u8> = (0..20_000_000_u32)
        .map(|number| ((number * 7) >> 3) as u8)
        .collect();
    origin.forget();
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let length = body.len().to_string();
    client
        .send(&request("POST", "/length", &[("Content-Length", &length)]))
        .unwrap();
    client.send(&body).unwrap();
    assert_eq!(
        client.answer(false).unwrap().text(),
        "you asked for /length"
    );
    client
        .send(&request(
            "PUT",
            "/chunks",
            &[("Transfer-Encoding", "chunked")],
        ))
        .unwrap();
    for (number, part) in body.chunks(99_991).enumerate() {
        let extension = if number % 2 == 0 { "" } else { ";a=\"b\"" };
        client
            .send(format!("{:x}{extension}\r\n", part.len()).as_bytes())
            .unwrap();
        client.send(part).unwrap();
        client.send(b"\r\n").unwrap();
    }
    client
        .send(b"0\r\nX-Trailer: not passed on\r\n\r\n")
        .unwrap();
    assert_eq!(
        client.answer(false).unwrap().text(),
        "you asked for /chunks"
    );
    let got = origin.got();
    assert_eq!(got[0].line(), "POST /length HTTP/1.1");
    assert_eq!(got[0].values("content-length"), [length.as_str()]);
    assert!(got[0].body == body);
    assert_eq!(got[1].line(), "PUT /chunks HTTP/1.1");
    assert!(got[1].values("content-length").is_empty());
    assert!(got[1].body == body);
    assert!(!origin.has_seen("X-Trailer") && !origin.has_seen("x-trailer"));
    // Nothing of it stayed in memory.
    gate.check_after(&before);
}

#[test]
fn headers_keep_their_values_and_their_order() {
    let origin = Origin::answering(Box::new(|_| {
        Some(
            b"HTTP/1.1 203 Odd\r\nSet-Cookie: b=2; Path=/\r\nX-Two: y, z\r\nSet-Cookie: a=1\r\nX-Two: \xe4\r\nX-Empty:\r\nETag: \"x\"\r\n\
              Server: one\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\nok"
                .to_vec(),
        )
    }));
    let gate = Gate::limitless(&origin, "", "");
    let sent = [
        ("X-Two", "b, c"),
        ("Referer", "http://www.example.org/?a=\u{e4}\""),
        ("X-Two", "a"),
        ("X_Odd.name~", "kept"),
        ("X-Empty", ""),
        ("X-Two", "\t\"q,uoted\" "),
        ("Cookie", "a=1; b=2"),
        ("Authorization", "Basic QWxhZGRpbjpvcGVu"),
        ("X-Long", &"v".repeat(30_000)),
    ];
    let answer = get(gate.address, "/", &sent);
    let got = &origin.got()[0];
    assert_eq!(got.values("x-two"), ["b, c", "a", "\"q,uoted\""]);
    for (name, value) in sent.iter().filter(|(name, _)| *name != "X-Two") {
        assert_eq!(got.values(name), [*value], "{name}");
    }
    assert_eq!(answer.status, 203);
    assert_eq!(answer.values("set-cookie"), ["b=2; Path=/", "a=1"]);
    assert_eq!(answer.values("x-two"), ["y, z", "\u{fffd}"]);
    assert_eq!(answer.values("x-empty"), [""]);
    assert_eq!(answer.values("server"), ["one"]);
    assert_eq!(answer.values("date"), ["Thu, 01 Jan 1970 00:00:00 GMT"]);
    assert!(answer.values("keep-alive").is_empty());
    assert_eq!(answer.text(), "ok");
}

/// A site with one large file, which it sends in parts and only where it has changed.
fn file_site(file: Arc<Vec<u8>>) -> Origin {
    Origin::answering(Box::new(move |got| {
        let tag = "ETag: \"1\"\r\nContent-Type: application/octet-stream\r\n";
        let length = file.len();
        if got.values("if-none-match") == ["\"1\""] {
            return Some(format!("HTTP/1.1 304 Not Modified\r\n{tag}\r\n").into_bytes());
        }
        if got.line().starts_with("HEAD") {
            return Some(
                format!("HTTP/1.1 200 OK\r\n{tag}Content-Length: {length}\r\n\r\n").into_bytes(),
            );
        }
        if got.line().starts_with("DELETE") {
            return Some(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
        }
        let (status, part) = match got.values("range").first().map(String::as_str) {
            Some("bytes=10-19") => ("206 Partial Content", &file[10..20]),
            Some(_) => ("416 Range Not Satisfiable", &file[..0]),
            None => ("200 OK", &file[..]),
        };
        let head = match got.target() {
            "/chunks" => {
                let head = format!("HTTP/1.1 {status}\r\n{tag}Transfer-Encoding: chunked\r\n\r\n");
                let chunk = format!("{:x}\r\n", part.len());
                return Some(
                    [
                        head.as_bytes(),
                        chunk.as_bytes(),
                        part,
                        b"\r\n0\r\nX-T: 1\r\n\r\n",
                    ]
                    .concat(),
                );
            }
            _ => format!(
                "HTTP/1.1 {status}\r\n{tag}Content-Range: bytes 10-19/{length}\r\nContent-Length: {}\r\n\r\n",
                part.len()
            ),
        };
        Some([head.as_bytes(), part].concat())
    }))
}

#[test]
fn files_ranges_and_answers_without_a_body() {
    let file: Arc<Vec<u8>> = Arc::new(
        (0..20_000_000_u32)
            .map(|at| ((at * 13) >> 2) as u8)
            .collect(),
    );
    let origin = file_site(Arc::clone(&file));
    let mut gate = Gate::limitless(&origin, "", "");
    let before = gate.before();
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    assert!(client.get("/file", &[]).unwrap().body == *file);
    assert!(client.get("/chunks", &[]).unwrap().body == *file);
    let part = client.get("/file", &[("Range", "bytes=10-19")]).unwrap();
    assert_eq!((part.status, &part.body[..]), (206, &file[10..20]));
    assert_eq!(part.values("content-range"), ["bytes 10-19/20000000"]);
    assert_eq!(
        client.get("/file", &[("Range", "bytes=x")]).unwrap().status,
        416
    );
    client.send(&request("HEAD", "/file", &[])).unwrap();
    let head = client.answer(true).unwrap();
    assert_eq!(
        (head.status, head.values("content-length")),
        (200, vec!["20000000".to_owned()])
    );
    let same = client.get("/file", &[("If-None-Match", "\"1\"")]).unwrap();
    assert_eq!(
        (same.status, same.values("etag")),
        (304, vec!["\"1\"".to_owned()])
    );
    client.send(&request("DELETE", "/file", &[])).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 204);
    // Two at once are answered in their order.
    client
        .send(
            &[
                request("GET", "/a", &[("Range", "bytes=10-19")]),
                request("GET", "/b", &[("Range", "bytes=x")]),
            ]
            .concat(),
        )
        .unwrap();
    assert_eq!(client.answer(false).unwrap().status, 206);
    assert_eq!(client.answer(false).unwrap().status, 416);
    gate.check_after(&before);
}

#[test]
fn a_body_that_waits_for_a_word() {
    let origin = Origin::start();
    let gate = Gate::limitless(&origin, "", "");
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let headers = [("Expect", "100-continue"), ("Content-Length", "5")];
    client.send(&request("POST", "/wait", &headers)).unwrap();
    let mut word = [0; 25];
    client.stream.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.send(b"hello").unwrap();
    assert_eq!(client.answer(false).unwrap().text(), "you asked for /wait");
    let got = &origin.got()[0];
    assert_eq!(got.body, b"hello");
    assert!(got.values("expect").is_empty());
    let answer = get(gate.address, "/", &[("Expect", "foo")]);
    assert_eq!(answer.status, 417);
}

#[test]
fn old_clients() {
    let origin = Origin::start();
    let gate = Gate::limitless(&origin, "", "");
    let old = |lines: &str| format!("GET /old HTTP/1.0\r\nHost: www.example.org\r\n{lines}\r\n");
    let answer = raw(gate.address, old("").as_bytes());
    assert_eq!((answer.status(), answer.is_closed), (200, true));
    assert!(
        answer.text.ends_with("you asked for /old"),
        "{}",
        answer.text
    );
    assert_eq!(origin.got()[0].line(), "GET /old HTTP/1.1");
    let kept = raw(gate.address, old("Connection: keep-alive\r\n").as_bytes());
    assert!(!kept.is_closed);
    // Chunks are nothing that an old client knows.
    let chunks = file_site(Arc::new(b"a small file".to_vec()));
    let chunked = Gate::limitless(&chunks, "", "");
    let answer = raw(
        chunked.address,
        b"GET /chunks HTTP/1.0\r\nHost: www.example.org\r\n\r\n",
    );
    assert!(answer.is_closed);
    assert!(
        answer.text.ends_with("\r\n\r\na small file"),
        "{}",
        answer.text
    );
    assert!(!answer.text.to_ascii_lowercase().contains("chunked"));
}

#[test]
fn events_arrive_as_they_are_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (go_on, waiting) = mpsc::channel::<()>();
    let site = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .unwrap();
        for number in 0..5 {
            // The next event is sent when the client has read the one before.
            waiting.recv().unwrap();
            let event = format!("9\r\ndata: {number}\n\n\r\n");
            stream.write_all(event.as_bytes()).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let parts =
        format!("{NO_LIMITS}[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{address}\"\n");
    let wanted = Wanted {
        parts,
        ..Wanted::default()
    };
    let gate = Gate::with(&Origin::start(), wanted);
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    client
        .send(&request(
            "GET",
            "/events",
            &[("Accept", "text/event-stream")],
        ))
        .unwrap();
    let mut seen = String::new();
    let mut read_until = |text: &str| {
        let mut chunk = [0; 1024];
        while !seen.contains(text) {
            let length = client.stream.read(&mut chunk).unwrap();
            assert!(length > 0, "the answer ended before {text:?}");
            seen.push_str(&String::from_utf8_lossy(&chunk[..length]));
        }
    };
    // The head comes before any event.
    read_until("\r\n\r\n");
    for number in 0..5 {
        go_on.send(()).unwrap();
        read_until(&format!("data: {number}\n\n"));
    }
    site.join().unwrap();
}
