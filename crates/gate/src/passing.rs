//! Plain requests for a site: decided about, passed on as they came, and their answers passed back as they come.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use std::time::Instant;

use hyper::Method;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;

use crate::gate::Facts;
use crate::gate::Live;
use crate::head;
use crate::headers;
use crate::headers::Headers;
use crate::headers::Lines;
use crate::link::Failure;
use crate::link::Link;
use crate::plain::Client;
use crate::plain::OUT_MAX;
use crate::plain::Plain;
use crate::plain::Step;
use crate::proxy;
use crate::reply;
use crate::reply::Fault;
use crate::reply::Rest;
use crate::serve;
use crate::serve::Connection;
use crate::to_site;
use crate::upload::LAST_CHUNK;
use crate::upload::begin_chunk;
use crate::upstream::Ask;
use crate::worker::Logged;

/// A request that passes.
#[derive(Debug)]
pub(crate) struct Passing {
    live: Arc<Live>,
    site: usize,
    /// As the site gets it.
    head: Vec<u8>,
    is_head: bool,
    logged: Logged,
}

/// Decides about a request; `None` where the library must answer it.
pub(crate) fn step(connection: &Connection, live: &Arc<Live>, plain: &Plain<'_>) -> Option<Step> {
    let site = live.setup.site(&plain.host)?;
    live.setup.sites[site].upstream.as_ref()?;
    let is_trusted = live.setup.trust.trusts(connection.peer);
    let headers = plain.headers;
    let facts = Facts {
        started: plain.started,
        client: live.setup.client(connection.peer, headers),
        host: &plain.host,
        method: &plain.method,
        target: plain.target,
        headers,
        is_secure: connection.is_tls || is_trusted && serve::says_https(headers),
        is_counted: true,
    };
    if facts.path().starts_with(live.setup.prefix.as_str()) {
        return None;
    }
    let logged = match serve::decide(connection, live, &facts, false) {
        ControlFlow::Continue(logged) => logged,
        ControlFlow::Break(response) => return Some(Step::Answer(response.into())),
    };
    let sender = facts.sender(connection.peer, is_trusted);
    let asked = to_site::Asked {
        method: plain.method.as_str(),
        target: plain.target,
        host: plain.sent_host,
        headers,
        is_chunked: false,
        is_websocket: false,
    };
    Some(Step::Pass(Box::new(Passing {
        head: to_site::head(&asked, &sender, &live.setup.defences),
        live: Arc::clone(live),
        site,
        is_head: plain.method == Method::HEAD,
        logged,
    })))
}

/// Passes a request on, whose head of this length the client's connection holds, and the answer back. An error ends the connection: the
/// client has gone, or must see that its answer is not whole.
pub(crate) async fn pass<S>(
    client: &mut Client<'_, S>,
    mut passing: Box<Passing>,
    length: usize,
    is_last: bool,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Answers to requests before this one wait for nobody.
    client.flush().await?;
    let live = Arc::clone(&passing.live);
    let worker = Arc::clone(&passing.logged.worker);
    let Some(address) = &live.setup.sites[passing.site].upstream else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let ask = Ask {
        address,
        head: &passing.head,
        started: passing.logged.entry.started,
        body: None,
        is_safe: true,
    };
    let waits = &live.setup.waits;
    let sending = worker
        .pool
        .send(ask, waits, |context| client.poll_gone(context));
    let answered = sending.await.and_then(|(mut link, length)| {
        let begun = passing.begin(client, &mut link, length, is_last);
        begun.map(|()| link).map_err(Failure::Broken)
    });
    let mut link = match answered {
        Ok(link) => link,
        Err(Failure::Gone) => return Err(io::ErrorKind::ConnectionAborted.into()),
        Err(failure) => {
            let mut lines = Lines::new();
            let read = head::walk(&client.held[..length], |name, value| {
                lines.add(name, value);
            });
            debug_assert!(read.is_ok(), "it was read before");
            let response = proxy::failed(&worker.gate, &live, Headers::Raw(&lines), &failure);
            let response = passing.logged.answered(response);
            client.moment = Instant::now();
            client.answer(&response.into(), passing.is_head, is_last, &worker.gate);
            return Ok(());
        }
    };
    pass_body(client, &mut link, waits.body, &mut passing.logged).await?;
    worker.pool.put_back(address, link, Instant::now());
    client.flush().await?;
    client.moment = Instant::now();
    passing.logged.ended = Some(client.moment);
    passing.logged.is_whole = true;
    Ok(())
}

impl Passing {
    /// The head of the site's answer, as the client gets it.
    fn begin<S>(
        &mut self,
        client: &mut Client<'_, S>,
        link: &mut Link,
        length: usize,
        is_last: bool,
    ) -> Result<(), Fault> {
        let gate = &self.logged.worker.gate;
        let mut space = [MaybeUninit::uninit(); reply::HEADERS_MAX];
        let reply = reply::read(&link.bytes()[..length], self.is_head, &mut space)?;
        if reply.status == 101 {
            return Err(reply::UNASKED);
        }
        self.logged.entry.status = reply.status;
        let is_private = proxy::look(&self.live, &reply, &self.logged);
        let out = &mut client.out;
        headers::write_status(reply.status, reply.reason, out);
        for sent in reply.headers() {
            headers::write(sent.name, sent.value, out);
        }
        if is_private {
            headers::write("cache-control", b"private", out);
        }
        if !reply.has_date {
            let second = gate.clock.at(self.logged.entry.started);
            headers::write("date", client.date.at(second), out);
        }
        if !matches!(reply.rest, Rest::Bytes(_)) {
            headers::write("transfer-encoding", b"chunked", out);
        }
        if is_last {
            headers::write("connection", b"close", out);
        }
        out.extend_from_slice(b"\r\n");
        let (rest, is_kept) = (reply.rest, reply.is_kept);
        link.begin(length, rest, is_kept);
        Ok(())
    }
}

/// Passes a body back. The last of it is left to be written.
async fn pass_body<S>(
    client: &mut Client<'_, S>,
    link: &mut Link,
    wait: Duration,
    logged: &mut Logged,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let is_chunked = !matches!(link.rest, Rest::Bytes(_));
    loop {
        let gathered = gather(link, is_chunked, &mut client.out, logged);
        match gathered {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(fault) => return cut(client, fault).await,
        }
        if client.out.len() >= OUT_MAX {
            client.flush().await?;
        }
        // While nothing comes, what has gathered is written.
        let more = poll_fn(|context| match link.poll_more(context, wait) {
            Poll::Ready(read) => Poll::Ready(Ok(Some(read))),
            Poll::Pending if !client.out.is_empty() => Poll::Ready(Ok(None)),
            Poll::Pending => client
                .poll_gone(context)
                .map(|()| Err(io::Error::from(io::ErrorKind::ConnectionAborted))),
        });
        match more.await? {
            None => client.flush().await?,
            Some(Ok(1..)) => {}
            Some(Ok(0)) if link.is_until_end() => {
                client.out.extend_from_slice(LAST_CHUNK);
                return Ok(());
            }
            Some(Ok(0)) => return cut(client, crate::link::CUT).await,
            Some(Err(fault)) => return cut(client, fault).await,
        }
    }
}

/// The client gets what there is, and then an end in the middle.
async fn cut<S>(client: &mut Client<'_, S>, fault: Fault) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    client.flush().await?;
    Err(io::Error::other(fault))
}

/// Gathers what a connection holds of a body, as one chunk where it goes on in chunks. True at its end.
fn gather(
    link: &mut Link,
    is_chunked: bool,
    out: &mut Vec<u8>,
    logged: &mut Logged,
) -> Result<bool, Fault> {
    let begin = out.len();
    let mut is_last = link.rest.is_nothing();
    while !is_last && !link.bytes().is_empty() {
        let (piece, data) = match link.next_piece() {
            Ok(found) => found,
            Err(fault) => {
                // No chunk says yet how long it is.
                out.truncate(begin);
                return Err(fault);
            }
        };
        out.extend_from_slice(data);
        link.pass(piece.skipped + piece.length);
        is_last = piece.is_last;
    }
    let length = out.len() - begin;
    logged.entry.bytes += length as u64;
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
