//! Chromium in a profile of its own, driven over WebDriver: for the tests of pages, and of the gate before a real browser.

use std::io::BufRead;
use std::io::BufReader;
use std::io::ErrorKind;
use std::iter;
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::skip::has;

/// A browser, and the driver that it listens to.
pub(crate) struct Session {
    driver: Child,
    url: String,
    /// The browser's profile.
    _folder: TempDir,
}

impl Session {
    /// Starts a browser with a window of this size, `1280,1000`, preferences and an environment; or says that there is none.
    pub(crate) fn start(
        size: &str,
        preferences: &Value,
        environment: &[(&str, &str)],
    ) -> Option<Session> {
        if !has("chromedriver", 1) {
            return None;
        }
        let port = driver_port();
        let folder = TempDir::new().unwrap();
        let mut driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .env("HOME", folder.path())
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let is_up = lines
            .map_while(Result::ok)
            .any(|line| line.contains("started successfully"));
        assert!(is_up, "the driver does not start on port {port}");
        let profile = folder.path().join("profile");
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"prefs": preferences,
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", format!("--window-size={size}"),
                    format!("--user-data-dir={}", profile.display())]}}}});
        let mut session = Session {
            driver,
            url: format!("http://127.0.0.1:{port}/session"),
            _folder: folder,
        };
        let answer = session.ask("", &capabilities);
        session.url += &format!("/{}", answer["sessionId"].as_str().unwrap());
        Some(session)
    }

    /// Sends a command. What goes wrong comes back as a value with an `error`.
    pub(crate) fn ask(&self, path: &str, body: &Value) -> Value {
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder()
                .timeout_global(Some(Duration::from_secs(120)))
                .http_status_as_error(false)
                .build(),
        );
        let mut answer = agent
            .post(format!("{}{path}", self.url))
            .header("Content-Type", "application/json")
            .send(body.to_string())
            .unwrap();
        let text = answer
            .body_mut()
            .with_config()
            .limit(200 << 20)
            .read_to_string()
            .unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        json["value"].clone()
    }

    /// Keeps a picture where `CATTLEGRID_SCREENSHOTS` asks for it.
    pub(crate) fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("CATTLEGRID_SCREENSHOTS") else {
            return;
        };
        let shot = self.ask(
            "/goog/cdp/execute",
            &json!({"cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": false}}),
        );
        let bytes = base64::prelude::BASE64_STANDARD
            .decode(shot["data"].as_str().unwrap())
            .unwrap();
        std::fs::write(Path::new(&folder).join(name), bytes).unwrap();
    }
}

/// A port for a driver, which wants the same one of IPv4 and of IPv6. One that the system chooses is free in one of them, and in the other
/// it may belong to a connection of another test: so this takes ports that the system gives to nobody.
fn driver_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + u16::try_from(std::process::id() % 300).unwrap() * 64;
    let mut ports = iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed)).take(1_000);
    let is_free = |port: &u16| {
        ["127.0.0.1", "::1"]
            .iter()
            .all(|address| is_free(address, *port))
    };
    ports.find(is_free).expect("a free port")
}

/// Whether nothing listens there. A machine without IPv6 has no listener there either.
fn is_free(address: &str, port: u16) -> bool {
    let bound = TcpListener::bind((address, port));
    bound.map_or_else(|error| error.kind() != ErrorKind::AddrInUse, |_| true)
}

impl Drop for Session {
    fn drop(&mut self) {
        let agent = ureq::Agent::new_with_defaults();
        let _ = agent.delete(&self.url).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
