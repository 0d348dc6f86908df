//! What a browser makes of pages before and after: `html5ever` builds both trees, and only addresses of links may differ.
//!
//! Each address that differs must lead to the same place without its marker, and each link of the site must have one, unless the rewriter
//! gave the page up.

use cattlegrid_marker::Ages;
use cattlegrid_marker::Key;
use cattlegrid_marker::Keyring;
use cattlegrid_marker::Marker;
use cattlegrid_marker::Name;
use cattlegrid_marker::Reader;
use cattlegrid_marker::Site;
use cattlegrid_marker::Style;
use cattlegrid_marker::invariants::rewritten;
use html5ever::tendril::TendrilSink;
use markup5ever_rcdom::Handle;
use markup5ever_rcdom::NodeData;
use markup5ever_rcdom::RcDom;
use proptest::prelude::*;
use url::Url;

const STYLES: [Style; 3] = [Style::Query, Style::Path, Style::Sealed];

/// An element or a text of a tree, in the order of the tree.
#[derive(Debug, PartialEq, Clone)]
struct Item {
    depth: usize,
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    /// Not in a template, in `svg` or in `math`.
    takes_links: bool,
}

fn items(page: &[u8]) -> Vec<Item> {
    let dom = html5ever::parse_document(RcDom::default(), html5ever::ParseOpts::default());
    let dom = dom.from_utf8().one(page);
    let mut out = Vec::new();
    walk(&dom.document, 0, true, &mut out);
    out
}

fn walk(node: &Handle, depth: usize, takes_links: bool, out: &mut Vec<Item>) {
    let mut item = Item {
        depth,
        name: String::new(),
        attributes: Vec::new(),
        text: String::new(),
        takes_links,
    };
    let mut inner = takes_links;
    match &node.data {
        NodeData::Element {
            name,
            attrs,
            template_contents,
            ..
        } => {
            item.name = name.local.to_string();
            item.takes_links &= &*name.ns == "http://www.w3.org/1999/xhtml";
            inner = item.takes_links;
            let attributes = attrs.borrow();
            let pair = |attribute: &html5ever::Attribute| {
                (
                    attribute.name.local.to_string(),
                    attribute.value.to_string(),
                )
            };
            item.attributes = attributes.iter().map(pair).collect();
            out.push(item);
            if let Some(contents) = &*template_contents.borrow() {
                walk(contents, depth + 1, false, out);
            }
        }
        NodeData::Text { contents } => {
            item.text = contents.borrow().to_string();
            out.push(item);
        }
        NodeData::Comment { contents } => {
            item.text = contents.to_string();
            out.push(item);
        }
        _ => {}
    }
    for child in node.children.borrow().iter() {
        walk(child, depth + 1, inner, out);
    }
}

impl Item {
    fn value(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(other, _)| other == name)?;
        Some(&found.1)
    }

    /// The attribute with the address of a link.
    fn address(&self) -> Option<&'static str> {
        let rel = self.value("rel").unwrap_or_default();
        let is_refresh = self
            .value("http-equiv")
            .is_some_and(|equiv| equiv.eq_ignore_ascii_case("refresh"));
        match &self.name[..] {
            "a" | "area" if self.takes_links && self.value("download").is_none() => Some("href"),
            "form" if self.takes_links => Some("action"),
            "button" | "input" if self.takes_links => Some("formaction"),
            "link" if self.takes_links && ["next", "prev"].contains(&rel) => Some("href"),
            "meta" if self.takes_links && is_refresh => Some("content"),
            _ => None,
        }
    }
}

/// Where a link of the site leads; `None` for one that gets no marker.
fn destination(text: &str, base: &Url) -> Option<Url> {
    let trimmed = text.trim_matches(|char: char| char <= ' ');
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return None;
    }
    let address = base.join(text).ok()?;
    let is_signed = address.query_pairs().any(|(name, _)| {
        let signed = ["sig", "token", "X-Amz-Signature"];
        signed
            .iter()
            .any(|signed| name.eq_ignore_ascii_case(signed))
    });
    (address.origin() == base_origin() && !is_signed && address.username().is_empty())
        .then_some(address)
}

fn base_origin() -> url::Origin {
    Url::parse("https://example.org/").unwrap().origin()
}

/// The address in the content of a refresh, as the generated pages spell it.
fn split_refresh(text: &str) -> (&str, &str) {
    let (before, address) = text.split_once("url=").unwrap_or((text, ""));
    (before, address.trim_matches('\''))
}

/// A link with what could be an unknown character reference is not sealed.
fn is_unsure(text: &str) -> bool {
    text.contains('&') && text.contains(';')
}

fn without_marker(address: &Url) -> Option<String> {
    let key = Key {
        id: 1,
        secret: [1; 32],
        since_minutes: 0,
    };
    let ring = Keyring::new(&[key], &[2; 32]).unwrap();
    let reader = Reader {
        ring: &ring,
        name: &Name::default(),
        site: &Site::new("example.org"),
        ages: Ages::default(),
        now_minutes: 3,
    };
    let reading = reader.address(address.as_str().as_bytes());
    assert!(matches!(reading.marker, Marker::Genuine(_)), "{address}");
    String::from_utf8(reading.target?.into_owned()).ok()
}

/// Compares the trees; gives the number of links.
fn check(page: &[u8], style: Style) -> u64 {
    let show = || page.escape_ascii().to_string();
    let (new, outcome) = rewritten(page, style, &[usize::MAX], 1 << 20);
    let (before, after) = (items(page), items(&new));
    assert_eq!(before.len(), after.len(), "{}", show());
    let own = Url::parse("https://example.org/a/b?c").unwrap();
    let (mut base, mut is_set, mut links) = (own.clone(), false, 0);
    for (before, after) in before.iter().zip(&after) {
        if before.name == "base"
            && before.takes_links
            && !is_set
            && let Some(href) = before.value("href")
        {
            is_set = true;
            let read = own.join(href).ok();
            let read = read.filter(|base| base.scheme() != "javascript");
            base = read.unwrap_or(own.clone());
        }
        let mut same = after.clone();
        if let Some(name) = before.address()
            && let Some(old) = before.value(name)
        {
            let new = after.value(name).unwrap_or_else(|| panic!("{}", show()));
            let ((_, old), (_, new)) = match name {
                "content" => (split_refresh(old), split_refresh(new)),
                _ => (("", old), ("", new)),
            };
            let destination = destination(old, &base);
            if old != new {
                let destination = destination.unwrap_or_else(|| panic!("{old} in {}", show()));
                let stripped = without_marker(&base.join(new).unwrap());
                assert_eq!(
                    stripped.as_deref(),
                    Some(destination.as_str()),
                    "{}",
                    show()
                );
                links += 1;
            } else if outcome.gave_up.is_none() && !(style == Style::Sealed && is_unsure(old)) {
                assert_eq!(destination, None, "{style:?} {old} in {}", show());
            }
            same.attributes.clone_from(&before.attributes);
            for (index, (attribute, _)) in before.attributes.iter().enumerate() {
                let is_link = attribute == name;
                assert!(
                    is_link || before.attributes[index] == after.attributes[index],
                    "{}",
                    show()
                );
            }
        }
        assert_eq!(*before, same, "{}", show());
    }
    links
}

#[test]
fn pages_by_hand_are_the_same_tree() {
    let page = include_bytes!("page.html");
    for style in STYLES {
        assert_eq!(check(page, style), 39, "{style:?}");
    }
}

/// Addresses in links, by shapes and spellings.
const ADDRESSES: [&str; 73] = [
    "/x",
    "x",
    "x/y?z=1",
    "?q",
    "?",
    "#f",
    "",
    "/x#f",
    "/x?#f",
    "..",
    ".",
    "./",
    "../x",
    "/a/%2e%2E",
    "/x?sig=1",
    "//example.org",
    "//example.org/y",
    "//example.com/y",
    "https://example.org",
    "https://example.org?x",
    "https://EXAMPLE.org:443/x",
    "https://example.org:444/x",
    "http://example.org/x",
    "https:x",
    "https:/x",
    "https:///example.org/x",
    "/\\\\example.com/x",
    "\\\\x",
    "/\\\\example.org/x",
    "javascript:alert(1)",
    "mailto:a@example.org",
    "data:text/html,x",
    "tel:1",
    "x:y",
    "/x:y",
    "./x:y",
    ";x",
    "/x;y",
    "/x;y?z;w",
    "/x&amp;y",
    "/x&amp",
    "/x&ampy",
    "/x&copy",
    "/x&copy=1",
    "/x&notin",
    "?a=1&amp;b=2",
    "?a=1&b=2",
    "&#47;x",
    "&sol;x&quest;y&num;z",
    "/x&num;",
    "/&#x2e;&period;",
    " /x ",
    "\t/x\n",
    "/x\ty",
    "/x y",
    "/é",
    "/x?é",
    "/x#é",
    "h&#116;tps://example.org/x",
    "https&colon;x",
    "//user@example.org/x",
    "/x?cg=1",
    "/x;cg=1",
    "/cg:1",
    "/<>",
    "/`",
    "/{|}^",
    "///",
    "//",
    "/.//x",
    "/x/..;y",
    "&#0;",
    "/x&#13;",
];

fn address() -> impl Strategy<Value = String> {
    let characters = prop::sample::select("/?#.:\\&;=ax% \t@".chars().collect::<Vec<_>>());
    prop_oneof![
        6 => prop::sample::select(ADDRESSES.to_vec()).prop_map(str::to_owned),
        1 => prop::collection::vec(characters, 0..8).prop_map(|characters| characters.into_iter().collect()),
    ]
}

fn link() -> impl Strategy<Value = String> {
    let before = [
        "<a href=",
        "<a id=x href=",
        "<a\nHREF = ",
        "<area href=",
        "<form method=post action=",
        "<form action=",
        "<link rel=next href=",
        "<link rel=canonical href=",
        "<img src=",
        "<button formaction=",
        "<input type=submit formaction=",
        "<a/href=",
        "<a x=\">\" href=",
        "<a href=/first href=",
        "<iframe src=",
        "<A TITLE='<a href=/no>' HREF=",
        "<a download href=",
    ];
    let quotes = prop::sample::select(vec!["\"", "'"]);
    let after = prop::sample::select(vec![">", " >", "/>", " id=y>", "x>"]);
    (
        prop::sample::select(before.to_vec()),
        address(),
        quotes,
        after,
    )
        .prop_map(|(before, address, quote, after)| {
            format!("{before}{quote}{address}{quote}{after}")
        })
}

fn unquoted() -> impl Strategy<Value = String> {
    let address = address().prop_filter("a value needs quotes", |address| {
        !address.is_empty() && !address.contains(|char: char| char <= ' ' || "\"'>".contains(char))
    });
    address.prop_map(|address| format!("<a href={address}>"))
}

/// What stands between links.
const PIECES: [&str; 96] = [
    "text",
    "</a>",
    "</form>",
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<b>",
    "</b>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "</td>",
    "<ul><li>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--->",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<textarea>",
    "</textarea>",
    "<xmp>",
    "</xmp>",
    "<noscript>",
    "</noscript>",
    "<iframe>",
    "</iframe>",
    "<noembed>",
    "</noembed>",
    "<template>",
    "</template>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<path d=x/>",
    "<g>",
    "</g>",
    "<desc>",
    "</desc>",
    "<foreignObject>",
    "</foreignObject>",
    "<math>",
    "</math>",
    "<mi>",
    "</mi>",
    "<![CDATA[",
    "]]>",
    "<select>",
    "<option>",
    "</select>",
    "<plaintext>",
    "<frameset>",
    "<col>",
    "<colgroup>",
    "<!doctype html>",
    "<?x",
    "</ x",
    "</>",
    "<",
    "<a",
    "'",
    "\"",
    ">",
    "<br>",
    "</br>",
    "<span>",
    "</span>",
    "<body>",
    "</body>",
    "</html>",
    "<head>",
    "</head>",
    "<meta http-equiv=refresh content='0;url=/m'>",
    "<meta http-equiv=refresh content='0;url=#'>",
    "<image>",
    "<input>",
    "<button>",
    "<noframes>",
    "</noframes>",
    "<annotation-xml>",
    "<font>",
    "<font color=x>",
    "<h1>",
    "</h1>",
    "<script/>",
    "<script src=x>",
    "&lt;a href=/x>",
    "\0",
    "\r\n",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => link(),
        1 => unquoted(),
        6 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
    ]
}

fn page() -> impl Strategy<Value = String> {
    let bases = [
        "",
        "",
        "",
        "",
        "<base href=/base/x>",
        "<base href=//example.com/>",
        "<base href=//example.org/q><base href=//example.com/>",
        "<base href=\"javascript:1\">",
        "<base target=x>",
        "<base href=https://example.org/d/?q>",
    ];
    let base = prop::sample::select(bases.to_vec());
    (base, prop::collection::vec(piece(), 1..30))
        .prop_map(|(base, pieces)| format!("{base}{}", pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn only_addresses_of_links_differ(page in page()) {
        for style in STYLES {
            check(page.as_bytes(), style);
        }
    }
}
