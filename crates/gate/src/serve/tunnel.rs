//! Websockets: bytes both ways, until one side ends, both are silent for too long, or the client is denied.

use std::io;
use std::io::Cursor;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cattlegrid_core::policy::Action;
use cattlegrid_core::policy::Clearance;
use cattlegrid_core::policy::Place;
use cattlegrid_core::policy::Ruling;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;

use super::forward::Forward;
use crate::settings::trust;
use crate::site::FromSite;
use crate::site::ToSite;
use crate::state::InFlight;
use crate::state::Worker;

/// How often an open websocket is checked.
const CHECK: Duration = Duration::from_secs(1);
/// Bytes that are on their way in one direction.
const BUFFER: usize = 16 * 1024;

/// Copies bytes both ways until the tunnel ends.
pub(super) async fn run(
    from_client: impl AsyncRead + Unpin,
    to_client: impl AsyncWrite + Unpin,
    (from_site, to_site, read): (FromSite, ToSite, Vec<u8>),
    mut forward: Forward,
) {
    let moved = AtomicU64::new(0);
    let wait = forward.live.setup.waits.websocket;
    // What the site sent with its response goes first.
    let from_site = Cursor::new(read).chain(from_site);
    let InFlight { worker, entry, .. } = &forward.in_flight;
    let client = (forward.client, entry.clearance);
    tokio::select! {
        _ = copy(from_client, to_site, &moved) => {}
        _ = copy(from_site, to_client, &moved) => {}
        () = watch(worker, client, &moved, wait) => {}
    }
    forward.in_flight.entry.bytes = moved.into_inner();
    forward.in_flight.is_whole = true;
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
async fn watch(
    worker: &Worker,
    (address, clearance): (Option<IpAddr>, Option<Clearance>),
    moved: &AtomicU64,
    wait: Duration,
) {
    let source = trust::source(address);
    let lifts =
        clearance.is_some_and(|clearance| clearance.lifts_denial && clearance.place == Place::Home);
    let (mut before, mut silent) = (0, Duration::ZERO);
    loop {
        tokio::time::sleep(CHECK).await;
        let now = moved.load(Ordering::Relaxed);
        silent = if now == before {
            silent + CHECK
        } else {
            Duration::ZERO
        };
        before = now;
        let standing = worker.gate.standing.load();
        let ruling = standing.ruling(source, 0, worker.gate.clock.now());
        let is_denied =
            |ruling: Ruling| ruling.action == Action::Deny && !(lifts && ruling.can_be_lifted());
        if silent >= wait || ruling.is_some_and(is_denied) {
            return;
        }
    }
}
