//! Measures what markers cost: `cargo run --release -p cattlegrid-marker --example speed`. With the argument `short`, without the large pages.
#![allow(
    clippy::print_stdout,
    reason = "a measurement is the output of this program"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use cattlegrid_marker::Ages;
use cattlegrid_marker::Charset;
use cattlegrid_marker::Facts;
use cattlegrid_marker::Key;
use cattlegrid_marker::Keyring;
use cattlegrid_marker::Links;
use cattlegrid_marker::Name;
use cattlegrid_marker::PageMarker;
use cattlegrid_marker::Reader;
use cattlegrid_marker::Rewriter;
use cattlegrid_marker::Rules;
use cattlegrid_marker::Site;
use cattlegrid_marker::Style;
use cattlegrid_marker::rewrite::MEMORY_MAX;
use cattlegrid_marker::target;

const FACTS: Facts = Facts {
    parent: 1,
    user: 2,
    minted_minutes: 3,
};

/// The best of many short runs, in nanoseconds for each call: on a busy machine some of them are not interrupted.
fn best(calls: u32, mut call: impl FnMut(u32)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        (0..calls).for_each(&mut call);
        let taken = start.elapsed().as_secs_f64() * 1e9 / f64::from(calls);
        best = best.min(taken);
    }
    best
}

/// A page like those of a forum: lists of links between text, some of them to other sites.
fn page(links: usize, bytes: usize) -> Vec<u8> {
    let mut page = String::from("<!doctype html><html><head><title>Forum</title></head><body>\n");
    let filler = bytes.saturating_sub(links * 90) / links;
    for index in 0..links {
        let href = match index % 6 {
            0 => format!("/topic/{index}"),
            1 => format!("/topic/{index}?page=2&amp;sort=new"),
            2 => format!("user/{index}#posts"),
            3 => format!("https://example.org/tag/{index}"),
            4 => format!("https://example.com/{index}"),
            _ => format!("?page={index}"),
        };
        page += &format!(
            "<li class=\"item\"><a class=\"title\" href=\"{href}\">Topic {index}</a>\n<p>"
        );
        page.extend("Some words of a post. ".chars().cycle().take(filler));
        page += "</p></li>\n";
    }
    page.into_bytes()
}

fn rewriter(ring: &Keyring, style: Style, nonce: u32) -> Rewriter {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&nonce.to_be_bytes());
    let marker = PageMarker::new(ring, &Site::new("example.org"), FACTS, bytes);
    let rules = Arc::new(Rules {
        style,
        ..Rules::default()
    });
    let origin = "https://example.org";
    let links = Links::new(origin, b"/forum/", Charset::Utf8, marker, rules);
    Rewriter::new(links.expect("the address is valid"), MEMORY_MAX)
}

fn rewriting(ring: &Keyring, links: usize, bytes: usize) {
    let page = page(links, bytes);
    for style in [Style::Query, Style::Path, Style::Sealed] {
        let mut out = Vec::with_capacity(page.len() * 3);
        let mut marked = 0;
        let taken = best(10, |call| {
            out.clear();
            let mut rewriter = rewriter(ring, style, call);
            for piece in page.chunks(16 * 1024) {
                rewriter.push(piece, &mut out);
            }
            rewriter.finish(&mut out);
            marked = rewriter.outcome().marked;
        });
        let rate = page.len() as f64 / taken * 1e3;
        println!(
            "{style:?}: {} bytes, {links} links, {marked} marked: {:.1} µs, {rate:.0} MB/s",
            page.len(),
            taken / 1e3
        );
    }
}

fn requests(ring: &Keyring) {
    let (name, site) = (Name::default(), Site::new("example.org"));
    let reader = Reader {
        ring,
        name: &name,
        site: &site,
        ages: Ages::default(),
        now_minutes: 3,
    };
    let mint = best(1000, |_| {
        black_box(PageMarker::new(ring, &site, FACTS, [7; 12]));
    });
    println!("mint: {mint:.0} ns");
    let mut page = PageMarker::new(ring, &site, FACTS, [7; 12]);
    let seal = best(1000, |_| {
        black_box(page.seal(b"/forum/topic/123?page=2"));
    });
    println!("seal: {seal:.0} ns");
    for style in [Style::Query, Style::Path, Style::Sealed] {
        let marked = target::mark(b"/forum/topic/123?page=2", style, &name, &mut page);
        let marked = marked.expect("the target begins with /");
        let read = best(1000, |_| {
            black_box(reader.target(black_box(&marked)));
        });
        println!("read a request, {style:?}: {read:.0} ns");
    }
    let plain = best(1000, |_| {
        black_box(reader.target(black_box(b"/forum/topic/123?page=2")));
    });
    println!("read a request without a marker: {plain:.0} ns");
    let names = best(1000, |_| {
        black_box(ring.page_name(black_box(b"/forum/topic/123?page=2")));
    });
    println!("name of a page: {names:.0} ns");
}

/// Pages without measure, in pieces of 64 KiB.
fn large(ring: &Keyring) {
    let links = b"<a href=/x>y</a>".repeat(4096);
    let long = vec![b'x'; 64 * 1024];
    for (what, start, piece, times) in [
        ("10 million links", "", &links, 10_000_000 / 4096),
        ("one attribute of 100 MB", "<a href='/", &long, 1600),
        ("500 MB of text", "", &long, 8000),
    ] {
        let mut rewriter = rewriter(ring, Style::Query, 1);
        let mut out = Vec::new();
        let begin = Instant::now();
        rewriter.push(start.as_bytes(), &mut out);
        for _ in 0..times {
            out.clear();
            rewriter.push(piece, &mut out);
        }
        let seconds = begin.elapsed().as_secs_f64();
        let rate = (piece.len() * times) as f64 / seconds / 1e6;
        println!(
            "{what}: {seconds:.2} s, {rate:.0} MB/s, {} bytes of memory",
            rewriter.memory()
        );
    }
}

fn main() {
    let key = Key {
        id: 1,
        secret: [1; 32],
        since_minutes: 0,
    };
    let ring = Keyring::new(&[key], &[2; 32]).expect("the ring has one key");
    rewriting(&ring, 120, 30_000);
    rewriting(&ring, 116, 51_000);
    requests(&ring);
    if std::env::args().nth(1).as_deref() != Some("short") {
        large(&ring);
    }
}
