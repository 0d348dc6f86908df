//! A client's connection as the HTTP library reads it: framing in doubt never reaches it, and nobody holds it by being slow.
//!
//! Every byte of HTTP/1 passes [`head`](crate::head) first. A head in doubt is replaced by bytes that are no request at all, which the
//! library answers with 400 and an end; a body in doubt ends there.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::task::Context;
use std::task::Poll;
use std::task::Waker;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::ReadBuf;
use tokio::time::Instant;
use tokio::time::Sleep;

use crate::frames::Frames;
use crate::head;
use crate::head::Chunks;
use crate::head::Follows;
use crate::head::Walked;

/// The beginning of an HTTP/2 connection that looks like a head.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";
/// What is no request in any version.
const NONSENSE: &[u8] = b"\0\r\n\r\n";
/// A head that is longer than this is passed on: the library has a limit of its own and answers with 431.
const HEAD_MAX: usize = 80 * 1024;
/// Bytes of a first head that are read at once.
const AHEAD: usize = 4096;

/// Bytes of an answer that are written in one piece.
const SMALL: usize = 2048;

/// How the guard is set.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    /// Framing is checked.
    pub(crate) checks_framing: bool,
    /// Frames of HTTP/2 are counted.
    pub(crate) counts_frames: bool,
    /// A whole head, from its first byte.
    pub(crate) header: Option<Duration>,
    /// The next bytes of a body.
    pub(crate) body: Duration,
    /// The client takes what was written.
    pub(crate) write: Duration,
}

impl Watch {
    /// The state of a connection that speaks HTTP/2.
    fn http2(&self) -> State {
        match self.counts_frames {
            true => State::Http2(Frames::new()),
            false => State::Open,
        }
    }
}

/// What a request that may become a websocket has become; shared with the code that answers it.
#[derive(Debug, Default)]
pub(crate) struct Upgrading {
    /// Requests of this connection that were begun, and which of them asked for a websocket last. Others may be answered while it waits.
    begun: AtomicU64,
    asked: AtomicU64,
    state: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

const WAITING: u8 = 0;
const REFUSED: u8 = 1;
const TUNNEL: u8 = 2;

impl Upgrading {
    /// The bytes that follow are the websocket's.
    pub(crate) fn accept(&self) {
        self.set(TUNNEL);
    }

    /// Another request is begun: its number.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The request with this number was answered like any other: what follows it is the next one.
    pub(crate) fn refuse(&self, number: u64) {
        if self.asked.load(Ordering::Acquire) == number {
            self.set(REFUSED);
        }
    }

    /// The request with this number asks for a websocket.
    fn ask(&self, number: u64) {
        self.state.store(WAITING, Ordering::Release);
        self.asked.store(number, Ordering::Release);
    }

    fn set(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        let waker = self
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[derive(Debug)]
enum State {
    /// Nothing has come yet.
    Start,
    Head,
    Body(u64),
    Chunks(Chunks),
    /// A websocket was asked for: what follows depends on the answer.
    Upgrading,
    Http2(Frames),
    /// Nothing is checked any more: a websocket.
    Open,
    /// The library is told nonsense, once.
    Refused,
    /// Nothing more is read.
    Ended,
}

/// A connection under guard.
#[derive(Debug)]
pub(crate) struct Guard<S> {
    inner: S,
    watch: Watch,
    state: State,
    /// Bytes that were read and not passed on, of which so many may be.
    held: Vec<u8>,
    ready: usize,
    /// Heads that were passed on.
    heads: u64,
    upgrading: Arc<Upgrading>,
    read_timer: Option<Pin<Box<Sleep>>>,
    write_timer: Option<Pin<Box<Sleep>>>,
}

/// What a look at bytes has found.
struct Looked {
    /// So many may be passed on.
    sound: usize,
    is_waiting: bool,
}

impl<S> Guard<S> {
    pub(crate) fn new(inner: S, watch: Watch) -> Guard<S> {
        let state = match watch.checks_framing {
            true => State::Start,
            false => State::Open,
        };
        Guard {
            inner,
            watch,
            state,
            held: Vec::new(),
            ready: 0,
            heads: 0,
            upgrading: Arc::default(),
            read_timer: None,
            write_timer: None,
        }
    }

    /// HTTP/2 was agreed on.
    pub(crate) fn http2(mut self) -> Guard<S> {
        self.state = self.watch.http2();
        self
    }

    /// These bytes were read before.
    pub(crate) fn holding(mut self, held: Vec<u8>) -> Guard<S> {
        self.held = held;
        self.look_at_held();
        self
    }

    /// Through this the answer to an upgrade is told.
    pub(crate) fn upgrading(&self) -> Arc<Upgrading> {
        Arc::clone(&self.upgrading)
    }

    /// Looks through bytes, as far as they are sound.
    fn look(&mut self, bytes: &[u8]) -> Looked {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.state {
                State::Start | State::Head => match self.look_at_head(rest) {
                    ControlFlow::Continue(length) => at += length,
                    ControlFlow::Break(looked) => {
                        return Looked {
                            sound: at + looked.sound,
                            ..looked
                        };
                    }
                },
                State::Body(left) => {
                    let passed = (*left).min(rest.len() as u64);
                    *left -= passed;
                    at += passed as usize;
                    if *left == 0 {
                        self.state = State::Head;
                    }
                }
                State::Chunks(chunks) => match chunks.walk(rest) {
                    Walked::On => at = bytes.len(),
                    Walked::End(length) => {
                        at += length;
                        self.state = State::Head;
                    }
                    Walked::Unclear(length) => {
                        self.state = State::Ended;
                        return Looked {
                            sound: at + length,
                            is_waiting: false,
                        };
                    }
                },
                State::Http2(frames) => {
                    if !frames.walk(rest, std::time::Instant::now()) {
                        self.state = State::Ended;
                        break;
                    }
                    at = bytes.len();
                }
                State::Open => at = bytes.len(),
                State::Upgrading | State::Refused | State::Ended => break,
            }
        }
        Looked {
            sound: at,
            is_waiting: false,
        }
    }

    /// Looks at bytes that begin with a head: goes on behind it, or ends the look there.
    fn look_at_head(&mut self, bytes: &[u8]) -> ControlFlow<Looked, usize> {
        let stop = |sound, is_waiting| ControlFlow::Break(Looked { sound, is_waiting });
        // Empty lines before a request mean nothing (RFC 9112, 2.2).
        let blank = bytes
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        let Some(length) = head::end(&bytes[blank..]) else {
            if bytes.len() <= HEAD_MAX {
                return stop(0, true);
            }
            self.state = State::Open;
            return stop(bytes.len(), false);
        };
        let head = &bytes[blank..blank + length];
        if matches!(self.state, State::Start) && head == PREFACE {
            self.state = self.watch.http2();
            return ControlFlow::Continue(0);
        }
        self.state = match head::check(head) {
            Ok(Follows::Bytes(0)) => State::Head,
            Ok(Follows::Bytes(length)) => State::Body(length),
            Ok(Follows::Chunks) => State::Chunks(Chunks::default()),
            Ok(Follows::Websocket) => State::Upgrading,
            Err(_) => {
                self.state = State::Refused;
                return stop(0, false);
            }
        };
        self.heads += 1;
        if matches!(self.state, State::Upgrading) {
            self.upgrading.ask(self.heads);
            return stop(blank + length, false);
        }
        ControlFlow::Continue(blank + length)
    }

    /// Passes on bytes that were held and looked at.
    fn pass_held(&mut self, buffer: &mut ReadBuf<'_>) {
        let length = self.ready.min(buffer.remaining());
        buffer.put_slice(&self.held[..length]);
        self.held.drain(..length);
        self.ready -= length;
        // Most connections wait for the next request: what was held takes no room then.
        if self.held.is_empty() {
            self.held = Vec::new();
        }
    }

    /// Looks at what is held once more: there is more of it, or an upgrade was answered.
    fn look_at_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        let looked = self.look(&held[self.ready..]);
        self.ready += looked.sound;
        self.held = held;
    }

    /// The state after the answer to an upgrade.
    fn settle_upgrade(&mut self, context: &mut Context<'_>) {
        let mut waker = self
            .upgrading
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.state = match self.upgrading.state.load(Ordering::Acquire) {
            REFUSED => State::Head,
            TUNNEL => State::Open,
            _ => {
                *waker = Some(context.waker().clone());
                return;
            }
        };
    }

    /// The longest wait for the next bytes in this state.
    fn patience(&self) -> Option<Duration> {
        match self.state {
            State::Body(_) | State::Chunks(_) => Some(self.watch.body),
            State::Start => self.watch.header,
            State::Head if !self.held.is_empty() => self.watch.header,
            // The library has a limit for the next request on a connection that is kept.
            _ => None,
        }
    }

    /// True once the time to read has run out.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let Some(patience) = self.patience() else {
            self.read_timer = None;
            return false;
        };
        let timer = self
            .read_timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        timer.as_mut().poll(context).is_ready()
    }
}

impl<S: AsyncRead + Unpin> Guard<S> {
    /// Reads what there is of a first head. The library asks for 24 bytes, to see which version is spoken: so many at a time would cost a
    /// call and a look from the start for each.
    fn read_ahead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut space = [MaybeUninit::uninit(); AHEAD];
        let mut space = ReadBuf::uninit(&mut space);
        let read = Pin::new(&mut self.inner).poll_read(context, &mut space);
        self.held.extend_from_slice(space.filled());
        read.map_ok(|()| space.filled().len())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.ready > 0 {
                this.pass_held(buffer);
                return Poll::Ready(Ok(()));
            }
            match this.state {
                State::Upgrading => {
                    this.settle_upgrade(context);
                    if matches!(this.state, State::Upgrading) {
                        return Poll::Pending;
                    }
                    this.look_at_held();
                    continue;
                }
                State::Refused => {
                    this.state = State::Ended;
                    this.held = Vec::new();
                    buffer.put_slice(NONSENSE);
                    return Poll::Ready(Ok(()));
                }
                State::Ended => return Poll::Ready(Ok(())),
                _ => {}
            }
            let before = buffer.filled().len();
            let is_first = matches!(this.state, State::Start);
            let read = match is_first {
                true => this.read_ahead(context),
                false => Pin::new(&mut this.inner)
                    .poll_read(context, buffer)
                    .map_ok(|()| buffer.filled().len() - before),
            };
            match read {
                Poll::Pending if this.is_late(context) => {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(_)) => {}
            }
            if matches!(this.state, State::Open) {
                return Poll::Ready(Ok(()));
            }
            // A body that goes on is being read; a head is timed as a whole.
            if !matches!(this.state, State::Start | State::Head) {
                this.read_timer = None;
            }
            if is_first || !this.held.is_empty() {
                this.held.extend_from_slice(&buffer.filled()[before..]);
                buffer.set_filled(before);
                this.look_at_held();
                if this.ready > 0 {
                    this.read_timer = None;
                }
                continue;
            }
            let looked = this.look(&buffer.filled()[before..]);
            if !looked.is_waiting {
                this.read_timer = None;
            }
            this.held
                .extend_from_slice(&buffer.filled()[before + looked.sound..]);
            buffer.set_filled(before + looked.sound);
            if looked.sound > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Guard<S> {
    fn count_sent(&mut self, outcome: &Poll<io::Result<usize>>) {
        if let (State::Http2(frames), Poll::Ready(Ok(length))) = (&mut self.state, outcome) {
            frames.sent(*length);
        }
    }

    /// An answer that the client does not take in time ends the connection.
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.write_timer = None;
            return outcome;
        }
        let patience = self.watch.write;
        let timer = self
            .write_timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.count_sent(&outcome);
        self.written(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        let inner = Pin::new(&mut self.inner);
        let outcome = match slices {
            [one] => inner.poll_write(context, one),
            // To put a short head and its body together costs less than a call of the system with a list of places.
            _ if length <= SMALL => {
                let mut space = [MaybeUninit::uninit(); SMALL];
                let mut space = ReadBuf::uninit(&mut space);
                slices.iter().for_each(|slice| space.put_slice(slice));
                inner.poll_write(context, space.filled())
            }
            _ => inner.poll_write_vectored(context, slices),
        };
        self.count_sent(&outcome);
        self.written(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        self.written(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_shutdown(context);
        self.written(context, outcome)
    }
}
