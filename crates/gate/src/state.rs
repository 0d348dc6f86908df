//! What the threads of the gate share: settings in force, counters, the access log, metrics, the clock.

pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod gate;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod sent;
pub(crate) mod worker;

pub(crate) use connection::Connection;
pub(crate) use gate::Gate;
pub(crate) use gate::Live;
pub(crate) use worker::InFlight;
pub(crate) use worker::Worker;
