//! Websockets: bytes both ways, until one side ends, both are silent for too long, or the client is denied.

use std::io;
use std::io::Cursor;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cattlegrid_core::policy::Action;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;

use crate::gate::Live;
use crate::link::FromSite;
use crate::link::ToSite;
use crate::serve::Connection;
use crate::trust;
use crate::worker::Logged;
use crate::worker::Worker;

/// How often an open websocket is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Bytes that are on their way in one direction.
const BUFFER: usize = 16 * 1024;

/// Opens a tunnel once both sides have switched.
pub(crate) fn open(
    connection: &Connection,
    live: &Arc<Live>,
    client: OnUpgrade,
    site: (FromSite, ToSite, Vec<u8>),
    address: Option<IpAddr>,
    logged: Logged,
) {
    connection.upgrading.accept();
    let worker = Arc::clone(&connection.worker);
    let wait = live.setup.waits.websocket;
    tokio::spawn(async move {
        let mut logged = logged;
        if let Ok(client) = client.await {
            let moved = AtomicU64::new(0);
            let (from_client, to_client) = tokio::io::split(TokioIo::new(client));
            let (from_site, to_site, read) = site;
            // What the site said at once goes before what it says next.
            let from_site = Cursor::new(read).chain(from_site);
            tokio::select! {
                _ = copy(from_client, to_site, &moved) => {}
                _ = copy(from_site, to_client, &moved) => {}
                () = watch(&worker, address, &moved, wait) => {}
            }
            logged.entry.bytes = moved.into_inner();
        }
        logged.is_whole = true;
    });
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..length]).await?;
        // TLS may hold the end of it back.
        to.flush().await?;
        moved.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// Ends when nothing has moved for too long, or when the client is denied meanwhile.
async fn watch(worker: &Worker, address: Option<IpAddr>, moved: &AtomicU64, wait: Duration) {
    let source = trust::source(address);
    let (mut before, mut silent) = (0, Duration::ZERO);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = moved.load(Ordering::Relaxed);
        silent = if now == before {
            silent + LOOK
        } else {
            Duration::ZERO
        };
        before = now;
        let standing = worker.gate.standing.load();
        let ruling = standing.ruling(source, 0, worker.gate.clock.now());
        if silent >= wait || ruling.is_some_and(|ruling| ruling.action == Action::Deny) {
            return;
        }
    }
}
