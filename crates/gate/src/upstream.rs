//! Connections to sites: kept while they are good, and a request that found a dead one is sent again where that is safe.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use hyper::Method;
use hyper::Request;
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::body::Progress;
use crate::body::Upload;
use crate::config::Address;
use crate::config::Waits;

/// Connections of one worker to one site that are kept for the next request.
const IDLE_MAX: usize = 256;
/// A connection that was not used for so long is not trusted any more: many sites close them after five seconds or more. After a rush
/// the site and the gate have their files back soon.
const IDLE: Duration = Duration::from_secs(4);
/// A connection whose last answer is so young has not ended for want of use; copying every request for that would cost a tenth of the
/// gate's own time under load.
const FRESH: Duration = Duration::from_millis(5);
/// Bytes of a site's head that are taken; other proxies take eight to sixteen thousand. For a client that is slow a few times as many
/// of a body wait.
const HEAD_MAX: usize = 32 * 1024;

/// Why a site did not answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be reached.
    Unreachable(io::Error),
    /// It did not answer in time.
    Late,
    /// It ended the connection, or what it said is no HTTP.
    Broken(hyper::Error),
    /// The client did not send all of its request.
    Client,
}

/// A connection that is in use.
#[derive(Debug)]
pub(crate) struct Lease {
    address: Address,
    sender: SendRequest<Upload>,
}

#[derive(Debug)]
struct Idle {
    sender: SendRequest<Upload>,
    since: Instant,
}

/// The connections of one worker.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    idle: Mutex<BTreeMap<Address, Vec<Idle>>>,
}

impl Pool {
    /// The connection that was used last: it is the most likely to be good, and the others may end.
    ///
    /// With it, how long it has lain idle.
    fn take(&self, address: &Address) -> Option<(SendRequest<Upload>, Duration)> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(address)?;
        while let Some(newest) = kept.pop() {
            let idle = newest.since.elapsed();
            if idle > IDLE {
                kept.clear();
            } else if !newest.sender.is_closed() {
                return Some((newest.sender, idle));
            }
        }
        None
    }

    /// Keeps a connection whose answer has been read to its end.
    pub(crate) fn put_back(&self, lease: Lease) {
        if lease.sender.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.entry(lease.address).or_default();
        if kept.len() < IDLE_MAX {
            kept.push(Idle {
                sender: lease.sender,
                since: Instant::now(),
            });
        }
    }

    /// Closes connections that nobody has used for long.
    pub(crate) fn tidy(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        for kept in idle.values_mut() {
            kept.retain(|idle| idle.since.elapsed() <= IDLE && !idle.sender.is_closed());
        }
        idle.retain(|_, kept| !kept.is_empty());
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        address: &Address,
        mut request: Request<Upload>,
        progress: &Arc<Progress>,
        waits: &Waits,
    ) -> Result<(Response<Incoming>, Lease), Failure> {
        // A kept connection may end just when it is used. What is safe to send twice is sent again on a new one.
        while let Some((mut sender, idle)) = self.take(address) {
            if sender.ready().await.is_err() {
                continue;
            }
            let spare = if idle < FRESH { None } else { spare(&request) };
            match answer(&mut sender, request, progress, waits).await {
                Ok(response) => {
                    return Ok((
                        response,
                        Lease {
                            address: address.clone(),
                            sender,
                        },
                    ));
                }
                Err((_, Some(unsent))) => request = unsent,
                Err((Failure::Broken(_), None)) if spare.is_some() => match spare {
                    Some(spare) => {
                        request = spare;
                        break;
                    }
                    None => return Err(Failure::Late),
                },
                Err((failure, None)) => return Err(failure),
            }
        }
        let mut sender = connect(address, waits).await?;
        match answer(&mut sender, request, progress, waits).await {
            Ok(response) => Ok((
                response,
                Lease {
                    address: address.clone(),
                    sender,
                },
            )),
            Err((failure, _)) => Err(failure),
        }
    }
}

/// A copy of a request that changes nothing and has no body (RFC 9110, 9.2.2).
fn spare(request: &Request<Upload>) -> Option<Request<Upload>> {
    let is_safe = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    if !is_safe || !matches!(request.body(), Upload::Empty) {
        return None;
    }
    let mut spare = Request::new(Upload::Empty);
    *spare.method_mut() = request.method().clone();
    *spare.uri_mut() = request.uri().clone();
    *spare.headers_mut() = request.headers().clone();
    Some(spare)
}

/// Sends on one connection. A request that was not sent at all comes back.
async fn answer(
    sender: &mut SendRequest<Upload>,
    request: Request<Upload>,
    progress: &Arc<Progress>,
    waits: &Waits,
) -> Result<Response<Incoming>, (Failure, Option<Request<Upload>>)> {
    let mut answer = std::pin::pin!(sender.try_send_request(request));
    let mut frames = progress.frames();
    loop {
        match timeout(waits.answer, answer.as_mut()).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(_)) if progress.has_failed() => return Err((Failure::Client, None)),
            Ok(Err(mut error)) => {
                let unsent = error.take_message();
                return Err((Failure::Broken(error.into_error()), unsent));
            }
            // While the client is still sending, the site need not answer.
            Err(_) if !progress.is_done() && progress.frames() > frames => {
                frames = progress.frames()
            }
            Err(_) => return Err((Failure::Late, None)),
        }
    }
}

async fn connect(address: &Address, waits: &Waits) -> Result<SendRequest<Upload>, Failure> {
    let connecting = async {
        match address {
            Address::Unix(path) => handshake(UnixStream::connect(path).await?).await,
            Address::Tcp(address) => {
                handshake(without_delay(TcpStream::connect(address).await?)).await
            }
            Address::Name(name) => {
                handshake(without_delay(TcpStream::connect(name.as_str()).await?)).await
            }
        }
    };
    match timeout(waits.connect, connecting).await {
        Ok(Ok(sender)) => Ok(sender),
        Ok(Err(error)) => Err(Failure::Unreachable(error)),
        Err(_) => Err(Failure::Unreachable(io::ErrorKind::TimedOut.into())),
    }
}

fn without_delay(stream: TcpStream) -> TcpStream {
    // Without it the last bytes of a request wait for an acknowledgement; a socket that cannot is used as it is.
    let _ = stream.set_nodelay(true);
    stream
}

async fn handshake<S>(stream: S) -> io::Result<SendRequest<Upload>>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_MAX)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    tokio::spawn(async move {
        // Its end is told to whoever waits for an answer.
        let _ = connection.with_upgrades().await;
    });
    Ok(sender)
}
