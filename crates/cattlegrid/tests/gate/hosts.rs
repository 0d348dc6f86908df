//! Names of hosts: one sound name, in one spelling, and none of them decides where the gate connects to.

use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::WAYS;
use crate::harness::Wanted;
use crate::harness::Way;
use crate::harness::each;
use crate::harness::naive;
use crate::harness::page;
use crate::harness::raw;
use crate::harness::wait_for;
use crate::harness::watched;
use crate::solve::Browser;

/// Requests without one sound host.
fn unsound() -> Vec<String> {
    let long = format!("Host: {}\r\n", "a".repeat(300));
    let lines = [
        "",
        "Host: a.example\r\nHost: b.example\r\n",
        "Host: a.example\r\nHost: a.example\r\n",
        "Host:\r\n",
        "Host: \r\n",
        "Host: a.example,b.example\r\n",
        "Host: a.example b.example\r\n",
        "Host: a@b.example\r\n",
        "Host: a.example/x\r\n",
        "Host: a.example?x\r\n",
        "Host: a.example:80:80\r\n",
        "Host: a.example:x\r\n",
        "Host: [::1%25lo]\r\n",
        "Host: [::1\r\n",
        "Host: a..example\r\n",
        "Host: a%2eexample\r\n",
        "Host: \u{ff41}.example\r\n",
        &long,
    ];
    let mut all: Vec<String> = lines
        .iter()
        .map(|line| format!("GET /unsound HTTP/1.1\r\n{line}\r\n"))
        .collect();
    all.push("GET /unsound HTTP/1.0\r\n\r\n".to_owned());
    all.push("GET http://a.example/unsound HTTP/1.1\r\n\r\n".to_owned());
    all.push("GET http://u@a.example/unsound HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned());
    all.push("GET http://a.example/unsound HTTP/1.1\r\nHost: a,b\r\n\r\n".to_owned());
    all
}

fn is_refused(address: SocketAddr, origin: &Origin, bytes: &str) -> Result<(), String> {
    let answer = raw(address, bytes.as_bytes());
    match answer.status() == 400 && answer.is_closed && !origin.has_seen("/unsound") {
        true => Ok(()),
        false => Err(format!("{bytes:?}: {answer:?}")),
    }
}

#[test]
fn h011_one_sound_host() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    watched(&mut guarded, |gate| {
        let all = unsound();
        let results = each(&all, |bytes| is_refused(gate.address, &origin, bytes));
        assert_eq!(results, vec![Ok(()); all.len()]);
    });
    let lax = Gate::limitless(&origin, "without = [\"host\"]", "");
    assert!(is_refused(lax.address, &origin, &unsound()[1]).is_err());
    origin.forget();
    let bare = naive(origin.address);
    let results = each(&unsound(), |bytes| is_refused(bare, &origin, bytes));
    assert!(results.iter().all(Result::is_err));
}

#[test]
fn h011_an_absolute_target_names_the_host() {
    let (shop, other) = (Origin::start(), Origin::start());
    let mut guarded = Gate::limitless(&shop, "", &sites(&shop, &other));
    let bytes = b"GET http://shop.example/absolute HTTP/1.1\r\nHost: other.example\r\n\r\n";
    watched(&mut guarded, |gate| {
        shop.forget();
        assert_eq!(raw(gate.address, bytes).status(), 200);
        let got = shop.got();
        let got = got.iter().find(|got| got.target() == "/absolute").unwrap();
        assert_eq!(got.line(), "GET /absolute HTTP/1.1");
        assert_eq!(got.values("host"), ["shop.example"]);
        assert_eq!(got.values("x-forwarded-host"), ["shop.example"]);
        assert!(!other.has_seen("/absolute"));
    });
    // A forwarder of bytes leaves both names to the site.
    shop.forget();
    raw(naive(shop.address), bytes);
    assert_eq!(shop.got()[0].values("host"), ["other.example"]);
}

/// The shop, and a site for all other names.
fn sites(shop: &Origin, other: &Origin) -> String {
    format!(
        "[[gate.site]]\nhosts = [\"shop.example\"]\nupstream = \"http://{}\"\n\
         [[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{}\"\n",
        shop.address, other.address
    )
}

/// The status that a request for a host gets, and whether the shop got it.
fn ask_for(address: SocketAddr, way: Way, shop: &Origin, host: &str) -> (u16, bool) {
    shop.forget();
    let head = format!("GET /named HTTP/1.1\r\nHost: {host}\r\n");
    let status = way.status(address, head.as_bytes());
    (status, shop.has_seen("GET /named "))
}

#[test]
fn h012_one_site_has_one_name() {
    let (shop, other) = (Origin::start(), Origin::start());
    let spellings = [
        "shop.example",
        "SHOP.example",
        "shop.example.",
        "shop.example:80",
        "shop.example.:80",
        "sHoP.eXaMpLe.:8080",
        "shop.example:",
    ];
    let reached =
        |address: SocketAddr, way: Way| spellings.map(|host| ask_for(address, way, &shop, host));
    let mut guarded = Gate::limitless(&shop, "", &sites(&shop, &other));
    watched(&mut guarded, |gate| {
        for way in WAYS {
            assert_eq!(reached(gate.address, way), [(200, true); 7], "{way:?}");
        }
        let asked = WAYS.len() * spellings.len();
        wait_for("all lines", || {
            let log = gate.log();
            let named = log.iter().filter(|line| line["target"] == "/named");
            named.count() == asked
        });
        let log = gate.log();
        let named = log.iter().filter(|line| line["target"] == "/named");
        let hosts: Vec<&str> = named.filter_map(|line| line["host"].as_str()).collect();
        assert!(
            hosts.iter().all(|host| *host == "shop.example"),
            "{hosts:?}"
        );
    });
    let lax = Gate::limitless(
        &shop,
        "without = [\"host_spelling\"]",
        &sites(&shop, &other),
    );
    for way in WAYS {
        assert_ne!(reached(lax.address, way), [(200, true); 7], "{way:?}");
    }
}

/// Names that are the shop's once somebody decodes them, or none at all, and the status of each.
fn lookalikes() -> [(String, u16); 6] {
    [
        ("xn--shop-.example".to_owned(), 200),
        ("XN--SHOP-.example".to_owned(), 200),
        ("\u{ff53}\u{ff48}\u{ff4f}\u{ff50}.example".to_owned(), 400),
        ("%73hop.example".to_owned(), 400),
        ("shop.example%2e".to_owned(), 400),
        ("a".repeat(300), 400),
    ]
}

/// A name after all that well-meaning libraries do to it (RUSTSEC-2024-0421 decoded labels that are plain ASCII).
fn decoded(host: &str) -> String {
    let name = host.to_lowercase().replace("%73", "s").replace("%2e", ".");
    let narrow = |letter: char| match letter {
        '\u{ff41}'..='\u{ff5a}' => char::from((letter as u32 - 0xff41) as u8 + b'a'),
        other => other,
    };
    let name: String = name.chars().map(narrow).collect();
    let labels = name
        .split('.')
        .map(|label| match label.strip_prefix("xn--") {
            Some(rest) => rest.trim_end_matches('-'),
            None => label,
        });
    let labels: Vec<&str> = labels.filter(|label| !label.is_empty()).collect();
    labels.join(".")
}

/// A router that decodes names before it compares them.
fn decoding(shop: SocketAddr, other: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut chunk = [0; 4096];
            let length = client.read(&mut chunk).unwrap_or(0);
            let head = String::from_utf8_lossy(&chunk[..length]).into_owned();
            let host = head.lines().find_map(|line| line.strip_prefix("Host: "));
            let site = match decoded(host.unwrap_or_default()).as_str() {
                "shop.example" => shop,
                _ => other,
            };
            let mut site = TcpStream::connect(site).unwrap();
            site.write_all(head.as_bytes()).unwrap();
            let length = site.read(&mut chunk).unwrap_or(0);
            let _ = client.write_all(&chunk[..length]);
        }
    });
    address
}

#[test]
fn h013_other_names_are_other_sites() {
    let (shop, other) = (Origin::start(), Origin::start());
    let mut guarded = Gate::limitless(&shop, "", &sites(&shop, &other));
    let ask = |address: SocketAddr, way: Way| {
        lookalikes().map(|(host, _)| ask_for(address, way, &shop, &host))
    };
    let sound = lookalikes().map(|(_, status)| (status, false));
    watched(&mut guarded, |gate| {
        for way in WAYS {
            assert_eq!(ask(gate.address, way), sound, "{way:?}");
        }
    });
    let lax = Gate::limitless(
        &shop,
        "without = [\"host\", \"host_spelling\"]",
        &sites(&shop, &other),
    );
    let decoding = decoding(shop.address, other.address);
    for way in WAYS {
        assert_eq!(ask(lax.address, way), [(200, false); 6], "{way:?}");
        let naive = ask(decoding, way);
        assert!(
            naive
                .iter()
                .zip(sound)
                .all(|(naive, sound)| *naive != sound),
            "{way:?}: {naive:?}"
        );
    }
}

/// Earns a clearance under one spelling of a name. True where it is good under all others, and one name is in the log.
fn has_one_identity(gate: &Gate) -> bool {
    let mut person = Browser::new("127.13.0.1", gate.address).with("Host", "xn--shop-.example");
    let challenge = person.get("/one");
    person.clear(&challenge).unwrap();
    let spellings = [
        "xn--shop-.example:80",
        "XN--SHOP-.Example",
        "xn--shop-.EXAMPLE.",
    ];
    let statuses = spellings.map(|spelling| {
        person.headers[0].1 = spelling.to_owned();
        person.get("/other").status
    });
    wait_for("all lines", || {
        let log = gate.log();
        let others = log.iter().filter(|line| line["target"] == "/other");
        others.count() == spellings.len()
    });
    let log = gate.log();
    let mut own = log.iter().filter(|line| line["source"] == "127.13.0.1");
    statuses == [200; 3] && own.all(|line| line["host"] == "xn--shop-.example")
}

#[test]
fn h013_a_site_is_one_for_cookies_and_the_log() {
    let origin = Origin::start();
    let start = |settings: &str| {
        let wanted = Wanted {
            gate: settings.to_owned(),
            parts: "[gate.challenge]\nbits = 8\n[policy]\nk1 = 0\n".to_owned(),
            ..Wanted::default()
        };
        Gate::with(&origin, wanted)
    };
    watched(&mut start(""), |gate| assert!(has_one_identity(gate)));
    assert!(!has_one_identity(&start("without = [\"host_spelling\"]")));
}

/// Listeners that nobody may connect to, and how many have.
fn decoys() -> (u16, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let first = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = first.local_addr().unwrap().port();
    let others =
        (3..=20).filter_map(|last| TcpListener::bind(format!("127.0.0.{last}:{port}")).ok());
    for listener in std::iter::once(first).chain(others) {
        let count = Arc::clone(&count);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.write_all(&page("a decoy"));
            }
        });
    }
    (port, count)
}

/// A proxy that goes where a request wants it to.
fn open_proxy() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut chunk = [0; 4096];
            let length = stream.read(&mut chunk).unwrap_or(0);
            let head = String::from_utf8_lossy(&chunk[..length]).into_owned();
            let host = head.lines().find_map(|line| line.strip_prefix("Host: "));
            let _ = host.map(TcpStream::connect);
        }
    });
    address
}

#[test]
fn h019_only_the_site_is_connected_to() {
    let (port, count) = decoys();
    let all: Vec<String> = (2..=20)
        .flat_map(|last| {
            let decoy = format!("127.0.0.{last}:{port}");
            [
                format!("GET http://{decoy}/ HTTP/1.1\r\nHost: {decoy}\r\n"),
                format!("GET http://{decoy}/ HTTP/1.1\r\nHost: www.example.org\r\n"),
                format!("GET / HTTP/1.1\r\nHost: {decoy}\r\n"),
                format!("GET //{decoy}/ HTTP/1.1\r\nHost: www.example.org\r\n"),
                format!("GET / HTTP/1.1\r\nHost: www.example.org\r\nX-Forwarded-Host: {decoy}\r\nX-Original-URL: http://{decoy}/\r\n"),
                format!("CONNECT {decoy} HTTP/1.1\r\nHost: {decoy}\r\n"),
                format!("GET @{decoy}/ HTTP/1.1\r\nHost: www.example.org\r\n"),
            ]
        })
        .collect();
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    watched(&mut guarded, |gate| {
        for way in WAYS {
            let statuses = each(&all, |head| way.status(gate.address, head.as_bytes()));
            assert!(!statuses.contains(&0), "{way:?}: {statuses:?}");
        }
        assert_eq!(count.load(Ordering::SeqCst), 0);
    });
    Way::Close.status(open_proxy(), all[0].as_bytes());
    wait_for("the decoys work", || count.load(Ordering::SeqCst) == 1);
}
