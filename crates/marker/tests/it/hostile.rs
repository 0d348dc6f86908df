//! Pages by hand: which links change, and which do not.

use cattlegrid_marker::GaveUp;
use cattlegrid_marker::Style;
use cattlegrid_marker::invariants::marker;
use cattlegrid_marker::invariants::rewritten;
use cattlegrid_marker::rewrite::unmark;

const STYLES: [Style; 3] = [Style::Query, Style::Path, Style::Sealed];

/// `T` in the expected page stands for the marker.
fn check(page: &str, style: Style, expected: &str) {
    let (new, _) = rewritten(page.as_bytes(), style, &[usize::MAX], 1 << 20);
    let shown = String::from_utf8(new).unwrap().replace(&marker(), "T");
    assert_eq!(shown, expected, "{style:?} {page}");
}

/// Nothing changes in any style.
fn check_same(page: &str) {
    for style in STYLES {
        let (new, outcome) = rewritten(page.as_bytes(), style, &[usize::MAX], 1 << 20);
        assert_eq!(String::from_utf8(new).unwrap(), page, "{style:?}");
        assert_eq!(outcome.marked, 0);
    }
}

const NASTY: [&str; 27] = [
    include_str!("page.html"),
    "<a href=/x>",
    "<a href='/x",
    "<a href=/x",
    "<<a href=/x>",
    "<a<b href=/x>",
    "</a href=/x><a href=/y>",
    "<!--><a href=/x>--><a href=/y>",
    "<!---><a href=/x>-->",
    "<!-- --!><a href=/x><!-- -- ><a href=/n>--><a href=/y>",
    "<!><a href=/x><!-><a href=/y><!x><a href=/z><?x><a href=/w></x y='>'><a href=/v></!><a href=/u>",
    "<script><!--<script></script><a href=/n>--></script><a href=/y>",
    "<script><!--<script </script><a href=/n></script><a href=/y>",
    "<script><!--</script><a href=/y>",
    "<script><!--><script></script><a href=/y>",
    "<svg><title><style></svg><a href=/n></style></title></svg><a href=/y>",
    "<math><mi><style></math><a href=/n></style></mi></math><a href=/y>",
    "<script></script/ x='>'><a href=/y>",
    "<title></titlex></title\n><a href=/y>",
    "<textarea></text</textarea><a href=/y>",
    "<svg><![CDATA[<a href=/n>]]]></svg><a href=/y>",
    "<svg><style><!--</style></svg>--></style></svg><a href=/y>",
    "<template><a href=/n></template><a href=/y>",
    "<svg><foreignObject><script><!--</script></foreignObject></svg><a href=/y>",
    "<a href=/x&amp><a href='/x&ampy&#59;'><a href=\"&#x2F;x&#x3f;y&#x23;z\">",
    "\u{feff}<meta charset=utf-8><base href=/q/><a href=x>",
    "<a a a a=b a='c' a=\"d\" href href=/n><a =href=/n href=/y><a href==/y><a href= '/y'>",
];

#[test]
fn h121_h122_pages_come_back_whole_however_they_are_cut() {
    let marker = marker();
    for page in NASTY {
        let page = page.as_bytes();
        for style in STYLES {
            let (whole, outcome) = rewritten(page, style, &[usize::MAX], 1 << 20);
            if style != Style::Sealed {
                assert_eq!(unmark(&whole, "cg", &marker), page);
            }
            let single = rewritten(page, style, &[1], 1 << 20);
            assert_eq!(single, (whole.clone(), outcome));
            for cut in 1..page.len() {
                let split = rewritten(page, style, &[cut, usize::MAX], 1 << 20);
                assert!(
                    split == (whole.clone(), outcome),
                    "{style:?} cut at {cut} of {}",
                    page.escape_ascii()
                );
            }
        }
    }
}

/// In all of the pages above, `/y` and its like are links and `/n` is none.
#[test]
fn h123_what_is_no_link_of_the_page_stays() {
    for page in &NASTY[1..] {
        let (new, _) = rewritten(page.as_bytes(), Style::Query, &[usize::MAX], 1 << 20);
        let new = String::from_utf8(new).unwrap();
        assert!(!new.contains("/n?"), "{new}");
        assert_eq!(
            page.matches("=/y>").count(),
            new.matches("=/y?cg=").count(),
            "{new}"
        );
    }
}

#[test]
fn styles_by_example() {
    let page = "<a href=\"/a/b?x=1#f\">";
    check(page, Style::Query, "<a href=\"/a/b?x=1&cg=T#f\">");
    check(page, Style::Path, "<a href=\"/a/b;cg=T?x=1#f\">");
    let (new, _) = rewritten(page.as_bytes(), Style::Sealed, &[usize::MAX], 1 << 20);
    let new = String::from_utf8(new).unwrap();
    assert!(
        new.starts_with("<a href=\"/cg:AA") && new.ends_with("/-#f\">"),
        "{new}"
    );
}

/// A page, and what it is in the query and path styles.
const SPELLINGS: [(&str, &str, &str); 18] = [
    ("<a href=/x>", "<a href=/x?cg=T>", "<a href=/x;cg=T>"),
    ("<A HREF='/x'>", "<A HREF='/x?cg=T'>", "<A HREF='/x;cg=T'>"),
    (
        "<a href=x href=y>",
        "<a href=x?cg=T href=y>",
        "<a href=x;cg=T href=y>",
    ),
    ("<a href=/x/>", "<a href=/x/?cg=T>", "<a href=/x/;cg=T>"),
    (
        "<a href=\" /x \">",
        "<a href=\" /x?cg=T \">",
        "<a href=\" /x?cg=T \">",
    ),
    (
        "<a href='/x&#63;y'>",
        "<a href='/x&#63;y&cg=T'>",
        "<a href='/x;cg=T&#63;y'>",
    ),
    (
        "<a href='/x&num;y'>",
        "<a href='/x?cg=T&num;y'>",
        "<a href='/x;cg=T&num;y'>",
    ),
    (
        "<a href='/x&amp'>",
        "<a href='/x&amp?cg=T'>",
        "<a href='/x&amp&#59;cg=T'>",
    ),
    (
        "<a href='/x&notin'>",
        "<a href='/x&notin?cg=T'>",
        "<a href='/x&notin&#59;cg=T'>",
    ),
    ("<a href='?x'>", "<a href='?x&cg=T'>", "<a href='?x&cg=T'>"),
    (
        "<a href='/x?'>",
        "<a href='/x?&cg=T'>",
        "<a href='/x;cg=T?'>",
    ),
    ("<a href='..'>", "<a href='..?cg=T'>", "<a href='..?cg=T'>"),
    (
        "<a href='a/%2E.'>",
        "<a href='a/%2E.?cg=T'>",
        "<a href='a/%2E.?cg=T'>",
    ),
    (
        "<a href='//example.org'>",
        "<a href='//example.org?cg=T'>",
        "<a href='//example.org?cg=T'>",
    ),
    (
        "<a href='https://example.org'>",
        "<a href='https://example.org?cg=T'>",
        "<a href='https://example.org?cg=T'>",
    ),
    (
        "<a href='https://example.org/'>",
        "<a href='https://example.org/?cg=T'>",
        "<a href='https://example.org/;cg=T'>",
    ),
    (
        "<a href='\\x'>",
        "<a href='\\x?cg=T'>",
        "<a href='\\x?cg=T'>",
    ),
    (
        "<a href='/\nx'>",
        "<a href='/\nx?cg=T'>",
        "<a href='/\nx?cg=T'>",
    ),
];

#[test]
fn h125_values_in_every_spelling() {
    for (page, query, path) in SPELLINGS {
        check(page, Style::Query, query);
        check(page, Style::Path, path);
    }
}

#[test]
fn h132_forms_keep_their_fields() {
    for style in [Style::Query, Style::Path] {
        check("<form action='/s?x'>", style, "<form action='/s;cg=T?x'>");
        check(
            "<form method=post action=s>",
            style,
            "<form method=post action=s;cg=T>",
        );
        check(
            "<button formaction=/s>",
            style,
            "<button formaction=/s;cg=T>",
        );
        check("<form action='?x'>", style, "<form action='?x&cg=T'>");
    }
    check_same("<form><input name=q></form><form action=''></form>");
}

#[test]
fn h132_the_first_base_counts() {
    check(
        "<base href=/q/><a href=x>",
        Style::Query,
        "<base href=/q/><a href=x?cg=T>",
    );
    check(
        "<base target=x><base href=//example.com/><base href=/><a href=x>",
        Style::Query,
        "<base target=x><base href=//example.com/><base href=/><a href=x>",
    );
    let page = "<base href=//example.com/><a href=https://example.org/x>";
    check(
        page,
        Style::Path,
        "<base href=//example.com/><a href=https://example.org/x;cg=T>",
    );
    let (new, _) = rewritten(page.as_bytes(), Style::Sealed, &[usize::MAX], 1 << 20);
    assert!(
        String::from_utf8(new)
            .unwrap()
            .contains("=https://example.org/cg:")
    );
    check(
        "<template><base href=//example.com/></template><a href=x>",
        Style::Query,
        "<template><base href=//example.com/></template><a href=x?cg=T>",
    );
    check(
        "<a href=x><base href=//example.com/><a href=x>",
        Style::Query,
        "<a href=x?cg=T><base href=//example.com/><a href=x>",
    );
}

#[test]
fn h132_refresh_and_other_links() {
    check(
        "<meta http-equiv=refresh content='5; url=/x'>",
        Style::Query,
        "<meta http-equiv=refresh content='5; url=/x?cg=T'>",
    );
    check(
        "<meta content=\"0;URL='/x' y\" http-equiv=Refresh>",
        Style::Path,
        "<meta content=\"0;URL='/x;cg=T' y\" http-equiv=Refresh>",
    );
    check(
        "<meta http-equiv=refresh content=\"0;url=&quot;/x&quot;\">",
        Style::Query,
        "<meta http-equiv=refresh content=\"0;url=&quot;/x?cg=T&quot;\">",
    );
    for page in [
        "<meta http-equiv=refresh content='5'>",
        "<meta http-equiv=refresh content='5;url=//example.com/'>",
        "<meta name=refresh content='5;url=/x'>",
        "<link rel=canonical href=/x><link rel='next prefetch' href=/x><link rel='' href=/x><link href=/x>",
        "<link rel=alternate href=/x><link rel=preload href=/x><link rel=prefetch href=/x><link rel=stylesheet href=/x>",
        "<a ping=/x><img srcset='/x 2x' src=/x><iframe srcdoc='<a href=/x>' src=/x></iframe><a href=/x download><a download=y href=/x>",
    ] {
        check_same(page);
    }
}

#[test]
fn h133_signed_links_stay() {
    for query in [
        "X-Amz-Signature=1",
        "a=1&amp;x-amz-signature=1",
        "sig",
        "a;hmac=2",
        "token=3",
        "a=1&Signature=2#x",
    ] {
        check_same(&format!("<a href='/x?{query}'><form action='/x?{query}'>"));
    }
    check(
        "<a href='/x?design=1'>",
        Style::Query,
        "<a href='/x?design=1&cg=T'>",
    );
}

/// A page that holds a marker already, of whatever page, is not marked twice.
#[test]
fn marked_links_stay() {
    let other = "A".repeat(68);
    check_same(&format!("<a href='/x?cg={other}'><a href='/x;cg={other}'>"));
    let sealed = "A".repeat(111);
    let page = format!("<a href='/cg:{sealed}'>");
    let (new, _) = rewritten(page.as_bytes(), Style::Sealed, &[usize::MAX], 1 << 20);
    assert_eq!(new, page.as_bytes());
}

#[test]
fn h124_the_rest_of_a_page_passes() {
    for (start, why) in [
        ("<plaintext>", GaveUp::Plaintext),
        ("<frameset>", GaveUp::Frameset),
        ("<select><iframe></iframe>", GaveUp::Select),
        ("<select><style></style>", GaveUp::Select),
        ("<select><title></title>", GaveUp::Select),
        ("<select><svg></svg>", GaveUp::Select),
        ("<select><template></select></template>", GaveUp::Select),
        ("<svg></p><style>", GaveUp::Foreign),
        ("<div><svg></div>", GaveUp::Foreign),
        ("<svg><p>", GaveUp::Foreign),
        ("<svg><desc><p></desc>", GaveUp::Foreign),
        ("<math><annotation-xml encoding=text/html>", GaveUp::Foreign),
        ("<template><col><style></template>", GaveUp::Template),
    ] {
        let page = format!("<a href=/x>{start}<a href=/x>");
        let (new, outcome) = rewritten(page.as_bytes(), Style::Query, &[usize::MAX], 1 << 20);
        let new = String::from_utf8(new).unwrap().replace(&marker(), "T");
        assert_eq!(new, format!("<a href=/x?cg=T>{start}<a href=/x>"));
        assert_eq!((outcome.marked, outcome.gave_up), (1, Some(why)), "{page}");
    }
    let harmless = [
        "<template><select></template><style></style>",
        "<select><option></select><style></style>",
        "<select><textarea></textarea>",
        "<select><select><style></style>",
        "<svg><title>x</title><desc><b>y</b></desc><path/></svg>",
        "<svg><g><path></svg>",
        "<svg><script></script></svg>",
    ];
    for start in harmless {
        check(
            &format!("{start}<a href=/x>"),
            Style::Query,
            &format!("{start}<a href=/x?cg=T>"),
        );
    }
}

#[test]
fn a_byte_order_mark_of_utf_16_ends_the_rewriting() {
    for mark in [[0xfe, 0xff], [0xff, 0xfe]] {
        let page = [&mark[..], b"<a href=/x>"].concat();
        for lengths in [&[usize::MAX][..], &[1]] {
            let (new, outcome) = rewritten(&page, Style::Query, lengths, 1 << 20);
            assert_eq!(
                (new, outcome.gave_up),
                (page.clone(), Some(GaveUp::Encoding))
            );
        }
    }
}

/// Nothing that a value holds can end it: the marker has no such characters, and sealing replaces what stood there.
#[test]
fn h126_no_value_breaks_out() {
    let values = [
        "/x\"y",
        "/x'y",
        "/x`y",
        "/x<y",
        "/x>y",
        "/x--!>y",
        "/x\0y",
        "/x&quot;y",
        "/x&#39;y",
        "/x&gt;y",
        "/x#\"'>",
    ];
    for value in values {
        for quote in ['"', '\''] {
            if value.contains(quote) {
                continue;
            }
            for style in STYLES {
                let page = format!("<a href={quote}{value}{quote} id=z>text");
                let (new, outcome) = rewritten(page.as_bytes(), style, &[usize::MAX], 1 << 20);
                let new = String::from_utf8(new).unwrap();
                assert_eq!(outcome.marked, 1);
                let inner = new.strip_prefix(&format!("<a href={quote}")).unwrap();
                let inner = inner.strip_suffix(&format!("{quote} id=z>text")).unwrap();
                assert!(!inner.contains(quote), "{new}");
            }
        }
    }
}
