//! Plain questions of a trusted web server, answered without the HTTP library: every request of a site is one, and the library's tables
//! and timers would cost more than the answer. Whatever is none, and all that follows it, is left to the library.

use std::io;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::time::Duration;
use std::time::UNIX_EPOCH;

use hyper::Response;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio::time::sleep;

use crate::body::Body;
use crate::config::Waits;
use crate::forward_auth;
use crate::head;
use crate::head::Follows;
use crate::headers::CONNECTION;
use crate::headers::EXPECT;
use crate::headers::HOST;
use crate::headers::Headers;
use crate::host;
use crate::serve;
use crate::serve::Connection;

/// Bytes that are read at once. A head that is longer is the library's.
const READ: usize = 8 * 1024;
/// Headers of one question; with more it is the library's.
const HEADERS_MAX: usize = 64;

/// Answers questions. `None` once the connection has ended, or else what was read and not answered.
pub(crate) async fn answer<S>(
    stream: &mut S,
    connection: &Connection,
    waits: &Waits,
    stop: &mut watch::Receiver<bool>,
) -> io::Result<Option<Vec<u8>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut timer = std::pin::pin!(sleep(waits.idle));
    let (mut held, mut answers) = (Vec::new(), Vec::new());
    let mut date = Date::default();
    loop {
        let mut is_ours = true;
        while let Some(length) = head::end(&held) {
            let Some(response) = question(&held[..length], connection) else {
                is_ours = false;
                break;
            };
            held.drain(..length);
            date.set(u64::from(connection.worker.gate.clock.now()));
            write(&response, &date, &mut answers);
        }
        if !answers.is_empty() {
            timer.as_mut().reset(Instant::now() + waits.write);
            let writing = async {
                stream.write_all(&answers).await?;
                stream.flush().await
            };
            tokio::select! {
                biased;
                written = writing => written?,
                () = timer.as_mut() => return Err(io::ErrorKind::TimedOut.into()),
            }
            answers.clear();
        }
        // A part of a head: the library's guard times the rest.
        if !is_ours || !held.is_empty() {
            return Ok(Some(held));
        }
        held.reserve(READ);
        timer.as_mut().reset(Instant::now() + waits.idle);
        tokio::select! {
            biased;
            read = stream.read_buf(&mut held) => if read? == 0 {
                return Ok(None);
            },
            () = timer.as_mut() => return Ok(None),
            _ = stop.wait_for(|stop| *stop) => return Ok(None),
        }
    }
}

/// The answer to a question, if it is a plain one.
fn question(head: &[u8], connection: &Connection) -> Option<Response<Body>> {
    // The same check as for everybody: a trusted server is no reason to guess.
    if !head.starts_with(b"GET /") || head::check(head) != Ok(Follows::Bytes(0)) {
        return None;
    }
    let mut space = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut space);
    let is_whole = request.parse(head).ok()?.is_complete();
    if !is_whole || request.version != Some(1) {
        return None;
    }
    let path = request.path?;
    let headers = Headers::Raw(request.headers);
    // Who wants the connection to end, or to be told to go on, is served by the library.
    if headers.has(&CONNECTION) || headers.has(&EXPECT) {
        return None;
    }
    let mut hosts = headers.all(&HOST);
    let is_host = hosts.next().and_then(host::canonical).is_some() && hosts.next().is_none();
    let gate = &connection.worker.gate;
    let live = gate.live.load();
    if !is_host || !live.setup.trust.trusts(connection.peer) || is_tested(headers, &live.setup) {
        return None;
    }
    let answered = catch_unwind(AssertUnwindSafe(|| {
        forward_auth::by_headers(connection, &live, path, headers)
    }));
    answered.unwrap_or_else(|_| {
        gate.metrics.panics.inc();
        Some(serve::page(live.pages.challenge_needed()))
    })
}

/// True where a test has switched something off, or wants a panic: all of that is in the library's path.
#[cfg(debug_assertions)]
fn is_tested(headers: Headers<'_>, setup: &crate::config::Setup) -> bool {
    static X_TEST_PANIC: hyper::header::HeaderName =
        hyper::header::HeaderName::from_static("x-test-panic");
    headers.has(&X_TEST_PANIC) || !setup.defences.are_all_on()
}

#[cfg(not(debug_assertions))]
fn is_tested(_: Headers<'_>, _: &crate::config::Setup) -> bool {
    false
}

/// The value of a `Date` header, which is the same for a second.
#[derive(Default)]
struct Date {
    second: u64,
    text: String,
}

impl Date {
    fn set(&mut self, second: u64) {
        if second != self.second {
            self.second = second;
            self.text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        }
    }
}

fn write(response: &Response<Body>, date: &Date, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let status = response.status();
    let body = match response.body() {
        Body::Full(bytes) => &bytes[..],
        // Questions are answered with a whole text or with none.
        _ => b"",
    };
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in response.headers() {
        header(name.as_str(), value.as_bytes(), out);
    }
    header("content-length", digits.format(body.len()).as_bytes(), out);
    header("date", date.text.as_bytes(), out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

fn header(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
