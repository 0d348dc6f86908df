//! Programs that are neither browsers nor crawlers, as Debian packages them, through the default policy; `docs/crawlers.md` has the table.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::say;
use crate::harness::wait_for;
use crate::skip::has;

const FEED: &str = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title><link>http://www.example.org/</link>\
    <description>News</description><item><title>One</title><link>http://www.example.org/one</link></item></channel></rss>";
const PREVIEW: &str = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)";
/// Files in the repository that is cloned, each an object of its own.
const FILES: usize = 100;

fn answer(kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A site with pages, a feed, an API, a place for webhooks and a repository that is served as files.
fn site(repository: &Path) -> Origin {
    let repository = repository.to_owned();
    Origin::answering(Box::new(move |got| {
        let path = got.target().split('?').next().unwrap_or("");
        Some(if let Some(file) = path.strip_prefix("/repository.git/") {
            match fs::read(repository.join(file)) {
                Ok(body) => answer("application/octet-stream", &body),
                Err(_) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
            }
        } else if path == "/feed.xml" {
            answer("application/rss+xml", FEED.as_bytes())
        } else if path.starts_with("/api/") || path == "/hook" {
            answer("application/json", b"{}")
        } else {
            page("a page")
        })
    }))
}

/// Runs a program that must succeed.
fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// A repository of many loose objects, ready to be served as files: a clone fetches each with a request.
fn make_repository(folder: &Path) {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(folder).args(arguments);
        run(command.env("HOME", folder));
    };
    git(&["init", "--quiet"]);
    for number in 0..FILES {
        fs::write(folder.join(format!("{number}.txt")), format!("{number}\n")).unwrap();
    }
    git(&["add", "."]);
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    git(&[&who[..], &["commit", "--quiet", "-m", "Begin"]].concat());
    git(&["update-server-info"]);
}

/// What one program met: requests in the gate's log, and how many of them passed.
fn row(name: &str, site: &Origin, work: impl Fn(&str)) -> (usize, usize) {
    let gate = Gate::with(
        site,
        Wanted {
            parts: "[gate.crawlers]\nresolver = \"off\"\n".to_owned(),
            // Lists that this machine has fetched are not the test's.
            environment: vec![("XDG_DATA_HOME", "/nonexistent".to_owned())],
            ..Wanted::default()
        },
    );
    work(&format!("http://{}", gate.address));
    wait_for("all requests are in the log", || {
        gate.metric("cattlegrid_duration_seconds_count") == Some(gate.log().len() as f64)
    });
    let log = gate.log();
    let passed = log.iter().filter(|line| line["decision"] == "pass").count();
    let mut others: Vec<String> = log
        .iter()
        .filter(|line| line["decision"] != "pass")
        .map(|line| format!("{} {}", line["status"], line["reason"]))
        .collect();
    others.dedup();
    say(&format!(
        "{name}: {} requests, {passed} passed {}",
        log.len(),
        others.join(", ")
    ));
    (log.len(), passed)
}

/// Asks with curl for addresses that it makes itself from a pattern.
fn curl(pattern: &str, arguments: &[&str]) {
    run(Command::new("curl")
        .args(["--silent", "--output", "/dev/null"])
        .args(arguments)
        .arg(pattern));
}

/// Sends the same event so many times.
fn post(address: &str, agent: &str, times: usize) {
    let addresses: Vec<&str> = (0..times).map(|_| address).collect();
    let outputs: Vec<&str> = addresses[1..]
        .iter()
        .flat_map(|_| ["--output", "/dev/null"])
        .collect();
    let event = ["--user-agent", agent, "--json", "{\"event\": 1}"];
    curl(address, &[&event[..], &outputs, &addresses[1..]].concat());
}

#[test]
fn feeds_clones_apis_webhooks_and_previews_work_by_default() {
    if !["git", "newsboat", "curl"].iter().all(|name| has(name, 5)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    make_repository(&source);
    let site = site(&source.join(".git"));

    let reader = row("RSS reader (newsboat), each hour", &site, |base| {
        let urls = folder.path().join("urls");
        fs::write(&urls, format!("{base}/feed.xml\n")).unwrap();
        for _ in 0..24 {
            run(Command::new("newsboat")
                .env("HOME", folder.path())
                .arg("-u")
                .arg(&urls)
                .arg("-c")
                .arg(folder.path().join("cache"))
                .args(["-x", "reload"]));
        }
    });
    assert_eq!(reader, (24, 24));

    let clone = row("git clone, three times", &site, |base| {
        for number in 0..3 {
            run(Command::new("git")
                .env("HOME", folder.path())
                .args(["clone", "--quiet"])
                .arg(format!("{base}/repository.git/"))
                .arg(folder.path().join(format!("clone-{number}"))));
        }
    });
    assert!(clone.0 >= 3 * FILES && clone.0 == clone.1, "{clone:?}");

    let api = row("curl, 400 JSON documents", &site, |base| {
        curl(&format!("{base}/api/[1-400]"), &[]);
    });
    assert_eq!(api, (400, 400));

    let hook = row(
        "webhook of a known service, 1,000 POST requests",
        &site,
        |base| {
            post(&format!("{base}/hook"), "GitHub-Hookshot/1a2b3c4", 1000);
        },
    );
    assert_eq!(hook, (1000, 1000));
    // What such a response is worth to a crawler is counted, for senders that nobody knows.
    let unknown = row(
        "webhook of an unknown sender, 600 POST requests",
        &site,
        |base| {
            post(&format!("{base}/hook"), "our-script/1.0", 600);
        },
    );
    assert!((500..=550).contains(&unknown.1), "{unknown:?}");

    let preview = row("link preview, 15 pages", &site, |base| {
        curl(&format!("{base}/page/[1-15]"), &["--user-agent", PREVIEW]);
    });
    assert_eq!(preview, (15, 15));
    // A crawler under that name has no free pass.
    let crawler = row("link preview, 300 pages", &site, |base| {
        curl(&format!("{base}/page/[1-300]"), &["--user-agent", PREVIEW]);
    });
    assert_eq!(crawler, (300, 20));
}
