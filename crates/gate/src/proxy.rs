//! Passes a request on to its site and the answer back, changing nothing but what belongs to the connection.

use std::sync::Arc;

use cattlegrid_core::profile::Content;
use http_body::Body as _;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::CACHE_CONTROL;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;

use crate::body::Body;
use crate::body::SiteBody;
use crate::challenge;
use crate::challenge::Upstream;
use crate::defence::Defence;
use crate::framing;
use crate::gate::Gate;
use crate::gate::Live;
use crate::gate::content;
use crate::headers::Headers;
use crate::headers::Name;
use crate::link::Failure;
use crate::link::Link;
use crate::reply;
use crate::reply::Fault;
use crate::reply::Kind;
use crate::reply::Reply;
use crate::serve;
use crate::serve::Connection;
use crate::to_site;
use crate::to_site::Sender;
use crate::trust;
use crate::tunnel;
use crate::upload;
use crate::upstream::Ask;
use crate::worker::Logged;

/// Passes a request on, and its answer back.
pub(crate) async fn pass(
    connection: Arc<Connection>,
    live: Arc<Live>,
    mut request: Request<Incoming>,
    site: usize,
    sender: Sender,
    mut logged: Logged,
) -> Response<Body> {
    let Some(address) = &live.setup.sites[site].upstream else {
        return nowhere();
    };
    let is_websocket = framing::websocket(&request);
    let upgrade = is_websocket.then(|| hyper::upgrade::on(&mut request));
    let (parts, incoming) = request.into_parts();
    let headers = Headers::from(&parts.headers);
    let body = (!incoming.is_end_stream()).then(|| upload::Body {
        length: length(headers),
        incoming,
    });
    let is_chunked = matches!(body, Some(upload::Body { length: None, .. }));
    let head = to_site::head(
        &asked(&parts, is_chunked, is_websocket),
        &sender,
        &live.setup.defences,
    );
    let ask = Ask {
        address,
        head: &head,
        started: logged.entry.started,
        body,
        is_safe: matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS),
    };
    let worker = &connection.worker;
    // The library ends this when the client goes away.
    let sending = worker
        .pool
        .send(ask, &live.setup.waits, |_| std::task::Poll::Pending);
    let answered = sending.await.and_then(|(mut link, length)| {
        let is_head = parts.method == Method::HEAD;
        let answered = answered(&live, &mut link, length, is_head, &mut logged);
        Ok((link, answered.map_err(Failure::Broken)?))
    });
    let (link, response) = match answered {
        Ok(answered) => answered,
        Err(failure) => {
            let response = failed(&worker.gate, &live, headers, &failure);
            return logged.answered(response);
        }
    };
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let (Some(upgrade), Some(site)) = (upgrade, link.into_parts()) else {
            let failure = Failure::Broken(reply::UNASKED);
            return logged.answered(failed(&worker.gate, &live, headers, &failure));
        };
        tunnel::open(&connection, &live, upgrade, site, sender.client, logged);
        return response.map(|()| Body::Empty);
    }
    let body = SiteBody::new(link, address.clone(), live.setup.waits.body, logged);
    response.map(|()| Body::Site(Box::new(body)))
}

/// The answer where a site has nothing behind it.
fn nowhere() -> Response<Body> {
    serve::plain(
        StatusCode::MISDIRECTED_REQUEST,
        "this listener does not pass requests on\n",
    )
}

/// A request as it was sent. An absolute target's authority is the host (RFC 9112, 3.2.2).
fn asked(parts: &Parts, is_chunked: bool, is_websocket: bool) -> to_site::Asked<'_> {
    let headers = Headers::from(&parts.headers);
    let authority = parts.uri.authority().map(|host| host.as_str().as_bytes());
    to_site::Asked {
        method: parts.method.as_str(),
        target: parts
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str()),
        host: authority
            .or_else(|| headers.get(Name::Host))
            .unwrap_or_default(),
        headers,
        is_chunked,
        is_websocket,
    }
}

/// The length of a body as it was announced. Which is none was found out before.
fn length(headers: Headers<'_>) -> Option<u64> {
    let digits = std::str::from_utf8(headers.get(Name::ContentLength)?).ok()?;
    digits.trim().parse().ok()
}

/// The head of the site's answer, which a connection holds, as the library wants it.
fn answered(
    live: &Live,
    link: &mut Link,
    length: usize,
    is_head: bool,
    logged: &mut Logged,
) -> Result<Response<()>, Fault> {
    let mut space = [std::mem::MaybeUninit::uninit(); reply::HEADERS_MAX];
    let reply = reply::read(&link.bytes()[..length], is_head, &mut space)?;
    if reply.status == 101 && !reply.opens_websocket() {
        return Err(reply::UNASKED);
    }
    let is_private = look(live, &reply, logged);
    logged.entry.status = reply.status;
    let response = response(&reply, is_private)?;
    let (rest, is_kept) = (reply.rest, reply.is_kept);
    link.begin(length, rest, is_kept);
    Ok(response)
}

fn response(reply: &Reply<'_>, is_private: bool) -> Result<Response<()>, Fault> {
    let mut response = Response::new(());
    *response.status_mut() =
        StatusCode::from_u16(reply.status).map_err(|_| Fault("its status is none"))?;
    let is_usual = response.status().canonical_reason() == Some(reply.reason);
    if !is_usual && let Ok(reason) = ReasonPhrase::try_from(reply.reason.as_bytes()) {
        response.extensions_mut().insert(reason);
    }
    // Who switches says to what in headers of the connection.
    let is_switch = reply.status == 101;
    let headers = response.headers_mut();
    let all = is_switch.then(|| reply.all().iter()).into_iter().flatten();
    let kept = (!is_switch).then(|| reply.headers()).into_iter().flatten();
    for header in all.chain(kept) {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let value = HeaderValue::from_bytes(header.value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(Fault("one of its headers is none"));
        };
        headers.append(name, value);
    }
    if is_private {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private"));
    }
    Ok(response)
}

/// Looks at a site's answer: counts what nobody foresaw, and says whether it must be kept out of caches.
pub(crate) fn look(live: &Live, reply: &Reply<'_>, logged: &Logged) -> bool {
    if live.setup.defences.has(Defence::PagesByAnswer) {
        count_unforeseen(live, reply, logged);
    }
    // A page that was given to one client is not for a cache before the gate, unless the site itself said so: who comes next has not
    // been decided about.
    reply.kind == Kind::Html && !reply.says_caches
}

/// Counts what did not look like a page when it was asked for: a crawler may ask by POST, or for `/page/7/x.css`.
fn count_unforeseen(live: &Live, reply: &Reply<'_>, logged: &Logged) {
    let entry = &logged.entry;
    // Whom the owner or a shipped rule lets pass is not counted at all.
    if matches!(
        entry.reason,
        "owners_rule" | "owners_entry" | "default_rule"
    ) {
        return;
    }
    let asked = content(entry.method.as_str(), logged.texts.texts().target);
    let (source, clearance) = (trust::source(entry.client), entry.clearance.as_ref());
    let (policy, time) = (&live.policy, logged.worker.gate.clock.now());
    match (asked, reply.kind, reply.status) {
        (Content::Page, ..) | (_, Kind::Part | Kind::None, _) => {}
        // The text beside a redirection is no content; pictures that have moved are nobody's page.
        (_, Kind::Html, 300..400) => {}
        (Content::Part, Kind::Html, 400..) => policy.count_broken_part(source, clearance, time),
        (_, Kind::Html, _) => policy.count_page(source, clearance, time),
        (Content::Document, Kind::Document, _) => {}
        (Content::Part, Kind::Document, _) => policy.count_document(source, clearance, time),
    }
}

/// Who will read a page of ours where the site has no answer.
fn reader(headers: Headers<'_>) -> challenge::Reader {
    let accept = headers.get(Name::Accept).unwrap_or_default();
    match memchr::memmem::find(accept, b"text/html") {
        None => challenge::Reader::Program,
        Some(_) => {
            let language = headers.get(Name::AcceptLanguage).unwrap_or_default();
            challenge::Reader::Person(challenge::Language::accepted(language).unwrap_or_default())
        }
    }
}

/// The answer where the site has none, for a request with these headers.
pub(crate) fn failed(
    gate: &Gate,
    live: &Live,
    headers: Headers<'_>,
    failure: &Failure,
) -> Response<Body> {
    let (what, kind) = match failure {
        Failure::Unreachable(error) => {
            tracing::warn!(%error, "the site cannot be reached");
            (Upstream::Unreachable, "unreachable")
        }
        Failure::Silent(error) => {
            tracing::warn!(%error, "the site ended the connection without an answer");
            (Upstream::Unreachable, "broken")
        }
        Failure::Broken(fault) => {
            tracing::warn!(%fault, "the site's answer is no answer");
            (Upstream::Unreachable, "broken")
        }
        Failure::Late => (Upstream::Late, "late"),
        Failure::Client | Failure::Gone => {
            return serve::plain(
                StatusCode::BAD_REQUEST,
                "the body of this request ended too early, or is none\n",
            );
        }
    };
    gate.metrics
        .upstream_failures
        .get_or_create(&[("kind", kind)])
        .inc();
    serve::page(live.pages.upstream_failed(reader(headers), what, kind))
}
