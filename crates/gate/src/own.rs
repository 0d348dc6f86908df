//! The gate's own pages: the parts of a challenge, and answers to it.

use std::net::IpAddr;
use std::time::Instant;

use http_body::Body as _;
use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;

use crate::body::Body;
use crate::challenge::Earned;
use crate::challenge::assets;
use crate::gate::Facts;
use crate::gate::Live;
use crate::serve;
use crate::serve::Connection;
use crate::worker::Logged;

/// An answer is short.
const BODY_MAX: usize = 4096;
const ANSWERS: [&str; 2] = ["answer", "challenge"];

/// Who asks for a page of ours.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) host: &'a str,
    pub(crate) client: Option<IpAddr>,
    pub(crate) is_secure: bool,
}

/// True for the name of a page that the gate has.
pub(crate) fn has(name: &str) -> bool {
    ANSWERS.contains(&name) || assets::find(name).is_some()
}

/// Answers a request below the gate's own prefix.
pub(crate) async fn answer(
    connection: &Connection,
    live: &Live,
    request: Request<Incoming>,
    asking: Asking<'_>,
    name: &str,
    mut logged: Logged,
) -> Response<Body> {
    connection.worker.gate.metrics.own.inc();
    let (parts, body) = request.into_parts();
    let response = match (&parts.method, name) {
        (&Method::GET | &Method::HEAD, name) => asset(name),
        (&Method::POST, name) if ANSWERS.contains(&name) => {
            match read(body, live, BODY_MAX).await {
                Some(body) => posted(connection, live, &parts, &asking, name, &body),
                None => serve::plain(
                    StatusCode::BAD_REQUEST,
                    "an answer is short, and comes at once\n",
                ),
            }
        }
        _ => serve::plain(StatusCode::NOT_FOUND, "there is no such page\n"),
    };
    logged.answered(response)
}

fn asset(name: &str) -> Response<Body> {
    let Some(asset) = assets::find(name) else {
        return serve::plain(StatusCode::NOT_FOUND, "there is no such page\n");
    };
    let mut response = Response::new(Body::Full(asset.bytes.into()));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(asset.content_type),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static(asset.cache_control),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// A short body, or nothing where it is long, late or broken.
pub(crate) async fn read(mut body: Incoming, live: &Live, most: usize) -> Option<Vec<u8>> {
    let reading = async {
        let mut bytes = Vec::new();
        while let Some(frame) =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
        {
            if let Ok(chunk) = frame.ok()?.into_data() {
                bytes.extend_from_slice(&chunk);
            }
            if bytes.len() > most {
                return None;
            }
        }
        Some(bytes)
    };
    tokio::time::timeout(live.setup.waits.header, reading)
        .await
        .ok()?
}

fn posted(
    connection: &Connection,
    live: &Live,
    parts: &Parts,
    asking: &Asking<'_>,
    name: &str,
    body: &[u8],
) -> Response<Body> {
    let gate = &connection.worker.gate;
    let facts = Facts {
        started: Instant::now(),
        client: asking.client,
        host: asking.host,
        method: &parts.method,
        target: "/",
        headers: (&parts.headers).into(),
        is_secure: asking.is_secure,
        is_counted: false,
    };
    let visitor = facts.visitor();
    let now = gate.moment();
    if name == "answer" {
        let policy = &live.policy;
        let time = gate.clock.now();
        let given = policy.solutions(visitor.source, time).most();
        let pages = policy.limits.clearance_budget(given);
        let cookies: Vec<&[u8]> = facts.cookies().collect();
        let cookies = cookies.iter().copied();
        return match gate.challenger.answer(&visitor, body, cookies, pages, now) {
            Ok(solved) => {
                if solved.earned == Earned::New {
                    policy.count_solution(visitor.source, time);
                }
                gate.metrics.solved.inc();
                let mut response = serve::page(live.pages.solved(&solved));
                serve::add_cookie(&mut response, Some(&solved.set_cookie));
                response
            }
            Err(refusal) => {
                gate.metrics
                    .answers_refused
                    .get_or_create(&[("reason", refusal.name())])
                    .inc();
                if refusal.is_evidence() {
                    gate.count_failure(visitor.source);
                }
                serve::page(live.pages.refused(refusal))
            }
        };
    }
    let return_to = gate.challenger.return_of(body);
    let known = gate.clearance(&facts);
    if known.is_some_and(|known| gate.is_good(live, &known, visitor.source)) {
        return serve::page(live.pages.cleared(&return_to));
    }
    let terms = gate.terms(live, visitor.source, known.as_ref());
    gate.metrics.challenges.inc();
    let puzzle = gate
        .challenger
        .mint(&visitor, return_to.as_bytes(), terms, facts.cookies(), now);
    let mut response = serve::page(live.pages.puzzle(&puzzle));
    serve::add_cookie(&mut response, puzzle.set_cookie.as_deref());
    response
}
