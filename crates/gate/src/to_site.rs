//! The head of a request as its site gets it: what the client sent, without what belongs to the connection or is only ours to say, and
//! with what only we know.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::challenge;
use crate::defence::Defence;
use crate::defence::Defences;
use crate::framing::is_hop_by_hop;
use crate::framing::is_spoofed;
use crate::framing::listed;
use crate::headers;
use crate::headers::Headers;
use crate::headers::Name;
use crate::trust;
use crate::trust::Peer;

/// Room for what most heads are.
const ROOM: usize = 1024;
/// Letters of the longest address.
const ADDRESS_MAX: usize = 45;

/// A request that passes.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    /// As it came, byte for byte.
    pub(crate) target: &'a str,
    pub(crate) host: &'a [u8],
    pub(crate) headers: Headers<'a>,
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
pub(crate) fn head(asked: &Asked<'_>, sender: &Sender, defences: &Defences) -> Vec<u8> {
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
    dropped: Option<Headers<'a>>,
}

impl Head<'_> {
    fn line(&mut self, name: &[u8], value: &[u8]) {
        headers::write(name, value, &mut self.out);
    }

    /// What the client sent and the site may see.
    fn of_client(&mut self, headers: Headers<'_>, sender: &Sender, defences: &Defences) {
        let lists = headers
            .all(Name::Connection)
            .any(|value| !value.eq_ignore_ascii_case(b"keep-alive"));
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
                Some(Name::Accept | Name::AcceptLanguage | Name::UserAgent | Name::Referer) => {
                    lists && listed(headers.all(Name::Connection), line.name)
                }
                _ => {
                    is_hop_by_hop(line.name)
                        || drops_spoofed && is_spoofed(line.name, sender.is_trusted)
                        || lists && listed(headers.all(Name::Connection), line.name)
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
    fn cookies(&mut self, name: &[u8], headers: Headers<'_>) {
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
    fn of_ours(&mut self, asked: &Asked<'_>, sender: &Sender) {
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
        let is_dropped = self
            .dropped
            .is_some_and(|headers| listed(headers.all(Name::Connection), name.as_str().as_bytes()));
        if !is_dropped {
            self.line(name.as_str().as_bytes(), value);
        }
    }
}

/// The chain of a trusted proxy with its own address.
fn chain(headers: Headers<'_>, sender: &Sender) -> Option<Vec<u8>> {
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
