//! Header fields in which browsers and programs differ: what the gate logs of them is what `analyze` judges.

use std::fs;
use std::process::Command;

use serde_json::Value;
use serde_json::json;

use crate::front::asked;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::get;
use crate::harness::wait_for;

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
/// The keys of header fields in the log.
const KEYS: [&str; 8] = [
    "fetch_site",
    "fetch_mode",
    "fetch_dest",
    "ua",
    "ua_mobile",
    "ua_platform",
    "language",
    "order",
];

/// Header fields of a page request as Chrome sends them, after its host.
fn chrome(site: &str, referrer: &str) -> String {
    format!(
        "sec-ch-ua: \"Chromium\";v=\"131\", \"Not\\A;Brand\";v=\"24\"\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: \"Windows\"\r\n\
         User-Agent: {CHROME}\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: navigate\r\n\
         Sec-Fetch-Dest: document\r\n{referrer}Accept-Encoding: gzip\r\nAccept-Language: de-AT,de;q=0.9\r\n"
    )
}

fn send(gate: &Gate, target: &str, fields: &str) {
    let mut client = Client::connect("127.0.0.1", gate.address).unwrap();
    let head = format!("GET {target} HTTP/1.1\r\nHost: www.example.org\r\n{fields}\r\n");
    client.send(head.as_bytes()).unwrap();
    client.answer(false).unwrap();
}

/// The header fields in the line of a target.
fn logged(gate: &Gate, target: &str) -> Value {
    let find = || gate.log().into_iter().find(|line| line["target"] == target);
    wait_for("it is in the log", || find().is_some());
    let line = find().unwrap();
    let fields = KEYS.iter().filter_map(|key| {
        let value = line.get(*key)?;
        Some(((*key).to_owned(), value.clone()))
    });
    Value::Object(fields.collect())
}

/// What `inspect` says of the gate's log: the numbers of the first window, and the detectors that found something.
pub(crate) fn inspected(gate: &Gate, source: &str) -> (Value, Vec<String>) {
    let kept = gate.path("inspected.json");
    let output = Command::new(env!("CARGO_BIN_EXE_cattlegrid"))
        .args(["inspect", source])
        .arg(gate.path("state/access.log"))
        .arg("--json")
        .arg(&kept)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    let window = &document["windows"][0];
    let evidence = document["source"]["evidence"].as_array().unwrap();
    let found = evidence
        .iter()
        .map(|item| item["detector"].as_str().unwrap().to_owned());
    (window["numbers"].clone(), found.collect())
}

/// The count of this name among the numbers of a window, and those that follow it.
pub(crate) fn counts(numbers: &Value, name: &str) -> Vec<u64> {
    let numbers = numbers.as_array().unwrap();
    let at = numbers.iter().position(|number| number["what"] == name);
    let at = at.unwrap_or_else(|| panic!("no {name} in {numbers:?}"));
    let value = |number: &Value| number["count"].as_u64().unwrap();
    numbers[at..].iter().map(value).collect()
}

#[test]
fn a_page_request_is_logged_with_its_header_fields() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    send(&gate, "/page", &chrome("none", ""));
    assert_eq!(
        logged(&gate, "/page"),
        json!({"fetch_site": "none", "fetch_mode": "navigate", "fetch_dest": "document",
            "ua": "'Chromium';v='131', 'Not/A;Brand';v='24'", "ua_mobile": "?0", "ua_platform": "'Windows'",
            "language": "de-AT,de;q=0.9", "order": "huael"})
    );
    // Parts of pages are not judged by them.
    send(&gate, "/style.css", &chrome("same-origin", ""));
    assert_eq!(logged(&gate, "/style.css"), json!({}));
    // Without TLS a browser sends no more than a language.
    get(gate.address, "/plain", &[]);
    assert_eq!(
        logged(&gate, "/plain"),
        json!({"language": "en", "order": "hual"})
    );
    send(&gate, "/none", "Accept: */*\r\n");
    assert_eq!(logged(&gate, "/none"), json!({"language": ""}));
    let long = format!("Accept-Language: {}\r\n", "x".repeat(5000));
    send(&gate, "/long", &long);
    assert_eq!(logged(&gate, "/long")["language"], "x".repeat(255));
}

#[test]
fn a_field_that_a_server_before_the_gate_withholds_is_not_logged() {
    let origin = Origin::start();
    let proxied = Gate::set(&origin, "trusted_proxies = [\"127.0.0.1\"]", "");
    let fields = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
    ];
    get(proxied.address, "/page", &fields);
    // A proxy passes on all fields, but not in their order.
    assert_eq!(
        logged(&proxied, "/page"),
        json!({"fetch_site": "", "fetch_mode": "", "fetch_dest": "", "ua": "", "ua_mobile": "",
            "ua_platform": "", "language": "en"})
    );
    let asked = Gate::with(&origin, asked("forward_auth"));
    let query = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
        ("X-Original-URI", "/page"),
        ("X-Original-Method", "GET"),
        ("X-Original-Host", "www.example.org"),
        ("Sec-Fetch-Site", "none"),
    ];
    get(asked.address, "/auth/nginx", &query);
    assert_eq!(
        logged(&asked, "/page"),
        json!({"fetch_site": "none", "language": "en"})
    );
}

#[test]
fn http2_has_no_order() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "20", "--http2-prior-knowledge"])
        .args(["-H", "Accept: text/html,application/xhtml+xml"])
        .args(["-H", "Accept-Language: en"])
        .arg(format!("http://{}/page", gate.address))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(logged(&gate, "/page"), json!({"language": "en"}));
}

#[test]
fn what_the_gate_logs_is_judged() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let own = "Referer: http://www.example.org/start\r\n";
    for page in 0..6 {
        send(&gate, &format!("/page/{page}"), &chrome("none", own));
    }
    logged(&gate, "/page/5");
    let (numbers, found) = inspected(&gate, "127.0.0.1");
    let fetch = counts(&numbers, "page requests with judged Sec-Fetch fields");
    let hints = counts(&numbers, "page requests with judged client hints");
    let language = counts(&numbers, "page requests with logged language");
    let order = counts(&numbers, "page requests with judged header order");
    assert_eq!(
        (&fetch[..3], &hints[..3], &language[..2], &order[..2]),
        (&[6, 0, 0][..], &[6, 0, 6][..], &[6, 0][..], &[6, 0][..])
    );
    // All six contradict; but there is nobody else to compare with.
    assert!(!found.contains(&"fetch_metadata".to_owned()), "{found:?}");
}
