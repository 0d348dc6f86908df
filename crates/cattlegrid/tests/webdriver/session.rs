//! Chromium in a profile of its own, driven over WebDriver: for the tests of pages, and of the gate before a real browser.

use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::PoisonError;
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
    /// Starts a browser with a window of this size, `1280,1000`, and preferences; or says that there is none.
    pub(crate) fn start(size: &str, preferences: &Value) -> Option<Session> {
        if !has("chromedriver", 1) {
            return None;
        }
        // Drivers that start at the same moment may choose the same port; who comes second would end at once.
        static STARTING: Mutex<()> = Mutex::new(());
        let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().unwrap();
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("HOME", folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, port) = line.split_once("started successfully on port ")?;
                Some(port.trim_end_matches('.').to_owned())
            })
            .expect("the driver's port");
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

impl Drop for Session {
    fn drop(&mut self) {
        let agent = ureq::Agent::new_with_defaults();
        let _ = agent.delete(&self.url).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
