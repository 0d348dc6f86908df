//! Hostile return targets, held against what a browser would make of them.

use proptest::prelude::*;
use url::Url;

use super::*;

const PREFIX: &str = "/.cattlegrid/";

/// What browsers, and servers that decode first, may take a text for.
fn readings(text: &str) -> Vec<String> {
    let without_blanks: String = text
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    let decoded_once = String::from_utf8_lossy(&decoded(text.as_bytes())).into_owned();
    let mut readings = vec![
        text.to_owned(),
        text.trim_matches(|c: char| c <= ' ').to_owned(),
        without_blanks.clone(),
        text.replace('\\', "/"),
        without_blanks.replace('\\', "/"),
        decoded_once.clone(),
        decoded_once.replace('\\', "/"),
        String::from_utf8_lossy(&decoded(decoded_once.as_bytes())).into_owned(),
    ];
    let again: Vec<String> = readings
        .iter()
        .map(|text| text.replace(['\t', '\n', '\r'], ""))
        .collect();
    readings.extend(again);
    readings
}

/// Independent of the code under test: the `url` crate does what the URL standard asks of browsers.
fn stays(text: &str) -> bool {
    let site = Url::parse("https://site.example/some/page?x=y").unwrap();
    readings(text).iter().all(|reading| {
        let target = site.join(reading);
        // What came back is a path, so that it cannot be taken for another site when it is read a second time either.
        target.is_ok_and(|target| {
            target.origin() == site.origin() && !target.path().starts_with("//")
        })
    })
}

fn check(target: &[u8]) -> &str {
    let returned = return_to(target, PREFIX);
    assert!(returned.starts_with('/'), "{returned}");
    assert!(
        stays(returned),
        "{} leads away as {returned}",
        String::from_utf8_lossy(target)
    );
    assert!(
        returned == "/" || returned.as_bytes() == target,
        "{returned}"
    );
    returned
}

/// What a target may begin with to be taken for another site.
const BEGINNINGS: &[&str] = &[
    "//",
    "///",
    "////",
    "/\\",
    "\\/",
    "\\\\",
    "/\t/",
    "/\n/",
    "/\r/",
    "/\r\n/",
    "\t//",
    " //",
    "/ /",
    "/%09/",
    "/%0a/",
    "/%0d%0a/",
    "/%2f",
    "/%2F/",
    "/%5c",
    "/%5C/",
    "/%252f",
    "/%255c",
    "/%20//",
    "/./",
    "/.//",
    "/..//",
    "/../",
    "/%2e//",
    "/%2e%2e//",
    "/.%2e//",
    "/a/..//",
    "/a/../..//",
    "/;/../",
    "/\u{a0}/",
    "/\u{2028}/",
    "/\u{ff0f}",
    "/\0/",
    "/%00/",
    "/\u{7f}/",
    "https:",
    "https:/",
    "https://",
    "HTTPS://",
    "http:\\\\",
    "https:\\/",
    "hTTps:///",
    "javascript:",
    "java\tscript:",
    "data:text/html,",
    "vbscript:",
    "blob:https://",
    "file:///",
    "ws://",
    "//@",
    "/\\@",
    "//site.example@",
    "https://site.example@",
    "https://site.example:1@",
    "https://site.example.",
    "//site.example.",
    "//[::1]@",
    "?//",
    "#//",
    "",
    ".",
    "..",
    "./",
    "../",
    "a",
    "*",
    "@",
];

/// Where it would lead.
const HOSTS: &[&str] = &[
    "evil.example",
    "evil.example/path?x=y#z",
    "@evil.example",
    "evil%2eexample",
    "evil.example:443/",
    "[2001:db8::1]/",
    "198.51.100.7",
    "alert(1)",
    "%0devil.example",
];

/// Each beginning with each host.
fn hostile() -> Vec<String> {
    let with_host = |start: &&str| {
        HOSTS
            .iter()
            .map(|host| format!("{start}{host}"))
            .collect::<Vec<_>>()
    };
    BEGINNINGS.iter().flat_map(with_host).collect()
}

#[test]
fn h094_only_pages_of_the_site_are_returned_to() {
    let hostile = hostile();
    assert!(hostile.len() >= 500, "{}", hostile.len());
    let leading_away = hostile.iter().filter(|text| !stays(text)).count();
    // The list has teeth: taken as they are, most of these lead elsewhere.
    assert!(leading_away >= 300, "{leading_away}");
    for text in &hostile {
        check(text.as_bytes());
        if !stays(text) {
            assert_eq!(check(text.as_bytes()), "/", "{text}");
        }
    }
}

#[test]
fn h094_a_naive_check_would_let_some_through() {
    let naive = |text: &&String| text.starts_with('/') && !text.starts_with("//");
    assert!(hostile().iter().filter(naive).any(|text| !stays(text)));
}

#[test]
fn h094_known_tricks_lead_to_the_start() {
    let long = format!("/{}", "a".repeat(RETURN_BYTES_MAX));
    for text in [
        "",
        "//evil.example",
        "/\\evil.example",
        "/%09/evil.example",
        "/\t/evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "/a\\b",
        "/a b",
        "/a\r\nset-cookie: x=y",
        "/a%0d%0ab",
        "/%2e%2e/x",
        "/a/./b",
        "/a/..",
        "/%5cevil",
        "/%252f/evil",
        "relative",
        &long,
        // The gate's own pages.
        "/.cattlegrid",
        "/.cattlegrid/",
        "/.cattlegrid/answer",
        "/.cattlegrid?x",
        "/%2ecattlegrid/answer",
        "/.CattleGrid/answer",
        "/.cattlegrid%2fanswer",
        "/%252ecattlegrid/",
    ] {
        assert_eq!(check(text.as_bytes()), "/", "{text}");
    }
    assert_eq!(check(b"/\xff\xfe"), "/");
}

#[test]
fn honest_targets_come_back_byte_for_byte() {
    let long = format!("/{}", "a".repeat(RETURN_BYTES_MAX - 1));
    for text in [
        "/",
        "/?",
        "/a?b=c;d&e=%2f",
        "/a/b.html",
        "/a//b",
        "/.well-known/x",
        "/...",
        "/a..b/.c/",
        "/%E6%97%A5%E6%9C%AC",
        "/?next=//other.example/",
        "/?u=https://other.example/%09",
        "/a;b=c,d'e(f)*!$~+@:g|h{i}",
        "/@user",
        "/https://other.example/",
        "/a%20b",
        "/a%2fb",
        "/100%",
        "/a?x=%0a",
        "/#",
        "/.cattlegridx",
        "/x/.cattlegrid/",
        &long,
    ] {
        assert_eq!(check(text.as_bytes()), text);
    }
    assert_eq!(return_to(b"/gate", "/gate/"), "/");
    assert_eq!(return_to(b"/gates", "/gate/"), "/gates");
}

proptest! {
    #[test]
    fn h094_whatever_comes_leads_to_the_site(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        text in "[/\\\\]?[/\\\\.%a-f0-9@:?#;\\t\\n\\r 2fFcC5eE]{0,24}",
        odd in "/\\PC{0,20}",
    ) {
        check(&bytes);
        check(text.as_bytes());
        check(odd.as_bytes());
    }
}
