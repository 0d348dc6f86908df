//! The body of a request on its way to the site, in a task of its own: a site may answer before it has read all of it, and a client may
//! take the answer only when it has sent all.

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

use http_body::Body as _;
use hyper::body::Incoming;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;

use crate::link::ToSite;
use crate::plain::OUT_MAX;

/// What a client sends behind a head.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) incoming: Incoming,
    /// As announced; in chunks where it was not.
    pub(crate) length: Option<u64>,
}

/// A body that is being sent. Where this is dropped, nobody waits for an answer any more.
pub(crate) struct Upload {
    task: JoinHandle<Option<ToSite>>,
    progress: Arc<Progress>,
    /// What was known when somebody looked last.
    frames: u64,
}

#[derive(Debug, Default)]
struct Progress {
    frames: AtomicU64,
    state: AtomicU8,
}

const DONE: u8 = 1;
const FAILED: u8 = 2;

impl Upload {
    /// Sends a head and its body.
    pub(crate) fn begin(to: ToSite, head: &[u8], body: Body) -> Upload {
        let progress = Arc::<Progress>::default();
        let (head, watched) = (head.to_vec(), Arc::clone(&progress));
        Upload {
            task: tokio::spawn(send(to, head, body, watched)),
            progress,
            frames: 0,
        }
    }

    /// Where to write the next request, once all was sent; `None` inside where it was not.
    pub(crate) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<ToSite>> {
        Pin::new(&mut self.task)
            .poll(context)
            .map(|ended| ended.ok().flatten())
    }

    /// True where the client did not send what it announced.
    pub(crate) fn has_failed(&self) -> bool {
        self.progress.state.load(Ordering::Relaxed) == FAILED
    }

    /// True where the client has sent more since this was asked last: while it does, the site need not answer.
    pub(crate) fn goes_on(&mut self) -> bool {
        let frames = self.progress.frames.load(Ordering::Relaxed);
        let before = std::mem::replace(&mut self.frames, frames);
        frames > before && self.progress.state.load(Ordering::Relaxed) != DONE
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
    body: Body,
    progress: Arc<Progress>,
) -> Option<ToSite> {
    let sent = send_all(&mut to, head, body, &progress).await;
    // The site may have answered all the same.
    sent.is_ok().then_some(to)
}

/// Sends a head and what follows it. What comes at once goes on at once: a client may send a body byte by byte.
async fn send_all(
    to: &mut ToSite,
    head: Vec<u8>,
    mut body: Body,
    progress: &Progress,
) -> io::Result<()> {
    let (mut out, mut left) = (head, body.length);
    loop {
        let next = poll_fn(
            |context| match Pin::new(&mut body.incoming).poll_frame(context) {
                Poll::Pending if !out.is_empty() => Poll::Ready(None),
                polled => polled.map(Some),
            },
        );
        let is_waiting = match next.await {
            None => true,
            Some(None) => break,
            Some(Some(frame)) => {
                let frame = frame.map_err(|_| failed(progress))?;
                progress.frames.fetch_add(1, Ordering::Relaxed);
                if let Ok(bytes) = frame.into_data() {
                    add(&bytes, &mut left, &mut out).ok_or_else(|| failed(progress))?;
                }
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
        Some(_) => return Err(failed(progress)),
    }
    to.write_all(&out).await?;
    to.flush().await?;
    progress.state.store(DONE, Ordering::Relaxed);
    Ok(())
}

/// Adds bytes of a body, as a chunk where its length is not known. `None` where there are more than were announced: they would be the
/// beginning of another request.
fn add(bytes: &[u8], left: &mut Option<u64>, out: &mut Vec<u8>) -> Option<()> {
    match left {
        None if bytes.is_empty() => {}
        None => {
            begin_chunk(bytes.len(), out);
            out.extend_from_slice(bytes);
            out.extend_from_slice(b"\r\n");
        }
        Some(left) => {
            *left = left.checked_sub(bytes.len() as u64)?;
            out.extend_from_slice(bytes);
        }
    }
    Some(())
}

/// The end of a body in chunks.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The line before the bytes of a chunk.
pub(crate) fn begin_chunk(length: usize, out: &mut Vec<u8>) {
    // Writing into memory cannot fail.
    let _ = io::Write::write_fmt(out, format_args!("{length:x}\r\n"));
}

fn failed(progress: &Progress) -> io::Error {
    progress.state.store(FAILED, Ordering::Relaxed);
    io::ErrorKind::UnexpectedEof.into()
}
