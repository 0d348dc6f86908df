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
use crate::session::Session;

/// Chromium, driven over WebDriver.
struct Chromium(Session);

impl Chromium {
    /// Starts a browser that prefers a language, or says that there is none.
    fn start(language: &str) -> Option<Chromium> {
        let preferences = json!({"intl.accept_languages": language});
        Session::start("900,700", &preferences).map(Chromium)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.0.ask(path, body)
    }

    fn open(&self, address: SocketAddr, path: &str) {
        let url = format!("http://{address}{path}");
        let value = self.post("/url", &json!({"url": url}));
        assert!(value.get("error").is_none(), "{path}: {value}");
    }

    /// The value of a script; nothing while one page gives way to the next.
    fn eval(&self, script: &str) -> Option<Value> {
        let script = json!({"script": format!("return {script}"), "args": []});
        let value = self.post("/execute/sync", &script);
        value.get("error").is_none().then_some(value)
    }

    fn text(&self, script: &str) -> String {
        let value = self.eval(script).unwrap_or_default();
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page of the site with this path and fragment is shown.
    fn wait_for_page(&self, path: &str) {
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

    fn picture(&self, name: &str) {
        self.0.picture(name);
    }
}

/// A small real site, whose own policy forbids nearly everything.
fn site() -> Origin {
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

fn limits(bits: u8) -> Wanted {
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

/// Passes bytes on but spoils every cookie that the gate sets, as a browser that refuses them does.
fn spoiling(gate: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || spoil(client, gate));
        }
    });
    address
}

fn spoil(mut client: TcpStream, gate: SocketAddr) -> io::Result<()> {
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
        let name = b"set-cookie";
        for at in 0..length.saturating_sub(name.len()) {
            if chunk[at..at + name.len()].eq_ignore_ascii_case(name) {
                chunk[at] = b'x';
            }
        }
        client.write_all(&chunk[..length])?;
    }
}

#[test]
fn h093_refused_cookies_end_in_an_explanation_after_two_rounds() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(8));
    let address = spoiling(gate.address);
    for page in 0..5 {
        browser.open(address, &format!("/page{page}"));
    }
    browser.open(address, "/wanted");
    wait_for("the page explains itself", || {
        browser
            .text("document.getElementById('status')?.textContent")
            .contains("allow cookies")
    });
    browser.picture("cookies.png");
    let answers = gate.metric("cattlegrid_answers_refused_total{reason=\"no_cookie\"}");
    assert_eq!(answers, Some(2.0));
    // It stays there: no loop.
    let shown = gate.metric("cattlegrid_challenges_total");
    thread::sleep(Duration::from_secs(2));
    assert_eq!(gate.metric("cattlegrid_challenges_total"), shown);
    assert_eq!(
        browser.eval("document.getElementById('again').hidden"),
        Some(json!(false))
    );
}

/// The challenge page while it works, in a language.
fn looks(language: &str, title: &str) {
    let Some(browser) = Chromium::start(language) else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(24));
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
