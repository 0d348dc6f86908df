//! Requests whose length or lines can be read in two ways: they are refused, and nothing of them reaches the site.

use std::net::SocketAddr;

use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::each;
use crate::harness::naive;
use crate::harness::raw;
use crate::harness::watched;

/// A POST with a path of its own, these header lines and this body.
fn post(number: usize, lines: &str, body: &str) -> Vec<u8> {
    format!("POST /case{number}. HTTP/1.1\r\nHost: www.example.org\r\n{lines}\r\n{body}")
        .into_bytes()
}

/// Nothing of a request reaches the site, and the one answer is 400 and an end.
fn refused(
    address: SocketAddr,
    origin: &Origin,
    number: usize,
    bytes: &[u8],
) -> Result<(), String> {
    let answer = raw(address, bytes);
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    if origin.has_seen(&format!("/case{number}.")) {
        return Err(format!("{text:?} reached the site"));
    }
    match (answer.status(), answer.answers(), answer.is_closed) {
        (400, 1, true) => Ok(()),
        _ => Err(format!("{text:?} was answered: {answer:?}")),
    }
}

/// Every form is refused by the gate, none by a forwarder of bytes, and not all without the check of framing.
fn check_forms(forms: &[Vec<u8>]) {
    let numbered: Vec<(usize, &Vec<u8>)> = forms.iter().enumerate().collect();
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    watched(&mut guarded, |gate| {
        let results = each(&numbered, |(number, form)| {
            refused(gate.address, &origin, *number, form)
        });
        assert_eq!(results, vec![Ok(()); forms.len()]);
    });
    let origin = Origin::start();
    let bare = naive(origin.address);
    let results = each(&numbered, |(number, form)| {
        refused(bare, &origin, *number, form)
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
    let origin = Origin::start();
    let lax = Gate::limitless(&origin, "without = [\"framing\"]", "");
    let results = each(&numbered, |(number, form)| {
        refused(lax.address, &origin, *number, form)
    });
    assert!(results.iter().any(Result::is_err));
}

fn forms(lines: &[&str], body: &str) -> Vec<Vec<u8>> {
    let numbered = lines.iter().enumerate();
    numbered
        .map(|(number, lines)| post(number, lines, body))
        .collect()
}

#[test]
fn h001_a_length_beside_an_encoding() {
    check_forms(&forms(
        &[
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
            "content-length: 6\r\nX-Between: y\r\ntransfer-encoding: CHUNKED\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
        ],
        "0\r\n\r\nG",
    ));
}

#[test]
fn h002_lengths() {
    check_forms(&forms(
        &[
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\nX-Between: y\r\ncontent-length: 5\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: 5,6\r\n",
            "Content-Length:\r\n",
            "Content-Length: \r\n",
            "Content-Length: +5\r\n",
            "Content-Length: -5\r\n",
            "Content-Length:  0x5\r\n",
            "Content-Length: 5 5\r\n",
            "Content-Length: 5,\r\n",
            "Content-Length: ,5\r\n",
            "Content-Length: 5;\r\n",
            "Content-Length: 5.0\r\n",
            "Content-Length: \"5\"\r\n",
            "Content-Length: \t5\r\n",
            "Content-Length: 5\x0b\r\n",
            "Content-Length: 18446744073709551616\r\n",
            "Content-Length: 18446744073709551621\r\n",
            "Content-Length: 9223372036854775808\r\n",
        ],
        "abcde",
    ));
}

#[test]
fn h003_encodings() {
    let mut all = forms(
        &[
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: chunkedx\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, identity\r\n",
            "Transfer-Encoding: \tchunked\r\n",
            "Transfer-Encoding:\tchunked\r\n",
            "Transfer-Encoding: \x0bchunked\r\n",
            "Transfer-Encoding: chunked;q=1\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: ,chunked\r\n",
            "Transfer-Encoding:\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        ],
        "3\r\nabc\r\n0\r\n\r\n",
    );
    all.push(
        format!(
            "POST /case{}. HTTP/1.0\r\nHost: www.example.org\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            all.len()
        )
        .into_bytes(),
    );
    check_forms(&all);
}

/// A body in chunks that is none: the answer is 400 and an end, and the site never gets a whole request.
fn cut_short(
    address: SocketAddr,
    origin: &Origin,
    number: usize,
    bytes: &[u8],
) -> Result<(), String> {
    let answer = raw(address, bytes);
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let target = format!("/case{number}.");
    if origin.got().iter().any(|got| got.target() == target) || origin.has_seen("/smuggled") {
        return Err(format!("{text:?} reached the site whole"));
    }
    match (answer.status(), answer.answers(), answer.is_closed) {
        (400, 1, true) => Ok(()),
        _ => Err(format!("{text:?} was answered: {answer:?}")),
    }
}

#[test]
fn h004_chunks() {
    let long = format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("{}0\r\n\r\n", "1;\r\na\r\n".repeat(100_000));
    let trailers = format!("0\r\n{}\r\n", "X-A: b\r\n".repeat(10_000));
    let next = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let behind = [
        format!("3\r\nabc\r\n\r\n{next}"),
        format!("3\nabc\n0\n\n{next}"),
        format!("3\r\nabc\r\n0\r\n\n{next}"),
        format!("3\r\nabc\n0\r\n\r\n{next}"),
        format!("0\n\r\n{next}"),
    ];
    let mut bodies = vec![
        "FFFFFFFFFFFFFFFFF\r\nabc",
        "10000000000000003\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n",
        "-1\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n",
        " 3\r\nabc\r\n0\r\n\r\n",
        "3\rabc\r\n0\r\n\r\n",
        "3;a\nb\r\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "3\r\nab\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\nX : y\r\n\r\n",
        "3\r\nabc\r\n0\r\nX: y\n\r\n",
        "3\r\nabc\r\n0\r\n X: y\r\n\r\n",
        "ghi\r\n",
        &long,
        &many,
        &trailers,
    ];
    bodies.extend(behind.iter().map(String::as_str));
    let all: Vec<(usize, Vec<u8>)> = bodies
        .iter()
        .enumerate()
        .map(|(number, body)| (number, post(number, "Transfer-Encoding: chunked\r\n", body)))
        .collect();
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    watched(&mut guarded, |gate| {
        let rss_kib = gate.rss_kib();
        let results = each(&all, |(number, form)| {
            cut_short(gate.address, &origin, *number, form)
        });
        assert_eq!(results, vec![Ok(()); all.len()]);
        let grown = gate.rss_kib().saturating_sub(rss_kib);
        assert!(grown < 8 * 1024, "{grown} KiB for megabytes of nothing");
    });
    let origin = Origin::start();
    let bare = naive(origin.address);
    let results = each(&all, |(number, form)| {
        cut_short(bare, &origin, *number, form)
    });
    assert!(results.iter().all(Result::is_err), "{results:?}");
    let lax = Gate::limitless(&origin, "without = [\"framing\"]", "");
    let results = each(&all, |(number, form)| {
        cut_short(lax.address, &origin, *number, form)
    });
    assert!(results.iter().any(Result::is_err));
}

#[test]
fn h008_header_lines() {
    let mut all = forms(
        &[
            ": x\r\n",
            "Name : v\r\n",
            "Name\t: v\r\n",
            "A: b\x00c\r\n",
            "A: b\rc\r\n",
            "A: b\r\r\n",
            "A: b\nC: d\r\n",
            "A: b\r\n c\r\n",
            "A: b\r\n\tc\r\n",
            " A: b\r\n",
            "A(: b\r\n",
            "A\u{e9}: b\r\n",
            "A\r\n",
            "A: \x7f\r\n",
            "A: \x01\r\n",
            "Content-Length : 5\r\n",
            "A: b\n",
            "A: b\nContent-Length: 5\nTransfer-Encoding: chunked\n",
        ],
        "",
    );
    // Where the head ends is in doubt: behind a bare line feed, or not at all.
    for end in ["\n\r\n", "\n\n", "\r\n\n"] {
        let number = all.len();
        let head = format!(
            "POST /case{number}. HTTP/1.1\r\nHost: www.example.org\r\nContent-Length: 90000\r\nTransfer-Encoding: chunked"
        );
        // A reader that sees no end here has more to read than any head is long.
        let chunk = "a".repeat(90_000);
        all.push(format!("{head}{end}15f90\r\n{chunk}\r\n0\r\n\r\n").into_bytes());
    }
    check_forms(&all);
}

#[test]
fn h008_an_empty_line_ends_the_head() {
    let origin = Origin::start();
    let mut guarded = Gate::limitless(&origin, "", "");
    let bytes = "GET /first HTTP/1.1\r\nHost: www.example.org\r\n\r\nX-Behind: 1\r\n\r\n";
    let is_refused = |address: SocketAddr, origin: &Origin| {
        let answer = raw(address, bytes.as_bytes());
        answer.status() == 200
            && answer.text.contains("400 Bad Request")
            && !origin.has_seen("X-Behind")
            && !origin.has_seen("x-behind")
    };
    watched(&mut guarded, |gate| {
        assert!(is_refused(gate.address, &origin));
    });
    assert!(!is_refused(naive(origin.address), &origin));
}
