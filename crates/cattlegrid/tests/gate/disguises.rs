//! Pages that are asked for as something else, and requests that somebody else made a browser send.

use std::io::Write as _;

use crate::crawlers::GOOGLEBOT;
use crate::crawlers::gate;
use crate::harness::Client;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::get_from;
use crate::harness::page;
use crate::harness::request;
use crate::harness::say;
use crate::harness::wait_for;
use crate::solve::Browser;

/// A site whose API takes any method.
fn api() -> Origin {
    Origin::answering(Box::new(|_| {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        Some(head.as_bytes().to_vec())
    }))
}

#[test]
fn a_programs_name_is_no_free_pass_for_an_api() {
    let origin = api();
    let gate = gate(&origin, "resolver = \"off\"");
    for (number, agent) in ["Slackbot-LinkExpanding 1.0", "git/2.43.0"]
        .iter()
        .enumerate()
    {
        let mut program = Browser::new("127.0.0.1", gate.address)
            .with("X-Forwarded-For", &format!("198.51.100.{number}"))
            .with("User-Agent", agent);
        let passed = (0..1000).filter(|page| {
            let target = format!("/graphql?page={page}");
            program.send("POST", &target, &[], "{}").status == 200
        });
        let passed = passed.count();
        say(&format!("{agent}: {passed} of 1000 responses of an API"));
        assert!(passed <= 550, "{agent}: {passed}");
    }
}

/// All requests are decided about before the first one is answered.
#[test]
fn forms_that_are_held_open_bring_few_pages() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let source = "127.0.58.1";
    let mut held: Vec<Client> = (0..200)
        .map(|number| {
            let mut client = Client::connect(source, gate.address).unwrap();
            let target = format!("/page/{number}");
            client
                .send(&request("POST", &target, &[("Content-Length", "1")]))
                .unwrap();
            client
        })
        .collect();
    wait_for("all were let pass", || {
        gate.metric("cattlegrid_connections") >= Some(200.0)
    });
    for client in &mut held {
        client.stream.write_all(b"x").unwrap();
    }
    let statuses: Vec<u16> = held
        .iter_mut()
        .map(|client| client.answer(false).unwrap().status)
        .collect();
    let passed = statuses.iter().filter(|status| **status == 200).count();
    say(&format!("200 forms that were held open: {passed} pages"));
    assert!((20..=45).contains(&passed), "{statuses:?}");
    assert!(
        statuses
            .iter()
            .all(|status| matches!(status, 200 | 403 | 429))
    );
}

#[test]
fn several_ranges_of_a_page_are_the_page() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let ranges = |value: &str| {
        origin.forget();
        get_from("127.0.58.2", gate.address, "/page", &[("Range", value)]);
        origin.got().pop().unwrap().values("range")
    };
    assert_eq!(ranges("bytes=0-0,1-"), Vec::<String>::new());
    assert_eq!(ranges("bytes=5-"), ["bytes=5-"]);
}

#[test]
fn a_proven_robots_pages_count_whatever_they_are_called() {
    let origin = Origin::answering(Box::new(|_| Some(page("a page"))));
    let gate = gate(&origin, "resolver = \"off\"\npages = 150");
    let mut robot = Browser::new("127.0.0.1", gate.address)
        .with("X-Forwarded-For", "66.249.66.1")
        .with("User-Agent", GOOGLEBOT);
    let passed =
        (0..400).filter(|number| robot.get(&format!("/page/{number}/x.css")).status == 200);
    assert!((150..=151).contains(&passed.count()));
}

/// What another site makes a browser ask for is logged with where it came from, so that it is nobody's evidence.
#[test]
fn what_another_site_led_to_is_logged_as_that() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let led = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Dest", "image"),
        ("Sec-Fetch-Mode", "no-cors"),
    ];
    for path in ["/robots.txt", "/.env"] {
        get_from("127.0.58.3", gate.address, path, &led);
    }
    get_from("127.0.58.3", gate.address, "/photo.png", &led);
    wait_for("all are in the log", || gate.log().len() >= 3);
    for line in gate.log() {
        let is_told = line
            .get("fetch_site")
            .is_some_and(|site| site == "cross-site");
        assert_eq!(is_told, line["target"] != "/photo.png", "{line}");
    }
}

#[test]
fn text_browsers_get_a_question() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let mut elinks = Browser::new("127.0.58.4", gate.address)
        .with(
            "User-Agent",
            "ELinks/0.13.2 (textmode; Linux 6.1 x86_64; 80x25-2)",
        )
        .with("Accept", "*/*");
    let last = (0..25)
        .map(|number| elinks.get(&format!("/page/{number}")))
        .last()
        .unwrap();
    assert_eq!(last.status, 403);
    assert!(last.text().contains("name=\"answer\""), "{}", last.text());
}
