//! Queries in header fields, as nginx, Caddy, HAProxy and Traefik send them, or in the path, as Envoy does.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use cattlegrid_core::policy::Decision;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use cattlegrid_http1::host;

use super::Stop;
use super::Unclear;
use super::refuse;
use crate::challenge::Page;
use crate::decide::Facts;
use crate::decide::Told;
use crate::decide::contain;
use crate::decide::says_https;
use crate::serve::exchange::Given;
use crate::serve::own_pages;
use crate::serve::wait;
use crate::serve::wait::Wait;
use crate::settings::Role;
use crate::settings::defence::Defence;
use crate::state::Connection;
use crate::state::Live;

/// Envoy repeats the request's own path behind this one.
const ENVOY: &str = "/auth/envoy";

/// The decision, for the server that asks.
pub(super) const X_DECISION: &str = "x-cattlegrid-decision";

/// The status in the log of a request that passed: only its own server knows how the site responds.
const PASSED_ON: u16 = 100;

/// What the asking server does with a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// All of it goes to the client.
    Whole,
    /// nginx takes the status only, which must be 2xx, 401 or 403.
    Bare,
    /// nginx fetches the page of a decision it has just got. Nothing is counted or logged again.
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

/// A request as its server describes it.
struct Described<'a> {
    method: Method,
    host: Cow<'a, str>,
    target: &'a str,
}

const NO_QUERY: Unclear = Unclear {
    field: "the path",
    what: "is not that of a query: ask at /auth or /auth/nginx, or at /auth/envoy with role = \"envoy\", as the examples do",
};

/// Answers a query.
pub(super) fn answer(
    connection: &Connection,
    live: &Arc<Live>,
    request: &Request<'_>,
    host: &str,
    (given, started): (&Given<'_>, Instant),
) -> Result<Page, Wait> {
    let headers = &request.headers;
    let path = request.target.split('?').next().unwrap_or("/");
    let (described, dialect) = match path {
        "/auth" => (by_headers(headers, &FORWARDED, live), Dialect::Whole),
        "/auth/nginx" => (by_headers(headers, &ORIGINAL, live), Dialect::Bare),
        "/auth/show" => (by_headers(headers, &ORIGINAL, live), Dialect::Shown),
        // Where no Envoy asks, a server may pass on a path that begins like its query but leads to the prefix in another spelling.
        _ if connection.role == Role::Envoy => (by_path(request, host), Dialect::Whole),
        _ => (Err(NO_QUERY), Dialect::Whole),
    };
    let decided = described.map_err(Stop::from).and_then(|described| {
        let told = Told {
            client: client(connection, live, headers)?,
            host: &described.host,
            method: &described.method,
            target: described.target,
            is_secure: says_https(headers),
            is_counted: dialect != Dialect::Shown,
        };
        let mut facts = Facts::told(told, headers, started);
        Ok(decide(connection, live, &mut facts, (dialect, given))?)
    });
    match decided {
        Ok((page, decision)) => Ok(page.with(X_DECISION, decision.name())),
        Err(Stop::Unclear(unclear)) => Ok(refuse(connection, unclear)),
        Err(Stop::Wait(wait)) => Err(wait),
    }
}

/// Decides about a request that was described, and logs it.
pub(super) fn decide(
    connection: &Connection,
    live: &Arc<Live>,
    facts: &mut Facts<'_>,
    (dialect, given): (Dialect, &Given<'_>),
) -> Result<(Page, Decision), Wait> {
    // Nobody could solve a challenge whose files are withheld. Only what the gate itself serves passes so: the site's server may find
    // another page behind a path that merely begins alike, like `/.cattlegrid/../page`.
    let own = facts.path().strip_prefix(live.setup.prefix.as_str());
    if own.is_some_and(own_pages::has) {
        return Ok((Page::empty(200), Decision::Pass));
    }
    let gate = &connection.worker.gate;
    let judged = wait::judge(connection, live, facts, given)?;
    let page = match (judged.done, dialect) {
        (Decision::Pass, Dialect::Shown) => nothing_to_show(facts.headers),
        (Decision::Pass, _) => Page::empty(200),
        (Decision::Challenge, Dialect::Bare) => Page::empty(401),
        (_, Dialect::Bare) => Page::empty(403),
        _ => contain(gate, live, facts, &judged),
    };
    if dialect != Dialect::Shown {
        let mut entry = facts.entry(connection, live);
        entry.answered(&page);
        judged.note(&mut entry);
        entry.status = match (judged.done, dialect) {
            (Decision::Pass, _) => PASSED_ON,
            // The client sees another status than nginx does.
            (Decision::Throttle, _) => 429,
            (_, Dialect::Bare) => 403,
            _ => page.status,
        };
        let worker = &connection.worker;
        worker.log(&entry, &facts.texts(), Instant::now());
    }
    Ok((page, judged.done))
}

/// nginx wants the page of a request that passes.
fn nothing_to_show(headers: &Headers<'_>) -> Page {
    let decided = headers.get(Name::XCattlegridShow);
    let has_changed = matches!(decided, Some(b"challenge" | b"block" | b"throttle"));
    match has_changed {
        // nginx shows the page for refusals of its own, too.
        false => Page::text(403, "forbidden\n"),
        true => Page::text(503, "please reload this page\n").with("retry-after", "1"),
    }
}

/// The client, which the server must name: with the server's own address all its visitors would be one.
pub(super) fn client(
    connection: &Connection,
    live: &Live,
    headers: &Headers<'_>,
) -> Result<Option<IpAddr>, Unclear> {
    // `Forwarded` is not read, since no server sets it: it would be the client's own word.
    if !headers.has(Name::XForwardedFor) && live.setup.defences.has(Defence::Missing) {
        return Err(Unclear {
            field: "X-Forwarded-For",
            what: "is missing",
        });
    }
    Ok(live.setup.client(connection.peer, headers))
}

/// The request as headers tell it.
fn by_headers<'a>(
    headers: &Headers<'a>,
    names: &Names,
    live: &Live,
) -> Result<Described<'a>, Unclear> {
    if !live.setup.defences.has(Defence::Missing) {
        return Ok(guessed(headers, names));
    }
    let method = single(headers, &names.method)?;
    Ok(Described {
        method: Method::from_bytes(method.as_bytes()).map_err(|_| Unclear {
            field: names.method.shown,
            what: "is no method",
        })?,
        host: valid_host(single(headers, &names.host)?, names.host.shown)?,
        target: valid_target(single(headers, &names.uri)?, names.uri.shown)?,
    })
}

/// What a gate would make of a question that trusts all and guesses the rest.
fn guessed<'a>(headers: &Headers<'a>, names: &Names) -> Described<'a> {
    let method = single(headers, &names.method).unwrap_or("GET");
    Described {
        method: Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET),
        host: Cow::Borrowed(single(headers, &names.host).unwrap_or("*")),
        target: single(headers, &names.uri).unwrap_or("/"),
    }
}

/// The request as its own method, host and path tell it, as Envoy asks.
fn by_path<'a>(request: &'a Request<'a>, host: &'a str) -> Result<Described<'a>, Unclear> {
    let target = request.target.strip_prefix(ENVOY);
    Ok(Described {
        method: request.method.clone(),
        host: Cow::Borrowed(host),
        target: valid_target(target.ok_or(NO_QUERY)?, "the path behind /auth/envoy")?,
    })
}

/// A header that was sent exactly once.
fn single<'a>(headers: &Headers<'a>, named: &Named) -> Result<&'a str, Unclear> {
    let unclear = |what| Unclear {
        field: named.shown,
        what,
    };
    let mut values = headers.all(named.header);
    let value = values.next().ok_or(unclear("is missing"))?;
    if values.next().is_some() {
        return Err(unclear("was sent twice"));
    }
    std::str::from_utf8(value).map_err(|_| unclear("is no text"))
}

/// A path with its query, as a request line has it.
pub(super) fn valid_target<'a>(text: &'a str, field: &'static str) -> Result<&'a str, Unclear> {
    let what = match text.as_bytes() {
        [] => "is empty",
        [b'/', ..] if !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) => return Ok(text),
        [b'/', ..] => "is no path: it holds blanks",
        _ => "is no path: it must begin with '/'",
    };
    Err(Unclear { field, what })
}

/// A host's name in the one spelling.
pub(super) fn valid_host<'a>(text: &'a str, field: &'static str) -> Result<Cow<'a, str>, Unclear> {
    host::canonical(text.as_bytes()).ok_or(Unclear {
        field,
        what: match text {
            "" => "is empty",
            _ => "is no host",
        },
    })
}
