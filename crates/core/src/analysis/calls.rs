//! Requests that the scripts of pages send. In a log they look like page requests, and nobody views a page by them.
//!
//! A page that people see is named as referrer: by its parts, and by the pages they go to from there. A path that is requested often,
//! from other pages, and that nothing ever names is no page. It takes two readings of a log to know that: the first one learns it.

use std::collections::BTreeMap;
use std::collections::HashSet;

use crate::profile::Recorder;
use crate::profile::path_of;
use crate::request::Request;
use crate::request::Source;

/// Counts by the hash of a path.
const CELLS: usize = 1 << 16;
/// Requests of the sample from which a path is looked at, and the sources that must have sent them.
const REQUESTS_MIN: u64 = 30;
const SOURCES_MIN: usize = 5;
/// Share of requests with a referrer from which a path is requested from other pages.
const REFERRED_MIN: f64 = 0.8;
/// Requests that name a path, for each request of it: up to here it is no page, and from there on it is one.
const NAMED_MAX: f64 = 0.02;
const NAMED_PAGE: f64 = 0.2;
/// Pages that show that referrers of this site have their paths: so many, with this share of the requests looked at.
const PAGES_MIN: usize = 3;
const PAGES_SHARE: f64 = 0.2;

/// How many requests name a path as referrer, by the path's hash.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Empty before the first.
    cells: Vec<u32>,
}

impl Named {
    pub(super) fn note(&mut self, request: &Request<'_>, recorder: &Recorder) {
        let Some(path) = request.referrer.value().and_then(path_in_url) else {
            return;
        };
        // A page that is asked for again from itself was not followed by anything.
        let rest = request.target.strip_prefix(path);
        if rest.is_some_and(|rest| path_of(rest).is_empty()) {
            return;
        }
        if self.cells.is_empty() {
            self.cells.resize(CELLS, 0);
        }
        self.cells[recorder.path_cell(path, CELLS)] += 1;
    }

    /// Adds the counts of another thread.
    pub(super) fn absorb(&mut self, other: &Named) {
        self.cells.resize(CELLS, 0);
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            *mine += theirs;
        }
    }

    /// Requests that name this path, and others with the same hash.
    fn of(&self, path: &[u8], recorder: &Recorder) -> u64 {
        let cell = self.cells.get(recorder.path_cell(path, CELLS));
        cell.copied().map_or(0, u64::from)
    }
}

/// The path of a URL; `None` where it has none.
fn path_in_url(url: &[u8]) -> Option<&[u8]> {
    let rest = url.strip_prefix(b"https://");
    let rest = rest.or_else(|| url.strip_prefix(b"http://"))?;
    Some(path_of(&rest[memchr::memchr(b'/', rest)?..]))
}

/// What a sample of the page requests tells about one path.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) requests: u64,
    pub(super) referred: u64,
    pub(super) errors: u64,
    pub(super) sources: HashSet<Source>,
}

/// The paths that scripts request, of those that a sample has. `whole` are all requests for each one of the sample.
pub(super) fn find(
    asked: &BTreeMap<&[u8], Asked>,
    whole: f64,
    named: &Named,
    recorder: &Recorder,
) -> Vec<Box<[u8]>> {
    let all: u64 = asked.values().map(|path| path.requests).sum();
    let (mut calls, mut pages, mut page_requests) = (Vec::new(), 0, 0);
    for (path, asked) in asked {
        if asked.requests < REQUESTS_MIN {
            continue;
        }
        let share = named.of(path, recorder) as f64 / (asked.requests as f64 * whole);
        if share >= NAMED_PAGE {
            pages += 1;
            page_requests += asked.requests;
        }
        let is_referred = asked.referred as f64 >= REFERRED_MIN * asked.requests as f64;
        let is_sent = asked.errors * 2 < asked.requests && asked.sources.len() >= SOURCES_MIN;
        if share <= NAMED_MAX && is_referred && is_sent {
            calls.push((*path).into());
        }
    }
    let tells = pages >= PAGES_MIN && page_requests as f64 >= PAGES_SHARE * all as f64;
    if tells { calls } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Field;
    use crate::request::SourceKind;

    fn named(recorder: &Recorder, requests: &[(&str, &str, u32)]) -> Named {
        let mut named = Named::default();
        for (target, referrer, times) in requests {
            let request = Request {
                target: target.as_bytes(),
                referrer: Field::Value(referrer.as_bytes()),
                ..Request::default()
            };
            (0..*times).for_each(|_| named.note(&request, recorder));
        }
        named
    }

    fn source(value: u64) -> Source {
        Source {
            kind: SourceKind::V4,
            value,
        }
    }

    fn asked(requests: u64, referred: u64) -> Asked {
        Asked {
            requests,
            referred,
            errors: 0,
            sources: (0..requests).map(source).collect(),
        }
    }

    fn check(
        paths: &[(&'static str, u64, u64)],
        requests: &[(&str, &str, u32)],
        expected: &[&str],
    ) {
        let recorder = Recorder::new(1, &[]).unwrap();
        let paths = paths.iter().copied();
        let asked = paths
            .map(|(path, requests, referred)| (path.as_bytes(), asked(requests, referred)))
            .collect();
        let found = find(&asked, 1.0, &named(&recorder, requests), &recorder);
        let found: Vec<&str> = found
            .iter()
            .map(|path| std::str::from_utf8(path).unwrap())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_asked_for_often_and_never_named_is_no_page() {
        let paths = [
            ("/", 100, 10),
            ("/article", 100, 80),
            ("/complete", 100, 100),
            ("/landing", 100, 5),
            ("/list", 100, 90),
            ("/seldom", 10, 10),
        ];
        let requests = [
            ("/list", "https://www.example.com/", 90),
            ("/article", "https://www.example.com/list?page=2", 80),
            ("/a.css", "https://www.example.com/article", 60),
            ("/complete?q=a", "https://www.example.com/list", 100),
        ];
        check(&paths, &requests, &["/complete"]);
        // Browsers that name nothing but the site tell nothing.
        let origin = [("/article", "https://www.example.com/", 200)];
        check(&paths, &origin, &[]);
    }
}
