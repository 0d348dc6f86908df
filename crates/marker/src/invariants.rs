//! What must hold for any bytes, in one place for fuzzing and for properties.

use std::sync::Arc;
use std::sync::LazyLock;

use crate::charset::Charset;
use crate::keys::Key;
use crate::keys::Keyring;
use crate::links::Links;
use crate::links::Rules;
use crate::rewrite::Outcome;
use crate::rewrite::Rewriter;
use crate::rewrite::unmark;
use crate::seal::Ages;
use crate::seal::Facts;
use crate::seal::PageMarker;
use crate::seal::Site;
use crate::target;
use crate::target::Found;
use crate::target::Name;
use crate::target::SealedTarget;
use crate::target::Style;

const STYLES: [Style; 3] = [Style::Query, Style::Path, Style::Sealed];

/// One for all runs: expanding keys takes longer than rewriting a small page.
static RING: LazyLock<Option<Keyring>> = LazyLock::new(|| {
    let key = Key {
        id: 1,
        secret: [1; 32],
        since_minutes: 0,
    };
    Keyring::new(&[key], &[2; 32])
});

fn ring() -> Option<&'static Keyring> {
    RING.as_ref()
}

fn page_marker(ring: &Keyring) -> PageMarker {
    let facts = Facts {
        parent: 1,
        user: 2,
        minted_minutes: 3,
    };
    PageMarker::new(ring, &Site::new("example.org"), facts, [7; 12])
}

/// Stripping any target removes all markers at once; stripping a marked target gives the target.
pub fn targets(bytes: &[u8]) {
    let Some(ring) = ring() else { return };
    let name = Name::default();
    let mut page = page_marker(ring);
    let stripped = target::strip(bytes, &name);
    let again = target::strip(&stripped.target, &name);
    assert_eq!(again.target, stripped.target);
    assert_eq!(again.found, Found::Nothing);
    if let Some(sealed) = SealedTarget::of(bytes, &name) {
        // Whatever was sealed, and whatever stands around it, gives a target.
        assert_eq!(sealed.restored(b"/a/b?c").first(), Some(&b'/'));
        return;
    }
    let plain = &stripped.target[..];
    for style in STYLES {
        let Some(marked) = target::mark(plain, style, &name, &mut page) else {
            assert!(plain.first() != Some(&b'/') || style == Style::Sealed);
            continue;
        };
        if style != Style::Sealed {
            let back = target::strip(&marked, &name);
            assert_eq!(back.target, plain);
            assert_eq!(back.found, Found::One(page.shared().as_bytes()));
            continue;
        }
        let Some(sealed) = SealedTarget::of(&marked, &name) else {
            panic!("{} is not sealed", marked.escape_ascii());
        };
        let opened = ring.open(sealed.text, &Site::new("example.org"), 3, &Ages::default());
        let inner = opened.and_then(|opened| opened.target).unwrap_or_default();
        assert_eq!(sealed.restored(&inner), plain);
    }
}

/// A page, rewritten in pieces whose lengths are taken in turn.
pub fn rewritten(
    page: &[u8],
    style: Style,
    lengths: &[usize],
    memory_max: usize,
) -> (Vec<u8>, Outcome) {
    let rules = Arc::new(Rules {
        style,
        ..Rules::default()
    });
    let links = ring().and_then(|ring| {
        let marker = page_marker(ring);
        Links::new(
            "https://example.org",
            b"/a/b?c",
            Charset::Utf8,
            marker,
            rules,
        )
    });
    let Some(links) = links else {
        return Default::default();
    };
    let mut rewriter = Rewriter::new(links, memory_max);
    let mut out = Vec::new();
    let mut rest = page;
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, behind) = rest.split_at((*length).clamp(1, rest.len()));
        rewriter.push(piece, &mut out);
        assert!(rewriter.memory() <= memory_max.max(4096));
        rest = behind;
    }
    rewriter.finish(&mut out);
    (out, rewriter.outcome())
}

/// The marker that all pages of [`rewritten`] get.
pub fn marker() -> String {
    ring().map_or(String::new(), |ring| page_marker(ring).shared().to_owned())
}

/// A page is the same however it is cut, and without its markers it is what it was. The first bytes choose how it is cut.
pub fn pages(bytes: &[u8]) {
    let Some((seed, page)) = bytes.split_first_chunk::<4>() else {
        return;
    };
    let marker = marker();
    if memchr::memmem::find(page, marker.as_bytes()).is_some() {
        return;
    }
    let lengths: Vec<usize> = seed.iter().map(|byte| usize::from(*byte >> 2)).collect();
    for style in STYLES {
        for memory_max in [1 << 20, 512] {
            let (whole, outcome) = rewritten(page, style, &[usize::MAX], memory_max);
            let cut = rewritten(page, style, &lengths, memory_max);
            assert_eq!((&whole, outcome), (&cut.0, cut.1), "{style:?}");
            if outcome.marked == 0 {
                assert_eq!(whole, page);
            }
            if style != Style::Sealed {
                assert_eq!(unmark(&whole, "cg", &marker), page, "{style:?}");
            }
        }
    }
}

/// What generated pages are put together from.
pub const PIECES: [&str; 58] = [
    "<a href=",
    "<a ",
    "<A HREF='",
    "<form action=\"",
    "<base href=",
    "<meta http-equiv=refresh content=\"1;url=",
    "<link rel=next href=",
    "<svg>",
    "</svg>",
    "<title>",
    "</title>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<select>",
    "</select>",
    "<template>",
    "</template>",
    "<style>",
    "</style>",
    "<math><mi>",
    "</mi></math>",
    "<foreignObject>",
    "</foreignObject>",
    "<p>",
    "</p>",
    "<textarea>",
    "</textarea>",
    ">",
    "\"",
    "'",
    " ",
    "/",
    "/x",
    "?a=1",
    "&amp;b",
    "&amp",
    "#f",
    "&num;",
    "&sol;",
    "..",
    "https://example.org",
    "//example.org/y",
    "http:",
    ":",
    "\t",
    "\n",
    "\\",
    "\0",
    "é",
    "download",
    "=",
    "<",
    "!",
    "cg=",
];

/// A page of these pieces; each number gives another.
pub fn generated(number: u32) -> String {
    let mut state = u64::from(number);
    // The steps of SplitMix64.
    let mut draw = |below: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % below as u64) as usize
    };
    let count = 10 + draw(50);
    (0..count).map(|_| PIECES[draw(PIECES.len())]).collect()
}
