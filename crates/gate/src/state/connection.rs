//! One connection of a client, as every request on it sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;

use crate::settings::Role;
use crate::settings::trust::Peer;
use crate::state::Worker;

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) worker: Arc<Worker>,
    /// The other end of the socket, or the address in the PROXY header.
    pub(crate) peer: Peer,
    pub(crate) is_tls: bool,
    /// How the client began it.
    pub(crate) handshake: Handshake,
    /// What its listener is for.
    pub(crate) role: Role,
    /// True once its listener stops: nobody is to be kept waiting then.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Connection {
    /// True where connections become scarce. Other web servers, which ask about many clients on one connection, are not to blame.
    pub(crate) fn is_crowded(&self) -> bool {
        let gate = &self.worker.gate;
        self.role == Role::Proxy && gate.is_crowded(&gate.live.load().setup)
    }
}

/// How long a connection may rest where half of all are taken.
pub(crate) const IDLE_IN_CROWD: Duration = Duration::from_secs(5);

/// How a client begins its connections, as a hash: its TLS and HTTP/2 handshakes. All connections of one program have the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handshake(Arc<AtomicU64>);

impl Handshake {
    /// Adds a hash of what the client sent.
    pub(crate) fn add(&self, hash: u64) {
        let before = self.digest();
        self.0
            .store(before.rotate_left(23) ^ hash, Ordering::Relaxed);
    }

    /// The hash of all that was added; 0 where nothing was.
    pub(crate) fn digest(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
