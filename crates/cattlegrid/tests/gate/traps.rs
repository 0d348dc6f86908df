//! Links that only programs follow: who meets them, and who is left alone.

use std::net::SocketAddr;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use crate::browser::Chromium;
use crate::browser::site;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::VICTIM;
use crate::harness::Wanted;
use crate::harness::each;
use crate::harness::get_from;
use crate::harness::page;
use crate::harness::say;
use crate::harness::try_get_from;
use crate::harness::wait_for;
use crate::harness::watched;
use crate::skip::has;
use crate::solve::Puzzle;

pub(crate) const FOLDER: &str = "/.cattlegrid/more/";
const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

/// A gate that serves robots.txt, with these lines in `[gate]` and `[gate.traps]`. The second page of a source is challenged.
pub(crate) fn strict(gate: &str, traps: &str) -> Wanted {
    Wanted {
        gate: gate.to_owned(),
        parts: format!(
            "[gate.crawlers]\nresolver = \"off\"\nrobots_txt = \"merged\"\n[gate.traps]\n{traps}\n[gate.challenge]\nbits = 8\n[policy]\nk1 = 1\nnetwork_pages = 100000\n"
        ),
        // Lists that this machine has fetched are not the test's.
        environment: vec![("XDG_DATA_HOME", "/nonexistent".to_owned())],
        ..Wanted::default()
    }
}

/// Starts it, and waits until robots.txt forbids traps.
pub(crate) fn start(origin: &Origin, wanted: Wanted) -> Gate {
    let gate = Gate::with(origin, wanted);
    wait_for("robots.txt forbids traps", || {
        let text = get_from(VICTIM, gate.address, "/robots.txt", &[]).text();
        text.contains(&format!("Disallow: {FOLDER}\n"))
    });
    gate
}

/// The traps in a page.
pub(crate) fn links(text: &str) -> Vec<String> {
    let parts = text.split("href=\"").skip(1);
    let links = parts.map(|part| part.split('"').next().unwrap_or_default());
    let traps = links.filter(|link| link.starts_with(FOLDER));
    traps.map(str::to_owned).collect()
}

/// A trap that the gate shows to a source.
pub(crate) fn trap(source: &str, address: SocketAddr, headers: &[(&str, &str)]) -> String {
    let mut asked = (0..5).map(|number| {
        let path = format!("/asked{number}");
        links(&get_from(source, address, &path, headers).text()).pop()
    });
    asked.find_map(|link| link).expect("a page with a trap")
}

pub(crate) fn refused(gate: &Gate, reason: &str) -> f64 {
    let name = format!("cattlegrid_traps_refused_total{{reason=\"{reason}\"}}");
    gate.metric(&name).unwrap()
}

fn pages(gate: &Gate) -> f64 {
    gate.metric("cattlegrid_trap_pages_total").unwrap()
}

pub(crate) fn slots(gate: &Gate) -> f64 {
    gate.metric("cattlegrid_trap_slots").unwrap()
}

/// Follows traps as a program does that collects links, from this one on. Gives how many pages came.
fn follow(
    source: &str,
    address: SocketAddr,
    headers: &[(&str, &str)],
    first: &str,
    most: usize,
) -> usize {
    let (mut next, mut got) = (vec![first.to_owned()], 0);
    while got < most && !next.is_empty() {
        let answer = get_from(source, address, &next.remove(0), headers);
        got += usize::from(answer.status == 200);
        next.extend(links(&answer.text()));
    }
    got
}

/// The bits of the next challenge for a client.
fn bits(source: &str, gate: &Gate, headers: &[(&str, &str)]) -> u32 {
    let answer = get_from(source, gate.address, "/bits", headers);
    Puzzle::of(&answer.text()).expect("a challenge").bits
}

/// The reason in the log of the last request for a path.
fn reason(gate: &Gate, path: &str) -> String {
    let of_path = |line: &&serde_json::Value| line["target"] == path;
    wait_for("the request is in the log", || {
        gate.log().iter().any(|line| of_path(&line))
    });
    let log = gate.log();
    let line = log.iter().rev().find(of_path).unwrap();
    line["reason"].as_str().unwrap().to_owned()
}

#[test]
fn wget_walks_in_and_is_noticed() {
    if !has("wget", 1) {
        return;
    }
    let origin = Origin::start();
    let wanted = strict(
        "trusted_proxies = [\"127.0.0.1\"]\njudge_minutes = 0.01",
        "delay_seconds = 0.2",
    );
    let gate = start(&origin, wanted);
    let host = gate.address.to_string();
    let crawler = [
        ("X-Forwarded-For", "203.0.113.7"),
        ("User-Agent", CHROME),
        ("Host", host.as_str()),
    ];
    let link = trap("127.0.0.1", gate.address, &crawler);
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let mut wget = Command::new("wget")
        .args(["--mirror", "--execute=robots=off", "--tries=1", "--quiet"])
        .args([
            "--header=X-Forwarded-For: 203.0.113.7",
            "--user-agent",
            CHROME,
        ])
        .arg("--directory-prefix")
        .arg(folder.path())
        .arg(format!("http://{host}{link}"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("it has followed thirty pages", || pages(&gate) >= 30.0);
    let took = started.elapsed();
    wget.kill().unwrap();
    wget.wait().unwrap();
    let got = pages(&gate);
    say(&format!(
        "wget: {got} pages in {took:?}, {:?} for each; by default it waits 5 s for each",
        took.div_f64(got)
    ));
    assert!(took >= Duration::from_millis(200 * 25), "{took:?}");
    wait_for("its slots are free", || slots(&gate) == 0.0);
    let report = gate.command(
        &["analyze", "--format", "json_cattlegrid"],
        "state/access.log",
    );
    assert!(report.contains("203.0.113.7"), "{report}");
    wait_for("it is denied for it", || {
        gate.kb(&["list"]).contains("203.0.113.7")
    });
    let why = gate.kb(&["show", "203.0.113.7"]);
    assert!(why.contains("followed_trap"), "{why}");
}

#[test]
fn one_page_is_curiosity() {
    let origin = Origin::start();
    let gate = start(&origin, strict("", "delay_seconds = 0.0"));
    let link = trap("127.0.52.1", gate.address, &[]);
    for _ in 0..3 {
        let first = get_from("127.0.52.1", gate.address, &link, &[]);
        assert_eq!(first.status, 200);
        assert!(
            first
                .text()
                .contains("If you are a person, please leave here.")
        );
        assert_eq!(first.values("x-robots-tag"), ["noindex, nofollow"]);
    }
    // Another client is noticed meanwhile, and so all lines before have been learned from.
    let other = trap("127.0.52.2", gate.address, &[]);
    assert_eq!(follow("127.0.52.2", gate.address, &[], &other, 8), 8);
    wait_for("the other one is noticed", || {
        gate.metric("cattlegrid_suspects") == Some(1.0)
    });
    get_from("127.0.52.1", gate.address, "/after", &[]);
    assert_eq!(reason(&gate, "/after"), "many_pages");
}

#[test]
fn a_restart_remembers_who_followed() {
    let origin = Origin::start();
    let gate = start(&origin, strict("", "delay_seconds = 0.0"));
    let link = trap("127.0.53.1", gate.address, &[]);
    assert_eq!(follow("127.0.53.1", gate.address, &[], &link, 8), 8);
    wait_for("it is noticed", || {
        gate.metric("cattlegrid_suspects") == Some(1.0)
    });
    let gate = gate.restart();
    wait_for("it is known again", || {
        gate.metric("cattlegrid_suspects") == Some(1.0)
    });
    get_from("127.0.53.1", gate.address, "/again", &[]);
    assert_eq!(reason(&gate, "/again"), "suspicious");
    // Its challenges are harder; those of its neighbour with another browser are not.
    let hard = bits("127.0.53.1", &gate, &[]);
    let neighbour = [("User-Agent", CHROME)];
    assert_eq!(hard, bits("127.0.53.1", &gate, &neighbour) + 2);
    get_from("127.0.53.1", gate.address, "/by-neighbour", &neighbour);
    assert_eq!(reason(&gate, "/by-neighbour"), "many_pages");
}

/// Pages behind a trap that was shown to another source, or that somebody else's page leads to, are not there.
fn h072_is_withstood(gate: &Gate) -> Result<(), String> {
    let link = trap("127.0.54.1", gate.address, &[]);
    let status = |source: &str, link: &str, headers: &[(&str, &str)]| {
        get_from(source, gate.address, link, headers).status
    };
    let must = |is_so: bool, what: &str| is_so.then_some(()).ok_or_else(|| what.to_owned());
    must(status("127.0.54.1", &link, &[]) == 200, "its own")?;
    must(status("127.0.54.2", &link, &[]) == 404, "another source's")?;
    let site = [("Host", "other.example.org")];
    must(status("127.0.54.1", &link, &site) == 404, "another site's")?;
    let led: [&[(&str, &str)]; 6] = [
        &[
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Dest", "document"),
        ],
        &[
            ("Sec-Fetch-Site", "same-origin"),
            ("Sec-Fetch-Dest", "image"),
        ],
        &[("Sec-Fetch-Dest", "iframe")],
        &[("Sec-Purpose", "prefetch")],
        &[("X-Moz", "prefetch")],
        &[("Referer", "https://attacker.example/page")],
    ];
    for headers in led {
        must(status("127.0.54.1", &link, headers) == 404, "led")?;
    }
    Ok(())
}

#[test]
fn h072_nobody_is_led_into_a_trap() {
    let origin = Origin::start();
    let mut gate = start(&origin, strict("", "delay_seconds = 0.0"));
    watched(&mut gate, |gate| h072_is_withstood(gate).unwrap());
    assert_eq!(
        (refused(&gate, "not_shown"), refused(&gate, "led")),
        (2.0, 6.0)
    );
    assert_eq!(pages(&gate), 1.0);
    let old = format!("{FOLDER}{}", "A".repeat(40));
    assert_eq!(get_from("127.0.54.1", gate.address, &old, &[]).status, 404);
    drop(gate);
    for defence in ["trap_binding", "trap_led"] {
        let wanted = strict(&format!("without = [\"{defence}\"]"), "delay_seconds = 0.0");
        assert!(
            h072_is_withstood(&start(&origin, wanted)).is_err(),
            "{defence}"
        );
    }
}

/// Opens a page of another site that leads to a trap in every way that a page can, in a browser at the address that the trap was shown to.
fn h072_in_chromium(browser: &Chromium, gate: &Gate) -> f64 {
    let host = gate.address.to_string();
    let traps = [(); 6].map(|()| {
        let link = trap("127.0.0.1", gate.address, &[("Host", host.as_str())]);
        format!("http://{host}{link}")
    });
    let [image, frame, style, ahead, script, top] = traps;
    let attack = format!(
        "<!doctype html><title>attack</title><img src=\"{image}\"><iframe src=\"{frame}\"></iframe><link rel=stylesheet href=\"{style}\">\
         <link rel=prefetch href=\"{ahead}\"><script src=\"{script}\"></script><a id=top href=\"{top}\">free</a>"
    );
    let attacker = Origin::answering(Box::new(move |_| Some(page(&attack))));
    let before = pages(gate);
    let asked = || pages(gate) + refused(gate, "led");
    let first = asked();
    // For a browser this is another site.
    let url = format!("http://localhost:{}/", attacker.address.port());
    browser.post("/url", &serde_json::json!({"url": url}));
    wait_for("all parts were asked for", || asked() >= first + 5.0);
    browser.eval("document.getElementById('top').click()");
    wait_for("the link was followed", || asked() >= first + 6.0);
    pages(gate) - before
}

#[test]
fn h072_a_page_of_another_site_leads_no_browser_into_a_trap() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let gate = start(&origin, strict("", "delay_seconds = 0.0"));
    assert_eq!(h072_in_chromium(&browser, &gate), 0.0);
    let log = gate.log();
    assert!(log.iter().all(|line| line["decision"] != "trap"));
    drop(gate);
    let gate = start(
        &origin,
        strict("without = [\"trap_led\"]", "delay_seconds = 0.0"),
    );
    assert!(h072_in_chromium(&browser, &gate) >= 3.0);
}

#[test]
fn h073_what_fifty_addresses_do_is_not_their_browsers_fault() {
    let origin = Origin::start();
    let gate = start(
        &origin,
        strict("", "delay_seconds = 0.0\nbytes_per_second = 100000000"),
    );
    let chrome = [("User-Agent", CHROME)];
    let crawlers: Vec<String> = (1..=50).map(|number| format!("127.2.{number}.1")).collect();
    let hits: usize = each(&crawlers, |source| {
        let link = trap(source, gate.address, &chrome);
        follow(source, gate.address, &chrome, &link, 40)
    })
    .iter()
    .sum();
    assert_eq!(hits, 50 * 40);
    wait_for("all of them are noticed", || {
        gate.metric("cattlegrid_suspects") == Some(50.0)
    });
    let people: Vec<String> = (1..=200)
        .map(|number| format!("127.3.{number}.1"))
        .collect();
    let challenged = each(&people, |source| {
        get_from(source, gate.address, "/page", &chrome).status != 200
    });
    let challenged = challenged.iter().filter(|is_so| **is_so).count();
    say(&format!(
        "{hits} trap hits of 50 addresses; {challenged} of 200 people with the same browser challenged"
    ));
    assert_eq!(challenged, 0);
    get_from("127.2.7.1", gate.address, "/crawler", &chrome);
    assert_eq!(reason(&gate, "/crawler"), "suspicious");
}

#[test]
fn h075_a_proven_robot_never_sees_a_trap() {
    let origin = Origin::answering(Box::new(|got| {
        let links: String = (0..10)
            .map(|link| format!("<a href=\"{}/{link}\">", got.target()))
            .collect();
        Some(page(&links))
    }));
    let google = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    let trusting = "trusted_proxies = [\"127.0.0.1\"]";
    let gate = start(&origin, strict(trusting, ""));
    let ask = |gate: &Gate, source: &str, number: usize| {
        let headers = [("X-Forwarded-For", source), ("User-Agent", google)];
        get_from(
            "127.0.0.1",
            gate.address,
            &format!("/page/{number}"),
            &headers,
        )
    };
    for number in 0..1000 {
        let answer = ask(&gate, "66.249.66.1", number);
        assert_eq!((answer.status, links(&answer.text()).len()), (200, 0));
    }
    assert_eq!(gate.metric("cattlegrid_trap_links_total"), Some(0.0));
    // One that nobody can prove or disprove is challenged, and sees none either.
    let challenge = |gate: &Gate| {
        let [_, _, last] = [0, 1, 2].map(|number| ask(gate, "192.0.2.1", number));
        last
    };
    let unproven = challenge(&gate);
    assert_eq!((unproven.status, links(&unproven.text()).len()), (403, 0));
    drop(gate);
    let careless = format!("{trusting}\nwithout = [\"trap_names\"]");
    let gate = start(&origin, strict(&careless, ""));
    assert_eq!(links(&challenge(&gate).text()).len(), 1);
}

#[test]
fn links_are_where_robots_txt_forbids_them() {
    let origin = Origin::start();
    let shown = |gate: &Gate, source: &str| {
        let ask = |path: &str| get_from(source, gate.address, path, &[]);
        let [_, _, last] = ["/one", "/two", "/three"].map(ask);
        assert_eq!(last.status, 403);
        links(&last.text()).len()
    };
    let with = |from: &str, to: &str| {
        let wanted = strict("", "");
        let parts = wanted.parts.replace(from, to);
        Gate::with(&origin, Wanted { parts, ..wanted })
    };
    assert_eq!(shown(&with("robots_txt = \"merged\"", ""), "127.0.58.1"), 0);
    let always = "[gate.traps]\nlinks = \"always\"";
    let gate = with("robots_txt = \"merged\"\n[gate.traps]", always);
    assert_eq!(shown(&gate, "127.0.58.1"), 1);
    // Neither programs nor those who are stopped by a rule of the owner get one.
    let program = get_from(
        "127.0.58.1",
        gate.address,
        "/p",
        &[("Accept", "application/json")],
    );
    assert_eq!((program.status, links(&program.text()).len()), (403, 0));
    let gate = with("[gate.traps]", "[gate.traps]\nlinks = \"never\"");
    wait_for("robots.txt is served", || {
        try_get_from(VICTIM, gate.address, "/robots.txt", &[])
            .is_ok_and(|answer| answer.status == 200)
    });
    assert_eq!(shown(&gate, "127.0.58.1"), 0);
    let forbidden = "[[gate.rule]]\npath = \"/forbidden\"\naction = \"block\"\n[gate.crawlers]";
    let wanted = strict("", "");
    let parts = wanted.parts.replace("[gate.crawlers]", forbidden);
    let gate = start(&origin, Wanted { parts, ..wanted });
    let blocked = get_from("127.0.58.2", gate.address, "/forbidden", &[]);
    assert_eq!((blocked.status, links(&blocked.text()).len()), (403, 0));
    assert_eq!(shown(&gate, "127.0.58.1"), 1);
}

#[test]
fn people_and_screen_readers_do_not_meet_the_link() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let wanted = strict("", "delay_seconds = 0.0");
    let parts = wanted.parts.replace("bits = 8", "bits = 24");
    let gate = start(
        &origin,
        Wanted {
            parts,
            ..wanted.clone()
        },
    );
    browser.open(gate.address, "/first");
    browser.open(gate.address, "/second");
    let shown = browser.text("document.querySelector('a[hidden]')?.getAttribute('href')");
    assert!(shown.starts_with(FOLDER), "{shown}");
    let tree = browser.tree_with("main");
    assert!(
        tree.iter()
            .all(|node| !format!("{node:?}").contains("robots")),
        "{tree:?}"
    );
    assert_eq!(
        browser.text("document.querySelector('a[hidden]').checkVisibility() ? 'seen' : 'hidden'"),
        "hidden"
    );
    assert!(!browser.text("document.body.innerText").contains("robots"));
    browser.eval("document.querySelector('a[hidden]').focus()");
    assert_eq!(browser.text("document.activeElement.tagName"), "BODY");
    browser.checked("challenge-with-trap");
    drop(gate);
    // A person solves the challenge, reads on, and has never asked for it.
    let gate = start(&origin, wanted);
    for path in ["/one", "/two", "/three", "/four"] {
        browser.open(gate.address, path);
        browser.wait_for_page(path);
    }
    assert!(gate.metric("cattlegrid_trap_links_total") >= Some(1.0));
    wait_for("the last page is in the log", || {
        gate.log().iter().any(|line| line["target"] == "/four")
    });
    let asked = gate.log();
    assert!(
        asked
            .iter()
            .all(|line| !line["target"].as_str().unwrap().starts_with(FOLDER))
    );
}
