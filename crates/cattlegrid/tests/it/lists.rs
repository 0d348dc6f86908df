//! Published networks: fetched, checked, kept, and what they prove.

use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Command;
use std::process::Output;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use crate::LINE;
use crate::real_logs::data;
use crate::stderr;
use crate::stdout;
use crate::write;

const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(arguments)
        .env("CATTLEGRID_LISTS", folder.path().join("lists"))
        .env("CATTLEGRID_DOCUMENTATION_NETWORKS", "allow")
        .output()
        .unwrap()
}

/// Kind and deciding rule of each source.
fn verdicts(folder: &TempDir, log: &str) -> Vec<(String, String, String)> {
    let output = run(
        folder,
        &["analyze", "--json", "-", "--min-requests", "1", log],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let mut verdicts: Vec<_> = json["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| {
            (
                text(&source["source"]),
                text(&source["kind"]),
                text(&source["decided_by"]),
            )
        })
        .collect();
    verdicts.sort();
    verdicts
}

#[test]
fn a_published_list_proves_and_disproves() {
    let folder = TempDir::new().unwrap();
    let today = jiff::Timestamp::now().strftime("%d/%b/%Y").to_string();
    let lines: String = ["192.0.2.7", "203.0.113.9"]
        .map(|source| {
            LINE.replace("192.0.2.1", source)
                .replace("01/Jan/2030", &today)
                .replace("Mozilla/5.0", GOOGLEBOT)
                + "\n"
        })
        .concat();
    let log = write(folder.path(), "access.log", lines.as_bytes());
    let open = ("declared_robot".to_owned(), "none".to_owned());
    for (_, kind, rule) in verdicts(&folder, &log) {
        assert_eq!((rule, kind), open.clone());
    }
    let list = write(
        folder.path(),
        "googlebot.json",
        br#"{"creationTime":"2030-01-01T00:00:00","prefixes":[{"ipv4Prefix":"192.0.2.0/27"},{"ipv6Prefix":"2001:db8:1::/64"}]}"#,
    );
    let output = run(&folder, &["lists", "update", &format!("google={list}")]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "google: 2 networks\n");
    let rule = "claimed_operator".to_owned();
    assert_eq!(
        verdicts(&folder, &log),
        [
            (
                "192.0.2.7".to_owned(),
                "legitimate".to_owned(),
                rule.clone()
            ),
            ("203.0.113.9".to_owned(), "masquerading".to_owned(), rule),
        ]
    );
    let shown = stdout(&run(&folder, &["lists", "show"]));
    assert!(
        shown.contains("Googlebot (search engine)") && shown.contains("ClaudeBot (AI training)"),
        "{shown}"
    );
}

#[test]
fn a_bad_list_leaves_the_one_before() {
    let folder = TempDir::new().unwrap();
    let many: String = (0..100)
        .map(|number| format!("198.51.100.{number}\n"))
        .collect();
    let good = write(folder.path(), "good.txt", many.as_bytes());
    assert!(
        run(&folder, &["lists", "update", &format!("openai={good}")])
            .status
            .success()
    );
    let kept = std::fs::read(folder.path().join("lists/openai.networks")).unwrap();
    for (name, bytes, message) in [
        ("all.txt", &b"0.0.0.0/0\n"[..], "larger than any operator's"),
        ("nothing.json", b"{}", "it holds no networks"),
        (
            "page.html",
            b"<html>sign in</html>",
            "is neither an address nor a network",
        ),
        (
            "short.txt",
            b"198.51.100.1\n",
            "the new list has 1 networks, the one before 100:",
        ),
    ] {
        let path = write(folder.path(), name, bytes);
        let output = run(&folder, &["lists", "update", &format!("openai={path}")]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        assert_eq!(
            std::fs::read(folder.path().join("lists/openai.networks")).unwrap(),
            kept
        );
    }
    let output = run(&folder, &["lists", "update", "nobody=x"]);
    assert!(stderr(&output).contains("there is no operator 'nobody'"));
    // A list that was damaged on the disk is refused by name, not ignored.
    std::fs::write(
        folder.path().join("lists/openai.networks"),
        b"# date 2030-01-01\n::/0\n",
    )
    .unwrap();
    let log = write(folder.path(), "access.log", LINE.as_bytes());
    let output = run(&folder, &["analyze", &log]);
    assert!(
        stderr(&output).contains("openai.networks is refused"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn lists_are_fetched_over_http() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).unwrap();
        assert!(request[..length].starts_with(b"GET /list.json HTTP/1.1\r\n"));
        let body = r#"{"prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}"#;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
    });
    let output = run(
        &folder,
        &[
            "lists",
            "update",
            &format!("google=http://{address}/list.json"),
        ],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    server.join().unwrap();
    let gone = run(
        &folder,
        &[
            "lists",
            "update",
            &format!("google=http://{address}/list.json"),
        ],
    );
    assert!(gone.status.code() == Some(2) && stderr(&gone).contains("google stays as it was"));
}

#[test]
fn real_ranges_of_several_years_are_read() {
    let Some(data) = data(1) else { return };
    let folder = TempDir::new().unwrap();
    let ranges = data.join("lists/ip/ipranges_2026-08-16");
    let from: Vec<String> = [
        ("google", "googlebot"),
        ("microsoft", "bing"),
        ("openai", "openai"),
        ("perplexity", "perplexity"),
    ]
    .iter()
    .map(|(key, name)| {
        format!(
            "{key}={}",
            ranges.join(format!("{name}_ipv4_merged.txt")).display()
        )
    })
    .collect();
    let arguments: Vec<&str> = ["lists", "update"]
        .into_iter()
        .chain(from.iter().map(String::as_str))
        .collect();
    let output = run(&folder, &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("google: 41 networks"),
        "{}",
        stdout(&output)
    );
}

fn lines(networks: impl Iterator<Item = String>) -> Vec<u8> {
    networks.collect::<Vec<String>>().join("\n").into_bytes()
}

/// H203. A list that no operator publishes is refused, and the one before stays: it would let fake robots through.
#[test]
fn h203_lists_that_no_operator_publishes_are_refused() {
    let folder = TempDir::new().unwrap();
    let good = lines((0..40).map(|number| format!("198.51.100.{}/30", number * 4)));
    let good = write(folder.path(), "good.txt", &good);
    let update = |list: &str, more: &[&str]| {
        let from = format!("google={list}");
        run(&folder, &[&["lists", "update", &from], more].concat())
    };
    assert!(update(&good, &[]).status.success());
    let path = folder.path().join("lists/google.networks");
    let kept = std::fs::read(&path).unwrap();
    let eights = lines((1..224).map(|net| format!("{net}.0.0.0/8")));
    let grown = lines((0..308).map(|number| format!("192.0.2.{}/32", number % 256)));
    let many = lines((0..160).map(|number| format!("203.0.113.{number}/32")));
    let large = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"].map(str::to_owned);
    let small = (0..37).map(|number| format!("198.51.100.{}/30", number * 4));
    let wide = lines(small.chain(large));
    let lost = lines((0..12).map(|number| format!("198.51.100.{}/30", number * 4)));
    for (what, bytes, message) in [
        ("223 networks of /8", eights, "larger than any operator's"),
        (
            "a network of /11",
            b"44.32.0.0/11".to_vec(),
            "larger than any operator's",
        ),
        (
            "a network of /27",
            b"2600::/27".to_vec(),
            "larger than any operator's",
        ),
        ("six times as many", grown, "at most 3 times"),
        ("four times as many", many, "at most 3 times"),
        ("larger networks", wide, "at most 3 times"),
        ("a loss of 70 %", lost, "at least half"),
        ("loopback", b"127.0.0.0/24".to_vec(), "loopback"),
        ("private", b"10.0.0.0/16".to_vec(), "private use"),
        ("link-local", b"fe80::/64".to_vec(), "link-local"),
        ("multicast", b"224.0.1.0/24".to_vec(), "multicast"),
        (
            "providers",
            b"100.64.0.0/16".to_vec(),
            "shared address space",
        ),
        ("6to4", b"2002:c000:204::/48".to_vec(), "6to4"),
    ] {
        let list = write(folder.path(), "list.txt", &bytes);
        let output = update(&list, &[]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        assert!(said.contains("google stays as it was"), "{what}: {said}");
        assert!(said.contains(message), "{what}: {said}");
        assert_eq!(std::fs::read(&path).unwrap(), kept, "{what}");
    }
    let lost = lines((0..12).map(|number| format!("198.51.100.{}/30", number * 4)));
    let lost = write(folder.path(), "lost.txt", &lost);
    // The honest cases: a large step that the owner means, and small ones.
    assert!(update(&lost, &["--force"]).status.success());
    for many in [30, 60, 40] {
        let list = lines((0..many).map(|number| format!("198.51.100.{}/30", number * 4)));
        let list = write(folder.path(), "list.txt", &list);
        let output = update(&list, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    // Without the switch of the tests documentation networks are refused, also in a list that is there already.
    let log = write(folder.path(), "access.log", LINE.as_bytes());
    let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["analyze", &log])
        .env("CATTLEGRID_LISTS", folder.path().join("lists"))
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(said.contains("google.networks is refused"), "{said}");
    assert!(said.contains("documentation"), "{said}");
}

/// What a server says in answer to one request for a list.
enum Answer {
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// Networks without end.
    Endless,
}

impl Answer {
    /// A body with a status, behind a head that promises so many bytes more than there are.
    fn new(status: &str, body: &str, missing: usize) -> Answer {
        let length = body.len() + missing;
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
        Answer::Bytes((head + body).into_bytes())
    }

    fn good(body: &str) -> Answer {
        Answer::new("200 OK", body, 0)
    }

    /// Gives how many bytes the client took.
    fn send(&self, mut stream: TcpStream) -> usize {
        let _ = stream.read(&mut [0; 4096]).unwrap();
        match self {
            Answer::Bytes(bytes) => {
                stream.write_all(bytes).unwrap();
                bytes.len()
            }
            Answer::Endless => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                let block = b"198.51.100.1\n".repeat(5000);
                let mut sent = 0;
                while stream.write_all(&block).is_ok() {
                    sent += block.len();
                }
                sent
            }
        }
    }
}

/// A server that gives one answer to each connection and says at the end how much of each was taken.
fn serve(answers: Vec<Answer>) -> (SocketAddr, JoinHandle<Vec<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let send = move |answer: &Answer| answer.send(listener.accept().unwrap().0);
    let server = std::thread::spawn(move || answers.iter().map(send).collect());
    (address, server)
}

/// A list as Google publishes it, with so many networks.
fn dated(created: &str, networks: usize) -> String {
    let prefixes: Vec<String> = (0..networks)
        .map(|number| format!("{{\"ipv4Prefix\":\"198.51.100.{}/30\"}}", number * 4))
        .collect();
    let prefixes = prefixes.join(",");
    format!("{{\"creationTime\":\"{created}\",\"prefixes\":[{prefixes}]}}")
}

/// H066. Whatever comes in place of a list, the one before stays as it was and the reason is told.
#[test]
fn h066_what_is_no_newer_list_leaves_the_one_before() {
    let folder = TempDir::new().unwrap();
    let first = dated("2024-01-02T00:00:00.000000", 40);
    let whole = dated("2024-01-03T00:00:00.000000", 40);
    let page = "<!doctype html>\n<title>\x1b[2JSign in</title>\n";
    let line = "x".repeat(100_000);
    let old = "an older list does not replace a newer one; try again later, or add --force";
    let bad = [
        (Answer::good(page), "line 1: '<!doctype html>' is neither"),
        (Answer::good("\x1b[2J"), "line 1: '\\x1b[2J' is neither"),
        (Answer::good(&line), "xxx…' is neither"),
        (Answer::good(""), "it holds no networks"),
        (Answer::new("200 OK", &whole, 9), "disconnected"),
        (
            Answer::good(&whole[..whole.len() / 2]),
            "it is not valid JSON: EOF",
        ),
        (Answer::new("504 Gateway Timeout", &whole, 0), "504"),
        (Answer::Endless, "it is larger than 16 MiB"),
        (Answer::good(&dated("2024-01-01T23:59:59.9", 40)), old),
        // Later by its text, earlier by an hour.
        (Answer::good(&dated("2024-01-02T01:00:00+02:00", 40)), old),
        (Answer::good("# date 2024-01-01\n198.51.100.1\n"), old),
        (Answer::good(&dated("2024-01-03", 19)), "at least half"),
    ];
    let (bad, messages): (Vec<Answer>, Vec<&str>) = bad.into_iter().unzip();
    let mut answers = vec![Answer::good(&first)];
    answers.extend(bad);
    // A byte order mark is no part of a list.
    answers.push(Answer::good(&format!("\u{feff}{whole}")));
    let (address, server) = serve(answers);
    let update = || {
        run(
            &folder,
            &["lists", "update", &format!("google=http://{address}/")],
        )
    };
    let output = update();
    assert!(output.status.success(), "{}", stderr(&output));
    let path = folder.path().join("lists/google.networks");
    let kept = std::fs::read(&path).unwrap();
    let begun = Instant::now();
    for message in messages {
        let output = update();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}: {said}");
        let named = format!("google stays as it was: http://{address}/: ");
        assert!(
            message == "at least half" || said.contains(&named),
            "{said}"
        );
        assert!(
            said.contains(message) && said.len() < 500,
            "{message}: {said}"
        );
        assert!(!said.contains('\x1b'), "{said}");
        assert_eq!(std::fs::read(&path).unwrap(), kept, "{message}");
    }
    // The program gives up on a server after 30 s; none of these answers takes that long.
    assert!(begun.elapsed() < Duration::from_secs(60));
    let output = update();
    assert!(output.status.success(), "{}", stderr(&output));
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(now.starts_with("# date 2024-01-03\n"), "{now}");
    assert_eq!(
        now.lines().filter(|line| !line.starts_with('#')).count(),
        40
    );
    // Beside what the program takes, two sockets hold some of an endless answer.
    let most = server.join().unwrap().into_iter().max().unwrap();
    assert!((16 << 20..48 << 20).contains(&most), "{most}");
}

/// H066. Steps back that are none: the same list again, one that does not say when it was made, a time to come, and what the owner means.
#[test]
fn h066_only_a_list_that_is_known_to_be_older_is_refused() {
    let folder = TempDir::new().unwrap();
    let update = |name: &str, text: &str, more: &[&str]| {
        let from = format!("google={}", write(folder.path(), name, text.as_bytes()));
        let output = run(&folder, &[&["lists", "update", &from], more].concat());
        (output.status.code(), stderr(&output))
    };
    let accepted = (Some(0), String::new());
    let first = dated("2024-01-02T00:00:00", 40);
    assert_eq!(update("a.json", &first, &[]), accepted);
    assert_eq!(update("a.json", &first, &[]), accepted);
    // Another name does not make a list newer.
    let old = dated("2024-01-01T00:00:00Z", 40);
    let (code, said) = update("b.json", &old, &[]);
    assert_eq!(code, Some(2));
    let times = "created at 2024-01-01T00:00:00Z, the stored one at 2024-01-02T00:00:00Z";
    assert!(said.contains(times), "{said}");
    assert_eq!(update("b.json", &old, &["--force"]), accepted);
    // Exactly half is not less than half.
    assert_eq!(update("b.json", &dated("2024-01-03", 20), &[]), accepted);
    let (code, said) = update("b.json", &dated("2024-01-04", 9), &[]);
    assert!(code == Some(2) && said.contains("at least half"), "{said}");
    // A time to come would make all later lists look old.
    let to_come = dated("9000-01-01T00:00:00", 20);
    assert_eq!(update("b.json", &to_come, &[]), accepted);
    assert_eq!(update("b.json", &dated("2024-01-03", 20), &[]), accepted);
    let undated: String = (0..20)
        .map(|number| format!("198.51.100.{}/30\n", number * 4))
        .collect();
    assert_eq!(update("c.txt", &undated, &[]), accepted);
    assert_eq!(update("b.json", &dated("2024-01-01", 20), &[]), accepted);
}

/// H203. A list that holds the gate's own address is refused when the gate starts.
#[test]
fn h203_a_list_with_the_gates_own_address_is_refused() {
    let folder = TempDir::new().unwrap();
    let lists = folder.path().join("cattlegrid/lists");
    std::fs::create_dir_all(&lists).unwrap();
    let started = |list: &str| {
        let list = format!("# date 2030-01-01\n{list}\n");
        std::fs::write(lists.join("google.networks"), list).unwrap();
        let state = folder.path().join("state");
        let settings = format!(
            "[gate]\nstate = \"{}\"\n[[gate.listen]]\naddress = \"192.0.2.10:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:9\"\n",
            state.display()
        );
        let settings = write(folder.path(), "gate.toml", settings.as_bytes());
        let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
            .args(["gate", "--config", &settings])
            .env("XDG_DATA_HOME", folder.path())
            .env("CATTLEGRID_DOCUMENTATION_NETWORKS", "allow")
            .output()
            .unwrap();
        stderr(&output)
    };
    let said = started("192.0.2.0/28");
    let expected = "holds 192.0.2.10, on which this gate listens";
    assert!(said.contains(expected), "{said}");
    // The honest case goes on to the socket, which this machine does not have.
    let said = started("192.0.2.16/28");
    assert!(
        said.contains("192.0.2.10:8080") && !said.contains(expected),
        "{said}"
    );
}
