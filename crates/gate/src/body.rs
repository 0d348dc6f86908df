//! Bodies that stream through the gate: timed, counted, and written down when they end.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::task::Context;
use std::task::Poll;
use std::time::Duration;

use http_body::Body as _;
use http_body::Frame;
use http_body::SizeHint;
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;

use crate::activity::Stream;
use crate::activity::Watched;
use crate::defence::Defence;
use crate::log::Entry;
use crate::upstream::Lease;
use crate::upstream::TooLate;
use crate::worker::Worker;

/// What can go wrong with a body, for the library.
pub(crate) type BodyFault = Box<dyn Error + Send + Sync>;

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Body {
    Empty,
    Full(Bytes),
    /// The message of a gRPC answer, and then that it is all.
    Rpc(Option<Bytes>),
    Site(Box<SiteBody>),
    /// Of an answer over HTTP/2.
    Watched(Box<Watched>),
}

impl Body {
    /// The same, watched where there is a stream to watch.
    pub(crate) fn watched(self, stream: Option<Stream>) -> Body {
        let Some(stream) = stream else {
            return self;
        };
        stream.offer();
        Body::Watched(Box::new(Watched { body: self, stream }))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Body {
        Body::Full(Bytes::from(text))
    }
}

/// What the site sends. The connection goes back to the pool, and the line into the log, when it has ended.
#[derive(Debug)]
pub(crate) struct SiteBody {
    incoming: Incoming,
    wait: Duration,
    lease: Option<Lease>,
    entry: Box<Entry>,
    worker: Arc<Worker>,
    has_ended: bool,
}

impl SiteBody {
    pub(crate) fn new(
        incoming: Incoming,
        lease: Lease,
        wait: Duration,
        entry: Box<Entry>,
        worker: Arc<Worker>,
    ) -> SiteBody {
        let mut body = SiteBody {
            incoming,
            wait,
            lease: Some(lease),
            entry,
            worker,
            has_ended: false,
        };
        if body.incoming.is_end_stream() {
            body.end();
        }
        body
    }

    fn end(&mut self) {
        self.has_ended = true;
        if let Some(lease) = self.lease.take() {
            self.worker.pool.put_back(lease);
        }
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFault>>> {
        let Some(lease) = &mut self.lease else {
            return Poll::Ready(None);
        };
        let incoming = &mut self.incoming;
        let brought = |context: &mut Context<'_>| Pin::new(&mut *incoming).poll_frame(context);
        match lease.poll_body(context, self.wait, brought) {
            Poll::Ready(Ok(Some(Ok(frame)))) => {
                if let Some(bytes) = frame.data_ref() {
                    self.entry.bytes += bytes.len() as u64;
                }
                if self.incoming.is_end_stream() {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Ok(None)) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Ready(Ok(Some(Err(error)))) => {
                let live = self.worker.gate.live.load();
                // The client must see that the answer is not whole.
                match live.setup.defences.has(Defence::BrokenBody) {
                    true => Poll::Ready(Some(Err(error.into()))),
                    false => Poll::Ready(None),
                }
            }
            Poll::Ready(Err(TooLate)) => Poll::Ready(Some(Err(
                "the site stopped in the middle of its answer".into(),
            ))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for SiteBody {
    fn drop(&mut self) {
        self.entry.is_cut = !self.has_ended;
        self.worker.log(&self.entry);
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyFault;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFault>>> {
        let body = self.get_mut();
        match body {
            Body::Empty => Poll::Ready(None),
            Body::Full(_) => match std::mem::replace(body, Body::Empty) {
                Body::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                _ => Poll::Ready(None),
            },
            Body::Rpc(message) => match message.take() {
                Some(message) => Poll::Ready(Some(Ok(Frame::data(message)))),
                None => {
                    *body = Body::Empty;
                    Poll::Ready(Some(Ok(Frame::trailers(done()))))
                }
            },
            Body::Site(site) => site.poll_frame(context),
            Body::Watched(watched) => watched.poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Full(bytes) => bytes.is_empty(),
            Body::Rpc(_) => false,
            Body::Site(site) => site.incoming.is_end_stream(),
            Body::Watched(watched) => watched.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Rpc(_) => SizeHint::default(),
            Body::Site(site) => site.incoming.size_hint(),
            Body::Watched(watched) => watched.body.size_hint(),
        }
    }
}

/// What ends a gRPC answer that is whole.
fn done() -> HeaderMap {
    HeaderMap::from_iter([(
        HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("0"),
    )])
}

/// How an upload goes, told to the one who waits for the site's answer.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    state: AtomicU8,
    frames: AtomicU64,
}

const DONE: u8 = 1;
const FAILED: u8 = 2;

impl Progress {
    /// Frames so far: while they grow, the site has a reason not to answer.
    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// True where the client did not send what it announced.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == FAILED
    }

    /// True once all was sent.
    pub(crate) fn is_done(&self) -> bool {
        self.state.load(Ordering::Relaxed) == DONE
    }
}

/// The body of a request on its way to the site.
#[derive(Debug)]
pub(crate) enum Upload {
    Empty,
    Client(Incoming, Arc<Progress>),
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Upload::Client(incoming, progress) = self.get_mut() else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(incoming).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(_))) => drop(progress.frames.fetch_add(1, Ordering::Relaxed)),
            Poll::Ready(Some(Err(_))) => progress.state.store(FAILED, Ordering::Relaxed),
            Poll::Ready(None) => progress.state.store(DONE, Ordering::Relaxed),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Upload::Empty => true,
            Upload::Client(incoming, _) => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Upload::Empty => SizeHint::with_exact(0),
            Upload::Client(incoming, _) => incoming.size_hint(),
        }
    }
}
