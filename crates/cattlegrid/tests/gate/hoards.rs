//! Clearances that are earned in bulk, or used from elsewhere: what they cost, how much they buy, and people who change networks.

use crate::challenge::must;
use crate::challenge::withstands;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::solve::Browser;
use crate::solve::Puzzle;

const K1: usize = 5;

fn limits(policy: &str) -> Wanted {
    Wanted {
        parts: format!("[gate.challenge]\nbits = 4\n[policy]\nk1 = {K1}\n{policy}\n"),
        ..Wanted::default()
    }
}

/// Earns clearances without loading a page. Gives a browser with each, and the bits of work of each.
fn hoard(gate: &Gate, source: &str, count: usize) -> Result<(Vec<Browser>, Vec<u32>), String> {
    let (mut browsers, mut bits) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut browser = Browser::new(source, gate.address);
        let challenge = browser.post("challenge", "token=none");
        let puzzle = Puzzle::of(&challenge.text()).ok_or_else(|| challenge.text())?;
        bits.push(puzzle.bits);
        browser.clear(&challenge)?;
        browsers.push(browser);
    }
    Ok((browsers, bits))
}

/// Pages that a browser gets before it is stopped, of so many at most.
fn taken(browser: &mut Browser, most: usize) -> usize {
    (0..most)
        .take_while(|page| browser.get(&format!("/page/{page}")).status == 200)
        .count()
}

/// Uses up what an unknown source may have.
fn exhaust(gate: &Gate, source: &str) {
    let mut other = Browser::new(source, gate.address);
    other.keeps_cookies = false;
    while other.get("/used").status == 200 {}
}

/// Hoards clearances at one address, and uses them up there.
fn buys_in_bulk(gate: &Gate) -> Result<(), String> {
    exhaust(gate, "127.0.60.1");
    let (mut hoarded, bits) = hoard(gate, "127.0.60.1", 100)?;
    let budgets: Vec<usize> = hoarded.iter_mut().map(|one| taken(one, 50)).collect();
    let pages: usize = budgets.iter().sum();
    let figures = format!(
        "100 clearances of one address: {} to {} bits, {} to {} pages each, {pages} in all",
        bits[0], bits[99], budgets[0], budgets[99]
    );
    say(&figures);
    must(
        bits.is_sorted() && bits[99] == bits[0] + 5,
        &format!("no more work: {figures}"),
    )?;
    must(budgets[0] == 40 && budgets[99] == K1, "smaller and smaller")?;
    must(pages <= 1400, "and no more in all")
}

#[test]
fn h197_each_clearance_of_a_source_costs_more_and_buys_less() {
    let origin = Origin::start();
    let policy = "clearance_pages = 40\nclearance_rate = 1000.0\nclearance_burst = 1000";
    let mut wanted = limits(policy);
    let mut gate = Gate::with(&origin, wanted.clone());
    withstands(&mut gate, buys_in_bulk);
    drop(gate);
    wanted.gate = "without = [\"solved_counts\"]".to_owned();
    let gate = Gate::with(&origin, wanted);
    let bought = buys_in_bulk(&gate).unwrap_err();
    // All for the price of the first, and all with its pages.
    assert!(bought.contains("4 to 4 bits, 40 to 40 pages"), "{bought}");
}

/// Hoards clearances at an address for work that another one was asked to do each time. Gives the pages of the last.
fn asks_elsewhere(gate: &Gate) -> Result<(), String> {
    let (source, mut pages) = ("127.0.66.1", 0);
    exhaust(gate, source);
    for number in 0..40 {
        let mut browser = Browser::new(&format!("127.{}.67.1", 150 + number), gate.address);
        let challenge = browser.post("challenge", "token=none");
        let puzzle = Puzzle::of(&challenge.text()).ok_or_else(|| challenge.text())?;
        must(puzzle.bits == 4, "an unused address is asked for little")?;
        source.clone_into(&mut browser.source);
        browser.clear(&challenge)?;
        pages = taken(&mut browser, 50);
    }
    must(pages <= K1, &format!("{pages} pages for the least work"))
}

#[test]
fn h197_work_that_another_address_was_asked_for_buys_k1_pages() {
    let origin = Origin::start();
    // So large that sharing alone leaves more than that.
    let mut wanted =
        limits("clearance_pages = 400\nclearance_rate = 1000.0\nclearance_burst = 1000");
    let mut gate = Gate::with(&origin, wanted.clone());
    withstands(&mut gate, asks_elsewhere);
    drop(gate);
    wanted.gate = "without = [\"work_owed\"]".to_owned();
    let gate = Gate::with(&origin, wanted);
    let bought = asks_elsewhere(&gate).unwrap_err();
    assert!(bought.contains("50 pages for the least work"), "{bought}");
}

/// Ten addresses of a network earn clearances; gives the bits of work that a neighbour is asked for then.
fn work_of_a_neighbour(gate: &Gate) -> Result<(u32, u32), String> {
    let mut first = None;
    for number in 1..=10 {
        let (_, bits) = hoard(gate, &format!("127.0.64.{number}"), 4)?;
        first = first.or(Some(bits[0]));
    }
    let (_, bits) = hoard(gate, "127.0.64.99", 1)?;
    Ok((first.ok_or("none")?, bits[0]))
}

#[test]
fn h197_clearances_of_a_network_cost_its_neighbours_more() {
    let origin = Origin::start();
    let mut wanted = limits("");
    let gate = Gate::with(&origin, wanted.clone());
    let (first, of_neighbour) = work_of_a_neighbour(&gate).unwrap();
    say(&format!(
        "{first} bits for the first, {of_neighbour} for a neighbour of 40"
    ));
    assert!(of_neighbour > first);
    wanted.gate = "without = [\"solved_counts\"]".to_owned();
    let gate = Gate::with(&origin, wanted);
    let (first, of_neighbour) = work_of_a_neighbour(&gate).unwrap();
    assert_eq!(of_neighbour, first);
}

#[test]
fn h197_away_from_its_network_a_clearance_buys_k1_pages() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, limits("clearance_pages = 40"));
    withstands(&mut gate, |gate| {
        let (mut hoarded, _) = hoard(gate, "127.0.61.1", 20)?;
        let mut pages = Vec::new();
        for (number, browser) in hoarded.iter_mut().enumerate() {
            browser.source = format!("127.{}.0.1", 100 + number);
            exhaust(gate, &browser.source);
            pages.push(taken(browser, 50));
        }
        say(&format!("pages of 20 clearances used elsewhere: {pages:?}"));
        must(
            pages.iter().all(|pages| *pages <= K1),
            &format!("{pages:?}"),
        )
    });
}

#[test]
fn h197_moving_gives_no_new_budget() {
    let origin = Origin::start();
    let mut gate = Gate::with(&origin, limits("clearance_pages = 40"));
    withstands(&mut gate, |gate| {
        let (mut hoarded, _) = hoard(gate, "127.0.62.1", 1)?;
        let crawler = &mut hoarded[0];
        let (mut pages, mut bits) = (0, Vec::new());
        for number in 0..12 {
            crawler.source = format!("127.{}.0.1", 130 + number);
            exhaust(gate, &crawler.source);
            pages += taken(crawler, 50);
            let challenge = crawler.get("/next");
            let puzzle = Puzzle::of(&challenge.text()).ok_or("no challenge")?;
            bits.push(puzzle.bits);
            if pages >= 40 {
                break;
            }
            crawler.clear(&challenge)?;
        }
        say(&format!(
            "one clearance in many networks: {pages} pages, bits {bits:?}"
        ));
        must(pages == 40, &format!("{pages} pages"))
    });
}

#[test]
fn h197_people_who_change_networks_confirm_each_once() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, limits("clearance_pages = 200"));
    let homes = ["127.0.63.1", "127.1.63.1", "127.2.63.1"];
    // Their neighbours have used up what unknown sources may have there.
    for home in homes {
        exhaust(&gate, home);
    }
    let mut person = Browser::new(homes[0], gate.address);
    let mut first = None;
    for page in 0..90 {
        // Home, the phone's network and the office, a few pages at a time.
        person.source = homes[page / 4 % 3].to_owned();
        let path = format!("/page/{page}");
        let answer = person.get(&path);
        if let Some(puzzle) = Puzzle::of(&answer.text()) {
            let bits = *first.get_or_insert(puzzle.bits);
            assert!(puzzle.bits <= bits, "an easy one: {} bits", puzzle.bits);
            assert_eq!(person.clear(&answer).unwrap(), path);
            assert_eq!(person.get(&path).status, 200);
        }
    }
    assert_eq!(person.solved, 3, "one for each network");
}
