//! A request body on its way to the site, in a task of its own: a site may respond before it has read everything, and a client may read
//! the response only when it has sent everything.

use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::task::Context;
use std::task::Poll;
use std::task::ready;

use cattlegrid_http1::framing::LAST_CHUNK;
use cattlegrid_http1::framing::begin_chunk;
use h2::RecvStream;
use tokio::io::AsyncRead;
use tokio::io::AsyncWriteExt;
use tokio::io::DuplexStream;
use tokio::io::ReadBuf;
use tokio::task::JoinHandle;

use super::ToSite;

/// Bytes that are gathered before they are written.
const OUT_MAX: usize = 16 * 1024;

/// Where the bytes of a request body come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A stream of HTTP/2.
    Http2(RecvStream),
    /// The task that serves an HTTP/1 connection. It sets the flag before it ends the pipe behind a complete body.
    Http1(DuplexStream, Arc<Whole>),
}

/// Set once a client has sent all of its request body.
#[derive(Debug, Default)]
pub(crate) struct Whole(AtomicU8);

impl Whole {
    pub(crate) fn set(&self) {
        self.0.store(1, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }
}

/// A request body.
#[derive(Debug)]
pub(crate) struct UploadBody {
    pub(crate) source: Source,
    /// The Content-Length; chunks where there is none.
    pub(crate) length: Option<u64>,
}

impl Source {
    /// Adds the next bytes to others; false at the end of the body.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        out: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Poll<io::Result<bool>> {
        match self {
            Source::Http2(stream) => match ready!(stream.poll_data(context)) {
                None => Poll::Ready(Ok(false)),
                Some(bytes) => {
                    let bytes = bytes.map_err(io::Error::other)?;
                    out(&bytes)?;
                    let released = stream.flow_control().release_capacity(bytes.len());
                    Poll::Ready(released.map(|()| true).map_err(io::Error::other))
                }
            },
            Source::Http1(pipe, whole) => {
                let mut space = [std::mem::MaybeUninit::uninit(); OUT_MAX / 2];
                let mut space = ReadBuf::uninit(&mut space);
                ready!(Pin::new(pipe).poll_read(context, &mut space))?;
                match space.filled() {
                    [] if whole.is_set() => Poll::Ready(Ok(false)),
                    [] => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                    bytes => {
                        out(bytes)?;
                        Poll::Ready(Ok(true))
                    }
                }
            }
        }
    }
}

/// A body that is being sent. Dropping it stops the upload.
pub(crate) struct Upload {
    task: JoinHandle<Option<ToSite>>,
    progress: Arc<Progress>,
    /// The progress at the last check.
    seen: u64,
}

#[derive(Debug, Default)]
struct Progress {
    parts: AtomicU64,
    state: AtomicU8,
}

const DONE: u8 = 1;
const FAILED: u8 = 2;

impl Upload {
    /// Sends a head and its body.
    pub(crate) fn begin(to: ToSite, head: &[u8], body: UploadBody) -> Upload {
        let progress = Arc::<Progress>::default();
        let (head, watched) = (head.to_vec(), Arc::clone(&progress));
        Upload {
            task: tokio::spawn(send(to, head, body, watched)),
            progress,
            seen: 0,
        }
    }

    /// The side to write the next request to, once everything was sent; `None` inside where it was not.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<ToSite>> {
        Pin::new(&mut self.task)
            .poll(context)
            .map(|ended| ended.ok().flatten())
    }

    /// True where the client did not send what it announced.
    pub(crate) fn has_failed(&self) -> bool {
        self.progress.state.load(Ordering::Relaxed) == FAILED
    }

    /// True where the client has sent more since the last call: while it does, the site need not respond.
    pub(crate) fn goes_on(&mut self) -> bool {
        let parts = self.progress.parts.load(Ordering::Relaxed);
        let before = std::mem::replace(&mut self.seen, parts);
        parts > before && self.progress.state.load(Ordering::Relaxed) != DONE
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn send(
    mut to: ToSite,
    head: Vec<u8>,
    body: UploadBody,
    progress: Arc<Progress>,
) -> Option<ToSite> {
    let sent = send_all(&mut to, head, body, &progress).await;
    // The site may have responded all the same.
    sent.is_ok().then_some(to)
}

/// Sends a head and its body. Bytes go on as soon as they come: a client may send a body byte by byte.
async fn send_all(
    to: &mut ToSite,
    head: Vec<u8>,
    mut body: UploadBody,
    progress: &Progress,
) -> io::Result<()> {
    let (mut out, mut left) = (head, body.length);
    loop {
        let has_bytes = !out.is_empty();
        let mut add = |bytes: &[u8]| add(bytes, &mut left, &mut out);
        let next = poll_fn(|context| match body.source.poll_next(context, &mut add) {
            Poll::Pending if has_bytes => Poll::Ready(Ok(None)),
            polled => polled.map_ok(Some),
        });
        let is_waiting = match next.await.map_err(|error| failed(progress, error))? {
            None => true,
            Some(false) => break,
            Some(true) => {
                progress.parts.fetch_add(1, Ordering::Relaxed);
                false
            }
        };
        if is_waiting || out.len() >= OUT_MAX {
            to.write_all(&out).await?;
            out.clear();
        }
    }
    match left {
        None => out.extend_from_slice(LAST_CHUNK),
        Some(0) => {}
        Some(_) => return Err(failed(progress, io::ErrorKind::UnexpectedEof.into())),
    }
    to.write_all(&out).await?;
    to.flush().await?;
    progress.state.store(DONE, Ordering::Relaxed);
    Ok(())
}

/// Adds bytes of a body, as a chunk where its length is not known. More bytes than were announced are an error: they would begin another
/// request.
fn add(bytes: &[u8], left: &mut Option<u64>, out: &mut Vec<u8>) -> io::Result<()> {
    match left {
        None if bytes.is_empty() => {}
        None => {
            begin_chunk(bytes.len(), out);
            out.extend_from_slice(bytes);
            out.extend_from_slice(b"\r\n");
        }
        Some(left) => {
            let rest = left.checked_sub(bytes.len() as u64);
            *left = rest.ok_or(io::ErrorKind::InvalidData)?;
            out.extend_from_slice(bytes);
        }
    }
    Ok(())
}

/// The client's side has failed.
fn failed(progress: &Progress, error: io::Error) -> io::Error {
    progress.state.store(FAILED, Ordering::Relaxed);
    error
}
