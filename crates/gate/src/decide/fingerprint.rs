//! The fingerprint of a page request: how its client sends header fields and begins connections. The policy groups clients by it.

use cattlegrid_core::policy::Fingerprint;
use cattlegrid_core::policy::Loader;
use cattlegrid_core::policy::PageRequest;
use cattlegrid_core::profile::Content;
use cattlegrid_core::request::Field;
use cattlegrid_core::request::Header;
use cattlegrid_http1::Name;

use super::Facts;
use crate::state::Gate;
use crate::state::Live;

/// How a client writes `Accept-Language`; which languages these are is its user's own.
#[derive(Hash)]
enum Languages {
    Absent,
    /// `de`, or several without weights.
    Plain,
    Weighted,
}

impl Languages {
    fn of(value: Option<&[u8]>) -> Languages {
        match value {
            None => Languages::Absent,
            Some(value) if value.contains(&b';') => Languages::Weighted,
            Some(_) => Languages::Plain,
        }
    }
}

/// What loads a page, as far as the request says.
fn loader(facts: &Facts<'_>) -> Loader {
    let headers = facts.headers;
    let is = |name: Name, value: &[u8]| headers.get(name).is_some_and(|sent| sent == value);
    // Apps that show web pages name themselves in X-Requested-With.
    let is_script = match headers.get(Name::SecFetchDest) {
        Some(dest) => !matches!(dest, b"document" | b"iframe" | b"frame"),
        None => is(Name::HxRequest, b"true") || is(Name::XRequestedWith, b"XMLHttpRequest"),
    };
    match is_script {
        true => Loader::Script,
        false => Loader::Window,
    }
}

impl Gate {
    /// The fingerprint of a request for a page; nothing for other requests, or where groups are not counted.
    pub(super) fn fingerprint(
        &self,
        live: &Live,
        facts: &Facts<'_>,
        (agent, content): (u32, Content),
    ) -> Option<Fingerprint> {
        if content != Content::Page || live.policy.limits.group_pages == 0 {
            return None;
        }
        let sent = facts.sent();
        let value = |name: Name| facts.headers.get(name);
        // Only fields that every page load of a client has: a cookie or a referrer makes nobody another client.
        let digest = self.counters.hash((
            facts.protocol(),
            facts.handshake,
            sent.values
                .map(|value| value.is_some_and(|value| !value.is_empty())),
            sent.order.letters(),
            value(Name::Accept),
            value(Name::AcceptEncoding),
            Languages::of(value(Name::AcceptLanguage)),
        ));
        let mut fields = [Field::NotLogged; Header::ALL.len()];
        for (field, value) in fields.iter_mut().zip(sent.values) {
            *field = value.map_or(Field::NotLogged, Field::logged);
        }
        if !sent.order.letters().is_empty() {
            fields[Header::Order as usize] = Field::Value(sent.order.letters());
        }
        live.policy.fingerprint(&PageRequest {
            agent: (facts.agent(), agent),
            fields,
            referrer: value(Name::Referer).unwrap_or_default(),
            host: facts.host.as_bytes(),
            loader: loader(facts),
            digest,
        })
    }
}
