//! Pages of a signed-in person that are longer than any reader reads: the gate's memory does not grow with them.

use std::io;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::connect_from;
use crate::harness::page;
use crate::harness::say;
use crate::markers::gzip;
use crate::markers::peak_kib;
use crate::marking::Marking;

/// The allocator takes memory in pieces of 2 MiB and more. That a page takes no more than 2 MiB is tested where it is rewritten.
const GROWN_KIB_MAX: u64 = 4 * 1024;

/// A site with one page: these bytes, as often as the address says.
fn endless(fields: &'static str, part: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let text = String::from_utf8_lossy(&head[..length]).into_owned();
            let times = text.split(['/', ' ']).nth(2).unwrap_or_default();
            let sent = match times.parse() {
                Ok(times) => send(&mut stream, fields, &part, times),
                Err(_) => stream.write_all(&page("small")),
            };
            // Whoever ends the connection early has had enough.
            drop(sent);
        }
    });
    address
}

fn send(out: &mut impl Write, fields: &str, part: &[u8], times: usize) -> io::Result<()> {
    let length = part.len() * times;
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    (0..times).try_for_each(|_| out.write_all(part))
}

/// Loads an eighth of the page and then all of it. Gives the bytes that came, and by how many KiB the gate has grown over the second.
fn load(site: SocketAddr, times: usize, what: &str) -> (u64, u64) {
    let parts = format!("[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://{site}\"\n");
    // Each thread takes memory of its own with its first connection.
    let wanted = Wanted {
        gate: "workers = 1".to_owned(),
        parts,
        ..Wanted::default()
    };
    let marking = Marking::with(&Origin::start(), "query", wanted);
    let cookie = marking.cookie("alice");
    let get = |path: &str| {
        let text =
            format!("GET {path} HTTP/1.0\r\nHost: www.example.org\r\nCookie: {cookie}\r\n\r\n");
        let mut stream = connect_from("127.0.0.1", marking.gate.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        io::copy(&mut stream, &mut io::sink()).unwrap()
    };
    get("/small");
    get(&format!("/{}", times / 8));
    let (before, began) = (peak_kib(&marking.gate), Instant::now());
    let length = get(&format!("/{times}"));
    let (seconds, grown) = (
        began.elapsed().as_secs_f64(),
        peak_kib(&marking.gate).saturating_sub(before),
    );
    say(&format!(
        "{what}: {length} bytes in {seconds:.1} s ({:.0} MB/s in a debug build), {grown} KiB more memory",
        length as f64 / 1e6 / seconds
    ));
    assert!(!marking.gate.stderr().contains("panicked"));
    (length, grown)
}

/// A packed page cannot be more than 1032 times as long as it was: 4 MiB for 4 GiB.
#[test]
fn h128_four_gigabytes_in_four_megabytes() {
    let part = gzip(&vec![b' '; 64 << 20]);
    let site = endless("Content-Encoding: gzip\r\n", part);
    let (length, grown) = load(site, 64, "4 GiB in 4 MiB");
    assert!(length > 4 << 30, "{length}");
    assert!(grown <= GROWN_KIB_MAX, "{grown} KiB");
}

#[test]
fn h128_half_a_gigabyte_of_page() {
    let part =
        "<p>A line of text that is as long as most are, and <b>one</b> word.</p>\n".repeat(1000);
    let times = 500_000_000 / part.len() + 1;
    let site = endless("", part.into_bytes());
    let (length, grown) = load(site, times, "500 MB plain");
    assert!(length > 500_000_000, "{length}");
    assert!(grown <= GROWN_KIB_MAX, "{grown} KiB");
}
