//! Connections to sites: kept while they are good, and a request that found a dead one is sent again where that is safe.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::task::Context;
use std::task::Poll;
use std::time::Duration;
use std::time::Instant;

use tokio::net::TcpStream;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::config::Address;
use crate::config::Waits;
use crate::link::Failure;
use crate::link::Link;
use crate::upload::Body;

/// Connections of one worker to one site that are kept for the next request.
const IDLE_MAX: usize = 256;
/// A connection that was not used for so long is not trusted any more: many sites close them after five seconds or more. After a rush
/// the site and the gate have their files back soon.
const IDLE: Duration = Duration::from_secs(4);

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

/// A request for a site.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) address: &'a Address,
    pub(crate) head: &'a [u8],
    /// When the client had asked.
    pub(crate) started: Instant,
    pub(crate) body: Option<Body>,
    /// It changes nothing and may be sent twice (RFC 9110, 9.2.2).
    pub(crate) is_safe: bool,
}

impl Pool {
    /// The connection that was used last: it is the most likely to be good, and the others may end.
    fn take(&self, address: &Address, now: Instant) -> Option<Link> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(address)?;
        while let Some(mut newest) = kept.pop() {
            let is_fresh = now.saturating_duration_since(newest.since) <= IDLE;
            if is_fresh && newest.link.is_idle() {
                return Some(newest.link);
            }
        }
        None
    }

    /// Keeps a connection whose answer has been read to its end, and which was in use at a moment.
    pub(crate) fn put_back(&self, address: &Address, mut link: Link, since: Instant) {
        if !link.is_idle() {
            return;
        }
        let idle = Idle { link, since };
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(address) {
            Some(kept) if kept.len() >= IDLE_MAX => {}
            Some(kept) => kept.push(idle),
            None => drop(all.insert(address.clone(), vec![idle])),
        }
    }

    /// Closes connections that nobody has used for long.
    pub(crate) fn tidy(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        for kept in idle.values_mut() {
            kept.retain_mut(|idle| idle.since.elapsed() <= IDLE && idle.link.is_idle());
        }
        idle.retain(|_, kept| !kept.is_empty());
    }

    /// Sends a request and waits for the head of the answer: its connection and the length of the head that it holds.
    pub(crate) async fn send(
        &self,
        mut ask: Ask<'_>,
        waits: &Waits,
        mut gone: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Result<(Link, usize), Failure> {
        if let Some(mut link) = self.take(ask.address, ask.started) {
            let may_repeat = ask.is_safe && ask.body.is_none();
            let body = ask.body.take();
            let asking = link.ask(ask.head, body, ask.started, waits.answer, &mut gone);
            match asking.await {
                Ok(length) => return Ok((link, length)),
                // A kept connection may end just when it is used. What is safe to send twice is sent again on a new one.
                Err(Failure::Silent(_)) if may_repeat => {}
                Err(failure) => return Err(failure),
            }
        }
        let mut link = Box::pin(connect(ask.address, waits)).await?;
        let asking = link.ask(ask.head, ask.body, Instant::now(), waits.answer, gone);
        let length = asking.await?;
        Ok((link, length))
    }
}

async fn connect(address: &Address, waits: &Waits) -> Result<Link, Failure> {
    let connecting = async {
        match address {
            Address::Unix(path) => {
                let (from, to) = UnixStream::connect(path).await?.into_split();
                Ok(Link::new(Box::new(from), Box::new(to)))
            }
            Address::Tcp(address) => Ok(link(TcpStream::connect(address).await?)),
            Address::Name(name) => Ok(link(TcpStream::connect(name.as_str()).await?)),
        }
    };
    match timeout(waits.connect, connecting).await {
        Ok(Ok(link)) => Ok(link),
        Ok(Err(error)) => Err(Failure::Unreachable(error)),
        Err(_) => Err(Failure::Unreachable(io::ErrorKind::TimedOut.into())),
    }
}

fn link(stream: TcpStream) -> Link {
    // Without it the last bytes of a request wait for an acknowledgement; a socket that cannot is used as it is.
    let _ = stream.set_nodelay(true);
    let (from, to) = stream.into_split();
    Link::new(Box::new(from), Box::new(to))
}
