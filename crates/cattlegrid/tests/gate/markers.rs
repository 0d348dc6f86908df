//! Link markers: pages of signed-in people get them, requests lose them again, and nobody else notices.

use std::fs;
use std::io;
use std::io::Write;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::caches::Cache;
use crate::challenge::must;
use crate::harness::Answer;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::connect_from;
use crate::harness::get_from;
use crate::harness::request;
use crate::harness::say;
use crate::harness::wait_for;
use crate::marking::Marking;
use crate::sign_in::lines;
use crate::skip::has;

const STYLES: [&str; 3] = ["query", "path", "sealed"];
const HOST: &str = "www.example.org";

/// Addresses that a site may have, and of which every byte counts.
const ODD: [&str; 13] = [
    "/plain",
    "/x?",
    "/x??",
    "/?a=1;b=2",
    "/?a&a=&=b",
    "/?a=b+c%20d",
    "/a//deep//path",
    "/%2f/%2F?%3f",
    "/a;v=1/b;w=2?x",
    "/?cg=short&cg=",
    "/a;cg=/b;cg",
    "/%23?%23",
    "/a/?next=/b?c",
];

/// A whole answer with these fields.
pub(crate) fn answer(fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(crate) fn html(body: &str) -> Vec<u8> {
    answer(
        "Content-Type: text/html; charset=utf-8\r\n",
        body.as_bytes(),
    )
}

/// A site whose pages have a link to each of these addresses.
fn linking(targets: &'static [&'static str]) -> Origin {
    Origin::answering(Box::new(|_| Some(html(&links_to(targets)))))
}

pub(crate) fn links_to(targets: &[&str]) -> String {
    let link = |target: &&str| format!("<p><a href=\"{target}\">x</a>");
    targets.iter().map(link).collect()
}

/// The addresses of a page's links.
pub(crate) fn links(page: &str) -> Vec<String> {
    let parts = page.split("href=\"").skip(1);
    parts
        .filter_map(|part| part.split('"').next())
        .map(|href| href.replace("&#59;", ";").replace("&amp;", "&"))
        .collect()
}

fn asked(origin: &Origin) -> Vec<String> {
    let got = origin.got();
    got.iter().map(|got| got.target().to_owned()).collect()
}

/// Follows every link of a page, and looks at what the site gets.
fn follows_all(marking: &Marking, origin: &Origin) -> Result<(), String> {
    let page = marking.get("alice", "/start?p=1", &[]);
    must(page.status == 200, "a page")?;
    let found = links(&page.text());
    must(found.len() == ODD.len(), &page.text())?;
    origin.forget();
    let mut from = "/start?p=1".to_owned();
    for (link, target) in found.iter().zip(ODD) {
        must(link != target, &format!("{target} has no marker"))?;
        let address = format!("http://{HOST}{from}");
        let got = marking.get("alice", link, &[("Referer", &address)]);
        must(got.status == 200, &format!("{target}: {}", got.status))?;
        from.clone_from(link);
    }
    must(asked(origin) == ODD, &format!("{:?}", asked(origin)))?;
    let got = origin.got();
    let referrers: Vec<String> = got.iter().flat_map(|got| got.values("referer")).collect();
    for (referrer, target) in referrers.iter().skip(1).zip(ODD) {
        let expected = format!("http://{HOST}{target}");
        must(*referrer == expected, &format!("{referrer} for {expected}"))?;
    }
    must(referrers.len() == ODD.len(), "a referrer each")
}

#[test]
fn h017_h116_the_site_gets_what_it_would_have_got() {
    let origin = linking(&ODD);
    for style in STYLES {
        let mut marking = Marking::start(&origin, style, "");
        let before = marking.gate.before();
        follows_all(&marking, &origin).unwrap();
        marking.gate.check_after(&before);
        let log = lines(&marking.gate, "/a/?next", 1);
        assert_eq!(log[0]["target"], "/a/?next=/b?c");
        assert_eq!(log[0]["marker"], "own", "{style}");
        let start = lines(&marking.gate, "/start", 1);
        assert_eq!(start[0]["marker"], Value::Null);
        assert_eq!(
            log[0]["parent"],
            lines(&marking.gate, "/plain", 1)[0]["parent"]
        );
        let read = "cattlegrid_markers_read_total{kind=\"own\"}";
        assert_eq!(marking.gate.metric(read), Some(ODD.len() as f64));
        let marked = marking
            .gate
            .metric("cattlegrid_marked_links_total")
            .unwrap();
        assert!(marked >= (ODD.len() * ODD.len()) as f64, "{marked}");
    }
    let marking = Marking::start(&origin, "query", "without = [\"unmark\"]");
    assert!(follows_all(&marking, &origin).is_err());
}

/// Bob opens a link that was shown to alice, and so does somebody who is not signed in.
fn is_shared(marking: &Marking, origin: &Origin) -> Result<(), String> {
    origin.forget();
    let link = links(&marking.get("alice", "/start", &[]).text()).remove(0);
    let theirs = marking.get("bob", &link, &[]);
    must(theirs.status == 200, "bob gets the page")?;
    must(!theirs.text().contains(&link), "with markers of his own")?;
    let anybody = get_from("127.0.0.2", marking.gate.address, &link, &[]);
    let plain = (200, links_to(&["/page"]));
    must((anybody.status, anybody.text()) == plain, &anybody.text())?;
    let asked = asked(origin);
    must(asked[1..] == ["/page", "/page"], &format!("{asked:?}"))
}

#[test]
fn h114_a_shared_link_opens_for_everybody() {
    let origin = linking(&["/page"]);
    for style in STYLES {
        let marking = Marking::start(&origin, style, "");
        is_shared(&marking, &origin).unwrap();
        // Lines of two connections come in any order. Who is not signed in has no marker in the log.
        let log = lines(&marking.gate, "/page", 2);
        let (bobs, others): (Vec<Value>, Vec<Value>) =
            log.into_iter().partition(|line| line["user"].is_string());
        assert_eq!(bobs[0]["marker"], "other", "{style}");
        assert_eq!(others[0]["marker"], Value::Null);
        let line = &lines(&marking.gate, "/start", 1)[0];
        assert_ne!(line["user"], bobs[0]["user"]);
        assert_eq!(line["marker"], Value::Null);
        let marking = Marking::start(&origin, style, "without = [\"unmark\"]");
        assert!(is_shared(&marking, &origin).is_err(), "{style}");
    }
}

/// The same text with another character at a place near its end.
fn altered(link: &str) -> String {
    let at = link.rfind(|letter: char| letter.is_ascii_alphanumeric());
    let at = at.unwrap() - 5;
    let other = if &link[at..=at] == "A" { "B" } else { "A" };
    format!("{}{other}{}", &link[..at], &link[at + 1..])
}

fn costs_nothing(marking: &Marking, origin: &Origin) -> Result<(), String> {
    origin.forget();
    let link = links(&marking.get("alice", "/start", &[]).text()).remove(0);
    let page = marking.get("alice", &altered(&link), &[]);
    must(page.status == 200, &page.head)?;
    let asked = asked(origin);
    must(asked[1..] == ["/page"], &format!("{asked:?}"))
}

#[test]
fn h111_a_broken_marker_costs_nothing_where_the_target_is_known() {
    let origin = linking(&["/page"]);
    for style in ["query", "path"] {
        let marking = Marking::start(&origin, style, "");
        costs_nothing(&marking, &origin).unwrap();
        assert_eq!(lines(&marking.gate, "/page", 1)[0]["marker"], "broken");
        let marking = Marking::start(&origin, style, "without = [\"unmark\"]");
        assert!(costs_nothing(&marking, &origin).is_err(), "{style}");
    }
}

/// Links that were changed, belong to another host or were made up get the same response, and the site is not asked.
fn differ_in_nothing(marking: &Marking, origin: &Origin) -> Result<(), String> {
    let link = links(&marking.get("alice", "/start", &[]).text()).remove(0);
    must(link.starts_with("/cg:"), &link)?;
    origin.forget();
    let shape = |answer: &Answer| {
        let is_date = |line: &&str| !line.starts_with("date:");
        let head: Vec<&str> = answer.head.lines().filter(is_date).collect();
        format!("{}\n{}", head.join("\n"), answer.text())
    };
    let made_up = format!("/cg:{}", "A".repeat(link.len() - 4));
    let broken = shape(&marking.get("alice", &altered(&link), &[]));
    must(broken.starts_with("HTTP/1.1 404"), &broken)?;
    let foreign = marking.get("alice", &link, &[("Host", "other.example")]);
    let nobody = get_from("127.0.0.2", marking.gate.address, &made_up, &[]);
    for other in [foreign, marking.get("bob", &made_up, &[]), nobody] {
        must(shape(&other) == broken, &shape(&other))?;
    }
    must(origin.got().is_empty(), "the site is asked")
}

#[test]
fn h111_sealed_links_that_do_not_open_differ_in_nothing() {
    let origin = linking(&["/page"]);
    let marking = Marking::start(&origin, "sealed", "");
    differ_in_nothing(&marking, &origin).unwrap();
    let log = lines(&marking.gate, "/cg:", 4);
    assert!(log.iter().all(|line| line["target"] == "/cg:"));
    let broken = log.iter().filter(|line| line["marker"] == "broken");
    assert_eq!(broken.count(), 3);
    let marking = Marking::start(&origin, "sealed", "without = [\"unmark\"]");
    assert!(differ_in_nothing(&marking, &origin).is_err());
}

/// A site with validators, digests and ranges, as servers of files have them.
fn exacting() -> Origin {
    Origin::answering(Box::new(|got: &Got| {
        let body = links_to(&["/next", "/more"]);
        let fields = "Content-Type: text/html\r\nETag: \"v1\"\r\nRepr-Digest: sha-256=:AAAA:\r\nAccept-Ranges: bytes\r\nContent-MD5: AAAA\r\n";
        let known = got.values("if-none-match");
        if known.iter().any(|value| value.contains("\"v1\"")) {
            return Some(b"HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n".to_vec());
        }
        if !got.values("range").is_empty() {
            let kind = if got.target().ends_with(".bin") {
                "application/octet-stream"
            } else {
                "text/html"
            };
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Type: {kind}\r\nContent-Range: bytes 0-3/{}\r\nContent-Length: 4\r\n\r\n",
                body.len()
            );
            return Some([head.as_bytes(), &body.as_bytes()[..4]].concat());
        }
        let whole = answer(fields, body.as_bytes());
        let head = whole.len() - body.len();
        Some(match got.line().starts_with("HEAD ") {
            true => whole[..head].to_vec(),
            false => whole,
        })
    }))
}

fn agrees(marking: &Marking) -> Result<(), String> {
    let cookie = marking.cookie("alice");
    let fields = [("Cookie", cookie.as_str())];
    let mut client = Client::connect("127.0.0.1", marking.gate.address).unwrap();
    // A wrong length would make the next answers unreadable.
    let page = client
        .get("/page", &fields)
        .map_err(|error| error.to_string())?;
    must(page.text().matches("cg=").count() == 2, &page.text())?;
    must(page.text().ends_with("</a>"), "the whole page")?;
    must(
        page.header("etag").as_deref() == Some("W/\"v1\""),
        &page.head,
    )?;
    for gone in [
        "content-length",
        "repr-digest",
        "content-md5",
        "accept-ranges",
    ] {
        must(page.header(gone).is_none(), gone)?;
    }
    let send = |client: &mut Client, method: &str, more: &[(&str, &str)]| {
        let all = [&fields[..], more].concat();
        client.send(&request(method, "/page", &all)).unwrap();
        client
            .answer(method == "HEAD")
            .map_err(|error| error.to_string())
    };
    let head = send(&mut client, "HEAD", &[])?;
    let names = |answer: &Answer| {
        let lines = answer
            .head
            .lines()
            .filter(|line| !line.starts_with("transfer-encoding"));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    must(names(&head) == names(&page), &head.head)?;
    let known = [("If-None-Match", "W/\"v1\"")];
    let unchanged = send(&mut client, "GET", &known)?;
    must(unchanged.status == 304, &unchanged.head)?;
    must(
        unchanged.header("etag").as_deref() == Some("W/\"v1\""),
        &unchanged.head,
    )?;
    let posted = send(&mut client, "POST", &[("Content-Length", "0")])?;
    must(posted.text().contains("cg="), "a page after POST")?;
    // HTTP/1.0 knows no chunks: the end of the connection is the end of the page.
    let text = format!("GET /old HTTP/1.0\r\nHost: {HOST}\r\nCookie: {cookie}\r\n\r\n");
    let old = crate::harness::raw(marking.gate.address, text.as_bytes());
    must(old.is_closed && old.text.ends_with("</a>"), &old.text)?;
    must(
        !old.text.contains("chunked") && old.text.contains("cg="),
        &old.text,
    )
}

#[test]
fn h130_lengths_validators_and_digests_are_those_of_what_is_sent() {
    let origin = exacting();
    let mut marking = Marking::start(&origin, "query", "");
    let before = marking.gate.before();
    agrees(&marking).unwrap();
    marking.gate.check_after(&before);
    let marking = Marking::start(&origin, "query", "without = [\"marked_validators\"]");
    assert!(agrees(&marking).is_err());
    // Who is not signed in gets the bytes of the site.
    let plain = get_from("127.0.0.2", marking.gate.address, "/page", &[]);
    assert_eq!(plain.header("etag").unwrap(), "\"v1\"");
    assert_eq!(plain.text(), links_to(&["/next", "/more"]));
}

fn comes_whole(marking: &Marking) -> Result<(), String> {
    for range in ["bytes=0-3", "bytes=", "bytes=0-0,2-3", "bytes=-1"] {
        let fields = [("Range", range), ("If-Range", "\"v1\"")];
        let page = marking.get("alice", "/page", &fields);
        must(page.status == 200, &format!("{range}: {}", page.head))?;
        must(page.text().matches("cg=").count() == 2, &page.text())?;
    }
    let range = ("Range", "bytes=0-3");
    let film = ("Sec-Fetch-Dest", "video");
    for (path, field) in [
        ("/film.bin", ("Accept", "text/html")),
        ("/film", film),
        ("/film", ("Accept", "*/*")),
    ] {
        let part = marking.get("alice", path, &[range, field]);
        must(part.status == 206 && part.body.len() == 4, &part.head)?;
    }
    Ok(())
}

#[test]
fn h129_no_part_of_a_page_that_gets_markers() {
    let origin = exacting();
    comes_whole(&Marking::start(&origin, "query", "")).unwrap();
    let marking = Marking::start(&origin, "query", "without = [\"marked_whole\"]");
    assert!(comes_whole(&marking).is_err());
    // A part that comes all the same is the site's, byte for byte.
    let part = marking.get("alice", "/page", &[("Range", "bytes=0-3")]);
    assert_eq!((part.status, part.text().as_str()), (206, "<p><"));
    assert!(
        part.header("content-range")
            .unwrap()
            .starts_with("bytes 0-3/")
    );
}

/// Two people ask a cache for the same page.
fn keeps_apart(marking: &Marking, cache: &Cache) -> Result<(), String> {
    let through = |user: &str| {
        let cookie = marking.cookie(user);
        get_from("127.0.0.1", cache.address, "/page", &[("Cookie", &cookie)])
    };
    let (alice, bob) = (through("alice").text(), through("bob").text());
    must(alice.contains("cg=") && bob.contains("cg="), &alice)?;
    must(links(&alice) != links(&bob), "markers of another person")?;
    let nobody = get_from("127.0.0.1", cache.address, "/page", &[]).text();
    must(!nobody.contains("cg="), "nobody gets markers")
}

#[test]
fn h131_a_cache_gives_nobody_the_markers_of_another() {
    if !has("nginx", 1) {
        return;
    }
    let origin = Origin::answering(Box::new(|_| {
        let fields = "Content-Type: text/html\r\nCache-Control: public, max-age=600\r\nExpires: Thu, 01 Jan 2099 00:00:00 GMT\r\nX-Accel-Expires: 600\r\n";
        Some(answer(fields, links_to(&["/next"]).as_bytes()))
    }));
    let trusted = "trusted_proxies = [\"127.0.0.60\"]\n";
    let marking = Marking::start(&origin, "query", trusted);
    let cache = Cache::start(marking.gate.address);
    keeps_apart(&marking, &cache).unwrap();
    drop(cache);
    let without = format!("{trusted}without = [\"marked_private\"]");
    let marking = Marking::start(&origin, "query", &without);
    let cache = Cache::start(marking.gate.address);
    assert!(keeps_apart(&marking, &cache).is_err());
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A site that sends each page in the encoding that its address names.
fn packing() -> Origin {
    Origin::answering(Box::new(|got: &Got| {
        let page = links_to(&["/next"]);
        let packed = gzip(page.as_bytes());
        let coding = got.target().trim_start_matches('/');
        let body = match coding {
            "gzip" | "x-gzip" => packed,
            "two" => [packed, gzip(page.as_bytes())].concat(),
            "corrupt" => [&packed[..20], b"\xff\xff\xff\xff\xff\xff\xff\xff"].concat(),
            "cut" => packed[..packed.len() - 4].to_vec(),
            _ => page.into_bytes(),
        };
        let label = match coding {
            "two" | "corrupt" | "cut" => "gzip",
            label => label,
        };
        let fields = format!("Content-Type: text/html\r\nContent-Encoding: {label}\r\n");
        Some(answer(&fields, &body))
    }))
}

#[test]
fn h127_packed_pages_are_unpacked_or_pass_as_they_are() {
    let origin = packing();
    let marking = Marking::start(&origin, "query", "");
    for (path, count) in [("/gzip", 1), ("/x-gzip", 1), ("/two", 2), ("/identity", 1)] {
        let page = marking.get("alice", path, &[("Accept-Encoding", "*")]);
        assert_eq!(
            page.text().matches("cg=").count(),
            count,
            "{path}: {}",
            page.head
        );
        let coding = page.header("content-encoding");
        assert_eq!(coding.is_none(), path != "/identity", "{path}");
    }
    let got = origin.got();
    assert!(
        got.iter()
            .all(|got| got.values("accept-encoding") == ["identity"])
    );
    // What a script requests may come packed, and goes on packed unless it is a page.
    let script = [("Sec-Fetch-Dest", "empty"), ("Accept-Encoding", "gzip, br")];
    assert!(
        marking
            .get("alice", "/gzip", &script)
            .text()
            .contains("cg=")
    );
    let got = origin.got();
    assert_eq!(got.last().unwrap().values("accept-encoding"), ["gzip"]);
    for path in ["/br", "/zstd", "/gzip,gzip", "/whatever"] {
        let page = marking.get("alice", path, &[]);
        assert_eq!(page.text(), links_to(&["/next"]), "{path}");
        assert_eq!(page.header("content-encoding").unwrap(), path[1..]);
    }
    let counted = |reason: &str| {
        let name = format!("cattlegrid_unmarked_total{{reason=\"{reason}\"}}");
        marking.gate.metric(&name).unwrap()
    };
    assert_eq!(counted("content_encoding"), 4.0);
    // The reader sees that something is wrong: the answer has no end.
    let cookie = marking.cookie("alice");
    for path in ["/corrupt", "/cut"] {
        let mut client = Client::connect("127.0.0.1", marking.gate.address).unwrap();
        assert!(client.get(path, &[("Cookie", &cookie)]).is_err(), "{path}");
    }
    assert_eq!(counted("corrupt"), 2.0);
    assert!(!marking.gate.stderr().contains("panicked"));
}

/// The most memory that a gate has had, in KiB.
pub(crate) fn peak_kib(gate: &Gate) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gate.pid())).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How much the gate grows, in KiB, by a page of 64 MiB in 64 KiB.
fn grows_by(origin: &Origin, more: &str) -> u64 {
    let marking = Marking::start(origin, "query", more);
    assert_eq!(marking.get("alice", "/small", &[]).status, 200);
    let before = peak_kib(&marking.gate);
    let cookie = marking.cookie("alice");
    let text = format!("GET /large HTTP/1.0\r\nHost: {HOST}\r\nCookie: {cookie}\r\n\r\n");
    let mut stream = connect_from("127.0.0.1", marking.gate.address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let length = io::copy(&mut stream, &mut io::sink()).unwrap();
    assert!(length > 64 << 20, "{length}");
    peak_kib(&marking.gate) - before
}

#[test]
fn h128_a_packed_page_takes_no_more_memory_than_a_plain_one() {
    let bomb = gzip(&vec![b' '; 64 << 20]);
    let origin = Origin::answering(Box::new(move |got: &Got| {
        let fields = "Content-Type: text/html\r\nContent-Encoding: gzip\r\n";
        Some(match got.target() {
            "/large" => answer(fields, &bomb),
            _ => html("small"),
        })
    }));
    let grown = grows_by(&origin, "");
    assert!(grown < 8 * 1024, "{grown} KiB");
    let careless = grows_by(&origin, "without = [\"marked_bounded\"]");
    assert!(careless > 12 * 1024, "{careless} KiB");
    say(&format!(
        "a page of 64 MiB in 64 KiB: {grown} KiB more memory, unpacked at once {careless} KiB"
    ));
}

#[test]
fn h118_without_keys_there_are_no_markers_and_no_outage() {
    let origin = linking(&["/page"]);
    let marking = Marking::start(&origin, "query", "");
    let Marking { gate, key } = marking;
    let file = gate.path("state/marker_keys");
    let kept = fs::read(&file).unwrap();
    let first = Marking { gate, key };
    let link = links(&first.get("alice", "/start", &[]).text()).remove(0);
    // Damaged while the gate runs: what it has read stays in force.
    fs::write(&file, "nonsense\n").unwrap();
    first.gate.signal("HUP");
    let failed = |gate: &Gate| gate.metric("cattlegrid_marker_keys_failed") == Some(1.0);
    wait_for("the file is found damaged", || failed(&first.gate));
    assert!(first.get("alice", "/start", &[]).text().contains("cg="));
    // And with the next start.
    let second = Marking {
        gate: first.gate.restart(),
        key: first.key,
    };
    assert!(failed(&second.gate));
    let said = second.gate.stderr();
    assert!(
        said.contains("marker_keys: line 1: a line must be"),
        "{said}"
    );
    assert_eq!(
        second.get("alice", "/start", &[]).text(),
        links_to(&["/page"])
    );
    // Links of before work again as soon as the file is restored.
    fs::write(&file, kept).unwrap();
    second.gate.signal("HUP");
    wait_for("the file is sound", || !failed(&second.gate));
    origin.forget();
    assert_eq!(second.get("alice", &link, &[]).status, 200);
    assert_eq!(asked(&origin), ["/page"]);
    assert_eq!(lines(&second.gate, "/page", 1)[0]["marker"], "own");
}

#[test]
fn redirects_to_the_same_site_are_marked() {
    let origin = Origin::answering(Box::new(|got: &Got| {
        let to = match got.target() {
            "/own" => "/there?x=1",
            "/absolute" => "http://www.example.org/there",
            _ => "https://elsewhere.example/there",
        };
        let head = "HTTP/1.1 302 Found\r\nCache-Control: max-age=60\r\nContent-Length: 0\r\n";
        Some(format!("{head}Location: {to}\r\n\r\n").into_bytes())
    }));
    for (style, sign) in [("query", "cg="), ("path", ";cg="), ("sealed", "/cg:")] {
        let marking = Marking::start(&origin, style, "");
        for path in ["/own", "/absolute"] {
            let answer = marking.get("alice", path, &[]);
            let location = answer.header("location").unwrap();
            assert!(location.contains(sign), "{style} {location}");
            assert_eq!(answer.values("cache-control"), ["private, no-cache"]);
        }
        let answer = marking.get("alice", "/away", &[]);
        assert_eq!(
            answer.header("location").unwrap(),
            "https://elsewhere.example/there"
        );
        assert_eq!(answer.values("cache-control"), ["max-age=60"]);
    }
}

#[test]
fn h134_what_is_no_page_passes_as_it_is() {
    let body = links_to(&["/next"]);
    let kept = body.clone();
    let origin = Origin::answering(Box::new(move |got: &Got| {
        let fields = match got.target() {
            "/events" => "Content-Type: text/event-stream\r\n",
            "/xhtml" => "Content-Type: application/xhtml+xml\r\n",
            "/two" => "Content-Type: text/html\r\nContent-Type: text/html\r\n",
            "/wide" => "Content-Type: text/html; charset=utf-16\r\n",
            "/saved" => "Content-Type: text/html\r\nContent-Disposition: attachment\r\n",
            _ => "",
        };
        Some(answer(&format!("{fields}ETag: \"x\"\r\n"), body.as_bytes()))
    }));
    let marking = Marking::start(&origin, "query", "");
    for path in ["/events", "/xhtml", "/two", "/wide", "/saved", "/none"] {
        let answer = marking.get("alice", path, &[]);
        assert_eq!(answer.text(), kept, "{path}");
        assert_eq!(answer.header("etag").unwrap(), "\"x\"", "{path}");
        assert_eq!(
            answer.header("content-length").unwrap(),
            kept.len().to_string()
        );
    }
    let charset = "cattlegrid_unmarked_total{reason=\"charset\"}";
    assert_eq!(marking.gate.metric(charset), Some(1.0));
}

/// What curl gets by HTTP/2.
fn by_http2(marking: &Marking, target: &str) -> (bool, String) {
    let output = Command::new("curl")
        .args(["-sS", "--http2-prior-knowledge", "--path-as-is", "-i", "-H"])
        .arg(format!("Cookie: {}", marking.cookie("alice")))
        .args(["-H", &format!("Host: {HOST}")])
        .arg(format!("http://{}{target}", marking.gate.address))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), text)
}

#[test]
fn http2_gets_the_same_pages() {
    if !has("curl", 1) {
        return;
    }
    let origin = packing();
    for style in STYLES {
        let marking = Marking::start(&origin, style, "");
        for path in ["/identity", "/gzip"] {
            let (is_whole, text) = by_http2(&marking, path);
            assert!(is_whole && text.starts_with("HTTP/2 200"), "{text}");
            assert!(!text.contains("content-length"), "{text}");
            let link = links(&text).remove(0);
            assert_ne!(link, "/next");
            origin.forget();
            assert!(by_http2(&marking, &link).0);
            assert_eq!(asked(&origin), ["/next"]);
        }
        assert!(!by_http2(&marking, "/corrupt").0);
        assert!(by_http2(&marking, "/br").1.contains("content-length"));
    }
}
