//! One connection of a client, as every request on it sees it.

use std::sync::Arc;

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
    /// What its listener is for.
    pub(crate) role: Role,
    /// True once its listener stops: nobody is to be kept waiting then.
    pub(crate) stop: watch::Receiver<bool>,
}
