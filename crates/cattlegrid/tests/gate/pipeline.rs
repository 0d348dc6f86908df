//! All requests take one way: what a field of the connection says changes nothing of what passes, and requests may come in any mixture.

use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::request;
use crate::harness::wait_for;

/// A field of the connection. No site hears of it.
const OF_CONNECTION: (&str, &str) = ("Keep-Alive", "5");

/// A head but for its first line: names in small letters, in the order of each name.
fn told(head: &str, without: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .filter(|(name, _)| !without.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    // Stable: values of one name stay in their order.
    lines.sort_by_key(|line| line.split(':').next().unwrap_or("").to_owned());
    lines
}

/// What a site answers at some paths.
fn answers(got: &Got) -> Option<Vec<u8>> {
    let tiny: String = (0..5000).map(|_| "1\r\nx\r\n").collect();
    let large = "0123456789abcdef".repeat(20_000);
    Some(match got.target() {
        "/plain" => b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok".to_vec(),
        "/dated" => b"HTTP/1.1 200 Fine\r\nDate: Tue, 01 Jan 2030 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/cached" => b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age=5\r\nContent-Length: 2\r\n\r\nok".to_vec(),
        "/moved" => b"HTTP/1.1 302 Found\r\nLocation: /a\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/nothing" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        "/same" => b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 500\r\n\r\n".to_vec(),
        "/listed" => b"HTTP/1.1 200 OK\r\nConnection: X-A, keep-alive\r\nX-A: 1\r\nX-B: 2\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/chunks" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n".to_vec(),
        "/tiny" => format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{tiny}0\r\n\r\n").into_bytes(),
        "/large" => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{large}", large.len()).into_bytes(),
        "/odd" => b"HTTP/1.1 299 What \xc3\xa4\r\nX-\xc3: a\r\n\r\n".to_vec(),
        "/head" => b"HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n".to_vec(),
        "/error" => b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 4\r\n\r\nbusy".to_vec(),
        _ => page(&format!("you asked for {}", got.target())),
    })
}

/// What a client was told.
fn shown(answer: &Answer) -> String {
    let reason = answer.head.lines().next().unwrap_or("").to_owned();
    let lines = told(&answer.head, &["date"]);
    format!("{reason} {lines:?} {:?}", answer.text())
}

/// One request with and without a field of the connection: what the site got, and what the client was told.
fn both(
    gate: &Gate,
    origin: &Origin,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> [(String, String); 2] {
    [None, Some(OF_CONNECTION)].map(|more| {
        origin.forget();
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain(more).collect();
        let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
        // Twice: the second finds a connection that was kept.
        for _ in 0..2 {
            client.send(&request(method, path, &headers)).unwrap();
            client.answer(method == "HEAD").unwrap();
        }
        client.send(&request(method, path, &headers)).unwrap();
        let answer = client.answer(method == "HEAD").unwrap();
        let got = origin.got();
        let got = got.last().unwrap();
        let got = format!("{} {:?}", got.line(), told(&got.head, &[]));
        (got, shown(&answer))
    })
}

#[test]
fn fields_of_the_connection_change_no_request_and_no_response() {
    let origin = Origin::answering(Box::new(answers));
    let trusting = Wanted {
        gate: "trusted_proxies = [\"127.0.0.1\"]\n".to_owned(),
        parts: "[[gate.rule]]\nnetworks = [\"0.0.0.0/0\"]\npath = \"/*\"\naction = \"pass\"\n"
            .to_owned(),
        ..Wanted::default()
    };
    for gate in [
        Gate::limitless(&origin, "", ""),
        Gate::with(&origin, trusting),
    ] {
        for path in [
            "/plain",
            "/dated",
            "/cached",
            "/moved",
            "/nothing",
            "/same",
            "/listed",
            "/chunks",
            "/tiny",
            "/large",
            "/odd",
            "/error",
            "/a?b=c&d=%20",
            "/a;b=c/../d",
            "/.well-known/x",
            "/%2e%2e/a",
        ] {
            let [without, with] = both(&gate, &origin, "GET", path, &[]);
            assert_eq!(without, with, "{path}");
        }
        for path in ["/head", "/nothing", "/plain"] {
            let [without, with] = both(&gate, &origin, "HEAD", path, &[]);
            assert_eq!(without, with, "HEAD {path}");
        }
        for headers in [
            &[("X-A", "1"), ("x-a", "2"), ("X-B", "\u{e9}")][..],
            &[("Cookie", "a=b; cattlegrid=x; c=d")],
            &[("Cookie", "__Host-cattlegrid=x")],
            &[("Cookie", "a=b"), ("Cookie", "c=d")],
            &[
                ("X-Forwarded-For", "192.0.2.1"),
                ("X-Forwarded-For", "192.0.2.2, 192.0.2.3"),
            ],
            &[
                ("X-Forwarded-Host", "a.example"),
                ("X-Forwarded-Proto", "https"),
                ("X-Real-IP", "192.0.2.9"),
            ],
            &[
                ("X_Forwarded_For", "192.0.2.1"),
                ("X-Cattlegrid-User", "a"),
                ("Forwarded", "for=192.0.2.1"),
            ],
            &[
                ("Range", "bytes=0-1"),
                ("If-None-Match", "\"a\""),
                ("Authorization", "Basic YTpi"),
            ],
            &[("Content-Length", "0"), ("Content_Length", "5")],
            &[("Host", "WWW.Example.org:80")],
        ] {
            let [without, with] = both(&gate, &origin, "GET", "/plain", headers);
            assert!(without.0.contains("GET /plain"), "{without:?}");
            assert_eq!(without, with, "{headers:?}");
        }
    }
}

#[test]
fn fields_of_the_connection_change_no_containment() {
    let origin = Origin::start();
    let gate = Gate::set(
        &origin,
        "trusted_proxies = [\"127.0.0.1\"]\n",
        "[[gate.rule]]\npath = \"/blocked*\"\naction = \"block\"\n\
         [[gate.rule]]\npath = \"/slow*\"\naction = \"throttle\"\n\
         [[gate.rule]]\npath = \"/challenged*\"\naction = \"challenge\"\n",
    );
    let title = |answer: &Answer| {
        let text = answer.text();
        let title = text
            .lines()
            .find_map(|line| Some(line[line.find("<title>")?..].to_owned()));
        let names: Vec<String> = told(&answer.head, &["date"])
            .iter()
            .map(|line| line.split(':').next().unwrap_or("").to_owned())
            .collect();
        format!("{} {names:?} {title:?}", answer.status)
    };
    for (number, path) in [
        "/blocked",
        "/slow",
        "/challenged",
        "/page",
        "/.cattlegrid/none",
    ]
    .into_iter()
    .enumerate()
    {
        for method in ["GET", "HEAD"] {
            for accept in ["text/html", "application/json"] {
                let shown = [None, Some(OF_CONNECTION)].map(|more| {
                    let client = format!("198.51.100.{}", number * 2 + usize::from(more.is_some()));
                    let headers = [("X-Forwarded-For", client.as_str()), ("Accept", accept)];
                    let headers: Vec<(&str, &str)> = headers.into_iter().chain(more).collect();
                    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
                    let answers = (0..12).map(|_| {
                        client.send(&request(method, path, &headers)).unwrap();
                        title(&client.answer(method == "HEAD").unwrap())
                    });
                    answers.collect::<Vec<String>>()
                });
                assert_eq!(shown[0], shown[1], "{method} {path} {accept}");
            }
        }
    }
}

#[test]
fn requests_come_together_in_parts_and_between_others() {
    let origin = Origin::start();
    let gate = Gate::limitless(&origin, "", "");
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let get = |path: &str| request("GET", path, &[]);
    let asked = |client: &mut Client, path: &str| {
        let answer = client.answer(false).unwrap();
        assert_eq!(answer.text(), format!("you asked for {path}"));
    };
    // Many at once, the last of them not whole.
    let many: Vec<u8> = (0..200)
        .flat_map(|number| get(&format!("/{number}")))
        .collect();
    let rest = get("/rest");
    client.send(&[&many[..], &rest[..30]].concat()).unwrap();
    (0..200).for_each(|number| asked(&mut client, &format!("/{number}")));
    for byte in &rest[30..] {
        client.send(&[*byte]).unwrap();
    }
    asked(&mut client, "/rest");
    // Bodies that look like requests stay bodies.
    let body = get("/smuggled");
    let length = body.len().to_string();
    let post = [
        request("POST", "/post", &[("Content-Length", &length)]),
        body,
    ]
    .concat();
    client
        .send(&[get("/before"), post, get("/after")].concat())
        .unwrap();
    for path in ["/before", "/post", "/after"] {
        asked(&mut client, path);
    }
    assert!(!origin.got().iter().any(|got| got.target() == "/smuggled"));
    wait_for("a line for each", || gate.log().len() == 204);
}

#[test]
fn who_goes_away_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = listener.local_addr().unwrap();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let tell = tell.clone();
            thread::spawn(move || {
                let mut head = [0; 4096];
                let length = stream.read(&mut head).unwrap_or(0);
                tell.send("asked").unwrap();
                if head[..length].starts_with(b"GET /begun") {
                    let begun = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbeg";
                    stream.write_all(begun).unwrap();
                }
                // Until the gate ends it.
                while stream.read(&mut head).is_ok_and(|length| length > 0) {}
                tell.send("ended").unwrap();
            });
        }
    });
    let expect = |word| {
        let heard = told.recv_timeout(Duration::from_secs(5));
        assert_eq!(heard, Ok(word));
    };
    let gate = Gate::with(
        &Origin::start(),
        Wanted {
            gate: "workers = 1\n".to_owned(),
            parts: format!("[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{site}\"\n"),
            ..Wanted::default()
        },
    );
    for (path, more) in [
        ("/silent", None),
        ("/begun", None),
        ("/silent", Some(OF_CONNECTION)),
        ("/begun", Some(OF_CONNECTION)),
    ] {
        let headers: Vec<(&str, &str)> = more.into_iter().collect();
        let mut stream = TcpStream::connect(gate.address).unwrap();
        stream.write_all(&request("GET", path, &headers)).unwrap();
        expect("asked");
        if path == "/begun" {
            let mut answer = Vec::new();
            while !answer.ends_with(b"beg") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                answer.push(byte[0]);
            }
        }
        drop(stream);
        expect("ended");
    }
    wait_for("four lines", || gate.log().len() == 4);
    let log = gate.log();
    let statuses: Vec<u64> = log
        .iter()
        .filter_map(|line| line["status"].as_u64())
        .collect();
    assert_eq!(statuses, [499, 200, 499, 200]);
    assert!(log.iter().all(|line| line["cut"] == true), "{log:?}");
}
