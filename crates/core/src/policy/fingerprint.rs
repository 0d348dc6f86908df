//! How a client sends its page requests: the browser it claims to be, what contradicts that claim, and a digest of all that does not
//! change from page to page. Every copy of one program has the same, and so have all users of one browser.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use crate::knowledge::Browser;
use crate::knowledge::Engine;
use crate::profile::Contradictions;
use crate::profile::Record;
use crate::profile::SentFields;
use crate::profile::Signs;
use crate::profile::host_of;
use crate::request::HeaderFields;

/// User agents whose browsers are remembered: to find one out takes longer than a decision.
const BROWSERS: usize = 1 << 12;
/// Marks a place of the table that is in use.
const IS_KNOWN: u64 = 1 << 63;

/// What a client claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Claim {
    /// No browser, or one whose header fields are not known.
    Unknown,
    /// Chrome, Edge and what calls itself Chrome.
    Chromium,
    /// Firefox.
    Gecko,
    /// Safari.
    WebKit,
    /// One of these; the log does not say which.
    Browser,
    /// One of these, and its header fields contradict it.
    Forged,
}

impl Claim {
    /// How many there are.
    pub(super) const COUNT: usize = 6;
}

/// What loads a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loader {
    /// A window or a frame, with all parts; so does who does not say.
    Window,
    /// A script, which takes what it wants out of the page and loads no parts.
    Script,
}

/// How a client sends its page requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// What it claims to be.
    pub claim: Claim,
    /// What contradicts the claim.
    pub contradictions: Contradictions,
    /// What loads the page.
    pub loader: Loader,
    /// A hash of what does not change from page to page: forms of header fields, the TLS and HTTP/2 handshakes.
    pub digest: u64,
}

/// A page request as its fingerprint is taken.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'a> {
    /// The user agent, and its hash.
    pub agent: (&'a [u8], u32),
    /// Header fields that tell browsers from programs.
    pub fields: HeaderFields<'a>,
    /// The value of `Referer`; empty where none was sent.
    pub referrer: &'a [u8],
    /// The host asked for.
    pub host: &'a [u8],
    /// What loads the page.
    pub loader: Loader,
    /// A hash of what else is known of the client.
    pub digest: u64,
}

impl Fingerprint {
    /// The fingerprint of a logged page request; nothing where the log has none of the header fields.
    pub(crate) fn of_record(record: &Record) -> Option<Fingerprint> {
        let signs = record.answer.signs();
        (!signs.is_empty())
            .then(|| Fingerprint::new(Claim::Browser, signs.contradictions(), (Loader::Window, 0)))
    }

    fn new(
        claim: Claim,
        contradictions: Contradictions,
        (loader, digest): (Loader, u64),
    ) -> Fingerprint {
        Fingerprint {
            claim: match contradictions.is_empty() {
                true => claim,
                false => Claim::Forged,
            },
            contradictions,
            loader,
            digest,
        }
    }
}

/// The browsers of user agents that came lately. Threads share it.
#[derive(Debug)]
pub(super) struct Browsers(Box<[AtomicU64]>);

impl Browsers {
    pub(super) fn new() -> Browsers {
        Browsers((0..BROWSERS).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn fingerprint(&self, request: &PageRequest<'_>) -> Fingerprint {
        let browser = self.browser(request.agent);
        let claim = match browser.engine {
            Engine::Unknown => Claim::Unknown,
            Engine::Chromium => Claim::Chromium,
            Engine::Gecko => Claim::Gecko,
            Engine::WebKit => Claim::WebKit,
        };
        let sent = SentFields {
            fields: request.fields,
            browser,
            referrer: Some(host_of(request.referrer)).filter(|host| !host.is_empty()),
            host: Some(request.host),
        };
        // Which language it is does not matter here.
        let signs = Signs::of(&sent, |_| 0);
        Fingerprint::new(
            claim,
            signs.contradictions(),
            (request.loader, request.digest),
        )
    }

    /// The browser of an agent, remembered by the agent's hash, which nobody outside can foresee.
    fn browser(&self, (agent, hash): (&[u8], u32)) -> Browser {
        let place = &self.0[hash as usize % BROWSERS];
        let known = place.load(Ordering::Relaxed);
        if known & IS_KNOWN != 0 && known as u32 == hash {
            return Browser::unpack((known & !IS_KNOWN) >> 32);
        }
        let browser = Browser::of(agent);
        let packed = browser.pack() << 32;
        place.store(IS_KNOWN | packed | u64::from(hash), Ordering::Relaxed);
        browser
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Header;
    use crate::request::Headers;

    const CHROME: &[u8] = b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

    fn fingerprint(agent: &[u8], fields: &[(Header, &str)]) -> Fingerprint {
        let mut text = Vec::new();
        for (header, value) in fields {
            Headers::write(*header, value.as_bytes(), &mut text);
        }
        let request = PageRequest {
            agent: (agent, 7),
            fields: Headers::of(&text).all(),
            referrer: b"",
            host: b"www.example.org",
            loader: Loader::Window,
            digest: 1,
        };
        let browsers = Browsers::new();
        let first = browsers.fingerprint(&request);
        assert_eq!(browsers.fingerprint(&request), first, "remembered");
        first
    }

    #[test]
    fn a_claim_is_sound_until_a_field_contradicts_it() {
        let check = |agent: &[u8], fields: &[(Header, &str)], claim: Claim, words: &str| {
            let found = fingerprint(agent, fields);
            assert_eq!(
                (found.claim, found.contradictions.words()),
                (claim, words.to_owned())
            );
        };
        check(CHROME, &[(Header::Language, "de")], Claim::Chromium, "");
        check(CHROME, &[(Header::Language, "")], Claim::Forged, "language");
        check(
            CHROME,
            &[(Header::FetchMode, ""), (Header::Order, "hueal")],
            Claim::Forged,
            "fetch,order",
        );
        check(CHROME, &[], Claim::Chromium, "");
        check(b"curl/8.0", &[(Header::Language, "")], Claim::Unknown, "");
    }

    #[test]
    fn two_agents_in_one_place_are_told_apart() {
        let browsers = Browsers::new();
        let of = |agent: &[u8], hash: u32| browsers.browser((agent, hash)).engine;
        for _ in 0..2 {
            assert_eq!(of(CHROME, 5), Engine::Chromium);
            assert_eq!(of(b"curl/8.0", 5 + BROWSERS as u32), Engine::Unknown);
        }
    }
}
