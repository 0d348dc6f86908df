//! Bodies that stream through the gate: timed, counted, and written down when they end.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Duration;
use std::time::Instant;

use http_body::Frame;
use http_body::SizeHint;
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;

use crate::activity::Stream;
use crate::activity::Watched;
use crate::config::Address;
use crate::defence::Defence;
use crate::link::CUT;
use crate::link::Link;
use crate::reply::Fault;
use crate::reply::Rest;
use crate::worker::Logged;

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
    link: Option<Link>,
    passing: Logged,
    address: Address,
    wait: Duration,
}

impl SiteBody {
    pub(crate) fn new(link: Link, address: Address, wait: Duration, passing: Logged) -> SiteBody {
        let is_whole = link.rest.is_nothing();
        let mut body = SiteBody {
            link: Some(link),
            passing,
            address,
            wait,
        };
        if is_whole {
            body.end();
        }
        body
    }

    fn end(&mut self) {
        self.passing.is_whole = true;
        let Some(link) = self.link.take() else {
            return;
        };
        if link.is_uploading() {
            self.await_upload(link);
            return;
        }
        let pool = &self.passing.worker.pool;
        pool.put_back(&self.address, link, Instant::now());
    }

    /// The site has answered before it had all of the request. Many clients read nothing before they have sent everything: to end the
    /// connection here would take the answer from them.
    fn await_upload(&self, mut link: Link) {
        let worker = Arc::clone(&self.passing.worker);
        let (address, wait) = (self.address.clone(), self.wait);
        tokio::spawn(async move {
            link.uploaded(wait).await;
            worker.pool.put_back(&address, link, Instant::now());
        });
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFault>>> {
        match ready!(self.poll_data(context)) {
            Ok(Some(bytes)) => {
                self.passing.entry.bytes += bytes.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Ok(None) => Poll::Ready(None),
            Err(fault) => {
                let live = self.passing.worker.gate.live.load();
                // The client must see that the answer is not whole.
                match live.setup.defences.has(Defence::BrokenBody) {
                    true => Poll::Ready(Some(Err(fault.into()))),
                    false => Poll::Ready(None),
                }
            }
        }
    }

    /// The next bytes of the body's own.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Fault>> {
        loop {
            let Some(link) = &mut self.link else {
                return Poll::Ready(Ok(None));
            };
            if link.bytes().is_empty() {
                match ready!(link.poll_more(context, self.wait))? {
                    0 if link.is_until_end() => self.end(),
                    0 => return Poll::Ready(Err(CUT)),
                    _ => {}
                }
                continue;
            }
            let (data, is_last) = link.take_piece()?;
            if is_last {
                self.end();
            }
            if !data.is_empty() {
                return Poll::Ready(Ok(Some(data)));
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.link {
            None => SizeHint::with_exact(0),
            Some(link) => match link.rest {
                Rest::Bytes(left) => SizeHint::with_exact(left),
                _ => SizeHint::default(),
            },
        }
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
            Body::Site(site) => site.link.is_none(),
            Body::Watched(watched) => watched.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Empty => SizeHint::with_exact(0),
            Body::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Rpc(_) => SizeHint::default(),
            Body::Site(site) => site.size_hint(),
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
