//! Clearance cookies through the running gate: only genuine ones pass, for those they were given to, as far as they go.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::challenge::challenged;
use crate::challenge::fails_but_without;
use crate::challenge::must;
use crate::challenge::strict;
use crate::challenge::withstands;
use crate::harness::Answer;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::free_port;
use crate::solve::Browser;
use crate::solve::Puzzle;
use crate::without_javascript::Asked;
use crate::without_javascript::asked;

/// A browser that has solved a challenge.
pub(crate) fn cleared(gate: &Gate, source: &str) -> Browser {
    let (mut browser, challenge) = challenged(gate, source, "/x");
    browser.clear(&challenge).unwrap();
    browser
}

/// What a page looks like without the parts that differ from challenge to challenge.
fn shape(answer: &Answer) -> String {
    let text = answer.text();
    let Some(puzzle) = Puzzle::of(&text) else {
        return text;
    };
    let length = puzzle.token.len();
    let question = Asked::of(&text);
    let question = question.as_ref().map_or("no question", Asked::text);
    text.replace(question, "question")
        .replace(&puzzle.token, &format!("token of {length}"))
        .replace(&puzzle.seed, "seed")
        .replace(&format!("data-bits=\"{}\"", puzzle.bits), "")
}

fn forges_cookies(gate: &Gate) -> Result<(), String> {
    let mut browser = cleared(gate, "127.0.1.1");
    let genuine = browser.cookies["cattlegrid"].clone();
    let bytes = URL_SAFE_NO_PAD.decode(&genuine).unwrap();
    let mut forged: Vec<String> = (0..8 * bytes.len())
        .map(|bit| {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            URL_SAFE_NO_PAD.encode(bytes)
        })
        .collect();
    forged.extend((0..genuine.len()).map(|length| genuine[..length].to_owned()));
    forged.extend([
        "eyJhbGciOiJub25lIn0.eyJpZCI6MX0.".to_owned(),
        "eyJhbGciOiJIUzI1NiIsImtpZCI6Ii4uLy4uL2Rldi9udWxsIn0.e30.AAAA".to_owned(),
        "A".repeat(8000),
        format!("{genuine}A"),
        format!("{genuine}="),
        genuine.to_lowercase(),
        format!("\"{genuine}\""),
    ]);
    let elsewhere = {
        let mut other = Browser::new("127.0.1.1", gate.address).with("Host", "other.example");
        let challenge = other.get("/x");
        other.clear(&challenge)?;
        other.cookies["cattlegrid"].clone()
    };
    forged.push(elsewhere);
    // A page like any other challenge: nobody learns where a forgery fails.
    browser.cookies.remove("cattlegrid");
    let expected = shape(&browser.get("/y"));
    for cookie in forged {
        browser
            .cookies
            .insert("cattlegrid".to_owned(), cookie.clone());
        let answer = browser.get("/y");
        must(
            answer.status == 403,
            &format!("{cookie}: {}", answer.status),
        )?;
        must(
            shape(&answer) == expected,
            &format!("{cookie}: {}", answer.text()),
        )?;
    }
    browser.cookies.insert("cattlegrid".to_owned(), genuine);
    must(browser.get("/y").status == 200, "the genuine one passes")
}

#[test]
fn h088_only_the_genuine_cookie_passes() {
    fails_but_without("clearance_binding", forges_cookies);
}

#[test]
fn h089_a_valid_cookie_is_found_among_stale_ones() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, strict(""));
    let mut browser = cleared(&gate, "127.0.1.2");
    let genuine = browser.cookie();
    let stale = "cattlegrid=AQEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for cookies in [
        format!("{stale}; {genuine}"),
        format!("{genuine}; {stale}"),
        format!("{}; {genuine}", [stale; 7].join("; ")),
    ] {
        let answer = browser.send("GET", "/y", &[("Cookie", &cookies)], "");
        assert_eq!(answer.status, 200, "{cookies}");
    }
    // One behind fifty others is not looked for; solving one challenge more helps.
    let cookies = format!("{}; {genuine}", [stale; 50].join("; "));
    let answer = browser.send("GET", "/y", &[("Cookie", &cookies)], "");
    assert_eq!(answer.status, 403);
    assert_eq!(browser.open("/z").status, 200);
}

fn steals_a_cookie(gate: &Gate) -> Result<(), String> {
    let mut owner = cleared(gate, "127.0.1.3");
    let (mut thief, _) = challenged(gate, "127.1.1.3", "/x");
    thief.cookies.clone_from(&owner.cookies);
    thief
        .headers
        .push(("User-Agent".to_owned(), "Mozilla/5.0 (other)".to_owned()));
    must(
        thief.get("/y").status == 403,
        "with another agent it is void",
    )?;
    must(owner.get("/y").status == 200, "the owner's stays")
}

#[test]
fn h090_a_stolen_cookie_is_void_with_another_agent() {
    fails_but_without("clearance_binding", steals_a_cookie);
}

#[test]
fn h090_the_owner_can_bind_it_to_the_network() {
    let origin = Origin::start();
    let mut wanted = strict("");
    wanted.parts = wanted
        .parts
        .replace("bits = 8", "bits = 8\nbinding = \"network\"");
    let gate = Gate::with(&origin, wanted);
    let mut owner = cleared(&gate, "127.0.1.4");
    let (mut thief, _) = challenged(&gate, "127.1.1.4", "/x");
    thief.cookies.clone_from(&owner.cookies);
    assert_eq!(thief.get("/y").status, 403);
    owner.source = "127.0.1.44".to_owned();
    assert_eq!(owner.get("/y").status, 200, "the same network");
    // Bound to the agent alone, it is good for a few pages in another network.
    let gate = Gate::with(&origin, strict(""));
    let owner = cleared(&gate, "127.0.1.4");
    let (mut thief, _) = challenged(&gate, "127.1.1.4", "/x");
    thief.cookies.clone_from(&owner.cookies);
    let passed = (0..30)
        .filter(|page| thief.get(&format!("/y{page}")).status == 200)
        .count();
    assert_eq!(passed, 3, "what an unknown source may have");
}

#[test]
fn h091_who_changes_networks_goes_on_with_little_work() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, strict(""));
    let mut browser = cleared(&gate, "127.0.1.5");
    for page in 0..15 {
        // Another network for every page: nobody has more of them.
        browser.source = format!("127.{}.7.9", 20 + page);
        assert_eq!(browser.open(&format!("/y{page}")).status, 200);
    }
    assert!(browser.solved <= 5, "{} challenges", browser.solved);
}

/// The attributes of a cookie, but for its value.
fn attributes(cookie: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = cookie.split("; ").skip(1).collect();
    parts.sort_unstable();
    parts
}

fn looks_at_cookies_on_http(gate: &Gate) -> Result<(), String> {
    let (mut browser, challenge) = challenged(gate, "127.0.1.6", "/x");
    let solved = browser.post("answer", &crate::solve::solve(&challenge.text()));
    for (answer, name) in [(&challenge, "cattlegrid-ask="), (&solved, "cattlegrid=")] {
        let cookie = answer.header("set-cookie").ok_or("no cookie")?;
        must(cookie.starts_with(name), &cookie)?;
        must(
            attributes(&cookie) == ["HttpOnly", "Max-Age=86400", "Path=/", "SameSite=Lax"],
            &cookie,
        )?;
    }
    Ok(())
}

#[test]
fn h092_cookies_on_http_have_what_protects_them_there() {
    fails_but_without("cookie_attributes", looks_at_cookies_on_http);
}

/// A certificate for a test, made by the tool that owners use.
pub(crate) fn certificate(folder: &std::path::Path) -> (String, String) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=www.example.org",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    (certificate, key)
}

/// The agent of those who ask over TLS: a clearance is bound to it.
const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// Asks over TLS, with a cookie.
fn ask_tls(port: u16, path: &str, cookie: &str, form: Option<&str>) -> Answer {
    let url = format!("https://www.example.org:{port}{path}");
    let to = format!("www.example.org:{port}:127.0.0.1");
    let mut curl = Command::new("curl");
    curl.args(["-ski", "--http1.1", "--resolve", &to, "-H"])
        .arg("Accept: text/html")
        .args(["-A", AGENT])
        .args(["-H", &format!("Cookie: {cookie}"), &url]);
    if let Some(form) = form {
        curl.args(["-d", form]);
    }
    let output = curl.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{url}: {output:?}"));
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: format!("{head}\r\n\r\n"),
        body: body.as_bytes().to_vec(),
    }
}

fn pair(cookie: &str) -> String {
    cookie.split(';').next().unwrap().to_owned()
}

/// A gate that listens on https as well, on this port.
fn secure_gate(origin: &Origin, settings: &str, folder: &std::path::Path, port: u16) -> Gate {
    let (certificate, key) = certificate(folder);
    let mut wanted = strict(settings);
    wanted.parts = format!(
        "[[gate.listen]]\naddress = \"127.0.0.1:{port}\"\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n{}",
        wanted.parts
    );
    Gate::with(origin, wanted)
}

/// Earns a clearance on https. Gives what was set to ask and to clear.
fn earn_tls(port: u16) -> [String; 2] {
    for page in 0..3 {
        assert_eq!(ask_tls(port, &format!("/p{page}"), "", None).status, 200);
    }
    let challenge = ask_tls(port, "/x", "", None);
    assert_eq!(challenge.status, 403);
    let asked = challenge.header("set-cookie").unwrap();
    let solution = crate::solve::solve(&challenge.text());
    let solved = ask_tls(port, "/.cattlegrid/answer", &pair(&asked), Some(&solution));
    let cookie = solved.header("set-cookie").unwrap();
    assert_eq!(ask_tls(port, "/y", &pair(&cookie), None).status, 200);
    [asked, cookie]
}

/// Whether cookies on https have all that protects them, whether one that a sibling site can set is void, and one from http.
fn h092_is_withstood(gate: &Gate, port: u16) -> [bool; 3] {
    let cookies = earn_tls(port);
    let protected = [
        "HttpOnly",
        "Max-Age=86400",
        "Path=/",
        "SameSite=Lax",
        "Secure",
    ];
    let names = ["__Host-cattlegrid-ask=", "__Host-cattlegrid="];
    let mut named = cookies.iter().zip(names);
    let is_protected =
        named.all(|(cookie, name)| cookie.starts_with(name) && attributes(cookie) == protected);
    // What a sibling site can set is a cookie without the prefix. It is not looked at, however genuine it is.
    let plain = pair(&cookies[1]).replace("__Host-", "");
    let sibling = ask_tls(port, "/y", &plain, None).status;
    // One that was given over http does not do on https: somebody on the way may have put it there.
    let mut over_http = Browser::new("127.0.0.1", gate.address).with("User-Agent", AGENT);
    let challenge = over_http.get("/x");
    over_http.clear(&challenge).unwrap();
    assert_eq!(over_http.get("/y").status, 200);
    let from_http = ask_tls(port, "/y", &over_http.cookie(), None).status;
    [is_protected, sibling == 403, from_http == 403]
}

#[test]
fn h092_cookies_on_https_cannot_come_from_sibling_sites() {
    let origin = Origin::start();
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let mut gate = secure_gate(&origin, "", folder.path(), port);
    withstands(&mut gate, |gate| {
        let held = h092_is_withstood(gate, port);
        must(held == [true; 3], &format!("{held:?}"))
    });
    drop(gate);
    let off = "without = [\"cookie_attributes\"]";
    let gate = secure_gate(&origin, off, folder.path(), port);
    assert_eq!(h092_is_withstood(&gate, port), [false; 3]);
}

/// Sends right answers in addresses, as a link or an image of another site makes a browser do: its cookies go with a link. Nothing may come
/// of it, and what was answered so is still to be answered.
fn answers_in_addresses(gate: &Gate) -> Result<(), String> {
    for (net, name) in [(40, "answer"), (41, "question")] {
        for (number, method) in ["GET", "HEAD"].into_iter().enumerate() {
            let source = format!("127.0.{net}.{number}");
            let (mut browser, challenge) = challenged(gate, &source, "/wanted");
            let form = match name {
                "answer" => crate::solve::solve(&challenge.text()),
                _ => asked(&challenge).form(),
            };
            let path = format!("/.cattlegrid/{name}?{form}");
            for (site, part) in [
                ("cross-site", "document"),
                ("cross-site", "image"),
                ("none", "document"),
            ] {
                let headers = [("Sec-Fetch-Site", site), ("Sec-Fetch-Dest", part)];
                let answer = browser.send(method, &path, &headers, "");
                let set = answer.values("set-cookie");
                must(set.is_empty(), &format!("{method} {name}: {set:?}"))?;
            }
            must(browser.get("/wanted").status == 403, "no clearance")?;
            let posted = browser.post(name, &form);
            let is_cleared = posted
                .values("set-cookie")
                .iter()
                .any(|set| set.starts_with("cattlegrid="));
            must(is_cleared, &format!("{name} is spent: {}", posted.text()))?;
            must(browser.get("/wanted").status == 200, "cleared")?;
        }
    }
    Ok(())
}

#[test]
fn h095_an_answer_in_an_address_counts_for_nothing_and_is_not_spent() {
    let origin = Origin::start();
    // A question that need not wait, or that would be what stops the answer.
    let mut gate = Gate::with(
        &origin,
        strict("without = [\"question_wait\", \"question_turns\"]"),
    );
    withstands(&mut gate, answers_in_addresses);
    drop(gate);
    let all = "without = [\"question_wait\", \"question_turns\", \"post_only\"]";
    let gate = Gate::with(&origin, strict(all));
    let succeeded = answers_in_addresses(&gate).unwrap_err();
    assert!(succeeded.contains("cattlegrid="), "{succeeded}");
}
