//! An HTTP/2 connection as the library reads it: its frames are counted, and a client that does not take bytes is not waited for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
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

/// Bytes that are gathered and written in one piece: as many as a record of TLS holds.
const GATHERED_MAX: usize = 16 * 1024;

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
    /// Bytes for the client that gather until they are flushed, and how many of them were written.
    gathered: Vec<u8>,
    written: usize,
    /// The last bytes were a frame and its body. The library flushes it before it looks for another frame, and flushes again when there is
    /// none: only then are they written, so that the responses to several requests go out in one piece.
    is_flushed_again: bool,
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
            gathered: Vec::new(),
            written: 0,
            is_flushed_again: false,
            write: setup.waits.write,
            write_timer: None,
        };
        guard.count(&held);
        guard.held = held;
        guard
    }

    /// Counts the frames among these bytes.
    fn count(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
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

    /// Writes what has gathered.
    fn poll_gathered(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.gathered.len() {
            let unwritten = &self.gathered[self.written..];
            let outcome = Pin::new(&mut self.inner).poll_write(context, unwritten);
            self.count_sent(&outcome);
            match ready!(self.in_time(context, outcome))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                length => self.written += length,
            }
        }
        // A connection that waits keeps no memory.
        (self.gathered, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    /// A client that does not take bytes in time ends the connection.
    fn in_time<T>(
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
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        if this.gathered.len() + length > GATHERED_MAX {
            ready!(this.poll_gathered(context))?;
        }
        if length > GATHERED_MAX {
            this.is_flushed_again = false;
            let outcome = Pin::new(&mut this.inner).poll_write_vectored(context, slices);
            this.count_sent(&outcome);
            return this.in_time(context, outcome);
        }
        this.gathered.reserve(length);
        for slice in slices {
            this.gathered.extend_from_slice(slice);
        }
        this.is_flushed_again = slices.len() > 1;
        Poll::Ready(Ok(length))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.is_flushed_again) {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_gathered(context))?;
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        self.in_time(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_gathered(context))?;
        let outcome = Pin::new(&mut self.inner).poll_shutdown(context);
        self.in_time(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::task::Waker;

    use super::*;

    /// Takes at most so many bytes at once.
    struct Pieces {
        most: usize,
        taken: Vec<Vec<u8>>,
    }

    impl AsyncWrite for Pieces {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let length = bytes.len().min(self.most);
            self.taken.push(bytes[..length].to_vec());
            Poll::Ready(Ok(length))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn guard(most: usize) -> Guard<Pieces> {
        let taken = Vec::new();
        Guard {
            inner: Pieces { most, taken },
            frames: None,
            begun: None,
            held: Vec::new(),
            is_ended: false,
            gathered: Vec::new(),
            written: 0,
            is_flushed_again: false,
            write: Duration::from_secs(1),
            write_timer: None,
        }
    }

    fn is_ready<T>(polled: Poll<io::Result<T>>) -> bool {
        matches!(polled, Poll::Ready(Ok(_)))
    }

    /// Sends frames with bodies of these lengths as the library does, and gives what was written.
    fn sent(most: usize, lengths: &[usize]) -> Vec<Vec<u8>> {
        let mut context = Context::from_waker(Waker::noop());
        let mut guard = guard(most);
        let mut all = Vec::new();
        for length in lengths {
            let frame = [&b"head"[..], &vec![b'x'; *length]].concat();
            let mut at = 0;
            while at < frame.len() {
                let (head, body) = frame[at..].split_at(4.min(frame.len() - at));
                let slices = [IoSlice::new(head), IoSlice::new(body)];
                match Pin::new(&mut guard).poll_write_vectored(&mut context, &slices) {
                    Poll::Ready(Ok(length)) => at += length,
                    other => panic!("{other:?}"),
                }
            }
            assert!(is_ready(Pin::new(&mut guard).poll_flush(&mut context)));
            all.extend(frame);
        }
        assert!(is_ready(Pin::new(&mut guard).poll_flush(&mut context)));
        assert_eq!(guard.inner.taken.concat(), all);
        assert!(guard.gathered.is_empty());
        guard.inner.taken
    }

    #[test]
    fn frames_go_out_in_one_piece_and_complete() {
        assert_eq!(sent(usize::MAX, &[1000, 0, 3000]).len(), 1);
        for most in [1, 7, 5000, usize::MAX] {
            sent(most, &[10, 16_000, 16_380, 20_000, 0, 9, 16_381, 300]);
        }
    }

    #[test]
    fn a_frame_without_a_body_is_written_when_it_is_flushed() {
        let mut context = Context::from_waker(Waker::noop());
        let mut guard = guard(usize::MAX);
        assert!(is_ready(
            Pin::new(&mut guard).poll_write(&mut context, b"frame")
        ));
        assert!(is_ready(Pin::new(&mut guard).poll_flush(&mut context)));
        assert_eq!(guard.inner.taken, [b"frame"]);
    }
}
