//! What is no page by its name: pages behind other names and statuses, documents, and feeds. Nothing of it is a way around the limits.

use std::process::Command;

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Gate;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::harness::wait_for;
use crate::solve::Browser;
use crate::solve::Puzzle;

const ASKED: usize = 1500;

/// A site that says in a query how it answers: `?status=206&type=text/html`.
fn site() -> Origin {
    Origin::answering(Box::new(|got| Some(answer(got))))
}

fn answer(got: &Got) -> Vec<u8> {
    let target = got.target();
    let value = |name: &str| {
        let (_, rest) = target.split_once(&format!("{name}="))?;
        rest.split('&').next()
    };
    let by_name = match target.split('?').next().unwrap_or("").rsplit('.').next() {
        Some("json") => "application/json",
        Some("txt" | "md") => "text/plain",
        Some("rss") => "application/rss+xml",
        Some("pdf") => "application/pdf",
        Some("css") => "text/css",
        Some("png") => "image/png",
        Some("ts") => "video/mp2t",
        _ if target.starts_with("/feed") => "application/rss+xml",
        _ if target.starts_with("/api/") => "application/json",
        _ => "text/html",
    };
    let kind = value("type").unwrap_or(by_name);
    let status = value("status").unwrap_or("200");
    let text = format!("you asked for {target}");
    let length = text.len();
    format!("HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{text}")
        .into_bytes()
}

/// Answers of the site that an address gets, whatever their status, asking for each of many targets once.
fn taken(gate: &Gate, source: &str, target: impl Fn(usize) -> String) -> usize {
    let mut crawler = Browser::new(source, gate.address);
    crawler.keeps_cookies = false;
    (0..ASKED)
        .filter(|number| {
            let answer = crawler.send("GET", &target(*number), &[("Accept", "*/*")], "");
            answer.text().starts_with("you asked for")
        })
        .count()
}

#[test]
fn h200_html_counts_whatever_its_status_and_name() {
    let origin = site();
    let mut gate = Gate::start(&origin);
    withstands(&mut gate, |gate| {
        for (number, (behind, most)) in [
            ("x.css?status=200&type=text/html", 21),
            ("x.css?status=203&type=text/html", 21),
            ("x.css?status=206&type=text/html", 21),
            ("x.json?status=206&type=text/html", 21),
            // A page's own broken parts come first.
            ("x.css?status=404&type=text/html", 61),
            ("x.png?status=410&type=text/html", 61),
            ("x.pdf?status=404&type=text/html", 21),
        ]
        .into_iter()
        .enumerate()
        {
            let source = format!("127.0.70.{}", 1 + number);
            let got = taken(gate, &source, |page| format!("/{page}/{behind}"));
            say(&format!("{behind}: {got} of {ASKED} pages"));
            must(got <= most, &format!("{behind}: {got}"))?;
        }
        Ok(())
    });
}

#[test]
fn h200_documents_have_a_budget() {
    let origin = site();
    let mut gate = Gate::start(&origin);
    withstands(&mut gate, |gate| {
        for (number, name) in [
            "t/{}.json",
            "t/{}.txt",
            "t/{}.md",
            "t/{}.rss",
            "t/{}.pdf",
            "api/v1/{}",
            "feed/?paged={}",
            "{}/x.css?type=application/json",
        ]
        .into_iter()
        .enumerate()
        {
            let source = format!("127.0.71.{}", 1 + number);
            let got = taken(gate, &source, |page| {
                format!("/{}", name.replace("{}", &page.to_string()))
            });
            say(&format!("{name}: {got} of {ASKED} documents"));
            must((400..=525).contains(&got), &format!("{name}: {got}"))?;
        }
        Ok(())
    });
}

#[test]
fn h200_readers_of_a_site_with_broken_parts_and_requests_of_scripts_lose_nothing() {
    let origin = site();
    let gate = Gate::start(&origin);
    let mut person = Browser::new("127.0.72.1", gate.address);
    for page in 0..15 {
        assert_eq!(person.get(&format!("/page/{page}")).status, 200);
        // A style sheet that is gone, a picture that has moved, what a script asks for.
        for (part, status) in [
            (format!("/{page}/gone.css?status=404&type=text/html"), 404),
            (format!("/{page}/gone.png?status=404&type=text/html"), 404),
            (format!("/{page}/moved.png?status=302&type=text/html"), 302),
            ("/style.css".to_owned(), 200),
            (format!("/api/more/{page}"), 200),
            (format!("/api/votes/{page}"), 200),
        ] {
            assert_eq!(person.part(&part).status, status, "{part}");
        }
    }
    // A film in pieces of a few seconds.
    for piece in 0..2000 {
        assert_eq!(person.part(&format!("/film/{piece}.ts")).status, 200);
    }
    assert_eq!(person.solved, 0);
    // Who reads on is asked once, and the rest of the page comes with its cookie.
    for page in 0..40 {
        assert_eq!(person.open(&format!("/more/{page}")).status, 200);
        assert_eq!(person.part(&format!("/t/{page}.json")).status, 200);
    }
    assert_eq!(person.solved, 1);
}

#[test]
fn h200_denied_is_denied_also_for_feeds() {
    let origin = site();
    let gate = Gate::start(&origin);
    let paths = ["/feed/?paged=7", "/feed/", "/robots.txt", "/.well-known/x"];
    let mut reader = Browser::new("127.0.73.1", gate.address);
    for path in paths {
        assert_eq!(reader.get(path).status, 200, "{path}");
    }
    let denied = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["kb", "deny", "127.0.73.1", "--yes", "--kb"])
        .arg(gate.path("state/kb.sqlite"))
        .output()
        .unwrap();
    assert!(denied.status.success(), "{denied:?}");
    // Not a page, or it would be challenged in the meantime.
    wait_for("the entry is known", || reader.get("/feed/").status == 403);
    for path in paths {
        assert_eq!(reader.get(path).status, 403, "{path}");
    }
    // Who is merely challenged reads what programs are meant to read, without a query.
    let mut other = Browser::new("127.0.73.2", gate.address);
    other.keeps_cookies = false;
    while other.get("/page").status == 200 {}
    assert_eq!(other.get("/feed/").status, 200);
    assert!(Puzzle::of(&other.get("/feed/?paged=7").text()).is_some());
}

/// What remains where the gate sees no responses: a page behind a name of a part is not counted, one behind a document's as a document.
#[test]
fn h200_in_forward_auth_names_decide() {
    let origin = Origin::start();
    let gate = Gate::with(
        &origin,
        Wanted {
            gate: "trusted_proxies = [\"127.0.0.1\"]".to_owned(),
            listen: "role = \"forward_auth\"\n".to_owned(),
            parts: String::new(),
            ..Wanted::default()
        },
    );
    let mut server = Browser::new("127.0.0.1", gate.address);
    let mut passed = |client: &str, behind: &str| {
        (0..ASKED)
            .filter(|page| {
                let uri = format!("/{page}{behind}");
                let headers = [
                    ("X-Forwarded-For", client),
                    ("X-Forwarded-Uri", uri.as_str()),
                    ("X-Forwarded-Method", "GET"),
                    ("X-Forwarded-Host", "www.example.org"),
                ];
                server.send("GET", "/auth", &headers, "").status == 200
            })
            .count()
    };
    assert_eq!(passed("192.0.2.1", ""), 20);
    assert_eq!(passed("192.0.2.2", ".json"), 524);
    assert_eq!(passed("192.0.2.3", "/x.css"), ASKED);
}
