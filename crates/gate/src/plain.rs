//! Plain requests of HTTP/1.1, served without the HTTP library: nearly every request is one, and the library's tables, channels and timers
//! would cost more than all the rest. Whatever is none, and all that follows it on its connection, is left to the library.

use std::borrow::Cow;
use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::pin::Pin;
use std::pin::pin;
use std::task::Context;
use std::task::Poll;
use std::time::Duration;
use std::time::Instant;
use std::time::UNIX_EPOCH;

use hyper::Method;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::ReadBuf;
use tokio::sync::watch;

use crate::body::Body;
use crate::config::Role;
use crate::config::Waits;
use crate::deadline::Deadline;
use crate::forward_auth::Answer;
use crate::forward_auth::X_DECISION;
use crate::framing::TARGET_MAX;
use crate::framing::is_hop_by_hop;
use crate::gate::Gate;
use crate::head;
use crate::head::Follows;
use crate::headers;
use crate::headers::Headers;
use crate::headers::Lines;
use crate::headers::Name;
use crate::host;
use crate::passing;
use crate::passing::Passing;
use crate::questions;
use crate::serve;
use crate::serve::Connection;

/// Bytes that are read at once.
const READ: usize = 8 * 1024;
/// A head that is longer is the library's, and so many bytes of the next requests wait.
const HEAD_MAX: usize = 16 * 1024;
/// Answers are written when so many bytes have gathered.
pub(crate) const OUT_MAX: usize = 16 * 1024;

/// A request that can be read in one way only, has no body and wants nothing of the connection.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    /// When it was read.
    pub(crate) started: Instant,
    pub(crate) method: Method,
    pub(crate) target: &'a str,
    /// As sent, and in its one spelling.
    pub(crate) sent_host: &'a [u8],
    pub(crate) host: Cow<'a, str>,
    pub(crate) headers: Headers<'a>,
}

/// What becomes of a plain request.
#[derive(Debug)]
pub(crate) enum Step {
    /// The gate answers it.
    Answer(Answer),
    /// Its site does.
    Pass(Box<Passing>),
}

/// Serves plain requests. `None` once the connection has ended, or else what was read and is the library's.
pub(crate) async fn serve<S>(
    stream: &mut S,
    connection: &Connection,
    waits: &Waits,
    stop: &mut watch::Receiver<bool>,
) -> io::Result<Option<Vec<u8>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let is_stopping = stop.clone();
    let is_stopping = || *is_stopping.borrow();
    let mut stopping = pin!(stop.wait_for(|stop| *stop));
    let moment = Instant::now();
    let mut client = Client {
        stream,
        held: Vec::new(),
        out: Vec::new(),
        deadline: Deadline::new(moment + waits.header),
        moment,
        write: waits.write,
        date: Date::default(),
    };
    let mut is_first = true;
    loop {
        let mut looked = 0;
        // The first head is timed from the connection's beginning, others from their first byte.
        let mut is_timed = is_first;
        let found = loop {
            match find(&client.held, looked, connection) {
                Found::Nothing => {}
                found => break found,
            }
            client.flush().await?;
            if client.held.len() >= HEAD_MAX {
                return Ok(Some(client.held));
            }
            let is_begun = !client.held.is_empty();
            if !is_timed {
                client.deadline.set(match is_begun {
                    true => Instant::now() + waits.header,
                    false => client.moment + waits.idle,
                });
                is_timed = is_begun;
            }
            // The end of a head may be cut anywhere.
            looked = client.held.len().saturating_sub(2);
            let stopped = |context: &mut Context<'_>| match is_begun {
                true => Poll::Pending,
                false => stopping.as_mut().poll(context).map(drop),
            };
            if !client.read(stopped).await? {
                return Ok(None);
            }
        };
        is_first = false;
        let Found::Plain(found) = found else {
            client.flush().await?;
            return Ok(Some(client.held));
        };
        let is_last = is_stopping();
        client.moment = found.started;
        match found.step {
            Step::Answer(answer) => {
                let gate = &connection.worker.gate;
                client.answer(&answer, found.is_head, is_last, gate);
            }
            Step::Pass(passing) => {
                passing::pass(&mut client, passing, found.length, is_last).await?;
            }
        }
        if is_last || client.out.len() >= OUT_MAX {
            client.flush().await?;
        }
        if is_last {
            return Ok(None);
        }
        client.forget(found.length);
    }
}

/// What begins a number of bytes.
enum Found {
    /// No whole head.
    Nothing,
    /// One that is the library's.
    Other,
    Plain(PlainHead),
}

/// A plain request, and what becomes of it.
struct PlainHead {
    step: Step,
    /// Of its head.
    length: usize,
    is_head: bool,
    started: Instant,
}

/// Looks for a request, of which so many bytes hold no end.
fn find(held: &[u8], looked: usize, connection: &Connection) -> Found {
    // Nearly always what was read is one head, and no plain head has an end in its middle.
    if held.ends_with(b"\r\n\r\n")
        && let Some(found) = step(held, connection)
    {
        return Found::Plain(found);
    }
    match head::end(&held[looked..]) {
        None => Found::Nothing,
        Some(length) => match step(&held[..looked + length], connection) {
            None => Found::Other,
            Some(found) => Found::Plain(found),
        },
    }
}

/// What becomes of a request, if it is a plain one. An error of our own becomes a challenge, never a pass.
fn step(head: &[u8], connection: &Connection) -> Option<PlainHead> {
    let mut lines = Lines::new();
    let plain = read(head, &mut lines)?;
    let gate = &connection.worker.gate;
    let live = gate.live.load();
    #[cfg(debug_assertions)]
    if plain
        .headers
        .all_named(&serve::X_TEST_PANIC)
        .next()
        .is_some()
    {
        return None;
    }
    let decided = catch_unwind(AssertUnwindSafe(|| match connection.role {
        Role::Proxy => passing::step(connection, &live, &plain),
        Role::ForwardAuth => questions::step(connection, &live, &plain),
        Role::Envoy => None,
    }));
    let step = decided.unwrap_or_else(|_| {
        gate.metrics.panics.inc();
        let page = serve::page(live.pages.challenge_needed());
        Some(Step::Answer(page.into()))
    });
    Some(PlainHead {
        step: step?,
        length: head.len(),
        is_head: plain.method == Method::HEAD,
        started: plain.started,
    })
}

/// Reads a head that came whole, if it is a plain one.
fn read<'a>(head: &'a [u8], lines: &'a mut Lines<'a>) -> Option<Plain<'a>> {
    let (method, rest) = match head {
        [b'G', b'E', b'T', b' ', rest @ ..] => (Method::GET, rest),
        [b'H', b'E', b'A', b'D', b' ', rest @ ..] => (Method::HEAD, rest),
        _ => return None,
    };
    let target = &rest[..memchr::memchr(b' ', rest)?];
    let is_newest = rest[target.len()..].starts_with(b" HTTP/1.1\r\n");
    if !is_newest
        || target.len() > TARGET_MAX
        || target.first() != Some(&b'/')
        || !target.iter().copied().all(is_usual)
    {
        return None;
    }
    let mut is_plain = true;
    // The same check as for everybody.
    let follows = head::walk(head, |name, value| {
        // Who wants something of the connection is served by the library.
        let is_kept = || {
            name.eq_ignore_ascii_case(Name::Connection.as_str().as_bytes())
                && value.eq_ignore_ascii_case(b"keep-alive")
        };
        is_plain &= lines.add(name, value) && (!is_hop_by_hop(name) || is_kept());
    });
    if follows != Ok(Follows::Bytes(0)) || !is_plain {
        return None;
    }
    let headers = Headers::Raw(lines);
    let mut hosts = headers.all(Name::Host);
    let sent_host = hosts.next()?;
    // So is who waits for a word.
    if hosts.next().is_some() || headers.has(Name::Expect) {
        return None;
    }
    Some(Plain {
        started: Instant::now(),
        method,
        target: std::str::from_utf8(target).ok()?,
        sent_host,
        host: host::canonical(sent_host)?,
        headers,
    })
}

/// True for a letter of a target that nobody reads in two ways, and the library takes as it is.
fn is_usual(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'?')
        || matches!(
            byte,
            b'&' | b'='
                | b'%'
                | b'+'
                | b','
                | b';'
                | b':'
                | b'@'
                | b'!'
                | b'$'
                | b'\''
                | b'('
                | b')'
                | b'*'
        )
}

/// The connection of a client.
pub(crate) struct Client<'a, S> {
    stream: &'a mut S,
    /// Bytes that were read: the head of the request that is served, and what follows it.
    pub(crate) held: Vec<u8>,
    /// Bytes that are to be written.
    pub(crate) out: Vec<u8>,
    deadline: Deadline,
    /// When the last request was read, or answered.
    pub(crate) moment: Instant,
    /// How long it may take until the client takes the next bytes of an answer.
    write: Duration,
    pub(crate) date: Date,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<'_, S> {
    /// Reads what there is.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // On the stack, since most connections wait for the next request.
        let mut space = [MaybeUninit::uninit(); READ];
        let mut space = ReadBuf::uninit(&mut space);
        let read = Pin::new(&mut *self.stream).poll_read(context, &mut space);
        self.held.extend_from_slice(space.filled());
        read.map_ok(|()| space.filled().len())
    }

    /// Reads more; false where the connection has ended, or shall end.
    async fn read(
        &mut self,
        mut stopped: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> io::Result<bool> {
        poll_fn(|context| {
            if let Poll::Ready(read) = self.poll_read(context) {
                return Poll::Ready(read.map(|length| length > 0));
            }
            if self.deadline.poll(context).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            stopped(context).map(|()| Ok(false))
        })
        .await
    }

    /// Ready when the client has gone away. What it sends meanwhile is held.
    pub(crate) fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.held.len() < HEAD_MAX {
            match self.poll_read(context) {
                Poll::Pending => break,
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }

    /// Writes what has gathered.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let (mut written, mut is_waiting) = (0, false);
        poll_fn(|context| {
            loop {
                let stream = Pin::new(&mut *self.stream);
                let polled = match written < self.out.len() {
                    true => stream.poll_write(context, &self.out[written..]),
                    false => stream.poll_flush(context).map_ok(|()| 0),
                };
                match polled {
                    Poll::Ready(Ok(0)) if written < self.out.len() => {
                        return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                    }
                    Poll::Ready(Ok(0)) => return Poll::Ready(Ok(())),
                    Poll::Ready(Ok(length)) => {
                        written += length;
                        is_waiting = false;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => break,
                }
            }
            if !is_waiting {
                is_waiting = true;
                self.deadline.set(Instant::now() + self.write);
            }
            let late = self.deadline.poll(context);
            late.map(|()| Err(io::ErrorKind::TimedOut.into()))
        })
        .await?;
        self.out.clear();
        // After a large answer no idle connection keeps its room.
        self.out.shrink_to(OUT_MAX);
        Ok(())
    }

    /// An answer of the gate's own.
    pub(crate) fn answer(&mut self, answer: &Answer, is_head: bool, is_last: bool, gate: &Gate) {
        let Answer { response, decision } = answer;
        let out = &mut self.out;
        let status = response.status();
        let body = match response.body() {
            Body::Full(bytes) => &bytes[..],
            // The gate answers with a whole text or with none.
            _ => b"",
        };
        let reason = status.canonical_reason().unwrap_or_default();
        headers::write_status(status.as_u16(), reason, out);
        for (name, value) in response.headers() {
            headers::write(name.as_str(), value.as_bytes(), out);
        }
        if let Some(decision) = decision {
            headers::write(X_DECISION.as_str(), decision.name().as_bytes(), out);
        }
        if is_last {
            headers::write("connection", b"close", out);
        }
        let mut digits = itoa::Buffer::new();
        headers::write("content-length", digits.format(body.len()).as_bytes(), out);
        headers::write("date", self.date.at(gate.clock.at(self.moment)), out);
        out.extend_from_slice(b"\r\n");
        if !is_head {
            out.extend_from_slice(body);
        }
    }

    /// The first bytes that were read are done with.
    fn forget(&mut self, length: usize) {
        match length == self.held.len() {
            // Nothing is kept for a connection that waits.
            true => self.held = Vec::new(),
            false => drop(self.held.drain(..length)),
        }
    }
}

/// The value of a `Date` header, which is the same for a second.
#[derive(Debug, Default)]
pub(crate) struct Date {
    second: u32,
    text: String,
}

impl Date {
    /// A second since 1970 as text.
    pub(crate) fn at(&mut self, second: u32) -> &[u8] {
        if second != self.second {
            self.second = second;
            let time = UNIX_EPOCH + Duration::from_secs(u64::from(second));
            self.text = httpdate::fmt_http_date(time);
        }
        self.text.as_bytes()
    }
}
