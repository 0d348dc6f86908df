//! No client holds an HTTP/2 connection by doing nothing with it: streams are timed by when their response bodies are taken.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Instant;

use crate::settings::Waits;

/// What is under way on one connection.
#[derive(Debug)]
pub(crate) struct Activity(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    streams: usize,
    /// The number of the next stream.
    next: u64,
    /// Since when no stream is open.
    quiet_since: Instant,
    /// Streams whose client has an answer to take, and since when.
    waiting: BTreeMap<u64, Instant>,
}

/// How a connection is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// As it should be.
    Sound,
    /// Nothing was asked for too long, or an answer was not taken.
    Held,
}

impl Activity {
    pub(crate) fn new() -> Arc<Activity> {
        Arc::new(Activity(Mutex::new(Inner {
            streams: 0,
            next: 0,
            quiet_since: Instant::now(),
            waiting: BTreeMap::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request begins. Its stream is held until the response has been taken.
    pub(crate) fn begin(self: &Arc<Activity>) -> Stream {
        let mut inner = self.lock();
        inner.streams += 1;
        inner.next += 1;
        Stream {
            number: inner.next,
            activity: Arc::clone(self),
        }
    }

    /// True while a stream is open.
    pub(crate) fn is_busy(&self) -> bool {
        self.lock().streams > 0
    }

    /// How the connection is used now.
    pub(crate) fn look(&self, waits: &Waits, now: Instant) -> Use {
        let inner = self.lock();
        let is_past = |since: Instant, wait| now.saturating_duration_since(since) >= wait;
        let is_held = match inner.next {
            0 => is_past(inner.quiet_since, waits.header),
            _ => {
                (inner.streams == 0 && is_past(inner.quiet_since, waits.idle))
                    || inner
                        .waiting
                        .values()
                        .any(|since| is_past(*since, waits.write))
            }
        };
        match is_held {
            true => Use::Held,
            false => Use::Sound,
        }
    }
}

/// One request of HTTP/2, until its answer has been taken.
#[derive(Debug)]
pub(crate) struct Stream {
    number: u64,
    activity: Arc<Activity>,
}

impl Stream {
    /// The client has something to take, from now on.
    pub(crate) fn offer(&self) {
        self.activity
            .lock()
            .waiting
            .insert(self.number, Instant::now());
    }

    /// There is nothing to take: the site is waited for, by a clock of its own.
    pub(crate) fn withdraw(&self) {
        self.activity.lock().waiting.remove(&self.number);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut inner = self.activity.lock();
        inner.waiting.remove(&self.number);
        inner.streams -= 1;
        if inner.streams == 0 {
            inner.quiet_since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn waits() -> Waits {
        let second = Duration::from_secs(1);
        Waits {
            header: second,
            idle: 5 * second,
            body: second,
            write: 3 * second,
            connect: second,
            answer: second,
            websocket: second,
            stop: second,
        }
    }

    #[test]
    fn who_asks_nothing_or_takes_nothing_holds_a_connection() {
        let activity = Activity::new();
        let after = |seconds| Instant::now() + Duration::from_secs(seconds);
        let used = |seconds| activity.look(&waits(), after(seconds));
        assert_eq!((used(0), used(2)), (Use::Sound, Use::Held));
        let stream = activity.begin();
        assert_eq!(used(100), Use::Sound);
        stream.offer();
        assert_eq!((used(2), used(4)), (Use::Sound, Use::Held));
        stream.withdraw();
        assert_eq!(used(100), Use::Sound);
        drop(stream);
        assert_eq!((used(4), used(6)), (Use::Sound, Use::Held));
    }
}
