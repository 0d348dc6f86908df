//! Response bodies of HTTP/2: pages, gRPC messages, and what a site sends.

use std::future::poll_fn;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Instant;

use bytes::Bytes;
use cattlegrid_http1::Framing;
use cattlegrid_http1::response::Invalid;
use h2::Reason;
use h2::SendStream;
use h2::server::SendResponse;
use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::Response;

use super::activity::Stream;
use super::forward::Forward;
use crate::settings::defence::Defence;
use crate::site::SiteConnection;

/// What a body holds.
#[derive(Debug)]
pub(super) enum Content {
    /// Of a page, or nothing.
    Text(Bytes),
    /// A message of gRPC, and then the trailers.
    Message(Bytes),
    /// From a site.
    Site(Box<SiteBody>),
}

impl Content {
    /// The length in bytes, where it is known beforehand.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Content::Text(text) => Some(text.len() as u64),
            Content::Message(_) => None,
            Content::Site(site) => site.length(),
        }
    }

    /// The client asked for the head alone. A site knows that by itself.
    pub(super) fn leave_out(&mut self) {
        if let Content::Text(text) = self {
            *text = Bytes::new();
        }
    }
}

/// Sends a response as fast as the client takes it.
pub(super) async fn send(
    head: Response<()>,
    content: Content,
    respond: &mut SendResponse<Bytes>,
    stream: &Stream,
) -> Result<(), h2::Error> {
    let is_empty = match &content {
        Content::Text(text) => text.is_empty(),
        Content::Message(_) => false,
        Content::Site(site) => site.has_ended(),
    };
    let mut to = respond.send_response(head, is_empty)?;
    match content {
        _ if is_empty => Ok(()),
        Content::Text(text) => send_piece(&mut to, (text, true), stream).await,
        Content::Message(message) => {
            send_piece(&mut to, (message, false), stream).await?;
            to.send_trailers(grpc_ok())
        }
        Content::Site(site) => send_site(&mut to, site, stream).await,
    }
}

async fn send_site(
    to: &mut SendStream<Bytes>,
    mut site: Box<SiteBody>,
    stream: &Stream,
) -> Result<(), h2::Error> {
    loop {
        let next = poll_fn(|context| match site.poll_next(context) {
            Poll::Pending => poll_gone(to, context).map(Err),
            next => next.map(Ok),
        });
        match next.await? {
            Ok(Some(bytes)) => {
                let is_last = site.has_ended();
                send_piece(to, (bytes, is_last), stream).await?;
                if is_last {
                    return Ok(());
                }
            }
            Ok(None) => return to.send_data(Bytes::new(), true),
            // The client must see that the response is not complete.
            Err(_) => {
                to.send_reset(Reason::INTERNAL_ERROR);
                return Ok(());
            }
        }
    }
}

/// Sends a piece of a body once the client has room for some of it. The library keeps the rest, and there is no room until that is sent.
async fn send_piece(
    to: &mut SendStream<Bytes>,
    (bytes, is_last): (Bytes, bool),
    stream: &Stream,
) -> Result<(), h2::Error> {
    // More would be taken from what other streams may send.
    to.reserve_capacity(1);
    if to.capacity() == 0 {
        stream.offer();
        poll_fn(|context| poll_room(to, context)).await?;
        stream.withdraw();
    }
    to.send_data(bytes, is_last)
}

/// Ready when the client has reset the stream.
fn poll_gone(to: &mut SendStream<Bytes>, context: &mut Context<'_>) -> Poll<h2::Error> {
    to.poll_reset(context)
        .map(|reset| reset.map_or_else(|error| error, h2::Error::from))
}

/// Ready once the client has room.
fn poll_room(to: &mut SendStream<Bytes>, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
    loop {
        match to.poll_capacity(context) {
            Poll::Ready(Some(Ok(0))) => {}
            Poll::Ready(Some(room)) => return Poll::Ready(room.map(drop)),
            Poll::Ready(None) => return Poll::Ready(Err(Reason::CANCEL.into())),
            Poll::Pending => return poll_gone(to, context).map(Err),
        }
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

    /// The next bytes for the client, which are counted.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Invalid>> {
        let next = ready!(self.poll_data(context));
        match &next {
            Ok(Some(bytes)) => self.forward.in_flight.entry.bytes += bytes.len() as u64,
            Ok(None) => {}
            Err(_) => {
                self.forward.in_flight.is_whole = false;
                if !self.forward.live.setup.defences.has(Defence::BrokenBody) {
                    return Poll::Ready(Ok(None));
                }
            }
        }
        Poll::Ready(next)
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

    /// The length in bytes, where it is known beforehand.
    fn length(&self) -> Option<u64> {
        if self.forward.marked.is_some() {
            return None;
        }
        match self.site.as_ref().map(|site| site.body) {
            None => Some(0),
            Some(Framing::Length(left)) => Some(left),
            Some(_) => None,
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
