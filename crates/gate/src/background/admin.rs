//! The listener for the owner's programs: health and metrics. Nothing of it is reachable on the public listeners.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header;
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;

use crate::challenge::Page;
use crate::state::Gate;

/// Nobody but a program that asks for metrics is expected here.
const CONNECTIONS_MAX: usize = 64;
const PATIENCE: Duration = Duration::from_secs(5);

/// Binds the listener.
pub(crate) fn bind(address: SocketAddr) -> Result<std::net::TcpListener, String> {
    let bound = std::net::TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    bound.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                ": perhaps another gate runs on this machine; give this one another address, 'admin' in a settings file (docs/gate.md)"
            }
            _ => "",
        };
        format!("admin: cannot listen on {address}: {error}{hint}")
    })
}

/// Serves until the gate stops.
pub(crate) async fn serve(listener: tokio::net::TcpListener, gate: Arc<Gate>) {
    let room = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let gate = Arc::clone(&gate);
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(move |request| {
                let response = answer(&gate, &request);
                async move { Ok::<_, Infallible>(response) }
            });
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), service);
            // Whoever asks may go at any time.
            let _ = serving.await;
        });
    }
}

fn answer(gate: &Gate, request: &Request<Incoming>) -> Response<String> {
    match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/healthz") => text(Page::text(200, "ok\n")),
        (&Method::GET | &Method::HEAD, "/metrics") => {
            gate.metrics
                .counters_forgotten
                .set(i64::try_from(gate.counters.forgotten()).unwrap_or(i64::MAX));
            gate.metrics
                .trap_slots
                .set(i64::try_from(gate.slots.taken()).unwrap_or(i64::MAX));
            let fleets = gate.live.load().policy.fleets();
            let fleets = i64::try_from(fleets).unwrap_or(i64::MAX);
            gate.metrics.groups_over_limit.set(fleets);
            let mut response = Response::new(gate.metrics.text());
            response.headers_mut().insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static(
                    "application/openmetrics-text; version=1.0.0; charset=utf-8",
                ),
            );
            response
        }
        _ => text(Page::text(404, "there is /healthz and /metrics\n")),
    }
}

fn text(page: Page) -> Response<String> {
    let mut response = Response::new(page.body.into_owned());
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::OK);
    for (name, value) in page.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response
                .headers_mut()
                .insert(header::HeaderName::from_static(name), value);
        }
    }
    response
}
