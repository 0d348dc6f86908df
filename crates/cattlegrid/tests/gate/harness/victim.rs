//! A well-behaved client that must not notice what is done to the gate meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use super::clients::try_get_from;
use super::gate::VICTIM;

/// A well-behaved client that asks twenty pages a second while a case runs.
pub(crate) struct Victim {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Result<Duration, String>>>,
    idle: Duration,
}

impl Victim {
    /// Begins, after a look at how fast answers are when nothing happens.
    pub(crate) fn start(address: SocketAddr) -> Victim {
        let mut idle: Vec<Duration> = (0..40).map(|_| ask(address).unwrap()).collect();
        idle.sort();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut results = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                results.push(ask(address));
                thread::sleep(Duration::from_millis(50));
            }
            results
        });
        Victim {
            stop,
            thread,
            idle: idle[39],
        }
    }

    /// Ends: every answer was right, and nearly all came soon.
    pub(crate) fn check(self) {
        self.stop.store(true, Ordering::Relaxed);
        let results = self.thread.join().unwrap();
        let mut times: Vec<Duration> = results
            .into_iter()
            .map(|result| result.unwrap_or_else(|error| panic!("the victim: {error}")))
            .collect();
        if times.is_empty() {
            return;
        }
        times.sort();
        let slow = times[(times.len() - 1) * 99 / 100];
        let most = (2 * self.idle).max(Duration::from_millis(allowed_ms()));
        assert!(
            slow <= most,
            "the victim waited {slow:?} at the 99th percentile, at most {most:?} is allowed"
        );
    }
}

/// Milliseconds a victim may wait. Machines that run many tests at once give more.
fn allowed_ms() -> u64 {
    std::env::var("CATTLEGRID_VICTIM_MS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(250)
}

fn ask(address: SocketAddr) -> Result<Duration, String> {
    let asked = Instant::now();
    let answer =
        try_get_from(VICTIM, address, "/victim", &[]).map_err(|error| error.to_string())?;
    match answer.status == 200 && answer.text().contains("/victim") {
        true => Ok(asked.elapsed()),
        false => Err(format!("{}: {}", answer.status, answer.text())),
    }
}
