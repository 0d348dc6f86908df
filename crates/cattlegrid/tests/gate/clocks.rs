//! People whose computer shows the wrong day, with a real browser before the gate.

use std::net::SocketAddr;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use serde_json::json;

use crate::browser::Chromium;
use crate::browser::Edits;
use crate::browser::editing;
use crate::browser::limits;
use crate::browser::site;
use crate::harness::Gate;
use crate::harness::say;
use crate::harness::wait_for;
use crate::preload::compiled;
use crate::session::Session;
use crate::skip::has;

const DAY: i64 = 86_400;

/// The clock that a browser is to have.
const CLOCK: &str = "shifted_clock.c";

/// A browser whose clock is wrong by so many seconds, or none.
fn browser(library: &str, seconds: i64) -> Option<Chromium> {
    let shift = seconds.to_string();
    let environment = [("LD_PRELOAD", library), ("CLOCK_SHIFT", shift.as_str())];
    let preferences = json!({"intl.accept_languages": "en"});
    let browser = Session::start("900,700", &preferences, &environment).map(Chromium)?;
    let shown = browser.eval("Date.now()").unwrap().as_f64().unwrap() / 1000.0;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let ahead = shown - now.as_secs_f64();
    assert!((ahead - seconds as f64).abs() < 60.0, "{ahead} s ahead");
    Some(browser)
}

/// Opens pages until a challenge comes. True where the page is shown after it, false where another challenge comes instead.
fn is_led_back(browser: &Chromium, gate: &Gate, address: SocketAddr) -> bool {
    for page in 0..5 {
        browser.open(address, &format!("/page{page}"));
        browser.wait_for_page(&format!("/page{page}"));
    }
    browser.open(address, "/wanted");
    let challenges = || {
        gate.metric("cattlegrid_challenges_total")
            .unwrap_or_default()
    };
    let is_shown = || browser.text("document.title") == "the site";
    wait_for("the page is shown, or the next challenge", || {
        is_shown() || challenges() > 1.0
    });
    challenges() == 1.0
}

#[test]
fn h093_a_clock_that_is_a_day_wrong_costs_one_challenge() {
    if !has("cc", 1) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = compiled(CLOCK, folder.path());
    let origin = site();
    for seconds in [DAY, -DAY] {
        let Some(browser) = browser(&library, seconds) else {
            return;
        };
        let gate = Gate::with(&origin, limits(8));
        assert!(is_led_back(&browser, &gate, gate.address), "{seconds} s");
        browser.wait_for_page("/wanted");
        for page in 5..15 {
            browser.open(gate.address, &format!("/page{page}"));
            browser.wait_for_page(&format!("/page{page}"));
        }
        let challenges = gate.metric("cattlegrid_challenges_total");
        let solved = gate.metric("cattlegrid_solved_total");
        say(&format!(
            "a browser {seconds} s ahead: {challenges:?} challenges, {solved:?} solved, 16 pages"
        ));
        assert_eq!((challenges, solved), (Some(1.0), Some(1.0)));
    }
}

/// The end of a clearance told as a time of the gate's clock, in as many bytes, and no time of the answer by which a browser could correct
/// it: what the gate must not do.
fn by_the_gates_clock() -> Edits {
    let end = jiff::Timestamp::now() + jiff::Span::new().hours(24);
    let end = end.strftime("Expires=%a, %d %b %Y %H:%M:%S GMT");
    let expires: &'static str = end.to_string().leak();
    let told = "Max-Age=86400; HttpOnly; SameSite=Lax";
    assert_eq!(told.len(), expires.len());
    vec![(told, expires), ("\r\ndate: ", "\r\nxate: ")].leak()
}

#[test]
fn h093_an_end_by_the_gates_clock_would_lead_in_a_circle() {
    if !has("cc", 1) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(browser) = browser(&compiled(CLOCK, folder.path()), DAY) else {
        return;
    };
    let gate = Gate::with(&site(), limits(8));
    let address = editing(gate.address, by_the_gates_clock());
    assert!(!is_led_back(&browser, &gate, address));
}
