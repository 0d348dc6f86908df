//! From a refusal to being let in: every refusal has a number that the owner can look up, and a person at an address that was denied by
//! its traffic earns a clearance by a harder challenge.

use cattlegrid_core::policy::Action;
use cattlegrid_store::Base;
use cattlegrid_store::Change;
use cattlegrid_store::Entry;
use cattlegrid_store::Origin as Said;
use serde_json::Value;

use crate::browser::Chromium;
use crate::browser::site;
use crate::harness::Answer;
use crate::harness::Gate;
use crate::harness::NO_LIMITS;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::page;
use crate::harness::wait_for;
use crate::solve::Browser;
use crate::solve::Puzzle;

const DENIED: &str = "127.0.0.5";

fn gate(origin: &Origin, limits: &str) -> Gate {
    let wanted = Wanted {
        parts: format!("[gate.challenge]\nbits = 4\n[policy]\n{limits}\n"),
        ..Wanted::default()
    };
    Gate::with(origin, wanted)
}

/// Denies an address as judging does.
fn deny(gate: &Gate, source: &str) {
    let mut base = Base::open_or_create(&gate.path("state/kb.sqlite")).unwrap();
    let entry = Entry {
        reason: "took the whole catalogue".to_owned(),
        expires: Some(u32::MAX),
        ..Entry::new(
            source.parse().unwrap(),
            Action::Deny,
            Said::Analysis,
            1_900_000_000,
        )
    };
    let denial = [Change::Put(Box::new(entry))];
    base.apply(&denial, "gate", 1_900_000_000).unwrap();
}

/// A browser at an address that is denied by its traffic.
fn denied(gate: &Gate) -> Browser {
    deny(gate, DENIED);
    let mut browser = Browser::new(DENIED, gate.address);
    wait_for("the denial counts", || is_refused(&browser.get("/")));
    browser
}

/// True for the page of a denial; a challenge has the same status.
fn is_refused(page: &Answer) -> bool {
    page.text().contains("class=\"number\"")
}

/// What a hidden field of a form holds.
fn token(page: &Answer) -> Option<String> {
    let text = page.text();
    let (_, rest) = text.split_once("name=\"token\" value=\"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// The number on a page.
fn number(page: &Answer) -> String {
    let text = page.text();
    let found = text.split_once("class=\"number\">");
    let (_, rest) = found.unwrap_or_else(|| panic!("no number: {text}"));
    rest.split('<').next().unwrap().to_owned()
}

/// What the owner learns about a number, once it is in the log.
fn looked_up(gate: &Gate, number: &str) -> String {
    wait_for("the number is in the log", || {
        let lines = gate.log();
        lines.iter().any(|line| line["incident"] == number)
    });
    gate.command(&["incident", number, "--config"], "gate.toml")
}

#[test]
fn a_person_at_a_denied_address_earns_a_clearance_by_a_harder_challenge() {
    let origin = Origin::start();
    let gate = gate(&origin, "k1 = 5");
    let mut person = denied(&gate);
    let page = person.get("/wanted?a=1");
    assert_eq!(page.status, 403);
    let harder = person.post("back", &format!("token={}", token(&page).unwrap()));
    let bits = Puzzle::of(&harder.text()).unwrap().bits;
    assert!(bits >= 8, "{bits} bits; others have 4");
    assert_eq!(person.clear(&harder).unwrap(), "/wanted?a=1");
    for page in 0..5 {
        assert_eq!(person.get(&format!("/{page}")).status, 200, "{page}");
    }
    let page = person.get("/more");
    assert_eq!(page.status, 403, "k1 pages, then another one is due");
    let harder = person.post("back", &format!("token={}", token(&page).unwrap()));
    assert!(Puzzle::of(&harder.text()).unwrap().bits >= bits);
    // Another browser at the address has earned nothing.
    assert_eq!(Browser::new(DENIED, gate.address).get("/x").status, 403);
}

#[test]
fn no_cheaper_clearance_lifts_a_denial() {
    let origin = Origin::start();
    let gate = gate(&origin, "k1 = 5\nquestion_seconds = 1");
    // Earned before the denial, by ordinary work.
    let mut crawler = Browser::new(DENIED, gate.address);
    for page in 0..6 {
        crawler.open(&format!("/{page}"));
    }
    assert_eq!(crawler.solved, 1);
    let old = crawler.get("/7");
    assert_eq!(old.status, 200);
    // A challenge from elsewhere, answered at the denied address.
    let mut other = Browser::new("127.0.1.9", gate.address);
    for page in 0..5 {
        other.get(&format!("/{page}"));
    }
    let easy = other.get("/more");
    deny(&gate, DENIED);
    wait_for("the denial counts", || is_refused(&crawler.get("/8")));
    other.source = DENIED.to_owned();
    let _ = other.clear(&easy);
    assert_eq!(other.get("/9").status, 403, "ordinary work");
    // The question of a harder challenge.
    let page = crawler.get("/8");
    let form = format!("token={}&answer=1", token(&page).unwrap());
    let answer = crawler.post("question", &form);
    assert!(Puzzle::of(&answer.text()).is_some_and(|puzzle| puzzle.bits >= 8));
    assert_eq!(crawler.get("/8").status, 403);
    // A harder challenge that is answered from elsewhere, for an address that may be denied later on.
    let mut person = Browser::new(DENIED, gate.address);
    let page = person.get("/8");
    let harder = person.post("back", &format!("token={}", token(&page).unwrap()));
    person.source = "127.0.3.9".to_owned();
    assert_eq!(person.clear(&harder).unwrap_err(), "other_visitor");
    // A clearance that lifts one denial lifts no other.
    person.source = DENIED.to_owned();
    person.clear(&harder).unwrap();
    deny(&gate, "127.0.2.9");
    person.source = "127.0.2.9".to_owned();
    wait_for("the other denial counts", || is_refused(&person.get("/8")));
}

#[test]
fn nothing_lifts_what_the_owner_said() {
    let origin = Origin::start();
    let gate = gate(&origin, "k1 = 5");
    let mut person = denied(&gate);
    let page = person.get("/");
    let harder = person.post("back", &format!("token={}", token(&page).unwrap()));
    person.clear(&harder).unwrap();
    assert_eq!(person.get("/").status, 200);
    gate.kb(&["deny", DENIED, "--yes"]);
    wait_for("the owner's word counts", || {
        let page = person.get("/");
        is_refused(&page) && token(&page).is_none()
    });
    let page = person.get("/");
    assert!(!page.text().contains("back\""), "{}", page.text());
}

#[test]
fn every_refusal_has_a_number_that_the_owner_can_look_up() {
    // A site that closes the connection without a response on one page.
    let origin = Origin::answering(Box::new(|got| match got.target() {
        "/broken" => None,
        _ => Some(page("a page")),
    }));
    let rule = "[[gate.rule]]\npath = \"/private*\"\naction = \"block\"\n";
    let wanted = Wanted {
        parts: format!("{NO_LIMITS}\n{rule}"),
        ..Wanted::default()
    };
    let gate = Gate::with(&origin, wanted);
    let mut visitor = Browser::new("127.0.0.7", gate.address);
    let page = visitor.get("/private/x");
    let by_rule = looked_up(&gate, &number(&page));
    assert!(
        by_rule.contains("127.0.0.7 refused") && by_rule.contains("[[gate.rule]]"),
        "{by_rule}"
    );
    let again = visitor.get("/private/y");
    assert_eq!(number(&again), number(&page), "the same visitor");
    let program = visitor.send("POST", "/private/y", &[("Accept", "*/*")], "");
    let json: Value = serde_json::from_str(&program.text()).unwrap();
    assert_eq!(json["incident"], number(&page));
    let by_entry = looked_up(&gate, &number(&denied(&gate).get("/x")));
    assert!(
        by_entry.contains("took the whole catalogue")
            && by_entry.contains("kb allow 127.0.0.5 --config")
            && by_entry.contains("not denied again for 7 days"),
        "{by_entry}"
    );
    // As the owner is told.
    gate.command(&["kb", "forget", DENIED, "--config"], "gate.toml");
    let mut person = Browser::new(DENIED, gate.address);
    wait_for("it is let in", || person.get("/x").status == 200);
    let page = visitor.get("/broken");
    assert_eq!(page.status, 502);
    let by_site = looked_up(&gate, &number(&page));
    assert!(by_site.contains("did not respond"), "{by_site}");
}

#[test]
fn chromium_finds_the_way_back() {
    let Some(chromium) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let gate = gate(&origin, "k1 = 5");
    deny(&gate, "127.0.0.1");
    wait_for("the browser is refused", || {
        chromium.open(gate.address, "/wanted");
        chromium.text("document.title") == "No access"
    });
    chromium.picture("way-back.png");
    chromium.eval("document.querySelector('button').click()");
    chromium.wait_for_page("/wanted");
}

/// A harder challenge lifts no rule, so the page of a rule does not offer one.
#[test]
fn the_page_of_a_rule_offers_no_harder_challenge() {
    let origin = Origin::start();
    let wanted = Wanted {
        parts: "[[gate.rule]]\npath = \"/private*\"\naction = \"block\"\n".to_owned(),
        ..Wanted::default()
    };
    let gate = Gate::with(&origin, wanted);
    let mut browser = denied(&gate);
    let offers = |page: &Answer| page.text().contains("/.cattlegrid/back");
    assert!(offers(&browser.get("/page")));
    let refused = browser.get("/private");
    assert!(is_refused(&refused) && !offers(&refused));
}
