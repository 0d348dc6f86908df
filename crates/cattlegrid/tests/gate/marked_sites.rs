//! A real browser on a small site with menus, forms, pictures and scripts: with markers and without, it shows the same.

use serde_json::json;

use crate::browser::Chromium;
use crate::harness::Got;
use crate::harness::Origin;
use crate::harness::page;
use crate::harness::wait_for;
use crate::markers::answer;
use crate::marking::Marking;

/// A page with all kinds of links. Scripts read where they are, request data beside them, and add to the list while it is scrolled.
const PAGE: &str = r##"<!doctype html><html lang=en><head><meta charset=utf-8><title>the site</title>
<link rel=stylesheet href="/s.css"><link rel=canonical href="/forum/topic"><link rel=next href="/forum/topic?page=2">
<script src="/app.js"></script></head>
<body><nav><ul><li><a id=up href="..">Up</a><li><a id=one href="/forum/one?a=1&amp;b=2">One</a><li><a id=two href="two">Two</a>
<li><a href="https://elsewhere.example/">Elsewhere</a><li><a href="#part">Part</a><li><a href="javascript:void 0">Nothing</a></ul></nav>
<img src="p.png" alt="picture"><svg><a href="/svg"><text>x</text></a></svg>
<form id=search action="/forum/search"><input name=q value="a b"><button id=go>Go</button></form>
<form id=post method=post action="/forum/post"><textarea name=t><a href="/no">no</a></textarea><button id=send formaction="/forum/send">Send</button></form>
<div id=list></div><a id=part>part</a><pre id=where></pre><ol id=posts></ol><div id=end>&nbsp;</div><script>start()</script></body></html>"##;

const SCRIPT: &str = r#"
// A page that the Back button shows again as it was left.
addEventListener('pageshow', event => { if (event.persisted) delete document.body.dataset.left; });
function start() {
  const query = new URLSearchParams(location.search);
  query.delete('cg');
  document.getElementById('where').textContent =
    ['hash ' + location.hash, 'page ' + query.get('page'), 'depth ' + location.pathname.split('/').length].join('\n');
  more(1);
  // Infinite scroll: what comes next is loaded when the end of the page is seen, and the address follows.
  const posts = document.getElementById('posts');
  new IntersectionObserver(async (entries, observer) => {
    if (!entries.some(entry => entry.isIntersecting)) return;
    observer.unobserve(entries[0].target);
    const page = posts.querySelectorAll('li').length / 5 + 1;
    const response = await fetch('posts?part=' + page);
    posts.insertAdjacentHTML('beforeend', await response.text());
    if (page > 1) history.replaceState(null, '', '?page=' + page);
    if (page < 4) observer.observe(entries[0].target);
    posts.dataset.pages = page;
  }).observe(document.getElementById('end'));
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

/// The page as the browser has it: links as whole addresses, without markers of the query and the path.
pub(crate) const SHOWN: &str = r#"(() => {
  const page = document.documentElement.cloneNode(true);
  const without = (_, before, after) => after && before == '?' ? '?' : after;
  for (const name of ['href', 'action', 'formaction'])
    for (const node of page.querySelectorAll('[' + name + ']')) {
      const value = node.getAttribute(name);
      if (!value || /^(#|javascript:)/.test(value)) continue;
      const address = new URL(value, document.baseURI).href;
      node.setAttribute(name, address.replace(/([?&;])cg=[\w-]{68}(&?)/, without));
    }
  // Scripts leave an empty one behind, before or after others.
  for (const node of page.querySelectorAll('[style=""]')) node.removeAttribute('style');
  const images = [...document.images].filter(image => image.loading != 'lazy');
  return page.outerHTML + images.map(image => image.naturalWidth).join() + document.styleSheets.length;
})()"#;

/// A request with this field is answered with its target, so that a test sees where a sealed link leads.
pub(crate) const ECHO: &str = "X-Echo";

/// A page in which the targets of sealed links stand, as the site gets them.
pub(crate) fn unsealed(page: &str, marking: &Marking) -> String {
    let is_end = |letter: char| matches!(letter, '"' | '#' | '&' | '?' | '\'' | '<' | ' ');
    // Markers open on the host that the browser asked.
    let host = marking.gate.address.to_string();
    let headers = [(ECHO, "1"), ("Host", host.as_str())];
    let mut parts = page.split("/cg:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (sealed, rest) = part.split_at(part.find(is_end).unwrap_or(part.len()));
        let got = marking.get("alice", &format!("/cg:{sealed}"), &headers);
        assert_eq!(got.status, 200, "{sealed}");
        out += &got.text().replace('&', "&amp;");
        out += rest;
    }
    out
}

/// The smallest picture.
pub(crate) const PICTURE: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// A part of the list of posts, as a piece of a page.
fn posts(part: &str) -> String {
    let post = |number: u32| {
        format!(
            "<li style=\"height: 300px\"><a href=\"/forum/post?part={part}&amp;n={number}\">{number}</a></li>"
        )
    };
    (0..5).map(post).collect()
}

fn site() -> Origin {
    Origin::answering(Box::new(|got: &Got| {
        let target = got.target();
        if !got.values(ECHO).is_empty() {
            return Some(page(target));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (kind, body) = match path.rsplit_once('.') {
            Some((_, "css")) => ("text/css", b"body { color: black }".to_vec()),
            Some((_, "js")) => ("text/javascript", SCRIPT.into()),
            Some((_, "png" | "ico")) => ("image/gif", PICTURE.to_vec()),
            Some((_, "json")) => (
                "application/json",
                format!("{{\"items\": [\"/item/{}\"]}}", target.len()).into(),
            ),
            _ if path.ends_with("/posts") || path == "/posts" => {
                ("text/html", posts(query.trim_start_matches("part=")).into())
            }
            _ => ("text/html", PAGE.into()),
        };
        let fields = format!("Content-Type: {kind}\r\n");
        Some(answer(&fields, &body))
    }))
}

/// What a person does on the site: what the browser shows after each step, and what the site is asked for.
fn visited(browser: &Chromium, marking: &Marking, origin: &Origin) -> (Vec<String>, Vec<String>) {
    marking.sign_in(browser, "/p.png");
    let mut shown = Vec::new();
    let mut look = |at: &str| {
        let state = "(document.body.dataset.done || '') + (document.body.dataset.left || '')";
        wait_for(at, || browser.text(state) == "yes");
        // The first part of the list fills the window, and the next ones come when somebody scrolls.
        wait_for("the list", || {
            !browser.text("posts.dataset.pages || ''").is_empty()
        });
        shown.push(browser.text(SHOWN));
    };
    browser.open(marking.gate.address, "/forum/topic?page=1#part");
    look("the first page");
    for part in 2..5 {
        browser.eval("scrollTo(0, document.documentElement.scrollHeight)");
        let is_there = || browser.text("posts.dataset.pages") == part.to_string();
        wait_for("the next part of the list", is_there);
    }
    look("the whole list");
    let steps = [
        "#posts li:nth-child(18) a",
        "#one",
        "#two",
        "#up",
        "#go",
        "#send",
    ];
    for selector in steps {
        browser.eval("document.body.dataset.left = '!'");
        browser.eval(&format!("document.querySelector('{selector}').click()"));
        look(selector);
    }
    // What Back requests depends on what the browser has kept.
    let asked = requests(origin);
    browser.eval("document.body.dataset.left = '!'");
    browser.post("/back", &json!({}));
    look("back");
    let shown = shown.iter().map(|page| unsealed(page, marking));
    (shown.collect(), asked)
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
        let plain = |texts: Vec<String>| -> Vec<String> {
            texts
                .iter()
                .map(|text| text.replace(&host, "site"))
                .collect()
        };
        let own = "cattlegrid_markers_read_total{kind=\"own\"}";
        (plain(shown), plain(asked), marking.gate.metric(own))
    };
    let (shown, asked, read) = run("off", "");
    assert_eq!((shown.len(), read), (9, Some(0.0)));
    assert!(
        shown[0].contains("page 1") && shown[0].contains("/item/"),
        "{}",
        shown[0]
    );
    assert_eq!(shown[1].matches("/forum/post?part=").count(), 20);
    for style in ["query", "path", "sealed"] {
        let (marked, requests, read) = run(style, "");
        for (page, marked) in shown.iter().zip(&marked) {
            assert_eq!(marked, page, "{style}");
        }
        assert_eq!(requests, asked, "{style}");
        assert!(read >= Some(6.0), "{style}: {read:?}");
    }
    let (_, requests, _) = run("query", "without = [\"unmark\"]");
    assert_ne!(requests, asked);
}
