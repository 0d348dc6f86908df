//! Another web server asks about each request: it passes, must be challenged, or is blocked.
//!
//! nginx (`auth_request`) and HAProxy tell the request in `X-Original-*`, Caddy and Traefik in `X-Forwarded-*`, Envoy repeats it below a
//! prefix. All of it is believed of a trusted peer alone, and what is missing is never guessed.

use cattlegrid_core::policy::Decision;
use hyper::HeaderMap;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;

use crate::body::Body;
use crate::defence::Defence;
use crate::gate::Facts;
use crate::gate::Live;
use crate::host;
use crate::log::Target;
use crate::own;
use crate::serve;
use crate::serve::Connection;

/// What was decided, for the server that asks.
const X_DECISION: HeaderName = HeaderName::from_static("x-cattlegrid-decision");
/// The page is wanted that was decided on before: nothing is counted.
const X_SHOW: HeaderName = HeaderName::from_static("x-cattlegrid-show");

/// A request as the asking server tells it.
#[derive(Debug)]
struct Told {
    method: Method,
    host: String,
    target: String,
    dialect: Dialect,
}

/// Who asks: answers differ in the statuses that a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// `auth_request` knows 2xx, 401 and 403 alone.
    Nginx,
    /// Any status goes to the client as it is.
    Whole,
}

/// Answers a question, or a request for one of the gate's own pages.
pub(crate) async fn answer(
    connection: &Connection,
    live: &Live,
    request: Request<Incoming>,
    host: String,
) -> Response<Body> {
    if !live.setup.trust.trusts(connection.peer) && live.setup.defences.has(Defence::Trust) {
        return serve::plain(
            StatusCode::FORBIDDEN,
            "this server may not ask: it is none of trusted_proxies\n",
        );
    }
    let path = request.uri().path();
    let name = path
        .strip_prefix(live.setup.prefix.as_str())
        .map(str::to_owned);
    let told = match &name {
        Some(name) if name == "auth" => told_by_headers(request.headers(), live),
        Some(name) if name.starts_with("envoy/") => {
            told_by_path(&request, &host, live.setup.prefix.len() + "envoy".len())
        }
        Some(name) => return own_page(connection, live, request, &host, name).await,
        None if request.headers().contains_key(X_SHOW) => told_by_path(&request, &host, 0),
        None => Err("a question: ask below the prefix, as the examples do"),
    };
    match told {
        Ok(told) => decide(connection, live, &request, &told),
        Err(missing) => {
            tracing::warn!(missing, "a question cannot be answered");
            connection
                .worker
                .gate
                .metrics
                .refused
                .get_or_create(&[("reason", "question")])
                .inc();
            serve::plain(
                StatusCode::FORBIDDEN,
                "this question lacks what it asks about: see the gate's log\n",
            )
        }
    }
}

async fn own_page(
    connection: &Connection,
    live: &Live,
    request: Request<Incoming>,
    host: &str,
    name: &str,
) -> Response<Body> {
    let headers = request.headers();
    let host = named_host(headers, "x-forwarded-host").unwrap_or_else(|| host.to_owned());
    let facts = Facts {
        client: live.setup.client(connection.peer, headers),
        host: &host,
        method: request.method(),
        target: request.uri().path(),
        headers,
        is_secure: connection.is_tls || serve::says_https(headers),
        is_counted: false,
    };
    let entry = serve::entry(connection, live, &facts, Target::Uri(request.uri().clone()));
    let asking = own::Asking {
        host: &host,
        client: facts.client,
        is_secure: facts.is_secure,
    };
    own::answer(connection, live, request, asking, name, entry).await
}

fn decide(
    connection: &Connection,
    live: &Live,
    request: &Request<Incoming>,
    told: &Told,
) -> Response<Body> {
    let headers = request.headers();
    let is_shown = headers.contains_key(X_SHOW);
    let facts = Facts {
        client: live.setup.client(connection.peer, headers),
        host: &told.host,
        method: &told.method,
        target: &told.target,
        headers,
        is_secure: connection.is_tls || serve::says_https(headers),
        is_counted: !is_shown,
    };
    let path = facts.path();
    let is_own = path.starts_with(live.setup.prefix.as_str());
    let mut entry = serve::entry(connection, live, &facts, Target::Text(told.target.clone()));
    let mut judged = connection.worker.gate.judge(live, &facts);
    if is_own {
        // The gate's own pages must be reachable, or nobody could solve a challenge.
        judged.done = Decision::Pass;
    }
    serve::note(&mut entry, &judged);
    let mut response = match judged.done {
        Decision::Pass => Response::new(Body::Empty),
        _ => serve::contain(connection, live, &facts, &judged),
    };
    if told.dialect == Dialect::Nginx
        && response.status() == StatusCode::TOO_MANY_REQUESTS
        && !is_shown
    {
        *response.status_mut() = StatusCode::FORBIDDEN;
    }
    response
        .headers_mut()
        .insert(X_DECISION, HeaderValue::from_static(judged.done.name()));
    match is_shown || is_own {
        true => response,
        false => {
            // Whether the site answers, and how, its own server knows.
            entry.status = if judged.done == Decision::Pass {
                200
            } else {
                response.status().as_u16()
            };
            connection.worker.log(&entry);
            response
        }
    }
}

/// The request as nginx and HAProxy, or Caddy and Traefik tell it.
fn told_by_headers(headers: &HeaderMap, live: &Live) -> Result<Told, &'static str> {
    let is_nginx = headers.contains_key("x-original-uri");
    let (uri, method, host, dialect) = match is_nginx {
        true => (
            "x-original-uri",
            "x-original-method",
            "x-original-host",
            Dialect::Nginx,
        ),
        false => (
            "x-forwarded-uri",
            "x-forwarded-method",
            "x-forwarded-host",
            Dialect::Whole,
        ),
    };
    let target = single(headers, uri).ok_or("X-Original-URI or X-Forwarded-Uri, once");
    let method = single(headers, method).ok_or("X-Original-Method or X-Forwarded-Method, once");
    let host = named_host(headers, host).ok_or("X-Original-Host or X-Forwarded-Host, once");
    if !live.setup.defences.has(Defence::Missing) {
        return Ok(Told {
            method: method
                .ok()
                .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
                .unwrap_or(Method::GET),
            host: host.unwrap_or_else(|_| "*".to_owned()),
            target: target.unwrap_or("/").to_owned(),
            dialect,
        });
    }
    let target = target?;
    if !target.starts_with('/') {
        return Err("a path in X-Original-URI or X-Forwarded-Uri: it must begin with '/'");
    }
    Ok(Told {
        method: Method::from_bytes(method?.as_bytes()).map_err(|_| "a method")?,
        host: host?,
        target: target.to_owned(),
        dialect,
    })
}

/// The request as its own path and method tell it.
fn told_by_path(
    request: &Request<Incoming>,
    host: &str,
    from: usize,
) -> Result<Told, &'static str> {
    let target = request
        .uri()
        .path_and_query()
        .map_or("", |target| target.as_str());
    let target = target
        .get(from..)
        .filter(|target| target.starts_with('/'))
        .ok_or("a path behind the prefix")?;
    let host = named_host(request.headers(), "x-forwarded-host").unwrap_or_else(|| host.to_owned());
    Ok(Told {
        method: request.method().clone(),
        host,
        target: target.to_owned(),
        dialect: Dialect::Whole,
    })
}

/// A header that was sent exactly once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    (values.next().is_none() && !value.is_empty()).then_some(value)
}

fn named_host(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = single(headers, name)?;
    host::canonical(value.as_bytes()).map(|host| host.into_owned())
}
