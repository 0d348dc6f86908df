//! A gate that marks the links of signed-in people's pages, for the tests of markers and of what they show.

use std::path::PathBuf;

use serde_json::json;

use crate::browser::Chromium;
use crate::harness::Answer;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::Wanted;
use crate::harness::get_from;
use crate::sign_in::NO_PACE;
use crate::sign_in::cookie;
use crate::sign_in::key_file;

const SECRET: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// A gate that knows signed-in people and marks their links.
pub(crate) struct Marking {
    pub(crate) gate: Gate,
    pub(crate) key: PathBuf,
}

impl Marking {
    pub(crate) fn start(origin: &Origin, style: &str, more: &str) -> Marking {
        Marking::with_markers(origin, style, more, "")
    }

    /// The same with further settings of markers.
    pub(crate) fn with_markers(origin: &Origin, style: &str, more: &str, markers: &str) -> Marking {
        let wanted = Wanted {
            gate: more.to_owned(),
            ..Wanted::default()
        };
        Marking::make(origin, style, markers, wanted)
    }

    /// With settings of its own.
    pub(crate) fn with(origin: &Origin, style: &str, wanted: Wanted) -> Marking {
        Marking::make(origin, style, "", wanted)
    }

    fn make(origin: &Origin, style: &str, markers: &str, mut wanted: Wanted) -> Marking {
        let key = key_file(SECRET);
        wanted.parts = format!(
            "{NO_PACE}[gate.markers]\nstyle = \"{style}\"\n{markers}[gate.sign_in.hmac]\ncookie = \"who\"\nkey_file = \"{}\"\n{}",
            key.display(),
            wanted.parts
        );
        let gate = Gate::with(origin, wanted);
        Marking { gate, key }
    }

    pub(crate) fn cookie(&self, user: &str) -> String {
        self.cookie_for(user, 3600)
    }

    /// A cookie that lasts so many seconds.
    pub(crate) fn cookie_for(&self, user: &str, seconds: i64) -> String {
        format!("who={}", cookie(&self.key, "*", user, seconds))
    }

    /// Makes a browser alice's. The page is any of the site.
    pub(crate) fn sign_in(&self, browser: &Chromium, page: &str) {
        let cookie = self.cookie("alice");
        let (name, value) = cookie.split_once('=').unwrap();
        browser.open(self.gate.address, page);
        let set = json!({"cookie": {"name": name, "value": value}});
        browser.post("/cookie", &set);
    }

    pub(crate) fn get(&self, user: &str, target: &str, more: &[(&str, &str)]) -> Answer {
        let cookie = self.cookie(user);
        let headers = [&[("Cookie", cookie.as_str())], more].concat();
        get_from("127.0.0.1", self.gate.address, target, &headers)
    }
}
