//! Connections to sites: kept while they are good, and a request that found a dead one is sent again where that is safe.

use std::collections::BTreeMap;
use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::task::Context;
use std::task::Poll;
use std::task::Wake;
use std::task::Waker;
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
use tokio::time::Sleep;
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
/// Bytes of a site's head that are taken, as many as other proxies take. For a client that is slow a few times as many of a body wait.
const HEAD_MAX: usize = 16 * 1024;

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

/// Keeps a connection going: writes what is sent on it, and reads what comes.
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// A connection to a site.
///
/// Whoever waits for its answer drives it himself: a task of its own would have to be woken for each request, and wake the other in turn.
struct Link {
    sender: SendRequest<Upload>,
    /// None once it has ended, or drives itself.
    driver: Option<Driver>,
    ear: Arc<Ear>,
    /// Wakes the ear.
    waker: Waker,
    /// For the answer and its parts. To move a timer costs less than to make one for each request.
    timer: Pin<Box<Sleep>>,
}

/// Who drives a connection, as the connection knows him.
///
/// A connection is told when somebody wants its next part, and then wakes its driver. But he is the one who wants it, and drives it next
/// anyway: while he asks, he does not hear.
#[derive(Debug, Default)]
struct Ear {
    driver: Mutex<Option<Waker>>,
    is_deaf: AtomicBool,
}

impl Ear {
    fn belong_to(&self, waker: &Waker) {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *driver {
            Some(driver) => driver.clone_from(waker),
            None => *driver = Some(waker.clone()),
        }
    }

    /// Asks for what only the driver can bring.
    fn ask<T>(&self, brought: &mut impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.is_deaf.store(true, Ordering::Relaxed);
        let answer = brought(&mut Context::from_waker(Waker::noop()));
        self.is_deaf.store(false, Ordering::Relaxed);
        answer
    }

    fn belong_to_nobody(&self) {
        *self.driver.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Wake for Ear {
    fn wake(self: Arc<Ear>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Ear>) {
        if self.is_deaf.load(Ordering::Relaxed) {
            return;
        }
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = &*driver {
            driver.wake_by_ref();
        }
    }
}

impl Link {
    /// Goes on with what there is to do.
    fn drive(&mut self) {
        if let Some(driver) = &mut self.driver
            && driver
                .as_mut()
                .poll(&mut Context::from_waker(&self.waker))
                .is_ready()
        {
            self.driver = None;
        }
    }

    /// Nobody waits, but the site may have ended it.
    fn look(&mut self) {
        self.ear.belong_to_nobody();
        self.drive();
    }

    /// It drives itself from now on.
    fn let_go(&mut self) {
        if let Some(driver) = self.driver.take() {
            tokio::spawn(async move {
                // Its end is told to whoever waits for an answer.
                let _ = driver.await;
            });
        }
    }

    /// Polls what this connection brings.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        mut brought: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if self.driver.is_none() {
            return brought(context);
        }
        // It comes by the driver alone, which wakes us; but the driver brings only what it was asked for.
        if let Poll::Ready(brought) = self.ear.ask(&mut brought) {
            return Poll::Ready(brought);
        }
        self.ear.belong_to(context.waker());
        self.drive();
        match self.driver {
            Some(_) => self.ear.ask(&mut brought),
            None => brought(context),
        }
    }

    /// Waits until another request can be sent; false where none can.
    async fn is_ready(&mut self) -> bool {
        match self.driver {
            // It was, when it was put back. If the site has ended it since, the driver says so before it sends anything.
            Some(_) => self.sender.is_ready(),
            None => self.sender.ready().await.is_ok(),
        }
    }

    /// Begins to wait.
    fn wait(&mut self, wait: Duration) {
        self.timer
            .as_mut()
            .reset(tokio::time::Instant::now() + wait);
    }

    /// Ready once the wait is over.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().poll(context)
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Link")
    }
}

/// A connection that is in use.
#[derive(Debug)]
pub(crate) struct Lease {
    address: Address,
    link: Link,
    is_waiting: bool,
}

impl Lease {
    /// The next part of the site's answer, or that it did not come in time.
    pub(crate) fn poll_body<T>(
        &mut self,
        context: &mut Context<'_>,
        wait: Duration,
        brought: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, TooLate>> {
        if let Poll::Ready(brought) = self.link.poll(context, brought) {
            self.is_waiting = false;
            return Poll::Ready(Ok(brought));
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.link.wait(wait);
        }
        self.link.poll_wait(context).map(|()| Err(TooLate))
    }

    /// The connection becomes a tunnel.
    pub(crate) fn let_go(mut self) {
        self.link.let_go();
    }
}

/// The next part of an answer did not come in time.
#[derive(Debug)]
pub(crate) struct TooLate;

#[derive(Debug)]
struct Idle {
    link: Link,
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
    fn take(&self, address: &Address) -> Option<(Link, Duration)> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(address)?;
        while let Some(newest) = kept.pop() {
            let idle = newest.since.elapsed();
            if idle > IDLE {
                kept.clear();
            } else if !newest.link.sender.is_closed() {
                return Some((newest.link, idle));
            }
        }
        None
    }

    /// Keeps a connection whose answer has been read to its end.
    pub(crate) fn put_back(&self, lease: Lease) {
        let mut link = lease.link;
        // It becomes ready for the next request, and forgets whom to wake.
        link.look();
        if link.sender.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.entry(lease.address).or_default();
        if kept.len() < IDLE_MAX {
            kept.push(Idle {
                link,
                since: Instant::now(),
            });
        }
    }

    /// Closes connections that nobody has used for long.
    pub(crate) fn tidy(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        for kept in idle.values_mut() {
            kept.retain_mut(|idle| {
                idle.link.look();
                idle.since.elapsed() <= IDLE && !idle.link.sender.is_closed()
            });
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
        let lease = |link| Lease {
            address: address.clone(),
            link,
            is_waiting: false,
        };
        // A kept connection may end just when it is used. What is safe to send twice is sent again on a new one.
        while let Some((mut link, idle)) = self.take(address) {
            if !link.is_ready().await {
                continue;
            }
            let spare = if idle < FRESH { None } else { spare(&request) };
            match answer(&mut link, request, progress, waits).await {
                Ok(response) => return Ok((response, lease(link))),
                Err((_, Some(unsent))) => request = unsent,
                Err((failure, None)) => match (failure, spare) {
                    (Failure::Broken(_), Some(spare)) => {
                        request = spare;
                        break;
                    }
                    (failure, _) => return Err(failure),
                },
            }
        }
        let mut link = Box::pin(connect(address, waits)).await?;
        match answer(&mut link, request, progress, waits).await {
            Ok(response) => Ok((response, lease(link))),
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
    link: &mut Link,
    request: Request<Upload>,
    progress: &Progress,
    waits: &Waits,
) -> Result<Response<Incoming>, (Failure, Option<Request<Upload>>)> {
    // A site may answer before it has read all of a body. While the client does not take that answer nobody would drive the rest.
    if !matches!(request.body(), Upload::Empty) {
        link.let_go();
    }
    let mut answer = std::pin::pin!(link.sender.try_send_request(request));
    let mut frames = progress.frames();
    link.wait(waits.answer);
    poll_fn(|context| {
        let polled = link.poll(context, |context| answer.as_mut().poll(context));
        if let Poll::Ready(answered) = polled {
            return Poll::Ready(answered.map_err(|mut error| match progress.has_failed() {
                true => (Failure::Client, None),
                false => {
                    let unsent = error.take_message();
                    (Failure::Broken(error.into_error()), unsent)
                }
            }));
        }
        while link.poll_wait(context).is_ready() {
            // While the client is still sending, the site need not answer.
            if progress.is_done() || progress.frames() <= frames {
                return Poll::Ready(Err((Failure::Late, None)));
            }
            frames = progress.frames();
            link.wait(waits.answer);
        }
        Poll::Pending
    })
    .await
}

async fn connect(address: &Address, waits: &Waits) -> Result<Link, Failure> {
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
        Ok(Ok(link)) => Ok(link),
        Ok(Err(error)) => Err(Failure::Unreachable(error)),
        Err(_) => Err(Failure::Unreachable(io::ErrorKind::TimedOut.into())),
    }
}

fn without_delay(stream: TcpStream) -> TcpStream {
    // Without it the last bytes of a request wait for an acknowledgement; a socket that cannot is used as it is.
    let _ = stream.set_nodelay(true);
    stream
}

async fn handshake<S>(stream: S) -> io::Result<Link>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_MAX)
        // Most requests are a head and nothing else.
        .writev(false)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    let ear = Arc::<Ear>::default();
    Ok(Link {
        sender,
        driver: Some(Box::pin(connection.with_upgrades())),
        waker: Waker::from(Arc::clone(&ear)),
        ear,
        timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
    })
}
