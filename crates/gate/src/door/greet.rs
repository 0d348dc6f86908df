//! A new connection: counted, freed of its PROXY header and TLS, and then served.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::guard::Guard;
use super::hello::Tapped;
use super::listen::Listener;
use super::proxy_protocol;
use crate::serve::Ended;
use crate::serve::serve_http1;
use crate::serve::serve_http2;
use crate::settings::Waits;
use crate::settings::defence::Defence;
use crate::settings::trust::Peer;
use crate::state::Connection;
use crate::state::Handshake;
use crate::state::Worker;

/// The longest wait for a PROXY header: the proxy sends it at once.
const PROXY_HEADER: Duration = Duration::from_secs(2);
/// Longer than any connection lasts.
const DAY: Duration = Duration::from_secs(86_400);

/// One connection among those that are counted.
struct Counted(Arc<Worker>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.gate.connections.fetch_sub(1, Ordering::Relaxed);
        self.0.gate.metrics.connections.dec();
    }
}

/// Serves a connection in a task of its own, unless there are too many.
pub(super) fn take<S>(
    stream: S,
    peer: Peer,
    listener: &Arc<Listener>,
    worker: &Arc<Worker>,
    stop: &watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let gate = &worker.gate;
    let live = gate.live.load();
    let before = gate.connections.fetch_add(1, Ordering::Relaxed);
    gate.metrics.connections.inc();
    let counted = Counted(Arc::clone(worker));
    if before >= live.setup.connections_max {
        gate.metrics.connections_refused.inc();
        return;
    }
    let (listener, worker, stop) = (Arc::clone(listener), Arc::clone(worker), stop.clone());
    tokio::spawn(async move {
        let _counted = counted;
        // What goes wrong on one connection ends it, and it alone.
        if let Err(error) = greet(stream, peer, &listener, worker, stop).await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}

/// Reads the PROXY header and does the TLS handshake, where the listener wants them.
async fn greet<S>(
    mut stream: S,
    mut peer: Peer,
    listener: &Listener,
    worker: Arc<Worker>,
    stop: watch::Receiver<bool>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let live = worker.gate.live.load_full();
    let wait = live.setup.waits.header;
    if listener.listen.proxy_protocol {
        if !live.setup.trust.trusts(peer) {
            return Err(io::Error::other(
                "a PROXY header from a peer that is not in trusted_proxies",
            ));
        }
        let reading = proxy_protocol::read(&mut stream);
        if let Some(client) = timeout(wait.min(PROXY_HEADER), reading).await?? {
            peer = Peer::Address(client);
        }
    }
    // Replaced settings must not live as long as a connection.
    drop(live);
    let connection = Connection {
        worker,
        peer,
        is_tls: listener.tls.is_some(),
        handshake: Handshake::default(),
        role: listener.listen.role,
        stop: stop.clone(),
    };
    // In boxes each has the room that it needs: a connection without TLS has no room for it.
    match &listener.tls {
        None => Box::pin(serve(stream, connection, stop)).await,
        Some(tls) => {
            let acceptor = TlsAcceptor::from(tls.load_full());
            let accepting = Box::pin(acceptor.accept(Tapped::new(stream)));
            let mut stream = Box::new(timeout(wait, accepting).await??);
            if let Some(hash) = stream.get_mut().0.digest() {
                connection.handshake.add(hash);
            }
            match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Box::pin(serve_frames(stream, Vec::new(), connection, stop)).await,
                _ => Box::pin(serve(stream, connection, stop)).await,
            }
        }
    }
}

/// Serves HTTP/1, and HTTP/2 where the client begins with its preface.
async fn serve<S>(
    mut stream: S,
    connection: Connection,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let waits = waits_for_heads(&connection);
    match serve_http1(&mut stream, &connection, &waits, &mut stop).await? {
        Ended::Http2(read) => Box::pin(serve_frames(stream, read, connection, stop)).await,
        Ended::Closed => {
            // With TLS the client shall see that this is the end and no accident; its reaction does not matter.
            let _ = timeout(waits.write, stream.shutdown()).await;
            Ok(())
        }
    }
}

/// Timeouts; a test can switch those of heads off.
fn waits_for_heads(connection: &Connection) -> Waits {
    let live = connection.worker.gate.live.load();
    let waits = live.setup.waits.clone();
    match live.setup.defences.has(Defence::HeaderTime) {
        true => waits,
        false => Waits {
            header: DAY,
            idle: DAY,
            ..waits
        },
    }
}

/// Serves HTTP/2, of which these bytes were read before.
async fn serve_frames<S>(
    stream: S,
    read: Vec<u8>,
    connection: Connection,
    stop: watch::Receiver<bool>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let live = connection.worker.gate.live.load_full();
    let guard = Guard::new(stream, read, &live.setup, connection.handshake.clone());
    drop(live);
    serve_http2(guard, connection, stop).await
}
