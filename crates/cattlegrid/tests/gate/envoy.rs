//! Questions of Envoy over gRPC, in messages as its generated code has them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use http_body::Body as _;
use hyper::Request;
use hyper::body::Bytes;
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper_util::rt::TokioExecutor;
use hyper_util::rt::TokioIo;
use prost::Message;

use crate::asked_sites::ASK;
use crate::asked_sites::Asked;
use crate::front::asked;
use crate::harness::Gate;
use crate::harness::Origin;
use crate::harness::wait_for;
use crate::solve::Puzzle;

#[derive(Clone, PartialEq, Message)]
struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    attributes: Option<AttributeContext>,
}

#[derive(Clone, PartialEq, Message)]
struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    source: Option<Peer>,
    #[prost(message, optional, tag = "2")]
    destination: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    request: Option<RequestContext>,
    #[prost(btree_map = "string, string", tag = "10")]
    context_extensions: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct Peer {
    #[prost(message, optional, tag = "1")]
    address: Option<Address>,
    #[prost(string, tag = "4")]
    principal: String,
}

#[derive(Clone, PartialEq, Message)]
struct Address {
    #[prost(oneof = "EitherAddress", tags = "1, 2")]
    address: Option<EitherAddress>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum EitherAddress {
    #[prost(message, tag = "1")]
    SocketAddress(SocketAddressMessage),
    #[prost(message, tag = "2")]
    Pipe(Pipe),
}

#[derive(Clone, PartialEq, Message)]
struct SocketAddressMessage {
    #[prost(string, tag = "2")]
    address: String,
    #[prost(uint32, tag = "3")]
    port_value: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Pipe {
    #[prost(string, tag = "1")]
    path: String,
}

#[derive(Clone, PartialEq, Message)]
struct RequestContext {
    #[prost(message, optional, tag = "2")]
    http: Option<HttpRequest>,
}

#[derive(Clone, PartialEq, Message)]
struct HttpRequest {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    method: String,
    #[prost(btree_map = "string, string", tag = "3")]
    headers: BTreeMap<String, String>,
    #[prost(message, optional, tag = "13")]
    header_map: Option<HeaderMap>,
    #[prost(string, tag = "4")]
    path: String,
    #[prost(string, tag = "5")]
    host: String,
    #[prost(string, tag = "6")]
    scheme: String,
    #[prost(int64, tag = "9")]
    size: i64,
    #[prost(string, tag = "10")]
    protocol: String,
}

#[derive(Clone, PartialEq, Message)]
struct HeaderMap {
    #[prost(message, repeated, tag = "1")]
    headers: Vec<HeaderValue>,
}

#[derive(Clone, PartialEq, Message)]
struct HeaderValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
    #[prost(bytes = "vec", tag = "3")]
    raw_value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<Status>,
    #[prost(oneof = "HttpResponse", tags = "2, 3")]
    http_response: Option<HttpResponse>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum HttpResponse {
    #[prost(message, tag = "2")]
    Denied(DeniedHttpResponse),
    #[prost(message, tag = "3")]
    Ok(OkHttpResponse),
}

#[derive(Clone, PartialEq, Message)]
struct DeniedHttpResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    headers: Vec<HeaderValueOption>,
    #[prost(string, tag = "3")]
    body: String,
}

#[derive(Clone, PartialEq, Message)]
struct OkHttpResponse {
    #[prost(message, repeated, tag = "2")]
    headers: Vec<HeaderValueOption>,
    #[prost(string, repeated, tag = "5")]
    headers_to_remove: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct HeaderValueOption {
    #[prost(message, optional, tag = "1")]
    header: Option<HeaderValue>,
    #[prost(int32, tag = "3")]
    append_action: i32,
}

/// A body of one piece.
struct Whole(Option<Bytes>);

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A call with any bytes as its body: the answer's message and gRPC's status.
fn call(address: SocketAddr, body: Vec<u8>, headers: &[(&str, &str)]) -> (Vec<u8>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        let mut request = Request::post(format!(
            "http://{address}/envoy.service.auth.v3.Authorization/Check"
        ))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Whole(Some(body.into()))).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/grpc");
        let (mut answer, mut status) = (Vec::new(), String::new());
        let mut body = response.into_body();
        while let Some(frame) =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
        {
            let frame = frame.unwrap();
            if let Some(trailers) = frame.trailers_ref() {
                status = trailers["grpc-status"].to_str().unwrap().to_owned();
            } else if let Ok(bytes) = frame.into_data() {
                answer.extend_from_slice(&bytes);
            }
        }
        (answer, status)
    })
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0][..], &length, message].concat()
}

fn check(address: SocketAddr, request: &CheckRequest) -> CheckResponse {
    let (answer, status) = call(address, framed(&request.encode_to_vec()), &[]);
    assert_eq!(status, "0");
    let (prefix, message) = answer.split_at(5);
    assert_eq!(prefix, framed(message).split_at(5).0);
    CheckResponse::decode(message).unwrap()
}

/// A question as Envoy puts it for a browser.
fn question(source: &str, path: &str, cookie: &str) -> CheckRequest {
    let address = |address: &str| Peer {
        address: Some(Address {
            address: Some(EitherAddress::SocketAddress(SocketAddressMessage {
                address: address.to_owned(),
                port_value: 40_000,
            })),
        }),
        principal: String::new(),
    };
    let headers = [
        (":authority", "www.example.org"),
        (":method", "GET"),
        (":path", path),
        (":scheme", "https"),
        ("accept", "text/html"),
        ("cookie", cookie),
        ("user-agent", "Mozilla/5.0"),
        ("x-cattlegrid-decision", "pass"),
        ("x-cattlegrid-show", "challenge"),
        ("x-envoy-internal", "true"),
        ("x-forwarded-for", "203.0.113.5"),
        ("x-forwarded-host", "other.example.org"),
        ("x-forwarded-proto", "https"),
        ("x-original-uri", "/robots.txt"),
        ("x-request-id", "6b0f2c1e-8f3a-4b53-9d3e-2f4a5b6c7d8e"),
    ];
    CheckRequest {
        attributes: Some(AttributeContext {
            source: Some(address(source)),
            destination: Some(address("192.0.2.80")),
            request: Some(RequestContext {
                http: Some(HttpRequest {
                    id: "1".to_owned(),
                    method: "GET".to_owned(),
                    headers: headers
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .into(),
                    header_map: None,
                    path: path.to_owned(),
                    host: "www.example.org".to_owned(),
                    scheme: "https".to_owned(),
                    size: -1,
                    protocol: "HTTP/1.1".to_owned(),
                }),
            }),
            context_extensions: BTreeMap::new(),
        }),
    }
}

fn denied(response: CheckResponse) -> (i32, DeniedHttpResponse) {
    match response.http_response {
        Some(HttpResponse::Denied(denied)) => {
            assert_eq!(response.status.unwrap().code, 7);
            (denied.status.clone().unwrap().code, denied)
        }
        other => panic!("{other:?}"),
    }
}

fn passed(response: CheckResponse) -> OkHttpResponse {
    match response.http_response {
        Some(HttpResponse::Ok(passed)) => {
            assert_eq!(response.status.unwrap_or_default().code, 0);
            passed
        }
        other => panic!("{other:?}"),
    }
}

/// The value of a header, and what happens to another of its name.
fn header(headers: &[HeaderValueOption], name: &str) -> Option<(String, i32)> {
    headers.iter().find_map(|option| {
        let header = option.header.as_ref()?;
        (header.key == name).then(|| (header.value.clone(), option.append_action))
    })
}

#[test]
fn passes_challenges_and_blocks() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, asked("envoy"));
    let source = "198.51.100.7";
    for page in 0..20 {
        let answer = check(
            gate.address,
            &question(source, &format!("/page{page}"), "a=1"),
        );
        let passed = passed(answer);
        // What a client wrote into our header is replaced, and the site's cookies stay as they are.
        assert_eq!(
            header(&passed.headers, "x-cattlegrid-decision"),
            Some(("pass".to_owned(), 2))
        );
        assert_eq!(passed.headers_to_remove, ["x-cattlegrid-show"]);
        assert_eq!(header(&passed.headers, "cookie"), None);
    }
    let (status, page) = denied(check(gate.address, &question(source, "/page20?q", "a=1")));
    assert_eq!(status, 403);
    let puzzle = Puzzle::of(&page.body).unwrap();
    let (cookie, action) = header(&page.headers, "set-cookie").unwrap();
    assert_eq!(action, 0);
    let cookie = cookie.split(';').next().unwrap().to_owned();
    assert!(cookie.starts_with("__Host-cattlegrid-ask="), "{cookie}");
    assert_eq!(
        header(&page.headers, "content-type"),
        Some(("text/html; charset=utf-8".to_owned(), 2))
    );
    // The answer comes by the same listener, over HTTP.
    let form = puzzle.solve();
    let length = form.len().to_string();
    let mut client = crate::harness::Client::connect("127.0.0.1", gate.address).unwrap();
    let headers = [
        ("User-Agent", "Mozilla/5.0"),
        ("X-Forwarded-For", source),
        ("X-Forwarded-Proto", "https"),
        ("Cookie", cookie.as_str()),
        ("Content-Length", length.as_str()),
    ];
    client
        .send(&crate::harness::request(
            "POST",
            "/.cattlegrid/answer",
            &headers,
        ))
        .unwrap();
    client.send(form.as_bytes()).unwrap();
    let answer = client.answer(false).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let cleared = answer.header("set-cookie").unwrap();
    let cleared = cleared.split(';').next().unwrap();
    let both = format!("a=1; {cookie}; b=2; {cleared}");
    let passes = passed(check(gate.address, &question(source, "/page20?q", &both)));
    assert_eq!(
        header(&passes.headers, "cookie"),
        Some(("a=1; b=2".to_owned(), 2))
    );
    let only = passed(check(gate.address, &question(source, "/page21", cleared)));
    assert!(only.headers_to_remove.contains(&"cookie".to_owned()));
    let (status, page) = denied(check(gate.address, &question(source, "/forbidden", "")));
    assert_eq!(status, 403);
    assert!(page.body.contains("class=\"number\""), "{}", page.body);
    let (status, page) = denied(check(gate.address, &question(source, "/slow", "")));
    assert_eq!(status, 429);
    assert_eq!(header(&page.headers, "retry-after").unwrap().0, "60");
    wait_for("all lines are in the log", || gate.log().len() == 26);
    let lines = gate.log();
    assert!(lines.iter().all(|line| line["source"] == source));
    assert!(lines.iter().all(|line| line["host"] == "www.example.org"));
    let passed = lines.iter().filter(|line| line["status"] == 100);
    assert_eq!(passed.count(), 22);
}

#[test]
fn headers_may_come_as_they_were_sent() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, asked("envoy"));
    let mut asked = question("198.51.100.7", "/forbidden", "");
    let http = asked.attributes.as_mut().unwrap().request.as_mut().unwrap();
    let http = http.http.as_mut().unwrap();
    http.headers.clear();
    let header = |key: &str, raw: &[u8]| HeaderValue {
        key: key.to_owned(),
        value: String::new(),
        raw_value: raw.to_vec(),
    };
    http.header_map = Some(HeaderMap {
        headers: vec![
            header("user-agent", b"Caf\xe9/1.0"),
            header("accept", b"text/html"),
            header("accept-language", b"de"),
        ],
    });
    let (_, page) = denied(check(gate.address, &asked));
    assert!(page.body.contains("<html lang=\"de\">"), "{}", page.body);
    wait_for("a line in the log", || gate.log().len() == 1);
    assert_eq!(gate.log()[0]["agent"], "Caf\u{e9}/1.0");
}

fn http(context: &mut AttributeContext) -> &mut HttpRequest {
    context.request.as_mut().unwrap().http.as_mut().unwrap()
}

/// A change to a question, and the field that is wrong then.
type Wrong = (&'static str, fn(&mut AttributeContext));

const WRONG: [Wrong; 9] = [
    ("attributes.source.address", |context| context.source = None),
    ("attributes.source.address", |context| {
        let pipe = EitherAddress::Pipe(Pipe::default());
        let address = context.source.as_mut().unwrap().address.as_mut();
        address.unwrap().address = Some(pipe);
    }),
    ("attributes.request.http.method", |context| {
        context.request = None;
    }),
    ("attributes.request.http.method", |context| {
        http(context).method.clear();
    }),
    ("attributes.request.http.path", |context| {
        http(context).path.clear();
    }),
    ("attributes.request.http.path", |context| {
        http(context).path = "?x".to_owned();
    }),
    ("attributes.request.http.path", |context| {
        http(context).path = "http://www.example.org/".to_owned();
    }),
    ("attributes.request.http.host", |context| {
        http(context).host.clear();
    }),
    ("attributes.request.http.host", |context| {
        http(context).host = "a@b".to_owned();
    }),
];

/// Whatever a question lacks, the call succeeds and the request is refused: Envoy may have been told to let requests pass where calls
/// fail.
#[test]
fn h048_a_question_in_doubt_is_refused_and_no_failed_call() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, asked("envoy"));
    let good = question("198.51.100.7", "/robots.txt", "");
    passed(check(gate.address, &good));
    for (named, change) in WRONG {
        let said = gate.stderr().len();
        let mut wrong = good.clone();
        change(wrong.attributes.as_mut().unwrap());
        let (status, _) = denied(check(gate.address, &wrong));
        assert_eq!(status, 403);
        wait_for("a message", || gate.stderr()[said..].contains(named));
    }
    wait_for("one line in the log", || gate.log().len() == 1);
    let gate = gate.restart();
    assert_eq!(gate.log().len(), 1);
}

#[test]
fn any_bytes_and_any_fault_of_ours_are_an_answer_that_denies() {
    let origin = Origin::start();
    let gate = Gate::with(&origin, asked("envoy"));
    let good = question("198.51.100.7", "/robots.txt", "");
    let good = framed(&good.encode_to_vec());
    let bodies = [
        Vec::new(),
        vec![0, 0, 0],
        framed(&[]),
        framed(&[0xff; 50]),
        good[..good.len() - 1].to_vec(),
        [&good[..], &[0]].concat(),
        [&good[..], &good].concat(),
        [&[1][..], &good[1..]].concat(),
        vec![0; 300 * 1024],
    ];
    let denies = |body: Vec<u8>, headers: &[(&str, &str)]| {
        let length = body.len();
        let (answer, status) = call(gate.address, body, headers);
        assert_eq!(status, "0", "{length} bytes");
        let (status, _) = denied(CheckResponse::decode(&answer[5..]).unwrap());
        assert_eq!(status, 403, "{length} bytes");
    };
    let all_deny = || {
        for body in &bodies {
            denies(body.clone(), &[]);
        }
    };
    // The gate says that it is ready before all of its threads have opened their files: they have when they have answered.
    all_deny();
    let files = gate.files();
    all_deny();
    assert!(!gate.stderr().contains("panicked"), "{}", gate.stderr());
    denies(good, &[("x-test-panic", "1")]);
    assert!(gate.stderr().contains("panicked"), "{}", gate.stderr());
    wait_for("open files are back", || gate.files() <= files + 8);
    assert_eq!(gate.log().len(), 0);
}

#[test]
fn strangers_may_not_call() {
    let origin = Origin::start();
    let mut wanted = asked("envoy");
    wanted.gate = "trusted_proxies = [\"127.0.0.99\"]".to_owned();
    let gate = Gate::with(&origin, wanted);
    let answer = crate::harness::get(gate.address, "/auth/envoy/robots.txt", &[]);
    assert_eq!(answer.status, 403, "{}", answer.text());
}

/// The site is asked about the session in a message, after the message has come.
#[test]
fn signed_in_people_pass() {
    let site = Asked::start(Duration::from_millis(50));
    let mut wanted = asked("envoy");
    wanted.parts += ASK;
    let gate = Gate::with(&site.origin, wanted);
    let ask = |page: usize, cookie: &str| {
        let question = question("198.51.100.8", &format!("/page{page}"), cookie);
        check(gate.address, &question)
    };
    for page in 0..20 {
        passed(ask(page, "a=1"));
    }
    assert_eq!(denied(ask(20, "sid=made-up")).1.status.unwrap().code, 403);
    for page in 30..60 {
        passed(ask(page, "a=1; sid=alice"));
    }
    assert_eq!(site.count(), 2);
}
