//! Listeners: sockets that are bound once for each worker, and accept connections.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use socket2::Domain;
use socket2::Socket;
use socket2::Type;
use tokio::sync::watch;

use super::greet;
use super::tls;
use crate::settings::Address;
use crate::settings::Listen;
use crate::settings::defence::Defence;
use crate::settings::trust::Peer;
use crate::state::Worker;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// A pause after an accept that failed for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

/// A listener that all workers know.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) listen: Listen,
    pub(crate) tls: Option<ArcSwap<ServerConfig>>,
}

impl Listener {
    /// Loads what it needs, and binds nothing.
    pub(crate) fn new(listen: &Listen) -> Result<Listener, String> {
        Ok(Listener {
            listen: listen.clone(),
            tls: tls::load(listen)?.map(ArcSwap::from_pointee),
        })
    }
}

/// Binds sockets, one for each worker: the kernel spreads connections over them.
pub(crate) fn bind(listen: &Listen, workers: usize) -> Result<Vec<Bound>, String> {
    let failed = |error: io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => ": something else listens there already",
            io::ErrorKind::PermissionDenied => {
                ": ports below 1024 need a right (AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit file)"
            }
            _ => "",
        };
        format!("cannot listen on {}: {error}{hint}", listen.address)
    };
    match &listen.address {
        Address::Tcp(address) => (0..workers)
            .map(|_| bind_tcp(*address).map(Bound::Tcp).map_err(failed))
            .collect(),
        Address::Unix(path) => {
            let listener = bind_unix(path).map_err(failed)?;
            (0..workers)
                .map(|_| listener.try_clone().map(Bound::Unix).map_err(failed))
                .collect()
        }
        Address::Name(name) => Err(format!(
            "{name} is a host name: listen on an IP address or a unix socket"
        )),
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn bind_unix(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    // A socket that a gate before us left behind is removed; anything else stays, and binding fails.
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Takes connections until it is told to stop.
pub(crate) async fn accept(
    bound: Bound,
    listener: Arc<Listener>,
    worker: Arc<Worker>,
    mut stop: watch::Receiver<bool>,
) {
    let accepting = async {
        match bound {
            Bound::Tcp(socket) => match tokio::net::TcpListener::from_std(socket) {
                Ok(socket) => accept_tcp(&socket, &listener, &worker, &stop).await,
                Err(error) => tracing::error!(%error, "cannot use the listening socket"),
            },
            Bound::Unix(socket) => match tokio::net::UnixListener::from_std(socket) {
                Ok(socket) => accept_unix(&socket, &listener, &worker, &stop).await,
                Err(error) => tracing::error!(%error, "cannot use the listening socket"),
            },
        }
    };
    let mut stopped = stop.clone();
    tokio::select! {
        () = accepting => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    stop.mark_unchanged();
}

async fn accept_tcp(
    socket: &tokio::net::TcpListener,
    listener: &Arc<Listener>,
    worker: &Arc<Worker>,
    stop: &watch::Receiver<bool>,
) {
    loop {
        match socket.accept().await {
            Ok((stream, address)) => {
                // Without it short answers wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                let peer = Peer::Address(address.ip().to_canonical());
                greet::take(stream, peer, listener, worker, stop);
            }
            Err(error) => pause(worker, &error).await,
        }
    }
}

async fn accept_unix(
    socket: &tokio::net::UnixListener,
    listener: &Arc<Listener>,
    worker: &Arc<Worker>,
    stop: &watch::Receiver<bool>,
) {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => greet::take(stream, Peer::Unix, listener, worker, stop),
            Err(error) => pause(worker, &error).await,
        }
    }
}

/// An accept that failed would fail again at once where files are lacking.
async fn pause(worker: &Worker, error: &io::Error) {
    let is_passing = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    );
    if is_passing
        || !worker
            .gate
            .live
            .load()
            .setup
            .defences
            .has(Defence::AcceptPause)
    {
        return;
    }
    worker.gate.metrics.connections_refused.inc();
    tokio::time::sleep(PAUSE).await;
}
