//! Another web server asks about each request: it passes, must be challenged, or is blocked.
//!
//! The path of a question says who asks, and so in which headers the request is told: nothing that a client sends can change that.
//! Clients cannot ask at all, for of their requests only those below the gate's own prefix are led here. What is told is believed of a
//! trusted peer alone, and what is missing is never guessed.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Instant;

use cattlegrid_core::policy::Decision;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;
use hyper::header::RETRY_AFTER;

use crate::body::Body;
use crate::config::Role;
use crate::defence::Defence;
use crate::envoy;
use crate::gate::Facts;
use crate::gate::Live;
use crate::headers::Headers;
use crate::headers::Name;
use crate::host;
use crate::own;
use crate::serve;
use crate::serve::Connection;
use crate::worker::Logged;

/// All questions lie below it.
pub(crate) const QUESTIONS: &str = "/auth";
/// Envoy repeats the request's own path behind this one.
const ENVOY: &str = "/auth/envoy";

/// What was decided, for the server that asks.
pub(crate) static X_DECISION: HeaderName = HeaderName::from_static("x-cattlegrid-decision");

/// The status in the log of what passed: how the site answers, its own server knows.
const PASSED_ON: u16 = 100;

/// What the asking server does with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// All of it goes to the client.
    Whole,
    /// nginx takes a status from it, which must be 2xx, 401 or 403.
    Bare,
    /// nginx fetches the page for what was decided just now. Nothing is counted or written down again.
    Shown,
}

/// Headers in which a server tells the request.
struct Names {
    uri: Named,
    method: Named,
    host: Named,
}

/// A header, and how its name is spelled in messages.
struct Named {
    header: Name,
    shown: &'static str,
}

const fn named(header: Name, shown: &'static str) -> Named {
    Named { header, shown }
}

static FORWARDED: Names = Names {
    uri: named(Name::XForwardedUri, "X-Forwarded-Uri"),
    method: named(Name::XForwardedMethod, "X-Forwarded-Method"),
    host: named(Name::XForwardedHost, "X-Forwarded-Host"),
};
static ORIGINAL: Names = Names {
    uri: named(Name::XOriginalUri, "X-Original-URI"),
    method: named(Name::XOriginalMethod, "X-Original-Method"),
    host: named(Name::XOriginalHost, "X-Original-Host"),
};

/// A request as the asking server tells it.
struct Told<'a> {
    method: Method,
    host: Cow<'a, str>,
    target: &'a str,
}

/// The answer to a question, and what was decided, if anything could be.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response<Body>,
    pub(crate) decision: Option<Decision>,
}

impl From<Response<Body>> for Answer {
    fn from(response: Response<Body>) -> Answer {
        Answer {
            response,
            decision: None,
        }
    }
}

impl Answer {
    /// With the decision in its header.
    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = self.response;
        if let Some(decision) = self.decision {
            let name = HeaderValue::from_static(decision.name());
            response.headers_mut().insert(&X_DECISION, name);
        }
        response
    }
}

/// What makes a question one that cannot be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// The header or field.
    pub(crate) header: &'static str,
    /// What is wrong with it.
    pub(crate) what: &'static str,
}

const NO_QUESTION: Fault = Fault {
    header: "the path",
    what: "is no question: ask at /auth or /auth/nginx, or at /auth/envoy with role = \"envoy\", as the examples do",
};

/// Answers a question, or a request for one of the gate's own pages.
pub(crate) async fn answer(
    connection: &Connection,
    live: &Live,
    request: Request<Incoming>,
    host: String,
) -> Response<Body> {
    if !live.setup.trust.trusts(connection.peer) && live.setup.defences.has(Defence::Trust) {
        tracing::warn!(peer = ?connection.peer, "somebody asks who is none of trusted_proxies");
        count_refused(connection, "untrusted");
        return serve::plain(
            StatusCode::FORBIDDEN,
            "this server may not ask: it is none of trusted_proxies\n",
        );
    }
    let path = request.uri().path();
    if let Some(name) = path.strip_prefix(live.setup.prefix.as_str()) {
        let name = name.to_owned();
        return own_page(connection, live, request, &host, &name).await;
    }
    if envoy::is_call(connection, &request) {
        return envoy::check(connection, live, request).await;
    }
    let headers = Headers::from(request.headers());
    let started = Instant::now();
    if let Some(answer) = by_headers(connection, live, path, headers, started) {
        return answer.into_response();
    }
    // Where no Envoy asks, a server may pass on what begins like its question but leads to the prefix in another spelling.
    let told = match connection.role {
        Role::Envoy => told_by_path(&request, &host),
        _ => Err(NO_QUESTION),
    };
    told_and_decided(connection, live, headers, told, Dialect::Whole, started).into_response()
}

/// The answer to a question in headers; `None` where the path is none of theirs.
pub(crate) fn by_headers(
    connection: &Connection,
    live: &Live,
    path: &str,
    headers: Headers<'_>,
    started: Instant,
) -> Option<Answer> {
    let (names, dialect) = match path {
        "/auth" => (&FORWARDED, Dialect::Whole),
        "/auth/nginx" => (&ORIGINAL, Dialect::Bare),
        "/auth/show" => (&ORIGINAL, Dialect::Shown),
        _ => return None,
    };
    let told = told_by_headers(headers, names, live);
    Some(told_and_decided(
        connection, live, headers, told, dialect, started,
    ))
}

fn told_and_decided(
    connection: &Connection,
    live: &Live,
    headers: Headers<'_>,
    told: Result<Told<'_>, Fault>,
    dialect: Dialect,
    started: Instant,
) -> Answer {
    let decided = told.and_then(|told| {
        let facts = Facts {
            started,
            client: client(connection, live, headers)?,
            host: &told.host,
            method: &told.method,
            target: told.target,
            headers,
            is_secure: serve::says_https(headers),
            is_counted: dialect != Dialect::Shown,
        };
        Ok(decide(connection, live, &facts, dialect))
    });
    decided.unwrap_or_else(|fault| refuse(connection, fault).into())
}

/// Decides about a request that was told, and writes it down.
pub(crate) fn decide(
    connection: &Connection,
    live: &Live,
    facts: &Facts<'_>,
    dialect: Dialect,
) -> Answer {
    let decided = |response, decision| Answer {
        response,
        decision: Some(decision),
    };
    // Nobody could solve a challenge if its parts were kept from him. Only what the gate itself answers passes so: the site's server
    // may find another page behind a path that merely begins alike, like `/.cattlegrid/../page`.
    let own = facts.path().strip_prefix(live.setup.prefix.as_str());
    if own.is_some_and(own::has) {
        return decided(Response::new(Body::Empty), Decision::Pass);
    }
    let judged = connection.worker.gate.judge(live, facts);
    let response = match (judged.done, dialect) {
        (Decision::Pass, Dialect::Shown) => nothing_to_show(facts.headers),
        (Decision::Pass, _) => Response::new(Body::Empty),
        (done, Dialect::Bare) => bare(done),
        _ => serve::contain(connection, live, facts, &judged),
    };
    if dialect != Dialect::Shown {
        let mut entry = serve::entry(connection, live, facts);
        entry.answered(&response);
        serve::note(&mut entry, &judged);
        entry.status = match (judged.done, dialect) {
            (Decision::Pass, _) => PASSED_ON,
            // The client sees another status than nginx does.
            (Decision::Throttle, _) => 429,
            (_, Dialect::Bare) => 403,
            _ => response.status().as_u16(),
        };
        let worker = &connection.worker;
        worker.log(&entry, &facts.texts(), Instant::now());
    }
    decided(response, judged.done)
}

/// The answer to a question that cannot be answered: the request does not pass.
pub(crate) fn refuse(connection: &Connection, fault: Fault) -> Response<Body> {
    let Fault { header, what } = fault;
    tracing::warn!("a question of the web server cannot be answered: {header} {what}");
    count_refused(connection, "question");
    serve::plain(
        StatusCode::FORBIDDEN,
        "this question does not tell what it asks about: see the gate's messages\n",
    )
}

fn count_refused(connection: &Connection, reason: &'static str) {
    let metrics = &connection.worker.gate.metrics;
    metrics.refused.get_or_create(&[("reason", reason)]).inc();
}

/// All that nginx looks at.
fn bare(decision: Decision) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = match decision {
        Decision::Challenge => StatusCode::UNAUTHORIZED,
        _ => StatusCode::FORBIDDEN,
    };
    response
}

/// A page is wanted for a request that passes.
fn nothing_to_show(headers: Headers<'_>) -> Response<Body> {
    let decided = headers.get(Name::XCattlegridShow);
    let has_changed = matches!(decided, Some(b"challenge" | b"block" | b"throttle"));
    if !has_changed {
        // Not we have refused it: nginx shows the page for a refusal of its own, too.
        return serve::plain(StatusCode::FORBIDDEN, "this page is not for you\n");
    }
    let mut response = serve::plain(
        StatusCode::SERVICE_UNAVAILABLE,
        "please load this page once more\n",
    );
    let soon = HeaderValue::from_static("1");
    response.headers_mut().insert(RETRY_AFTER, soon);
    response
}

async fn own_page(
    connection: &Connection,
    live: &Live,
    request: Request<Incoming>,
    host: &str,
    name: &str,
) -> Response<Body> {
    let headers = Headers::from(request.headers());
    let client = match client(connection, live, headers) {
        Ok(client) => client,
        Err(fault) => return refuse(connection, fault),
    };
    let facts = Facts {
        started: Instant::now(),
        client,
        host,
        method: request.method(),
        target: request.uri().path(),
        headers,
        is_secure: serve::says_https(headers),
        is_counted: false,
    };
    let entry = serve::entry(connection, live, &facts);
    let logged = Logged::new(&connection.worker, entry, &facts.texts());
    let asking = own::Asking {
        host,
        client,
        is_secure: facts.is_secure,
    };
    own::answer(connection, live, request, asking, name, logged).await
}

/// The client, whom the asking server must name: its own address would make all its visitors one.
fn client(
    connection: &Connection,
    live: &Live,
    headers: Headers<'_>,
) -> Result<Option<IpAddr>, Fault> {
    // `Forwarded` is not read, since no server sets it: it would be the client's own word.
    if !headers.has(Name::XForwardedFor) && live.setup.defences.has(Defence::Missing) {
        return Err(Fault {
            header: "X-Forwarded-For",
            what: "is missing",
        });
    }
    Ok(live.setup.client(connection.peer, headers))
}

/// The request as headers tell it.
fn told_by_headers<'a>(
    headers: Headers<'a>,
    names: &Names,
    live: &Live,
) -> Result<Told<'a>, Fault> {
    if !live.setup.defences.has(Defence::Missing) {
        return Ok(guessed(headers, names));
    }
    let method = single(headers, &names.method)?;
    Ok(Told {
        method: Method::from_bytes(method.as_bytes()).map_err(|_| Fault {
            header: names.method.shown,
            what: "is no method",
        })?,
        host: sound_host(single(headers, &names.host)?, names.host.shown)?,
        target: sound_target(single(headers, &names.uri)?, names.uri.shown)?,
    })
}

/// What a gate would make of a question that trusts all and guesses the rest.
fn guessed<'a>(headers: Headers<'a>, names: &Names) -> Told<'a> {
    let method = single(headers, &names.method).unwrap_or("GET");
    Told {
        method: Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET),
        host: Cow::Borrowed(single(headers, &names.host).unwrap_or("*")),
        target: single(headers, &names.uri).unwrap_or("/"),
    }
}

/// The request as its own method, host and path tell it, as Envoy asks.
fn told_by_path<'a>(request: &'a Request<Incoming>, host: &'a str) -> Result<Told<'a>, Fault> {
    let asked = request.uri().path_and_query();
    let target = asked.and_then(|asked| asked.as_str().strip_prefix(ENVOY));
    Ok(Told {
        method: request.method().clone(),
        host: Cow::Borrowed(host),
        target: sound_target(target.ok_or(NO_QUESTION)?, "the path behind /auth/envoy")?,
    })
}

/// A header that was sent exactly once.
fn single<'a>(headers: Headers<'a>, named: &Named) -> Result<&'a str, Fault> {
    let fault = |what| Fault {
        header: named.shown,
        what,
    };
    let mut values = headers.all(named.header);
    let value = values.next().ok_or(fault("is missing"))?;
    if values.next().is_some() {
        return Err(fault("was sent twice"));
    }
    std::str::from_utf8(value).map_err(|_| fault("is no text"))
}

/// A path with its query, as a request line has it.
pub(crate) fn sound_target<'a>(text: &'a str, header: &'static str) -> Result<&'a str, Fault> {
    let what = match text.as_bytes() {
        [] => "is empty",
        [b'/', ..] if !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) => return Ok(text),
        [b'/', ..] => "is no path: it holds blanks",
        _ => "is no path: it must begin with '/'",
    };
    Err(Fault { header, what })
}

/// A host's name in the one spelling.
pub(crate) fn sound_host<'a>(text: &'a str, header: &'static str) -> Result<Cow<'a, str>, Fault> {
    host::canonical(text.as_bytes()).ok_or(Fault {
        header,
        what: match text {
            "" => "is empty",
            _ => "is no host",
        },
    })
}
