//! The head of a response that gets markers: what described the site's bytes goes, and no cache may give it to another person.

use cattlegrid_http1::Response;
use cattlegrid_marker::Links;

use crate::settings::defence::Defence;
use crate::settings::defence::Defences;

/// How much of a response changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The address of a redirect.
    Address,
    /// The body as well.
    Page,
    /// The body, and it is unpacked.
    Unpacked,
}

/// What changes in the head of a response.
#[derive(Debug)]
pub(crate) struct Changes {
    scope: Scope,
    defences: Defences,
    location: Option<Vec<u8>>,
    refresh: Option<Vec<u8>>,
}

/// What happens to a field.
enum Change {
    Keep,
    Drop,
    New(Vec<u8>),
}

/// Fields by which caches are told to keep a response.
const CACHES: [&str; 6] = [
    "cache-control",
    "expires",
    "x-accel-expires",
    "surrogate-control",
    "cdn-cache-control",
    "cloudflare-cdn-cache-control",
];
/// Fields that describe the bytes of a body.
const BYTES: [&str; 6] = [
    "content-length",
    "content-md5",
    "content-digest",
    "repr-digest",
    "digest",
    "accept-ranges",
];
/// Policies by which a browser tells other sites the whole address of a page.
const LAX: [&[u8]; 2] = [b"unsafe-url", b"no-referrer-when-downgrade"];
const POLICY: &[u8] = b"strict-origin-when-cross-origin";

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl Changes {
    pub(super) fn new(scope: Scope, defences: &Defences) -> Changes {
        Changes {
            scope,
            defences: *defences,
            location: None,
            refresh: None,
        }
    }

    /// Marks the addresses that a browser goes to by itself.
    pub(super) fn mark_addresses(&mut self, response: &Response<'_>, links: &mut Links) {
        for field in response.headers() {
            if field.name.eq_ignore_ascii_case("location") && self.scope == Scope::Address {
                self.location = links.location(field.value);
            }
            if field.name.eq_ignore_ascii_case("refresh") {
                self.refresh = links.refresh(field.value);
            }
        }
    }

    pub(super) fn has_addresses(&self) -> bool {
        self.location.is_some() || self.refresh.is_some()
    }

    /// Writes the fields for the client.
    pub(super) fn write(&self, response: &Response<'_>, write: &mut impl FnMut(&str, &[u8])) {
        let (mut is_stored, mut has_policy) = (true, self.scope == Scope::Address);
        for field in response.headers() {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            is_stored &= !(is("cache-control") && has_word(field.value, b"no-store"));
            has_policy |= is("referrer-policy");
            match self.change(field.name, field.value) {
                Change::Keep => write(field.name, field.value),
                Change::Drop => {}
                Change::New(value) => write(field.name, &value),
            }
        }
        if self.defences.has(Defence::MarkedPrivate) {
            // A browser may keep the page for its Back button, and asks the site before it shows it otherwise.
            let value: &[u8] = match is_stored {
                true => b"private, no-cache",
                false => b"private, no-store",
            };
            write("cache-control", value);
        }
        if !has_policy {
            write("referrer-policy", POLICY);
        }
    }

    fn change(&self, name: &str, value: &[u8]) -> Change {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let replaced = |new: &Option<Vec<u8>>| new.clone().map_or(Change::Keep, Change::New);
        if is_one_of(&CACHES, name) && self.defences.has(Defence::MarkedPrivate) {
            return Change::Drop;
        }
        if is("location") {
            return replaced(&self.location);
        }
        if is("refresh") {
            return replaced(&self.refresh);
        }
        if self.scope == Scope::Address {
            return Change::Keep;
        }
        match is("referrer-policy") && LAX.iter().any(|lax| has_word(value, lax)) {
            true => Change::New(POLICY.to_vec()),
            false => self.change_of_page(name, value),
        }
    }

    /// The same for a field of a page whose bytes change.
    fn change_of_page(&self, name: &str, value: &[u8]) -> Change {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if self.scope == Scope::Unpacked && is("content-encoding") {
            return Change::Drop;
        }
        if !self.defences.has(Defence::MarkedValidators) {
            return Change::Keep;
        }
        // Two responses with the same page have different bytes.
        if is("etag") && value.starts_with(b"\"") {
            return Change::New([b"W/", value].concat());
        }
        match is_one_of(&BYTES, name) {
            true => Change::Drop,
            false => Change::Keep,
        }
    }
}

/// Whether one of the words between commas is this one, in any letters.
fn has_word(value: &[u8], word: &[u8]) -> bool {
    let mut words = value.split(|byte| *byte == b',');
    words.any(|found| found.trim_ascii().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use cattlegrid_http1::response;
    use cattlegrid_http1::response::HEADERS_MAX;

    use super::*;

    fn written(fields: &str, scope: Scope) -> String {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
        let mut space = [MaybeUninit::uninit(); HEADERS_MAX];
        let response = response::read(head.as_bytes(), false, &mut space).unwrap();
        let mut text = String::new();
        let changes = Changes::new(scope, &Defences::default());
        changes.write(&response, &mut |name, value| {
            text.push_str(&format!("{name}: {}\n", value.escape_ascii()));
        });
        text
    }

    #[test]
    fn h130_h131_what_described_the_bytes_goes_and_caches_are_told() {
        let sent = "Content-Length: 3\r\nETag: \"a\"\r\nRepr-Digest: x\r\nContent-MD5: y\r\nAccept-Ranges: bytes\r\nExpires: z\r\n\
             X-Accel-Expires: 60\r\nCache-Control: public, max-age=60\r\nContent-Encoding: gzip\r\nVary: Accept\r\nReferrer-Policy: unsafe-url";
        let end = "referrer-policy: strict-origin-when-cross-origin\n";
        let unpacked = written(sent, Scope::Unpacked);
        assert_eq!(
            unpacked.to_ascii_lowercase(),
            format!("etag: w/\\\"a\\\"\nvary: accept\n{end}cache-control: private, no-cache\n")
        );
        assert!(written(sent, Scope::Page).contains("Content-Encoding: gzip"));
        let address = written(sent, Scope::Address);
        assert!(address.contains("ETag: \\\"a\\\"") && address.contains("Content-Length: 3"));
        assert!(!address.contains("public") && !address.contains("Accel"));
    }

    #[test]
    fn h120_a_strict_policy_of_the_site_stays() {
        let kept = written("Referrer-Policy: no-referrer", Scope::Page);
        assert!(kept.contains("Referrer-Policy: no-referrer\n"));
        assert_eq!(
            kept.to_ascii_lowercase().matches("referrer-policy").count(),
            1
        );
        let added = written("Cache-Control: no-store", Scope::Page);
        assert!(added.contains("referrer-policy: strict-origin-when-cross-origin\n"));
        assert!(added.contains("cache-control: private, no-store\n"));
    }
}
