//! Queries of web servers: a field of the connection changes no answer, and queries come in any mixture.

use crate::front::asked;
use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::request;

/// A question as nginx and as others put it, about a request of a client.
fn headers<'a>(names: [&'a str; 3], client: &'a str, target: &'a str) -> Vec<(&'a str, &'a str)> {
    let [uri, method, host] = names;
    vec![
        ("X-Forwarded-For", client),
        ("X-Forwarded-Proto", "https"),
        (uri, target),
        (method, "GET"),
        (host, "www.example.org"),
    ]
}

const ORIGINAL: [&str; 3] = ["X-Original-URI", "X-Original-Method", "X-Original-Host"];
const FORWARDED: [&str; 3] = ["X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host"];

/// What an answer says, but for what differs from one to the next of a kind.
fn told(answer: &Answer) -> String {
    let mut names: Vec<String> = answer
        .head
        .lines()
        .skip(1)
        .filter_map(|line| Some(line.split_once(':')?.0.to_ascii_lowercase()))
        .collect();
    names.sort();
    let title = answer.text().lines().find_map(|line| {
        let at = line.find("<title>")?;
        Some(line[at..].to_owned())
    });
    let decision = answer.header("x-cattlegrid-decision");
    format!("{} {names:?} {decision:?} {title:?}", answer.status)
}

#[test]
fn fields_of_the_connection_change_no_answer() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, asked("forward_auth"));
    let connect = || Client::connect("127.0.0.1", gate.address).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for (number, (path, names)) in [
        ("/auth/nginx", ORIGINAL),
        ("/auth", FORWARDED),
        ("/auth/show", ORIGINAL),
    ]
    .into_iter()
    .enumerate()
    {
        for target in [
            "/page",
            "/forbidden",
            "/slow",
            "/style.css",
            "/.cattlegrid/style.0123456789abcdef.css",
            "no path",
        ] {
            let (mut without, mut with) = (connect(), connect());
            // Until the pages of each are spent.
            for _ in 0..25 {
                let clients = [
                    format!("198.51.100.{number}"),
                    format!("203.0.113.{number}"),
                ];
                let ours = without
                    .get(path, &headers(names, &clients[0], target))
                    .unwrap();
                let mut asked = headers(names, &clients[1], target);
                asked.push(("Keep-Alive", "5"));
                let theirs = with.get(path, &asked).unwrap();
                assert_eq!(told(&ours), told(&theirs), "{path} {target}");
                kinds.insert(ours.status);
            }
        }
    }
    for status in [200, 401, 403, 429] {
        assert!(kinds.contains(&status), "{kinds:?}");
    }
}

#[test]
fn questions_come_together_in_parts_and_between_other_requests() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, asked("forward_auth"));
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let question = |client| request("GET", "/auth/nginx", &headers(ORIGINAL, client, "/page"));
    let (one, other) = (question("198.51.100.7"), question("198.51.100.8"));
    client.send(&[&one[..], &other[..]].concat()).unwrap();
    for _ in 0..2 {
        assert_eq!(client.answer(false).unwrap().status, 200);
    }
    // The second is not whole when the first is answered.
    let (start, end) = other.split_at(other.len() / 2);
    client.send(&[&one[..], start].concat()).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 200);
    client.send(end).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 200);
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let page = request(
        "GET",
        "/.cattlegrid/style.0123456789abcdef.css",
        &[("X-Forwarded-For", "198.51.100.9")],
    );
    client
        .send(&[&one[..], &page[..], &other[..]].concat())
        .unwrap();
    for expected in [200, 200, 200] {
        assert_eq!(client.answer(false).unwrap().status, expected);
    }
    // Each client has asked three pages, and each is counted once.
    let more = (0..).take_while(|_| {
        let asked = headers(ORIGINAL, "198.51.100.7", "/page");
        client.get("/auth/nginx", &asked).unwrap().status == 200
    });
    let more = more.take(50).count();
    let mut fresh = Client::connect("127.0.0.1", gate.address).unwrap();
    let all = (0..).take_while(|_| {
        let asked = headers(ORIGINAL, "203.0.113.7", "/page");
        fresh.get("/auth/nginx", &asked).unwrap().status == 200
    });
    assert_eq!(all.take(50).count(), more + 3);
}

#[test]
fn a_question_in_doubt_is_refused_as_everywhere() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, asked("forward_auth"));
    let asked = headers(ORIGINAL, "198.51.100.7", "/page");
    let sound = String::from_utf8(request("GET", "/auth/nginx", &asked)).unwrap();
    for (from, to) in [
        (
            "Host: www.example.org\r\n",
            "Host: a.example\r\nHost: b.example\r\n",
        ),
        ("Accept:", "Accept :"),
        (
            "Accept:",
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\nAccept:",
        ),
        (
            "X-Original-Method: GET\r\n",
            "X-Original-Method: GET\r\nX-Original-Method: POST\r\n",
        ),
        ("X-Forwarded-For: 198.51.100.7\r\n", ""),
        ("Accept-Language: en\r\n", "Accept-Language: en\n"),
    ] {
        let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
        client.send(sound.as_bytes()).unwrap();
        assert_eq!(client.answer(false).unwrap().status, 200);
        assert!(sound.contains(from));
        client.send(sound.replacen(from, to, 1).as_bytes()).unwrap();
        let status = client.answer(false).unwrap().status;
        assert!(matches!(status, 400 | 403), "{to}: {status}");
    }
}
