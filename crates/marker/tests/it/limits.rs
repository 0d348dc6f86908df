//! Pages without measure: memory stays within its limit, and the time in proportion to the page.

use std::sync::Arc;

use cattlegrid_marker::Charset;
use cattlegrid_marker::Facts;
use cattlegrid_marker::Key;
use cattlegrid_marker::Keyring;
use cattlegrid_marker::Links;
use cattlegrid_marker::Outcome;
use cattlegrid_marker::PageMarker;
use cattlegrid_marker::Rewriter;
use cattlegrid_marker::Rules;
use cattlegrid_marker::Site;
use cattlegrid_marker::Style;
use cattlegrid_marker::rewrite::MEMORY_MAX;

fn rewriter(style: Style) -> Rewriter {
    let key = Key {
        id: 1,
        secret: [1; 32],
        since_minutes: 0,
    };
    let ring = Keyring::new(&[key], &[2; 32]).unwrap();
    let facts = Facts {
        parent: 1,
        user: 2,
        minted_minutes: 3,
    };
    let marker = PageMarker::new(&ring, &Site::new("example.org"), facts, [7; 12]);
    let rules = Arc::new(Rules {
        style,
        ..Rules::default()
    });
    Rewriter::new(
        Links::new("https://example.org", b"/", Charset::Utf8, marker, rules).unwrap(),
        MEMORY_MAX,
    )
}

/// Sends pieces, each so many times; gives the number of bytes that came out.
fn send(rewriter: &mut Rewriter, pieces: &[(&[u8], usize)]) -> (usize, Outcome) {
    let mut out = Vec::new();
    let mut length = 0;
    for (piece, times) in pieces {
        for _ in 0..*times {
            rewriter.push(piece, &mut out);
            assert!(rewriter.memory() <= MEMORY_MAX, "{}", rewriter.memory());
            length += out.len();
            out.clear();
        }
    }
    rewriter.finish(&mut out);
    (length + out.len(), rewriter.outcome())
}

#[test]
fn h128_an_attribute_of_100_mb_passes() {
    let part = vec![b'x'; 64 * 1024];
    for quote in ["\"", "'", ""] {
        let start = format!("<a href={quote}/");
        let end = format!("{quote}><a href=/y>");
        let mut rewriter = rewriter(Style::Query);
        let pieces: [(&[u8], usize); 3] =
            [(start.as_bytes(), 1), (&part, 1600), (end.as_bytes(), 1)];
        let (length, outcome) = send(&mut rewriter, &pieces);
        assert_eq!((outcome.marked, outcome.too_long), (1, 1), "{quote}");
        let page = start.len() + 1600 * part.len() + end.len();
        assert_eq!(length, page + "?cg=".len() + 68);
        assert!(rewriter.memory() < 16 * 1024, "{}", rewriter.memory());
    }
}

/// Also as single bytes, which must not read what came before again.
#[test]
fn h128_a_long_attribute_in_single_bytes_takes_no_longer() {
    let pieces: [(&[u8], usize); 3] = [(b"<a href='", 1), (b"x", 2_000_000), (b"'>", 1)];
    let (length, outcome) = send(&mut rewriter(Style::Path), &pieces);
    assert_eq!((length, outcome.too_long), (2_000_011, 1));
}

#[test]
fn h128_ten_million_links() {
    let part = b"<a href=/x>y</a>".repeat(1000);
    for (style, many) in [(Style::Query, 10_000), (Style::Path, 1000)] {
        let (length, outcome) = send(&mut rewriter(style), &[(&part, many)]);
        assert_eq!(outcome.marked, 1000 * many as u64);
        assert_eq!(length, 1000 * many * (16 + 4 + 68));
    }
    let (_, outcome) = send(&mut rewriter(Style::Sealed), &[(&part, 20)]);
    assert_eq!(outcome.marked, 20_000);
}

#[test]
fn h128_a_million_elements_deep_and_attributes_without_end() {
    for part in [
        "<b>",
        "<svg>",
        "<math><mi>",
        "<svg><foreignObject>",
        "<template>",
        "<select>",
        "<a ",
        "<!--",
        "<script><!--<script",
        "a=b ",
        "&amp;",
        "<",
    ] {
        let part = part.repeat(1000);
        let pieces: [(&[u8], usize); 2] = [(part.as_bytes(), 1000), (b"<a href=/x>", 1)];
        let (length, _) = send(&mut rewriter(Style::Query), &pieces);
        assert!(length >= 1000 * part.len());
    }
}

/// A link of 100 KB is longer than any server takes, and one full of references takes five times its length to decode.
#[test]
fn links_that_are_too_long_are_counted() {
    let href = "&amp;".repeat(20_000);
    let page = format!("<a href='/{href}'><a href=/x>");
    let (_, outcome) = send(&mut rewriter(Style::Query), &[(page.as_bytes(), 1)]);
    assert_eq!((outcome.marked, outcome.too_long), (1, 1));
}
