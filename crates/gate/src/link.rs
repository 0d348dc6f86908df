//! One connection to a site: a request goes out, the head of the answer comes, and then its body.

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

use hyper::body::Bytes;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::ReadBuf;

use crate::deadline::Deadline;
use crate::head;
use crate::head::Piece;
use crate::reply::Fault;
use crate::reply::Rest;
use crate::upload;
use crate::upload::Upload;

/// The side of a connection that is read.
pub(crate) type FromSite = Box<dyn AsyncRead + Send + Sync + Unpin>;
/// The side that is written: an upload takes it along.
pub(crate) type ToSite = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// Bytes of a site's head that are taken, as many as other proxies take, and of its body that wait for a slow client.
const HELD_MAX: usize = 16 * 1024;
/// Room for most answers: more is made for those that fill it. A hundred streams of one client may wait with answers that nobody takes.
const ROOM: usize = 4 * 1024;

/// What every answer begins with.
const VERSION: &[u8] = b"HTTP/1.";

/// An answer has no end.
pub(crate) const CUT: Fault = Fault("the site ended in the middle of its answer");

/// Why a site did not answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be reached.
    Unreachable(io::Error),
    /// It did not answer in time.
    Late,
    /// It ended the connection before a word.
    Silent(io::Error),
    /// It ended the connection in the middle of a head, or what it said is no HTTP.
    Broken(Fault),
    /// The client did not send all of its request.
    Client,
    /// The client went away.
    Gone,
}

/// A connection to a site.
pub(crate) struct Link {
    from: FromSite,
    /// None while an upload has it, and where it has failed.
    to: Option<ToSite>,
    upload: Option<Upload>,
    /// Bytes that were read, and how many of them were passed on.
    held: Vec<u8>,
    passed: usize,
    /// Room to make for the next.
    room: usize,
    /// What is to come of the answer.
    pub(crate) rest: Rest,
    /// The site wants to use it for more requests.
    is_kept: bool,
    /// For the answer and its parts.
    deadline: Deadline,
    is_waiting: bool,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Link")
    }
}

impl Link {
    pub(crate) fn new(from: FromSite, to: ToSite) -> Link {
        Link {
            from,
            to: Some(to),
            upload: None,
            held: Vec::new(),
            passed: 0,
            room: ROOM,
            rest: Rest::End,
            is_kept: false,
            deadline: Deadline::new(Instant::now()),
            is_waiting: false,
        }
    }

    /// True where the connection is good for another request: the last answer was all, and nothing came behind it, not even an end.
    pub(crate) fn is_idle(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        if let Some(upload) = &mut self.upload
            && let Poll::Ready(to) = upload.poll_end(&mut context)
        {
            (self.to, self.upload) = (to, None);
        }
        let mut space = [0];
        let mut space = ReadBuf::new(&mut space);
        let reading = poll_fn(|context| Pin::new(&mut self.from).poll_read(context, &mut space));
        // Even where this task has had its share: what is not looked at is not nothing.
        let reading = pin!(tokio::task::unconstrained(reading));
        let has_nothing = reading.poll(&mut context).is_pending();
        self.is_kept && self.to.is_some() && self.held.is_empty() && has_nothing
    }

    /// Sends a request and waits for the head of the answer: its length. `gone` is ready when nobody wants it any more.
    pub(crate) async fn ask(
        &mut self,
        head: &[u8],
        body: Option<upload::Body>,
        started: Instant,
        wait: Duration,
        mut gone: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Result<usize, Failure> {
        self.is_kept = false;
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
                        return Poll::Ready(Err(Failure::Broken(Fault("its head has no end"))));
                    }
                    Poll::Ready(read) => {
                        let error = read.err();
                        let error = error.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                        return Poll::Ready(Err(Failure::Silent(error)));
                    }
                }
            }
            self.poll_upload(context, wait)?;
            while self.deadline.poll(context).is_ready() {
                // While the client is still sending, the site need not answer.
                if !self.upload.as_mut().is_some_and(Upload::goes_on) {
                    return Poll::Ready(Err(Failure::Late));
                }
                self.deadline.set(Instant::now() + wait);
            }
            gone(context).map(|()| Err(Failure::Gone))
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
                return Err(Failure::Silent(io::ErrorKind::BrokenPipe.into()));
            };
            match Pin::new(to).poll_write(context, unsent) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Ok(length @ 1..)) => *unsent = &unsent[length..],
                Poll::Ready(Ok(0)) => return Err(Failure::Silent(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Err(error)) => return Err(Failure::Silent(error)),
            }
        }
        Ok(Poll::Ready(()))
    }

    /// The length of the answer's head once it is all there.
    fn whole_head(&mut self) -> Result<Option<usize>, Failure> {
        loop {
            // Nothing goes before it, not even an empty line: whoever skips one would not see where the status is.
            let begin = &self.held[..self.held.len().min(VERSION.len())];
            if !VERSION.starts_with(begin) {
                return Err(Failure::Broken(Fault("it does not begin with HTTP/1")));
            }
            let Some(length) = head::end(&self.held) else {
                return match self.held.len() < HELD_MAX {
                    true => Ok(None),
                    false => Err(Failure::Broken(Fault("its head is too large"))),
                };
            };
            // Words before the answer are nobody's: who waits for leave to send has had it from us.
            let status = self.held.get(9..12).unwrap_or_default();
            if status.first() != Some(&b'1') || status == b"101" {
                return Ok(Some(length));
            }
            self.held.drain(..length);
        }
    }

    /// Looks after a body that is being sent; once it is, the site has all its time to answer.
    fn poll_upload(&mut self, context: &mut Context<'_>, wait: Duration) -> Result<(), Failure> {
        let Some(upload) = &mut self.upload else {
            return Ok(());
        };
        if let Poll::Ready(to) = upload.poll_end(context) {
            let has_failed = upload.has_failed();
            (self.to, self.upload) = (to, None);
            if has_failed {
                return Err(Failure::Client);
            }
            self.deadline.set(Instant::now() + wait);
        }
        Ok(())
    }

    /// True while a body is being sent, though its answer may have come.
    pub(crate) fn is_uploading(&self) -> bool {
        self.upload.is_some()
    }

    /// Waits until the body has been sent, or the client stops to send it.
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

    /// Reads what there is.
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

    /// Reads more of the answer's body: how many bytes, none at its end, or that they did not come in time.
    pub(crate) fn poll_more(
        &mut self,
        context: &mut Context<'_>,
        wait: Duration,
    ) -> Poll<Result<usize, Fault>> {
        if let Poll::Ready(read) = self.poll_fill(context) {
            self.is_waiting = false;
            return Poll::Ready(read.map_err(|_| CUT));
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.deadline.set(Instant::now() + wait);
        }
        ready!(self.deadline.poll(context));
        Poll::Ready(Err(Fault("the site stopped in the middle of its answer")))
    }

    /// What was read and not passed on.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.held[self.passed..]
    }

    /// Looks at what was read: the bytes of the body's own in it that come first, and what is to be passed with them.
    pub(crate) fn next_piece(&mut self) -> Result<(Piece, &[u8]), Fault> {
        let bytes = &self.held[self.passed..];
        let piece = self.rest.next(bytes)?;
        Ok((piece, &bytes[piece.skipped..][..piece.length]))
    }

    /// The same as bytes to keep, which are passed on, and whether they are the last.
    pub(crate) fn take_piece(&mut self) -> Result<(Bytes, bool), Fault> {
        let piece = self.rest.next(&self.held[self.passed..])?;
        let bytes = match piece.length == self.held.len() {
            // A large body is never copied.
            true => Bytes::from(std::mem::take(&mut self.held)),
            false => {
                let bytes = Bytes::copy_from_slice(&self.bytes()[piece.skipped..][..piece.length]);
                self.pass(piece.skipped + piece.length);
                bytes
            }
        };
        Ok((bytes, piece.is_last))
    }

    /// True where the end of the connection is the end of the answer.
    pub(crate) fn is_until_end(&self) -> bool {
        matches!(self.rest, Rest::End)
    }

    /// The head of the answer, so long, was read: this is what follows it.
    pub(crate) fn begin(&mut self, length: usize, rest: Rest, is_kept: bool) {
        self.pass(length);
        self.rest = rest;
        self.is_kept = is_kept;
    }

    /// So many bytes were passed on.
    pub(crate) fn pass(&mut self, length: usize) {
        self.passed += length;
        if self.passed >= self.held.len() {
            self.held.clear();
            self.passed = 0;
        }
    }

    /// Both sides, and what was read already: the connection becomes a tunnel.
    pub(crate) fn into_parts(self) -> Option<(FromSite, ToSite, Vec<u8>)> {
        let held = self.bytes().to_vec();
        Some((self.from, self.to?, held))
    }
}
