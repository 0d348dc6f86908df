//! Another web server asks about each of its requests: the request passes, must be challenged, or is blocked.
//!
//! The path of a query says which server asks, and so in which header fields it describes the request: nothing that a client sends can
//! change that. Clients cannot ask at all, for only their requests below the gate's own prefix are led here. A description is believed of
//! a trusted peer alone, and what is missing is never guessed.

mod envoy;
mod query;

use std::sync::Arc;
use std::time::Instant;

use cattlegrid_http1::Request;

use super::exchange::Given;
use super::exchange::Next;
use super::exchange::ReadBody;
use super::own_pages;
use super::wait::Wait;
use crate::challenge::Page;
use crate::decide::Facts;
use crate::decide::Told;
use crate::decide::says_https;
use crate::settings::defence::Defence;
use crate::state::Connection;
use crate::state::Live;

pub(super) use envoy::denial;
pub(super) use envoy::is_call;

/// What makes a query unanswerable.
#[derive(Debug, Clone, Copy)]
struct Unclear {
    /// The header field, or a field of a message.
    field: &'static str,
    /// What is wrong with it.
    what: &'static str,
}

/// Why a query is not answered now.
enum Stop {
    /// It cannot be.
    Unclear(Unclear),
    /// The request that it is about must wait.
    Wait(Wait),
}

impl From<Unclear> for Stop {
    fn from(unclear: Unclear) -> Stop {
        Stop::Unclear(unclear)
    }
}

impl From<Wait> for Stop {
    fn from(wait: Wait) -> Stop {
        Stop::Wait(wait)
    }
}

/// Answers a query, or a request for one of the gate's own pages.
pub(super) fn answer(
    connection: &Connection,
    live: &Arc<Live>,
    request: &Request<'_>,
    host: &str,
    given: Given<'_>,
    started: Instant,
) -> Next {
    if !live.setup.trust.trusts(connection.peer) && live.setup.defences.has(Defence::Trust) {
        tracing::warn!(peer = ?connection.peer, "query from a peer that is not in trusted_proxies");
        count_refused(connection, "untrusted");
        return Next::Answer(Page::text(403, "this peer is not in trusted_proxies\n"));
    }
    let path = request.target.split('?').next().unwrap_or("/");
    if let Some(name) = path.strip_prefix(live.setup.prefix.as_str()) {
        return own_page(connection, live, request, host, name, given.body, started);
    }
    if is_call(connection, request) {
        let message = match given.body {
            ReadBody::Unread => return Next::ReadBody(envoy::MESSAGE_MAX),
            ReadBody::Read(message) => Some(message),
            ReadBody::Failed => None,
        };
        let answer = envoy::check(connection, live, message, (&given, started));
        return answer.map_or_else(Next::Wait, Next::Message);
    }
    let answer = query::answer(connection, live, request, host, (&given, started));
    answer.map_or_else(Next::Wait, Next::Answer)
}

#[allow(clippy::too_many_arguments, reason = "all of one exchange")]
fn own_page(
    connection: &Connection,
    live: &Live,
    request: &Request<'_>,
    host: &str,
    name: &str,
    body: ReadBody<'_>,
    started: Instant,
) -> Next {
    let headers = &request.headers;
    let client = match query::client(connection, live, headers) {
        Ok(client) => client,
        Err(unclear) => return Next::Answer(refuse(connection, unclear)),
    };
    let told = Told {
        client,
        host,
        method: &request.method,
        target: request.target.split('?').next().unwrap_or("/"),
        is_secure: says_https(headers),
        is_counted: false,
    };
    let facts = Facts::told(told, headers, started);
    own_pages::answer(connection, live, &facts, name, body)
}

/// The response to a query that cannot be answered: the request does not pass.
fn refuse(connection: &Connection, unclear: Unclear) -> Page {
    let Unclear { field, what } = unclear;
    tracing::warn!("a query of the web server cannot be answered: {field} {what}");
    count_refused(connection, "question");
    Page::text(403, "incomplete query: see the log of the gate\n")
}

fn count_refused(connection: &Connection, reason: &'static str) {
    let metrics = &connection.worker.gate.metrics;
    metrics.refused.get_or_create(&[("reason", reason)]).inc();
}
