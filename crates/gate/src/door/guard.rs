//! An HTTP/2 connection as the library reads it: its frames are counted, and a client that does not take bytes is not waited for.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::time::Duration;
use std::time::Instant;

use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::ReadBuf;
use tokio::time::Sleep;

use super::frames::Frames;
use super::preface::Preface;
use crate::settings::Setup;
use crate::settings::defence::Defence;
use crate::state::Handshake;

/// Bytes that are written in one piece.
const SMALL: usize = 2048;

/// A connection under guard.
#[derive(Debug)]
pub(super) struct Guard<S> {
    inner: S,
    /// None where a test has switched counting off.
    frames: Option<Frames>,
    /// How the client begins, until its first request is there.
    begun: Option<(Preface, Handshake)>,
    /// Bytes that were read before.
    held: Vec<u8>,
    /// The client sends what no honest one does: nothing more is read.
    is_ended: bool,
    /// How long the client may take to read the next bytes.
    write: Duration,
    write_timer: Option<Pin<Box<Sleep>>>,
}

impl<S> Guard<S> {
    /// Guards a connection of which these bytes were read before.
    pub(super) fn new(inner: S, held: Vec<u8>, setup: &Setup, handshake: Handshake) -> Guard<S> {
        let counts_frames = setup.defences.has(Defence::Resets);
        let mut guard = Guard {
            inner,
            frames: counts_frames.then(Frames::new),
            begun: Some((Preface::default(), handshake)),
            held: Vec::new(),
            is_ended: false,
            write: setup.waits.write,
            write_timer: None,
        };
        guard.count(&held);
        guard.held = held;
        guard
    }

    /// Counts the frames among these bytes.
    fn count(&mut self, bytes: &[u8]) {
        if let Some((preface, handshake)) = &mut self.begun
            && let Some(hash) = preface.feed(bytes)
        {
            handshake.add(hash);
            self.begun = None;
        }
        if let Some(frames) = &mut self.frames {
            self.is_ended |= !frames.walk(bytes, Instant::now());
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.is_ended {
            return Poll::Ready(Ok(()));
        }
        if !this.held.is_empty() {
            let length = this.held.len().min(buffer.remaining());
            buffer.put_slice(&this.held[..length]);
            this.held.drain(..length);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.inner).poll_read(context, buffer);
        this.count(&buffer.filled()[before..]);
        if this.is_ended {
            buffer.set_filled(before);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> Guard<S> {
    fn count_sent(&mut self, outcome: &Poll<io::Result<usize>>) {
        if let (Some(frames), Poll::Ready(Ok(length))) = (&mut self.frames, outcome) {
            frames.sent(*length);
        }
    }

    /// A client that does not take bytes in time ends the connection.
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.write_timer = None;
            return outcome;
        }
        let wait = self.write;
        let timer = self
            .write_timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
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
            // To copy a short head and its body together costs less than a vectored write.
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
