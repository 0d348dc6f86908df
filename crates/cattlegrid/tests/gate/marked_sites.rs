//! A real browser on a small site with menus, forms, pictures and scripts: with markers and without, it shows the same.

use serde_json::json;

use crate::browser::Chromium;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::wait_for;
use crate::markers::Marking;
use crate::markers::answer;

/// A page with all kinds of links. Scripts read where they are, request data beside them, and add to the list while it is scrolled.
const PAGE: &str = r##"<!doctype html><html lang=en><head><meta charset=utf-8><title>the site</title>
<link rel=stylesheet href="/s.css"><link rel=canonical href="/forum/topic"><link rel=next href="/forum/topic?page=2">
<script src="/app.js"></script></head>
<body><nav><ul><li><a id=up href="..">Up</a><li><a id=one href="/forum/one?a=1&amp;b=2">One</a><li><a id=two href="two">Two</a>
<li><a href="https://elsewhere.example/">Elsewhere</a><li><a href="#part">Part</a><li><a href="javascript:void 0">Nothing</a></ul></nav>
<img src="p.png" alt="picture"><svg><a href="/svg"><text>x</text></a></svg>
<form id=search action="/forum/search"><input name=q value="a b"><button id=go>Go</button></form>
<form id=post method=post action="/forum/post"><textarea name=t><a href="/no">no</a></textarea><button id=send formaction="/forum/send">Send</button></form>
<div id=list></div><a id=part>part</a><pre id=where></pre><script>start()</script></body></html>"##;

const SCRIPT: &str = r#"
// A page that the Back button shows again as it was left.
addEventListener('pageshow', event => { if (event.persisted) delete document.body.dataset.left; });
function start() {
  const query = new URLSearchParams(location.search);
  query.delete('cg');
  document.getElementById('where').textContent =
    ['hash ' + location.hash, 'page ' + query.get('page'), 'depth ' + location.pathname.split('/').length].join('\n');
  more(1);
}
async function more(number) {
  const response = await fetch('data.json?from=' + number);
  const data = await response.json();
  for (const item of data.items) {
    const link = document.createElement('a');
    link.href = item; link.textContent = item;
    document.getElementById('list').append(link);
  }
  if (number < 3) more(number + 1); else document.body.dataset.done = 'yes';
}"#;

/// The page as the browser has it, without markers. Sealed addresses cannot be compared with those of the site: where `HIDES`, both are left out.
const SHOWN: &str = r#"(() => {
  const page = document.documentElement.cloneNode(true);
  const plain = value => value.replace(/[?&;]cg=[\w-]{68}/, '');
  const isLeftOut = (node, value) => HIDES && !/^(https?:|#|javascript:)/.test(value)
    && node.matches('nav a, form, button, link[rel=next]');
  for (const name of ['href', 'action', 'formaction'])
    for (const node of page.querySelectorAll('[' + name + ']')) {
      const value = node.getAttribute(name);
      node.setAttribute(name, isLeftOut(node, value) ? '' : plain(value));
    }
  return page.outerHTML + [...document.images].map(image => image.naturalWidth).join() + document.styleSheets.length;
})()"#;

/// The smallest picture.
const PICTURE: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

fn site() -> Origin {
    Origin::answering(Box::new(|got: &Got| {
        let target = got.target();
        let path = target.split('?').next().unwrap_or_default();
        let (kind, body) = match path.rsplit_once('.') {
            Some((_, "css")) => ("text/css", b"body { color: black }".to_vec()),
            Some((_, "js")) => ("text/javascript", SCRIPT.into()),
            Some((_, "png" | "ico")) => ("image/gif", PICTURE.to_vec()),
            Some((_, "json")) => (
                "application/json",
                format!("{{\"items\": [\"/item/{}\"]}}", target.len()).into(),
            ),
            _ => ("text/html", PAGE.into()),
        };
        let fields = format!("Content-Type: {kind}\r\n");
        Some(answer(&fields, &body))
    }))
}

/// A page in full, and without the addresses of its links.
type Shown = [String; 2];

/// What a person does on the site: what the browser shows after each step, and what the site is asked for.
fn visited(browser: &Chromium, marking: &Marking, origin: &Origin) -> (Vec<Shown>, Vec<String>) {
    let cookie = marking.cookie("alice");
    let (name, value) = cookie.split_once('=').unwrap();
    browser.open(marking.gate.address, "/p.png");
    let set = json!({"cookie": {"name": name, "value": value}});
    browser.post("/cookie", &set);
    let mut shown = Vec::new();
    let mut look = |at: &str| {
        let state = "(document.body.dataset.done || '') + (document.body.dataset.left || '')";
        wait_for(at, || browser.text(state) == "yes");
        shown.push(["false", "true"].map(|hides| browser.text(&SHOWN.replace("HIDES", hides))));
    };
    browser.open(marking.gate.address, "/forum/topic?page=1#part");
    look("the first page");
    for id in ["one", "two", "up", "go", "send"] {
        browser.eval("document.body.dataset.left = '!'");
        browser.eval(&format!("document.getElementById('{id}').click()"));
        look(id);
    }
    // What Back requests depends on what the browser has kept.
    let asked = requests(origin);
    browser.eval("document.body.dataset.left = '!'");
    browser.post("/back", &json!({}));
    look("back");
    (shown, asked)
}

/// The requests of the site that tell where the visitor was.
fn requests(origin: &Origin) -> Vec<String> {
    let got = origin.got();
    let is_told = |got: &&Got| !got.target().ends_with(".ico");
    let told = got.iter().filter(is_told).map(|got| {
        let method = got.line().split(' ').next().unwrap_or_default();
        let body = String::from_utf8_lossy(&got.body).into_owned();
        let referrer = got.values("referer");
        format!("{method} {} {referrer:?} {body}", got.target())
    });
    let mut told: Vec<String> = told.collect();
    // Parts of a page are requested in any order.
    told.sort();
    told
}

#[test]
fn h126_a_browser_shows_the_same_with_markers_and_without() {
    let Some(browser) = Chromium::start("en") else {
        return;
    };
    let origin = site();
    let run = |style: &str, more: &str| {
        origin.forget();
        let marking = Marking::start(&origin, style, more);
        let (shown, asked) = visited(&browser, &marking, &origin);
        let host = marking.gate.address.to_string();
        let plain = |text: &String| text.replace(&host, "site");
        let asked: Vec<String> = asked.iter().map(plain).collect();
        let own = "cattlegrid_markers_read_total{kind=\"own\"}";
        (shown, asked, marking.gate.metric(own))
    };
    let (shown, asked, read) = run("off", "");
    assert_eq!((shown.len(), read), (7, Some(0.0)));
    assert!(
        shown[0][1].contains("page 1") && shown[0][1].contains("/item/"),
        "{}",
        shown[0][1]
    );
    for style in ["query", "path"] {
        let (marked, requests, read) = run(style, "");
        assert_eq!(marked, shown, "{style}");
        assert_eq!(requests, asked, "{style}");
        assert!(read >= Some(5.0), "{style}: {read:?}");
    }
    let hidden = |shown: &[Shown]| {
        shown
            .iter()
            .map(|[_, page]| page.clone())
            .collect::<Vec<_>>()
    };
    let (sealed, requests, read) = run("sealed", "");
    assert_eq!(hidden(&sealed), hidden(&shown));
    assert_eq!(requests, asked);
    assert!(read >= Some(5.0), "{read:?}");
    let (_, requests, _) = run("query", "without = [\"unmark\"]");
    assert_ne!(requests, asked);
}
