//! Asks a client of HTTP/2 whether it is still there: a machine that has lost its power closes no connection, and the site may work for it.

use std::task::Context;
use std::task::Waker;
use std::time::Duration;
use std::time::Instant;

use h2::Ping;
use h2::PingPong;

use super::activity::Activity;
use crate::settings::Waits;

/// The pings of one connection.
pub(super) struct Pings {
    pings: PingPong,
    /// How long after the last one the next is sent.
    interval: Duration,
    /// How long the client may take to answer one.
    wait: Duration,
    sent: Instant,
    is_answered: bool,
}

impl Pings {
    pub(super) fn new(pings: PingPong, waits: &Waits) -> Pings {
        Pings {
            pings,
            interval: waits.idle / 2,
            wait: waits.header,
            sent: Instant::now(),
            is_answered: true,
        }
    }

    /// True where the client has answered, or has time to. It is asked while a stream is open.
    pub(super) fn look(&mut self, activity: &Activity, now: Instant) -> bool {
        // Nobody waits for the answer: it is looked for at the next look.
        let mut context = Context::from_waker(Waker::noop());
        self.is_answered |= self.pings.poll_pong(&mut context).is_ready();
        let passed = now.saturating_duration_since(self.sent);
        if !self.is_answered {
            return passed < self.wait;
        }
        if activity.is_busy()
            && passed >= self.interval
            && self.pings.send_ping(Ping::opaque()).is_ok()
        {
            (self.sent, self.is_answered) = (now, false);
        }
        true
    }
}
