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

use super::Failure;
use super::SiteConnection;
use super::UploadBody;
use crate::settings::Address;
use crate::settings::Waits;

/// Connections of one worker to one site that are kept for the next request.
const IDLE_MAX: usize = 256;
/// A connection that was not used for so long is not trusted any more: many sites close them after five seconds or more. After a rush
/// the site and the gate have their files back soon.
const IDLE: Duration = Duration::from_secs(4);

#[derive(Debug)]
struct Idle {
    connection: SiteConnection,
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
    pub(crate) body: Option<UploadBody>,
    /// It changes nothing and may be sent twice (RFC 9110, 9.2.2).
    pub(crate) is_safe: bool,
}

impl Pool {
    /// The connection that was used last: it is the most likely to be good, and the others may end.
    fn take(&self, address: &Address, now: Instant) -> Option<SiteConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle.get_mut(address)?;
        while let Some(mut newest) = kept.pop() {
            let is_fresh = now.saturating_duration_since(newest.since) <= IDLE;
            if is_fresh && newest.connection.is_idle() {
                return Some(newest.connection);
            }
        }
        None
    }

    /// Keeps a connection whose answer has been read to its end, and which was in use at a moment.
    pub(crate) fn put_back(
        &self,
        address: &Address,
        mut connection: SiteConnection,
        since: Instant,
    ) {
        // Whether the site has closed it shows when it is taken.
        if !connection.is_done() {
            return;
        }
        let idle = Idle { connection, since };
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
            kept.retain_mut(|idle| idle.since.elapsed() <= IDLE && idle.connection.is_idle());
        }
        idle.retain(|_, kept| !kept.is_empty());
    }

    /// Sends a request and waits for the head of the answer: its connection and the length of the head that it holds.
    pub(crate) async fn send(
        &self,
        mut ask: Ask<'_>,
        waits: &Waits,
        mut gone: impl FnMut(&mut Context<'_>) -> Poll<Failure>,
    ) -> Result<(SiteConnection, usize), Failure> {
        if let Some(mut connection) = self.take(ask.address, ask.started) {
            let may_repeat = ask.is_safe && ask.body.is_none();
            let body = ask.body.take();
            let asking = connection.ask(ask.head, body, ask.started, waits.answer, &mut gone);
            match asking.await {
                Ok(length) => return Ok((connection, length)),
                // A kept connection may end just when it is used. What is safe to send twice is sent again on a new one.
                Err(failure) if may_repeat && failure.is_retry_safe() => {}
                Err(failure) => return Err(failure),
            }
        }
        let mut connection = Box::pin(connect(ask.address, waits)).await?;
        let asking = connection.ask(ask.head, ask.body, Instant::now(), waits.answer, gone);
        let length = asking.await?;
        Ok((connection, length))
    }
}

async fn connect(address: &Address, waits: &Waits) -> Result<SiteConnection, Failure> {
    let connecting = async {
        match address {
            Address::Unix(path) => {
                let (from, to) = UnixStream::connect(path).await?.into_split();
                Ok(SiteConnection::new(Box::new(from), Box::new(to)))
            }
            Address::Tcp(address) => Ok(tcp(TcpStream::connect(address).await?)),
            Address::Name(name) => Ok(tcp(TcpStream::connect(name.as_str()).await?)),
        }
    };
    match timeout(waits.connect, connecting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(Failure::Unreachable(error)),
        Err(_) => Err(Failure::Unreachable(io::ErrorKind::TimedOut.into())),
    }
}

fn tcp(stream: TcpStream) -> SiteConnection {
    // Without it the last bytes of a request wait for an acknowledgement; a socket that cannot is used as it is.
    let _ = stream.set_nodelay(true);
    let (from, to) = stream.into_split();
    SiteConnection::new(Box::new(from), Box::new(to))
}
