//! HTTP/2 connections: hyper reads and writes frames, and every stream becomes an exchange like one of HTTP/1.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use cattlegrid_http1::Framing;
use cattlegrid_http1::Headers;
use cattlegrid_http1::chunks::Chunks;
use cattlegrid_http1::request::Limits;
use cattlegrid_http1::response::Invalid;
use http_body::Body as _;
use hyper::HeaderMap;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::TokioExecutor;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::timeout;

use super::activity::Activity;
use super::activity::Use;
use super::body::Body;
use super::body::Content;
use super::body::SiteBody;
use super::exchange;
use super::exchange::Given;
use super::exchange::Next;
use super::exchange::ReadBody;
use super::forward::Forward;
use super::forward::Passed;
use crate::challenge::Page;
use crate::decide::Refusal;
use crate::settings::Setup;
use crate::settings::Waits;
use crate::settings::defence::Defence;
use crate::site::Source;
use crate::site::UploadBody;
use crate::state::Connection;
use crate::state::connection::IDLE_IN_CROWD;

/// Bytes of a head, and of a body that waits for a slow client.
const BUFFER_MAX: usize = 64 * 1024;
/// Streams of one connection at the same time.
const STREAMS_MAX: u32 = 100;

/// Serves a connection until it ends or the gate stops.
pub(crate) async fn serve<S>(
    stream: S,
    connection: Connection,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let live = connection.worker.gate.live.load_full();
    let waits = live.setup.waits.clone();
    let is_timed = live.setup.defences.has(Defence::HeaderTime);
    let builder = builder(&live.setup);
    // Replaced settings must not live as long as a connection.
    drop(live);
    let connection = Arc::new(connection);
    let activity = Activity::new();
    let watched = Arc::clone(&activity);
    let seen = Arc::clone(&connection);
    let service = service_fn(move |request: Request<Incoming>| {
        let connection = Arc::clone(&connection);
        let stream = watched.begin();
        // In a box it takes room only while there is a request.
        Box::pin(async move {
            let response = answer(&connection, request).await;
            Ok::<_, Infallible>(response.map(|content| Body::new(content, stream)))
        })
    });
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    let step = waits.header.min(waits.write).min(waits.idle) / 2;
    let mut is_ending = false;
    loop {
        tokio::select! {
            // In this order, so that no random number is drawn for each request.
            biased;
            ended = serving.as_mut() => return ended.map_err(io::Error::other),
            _ = stop.wait_for(|stop| *stop), if !is_ending => {
                is_ending = true;
                serving.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(step), if is_timed => match activity.look(&patience(&waits, &seen), Instant::now()) {
                Use::Sound => {}
                Use::Held => break,
            },
        }
    }
    // Other streams may end in good order.
    serving.as_mut().graceful_shutdown();
    timeout(waits.header, serving)
        .await?
        .map_err(io::Error::other)
}

/// How long a client may take now.
fn patience(waits: &Waits, connection: &Connection) -> Waits {
    match connection.is_crowded() {
        true => Waits {
            idle: waits.idle.min(IDLE_IN_CROWD),
            ..waits.clone()
        },
        false => waits.clone(),
    }
}

fn builder(setup: &Setup) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let defences = &setup.defences;
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buf_size(BUFFER_MAX)
        .initial_stream_window_size(BUFFER_MAX as u32)
        .initial_connection_window_size(4 * BUFFER_MAX as u32)
        .keep_alive_interval(setup.waits.idle / 2)
        .keep_alive_timeout(setup.waits.header);
    builder.max_header_list_size(match defences.has(Defence::HeadSize) {
        true => BUFFER_MAX as u32,
        false => 16 * 1024 * 1024,
    });
    let resets = match defences.has(Defence::Resets) {
        true => (20, 64),
        false => (1_000_000, 1_000_000),
    };
    builder
        .max_pending_accept_reset_streams(resets.0)
        .max_local_error_reset_streams(resets.1);
    builder
}

/// Answers one request.
async fn answer(connection: &Connection, request: Request<Incoming>) -> Response<Content> {
    let (parts, incoming) = request.into_parts();
    let started = Instant::now();
    let next = match read(&parts, &incoming, connection) {
        Ok(request) => exchange::begin(connection, &request, Given::NOTHING, started),
        Err(refusal) => Next::Answer(exchange::refuse(connection, refusal)),
    };
    match next {
        Next::ReadBody(_) | Next::Wait(_) => {
            decide_later(connection, &parts, incoming, next, started).await
        }
        Next::Forward(forward) => pass(forward, incoming).await,
        Next::Later(later) => {
            // hyper drops this future when the client goes away.
            later.wait(connection).await;
            written_page(later.page())
        }
        next => written(next),
    }
}

/// Answers a request once its body was read, or it has waited.
async fn decide_later(
    connection: &Connection,
    parts: &Parts,
    incoming: Incoming,
    mut next: Next,
    started: Instant,
) -> Response<Content> {
    let mut incoming = Some(incoming);
    let mut body = None;
    let mut given = Given::NOTHING;
    loop {
        match (next, incoming.take()) {
            (Next::ReadBody(most), Some(incoming)) => {
                let wait = connection.worker.gate.live.load().setup.waits.header;
                let read = timeout(wait, read_body(incoming, most)).await;
                body = Some(read.unwrap_or_default());
            }
            (Next::Wait(wait), unread) => {
                incoming = unread;
                given = wait.end(connection, given).await;
            }
            (Next::Forward(forward), Some(incoming)) => return pass(forward, incoming).await,
            (next, _) => return written(next),
        }
        let body = match &body {
            None => ReadBody::Unread,
            Some(None) => ReadBody::Failed,
            Some(Some(body)) => ReadBody::Read(body),
        };
        let given = Given { body, ..given };
        let request = match &incoming {
            Some(incoming) => read(parts, incoming, connection),
            None => view(parts, Framing::Length(0), connection),
        };
        next = match request {
            Ok(request) => exchange::begin(connection, &request, given, started),
            Err(refusal) => Next::Answer(exchange::refuse(connection, refusal)),
        };
    }
}

fn read<'a>(
    parts: &'a Parts,
    incoming: &Incoming,
    connection: &Connection,
) -> Result<cattlegrid_http1::Request<'a>, Refusal> {
    let lengths = parts.headers.get_all(hyper::header::CONTENT_LENGTH);
    let mut lengths = lengths.iter().map(HeaderValue::as_bytes);
    let (length, second) = (lengths.next(), lengths.next());
    let is_checked = connection
        .worker
        .gate
        .live
        .load()
        .setup
        .defences
        .has(Defence::Framing);
    let length = match length.map(|digits| digits_of(digits).ok_or(Refusal::Framing)) {
        Some(Err(refusal)) if is_checked => return Err(refusal),
        _ if second.is_some() && is_checked => return Err(Refusal::Framing),
        Some(Ok(length)) => Some(length),
        _ => None,
    };
    let body = match (incoming.is_end_stream(), length) {
        (true, _) => Framing::Length(0),
        (false, Some(length)) => Framing::Length(length),
        (false, None) => Framing::Chunked(Chunks::default()),
    };
    view(parts, body, connection)
}

fn digits_of(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// A request of HTTP/2 as one of HTTP/1 is seen.
fn view<'a>(
    parts: &'a Parts,
    body: Framing,
    connection: &Connection,
) -> Result<cattlegrid_http1::Request<'a>, Refusal> {
    let mut headers = Headers::new();
    for (name, value) in &parts.headers {
        headers.add(name.as_str().as_bytes(), value.as_bytes());
    }
    let target = parts.uri.path_and_query();
    let target = target.map_or("/", |target| target.as_str());
    let size: usize = headers
        .iter()
        .map(|field| field.name.len() + field.value.len() + 4)
        .sum();
    let defences = &connection.worker.gate.live.load().setup.defences;
    let limits = Limits::USUAL;
    let is_large = size > limits.headers || target.len() > limits.target;
    if is_large && defences.has(Defence::HeadSize) {
        return Err(Refusal::HeadSize);
    }
    Ok(cattlegrid_http1::Request {
        method: parts.method.clone(),
        target,
        authority: parts.uri.authority().map(|host| host.as_str().as_bytes()),
        version: parts.version,
        headers,
        body,
        keeps_alive: true,
        is_websocket: false,
    })
}

/// A short body; `None` where it is too long or broken.
async fn read_body(mut body: Incoming, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(chunk) = frame.ok()?.into_data() {
            bytes.extend_from_slice(&chunk);
        }
        if bytes.len() > most {
            return None;
        }
    }
    Some(bytes)
}

/// What the gate itself responds.
fn written(next: Next) -> Response<Content> {
    match next {
        Next::Answer(page) => written_page(page),
        Next::Message(message) => {
            let mut response = Response::new(Content::Message(Some(message.into())));
            let kind = HeaderValue::from_static("application/grpc");
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        // The body was read, and nothing else needs one.
        Next::Forward(_) | Next::Later(_) | Next::ReadBody(_) | Next::Wait(_) => {
            written_page(Page::text(400, "bad request\n"))
        }
    }
}

fn written_page(page: Page) -> Response<Content> {
    let text = match page.body {
        std::borrow::Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        std::borrow::Cow::Owned(text) => Bytes::from(text),
    };
    let mut response = Response::new(Content::Text(text));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::FORBIDDEN);
    for (name, value) in page.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            let name = HeaderName::from_static(name);
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Forwards a request and passes the response back.
async fn pass(mut forward: Box<Forward>, incoming: Incoming) -> Response<Content> {
    let body = (!incoming.is_end_stream()).then(|| UploadBody {
        length: forward.body_length(),
        source: Source::Http2(incoming),
    });
    // hyper drops this future when the client goes away.
    let asked = forward.ask(body, |_| Poll::Pending).await;
    let (mut site, length) = match asked {
        Ok(asked) => asked,
        Err(page) => return written_page(page.unwrap_or_else(|| Page::empty(400))),
    };
    match forward.respond(&mut site, length, head) {
        Ok(response) => response.map(|()| Content::Site(Box::new(SiteBody::new(site, forward)))),
        Err(page) => written_page(page),
    }
}

/// The head of a site's response.
fn head(passed: &Passed<'_>) -> Result<Response<()>, Invalid> {
    let mut response = Response::new(());
    let status = StatusCode::from_u16(passed.response.status);
    *response.status_mut() = status.map_err(|_| Invalid("invalid status"))?;
    let headers: &mut HeaderMap = response.headers_mut();
    let mut is_valid = true;
    passed.fields(|name, value| {
        let name = HeaderName::from_bytes(name.as_bytes());
        match (name, HeaderValue::from_bytes(value)) {
            (Ok(name), Ok(value)) => drop(headers.append(name, value)),
            _ => is_valid = false,
        }
    });
    match is_valid {
        true => Ok(response),
        false => Err(Invalid("invalid header field")),
    }
}
