//! Streams of HTTP/2 that end otherwise than by a complete response.

use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;
use std::time::Instant;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::wait_for;
use crate::http2::DATA;
use crate::http2::END_HEADERS;
use crate::http2::END_STREAM;
use crate::http2::HEADERS;
use crate::http2::RST_STREAM;
use crate::http2::Talk;
use crate::http2::asking;
use crate::http2::block;
use crate::http2::frame;

/// The code by which a client takes a stream back.
const CANCEL: [u8; 4] = [0, 0, 0, 8];

#[test]
fn an_upload_that_is_taken_back_is_never_complete_for_the_site() {
    let origin = Origin::start();
    let gate = Gate::open(&origin, "");
    let mut talk = Talk::open(gate.address, b"");
    for number in 0..50 {
        let (stream, path) = (2 * number + 1, format!("/taken-back-{number}-"));
        let head = block(&asking("POST", &path));
        talk.send(&frame(HEADERS, END_HEADERS, stream, &head))
            .unwrap();
        talk.send(&frame(DATA, 0, stream, b"the first half"))
            .unwrap();
        wait_for("the site has the first half", || origin.has_seen(&path));
        talk.send(&frame(RST_STREAM, 0, stream, &CANCEL)).unwrap();
    }
    wait_for("all requests have ended", || gate.log().len() == 50);
    assert_eq!(origin.got().len(), 0);
}

#[test]
fn pages_of_the_gate_have_no_body_for_who_asks_for_the_head() {
    let origin = Origin::start();
    let gate = Gate::start(&origin);
    let mut talk = Talk::open(gate.address, b"");
    let head = block(&asking("HEAD", "/.cattlegrid/nothing"));
    talk.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head))
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        let next = talk.next(Duration::from_secs(5)).unwrap().unwrap();
        if next.kind == HEADERS {
            assert_eq!(next.flags & END_STREAM, END_STREAM);
            return;
        }
    }
    panic!("no response");
}

#[test]
fn a_client_that_has_lost_its_power_does_not_keep_the_site_at_work() {
    // The site does not respond while the test runs.
    let (running, ended) = mpsc::channel::<()>();
    let ended = Mutex::new(ended);
    let origin = Origin::answering(Box::new(move |_| {
        let _ = ended.lock().unwrap().recv();
        None
    }));
    let waits = "timeouts = { header = 1.0, idle = 1.0, answer = 60.0 }\n";
    let gate = Gate::open(&origin, waits);
    let (mut dead, mut alive) = (Talk::open(gate.address, b""), Talk::open(gate.address, b""));
    for talk in [&mut dead, &mut alive] {
        let head = block(&asking("GET", "/slow"));
        let ask = frame(HEADERS, END_HEADERS | END_STREAM, 1, &head);
        talk.send(&ask).unwrap();
    }
    wait_for("both are connected", || {
        gate.metric("cattlegrid_connections") == Some(2.0)
    });
    let begun = Instant::now();
    // Pings are answered only while frames are read.
    while gate.metric("cattlegrid_connections") == Some(2.0) {
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert!(
            alive
                .next(Duration::from_millis(100))
                .unwrap()
                .is_none_or(|next| next.kind != HEADERS)
        );
    }
    assert!(dead.is_ended_within(Duration::from_secs(2)));
    drop(running);
}
