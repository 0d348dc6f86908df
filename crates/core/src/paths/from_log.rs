//! Entries from an access log, where pages carry no markers: the user by name, session cookie or address, the parent by the referrer.
//!
//! Weaker than markers: a client can withhold or forge a referrer, and two people behind one address with one browser are one user.

use rapidhash::v3::RapidSecrets;
use rapidhash::v3::rapidhash_v3_seeded;

use super::Entry;
use crate::profile::host_of;
use crate::profile::is_page;
use crate::request::Client;
use crate::request::Request;

/// How users of a log are told apart, and how often each way was used.
#[derive(Debug, Default)]
pub struct LogUsers {
    /// Page requests whose user the log names.
    pub named: u64,
    /// Page requests told apart by a session cookie.
    pub by_cookie: u64,
    /// Page requests told apart by source and user agent alone.
    pub by_source: u64,
}

impl LogUsers {
    /// The entry of a request; `None` if it is not one for a page.
    pub fn entry(&mut self, request: &Request<'_>) -> Option<Entry> {
        if !is_page(request.method, request.target) || request.is_refused || request.is_trap {
            return None;
        }
        Some(Entry {
            at_ms: u64::from(request.time) * 1000,
            user: self.user(request),
            page: page_key(request.target),
            parent: parent(request),
        })
    }

    fn user(&mut self, request: &Request<'_>) -> u64 {
        if let Some(name) = request.user.value() {
            self.named += 1;
            return hash(1, name);
        }
        if let Some(cookie) = request.session.value() {
            self.by_cookie += 1;
            return hash(2, cookie);
        }
        self.by_source += 1;
        let agent = hash(3, request.agent.value().unwrap_or_default());
        match request.client.address() {
            Some(source) => hash(agent, source.to_string().as_bytes()),
            None => match request.client {
                Client::Written(token) => hash(agent, token),
                Client::V4(address) => hash(agent, &address.to_be_bytes()),
            },
        }
    }
}

/// The hash of a page's address: its path and query, without the fragment.
pub fn page_key(target: &[u8]) -> u64 {
    let end = memchr::memchr(b'#', target).unwrap_or(target.len());
    hash(0, &target[..end])
}

/// The page of the same site that the referrer names. A log that names no host holds one site; a foreign referrer then counts as a page of
/// it that was never visited, which changes no feature.
fn parent(request: &Request<'_>) -> Option<u64> {
    let referrer = request.referrer.value()?;
    let rest = match memchr::memmem::find(referrer, b"://") {
        Some(at) => &referrer[at + 3..],
        None => return Some(page_key(referrer)).filter(|_| referrer.starts_with(b"/")),
    };
    let start = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    let target = start.map_or(&b"/"[..], |start| &rest[start..]);
    match request.host.value() {
        Some(host) if !host_of(referrer).eq_ignore_ascii_case(host) => None,
        _ => Some(page_key(target)),
    }
}

fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let secrets = RapidSecrets::seed(seed);
    rapidhash_v3_seeded(bytes, &secrets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Field;

    fn request<'a>(target: &'a [u8], referrer: &'a [u8]) -> Request<'a> {
        Request {
            client: Client::V4(0xc000_0207),
            time: 100,
            method: b"GET",
            target,
            referrer: Field::logged(referrer),
            agent: Field::Value(b"Mozilla/5.0"),
            ..Request::default()
        }
    }

    #[test]
    fn the_referrer_is_the_parent() {
        let mut users = LogUsers::default();
        let mut parent_of = |referrer: &[u8]| {
            let entry = users.entry(&request(b"/thread/2", referrer));
            entry.unwrap().parent
        };
        let board = Some(page_key(b"/board?id=1"));
        assert_eq!(parent_of(b"https://forum.example/board?id=1"), board);
        assert_eq!(parent_of(b"https://forum.example/board?id=1#top"), board);
        assert_eq!(parent_of(b"/board?id=1"), board);
        assert_eq!(parent_of(b"https://forum.example"), Some(page_key(b"/")));
        assert_eq!(parent_of(b"-"), None);
        assert_eq!(parent_of(b"nonsense"), None);
    }

    #[test]
    fn a_foreign_referrer_is_no_parent_where_the_host_is_known() {
        let mut users = LogUsers::default();
        let mut here = request(b"/thread/2", b"https://search.example/board?id=1");
        here.host = Field::Value(b"forum.example");
        assert_eq!(users.entry(&here).unwrap().parent, None);
    }

    #[test]
    fn users_are_names_then_cookies_then_sources_with_agents() {
        let mut users = LogUsers::default();
        let plain = request(b"/a", b"-");
        let by = |change: fn(&mut Request<'_>)| {
            let mut request = plain;
            change(&mut request);
            request
        };
        let same = users.entry(&plain).unwrap().user;
        let named = users.entry(&by(|request| request.user = Field::Value(b"ann")));
        let cookie = users.entry(&by(|request| request.session = Field::Value(b"ann")));
        let other = users.entry(&by(|request| request.agent = Field::Value(b"Opera")));
        let all = [
            same,
            named.unwrap().user,
            cookie.unwrap().user,
            other.unwrap().user,
        ];
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), 4);
        assert_eq!((users.named, users.by_cookie, users.by_source), (1, 1, 2));
        assert!(users.entry(&request(b"/style.css", b"-")).is_none());
    }
}
