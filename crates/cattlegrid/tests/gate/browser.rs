//! A person with a real browser before the gate.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::wait_for;
use crate::sent::counts;
use crate::sent::inspected;
use crate::session::Session;

/// Chromium, driven over WebDriver.
pub(crate) struct Chromium(pub(crate) Session);

impl Chromium {
    /// Starts a browser that prefers a language, or says that there is none.
    pub(crate) fn start(language: &str) -> Option<Chromium> {
        let preferences = json!({"intl.accept_languages": language});
        Session::start("900,700", &preferences, &[]).map(Chromium)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        self.0.ask(path, body)
    }

    pub(crate) fn open(&self, address: SocketAddr, path: &str) {
        let url = format!("http://{address}{path}");
        let value = self.post("/url", &json!({"url": url}));
        assert!(value.get("error").is_none(), "{path}: {value}");
    }

    /// The value of a script; nothing while one page gives way to the next.
    pub(crate) fn eval(&self, script: &str) -> Option<Value> {
        let script = json!({"script": format!("return {script}"), "args": []});
        let value = self.post("/execute/sync", &script);
        value.get("error").is_none().then_some(value)
    }

    pub(crate) fn text(&self, script: &str) -> String {
        let value = self.eval(script).unwrap_or_default();
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page of the site with this path and fragment is shown.
    pub(crate) fn wait_for_page(&self, path: &str) {
        let is_there = || {
            self.text("location.pathname + location.search + location.hash") == path
                && self.text("document.title") == "the site"
        };
        wait_for(&format!("the browser shows {path}"), is_there);
    }

    fn new_tab(&self) -> String {
        let tab = self.post("/window/new", &json!({"type": "tab"}));
        let handle = tab["handle"].as_str().unwrap().to_owned();
        self.show(&handle);
        handle
    }

    fn show(&self, handle: &str) {
        self.post("/window", &json!({"handle": handle}));
    }

    pub(crate) fn picture(&self, name: &str) {
        self.0.picture(name);
    }
}

/// A small real site, whose own policy forbids nearly everything.
pub(crate) fn site() -> Origin {
    Origin::answering(Box::new(|got| {
        let (kind, text) = match got.target().rsplit_once('.') {
            Some((_, "css")) => ("text/css", "body { color: black }".to_owned()),
            Some((_, "png" | "ico")) => ("image/png", String::new()),
            _ => (
                "text/html",
                "<!doctype html><title>the site</title><link rel=stylesheet href=/s.css><img src=/p.png><a href=/next>next</a>".to_owned(),
            ),
        };
        let policy = "default-src 'none'; style-src 'self'; img-src 'self'; require-trusted-types-for 'script'; sandbox allow-same-origin";
        Some(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Security-Policy: {policy}\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            )
            .into_bytes(),
        )
    }))
}

pub(crate) fn limits(bits: u8) -> Wanted {
    Wanted {
        parts: format!("[gate.challenge]\nbits = {bits}\n[policy]\nk1 = 5\n"),
        ..Wanted::default()
    }
}

#[test]
fn a_person_is_challenged_once_led_back_and_goes_on() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(15));
    for page in 0..5 {
        browser.open(gate.address, &format!("/page{page}"));
        browser.wait_for_page(&format!("/page{page}"));
    }
    assert_eq!(gate.metric("cattlegrid_challenges_total"), Some(0.0));
    browser.open(gate.address, "/shop?item=3&name=%C3%A4#part");
    browser.wait_for_page("/shop?item=3&name=%C3%A4#part");
    for page in 5..15 {
        browser.open(gate.address, &format!("/page{page}"));
        browser.wait_for_page(&format!("/page{page}"));
    }
    assert_eq!(gate.metric("cattlegrid_challenges_total"), Some(1.0));
    assert_eq!(gate.metric("cattlegrid_solved_total"), Some(1.0));
    assert!(origin.has_seen("/p.png") && !origin.has_seen("cattlegrid"));
}

#[test]
fn a_real_browser_contradicts_itself_in_no_header_field() {
    let Some(browser) = Chromium::start("de-AT,de") else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, Wanted::default());
    for page in 0..3 {
        browser.open(gate.address, &format!("/page{page}"));
        browser.wait_for_page(&format!("/page{page}"));
        browser.eval("document.querySelector('a').click()");
        browser.wait_for_page("/next");
        browser.post("/refresh", &json!({}));
        browser.wait_for_page("/next");
        browser.post("/back", &json!({}));
        browser.wait_for_page(&format!("/page{page}"));
    }
    browser.open(gate.address, "/last");
    wait_for("it is in the log", || {
        gate.log().iter().any(|line| line["target"] == "/last")
    });
    let (numbers, found) = inspected(&gate, "127.0.0.1");
    let pages = counts(&numbers, "page requests")[0];
    let judged = [
        counts(&numbers, "page requests with judged Sec-Fetch fields"),
        counts(&numbers, "page requests with judged client hints"),
    ];
    for counts in judged {
        assert_eq!(counts[..3], [pages, 0, pages]);
    }
    let languages = counts(&numbers, "page requests with logged language");
    assert_eq!(languages[..3], [pages, 0, 0]);
    let order = counts(&numbers, "page requests with judged header order");
    assert_eq!(order[..2], [pages, 0]);
    let signs = [
        "accept_language",
        "client_hints",
        "fetch_metadata",
        "header_order",
    ];
    let is_sign = |name: &String| signs.contains(&name.as_str());
    assert!(
        pages >= 7 && !found.iter().any(is_sign),
        "{pages} {found:?}"
    );
}

#[test]
fn h105_two_tabs_that_are_challenged_at_once_both_end_on_their_page() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(19));
    for page in 0..5 {
        browser.open(gate.address, &format!("/page{page}"));
    }
    browser.wait_for_page("/page4");
    let one = browser.new_tab();
    let other = browser.new_tab();
    browser.show(&one);
    browser.open(gate.address, "/one");
    browser.show(&other);
    browser.open(gate.address, "/other");
    browser.wait_for_page("/other");
    browser.show(&one);
    browser.wait_for_page("/one");
    assert!(gate.metric("cattlegrid_challenges_total") >= Some(2.0));
}

/// What is put in the place of something else in answers, in as many bytes.
pub(crate) type Edits = &'static [(&'static str, &'static str)];

/// Spoils every cookie that the gate sets, as a browser that refuses them does.
const WITHOUT_COOKIES: Edits = &[("set-cookie", "xet-cookie")];
/// The same, and the page's script does not count its rounds to two.
const WITHOUT_COUNT: Edits = &[
    ("set-cookie", "xet-cookie"),
    (
        "rounds_without_cookie_max = 2",
        "ROUNDS_WITHOUT_COOKIE_MAX = 9",
    ),
    ("const rounds_max = 3", "const ROUNDS_MAX = 9"),
];

/// Passes bytes on with edits.
pub(crate) fn editing(gate: SocketAddr, edits: Edits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || edit(client, gate, edits));
        }
    });
    address
}

fn edit(mut client: TcpStream, gate: SocketAddr, edits: Edits) -> io::Result<()> {
    let mut site = TcpStream::connect(gate)?;
    let (mut from_client, mut to_site) = (client.try_clone()?, site.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_site);
        let _ = to_site.shutdown(std::net::Shutdown::Write);
    });
    let mut chunk = [0; 16 * 1024];
    loop {
        let length = site.read(&mut chunk)?;
        if length == 0 {
            return client.shutdown(std::net::Shutdown::Both);
        }
        for (from, to) in edits {
            for at in 0..length.saturating_sub(from.len()) {
                let found = &mut chunk[at..at + from.len()];
                if found.eq_ignore_ascii_case(from.as_bytes()) {
                    found.copy_from_slice(to.as_bytes());
                }
            }
        }
        client.write_all(&chunk[..length])?;
    }
}

/// Opens a page in a browser whose cookies are refused. True where it is told so after two rounds.
fn h093_is_withstood(browser: &Chromium, gate: &Gate, address: SocketAddr) -> bool {
    let answers = || {
        let refused = gate.metric("cattlegrid_answers_refused_total{reason=\"no_cookie\"}");
        refused.unwrap_or_default()
    };
    let is_told = || {
        let status = browser.text("document.getElementById('status')?.textContent");
        status.contains("allow cookies")
    };
    for page in 0..5 {
        browser.open(address, &format!("/page{page}"));
    }
    browser.open(address, "/wanted");
    wait_for("the page explains itself, or goes on", || {
        is_told() || answers() > 2.0
    });
    is_told() && answers() == 2.0
}

#[test]
fn h093_refused_cookies_end_in_an_explanation_after_two_rounds() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(8));
    let address = editing(gate.address, WITHOUT_COOKIES);
    assert!(h093_is_withstood(&browser, &gate, address));
    browser.picture("cookies.png");
    // It stays there: no loop.
    let shown = gate.metric("cattlegrid_challenges_total");
    thread::sleep(Duration::from_secs(2));
    assert_eq!(gate.metric("cattlegrid_challenges_total"), shown);
    assert_eq!(
        browser.eval("document.getElementById('again').hidden"),
        Some(json!(false))
    );
    let gate = Gate::with(&origin, limits(8));
    let address = editing(gate.address, WITHOUT_COUNT);
    assert!(!h093_is_withstood(&browser, &gate, address));
}

/// The challenge page while it works, in a language.
fn looks(language: &str, title: &str) {
    let Some(browser) = Chromium::start(language) else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(22));
    for page in 0..5 {
        browser.open(gate.address, &format!("/page{page}"));
    }
    browser.open(gate.address, "/wanted");
    wait_for("it makes progress", || {
        browser
            .eval("document.getElementById('progress').value >= 2")
            .is_some_and(|value| value == json!(true))
    });
    assert_eq!(browser.text("document.title"), title);
    assert_eq!(browser.text("document.documentElement.lang"), language);
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.eval(fits), Some(json!(true)));
    browser.picture(&format!("challenge-{language}.png"));
}

#[test]
fn the_challenge_in_english() {
    looks("en", "One moment, please");
}

#[test]
fn the_challenge_in_german() {
    looks("de", "Einen Moment bitte");
}
