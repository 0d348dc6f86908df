//! What our reader accepts, hyper reads to the same messages, bodies included: a site behind the gate cannot see another request.

#![allow(clippy::unwrap_used, reason = "a test stops where something is wrong")]

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;

use cattlegrid_http1::Framing;
use cattlegrid_http1::request;
use cattlegrid_http1::request::Limits;
use cattlegrid_http1::response;
use http_body::Body;
use hyper::Request;
use hyper::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;

/// A message: its first line without the version, its fields, and its body.
type Got = (String, Vec<(String, Vec<u8>)>, Vec<u8>);

/// Header lines of generated messages: valid ones, and those about which servers differ.
const LINES: [&str; 24] = [
    "Host: a.example\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "content-length:7\r\n",
    "Content-Length: 5, 5\r\n",
    "Content-Length : 5\r\n",
    "Content-Length: +5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "transfer-encoding:chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding:\tchunked\r\n",
    "X: a\r\n",
    "X: a\n",
    "X: a\r\n b\r\n",
    "X: \u{e9}\r\n",
    "X: \t a b \t \r\n",
    "X:\r\n",
    ": x\r\n",
    "X\r\n",
    "X: a\rTransfer-Encoding: chunked\r\n",
    "X: a\0\r\n",
    "Connection: keep-alive\r\n",
    "Keep-Alive: 5\r\n",
];

const BODIES: [&str; 9] = [
    "",
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
    "5 \r\nhello\r\n0\r\n\r\n",
    "0\r\n\r\n",
    "05\r\nhello\r\n00\r\n\r\n",
    "5\nhello\n0\n\n",
    "GET /inside HTTP/1.1\r\nHost: a.example\r\n\r\n",
];

const FIRST: [&str; 8] = [
    "GET / HTTP/1.1\r\n",
    "POST /a?b=c HTTP/1.1\r\n",
    "POST http://a.example/d HTTP/1.1\r\n",
    "PUT /\u{e4} HTTP/1.1\r\n",
    "GET  /two HTTP/1.1\r\n",
    "GET /three  HTTP/1.1\r\n",
    "GET /four HTTP/1.1\n",
    "\r\nGET /five#six HTTP/1.1\r\n",
];

fn messages() -> impl Strategy<Value = Vec<u8>> {
    let lines = proptest::collection::vec(proptest::sample::select(&LINES[..]), 0..5);
    let message = (
        proptest::sample::select(&FIRST[..]),
        lines,
        proptest::sample::select(&BODIES[..]),
    );
    let message = message.prop_map(|(first, lines, body)| {
        format!("{first}Host: a.example\r\n{}\r\n{body}", lines.concat())
    });
    proptest::collection::vec(message, 1..4).prop_map(|all| all.concat().into_bytes())
}

fn lower(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_lowercase()
}

/// The requests that we read, up to the first that we refuse.
fn we_read(mut bytes: &[u8]) -> Vec<Got> {
    let mut all = Vec::new();
    loop {
        bytes = &bytes[request::blank(bytes)..];
        let Some(end) = request::end(bytes) else {
            return all;
        };
        let Ok(read) = request::read(&bytes[..end], &Limits::USUAL) else {
            return all;
        };
        let line = format!("{} {}", read.method, read.target);
        let fields = read.headers.iter();
        let mut fields: Vec<_> = fields
            .map(|field| (lower(field.name), field.value.to_vec()))
            .collect();
        fields.sort();
        let Some((body, used)) = body(&bytes[end..], read.body) else {
            return all;
        };
        all.push((line, fields, body));
        bytes = &bytes[end + used..];
    }
}

/// A complete body and the number of its bytes on the wire.
fn body(bytes: &[u8], mut framing: Framing) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    if framing.is_empty() {
        return Some((body, 0));
    }
    while at < bytes.len() {
        let piece = framing.next(&bytes[at..]).ok()?;
        body.extend_from_slice(&bytes[at + piece.skipped..][..piece.length]);
        at += piece.skipped + piece.length;
        if piece.is_last {
            return Some((body, at));
        }
    }
    matches!(framing, Framing::UntilClose).then_some((body, at))
}

async fn collect(mut body: Incoming) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame.ok()?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Some(bytes)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// The requests that hyper reads to their ends.
fn hyper_reads(bytes: &[u8]) -> Vec<Got> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    run(async move {
        let (mut ours, theirs) = tokio::io::duplex(1 << 20);
        ours.write_all(bytes).await.unwrap();
        ours.shutdown().await.unwrap();
        let service = service_fn(move |request: Request<Incoming>| {
            let all = Arc::clone(&all);
            async move {
                let (parts, incoming) = request.into_parts();
                let target = parts
                    .uri
                    .path_and_query()
                    .map_or("/", |target| target.as_str());
                let line = format!("{} {target}", parts.method);
                let fields = parts.headers.iter();
                let mut fields: Vec<_> = fields
                    .map(|(name, value)| {
                        (lower(name.as_str().as_bytes()), value.as_bytes().to_vec())
                    })
                    .collect();
                fields.sort();
                if let Some(body) = collect(incoming).await {
                    all.lock().unwrap().push((line, fields, body));
                }
                Ok::<_, Infallible>(Response::new(String::new()))
            }
        });
        let serving = hyper::server::conn::http1::Builder::new()
            .half_close(true)
            .serve_connection(TokioIo::new(theirs), service);
        // It ends with an error where hyper refuses something.
        let _ = serving.await;
    });
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

/// Status and body of a response to GET, as hyper reads them.
fn hyper_reads_response(bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    run(async move {
        let (mut ours, theirs) = tokio::io::duplex(1 << 20);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(theirs))
            .await
            .ok()?;
        let request = Request::get("/")
            .header("host", "a.example")
            .body(String::new())
            .ok()?;
        let asking = async {
            let response = sender.send_request(request).await.ok()?;
            let status = response.status().as_u16();
            Some((status, collect(response.into_body()).await?))
        };
        let serving = async {
            let mut head = [0; 4096];
            let _ = ours.read(&mut head).await;
            let _ = ours.write_all(bytes).await;
            let _ = ours.shutdown().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            answered = asking => answered,
            // It ends before its last response is taken.
            () = async { let _ = connection.await; std::future::pending().await } => None,
            () = serving => None,
        }
    })
}

#[test]
fn a_valid_pipeline_is_read_by_both() {
    let bytes = b"POST /a HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello\
        POST /b HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n\
        GET /c HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let ours = we_read(bytes);
    assert_eq!(ours.len(), 3);
    assert_eq!(ours, hyper_reads(bytes));
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(
        hyper_reads_response(response),
        Some((200, b"hello".to_vec()))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn requests(bytes in messages()) {
        cattlegrid_http1::invariants::request_head(&bytes);
        let ours = we_read(&bytes);
        let theirs = hyper_reads(&bytes);
        let same: Vec<&Got> = theirs.iter().take(ours.len()).collect();
        prop_assert_eq!(ours.iter().collect::<Vec<_>>(), same, "{:?}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn responses(
        lines in proptest::collection::vec(proptest::sample::select(&LINES[1..]), 0..4),
        body_of in proptest::sample::select(&BODIES[..]),
        status in proptest::sample::select(&["200 OK", "404 Not Found", "204 No Content", "304 Not Modified", "299 \u{e4}", "099 X"][..]),
    ) {
        let bytes = format!("HTTP/1.1 {status}\r\n{}\r\n{body_of}", lines.concat()).into_bytes();
        cattlegrid_http1::invariants::response_head(&bytes);
        let Some(end) = request::end(&bytes) else { return Ok(()) };
        let mut space = [std::mem::MaybeUninit::uninit(); response::HEADERS_MAX];
        let Ok(ours) = response::read(&bytes[..end], false, &mut space) else { return Ok(()) };
        let Some((read, _)) = body(&bytes[end..], ours.body) else { return Ok(()) };
        let theirs = hyper_reads_response(&bytes);
        prop_assert_eq!(theirs, Some((ours.status, read)), "{:?}", String::from_utf8_lossy(&bytes));
    }
}
