//! HTTP/2 connections: the library reads and writes frames, and every stream becomes an exchange like one of HTTP/1.

use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Instant;
use std::time::SystemTime;

use bytes::Bytes;
use cattlegrid_http1::Framing;
use cattlegrid_http1::Headers;
use cattlegrid_http1::Method;
use cattlegrid_http1::chunks::Chunks;
use cattlegrid_http1::request::Limits;
use cattlegrid_http1::response::Invalid;
use h2::RecvStream;
use h2::server;
use h2::server::SendResponse;
use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::Request;
use http::Response;
use http::StatusCode;
use http::header::ACCEPT_RANGES;
use http::header::CACHE_CONTROL;
use http::header::CONTENT_ENCODING;
use http::header::CONTENT_LENGTH;
use http::header::CONTENT_TYPE;
use http::header::DATE;
use http::header::ETAG;
use http::header::LAST_MODIFIED;
use http::header::SERVER;
use http::header::SET_COOKIE;
use http::header::VARY;
use http::request::Parts;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::timeout;

use super::activity::Activity;
use super::activity::Stream;
use super::activity::Use;
use super::body::Content;
use super::body::SiteBody;
use super::body::send;
use super::exchange;
use super::exchange::Given;
use super::exchange::Next;
use super::exchange::ReadBody;
use super::forward::Forward;
use super::forward::Passed;
use super::pings::Pings;
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
/// Room for the header fields of most responses.
const FIELDS_USUAL: usize = 16;

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
    let greeting = timeout(waits.header, builder.handshake(stream));
    let frames = tokio::select! {
        greeted = greeting => greeted?.map_err(io::Error::other)?,
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    let mut served = Served::new(frames, connection, &waits);
    let step = waits.header.min(waits.write).min(waits.idle) / 2;
    let mut is_ending = false;
    loop {
        tokio::select! {
            // In this order, so that no random number is drawn for each request.
            biased;
            ended = poll_fn(|context| served.poll(context)) => return ended,
            _ = stop.wait_for(|stop| *stop), if !is_ending => {
                is_ending = true;
                served.frames.graceful_shutdown();
            }
            () = tokio::time::sleep(step), if is_timed => match served.look(&waits, Instant::now()) {
                Use::Sound => {}
                Use::Held => break,
            },
        }
    }
    // Other streams may end in good order.
    served.frames.graceful_shutdown();
    timeout(waits.header, poll_fn(|context| served.poll(context))).await?
}

/// A connection and its streams.
struct Served<S> {
    frames: server::Connection<S, Bytes>,
    connection: Arc<Connection>,
    activity: Arc<Activity>,
    pings: Option<Pings>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Served<S> {
    fn new(
        mut frames: server::Connection<S, Bytes>,
        connection: Connection,
        waits: &Waits,
    ) -> Served<S> {
        Served {
            pings: frames.ping_pong().map(|pings| Pings::new(pings, waits)),
            frames,
            connection: Arc::new(connection),
            activity: Activity::new(),
        }
    }

    /// Begins an exchange for each request; ready at the end of the connection.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(accepted) = ready!(self.frames.poll_accept(context)) {
            let (request, respond) = accepted.map_err(io::Error::other)?;
            let stream = self.activity.begin();
            let connection = Arc::clone(&self.connection);
            // In a box, because the runtime moves what it runs some times, and this is large.
            tokio::spawn(Box::pin(exchange(connection, request, respond, stream)));
        }
        Poll::Ready(Ok(()))
    }

    /// How the connection is used now. A client with an open stream is asked from time to time whether it is still there.
    fn look(&mut self, waits: &Waits, now: Instant) -> Use {
        let pings = self.pings.as_mut();
        let is_there = pings.is_none_or(|pings| pings.look(&self.activity, now));
        match is_there {
            true => self.activity.look(&patience(waits, &self.connection), now),
            false => Use::Held,
        }
    }
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

fn builder(setup: &Setup) -> server::Builder {
    let mut builder = server::Builder::new();
    let defences = &setup.defences;
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buffer_size(BUFFER_MAX)
        .initial_window_size(BUFFER_MAX as u32)
        .initial_connection_window_size(4 * BUFFER_MAX as u32);
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
        .max_local_error_reset_streams(Some(resets.1));
    builder
}

/// Answers one request. Nothing goes on for a client that has reset its stream, or whose connection has ended.
async fn exchange(
    connection: Arc<Connection>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    stream: Stream,
) {
    let method = request.method().clone();
    let (head, content) = {
        let mut answering = pin!(answer(&connection, request));
        let answered = poll_fn(|context| match answering.as_mut().poll(context) {
            Poll::Pending => respond.poll_reset(context).map(|_| None),
            answered => answered.map(Some),
        });
        match answered.await {
            Some(response) => whole(response, &method),
            None => return,
        }
    };
    // Who does not take a response has gone.
    let _ = send(head, content, &mut respond, &stream).await;
}

/// A response with the fields that the gate adds.
fn whole(response: Response<Content>, method: &Method) -> (Response<()>, Content) {
    let (mut parts, mut content) = response.into_parts();
    if let Some(length) = content.length()
        && length > 0
    {
        let fields = &mut parts.headers;
        fields
            .entry(CONTENT_LENGTH)
            .or_insert_with(|| length.into());
    }
    if !parts.headers.contains_key(DATE)
        && let Ok(date) = httpdate::fmt_http_date(SystemTime::now()).try_into()
    {
        parts.headers.insert(DATE, date);
    }
    if *method == Method::HEAD {
        content.leave_out();
    }
    (Response::from_parts(parts, ()), content)
}

/// The response to a request.
async fn answer(connection: &Connection, request: Request<RecvStream>) -> Response<Content> {
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
            // This future is dropped when the client goes away.
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
    incoming: RecvStream,
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
    incoming: &RecvStream,
    connection: &Connection,
) -> Result<cattlegrid_http1::Request<'a>, Refusal> {
    let lengths = parts.headers.get_all(CONTENT_LENGTH);
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
async fn read_body(mut body: RecvStream, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.ok()?;
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            return None;
        }
        body.flow_control().release_capacity(piece.len()).ok()?;
    }
    Some(bytes)
}

/// What the gate itself responds.
fn written(next: Next) -> Response<Content> {
    match next {
        Next::Answer(page) => written_page(page),
        Next::Message(message) => {
            let mut response = Response::new(Content::Message(message.into()));
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
async fn pass(mut forward: Box<Forward>, incoming: RecvStream) -> Response<Content> {
    let body = (!incoming.is_end_stream()).then(|| UploadBody {
        length: forward.body_length(),
        source: Source::Http2(incoming),
    });
    // This future is dropped when the client goes away.
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

/// The name of a field. For those of most responses, in the letters in which most servers write them, no text is looked through.
fn named(name: &str) -> Option<HeaderName> {
    Some(match name {
        "Accept-Ranges" | "accept-ranges" => ACCEPT_RANGES,
        "Cache-Control" | "cache-control" => CACHE_CONTROL,
        "Content-Encoding" | "content-encoding" => CONTENT_ENCODING,
        "Content-Length" | "content-length" => CONTENT_LENGTH,
        "Content-Type" | "content-type" => CONTENT_TYPE,
        "Date" | "date" => DATE,
        "ETag" | "etag" => ETAG,
        "Last-Modified" | "last-modified" => LAST_MODIFIED,
        "Server" | "server" => SERVER,
        "Set-Cookie" | "set-cookie" => SET_COOKIE,
        "Vary" | "vary" => VARY,
        name => return HeaderName::from_bytes(name.as_bytes()).ok(),
    })
}

/// The head of a site's response.
fn head(passed: &Passed<'_>) -> Result<Response<()>, Invalid> {
    let mut response = Response::new(());
    let status = StatusCode::from_u16(passed.response.status);
    *response.status_mut() = status.map_err(|_| Invalid("invalid status"))?;
    let mut headers = HeaderMap::with_capacity(FIELDS_USUAL);
    let mut is_valid = true;
    passed.fields(
        |name, value| match (named(name), HeaderValue::from_bytes(value)) {
            (Some(name), Ok(value)) => drop(headers.append(name, value)),
            _ => is_valid = false,
        },
    );
    match is_valid {
        true => {
            *response.headers_mut() = headers;
            Ok(response)
        }
        false => Err(Invalid("invalid header field")),
    }
}
