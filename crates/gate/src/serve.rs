//! Answers one request: refuse what is in doubt, decide, then pass it on or answer it.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use cattlegrid_core::policy::Decision;
use futures_util::FutureExt;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::Version;
use hyper::body::Incoming;
use hyper::header;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;

use crate::body::Body;
use crate::challenge::Language;
use crate::challenge::Page;
use crate::challenge::Reader;
use crate::config::Role;
use crate::defence::Defence;
use crate::envoy;
use crate::forward_auth;
use crate::framing;
use crate::framing::Doubt;
use crate::gate::Facts;
use crate::gate::Judged;
use crate::gate::Live;
use crate::guard::Upgrading;
use crate::headers::Headers;
use crate::headers::Name;
use crate::log::Entry;
use crate::log::Outcome;
use crate::own;
use crate::proxy;
use crate::trust::Peer;
use crate::worker::Logged;
use crate::worker::Worker;

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) worker: Arc<Worker>,
    pub(crate) peer: Peer,
    pub(crate) is_tls: bool,
    pub(crate) role: Role,
    pub(crate) upgrading: Arc<Upgrading>,
}

/// With this header a test sees what a panic does.
#[cfg(debug_assertions)]
pub(crate) static X_TEST_PANIC: HeaderName = HeaderName::from_static("x-test-panic");

/// Answers a request; an error of our own on the way becomes a challenge, never a pass.
pub(crate) async fn serve(
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Response<Body> {
    let number = connection.upgrading.begin();
    let live = connection.worker.gate.live.load_full();
    let catches = live.setup.defences.has(Defence::Panic);
    let version = request.version();
    let is_kept_out_of_caches = live.setup.defences.has(Defence::NoStore);
    let is_call = envoy::is_call(&connection, &request);
    let answering = answer(Arc::clone(&connection), live, request);
    let response = match catches {
        true => AssertUnwindSafe(answering).catch_unwind().await,
        false => Ok(answering.await),
    };
    let mut response = response.unwrap_or_else(|_| {
        connection.worker.gate.metrics.panics.inc();
        let live = connection.worker.gate.live.load();
        let page = page(live.pages.challenge_needed());
        match is_call {
            true => envoy::denial(page),
            false => page,
        }
    });
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        connection.upgrading.refuse(number);
    }
    if !is_kept_out_of_caches {
        response.headers_mut().remove(header::CACHE_CONTROL);
        response.headers_mut().remove(header::VARY);
    }
    if response.status() == StatusCode::BAD_REQUEST && version < Version::HTTP_2 {
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn answer(
    connection: Arc<Connection>,
    live: Arc<Live>,
    request: Request<Incoming>,
) -> Response<Body> {
    let gate = &connection.worker.gate;
    #[cfg(debug_assertions)]
    if request.headers().contains_key(&X_TEST_PANIC) {
        panic!("a test wants to see what happens");
    }
    let host = match framing::check(&request, &live.setup.defences) {
        Ok(host) => host,
        Err(doubt) => {
            gate.metrics
                .refused
                .get_or_create(&[("reason", doubt.name())])
                .inc();
            return refuse(doubt);
        }
    };
    match connection.role {
        Role::Proxy => proxied(connection, live, request, host).await,
        Role::ForwardAuth | Role::Envoy => {
            // In boxes, like all that is seldom: a request that passes needs no room for it.
            Box::pin(forward_auth::answer(&connection, &live, request, host)).await
        }
    }
}

async fn proxied(
    connection: Arc<Connection>,
    live: Arc<Live>,
    request: Request<Incoming>,
    host: String,
) -> Response<Body> {
    let Some(site) = live.setup.site(&host) else {
        return plain(
            StatusCode::MISDIRECTED_REQUEST,
            "no site of this name is served here\n",
        );
    };
    let is_trusted =
        live.setup.trust.trusts(connection.peer) || !live.setup.defences.has(Defence::Trust);
    let headers = Headers::from(request.headers());
    let facts = Facts {
        started: Instant::now(),
        client: live.setup.client(connection.peer, headers),
        host: &host,
        method: request.method(),
        target: request
            .uri()
            .path_and_query()
            .map_or("/", |target| target.as_str()),
        headers,
        is_secure: connection.is_tls || is_trusted && says_https(headers),
        is_counted: true,
    };
    if let Some(name) = facts.path().strip_prefix(live.setup.prefix.as_str()) {
        let name = name.to_owned();
        let asking = own::Asking {
            host: &host,
            client: facts.client,
            is_secure: facts.is_secure,
        };
        let entry = entry(&connection, &live, &facts);
        let logged = Logged::new(&connection.worker, entry, &facts.texts());
        let answering = own::answer(&connection, &live, request, asking, &name, logged);
        return Box::pin(answering).await;
    }
    // An upgrade is a request like any other.
    let is_open = framing::websocket(&request) && !live.setup.defences.has(Defence::Upgrade);
    let logged = match decide(&connection, &live, &facts, is_open) {
        ControlFlow::Continue(logged) => logged,
        ControlFlow::Break(response) => return response,
    };
    let sender = facts.sender(connection.peer, is_trusted);
    proxy::pass(connection, live, request, site, sender, logged).await
}

/// Decides about a request for a site: it passes, or this is the answer. An open one passes whatever is decided.
pub(crate) fn decide(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    is_open: bool,
) -> ControlFlow<Response<Body>, Logged> {
    let mut entry = entry(connection, live, facts);
    let judged = connection.worker.gate.judge(live, facts);
    note(&mut entry, &judged);
    if judged.done != Decision::Pass && !is_open {
        let response = contain(connection, live, facts, &judged);
        entry.answered(&response);
        let worker = &connection.worker;
        worker.log(&entry, &facts.texts(), Instant::now());
        return ControlFlow::Break(response);
    }
    ControlFlow::Continue(Logged::new(&connection.worker, entry, &facts.texts()))
}

/// What a request was, for the log.
pub(crate) fn entry(connection: &Connection, live: &Live, facts: &Facts<'_>) -> Entry {
    let gate = &connection.worker.gate;
    Entry {
        time_ms: gate.clock.ms_at(facts.started),
        started: facts.started,
        client: facts.client,
        method: facts.method.clone(),
        session: gate.session(live, facts),
        status: 0,
        bytes: 0,
        outcome: Outcome::Own,
        would: None,
        reason: "own",
        entry: None,
        clearance: None,
        is_cut: false,
    }
}

/// Writes down what was decided.
pub(crate) fn note(entry: &mut Entry, judged: &Judged) {
    entry.outcome = Outcome::Decided(judged.done);
    entry.would = (judged.done != judged.decided.decision).then_some(judged.decided.decision);
    entry.reason = judged.decided.reason.name();
    entry.entry = judged.decided.entry;
    entry.clearance = judged.used;
}

/// The answer of the gate itself to a request that does not pass.
pub(crate) fn contain(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    judged: &Judged,
) -> Response<Body> {
    let gate = &connection.worker.gate;
    let reader = match live.setup.defences.has(Defence::Reader) {
        true => reader(facts),
        false => Reader::Person(Language::default()),
    };
    match judged.done {
        Decision::Block => {
            let incident = match judged.decided.entry {
                Some(entry) => format!("#{entry}"),
                None => judged.decided.reason.name().to_owned(),
            };
            page(live.pages.block(reader, &incident))
        }
        Decision::Throttle => page(live.pages.throttle(reader, judged.decided.retry_after)),
        Decision::Challenge | Decision::Pass => match reader {
            Reader::Program => page(live.pages.challenge_needed()),
            Reader::Person(language) => {
                gate.metrics.challenges.inc();
                let visitor = facts.visitor();
                let terms = gate.terms(live, visitor.source, judged.clearance.as_ref());
                let puzzle = gate.challenger.mint(
                    &visitor,
                    facts.target.as_bytes(),
                    terms,
                    facts.cookies(),
                    gate.moment(),
                );
                let mut response = page(live.pages.challenge(language, &puzzle));
                add_cookie(&mut response, puzzle.set_cookie.as_deref());
                response
            }
        },
    }
}

/// Who reads an answer: a person who loads a page, or a program.
pub(crate) fn reader(facts: &Facts<'_>) -> Reader {
    let headers = facts.headers;
    let is = |name: Name, value: &[u8]| headers.get(name).is_some_and(|sent| sent == value);
    let accepts_pages = headers
        .all(Name::Accept)
        .any(|value| memchr::memmem::find(value, b"text/html").is_some());
    // Whatever it accepts, nobody can solve anything on a websocket.
    let may_load = *facts.method == Method::GET && !headers.has(Name::SecWebsocketKey);
    let is_load = accepts_pages
        && headers
            .get(Name::SecFetchDest)
            .is_none_or(|sent| matches!(sent, b"document" | b"iframe" | b"frame"))
        && !is(Name::HxRequest, b"true")
        && !is(Name::XRequestedWith, b"XMLHttpRequest");
    // Who sends no Accept at all still gets a page where a page was asked for: old programs that people use do that.
    let is_bare = !headers.has(Name::Accept)
        && cattlegrid_core::profile::is_page(b"GET", facts.target.as_bytes());
    match may_load && (is_load || is_bare) {
        true => {
            let accepted = headers.get(Name::AcceptLanguage).unwrap_or(b"");
            Reader::Person(Language::accepted(accepted).unwrap_or_default())
        }
        false => Reader::Program,
    }
}

/// True where a proxy says that its client came by TLS.
pub(crate) fn says_https(headers: Headers<'_>) -> bool {
    // Of two that differ, none is picked by luck of order. Traefik writes `wss` for websockets.
    let is_https =
        |proto: &[u8]| proto.eq_ignore_ascii_case(b"https") || proto.eq_ignore_ascii_case(b"wss");
    let mut protos = headers.all(Name::XForwardedProto).peekable();
    protos.peek().is_some() && protos.all(is_https)
}

/// A page of ours as an answer.
pub(crate) fn page(page: Page) -> Response<Body> {
    let mut response = Response::new(Body::from(page.body));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::FORBIDDEN);
    for (name, value) in page.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response
                .headers_mut()
                .append(HeaderName::from_static(name), value);
        }
    }
    response
}

pub(crate) fn add_cookie(response: &mut Response<Body>, cookie: Option<&str>) {
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// A short text as an answer.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::Full(text.as_bytes().into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

fn refuse(doubt: Doubt) -> Response<Body> {
    match doubt {
        Doubt::Length => plain(
            StatusCode::BAD_REQUEST,
            "the length of this request can be read in two ways\n",
        ),
        Doubt::Host => plain(
            StatusCode::BAD_REQUEST,
            "this request names no host, or no sound one\n",
        ),
        Doubt::Target => plain(StatusCode::BAD_REQUEST, "this request names no path\n"),
        Doubt::Method => plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "this method is not served here\n",
        ),
        Doubt::Expectation => plain(
            StatusCode::EXPECTATION_FAILED,
            "what this request expects is not known here\n",
        ),
        Doubt::HeadSize => plain(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "the head of this request is too large\n",
        ),
    }
}
