//! What the threads of the gate share: settings in force, counters, the access log, metrics, the clock.

pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod gate;
pub(crate) mod incident;
pub(crate) mod keyring;
pub(crate) mod log;
pub(crate) mod marker_keys;
pub(crate) mod metrics;
pub(crate) mod names;
pub(crate) mod sent;
pub(crate) mod sign_ins;
pub(crate) mod slots;
pub(crate) mod users;
pub(crate) mod worker;

pub(crate) use connection::Connection;
pub(crate) use connection::Handshake;
pub(crate) use gate::Gate;
pub(crate) use gate::Live;
pub(crate) use incident::Incident;
pub(crate) use worker::InFlight;
pub(crate) use worker::Worker;
