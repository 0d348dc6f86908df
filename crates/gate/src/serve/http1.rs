//! HTTP/1 connections: requests are read, decided about one by one, and their responses written in order.

use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::io::Cursor;
use std::pin::pin;
use std::task::Context;
use std::task::Poll;
use std::time::Instant;

use cattlegrid_http1::Framing;
use cattlegrid_http1::Method;
use cattlegrid_http1::Name;
use cattlegrid_http1::Request;
use cattlegrid_http1::Version;
use cattlegrid_http1::framing::LAST_CHUNK;
use cattlegrid_http1::framing::begin_chunk;
use cattlegrid_http1::headers;
use cattlegrid_http1::request;
use cattlegrid_http1::request::Invalid;
use cattlegrid_http1::request::Limits;
use cattlegrid_http1::response;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::sync::watch;

use super::client::Client;
use super::client::DROPPED_MAX;
use super::client::Manner;
use super::client::OUT_MAX;
use super::exchange;
use super::exchange::Given;
use super::exchange::Next;
use super::exchange::ReadBody;
use super::forward::Forward;
use super::forward::Passed;
use super::marked_body::MarkedBody;
use super::tunnel;
use crate::challenge::Page;
use crate::settings::Waits;
use crate::settings::defence::Defence;
use crate::settings::defence::Defences;
use crate::site::SiteConnection;
use crate::state::Connection;
use crate::state::connection::IDLE_IN_CROWD;

/// The beginning of an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How serving a connection ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The connection is to be closed.
    Closed,
    /// The client speaks HTTP/2: these bytes of it were read.
    Http2(Vec<u8>),
}

/// Serves a connection until it ends or the gate stops.
pub(crate) async fn serve<S>(
    stream: &mut S,
    connection: &Connection,
    waits: &Waits,
    stop: &mut watch::Receiver<bool>,
) -> io::Result<Ended>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let is_stopping = stop.clone();
    let mut stopping = pin!(stop.wait_for(|stop| *stop));
    let mut client = Client::new(stream, waits);
    let mut is_first = true;
    loop {
        let stopped = |context: &mut Context<'_>| stopping.as_mut().poll(context).map(drop);
        let found = next_request(&mut client, connection, is_first, stopped).await?;
        match found {
            Found::Nothing => return Ok(Ended::Closed),
            Found::Http2 if is_first => return Ok(Ended::Http2(client.held)),
            Found::Http2 => refuse(&mut client, connection, Invalid::RequestLine),
            Found::Invalid(invalid) => refuse(&mut client, connection, invalid),
            Found::Request(mut taken) => {
                taken.head.manner.is_last |= *is_stopping.borrow();
                if answer(&mut client, connection, taken).await? == Then::Next {
                    is_first = false;
                    continue;
                }
            }
        }
        client.linger().await?;
        return Ok(Ended::Closed);
    }
}

/// What comes behind a response.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Next,
    Close,
}

/// What the bytes of a client begin with.
enum Found {
    /// No complete head.
    Nothing,
    /// A connection of HTTP/2.
    Http2,
    /// A head that is refused.
    Invalid(Invalid),
    Request(Taken),
}

/// A request that was read and decided about.
struct Taken {
    next: Next,
    head: Head,
}

/// What serving a request needs of its head.
#[derive(Clone, Copy)]
struct Head {
    length: usize,
    body: Framing,
    /// The client sends its body when it is told to.
    expects_continue: bool,
    manner: Manner,
    started: Instant,
}

/// Reads until there is a whole request.
async fn next_request<S>(
    client: &mut Client<'_, S>,
    connection: &Connection,
    is_first: bool,
    mut stopped: impl FnMut(&mut Context<'_>) -> Poll<()>,
) -> io::Result<Found>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut looked = 0;
    // The first head is timed from the beginning of the connection, others from their first byte.
    let mut is_timed = is_first;
    loop {
        match find(&client.held, looked, connection) {
            Found::Nothing => {}
            found => return Ok(found),
        }
        client.flush().await?;
        let limits = limits(&connection.worker.gate.live.load().setup.defences);
        if client.held.len() > limits.headers + limits.target {
            return Ok(Found::Invalid(Invalid::TooLarge));
        }
        let is_begun = !client.held.is_empty();
        if !is_timed {
            client.deadline.set(match is_begun {
                true => Instant::now() + client.waits.header,
                false if connection.is_crowded() => {
                    client.moment + client.waits.idle.min(IDLE_IN_CROWD)
                }
                false => client.moment + client.waits.idle,
            });
            is_timed = is_begun;
        }
        // The end of a head may be cut anywhere.
        looked = client.held.len().saturating_sub(2);
        let stopped = |context: &mut Context<'_>| match is_begun {
            true => Poll::Pending,
            false => stopped(context),
        };
        if !client.read(stopped).await? {
            return Ok(Found::Nothing);
        }
    }
}

/// The limits of heads; none where a test has switched them off.
fn limits(defences: &Defences) -> Limits {
    match defences.has(Defence::HeadSize) {
        true => Limits::USUAL,
        false => Limits {
            headers: 16 * 1024 * 1024,
            target: 16 * 1024 * 1024,
            fields: 20_000,
        },
    }
}

/// Looks for a request. The first `looked` bytes hold no end of a head.
fn find(held: &[u8], looked: usize, connection: &Connection) -> Found {
    // Nearly always exactly one head was read, and no valid head has an end in its middle.
    if held.ends_with(b"\r\n\r\n")
        && let Ok(taken) = take(held, connection)
    {
        return Found::Request(taken);
    }
    // It looks like a request with a body until all of it has come.
    if held.starts_with(PREFACE) {
        return Found::Http2;
    }
    if PREFACE.starts_with(held) {
        return Found::Nothing;
    }
    let blank = request::blank(held);
    let looked = looked.max(blank);
    let Some(length) = request::end(&held[looked..]) else {
        return Found::Nothing;
    };
    let head = &held[blank..looked + length];
    match take(head, connection) {
        Ok(mut taken) => {
            taken.head.length = looked + length;
            Found::Request(taken)
        }
        Err(invalid) => Found::Invalid(invalid),
    }
}

/// Reads a head and decides about its request.
fn take(head: &[u8], connection: &Connection) -> Result<Taken, Invalid> {
    let request = read(head, connection)?;
    let started = Instant::now();
    Ok(Taken {
        next: exchange::begin(connection, &request, Given::NOTHING, started),
        head: Head {
            length: head.len(),
            body: request.body,
            expects_continue: request.version == Version::HTTP_11
                && request.headers.has(Name::Expect),
            manner: Manner {
                is_head: request.method == Method::HEAD,
                is_old: request.version != Version::HTTP_11,
                is_last: !request.keeps_alive,
            },
            started,
        },
    })
}

fn read<'a>(head: &'a [u8], connection: &Connection) -> Result<Request<'a>, Invalid> {
    let live = connection.worker.gate.live.load();
    let limits = limits(&live.setup.defences);
    #[cfg(debug_assertions)]
    if !live.setup.defences.has(Defence::Framing) {
        return request::read_carelessly(head, &limits);
    }
    request::read(head, &limits)
}

/// Refuses a request that cannot be read: nothing behind it can be, either.
fn refuse<S>(client: &mut Client<'_, S>, connection: &Connection, invalid: Invalid)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let page = exchange::refuse(connection, invalid.into());
    let manner = Manner {
        is_head: false,
        is_old: false,
        is_last: true,
    };
    let clock = &connection.worker.gate.clock;
    client.answer(&page, manner, clock.now());
}

/// Answers a request.
async fn answer<S>(
    client: &mut Client<'_, S>,
    connection: &Connection,
    taken: Taken,
) -> io::Result<Then>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Taken { mut next, head } = taken;
    client.moment = head.started;
    let mut unread = !head.body.is_empty();
    if let Next::ReadBody(_) | Next::Wait(_) = next {
        (next, unread) = decide_later(client, connection, next, head).await?;
    } else {
        client.forget(head.length);
    }
    let mut manner = head.manner;
    let page = match next {
        Next::Forward(forward) => return pass(client, forward, head).await,
        Next::Answer(page) => page,
        Next::Later(later) => {
            while_there(client, later.wait(connection)).await?;
            manner.is_last |= *connection.stop.borrow();
            client.moment = Instant::now();
            later.page()
        }
        Next::Message(_) | Next::ReadBody(_) | Next::Wait(_) => {
            Page::text(400, "gRPC needs HTTP/2\n")
        }
    };
    let length = head.body.length().unwrap_or(u64::MAX);
    let is_droppable = length <= DROPPED_MAX && !head.expects_continue;
    manner.is_last |= page.status == 400 || unread && !is_droppable;
    // Whoever gets no page of the site is the first to leave.
    manner.is_last |= connection.is_crowded();
    let clock = &connection.worker.gate.clock;
    client.answer(&page, manner, clock.at(client.moment));
    if manner.is_last {
        return Ok(Then::Close);
    }
    if unread {
        client.flush().await?;
        client.drop_body(head.body).await?;
    }
    if client.out.len() >= OUT_MAX {
        client.flush().await?;
    }
    Ok(Then::Next)
}

/// Waits for something; an error where the client has gone meanwhile.
async fn while_there<S, T>(
    client: &mut Client<'_, S>,
    awaited: impl Future<Output = T>,
) -> io::Result<T>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Responses to earlier requests do not wait for this one.
    client.flush().await?;
    let mut awaited = pin!(awaited);
    poll_fn(|context| match awaited.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Ok(value)),
        Poll::Pending => client
            .poll_gone(context)
            .map(|_| Err(io::ErrorKind::ConnectionAborted.into())),
    })
    .await
}

/// Decides about a request once its body was read, or it has waited. True where there is a body that was not read.
async fn decide_later<S>(
    client: &mut Client<'_, S>,
    connection: &Connection,
    mut next: Next,
    head: Head,
) -> io::Result<(Next, bool)>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let bytes: Vec<u8> = client.held.drain(..head.length).collect();
    let mut body = None;
    let mut given = Given::NOTHING;
    loop {
        match next {
            Next::ReadBody(most) => {
                invite(client, head).await?;
                body = Some(client.read_body(head.body, most).await);
            }
            Next::Wait(wait) => {
                given = while_there(client, wait.end(connection, given)).await?;
            }
            next => {
                let unread = !head.body.is_empty() && !matches!(body, Some(Some(_)));
                return Ok((next, unread));
            }
        }
        let body = match &body {
            None => ReadBody::Unread,
            Some(None) => ReadBody::Failed,
            Some(Some(body)) => ReadBody::Read(body),
        };
        next = decide_with(&bytes, Given { body, ..given }, connection, head.started);
    }
}

/// Decides about a request of which more is known now.
fn decide_with(head: &[u8], given: Given<'_>, connection: &Connection, started: Instant) -> Next {
    let head = &head[request::blank(head)..];
    match read(head, connection) {
        Ok(request) => exchange::begin(connection, &request, given, started),
        Err(invalid) => Next::Answer(exchange::refuse(connection, invalid.into())),
    }
}

/// Tells a client to send its body, if it waits for that.
async fn invite<S>(client: &mut Client<'_, S>, head: Head) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if head.expects_continue && client.held.is_empty() && !head.body.is_empty() {
        client
            .out
            .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    client.flush().await
}

/// Forwards a request and passes the response back. An error ends the connection: the client has gone, or must see that the response is
/// not complete.
async fn pass<S>(
    client: &mut Client<'_, S>,
    mut forward: Box<Forward>,
    head: Head,
) -> io::Result<Then>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut manner = head.manner;
    // Responses to earlier requests do not wait for this one.
    invite(client, head).await?;
    let body = client.upload(head.body);
    let asked = forward.ask(body, |context| client.poll_gone(context));
    let responded = match asked.await {
        Err(None) => return Err(io::ErrorKind::ConnectionAborted.into()),
        Err(Some(page)) => Err(page),
        Ok((mut site, length)) => {
            let second = forward.in_flight.worker.gate.clock.at(head.started);
            let write = |passed: &Passed<'_>| {
                begin_response(client, passed, &mut manner, second);
                Ok(())
            };
            let begun = forward.respond(&mut site, length, write);
            begun.map(|()| site)
        }
    };
    let mut site = match responded {
        Ok(site) => site,
        Err(page) => {
            // What is left of a request body is for nobody.
            manner.is_last |= page.status == 400 || !head.body.is_empty();
            client.moment = Instant::now();
            let clock = &forward.in_flight.worker.gate.clock;
            client.answer(&page, manner, clock.at(client.moment));
            return Ok(match manner.is_last {
                true => Then::Close,
                false => Then::Next,
            });
        }
    };
    if forward.in_flight.entry.status == 101 {
        client.flush().await?;
        return open_tunnel(client, site, *forward).await;
    }
    pass_body(client, &mut site, &mut forward, manner).await?;
    client.flush().await?;
    client.moment = Instant::now();
    forward.end(site, client.moment);
    drop(forward);
    // A client that still sends more than anybody wants is told its response, and then left.
    let is_read = client.finish_body().await.is_ok();
    Ok(match is_read && !manner.is_last {
        true => Then::Next,
        false => Then::Close,
    })
}

/// Writes the head of a response.
fn begin_response<S>(
    client: &mut Client<'_, S>,
    passed: &Passed<'_>,
    manner: &mut Manner,
    second: u32,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let response = passed.response;
    headers::write_status(response.status, response.reason, &mut client.out);
    if response.status == 101 {
        // The fields of the connection say what it becomes.
        for field in response.all() {
            headers::write(field.name, field.value, &mut client.out);
        }
        client.out.extend_from_slice(b"\r\n");
        return;
    }
    passed.fields(|name, value| headers::write(name, value, &mut client.out));
    if !response.has_date {
        client.write_date(second);
    }
    match (response.body, manner.is_old) {
        (Framing::Length(_), _) if !passed.is_marked => {}
        // HTTP/1.0 has no chunks: the end of the connection ends the body.
        (_, true) => manner.is_last = true,
        (_, false) => headers::write("transfer-encoding", b"chunked", &mut client.out),
    }
    manner.write(&mut client.out);
    client.out.extend_from_slice(b"\r\n");
}

/// The connection becomes a websocket, until that ends.
async fn open_tunnel<S>(
    client: &mut Client<'_, S>,
    site: SiteConnection,
    forward: Forward,
) -> io::Result<Then>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(site) = site.into_parts() else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let held = std::mem::take(&mut client.held);
    let (from_client, to_client) = tokio::io::split(&mut *client.stream);
    let from_client = Cursor::new(held).chain(from_client);
    tunnel::run(from_client, to_client, site, forward).await;
    Err(io::ErrorKind::ConnectionAborted.into())
}

/// Passes a response body back. The end of it is left to be written.
async fn pass_body<S>(
    client: &mut Client<'_, S>,
    site: &mut SiteConnection,
    forward: &mut Forward,
    manner: Manner,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let wait = forward.live.setup.waits.body;
    let is_sized = matches!(site.body, Framing::Length(_)) && forward.marked.is_none();
    let is_chunked = !manner.is_old && !is_sized;
    loop {
        match gather(site, is_chunked, &mut client.out, forward) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(invalid) => return cut(client, forward, invalid).await,
        }
        if client.out.len() >= OUT_MAX {
            client.flush().await?;
        }
        if forward
            .marked
            .as_ref()
            .is_some_and(|marked| marked.has_more())
        {
            continue;
        }
        // While nothing comes, what has gathered is written.
        let more = poll_fn(|context| match site.poll_more(context, wait) {
            Poll::Ready(read) => Poll::Ready(Ok(Some(read))),
            Poll::Pending if !client.out.is_empty() => Poll::Ready(Ok(None)),
            Poll::Pending => client
                .poll_gone(context)
                .map(|_| Err(io::Error::from(io::ErrorKind::ConnectionAborted))),
        });
        match more.await? {
            None => client.flush().await?,
            Some(Ok(true)) => {}
            Some(Ok(false)) if forward.marked.is_some() => {
                // The next round gathers what the end of the page brings.
                site.body = Framing::Length(0);
            }
            Some(Ok(false)) if is_chunked => {
                client.out.extend_from_slice(LAST_CHUNK);
                return Ok(());
            }
            Some(Ok(false)) => return Ok(()),
            Some(Err(invalid)) => return cut(client, forward, invalid).await,
        }
    }
}

/// The client gets what there is, and then an end in the middle.
async fn cut<S>(
    client: &mut Client<'_, S>,
    forward: &Forward,
    invalid: response::Invalid,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if !forward.live.setup.defences.has(Defence::BrokenBody) {
        client.out.extend_from_slice(LAST_CHUNK);
        return Ok(());
    }
    client.flush().await?;
    Err(io::Error::other(invalid))
}

/// Gathers the bytes that a site's connection holds of a body, as one chunk where it goes on in chunks. True at its end.
fn gather(
    site: &mut SiteConnection,
    is_chunked: bool,
    out: &mut Vec<u8>,
    forward: &mut Forward,
) -> Result<bool, response::Invalid> {
    let begin = out.len();
    let gathered = match &mut forward.marked {
        None => gather_plain(site, out),
        Some(marked) => gather_marked(site, marked, out),
    };
    let is_last = gathered.inspect_err(|_| {
        // The length of this chunk has not been written.
        out.truncate(begin);
    })?;
    let length = out.len() - begin;
    forward.in_flight.entry.bytes += length as u64;
    if is_chunked && length > 0 {
        let mut size = Vec::with_capacity(8);
        begin_chunk(length, &mut size);
        out.splice(begin..begin, size);
        out.extend_from_slice(b"\r\n");
    }
    if is_chunked && is_last {
        out.extend_from_slice(LAST_CHUNK);
    }
    Ok(is_last)
}

fn gather_plain(site: &mut SiteConnection, out: &mut Vec<u8>) -> Result<bool, response::Invalid> {
    let mut is_last = site.body.is_empty();
    while !is_last && !site.bytes().is_empty() {
        let (piece, data) = site.next_piece()?;
        out.extend_from_slice(data);
        site.pass(piece.skipped + piece.length);
        is_last = piece.is_last;
    }
    Ok(is_last)
}

/// The same for a page that gets markers. A packed page may become much longer: it stops where enough has gathered.
fn gather_marked(
    site: &mut SiteConnection,
    marked: &mut MarkedBody,
    out: &mut Vec<u8>,
) -> Result<bool, response::Invalid> {
    if site.body.is_empty() {
        marked.close();
    }
    loop {
        while marked.has_more() {
            if out.len() >= OUT_MAX {
                return Ok(false);
            }
            marked.step(out)?;
        }
        if marked.has_ended() {
            return Ok(true);
        }
        if site.bytes().is_empty() {
            return Ok(false);
        }
        let (piece, data) = site.next_piece()?;
        marked.push(data, out);
        site.pass(piece.skipped + piece.length);
        if piece.is_last {
            marked.close();
        }
    }
}
