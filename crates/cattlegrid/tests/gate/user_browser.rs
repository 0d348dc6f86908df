//! A signed-in person's real browser in the hands of a program: it goes through all links and meets a question made for people, in a page that
//! can be read and answered; whoever answers goes on where he was.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::browser::Chromium;
use crate::harness::Gate;
use crate::harness::wait_for;
use crate::sign_in::cookie;
use crate::sign_in::key_file;
use crate::user_paths::NO_PACE;
use crate::user_paths::SECRET;
use crate::user_paths::tree;

/// Pages after which the question must have come: a long session has 60.
const PAGES_MAX: usize = 150;

/// Goes through all links, the deepest first, until the question comes; gives the pages it got before.
fn crawl(browser: &Chromium, gate: &Gate) -> usize {
    let mut seen = BTreeSet::new();
    let mut found: Vec<String> = Vec::new();
    for got in 0..PAGES_MAX {
        if browser
            .text("document.body.innerText")
            .contains("with your account")
        {
            return got;
        }
        let shown = "Array.from(document.links).reverse().map(link => link.pathname + link.search)";
        let shown = browser.eval(shown).unwrap_or_default();
        let links = shown.as_array().into_iter().flatten();
        for link in links.filter_map(Value::as_str) {
            if seen.insert(link.split('?').next().unwrap_or_default().to_owned()) {
                found.push(link.to_owned());
            }
        }
        let next = found.pop().expect("the site has more pages");
        browser.open(gate.address, &next);
    }
    panic!("{PAGES_MAX} pages, and no question");
}

#[test]
fn a_browser_that_goes_through_all_links_is_asked_and_goes_on() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = tree();
    let key = key_file(SECRET);
    let parts = format!(
        "{NO_PACE}[gate.markers]\nstyle = \"query\"\n[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"{}\"\n[gate.paths]\nmode = \"act\"\n",
        key.display()
    );
    let gate = Gate::set(&origin, "", &parts);
    browser.open(gate.address, "/");
    let who = cookie(&key, "*", "alice", 3600);
    browser.eval(&format!("(document.cookie = 'who={who}; path=/')"));
    browser.open(gate.address, "/");
    let pages = crawl(&browser, &gate);
    assert!((31..PAGES_MAX).contains(&pages), "{pages}");
    browser.checked("suspect");
    let asked_at = browser.text("location.pathname");
    // A wrong answer is told, and asked again.
    browser.type_into("#answer", "999");
    browser.click("form button");
    wait_for("the answer is wrong", || {
        browser
            .text("document.title")
            .contains("not the right number")
    });
    wait_for("the right answer leads back", || {
        let answer = browser.question().solve();
        browser.type_into("#answer", &answer.unwrap_or_default().to_string());
        browser.click("form button");
        browser.text("location.pathname") == asked_at
            && !browser.source().contains("name=\"token\"")
    });
    // Links have markers as before, and lead on.
    let marked = browser.text("document.links[1].search");
    assert!(marked.contains("cg="), "{marked}");
    browser.click("a");
    wait_for("the browser goes on", || {
        browser.text("location.pathname") == "/" && !browser.source().contains("name=\"token\"")
    });
}
