//! Envoy's external authorization over gRPC: one call, `Check`, on connections that are HTTP/2 anyway.
//!
//! The messages are the few fields that are read or written, by the numbers of Envoy's `service/auth/v3`; the tests call with the whole
//! of its schema. Every fault of a question is an answer that refuses, and no failed call: an owner may have told Envoy to let requests
//! pass while calls fail, and nobody must be able to bring that about with a request.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use cattlegrid_core::policy::Decision;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use prost::Message;

use super::Stop;
use super::Unclear;
use super::query::Dialect;
use super::query::X_DECISION;
use super::query::decide;
use super::query::valid_host;
use super::query::valid_target;
use super::refuse;
use crate::challenge;
use crate::challenge::Page;
use crate::decide::Facts;
use crate::decide::Told;
use crate::decide::says_https;
use crate::serve::exchange::Given;
use crate::serve::wait::Wait;
use crate::settings::Role;
use crate::settings::trust::Peer;
use crate::state::Connection;
use crate::state::Live;

/// The path of the call.
const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";

/// Envoy takes heads of 60 KiB; bodies, which it can send along, are of no use here.
pub(super) const MESSAGE_MAX: usize = 256 * 1024;
/// A flag for compression, and the length.
const PREFIX: usize = 5;
/// gRPC's number for what is not allowed.
const PERMISSION_DENIED: i32 = 7;
/// Envoy's number for a header that takes the place of another.
const OVERWRITE: i32 = 2;

#[derive(Clone, PartialEq, Message)]
struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    attributes: Option<Attributes>,
}

#[derive(Clone, PartialEq, Message)]
struct Attributes {
    #[prost(message, optional, tag = "1")]
    source: Option<Source>,
    #[prost(message, optional, tag = "4")]
    request: Option<HttpAttributes>,
}

#[derive(Clone, PartialEq, Message)]
struct Source {
    #[prost(message, optional, tag = "1")]
    address: Option<Address>,
}

#[derive(Clone, PartialEq, Message)]
struct Address {
    #[prost(message, optional, tag = "1")]
    socket: Option<SocketAddress>,
}

#[derive(Clone, PartialEq, Message)]
struct SocketAddress {
    #[prost(string, tag = "2")]
    address: String,
}

#[derive(Clone, PartialEq, Message)]
struct HttpAttributes {
    #[prost(message, optional, tag = "2")]
    http: Option<Http>,
}

#[derive(Clone, PartialEq, Message)]
struct Http {
    #[prost(string, tag = "2")]
    method: String,
    #[prost(btree_map = "string, string", tag = "3")]
    headers: BTreeMap<String, String>,
    /// In place of the former, where Envoy is told to send headers as they came.
    #[prost(message, optional, tag = "13")]
    raw: Option<RawHeaders>,
    #[prost(string, tag = "4")]
    path: String,
    #[prost(string, tag = "5")]
    host: String,
    #[prost(string, tag = "6")]
    scheme: String,
}

#[derive(Clone, PartialEq, Message)]
struct RawHeaders {
    #[prost(message, repeated, tag = "1")]
    headers: Vec<Header>,
}

#[derive(Clone, PartialEq, Message)]
struct Header {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(bytes = "vec", tag = "3")]
    raw_value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<RpcStatus>,
    #[prost(message, optional, tag = "2")]
    denied: Option<Denied>,
    #[prost(message, optional, tag = "3")]
    passed: Option<Passed>,
}

#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Denied {
    #[prost(message, optional, tag = "1")]
    status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    headers: Vec<HeaderOption>,
    #[prost(string, tag = "3")]
    body: String,
}

#[derive(Clone, PartialEq, Message)]
struct HttpStatus {
    #[prost(int32, tag = "1")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct HeaderOption {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
    #[prost(int32, tag = "3")]
    append_action: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Passed {
    #[prost(message, repeated, tag = "2")]
    headers: Vec<HeaderOption>,
    #[prost(string, repeated, tag = "5")]
    headers_to_remove: Vec<String>,
}

/// True for a call.
pub(crate) fn is_call(connection: &Connection, request: &Request<'_>) -> bool {
    connection.role == Role::Envoy && request.target == CHECK
}

/// The answer to a call that keeps a request from passing: the client gets this page.
pub(crate) fn denial(page: Page) -> Vec<u8> {
    encode(&denied(page))
}

/// Answers one call. Its message is missing where it was too long, too late or broken.
pub(super) fn check(
    connection: &Connection,
    live: &Arc<Live>,
    message: Option<&[u8]>,
    context: (&Given<'_>, Instant),
) -> Result<Vec<u8>, Wait> {
    let attributes = message
        .ok_or("is too long, too late or broken")
        .and_then(decode);
    let answer = match attributes {
        Ok(attributes) => answer(connection, live, attributes, context)?,
        Err(what) => {
            let field = "the message";
            denied(refuse(connection, Unclear { field, what }))
        }
    };
    Ok(encode(&answer))
}

/// The only message of a call.
fn decode(body: &[u8]) -> Result<Attributes, &'static str> {
    let (prefix, message) = body.split_first_chunk::<PREFIX>().ok_or("is empty")?;
    let [flag, length @ ..] = *prefix;
    if flag != 0 || u32::from_be_bytes(length) as usize != message.len() {
        return Err("is compressed, or more than one");
    }
    let request = CheckRequest::decode(message).map_err(|_| "is no CheckRequest")?;
    request.attributes.ok_or("has no attributes")
}

fn encode(answer: &CheckResponse) -> Vec<u8> {
    let mut message = vec![0; PREFIX];
    // There is room in any vector.
    let _ = answer.encode(&mut message);
    let length = u32::try_from(message.len() - PREFIX).unwrap_or(u32::MAX);
    message[1..PREFIX].copy_from_slice(&length.to_be_bytes());
    message
}

fn answer(
    connection: &Connection,
    live: &Arc<Live>,
    attributes: Attributes,
    (given, started): (&Given<'_>, Instant),
) -> Result<CheckResponse, Wait> {
    let source = attributes.source;
    let http = attributes.request.and_then(|request| request.http);
    let http = http.unwrap_or_default();
    let headers = headers(&http);
    let described = described(&http).map_err(Stop::from);
    let decided = described.and_then(|(method, host, target)| {
        let told = Told {
            client: client(live, source, &headers)?,
            host: &host,
            method: &method,
            target,
            is_secure: match headers.has(Name::XForwardedProto) {
                true => says_https(&headers),
                false => http.scheme == "https",
            },
            is_counted: true,
        };
        let mut facts = Facts::told(told, &headers, started);
        let dialect = (Dialect::Whole, given);
        Ok(decide(connection, live, &mut facts, dialect)?)
    });
    match decided {
        Ok((_, Decision::Pass)) => Ok(passed(&headers)),
        Ok((page, decision)) => Ok(denied(page.with(X_DECISION, decision.name()))),
        Err(Stop::Unclear(unclear)) => Ok(denied(refuse(connection, unclear))),
        Err(Stop::Wait(wait)) => Err(wait),
    }
}

type Described<'a> = (Method, std::borrow::Cow<'a, str>, &'a str);

fn described(http: &Http) -> Result<Described<'_>, Unclear> {
    let method = Method::from_bytes(http.method.as_bytes()).map_err(|_| Unclear {
        field: "attributes.request.http.method",
        what: "is missing, or no method",
    })?;
    let host = valid_host(&http.host, "attributes.request.http.host")?;
    let target = valid_target(&http.path, "attributes.request.http.path")?;
    Ok((method, host, target))
}

/// The client as Envoy knows it; where that is a trusted proxy, the one whom it names.
fn client(
    live: &Live,
    source: Option<Source>,
    headers: &Headers<'_>,
) -> Result<Option<IpAddr>, Unclear> {
    let socket = source
        .and_then(|source| source.address)
        .and_then(|address| address.socket);
    let address = socket.and_then(|socket| socket.address.parse::<IpAddr>().ok());
    let address = address.ok_or(Unclear {
        field: "attributes.source.address",
        what: "is missing, or no address",
    })?;
    let peer = Peer::Address(address.to_canonical());
    Ok(live.setup.client(peer, headers))
}

fn headers(http: &Http) -> Headers<'_> {
    let mut headers = Headers::new();
    let raw = http.raw.iter().flat_map(|raw| &raw.headers);
    let raw = raw.map(|header| match header.raw_value.as_slice() {
        [] => (&header.key, header.value.as_bytes()),
        raw => (&header.key, raw),
    });
    let joined = http.headers.iter().filter(|_| http.raw.is_none());
    let joined = joined.map(|(key, value)| (key, value.as_bytes()));
    // Envoy's own names, like `:path`, are no header fields.
    for (key, value) in raw.chain(joined).filter(|(key, _)| !key.starts_with(':')) {
        headers.add(key.as_bytes(), value);
    }
    headers
}

/// The request goes on, without our cookies and without what a client may have written into our headers.
fn passed(headers: &Headers<'_>) -> CheckResponse {
    let mut passed = Passed {
        headers: vec![option(X_DECISION, Decision::Pass.name().as_bytes())],
        headers_to_remove: vec!["x-cattlegrid-show".to_owned()],
    };
    let mut cookies = headers.all(Name::Cookie);
    // Envoy joins the cookies of HTTP/2. Where there are two headers all the same nothing is changed.
    if let (Some(cookies), None) = (cookies.next(), cookies.next()) {
        match challenge::strip(cookies) {
            std::borrow::Cow::Borrowed(_) => {}
            std::borrow::Cow::Owned(rest) if rest.is_empty() => {
                passed.headers_to_remove.push("cookie".to_owned());
            }
            std::borrow::Cow::Owned(rest) => passed.headers.push(option("cookie", &rest)),
        }
    }
    CheckResponse {
        status: Some(RpcStatus { code: 0 }),
        denied: None,
        passed: Some(passed),
    }
}

/// The answer that goes to the client in the site's place.
fn denied(page: Page) -> CheckResponse {
    let headers = page.headers.iter();
    CheckResponse {
        status: Some(RpcStatus {
            code: PERMISSION_DENIED,
        }),
        denied: Some(Denied {
            status: Some(HttpStatus {
                code: i32::from(page.status),
            }),
            headers: headers
                .map(|(name, value)| option(name, value.as_bytes()))
                .collect(),
            body: page.body.into_owned(),
        }),
        passed: None,
    }
}

fn option(key: &str, value: &[u8]) -> HeaderOption {
    HeaderOption {
        append_action: if key == "set-cookie" { 0 } else { OVERWRITE },
        header: Some(Header {
            key: key.to_owned(),
            value: String::from_utf8_lossy(value).into_owned(),
            raw_value: Vec::new(),
        }),
    }
}
