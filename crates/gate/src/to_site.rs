//! The head of a request as its site gets it: what the client sent, without what belongs to the connection or is only ours to say, and
//! with what only we know.

use std::borrow::Cow;
use std::net::IpAddr;

use hyper::header::HeaderName;

use crate::challenge;
use crate::defence::Defence;
use crate::defence::Defences;
use crate::framing::is_hop_by_hop;
use crate::framing::is_spoofed;
use crate::framing::listed;
use crate::headers::CONNECTION;
use crate::headers::COOKIE;
use crate::headers::EXPECT;
use crate::headers::HOST;
use crate::headers::Headers;
use crate::headers::X_FORWARDED_FOR;
use crate::headers::X_FORWARDED_HOST;
use crate::headers::X_FORWARDED_PROTO;
use crate::headers::X_REAL_IP;
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
    head.line(HOST.as_str(), &[asked.host]);
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
    /// A header, its value in parts.
    fn line(&mut self, name: &str, value: &[&[u8]]) {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        for part in value {
            self.out.extend_from_slice(part);
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// What the client sent and the site may see.
    fn of_client(&mut self, headers: Headers<'_>, sender: &Sender, defences: &Defences) {
        let lists = headers
            .all(&CONNECTION)
            .any(|value| !value.eq_ignore_ascii_case(b"keep-alive"));
        let drops_spoofed = defences.has(Defence::SpoofedHeaders);
        let mut has_cookies = false;
        for (name, value) in headers.iter() {
            let is_dropped = is_hop_by_hop(name)
                || is_written_by_us(name, sender.is_trusted)
                || drops_spoofed && is_spoofed(name, sender.is_trusted)
                || lists && listed(headers.all(&CONNECTION), name);
            if is_dropped {
                continue;
            }
            if name.eq_ignore_ascii_case(COOKIE.as_str()) {
                if !has_cookies {
                    self.cookies(name, headers);
                }
                has_cookies = true;
                continue;
            }
            self.line(name, &[value]);
        }
    }

    /// All cookies but ours, which are nobody else's business. HTTP/2 sends them in crumbs: HTTP/1.1 has one cookie header.
    fn cookies(&mut self, name: &str, headers: Headers<'_>) {
        let mut all = headers.all(&COOKIE);
        let first = all.next().unwrap_or_default();
        let joined = all.fold(Cow::Borrowed(first), |joined, crumb| {
            Cow::Owned([&joined[..], &b"; "[..], crumb].concat())
        });
        let rest = challenge::strip(&joined);
        if !rest.is_empty() {
            self.line(name, &[&rest]);
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
            Some(chain) => self.ours(&X_FORWARDED_FOR, &chain),
            None => self.ours(&X_FORWARDED_FOR, &client),
        }
        self.ours(&X_REAL_IP, &client);
        let scheme: &[u8] = if sender.is_secure { b"https" } else { b"http" };
        self.ours(&X_FORWARDED_PROTO, scheme);
        if !(sender.is_trusted && headers.has(&X_FORWARDED_HOST)) {
            self.ours(&X_FORWARDED_HOST, asked.host);
        }
        if asked.is_websocket {
            self.line("connection", &[b"upgrade"]);
            self.line("upgrade", &[b"websocket"]);
        }
        if asked.is_chunked {
            self.line("transfer-encoding", &[b"chunked"]);
        }
    }

    fn ours(&mut self, name: &HeaderName, value: &[u8]) {
        let is_dropped = self
            .dropped
            .is_some_and(|headers| listed(headers.all(&CONNECTION), name.as_str()));
        if !is_dropped {
            self.line(name.as_str(), &[value]);
        }
    }
}

/// True for what we say in every request, whatever the client said.
fn is_written_by_us(name: &str, is_trusted: bool) -> bool {
    let is = |ours: &HeaderName| name.eq_ignore_ascii_case(ours.as_str());
    match name.len() {
        4 => is(&HOST),
        6 => is(&EXPECT),
        9 => is(&X_REAL_IP),
        15 => is(&X_FORWARDED_FOR),
        16 => !is_trusted && is(&X_FORWARDED_HOST),
        17 => is(&X_FORWARDED_PROTO),
        _ => false,
    }
}

/// The chain of a trusted proxy with its own address.
fn chain(headers: Headers<'_>, sender: &Sender) -> Option<Vec<u8>> {
    if !sender.is_trusted || !headers.has(&X_FORWARDED_FOR) {
        return None;
    }
    let sent: Vec<&[u8]> = headers.all(&X_FORWARDED_FOR).collect();
    let mut chain = sent.join(&b", "[..]);
    if let Peer::Address(peer) = sender.peer {
        chain.extend_from_slice(b", ");
        trust::write_address(peer.to_canonical(), &mut chain);
    }
    Some(chain)
}
