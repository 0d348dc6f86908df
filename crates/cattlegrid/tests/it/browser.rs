//! The page in a real browser, driven by its own driver over WebDriver.

use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::LINE;
use crate::run;
use crate::session::Session;
use crate::stderr;
use crate::write;

struct Browser(Session);

impl Browser {
    /// Starts a browser, or says that there is none.
    fn start() -> Option<Browser> {
        Session::start("1280,1000", &json!({}), &[]).map(Browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let value = self.0.ask(path, body);
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }

    fn open(&self, path: &str) {
        self.post("/url", &json!({"url": format!("file://{path}")}));
    }

    fn eval(&self, script: &str) -> Value {
        self.post(
            "/execute/sync",
            &json!({"script": format!("return {script}"), "args": []}),
        )
    }

    fn press(&self, key: &str) {
        let keys = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        self.post(
            "/actions",
            &json!({"actions": [{"type": "key", "id": "k", "actions": keys}]}),
        );
    }

    fn resize(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.cdp("Emulation.setDeviceMetricsOverride", &metrics);
    }

    fn cdp(&self, command: &str, parameters: &Value) {
        self.post(
            "/goog/cdp/execute",
            &json!({"cmd": command, "params": parameters}),
        );
    }

    fn picture(&self, name: &str) {
        self.0.picture(name);
    }
}

fn page(folder: &TempDir, log: &str) -> String {
    let log = write(folder.path(), "access.log", log.as_bytes());
    let page = folder.path().join("report.html");
    let page = page.to_str().unwrap().to_owned();
    let output = run(&[
        "analyze",
        "-q",
        "--html",
        &page,
        "--min-requests",
        "1",
        &log,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    page
}

/// The page of the example log, with one more line under a hostile agent.
fn open_example(browser: &Browser, folder: &TempDir) {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access.log");
    let line = LINE
        .replace("192.0.2.1", "203.0.113.250")
        .replace("Mozilla/5.0", EVIL)
        .replace("01/Jan/2030", "07/Jan/2030");
    let log = std::fs::read_to_string(example).unwrap() + &line + "\n";
    browser.open(&page(folder, &log));
}

const EVIL: &str =
    "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>";

impl Browser {
    fn number(&self, script: &str) -> f64 {
        let value = self.eval(script);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{script}: {value}"))
    }

    fn text(&self, script: &str) -> String {
        self.eval(script).as_str().unwrap_or_default().to_owned()
    }

    fn search(&self, words: &str) {
        self.eval(&format!(
            "(() => {{ const box = document.getElementById('search'); box.value = '{words}'; box.dispatchEvent(new Event('input')); }})()"
        ));
    }
}

const ROWS: &str = "document.querySelectorAll('#sources tbody tr').length";

#[test]
fn the_page_is_sorted_by_keyboard_and_can_be_read_out() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = TempDir::new().unwrap();
    open_example(&browser, &folder);
    let resources = "performance.getEntriesByType('resource').length";
    assert_eq!(browser.number(resources), 0.0, "no network");
    let unwanted = browser.number(ROWS);
    assert!(unwanted > 0.0 && unwanted < 50.0, "{unwanted}");
    browser.eval("document.querySelector('button[data-band=all]').click()");
    assert_eq!(browser.number(ROWS), 50.0);
    browser.picture("desk.png");
    let head = "document.querySelector('#sources th[data-key=source]')";
    browser.eval(&format!("{head}.querySelector('button').focus()"));
    browser.press("\u{e007}");
    let sorted = browser.text(&format!("{head}.getAttribute('aria-sort')"));
    assert_eq!(sorted, "ascending");
    let names = browser
        .eval("[...document.querySelectorAll('#sources .open')].map(open => open.textContent)");
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(names.is_sorted() && names.len() == 50, "{names:?}");
    // Every control has a name that a screen reader can say.
    let unnamed = "[...document.querySelectorAll('button, input')].filter(e => !(e.textContent.trim() || e.getAttribute('aria-label'))).length";
    assert_eq!(browser.number(unnamed), 0.0);
}

#[test]
fn h156_a_hostile_agent_is_text_on_the_page() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = TempDir::new().unwrap();
    open_example(&browser, &folder);
    browser.search("onerror");
    assert_eq!(browser.number(ROWS), 1.0);
    browser.eval("document.querySelector('#sources .open').click()");
    let agent = browser.text("document.querySelector('#sources td[colspan] .agent').textContent");
    assert_eq!(agent, EVIL);
    assert_eq!(browser.text("document.title"), "Who visits this site");
    let reasons = browser.text("document.querySelector('#sources .why').textContent");
    assert!(reasons.contains("its user agent is that of"), "{reasons}");
    let log = browser.post("/se/log", &json!({"type": "browser"}));
    assert_eq!(log, json!([]), "the browser complains");
}

#[test]
fn the_page_in_the_dark_and_on_a_phone() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = TempDir::new().unwrap();
    open_example(&browser, &folder);
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = browser.text(background);
    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.cdp("Emulation.setEmulatedMedia", &dark);
    assert_ne!(browser.text(background), light);
    browser.resize(390, 844);
    let width = browser.number("document.documentElement.scrollWidth");
    assert!(width <= 390.0, "{width}: something runs out of the screen");
    browser.picture("phone_dark.png");
    browser.eval("document.getElementById('list').scrollIntoView()");
    browser.picture("phone_dark_sources.png");
}

#[test]
fn a_page_of_100_000_sources_stays_quick() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let mut log = String::new();
    for number in 0..100_000_u32 {
        let source = format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
        let agent = format!("ExampleTool/{}.{}", number % 37, number % 11);
        log += &LINE
            .replace("192.0.2.1", &source)
            .replace("Mozilla/5.0", &agent);
        log.push('\n');
    }
    let path = page(&folder, &log);
    let size = std::fs::metadata(&path).unwrap().len();
    browser.open(&path);
    let number = |script: &str| browser.number(script);
    let paint = number("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let loaded =
        number("performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart");
    let sort = number(
        "(() => { const start = performance.now(); document.querySelector('#sources th[data-key=source] button').click(); document.body.offsetHeight; return performance.now() - start; })()",
    );
    let said = format!(
        "100,000 sources: {size} bytes, first paint {paint:.0} ms, ready {loaded:.0} ms, sort {sort:.0} ms\n"
    );
    let _ = std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes());
    assert!(
        browser
            .eval("document.getElementById('status').textContent")
            .as_str()
            .unwrap()
            .starts_with("100,000 sources")
    );
    assert!(
        size < 10_000_000 && sort < 5_000.0 && paint < 10_000.0,
        "{said}"
    );
    browser.picture("many.png");
}
