//! Challenges and answers to them, through the running gate.

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::solve::Browser;
use crate::solve::Puzzle;

/// A gate that challenges early, for little work.
pub(crate) fn strict(more: &str) -> Wanted {
    Wanted {
        gate: more.to_owned(),
        parts: "[gate.challenge]\nbits = 8\n[policy]\nk1 = 3\nclearance_pages = 20\n".to_owned(),
        ..Wanted::default()
    }
}

/// A browser that has used up what an unknown source may ask for.
pub(crate) fn spent(gate: &Gate, source: &str) -> Browser {
    let mut browser = Browser::new(source, gate.address);
    for page in 0..3 {
        assert_eq!(browser.get(&format!("/page{page}")).status, 200);
    }
    browser
}

#[test]
fn who_solves_a_challenge_is_led_back_and_goes_on() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, strict(""));
    let before = gate.before();
    let mut browser = spent(&gate, "127.0.0.2");
    let challenge = browser.get("/shop?item=3&b=%2f");
    assert_eq!(challenge.status, 403);
    assert_eq!(challenge.header("cache-control").unwrap(), "no-store");
    assert!(Puzzle::of(&challenge.text()).is_some());
    let page = browser.clear(&challenge).unwrap();
    assert_eq!(page, "/shop?item=3&b=%2f");
    assert_eq!(
        browser.get(&page).text(),
        "you asked for /shop?item=3&b=%2f"
    );
    assert_eq!(browser.part("/picture.png").status, 200);
    assert_eq!(browser.get("/more").status, 200);
    assert!(
        !origin.has_seen("cattlegrid"),
        "the site sees no cookie of ours"
    );
    gate.check_after(&before);
}
