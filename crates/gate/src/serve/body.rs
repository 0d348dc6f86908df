//! Response bodies of HTTP/2, as hyper takes them: pages, gRPC messages, and what a site sends.

use std::error::Error;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Instant;

use cattlegrid_http1::Framing;
use cattlegrid_http1::response::Invalid;
use http_body::Frame;
use http_body::SizeHint;
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::HeaderName;
use hyper::header::HeaderValue;

use super::activity::Stream;
use super::forward::Forward;
use crate::settings::defence::Defence;
use crate::site::SiteConnection;

/// What can go wrong with a body, for hyper.
type BodyError = Box<dyn Error + Send + Sync>;

/// A response body. Its stream is open until this is dropped.
#[derive(Debug)]
pub(super) struct Body {
    content: Content,
    stream: Stream,
}

/// What a body holds.
#[derive(Debug)]
pub(super) enum Content {
    /// Of a page, or nothing.
    Text(Bytes),
    /// A message of gRPC, and then the trailers.
    Message(Option<Bytes>),
    /// From a site.
    Site(Box<SiteBody>),
    Ended,
}

impl Body {
    pub(super) fn new(content: Content, stream: Stream) -> Body {
        stream.offer();
        Body { content, stream }
    }
}

/// What a site sends. Its connection goes back to the pool, and the request into the log, when it has ended.
#[derive(Debug)]
pub(super) struct SiteBody {
    site: Option<SiteConnection>,
    forward: Box<Forward>,
}

impl SiteBody {
    pub(super) fn new(site: SiteConnection, forward: Box<Forward>) -> SiteBody {
        let is_empty = site.body.is_empty();
        let mut body = SiteBody {
            site: Some(site),
            forward,
        };
        if is_empty {
            body.end();
        }
        body
    }

    fn end(&mut self) {
        if let Some(site) = self.site.take() {
            self.forward.end(site, Instant::now());
        }
        if let Some(marked) = &mut self.forward.marked {
            marked.close();
        }
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match ready!(self.poll_data(context)) {
            Ok(Some(bytes)) => {
                self.forward.in_flight.entry.bytes += bytes.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Ok(None) => Poll::Ready(None),
            // The client must see that the response is not complete.
            Err(invalid) => {
                self.forward.in_flight.is_whole = false;
                match self.forward.live.setup.defences.has(Defence::BrokenBody) {
                    true => Poll::Ready(Some(Err(invalid.into()))),
                    false => Poll::Ready(None),
                }
            }
        }
    }

    /// The next bytes of the body.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Invalid>> {
        let wait = self.forward.live.setup.waits.body;
        loop {
            if let Some(marked) = &mut self.forward.marked
                && marked.has_more()
            {
                let mut out = Vec::new();
                marked.step(&mut out)?;
                match out.is_empty() {
                    true => continue,
                    false => return Poll::Ready(Ok(Some(out.into()))),
                }
            }
            let Some(site) = &mut self.site else {
                return Poll::Ready(Ok(None));
            };
            if site.bytes().is_empty() {
                if !ready!(site.poll_more(context, wait))? {
                    self.end();
                }
                continue;
            }
            let (data, is_last) = site.take_piece()?;
            let data = match &mut self.forward.marked {
                None => data,
                Some(marked) => {
                    let mut out = Vec::new();
                    marked.push(&data, &mut out);
                    out.into()
                }
            };
            if is_last {
                self.end();
            }
            if !data.is_empty() {
                return Poll::Ready(Ok(Some(data)));
            }
        }
    }

    /// True where nothing is to come.
    fn has_ended(&self) -> bool {
        let marked = self.forward.marked.as_ref();
        self.site.is_none() && !marked.is_some_and(|marked| marked.has_more())
    }

    fn size_hint(&self) -> SizeHint {
        if self.forward.marked.is_some() {
            return SizeHint::default();
        }
        match self.site.as_ref().map(|site| site.body) {
            None => SizeHint::with_exact(0),
            Some(Framing::Length(left)) => SizeHint::with_exact(left),
            Some(_) => SizeHint::default(),
        }
    }
}

impl Content {
    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self {
            Content::Ended => Poll::Ready(None),
            Content::Site(site) => site.poll_frame(context),
            Content::Text(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Content::Ended;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Content::Message(message) => match message.take() {
                Some(message) => Poll::Ready(Some(Ok(Frame::data(message)))),
                None => {
                    *self = Content::Ended;
                    Poll::Ready(Some(Ok(Frame::trailers(grpc_ok()))))
                }
            },
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = self.content.poll_frame(context);
        // hyper asks for the next bytes only when the client has room for them; while the site is waited for, another clock runs.
        match polled.is_ready() {
            true => self.stream.offer(),
            false => self.stream.withdraw(),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Text(bytes) => bytes.is_empty(),
            Content::Message(_) => false,
            Content::Site(site) => site.has_ended(),
            Content::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Text(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Message(_) => SizeHint::default(),
            Content::Site(site) => site.size_hint(),
            Content::Ended => SizeHint::with_exact(0),
        }
    }
}

/// The trailers of a complete gRPC response.
fn grpc_ok() -> HeaderMap {
    HeaderMap::from_iter([(
        HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("0"),
    )])
}
