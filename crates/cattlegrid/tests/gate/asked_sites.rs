//! Signed-in people whom the site knows: it is asked about their sessions, while it is slow, fails, or is flooded with made-up ones.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::each;
use crate::harness::get_from;
use crate::harness::page;
use crate::harness::request;
use crate::harness::say;
use crate::harness::wait_for;
use crate::sign_in::NO_PACE;
use crate::sign_in::exhaust;
use crate::sign_in::get;
use crate::sign_in::is_challenge;
use crate::sign_in::keeps_secrets;
use crate::sign_in::lines;
use crate::skip;

/// A site that knows the sessions of alice and bob, and counts how often and by how many at once it is asked.
pub(crate) struct Asked {
    pub(crate) origin: Origin,
    most: Arc<AtomicUsize>,
}

impl Asked {
    /// Each question takes so long.
    pub(crate) fn start(takes: Duration) -> Asked {
        let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&most);
        let origin = Origin::answering(Box::new(move |got| {
            if got.target() != "/whoami" {
                return Some(page(got.target()));
            }
            seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(takes);
            now.fetch_sub(1, Ordering::SeqCst);
            let sent = got.values("cookie").join("; ");
            let mut known = ["alice", "bob"].into_iter();
            let user = known.find(|user| sent.starts_with(&format!("sid={user}")));
            let empty = "Content-Length: 0\r\n\r\n";
            Some(match (user, sent.as_str()) {
                (_, "sid=broken") => return None,
                (_, "sid=error") => format!("HTTP/1.1 500 Oops\r\n{empty}").into_bytes(),
                (Some(user), _) => {
                    format!("HTTP/1.1 204 No Content\r\nX-User: {user}\r\n\r\n").into_bytes()
                }
                (None, "sid=nameless") => format!("HTTP/1.1 200 OK\r\n{empty}").into_bytes(),
                (None, _) => {
                    format!("HTTP/1.1 302 Found\r\nLocation: /login\r\n{empty}").into_bytes()
                }
            })
        }));
        Asked { origin, most }
    }

    /// How often the site was asked who somebody is.
    pub(crate) fn count(&self) -> usize {
        let all = self.origin.got();
        all.iter().filter(|got| got.target() == "/whoami").count()
    }
}

/// Settings of a gate that asks.
pub(crate) const ASK: &str =
    "[gate.sign_in.ask]\npath = \"/whoami\"\ncookies = [\"sid\"]\nuser_header = \"X-User\"\n";

fn ask_gate(asked: &Asked, gate: &str, more: &str) -> Gate {
    Gate::set(&asked.origin, gate, &format!("{NO_PACE}{ASK}{more}\n"))
}

#[test]
fn the_site_is_asked_once_and_with_nothing_but_the_session() {
    let asked = Asked::start(Duration::ZERO);
    let gate = ask_gate(&asked, "", "");
    let mut client = Client::connect("127.0.98.1", gate.address).unwrap();
    let headers = [
        ("Cookie", "theme=dark; sid=alice; tracking=7"),
        ("Authorization", "Basic c2VjcmV0"),
        ("X-Forwarded-For", "192.0.2.66"),
    ];
    for number in 0..100 {
        let answer = client.get(&format!("/page/{number}"), &headers).unwrap();
        assert_eq!(answer.status, 200, "{number}");
    }
    assert_eq!(asked.count(), 1);
    let all = asked.origin.got();
    let question = all.iter().find(|got| got.target() == "/whoami").unwrap();
    let names: Vec<&str> = question
        .head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        [
            "host",
            "cookie",
            "x-forwarded-for",
            "x-real-ip",
            "x-forwarded-proto",
            "x-forwarded-host"
        ]
    );
    assert_eq!(question.values("cookie"), ["sid=alice"]);
    assert_eq!(question.values("x-forwarded-for"), ["127.0.98.1"]);
    let line = &lines(&gate, "/page/99", 1)[0];
    assert_eq!(line["reason"], "signed_in");
    // Another session of the same person is the same person, from anywhere; who has no cookie is never asked about.
    let answer = get(&gate, "127.0.98.2", "/second", "sid=alice2");
    assert_eq!(answer.status, 200);
    assert_eq!(lines(&gate, "/second", 1)[0]["user"], line["user"]);
    get(&gate, "127.0.98.3", "/none", "theme=dark");
    assert_eq!(asked.count(), 2);
    assert!(gate.metric("cattlegrid_sign_in_cached_total").unwrap() >= 99.0);
    keeps_secrets(&gate, &["alice", "sid="]);
}

#[test]
fn sessions_that_the_site_does_not_know_prove_nothing() {
    let asked = Asked::start(Duration::ZERO);
    let attack = |gate: &Gate| {
        exhaust(gate.address, "127.0.99.1");
        for session in ["made-up", "nameless", "broken", "error", "alic", ""] {
            let answer = get(gate, "127.0.99.1", "/x", &format!("sid={session}"));
            must(
                is_challenge(&answer),
                &format!("{session}: {}", answer.status),
            )?;
        }
        let long = format!("sid=alice{}", "x".repeat(8192));
        let answer = get(gate, "127.0.99.1", "/long", &long);
        must(is_challenge(&answer), "8 KiB")
    };
    let mut gate = ask_gate(&asked, "", "");
    withstands(&mut gate, attack);
    let open = ask_gate(&asked, "without = [\"sign_in\"]", "");
    assert!(attack(&open).is_err(), "the test would not notice");
}

#[test]
fn a_slow_site_keeps_nobody_waiting_for_long() {
    let asked = Asked::start(Duration::from_millis(1500));
    let gate = ask_gate(&asked, "", "wait = 0.3");
    let source = "127.0.100.1";
    exhaust(gate.address, source);
    let began = Instant::now();
    let answer = get(&gate, source, "/early", "sid=alice");
    let took = began.elapsed();
    assert!(is_challenge(&answer), "not known in time");
    assert!(
        (Duration::from_millis(250)..Duration::from_millis(1200)).contains(&took),
        "{took:?}"
    );
    // Who has no such cookie does not wait at all.
    let began = Instant::now();
    get(&gate, "127.0.100.2", "/plain", "");
    assert!(
        began.elapsed() < Duration::from_millis(250),
        "{:?}",
        began.elapsed()
    );
    // The answer counts when it is there, and was asked for once.
    wait_for("the answer is known", || {
        get(&gate, source, "/later", "sid=alice").status == 200
    });
    assert_eq!(asked.count(), 1);
}

/// Made-up cookies, thousands of them. Gives how often the site was asked.
fn flood(asked: &Asked, gate: &Gate) -> usize {
    let before = asked.count();
    let numbers: Vec<usize> = (0..1500).collect();
    each(&numbers, |number| {
        let cookie = format!("sid=made-up-{number}");
        get(gate, "127.0.101.66", &format!("/flood/{number}"), &cookie).status
    });
    asked.count() - before
}

#[test]
fn a_flood_of_made_up_sessions_does_not_reach_the_site_nor_sign_anybody_out() {
    let asked = Asked::start(Duration::from_millis(2));
    let mut gate = ask_gate(&asked, "", "");
    let alice = |gate: &Gate| get(gate, "127.0.101.1", "/alice", "sid=alice").status;
    exhaust(gate.address, "127.0.101.1");
    assert_eq!(alice(&gate), 200);
    let before = gate.before();
    let count = flood(&asked, &gate);
    say(&format!(
        "1,500 made-up sessions of one source: {count} questions to the site"
    ));
    // Thirty at once, then one every two seconds, and those that were under way.
    assert!(count <= 30 + 8 + 15, "{count}");
    assert!(asked.most.load(Ordering::SeqCst) <= 16);
    assert_eq!(alice(&gate), 200);
    // Somebody else signs in meanwhile.
    assert_eq!(get(&gate, "127.0.101.2", "/bob", "sid=bob").status, 200);
    assert_eq!(lines(&gate, "/bob", 1)[0]["reason"], "signed_in");
    gate.check_after(&before);
    let open = ask_gate(&asked, "without = [\"sign_in_asks\"]", "");
    assert!(flood(&asked, &open) > 100, "the test would not notice");
}

/// One session can be written in many ways, and the site takes each of them.
#[test]
fn one_account_cannot_fill_the_table_of_sessions() {
    let asked = Asked::start(Duration::ZERO);
    let gate = ask_gate(&asked, "", "");
    let source = "127.0.103.66";
    exhaust(gate.address, source);
    let numbers: Vec<usize> = (0..300).collect();
    let statuses = each(&numbers, |number| {
        let cookie = format!("sid=alice-{number}");
        get(&gate, source, &format!("/spelled/{number}"), &cookie).status
    });
    let taken = statuses.iter().filter(|status| **status == 200).count();
    say(&format!("300 spellings of one session: {taken} taken"));
    // Thirty at once, then one every two seconds.
    assert!((1..=30 + 10).contains(&taken), "{taken}");
    assert!(asked.count() <= 30 + 30 + 20, "{}", asked.count());
    assert_eq!(get(&gate, "127.0.103.2", "/bob", "sid=bob").status, 200);
    assert_eq!(lines(&gate, "/bob", 1)[0]["reason"], "signed_in");
}

#[test]
fn few_questions_are_under_way_at_once() {
    let asked = Asked::start(Duration::from_millis(400));
    let gate = ask_gate(&asked, "", "in_flight = 4");
    let sources: Vec<String> = (0..64)
        .map(|number| format!("127.0.102.{number}"))
        .collect();
    let began = Instant::now();
    let statuses = each(&sources, |source| {
        get(&gate, source, "/x", &format!("sid=made-up-{source}")).status
    });
    // They are unknown visitors and pass as such, most of them at once.
    assert!(statuses.iter().all(|status| *status == 200));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    let most = asked.most.load(Ordering::SeqCst);
    assert!((1..=2).contains(&most), "{most}");
    let limited = "cattlegrid_sign_in_asked_total{result=\"limited\"}";
    assert!(gate.metric(limited).unwrap() >= 1.0);
}

/// A web server that asks about each request gets the same decisions, where the site is asked, too.
#[test]
fn queries_of_a_web_server_wait_for_the_site() {
    let asked = Asked::start(Duration::from_millis(50));
    let wanted = Wanted {
        gate: "trusted_proxies = [\"127.0.0.1\"]".to_owned(),
        listen: "role = \"forward_auth\"".to_owned(),
        parts: format!("{NO_PACE}{ASK}"),
        ..Wanted::default()
    };
    let gate = Gate::with(&asked.origin, wanted);
    let query = |page: usize, cookie: &str| {
        let target = format!("/page/{page}");
        let headers = [
            ("X-Forwarded-For", "192.0.2.7"),
            ("X-Forwarded-Method", "GET"),
            ("X-Forwarded-Host", "www.example.org"),
            ("X-Forwarded-Uri", target.as_str()),
            ("Cookie", cookie),
        ];
        get_from("127.0.0.1", gate.address, "/auth", &headers)
    };
    for number in 0..20 {
        assert_eq!(query(number, "").status, 200);
    }
    assert!(is_challenge(&query(20, "sid=made-up")));
    for number in 30..60 {
        assert_eq!(query(number, "sid=alice").status, 200);
    }
    assert_eq!(asked.count(), 2);
    let all = asked.origin.got();
    assert_eq!(all[0].values("x-forwarded-for"), ["192.0.2.7"]);
    assert_eq!(all[0].values("host"), ["www.example.org"]);
}

/// The same over HTTP/2, and with a request body that waits along.
#[test]
fn streams_of_http2_wait_for_the_site() {
    if !skip::has("curl", 1) {
        return;
    }
    let asked = Asked::start(Duration::from_millis(100));
    let gate = ask_gate(&asked, "", "");
    exhaust(gate.address, "127.0.0.1");
    let curl = |cookie: &str, more: &[&str]| {
        let output = Command::new("curl")
            .args(["-s", "--http2-prior-knowledge", "-o", "/dev/null"])
            .args([
                "-w",
                "%{http_code}",
                "-H",
                "Accept: text/html",
                "-b",
                cookie,
            ])
            .args(more)
            .arg(format!("http://{}/over-http2", gate.address))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let body = "x".repeat(100_000);
    assert_eq!(curl("sid=made-up", &["-d", "a=b"]), "403");
    assert_eq!(curl("sid=alice", &["-d", &body]), "200");
    assert_eq!(curl("sid=bob", &[]), "200");
    let all = asked.origin.got();
    let posted = all.iter().find(|got| got.line().starts_with("POST "));
    assert_eq!(posted.unwrap().body.len(), body.len());
    assert_eq!(asked.count(), 3);
    // Over HTTP/1.1, too.
    let head = [("Cookie", "sid=alice7"), ("Content-Length", "100000")];
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    client.send(&request("POST", "/over-http1", &head)).unwrap();
    client.send(body.as_bytes()).unwrap();
    assert_eq!(client.answer(false).unwrap().status, 200);
    let all = asked.origin.got();
    let posted = all.iter().find(|got| got.target() == "/over-http1");
    assert_eq!(posted.unwrap().body.len(), body.len());
}
