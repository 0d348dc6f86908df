//! Passes a request on to its site and the answer back, changing nothing but what belongs to the connection.

use std::net::IpAddr;
use std::sync::Arc;

use http_body::Body as _;
use hyper::HeaderMap;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::Uri;
use hyper::Version;
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::header;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;

use crate::body::Body;
use crate::body::Progress;
use crate::body::SiteBody;
use crate::body::Upload;
use crate::challenge;
use crate::challenge::Upstream;
use crate::defence::Defence;
use crate::framing;
use crate::gate::Live;
use crate::gate::asks_for_page;
use crate::headers::X_FORWARDED_FOR;
use crate::headers::X_FORWARDED_PROTO;
use crate::headers::X_REAL_IP;
use crate::log::Entry;
use crate::serve;
use crate::serve::Connection;
use crate::trust;
use crate::tunnel;
use crate::upstream::Failure;
use crate::upstream::Lease;

const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Letters of the longest address.
const ADDRESS_MAX: usize = 45;

/// What is known of a request that passes.
#[derive(Debug)]
pub(crate) struct Passing {
    pub(crate) site: usize,
    pub(crate) client: Option<IpAddr>,
    pub(crate) is_secure: bool,
    pub(crate) is_trusted: bool,
}

/// Who will read a page of ours where the site has no answer.
struct Reading {
    accept: Option<HeaderValue>,
    language: Option<HeaderValue>,
}

impl Reading {
    fn reader(&self) -> challenge::Reader {
        let accept = self.accept.as_ref().map_or(&b""[..], HeaderValue::as_bytes);
        match memchr::memmem::find(accept, b"text/html") {
            None => challenge::Reader::Program,
            Some(_) => {
                let language = self
                    .language
                    .as_ref()
                    .map_or(&b""[..], HeaderValue::as_bytes);
                challenge::Reader::Person(
                    challenge::Language::accepted(language).unwrap_or_default(),
                )
            }
        }
    }
}

/// Passes a request on, and its answer back.
pub(crate) async fn pass(
    connection: Arc<Connection>,
    live: Arc<Live>,
    mut request: Request<Incoming>,
    passing: Passing,
    mut entry: Box<Entry>,
) -> Response<Body> {
    let Some(address) = live.setup.sites[passing.site].upstream.clone() else {
        return serve::plain(
            StatusCode::MISDIRECTED_REQUEST,
            "this listener does not pass requests on\n",
        );
    };
    let is_websocket = framing::websocket(&request);
    let upgrade = is_websocket.then(|| hyper::upgrade::on(&mut request));
    let (mut parts, incoming) = request.into_parts();
    let reading = Reading {
        accept: parts.headers.get(header::ACCEPT).cloned(),
        language: parts.headers.get(header::ACCEPT_LANGUAGE).cloned(),
    };
    prepare(&connection, &live, &mut parts, &passing, is_websocket);
    let progress = Arc::<Progress>::default();
    let body = match incoming.is_end_stream() {
        true => Upload::Empty,
        false => Upload::Client(incoming, Arc::clone(&progress)),
    };
    let sent = connection
        .worker
        .pool
        .send(
            &address,
            Request::from_parts(parts, body),
            &progress,
            &live.setup.waits,
        )
        .await;
    let (mut response, lease) = match sent {
        Ok(answered) => answered,
        Err(failure) => {
            let response = failed(&connection, &live, &reading, &failure);
            return serve::logged(&connection, entry, response);
        }
    };
    entry.status = response.status().as_u16();
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let Some(upgrade) = upgrade else {
            // The site switches to what nobody asked for.
            let response = failed(&connection, &live, &reading, &Failure::Late);
            return serve::logged(&connection, entry, response);
        };
        let from_site = hyper::upgrade::on(&mut response);
        lease.let_go();
        tunnel::open(
            &connection,
            &live,
            upgrade,
            from_site,
            passing.client,
            entry,
        );
        return switched(response);
    }
    passed_back(&connection, &live, response, lease, entry)
}

/// The site's answer, on its way to the client.
fn passed_back(
    connection: &Connection,
    live: &Live,
    response: Response<Incoming>,
    lease: Lease,
    entry: Box<Entry>,
) -> Response<Body> {
    let (mut head, incoming) = response.into_parts();
    framing::drop_connection_headers(&mut head.headers);
    if is_html(&head.headers) {
        keep_private(&mut head.headers);
        if head.status == StatusCode::OK && live.setup.defences.has(Defence::PagesByAnswer) {
            count_unforeseen(connection, &entry);
        }
    }
    head.version = Version::HTTP_11;
    let worker = Arc::clone(&connection.worker);
    let body = SiteBody::new(incoming, lease, live.setup.waits.body, entry, worker);
    Response::from_parts(head, Body::Site(Box::new(body)))
}

/// Counts a page that did not look like one when it was asked for: a crawler may ask by POST, or for `/page/7/x.css`.
fn count_unforeseen(connection: &Connection, entry: &Entry) {
    let is_foreseen = asks_for_page(entry.method.as_str(), entry.target.as_str());
    // Whom the owner lets pass is not counted at all.
    let is_owners = matches!(entry.reason, "owners_rule" | "owners_entry");
    if !is_foreseen && !is_owners {
        let source = trust::source(entry.client);
        connection.worker.gate.count_page(source, entry.clearance);
    }
}

/// Makes the head that the site gets.
fn prepare(
    connection: &Connection,
    live: &Live,
    parts: &mut Parts,
    passing: &Passing,
    is_websocket: bool,
) {
    let defences = &live.setup.defences;
    let headers = &mut parts.headers;
    // The client's own list goes first: it must not take out what we set.
    if defences.has(Defence::HopByHop) {
        framing::drop_connection_headers(headers);
    }
    headers.remove(header::EXPECT);
    if defences.has(Defence::SpoofedHeaders) {
        framing::drop_spoofed(headers, passing.is_trusted);
    }
    framing::join_cookies(headers);
    strip_cookies(headers);
    let sent = headers.get(header::HOST).cloned();
    let host = match parts.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => sent,
    };
    if let Some(host) = host {
        set_forwarded(headers, &host, connection, passing);
        headers.insert(header::HOST, host);
    }
    if is_websocket {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    }
    if !defences.has(Defence::HopByHop) {
        framing::drop_connection_headers(headers);
    }
    // The target goes on as it came, byte for byte.
    if parts.uri.authority().is_some() {
        let target = parts.uri.path_and_query().cloned();
        let mut uri = hyper::http::uri::Parts::default();
        uri.path_and_query = target;
        parts.uri = Uri::from_parts(uri).unwrap_or_default();
    }
    parts.version = Version::HTTP_11;
}

/// Tells the site what only we know: who asks, by which name and how.
fn set_forwarded(
    headers: &mut HeaderMap,
    host: &HeaderValue,
    connection: &Connection,
    passing: &Passing,
) {
    let client = match passing.client {
        None => HeaderValue::from_static("127.0.0.1"),
        Some(client) => {
            let mut text = Vec::with_capacity(ADDRESS_MAX);
            trust::write_address(client, &mut text);
            match HeaderValue::from_maybe_shared(Bytes::from(text)) {
                Ok(client) => client,
                Err(_) => return,
            }
        }
    };
    let peer = match connection.peer {
        crate::trust::Peer::Address(peer) => Some(peer.to_canonical()),
        crate::trust::Peer::Unix => None,
    };
    // A trusted proxy's chain is continued with the proxy itself; anybody else's begins here.
    let chain = match headers.get(&X_FORWARDED_FOR) {
        Some(_) if passing.is_trusted => {
            let sent = headers
                .get_all(&X_FORWARDED_FOR)
                .iter()
                .map(HeaderValue::as_bytes);
            let mut chain = sent.collect::<Vec<&[u8]>>().join(&b", "[..]);
            if let Some(peer) = peer {
                chain.extend_from_slice(format!(", {peer}").as_bytes());
            }
            HeaderValue::from_bytes(&chain).ok()
        }
        _ => None,
    };
    headers.insert(&X_FORWARDED_FOR, chain.unwrap_or_else(|| client.clone()));
    headers.insert(&X_REAL_IP, client);
    let scheme = if passing.is_secure { "https" } else { "http" };
    headers.insert(&X_FORWARDED_PROTO, HeaderValue::from_static(scheme));
    if !(passing.is_trusted && headers.contains_key(X_FORWARDED_HOST)) {
        headers.insert(X_FORWARDED_HOST, host.clone());
    }
}

/// Our cookies are nobody else's business.
fn strip_cookies(headers: &mut HeaderMap) {
    let Some(cookies) = headers.get(header::COOKIE) else {
        return;
    };
    let stripped = match challenge::strip(cookies.as_bytes()) {
        std::borrow::Cow::Borrowed(_) => return,
        std::borrow::Cow::Owned(stripped) => stripped,
    };
    match HeaderValue::from_bytes(&stripped) {
        Ok(value) if !stripped.is_empty() => drop(headers.insert(header::COOKIE, value)),
        _ => drop(headers.remove(header::COOKIE)),
    }
}

/// A page that was given to one client is not for a cache before the gate, unless the site itself said so: who comes next has not been
/// decided about.
fn keep_private(headers: &mut HeaderMap) {
    if !headers.contains_key(header::CACHE_CONTROL) && !headers.contains_key(header::EXPIRES) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private"));
    }
}

fn is_html(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| {
        let begins = |name: &[u8]| {
            let start = kind.as_bytes().get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        begins(b"text/html") || begins(b"application/xhtml+xml")
    })
}

fn switched(response: Response<Incoming>) -> Response<Body> {
    let (parts, _) = response.into_parts();
    Response::from_parts(parts, Body::Empty)
}

/// The answer where the site has none.
fn failed(
    connection: &Connection,
    live: &Live,
    reading: &Reading,
    failure: &Failure,
) -> Response<Body> {
    let (what, kind) = match failure {
        Failure::Unreachable(error) => {
            tracing::warn!(%error, "the site cannot be reached");
            (Upstream::Unreachable, "unreachable")
        }
        Failure::Broken(error) => {
            tracing::warn!(%error, "the site's answer is no answer");
            (Upstream::Unreachable, "broken")
        }
        Failure::Late => (Upstream::Late, "late"),
        Failure::Client => {
            return serve::plain(
                StatusCode::BAD_REQUEST,
                "the body of this request ended too early, or is none\n",
            );
        }
    };
    let metrics = &connection.worker.gate.metrics;
    metrics
        .upstream_failures
        .get_or_create(&[("kind", kind)])
        .inc();
    serve::page(live.pages.upstream_failed(reading.reader(), what, kind))
}
