//! The visitor's pages in a real browser, with JavaScript and cookies refused, as a screen reader finds them, in both colour schemes and on
//! a narrow screen. Where `CATTLEGRID_AXE` names the file `axe.min.js` of axe-core, each page is checked with that as well.

use std::fs;

use serde_json::Value;
use serde_json::json;

use crate::browser::Chromium;
use crate::browser::site;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::say;
use crate::harness::wait_for;
use crate::session::Session;
use crate::without_javascript::Asked;

/// Content settings of Chromium: nothing is allowed.
const BLOCKED: u8 = 2;

/// A browser without JavaScript, or without cookies, or with both.
fn start(settings: &[&str]) -> Option<Chromium> {
    let mut preferences = json!({"intl.accept_languages": "en"});
    for name in settings {
        preferences[format!("profile.default_content_setting_values.{name}")] = json!(BLOCKED);
    }
    Session::start("1400,900", &preferences, &[]).map(Chromium)
}

fn limits(bits: u8) -> Wanted {
    Wanted {
        parts: format!(
            "[gate.challenge]\nbits = {bits}\n[policy]\nk1 = 5\nquestion_seconds = 1\n[[gate.rule]]\npath = \"/blocked\"\naction = \"block\"\n[[gate.rule]]\npath = \"/throttled\"\naction = \"throttle\"\n"
        ),
        ..Wanted::default()
    }
}

/// A node of the tree that screen readers read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    role: String,
    name: String,
    description: String,
}

impl Chromium {
    fn tool(&self, command: &str, parameters: &Value) -> Value {
        let value = self.post(
            "/goog/cdp/execute",
            &json!({"cmd": command, "params": parameters}),
        );
        assert!(value.get("error").is_none(), "{command}: {value}");
        value
    }

    /// What screen readers are told of the page, once that has a node of this role: the browser makes the tree after the page.
    pub(crate) fn tree_with(&self, role: &str) -> Vec<Node> {
        let mut tree = Vec::new();
        wait_for(&format!("the page has a node {role}"), || {
            tree = self.tree();
            tree.iter().any(|node| node.role == role)
        });
        tree
    }

    /// What screen readers are told of the page now, without what they pass over.
    fn tree(&self) -> Vec<Node> {
        self.tool("Accessibility.enable", &json!({}));
        let tree = self.tool("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let heard = nodes.filter(|node| node["ignored"] != true);
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        heard
            .map(|node| Node {
                role: text(&node["role"]),
                name: text(&node["name"]),
                description: text(&node["description"]),
            })
            .filter(|node| !["InlineTextBox", "none", "generic"].contains(&node.role.as_str()))
            .collect()
    }

    /// Types into an element, unless the browser has gone to the next page meanwhile.
    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        if let Some(element) = self.element(selector) {
            self.post(&format!("/element/{element}/value"), &json!({"text": text}));
        }
    }

    /// The same with a click.
    pub(crate) fn click(&self, selector: &str) {
        if let Some(element) = self.element(selector) {
            self.post(&format!("/element/{element}/click"), &json!({}));
        }
    }

    fn element(&self, selector: &str) -> Option<String> {
        let found = self.post(
            "/element",
            &json!({"using": "css selector", "value": selector}),
        );
        // The name that the W3C gave to references.
        let reference = found["element-6066-11e4-a52e-4f735466cecf"].as_str();
        reference.map(str::to_owned)
    }

    pub(crate) fn source(&self) -> String {
        self.text("document.documentElement.outerHTML")
    }

    /// The question on the page; without JavaScript `noscript` holds elements.
    pub(crate) fn question(&self) -> Asked {
        let page = self.source();
        Asked::of(&page).unwrap_or_else(|| panic!("no question in {page}"))
    }

    /// Looks at the page in both colour schemes and two widths, and checks it with axe-core.
    pub(crate) fn checked(&self, name: &str) {
        self.look_at(name, |view| self.axe(view));
    }

    /// The same without axe-core, which needs JavaScript.
    fn looked_at(&self, name: &str) {
        self.look_at(name, |_| {});
    }

    fn look_at(&self, name: &str, check: impl Fn(&str)) {
        check_tree(name, &self.tree_with("main"));
        for scheme in ["light", "dark"] {
            let feature = json!({"name": "prefers-color-scheme", "value": scheme});
            self.tool(
                "Emulation.setEmulatedMedia",
                &json!({"features": [feature]}),
            );
            for width in [1400, 390] {
                let screen = json!({"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 1000});
                self.tool("Emulation.setDeviceMetricsOverride", &screen);
                let fits = self.eval("document.documentElement.scrollWidth <= innerWidth");
                assert_eq!(fits, Some(json!(true)), "{name} at {width}");
                self.picture(&format!("{name}-{scheme}-{width}.png"));
                check(&format!("{name}, {scheme}, {width}"));
            }
        }
    }

    /// Has axe-core check the page, where it is here.
    fn axe(&self, name: &str) {
        let Some(path) = std::env::var_os("CATTLEGRID_AXE") else {
            return;
        };
        let source = fs::read_to_string(path).unwrap();
        self.post("/execute/sync", &json!({"script": source, "args": []}));
        let run = "const done = arguments[0]; axe.run(document, {resultTypes: ['violations', 'incomplete']}).then((all) => done({passed: all.passes.length, found: all.violations.concat(all.incomplete).map((one) => one.id + ': ' + one.nodes.map((node) => node.html).join(' '))}), (error) => done({found: [String(error)]}));";
        let found = self.post("/execute/async", &json!({"script": run, "args": []}));
        say(&format!("axe on {name}: {found}"));
        assert_eq!(found["found"], json!([]), "{name}");
        assert!(found["passed"].as_u64() > Some(5), "{name}: {found}");
    }
}

/// What every page needs for a screen reader: a title, one main part, one heading, and a name for all that can be used.
fn check_tree(name: &str, tree: &[Node]) {
    let of = |role: &str| tree.iter().filter(|node| node.role == role).count();
    let document = tree.iter().find(|node| node.role == "RootWebArea");
    assert!(document.is_some_and(|node| !node.name.is_empty()), "{name}");
    assert_eq!((of("main"), of("heading")), (1, 1), "{name}: {tree:?}");
    let usable = ["button", "link", "textbox", "progressbar"];
    for node in tree {
        let is_usable = usable.contains(&node.role.as_str());
        assert!(!is_usable || !node.name.is_empty(), "{name}: {node:?}");
    }
}

/// Asks for pages until the next one is a challenge, and opens that.
fn meet(browser: &Chromium, gate: &Gate) {
    for page in 0..5 {
        browser.open(gate.address, &format!("/page{page}"));
    }
    browser.open(gate.address, "/wanted?x=1");
}

#[test]
fn h106_chromium_without_javascript_gets_through() {
    let Some(browser) = start(&["javascript"]) else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(15));
    meet(&browser, &gate);
    let tree = browser.tree_with("textbox");
    say(&format!("{tree:#?}"));
    let question = browser.question();
    let field = tree.iter().find(|node| node.role == "textbox").unwrap();
    // Spaces that keep a number with its word are spaces there.
    let plain = |text: &str| text.replace('\u{a0}', " ");
    let (asked, named) = (plain(question.text()), plain(&field.name));
    assert!(
        asked.starts_with(&named) && !named.is_empty(),
        "{asked} {named}"
    );
    assert!(
        field.description.contains("Answer with a number"),
        "{field:?}"
    );
    browser.looked_at("without-javascript");
    browser.type_into("#answer", "999");
    browser.click("form button");
    wait_for("it is told that this is wrong", || {
        browser.source().contains("role=\"alert\"")
    });
    browser.tree_with("alert");
    browser.looked_at("question-wrong");
    let answer = browser.question().solve().unwrap();
    wait_for("the answer counts, which may have come too soon", || {
        browser.type_into("#answer", &answer.to_string());
        browser.click("form button");
        browser.text("document.title") == "the site"
    });
    browser.wait_for_page("/wanted?x=1");
    assert_eq!(
        gate.metric("cattlegrid_questions_answered_total"),
        Some(1.0)
    );
    for page in 0..10 {
        browser.open(gate.address, &format!("/more{page}"));
        browser.wait_for_page(&format!("/more{page}"));
    }
}

#[test]
fn h093_chromium_without_javascript_and_cookies_gets_a_useful_page() {
    let Some(browser) = start(&["javascript", "cookies"]) else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(15));
    meet(&browser, &gate);
    let answer = browser.question().solve().unwrap();
    browser.type_into("#answer", &answer.to_string());
    browser.click("form button");
    wait_for("it is told about cookies", || {
        browser.text("document.title") == "Cookies are needed"
    });
    let tree = browser.tree_with("link");
    let links: Vec<&str> = tree
        .iter()
        .filter(|node| node.role == "link")
        .map(|node| node.name.as_str())
        .collect();
    assert_eq!(links, ["Try again", "webmaster@example.org"]);
    browser.looked_at("cookies-refused");
    let shown = gate.metric("cattlegrid_challenges_total");
    browser.click("main a");
    wait_for("the challenge comes back, once", || {
        gate.metric("cattlegrid_challenges_total") > shown
    });
    assert_eq!(browser.text("location.pathname"), "/wanted");
}

#[test]
fn h093_chromium_with_javascript_and_without_cookies_is_told_so() {
    let Some(browser) = start(&["cookies"]) else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(8));
    meet(&browser, &gate);
    wait_for("it is told about cookies", || {
        let status = browser.text("document.getElementById('status')?.textContent");
        status.contains("allow cookies")
    });
    browser.checked("cookies-refused-script");
}

/// From the challenge to its question, as after a failure of the script; then a wrong answer, and one without cookies.
fn questions(browser: &Chromium) {
    let titled = |title: &str| {
        wait_for(title, || browser.text("document.title").contains(title));
    };
    browser.eval("(document.getElementById('instead').hidden = false)");
    browser.checked("challenge-failed");
    browser.click("#instead button");
    titled("A short question");
    browser.checked("question");
    browser.type_into("#answer", "999");
    browser.click("form button");
    titled("not the right number");
    browser.checked("question-wrong-scripted");
    let answer = browser.question().solve().unwrap();
    browser.tool("Network.clearBrowserCookies", &json!({}));
    browser.type_into("#answer", &answer.to_string());
    browser.click("form button");
    titled("Cookies are needed");
    browser.checked("cookies-needed");
}

#[test]
fn every_page_of_the_gate_is_accessible() {
    let Some(browser) = start(&[]) else {
        return;
    };
    let origin = site();
    let gate = Gate::with(&origin, limits(24));
    browser.open(gate.address, "/blocked");
    browser.checked("blocked");
    browser.open(gate.address, "/throttled");
    browser.checked("throttled");
    meet(&browser, &gate);
    browser.checked("challenge");
    // The elements that a browser without JavaScript makes of the same page.
    browser.eval(
        "(document.querySelector('noscript').outerHTML = document.querySelector('noscript').textContent)",
    );
    browser.checked("challenge-unscripted");
    questions(&browser);
    let dead = Origin::start();
    let gate = Gate::with(
        &dead,
        Wanted {
            parts: "[[gate.site]]\nhosts = [\"*\"]\nupstream = \"http://127.0.0.1:1\"\n".to_owned(),
            ..Wanted::default()
        },
    );
    browser.open(gate.address, "/down");
    assert_eq!(browser.text("document.title"), "The site does not answer");
    browser.checked("upstream-down");
}
