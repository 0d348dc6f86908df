//! Paths and methods: a rule holds for every spelling of a path that the site reads as the same, and for the path alone.

use std::fs;
use std::net::SocketAddr;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::NO_LIMITS;
use crate::harness::Origin;
use crate::harness::WAYS;
use crate::harness::Wanted;
use crate::harness::Way;
use crate::harness::each;
use crate::harness::free_port;
use crate::harness::get;
use crate::harness::get_from;
use crate::harness::naive;
use crate::harness::page;
use crate::harness::request;
use crate::harness::wait_for;
use crate::harness::watched;
use crate::skip::has;

fn gate(site: SocketAddr, settings: &str, rules: &str) -> Gate {
    let parts =
        format!("{NO_LIMITS}[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{site}\"\n{rules}");
    let wanted = Wanted {
        gate: settings.to_owned(),
        parts,
        ..Wanted::default()
    };
    Gate::with(&Origin::start(), wanted)
}

/// Paths made of parts that servers read differently, some of which end at the protected page.
fn spellings() -> Vec<String> {
    let mut all: Vec<String> = [
        "/admin",
        "//admin",
        "/./admin",
        "/x/../admin",
        "/%61dmin",
        "/admin/.",
        "/x/..;/admin",
        "/admin%2f",
        "/..%2fadmin",
        "/public/..%2fadmin",
        "\\admin",
        "/\\admin",
        "/%5cadmin",
        "/%2561dmin",
        "/admin%00",
        "/admin;x",
        "/;/admin",
        "/admin%3fx",
        "/%2e/admin",
        "/.%2e/admin",
        "/x/%2E%2E/admin",
        "/x%2f%2e%2e%2fadmin",
        "/%2fadmin",
        "/admin?x",
        "/admin#x",
        "/admin/../admin/",
    ]
    .map(str::to_owned)
    .to_vec();
    let parts = [
        "", ".", "..", "x", "%2e", "%2E.", "..;", "%2f", "x%2f..", "..%2f",
    ];
    let ends = [
        "admin",
        "%61dmin",
        "a%64min/",
        "admin%2f.",
        "admin/x/..",
        "public",
    ];
    for first in parts {
        for second in parts {
            all.extend(ends.map(|end| format!("/{first}/{second}/{end}")));
        }
    }
    all
}

/// A site that reads paths as RFC 3986 says: unreserved characters decoded, dots followed, nothing else.
fn strict_site() -> Origin {
    Origin::answering(Box::new(|got| {
        let path = got.target().split('?').next().unwrap_or("");
        let mut plain = path.to_owned();
        for (encoded, letter) in [("%61", "a"), ("%64", "d"), ("%2e", "."), ("%2E", ".")] {
            plain = plain.replace(encoded, letter);
        }
        let mut kept: Vec<&str> = Vec::new();
        for segment in plain.split('/').skip(1) {
            match segment {
                "." => {}
                ".." => drop(kept.pop()),
                segment => kept.push(segment),
            }
        }
        Some(page(match kept.first() {
            Some(&"admin") => "admin",
            Some(&"victim") => "/victim",
            _ => "other",
        }))
    }))
}

/// A real nginx, where one is installed.
struct Nginx {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Nginx {
    fn start() -> Option<Nginx> {
        if !has("nginx", 1) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let address: SocketAddr = format!("127.0.0.1:{}", free_port()).parse().unwrap();
        let at = folder.path().display();
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/errors;\n\
             events {{ }}\n\
             http {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b; fastcgi_temp_path {at}/c;\n\
             uwsgi_temp_path {at}/d; scgi_temp_path {at}/e;\n\
             server {{ listen {address}; location / {{ return 200 other; }} location /victim {{ return 200 /victim; }}\n\
             location /admin {{ return 200 admin; }} }} }}\n"
        );
        fs::write(folder.path().join("nginx.conf"), config).unwrap();
        let child = Command::new("nginx")
            .arg("-c")
            .arg(folder.path().join("nginx.conf"))
            .arg("-e")
            .arg(folder.path().join("errors"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Nginx {
            child,
            address,
            _folder: folder,
        };
        wait_for("nginx listens", || {
            std::net::TcpStream::connect(address).is_ok()
        });
        Some(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(address: SocketAddr, way: Way, target: &str) -> (u16, String) {
    let mut client = Client::connect("127.0.0.1", address).unwrap();
    client.send(&request("GET", target, way.headers())).unwrap();
    client
        .answer(false)
        .map_or((0, String::new()), |answer| (answer.status, answer.text()))
}

/// Spellings that the site itself serves as the protected page, and the gate does not stop.
fn slips_through(site: SocketAddr, gate: SocketAddr, way: Way) -> Vec<String> {
    let all = spellings();
    let results = each(&all, |target| {
        let is_admin = ask(site, way, target).1 == "admin";
        is_admin && !matches!(ask(gate, way, target).0, 400 | 403)
    });
    let slipped = all.iter().zip(results).filter(|(_, slips)| *slips);
    slipped.map(|(target, _)| target.clone()).collect()
}

const ADMIN: &str = "[[gate.rule]]\npath = \"/admin*\"\naction = \"block\"\n";

fn check_spellings(site: SocketAddr) {
    let served = spellings()
        .iter()
        .filter(|target| ask(site, Way::Close, target).1 == "admin")
        .count();
    assert!(served > 50, "the site reads {served} spellings as the page");
    let mut guarded = gate(site, "", ADMIN);
    watched(&mut guarded, |gate| {
        for way in WAYS {
            let slipped = slips_through(site, gate.address, way);
            assert_eq!(slipped, Vec::<String>::new(), "{way:?}");
        }
        // Encoded paths elsewhere work as before.
        for target in [
            "/files/a%2Fb",
            "/files/a%2fb",
            "/x/%2e%2e/y",
            "/a%3fb",
            "/a;b/c",
            "/a%5cb",
            "/%C3%A4",
        ] {
            let statuses = WAYS.map(|way| ask(gate.address, way, target).0);
            assert_eq!(statuses, [200; 2], "{target}");
        }
    });
    let lax = gate(site, "without = [\"spellings\"]", ADMIN);
    for way in WAYS {
        assert!(!slips_through(site, lax.address, way).is_empty(), "{way:?}");
    }
}

#[test]
fn h014_spellings_of_a_path_before_a_strict_site() {
    check_spellings(strict_site().address);
}

#[test]
fn h014_spellings_of_a_path_before_nginx() {
    if let Some(nginx) = Nginx::start() {
        check_spellings(nginx.address);
    }
}

/// For each way, true where all of these are stopped.
fn stops(address: SocketAddr, targets: &[&str]) -> [bool; 2] {
    WAYS.map(|way| {
        targets
            .iter()
            .all(|target| matches!(ask(address, way, target).0, 400 | 403))
    })
}

#[test]
fn h015_fragments() {
    let rules = "[[gate.rule]]\npattern = \"/public\"\naction = \"pass\"\n\
         [[gate.rule]]\npath = \"/secret*\"\naction = \"block\"\n";
    let origin = Origin::start();
    let mut guarded = gate(origin.address, "", rules);
    let targets = [
        "/secret#/public",
        "/secret?x#/public",
        "/secret?#/public",
        "/secret#",
        "/secret%23/public",
    ];
    watched(&mut guarded, |gate| {
        assert_eq!(stops(gate.address, &targets), [true; 2]);
        assert!(!origin.has_seen("/secret"));
        let statuses = WAYS.map(|way| ask(gate.address, way, "/public").0);
        assert_eq!(statuses, [200; 2]);
    });
    assert_eq!(stops(naive(origin.address), &targets[..1]), [false; 2]);
    let lax = gate(origin.address, "without = [\"spellings\"]", rules);
    assert_eq!(stops(lax.address, &targets), [false; 2]);
}

#[test]
fn h016_path_rules_see_the_path_alone() {
    let rules = "[[gate.rule]]\npattern = \"^/api/.*/status\"\naction = \"pass\"\n\
         [[gate.rule]]\npath = \"/api/*\"\naction = \"block\"\n";
    let origin = Origin::start();
    let mut guarded = gate(origin.address, "", rules);
    let targets = [
        "/api/private?x=/status",
        "/api/private?/api/x/status",
        "/api/private%3f/status",
        "/api/private%3F/status",
        "/api/private%253f/status",
        "/api/private%00/status",
    ];
    watched(&mut guarded, |gate| {
        assert_eq!(stops(gate.address, &targets), [true; 2]);
        for target in ["/api/x/status", "/api/x/status?a=b"] {
            let statuses = WAYS.map(|way| ask(gate.address, way, target).0);
            assert_eq!(statuses, [200; 2], "{target}");
        }
    });
    assert_eq!(stops(naive(origin.address), &targets[..1]), [false; 2]);
    let lax = gate(origin.address, "without = [\"spellings\"]", rules);
    assert_eq!(stops(lax.address, &targets), [false; 2]);
}

#[test]
fn h018_methods() {
    let origin = Origin::start();
    let rule = "[[gate.rule]]\nmethods = [\"DELETE\"]\naction = \"block\"\n\
         [[gate.rule]]\npath = \"/open*\"\nmethods = [\"GET\"]\naction = \"pass\"\n\
         [[gate.rule]]\npath = \"/open*\"\naction = \"block\"\n";
    let mut guarded = gate(origin.address, "", rule);
    let statuses = |address: SocketAddr, line: &str| {
        let head = format!("{line} HTTP/1.1\r\nHost: www.example.org\r\n");
        WAYS.map(|way| way.status(address, head.as_bytes()))
    };
    watched(&mut guarded, |gate| {
        for (line, wanted) in [
            ("CONNECT 127.0.0.1:22", 405),
            ("CONNECT /x", 405),
            ("TRACE /", 405),
            ("OPTIONS *", 200),
            ("DELETE /", 403),
            ("delete /", 200),
            ("GET /open", 200),
            ("get /open", 403),
            ("FOO /open", 403),
            ("G\u{e9}T /", 400),
        ] {
            assert_eq!(statuses(gate.address, line), [wanted; 2], "{line}");
        }
        for name in [
            "X-HTTP-Method-Override",
            "X-Method-Override",
            "X-HTTP-Method",
        ] {
            assert_eq!(get(gate.address, "/", &[(name, "DELETE")]).status, 200);
            let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
            client
                .send(&request("DELETE", "/", &[(name, "GET")]))
                .unwrap();
            assert_eq!(client.answer(false).unwrap().status, 403);
        }
    });
    assert!(!statuses(naive(origin.address), "TRACE /").contains(&405));
}

#[test]
fn h018_methods_that_nobody_knows_count_like_get() {
    let pages = |address: SocketAddr, source: &str, method: &str| {
        let passes = |page: &i32| {
            let mut client = Client::connect(source, address).unwrap();
            client
                .send(&request(method, &format!("/{page}"), &[]))
                .unwrap();
            client.answer(false).unwrap().status == 200
        };
        (0..30).filter(passes).count()
    };
    let origin = Origin::start();
    let mut guarded = Gate::start(&origin);
    watched(&mut guarded, |gate| {
        assert_eq!(pages(gate.address, "127.18.1.1", "get"), 20);
        assert_eq!(pages(gate.address, "127.18.2.1", "FOO"), 20);
        assert_eq!(pages(gate.address, "127.18.3.1", "GET"), 20);
    });
    assert_eq!(pages(naive(origin.address), "127.18.2.1", "FOO"), 30);
}

/// Asks for so many pages that the next one meets a challenge.
fn exhaust(address: SocketAddr, source: &str) {
    for page in 0..21 {
        get_from(source, address, &format!("/many{page}"), &[]);
    }
}

/// What is no page gets a short refusal that no cache keeps, and never a page.
fn refuses_shortly(address: SocketAddr, source: &str) -> Result<(), String> {
    type Kind = (
        &'static str,
        &'static str,
        &'static [(&'static str, &'static str)],
    );
    let kinds: [Kind; 9] = [
        ("GET", "/a.css", &[("Accept", "text/css,*/*;q=0.1")]),
        ("GET", "/a.js", &[("Accept", "*/*")]),
        ("GET", "/a.png", &[("Accept", "image/avif,image/webp,*/*")]),
        ("GET", "/a.png", &[("Sec-Fetch-Dest", "image")]),
        ("GET", "/data", &[("Sec-Fetch-Dest", "empty")]),
        ("GET", "/data", &[("X-Requested-With", "XMLHttpRequest")]),
        ("GET", "/data", &[("Accept", "application/json")]),
        ("POST", "/form", &[("Content-Length", "0")]),
        ("HEAD", "/page", &[]),
    ];
    for (method, path, headers) in kinds {
        let mut client = Client::connect(source, address).unwrap();
        client.send(&request(method, path, headers)).unwrap();
        let answer = client.answer(method == "HEAD").unwrap();
        let kept = answer.header("cache-control").unwrap_or_default();
        let kind = answer.header("content-type").unwrap_or_default();
        let is_short = matches!(answer.status, 401 | 403 | 429)
            && kept.contains("no-store")
            && answer.body.len() < 1000
            && !kind.contains("html")
            && !answer.text().contains('<');
        if !is_short {
            return Err(format!("{method} {path}: {}{}", answer.head, answer.text()));
        }
    }
    Ok(())
}

#[test]
fn h070_what_is_no_page_gets_no_page() {
    let origin = Origin::start();
    let mut guarded = Gate::start(&origin);
    watched(&mut guarded, |gate| {
        exhaust(gate.address, "127.70.0.1");
        refuses_shortly(gate.address, "127.70.0.1").unwrap();
    });
    assert!(refuses_shortly(naive(origin.address), "127.70.0.1").is_err());
}

#[test]
fn h071_paths_for_everybody_and_what_hides_behind_them() {
    let origin = Origin::start();
    let mut guarded = Gate::start(&origin);
    let hidden = [
        "/robots.txt/../secret",
        "/.well-known/../secret",
        "/.well-known/%2e%2e/secret",
        "/.well-known/..%2fsecret",
        "/.well-known/x/../../secret",
        "/.well-known/..;/secret",
        "/.well-known\\..\\secret",
        "/.well-known/..%5csecret",
        "/.well-known//../secret",
        "/favicon.ico/..%2f/secret",
        "/secret?/robots.txt",
        "/feed/?paged=2&secret",
        "/secret#/robots.txt",
        "/secret/robots.txt/..",
        "/robots.txt?secret",
        "//robots.txt?secret",
    ];
    let passed = |address: SocketAddr| -> Vec<&str> {
        let targets = hidden.iter();
        targets
            .filter(|target| get_from("127.71.0.1", address, target, &[]).status == 200)
            .copied()
            .collect()
    };
    watched(&mut guarded, |gate| {
        exhaust(gate.address, "127.71.0.1");
        for target in [
            "/robots.txt",
            "//robots.txt",
            "/.well-known/acme-challenge/x",
            "/favicon.ico",
        ] {
            let answer = get_from("127.71.0.1", gate.address, target, &[]);
            assert_eq!(answer.text(), format!("you asked for {target}"));
        }
        assert_eq!(passed(gate.address), Vec::<&str>::new());
        assert!(!origin.has_seen("secret"));
    });
    let lax = Gate::without(&origin, "spellings");
    exhaust(lax.address, "127.71.0.1");
    assert!(!passed(lax.address).is_empty());
}

/// H207. A site on IIS reads `%u002e` as a dot: a rule must hold for that spelling.
#[test]
fn h207_spellings_that_iis_decodes() {
    let site = Origin::start();
    let rules = "[[gate.rule]]\npath = \"/admin*\"\naction = \"block\"\n";
    let gate = gate(site.address, "", rules);
    for target in [
        "/x/%u002e%u002e/admin",
        "/x/%U002E%u002e%u002fadmin",
        "/%u0061dmin",
        "/x/%uff0e%uff0e%uff0fadmin",
        "/x/..%u005cadmin",
        "/%25u0061dmin",
    ] {
        let statuses = WAYS.map(|way| ask(gate.address, way, target).0);
        assert_eq!(statuses, [403; 2], "{target}");
    }
    // The honest case: letters of any language, and what only looks like such a spelling.
    for target in ["/%u0062log", "/caf%u00e9", "/100%us", "/%u12"] {
        let statuses = WAYS.map(|way| ask(gate.address, way, target).0);
        assert_eq!(statuses, [200; 2], "{target}");
    }
}
