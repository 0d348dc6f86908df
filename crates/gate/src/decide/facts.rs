//! The facts of one request that decisions rest on, however the request came: the one place where they are put together.

use std::cell::OnceCell;
use std::hash::Hash;
use std::hash::Hasher;
use std::net::IpAddr;
use std::time::Duration;
use std::time::Instant;

use cattlegrid_core::format::session;
use cattlegrid_core::profile::Content;
use cattlegrid_core::profile::Contradictions;
use cattlegrid_core::request::Field;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use cattlegrid_http1::Version;
use cattlegrid_marker::Marker;

use crate::challenge::Visitor;
use crate::settings::defence::Defence;
use crate::settings::trust;
use crate::site::Sender;
use crate::state::Connection;
use crate::state::Live;
use crate::state::clock::Clock;
use crate::state::gate::content;
use crate::state::log::Entry;
use crate::state::log::Outcome;
use crate::state::log::Texts;
use crate::state::sent::Passage;
use crate::state::sent::Sent;
use crate::state::sent::Way;

/// With this field a test says when it sends a request, to live through a month in seconds.
#[cfg(debug_assertions)]
const X_TEST_TIME: &str = "x-test-time-ms";

/// Facts of one request.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// When it was read.
    pub(crate) started: Instant,
    pub(crate) client: Option<IpAddr>,
    pub(crate) host: &'a str,
    pub(crate) method: &'a Method,
    /// Path and query as sent.
    pub(crate) target: &'a str,
    pub(crate) headers: &'a Headers<'a>,
    pub(crate) is_secure: bool,
    /// It counts: a query that is repeated to fetch its page does not.
    pub(crate) is_counted: bool,
    /// The signed-in person who sent it, by the pseudonym.
    pub(crate) user: Option<u64>,
    /// The marker of the link that led to it. Target and header fields are those without it.
    pub(crate) marker: Marker,
    /// How long it has waited since it was read.
    pub(crate) waited: Duration,
    /// How the client began its connection; 0 where another server did.
    pub(crate) handshake: u64,
    /// How the header fields came.
    way: Way,
    /// Those that tell browsers from programs, once they are asked for.
    sent: OnceCell<Sent<'a>>,
    content: OnceCell<Content>,
}

/// A request as a web server describes it in its query.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    pub(crate) client: Option<IpAddr>,
    pub(crate) host: &'a str,
    pub(crate) method: &'a Method,
    pub(crate) target: &'a str,
    pub(crate) is_secure: bool,
    pub(crate) is_counted: bool,
}

impl<'a> Facts<'a> {
    /// The facts of a request that a client sent to us.
    pub(crate) fn of(
        connection: &Connection,
        live: &Live,
        request: &'a Request<'a>,
        host: &'a str,
        started: Instant,
    ) -> Facts<'a> {
        let headers = &request.headers;
        let is_trusted = is_trusted(connection, live);
        Facts {
            started,
            client: live.setup.client(connection.peer, headers),
            host,
            method: &request.method,
            target: request.target,
            headers,
            is_secure: connection.is_tls || is_trusted && says_https(headers),
            is_counted: true,
            user: None,
            marker: Marker::Absent,
            waited: Duration::ZERO,
            handshake: match is_trusted {
                true => 0,
                false => connection.handshake.digest(),
            },
            way: match is_trusted {
                true => Way::Relayed,
                false => Way::Direct(request.version),
            },
            sent: OnceCell::new(),
            content: OnceCell::new(),
        }
    }

    /// The facts of a request that a web server asks about, with the header fields of the query.
    pub(crate) fn told(told: Told<'a>, headers: &'a Headers<'a>, started: Instant) -> Facts<'a> {
        Facts {
            started,
            client: told.client,
            host: told.host,
            method: told.method,
            target: told.target,
            headers,
            is_secure: told.is_secure,
            is_counted: told.is_counted,
            user: None,
            marker: Marker::Absent,
            waited: Duration::ZERO,
            handshake: 0,
            way: Way::Told,
            sent: OnceCell::new(),
            content: OnceCell::new(),
        }
    }

    /// True where the gate sees the response as well: where a web server asks, it does not.
    pub(crate) fn shows_response(&self) -> bool {
        !matches!(self.way, Way::Told)
    }

    /// True where a trusted proxy has sent it on.
    pub(crate) fn is_relayed(&self) -> bool {
        matches!(self.way, Way::Relayed)
    }

    /// The version of HTTP that the client itself spoke, where that is known.
    pub(crate) fn protocol(&self) -> Option<Version> {
        match self.way {
            Way::Direct(version) => Some(version),
            Way::Relayed | Way::Told => None,
        }
    }

    /// Header fields that tell browsers from programs.
    pub(crate) fn sent(&self) -> &Sent<'a> {
        self.sent.get_or_init(|| {
            let passage = Passage {
                way: self.way,
                is_secure: self.is_secure,
            };
            Sent::of(self.headers, passage)
        })
    }

    /// The user agent: the first one sent.
    pub(crate) fn agent(&self) -> &'a [u8] {
        self.headers.get(Name::UserAgent).unwrap_or(b"")
    }

    /// The client as challenges know it.
    pub(crate) fn visitor(&self) -> Visitor<'a> {
        Visitor {
            source: trust::source(self.client),
            agent: self.agent(),
            site: self.host,
            is_secure: self.is_secure,
        }
    }

    /// What the log quotes.
    pub(crate) fn texts(&self) -> Texts<'a> {
        Texts {
            host: self.host,
            target: self.target,
            referrer: self.headers.get(Name::Referer).unwrap_or_default(),
            agent: self.agent(),
            // Only page requests are judged by these, and what another site has led to is not: the lines of all others stay short.
            sent: match self.is_page() || self.is_led() && self.may_be_evidence() {
                true => *self.sent(),
                false => Sent::default(),
            },
        }
    }

    fn is_page(&self) -> bool {
        *self.method == Method::GET && self.content() == Content::Page
    }

    /// What it counts as when it is asked for.
    pub(super) fn content(&self) -> Content {
        let content = || content(self.method.as_str(), self.target);
        *self.content.get_or_init(content)
    }

    /// True where a page of another site has made the browser send it.
    pub(crate) fn is_led(&self) -> bool {
        self.headers
            .get(Name::SecFetchSite)
            .is_some_and(|from| from == b"cross-site")
    }

    /// True for all but images, style sheets and the like.
    fn may_be_evidence(&self) -> bool {
        *self.method != Method::GET
            || self.content() != Content::Part
            || self.path().ends_with("/robots.txt")
    }

    /// The client as sites are told.
    pub(crate) fn sender(&self, connection: &Connection, live: &Live) -> Sender {
        Sender {
            peer: connection.peer,
            client: self.client,
            is_secure: self.is_secure,
            is_trusted: is_trusted(connection, live),
        }
    }

    /// All Cookie fields.
    pub(crate) fn cookies(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.headers.all(Name::Cookie)
    }

    /// The path without the query.
    pub(crate) fn path(&self) -> &'a str {
        let end = memchr::memchr2(b'?', b'#', self.target.as_bytes());
        end.map_or(self.target, |end| &self.target[..end])
    }

    /// The log entry of the request, before anything was decided.
    pub(crate) fn entry(&self, connection: &Connection, live: &Live) -> Entry {
        Entry {
            time_ms: self.time_ms(&connection.worker.gate.clock),
            started: self.started,
            client: self.client,
            method: self.method.clone(),
            session: self.session(live),
            status: 0,
            bytes: 0,
            outcome: Outcome::Own,
            content: self.content(),
            would: None,
            entry: None,
            clearance: None,
            user: self.user,
            marker: self.marked(&connection.worker.gate),
            incident: None,
            agent: 0,
            handshake: match self.is_page() {
                true => self.handshake,
                false => 0,
            },
            seat: None,
            fleet: None,
            crawler: None,
            is_repeat: false,
            contradictions: Contradictions::NONE,
            is_cut: false,
        }
    }

    /// When it was read, in milliseconds since 1970.
    fn time_ms(&self, clock: &Clock) -> u64 {
        #[cfg(debug_assertions)]
        if let Some(value) = self.headers.all_named(X_TEST_TIME).next() {
            let told = std::str::from_utf8(value).ok();
            return told.and_then(|told| told.parse().ok()).unwrap_or(0);
        }
        clock.ms_at(self.started)
    }

    /// The session for the log: not told where other cookies were sent, none where none was, else its hash.
    fn session(&self, live: &Live) -> Option<Option<u64>> {
        let mut told = Some(None);
        for header in self.cookies() {
            match session(header, &live.session_cookies) {
                Field::Value(value) => {
                    // With the cookie itself a reader of the log could take over the session.
                    let mut hasher = std::hash::DefaultHasher::new();
                    value.hash(&mut hasher);
                    return Some(Some(hasher.finish()));
                }
                Field::Empty => {}
                Field::NotLogged => told = None,
            }
        }
        told
    }
}

fn is_trusted(connection: &Connection, live: &Live) -> bool {
    live.setup.trust.trusts(connection.peer) || !live.setup.defences.has(Defence::Trust)
}

/// True where a proxy says that its client came by TLS.
pub(crate) fn says_https(headers: &Headers<'_>) -> bool {
    // Of two values that differ, none is believed. Traefik writes `wss` for websockets.
    let is_https =
        |proto: &[u8]| proto.eq_ignore_ascii_case(b"https") || proto.eq_ignore_ascii_case(b"wss");
    let mut protos = headers.all(Name::XForwardedProto).peekable();
    protos.peek().is_some() && protos.all(is_https)
}
