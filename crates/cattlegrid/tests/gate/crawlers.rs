//! Robots that name themselves: those from published networks pass, owners say what each gets, and programs that are no browsers keep
//! working without a free pass. Public addresses come through a trusted proxy's header. Robots that name servers prove are in
//! [`crate::impostors`].

use std::process::Command;
use std::time::Instant;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::harness::wait_for;
use crate::skip::has;
use crate::solve::Browser;
use crate::solve::Puzzle;

pub(crate) const GOOGLEBOT: &str =
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/// A gate behind a proxy, with these lines in `[gate.crawlers]`.
pub(crate) fn gate(origin: &Origin, crawlers: &str) -> Gate {
    Gate::with(
        origin,
        Wanted {
            gate: "trusted_proxies = [\"127.0.0.1\"]".to_owned(),
            parts: format!("[gate.crawlers]\n{crawlers}\n"),
            // Lists that this machine has fetched are not the test's.
            environment: vec![("XDG_DATA_HOME", "/nonexistent".to_owned())],
            ..Wanted::default()
        },
    )
}

/// A client with an address and an agent.
pub(crate) fn client(gate: &Gate, address: &str, agent: &str) -> Browser {
    let mut client = Browser::new("127.0.0.1", gate.address)
        .with("X-Forwarded-For", address)
        .with("User-Agent", agent);
    client.keeps_cookies = false;
    client
}

/// Pages of so many that pass.
pub(crate) fn passed(client: &mut Browser, pages: std::ops::Range<usize>) -> usize {
    pages
        .filter(|page| client.get(&format!("/page/{page}")).status == 200)
        .count()
}

/// The reason in the log of the last request for a path.
pub(crate) fn reason(gate: &Gate, path: &str) -> String {
    let of_path = |line: &serde_json::Value| line["target"] == path;
    wait_for("the request is in the log", || {
        gate.log().iter().any(of_path)
    });
    let log = gate.log();
    let line = log.iter().rev().find(|line| of_path(line)).unwrap();
    line["reason"].as_str().unwrap().to_owned()
}

#[test]
fn robots_from_published_networks_pass_ten_thousand_pages() {
    let origin = Origin::start();
    let gate = gate(&origin, "resolver = \"off\"");
    let started = Instant::now();
    let mut google = client(&gate, "66.249.66.1", GOOGLEBOT);
    assert_eq!(passed(&mut google, 0..10_000), 10_000);
    say(&format!(
        "10,000 pages of Googlebot in {:?}",
        started.elapsed()
    ));
    assert_eq!(reason(&gate, "/page/9999"), "proven");
    let mut over_ipv6 = client(&gate, "2001:4860:4801:10::1", GOOGLEBOT);
    assert_eq!(passed(&mut over_ipv6, 10_000..10_100), 100);
    // The same address under another name is anybody.
    let mut other = client(&gate, "66.249.66.2", "Mozilla/5.0 Firefox/140.0");
    assert_eq!(passed(&mut other, 0..100), 20);
    // Without a proxy that is trusted the header says nothing.
    let mut liar = client(&gate, "66.249.66.1", GOOGLEBOT);
    liar.source = "127.0.0.2".to_owned();
    assert_eq!(passed(&mut liar, 0..100), 20);
}

/// Runs this test again in a network of its own, where public addresses can be those of clients. Says so where the kernel refuses that.
fn in_a_network_apart(test: &str, addresses: &[&str]) {
    let apart = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--map-root-user", "sh", "-euc", script]);
        command
    };
    let mut script = "ip link set lo up\n".to_owned();
    for address in addresses {
        script.push_str(&format!("ip address add {address} dev lo\n"));
    }
    let try_it = apart(&script).output().unwrap();
    if !try_it.status.success() {
        let why = String::from_utf8_lossy(&try_it.stderr);
        say(&format!(
            "SKIPPED: 1 check, no network of its own here: {}",
            why.trim()
        ));
        return;
    }
    let status = apart(&format!("{script}exec \"$0\" --exact {test} --nocapture"))
        .arg(std::env::current_exe().unwrap())
        .env("CATTLEGRID_APART", "1")
        .status()
        .unwrap();
    assert!(status.success(), "{test} in a network of its own: {status}");
}

#[test]
fn public_addresses_of_robots_pass_ten_thousand_pages_without_a_proxy() {
    if std::env::var_os("CATTLEGRID_APART").is_none() {
        if has("unshare", 1) && has("ip", 1) {
            let test =
                "crawlers::public_addresses_of_robots_pass_ten_thousand_pages_without_a_proxy";
            in_a_network_apart(
                test,
                &["66.249.66.1/32", "66.249.79.1/32", "203.0.113.7/32"],
            );
        }
        return;
    }
    let origin = Origin::start();
    let gate = gate(&origin, "resolver = \"off\"");
    let direct = |address: &str| {
        let mut robot = Browser::new(address, gate.address).with("User-Agent", GOOGLEBOT);
        robot.keeps_cookies = false;
        robot
    };
    let pages = [
        passed(&mut direct("66.249.66.1"), 0..5_000),
        passed(&mut direct("66.249.79.1"), 5_000..10_000),
        passed(&mut direct("203.0.113.7"), 0..100),
    ];
    say(&format!(
        "pages of Googlebot from its published addresses, and of an impostor: {pages:?}"
    ));
    assert_eq!(pages, [5_000, 5_000, 20]);
}

#[test]
fn the_cap_of_a_robot_counts_all_its_addresses() {
    let origin = Origin::start();
    let gate = gate(&origin, "resolver = \"off\"\npages = 150");
    let taken: usize = (1..=10)
        .map(|number| {
            let mut robot = client(&gate, &format!("66.249.66.{number}"), GOOGLEBOT);
            passed(&mut robot, 0..30)
        })
        .sum();
    assert_eq!(taken, 150);
    let last = client(&gate, "66.249.66.99", GOOGLEBOT).get("/page/over");
    assert_eq!((last.status, last.values("retry-after").len()), (429, 1));
    assert_eq!(reason(&gate, "/page/over"), "proven_too_many");
}

#[test]
fn owners_say_what_each_purpose_gets() {
    let origin = Origin::start();
    let settings = "resolver = \"off\"\npreset = \"no_training\"\n[gate.crawlers.purposes]\nseo = \"challenge\"\n[gate.crawlers.robots]\nyandex = \"refuse\"\n";
    let gate = gate(&origin, settings);
    let status = |address: &str, agent: &str, path: &str| {
        let answer = client(&gate, address, agent).get(path);
        (answer.status, Puzzle::of(&answer.text()).is_some())
    };
    let training = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
    assert_eq!(status("192.0.2.1", training, "/training"), (403, false));
    assert_eq!(reason(&gate, "/training"), "declared");
    let seo = "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)";
    assert_eq!(status("192.0.2.2", seo, "/seo"), (403, true));
    let yandex = "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)";
    assert_eq!(status("77.88.5.1", yandex, "/yandex"), (403, false));
    let search = "Mozilla/5.0 (compatible; OAI-SearchBot/1.0)";
    assert_eq!(status("192.0.2.3", search, "/search"), (200, false));
    assert_eq!(status("66.249.66.1", GOOGLEBOT, "/google"), (200, false));
    // What is meant for robots they may always read.
    assert_eq!(status("192.0.2.1", training, "/robots.txt"), (200, false));
}

#[test]
fn names_that_no_robot_has_are_refused_and_tokens_of_robots_txt_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate.toml");
    let settings = "[[gate.listen]]\naddress = \"127.0.0.1:8080\"\n[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:8081\"\n[gate.crawlers.robots]\nGoogle-Extended = \"refuse\"\n";
    std::fs::write(&path, settings).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["check", "--config"])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{text}");
    assert!(
        text.contains("its pages are fetched by Googlebot, so only robots.txt can say it"),
        "{text}"
    );
}

/// What happens to programs that are no browsers; `docs/crawlers.md` has the same table.
#[test]
fn programs_that_are_no_browsers_keep_working_and_have_no_free_pass() {
    let origin = Origin::answering(Box::new(|got| {
        let kind = match got.target() {
            target if target.starts_with("/page") => "text/html",
            _ => "application/json",
        };
        Some(
            format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 2\r\n\r\n{{}}")
                .into_bytes(),
        )
    }));
    let gate = gate(&origin, "resolver = \"off\"");
    let mut number = 0;
    let mut served = |agent: &str, method: &str, target: &dyn Fn(usize) -> String, times: usize| {
        number += 1;
        let mut program = client(&gate, &format!("198.51.100.{number}"), agent);
        (0..times)
            .filter(|at| {
                program
                    .send(method, &target(*at), &[("Accept", "*/*")], "")
                    .status
                    == 200
            })
            .count()
    };
    let feed = |_: usize| "/feed.xml".to_owned();
    let blog = |_: usize| "/blog/?feed=rss2".to_owned();
    let home = |_: usize| "/page/home".to_owned();
    let pages = |at: usize| format!("/page/{at}");
    let packages = |at: usize| format!("/registry/package-{at}");
    let hook = |_: usize| "/hook".to_owned();
    let refs = |_: usize| "/repository.git/info/refs?service=git-upload-pack".to_owned();
    let actor = |at: usize| format!("/users/{at}");
    assert_eq!(served("Feedly/1.0", "GET", &feed, 1000), 1000);
    assert_eq!(served("Feedly/1.0", "GET", &blog, 1000), 1000);
    assert_eq!(served("UptimeRobot/2.0", "GET", &home, 1440), 1440);
    assert_eq!(
        served("Slackbot-LinkExpanding 1.0", "GET", &pages, 1000),
        20
    );
    assert_eq!(served("GitHub-Hookshot/1a2b3c", "POST", &hook, 1000), 1000);
    assert_eq!(served("git/2.43.0", "GET", &refs, 1000), 1000);
    assert_eq!(
        served("npm/10.2.4 node/v20.11.0", "GET", &packages, 400),
        400
    );
    assert_eq!(
        served(
            "Mastodon/4.3.0 (http.rb/5.2.0; +https://social.example/)",
            "GET",
            &actor,
            400
        ),
        400
    );
    // A crawler under any of these names gets what an unknown visitor gets.
    for agent in [
        "Feedly/1.0",
        "UptimeRobot/2.0",
        "GitHub-Hookshot/1a2b3c",
        "git/2.43.0",
        "npm/10.2.4",
    ] {
        let got = served(agent, "GET", &pages, 1000);
        say(&format!("{agent}: {got} of 1000 pages"));
        assert!(got <= 21, "{agent}: {got}");
    }
    // The same behind other methods, and with addresses of queries that differ.
    assert!(served("npm/10.2.4", "POST", &pages, 1000) <= 21);
    assert!(served("git/2.43.0", "GET", &|at| format!("/page/x?{at}"), 1000) <= 21);
}

/// Other programs of an operator, and people behind its proxies, get nothing by the name of its search engine; what it fetches for users has
/// a cap of its own.
#[test]
fn a_share_of_an_operators_networks_is_no_free_pass() {
    let origin = Origin::start();
    let gate = gate(&origin, "resolver = \"off\"\nfetched_pages = 50");
    let code = "Googlebot/2.1 AppEngine-Google; (+http://code.google.com/appengine; appid: s~x)";
    assert_eq!(passed(&mut client(&gate, "66.249.66.1", code), 0..100), 20);
    let mut users = client(
        &gate,
        "66.249.66.2",
        "Mozilla/5.0 (compatible; Google-Read-Aloud)",
    );
    assert_eq!(passed(&mut users, 0..100), 50);
    assert_eq!(
        passed(&mut client(&gate, "66.249.66.3", GOOGLEBOT), 0..100),
        100
    );
}

#[test]
fn robots_txt_is_the_sites_with_the_owners_wishes() {
    let manner = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(200));
    let shared = manner.clone();
    let origin = Origin::answering(Box::new(move |_| {
        let status = shared.load(std::sync::atomic::Ordering::Relaxed);
        let text = "User-agent: *\nDisallow: /admin/\n";
        let length = text.len();
        Some(format!("HTTP/1.1 {status} -\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{text}").into_bytes())
    }));
    let settings = "resolver = \"off\"\nrobots_txt = \"merged\"\npreset = \"no_training\"";
    let text = |gate: &Gate| {
        client(gate, "192.0.2.1", "ExampleBot/1.0")
            .get("/robots.txt")
            .text()
    };
    let merged = gate(&origin, settings);
    wait_for("it is merged", || text(&merged).contains("Google-Extended"));
    let said = text(&merged);
    assert!(
        said.starts_with("User-agent: *\nDisallow: /.cattlegrid/more/\nContent-Usage: / train-ai=n\nDisallow: /admin/\n"),
        "{said}"
    );
    assert!(
        said.contains("User-agent: GPTBot\n") && said.ends_with("Disallow: /\n"),
        "{said}"
    );
    // The site fails: the last good file stays.
    manner.store(503, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(text(&merged), said);
    drop(merged);
    // A gate that has never had one passes the failure on; a site without one gets one.
    let failing = gate(&origin, settings);
    wait_for("the site was asked", || {
        failing
            .stderr()
            .contains("cannot read the site's robots.txt")
    });
    assert_eq!(
        client(&failing, "192.0.2.1", "ExampleBot/1.0")
            .get("/robots.txt")
            .status,
        503
    );
    drop(failing);
    manner.store(404, std::sync::atomic::Ordering::Relaxed);
    let without = gate(&origin, settings);
    wait_for("there is one", || {
        text(&without).contains("Google-Extended")
    });
    assert!(!text(&without).contains("/admin/"));
}
