//! What Chromium makes of generated pages before and after they got markers: the same tree, in which only addresses of links differ.

use cattlegrid_marker::Style;
use cattlegrid_marker::invariants::generated;
use cattlegrid_marker::invariants::marker;
use cattlegrid_marker::invariants::rewritten;
use serde_json::json;

use crate::browser::Chromium;

const PAGES: u32 = 10_000;
const IN_A_SCRIPT: usize = 250;

/// Compares pages in pairs. Gives how many links differ, and the number of the first pair that differs in anything else.
const COMPARE: &str = r#"
  const links = {A: 'href', AREA: 'href', LINK: 'href', FORM: 'action', BUTTON: 'formaction', INPUT: 'formaction', META: 'content'};
  let marked = 0;
  const inner = node => node.content instanceof DocumentFragment ? node.content : node;
  const same = (one, other) => {
    if (one.nodeType !== other.nodeType || one.nodeName !== other.nodeName || one.nodeValue !== other.nodeValue) return false;
    if (one.namespaceURI !== other.namespaceURI) return false;
    const attributes = [...(one.attributes || [])], others = [...(other.attributes || [])];
    if (attributes.length !== others.length) return false;
    for (let at = 0; at < attributes.length; at++) {
      if (attributes[at].name !== others[at].name) return false;
      if (attributes[at].value === others[at].value) continue;
      if (links[one.nodeName] !== attributes[at].name) return false;
      marked++;
    }
    const children = inner(one).childNodes, others_children = inner(other).childNodes;
    if (children.length !== others_children.length) return false;
    for (let at = 0; at < children.length; at++) if (!same(children[at], others_children[at])) return false;
    return true;
  };
  const parse = text => new DOMParser().parseFromString(text, 'text/html');
  const differs = arguments[0].findIndex(([one, other]) => !same(parse(one), parse(other)));
  return [marked, differs];
"#;

/// Links with markers, and the first page whose tree is another.
fn compare(browser: &Chromium, pairs: &[(String, String)]) -> (u64, Option<String>) {
    let (mut links, mut other) = (0, None);
    for pairs in pairs.chunks(IN_A_SCRIPT) {
        let script = json!({"script": COMPARE, "args": [pairs]});
        let found = browser.post("/execute/sync", &script);
        let marked = found[0].as_u64();
        links += marked.unwrap_or_else(|| panic!("{found}"));
        if let Some(at) = found[1].as_u64() {
            other.get_or_insert(format!("{:?}", pairs[at as usize]));
        }
    }
    (links, other)
}

#[test]
fn h126_chromium_builds_the_same_trees() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    // The page of a new tab does not let scripts parse.
    browser.post("/url", &json!({"url": "about:blank"}));
    let pairs = |style: Style| -> Vec<(String, String)> {
        let pair = |number: u32| {
            let page = generated(number);
            let (new, _) = rewritten(page.as_bytes(), style, &[usize::MAX], 1 << 20);
            (page, String::from_utf8(new).unwrap())
        };
        (0..PAGES).map(pair).collect()
    };
    for style in [Style::Query, Style::Path, Style::Sealed] {
        let (links, other) = compare(&browser, &pairs(style));
        assert_eq!(other, None, "{style:?}");
        eprintln!("{style:?}: {links} links with markers in {PAGES} pages");
        assert!(links > 2000, "{links}");
    }
    // A marker that ends the value of an attribute is seen.
    let mut broken = pairs(Style::Query);
    for (_, page) in &mut broken {
        *page = page.replace(&marker(), "\"x");
    }
    assert!(compare(&browser, &broken).1.is_some());
}
