//! One connection to a site: a request goes out, the head of the response comes in, and then its body.

use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::pin::pin;
use std::task::Context;
use std::task::Poll;
use std::task::Waker;
use std::task::ready;
use std::time::Duration;
use std::time::Instant;

use bytes::Bytes;
use cattlegrid_http1::Framing;
use cattlegrid_http1::Piece;
use cattlegrid_http1::request;
use cattlegrid_http1::response::Invalid;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::ReadBuf;

use super::Deadline;
use super::Failure;
use super::Upload;
use super::UploadBody;

/// The side of a connection that is read.
pub(crate) type FromSite = Box<dyn AsyncRead + Send + Sync + Unpin>;
/// The side that is written: an upload takes it along.
pub(crate) type ToSite = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// The largest response head, as in other proxies, and the most bytes of a response body that wait for a slow client.
const HELD_MAX: usize = 16 * 1024;
/// Room for most responses: it grows for those that fill it. A hundred streams of one client may hold responses that it does not read.
const ROOM: usize = 4 * 1024;

/// What every response begins with.
const VERSION: &[u8] = b"HTTP/1.";

const CHUNKS: Invalid = Invalid("invalid chunks");
const CUT: Invalid = Invalid("the connection ended within the response");

/// A connection to a site.
pub(crate) struct SiteConnection {
    from: FromSite,
    /// None while an upload has it, and where it has failed.
    to: Option<ToSite>,
    upload: Option<Upload>,
    /// Bytes that were read, and the number of them that were passed on.
    held: Vec<u8>,
    passed: usize,
    /// Room to make for the next.
    room: usize,
    /// What is to come of the response.
    pub(crate) body: Framing,
    /// The site accepts more requests on this connection.
    keeps_alive: bool,
    /// For the response head, then for each part of the body.
    deadline: Deadline,
    is_waiting: bool,
}

impl std::fmt::Debug for SiteConnection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SiteConnection")
    }
}

impl SiteConnection {
    pub(crate) fn new(from: FromSite, to: ToSite) -> SiteConnection {
        SiteConnection {
            from,
            to: Some(to),
            upload: None,
            held: Vec::new(),
            passed: 0,
            room: ROOM,
            body: Framing::UntilClose,
            keeps_alive: false,
            deadline: Deadline::new(Instant::now()),
            is_waiting: false,
        }
    }

    /// True where the last response was complete, so that the connection may take another request.
    pub(crate) fn is_done(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        if let Some(upload) = &mut self.upload
            && let Poll::Ready(to) = upload.poll_end(&mut context)
        {
            (self.to, self.upload) = (to, None);
        }
        self.keeps_alive && self.to.is_some() && self.held.is_empty()
    }

    /// True where the connection can take another request: nothing came behind the last response, not even an end.
    pub(crate) fn is_idle(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut space = [0];
        let mut space = ReadBuf::new(&mut space);
        let reading = poll_fn(|context| Pin::new(&mut self.from).poll_read(context, &mut space));
        // Unconstrained: a task that has used up its budget would be told that nothing is there.
        let reading = pin!(tokio::task::unconstrained(reading));
        let has_nothing = reading.poll(&mut context).is_pending();
        has_nothing && self.is_done()
    }

    /// Sends a request and waits for the head of the response: its length. `gone` is ready when the client
    /// has failed.
    pub(crate) async fn ask(
        &mut self,
        head: &[u8],
        body: Option<UploadBody>,
        started: Instant,
        wait: Duration,
        mut gone: impl FnMut(&mut Context<'_>) -> Poll<Failure>,
    ) -> Result<usize, Failure> {
        self.keeps_alive = false;
        self.is_waiting = false;
        self.deadline.set(started + wait);
        let mut unsent = head;
        if let Some(body) = body {
            self.upload = self.to.take().map(|to| Upload::begin(to, head, body));
            unsent = &[];
        }
        poll_fn(|context| {
            if self.poll_send(context, &mut unsent)?.is_pending() {
                let late = self.deadline.poll(context);
                return late.map(|()| Err(Failure::Late));
            }
            loop {
                if let Some(length) = self.whole_head()? {
                    return Poll::Ready(Ok(length));
                }
                match self.poll_fill(context) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(1..)) => {}
                    Poll::Ready(_) if !self.held.is_empty() => {
                        return Poll::Ready(Err(Failure::Invalid(Invalid(
                            "the connection ended within the response head",
                        ))));
                    }
                    Poll::Ready(read) => {
                        let error = read.err();
                        let error = error.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                        return Poll::Ready(Err(Failure::Closed(error)));
                    }
                }
            }
            self.poll_upload(context, wait)?;
            while self.deadline.poll(context).is_ready() {
                // While the client is sending, the site need not respond.
                if !self.upload.as_mut().is_some_and(Upload::goes_on) {
                    return Poll::Ready(Err(Failure::Late));
                }
                self.deadline.set(Instant::now() + wait);
            }
            gone(context).map(Err)
        })
        .await
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        unsent: &mut &[u8],
    ) -> Result<Poll<()>, Failure> {
        while !unsent.is_empty() {
            let Some(to) = &mut self.to else {
                return Err(Failure::Closed(io::ErrorKind::BrokenPipe.into()));
            };
            match Pin::new(to).poll_write(context, unsent) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Ok(length @ 1..)) => *unsent = &unsent[length..],
                Poll::Ready(Ok(0)) => return Err(Failure::Closed(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Err(error)) => return Err(Failure::Closed(error)),
            }
        }
        Ok(Poll::Ready(()))
    }

    /// The length of the response head once it is complete.
    fn whole_head(&mut self) -> Result<Option<usize>, Failure> {
        loop {
            // Nothing may precede it, not even an empty line: a reader that skips one would look for the status elsewhere.
            let begin = &self.held[..self.held.len().min(VERSION.len())];
            if !VERSION.starts_with(begin) {
                return Err(Failure::Invalid(Invalid("it does not begin with HTTP/1")));
            }
            let Some(length) = request::end(&self.held) else {
                return match self.held.len() < HELD_MAX {
                    true => Ok(None),
                    false => Err(Failure::Invalid(Invalid("its head is too large"))),
                };
            };
            // Interim responses are dropped: the gate itself has sent 100 to a client that waits for it.
            let status = self.held.get(9..12).unwrap_or_default();
            if status.first() != Some(&b'1') || status == b"101" {
                return Ok(Some(length));
            }
            self.held.drain(..length);
        }
    }

    /// Checks on a request body that is being sent; once it is, the site has its whole time to respond.
    fn poll_upload(&mut self, context: &mut Context<'_>, wait: Duration) -> Result<(), Failure> {
        let Some(upload) = &mut self.upload else {
            return Ok(());
        };
        if let Poll::Ready(to) = upload.poll_end(context) {
            let has_failed = upload.has_failed();
            (self.to, self.upload) = (to, None);
            if has_failed {
                return Err(Failure::IncompleteBody);
            }
            self.deadline.set(Instant::now() + wait);
        }
        Ok(())
    }

    /// True while the request body is being sent, though the response may have come.
    pub(crate) fn is_uploading(&self) -> bool {
        self.upload.is_some()
    }

    /// Waits until the request body has been sent, or the client stops sending.
    pub(crate) async fn uploaded(&mut self, wait: Duration) {
        self.deadline.set(Instant::now() + wait);
        poll_fn(|context| {
            let Some(upload) = &mut self.upload else {
                return Poll::Ready(());
            };
            if let Poll::Ready(to) = upload.poll_end(context) {
                (self.to, self.upload) = (to, None);
                return Poll::Ready(());
            }
            while self.deadline.poll(context).is_ready() {
                if !upload.goes_on() {
                    return Poll::Ready(());
                }
                self.deadline.set(Instant::now() + wait);
            }
            Poll::Pending
        })
        .await;
    }

    /// Reads available bytes.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let is_small = self.held.is_empty() && self.held.capacity() < self.room;
        if is_small || self.held.len() == self.held.capacity() {
            self.held.drain(..self.passed);
            self.passed = 0;
            self.held.reserve_exact(self.room);
        }
        let read = pin!(self.from.read_buf(&mut self.held)).poll(context);
        if self.held.len() == self.held.capacity() {
            self.room = HELD_MAX;
        }
        read
    }

    /// Reads more of the response body: true where bytes have come, false where the connection has ended and the response with it.
    pub(crate) fn poll_more(
        &mut self,
        context: &mut Context<'_>,
        wait: Duration,
    ) -> Poll<Result<bool, Invalid>> {
        if let Poll::Ready(read) = self.poll_fill(context) {
            self.is_waiting = false;
            return Poll::Ready(match read {
                Ok(1..) => Ok(true),
                Ok(0) if matches!(self.body, Framing::UntilClose) => Ok(false),
                _ => Err(CUT),
            });
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.deadline.set(Instant::now() + wait);
        }
        ready!(self.deadline.poll(context));
        Poll::Ready(Err(Invalid("no more bytes came in time")))
    }

    /// What was read and not passed on.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.held[self.passed..]
    }

    /// The next bytes of the response body among those that were read, with the framing before them.
    pub(crate) fn next_piece(&mut self) -> Result<(Piece, &[u8]), Invalid> {
        let bytes = &self.held[self.passed..];
        let piece = self.body.next(bytes).map_err(|_| CHUNKS)?;
        Ok((piece, &bytes[piece.skipped..][..piece.length]))
    }

    /// The same as bytes to keep, and whether they are the last.
    pub(crate) fn take_piece(&mut self) -> Result<(Bytes, bool), Invalid> {
        let piece = self
            .body
            .next(&self.held[self.passed..])
            .map_err(|_| CHUNKS)?;
        let bytes = match piece.length == self.held.len() {
            // A full buffer is handed on without a copy.
            true => Bytes::from(std::mem::take(&mut self.held)),
            false => {
                let bytes = Bytes::copy_from_slice(&self.bytes()[piece.skipped..][..piece.length]);
                self.pass(piece.skipped + piece.length);
                bytes
            }
        };
        Ok((bytes, piece.is_last))
    }

    /// The response head of this length was read: this follows it.
    pub(crate) fn begin(&mut self, length: usize, body: Framing, keeps_alive: bool) {
        self.pass(length);
        self.body = body;
        self.keeps_alive = keeps_alive;
    }

    /// Bytes were passed on.
    pub(crate) fn pass(&mut self, length: usize) {
        self.passed += length;
        if self.passed >= self.held.len() {
            self.held.clear();
            self.passed = 0;
        }
    }

    /// Both sides and the bytes that were read already: the connection becomes a tunnel.
    pub(crate) fn into_parts(self) -> Option<(FromSite, ToSite, Vec<u8>)> {
        let held = self.bytes().to_vec();
        Some((self.from, self.to?, held))
    }
}
