//! The head of a request as its site gets it: what the client sent, without what belongs to the connection or is only ours to say, and
//! with what only we know.

use std::borrow::Cow;
use std::net::IpAddr;

use cattlegrid_http1::Headers;
use cattlegrid_http1::Name;
use cattlegrid_http1::headers;
use cattlegrid_http1::headers::is_hop_by_hop;
use cattlegrid_http1::headers::is_listed;
use cattlegrid_http1::headers::lists_fields;
use smallvec::SmallVec;

use crate::challenge;
use crate::settings::defence::Defence;
use crate::settings::defence::Defences;
use crate::settings::trust;
use crate::settings::trust::Peer;

/// Room for what most heads are.
const ROOM: usize = 1024;
/// Letters of the longest address.
const ADDRESS_MAX: usize = 45;

/// A request that passes.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) method: &'a str,
    /// As it came, byte for byte.
    pub(crate) target: &'a str,
    pub(crate) host: &'a [u8],
    pub(crate) headers: &'a Headers<'a>,
    /// It has a body whose length nobody knows.
    pub(crate) is_chunked: bool,
    pub(crate) is_websocket: bool,
}

/// What is known of who sent it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    pub(crate) peer: Peer,
    pub(crate) client: Option<IpAddr>,
    pub(crate) is_secure: bool,
    pub(crate) is_trusted: bool,
}

/// Makes the head.
pub(crate) fn request_head(asked: &Outgoing<'_>, sender: &Sender, defences: &Defences) -> Vec<u8> {
    let mut head = Head {
        out: Vec::with_capacity(ROOM),
        // The client's own list must not take out what we set.
        dropped: (!defences.has(Defence::HopByHop)).then_some(asked.headers),
    };
    head.out.extend_from_slice(asked.method.as_bytes());
    head.out.push(b' ');
    head.out.extend_from_slice(asked.target.as_bytes());
    head.out.extend_from_slice(b" HTTP/1.1\r\n");
    head.line(b"host", asked.host);
    head.of_client(asked.headers, sender, defences);
    head.of_ours(asked, sender);
    head.out.extend_from_slice(b"\r\n");
    head.out
}

struct Head<'a> {
    out: Vec<u8>,
    /// Headers whose list takes out ours, too: only in tests.
    dropped: Option<&'a Headers<'a>>,
}

impl Head<'_> {
    fn line(&mut self, name: &[u8], value: &[u8]) {
        headers::write(name, value, &mut self.out);
    }

    /// What the client sent and the site may see.
    fn of_client(&mut self, headers: &Headers<'_>, sender: &Sender, defences: &Defences) {
        let lists = headers.all(Name::Connection).any(lists_fields);
        let drops_spoofed = defences.has(Defence::SpoofedHeaders);
        let mut has_cookies = false;
        for line in headers.iter() {
            let is_dropped = match line.known {
                Some(
                    Name::Host
                    | Name::Connection
                    | Name::Expect
                    | Name::XRealIp
                    | Name::XForwardedFor
                    | Name::XForwardedProto,
                ) => true,
                Some(Name::XForwardedHost) => !sender.is_trusted,
                Some(Name::Cookie) => std::mem::replace(&mut has_cookies, true),
                // What every browser sends.
                Some(
                    Name::Accept
                    | Name::AcceptEncoding
                    | Name::AcceptLanguage
                    | Name::Referer
                    | Name::SecChUa
                    | Name::SecChUaMobile
                    | Name::SecChUaPlatform
                    | Name::SecFetchDest
                    | Name::SecFetchMode
                    | Name::SecFetchSite
                    | Name::UserAgent,
                ) => lists && is_listed(headers.all(Name::Connection), line.name),
                _ => {
                    is_hop_by_hop(line.name)
                        || is_many_ranges(line.name, line.value)
                        || drops_spoofed && is_spoofed(line.name, sender.is_trusted)
                        || lists && is_listed(headers.all(Name::Connection), line.name)
                }
            };
            match (is_dropped, line.known) {
                (true, _) => {}
                (false, Some(Name::Cookie)) => self.cookies(line.name, headers),
                (false, _) => self.line(line.name, line.value),
            }
        }
    }

    /// All cookies but ours, which are nobody else's business. HTTP/2 sends them in crumbs: HTTP/1.1 has one cookie header.
    fn cookies(&mut self, name: &[u8], headers: &Headers<'_>) {
        let mut all = headers.all(Name::Cookie);
        let first = all.next().unwrap_or_default();
        let joined = all.fold(Cow::Borrowed(first), |joined, crumb| {
            Cow::Owned([&joined[..], &b"; "[..], crumb].concat())
        });
        let rest = challenge::strip(&joined);
        if !rest.is_empty() {
            self.line(name, &rest);
        }
    }

    /// Tells the site what only we know: who asks, by which name and how.
    fn of_ours(&mut self, asked: &Outgoing<'_>, sender: &Sender) {
        let headers = asked.headers;
        let mut client = Vec::with_capacity(ADDRESS_MAX);
        match sender.client {
            None => client.extend_from_slice(b"127.0.0.1"),
            Some(address) => trust::write_address(address, &mut client),
        }
        // A trusted proxy's chain is continued with the proxy itself; anybody else's begins here.
        match chain(headers, sender) {
            Some(chain) => self.ours(Name::XForwardedFor, &chain),
            None => self.ours(Name::XForwardedFor, &client),
        }
        self.ours(Name::XRealIp, &client);
        let scheme: &[u8] = if sender.is_secure { b"https" } else { b"http" };
        self.ours(Name::XForwardedProto, scheme);
        if !(sender.is_trusted && headers.has(Name::XForwardedHost)) {
            self.ours(Name::XForwardedHost, asked.host);
        }
        if asked.is_websocket {
            self.line(b"connection", b"upgrade");
            self.line(b"upgrade", b"websocket");
        }
        if asked.is_chunked {
            self.line(b"transfer-encoding", b"chunked");
        }
    }

    fn ours(&mut self, name: Name, value: &[u8]) {
        let is_dropped = self.dropped.is_some_and(|headers| {
            is_listed(headers.all(Name::Connection), name.as_str().as_bytes())
        });
        if !is_dropped {
            self.line(name.as_str().as_bytes(), value);
        }
    }
}

/// True for a request of several ranges: a site would wrap a page so that it no longer looks like one. It may always send all instead.
fn is_many_ranges(name: &[u8], value: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"range") && value.contains(&b',')
}

/// The chain of a trusted proxy with its own address.
fn chain(headers: &Headers<'_>, sender: &Sender) -> Option<Vec<u8>> {
    if !sender.is_trusted || !headers.has(Name::XForwardedFor) {
        return None;
    }
    let sent: Vec<&[u8]> = headers.all(Name::XForwardedFor).collect();
    let mut chain = sent.join(&b", "[..]);
    if let Peer::Address(peer) = sender.peer {
        chain.extend_from_slice(b", ");
        trust::write_address(peer.to_canonical(), &mut chain);
    }
    Some(chain)
}

/// Fields by which the site learns what the gate knows. They are removed from what clients send.
const OURS: [&str; 14] = [
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "cf-connecting-ip",
    "fastly-client-ip",
    "true-client-ip",
    "forwarded",
    "x-original-uri",
    "x-original-url",
    "x-original-host",
    "x-original-forwarded-for",
    "x-original-method",
    "x-rewrite-url",
];

/// True for a field that only the gate may set, in every spelling that a site may read as one: some read `_` as `-`, and some any sign.
/// A Content-Length in such a spelling is one that the gate has not read.
fn is_spoofed(name: &[u8], is_trusted: bool) -> bool {
    // Nearly all fields of a browser begin with another letter.
    let may_be = matches!(
        name.first(),
        Some(b'x' | b'c' | b't' | b'f' | b'X' | b'C' | b'T' | b'F')
    );
    if !may_be {
        return false;
    }
    let is_sign = |letter: &u8| !letter.is_ascii_alphanumeric() && *letter != b'-';
    let mut plain = SmallVec::<[u8; 64]>::from_slice(name);
    plain.make_ascii_lowercase();
    let has_sign = plain.iter().any(is_sign);
    for letter in plain.iter_mut().filter(|letter| is_sign(letter)) {
        *letter = b'-';
    }
    let is_ours = is_ours(&plain);
    match has_sign {
        true => {
            let is_framing = [&b"content-length"[..], b"transfer-encoding"].contains(&&plain[..]);
            is_ours || is_framing
        }
        // A trusted proxy may tell what it knows; the chain of addresses is extended later.
        false => is_ours && (!is_trusted || plain.starts_with(b"x-cattlegrid-")),
    }
}

fn is_ours(name: &[u8]) -> bool {
    name.starts_with(b"x-forwarded-")
        || name.starts_with(b"x-cattlegrid-")
        || OURS.iter().any(|ours| ours.as_bytes() == name)
}
