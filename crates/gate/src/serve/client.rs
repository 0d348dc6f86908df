//! The client's side of an HTTP/1 connection: bytes that were read, bytes to write, and the request body that is on its way.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Duration;
use std::time::Instant;
use std::time::UNIX_EPOCH;

use cattlegrid_http1::Framing;
use cattlegrid_http1::headers;
use http::StatusCode;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::DuplexStream;
use tokio::io::ReadBuf;

use crate::challenge::Page;
use crate::settings::Waits;
use crate::site::Deadline;
use crate::site::Failure;
use crate::site::Source;
use crate::site::UploadBody;
use crate::site::Whole;

/// Bytes that are read at once.
const READ: usize = 8 * 1024;
/// Bytes of later requests that are read while one is served.
const AHEAD_MAX: usize = 16 * 1024;
/// Responses are written when this many bytes have gathered.
pub(super) const OUT_MAX: usize = 16 * 1024;
/// Bytes of a request body on their way to the upload.
const PIPE: usize = 16 * 1024;
/// Bytes of a request body that are read only to be dropped, so that the connection can be kept.
pub(super) const DROPPED_MAX: u64 = 64 * 1024;
/// How long, and for how many bytes, a client that still sends is read from after its last response. A socket that is closed with unread
/// bytes is reset, and the client may lose the response.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// How a response is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// The request was HEAD: no body follows.
    pub(super) is_head: bool,
    /// The client speaks HTTP/1.0: no chunks.
    pub(super) is_old: bool,
    /// The connection is closed behind it.
    pub(super) is_last: bool,
}

impl Manner {
    /// Writes the field that says how long the connection lasts, where the client would assume something else.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        match (self.is_last, self.is_old) {
            (true, _) => headers::write("connection", b"close", out),
            (false, true) => headers::write("connection", b"keep-alive", out),
            (false, false) => {}
        }
    }
}

/// Where a request body goes.
enum Sink {
    /// To the upload of a request that passes.
    Pipe(DuplexStream, Arc<Whole>),
    /// Into memory, at most this many bytes.
    Memory(Vec<u8>, usize),
    /// Nowhere, at most this many bytes.
    Nowhere(u64),
}

/// A request body that has not been read to its end.
struct RequestBody {
    framing: Framing,
    /// The number of bytes at the beginning of `held` that go to the sink.
    ready: usize,
    /// The body ends behind these.
    is_last: bool,
    sink: Sink,
    deadline: Deadline,
}

impl RequestBody {
    /// Passes bytes on; how many.
    fn poll_pass(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, Failure>> {
        match &mut self.sink {
            Sink::Pipe(pipe, _) => {
                if let Ok(length) = ready!(Pin::new(pipe).poll_write(context, bytes)) {
                    return Poll::Ready(Ok(length));
                }
                // The site takes no more.
                self.sink = Sink::Nowhere(DROPPED_MAX);
                Poll::Ready(Ok(0))
            }
            Sink::Memory(gathered, most) => {
                gathered.extend_from_slice(bytes);
                match gathered.len() <= *most {
                    true => Poll::Ready(Ok(bytes.len())),
                    false => Poll::Ready(Err(Failure::IncompleteBody)),
                }
            }
            Sink::Nowhere(left) => match left.checked_sub(bytes.len() as u64) {
                Some(rest) => {
                    *left = rest;
                    Poll::Ready(Ok(bytes.len()))
                }
                None => Poll::Ready(Err(Failure::IncompleteBody)),
            },
        }
    }
}

/// The client's side of a connection.
pub(super) struct Client<'a, S> {
    pub(super) stream: &'a mut S,
    /// Bytes that were read and not used yet.
    pub(super) held: Vec<u8>,
    /// Bytes that are to be written.
    pub(super) out: Vec<u8>,
    pub(super) deadline: Deadline,
    /// When the last request was read, or answered.
    pub(super) moment: Instant,
    pub(super) waits: Waits,
    date: Date,
    body: Option<RequestBody>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Client<'a, S> {
    pub(super) fn new(stream: &'a mut S, waits: &Waits) -> Client<'a, S> {
        let moment = Instant::now();
        Client {
            stream,
            held: Vec::new(),
            out: Vec::new(),
            deadline: Deadline::new(moment + waits.header),
            moment,
            waits: waits.clone(),
            date: Date::default(),
            body: None,
        }
    }

    /// Reads available bytes.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // On the stack, since most connections wait for the next request.
        let mut space = [MaybeUninit::uninit(); READ];
        let mut space = ReadBuf::uninit(&mut space);
        let read = Pin::new(&mut *self.stream).poll_read(context, &mut space);
        self.held.extend_from_slice(space.filled());
        read.map_ok(|()| space.filled().len())
    }

    /// Reads more; false where the connection has ended, or is to end.
    pub(super) async fn read(
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

    /// Ready when the client has failed. Its request body is passed on meanwhile, and what it sends behind that is held.
    pub(super) fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<Failure> {
        if let Err(failure) = ready!(self.poll_body(context)) {
            return Poll::Ready(failure);
        }
        while self.held.len() < AHEAD_MAX {
            match self.poll_read(context) {
                Poll::Pending => break,
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return Poll::Ready(Failure::ClientGone),
            }
        }
        Poll::Pending
    }

    /// Passes the request body on; ready at its end.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        loop {
            match &self.body {
                None => return Poll::Ready(Ok(())),
                Some(body) if body.is_last && body.ready == 0 => {
                    if let Some(Sink::Pipe(_, whole)) = self.body.take().map(|body| body.sink) {
                        whole.set();
                    }
                }
                Some(_) => ready!(self.poll_piece(context))?,
            }
        }
    }

    /// Passes some bytes of the request body on, or reads more of them.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(Ok(()));
        };
        if body.ready > 0 {
            let length = ready!(body.poll_pass(context, &self.held[..body.ready]))?;
            body.ready -= length;
            self.held.drain(..length);
            return Poll::Ready(Ok(()));
        }
        if !self.held.is_empty() {
            let piece = body.framing.next(&self.held);
            let piece = piece.map_err(|_| Failure::IncompleteBody)?;
            (body.ready, body.is_last) = (piece.length, piece.is_last);
            self.held.drain(..piece.skipped);
            return Poll::Ready(Ok(()));
        }
        match self.poll_read(context) {
            Poll::Ready(Ok(1..)) => {
                self.extend_body_time();
                Poll::Ready(Ok(()))
            }
            Poll::Ready(_) => Poll::Ready(Err(Failure::ClientGone)),
            Poll::Pending => {
                ready!(self.poll_body_late(context));
                Poll::Ready(Err(Failure::IncompleteBody))
            }
        }
    }

    fn extend_body_time(&mut self) {
        let wait = self.waits.body;
        if let Some(body) = &mut self.body {
            body.deadline.set(Instant::now() + wait);
        }
    }

    fn poll_body_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.body {
            Some(body) => body.deadline.poll(context),
            None => Poll::Pending,
        }
    }

    fn begin_body(&mut self, framing: Framing, sink: Sink) {
        self.body = Some(RequestBody {
            framing,
            ready: 0,
            is_last: false,
            sink,
            deadline: Deadline::new(Instant::now() + self.waits.body),
        });
    }

    /// The request body of this framing, for an upload. It moves while the client is polled.
    pub(super) fn upload(&mut self, framing: Framing) -> Option<UploadBody> {
        if framing.is_empty() {
            return None;
        }
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let whole = Arc::<Whole>::default();
        self.begin_body(framing, Sink::Pipe(ours, Arc::clone(&whole)));
        Some(UploadBody {
            source: Source::Http1(theirs, whole),
            length: framing.length(),
        })
    }

    /// Reads a short request body; `None` where it is too long, too late or broken.
    pub(super) async fn read_body(&mut self, framing: Framing, most: usize) -> Option<Vec<u8>> {
        if framing.is_empty() {
            return Some(Vec::new());
        }
        self.begin_body(framing, Sink::Memory(Vec::new(), most));
        let wait = self.waits.header;
        let reading = poll_fn(|context| self.poll_memory(context));
        let read = tokio::time::timeout(wait, reading).await;
        self.body = None;
        read.ok().flatten()
    }

    fn poll_memory(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        loop {
            let Some(body) = &mut self.body else {
                return Poll::Ready(None);
            };
            if let (0, true, Sink::Memory(bytes, _)) = (body.ready, body.is_last, &mut body.sink) {
                return Poll::Ready(Some(std::mem::take(bytes)));
            }
            if ready!(self.poll_piece(context)).is_err() {
                return Poll::Ready(None);
            }
        }
    }

    /// Waits until the request body has been passed on to its end.
    pub(super) async fn finish_body(&mut self) -> io::Result<()> {
        let ended = poll_fn(|context| self.poll_body(context)).await;
        ended.map_err(|_| io::ErrorKind::UnexpectedEof.into())
    }

    /// Reads a request body that nobody wants, so that the next request can be read.
    pub(super) async fn drop_body(&mut self, framing: Framing) -> io::Result<()> {
        self.begin_body(framing, Sink::Nowhere(DROPPED_MAX));
        self.finish_body().await
    }

    /// Writes what has gathered. The request body is passed on meanwhile: many clients read nothing before they have sent everything.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
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
            if let Poll::Ready(Err(_)) = self.poll_body(context) {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            if !is_waiting {
                is_waiting = true;
                self.deadline.set(Instant::now() + self.waits.write);
            }
            let late = self.deadline.poll(context);
            late.map(|()| Err(io::ErrorKind::TimedOut.into()))
        })
        .await?;
        self.out.clear();
        // No idle connection keeps the room of a large response.
        self.out.shrink_to(OUT_MAX);
        Ok(())
    }

    /// Writes a page of the gate itself.
    pub(super) fn answer(&mut self, page: &Page, manner: Manner, second: u32) {
        let out = &mut self.out;
        let status = StatusCode::from_u16(page.status);
        let reason = status.ok().and_then(|status| status.canonical_reason());
        headers::write_status(page.status, reason.unwrap_or_default(), out);
        for (name, value) in &page.headers {
            headers::write(name, value.as_bytes(), out);
        }
        manner.write(out);
        let mut digits = itoa::Buffer::new();
        let length = digits.format(page.body.len());
        headers::write("content-length", length.as_bytes(), out);
        headers::write("date", self.date.at(second), out);
        out.extend_from_slice(b"\r\n");
        if !manner.is_head {
            out.extend_from_slice(page.body.as_bytes());
        }
    }

    /// Writes a Date field.
    pub(super) fn write_date(&mut self, second: u32) {
        headers::write("date", self.date.at(second), &mut self.out);
    }

    /// Drops the first bytes that were read.
    pub(super) fn forget(&mut self, length: usize) {
        match length == self.held.len() {
            // A connection that waits keeps no memory.
            true => self.held = Vec::new(),
            false => drop(self.held.drain(..length)),
        }
    }

    /// Ends the connection behind its last response, and reads for a while from a client that still sends.
    pub(super) async fn linger(&mut self) -> io::Result<()> {
        self.body = None;
        self.flush().await?;
        let lingering = async {
            poll_fn(|context| Pin::new(&mut *self.stream).poll_shutdown(context)).await?;
            let mut left = LINGER_BYTES;
            while left > 0 {
                self.held.clear();
                match poll_fn(|context| self.poll_read(context)).await? {
                    0 => break,
                    length => left = left.saturating_sub(length),
                }
            }
            Ok(())
        };
        tokio::time::timeout(LINGER, lingering)
            .await
            .unwrap_or(Ok(()))
    }
}

/// The value of a Date field, which is the same for a second.
#[derive(Debug, Default)]
struct Date {
    second: u32,
    text: String,
}

impl Date {
    /// A second since 1970 as text.
    fn at(&mut self, second: u32) -> &[u8] {
        if second != self.second {
            self.second = second;
            let time = UNIX_EPOCH + Duration::from_secs(u64::from(second));
            self.text = httpdate::fmt_http_date(time);
        }
        self.text.as_bytes()
    }
}
