//! Fleets through the running gate: one program behind 200 addresses in 200 networks, each below `k1`, beside people with the same user
//! agent. What the fleet gets, what people notice, and how real clients are told apart by their handshakes.

use std::process::Command;

use crate::clearance::certificate;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::each;
use crate::harness::page;
use crate::harness::say;
use crate::harness::wait_for;
use crate::skip;
use crate::solve::Browser;
use crate::solve::Puzzle;

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
const FIREFOX: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";
/// Pages of each address of a fleet.
const PAGES: usize = 15;
const ADDRESSES: usize = 200;

/// A fleet's header fields, after `Host`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    /// As Python's requests sends them, under the agent of a browser.
    Requests,
    /// As Chrome sends them.
    Chrome,
}

impl Fields {
    fn text(self) -> String {
        match self {
            Fields::Requests => format!(
                "User-Agent: {CHROME}\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\n"
            ),
            Fields::Chrome => format!(
                "User-Agent: {CHROME}\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
                 Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n"
            ),
        }
    }
}

/// A site whose pages have a style sheet, and an interface for programs.
fn site() -> Origin {
    Origin::answering(Box::new(|got: &Got| {
        let kind = match got.target() {
            target if target.ends_with(".css") => "text/css",
            target if target.starts_with("/api/") => "application/json",
            target => return Some(page(&format!("you asked for {target}"))),
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 2\r\n\r\n");
        Some([head.as_bytes(), b"{}"].concat())
    }))
}

fn gate(origin: &Origin, policy: &str) -> Gate {
    let wanted = Wanted {
        parts: format!("[gate.challenge]\nbits = 4\n[policy]\nclearance_burst = 1000\n{policy}\n"),
        ..Wanted::default()
    };
    Gate::with(origin, wanted)
}

fn sources(net: usize, count: usize) -> Vec<String> {
    let source = |number: usize| format!("127.{net}.{number}.1");
    (0..count).map(source).collect()
}

/// A browser with the header fields of Chrome or Firefox, in their order.
fn browser(gate: &Gate, source: &str, agent: &str) -> Browser {
    let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let encoding = ("Accept-Encoding", "gzip, deflate, br, zstd");
    let language = ("Accept-Language", "en-US,en;q=0.9");
    let fields = match agent == CHROME {
        true => [encoding, language],
        false => [language, encoding],
    };
    let browser = Browser::new(source, gate.address)
        .with("User-Agent", agent)
        .with("Accept", accept);
    let [one, two] = fields;
    browser.with(one.0, one.1).with(two.0, two.1)
}

/// A person reads some pages, with their parts, and solves what comes. Gives the challenges that took.
fn read(browser: &mut Browser, pages: usize) -> usize {
    for page in 0..pages {
        let path = format!("/story/{page}");
        assert_eq!(browser.open(&path).status, 200, "{}", browser.source);
        let part = browser.part(&format!("/style{page}.css"));
        assert_eq!(part.status, 200);
    }
    browser.solved
}

/// Challenges of people with this agent, each in a network of their own.
fn people(gate: &Gate, net: usize, (count, pages): (usize, usize), agent: &str) -> Vec<usize> {
    each(&sources(net, count), |source| {
        read(&mut browser(gate, source, agent), pages)
    })
}

/// Pages that a fleet gets, which solves nothing.
fn crawl(gate: &Gate, net: usize, fields: Fields) -> usize {
    let text = fields.text();
    let of_source = |source: &String| {
        let mut client = Client::connect(source, gate.address).unwrap();
        let passed = (0..PAGES).filter(|page| {
            let head = format!(
                "GET /page/{source}/{page} HTTP/1.1\r\nHost: www.example.org\r\n{text}\r\n"
            );
            client.send(head.as_bytes()).unwrap();
            client.answer(false).unwrap().status == 200
        });
        passed.count()
    };
    each(&sources(net, ADDRESSES), of_source).iter().sum()
}

/// Pages of a fleet, and challenges of people before and after it, with this limit of groups.
fn leaked(fields: Fields, policy: &str) -> (usize, Vec<usize>) {
    let origin = site();
    let gate = gate(&origin, policy);
    let mut challenges = people(&gate, 10, (60, 3), FIREFOX);
    challenges.extend(people(&gate, 11, (60, 3), CHROME));
    let pages = crawl(&gate, 20, fields);
    challenges.extend(people(&gate, 12, (200, 5), CHROME));
    (pages, challenges)
}

fn check_fleet(name: &str, fields: Fields, most: usize) {
    let (without, _) = leaked(fields, "group_pages = 0");
    let (with, challenges) = leaked(fields, "");
    let challenged = challenges.iter().filter(|solved| **solved > 0).count();
    say(&format!(
        "{name}: {ADDRESSES} addresses got {without} pages without group counters, {with} with them; {challenged} of {} people \
         were challenged",
        challenges.len()
    ));
    assert_eq!(without, ADDRESSES * PAGES);
    assert!(with <= most, "{with}");
    assert!(
        challenges.iter().all(|solved| *solved <= 1),
        "{challenges:?}"
    );
    assert_eq!(challenged, 0);
}

#[test]
fn a_program_under_the_agent_of_a_browser_is_contained_as_a_group() {
    check_fleet("requests as Chrome", Fields::Requests, 230);
}

#[test]
fn a_program_with_all_fields_of_a_browser_is_contained_where_it_loads_no_parts() {
    check_fleet("all fields of Chrome, no parts", Fields::Chrome, 700);
}

#[test]
fn h073_people_who_share_everything_with_a_fleet_solve_one_challenge_a_day() {
    let origin = site();
    let gate = gate(&origin, "group_pages = 20");
    people(&gate, 10, (60, 3), FIREFOX);
    // More addresses than all users of this browser: from now on nothing tells a user from the fleet before the first page.
    crawl(&gate, 20, Fields::Chrome);
    crawl(&gate, 21, Fields::Chrome);
    let people = each(&sources(12, 40), |source| {
        let mut person = browser(&gate, source, CHROME);
        let first = person.get("/story/0");
        let bits = Puzzle::of(&first.text()).map(|puzzle| puzzle.bits);
        (bits, read(&mut person, 60))
    });
    let challenged = people.iter().filter(|(_, solved)| *solved > 0).count();
    say(&format!(
        "{challenged} of 40 people in the group of a fleet were challenged, once each"
    ));
    assert!(challenged > 0, "else there is nothing to see");
    assert!(people.iter().all(|(_, solved)| *solved <= 1), "{people:?}");
    // The work is that of a first challenge, however much the fleet has asked for.
    assert!(
        people
            .iter()
            .all(|(bits, _)| bits.is_none_or(|bits| bits == 4)),
        "{people:?}"
    );
}

#[test]
fn a_carriers_network_and_programs_that_fetch_data_are_left_alone() {
    let origin = site();
    let gate = gate(&origin, "");
    people(&gate, 10, (60, 3), FIREFOX);
    crawl(&gate, 20, Fields::Requests);
    // 150 telephones behind one /24.
    let telephones: Vec<String> = (1..=150).map(|last| format!("127.30.0.{last}")).collect();
    let solved = each(&telephones, |source| {
        read(&mut browser(&gate, source, CHROME), 5)
    });
    assert_eq!(solved.iter().sum::<usize>(), 0);
    // An app: no pages, so no parts.
    let statuses = each(&sources(31, ADDRESSES), |source| {
        let mut client = Client::connect(source, gate.address).unwrap();
        let fields = [("User-Agent", "Reader/7 (Android 14)"), ("Accept", "*/*")];
        (0..8).all(|item| {
            let answer = client.get(&format!("/api/items/{item}"), &fields);
            answer.unwrap().status == 200
        })
    });
    assert!(statuses.into_iter().all(|passed| passed));
}

#[test]
fn the_log_names_the_group_and_shadow_mode_only_tells() {
    let origin = site();
    let gate = Gate::set(&origin, "mode = \"shadow\"", "");
    people(&gate, 10, (60, 3), FIREFOX);
    assert_eq!(crawl(&gate, 20, Fields::Requests), ADDRESSES * PAGES);
    let would = || {
        let lines = gate.log();
        lines
            .into_iter()
            .filter(|line| line["reason"] == "many_pages_of_group")
            .collect::<Vec<_>>()
    };
    wait_for("the lines are there", || would().len() > 2700);
    let line = &would()[0];
    assert_eq!(
        (
            &line["decision"],
            &line["would"],
            &line["cause"],
            &line["contradicts"]
        ),
        (
            &"pass".into(),
            &"challenge".into(),
            &"contradiction".into(),
            &"language".into()
        )
    );
    assert_eq!(line["group"].as_str().map(str::len), Some(8), "{line}");
    let reason = "cattlegrid_reasons_total{reason=\"many_pages_of_group\"}";
    assert!(gate.metric(reason).is_some_and(|count| count > 2700.0));
    assert!(gate.metric("cattlegrid_groups_over_limit").is_some());
}

/// The handshake in the line of a path.
fn handshake(gate: &Gate, path: &str) -> String {
    let find = || gate.log().into_iter().find(|line| line["target"] == path);
    wait_for("it is in the log", || find().is_some());
    find().unwrap()["handshake"]
        .as_str()
        .unwrap_or("")
        .to_owned()
}

/// Runs a client that loads a path over TLS; gives its handshake.
fn shaken(gate: &Gate, path: &str, client: &str) -> String {
    let url = format!("https://{}{path}", gate.address);
    let port = gate.address.port();
    let command = client
        .replace("URL", &url)
        .replace("PORT", &port.to_string());
    let command = command.replace("PATH", path);
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    handshake(gate, path)
}

#[test]
fn real_clients_differ_in_their_handshakes_and_each_is_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let origin = Origin::start();
    let gate = Gate::with(
        &origin,
        Wanted {
            listen: format!("certificate = \"{certificate}\"\nkey = \"{key}\"\n"),
            ..Wanted::default()
        },
    );
    let python = "python3 -c 'import ssl, urllib.request as r; r.urlopen(\"URL\", context=ssl._create_unverified_context()).read()'";
    let openssl = "printf 'GET PATH HTTP/1.1\\r\\nHost: a.example\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet -connect 127.0.0.1:PORT";
    let chromium = "timeout 60 chromium --headless --no-sandbox --disable-gpu --ignore-certificate-errors --user-data-dir=$(mktemp -d) --dump-dom URL";
    let clients = [
        ("curl, HTTP/1.1", "curl", "curl -sk --http1.1 URL"),
        ("curl, HTTP/2", "curl", "curl -sk --http2 URL"),
        ("python", "python3", python),
        ("openssl", "openssl", openssl),
        ("chromium", "chromium", chromium),
    ];
    let mut seen = Vec::new();
    for (number, (name, program, client)) in clients.iter().enumerate() {
        if !skip::has(program, 1) {
            continue;
        }
        let [one, two] = [0, 1].map(|time| shaken(&gate, &format!("/{number}/{time}"), client));
        say(&format!("{name}: {one}"));
        assert_eq!(one, two, "{name} twice");
        assert_eq!(one.len(), 16, "{name}");
        assert!(!seen.contains(&one), "{name} is told from the others");
        seen.push(one);
    }
}
