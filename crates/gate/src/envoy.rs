//! Envoy's external authorization over gRPC: one call, `Check`, on connections that are HTTP/2 anyway.
//!
//! The messages are the few fields that are read or written, by the numbers of Envoy's `service/auth/v3`; the tests call with the whole
//! of its schema. Every fault of a question is an answer that refuses, and no failed call: an owner may have told Envoy to let requests
//! pass while calls fail, and nobody must be able to bring that about with a request.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;

use cattlegrid_core::policy::Decision;
use hyper::HeaderMap;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::header::COOKIE;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;
use hyper::header::SET_COOKIE;
use prost::Message;

use crate::body::Body;
use crate::challenge;
use crate::config::Role;
use crate::forward_auth;
use crate::forward_auth::Dialect;
use crate::forward_auth::Fault;
use crate::forward_auth::X_DECISION;
use crate::gate::Facts;
use crate::gate::Live;
use crate::headers::Name;
use crate::own;
use crate::serve;
use crate::serve::Connection;
use crate::trust::Peer;

/// The path of the call.
const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";

/// Envoy takes heads of 60 KiB; bodies, which it can send along, are of no use here.
const MESSAGE_MAX: usize = 256 * 1024;
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
    request: Option<Asked>,
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
struct Asked {
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
pub(crate) fn is_call<B>(connection: &Connection, request: &Request<B>) -> bool {
    connection.role == Role::Envoy && request.uri().path() == CHECK
}

/// The answer to a call that keeps a request from passing: the client gets this page.
pub(crate) fn denial(page: Response<Body>) -> Response<Body> {
    encode(&denied(page))
}

/// Answers one call.
pub(crate) async fn check(
    connection: &Connection,
    live: &Live,
    request: Request<Incoming>,
) -> Response<Body> {
    let body = own::read(request.into_body(), live, MESSAGE_MAX).await;
    let http = body
        .as_deref()
        .ok_or("is long, late or broken")
        .and_then(decode);
    let answer = match http {
        Ok(attributes) => answer(connection, live, attributes),
        Err(what) => {
            let header = "the message";
            denied(forward_auth::refuse(connection, Fault { header, what }))
        }
    };
    encode(&answer)
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

fn encode(answer: &CheckResponse) -> Response<Body> {
    let mut message = vec![0; PREFIX];
    // There is room in any vector.
    let _ = answer.encode(&mut message);
    let length = u32::try_from(message.len() - PREFIX).unwrap_or(u32::MAX);
    message[1..PREFIX].copy_from_slice(&length.to_be_bytes());
    let mut response = Response::new(Body::Rpc(Some(message.into())));
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn answer(connection: &Connection, live: &Live, attributes: Attributes) -> CheckResponse {
    let source = attributes.source;
    let http = attributes.request.and_then(|request| request.http);
    let http = http.unwrap_or_default();
    let headers = headers(&http);
    let decided = told(&http).and_then(|(method, host, target)| {
        let facts = Facts {
            started: Instant::now(),
            client: client(live, source, &headers)?,
            host: &host,
            method: &method,
            target,
            headers: (&headers).into(),
            is_secure: match headers.contains_key(Name::XForwardedProto.header()) {
                true => serve::says_https((&headers).into()),
                false => http.scheme == "https",
            },
            is_counted: true,
        };
        Ok(forward_auth::decide(
            connection,
            live,
            &facts,
            Dialect::Whole,
        ))
    });
    match decided {
        Ok(answer) if answer.response.status() == StatusCode::OK => passed(&headers),
        Ok(answer) => denied(answer.into_response()),
        Err(fault) => denied(forward_auth::refuse(connection, fault)),
    }
}

type Told<'a> = (Method, std::borrow::Cow<'a, str>, &'a str);

fn told(http: &Http) -> Result<Told<'_>, Fault> {
    let method = Method::from_bytes(http.method.as_bytes()).map_err(|_| Fault {
        header: "attributes.request.http.method",
        what: "is missing, or no method",
    })?;
    let host = forward_auth::sound_host(&http.host, "attributes.request.http.host")?;
    let target = forward_auth::sound_target(&http.path, "attributes.request.http.path")?;
    Ok((method, host, target))
}

/// The client as Envoy knows it; where that is a trusted proxy, the one whom it names.
fn client(
    live: &Live,
    source: Option<Source>,
    headers: &HeaderMap,
) -> Result<Option<IpAddr>, Fault> {
    let socket = source
        .and_then(|source| source.address)
        .and_then(|address| address.socket);
    let address = socket.and_then(|socket| socket.address.parse::<IpAddr>().ok());
    let address = address.ok_or(Fault {
        header: "attributes.source.address",
        what: "is missing, or no address",
    })?;
    let peer = Peer::Address(address.to_canonical());
    Ok(live.setup.client(peer, headers.into()))
}

fn headers(http: &Http) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |key: &str, value: &[u8]| {
        // Envoy's own names, like `:path`, are no headers.
        let name = HeaderName::from_bytes(key.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            // A request has fewer headers than the map has room for, or Envoy would not have taken it.
            let _ = headers.try_append(name, value);
        }
    };
    match &http.raw {
        Some(raw) => raw.headers.iter().for_each(|header| {
            let value = match header.raw_value.as_slice() {
                [] => header.value.as_bytes(),
                raw => raw,
            };
            add(&header.key, value);
        }),
        None => http
            .headers
            .iter()
            .for_each(|(key, value)| add(key, value.as_bytes())),
    }
    headers
}

/// The request goes on, without our cookies and without what a client may have written into our headers.
fn passed(headers: &HeaderMap) -> CheckResponse {
    let mut passed = Passed {
        headers: vec![option(
            X_DECISION.as_str(),
            Decision::Pass.name().as_bytes(),
        )],
        headers_to_remove: vec!["x-cattlegrid-show".to_owned()],
    };
    let mut cookies = headers.get_all(COOKIE).iter();
    // Envoy joins the cookies of HTTP/2. Where there are two headers all the same nothing is changed.
    if let (Some(cookies), None) = (cookies.next(), cookies.next()) {
        match challenge::strip(cookies.as_bytes()) {
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
fn denied(response: Response<Body>) -> CheckResponse {
    let (parts, body) = response.into_parts();
    let headers = parts.headers.iter();
    let body = match body {
        Body::Full(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    };
    CheckResponse {
        status: Some(RpcStatus {
            code: PERMISSION_DENIED,
        }),
        denied: Some(Denied {
            status: Some(HttpStatus {
                code: i32::from(parts.status.as_u16()),
            }),
            headers: headers
                .map(|(name, value)| option(name.as_str(), value.as_bytes()))
                .collect(),
            body,
        }),
        passed: None,
    }
}

fn option(key: &str, value: &[u8]) -> HeaderOption {
    HeaderOption {
        append_action: if key == SET_COOKIE.as_str() {
            0
        } else {
            OVERWRITE
        },
        header: Some(Header {
            key: key.to_owned(),
            value: String::from_utf8_lossy(value).into_owned(),
            raw_value: Vec::new(),
        }),
    }
}
