//! When something goes wrong behind the gate or in it: the site is down, hangs or talks nonsense, or the gate itself has an error.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use socket2::SockRef;

use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Victim;
use crate::harness::Wanted;
use crate::harness::free_port;
use crate::harness::get;
use crate::harness::naive;
use crate::harness::page;
use crate::harness::request;
use crate::harness::say;
use crate::harness::try_get;
use crate::harness::wait_for;

/// A site that does what its path says.
pub(crate) fn rough(listener: TcpListener) -> SocketAddr {
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // Whoever ends the connection early ends this thread.
                let _ = converse(stream);
            });
        }
    });
    address
}

/// Reads the head of a request. Gives its target.
fn read_target(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    Ok(head.split(' ').nth(1).unwrap_or("").to_owned())
}

fn converse(mut stream: TcpStream) -> io::Result<()> {
    let mut asked = 0;
    loop {
        let path = read_target(&mut stream)?;
        asked += 1;
        if !behave(&mut stream, &path, asked)? {
            return Ok(());
        }
    }
}

/// Answers of which none is sound, but the last: it has no length, and ends with the connection.
fn said(path: &str) -> Option<&'static str> {
    let said = match path {
        "/garbage" => "\0\x01\x02 no HTTP at all\r\n\r\n",
        "/lengths" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "/both" => {
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        }
        "/switch" => "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        // Some write a line end too many behind an answer. Who skips it before the next one may take a body for an answer.
        "/newline" => {
            "\r\nHTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        }
        "/newline-hint" => {
            "\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        }
        "/until-end" => "HTTP/1.0 200 OK\r\n\r\nhello",
        _ => return None,
    };
    Some(said)
}

/// Answers one request; false where the connection ends.
fn behave(stream: &mut TcpStream, path: &str, asked: usize) -> io::Result<bool> {
    let begun = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789";
    if let Some(said) = said(path) {
        stream.write_all(said.as_bytes())?;
        return Ok(false);
    }
    match path {
        "/hang" => thread::sleep(Duration::from_secs(5)),
        "/reset" => {
            stream.write_all(begun)?;
            // What was written must be on its way before the reset overtakes it.
            thread::sleep(Duration::from_millis(100));
            SockRef::from(&*stream).set_linger(Some(Duration::ZERO))?;
        }
        "/short" => stream.write_all(begun)?,
        "/stop" => {
            stream.write_all(begun)?;
            thread::sleep(Duration::from_secs(5));
        }
        "/half" => {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(format!("{head}5\r\nhello\r\n64\r\nabc").as_bytes())?;
        }
        "/long" => {
            let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
            stream.write_all(format!("{head}hello{poison}").as_bytes())?;
            return Ok(true);
        }
        "/header" => {
            let header = "x".repeat(1024 * 1024);
            stream.write_all(format!("HTTP/1.1 200 OK\r\nX-A: {header}\r\n\r\n").as_bytes())?;
        }
        // Some write blanks behind the size of a chunk, and what follows the last one.
        "/padded" => {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let body = "5  \r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n";
            stream.write_all(format!("{head}{body}").as_bytes())?;
            return Ok(true);
        }
        "/informs" => {
            let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100);
            stream.write_all(hint.as_bytes())?;
            stream.write_all(&page("at last"))?;
            return Ok(true);
        }
        "/slow" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n")?;
            for _ in 0..20 {
                stream.write_all(&[b'x'; 1000])?;
                thread::sleep(Duration::from_millis(100));
            }
            return Ok(true);
        }
        // Just when a kept connection is used again, it ends.
        "/stale" if asked > 1 => {}
        path => {
            stream.write_all(&page(&format!("you asked for {path}")))?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// A gate before a site at an address, with short waits. `/challenged` is challenged, `/blocked` is blocked.
fn gate_before(site: SocketAddr, gate: &str) -> Gate {
    let parts = format!(
        "[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{site}\"\n\
         [[gate.rule]]\npath = \"/challenged*\"\naction = \"challenge\"\n\
         [[gate.rule]]\npath = \"/blocked*\"\naction = \"block\"\n\
         [[gate.rule]]\nnetworks = [\"127.0.0.0/8\"]\naction = \"pass\"\n"
    );
    Gate::with(
        &Origin::start(),
        Wanted {
            gate: format!("timeouts = {{ answer = 1.0, body = 1.0, connect = 1.0 }}\n{gate}"),
            parts,
            ..Wanted::default()
        },
    )
}

/// True where the client can see that an answer is not whole.
fn is_cut_visibly(address: SocketAddr, path: &str) -> bool {
    let mut client = Client::connect("127.0.0.1", address).unwrap();
    client.send(&request("GET", path, &[])).unwrap();
    client.answer(false).is_err()
}

#[test]
fn h081_sites_that_fail() {
    let site = rough(TcpListener::bind("127.0.0.1:0").unwrap());
    let mut gate = gate_before(site, "");
    let before = gate.before();
    let victim = Victim::start(gate.address);
    for (path, status) in [
        ("/header", 502),
        ("/garbage", 502),
        ("/lengths", 502),
        ("/both", 502),
        ("/switch", 502),
        ("/newline", 502),
        ("/newline-hint", 502),
        ("/hang", 504),
    ] {
        let asked = Instant::now();
        let answer = get(gate.address, path, &[]);
        assert_eq!(answer.status, status, "{path}");
        assert!(asked.elapsed() < Duration::from_secs(2), "{path}");
        assert_eq!(
            answer.header("cache-control").as_deref(),
            Some("no-store"),
            "{path}"
        );
    }
    for path in ["/reset", "/short", "/half", "/stop"] {
        assert!(is_cut_visibly(gate.address, path), "{path}");
        let url = format!("http://{}{path}", gate.address);
        let curl = Command::new("curl")
            .args(["-s", "--http2-prior-knowledge", &url])
            .output()
            .unwrap();
        assert!(!curl.status.success(), "{path} over HTTP/2");
    }
    let answer = get(gate.address, "/informs", &[]);
    assert_eq!((answer.status, answer.text()), (200, "at last".to_owned()));
    for path in ["/padded", "/until-end"] {
        let answer = get(gate.address, path, &[]);
        assert_eq!((answer.status, answer.text()), (200, "hello".to_owned()));
    }
    let cut = gate.log();
    let cut = cut.iter().filter(|line| line["cut"] == true).count();
    say(&format!("{cut} answers are written down as cut"));
    victim.check();
    gate.check_after(&before);
    let careless = gate_before(site, "without = [\"broken_body\"]");
    assert!(!is_cut_visibly(careless.address, "/half"));
}

/// A site that reads the head of a request, does something, and then reads the rest.
fn reading_late(first: fn(&mut TcpStream), then: fn(&mut TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte)?;
                    head.push(byte[0]);
                }
                first(&mut stream);
                let head = String::from_utf8_lossy(&head);
                let length = head
                    .lines()
                    .filter_map(|line| line.split_once(": "))
                    .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                    .map(|(_, value)| value);
                let length: u64 = length.and_then(|length| length.parse().ok()).unwrap_or(0);
                io::copy(&mut Read::by_ref(&mut stream).take(length), &mut io::sink())?;
                then(&mut stream);
                io::Result::Ok(())
            });
        }
    });
    address
}

#[test]
fn a_site_that_answers_before_it_has_read_all() {
    let site = reading_late(
        |stream| {
            let refused = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno\n";
            stream.write_all(refused).unwrap();
        },
        |_| {},
    );
    let gate = gate_before(site, "");
    let body = vec![b'x'; 20_000_000];
    let length = body.len().to_string();
    for _ in 0..3 {
        let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
        let head = request("POST", "/early", &[("Content-Length", &length)]);
        // All is sent before anything is read.
        client.send(&head).unwrap();
        client.send(&body).unwrap();
        assert_eq!(client.answer(false).unwrap().text(), "no\n");
    }
}

#[test]
fn a_site_has_all_its_time_once_a_slow_upload_has_ended() {
    let site = reading_late(
        |_| {},
        |stream| {
            thread::sleep(Duration::from_millis(700));
            stream.write_all(&page("thanks")).unwrap();
        },
    );
    // The site has a second for its answer, and the upload takes two.
    let gate = gate_before(site, "");
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let head = request("POST", "/slow", &[("Content-Length", "19")]);
    client.send(&head).unwrap();
    for _ in 0..19 {
        thread::sleep(Duration::from_millis(100));
        client.send(b"x").unwrap();
    }
    assert_eq!(client.answer(false).unwrap().text(), "thanks");
}

#[test]
fn h081_what_a_site_says_beyond_its_answer_reaches_nobody() {
    let site = rough(TcpListener::bind("127.0.0.1:0").unwrap());
    let gate = gate_before(site, "workers = 1\n");
    for round in 0..50 {
        let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
        assert_eq!(client.get("/long", &[]).unwrap().text(), "hello");
        let path = format!("/next{round}");
        let answer = client.get(&path, &[]).unwrap();
        assert_eq!(answer.text(), format!("you asked for {path}"));
    }
    // Who passes bytes on passes these on, too.
    let mut client = Client::connect("127.0.0.1", naive(site)).unwrap();
    assert_eq!(client.get("/long", &[]).unwrap().text(), "hello");
    assert_eq!(client.get("/next", &[]).unwrap().text(), "poison");
}

#[test]
fn h081_a_site_that_is_down_and_comes_back() {
    let port = free_port();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let gate = gate_before(address, "");
    let asked = Instant::now();
    assert_eq!(get(gate.address, "/x", &[]).status, 502);
    assert!(asked.elapsed() < Duration::from_secs(2));
    assert_eq!(get(gate.address, "/challenged", &[]).status, 403);
    rough(TcpListener::bind(address).unwrap());
    let back = Instant::now();
    wait_for("the site is there again", || {
        get(gate.address, "/x", &[]).status == 200
    });
    assert!(back.elapsed() < Duration::from_secs(1));
    let failures = gate.metric("cattlegrid_upstream_failures_total{kind=\"unreachable\"}");
    assert!(failures.is_some_and(|failures| failures >= 1.0));
}

#[test]
fn h081_challenges_are_answered_while_the_site_hangs() {
    let site = rough(TcpListener::bind("127.0.0.1:0").unwrap());
    let gate = gate_before(site, "");
    let address = gate.address;
    let hanging: Vec<_> = (0..50)
        .map(|_| thread::spawn(move || get(address, "/hang", &[]).status))
        .collect();
    let mut challenged = 0;
    while !hanging.iter().all(thread::JoinHandle::is_finished) {
        let asked = Instant::now();
        assert_eq!(get(gate.address, "/challenged", &[]).status, 403);
        assert!(asked.elapsed() < Duration::from_millis(500));
        challenged += 1;
    }
    assert!(challenged > 10);
    assert!(
        hanging
            .into_iter()
            .all(|status| status.join().unwrap() == 504)
    );
}

#[test]
fn a_kept_connection_that_has_ended_is_tried_again_where_that_is_safe() {
    let site = rough(TcpListener::bind("127.0.0.1:0").unwrap());
    let gate = gate_before(site, "workers = 1\n");
    for _ in 0..20 {
        assert_eq!(get(gate.address, "/first", &[]).status, 200);
        // A connection whose answer is only milliseconds old is taken for a good one.
        thread::sleep(Duration::from_millis(10));
        assert_eq!(get(gate.address, "/stale", &[]).status, 200);
    }
    assert_eq!(get(gate.address, "/first", &[]).status, 200);
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let post = request("POST", "/stale", &[("Content-Length", "0")]);
    client.send(&post).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 502);
    let body = request("POST", "/first", &[("Content-Length", "0")]);
    client.send(&body).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 200);
}

/// Makes the gate err 200 times. An error where one of them is anything but a challenge, or another request suffers.
fn h078_is_withstood(gate: &Gate) -> Result<(), String> {
    for number in 0..200 {
        let mut client =
            Client::connect("127.0.0.1", gate.address).map_err(|error| error.to_string())?;
        let answer = client
            .get("/panics", &[("x-test-panic", "1")])
            .map_err(|error| format!("{number}: {error}"))?;
        if answer.status != 403 || !answer.text().contains("challenge") {
            return Err(format!("{number}: {} {}", answer.status, answer.text()));
        }
        let next = client
            .get("/next", &[])
            .map_err(|error| error.to_string())?;
        if next.status != 200 {
            return Err(format!("{number}: {}", next.status));
        }
    }
    Ok(())
}

#[test]
fn h078_an_error_of_the_gate_is_a_challenge_for_that_request() {
    let site = rough(TcpListener::bind("127.0.0.1:0").unwrap());
    let mut gate = gate_before(site, "");
    let before = gate.files();
    let victim = Victim::start(gate.address);
    let pid = gate.pid();
    assert_eq!(h078_is_withstood(&gate), Ok(()));
    victim.check();
    assert!(gate.ended().is_none() && gate.pid() == pid);
    assert_eq!(gate.metric("cattlegrid_panics_total"), Some(200.0));
    wait_for("files are closed", || gate.files() <= before + 16);
    let log = gate.log();
    assert!(
        !log.iter()
            .any(|line| line["target"] == "/panics" && line["status"] == 200)
    );
    let open = gate_before(site, "without = [\"panic\"]");
    assert!(h078_is_withstood(&open).is_err());
}

const PROBES: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"onload=\"alert(1)",
    "</title><h1>x",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "'><img/src=x>",
];

/// An error where a page of ours shows what was sent as it was sent, or lets a browser guess what it is.
fn h080_is_safe(answer: &Answer, probe: &str) -> Result<(), String> {
    if answer.body.is_empty() {
        return Ok(());
    }
    if answer.text().contains(probe) {
        return Err(format!("{} shows {probe}", answer.status));
    }
    if answer.header("x-content-type-options").as_deref() != Some("nosniff") {
        return Err("no nosniff".to_owned());
    }
    let kind = answer.header("content-type").unwrap_or_default();
    let policy = answer.header("content-security-policy").unwrap_or_default();
    if kind.starts_with("text/html") {
        if !policy.contains("default-src 'none'") || policy.contains("unsafe-inline") {
            return Err(format!("the policy is '{policy}'"));
        }
        if !kind.contains("charset=utf-8") {
            return Err("no character set".to_owned());
        }
    }
    Ok(())
}

#[test]
fn h080_nothing_that_was_sent_is_shown_as_it_was_sent() {
    let port = free_port();
    let gate = gate_before(format!("127.0.0.1:{port}").parse().unwrap(), "");
    for probe in PROBES {
        for path in ["/blocked", "/challenged", "/nobody-there"] {
            let target = format!("{path}?{}", probe.replace(' ', "+"));
            let plain = [("User-Agent", probe), ("Referer", probe)];
            for headers in [&plain[..], &[("Host", probe)], &[("X-Request-Id", probe)]] {
                let answer = get(gate.address, &target, headers);
                assert!(answer.status >= 400, "{}", answer.status);
                assert_eq!(h080_is_safe(&answer, probe), Ok(()), "{target}");
            }
        }
    }
    // A site that shows what it was asked for fails by the same measure.
    let origin = Origin::start();
    let answer = try_get(naive(origin.address), &format!("/?{}", PROBES[0]), &[]).unwrap();
    assert!(h080_is_safe(&answer, PROBES[0]).is_err());
}

/// A site that sends more than its answer: behind one to `/bare` when the next request is there, behind one to `/whole` as soon as it
/// has answered.
fn sending_late(is_sent: Arc<AtomicBool>, bare: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let poison = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let is_sent = Arc::clone(&is_sent);
            thread::spawn(move || -> io::Result<()> {
                // What is written arrives at once, and not when the gate has said something.
                stream.set_nodelay(true)?;
                loop {
                    let target = read_target(&mut stream)?;
                    match target.as_str() {
                        "/bare" => {
                            stream.write_all(bare.as_bytes())?;
                            stream.peek(&mut [0])?;
                            stream.write_all(poison)?;
                        }
                        "/whole" => {
                            stream.write_all(&page(&target))?;
                            stream.write_all(poison)?;
                            is_sent.store(true, Ordering::Relaxed);
                        }
                        _ => stream.write_all(&page(&target))?,
                    }
                }
            });
        }
    });
    address
}

/// H207. What a site sends behind an answer to HEAD, a 304 or a whole body is nobody's answer.
#[test]
fn h207_what_a_site_sends_late_reaches_nobody() {
    for (method, bare) in [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n"),
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        ("HEAD", "HTTP/1.1 200 OK\r\n\r\n"),
        (
            "GET",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 44\r\n\r\n",
        ),
    ] {
        let is_sent = Arc::new(AtomicBool::new(false));
        let gate = gate_before(sending_late(Arc::clone(&is_sent), bare), "workers = 1\n");
        let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
        client.send(&request(method, "/bare", &[])).unwrap();
        let answer = client.answer(method == "HEAD").unwrap();
        assert!([200, 304].contains(&answer.status), "{}", answer.head);
        for number in 0..3 {
            let target = format!("/next{number}");
            assert_eq!(
                get(gate.address, &target, &[]).text(),
                target,
                "{method} {bare}"
            );
        }
        assert_eq!(get(gate.address, "/whole", &[]).text(), "/whole");
        wait_for("the site has sent more", || is_sent.load(Ordering::Relaxed));
        assert_eq!(get(gate.address, "/clean", &[]).text(), "/clean");
    }
}
