//! Listeners and the connections they take: TLS, the PROXY header, HTTP/1.1 or HTTP/2, limits and a good end.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use arc_swap::ArcSwap;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioExecutor;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use socket2::Domain;
use socket2::Socket;
use socket2::Type;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::activity::Activity;
use crate::activity::Use;
use crate::config::Address;
use crate::config::Listen;
use crate::config::Role;
use crate::config::Setup;
use crate::defence::Defence;
use crate::guard::Guard;
use crate::guard::Watch;
use crate::plain;
use crate::proxy_protocol;
use crate::serve;
use crate::serve::Connection;
use crate::trust::Peer;
use crate::worker::Worker;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// A pause after an accept that failed for want of files: somebody must end first.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes that the library reads ahead at most: a head, or a part of a body.
const BUFFER_MAX: usize = 64 * 1024;
/// Headers of one request.
const HEADERS_MAX: usize = 128;
/// Streams of one HTTP/2 connection at one time.
const STREAMS_MAX: u32 = 100;

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
            tls: load_tls(listen)?.map(ArcSwap::from_pointee),
        })
    }
}

/// Reads a listener's certificate and key, where it has them. An error begins with the line that names them.
pub(crate) fn load_tls(listen: &Listen) -> Result<Option<ServerConfig>, String> {
    let Some((certificate, key)) = &listen.tls else {
        return Ok(None);
    };
    read_tls(certificate, key)
        .map(Some)
        .map_err(|error| format!("line {}: {error}", listen.line))
}

fn read_tls(certificate: &Path, key: &Path) -> Result<ServerConfig, String> {
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| {
            format!(
                "{}: no certificate can be read: {error}",
                certificate.display()
            )
        })?;
    if certificates.is_empty() {
        return Err(format!(
            "{}: there is no certificate in it",
            certificate.display()
        ));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| format!("{}: no private key can be read: {error}", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(|error| format!("{} and {}: {error}", certificate.display(), key.display()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
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
        format!("{} cannot be listened on: {error}{hint}", listen.address)
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
        Address::Name(name) => Err(format!("{name} is a name, and no address")),
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
                Err(error) => tracing::error!(%error, "a listener cannot be used"),
            },
            Bound::Unix(socket) => match tokio::net::UnixListener::from_std(socket) {
                Ok(socket) => accept_unix(&socket, &listener, &worker, &stop).await,
                Err(error) => tracing::error!(%error, "a listener cannot be used"),
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
                take(
                    stream,
                    Peer::Address(address.ip().to_canonical()),
                    listener,
                    worker,
                    stop,
                );
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
            Ok((stream, _)) => take(stream, Peer::Unix, listener, worker, stop),
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

/// One connection among those that are counted.
struct Counted(Arc<Worker>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.gate.connections.fetch_sub(1, Ordering::Relaxed);
        self.0.gate.metrics.connections.dec();
    }
}

fn take<S>(
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

/// The PROXY header and TLS, where they are wanted.
async fn greet<S>(
    mut stream: S,
    mut peer: Peer,
    listener: &Listener,
    worker: Arc<Worker>,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let live = worker.gate.live.load_full();
    let wait = live.setup.waits.header;
    if listener.listen.proxy_protocol {
        if !live.setup.trust.trusts(peer) {
            return Err(io::Error::other(
                "a PROXY header of somebody who is not trusted",
            ));
        }
        let read = timeout(
            wait.min(Duration::from_secs(2)),
            proxy_protocol::read(&mut stream),
        )
        .await??;
        if let Some(client) = read {
            peer = Peer::Address(client);
        }
    }
    // In boxes each has the room that it needs: a connection without TLS has no room for it, and none is moved from hand to hand.
    let role = listener.listen.role;
    let watch = watch_of(&live.setup);
    // Settings that were replaced must not live as long as a connection.
    drop(live);
    match &listener.tls {
        None => {
            let serving = plain(&mut stream, peer, false, role, &worker, &mut stop);
            let Some(read) = serving.await? else {
                return Ok(());
            };
            let guard = Guard::new(stream, watch).holding(read);
            Box::pin(converse(guard, peer, false, role, worker, stop)).await
        }
        Some(tls) => {
            let acceptor = TlsAcceptor::from(tls.load_full());
            let mut stream = Box::new(timeout(wait, Box::pin(acceptor.accept(stream))).await??);
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let guard = match is_http2 {
                true => Guard::new(stream, watch).http2(),
                false => {
                    let serving = plain(&mut stream, peer, true, role, &worker, &mut stop);
                    let Some(read) = serving.await? else {
                        return Ok(());
                    };
                    Guard::new(stream, watch).holding(read)
                }
            };
            Box::pin(converse(guard, peer, true, role, worker, stop)).await
        }
    }
}

/// Serves plain requests. What was read and is the library's, or `None` where nothing is left.
async fn plain<S>(
    stream: &mut S,
    peer: Peer,
    is_tls: bool,
    role: Role,
    worker: &Arc<Worker>,
    stop: &mut watch::Receiver<bool>,
) -> io::Result<Option<Vec<u8>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let live = worker.gate.live.load();
    // Where a test has switched something off it is the library's path that shows what happens then.
    if role == Role::Envoy || !live.setup.defences.are_all_on() {
        return Ok(Some(Vec::new()));
    }
    let waits = live.setup.waits.clone();
    drop(live);
    let connection = Connection {
        worker: Arc::clone(worker),
        peer,
        is_tls,
        role,
        upgrading: Arc::default(),
    };
    let left = Box::pin(plain::serve(stream, &connection, &waits, stop)).await?;
    if left.is_none() {
        // With TLS the client shall see that this is the end and no accident. What it does with that is its own affair.
        let _ = timeout(waits.write, stream.shutdown()).await;
    }
    Ok(left)
}

fn watch_of(setup: &Setup) -> Watch {
    Watch {
        checks_framing: setup.defences.has(Defence::Framing),
        counts_frames: setup.defences.has(Defence::Resets),
        header: setup
            .defences
            .has(Defence::HeaderTime)
            .then_some(setup.waits.header),
        body: setup.waits.body,
        write: setup.waits.write,
    }
}

/// Requests and answers, until one side ends or the gate stops.
async fn converse<S>(
    guard: Guard<S>,
    peer: Peer,
    is_tls: bool,
    role: Role,
    worker: Arc<Worker>,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = Arc::new(Connection {
        upgrading: guard.upgrading(),
        worker: Arc::clone(&worker),
        peer,
        is_tls,
        role,
    });
    let activity = Activity::new();
    let watched = Arc::clone(&activity);
    let service = service_fn(move |request: Request<Incoming>| {
        let connection = Arc::clone(&connection);
        let stream = watched.begin(request.version());
        // In a box it takes room only while there is a request: most connections wait for the next.
        Box::pin(async move {
            let response = serve::serve(connection, request).await;
            Ok::<_, Infallible>(response.map(|body| body.watched(stream)))
        })
    });
    let live = worker.gate.live.load();
    let waits = live.setup.waits.clone();
    let mut is_watched = live.setup.defences.has(Defence::HeaderTime);
    let builder = builder(&live.setup);
    drop(live);
    let serving = builder.serve_connection_with_upgrades(TokioIo::new(guard), service);
    let mut serving = std::pin::pin!(serving);
    let step = waits.header.min(waits.write).min(waits.idle) / 2;
    let mut is_ending = false;
    loop {
        tokio::select! {
            // In this order, so that no dice are thrown for each request.
            biased;
            ended = serving.as_mut() => return ended.map_err(io::Error::other),
            _ = stop.wait_for(|stop| *stop), if !is_ending => {
                is_ending = true;
                serving.as_mut().graceful_shutdown();
            }
            () = tokio::time::sleep(step), if is_watched => match activity.look(&waits, Instant::now()) {
                Use::Http1 => is_watched = false,
                Use::Sound => {}
                Use::Held => break,
            },
        }
    }
    // Other streams may end in good order.
    serving.as_mut().graceful_shutdown();
    timeout(waits.header, serving)
        .await?
        .map_err(io::Error::other)
}

fn builder(setup: &Setup) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let defences = &setup.defences;
    let mut http1 = builder.http1();
    http1
        .timer(TokioTimer::new())
        .max_headers(HEADERS_MAX)
        .header_read_timeout(
            defences
                .has(Defence::HeaderTime)
                .then_some(setup.waits.idle),
        );
    if defences.has(Defence::HeadSize) {
        http1.max_buf_size(BUFFER_MAX);
    }
    let mut http2 = builder.http2();
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buf_size(BUFFER_MAX)
        .initial_stream_window_size(BUFFER_MAX as u32)
        .initial_connection_window_size(4 * BUFFER_MAX as u32)
        .keep_alive_interval(setup.waits.idle / 2)
        .keep_alive_timeout(setup.waits.header);
    http2.max_header_list_size(match defences.has(Defence::HeadSize) {
        true => BUFFER_MAX as u32,
        false => 16 * 1024 * 1024,
    });
    if defences.has(Defence::Resets) {
        http2
            .max_pending_accept_reset_streams(20)
            .max_local_error_reset_streams(64);
    } else {
        http2
            .max_pending_accept_reset_streams(1_000_000)
            .max_local_error_reset_streams(1_000_000);
    }
    builder
}
